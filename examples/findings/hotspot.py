# SPDX-License-Identifier: Apache-2.0
"""F1, a hotspot: weights from a special function that never change, computed in each step. Mended: computed once, before."""
import torch
from steps import MENDED, repeat

counts = torch.rand(64, 600) + 1
model = torch.nn.Sequential(torch.nn.Linear(600, 100), torch.nn.ReLU(), torch.nn.Linear(100, 100))
inputs = torch.randn(64, 600)
kept = torch.digamma(counts)


@torch.no_grad()
def step():
    weights = kept if MENDED else torch.digamma(counts)  # bad
    model(inputs * weights)


repeat(step, 40)
