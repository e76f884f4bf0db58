# SPDX-License-Identifier: Apache-2.0
"""resnet_steps.py STEPS [TRACE.json]: ResNet-50 at batch 256 on the GPU, in PyTorch. Prints the median time of a step in
nanoseconds; with TRACE.json all of it under torch.profiler, which writes that file. gpu-check runs it."""
import contextlib
import statistics
import sys
import time

import torch

import resnet

BATCH, SIZE, WARMUPS = 256, 224, 3


def main():
    steps, trace = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    activities = torch.profiler.ProfilerActivity
    profiler = torch.profiler.profile(activities=[activities.CPU, activities.CUDA]) if trace else contextlib.nullcontext()
    torch.manual_seed(0)
    module, images, times = resnet.ResNet().eval().cuda(), torch.randn(BATCH, 3, SIZE, SIZE).cuda(), []
    with profiler, torch.inference_mode():
        for _ in range(WARMUPS + steps):
            start = time.perf_counter_ns()
            module(images)
            torch.cuda.synchronize()
            times.append(time.perf_counter_ns() - start)
    if trace:
        profiler.export_chrome_trace(trace)
    print(int(statistics.median(times[WARMUPS:])))


if __name__ == "__main__":
    main()
