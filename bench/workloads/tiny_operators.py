# SPDX-License-Identifier: Apache-2.0
"""Loops of tiny operators of PyTorch: an unfused optimizer's, and reads of single elements. Prints the loop's CPU seconds."""
import sys
import time

import torch


def optimizer():
    layers = [layer for _ in range(100) for layer in (torch.nn.Linear(32, 32), torch.nn.LayerNorm(32), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers)
    steps = torch.optim.AdamW(model.parameters(), 1e-3, foreach=False)
    batch = torch.randn(16, 32)
    for _ in range(40):
        steps.zero_grad()
        model(batch).square().mean().backward()
        steps.step()


def items():
    values = torch.arange(20_000.)
    return sum(values[i].item() for _ in range(5) for i in range(len(values)))


torch.set_num_threads(1)
start = time.process_time()
{"optimizer": optimizer, "items": items}[sys.argv[1]]()
print(time.process_time() - start)
