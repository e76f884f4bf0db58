# SPDX-License-Identifier: Apache-2.0
"""TFLite models for the tests, written as flatbuffers by hand: a small CNN whose batch size is free or fixed, one with two
inputs of other types, and bad ones. Random weights.

`python3 tflite_models.py FOLDER` (with ai-edge-litert, flatbuffers and numpy) writes them."""
import pathlib
import sys

import flatbuffers
import numpy
from ai_edge_litert import schema_py_generated as schema

TYPES = {numpy.dtype(name): number for name, number in {
    "float32": schema.TensorType.FLOAT32, "int32": schema.TensorType.INT32, "int64": schema.TensorType.INT64,
    "float16": schema.TensorType.FLOAT16, "uint8": schema.TensorType.UINT8, "bool": schema.TensorType.BOOL}.items()}


class Model:
    """One subgraph, put together operator by operator. A free dimension is written -1."""

    def __init__(self):
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.description = 3, "xsp test"
        self.model.buffers, self.model.operatorCodes, self.model.subgraphs = [schema.BufferT()], [], [self.graph]
        self.graph.tensors, self.graph.operators, self.graph.name = [], [], "main"
        self.graph.inputs, self.graph.outputs = [], []

    def tensor(self, name, shape, kind="float32", data=None):
        tensor = schema.TensorT()
        tensor.name, tensor.type, tensor.buffer = name, TYPES[numpy.dtype(kind)], 0
        tensor.shape = [max(size, 1) for size in shape]
        if -1 in shape:
            tensor.shapeSignature, tensor.hasRank = list(shape), True
        if data is not None:
            buffer = schema.BufferT()
            buffer.data = numpy.frombuffer(numpy.ascontiguousarray(data).tobytes(), numpy.uint8)
            tensor.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def constant(self, name, array):
        return self.tensor(name, array.shape, array.dtype, array)

    def operator(self, code, inputs, outputs, options=None, options_type=0, custom=None):
        known = schema.OperatorCodeT()
        known.builtinCode, known.deprecatedBuiltinCode, known.version = code, min(code, 127), 1
        known.customCode = custom
        operator = schema.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = len(self.model.operatorCodes), inputs, outputs
        operator.builtinOptions, operator.builtinOptionsType = options, options_type
        self.model.operatorCodes.append(known)
        self.graph.operators.append(operator)

    def signature(self, inputs, outputs):
        """{name: tensor} of both."""
        signature = schema.SignatureDefT()
        signature.signatureKey, signature.subgraphIndex = "serving_default", 0

        def maps(tensors):
            result = []
            for name, tensor in tensors.items():
                one = schema.TensorMapT()
                one.name, one.tensorIndex = name, tensor
                result.append(one)
            return result
        signature.inputs, signature.outputs = maps(inputs), maps(outputs)
        self.model.signatureDefs = [signature]
        self.graph.inputs, self.graph.outputs = list(inputs.values()), list(outputs.values())

    def save(self, path):
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(self.model.Pack(builder), file_identifier=b"TFL3")
        path.write_bytes(bytes(builder.Output()))


