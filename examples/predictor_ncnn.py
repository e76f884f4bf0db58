#!/usr/bin/env python3
"""Models of ncnn for `xsp profile`: `xsp profile net.param --framework program --library program=examples/predictor_ncnn.py`, with net.bin
beside it. The package's ncnn reports no layers, so each is extracted in turn: an extraction computes what is missing for it. It also
unpacks each layer's output, which one extraction of the result does not: compare the latency at M with that at M/L."""
import pathlib
import threading
from time import monotonic_ns as now

import ncnn
import numpy
from predictor_serve import serve

net, values = ncnn.Net(), {}


def sizes(path):
    """Sizes of each input, by the lines "Input NAME 0 1 BLOB 0=w 1=h 11=d 2=c" of a .param file."""
    lines = [line.split() for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines()]
    for words in (line for line in lines if line[:1] == ["Input"]):
        keys = dict(word.split("=") for word in words[5:])
        yield words[4], [int(keys[key]) for key in ("2", "11", "1", "0") if int(keys.get(key, 0)) > 0]


def describe(path, threads):
    if threads:
        net.opt.num_threads = threads
    if net.load_param(path) != 0 or net.load_model(str(pathlib.Path(path).with_suffix(".bin"))) != 0:
        return {"error": f"{path}: ncnn cannot read it, or the .bin file beside it"}
    inputs = [{"name": name, "type": "float32", "shape": shape} for name, shape in sizes(path)]
    if not all(info["shape"] for info in inputs):
        return {"error": f"{path}: an Input has no sizes; write them behind its names: 0=WIDTH 1=HEIGHT 2=CHANNELS"}
    return {"framework": "ncnn", "framework_version": ncnn.__version__, "inputs": inputs, "note": "layers are extracted in turn"}


def prepare(inputs):
    values.update({name: ncnn.Mat(numpy.ascontiguousarray(array)) for name, array in inputs.items()})


def predict(wants_layers):
    layers, outputs, blobs = [], [], net.blobs()
    extractor = net.create_extractor()
    start = now()
    for name, value in values.items():
        extractor.input(name, value)
    for layer in net.layers() if wants_layers else []:
        if layer.type == "Input":
            continue
        begin = now()
        for top in layer.tops:
            outputs.append(extractor.extract(blobs[top].name)[1])
        layers.append({"name": layer.name, "type": layer.type, "thread": threading.get_native_id(), "start": begin, "end": now()})
        layers[-1]["shape"] = [outputs[-1].c, outputs[-1].h, outputs[-1].w][-outputs[-1].dims:]
    for name in [] if wants_layers else net.output_names():
        outputs.append(extractor.extract(name)[1])
    return start, now(), layers


serve(describe, prepare, predict)
