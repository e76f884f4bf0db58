# SPDX-License-Identifier: Apache-2.0
"""All-reduces of PyTorch in a gloo group of one rank, which need no network: processor time of the process for each. With --own-profiler
under torch.profiler. Called by bench/pytorch.py; prints a JSON object."""
import json
import resource
import sys
import tempfile
import time

import torch
import torch.distributed as dist

COUNT, BATCHES = 1000, 15


def batch_ns(values):
    before_ns = time.process_time_ns()
    for _ in range(COUNT):
        dist.all_reduce(values)
    return (time.process_time_ns() - before_ns) / COUNT


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
        values = torch.ones(16)
        profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) if "--own-profiler" in sys.argv else None
        if profiler is not None:
            profiler.start()
        batch_ns(values)
        least_ns = min(batch_ns(values) for _ in range(BATCHES))
        if profiler is not None:
            profiler.stop()
        dist.destroy_process_group()
    print(json.dumps({"cpu_ns": least_ns, "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


if __name__ == "__main__":
    main()
