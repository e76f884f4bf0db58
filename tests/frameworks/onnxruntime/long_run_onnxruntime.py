# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime of other versions inside unmodified programs: models of all, layers from 1.25 on, and a message where
there are none. Fetches wheels through pip, so it belongs to `make test-all`."""
import os
import pathlib
import subprocess
import sys
import unittest

import test_run_onnxruntime as in_c
import test_run_onnxruntime_python as in_python
from run_programs import BUILD, COMPILER, Case

VERSIONS = {"1.20.1": False, "1.24.1": False, "1.25.1": True}  # with layers?
KEEP = BUILD / "test-wheels-python"


def package(version):
    """The folder with that version's package for this Python; kept in the build folder."""
    folder = KEEP / version
    if not (folder / "onnxruntime").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", folder,
                               f"onnxruntime=={version}"], capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            raise unittest.SkipTest(f"ONNX Runtime {version} cannot be fetched: {done.stderr[-200:]}")
    return folder


class OtherVersions(Case):
    folder_of_package = None

    def environment(self):
        variables = super().environment()
        if self.folder_of_package is not None:
            variables["PYTHONPATH"] = str(self.folder_of_package)
            variables["ORT_LIBRARY"] = str(next((self.folder_of_package / "onnxruntime/capi").glob("libonnxruntime.so.*")))
        return variables

    def check(self, version, has_layers, command):
        outcome, trace = self.check_same(command)
        self.assertEqual(outcome.status, 0, outcome.err)
        self.assertIn(version, outcome.out)
        self.assertEqual(trace.names(), {"tiny": 4})
        self.assertEqual([len(layers) for layers in trace.by_model()], [3 if has_layers else 0] * 4)
        self.assertEqual("1.25" in trace.messages, not has_layers)

    def test_python(self):
        for version, has_layers in VERSIONS.items():
            self.folder_of_package = package(version)
            self.check(version, has_layers, in_python.PythonProgram.script(self, """
                print(onnxruntime.__version__)
                session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
                for options in (None, onnxruntime.RunOptions(), None, None):
                    show(session.run(None, {"image": image}, options))
                print(session.get_providers())
                """))

    START = in_python.PythonProgram.START

    @unittest.skipIf(COMPILER is None, "no C compiler")
    def test_c(self):
        program = in_c.CProgram.build.__func__(type(self), "looking")
        for version, has_layers in VERSIONS.items():
            self.folder_of_package = package(version)
            self.check(version, has_layers, [program, "plain", self.models / "tiny.onnx", 4, 2])


if __name__ == "__main__":
    unittest.main()
