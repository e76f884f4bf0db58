# SPDX-License-Identifier: Apache-2.0
"""Functions of MKL within PyTorch by the list of functions: each matrix product is a call, in its operator."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import torch_environment

XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
PROGRAM = """
import torch
torch.set_num_threads(1)
a = torch.randn(300, 300)
for _ in range(5):
    a = a @ a
"""
ASK = ("select s.name, s.level, p.name as parent, count(*) as n from span s left join span p on p.run_id = s.run_id and"
       " p.span_id = s.parent_id where s.tracer = 'functions' group by 1, 2, 3")


class Mkl(unittest.TestCase):
    def test_matrix_products(self):
        with tempfile.TemporaryDirectory(prefix="xsp-test-mkl-") as name:
            folder = pathlib.Path(name)
            (folder / "functions.txt").write_text("?gemm_\n")
            subprocess.run([XSP, "run", "-q", "--functions", folder / "functions.txt", "-o", folder / "out.xsp", "--",
                            torch_environment.torch_python(), "-c", PROGRAM], check=True, timeout=600)
            rows = json.loads(subprocess.run([XSP, "sql", folder / "out.xsp", "--json", ASK], check=True,
                                             capture_output=True).stdout)
        self.assertEqual(rows, [{"name": "sgemm_", "level": "library", "parent": "aten::mm", "n": 5}])


if __name__ == "__main__":
    unittest.main()
