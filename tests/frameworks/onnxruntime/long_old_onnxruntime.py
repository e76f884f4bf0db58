# SPDX-License-Identifier: Apache-2.0
"""Layers from versions of ONNX Runtime that cannot announce them while they run: the profile file route on the real thing.
Fetches old wheels through pip, so it belongs to `make test-all`."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import runner_session

XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
KEEP = pathlib.Path(os.environ["XSP_BUILD"]) / "test-wheels"


def library(version):
    """Path of the library of that version, from its wheel; kept in the build folder."""
    folder = KEEP / version
    if not folder.exists():
        with tempfile.TemporaryDirectory() as fetched:
            subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-cache-dir", "--no-deps", "-d", fetched,
                            f"onnxruntime=={version}"], check=True)
            wheel = next(pathlib.Path(fetched).glob("*.whl"))
            with zipfile.ZipFile(wheel) as archive:
                member = next(name for name in archive.namelist() if "/libonnxruntime.so." in name)
                archive.extract(member, folder)
    return next(folder.rglob("libonnxruntime.so.*"))


class OldOnnxRuntime(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def layers(self, *options):
        output = self.folder / "out.xsp"
        subprocess.run([XSP, "profile", runner_session.test_models() / "squeezenet.onnx", "--runs", "2", "--quiet", "--force",
                        *options, "-o", output], check=True, capture_output=True)
        table = json.loads(subprocess.run([XSP, "analyze", "A2", output, "--json"], check=True, capture_output=True).stdout)
        info = json.loads(subprocess.run([XSP, "info", output, "--json"], check=True, capture_output=True).stdout)
        return info["experiments"][0]["framework_version"], [(row["layer_name"], row["layer_type"]) for row in table["rows"]]

    def test_layers_equal_those_of_today(self):
        _, today = self.layers()
        for version in ("1.20.1", "1.24.1"):  # the first brackets each node by two more events, which are no layers
            found, layers = self.layers("--library", f"onnxruntime={library(version)}")
            self.assertEqual(found, version)
            self.assertEqual(layers, today)


if __name__ == "__main__":
    unittest.main()
