# SPDX-License-Identifier: Apache-2.0
"""Predictor `jax` without JAX: an interpreter that lacks it, or has one that cannot be imported."""
import os
import subprocess
import sys
import tempfile
import unittest

from run_programs import XSP

WAIT_S = 600


class JaxPredictor(unittest.TestCase):
    def test_an_interpreter_without_it(self):
        with tempfile.TemporaryDirectory(prefix="xsp-jax-") as folder:
            for name, text in (("jax.py", "raise ImportError('no libjax here')\n"), ("models.py", "def make(): pass\n")):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text)
            done = subprocess.run([XSP, "profile", "models.py:make", "--framework", "jax", "--library", f"jax={sys.executable}",
                                   "-o", "t.xsp"], capture_output=True, text=True, timeout=WAIT_S, cwd=folder,
                                  env={**os.environ, "PYTHONPATH": folder}, stdin=subprocess.DEVNULL)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("cannot use JAX", done.stderr)
            self.assertIn("no libjax here", done.stderr)
            self.assertIn("pip install jax", done.stderr)


if __name__ == "__main__":
    unittest.main()
