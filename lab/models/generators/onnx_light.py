#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a model of the onnx package's light models: real graphs whose weights are left out.

    onnx_light.py NETWORK [--seed N] --output PATH

NETWORK is that of light_NETWORK.onnx in the package (`bvlc_alexnet`, `densenet121`, `inception_v1`, `inception_v2`,
`resnet50`, `shufflenet`, `squeezenet`, `vgg19`, `zfnet512`), or `resnet50_v1`: the package's is v1.5. Its batch size is made free; its weights are random from a
fixed seed, with random biases and statistics of batch norms. Needs onnx. tools/models.py uses `Light`, too.
"""
import argparse
import math
import pathlib

try:
    import numpy
    import onnx
    from onnx import numpy_helper
except ImportError as error:
    raise SystemExit(f"onnx_light.py: {error}; try: pip install onnx") from error

LIGHT = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"


class Light:
    """A light model: replaces its weight generators (ConstantOfShape) by initialisers, and frees the batch dimension.

    Kernels are of the size He et al. give, so that values neither vanish nor explode. Biases and statistics of batch norms
    are those of a network before training, unless they are to be random as well."""

    def __init__(self, name, seed=0, random_statistics=False):
        self.model = onnx.load(LIGHT / f"light_{name}.onnx")
        self.graph = self.model.graph
        self.random = numpy.random.default_rng(seed)
        self.random_statistics = random_statistics
        self.constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in self.graph.initializer}
        self.users = {}
        for node in self.graph.node:
            for position, name in enumerate(node.input):
                self.users.setdefault(name, []).append((node, position))

    def weights(self, output, shape):
        """The role of the generator of `output`, by the first node that uses it."""
        node, position = self.users[output][0]
        while node.op_type in ("Unsqueeze", "Reshape"):
            node, position = self.users[node.output[0]][0]
        if node.op_type in ("Conv", "Gemm") and position == 1:
            inputs = math.prod(shape[1:]) if node.op_type == "Conv" else shape[-1]
            return (self.random.standard_normal(shape) * math.sqrt(2 / inputs)).astype(numpy.float32)
        is_scale = node.op_type == "BatchNormalization" and position in (1, 4)  # scale and variance
        if self.random_statistics:
            return self.random.uniform(*((.5, 1.5) if is_scale or node.op_type == "Mul" else (-.1, .1)),
                                       shape).astype(numpy.float32)
        fill = numpy.ones if is_scale or node.op_type == "Mul" else numpy.zeros
        return fill(shape, numpy.float32)

    def fill_weights(self):
        kept, made = [], []
        for node in self.graph.node:
            if node.op_type == "ConstantOfShape":
                shape = [int(size) for size in self.constants[node.input[0]]]
                made.append(numpy_helper.from_array(self.weights(node.output[0], shape), node.output[0]))
            else:
                kept.append(node)
        del self.graph.node[:]
        self.graph.node.extend(kept)
        used = {name for node in kept for name in node.input}
        tensors = [tensor for tensor in self.graph.initializer if tensor.name in used] + made
        del self.graph.initializer[:]
        self.graph.initializer.extend(tensors)
        self.weight_names = {tensor.name for tensor in tensors}
        inputs = [value for value in self.graph.input if value.name in used and value.name not in self.weight_names]
        del self.graph.input[:]
        self.graph.input.extend(inputs)
        self.model.ir_version = max(self.model.ir_version, 4)  # from 4 on initialisers are no inputs

    def free_batch(self):
        for value in [*self.graph.input, *self.graph.output]:
            value.type.tensor_type.shape.dim[0].dim_param = "N"
        del self.graph.value_info[:]
        shapes = {node.input[1] for node in self.graph.node
                  if node.op_type == "Reshape" and node.input[0] not in self.weight_names}
        for tensor in self.graph.initializer:
            if tensor.name in shapes:
                shape = numpy_helper.to_array(tensor).copy()
                assert shape[0] == 1, (tensor.name, shape)
                shape[0] = 0  # as the input has it
                tensor.CopyFrom(numpy_helper.from_array(shape, tensor.name))

    def stride_in_first(self):
        """ResNet v1 of v1.5: the stride of a 3×3 convolution moves to the 1×1 before it, as He et al. have it."""
        makers = {node.output[0]: node for node in self.graph.node}

        def edges(node, name):
            return next(attribute for attribute in node.attribute if attribute.name == name)
        for node in self.graph.node:
            if node.op_type != "Conv" or list(edges(node, "kernel_shape").ints) != [3, 3]:
                continue
            before = makers[node.input[0]]
            while before.op_type != "Conv":
                before = makers[before.input[0]]
            here, there = edges(node, "strides"), edges(before, "strides")
            here.ints[:], there.ints[:] = list(there.ints), list(here.ints)

    def bytes(self):
        self.fill_weights()
        self.free_batch()
        return self.model.SerializeToString()


def main():
    parser = argparse.ArgumentParser(description="make one of the onnx package's light models with random weights")
    parser.add_argument("network")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    is_first = arguments.network == "resnet50_v1"
    try:
        light = Light("resnet50" if is_first else arguments.network, arguments.seed, random_statistics=True)
        if is_first:
            light.stride_in_first()
        arguments.output.write_bytes(light.bytes())
    except FileNotFoundError as error:
        known = ", ".join(sorted(path.stem.removeprefix("light_") for path in LIGHT.glob("light_*.onnx")))
        raise SystemExit(f"onnx_light.py: {error.filename}: no such file; the package has {known}") from error
    except OSError as error:
        raise SystemExit(f"onnx_light.py: cannot write {arguments.output}: {error.strerror}") from error


if __name__ == "__main__":
    main()
