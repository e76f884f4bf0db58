# SPDX-License-Identifier: Apache-2.0
"""A Python program that runs a small transformer in PyTorch: plain, with `--emit-itt` (each operator announced by
ITT), or with `--own-profiler` or `--own-stacks` (torch.profiler on the CPU, with Python's stacks). `--runs N` inferences. Prints one JSON
object: their CPU times, how many operators one has, and the peak memory."""
import contextlib
import json
import sys
import time

import torch

from torch_workload import peak_bytes

RUNS, WARMUPS = 60, 20


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    layer = torch.nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    model = torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False).eval()
    batch = torch.randn(1, 4, 16)
    cpu = [torch.profiler.ProfilerActivity.CPU]
    with torch.no_grad(), torch.profiler.profile(activities=cpu) as counted:
        model(batch)
    operators = len([event for event in counted.events() if event.name.startswith("aten::")])
    profiler = contextlib.nullcontext()
    if "--emit-itt" in sys.argv:
        profiler = torch.autograd.profiler.emit_itt()
    elif "--own-profiler" in sys.argv or "--own-stacks" in sys.argv:
        profiler = torch.profiler.profile(activities=cpu, with_stack="--own-stacks" in sys.argv)
    runs = int(sys.argv[sys.argv.index("--runs") + 1]) if "--runs" in sys.argv else RUNS
    taken = []
    with torch.no_grad(), profiler:
        for _ in range(WARMUPS + runs):
            started = time.process_time_ns()
            model(batch)
            taken.append((time.process_time_ns() - started) / 1e6)
    print(json.dumps({"cpu_ms": taken[WARMUPS:], "events": operators, "peak_rss_bytes": peak_bytes()}))


if __name__ == "__main__":
    main()
