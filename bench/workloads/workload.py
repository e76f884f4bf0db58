# SPDX-License-Identifier: Apache-2.0
"""What the workloads of all frameworks share: their command line, the loop, the figures.

Prints one JSON object: the median time of an iteration (`ms`), the tenth percentile of its CPU time, all threads (`cpu_ms`: what
other programs do to caches and clocks only adds), and the process's peak resident memory."""
import argparse
import json
import re
import statistics
import time

WARMUPS = 3


def parser(description, profilers):
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--iterations", type=int, default=100)
    made.add_argument("--mode", choices=("train", "infer"), default="train")
    made.add_argument("--profiler", choices=("none", *profilers), default="none")
    made.add_argument("--threads", type=int, help="of an operator; without it, as many as the framework takes")
    return made


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


def run(name, iteration, options, profiler):
    with profiler:
        ms, cpu_ms = measure(iteration, options.iterations)
    print(json.dumps({"workload": name, **vars(options), "ms": ms, "cpu_ms": cpu_ms, "peak_rss_bytes": peak_bytes()}))
