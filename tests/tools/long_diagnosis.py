# SPDX-License-Identifier: Apache-2.0
"""The score over the folder of programs with planted faults that XSP_DIAGNOSIS names: each fault is named with its line, and
nothing is wrong with the others."""
import os
import pathlib
import subprocess
import sys
import unittest

from scripted import BUILD, XSP

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
PROGRAMS = os.environ.get("XSP_DIAGNOSIS")


@unittest.skipUnless(PROGRAMS, "XSP_DIAGNOSIS names no folder of programs")
class Diagnosis(unittest.TestCase):
    def test_score(self):
        result = subprocess.run([sys.executable, "-B", SOURCE / "tools" / "diagnosis", PROGRAMS], stdout=subprocess.PIPE, text=True,
                                env={**os.environ, "XSP": str(XSP), "XSP_BUILD": str(BUILD)})
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    unittest.main()
