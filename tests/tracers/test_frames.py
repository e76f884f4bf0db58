# SPDX-License-Identifier: Apache-2.0
"""guest/tracers/frames: call paths of Python stacks equal the interpreter's own view, in every CPython 3.10 to 3.15 that is
installed. Each scenario is a function of frames/frames_program.py, in a process of its own."""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import unittest

from interpreters import VERSIONS, interpreters

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
PROBE = BUILD / "test-programs" / "frames_probe.so"
LIAR = BUILD / "test-programs" / "frames_liar.so"
PROGRAM = SOURCE / "tests" / "tracers" / "frames" / "frames_program.py"
SANITIZED = os.environ.get("XSP_SANITIZE", "")
INTERPRETERS = interpreters()


class Frames(unittest.TestCase):
    def run_scenario(self, path, scenario, preload=None, **environment):
        preloads = [str(preload)] if preload else []
        if SANITIZED:
            runtime = subprocess.run(["ldd", PROBE], capture_output=True, text=True, check=True).stdout
            preloads = re.findall(r"=> (\S*/lib(?:asan|ubsan|tsan)\S*)", runtime) + preloads
        variables = {**os.environ, "LD_PRELOAD": ":".join(preloads), "ASAN_OPTIONS": "detect_leaks=0", **environment}
        return subprocess.run([path, "-I", PROGRAM, PROBE, scenario], capture_output=True, text=True, env=variables,
                              stdin=subprocess.DEVNULL, timeout=600)

    def each(self, scenario):
        for version, path in INTERPRETERS.items():
            with self.subTest(version=version):
                done = self.run_scenario(path, scenario)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                yield done

    def all_pass(self, scenario):
        for _ in self.each(scenario):
            pass

    def test_functions(self):
        self.all_pass("functions")

    def test_python_called_from_c(self):
        self.all_pass("from_c")

    def test_generators_and_coroutines(self):
        self.all_pass("generators")

    def test_recursion_has_one_path(self):
        self.all_pass("recursion")

    def test_code_without_a_file_and_other_alphabets(self):
        self.all_pass("without_file")

    def test_address_of_freed_code(self):
        self.all_pass("freed")

    def test_threads(self):
        self.all_pass("threads")

    def test_frames_since(self):
        self.all_pass("since")

    @unittest.skipUnless(importlib.util.find_spec("greenlet"), "greenlet is not installed")
    def test_greenlets(self):
        done = self.run_scenario(sys.executable, "greenlets")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_native_frames(self):
        self.all_pass("native")

    def test_in_a_signal_handler(self):
        self.all_pass("in_handler")

    def test_known_memory(self):
        self.all_pass("known_memory")

    def test_a_storm_of_signals(self):
        self.all_pass("storm")

    def test_a_storm_of_signals_in_a_thread_with_a_small_stack(self):
        self.all_pass("small_stack")

    def test_setup_keeps_an_exception(self):
        self.all_pass("pending_error")

    def test_nothing_is_read_at_exit(self):
        for done in self.each("at_exit"):
            self.assertIn("last path 0", done.stdout)

    def test_a_subinterpreter_is_refused(self):
        self.all_pass("subinterpreter")

    @unittest.skipIf("address" in SANITIZED, "a wrong layout may lead into the sanitizer's own memory")
    def test_other_layouts_are_refused(self):
        claims = {f"{version}.0 (claimed)": None for version in VERSIONS}
        claims.update({"3.9.1": "not known", "3.16.0": "not known", "2.7.18": "not known", "": "not known",
                       "3.13.0 experimental free-threading build": "free-threaded"})
        for version, path in INTERPRETERS.items():
            for claim, reason in claims.items():
                if (claim.startswith(version + ".") and not reason) or "static" in version:
                    continue  # the truth; a static one's own functions come first
                with self.subTest(version=version, claim=claim):
                    done = self.run_scenario(path, "refused", preload=LIAR, XSP_TEST_VERSION=claim)
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                    self.assertIn(reason or "Python 3.", done.stdout)

    def test_versions(self):
        missing = [version for version in VERSIONS if not {version, version + "-static"} & set(INTERPRETERS)]
        self.assertTrue(INTERPRETERS)
        if missing:
            self.skipTest(f"not installed: CPython {', '.join(missing)}")


if __name__ == "__main__":
    unittest.main()
