# SPDX-License-Identifier: Apache-2.0
"""ONNX models for the tests of other frameworks' predictors: a small CNN, some inputs, and bad ones. Random weights and
random batch-norm statistics: with initial values optimisers fold layers away.

`python3 framework_models.py FOLDER` (with onnx and numpy) writes them."""
import pathlib
import sys

import numpy
from onnx import TensorProto, helper, numpy_helper


def save(path, nodes, inputs, outputs, initializers=(), domains=()):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", 13), *(helper.make_opsetid(domain, 1) for domain in domains)]
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def cnn(path, batch, size=96):
    """Three blocks of convolution, batch normalisation and ReLU, then pooling and a dense layer."""
    random = numpy.random.RandomState(0)
    nodes, constants = [], []

    def constant(name, array):
        constants.append(numpy_helper.from_array(array.astype(numpy.float32), name))
        return name
    x, channels = "x", 3
    for i, wide in enumerate((16, 32, 32)):
        weights = constant(f"w{i}", random.randn(wide, channels, 3, 3) * .1)
        statistics = [constant(f"{key}{i}", array) for key, array in zip("gbmv", (
            random.rand(wide) + .5, random.randn(wide) * .1, random.randn(wide) * .1, random.rand(wide) + .5))]
        nodes += [helper.make_node("Conv", [x, weights], [f"c{i}"], name=f"block{i}/conv", pads=[1, 1, 1, 1]),
                  helper.make_node("BatchNormalization", [f"c{i}", *statistics], [f"n{i}"], name=f"block{i}/norm"),
                  helper.make_node("Relu", [f"n{i}"], [f"r{i}"], name=f"block{i}/relu")]
        x, channels = f"r{i}", wide
    nodes += [helper.make_node("GlobalAveragePool", [x], ["p"], name="head/pool"),
              helper.make_node("Flatten", ["p"], ["f"], name="head/flatten"),
              helper.make_node("Gemm", ["f", constant("wd", random.randn(channels, 10)), constant("bd", random.randn(10))],
                               ["y"], name="head/dense")]
    save(path, nodes, [value("x", [batch, 3, size, size])], [value("y", [batch, 10])], constants)


def inputs(path):
    """Two inputs of integer types, with a second free dimension."""
    table = numpy_helper.from_array(numpy.random.RandomState(1).rand(128, 16).astype(numpy.float32), "table")
    save(path, [helper.make_node("Gather", ["table", "ids"], ["g"], name="gather"),
                helper.make_node("Cast", ["mask"], ["m"], to=TensorProto.FLOAT, name="cast"),
                helper.make_node("Mul", ["g", "m"], ["y"], name="multiply")],
         [value("ids", ["N", "S"], TensorProto.INT64), value("mask", ["N", "S", 1], TensorProto.INT32)],
         [value("y", None)], [table])


def types(path):
    kinds = {"half": TensorProto.FLOAT16, "double": TensorProto.DOUBLE, "byte": TensorProto.UINT8,
             "small": TensorProto.INT8, "truth": TensorProto.BOOL, "single": TensorProto.FLOAT}
    save(path, [*(helper.make_node("Cast", [name], [name + "_f"], to=TensorProto.FLOAT, name="cast_" + name)
                  for name in kinds), helper.make_node("Sum", [name + "_f" for name in kinds], ["y"], name="sum")],
         [value(name, ["N", 8], kind) for name, kind in kinds.items()], [value("y", None)])


def bad(folder):
    whole = (folder / "cnn.onnx").read_bytes()
    (folder / "truncated.onnx").write_bytes(whole[:len(whole) // 2])
    (folder / "empty.onnx").write_bytes(b"")
    (folder / "noise.onnx").write_bytes(numpy.random.RandomState(2).bytes(5000))
    save(folder / "operator.onnx", [helper.make_node("Frobnicate", ["x"], ["y"], name="f", domain="nowhere")],
         [value("x", ["N", 3])], [value("y", ["N", 3])], domains=["nowhere"])
    save(folder / "shape.onnx", [helper.make_node("MatMul", ["x", "w"], ["y"], name="m")], [value("x", ["N", 3])],
         [value("y", None)], [numpy_helper.from_array(numpy.zeros((4, 5), "f4"), "w")])
    save(folder / "huge.onnx", [helper.make_node("ConstantOfShape", ["s"], ["c"], name="huge"),
                                helper.make_node("Add", ["x", "c"], ["y"], name="add")],
         [value("x", ["N", 1])], [value("y", None)],
         [numpy_helper.from_array(numpy.array([1 << 22, 1 << 20], "i8"), "s")])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    cnn(folder / "cnn.onnx", "N")
    cnn(folder / "fixed.onnx", 2)
    inputs(folder / "inputs.onnx")
    types(folder / "types.onnx")
    bad(folder)


if __name__ == "__main__":
    main()
