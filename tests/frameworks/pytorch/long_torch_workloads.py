# SPDX-License-Identifier: Apache-2.0
"""The PyTorch workloads of bench/: each runs, and each of its parameters takes part in its loss."""
import json
import os
import pathlib
import subprocess
import unittest

import torch_environment

FOLDER = pathlib.Path(os.environ["XSP_SOURCE"]) / "bench/workloads"
NAMES = ["conformer", "dlrm", "gemma", "gnn", "llama", "nanogpt", "resnet", "transformer_big", "unet", "vit"]

# Prints the parameters without a gradient, and whether the output of two equal calls is finite and equal.
GRADIENTS = """
import importlib, json, sys, torch
workload = importlib.import_module(sys.argv[1])
torch.manual_seed(0)
module, inputs = getattr(workload, sys.argv[1])()
workload.loss(module(*inputs)).backward()
idle = [name for name, parameter in module.named_parameters() if parameter.grad is None]
module.eval()
with torch.no_grad():
    first, second = module(*inputs), module(*inputs)
print(json.dumps({"idle": idle, "finite": bool(first.isfinite().all()), "equal": torch.equal(first, second)}))
"""

# The Conformer's shift against its definition: the score of query i and key j is at their distance i - j.
SHIFT = """
import torch, conformer
scores, length = torch.randn(2, 3, 5, 9), 5
shifted = conformer.RelativeAttention.shift(scores)
for i in range(length):
    for j in range(length):
        assert torch.equal(shifted[:, :, i, j], scores[:, :, i, length - 1 - (i - j)]), (i, j)
"""


class Workloads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = torch_environment.torch_python()

    def output(self, *arguments):
        result = subprocess.run([self.python, *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=300,
                                env={**os.environ, "PYTHONPATH": str(FOLDER), "PYTHONDONTWRITEBYTECODE": "1"})
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_each_runs(self):
        for name in NAMES:
            for mode in ("train", "infer"):
                with self.subTest(name=name, mode=mode):
                    figures = json.loads(self.output(f"{name}.py", "--iterations", "2", "--mode", mode))
                    self.assertEqual((figures["workload"], figures["mode"], figures["iterations"]), (name, mode, 2))
                    self.assertGreater(figures["ms"], 0)
                    self.assertGreater(figures["peak_rss_bytes"], 10 << 20)

    def test_profilers(self):
        for profiler in ("torch", "torch-stack"):
            figures = json.loads(self.output("vit.py", "--iterations", "1", "--profiler", profiler).splitlines()[-1])
            self.assertEqual(figures["profiler"], profiler)

    def test_each_parameter_takes_part(self):
        for name in NAMES:
            with self.subTest(name=name):
                self.assertEqual(json.loads(self.output("-c", GRADIENTS, name)),
                                 {"idle": [], "finite": True, "equal": True})

    def test_relative_positions(self):
        self.output("-c", SHIFT)


if __name__ == "__main__":
    unittest.main()
