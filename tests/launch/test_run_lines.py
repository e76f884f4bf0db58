# SPDX-License-Identifier: Apache-2.0
"""The lines of a program's own code in the summary of `xsp run`, and in the JSON of --json."""
import json
import math
import os
import pathlib
import subprocess
import sys
import unittest

from scripted import BUILD, TIMEOUT_S, XSP, temporary_folder, xsp_json

GUEST = BUILD / "test-programs" / "sampled-guest"
# A Python loop, and zlib called from line 10; how long each took on the CPU goes to stdout.
PROGRAM = """\
import time, zlib

def pure(end):
    while time.thread_time() < end:
        sum(i for i in range(1000))

def native(end):
    data = bytes(range(256)) * 400
    while time.thread_time() < end:
        zlib.compress(data, 9)

marks = [time.thread_time()]
for _ in range(5):
    pure(marks[-1] + 0.1)
    marks.append(time.thread_time())
    native(marks[-1] + 0.2)
    marks.append(time.thread_time())
parts = [after - before for before, after in zip(marks, marks[1:])]
print(sum(parts[0::2]), sum(parts[1::2]))
"""


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an instrumented libxsp.so cannot be preloaded into programs")
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
        info = xsp_json("info", self.folder / "out.xsp", "--json")
        self.assertEqual([run["samples"] for run in info["experiments"][0]["runs"]], [11])
        self.assertIn("xsp analyze lines ", done.stderr)
        self.assertIsNone(said["covered_pct"])  # it has no steps
        self.assertNotIn("\ncovered ", done.stderr)
        self.assertAlmostEqual(step["time_pct"], 100 * 90 / said["duration_ms"], places=3)
        lines = [line for line in done.stderr.splitlines() if "of the program's time: train.py" in line]
        self.assertRegex(lines[0], r"^lines .* train\.py:20 step \(33 % Python, 67 % native\), most in dgemm \(libblas\)$")
        self.assertRegex(lines[1], r" train\.py:10 <module> \(100 % waiting\)$")
        again = subprocess.run([XSP, "analyze", self.folder / "out.xsp"], capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual([line for line in again.stdout.splitlines() if line in lines], lines)

    def test_a_program_of_known_parts(self):
        """Sampled by the tracer cpu: shares are right within their errors, and rows add up."""
        program = self.folder / "parts.py"
        program.write_text(PROGRAM)
        done = subprocess.run([XSP, "run", "-q", "-t", "cpu", "--sample-rate", "999", "-o", self.folder / "out.xsp", "--",
                               sys.executable, program], capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        pure_s, native_s = map(float, done.stdout.split())
        functions = xsp_json("analyze", "lines", self.folder / "out.xsp", "--by", "function", "--json")
        # Waits at no line of the program are in no row: on a busy machine it waits for its files.
        cpu_ms = sum(row["python_ms"] + row["native_ms"] for row in functions["rows"])
        self.assertAlmostEqual(cpu_ms, functions["summary"]["python_ms"] + functions["summary"]["native_ms"], places=6)
        rows = [row for row in functions["rows"] if row["file"] == str(program)]
        [native] = [row for row in rows if row["function"] == "native"]
        pure = [row for row in rows if row["function"].startswith("pure")]  # and its generator
        pure_ms, count = sum(row["time_ms"] for row in pure), sum(row["samples"] for row in [native, *pure])
        share = pure_s / (pure_s + native_s)
        self.assertLess(abs(pure_ms / (pure_ms + native["time_ms"]) - share), 5 * math.sqrt(share * (1 - share) / count))
        self.assertGreater(sum(row["python_ms"] for row in pure), 0.95 * pure_ms)
        self.assertGreater(native["native_ms"], 0.9 * native["time_ms"])
        self.assertRegex(native["hottest"], "deflate|compress|zlib")
        lines = xsp_json("analyze", "A22", self.folder / "out.xsp", "--json")["rows"]
        [compress] = [row for row in lines if (row["file"], row["line"]) == (str(program), 10)]
        self.assertGreater(compress["native_ms"], 0.95 * native["native_ms"])

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
