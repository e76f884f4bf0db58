# SPDX-License-Identifier: Apache-2.0
"""oneDNN's primitives in PyTorch and OpenVINO as xsp records them, against what oneDNN's own log (ONEDNN_VERBOSE) says of the same run: as many
of each kind, with the same times."""
import collections
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import torch_environment
from framework_environment import framework_python

OPENVINO_VERSION = "2026.4.1"
XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
PROGRAM = """
import torch
torch.set_num_threads(1)
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 32, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(32, 64, 3, padding=1)).eval()
x = torch.randn(4, 3, 96, 96)
with torch.inference_mode():
    for _ in range(20):
        net(x)
"""


OPENVINO = """
import numpy as np, openvino as ov, openvino.opset13 as operators
x = operators.parameter([4, 3, 96, 96], np.float32)
y = x
for shape in (32, 3, 3, 3), (64, 32, 3, 3):
    y = operators.convolution(y, np.full(shape, 0.01, np.float32), [1, 1], [1, 1], [1, 1], [1, 1])
model = ov.Core().compile_model(ov.Model([y], [x], "net"), "CPU", {"NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": "1"})
request = model.create_infer_request()
for _ in range(20):
    request.infer({0: np.ones((4, 3, 96, 96), np.float32)})
"""


class Verbose(unittest.TestCase):
    def test_pytorch(self):
        self.check(torch_environment.torch_python(), PROGRAM)

    def test_openvino(self):
        self.check(framework_python("openvino", f"openvino=={OPENVINO_VERSION}", "onnx==1.23.2", "numpy==2.4.6"),
                   OPENVINO, 2)  # both weights are reordered once, when the model is compiled

    def check(self, python, program, outside_of_layers=0):
        with tempfile.TemporaryDirectory(prefix="xsp-test-verbose-") as name:
            path = pathlib.Path(name) / "out.xsp"
            done = subprocess.run([XSP, "run", "-q", "-o", path, "--", python, "-c", program],
                                  capture_output=True, text=True, check=True, env={**os.environ, "ONEDNN_VERBOSE": "1"})
            rows = subprocess.run([XSP, "sql", path, "--json", "select name, duration_ns / 1e6 as ms from span where"
                                   " tracer = 'itt' and level = 'library' and category is null order by start_ns"],
                                  capture_output=True, check=True).stdout
            layers = json.loads(subprocess.run(
                [XSP, "analyze", "A11", path, "--json", "--kernel-level", "library", "--stat", "mean"],
                capture_output=True, check=True).stdout)
        theirs = collections.defaultdict(list)
        for line in done.stdout.splitlines():
            fields = line.split(",")
            if fields[0] == "onednn_verbose" and "exec" in fields:
                theirs[fields[fields.index("exec") + 2]].append(float(fields[-1]))
        if not theirs:
            self.skipTest("oneDNN is not used here")
        ours = collections.defaultdict(list)
        for row in json.loads(rows):
            ours[row["name"]].append(row["ms"])
        self.assertEqual({kind: len(times) for kind, times in ours.items()}, {kind: len(times) for kind, times in theirs.items()})
        self.assertIn("convolution", ours)
        for kind, times in theirs.items():
            # The least are without the loss of a processor; the task contains the writing of the log's line.
            self.assertLess(abs(min(ours[kind]) - min(times)), 0.05 * min(times) + 0.2, kind)
        self.assertEqual(sum(row["count"] for row in layers["rows"]) * layers["run_set"]["observations"],
                         sum(len(times) for times in theirs.values()) - outside_of_layers)


if __name__ == "__main__":
    unittest.main()
