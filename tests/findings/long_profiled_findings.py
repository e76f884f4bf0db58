# SPDX-License-Identifier: Apache-2.0
"""Findings about profiled models, in ONNX Runtime: a batch that is too small, and a layer far below the machine's roof. Each is
found in the bad case and not in the mended one, and bounds what ONNX Runtime itself gains."""
import pathlib
import tempfile
import time
import unittest

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import finding_pairs
from run_programs import SANITIZED
from scripted import xsp

WIDTH, LARGEST = 1024, 32
NOISE = 1.2
TRIALS = 3


def made(path, scale):
    """Eight layers of a network whose weights are of this size."""
    random = numpy.random.default_rng(0)
    nodes, weights = [], []
    for i in range(8):
        values = (random.random((WIDTH, WIDTH), dtype=numpy.float32) * numpy.float32(scale)).astype(numpy.float32)
        weights.append(numpy_helper.from_array(values, f"weight{i}"))
        nodes.append(helper.make_node("MatMul", [f"x{i}", f"weight{i}"], [f"x{i + 1}"], name=f"layer{i}"))
    graph = helper.make_graph(nodes, "network", [helper.make_tensor_value_info("x0", TensorProto.FLOAT, ["N", WIDTH])],
                              [helper.make_tensor_value_info("x8", TensorProto.FLOAT, ["N", WIDTH])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def seconds(model, batch):
    """The shortest prediction with ONNX Runtime's own interface, which other programs on the machine slow least."""
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    inputs, times = {"x0": numpy.ones((batch, WIDTH), dtype=numpy.float32)}, []
    for _ in range(15):
        start = time.perf_counter()
        session.run(None, inputs)
        times.append(time.perf_counter() - start)
    return min(times)


@unittest.skipIf(SANITIZED, "times of sanitized programs")
class ProfiledFindings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="xsp-findings-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.usual = made(cls.folder / "usual.onnx", 1e-3)

    def profiled(self, model, *options):
        file = self.folder / f"{model.stem}.xsp"
        xsp("profile", model, *options, "--levels", "M,M/L", "--runs", "10", "-o", file, "-f", check=0,
            environment={"XSP_PEAKS": "measure"})
        return file

    def test_batch_size(self):
        file = self.profiled(self.usual, "--batch", f"1,{LARGEST}")
        [found] = finding_pairs.findings(file, "--only", "F10", "--batch", "1")
        self.assertEqual((found["rule"], found["context"]), ("batch_size", "batch size 1"))
        self.assertFalse([row for row in finding_pairs.findings(file, "--only", "F10", "--batch", str(LARGEST))
                          if "less than" in row["title"]])
        gain_s = min(seconds(self.usual, 1) - seconds(self.usual, LARGEST) / LARGEST for _ in range(TRIALS))
        self.assertLessEqual(gain_s * 1e3, NOISE * found["saving_ms"])

    def test_below_roof(self):
        """Denormal numbers, which the processor computes in microcode."""
        bad = made(self.folder / "denormal.onnx", 1e-39)
        if seconds(bad, LARGEST) < 4 * seconds(self.usual, LARGEST):
            self.skipTest("this processor computes denormal numbers fast")
        found = finding_pairs.findings(self.profiled(bad, "--batch", str(LARGEST)), "--only", "F11")
        self.assertEqual({row["rule"] for row in found}, {"below_roof"})
        self.assertEqual(finding_pairs.findings(self.profiled(self.usual, "--batch", str(LARGEST)), "--only", "F11"), [])
        gain_s = min(seconds(bad, LARGEST) - seconds(self.usual, LARGEST) for _ in range(TRIALS))
        self.assertLessEqual(gain_s * 1e3, NOISE * sum(row["saving_ms"] for row in found))


if __name__ == "__main__":
    unittest.main()
