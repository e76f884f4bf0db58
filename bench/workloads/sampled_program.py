# SPDX-License-Identifier: Apache-2.0
"""A program that bench/samples.py has sampled: loops in Python, or NumPy's functions on one thread. Prints the CPU
times of its steps."""
import json
import sys
import time

STEPS = 20  # of 100 ms and more, so that each has samples


def add(total, number):
    return (total + number * number) % 1000003


def loop():
    total = 0
    for number in range(2_000_000):
        total = add(total, number)
    return total


def arrays():
    import numpy
    numbers = numpy.random.default_rng(1).random((300, 300), dtype=numpy.float32)

    def step():
        for _ in range(150):
            sums = numpy.exp(-(numbers @ numbers) / 300).sum(axis=0)
            numpy.sort(numbers, axis=0)
        return sums
    return step


step = loop if sys.argv[1] == "python" else arrays()
times = []
for _ in range(STEPS + 1):
    began = time.process_time()
    step()
    times.append((time.process_time() - began) * 1e3)
print(json.dumps({"cpu_ms": times[1:]}))
