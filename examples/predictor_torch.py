#!/usr/bin/env python3
"""A PyTorch model as a predictor: docs/predictor_protocol.md. Layers are its innermost modules, reported by hooks."""
import json
import mmap
import os
import socket
import threading
from time import monotonic_ns as now

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, width, out, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(width, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(),
                                  nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
        self.shortcut = nn.Identity() if width == out else nn.Conv2d(width, out, 1, stride, bias=False)
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.body(x) + self.shortcut(x))  # the addition is not a module, so not in a layer


model = nn.Sequential(nn.Conv2d(3, 32, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(2), Residual(32, 32, 1), Residual(32, 64, 2),
                      nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 1000)).eval()
layers, inputs, wants_layers = [], [], False


def watch(index, name, module):
    module.register_forward_pre_hook(lambda module, arguments: layers.append(
        {"name": name, "type": type(module).__name__, "index": index, "thread": threading.get_native_id(), "start": now()}))
    module.register_forward_hook(
        lambda module, arguments, output: layers[-1].update(end=now(), shape=list(output.shape)))


lines = socket.socket(fileno=int(os.environ["XSP_PREDICTOR_FD"])).makefile("rw")
for request in map(json.loads, lines):
    answer = {}
    if request["request"] == "open":
        torch.set_num_threads(request["threads"] or torch.get_num_threads())
        wants_layers = request["layers"]
        for index, (name, module) in enumerate(model.named_modules()):
            if wants_layers and not list(module.children()):
                watch(index, name, module)
        answer = {"version": 1, "framework": "pytorch", "framework_version": torch.__version__, "clock": "monotonic",
                  "inputs": [{"name": "image", "type": "float32", "shape": ["N", 3, 224, 224]}]}
    elif request["request"] == "prepare":
        memory = mmap.mmap(int(os.environ["XSP_PREDICTOR_INPUTS_FD"]), request["bytes"])
        inputs = [torch.frombuffer(memory, dtype=getattr(torch, info["type"]), offset=info["offset"],
                                   count=info["bytes"] // 4).reshape(info["shape"]) for info in request["inputs"]]
    elif request["request"] == "predict":
        layers.clear()
        with torch.inference_mode():
            start, output, end = now(), model(*inputs), now()
        answer = {"start": start, "end": end, **({"layers": layers} if wants_layers else {})}
    elif request["request"] == "close":
        break
    print(json.dumps(answer), file=lines, flush=True)
