"""The loop of a predictor (docs/predictor_protocol.md), for the examples beside this file: `serve` answers xsp's requests by the
functions of a model. Times are those of time.monotonic_ns."""
import json
import mmap
import os
import socket

import numpy


def serve(describe, prepare, predict):
    """`describe(path, threads)` opens the model and returns the answer to `open`; `prepare(inputs)` gets arrays by name;
    `predict(wants_layers)` returns start, end and layers."""
    wants_layers = False
    lines = socket.socket(fileno=int(os.environ["XSP_PREDICTOR_FD"])).makefile("rw")
    for request in map(json.loads, lines):
        answer = {}
        if request["request"] == "open":
            wants_layers = request["layers"]
            answer = {"version": 1, "clock": "monotonic", **describe(request["model"], request["threads"])}
        elif request["request"] == "prepare":
            memory = mmap.mmap(int(os.environ["XSP_PREDICTOR_INPUTS_FD"]), request["bytes"])
            prepare({info["name"]: numpy.frombuffer(memory, dtype=info["type"], offset=info["offset"], count=info["bytes"]
                                                    // numpy.dtype(info["type"]).itemsize).reshape(info["shape"])
                     for info in request["inputs"]})
        elif request["request"] == "predict":
            start, end, layers = predict(wants_layers)
            answer = {"start": start, "end": end, **({"layers": layers} if wants_layers else {})}
        elif request["request"] == "close":
            break
        print(json.dumps(answer), file=lines, flush=True)
