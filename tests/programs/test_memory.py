# SPDX-License-Identifier: Apache-2.0
"""Exhausted memory: one line, status 3, and no half-made file, wherever it happens."""
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ.get("XSP_BUILD", pathlib.Path(__file__).parents[2] / "build"))
XSP = BUILD / "xsp"
EVENTS = 60000
LIMITS_MIB = [*range(20, 68, 4), 2048]  # with 16 the loader has no room for the libraries


def write_kineto(path):
    """A trace with a model's range per 100 operators, each with a name of its own."""
    events = []
    for number in range(EVENTS):
        if number % 100 == 0:
            events.append({"ph": "X", "cat": "user_annotation", "pid": 1, "tid": 1, "ts": number * 10, "dur": 999,
                           "name": "ProfilerStep#%d" % (number // 100)})
        events.append({"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": number * 10 + 1, "dur": 5,
                       "name": "operator %d" % (number % 5000), "args": {"External id": number, "text": "value %d" % number}})
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))


def run_limited(limit_mib, *arguments):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (limit_mib << 20, limit_mib << 20))

    return subprocess.run([XSP, *arguments], preexec_fn=limit, capture_output=True, text=True, timeout=600)


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "sanitizers need more address space than any limit leaves")
class ExhaustedMemory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        place = pathlib.Path(cls.folder.name)
        cls.source, cls.trace, cls.outputs = place / "trace.json", place / "trace.xsp", place / "outputs"
        write_kineto(cls.source)
        subprocess.run([XSP, "import", cls.source, "-o", cls.trace], check=True, capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, output, *arguments):
        """Runs under one limit after the other: each time all is well, or the end is orderly. Both happen."""
        exhausted = 0
        for limit in LIMITS_MIB:
            self.outputs.mkdir()
            done = run_limited(limit, *arguments)
            made = [path.name for path in self.outputs.iterdir()]
            with self.subTest(limit_mib=limit, stderr=done.stderr):
                if done.returncode == 0:
                    self.assertEqual(made, [output] if output else [])
                else:
                    exhausted += 1
                    self.assertEqual(done.returncode, 3)
                    self.assertEqual(made, [])
                    self.assertEqual(done.stdout, "")
                    self.assertRegex(done.stderr, r"\Axsp: [^\n]*out of memory[^\n]*; try: [^\n]*\n\Z")
            for name in made:
                (self.outputs / name).unlink()
            self.outputs.rmdir()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(exhausted, 0, "no limit was small enough")

    def test_import(self):
        self.check("out.xsp", "import", self.source, "-o", self.outputs / "out.xsp")

    def test_analyze(self):
        self.check(None, "analyze", "A2", self.trace)

    def test_export(self):
        self.check("out", "export", self.trace, "--to", "perfetto", "-o", self.outputs / "out")

    def test_report(self):
        self.check("out.html", "report", self.trace, "-o", self.outputs / "out.html")


if __name__ == "__main__":
    unittest.main()
