# SPDX-License-Identifier: Apache-2.0
"""libxsp_evaluate: the figures that `xsp evaluate` prints, from C, Python and Java; errors; a host that is left alone."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import numpy
import yaml
from PIL import Image

import test_evaluate

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"]).resolve()
HERE = pathlib.Path(__file__).parent
LIBRARY = BUILD / "libxsp_evaluate.so"
SIDE = test_evaluate.SIDE
MEASURED = ("latency_ms", "p90_ms", "p99_ms", "throughput_per_s", "preprocess_ms", "postprocess_ms")
PYTHON = "import json, sys, xsp; print(json.dumps(xsp.evaluate(*json.loads(sys.argv[1]), **json.loads(sys.argv[2]))))"


class DoorTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-interfaces-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        test_evaluate.model(self.folder / "net.onnx")
        random = numpy.random.default_rng(5)
        for number in range(12):
            place = self.folder / "set" / str(number % 5)
            place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(random.integers(0, 256, (30, 30, 3), numpy.uint8)).save(place / f"{number}.png")
        self.manifest = self.folder / "net.yml"
        self.manifest.write_text(yaml.safe_dump({
            "name": "net", "version": 1, "framework": {"name": "onnxruntime"}, "model": {"path": "net.onnx"},
            "inputs": [{"type": "image", "parameters": {"dimensions": [3, SIDE, SIDE]}}], "outputs": [{"type": "feature"}]}))
        self.arguments = [str(self.manifest), "--data", str(self.folder / "set"), "--batch", "4", "--items", "--force", "--output",
                          str(self.folder / "out.xsp")]

    def run_program(self, *command, status=0, env=None):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, "PYTHONPATH": str(SOURCE / "answers/python" / "src"), "XSP_LIBRARY_READ": str(BUILD / "libxsp_read.so"),
                                   "XSP_LIBRARY_EVALUATE": str(LIBRARY), "PYTHONDONTWRITEBYTECODE": "1", **(env or {})})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def figures(self, text):
        """Without times, which differ from run to run."""
        tables = json.loads(text)
        rows = [[{key: value for key, value in row.items() if key not in MEASURED} for row in table["rows"]] for table in tables]
        for row in tables[0]["rows"]:
            self.assertTrue(all(row[key] > 0 for key in MEASURED))
        return rows

    def test_figures_are_equal_through_every_interface(self):
        wanted = self.figures(self.run_program(BUILD / "xsp", "evaluate", *self.arguments, "--json", "-q").stdout)
        self.assertEqual((len(wanted), len(wanted[1])), (2, 12))
        self.assertEqual(self.figures(self.run_program(BUILD / "test-programs" / "evaluate-program", *self.arguments).stdout), wanted)
        if os.environ.get("XSP_SANITIZE"):
            return  # other interpreters cannot load such a library
        options = {"data": str(self.folder / "set"), "batch": 4, "items": True, "force": True, "limit": None, "output": str(self.folder / "out.xsp")}
        done = self.run_program(os.environ["XSP_PYTHON"], "-c", PYTHON, json.dumps([str(self.manifest)]), json.dumps(options))
        self.assertEqual(self.figures(done.stdout), wanted)

    @unittest.skipIf(os.environ.get("XSP_SANITIZE"), "Java cannot load a library that is built with a sanitizer")
    def test_java(self):
        java = shutil.which("java")
        version = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=600, check=False).stderr if java else ""
        if '"17' not in version or not shutil.which("javac"):
            self.skipTest("there is no JDK 17")
        wanted = self.figures(self.run_program(BUILD / "xsp", "evaluate", *self.arguments, "--json", "-q").stdout)
        command = [java, "--add-modules", "jdk.incubator.foreign", "--enable-native-access=ALL-UNNAMED", HERE / "Evaluate.java", LIBRARY]
        self.assertEqual(self.figures(self.run_program(*command, *self.arguments).stdout), wanted)
        self.assertIn("missing.yml", self.run_program(*command, "missing.yml", "--data", "x", status=2).stderr)

    @unittest.skipIf(os.environ.get("XSP_SANITIZE"), "Python cannot load a library that is built with a sanitizer")
    def test_errors_are_those_of_xsp(self):
        code = "import sys, xsp\ntry: xsp.evaluate(*sys.argv[1:], data='missing')\nexcept xsp.Error as why: print(why.status, why)"

        def error(*arguments, **env):
            return self.run_program(os.environ["XSP_PYTHON"], "-c", code, *arguments, env=env).stdout
        self.assertRegex(error("missing.yml"), "^2 xsp: .*missing.yml")
        self.assertRegex(error(self.manifest), "^2 xsp: .*missing")
        self.assertRegex(error(self.manifest, XSP_PROGRAM="/bin/false"), "^1 xsp ended with status 1")
        self.assertRegex(error(self.manifest, XSP_PROGRAM="/nowhere/xsp"), "^3 xsp could not be started: /nowhere/xsp: No such file")
        killed = self.folder / "killed"
        killed.write_text("#!/bin/sh\nkill -9 $$\n")
        killed.chmod(0o755)
        self.assertRegex(error(self.manifest, XSP_PROGRAM=str(killed)), "^3 xsp was ended by signal 9")


if __name__ == "__main__":
    unittest.main()
