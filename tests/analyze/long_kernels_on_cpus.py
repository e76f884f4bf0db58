# SPDX-License-Identifier: Apache-2.0
"""`--kernel-level library` on a CPU: the calls of a convolutional network in TensorFlow and in PyTorch against what oneDNN prints
about itself in the same run. Fetches packages through pip, so it belongs to `make test-all`."""
import collections
import os
import pathlib
import subprocess
import textwrap
import unittest

from scripted import XSP, temporary_folder, xsp_json
from tensorflow_environment import tensorflow_environment
from torch_environment import torch_python

TENSORFLOW = """
    import numpy as np, tensorflow as tf
    net = tf.function(tf.keras.applications.ResNet50(weights=None))
    x = tf.constant(np.zeros((1, 224, 224, 3), "float32"))
    for _ in range(4):
        net(x)
    """
PYTORCH = """
    import torch
    parts = []
    for into, out in ((3, 16), (16, 32), (32, 64)):
        parts += [torch.nn.Conv2d(into, out, 3), torch.nn.ReLU()]
    net, x = torch.nn.Sequential(*parts).eval(), torch.rand(1, 3, 96, 96)
    with torch.inference_mode():
        for _ in range(4):
            net(x)
    """


class KernelsOnCpus(unittest.TestCase):
    def check(self, python, program, convolutions):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        trace = pathlib.Path(folder.name) / "net.xsp"
        done = subprocess.run([XSP, "run", "-q", "--sample-rate", "0", "-o", trace, "--", python, "-c", textwrap.dedent(program)],
                              env={**os.environ, "ONEDNN_VERBOSE": "profile_exec"}, check=True, timeout=600,
                              capture_output=True, text=True)
        count, ms = collections.Counter(), collections.Counter()
        for line in done.stdout.splitlines():
            fields = line.split(",")
            if fields[0] == "onednn_verbose" and fields[3:5] == ["exec", "cpu"]:
                count[fields[5]] += 1
                ms[fields[5]] += float(fields[-1])
        self.assertEqual(count["convolution"], 4 * convolutions)
        answer = xsp_json("analyze", "A10", trace, "--json", "--kernel-level", "library", "--stat", "mean")
        self.assertEqual({row["kernel_name"]: row["count"] * 4 for row in answer["rows"]}, dict(count))
        for row in answer["rows"]:  # a call encloses what oneDNN measures in it; printed times have six digits
            self.assertGreater(row["latency_ms"] * 4 * (1 + 1e-5), ms[row["kernel_name"]], row["kernel_name"])

    def test_tensorflow(self):
        self.check(tensorflow_environment() / "bin" / "python3", TENSORFLOW, 53)

    def test_pytorch(self):
        self.check(torch_python(), PYTORCH, 3)


if __name__ == "__main__":
    unittest.main()
