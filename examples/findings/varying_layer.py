# SPDX-License-Identifier: Apache-2.0
"""F16, a layer whose time varies: attention over a context that grows from step to step and begins anew. Mended: one size."""
import torch
from steps import MENDED, repeat

layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
inputs = [torch.randn(4, 64 if MENDED else 64 * (1 + number), 64) for number in range(8)]
number = 0


@torch.no_grad()
def step():
    global number
    number += 1
    layer(inputs[number % len(inputs)])  # bad


repeat(step, 40)
