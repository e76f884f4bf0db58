#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model in OpenCV's DNN module, as any program would run it; on OpenCL, or on OpenCV's own CPU code.

    opencv_dnn.py MODEL.onnx [--runs 10] [--warmup 2] [--threads 1] [--target opencl|cpu] [--output FILE.npy] [--json]

It knows nothing of xsp. One line of it helps any profiler: the NVTX range `inference` around what is to be measured (by
the package nvtx; without it the program runs as well). What the program prints is what it knows itself: how long each
inference took, and what OpenCV's own profile (`Net.getPerfProfile`) says that its layers took.

OpenCV takes an OpenCL CPU device such as PoCL only when it is told to twice:

    OPENCV_OPENCL_DEVICE=:CPU: OPENCV_DNN_OPENCL_ALLOW_ALL_DEVICES=1
"""
import argparse
import contextlib
import hashlib
import json
import sys
import threading
import time

import cv2
import numpy

try:
    from nvtx import annotate
except ImportError:
    def annotate(_name):
        return contextlib.nullcontext()

TARGETS = {"opencl": cv2.dnn.DNN_TARGET_OPENCL, "cpu": cv2.dnn.DNN_TARGET_CPU}


def read_network(path, target):
    if hasattr(cv2.dnn, "ENGINE_CLASSIC"):  # from OpenCV 5 on the other engine, which has no OpenCL, is the default
        network = cv2.dnn.readNetFromONNX(path, cv2.dnn.ENGINE_CLASSIC)
    else:
        network = cv2.dnn.readNetFromONNX(path)
    network.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
    network.setPreferableTarget(TARGETS[target])
    return network


def profile_of(network):
    """[(layer, milliseconds)] and their sum, as OpenCV tells them of the last inference."""
    ticks_per_ms = cv2.getTickFrequency() / 1e3
    total, ticks = network.getPerfProfile()
    layers = list(zip(network.getLayerNames(), (float(tick) / ticks_per_ms for tick in numpy.ravel(ticks))))
    return layers, total / ticks_per_ms


def infer(options, picture, said, warm):
    """What one thread does, with a network of its own; no inference is measured while another thread warms up."""
    try:
        network = read_network(options.model, options.target)
        for _ in range(options.warmup):
            with annotate("warm-up"):
                network.setInput(picture)
                network.forward()
    except BaseException:
        warm.abort()  # else the others would wait for ever
        raise
    warm.wait()
    for _ in range(options.runs):
        started, cpu_started = time.perf_counter(), time.process_time()
        with annotate("inference"):
            network.setInput(picture)
            answer = network.forward()
        said["forward_ms"].append((time.perf_counter() - started) * 1e3)
        said["cpu_ms"].append((time.process_time() - cpu_started) * 1e3)  # of all threads, the device's too
        said["answers"].append(answer.copy())
        layers, total_ms = profile_of(network)
        said["perf_profile_ms"].append(total_ms)
        said["perf_profile_layers"] = layers


def main():
    parser = argparse.ArgumentParser(description="run a model in OpenCV's DNN module")
    parser.add_argument("model")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=2, help="inferences before: the first builds the kernels")
    parser.add_argument("--threads", type=int, default=1, help="each does all of it")
    parser.add_argument("--target", choices=TARGETS, default="opencl")
    parser.add_argument("--seed", type=int, default=0, help="of the random picture")
    parser.add_argument("--output", help="write the answers here, as .npy")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    options = parser.parse_args()
    if options.target == "opencl" and not cv2.ocl.useOpenCL():
        sys.exit("opencv_dnn.py: OpenCV sees no OpenCL device; try: OPENCV_OPENCL_DEVICE=:CPU:, and an OpenCL driver "
                 "such as pocl-opencl-icd")
    device = cv2.ocl.Device.getDefault().name() if options.target == "opencl" else "OpenCV's own CPU code"
    picture = numpy.random.default_rng(options.seed).standard_normal((1, 3, 224, 224)).astype(numpy.float32)
    said = {"opencv": cv2.__version__, "device": device, "runs": options.runs, "forward_ms": [], "cpu_ms": [],
            "perf_profile_ms": [], "answers": []}
    work = (options, picture, said, threading.Barrier(options.threads))
    threads = [threading.Thread(target=infer, args=work) for _ in range(options.threads - 1)]
    for thread in threads:
        thread.start()
    infer(*work)
    for thread in threads:
        thread.join()
    answers = numpy.stack(said["answers"])
    if options.output:
        numpy.save(options.output, answers)
    said["answers"] = hashlib.sha256(answers.tobytes()).hexdigest()
    if options.json:
        print(json.dumps(said))
        return
    print(f"OpenCV {cv2.__version__} on {device}: {len(answers)} inferences")
    print(f"  forward()         {numpy.median(said['forward_ms']):9.3f} ms   (median; by the program's own clock)")
    print(f"  getPerfProfile()  {numpy.median(said['perf_profile_ms']):9.3f} ms   (median; what OpenCV says its layers took)")
    print(f"  answers           {said['answers'][:16]}")


if __name__ == "__main__":
    main()
