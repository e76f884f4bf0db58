# SPDX-License-Identifier: Apache-2.0
"""save_onnx.py FOLDER: saves each NAME.npz of make_digits.py and save_tensorflow.py as NAME.onnx."""
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


def network(arrays):
    nodes, weights, last = [], [], "data"

    def add(operator, name, *more, **attributes):
        nonlocal last
        nodes.append(helper.make_node(operator, [last, *more], [name], name, **attributes))
        last = name

    layers = list(zip(arrays[::2], arrays[1::2]))
    for number, layer in enumerate(layers):
        names = [f"weights{number}", f"bias{number}"]
        weights += map(numpy_helper.from_array, layer, names)
        if layer[0].ndim == 4:
            add("Conv", f"conv{number}", *names, pads=[1, 1, 1, 1])
            add("Relu", f"relu{number}")
            add("MaxPool", f"pool{number}", kernel_shape=[2, 2], strides=[2, 2])
            continue
        if number == 0 or layers[number - 1][0].ndim == 4:
            add("Flatten", "flat")
        add("Gemm", f"dense{number}", *names)
        add("Relu", f"relu{number}") if number < len(layers) - 1 else add("Softmax", "scores")
    graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("data", TensorProto.FLOAT, ["N", 3, 16, 16])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", 10])], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


for path in pathlib.Path(sys.argv[1]).glob("digits_*.npz"):
    onnx.save(network(list(numpy.load(path).values())), path.with_suffix(".onnx"))
