# SPDX-License-Identifier: Apache-2.0
"""Two ranks that train on sequences of token ids: `lengths_program.py MODE FOLDER`. Those of rank 1 are four times as long (one), or those
of the ranks in turns (turns), or none (equal)."""
import multiprocessing
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS, SEQUENCES, SHORT, LONG = 20, 8, 64, 256


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(1000, 64)
        self.mix = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)

    def forward(self, ids):
        return self.mix(self.embed(ids)).mean()


def work(rank, mode, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    model = DistributedDataParallel(Model())
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for step in range(STEPS):
        is_long = {"one": rank == 1, "turns": (step + rank) % 2 == 1, "equal": False}[mode]
        ids = torch.zeros(SEQUENCES, LONG if is_long else SHORT, dtype=torch.long)
        optimizer.zero_grad()
        model(ids).backward()  # line WAIT
        optimizer.step()
    dist.destroy_process_group()


def main():
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(rank, *sys.argv[1:])) for rank in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.exit(max(abs(worker.exitcode) for worker in workers))


if __name__ == "__main__":
    main()
