# SPDX-License-Identifier: Apache-2.0
"""Two ranks whose gradients are exchanged in a way that costs time: `exchange_program.py MODE FOLDER`. MODE: micro (in each of four backward
passes of a step), mended (in the last one), late (after the backward pass, by a loop), small (late, in many small pieces)."""
import contextlib
import multiprocessing
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS, PASSES = 12, 4


def backward(net, wide, passes, mode):
    for i in range(passes):
        waits = mode == "mended" and i + 1 < passes
        with net.no_sync() if waits else contextlib.nullcontext():
            net(torch.ones(64, wide)).sum().backward()  # line BACKWARD


def work(rank, mode, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    wide, layers = (16, 24) if mode == "small" else (512, 4)
    net = torch.nn.Sequential(*(torch.nn.Linear(wide, wide) for _ in range(layers)))
    if mode in ("micro", "mended"):
        net = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), 1e-6)
    for _ in range(STEPS):
        optimizer.zero_grad()
        backward(net, wide, PASSES if mode in ("micro", "mended") else 1, mode)
        if mode in ("late", "small"):
            for parameter in net.parameters():
                dist.all_reduce(parameter.grad)  # line REDUCE
        optimizer.step()
    dist.destroy_process_group()


def main():
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(rank, sys.argv[1], sys.argv[2])) for rank in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.exit(max(abs(worker.exitcode) for worker in workers))


if __name__ == "__main__":
    main()
