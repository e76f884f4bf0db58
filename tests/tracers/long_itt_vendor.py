# SPDX-License-Identifier: Apache-2.0
"""ITT as the vendor wrote it: our description of the interface against the vendor's headers, a program and a shared object
with the vendor's static part inside, and the vendor's Python package. The sources come from the Rust package ittapi-sys, by
cargo; the Python package by pip. Skipped where neither can be had."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

from test_itt import BUILD, SANITIZED, SOURCE, TIMEOUT_S, Trace, name_of

MANIFEST = '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\nittapi-sys = "=0.4.0"\n'
PACKAGE = "ittapi==1.2.2"


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=TIMEOUT_S, **options)


class Vendor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if SANITIZED:
            raise unittest.SkipTest("its programs are not sanitized")
        temporary = tempfile.TemporaryDirectory(prefix="xsp-test-itt-vendor-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)

    def sources(self):
        """The folder of the vendor's C sources."""
        if not shutil.which("cargo"):
            self.skipTest("cargo is not installed")
        crate = self.folder / "crate"
        (crate / "src").mkdir(parents=True, exist_ok=True)
        (crate / "src/lib.rs").touch()
        (crate / "Cargo.toml").write_text(MANIFEST)
        try:
            result = run("cargo", "vendor", "--quiet", "vendor", cwd=crate)
        except subprocess.TimeoutExpired:
            self.skipTest("the package registry does not answer")
        found = crate / "vendor/ittapi-sys/c-library"
        if result.returncode != 0 or not found.is_dir():
            self.skipTest(f"ittapi-sys cannot be had: {result.stderr.strip().splitlines()[-1:]}")
        return found

    def compile(self, sources, *arguments):
        result = run("gcc", "-std=gnu17", "-D_GNU_SOURCE", f"-I{sources}/include", f"-I{sources}/src/ittnotify",
                     f"-I{SOURCE}", f"-I{SOURCE}/trace", f"-I{SOURCE}/guest", f"-I{SOURCE}/include", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_our_description_is_the_vendors(self):
        self.compile(self.sources(), "-Werror", "-fsyntax-only", SOURCE / "tests/tracers/itt_vendor_check.c")

    def test_the_vendors_static_part(self):
        sources = self.sources()
        static, emitter = sources / "src/ittnotify/ittnotify_static.c", SOURCE / "tests/tracers/itt_vendor_emitter.c"
        module, program = self.folder / "libmodule.so", self.folder / "program"
        self.compile(sources, "-w", "-fPIC", "-shared", "-fvisibility=hidden", "-DMODULE", emitter, static, "-o", module)
        self.compile(sources, "-w", emitter, static, module, f"-Wl,-rpath,{self.folder}", "-o", program, "-ldl",
                     "-lpthread")
        trace = Trace([program], self.folder)
        self.assertEqual(trace.stdout, "collector\n")
        task = trace.one("task")
        self.assertEqual(task["tags"], {"domain": "vendor", "numbers": "[1,2,3]", "text": "value", "scoped": "near"})
        self.assertIs(trace.one("overlapped")["parent"], task)
        for name in ("region", "stamped", "marker", "event"):
            trace.one(name)
        self.assertEqual(len(trace.named("frames")), 2)
        self.assertEqual([span["tags"]["value"] for span in trace.named("counter")], [1, 12])
        self.assertEqual([span["tags"]["value"] for span in trace.named("early counter")], [1])
        self.assertEqual([span["tags"]["domain"] for span in trace.named("early name")], ["early", "module"])
        self.assertEqual(name_of(trace.one("our name")["parent"]), "of the module")
        self.assertNotIn("paused", trace.names())
        self.assertEqual({span["track"] for span in trace.spans if span["thread_id"]}, {"vendor's thread"})
        # Without a session the program does what it does without a collector.
        environment = {**os.environ, "INTEL_LIBITTNOTIFY64": str(BUILD / "tracers/itt.so")}
        self.assertEqual(run(program, env=environment).returncode, 0)

    def test_the_vendors_python_package(self):
        try:
            result = run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d",
                         self.folder, PACKAGE)
        except subprocess.TimeoutExpired:
            self.skipTest("the package registry does not answer")
        wheels = list(self.folder.glob("ittapi-*.whl"))
        if result.returncode != 0 or not wheels:
            self.skipTest(f"{PACKAGE} cannot be had: {result.stderr.strip().splitlines()[-1:]}")
        zipfile.ZipFile(wheels[0]).extractall(self.folder / "python")
        script = ("import ittapi\n"
                  "with ittapi.task('with', domain='python'):\n"
                  "    pass\n"
                  "@ittapi.task\n"
                  "def decorated():\n"
                  "    with ittapi.nested_task('nested'):\n"
                  "        pass\n"
                  "decorated()\n"
                  "with ittapi.overlapped_task('overlapped'):\n"
                  "    pass\n"
                  "event = ittapi.event('an event')\n"
                  "event.begin()\n"
                  "event.end()\n")
        trace = Trace([sys.executable, "-c", script], self.folder, PYTHONPATH=str(self.folder / "python"))
        self.assertEqual(trace.one("with")["tags"]["domain"], "python")
        self.assertEqual(name_of(trace.one("nested")["parent"]), "decorated")
        trace.one("overlapped")
        trace.one("an event")


if __name__ == "__main__":
    unittest.main()
