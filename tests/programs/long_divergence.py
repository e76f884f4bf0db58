# SPDX-License-Identifier: Apache-2.0
"""Outputs and tensors between layers of every framework that hands them out, against those of the framework's own Python on the
same pictures, and where it parts from ONNX Runtime. Fetches packages through pip, so it belongs to `make test-all`."""
import json
import pathlib
import subprocess

import numpy

from framework_environment import framework_python
from parting_models import MEAN, SCALE, SIDE, PartingTest, cnn, weights
from tensorflow_environment import tensorflow_environment
from torch_environment import torch_python

FRAMEWORKS = pathlib.Path(__file__).resolve().parents[1] / "frameworks"

TENSORFLOW = r"""
import sys
import numpy, tensorflow
values = numpy.load(sys.argv[1])
graph = tensorflow.Graph()
with graph.as_default():
    last = data = tensorflow.compat.v1.placeholder(tensorflow.float32, [None, 24, 24, 3], name="data")
    for layer in range(3):
        last = tensorflow.nn.conv2d(last, values[f"w{layer}"].transpose(2, 3, 1, 0), 1, "SAME", name=f"c{layer}/product")
        last = tensorflow.nn.bias_add(last, values[f"b{layer}"], name=f"c{layer}")
        last = tensorflow.nn.relu(last, name=f"r{layer}")
    last = tensorflow.add(tensorflow.linalg.matmul(tensorflow.reduce_mean(last, [1, 2], name="flat"), values["dense"]), values["bias"], name="g")
    tensorflow.nn.softmax(last, name="scores")
open(sys.argv[2], "wb").write(graph.as_graph_def().SerializeToString())
"""

TORCH = r"""
import numpy, pathlib, torch
class Net(torch.nn.Module):
    def __init__(self, values):
        super().__init__()
        sizes = [(3, 8), (8, 12), (12, 16)]
        for layer, (taken, given) in enumerate(sizes):
            setattr(self, f"c{layer}", torch.nn.Conv2d(taken, given, 3, padding=1))
            setattr(self, f"r{layer}", torch.nn.ReLU(inplace=True))
        self.g = torch.nn.Linear(16, 7)
        with torch.no_grad():
            for layer in range(3):
                getattr(self, f"c{layer}").weight.copy_(torch.from_numpy(values[f"w{layer}"]))
                getattr(self, f"c{layer}").bias.copy_(torch.from_numpy(values[f"b{layer}"]))
            self.g.weight.copy_(torch.from_numpy(values["dense"].T.copy()))
            self.g.bias.copy_(torch.from_numpy(values["bias"]))
    def forward(self, data):
        data = self.r0(self.c0(data))
        data = self.r1(self.c1(data))
        data = self.r2(self.c2(data))
        return torch.softmax(self.g(data.mean((2, 3))), 1)
def make():
    return Net(numpy.load(pathlib.Path(__file__).with_name("weights.npz"))), torch.zeros(1, 3, 24, 24)
if __name__ == "__main__":
    net, example = make()
    folder = pathlib.Path(__file__).parent
    torch.jit.trace(net.eval(), example).save(str(folder / "net.pt"))
    batch = torch.export.Dim("N", max=64)
    torch.export.save(torch.export.export(net.eval(), (example.repeat(2, 1, 1, 1),), dynamic_shapes=({0: batch},)), folder / "net.pt2")
"""

MXNET = r"""
import sys
import numpy, mxnet
symbol, arguments, auxiliary = mxnet.model.load_checkpoint(sys.argv[1], 0)
data = numpy.load(sys.argv[2])
def run(symbol):
    executor = symbol.simple_bind(mxnet.cpu(), grad_req="null", data=data.shape)
    executor.copy_params_from(arguments, auxiliary, allow_extra_params=True)
    executor.arg_dict["data"][:] = data
    return executor.forward()[0].asnumpy()
numpy.savez(sys.argv[3], output=run(symbol), layer=run(symbol.get_internals()["net_conv1_fwd_output"]))
"""

