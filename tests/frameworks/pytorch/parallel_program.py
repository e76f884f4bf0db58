# SPDX-License-Identifier: Apache-2.0
"""Two ranks that train one model in parallel: `parallel_program.py ddp|fsdp|tensor|pipeline|scatter FOLDER`. What each collective is for is known."""
import multiprocessing
import sys

import torch
import torch.distributed as dist
from torch import nn

RANKS, STEPS, WIDTH, PARTS = 2, 8, 256, 4


def blocks():
    torch.manual_seed(0)
    return nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(4)])


def train(model, step):
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(STEPS):
        optimizer.zero_grad()
        step()
        optimizer.step()


def train_whole(model):
    train(model, lambda: model(torch.ones(64, WIDTH)).sum().backward())


def ddp(_):
    """From the second step on, a bucket has two blocks."""
    train_whole(nn.parallel.DistributedDataParallel(blocks(), bucket_cap_mb=0.4))


def fsdp(_):
    from torch.distributed.fsdp import fully_shard
    model = blocks()
    for block in model:
        fully_shard(block)
    train_whole(fully_shard(model))


def tensor(_):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    model = nn.Sequential(nn.Linear(WIDTH, 512), nn.ReLU(), nn.Linear(512, WIDTH))
    train_whole(parallelize_module(model, init_device_mesh("cpu", (RANKS,)), {"0": ColwiseParallel(), "2": RowwiseParallel()}))


def pipeline(rank):
    """A step has PARTS micro-batches, which the first stage sends on, and whose gradients it gets back."""
    from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
    part = blocks()[2 * rank:2 * rank + 2]
    schedule = ScheduleGPipe(PipelineStage(part, rank, RANKS, torch.device("cpu")), PARTS,
                             loss_fn=lambda output, target: ((output - target) ** 2).mean())
    batch = torch.ones(64, WIDTH)
    train(part, (lambda: schedule.step(batch)) if rank == 0 else lambda: schedule.step(target=batch, losses=[]))


def scatter(rank):
    """A reduce-scatter of a list, which Gloo runs as an all-reduce for each tensor."""
    parts = [torch.ones(1000) for _ in range(RANKS)]
    train(nn.Linear(1, 1), lambda: dist.reduce_scatter(torch.empty(1000), parts))


def work(rank, kind, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS)
    globals()[kind](rank)
    dist.barrier()
    dist.destroy_process_group()


def main():
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=work, args=(rank, *sys.argv[1:])) for rank in range(RANKS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.exit(max(abs(worker.exitcode) for worker in workers))


if __name__ == "__main__":
    main()
