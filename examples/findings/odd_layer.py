# SPDX-License-Identifier: Apache-2.0
"""F12, a layer slower than its equals: the weights of one of eight equal layers are a view of every fourth number of a larger
tensor, so each use copies them first. Mended: they are copied once."""
import torch
from steps import MENDED, repeat

model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(8)]).eval()
weights = (torch.randn(256, 256, 4) / 16)[:, :, 0]
model[5].weight = torch.nn.Parameter(weights.contiguous() if MENDED else weights)  # bad
inputs = torch.randn(64, 256)


@torch.no_grad()
def step():
    model(inputs)


repeat(step, 50)