LITERT = r"""
import sys
import numpy
from ai_edge_litert.interpreter import Interpreter
interpreter = Interpreter(sys.argv[1])
data, found = numpy.load(sys.argv[2]), []
for item in data:
    place = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(place, [1, *item.shape])
    interpreter.allocate_tensors()
    interpreter.set_tensor(place, item[None])
    interpreter.invoke()
    found.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0])
numpy.savez(sys.argv[3], output=numpy.stack(found))
"""


def run(python, code, *arguments):
    subprocess.run([python, "-c", code, *map(str, arguments)], check=True, capture_output=True, timeout=300)


class FrameworkTest(PartingTest):
    def setUp(self):
        super().setUp()
        cnn(self.folder / "net.onnx")
        numpy.savez(self.folder / "weights.npz", **weights())

    def use(self, framework, python):
        self.libraries = (f"{framework}={python.parent.parent}",)

    def agrees(self, manifest, delta):
        """Its outputs are ONNX Runtime's, and each layer that both have is compared. The table of the first difference."""
        self.evaluate(self.manifest("net"), manifest, "--keep-outputs", "--batch", 2)
        numpy.testing.assert_allclose(self.kept(2), self.kept(1), atol=delta)
        self.assertGreater(numpy.ptp(self.kept(2), axis=0).max(), 3 * delta)  # the pictures differ
        return self.difference(self.manifest("net"), manifest)

    def compared(self, table):
        return {row["name"]: row for row in table["rows"] if row["part"] == "layer" and row["largest_difference"] is not None}


class OpenVino(FrameworkTest):
    def setUp(self):
        super().setUp()
        self.use("openvino", framework_python("openvino", "openvino==2026.4.1", "onnx==1.23.2", "numpy==2.4.6"))

    def test_parts_from_onnx_runtime(self):
        """A CPU with bfloat16 parts at the first convolution; another one nowhere."""
        table = self.agrees(self.manifest("ov", framework="openvino"), 0.003)
        layers = self.compared(table)
        self.assertEqual(list(layers), ["c0", "r0", "c1", "r1", "c2", "r2", "pool", "flat", "g"])
        self.assertLess(max(row["relative_difference"] for row in layers.values()), 0.05)
        self.assertIn(table["summary"]["first_difference"], (None, "c0"))
        print("OpenVINO:", "; ".join(table["notes"]))

    def test_finds_changed_weights(self):
        cnn(self.folder / "changed.onnx", changed="w1")
        manifests = [self.manifest(name, f"{name}.onnx", "openvino") for name in ("net", "changed")]
        self.assertEqual(self.difference(*manifests)["summary"]["first_difference"], "c1")

    def test_weights_in_a_file_of_their_own(self):
        cnn(self.folder / "apart.onnx", save_as_external_data=True, location="apart.data", size_threshold=0)
        table = self.difference(self.manifest("net", framework="openvino"), self.manifest("apart", "apart.onnx", "openvino"))
        self.assertIsNone(table["summary"]["first_difference"])
        self.assertEqual(len(self.compared(table)), 9)


class TensorFlow(FrameworkTest):
    def test_parts_from_onnx_runtime(self):
        python = tensorflow_environment() / "bin" / "python3"
        self.use("tensorflow", python)
        run(python, TENSORFLOW, self.folder / "weights.npz", self.folder / "net.pb")
        table = self.agrees(self.manifest("tf", "net.pb", "tensorflow", layout="NHWC"), 1e-5)
        self.assertIsNone(table["summary"]["first_difference"], table["notes"])
        self.assertLess({"c0", "r0", "c1", "r1", "c2", "r2", "flat", "g"} - set(self.compared(table)), {"c0"})
        values = weights()
        values["w1"].flat[::5] += .5
        numpy.savez(self.folder / "weights.npz", **values)
        run(python, TENSORFLOW, self.folder / "weights.npz", self.folder / "net.pb")
        first = self.difference(self.manifest("net"), self.manifest("tf", "net.pb", "tensorflow", layout="NHWC"))
        self.assertEqual(first["summary"]["first_difference"], "c1")


