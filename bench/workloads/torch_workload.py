# SPDX-License-Identifier: Apache-2.0
"""What the PyTorch workloads share: their command line, the loop, PyTorch's profilers, the figures.

A workload is a function that returns a torch.nn.Module and its inputs, and a loss of the module's output. Prints one
JSON object: the median time of an iteration (`ms`), the tenth percentile of its CPU time, all threads (`cpu_ms`: what other
programs do to caches and clocks only adds), and the process's peak resident memory."""
import argparse
import contextlib
import json
import re
import statistics
import time

import torch

WARMUPS = 3


def profiler(name):
    if name == "none":
        return contextlib.nullcontext()
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], with_stack=name == "torch-stack")


def training(module, inputs, loss, optimizer):
    module.train()

    def step():
        optimizer.zero_grad()
        loss(module(*inputs)).backward()
        optimizer.step()
    return step


def inference(module, inputs):
    module.eval()

    def predict():
        with torch.inference_mode():
            module(*inputs)
    return predict


def peak_bytes():
    """VmHWM: unlike getrusage's, without what the process was before its execve."""
    with open("/proc/self/status") as status:
        return int(re.search(r"^VmHWM:\s+(\d+) kB", status.read(), re.MULTILINE).group(1)) * 1024


def measure(iteration, count):
    """Of `count` iterations: (ms, ms of CPU)."""
    times, cpu_times = [], []
    for number in range(-WARMUPS, count):
        started, cpu_started = time.perf_counter_ns(), time.process_time_ns()
        iteration()
        if number >= 0:
            times.append((time.perf_counter_ns() - started) / 1e6)
            cpu_times.append((time.process_time_ns() - cpu_started) / 1e6)
    return statistics.median(times), sorted(cpu_times)[len(cpu_times) // 10]


def run(workload, loss, optimizer=torch.optim.AdamW):
    parser = argparse.ArgumentParser(description=f"{workload.__name__} in PyTorch, with random weights")
    parser.add_argument("--iterations", type=int, default=100)
    parser.add_argument("--mode", choices=("train", "infer"), default="train")
    parser.add_argument("--profiler", choices=("none", "torch", "torch-stack"), default="none")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of an operator")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    module, inputs = workload()
    iteration = inference(module, inputs) if options.mode == "infer" \
        else training(module, inputs, loss, optimizer(module.parameters(), lr=1e-4))
    with profiler(options.profiler):
        ms, cpu_ms = measure(iteration, options.iterations)
    print(json.dumps({"workload": workload.__name__, **vars(options), "ms": ms, "cpu_ms": cpu_ms,
                      "peak_rss_bytes": peak_bytes()}))
