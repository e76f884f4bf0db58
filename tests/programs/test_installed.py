# SPDX-License-Identifier: Apache-2.0
"""Each verb of the xsp that `make install PREFIX=…` installs, and of a link to it. long_dist.py has the same of `make dist`."""
import os
import pathlib
import subprocess
import tempfile
import unittest

from installed import Verbs

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
place = None


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
    @property
    def program(self):
        return pathlib.Path(place.name, "bin", "xsp")


if __name__ == "__main__":
    unittest.main()
