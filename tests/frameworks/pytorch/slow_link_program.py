# SPDX-License-Identifier: Apache-2.0
"""A rank of a job of three pairs: `slow_link_program.py RANK STEPS FLOATS`. Each step computes, then each pair reduces FLOATS numbers."""
import os
import sys

rank, steps, floats = map(int, sys.argv[1:])
os.environ.update(MASTER_ADDR="10.77.39.1", MASTER_PORT="29501", GLOO_SOCKET_IFNAME="veth0")

import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group("gloo", rank=rank, world_size=6)
pair = [dist.new_group([first, first + 1]) for first in (0, 2, 4)][rank // 2]
net = torch.nn.Linear(8, 2)
optimizer = torch.optim.SGD(net.parameters(), 0.01)
values = torch.ones(floats)
for _ in range(steps):
    optimizer.zero_grad()
    net(torch.ones(4, 8)).sum().backward()
    dist.all_reduce(values, group=pair)
    optimizer.step()
dist.barrier()
dist.destroy_process_group()
