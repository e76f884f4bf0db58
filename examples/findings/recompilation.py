# SPDX-License-Identifier: Apache-2.0
"""F25, recompilation: a compiled function gets a number that changes in each step. Mended: as a tensor."""
import torch
from steps import MENDED, repeat

torch._dynamo.config.recompile_limit = 100
rates = iter(range(1, 1000))
inputs = torch.randn(64, 64)


@torch.compile(backend="eager", dynamic=False)
def scaled(values, rate):
    return (values * rate).tanh().sum()


def step():
    rate = next(rates)
    scaled(inputs, torch.tensor(rate) if MENDED else rate)  # bad


repeat(step, 40)
