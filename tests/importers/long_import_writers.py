# SPDX-License-Identifier: Apache-2.0
"""Files that the real tools write here and now, each read a second time by other means."""
import decimal
import os
import subprocess
import unittest

from imported import Imported
from torch_environment import torch_python

TIMEOUT_S = 300
CONVOLUTIONS = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3)).eval()
with torch.no_grad():
    for _ in range(3):
        model(torch.randn(2, 3, 32, 32))
print("done")
"""


def run_python(python, program, folder, **environment):
    return subprocess.run([python, "-c", program], cwd=folder, check=True, capture_output=True, text=True, timeout=TIMEOUT_S,
                          env={**os.environ, "OMP_NUM_THREADS": "2", **environment}).stdout


class PyTorch(Imported):
    @classmethod
    def setUpClass(cls):
        cls.python = torch_python()

    def test_onednn(self):
        """What PyTorch's oneDNN prints for two convolutions, three times."""
        log = run_python(self.python, CONVOLUTIONS, self.folder, ONEDNN_VERBOSE="2", ONEDNN_VERBOSE_TIMESTAMP="1")
        rows = [line.split(",") for line in log.splitlines() if line.startswith("onednn_verbose") and ",primitive," in line]
        expected = [(row[4][:4], int(decimal.Decimal(row[2]) * 10**6), decimal.Decimal(row[-1]) * 10**6) for row in rows
                    if row[4][:4] in ("exec", "crea")]
        report, spans = self.load(log)
        self.assertEqual(len(spans), len(expected))
        for span, (operation, start_ns, duration_ns) in zip(spans, expected):
            self.assertEqual((span["level"], span["start_ns"]), ("kernel" if operation == "exec" else "library", start_ns))
            self.assertLessEqual(abs(span["duration_ns"] - duration_ns), 1)
        convolutions = [span for span in spans if span["category"] == "kernel" and span["tags"]["primitive"] == "convolution"]
        self.assertEqual(len(convolutions), 6)
        self.assertEqual(report["files"][0]["skipped"]["not a line of oneDNN"], 1)  # "done"


if __name__ == "__main__":
    unittest.main()
