# SPDX-License-Identifier: Apache-2.0
"""F12, a layer slower than its equals: the weights of one of eight equal layers are so small (denormal numbers) that the
processor computes them in microcode. Mended: they count as zero."""
import torch
from steps import MENDED, repeat

torch.set_flush_denormal(MENDED)
model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(8)]).eval()
with torch.no_grad():
    model[5].weight.mul_(1e-38)  # bad
inputs = torch.randn(64, 256)


@torch.no_grad()
def step():
    model(inputs)


repeat(step, 50)
