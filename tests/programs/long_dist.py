# SPDX-License-Identifier: Apache-2.0
"""Each verb of the xsp in the tarball, the wheel and the Debian package of `make dist`, which it makes first."""
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest

from installed import Verbs

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
place = None


def setUpModule():
    global place
    done = subprocess.run([SOURCE / "tools" / "dist"], check=True, capture_output=True, text=True)
    made = {path.suffix: SOURCE / path for path in map(pathlib.Path, done.stdout.splitlines())}
    place = tempfile.TemporaryDirectory(prefix="xsp-dist-")
    environment = pathlib.Path(place.name, "venv")
    with tarfile.open(made[".gz"]) as archive:
        archive.extractall(place.name)
    subprocess.run(["dpkg-deb", "-x", made[".deb"], pathlib.Path(place.name, "deb")], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    subprocess.run([sys.executable, "-m", "pip", "--python", environment / "bin" / "python3", "install", "-q", "--no-index", "--no-deps",
                    made[".whl"]], check=True)


def tearDownModule():
    place.cleanup()


def dead_links(folder):
    return [f"{page.name}: {link}" for page in folder.rglob("*.md")
            for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")) if not (page.parent / link).exists()]


class Tarball(Verbs, unittest.TestCase):
    @property
    def program(self):
        return next(pathlib.Path(place.name).glob("xsp-*/bin/xsp"))

    def test_links_of_the_pages_lead_to_files(self):
        folder = self.program.parents[1]
        self.assertTrue((folder / "docs/README.md").exists())
        self.assertEqual(dead_links(folder), [])


class Package(Verbs, unittest.TestCase):
    @property
    def program(self):
        return pathlib.Path(place.name, "deb/usr/bin/xsp")

    def test_man_pages_and_completion(self):
        share = pathlib.Path(place.name, "deb/usr/share")
        self.assertTrue((share / "doc/xsp/docs/README.md").exists())
        self.assertEqual(dead_links(share / "doc/xsp"), [])
        self.assertIn("xsp-run.1.gz", {path.name for path in (share / "man/man1").iterdir()})
        self.assertTrue((share / "bash-completion/completions/xsp").exists())


class Wheel(Verbs, unittest.TestCase):
    @property
    def program(self):
        return pathlib.Path(place.name, "venv/bin/xsp")

    def test_the_package_finds_its_library(self):
        self.xsp("run", "-q", "-o", "run.xsp", "--", "/bin/true")
        done = subprocess.run([pathlib.Path(place.name, "venv/bin/python3"), "-c", "import xsp; print(len(xsp.open('run.xsp').runs))"],
                              capture_output=True, text=True, cwd=self.folder, env={"PATH": "/usr/bin:/bin"}, check=True)
        self.assertEqual(done.stdout, "1\n")


if __name__ == "__main__":
    unittest.main()
