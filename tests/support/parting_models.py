# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network with seeded weights as an ONNX model, pictures for it, and manifests: what the tests of
`xsp evaluate --keep-outputs` and `--first-difference` share."""
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

import numpy
import onnx
import yaml
from onnx import TensorProto, helper, numpy_helper
from PIL import Image, ImageFilter

XSP = pathlib.Path(os.environ["XSP_BUILD"]).resolve() / "xsp"
SIDE, CLASSES = 24, 7
MEAN, SCALE = [120.5, 110.25, 99.75], [60.5, 58.25, 57.75]


def weights():
    """By name; convolutions in ONNX's order of dimensions."""
    random = numpy.random.default_rng(11)
    shapes = {"w0": (8, 3, 3, 3), "b0": (8,), "w1": (12, 8, 3, 3), "b1": (12,), "w2": (16, 12, 3, 3), "b2": (16,), "dense": (16, CLASSES),
              "bias": (CLASSES,)}
    return {name: random.normal(size=shape, scale=1 / max(1, numpy.prod(shape[1:])) ** .5).astype(numpy.float32)
            for name, shape in shapes.items()}


def cnn(path, changed=None, batch="N", softmax=True, prefix="", element=TensorProto.FLOAT, **save):
    """Three convolutions, c0, r0 … to g and scores; `changed`: name of the weights of which some are others."""
    values = weights()
    if changed:
        values[changed].flat[::5] += .5
    nodes, last = [], "data"
    if element != TensorProto.FLOAT:
        nodes, last = [helper.make_node("Cast", ["data"], [f"{prefix}cast"], to=TensorProto.FLOAT)], f"{prefix}cast"
    for layer in range(3):
        nodes += [helper.make_node("Conv", [last, f"w{layer}", f"b{layer}"], [f"{prefix}c{layer}"], pads=[1] * 4),
                  helper.make_node("Relu", [f"{prefix}c{layer}"], [f"{prefix}r{layer}"])]
        last = f"{prefix}r{layer}"
    nodes += [helper.make_node("GlobalAveragePool", [last], [f"{prefix}pool"]),
              helper.make_node("Flatten", [f"{prefix}pool"], [f"{prefix}flat"]),
              helper.make_node("Gemm", [f"{prefix}flat", "dense", "bias"], [f"{prefix}g" if softmax else "scores"])]
    if softmax:
        nodes += [helper.make_node("Softmax", [f"{prefix}g"], ["scores"])]
    graph = helper.make_graph(nodes, "cnn", [helper.make_tensor_value_info("data", element, [batch, 3, SIDE, SIDE])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [batch, CLASSES])],
                              [numpy_helper.from_array(value, name) for name, value in values.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path, **save)


class PartingTest(unittest.TestCase):
    """`library` of a framework: NAME=PATH, for all runs of a class."""
    libraries = ()

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-parting-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "out.xsp"
        random = numpy.random.default_rng(5)
        self.files = []
        for number in range(9):
            place = self.folder / "set" / str(number % CLASSES)
            place.mkdir(parents=True, exist_ok=True)
            image = Image.fromarray(random.integers(0, 256, (31, 40, 3), numpy.uint8)).filter(ImageFilter.GaussianBlur(1.5))
            image.save(place / f"{number}.png")
        self.files = sorted((self.folder / "set").glob("*/*"), key=lambda path: (path.parent.name, path.name))

    def manifest(self, name, model="net.onnx", framework="onnxruntime", **parameters):
        path = self.folder / f"{name}.yml"
        path.write_text(yaml.safe_dump({
            "name": name, "version": "1.0", "task": "image classification", "framework": {"name": framework}, "model": {"path": str(model)},
            "inputs": [{"type": "image", "parameters": {"dimensions": [3, SIDE, SIDE], "mean": MEAN, "scale": SCALE, **parameters}}],
            "outputs": [{"type": "feature"}]}))
        return path

    def prepared(self, side=SIDE):
        """What a manifest without parameters makes of the pictures."""
        values = [(numpy.asarray(Image.open(path).resize((side, side), Image.Resampling.BILINEAR)).astype(numpy.float32) -
                   numpy.float32(MEAN)) / numpy.float32(SCALE) for path in self.files]
        return numpy.stack(values).transpose(0, 3, 1, 2)

    def xsp(self, *arguments, status=0, **environment):
        options = [part for library in self.libraries for part in ("--library", library)] if arguments[0] == "evaluate" else []
        done = subprocess.run([XSP, *map(str, [*arguments, *options])], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def evaluate(self, *arguments, **options):
        return self.xsp("evaluate", *arguments, "--data", self.folder / "set", "-q", "-f", "-o", self.output, **options)

    def divergence(self, *arguments):
        return json.loads(self.evaluate(*arguments, "--json").stdout)[1]

    def kept(self, experiment=1):
        """What the file has of each item, as NumPy reads it."""
        with sqlite3.connect(self.output) as data:
            rows = data.execute("select type, shape, data from output where experiment_id = ? order by item", (experiment,)).fetchall()
        data.close()
        return numpy.stack([numpy.frombuffer(values, kind).reshape([int(size) for size in shape.split(",")])
                            for kind, shape, values in rows])

    def difference(self, *arguments):
        return json.loads(self.evaluate(*arguments, "--first-difference", "--json").stdout)
