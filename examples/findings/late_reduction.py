# SPDX-License-Identifier: Apache-2.0
"""F37, late reduction: gradients are reduced after the backward pass. Mended: DistributedDataParallel does it meanwhile."""
import torch
import torch.distributed as dist
from steps import MENDED, job, repeat


def work():
    model = torch.nn.Sequential(*[torch.nn.Linear(768, 768) for _ in range(6)])
    called = torch.nn.parallel.DistributedDataParallel(model) if MENDED else model
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def step():
        optimizer.zero_grad()
        called(torch.ones(128, 768)).sum().backward()
        for parameter in () if MENDED else model.parameters():
            dist.all_reduce(parameter.grad)  # bad
        optimizer.step()

    repeat(step, 20)


if __name__ == "__main__":
    job(work)
