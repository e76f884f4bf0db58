# SPDX-License-Identifier: Apache-2.0
"""F1, a hotspot: the product of two constant matrices, computed in each step. Mended: computed once, before."""
import torch
from steps import MENDED, repeat

left, right = torch.randn(600, 600), torch.randn(600, 600)
model = torch.nn.Sequential(torch.nn.Linear(600, 600), torch.nn.ReLU(), torch.nn.Linear(600, 600))
inputs = torch.randn(64, 600)
kept = left @ right


@torch.no_grad()
def step():
    product = kept if MENDED else left @ right  # bad
    model(inputs @ product)


repeat(step, 40)
