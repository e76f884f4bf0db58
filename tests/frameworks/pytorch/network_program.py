# SPDX-License-Identifier: Apache-2.0
"""A rank of a job on two hosts: `network_program.py RANK ADDRESS STEPS SLEEP_S FLOATS FOLDER`. Rank 0's process listens
at the address. Prints a line once torch is there. Each step computes, rank 1 sleeps in it, and reduces FLOATS numbers. Writes when each reduction began and ended, by
the clock that the hosts share here, to FOLDER/RANK.json."""
import json
import os
import pathlib
import sys
import time

rank, address, steps, sleep_s, floats, folder = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]), sys.argv[6]
os.environ.update(MASTER_ADDR=address, MASTER_PORT="29500", GLOO_SOCKET_IFNAME="veth0")

import torch
import torch.distributed as dist

torch.set_num_threads(1)
print("ready", flush=True)
dist.init_process_group("gloo", rank=rank, world_size=2)
net = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(net.parameters(), 0.01)
values = torch.ones(floats)
times = []
for _ in range(steps):
    optimizer.zero_grad()
    net(torch.ones(4, 8)).sum().backward()
    if rank == 1:
        time.sleep(sleep_s)
    arrival_ns = time.time_ns()
    dist.all_reduce(values)
    times.append((arrival_ns, time.time_ns()))
    optimizer.step()
pathlib.Path(folder, f"{rank}.json").write_text(json.dumps(times))
dist.barrier()
dist.destroy_process_group()
