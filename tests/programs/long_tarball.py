# SPDX-License-Identifier: Apache-2.0
"""Each verb of the xsp in the tarball of `make dist`, which it makes first."""
import os
import pathlib
import subprocess
import tarfile
import tempfile
import unittest

from installed import Verbs

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
place = None


def setUpModule():
    global place
    done = subprocess.run([SOURCE / "tools" / "dist"], check=True, capture_output=True, text=True)
    place = tempfile.TemporaryDirectory(prefix="xsp-tarball-")
    with tarfile.open(SOURCE / done.stdout.splitlines()[-1]) as archive:
        archive.extractall(place.name)


def tearDownModule():
    place.cleanup()


class Tarball(Verbs, unittest.TestCase):
    @property
    def program(self):
        return next(pathlib.Path(place.name).glob("*/bin/xsp"))


if __name__ == "__main__":
    unittest.main()
