#!/usr/bin/env python3
"""Models of MNN for `xsp profile`: `xsp profile net.mnn --framework program --library program=examples/predictor_mnn.py`. Layers are
what MNN's callbacks report: also the copies between layouts that it adds (`Raster`)."""
import threading
from time import monotonic_ns as now

import MNN
from predictor_serve import serve

# MNN's "flops" of an operator with weights or a matrix product are millions of multiply-adds, those of all others elements / 2**20.
MULTIPLY_ADDS = {"Convolution", "ConvolutionDepthwise", "ConvInt8", "DepthwiseConvInt8", "Deconvolution", "DeconvolutionDepthwise",
                 "MatMul", "BatchMatMul"}
session, interpreter, layers = None, None, []


def describe(path, threads):
    global interpreter, session
    interpreter = MNN.Interpreter(path)
    session = interpreter.createSession({"numThread": threads} if threads else {})
    kinds = {MNN.Halide_Type_Float: "float32", MNN.Halide_Type_Int: "int32", MNN.Halide_Type_Uint8: "uint8"}
    return {"framework": "mnn", "framework_version": MNN.version(),
            "inputs": [{"name": name, "type": kinds.get(tensor.getDataType(), "float32"), "shape": ["N", *tensor.getShape()[1:]]}
                       for name, tensor in interpreter.getSessionInputAll(session).items()]}


def prepare(inputs):
    tensors = interpreter.getSessionInputAll(session)
    for name, values in inputs.items():
        interpreter.resizeTensor(tensors[name], values.shape)
    interpreter.resizeSession(session)
    for name, values in inputs.items():
        tensors[name].copyFrom(MNN.Tensor(values.shape, tensors[name].getDataType(), values, MNN.Tensor_DimensionType_Caffe))


def begin(_, operator):
    layer = {"name": operator.getName(), "type": operator.getType(), "thread": threading.get_native_id()}
    if layer["type"] in MULTIPLY_ADDS:
        layer["tags"] = {"multiply_adds": round(operator.getFlops() * 10**6)}
    layers.append(layer)
    layer["start"] = now()
    return True


def end(tensors, _):
    layers[-1]["end"] = now()
    layers[-1]["shape"] = [size for tensor in tensors[:1] for size in tensor.getShape()]
    return True


def predict(wants_layers):
    layers.clear()
    start = now()
    if wants_layers:
        interpreter.runSessionWithCallBackInfo(session, begin, end)
    else:
        interpreter.runSession(session)
    return start, now(), layers


serve(describe, prepare, predict)