class Torch(FrameworkTest):
    def setUp(self):
        super().setUp()
        self.python = torch_python()
        self.use("pytorch", self.python)
        (self.folder / "net.py").write_text(TORCH)
        subprocess.run([self.python, self.folder / "net.py"], check=True, capture_output=True, timeout=300)

    def test_operators_of_an_exported_program(self):
        manifest = self.manifest("torch", "net.pt2", "pytorch")
        table = self.agrees(manifest, 1e-5)
        self.assertIsNone(table["summary"]["first_difference"], table["notes"])
        self.assertLessEqual({"c0", "r0", "c1", "r1", "c2", "r2"}, set(self.compared(table)))
        cnn(self.folder / "changed.onnx", changed="w1")
        self.assertEqual(self.difference(self.manifest("net", "changed.onnx"), manifest)["summary"]["first_difference"], "c1")

    def test_torchscript_has_outputs_only(self):
        table = self.agrees(self.manifest("torch", "net.pt", "pytorch"), 1e-5)
        self.assertIsNone(table["summary"]["first_difference"], table["notes"])
        self.assertEqual(self.compared(table), {})
        self.assertIn("hands out no tensors between layers", " ".join(table["notes"]))


class Mxnet(FrameworkTest):
    def test_outputs_and_layers(self):
        python = framework_python("mxnet", "mxnet==1.9.1", "numpy<1.24")
        self.use("mxnet", python)
        subprocess.run([python, FRAMEWORKS / "mxnet" / "mxnet_models.py", self.folder / "models"], check=True, timeout=120, capture_output=True)
        manifests = [self.manifest(name, "models/cnn-symbol.json", "mxnet", dimensions=[3, 96, 96], **parameters)
                     for name, parameters in (("net", {}), ("bgr", {"color_mode": "BGR"}))]
        numpy.save(self.folder / "data.npy", self.prepared(96))
        run(python, MXNET, self.folder / "models" / "cnn", self.folder / "data.npy", self.folder / "expected.npz")
        expected = numpy.load(self.folder / "expected.npz")
        for batch in (1, 2):
            self.evaluate(*manifests, "--keep-outputs", "--batch", batch)
            numpy.testing.assert_allclose(self.kept(1), expected["output"], rtol=1e-3, atol=1e-4)
        table = self.difference(manifests[0], manifests[0], "--batch", 9)
        self.assertIsNone(table["summary"]["first_difference"], table["notes"])
        row = self.compared(table)["net_conv1_fwd"]
        self.assertEqual((row["type"], row["shape"]), ("Convolution", ",".join(map(str, expected["layer"].shape))))
        self.assertEqual(self.difference(*manifests)["summary"]["first_difference"], "data")


class LiteRt(FrameworkTest):
    def test_outputs(self):
        python = framework_python("litert", "ai-edge-litert==2.3.0", "numpy==2.4.6")
        self.use("litert", python)
        subprocess.run([python, FRAMEWORKS / "litert" / "tflite_models.py", self.folder / "models"], check=True, timeout=120, capture_output=True)
        manifests = [self.manifest(name, "models/cnn.tflite", "litert", dimensions=[3, 96, 96], layout="NHWC", **parameters)
                     for name, parameters in (("net", {}), ("bgr", {"color_mode": "BGR"}))]
        numpy.save(self.folder / "data.npy", self.prepared(96).transpose(0, 2, 3, 1))
        run(python, LITERT, self.folder / "models" / "cnn.tflite", self.folder / "data.npy", self.folder / "expected.npz")
        for batch in (1, 3):
            self.evaluate(*manifests, "--keep-outputs", "--batch", batch)
            numpy.testing.assert_allclose(self.kept(1), numpy.load(self.folder / "expected.npz")["output"], rtol=1e-3, atol=1e-5)
        table = self.difference(*manifests)
        self.assertEqual(table["summary"]["first_difference"], "image")
        self.assertIn("hands out no tensors between layers", " ".join(table["notes"]))
        self.assertEqual([row["part"] for row in table["rows"]], ["input", "output"])


if __name__ == "__main__":
    import unittest
    unittest.main()