def cnn(path, batch, size=96):
    random, model = numpy.random.RandomState(0), Model()
    data = model.tensor("image", [batch, size, size, 3])
    x, channels = data, 3
    for i, wide in enumerate((16, 32, 32)):
        weights = model.constant(f"block{i}/weights", (random.randn(wide, 3, 3, channels) * .1).astype("f4"))
        bias = model.constant(f"block{i}/bias", random.randn(wide).astype("f4"))
        y = model.tensor(f"block{i}/conv", [batch, size, size, wide])
        options = schema.Conv2DOptionsT()
        options.strideH = options.strideW = options.dilationHFactor = options.dilationWFactor = 1
        options.padding, options.fusedActivationFunction = schema.Padding.SAME, schema.ActivationFunctionType.RELU
        model.operator(schema.BuiltinOperator.CONV_2D, [x, weights, bias], [y], options,
                       schema.BuiltinOptions.Conv2DOptions)
        x, channels = y, wide
    axes = model.constant("axes", numpy.array([1, 2], "i4"))
    mean = model.tensor("head/mean", [batch, channels])
    options = schema.ReducerOptionsT()
    options.keepDims = False
    model.operator(schema.BuiltinOperator.MEAN, [x, axes], [mean], options, schema.BuiltinOptions.ReducerOptions)
    dense = model.tensor("head/dense", [batch, 10])
    weights = model.constant("head/weights", random.randn(10, channels).astype("f4"))
    bias = model.constant("head/bias", random.randn(10).astype("f4"))
    model.operator(schema.BuiltinOperator.FULLY_CONNECTED, [mean, weights, bias], [dense], schema.FullyConnectedOptionsT(),
                   schema.BuiltinOptions.FullyConnectedOptions)
    classes = model.tensor("classes", [batch, 10])
    options = schema.SoftmaxOptionsT()
    options.beta = 1.0
    model.operator(schema.BuiltinOperator.SOFTMAX, [dense], [classes], options, schema.BuiltinOptions.SoftmaxOptions)
    model.signature({"image": data}, {"classes": classes})
    model.save(path)


def inputs(path):
    """Integer and floating inputs, and an operator that XNNPACK leaves to the interpreter."""
    model = Model()
    ids, mask = model.tensor("ids", [-1], "int32"), model.tensor("mask", [-1, 16])
    table = model.constant("table", numpy.random.RandomState(1).rand(128, 16).astype("f4"))
    rows, result = model.tensor("rows", [-1, 16]), model.tensor("result", [-1, 16])
    model.operator(schema.BuiltinOperator.GATHER, [table, ids], [rows], schema.GatherOptionsT(),
                   schema.BuiltinOptions.GatherOptions)
    model.operator(schema.BuiltinOperator.MUL, [rows, mask], [result], schema.MulOptionsT(),
                   schema.BuiltinOptions.MulOptions)
    model.signature({"ids": ids, "mask": mask}, {"result": result})
    model.save(path)


def bad(folder):
    whole = (folder / "cnn.tflite").read_bytes()
    (folder / "truncated.tflite").write_bytes(whole[:len(whole) // 2])
    (folder / "empty.tflite").write_bytes(b"")
    (folder / "noise.tflite").write_bytes(numpy.random.RandomState(2).bytes(5000))
    (folder / "head.tflite").write_bytes(whole[:8] + numpy.random.RandomState(3).bytes(5000))
    model = Model()
    x, y = model.tensor("x", [1, 4]), model.tensor("y", [1, 4])
    model.operator(schema.BuiltinOperator.CUSTOM, [x], [y], custom="Frobnicate")
    model.signature({"x": x}, {"y": y})
    model.save(folder / "operator.tflite")
    model = Model()
    x, y = model.tensor("x", [1, 4]), model.tensor("y", [1, 4])
    other = model.constant("other", numpy.zeros((3, 5), "f4"))
    model.operator(schema.BuiltinOperator.ADD, [x, other], [y], schema.AddOptionsT(), schema.BuiltinOptions.AddOptions)
    model.signature({"x": x}, {"y": y})
    model.save(folder / "shape.tflite")
    model = Model()
    x, y = model.tensor("x", []), model.tensor("y", [1 << 21, 1 << 20])
    shape = model.constant("shape", numpy.array([1 << 21, 1 << 20], "i4"))
    model.operator(schema.BuiltinOperator.FILL, [shape, x], [y], schema.FillOptionsT(), schema.BuiltinOptions.FillOptions)
    model.signature({"x": x}, {"y": y})
    model.save(folder / "huge.tflite")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    cnn(folder / "cnn.tflite", -1)
    cnn(folder / "fixed.tflite", 2)
    inputs(folder / "inputs.tflite")
    bad(folder)


if __name__ == "__main__":
    main()
