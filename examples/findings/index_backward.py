# SPDX-License-Identifier: Apache-2.0
"""F3, slow backward: for the gradient of a lookup by `table[rows]`, threads add to the same rows and wait for each other;
for that of index_select they do not. The case of DLRM in DeepContext's evaluation, on the CPU."""
import torch
from steps import MENDED, repeat

torch.set_num_threads(2)
table = torch.randn(100, 512, requires_grad=True)
rows = torch.randint(0, 100, (4000,))
weights = torch.randn(4000, 512)


def lookup():
    if MENDED:
        return table.index_select(0, rows)
    return table[rows]  # bad


def step():
    table.grad = None
    (lookup() * weights).sum().backward()


repeat(step, 40)
