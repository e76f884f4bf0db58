# SPDX-License-Identifier: Apache-2.0
"""F35, micro-batches: each of a step's four backward passes reduces all gradients. Mended: the last one does."""
import contextlib

import torch
from steps import MENDED, job, repeat


def work():
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def step():
        optimizer.zero_grad()
        for i in range(4):
            with model.no_sync() if MENDED and i < 3 else contextlib.nullcontext():
                model(torch.ones(16, 512)).sum().backward()  # bad
        optimizer.step()

    repeat(step, 20)


if __name__ == "__main__":
    job(work)
