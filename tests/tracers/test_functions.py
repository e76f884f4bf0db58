# SPDX-License-Identifier: Apache-2.0
"""Functions by configuration: every calling convention through the trampoline, jumps, exceptions, threads and libraries that
come and go; what is found and not found; a program's output with and without. The guests are tests/tracers/functions/zoo*."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
MACHINE = os.uname().machine
SANITIZE = os.environ.get("XSP_SANITIZE", "")
PROGRAMS = BUILD / "test-programs"
GUEST = PROGRAMS / "zoo-guest"
THROWING = PROGRAMS / "zoo-throw-guest"
EVERYTHING = "zoo_many stack 2048\nzoo_*\n"
NUMPY = """
import numpy
numbers = numpy.random.default_rng(7)
a, b = (numbers.random((64, 64), dtype=numpy.float32) for _ in range(2))
print((a @ b).tobytes().hex())
print((a.astype(float) @ b.astype(float)).tobytes().hex())
"""


@unittest.skipUnless(MACHINE in ("x86_64", "aarch64"), "functions are traced on x86-64 and aarch64 only")
@unittest.skipIf(SANITIZE, "a sanitizer's library would have to come first in programs built without it")
class FunctionsTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="xsp-functions-")
        self.folder = pathlib.Path(self.temporary.name)
        self.list = self.folder / "functions.txt"
        self.out = self.folder / "out.xsp"

    def tearDown(self):
        self.temporary.cleanup()

    def environment(self, **more):
        return {**os.environ, "XSP_SESSION": str(self.folder / "session"), "XSP_FUNCTIONS": str(self.list),
                "XSP_TRACERS": str(BUILD / "tracers" / "functions.so"),
                "LD_AUDIT": str(BUILD / "tracers" / "functions_audit.so"), "LD_PRELOAD": str(BUILD / "libxsp.so"), **more}

    def trace(self, functions, *command, status=0, **more):
        """Runs the command with these functions traced; what it wrote must be what it writes without. Returns the talk."""
        self.list.write_text(functions)
        plain = subprocess.run(command, timeout=600, capture_output=True)
        traced = subprocess.run(command, timeout=600, capture_output=True, env=self.environment(**more))
        self.assertEqual(plain.returncode, status, plain.stderr.decode())
        self.assertEqual(traced.returncode, status, traced.stderr.decode())
        self.assertEqual(traced.stdout, plain.stdout)
        self.assertEqual(traced.stderr, plain.stderr)
        self.printed = plain.stdout.decode()
        return self.recover()

    def recover(self):
        result = subprocess.run([BUILD / "xsp", "recover", self.folder / "session", "-o", self.out, "--force"], timeout=600,
                                capture_output=True)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        return result.stderr.decode()

    def sql(self, query):
        result = subprocess.run([BUILD / "xsp", "sql", self.out, query, "--json"], check=True, timeout=600,
                                stdout=subprocess.PIPE)
        return json.loads(result.stdout)

    def counts(self):
        rows = self.sql("select name, count(*) as n from span where tracer = 'functions' group by 1")
        return {row["name"]: row["n"] for row in rows}

    def info(self):
        result = subprocess.run([BUILD / "xsp", "info", self.out, "--json"], check=True, timeout=600, stdout=subprocess.PIPE)
        return json.loads(result.stdout)["experiments"][0]["runs"][0]

    def test_every_calling_convention(self):
        messages = self.trace(EVERYTHING, GUEST, "values", "5")
        self.assertIn("found 2 of 2", messages)
        counts = self.counts()
        vectors = ("sse", "chain") if MACHINE == "x86_64" else ()
        for name in (*vectors, "ints", "doubles", "mixed", "long_double", "wide", "complex_double", "complex_float",
                     "complex_long_double", "small", "pair", "points", "words", "big", "many", "modes",
                     "error", "tail"):
            self.assertEqual(counts["zoo_" + name], 200 if name == "ints" else 100, name)
        self.assertEqual(counts["zoo_variadic"], 200)
        # Before main, at exit, and a hundred times a hundred deep: more than the list of open spans has places.
        self.assertEqual(counts["zoo_deep"], 100 * 101 + 2 + 3)
        self.assertEqual(counts["zoo_deeper"], 100 * 100 + 1 + 2)
        info = self.info()
        self.assertEqual((info["open"], info["dropped"], info["misused"]), (0, 0, 0))
        rows = self.sql("select distinct level, kind, category, tracer from span")
        self.assertEqual(rows, [{"level": "library", "kind": "sync", "category": "function", "tracer": "functions"}])
        self.assertEqual(self.sql("select distinct value from tag where key = 'library'"), [{"value": "libzoo.so"}])
        # A function that ends in a call of another is left by a jump: the other is inside it.
        nested = self.sql("select count(*) as n from span s join span p on p.run_id = s.run_id and p.span_id = s.parent_id "
                          "where s.name = 'zoo_ints' and p.name = 'zoo_tail'")
        self.assertEqual(nested, [{"n": 100}])

    def test_signatures(self):
        self.trace("described(int a, double b, text c, long d, float e, uint f, pointer g, ulong h, long i, int j, double k,"
                   " long l) -> double\nhalf(float value) -> float\n", PROGRAMS / "described-guest")
        rows = self.sql("select span_id, name, key, value from span join tag using (run_id, span_id) "
                        "where key != 'library' order by start_ns")
        calls = {}
        for row in rows:
            calls.setdefault((row["span_id"], row["name"]), {})[row["key"]] = row["value"]
        first, second, third, half = calls.values()
        self.assertEqual(first, {"a": -1, "b": 0.5, "c": 'say "x"', "d": -2 ** 63, "e": -2.25, "f": 2 ** 32 - 1, "g": 16,
                                 "h": 7, "i": -8, "j": -9, "k": 1e300, "l": -10, "result": 1e300})
        others = {"a": 1, "b": 2, "c": "", "d": 3, "e": 4, "f": 5, "g": 0, "h": 6, "i": 7, "j": 8, "k": 9, "l": 10}
        self.assertEqual(second, {**others, "result": 55})
        self.assertEqual(third, {**others, "result": 56})
        self.assertEqual(half, {"value": 3, "result": 1.5})

    def test_too_small_a_stack_is_what_it_says(self):
        # The zoo's 1,280 bytes of argument do not arrive through 1,024: the comparison in the guest is no formality.
        self.list.write_text("zoo_many\n")
        result = subprocess.run([GUEST, "values"], timeout=600, capture_output=True, env=self.environment())
        self.assertEqual(result.returncode, 1)
        self.assertIn("many differs", result.stderr.decode())

    def test_slow_clock(self):
        self.trace(EVERYTHING, GUEST, "values", "3", XSP_CLOCK="monotonic")
        self.assertEqual(self.counts()["zoo_mixed"], 100)

    def test_a_hundred_threads(self):
        self.trace(EVERYTHING, GUEST, "threads", "100")
        self.assertEqual(self.counts()["zoo_mixed"], 100 * 100)
        info = self.info()
        self.assertEqual((info["open"], info["misused"], info["dropped"]), (0, 0, 0))

    def test_jumps_leave_spans_open(self):
        self.trace(EVERYTHING, GUEST, "jumps", "10")
        self.assertIn("jumped 10 times", self.printed)
        self.assertEqual(self.info()["open"], 10)
        self.assertEqual(self.counts()["zoo_deep"], 10 + 5)

    def test_many_jumps(self):
        self.trace(EVERYTHING, GUEST, "jumps", "1000")
        self.assertEqual(self.counts()["zoo_deep"], 1000 + 5)

    def test_threads_that_end_in_a_call(self):
        self.trace(EVERYTHING, GUEST, "ends", "20")
        self.assertIn("left with 210, cancelled 20", self.printed)
        self.assertEqual(self.counts()["zoo_call"], 40)
        self.assertEqual((self.info()["open"], self.info()["misused"]), (0, 0))

    def test_exceptions(self):
        self.trace("zoo_throw\n", THROWING)
        self.assertEqual(self.counts(), {"zoo_throw": 550})
        self.assertEqual((self.info()["open"], self.info()["misused"]), (0, 0))
        # Ten depths, each throw passing all calls above it: they end innermost first, and lie in each other.
        self.assertEqual(self.sql("select max(depth) as d from span"), [{"d": 9}])
        crossing = self.sql("select count(*) as n from span s join span p on p.run_id = s.run_id and "
                            "p.span_id = s.parent_id where s.start_ns < p.start_ns or s.end_ns > p.end_ns")
        self.assertEqual(crossing, [{"n": 0}])

    def test_throwing_machinery(self):
        # The functions that throw never return; calls of them are left open or ended by what they unwind.
        self.trace("zoo_throw\n__cxa_throw\n__cxa_begin_catch\n", THROWING)
        self.assertEqual(self.counts()["zoo_throw"], 550)

    def test_signal_handlers(self):
        self.trace(EVERYTHING, GUEST, "signals", "100")
        self.assertEqual((self.info()["open"], self.info()["misused"]), (0, 0))

    def test_stacks_that_end(self):
        self.trace(EVERYTHING, GUEST, "stacks", "256")
        self.assertEqual(self.counts()["zoo_ints"], 256)

    def test_forks(self):
        self.trace(EVERYTHING, GUEST, "forks", "20")
        self.assertEqual(self.counts()["zoo_deep"], 20 * 4 + 20 + 5)

    def test_libraries_that_come_and_go(self):
        copy = shutil.copy(PROGRAMS / "libzoo.so", self.folder / "libmoving.so")
        messages = self.trace("libmoving.so:zoo_deep as moved\n", GUEST, copy, "100")
        self.assertRegex(messages, "found 1 of 1, 1 functions?, called 1")  # the place in the table is taken again
        self.assertEqual(self.counts(), {"moved": 100})  # its calls of itself are bound to the libzoo.so that came first
        self.assertEqual(self.sql("select distinct value from tag where key = 'function'"), [{"value": "zoo_deep"}])

    def test_names_and_levels(self):
        messages = self.trace("# all of it\nlibzoo.so:zoo_tail as \"the tail\" level layer\nzoo_ints level kernel\nzoo_ints\n"
                          "no_such_function\nlibother.so:zoo_pair\nzoo_z*\n", GUEST, "values")
        self.assertIn("found 2 of 6, 2 functions, called 2; not found: zoo_ints, no_such_function, libother.so:zoo_pair, zoo_z*",
                      messages)
        rows = self.sql("select name, level, category, count(*) as n from span group by 1 order by 1")
        self.assertEqual([tuple(row.values()) for row in rows],
                         [("the tail", "layer", "function", 100), ("zoo_ints", "kernel", "kernel", 200)])

    def test_a_list_with_a_fault(self):
        messages = self.trace("zoo_ints\nzoo_tail level high\n", GUEST, "values")
        self.assertIn("functions.txt:2: high", messages)
        self.assertEqual(self.counts(), {})
        self.list.unlink()
        subprocess.run([GUEST, "values"], timeout=600, check=True, capture_output=True, env=self.environment())
        self.assertIn("list", self.recover())

    def test_half_of_it(self):
        # Without the loader's half the tracer says so; without a session the loader's half goes away again.
        messages = self.trace("zoo_ints\n", GUEST, "values", LD_AUDIT="")
        self.assertIn("no function", messages)
        environment = self.environment()
        del environment["XSP_SESSION"]
        result = subprocess.run([GUEST, "values"], timeout=600, env=environment, capture_output=True)
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    def test_levels_that_are_off(self):
        self.trace(EVERYTHING, GUEST, "values", XSP_LEVELS="M/L")
        self.assertEqual(self.counts(), {})

    def test_functions_of_the_c_library(self):
        # Chosen by the processor at load time, called by everything, called while a ring is made.
        self.trace("memcpy\nstrlen\nmalloc\nfree\nmmap\nopen\ngetpid\npthread_create\nsnprintf\n", GUEST, "threads", "10")
        self.assertEqual(self.counts()["pthread_create"], 10)
        self.assertIn("memcpy", self.counts())

    def test_functions_of_a_shell(self):
        self.trace("malloc\nread\nwrite\nfork\nexecve\nwaitpid\n", "/bin/sh", "-c", "echo $(echo a; seq 3 | sort -r)")

    def test_what_recording_itself_calls(self):
        # In a forked child each finish needs the slow path, which asks for errno: no span of that, or there is no end.
        self.trace("__errno_location\n*sigmask*\n*mem*cpy*\nmkdir\nopen*\n*link*\nmmap*\n", GUEST, "forks", "5")
        # Nor of what the child calls before its rings are its own: it would be in its parent's.
        self.assertEqual((self.info()["open"], self.info()["misused"]), (0, 0))
        self.trace("__errno_location\nmemcpy\n*sigmask*\n*exec*\n", "timeout", "600", "/bin/echo", "hello")

    def test_every_function_of_libc(self):
        names = subprocess.run(["nm", "-D", "--defined-only", f"/lib/{MACHINE}-linux-gnu/libc.so.6"], capture_output=True)
        if names.returncode != 0:
            self.skipTest("Debian's libc or nm is not here")
        beginnings = sorted({line.split()[-1][:3] for line in names.stdout.decode().splitlines()
                             if line.split()[-2] in "TWi" and len(line.split()[-1].split("@")[0]) >= 3})
        functions = "".join(f"libc.so.6:{beginning}*\n" for beginning in beginnings)
        python = "import threading\nfor _ in range(4):\n t = threading.Thread(target=print, args=('hi',)); t.start(); t.join()"
        for command in (["/bin/sh", "-c", "echo $(seq 300 | sort -r | head -3); ls / | wc -l; exec tr a b < /etc/passwd"],
                        ["/usr/bin/env", "timeout", "600", "python3", "-c", python], [THROWING], [GUEST, "ends", "5"],
                        [GUEST, "jumps", "100"], [GUEST, "signals", "20"], [GUEST, "stacks", "20"], [GUEST, "forks", "5"]):
            with self.subTest(command=command):
                messages = self.trace(functions, *command, XSP_FLIGHT_RECORDER="1")
                self.assertRegex(messages, r"found \d+ of \d+, 2\d\d\d functions")

    def run_xsp(self, *arguments, status=0):
        result = subprocess.run([BUILD / "xsp", "run", "-o", self.out, "--force", "--functions", self.list, *arguments],
                                timeout=600, capture_output=True)
        self.assertEqual(result.returncode, status, result.stderr.decode())
        return result.stdout.decode(), result.stderr.decode()

    def test_xsp_run(self):
        self.list.write_text("zoo_tail\nzoo_deep level kernel\nno_such_function\n")
        plain = subprocess.run([GUEST, "values"], timeout=600, check=True, capture_output=True)
        out, messages = self.run_xsp("--", GUEST, "values")
        self.assertEqual(out, plain.stdout.decode())
        self.assertIn("not found: no_such_function", messages)
        self.assertEqual(self.counts(), {"zoo_tail": 100, "zoo_deep": 10105})
        # At level sets without such functions the program gets nothing of this.
        self.run_xsp("--levels", "M/Lib", "--", GUEST, "values")
        self.assertEqual(self.counts()["zoo_tail"], 100)
        self.assertNotIn("zoo_deep", self.counts())
        _, messages = self.run_xsp("--levels", "M", "--", "/bin/sh", "-c", "echo \"[$LD_AUDIT$XSP_FUNCTIONS]\"")
        self.assertNotIn("zoo_tail", self.counts())

    def test_xsp_run_of_several_processes(self):
        self.list.write_text("zoo_tail\nzoo_throw\nno_such_function\n")
        _, messages = self.run_xsp("--", "/usr/bin/env", "python3", "-c",
                               f"import subprocess\nfor p in ['{GUEST}', '{THROWING}']: subprocess.run([p])")
        self.assertIn(": no_such_function", messages)
        self.assertEqual(self.counts()["zoo_throw"], 550)

    def test_xsp_run_refuses_a_list(self):
        for text, reported in (("a\nb c\n", f"{self.list}:2: 'c'"), ("a\na\n", ":2: 'a' .*line 1"),
                           ("getcontext\n", ":1: 'getcontext' .*twice"), ("", str(self.list))):
            self.list.write_text(text)
            out, messages = self.run_xsp("--", "/bin/echo", "started", status=125)
            self.assertEqual(out, "")
            self.assertRegex(messages, reported)
            self.assertEqual(messages.count("\n"), 1)
            self.assertFalse(self.out.exists())

    def test_xsp_run_with_the_tracer_by_name(self):
        self.list.write_text("zoo_tail\n")
        self.run_xsp("-t", "functions", "--", GUEST, "values")
        self.assertEqual(self.counts(), {"zoo_tail": 100})
        result = subprocess.run([BUILD / "xsp", "run", "-t", "functions", "-o", self.folder / "no.xsp", "--", "/bin/true"],
                                timeout=600, capture_output=True)
        self.assertEqual(result.returncode, 125)
        self.assertIn("--functions FILE", result.stderr.decode())

    def test_xsp_check(self):
        result = subprocess.run([BUILD / "xsp", "check", "functions", "--json"], timeout=600, capture_output=True)
        row = json.loads(result.stdout)
        row = row[0] if isinstance(row, list) else row
        self.assertTrue(row["usable"], row)
        self.assertIn("LD_AUDIT", row["library"])

    def test_numpy(self):
        python = os.environ.get("XSP_PYTHON", "python3")
        if subprocess.run([python, "-c", "import numpy"], timeout=600, capture_output=True).returncode != 0:
            self.skipTest("numpy is not installed")
        self.trace("*cblas_?gemm*\n", python, "-c", NUMPY)
        counts = self.counts()
        self.assertTrue(any("sgemm" in name for name in counts) and any("dgemm" in name for name in counts), counts)
        self.assertIn("openblas", self.sql("select distinct value from tag where key = 'library'")[0]["value"])


if __name__ == "__main__":
    unittest.main()
