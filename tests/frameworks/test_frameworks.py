# SPDX-License-Identifier: Apache-2.0
"""Frameworks that are not installed here: messages of `xsp check` and `xsp profile`, also for wrong libraries."""
import ctypes.util
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
XSP = BUILD / "xsp"
FRAMEWORKS = {"openvino": "model.xml", "litert": "model.tflite", "mxnet": "model-symbol.json"}  # and a file name that each recognises


def xsp(*arguments):
    # No environment of Python's is active, so that nothing is found.
    env = {**os.environ, "VIRTUAL_ENV": "", "PATH": "/nowhere"}
    return subprocess.run([XSP, *map(str, arguments)], capture_output=True, text=True, timeout=600, env=env)


class FrameworksTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def library(self):
        """A library that is not a framework."""
        for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
            if "/libm.so" in line or "/libm-" in line:
                return line.split()[-1]
        return ctypes.util.find_library("m") or self.skipTest("no libm")

    def refused(self, *arguments, why):
        result = xsp(*arguments)
        self.assertEqual(result.returncode, 3, result.stderr)
        if arguments[0] != "check":  # its table has the reason, too
            self.assertEqual(result.stdout, "")
        lines = [line for line in result.stderr.splitlines() if line.startswith("xsp: ")]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertIn("; try: ", lines[0])
        self.assertIn(why, lines[0])

    def test_wrong_libraries(self):
        for name, file in FRAMEWORKS.items():
            with self.subTest(name):
                model = self.folder / file
                model.write_bytes(b"anything")
                (self.folder / "model-0000.params").write_bytes(b"anything")
                options = ["profile", model, "--quiet", "--runs", 1, "-o", self.folder / "out.xsp"]
                self.refused(*options, "--library", f"{name}={self.folder}/absent.so", why="absent.so")
                self.refused(*options, "--library", f"{name}={self.library()}", why="is missing")
                self.assertFalse((self.folder / "out.xsp").exists())

    def test_check_says_why(self):
        for name in FRAMEWORKS:
            with self.subTest(name):
                self.refused("check", name, "--library", f"{name}={self.library()}", why="is missing")
                result = xsp("check", name, "--json")
                [found] = [row for row in json.loads(result.stdout) if row.get("predictor") == name]
                self.assertEqual(result.returncode, 0 if found["usable"] else 1)
                if not found["usable"]:
                    self.assertIn("looked into", found["reason"])
                    self.assertIn(f"--library {name}=PATH", found["advice"])

    def test_python_is_asked_once(self):
        """The one in PATH; not once for each framework. One framework is looked for where it says."""
        program, asked, modules = (self.folder / name for name in ("python3", "asked", "modules"))
        copy = self.folder / "build" / "xsp"  # beside its folder there is no .venv, as there may be in the checkout
        copy.parent.mkdir()
        shutil.copy(XSP, copy)
        for name in ("libxsp.so.0", "tracers"):
            (copy.parent / name).symlink_to(BUILD / name)
        program.write_text(f"#!/bin/sh\ncase $2 in *'for path in sys.path: print(path)'*) echo asked >>{asked} ;; esac\necho {modules}\n")
        program.chmod(0o755)
        (modules / "openvino" / "libs").mkdir(parents=True)
        environment = {**os.environ, "VIRTUAL_ENV": "", "PATH": f"{self.folder}:/usr/bin:/bin"}
        for names in ((), ("openvino",), ("openvino", "mxnet")):
            asked.unlink(missing_ok=True)
            subprocess.run([copy, "check", *names], capture_output=True, timeout=600, env=environment)
            self.assertEqual(asked.read_text().count("asked"), 1, names)

    def test_absent_model_is_the_models_fault(self):
        for name, file in FRAMEWORKS.items():
            with self.subTest(name):
                result = xsp("profile", self.folder / "absent" / file, "--framework", name, "-o", self.folder / "out.xsp")
                self.assertEqual(result.returncode, 2, result.stderr)


if __name__ == "__main__":
    unittest.main()
