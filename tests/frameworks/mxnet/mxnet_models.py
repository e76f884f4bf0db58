# SPDX-License-Identifier: Apache-2.0
"""MXNet models for the tests: a small CNN as Gluon exports it, one with two inputs, and bad ones. Random weights and random
batch-norm statistics: with initial values the backend folds layers away.

`python3 mxnet_models.py FOLDER` (with mxnet and numpy below 1.24) writes them."""
import json
import pathlib
import sys

import mxnet
from mxnet.gluon import nn


def cnn(folder, name, size=96):
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        for channels in (16, 32, 32):
            net.add(nn.Conv2D(channels, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"))
        net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10))
    net.initialize(mxnet.init.Xavier())
    net.hybridize()
    net(mxnet.nd.random.uniform(shape=(1, 3, size, size)))
    for key, parameter in net.collect_params().items():
        if key.endswith(("running_mean", "beta")):
            parameter.set_data(mxnet.nd.random.normal(0, .1, shape=parameter.shape))
        elif key.endswith(("running_var", "gamma")):
            parameter.set_data(mxnet.nd.random.uniform(.5, 1.5, shape=parameter.shape))
    net.export(str(folder / name))


def save(folder, name, symbol, parameters, signature=None):
    (folder / f"{name}-symbol.json").write_text(symbol if isinstance(symbol, str) else symbol.tojson())
    mxnet.nd.save(str(folder / f"{name}-0000.params"), {f"arg:{key}": value for key, value in parameters.items()})
    if signature is not None:
        (folder / f"{name}-signature.json").write_text(json.dumps(
            {"inputs": [{"data_name": key, "data_shape": shape} for key, shape in signature.items()]}))


def dense(weights=(10, 8)):
    data = mxnet.sym.var("data")
    return (mxnet.sym.FullyConnected(data, num_hidden=weights[0], name="dense"),
            {"dense_weight": mxnet.nd.random.normal(shape=weights), "dense_bias": mxnet.nd.zeros(weights[0])})


def two_inputs(folder):
    words, scale = mxnet.sym.var("words"), mxnet.sym.var("scale", shape=(0, 0, 16))
    embedded = mxnet.sym.Embedding(words, input_dim=128, output_dim=16, name="embedding")
    save(folder, "inputs", mxnet.sym.broadcast_mul(embedded, scale, name="multiply"),
         {"embedding_weight": mxnet.nd.random.normal(shape=(128, 16))})


def alexnet(folder):
    """Graph and weights apart, under names of their own, as MLModelScope's manifests have them."""
    net = mxnet.gluon.model_zoo.vision.alexnet(pretrained=False)
    net.initialize(mxnet.init.Xavier())
    net.hybridize()
    net(mxnet.nd.random.uniform(shape=(1, 3, 227, 227)))
    place = folder / "mxnet"
    place.mkdir(exist_ok=True)
    net.export(str(place / "net"))
    (place / "net-symbol.json").rename(place / "alexnet.json")
    (place / "net-0000.params").rename(place / "alexnet.params")


def bad(folder):
    symbol, parameters = (folder / "cnn-symbol.json").read_text(), (folder / "cnn-0000.params").read_bytes()
    for name, text, weights in (("cut_symbol", symbol[:len(symbol) // 2], parameters), ("empty_symbol", "", parameters),
                                ("cut_parameters", symbol, parameters[:len(parameters) // 2]),
                                ("empty_parameters", symbol, b""), ("noise", "\x00\x01[", b"\x7f" * 999),
                                ("no_nodes", '{"nodes": []}', parameters),
                                ("operator", symbol.replace('"Pooling"', '"Frobnicate"'), parameters)):
        (folder / f"{name}-symbol.json").write_text(text)
        (folder / f"{name}-0000.params").write_bytes(weights)
    (folder / "no_parameters-symbol.json").write_text(symbol)
    net, weights = dense()
    save(folder, "shape", net, weights, {"data": [0, 5]})  # the weights take 8
    save(folder, "no_shape", mxnet.sym.exp(mxnet.sym.var("data"), name="exp"), {"unused": mxnet.nd.zeros(1)})
    save(folder, "bad_signature", net, weights)
    (folder / "bad_signature-signature.json").write_text('{"inputs": [{"data_name"')
    huge = mxnet.sym.broadcast_add(mxnet.sym.var("data"), mxnet.sym.zeros(shape=(1 << 20, 1 << 20)), name="add")
    save(folder, "huge", huge, {"unused": mxnet.nd.zeros(1)}, {"data": [1, 1]})


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    mxnet.random.seed(0)
    cnn(folder, "cnn")
    net, weights = dense()
    save(folder, "dense", net, weights)
    save(folder, "fixed", net, weights, {"data": [2, 8]})
    two_inputs(folder)
    alexnet(folder)
    bad(folder)


if __name__ == "__main__":
    main()
