# SPDX-License-Identifier: Apache-2.0
"""A job of several processes whose collectives, bytes and slow rank are known: `ranks_program.py RANKS SLEEP_S STEPS FOLDER`. Processes
get their rank from torch.distributed alone: no variable of the environment has it. Rank 1 sleeps in each step. Each writes when its steps
ended to FOLDER/RANK.json."""
import json
import multiprocessing
import pathlib
import sys
import time

import torch
import torch.distributed as dist

FLOATS = 1000


def step(net, optimizer, values, rank, sleep_s):
    optimizer.zero_grad()
    loss = net(torch.ones(4, 8)).sum()
    if rank == 1:
        time.sleep(sleep_s)  # line SLOW
    loss.backward()
    dist.all_reduce(values)  # line REDUCE
    optimizer.step()


def work(rank, ranks, sleep_s, steps, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=ranks)
    pair = dist.new_group([0, 1])
    net = torch.nn.Linear(8, 2)
    optimizer = torch.optim.SGD(net.parameters(), 0.01)
    values = torch.ones(FLOATS)
    ends_ns = []
    for _ in range(steps):
        step(net, optimizer, values, rank, sleep_s)
        ends_ns.append(time.perf_counter_ns())
    pathlib.Path(folder, f"{rank}.json").write_text(json.dumps(ends_ns))
    if rank < 2:
        dist.all_gather([torch.zeros(3), torch.zeros(3)], torch.ones(3), group=pair)
    dist.barrier()
    dist.destroy_process_group()


def main():
    ranks, sleep_s, steps, folder = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=work, args=(rank, ranks, sleep_s, steps, folder)) for rank in range(ranks)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.exit(max(abs(worker.exitcode) for worker in workers))


if __name__ == "__main__":
    main()
