# SPDX-License-Identifier: Apache-2.0
"""F31, straggler: one rank sorts its batch in Python before it trains on it. Mended: none does."""
import torch
import torch.distributed as dist
from steps import MENDED, job, repeat


def prepare(batch):
    rows = batch.tolist()
    for row in rows:
        row.sort()  # bad
    return torch.tensor(rows)


def work():
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 256))
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)

    def step():
        batch = torch.randn(256, 256)
        if dist.get_rank() == 1 and not MENDED:
            batch = prepare(batch)
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()

    repeat(step, 30)


if __name__ == "__main__":
    job(work)
