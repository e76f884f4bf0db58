#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model in OpenCV's DNN module, as any program would run it; on OpenCL, or on OpenCV's own CPU code.

    opencv_dnn.py MODEL.onnx [--runs 10] [--warmup 2] [--threads 1] [--target opencl|cpu] [--output FILE.npy] [--json]

It does not use xsp. One line helps any profiler: the NVTX range `inference` around the measured part (by the package
nvtx; the program also runs without it). It prints its own
figures: the time of each inference, and of its layers by OpenCV's own profile (`Net.getPerfProfile`).

OpenCV uses an OpenCL CPU device such as PoCL only with both variables:

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
    if hasattr(cv2.dnn, "ENGINE_CLASSIC"):  # OpenCV 5's default engine has no OpenCL
        network = cv2.dnn.readNetFromONNX(path, cv2.dnn.ENGINE_CLASSIC)
    else:
        network = cv2.dnn.readNetFromONNX(path)
    network.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
    network.setPreferableTarget(TARGETS[target])
    return network


def profile_of(network):
    """[(layer, milliseconds)] and their sum, by OpenCV's profile of the last inference."""
    ticks_per_ms = cv2.getTickFrequency() / 1e3
    total, ticks = network.getPerfProfile()
    layers = list(zip(network.getLayerNames(), (float(tick) / ticks_per_ms for tick in numpy.ravel(ticks))))
    return layers, total / ticks_per_ms


def infer(options, picture, results, warm):
    """The work of one thread, with its own network. All threads finish warming up before one measures."""
    try:
        network = read_network(options.model, options.target)
        for _ in range(options.warmup):
            with annotate("warm-up"):
                network.setInput(picture)
                network.forward()
    except BaseException:
        warm.abort()  # else the others wait for ever
        raise
    warm.wait()
    for _ in range(options.runs):
        started, cpu_started = time.perf_counter(), time.process_time()
        with annotate("inference"):
            network.setInput(picture)
            answer = network.forward()
        results["forward_ms"].append((time.perf_counter() - started) * 1e3)
        results["cpu_ms"].append((time.process_time() - cpu_started) * 1e3)  # of all threads, including the device's
        results["answers"].append(answer.copy())
        layers, total_ms = profile_of(network)
        results["perf_profile_ms"].append(total_ms)
        results["perf_profile_layers"] = layers


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
        sys.exit("opencv_dnn.py: OpenCV finds no OpenCL device; try: OPENCV_OPENCL_DEVICE=:CPU:, and an OpenCL driver "
                 "such as pocl-opencl-icd")
    device = cv2.ocl.Device.getDefault().name() if options.target == "opencl" else "OpenCV's own CPU code"
    picture = numpy.random.default_rng(options.seed).standard_normal((1, 3, 224, 224)).astype(numpy.float32)
    results = {"opencv": cv2.__version__, "device": device, "runs": options.runs, "forward_ms": [], "cpu_ms": [],
            "perf_profile_ms": [], "answers": []}
    work = (options, picture, results, threading.Barrier(options.threads))
    threads = [threading.Thread(target=infer, args=work) for _ in range(options.threads - 1)]
    for thread in threads:
        thread.start()
    infer(*work)
    for thread in threads:
        thread.join()
    answers = numpy.stack(results["answers"])
    if options.output:
        numpy.save(options.output, answers)
    results["answers"] = hashlib.sha256(answers.tobytes()).hexdigest()
    if options.json:
        print(json.dumps(results))
        return
    print(f"OpenCV {cv2.__version__} on {device}: {len(answers)} inferences")
    print(f"  forward()         {numpy.median(results['forward_ms']):9.3f} ms   (median; by the program's own clock)")
    print(f"  getPerfProfile()  {numpy.median(results['perf_profile_ms']):9.3f} ms   (median; layers, by OpenCV's profile)")
    print(f"  answers           {results['answers'][:16]}")


if __name__ == "__main__":
    main()
