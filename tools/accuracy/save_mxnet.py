# SPDX-License-Identifier: Apache-2.0
"""save_mxnet.py FOLDER: saves each NAME.npz of make_digits.py and save_tensorflow.py as NAME-symbol.json and NAME-0000.params."""
import pathlib
import sys

import numpy

numpy.bool = bool  # MXNet 1.9.1 uses the name
import mxnet  # noqa: E402


def save(arrays, stem):
    values, weights, layers = mxnet.sym.var("data"), {}, list(zip(arrays[::2], arrays[1::2]))
    for number, (matrix, bias) in enumerate(layers):
        names = [f"weights{number}", f"bias{number}"]
        inputs = dict(weight=mxnet.sym.var(names[0]), bias=mxnet.sym.var(names[1]))
        if matrix.ndim == 4:
            values = mxnet.sym.Convolution(values, **inputs, kernel=(3, 3), pad=(1, 1), num_filter=len(bias), name=f"conv{number}")
            values = mxnet.sym.Activation(values, act_type="relu", name=f"relu{number}")
            values = mxnet.sym.Pooling(values, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{number}")
        else:
            values = mxnet.sym.FullyConnected(values, **inputs, num_hidden=len(bias), name=f"dense{number}")
            values = (mxnet.sym.softmax(values, name="scores") if number == len(layers) - 1 else
                      mxnet.sym.Activation(values, act_type="relu", name=f"relu{number}"))
            matrix = matrix.T
        weights.update(zip((f"arg:{name}" for name in names), map(mxnet.nd.array, (matrix, bias))))
    values.save(f"{stem}-symbol.json")
    mxnet.nd.save(f"{stem}-0000.params", weights)


for path in pathlib.Path(sys.argv[1]).glob("digits_*.npz"):
    stem = path.with_suffix("")
    save(list(numpy.load(path).values()), stem)
    pathlib.Path(f"{stem}-signature.json").write_text('{"inputs": [{"data_name": "data", "data_shape": [0, 3, 16, 16]}]}')
