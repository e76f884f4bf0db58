# SPDX-License-Identifier: Apache-2.0
"""What the tests of package xsp share: its interpreters, its environment, files with known figures."""
import os
import pathlib
import subprocess
import unittest

from interpreters import interpreters
from scripted import BUILD, temporary_folder
from training_file import write_training

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
PACKAGE = SOURCE / "answers/python"
PROGRAM = pathlib.Path(__file__).parent / "package_program.py"
INTERPRETERS = interpreters()
# Python without the sanitizer's runtime cannot load such a library.
UNSANITIZED = unittest.skipIf(os.environ.get("XSP_SANITIZE"), "the libraries are built with a sanitizer; read_test covers them")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PACKAGE / "src"), "XSP_LIBRARY_READ": str(BUILD / "libxsp_read.so"),
               "XSP_LIBRARY_PYTHON": str(BUILD / "xsp_python.so"), "PYTHONDONTWRITEBYTECODE": "1"}


def run(*command, environment=ENVIRONMENT, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, env=environment, timeout=600,
                          stdin=subprocess.DEVNULL, **options)


@UNSANITIZED
class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = temporary_folder()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.file, cls.named = cls.folder / "training.xsp", cls.folder / "named.xsp"
        write_training(cls.file)
        write_training(cls.named, has_paths=False)

    def scenario(self, name, *arguments):
        for version, python in INTERPRETERS.items():
            with self.subTest(version=version):
                done = run(python, PROGRAM, name, *arguments)
                self.assertEqual(done.returncode, 0, done.stderr)
                yield version, done

    def all_pass(self, name, *arguments):
        for _ in self.scenario(name, *arguments):
            pass
