# SPDX-License-Identifier: Apache-2.0
"""A trace with more spans than a server's page gets at once: layers of some microseconds that launch kernels."""
import subprocess

from scripted import MAKE_TRACE, TIMEOUT_S, UNIX_START

LAYERS, KERNELS = 10, 4


def in_one(layers=LAYERS, kernels=KERNELS):
    """How many spans an observation has."""
    return 1 + layers * (1 + 2 * kernels)


IN_ONE = in_one()
NAMES = ("conv", "relu", "pool", "matmul", "softmax")


def write(path, observations, layers=LAYERS, kernels=KERNELS):
    """Observations of about 1 ms, or longer with more layers and kernels; layers of five names; each layer has a tag, each kernel is
    launched and runs on a stream."""
    pitch_ns = 42_000 + 14_000 * kernels
    with subprocess.Popen([MAKE_TRACE, path], stdin=subprocess.PIPE, text=True) as process:
        put = process.stdin.write
        put("experiment\t1\tlarge\t/models/large.onnx\tonnxruntime\t1.31.1\nrun\t1\t1\tM/L/K\t1\t0\tunix\n")
        put("track\t1\t1\tmain\t-\t-\t100\t100\t-\t-\ntrack\t1\t2\tstream\t-\t-\t100\t-\t0\t1\n")
        span, correlation, seed = 0, 0, 12345

        def line(start, duration, level, kind, track, name, number=0, category="-"):
            nonlocal span
            span += 1
            put(f"span\t1\t{span}\t-\t{start}\t{duration}\t{number}\t{track}\t{level}\t{kind}\t{category}\tscripted\t{name}\n")

        for observation in range(observations):
            at = UNIX_START + observation * (layers * pitch_ns + 20_000)
            line(at, layers * pitch_ns + 10_000, "model", "sync", 1, "net")
            for layer in range(layers):
                seed = (seed * 1103515245 + 12345) & 0x7fffffff
                start = at + 1000 + layer * pitch_ns
                line(start, pitch_ns - 38_000 + seed % 30_000, "layer", "sync", 1, f"{NAMES[layer % 5]}_{layer}")
                put(f"tag\t1\t{span}\tlayer_index\tint\t{layer}\n")
                put(f"tag\t1\t{span}\tnote\ttext\tobservation {observation}\n")
                for kernel in range(kernels):
                    correlation += 1
                    line(start + 1000 + kernel * 14_000, 5_000 + seed % 997, "kernel", "launch", 1, "launch", correlation)
                    line(start + 7000 + kernel * 14_000, 4_000 + seed % 7919, "kernel", "execution", 2,
                         f"gemm_{(layer * 7 + kernel + observation) % 13}", correlation, "kernel")
        process.stdin.close()
        assert process.wait(TIMEOUT_S) == 0
    return path
