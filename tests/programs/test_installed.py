# SPDX-License-Identifier: Apache-2.0
"""Each verb of the xsp that `make install PREFIX=…` installs, and of a link to it. long_dist.py has the same of `make dist`."""
import os
import pathlib
import subprocess
import tempfile
import sys
import unittest

from installed import Verbs
from device_runs import UNSANITIZED

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
place = None
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])


def setUpModule():
    global place
    place = tempfile.TemporaryDirectory(prefix="xsp-prefix-")
    prefix = pathlib.Path(place.name)
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix / "xsp"], check=True, stdout=subprocess.DEVNULL)
    (prefix / "bin").mkdir()
    (prefix / "bin" / "xsp").symlink_to(prefix / "xsp" / "bin" / "xsp")


def tearDownModule():
    place.cleanup()


class InItsPrefix(Verbs, unittest.TestCase):
    @property
    def program(self):
        return pathlib.Path(place.name, "xsp", "bin", "xsp")


class ByALink(Verbs, unittest.TestCase):
    @UNSANITIZED
    def test_the_library_for_evaluations_finds_the_program(self):
        library = self.program.parents[1] / "lib" / "libxsp_evaluate.so"
        done = subprocess.run([sys.executable, "-c", "import xsp\ntry: xsp.evaluate('net.yml')\nexcept xsp.Error as error: print(error)"],
                              capture_output=True, text=True, check=True, cwd=self.folder,
                              env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(SOURCE / "answers/python/src"),
                                   "XSP_LIBRARY_EVALUATE": str(library)})
        self.assertIn(" --data: ", done.stdout)  # the verb's own message


    @property
    def program(self):
        return pathlib.Path(place.name, "bin", "xsp")


if __name__ == "__main__":
    unittest.main()
