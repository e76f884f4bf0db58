# SPDX-License-Identifier: Apache-2.0
"""libxsp from outside: what it exports and needs, the documented examples, an out-of-tree tracer, bad tracers."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
SANITIZED = bool(os.environ.get("XSP_SANITIZE"))
LIBRARY = BUILD / "libxsp.so"


def output_of(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True, timeout=600,
                          **options).stdout


class Session:
    """A session folder in memory, and what a program left in it."""

    def __enter__(self):
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="xsp-test-", dir=place)
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.folder)

    def run(self, *command, **environment):
        return subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=600, env={**os.environ, "XSP_SESSION": self.folder, **environment})

    def lines(self):
        return output_of(BUILD / "test-programs/test-dump", self.folder).splitlines()


class Library(unittest.TestCase):
    @unittest.skipIf(SANITIZED, "sanitizers add symbols of their own")
    def test_exports_are_the_documented_ones(self):
        names = output_of("nm", "-D", "--defined-only", LIBRARY, env={**os.environ, "LC_ALL": "C"})
        names = sorted(line.split()[2] for line in names.splitlines())
        self.assertEqual(names, (SOURCE / "guest/capture/exports.txt").read_text().split())

    @unittest.skipIf(SANITIZED, "sanitizers add symbols of their own")
    def test_needs_nothing_that_a_guest_may_not_call(self):
        names = {line.split()[-1].split("@")[0] for line in output_of("nm", "-D", "-u", LIBRARY).splitlines()}
        banned = re.compile(r"^(exit|_exit|abort|raise|__assert_fail|malloc|calloc|realloc|free|strdup|.*printf.*|"
                            r"__.*printf_chk|puts|putchar|fwrite|fopen|stdout|stderr|write|pthread_mutex_.*|"
                            r"pthread_once|sem_.*|sleep|usleep|nanosleep)$")
        self.assertEqual([name for name in names if banned.match(name)], [])
        self.assertIn("mmap", names)

    def test_needs_only_the_c_library(self):
        text = output_of("readelf", "-d", LIBRARY)
        needed = re.findall(r"NEEDED.*\[(.*)\]", text)
        if not SANITIZED:
            self.assertEqual(needed, ["libc.so.6"])
        self.assertIn("[libxsp.so.0]", text)
        self.assertIn("NODELETE", text)


class Documents(unittest.TestCase):
    def test_snippets_are_the_compiled_files(self):
        for document, files in (("span-api", ["plain.c", "traced.c", "annotated.c", "call_paths.c"]),
                                ("tracers", ["tracer/resources.c"]), ("monitor", ["monitor/operators.c"])):
            text = (SOURCE / f"docs/{document}.md").read_text()
            for file in files:
                code = (SOURCE / "examples" / file).read_text()
                self.assertTrue(f"```c\n{code}```\n" in text, f"docs/{document}.md does not hold examples/{file}")

    def test_traced_is_plain_and_two_lines(self):
        plain = (SOURCE / "examples/plain.c").read_text().splitlines()[2:]
        traced = (SOURCE / "examples/traced.c").read_text().splitlines()[2:]
        added = [line for line in traced if line not in plain]
        self.assertEqual(len(added), 2, added)
        self.assertEqual([line for line in traced if line not in added], plain)


class Examples(unittest.TestCase):
    def test_plain_and_traced_print_the_same(self):
        plain = output_of(BUILD / "examples/plain")
        self.assertEqual(output_of(BUILD / "examples/traced"), plain)
        with Session() as session:
            self.assertEqual(session.run(BUILD / "examples/traced").stdout, plain)
            self.assertEqual(session.lines().count("span app 0 smooth"), 10)

    def test_annotated(self):
        output_of(BUILD / "examples/annotated")  # without a session
        with Session() as session:
            self.assertEqual(session.run(BUILD / "examples/annotated").returncode, 0)
            lines = session.lines()
            for line in ("span app 1 predict", "tag predict batch_size 4", "span my framework 2 conv1",
                         "span device 4 start copy", "span device 4 copy", "tag copy bytes 4096", "count misused 0"):
                self.assertIn(line, lines)


class Outside(unittest.TestCase):
    """Builds a folder of examples/ against installed headers only: nothing of the checkout is in its search path."""
    example = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="xsp-outside-")
        root = pathlib.Path(cls.folder.name)
        prefix = root / "prefix"
        for part in ("include", "lib/pkgconfig"):
            (prefix / part).mkdir(parents=True)
        shutil.copytree(SOURCE / "include/xsp", prefix / "include/xsp")
        for file in BUILD.glob("libxsp.so*"):
            shutil.copy(file, prefix / "lib", follow_symlinks=False)
        shutil.copy(BUILD / "xsp.pc", prefix / "lib/pkgconfig")
        shutil.copytree(SOURCE / "examples" / cls.example, root / "made")
        flags = "-O2 -Werror" + (f" -fsanitize={os.environ['XSP_SANITIZE']}" if SANITIZED else "")
        output_of("make", "-C", root / "made", f"CFLAGS={flags}",
                  env={**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")})
        cls.made = root / "made"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()


class Tracers(Outside):
    example = "tracer"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.tracer = cls.made / "resources.so"

    def trace(self, tracers):
        with Session() as session:
            result = session.run(BUILD / "examples/traced", XSP_TRACERS=tracers)
            self.assertEqual((result.returncode, result.stdout, result.stderr),
                             (0, output_of(BUILD / "examples/traced"), ""))
            lines = session.lines()
        self.assertEqual(lines.count("span app 0 smooth"), 10)
        return lines

    def test_out_of_tree_tracer(self):
        lines = self.trace(f"{self.tracer}:label=a:b/c")
        self.assertEqual(lines.count("span resources 0 process"), 1)
        self.assertIn("tag process label a:b/c", lines)
        self.assertTrue(any(line.startswith("tag process page_faults ") for line in lines))
        self.assertIn("message resources: one span over the whole process", lines)

    def test_what_cannot_be_loaded_is_said_and_nothing_else(self):
        lines = self.trace(f"/no/such.so,{LIBRARY},,{self.tracer}:unknown=1,{self.tracer}:label=x")
        messages = [line for line in lines if line.startswith("message ")]
        self.assertTrue(messages[0].startswith("message /no/such.so: "), messages)
        self.assertIn("xsp_tracer_entry", messages[1])
        self.assertRegex("\n".join(messages), "(?m)^message resources: .*: unknown$")
        self.assertEqual(lines.count("span resources 0 process"), 1)

    def test_too_long_a_list(self):
        self.assertTrue(any(line.startswith("message XSP_TRACERS: ") for line in self.trace("/x" * 20000)))


@unittest.skipIf(SANITIZED, "a sanitizer's library would have to come first in programs built without it")
class Monitor(Outside):
    example = "monitor"

    def test_calls_of_listed_functions(self):
        functions = pathlib.Path(self.folder.name) / "functions.txt"
        functions.write_text('described(int a, double b, text c) -> double as "my function"\nhalf\n')
        done = subprocess.run([BUILD / "xsp", "run", "-q", "-t", self.made / "operators.so", "--functions", functions, "-o",
                               pathlib.Path(self.folder.name) / "out.xsp", "--", BUILD / "test-programs/described-guest"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.splitlines(), [
            r'functions my function[-1,0.5,"say \u0022x\u0022"]', "functions my function returned [1e+300]",
            'functions my function[1,2,""]', "functions my function returned [55]",
            'functions my function[1,2,""]', "functions my function returned [56]",
            "functions half", "functions half returned "])


if __name__ == "__main__":
    unittest.main()
