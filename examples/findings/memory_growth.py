# SPDX-License-Identifier: Apache-2.0
"""F13, memory growth: a list of losses keeps the graph of each step alive, and with it all activations."""
import torch
from steps import MENDED, repeat

model = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
inputs = torch.randn(512, 256)
losses = []


def step():
    loss = model(inputs).square().mean()  # bad
    losses.append(loss.item() if MENDED else loss)


repeat(step, 40)
