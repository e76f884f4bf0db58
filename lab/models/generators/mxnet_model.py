#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a model of MXNet: a network of mxnet.gluon.model_zoo.vision, by its name there, or `resnet50_v1.5`.

    mxnet_model.py NETWORK [--edge PIXELS] [--seed N] --output FOLDER/NAME-symbol.json

Writes NAME-symbol.json, NAME-0000.params and NAME-signature.json, which has the input's shape; the batch size is free.
Weights are random from a fixed seed, and so are biases and the statistics of batch norms: with their initial values the
backend folds layers away. Needs mxnet 1.9.1 in a Python environment with numpy below 1.24.
"""
import argparse
import json
import math
import pathlib

try:
    import numpy
    numpy.bool = bool  # MXNet 1.9.1 uses the name, which warns
    import mxnet
    from mxnet import gluon
    from mxnet.gluon.model_zoo import vision
except (ImportError, AttributeError, OSError) as error:
    raise SystemExit(f"mxnet_model.py: {error}; try: pip install mxnet==1.9.1 'numpy<1.24'") from error

SYMBOL = "-symbol.json"
# What a parameter holds, by the end of its name.
RANGES = {"gamma": (.5, 1.5), "running_var": (.5, 1.5), "beta": (-.1, .1), "running_mean": (-.1, .1), "bias": (-.1, .1)}


def fill(network, seed):
    """He et al.'s scale for kernels, so that values neither vanish nor explode with depth."""
    random = numpy.random.default_rng(seed)
    for name, parameter in network.collect_params().items():
        limits = next((limits for end, limits in RANGES.items() if name.endswith(end)), None)
        if limits:
            values = random.uniform(*limits, parameter.shape)
        else:
            inputs = math.prod(parameter.shape[1:])
            values = random.standard_normal(parameter.shape, numpy.float32) * math.sqrt(2 / inputs)
        parameter.set_data(mxnet.nd.array(values, dtype="float32"))


def resnet50_v1_5():
    """The zoo's resnet50_v1 with the stride of a stage in its first 3×3 convolution, not in the 1×1 before it."""
    network = vision.get_model("resnet50_v1")
    for stage in network.features:
        for block in stage if isinstance(stage, gluon.nn.HybridSequential) else []:
            first, second = block.body[0]._kwargs, block.body[3]._kwargs
            first["stride"], second["stride"] = second["stride"], first["stride"]
    return network


def one_line(error):
    return f"mxnet_model.py: {' '.join(str(error).split())}"


def main():
    parser = argparse.ArgumentParser(description="make a model of MXNet's model zoo with random weights")
    parser.add_argument("network")
    parser.add_argument("--edge", type=int, default=224, help="height and width of the picture")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    if not arguments.output.name.endswith(SYMBOL):
        parser.error(f"--output must end in {SYMBOL}: MXNet names its files so")
    try:
        network = resnet50_v1_5() if arguments.network == "resnet50_v1.5" else vision.get_model(arguments.network)
    except ValueError as error:
        raise SystemExit(one_line(error)) from error
    stem = str(arguments.output)[:-len(SYMBOL)]
    shape = (1, 3, arguments.edge, arguments.edge)
    network.initialize()
    network.hybridize()
    try:
        network(mxnet.nd.zeros(shape)).wait_to_read()  # shapes that follow from the input's are known from here on
    except (ValueError, mxnet.MXNetError) as error:
        raise SystemExit(one_line(f"{arguments.network} of {arguments.edge} pixels: {error}")) from error
    fill(network, arguments.seed)
    try:
        network.export(stem)
        pathlib.Path(f"{stem}-signature.json").write_text(json.dumps(
            {"inputs": [{"data_name": "data", "data_shape": [0, *shape[1:]]}]}))
    except (OSError, mxnet.MXNetError) as error:
        raise SystemExit(one_line(f"cannot write {arguments.output}: {error}")) from error


if __name__ == "__main__":
    main()
