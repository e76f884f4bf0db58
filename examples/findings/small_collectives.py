# SPDX-License-Identifier: Apache-2.0
"""F36, small collectives: each of many small gradients is reduced by itself. Mended: all as one."""
import torch
import torch.distributed as dist
from steps import MENDED, job, repeat


def work():
    model = torch.nn.Sequential(*[torch.nn.Linear(16, 16) for _ in range(40)])
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def step():
        optimizer.zero_grad()
        model(torch.ones(8, 16)).sum().backward()
        gradients = [parameter.grad for parameter in model.parameters()]
        if MENDED:
            dist.all_reduce(torch._utils._flatten_dense_tensors(gradients))
        for gradient in () if MENDED else gradients:
            dist.all_reduce(gradient)  # bad
        optimizer.step()

    repeat(step, 20)


if __name__ == "__main__":
    job(work)
