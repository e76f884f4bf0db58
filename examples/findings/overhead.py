# SPDX-License-Identifier: Apache-2.0
"""F14, overhead of recording: a thousand operators that take less time than recording them. Mended: one for all values."""
import torch
from steps import MENDED, repeat

values = torch.rand(1000, 2048)
rows = [row[:32] for row in values]


def step():
    if MENDED:
        values.tanh_()
        return
    for row in rows:
        row.tanh_()


repeat(step, 100)
