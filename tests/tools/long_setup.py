# SPDX-License-Identifier: Apache-2.0
"""`make setup` and `make` repair a stale or broken environment, without network: on a copy of the checkout, with an index
that does not answer."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])


class Setup(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.checkout = pathlib.Path(folder.name) / "xsp"
        listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=SOURCE, capture_output=True, text=True)
        if listed.returncode != 0 or not (SOURCE / ".venv" / "wheels").is_dir():
            raise unittest.SkipTest("needs a git checkout with the .venv of `make setup`")
        for name in filter(None, listed.stdout.split("\0")):
            target = cls.checkout / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (SOURCE / name).exists():
                shutil.copy2(SOURCE / name, target)
        shutil.copytree(SOURCE / ".venv" / "wheels", cls.checkout / ".venv" / "wheels")

    def run_offline(self, *command):
        environment = dict(os.environ, PIP_INDEX_URL="http://127.0.0.1:9/", PIP_RETRIES="0",
                           HOME=str(self.checkout.parent / "home"))
        for name in ("MAKEFLAGS", "MAKELEVEL", "XSP_BUILD"):
            environment.pop(name, None)
        return subprocess.run(command, cwd=self.checkout, env=environment, capture_output=True, text=True)

    def make(self, *targets):
        result = self.run_offline("make", *targets)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stderr

    def setUp(self):
        self.make("setup")

    def repaired(self):
        self.assertIn("making .venv", self.make("setup"))
        self.assertNotIn("making .venv", self.make("setup"), "the second time there is nothing to do")
        packages = self.checkout / ".venv" / "bin" / "python3"
        subprocess.run([packages, "-c", "import onnx, onnxruntime; onnx.ModelProto; onnxruntime.InferenceSession"], check=True)

    def site(self, pattern):
        found = list((self.checkout / ".venv" / "lib").glob("python3*/site-packages/" + pattern))
        self.assertTrue(found, pattern)
        return found[0]

    def test_python_is_gone(self):
        python = self.checkout / ".venv" / "bin" / "python3"
        python.unlink()
        python.symlink_to("/nonexistent/python3")
        self.repaired()

    def test_half_an_installation(self):
        shutil.rmtree(self.site("onnxruntime-*.dist-info"))
        self.repaired()

    def test_a_file_is_missing(self):
        self.site("onnx/__init__.py").unlink()
        self.repaired()

    def test_a_library_is_truncated(self):
        os.truncate(self.site("onnxruntime/capi/libonnxruntime.so.1.*"), 1000)
        self.repaired()

    def test_no_pip(self):
        shutil.rmtree(self.site("pip"))
        self.repaired()

    def test_another_version(self):
        record = self.site("numpy-*.dist-info/METADATA")
        record.write_text(record.read_text().replace("Version: ", "Version: 0.", 1))
        self.repaired()

    def test_demo_has_no_packages_of_the_tests(self):
        shutil.rmtree(self.checkout / ".venv" / "lib")
        result = self.run_offline("tools/setup", "--demo")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.site("onnxruntime")
        self.assertFalse(list((self.checkout / ".venv" / "lib").glob("python3*/site-packages/playwright")))
        self.repaired()
        self.site("playwright")

    def test_a_failure_names_the_log(self):
        wheels = self.checkout / ".venv" / "wheels"
        kept = wheels.rename(self.checkout / "wheels")
        try:
            wheels.mkdir()
            self.site("numpy-*.dist-info/METADATA").unlink()
            result = self.run_offline("tools/setup")
        finally:
            shutil.rmtree(wheels)
            kept.rename(wheels)
        self.assertEqual(result.returncode, 1)
        self.assertIn("build/setup.log", result.stderr)
        self.assertIn("No matching distribution", result.stderr, "pip's last lines")
        self.assertLess(result.stderr.count("\n"), 30)
        self.assertIn("No matching distribution", (self.checkout / "build" / "setup.log").read_text())

    def test_build_folder(self):
        self.make()
        build = self.checkout / "build"
        self.assertFalse((build / "fuzz-programs").exists(), "make builds no tests")
        cache = build / "CMakeCache.txt"

        def elsewhere():
            cache.write_text(cache.read_text().replace(str(self.checkout), "/nonexistent/xsp"))

        for breakage in (lambda: (build / "build.ninja").unlink(), lambda: cache.write_text("garbage\n"), elsewhere,
                         lambda: shutil.rmtree(build / "CMakeFiles"), lambda: (build / ".ninja_deps").write_bytes(b"?"),
                         lambda: os.truncate(build / "build.ninja", 100), lambda: os.truncate(build / "xsp", 0),
                         lambda: (build / "xsp").unlink()):
            breakage()
            self.make()
            subprocess.run([build / "xsp", "version"], check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    unittest.main()
