# SPDX-License-Identifier: Apache-2.0
"""The lines of a program's own code in the summary of `xsp run`, and in the JSON of --json."""
import json
import os
import pathlib
import subprocess
import unittest

from scripted import BUILD, TIMEOUT_S, XSP, temporary_folder

GUEST = BUILD / "test-programs" / "sampled-guest"


class Lines(unittest.TestCase):
    def run_xsp(self, *options, command=(GUEST,)):
        return subprocess.run([XSP, "run", "-o", self.folder / "out.xsp", *options, "--", *map(str, command)],
                              stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S, env={**os.environ, "COLUMNS": "200"})

    def setUp(self):
        made = temporary_folder()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def test_known_samples(self):
        done = self.run_xsp("--json", self.folder / "out.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = json.loads((self.folder / "out.json").read_text())
        step, outer = said["lines"]
        self.assertEqual((step["file"], step["line"], step["function"]), ("/home/me/train.py", 20, "step"))
        self.assertEqual((step["samples"], step["python_ms"], step["native_ms"], step["waiting_ms"]), (10, 30, 60, 0))
        self.assertEqual(step["hottest"], "dgemm (libblas)")
        self.assertEqual((outer["line"], outer["time_ms"], outer["waiting_ms"]), (10, 40, 40))
        self.assertEqual(said["exit_status"], 0)
        self.assertAlmostEqual(step["time_pct"], 100 * 90 / said["duration_ms"], places=3)
        lines = [line for line in done.stderr.splitlines() if "of the program's time: train.py" in line]
        self.assertRegex(lines[0], r"^lines .* train\.py:20 step \(33 % Python, 67 % native\), most in dgemm \(libblas\)$")
        self.assertRegex(lines[1], r" train\.py:10 <module> \(100 % waiting\)$")

    def test_a_file_is_not_replaced(self):
        path = self.folder / "out.json"
        path.write_text("mine")
        done = self.run_xsp("--json", path, command=("touch", self.folder / "started"))
        self.assertEqual(done.returncode, 125)
        self.assertIn("--force", done.stderr)
        self.assertEqual(path.read_text(), "mine")
        self.assertFalse((self.folder / "started").exists())
        self.assertEqual(self.run_xsp("--json", path, "--force", "--quiet", command=("true",)).returncode, 0)
        self.assertEqual(json.loads(path.read_text())["lines"], [])


if __name__ == "__main__":
    unittest.main()
