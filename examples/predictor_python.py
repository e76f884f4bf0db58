#!/usr/bin/env python3
"""A predictor in plain Python: `xsp profile examples/predictor_python.py --batch 1,4` (docs/predictor_protocol.md).
Its model is a perceptron of two layers in lists; every layer reports its times."""
import array
import json
import math
import mmap
import os
import platform
import socket
import threading
import time

WIDTH = 32
lines = socket.socket(fileno=int(os.environ["XSP_PREDICTOR_FD"])).makefile("rw")
weights = [[math.sin(row * WIDTH + column) for column in range(WIDTH)] for row in range(WIDTH)]
wants_layers, shape, memory = False, [], None


def timed(layers, name, kind, function, rows):
    start = time.monotonic_ns()
    result = function(rows)
    if wants_layers:
        layers.append({"name": name, "type": kind, "shape": [len(result), len(result[0])],
                       "thread": threading.get_native_id(), "start": start, "end": time.monotonic_ns()})
    return result


def predict():
    begin = time.monotonic_ns()
    values = array.array("f", memory[:4 * shape[0] * shape[1]])
    rows = [values[row * WIDTH:(row + 1) * WIDTH] for row in range(shape[0])]
    layers, start = [], time.monotonic_ns()
    rows = timed(layers, "dense", "Gemm", lambda x: [[sum(map(float.__mul__, w, r)) for w in weights] for r in x], rows)
    rows = timed(layers, "squash", "Tanh", lambda x: [[math.tanh(value) for value in row] for row in x], rows)
    end = time.monotonic_ns()
    best = [row.index(max(row)) for row in rows]
    answer = {"start": start, "end": end, "preprocess": {"start": begin, "end": start},
              "postprocess": {"start": end, "end": time.monotonic_ns()}}
    return {**answer, "layers": layers} if wants_layers and best else answer


for line in lines:
    request, answer = json.loads(line), {}
    if request["request"] == "open":
        wants_layers = request["layers"]
        answer = {"version": 1, "framework": "python", "framework_version": platform.python_version(),
                  "clock": "monotonic", "inputs": [{"name": "x", "type": "float32", "shape": ["N", WIDTH]}]}
    elif request["request"] == "prepare":
        shape = request["inputs"][0]["shape"]
        memory = mmap.mmap(int(os.environ["XSP_PREDICTOR_INPUTS_FD"]), request["bytes"])
    elif request["request"] == "predict":
        answer = predict()
    elif request["request"] == "close":
        break
    print(json.dumps(answer), file=lines, flush=True)
