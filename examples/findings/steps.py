# SPDX-License-Identifier: Apache-2.0
"""What the pairs share: steps in a range "step", and their median time on stdout, of a job that of its first rank."""
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist

MENDED = sys.argv[1:] == ["mended"]
torch.manual_seed(0)
torch.set_num_threads(1)  # so that other programs on the machine disturb little


def repeat(step, count):
    """Calls `step` `count` times; the first fifth is warm-up."""
    times_ms = []
    for _ in range(count):
        start = time.perf_counter()
        with torch.profiler.record_function("step"):
            step()
        times_ms.append((time.perf_counter() - start) * 1e3)
    if not dist.is_initialized() or dist.get_rank() == 0:
        print(f"{statistics.median(times_ms[count // 5:]):.3f} ms a step")


def _work(rank, folder, work):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    work()
    dist.destroy_process_group()


def job(work):
    """Calls `work` in two processes, which exchange gradients."""
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(_work, (folder, work), 2)


def timed(run, requests):
    """Calls `run`, which serves so many requests."""
    start = time.perf_counter()
    run()
    print(f"{(time.perf_counter() - start) * 1e3 / requests:.3f} ms a step")
