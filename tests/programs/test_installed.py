# SPDX-License-Identifier: Apache-2.0
"""Each verb of the xsp that `make install PREFIX=…` installs, and of a link to it; the wheel of it, wherever pip puts its files.
long_dist.py has each verb of what `make dist` makes."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from device_runs import UNSANITIZED
from installed import Verbs

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
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


    @UNSANITIZED
    def test_the_library_for_evaluations_finds_the_program(self):
        library = self.program.parents[1] / "lib" / "libxsp_evaluate.so"
        done = subprocess.run([sys.executable, "-c", "import xsp\ntry: xsp.evaluate('net.yml')\nexcept xsp.Error as error: print(error)"],
                              capture_output=True, text=True, check=True, cwd=self.folder,
                              env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(SOURCE / "answers/python/src"),
                                   "XSP_LIBRARY_EVALUATE": str(library)})
        self.assertIn(" --data: ", done.stdout)  # the verb's own message


class ByALink(Verbs, unittest.TestCase):
    @property
    def program(self):
        return pathlib.Path(place.name, "bin", "xsp")


@UNSANITIZED
class Wheel(unittest.TestCase):
    """Its program, package and libraries find each other, with nothing of xsp in PATH."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(place.name)
        stage = cls.folder / "stripped"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", stage, "--strip"], check=True, stdout=subprocess.DEVNULL)
        made = subprocess.run([sys.executable, SOURCE / "tools" / "package_wheel", stage, cls.folder, os.uname().machine],
                              check=True, capture_output=True, text=True)
        cls.wheel = cls.folder / made.stdout.strip()

    def install(self, *options, python=sys.executable):
        subprocess.run([sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps", *options, self.wheel],
                       check=True)

    def check(self, program, python, **variables):
        environment = {"PATH": "/usr/bin:/bin", **variables}
        out = program.parent / "run.xsp"
        page = program.parents[1] / "share/doc/xsp/docs/run.md"
        self.assertTrue(page.exists())
        self.assertIn(str(page.parent.resolve()), subprocess.run([program, "help"], capture_output=True, text=True, check=True).stdout)
        subprocess.run([program, "run", "-q", "-o", out, "--", "/bin/true"], check=True, env=environment)
        code = (f"import xsp; print(len(xsp.open({str(out)!r}).runs))\n"
                "try: xsp.evaluate('missing.yml')\nexcept xsp.Error as error: print(error)")
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=environment, check=True, cwd=self.folder)
        self.assertRegex(done.stdout, r"^1\nxsp: .* --data: ")  # the verb's own message: the library found the program

    def test_in_an_environment(self):
        environment = self.folder / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        self.install(python=environment / "bin" / "python3")
        self.check(environment / "bin" / "xsp", environment / "bin" / "python3")

    def test_in_a_folder(self):
        self.install(f"--target={self.folder / 'target'}")
        self.check(self.folder / "target" / "bin" / "xsp", sys.executable, PYTHONPATH=str(self.folder / "target"))

    def test_in_a_prefix(self):
        self.install(f"--prefix={self.folder / 'prefix'}")
        [packages] = (self.folder / "prefix").glob("lib/python3*/site-packages")
        self.check(self.folder / "prefix" / "bin" / "xsp", sys.executable, PYTHONPATH=str(packages))


if __name__ == "__main__":
    unittest.main()
