"""XSP_DEBUG: lines about what xsp does, on its own stderr only. XSP_STOP: where it stops."""
import os
import pathlib
import select
import signal
import subprocess
import tempfile
import unittest

XSP = os.path.join(os.environ["XSP_BUILD"], "xsp")
NOT_SANITIZED = unittest.skipIf(os.environ.get("XSP_SANITIZE"),
                                 "an instrumented libxsp.so cannot be preloaded into programs that are not")
PROGRAM = ["sh", "-c", "echo out; echo err >&2; exit 3"]


class DebugTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_xsp(self, rooms, *arguments):
        environment = {name: value for name, value in os.environ.items() if name != "XSP_DEBUG"}
        if rooms is not None:
            environment["XSP_DEBUG"] = rooms
        return subprocess.run([XSP, *map(str, arguments)], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=600, check=False)

    def run_program(self, rooms, name, *options):
        return self.run_xsp(rooms, "run", "-q", "-o", self.folder / name, *options, "--", *PROGRAM)

    @staticmethod
    def rooms_of(result):
        return {line.split()[1].rstrip(":") for line in result.stderr.splitlines() if line.startswith("xsp ")}

    @NOT_SANITIZED
    def test_only_stderr_changes(self):
        plain, debug = self.run_program(None, "plain.xsp"), self.run_program("all", "debug.xsp")
        self.assertEqual((plain.returncode, plain.stdout), (3, "out\n"))
        self.assertEqual((debug.returncode, debug.stdout), (3, "out\n"))
        self.assertEqual(self.rooms_of(plain), set())
        self.assertEqual(self.rooms_of(debug), {"launch", "experiment", "collect", "correlate", "store"})
        self.assertIn("LD_PRELOAD=", debug.stderr)
        self.assertEqual([line for line in debug.stderr.splitlines() if not line.startswith("xsp ")],
                         plain.stderr.splitlines())

    def test_the_rooms_that_were_named(self):
        self.assertEqual(self.rooms_of(self.run_program("store,launch", "some.xsp")), {"store", "launch"})
        self.assertEqual(self.rooms_of(self.run_xsp("importers", "info", self.folder / "some.xsp")), set())
        self.assertEqual(self.rooms_of(self.run_xsp("store,correlate", "info", self.folder / "some.xsp")), {"store"})

    @NOT_SANITIZED
    def test_repetitions_whose_stderr_is_dropped(self):
        result = self.run_xsp("launch", "run", "-q", "-o", self.folder / "twice.xsp", "--runs", 2, "--", "true")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr.count("xsp launch: start true"), 2)

    def test_an_unknown_room(self):
        result = self.run_xsp("kitchen", "version")
        self.assertEqual(result.returncode, 0)
        self.assertIn("kitchen", result.stderr)

    def test_a_stop_before_a_verb(self):
        for stops, is_stopped in (("version", True), ("copy,version", True), ("versions,info", False)):
            with self.subTest(stops):
                child = subprocess.Popen([XSP, "version"], env={**os.environ, "XSP_STOP": stops}, stdout=subprocess.PIPE)
                if is_stopped:
                    self.assertTrue(os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1]))
                    self.assertEqual(select.select([child.stdout], [], [], 0)[0], [])  # nothing is printed yet
                    child.send_signal(signal.SIGCONT)
                self.assertIn(b"xsp", child.communicate(timeout=600)[0])
                self.assertEqual(child.returncode, 0)


if __name__ == "__main__":
    unittest.main()
