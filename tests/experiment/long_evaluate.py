# SPDX-License-Identifier: Apache-2.0
"""xsp evaluate on real data, in several frameworks: scikit-learn's handwritten digits and a model that is trained on half of them here.
Accuracy is that of scikit-learn; frameworks agree; mistakes in preparing pictures cost what they cost by hand. Fetches packages
through pip, so it belongs to `make test-all`."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import yaml

from framework_environment import XSP, framework_python
from tensorflow_environment import tensorflow_environment

MAKE = r"""
import json, pathlib, sys
import numpy, onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

folder = pathlib.Path(sys.argv[1])
digits = load_digits()
half = len(digits.target) // 2
model = MLPClassifier((64,), random_state=1, max_iter=400).fit(digits.data[:half], digits.target[:half])
for number in range(half, len(digits.target)):
    place = folder / "digits" / str(digits.target[number])
    place.mkdir(parents=True, exist_ok=True)
    # 0 to 16 as gray; the manifest's scale takes it back
    Image.fromarray((digits.images[number] * 15).astype(numpy.uint8), "L").save(place / f"{number:04}.png")
nodes, initializers, name = [helper.make_node("Flatten", ["data"], ["flat"])], [], "flat"
for layer, (weights, bias) in enumerate(zip(model.coefs_, model.intercepts_)):
    initializers += [numpy_helper.from_array(value.astype(numpy.float32), f"{kind}{layer}") for kind, value in (("w", weights), ("b", bias))]
    nodes += [helper.make_node("Gemm", [name, f"w{layer}", f"b{layer}"], [f"g{layer}"])]
    last = layer == len(model.coefs_) - 1
    nodes += [helper.make_node("Softmax" if last else "Relu", [f"g{layer}"], ["scores" if last else f"r{layer}"])]
    name = f"r{layer}"
graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("data", TensorProto.FLOAT, ["N", 1, 8, 8])],
                          [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", 10])], initializers)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), folder / "digits.onnx")
numpy.savez(folder / "weights.npz", *[value.astype(numpy.float32) for pair in zip(model.coefs_, model.intercepts_) for value in pair])
def accuracy(data):
    return 100 * float((model.predict(data) == digits.target[half:]).mean())
print(json.dumps({"count": len(digits.target) - half, "right": accuracy(digits.data[half:]), "shifted": accuracy(digits.data[half:] - 8)}))
"""


SAVED_MODEL = r"""
import sys
import numpy, tensorflow
weights = [tensorflow.constant(value) for value in numpy.load(sys.argv[1]).values()]
class Digits(tensorflow.Module):
    @tensorflow.function(input_signature=[tensorflow.TensorSpec([None, 1, 8, 8], tensorflow.float32, name="data")])
    def __call__(self, data):
        hidden = tensorflow.nn.relu(tensorflow.reshape(data, [-1, 64]) @ weights[0] + weights[1])
        return {"scores": tensorflow.nn.softmax(hidden @ weights[2] + weights[3])}
module = Digits()
tensorflow.saved_model.save(module, sys.argv[2], signatures=module.__call__)
"""


class Digits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="xsp-digits-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        python = framework_python("digits", "scikit-learn==1.7.2", "onnx==1.23.2", "pillow==12.0.0")
        cls.truth = json.loads(subprocess.run([python, "-c", MAKE, cls.folder], check=True, capture_output=True, timeout=300).stdout)

    def manifest(self, name, framework="onnxruntime", model="digits.onnx", **parameters):
        path = self.folder / f"{name}.yml"
        path.write_text(yaml.safe_dump({
            "name": name, "version": "1.0", "task": "image classification", "framework": {"name": framework},
            "model": {"path": model}, "outputs": [{"type": "feature"}],
            "inputs": [{"type": "image", "parameters": {"dimensions": [1, 8, 8], "color_mode": "GRAY", "scale": 15, **parameters}}]}))
        return path

    def evaluate(self, *arguments):
        done = subprocess.run([XSP, "evaluate", *map(str, arguments), "--data", self.folder / "digits", "--items", "--json", "-q", "-f",
                               "-o", self.folder / "out.xsp"], capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_accuracy_and_mistakes(self):
        table = self.evaluate(self.manifest("right"), self.manifest("shifted", mean=120), "--batch", 8)[0]
        right, shifted = table["rows"]
        self.assertEqual(right["inputs"], self.truth["count"])
        self.assertAlmostEqual(right["top1_pct"], self.truth["right"], delta=0.12)  # one item: single against double precision
        self.assertAlmostEqual(shifted["top1_pct"], self.truth["shifted"], delta=0.23)
        self.assertGreater(right["top1_pct"], 85)
        self.assertLess(shifted["top1_pct"], right["top1_pct"] - 5)
        print(f"digits: {right['top1_pct']:.1f} %, with a wrong mean {shifted['top1_pct']:.1f} %")

    def test_the_mistake_is_found(self):
        done = subprocess.run([XSP, "evaluate", self.manifest("right"), self.manifest("shifted", mean=120), "--data", self.folder / "digits",
                               "--first-difference", "--json"], capture_output=True, text=True, timeout=600, check=True)
        table = json.loads(done.stdout)
        self.assertEqual(table["summary"]["first_difference"], "data")
        self.assertIn("the inputs: the second's values are the first's -8: another mean", " ".join(table["notes"]))

    def agree(self, other, python):
        """Scores of the same pictures; OpenVINO may compute in bfloat16."""
        framework = "openvino" if other.stem == "ov" else "tensorflow"
        tables = self.evaluate(self.manifest("ort"), other, "--batch", 4, "--library", f"{framework}={python.parent.parent}")
        self.assertGreater(tables[0]["rows"][1]["agreement_pct"], 99.5)
        self.assertEqual(tables[0]["rows"][1]["framework"], framework)
        for first, second in zip(tables[2]["rows"], tables[3]["rows"], strict=True):
            self.assertAlmostEqual(first["score"], second["score"], delta=0.02)

    def test_openvino_agrees(self):
        python = framework_python("openvino", "openvino==2026.4.1", "onnx==1.23.2", "numpy==2.4.6")
        self.agree(self.manifest("ov", "openvino"), python)

    def test_tensorflow_agrees(self):
        python = tensorflow_environment() / "bin" / "python3"
        subprocess.run([python, "-c", SAVED_MODEL, self.folder / "weights.npz", self.folder / "saved"], check=True, capture_output=True,
                       timeout=300)
        self.agree(self.manifest("tf", "tensorflow", "saved"), python)


if __name__ == "__main__":
    unittest.main()
