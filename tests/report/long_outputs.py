# SPDX-License-Identifier: Apache-2.0
"""Every output of every real trace at hand (XSP_TEST_DATA), read back as test_outputs.py does it with small files."""
import os
import pathlib
import unittest

from outputs import Outputs
from scripted import temporary_folder, xsp

DATA = pathlib.Path(os.environ["XSP_TEST_DATA"])
TRACES = sorted(path for path in DATA.glob("*/*") if path.is_file())


@unittest.skipIf(not TRACES, f"no real traces in {DATA}: set XSP_TEST_DATA")
class EveryTraceTest(unittest.TestCase):
    def test_every_trace(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        imported, taken = pathlib.Path(folder.name) / "imported.xsp", 0
        for source in TRACES:
            if xsp("import", source, "-o", imported, "--force").returncode != 0:
                continue
            taken += 1
            with self.subTest(source.name):
                Outputs(self, imported, folder.name).check()
        self.assertGreater(taken, 0)


if __name__ == "__main__":
    unittest.main()
