#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small transformer (4 blocks, random weights) in tinygrad, as any program would run it.

    DEV=CL tinygrad_transformer.py [--runs 10] [--output ANSWERS.npy] [--json]

It does not use xsp. One line helps any profiler: the NVTX range `inference` around the measured part (by the package
nvtx; the program also runs without it). It prints its own
figures: kernels of an inference, its time, and the time until everything was launched.
"""
import argparse
import contextlib
import hashlib
import json
import time

import numpy
from tinygrad import Device, GlobalCounters, Tensor, TinyJit, nn

try:
    from nvtx import annotate
except ImportError:
    def annotate(_name):
        return contextlib.nullcontext()

WIDTH, HEADS, BLOCKS, LENGTH = 256, 4, 4, 64


class Block:
    def __init__(self):
        self.queries_keys_values, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.norm_before, self.norm_between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)

    def __call__(self, x):
        heads = self.queries_keys_values(self.norm_before(x)).reshape(1, LENGTH, 3, HEADS, WIDTH // HEADS)
        query, key, value = (part.squeeze(0) for part in heads.permute(2, 0, 3, 1, 4).chunk(3))
        mixed = query.scaled_dot_product_attention(key, value).transpose(1, 2).reshape(1, LENGTH, WIDTH)
        x = x + self.project(mixed)
        return x + self.narrow(self.widen(self.norm_between(x)).gelu())


def main():
    parser = argparse.ArgumentParser(description="run a small transformer in tinygrad")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--output", help="write the answers here, as .npy")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    options = parser.parse_args()
    Tensor.manual_seed(0)
    blocks = [Block() for _ in range(BLOCKS)]

    @TinyJit
    def forward(x):
        for block in blocks:
            x = block(x)
        return x.realize()

    x = Tensor.randn(1, LENGTH, WIDTH).realize()
    for _ in range(3):  # the first builds the kernels, TinyJit records the second, the third is the first normal one
        with annotate("warm-up"):
            forward(x).numpy()
    returned_ms, forward_ms, cpu_ms, kernels, answers = [], [], [], [], []
    for _ in range(options.runs):
        launched_before, started, cpu_started = GlobalCounters.kernel_count, time.perf_counter(), time.process_time()
        with annotate("inference"):
            result = forward(x)
            returned = time.perf_counter()
            answers.append(result.numpy())
        forward_ms.append((time.perf_counter() - started) * 1e3)
        cpu_ms.append((time.process_time() - cpu_started) * 1e3)  # of all threads, including the device's
        returned_ms.append((returned - started) * 1e3)
        kernels.append(GlobalCounters.kernel_count - launched_before)
    if options.output:
        numpy.save(options.output, numpy.stack(answers))
    results = {"device": Device.DEFAULT, "runs": options.runs, "forward_ms": forward_ms, "returned_ms": returned_ms,
            "cpu_ms": cpu_ms, "kernels": kernels, "answers": hashlib.sha256(b"".join(answer.tobytes() for answer in answers)).hexdigest()}
    if options.json:
        print(json.dumps(results))
        return
    print(f"tinygrad on {Device.DEFAULT}: {options.runs} inferences of {kernels[0]} kernels")
    print(f"  inference           {numpy.median(forward_ms):9.3f} ms   (median; by the program's own clock)")
    print(f"  realize() returned  {numpy.median(returned_ms):9.3f} ms   (median; when everything was launched)")
    print(f"  answers             {results['answers'][:16]}")


if __name__ == "__main__":
    main()
