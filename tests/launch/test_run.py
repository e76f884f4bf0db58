# SPDX-License-Identifier: Apache-2.0
"""xsp run: a program ends, prints and behaves as without xsp; the messages and files of xsp are right."""
import contextlib
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from run_guests import BUILD, DOCUMENTED, WAIT_S, XSP, all_cases, children, end_all, guest, read_line, sessions, wait_until


# Does not sleep: a signal that Python notes just before a system call would not end it.
UNTIL_INTERRUPTED = "print('ready')\nwhile True: pass"


class RunTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.file = self.folder / "out.xsp"

    def xsp(self, *arguments, check=0, **options):
        options = {"stdin": subprocess.DEVNULL, "cwd": self.folder, "timeout": WAIT_S, **options}
        result = subprocess.run([XSP, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                                **options)
        if check is not None:
            self.assertEqual(result.returncode, check, result.stderr.decode())
        return result

    def run_it(self, *arguments, **options):
        return self.xsp("run", "-o", self.file, *arguments, **options)

    def sql(self, query, file=None):
        return json.loads(self.xsp("sql", file or self.file, query, "--json").stdout)

    def program_span(self, file=None):
        spans = self.sql("select * from span where category = 'program'", file)
        self.assertEqual(len(spans), 1)
        return spans[0]

    def note(self, key):
        rows = self.sql(f"select value from note where key = '{key}'")
        return rows[0]["value"] if rows else None

    def start(self, *arguments, options=(), **more):
        process = subprocess.Popen([XSP, "run", "-o", self.file, *options, "--", *map(str, arguments)], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.addCleanup(end_all, process)
        return process


class Parts(RunTest):
    def test_a_missing_part_names_where_it_was_looked_for(self):
        alone = shutil.copy(XSP, self.folder / "xsp")
        (self.folder / "libxsp.so.0").symlink_to(BUILD / "libxsp.so.0")
        done = subprocess.run([alone, "profile", "net.onnx"], capture_output=True, text=True, timeout=WAIT_S)
        self.assertEqual(done.returncode, 3, done.stderr)
        for place in (str(self.folder.resolve()), "libexec/xsp"):
            self.assertIn(place, done.stderr)


class Guests(unittest.TestCase):
    def test_each_ends_as_without_xsp(self):
        with tempfile.TemporaryDirectory() as folder:
            for case in all_cases():
                with self.subTest(case.name):
                    self.assertIsNone(case.compare(folder))


# Mappings of files that may be read and are longer than their file: what reads there gets a SIGBUS.
MAPS = """
import os, re, sys
for line in open("/proc/self/maps"):
    start, end, allowed, offset, path = re.match(r"(\\w+)-(\\w+) (\\S+) (\\w+) \\S+ \\d+ *(.*)", line).groups()
    if allowed[0] == "r" and path.startswith("/") and os.path.exists(path):
        size = (os.stat(path).st_size + 4095) // 4096 * 4096
        if int(offset, 16) + int(end, 16) - int(start, 16) > size:
            print(line)
print("libxsp" in open("/proc/self/maps").read())
"""


class What(RunTest):
    def test_all_memory_that_can_be_read_is_there(self):
        """valgrind and other checkers read all of a program's memory."""
        result = self.run_it("--", sys.executable, "-c", MAPS)
        self.assertEqual(result.stdout, b"True\n")

    def test_the_program_is_a_span_around_its_own(self):
        result = self.run_it("--", *guest("run-guest-traced", "fork"), check=3)
        self.assertEqual(result.stdout, b"0\n1\n2\n3\n4\n")
        program = self.program_span()
        self.assertEqual((program["name"], program["level"], program["kind"], program["tracer"]),
                         ("run-guest-traced", "application", "sync", "xsp"))
        own = self.sql("select count(*) as n, sum(parent_id = (select span_id from span where category = 'program')) as "
                       f"inside from span where name = 'work' and track_id = {program['track_id']}")
        self.assertEqual(own, [{"n": 100, "inside": 100}])
        self.assertEqual(self.sql("select count(*) as n from span where name = 'work'"), [{"n": 600}])  # and 5 children
        self.assertEqual(self.note("processes"), "6")
        self.assertEqual(self.sql("select dropped_count from run"), [{"dropped_count": 0}])

    def test_its_own_share_is_never_nothing(self):
        """Also if nothing was drained before the end."""
        self.run_it("--", "true")
        self.assertGreater(self.sql("select own_pct from run")[0]["own_pct"], 0)

    def test_a_script_is_named(self):
        script = self.folder / "train.py"
        script.write_text("print('trained')\n", encoding="utf-8")
        result = self.run_it("--", sys.executable, "-B", "train.py", "--epochs", "3")
        self.assertEqual(result.stdout, b"trained\n")
        name = f"{pathlib.Path(sys.executable).name} train.py"
        self.assertEqual(self.program_span()["name"], name)
        self.assertEqual(self.sql("select name from experiment"), [{"name": name}])

    def test_a_program_that_cannot_join(self):
        result = self.run_it("--", *guest("run-guest-static", "exit", "3"), check=3)
        self.assertEqual(result.stdout, b"")
        self.assertIn("statically linked", self.note("tracers"))
        self.assertEqual(self.program_span()["name"], "run-guest-static")

    def test_levels(self):
        self.run_it("--levels", "M", "--", *guest("run-guest-traced", "exit", "0"))
        self.assertEqual(self.sql("select levels from run"), [{"levels": "M"}])
        self.assertEqual(self.sql("select count(*) as n from span where name = 'work'"), [{"n": 0}])

    def test_levels_that_nobody_named(self):
        """The run has the levels that a tracer served; an analysis reports the others as not recorded."""
        next_steps = self.run_it("--", *guest("run-guest-traced", "exit", "0")).stderr.decode().split("next:")[1]
        self.assertIn(".pftrace ", next_steps)
        self.assertNotIn(".xsp.pftrace", next_steps)
        self.assertIn(f"xsp report {self.file} ", next_steps)
        found = self.sql("select distinct level from span")
        self.assertEqual([row["level"] for row in found], ["application"])
        self.assertEqual(self.sql("select levels from run"), [{"levels": "A/M"}])
        self.assertIn(b"kernel level", self.xsp("analyze", "A8", self.file, check=1).stderr)
        self.xsp("analyze", "A1", self.file)
        self.run_it("-f", "--levels", "A/M/K", "--", *guest("run-guest-traced", "exit", "0"))
        self.assertEqual(self.sql("select levels from run"), [{"levels": "A/M/K"}])

    def test_delay(self):
        """The guest publishes at once, then waits: nothing of it is after the delay."""
        result = self.run_it("--delay", "3600", "--", *guest("run-guest-traced", "exit", "0"))
        self.assertIn(b"--delay", result.stderr)
        self.assertEqual(self.sql("select count(*) as n from span where name = 'work'"), [{"n": 0}])
        self.program_span()

    def test_delay_switches_on(self):
        """The guest publishes 100 spans before it is ready, and for each signal."""
        process, levels = self.start_switched("--delay", "0.2")
        was_on = levels() != 0  # on a busy machine the delay may have ended between any two of the first 100
        wait_until(lambda: levels() != 0, "nothing is switched on")
        published = self.published_after(process)
        self.assertTrue(200 <= published <= (300 if was_on else 200), published)

    def test_duration_switches_off(self):
        process, levels = self.start_switched("--duration", "0.2")
        was_on = levels() != 0
        wait_until(lambda: levels() == 0, "nothing is switched off")
        published = self.published_after(process)
        self.assertEqual(published, 100) if was_on else self.assertLessEqual(published, 100)

    def start_switched(self, *options):
        process = self.start(*guest("run-guest-traced", "signals"), options=["-q", *options], process_group=0)
        self.assertEqual(read_line(process), b"ready\n")
        return process, self.switch_word(process.pid)

    def published_after(self, process):
        """All spans of the guest, after two signals more."""
        os.kill(process.pid, signal.SIGUSR1)
        self.assertEqual(read_line(process), b"got 10\n")
        os.kill(process.pid, signal.SIGUSR2)
        process.communicate(timeout=WAIT_S)
        self.assertEqual(process.returncode, 7)
        return self.sql("select count(*) as n from span where name = 'work'")[0]["n"]

    @staticmethod
    def switch_word(collector):
        """The first tracer's levels, in the control page of the session's head."""
        folder = sessions(collector)[0]

        def levels():
            with open(folder / "session", "rb") as file:
                file.seek(4096)
                return int.from_bytes(file.read(4), "little")
        return levels

    def test_flight_recorder_keeps_the_last(self):
        self.run_it("--flight-recorder", "64K", "--", *guest("run-guest-traced", "flood", "100000"))
        last = self.sql("select count(*) as n, max(t.value) as last from span s join tag t using (run_id, span_id) "
                        "where s.name = 'flood' and t.key = 'i'")[0]
        self.assertEqual(last["last"], 99999)
        self.assertTrue(500 <= last["n"] <= 1024, last)
        self.assertIn("overwritten", self.note("tracers"))
        self.assertEqual(self.sql("select dropped_count from run"), [{"dropped_count": 0}])

    def test_a_burst_is_kept(self):
        """As fast as the program can: the ring grows, whatever xsp comes to meanwhile."""
        self.run_it("-q", "--", *guest("run-guest-traced", "flood", "1000000"))
        got = self.sql("select count(*) as n, count(distinct span_id) as ids from span where name = 'flood'")[0]
        self.assertEqual(got, {"n": 1000000, "ids": 1000000})
        self.assertEqual(self.sql("select dropped_count from run"), [{"dropped_count": 0}])

    def test_what_is_dropped_is_counted(self):
        """More than the memory that records may take: here or counted, and none of them twice."""
        result = self.run_it("--memory-limit", "1M", "--", *guest("run-guest-traced", "flood", "1000000"))
        got = self.sql("select count(*) as n, count(distinct span_id) as ids from span where name = 'flood'")[0]
        dropped = self.sql("select dropped_count from run")[0]["dropped_count"]
        self.assertEqual(got["n"], got["ids"])
        self.assertGreater(got["n"], 1000)
        self.assertGreaterEqual(got["n"] + dropped, 1000000)  # each has a tag, which may be dropped, too
        self.assertLessEqual(got["n"] + dropped, 2000000)
        self.assertIn(b"--memory-limit", result.stderr)

    def test_spans_are_drained_while_the_program_runs(self):
        process = self.start(*guest("run-guest-traced", "signals"), options=["-q"], process_group=0)
        self.assertEqual(read_line(process), b"ready\n")
        published = "select count(*) as n from span where name = 'work'"

        def are_drained():
            """A question that a drain cuts short is refused: xsp says to ask again."""
            asked = self.xsp("sql", f"{self.file}.partial", published, "--json", check=None)
            return asked.returncode == 0 and json.loads(asked.stdout) == [{"n": 100}]
        wait_until(are_drained, "nothing is drained")
        os.kill(process.pid, signal.SIGUSR2)
        process.communicate(timeout=WAIT_S)
        self.assertEqual(self.sql(published), [{"n": 200}])

    def test_a_program_that_a_left_one_starts_makes_no_session(self):
        go, done = self.folder / "go", self.folder / "done"
        os.mkfifo(go)
        script = f"(read _ < {go}; {guest('attach-guest')[0]} < /dev/null; echo \"$XSP_SESSION\" > {done}) > /dev/null 2>&1 &"
        os.mkfifo(done)
        self.run_it("-q", "--", "sh", "-c", script)
        go.write_text("\n")
        session = done.read_text().strip()
        self.assertIn("/xsp-", session)
        self.assertFalse(pathlib.Path(session).exists())

    def test_processes_that_are_left(self):
        done = self.folder / "done"
        process = self.start(*guest("run-guest-traced", "outlive", self.folder / "go", done), options=["-q"])
        process.communicate(timeout=WAIT_S)
        self.assertEqual(process.returncode, 8)
        self.assertEqual(self.note("left_running"), "1")
        self.assertEqual(self.sql("select count(*) as n from span where name = 'late'"), [{"n": 0}])
        self.assertEqual(sessions(process.pid), [])
        (self.folder / "go").touch()
        wait_until(done.exists, "it does not go on")  # without its session

    def test_one_that_was_only_forked_is_left(self):
        """It has the session from its parent and no span of its own."""
        script = (f"import ctypes, os, time\nctypes.CDLL({str(BUILD / 'libxsp.so.0')!r})\nhere = os.getcwd()\nif os.fork() == 0:\n"
                  "    os.close(1)\n    os.close(2)\n    while os.path.exists(here) and not os.path.exists('go'):\n        time.sleep(0.01)\n"
                  "    open('done', 'w').close()\n    os._exit(0)")
        self.run_it("-q", "--", sys.executable, "-c", script)
        self.assertEqual(self.note("left_running"), "1")
        (self.folder / "go").touch()
        wait_until((self.folder / "done").exists, "it does not go on")

    def test_the_terminal_hangs_up(self):
        """xsp leads the terminal's session: the kernel sends the signal to xsp alone."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execv(XSP, [XSP, "run", "-q", "-o", str(self.file), "--", "sleep", "1000"])
        wait_until(lambda: "sleep" in children(pid).values(), "the program does not start")
        program = next(number for number, name in children(pid).items() if name == "sleep")
        os.close(terminal)
        status = os.waitpid(pid, 0)[1]
        self.assertEqual(os.waitstatus_to_exitcode(status), 128 + signal.SIGHUP)
        self.assertFalse(pathlib.Path(f"/proc/{program}").exists())
        self.program_span()

    def test_wait_for_one_that_never_joins(self):
        """A forked worker joins the session with its first span; this one publishes nothing."""
        self.run_it("--wait", "all", "--", sys.executable, "-c", "import os, time\nif os.fork() == 0:\n    os.close(1)\n"
                    "    os.close(2)\n    time.sleep(0.5)\n    open('done', 'w').close()\n    os._exit(0)")
        self.assertTrue((self.folder / "done").exists())

    def test_wait_for_one_that_was_forked_last(self):
        """The program has ended before the process that it forked could join the session."""
        for _ in range(8):
            self.run_it("-q", "-f", "--wait", "all", "--", "sh", "-c", "(sleep 0.2; true) & exit 3", check=3)
            self.assertIsNone(self.note("left_running"))

    def test_wait_for_all(self):
        done = self.folder / "done"
        process = self.start(*guest("run-guest-traced", "outlive", self.folder / "go", done),
                             options=["-q", "--wait", "all"], start_new_session=True)
        self.assertEqual(read_line(process), b"joined\n")
        # stdout is the daemon's, too: the program has ended when /proc says so.
        wait_until(lambda: "run-guest-trace" not in children(process.pid).values(), "the program does not end")
        self.assertIsNone(process.poll())
        (self.folder / "go").touch()
        process.communicate(timeout=WAIT_S)
        self.assertEqual(process.returncode, 8)
        self.assertTrue(done.exists())
        self.assertIsNone(self.note("left_running"))
        self.assertEqual(self.sql("select count(*) as n from span where name = 'late'"), [{"n": 100}])

    def test_the_users_own_libraries_stay(self):
        own = BUILD / "test-programs" / "test-plugin.so"
        if not own.exists():
            own = next(iter(sorted((BUILD / "test-programs").glob("*test-plugin*.so"))), None)
        if own is None:
            self.skipTest("no library to preload")
        result = self.run_it("--", "sh", "-c", "echo $LD_PRELOAD", env={**os.environ, "LD_PRELOAD": str(own)})
        first, *rest = result.stdout.decode().strip().split(":")
        self.assertRegex(first, r"/libxsp\.so[.0-9]*$")
        self.assertEqual(rest[-1], str(own))

    def test_inside_another_xsp_run(self):
        inner = self.folder / "inner.xsp"
        self.run_it("-q", "--", XSP, "run", "-q", "-o", inner, "--", *guest("run-guest-traced", "exit", "6"), check=6)
        self.assertEqual(self.sql("select count(*) as n from span where name = 'work'", inner), [{"n": 100}])
        self.assertEqual(self.sql("select count(*) as n from span where name = 'work'"), [{"n": 0}])
        self.assertEqual(self.program_span()["name"], "xsp")


class Environment(RunTest):
    """The table of docs/internals/launch.md."""
    TRACERS = BUILD / "tracers"

    def variables(self, *options, **more):
        environment = {**{key: value for key, value in os.environ.items() if key not in DOCUMENTED}, **more}
        result = self.run_it("-q", "-f", *options, "--", "env", "-0", env=environment)
        found = dict(entry.split("=", 1) for entry in result.stdout.decode().split("\0") if entry)
        return {key: value for key, value in found.items() if environment.get(key) != value}

    def has(self, *names):
        for name in names:
            if not (self.TRACERS / f"{name}.so").exists():
                self.skipTest(f"this build has no {name}.so")

    def test_without_a_tracer_that_has_a_variable(self):
        found = self.variables("-t", "fake")
        self.assertEqual(set(found), {"XSP_SESSION", "XSP_SESSION_JOIN", "XSP_TRACERS", "LD_PRELOAD"})
        self.assertEqual(found["XSP_TRACERS"], str(self.TRACERS / "fake.so"))
        self.assertRegex(found["LD_PRELOAD"], r"^/.*/libxsp\.so[.0-9]*$")
        self.assertRegex(found["XSP_SESSION"], r"^/.*/xsp-[0-9]+-[0-9a-f]+$")

    def test_options_of_a_tracer(self):
        found = self.variables("-t", "fake:script=/a/b:c=d", "-t", f"{self.TRACERS}/fake.so")
        self.assertEqual(found["XSP_TRACERS"], f"{self.TRACERS}/fake.so:script=/a/b:c=d")

    def test_auto(self):
        self.has("nvtx", "itt", "opencl", "onnxruntime", "frameworks")
        found = self.variables(OPENCL_LAYERS="/mine.so", LD_PRELOAD="/nothing.so")
        self.assertEqual(found["XSP_TRACERS"],
                         ",".join(f"@{self.TRACERS}/{name}.so" for name in ("cpu", "cuda", "itt", "jax", "levelzero", "mpi", "mxnet", "nvtx", "onnxruntime",
                                                              "opencl", "pytorch", "rocm", "tensorflow")))
        self.assertEqual(found["NVTX_INJECTION64_PATH"], str(self.TRACERS / "nvtx.so"))
        self.assertEqual(found["CUDA_INJECTION64_PATH"], str(self.TRACERS / "cuda.so"))
        self.assertEqual(found["ROCP_TOOL_LIBRARIES"], f"{self.TRACERS / 'rocm.so'}:")
        self.assertEqual(found["INTEL_LIBITTNOTIFY64"], str(self.TRACERS / "itt.so"))
        self.assertEqual(found["OPENCL_LAYERS"], f"{self.TRACERS / 'opencl.so'}:/mine.so")
        libraries = found["LD_PRELOAD"].split(":")
        self.assertEqual(libraries[1:], [str(self.TRACERS / "frameworks.so"), str(self.TRACERS / "cpu.so"), "/nothing.so"])
        self.assertEqual((found["XSP_CPU_RATE"], found["XSP_CPU_MODE"]), ("99", "real"))
        self.assertEqual(found["OPENCV_TRACE_DEPTH_OPENCV"], "0")
        self.assertLessEqual(set(found), DOCUMENTED)

    def test_the_users_own_value_of_a_framework_stays(self):
        self.has("itt")
        self.assertNotIn("OPENCV_TRACE_DEPTH_OPENCV", self.variables("-t", "itt", OPENCV_TRACE_DEPTH_OPENCV="7"))
        self.assertIn("CUDA_INJECTION64_PATH", self.variables("-t", "cuda"))
        self.assertNotIn("CUDA_INJECTION64_PATH", self.variables("-t", "cuda", CUDA_INJECTION64_PATH="/other.so"))

    def test_a_list_that_ends(self):
        """rocprofiler-sdk leaves out what no ':' follows: the user's own tools have one then."""
        own = f"{self.TRACERS / 'rocm.so'}:"
        for before, after in (("/mine.so", own + "/mine.so:"), ("/a.so:/b.so:", own + "/a.so:/b.so:"), ("", own), (own, own)):
            self.assertEqual(self.variables("-t", "rocm", ROCP_TOOL_LIBRARIES=before).get("ROCP_TOOL_LIBRARIES", before), after)

    def tracers(self, *options):
        listed = self.variables(*options).get("XSP_TRACERS", "")
        return {pathlib.Path(path.lstrip("@")).stem for path in listed.split(",") if path}

    FRAMEWORKS = ("jax", "mxnet", "onnxruntime", "pytorch", "tensorflow")  # whose tracers record models

    def test_levels_choose(self):
        """A program gets only tracers that record at its level set."""
        self.has("nvtx", "itt", "opencl", "onnxruntime")
        self.assertEqual(self.tracers("--levels", "M"), {*self.FRAMEWORKS, "cpu"})
        self.assertEqual(self.tracers("--levels", "M/L"), {*self.FRAMEWORKS, "cpu", "nvtx", "itt", "rocm"})
        self.assertEqual(self.tracers("--levels", "M/K"), {*self.FRAMEWORKS, "cpu", "cuda", "levelzero", "opencl", "rocm"})
        self.assertEqual(self.tracers("--levels", "A"), {"cpu", "jax", "nvtx", "itt", "onnxruntime", "pytorch", "rocm", "tensorflow"})
        self.assertEqual(self.tracers("--levels", "M", "--model-range", "step*"), {*self.FRAMEWORKS, "cpu", "nvtx", "itt", "rocm"})
        self.assertEqual(self.tracers("--levels", "K", "--capture-range", "step*"), {"cpu", "cuda", "levelzero", "opencl", "rocm", "nvtx", "itt"})
        self.assertEqual(self.tracers("--levels", "M", "-t", "opencl"), set())
        self.assertNotIn("OPENCL_LAYERS", self.variables("--levels", "M", "-t", "opencl"))
        self.assertNotIn("OPENCV_TRACE_DEPTH_OPENCV", self.variables("--levels", "M", "--model-range", "x", "-t", "itt"))

    def test_sampling(self):
        """On in one execution, off where level sets are compared, and by name."""
        self.assertIn("cpu", self.tracers())
        self.assertNotIn("cpu", self.tracers("--sample-rate", "0"))
        self.assertNotIn("XSP_CPU_RATE", self.variables("--sample-rate", "0", XSP_CPU_RATE="7"))  # an outer xsp run's
        self.assertEqual(self.tracers("-t", "cpu"), {"cpu"})
        found = self.variables("--sample-rate", "250", "--sample-mode", "cpu")
        self.assertEqual((found["XSP_CPU_RATE"], found["XSP_CPU_MODE"]), ("250", "cpu"))

    def test_ranges(self):
        found = self.variables("-t", "fake", "--model-range", "step *", "--capture-range", "a,b")
        self.assertEqual((found["XSP_MODEL_RANGE"], found["XSP_CAPTURE_RANGE"]), ("step *", "a,b"))
        # What an outer xsp run, or a user, set means another session.
        found = self.variables("-t", "fake", XSP_MODEL_RANGE="old", XSP_SERIALIZE="1")
        self.assertNotIn("XSP_MODEL_RANGE", found)
        result = self.run_it("-q", "-f", "-t", "fake", "--", "env", env={**os.environ, "XSP_SERIALIZE": "1"})
        self.assertNotIn(b"XSP_SERIALIZE", result.stdout)

    def test_call_paths(self):
        notes = "select value from note where key = 'call_paths'"
        self.assertNotIn("XSP_CALL_PATHS", self.variables("-t", "fake", XSP_CALL_PATHS="full"))  # an outer xsp run's
        self.assertEqual(self.sql(notes), [])
        for mode in ("light", "full", "none"):
            self.assertEqual(self.variables("-t", "fake", "--call-paths", mode)["XSP_CALL_PATHS"], mode)
            self.assertEqual(self.sql(notes), [{"value": mode}])
        result = self.run_it("--call-paths", "most", "--", "true", check=125)
        self.assertIn(b"--call-paths", result.stderr)

    def test_shapes(self):
        self.assertNotIn("XSP_SHAPES", self.variables("-t", "fake", XSP_SHAPES="1"))
        self.assertEqual(self.variables("-t", "fake", "--shapes")["XSP_SHAPES"], "1")

    def test_functions(self):
        self.has("functions_audit")
        (self.folder / "list").write_text("cos\n", encoding="utf-8")
        found = self.variables("-t", "fake", "--functions", "list")
        self.assertEqual((found["LD_AUDIT"], found["XSP_FUNCTIONS"]),
                         (str(self.TRACERS / "functions_audit.so"), str(self.folder.resolve() / "list")))


class Names(RunTest):
    def test_default(self):
        self.xsp("run", "-q", "--", "true")
        self.assertTrue((self.folder / "true.xsp").exists())
        (self.folder / "work.py").write_text("pass\n", encoding="utf-8")
        self.xsp("run", "-q", "--", sys.executable, "-B", "work.py", "a.txt")
        self.assertTrue((self.folder / "work.xsp").exists())
        self.xsp("run", "-q", "--", "/usr/bin/env", "true")
        self.assertTrue((self.folder / "env.xsp").exists())

    def test_patterns(self):
        self.xsp("run", "-q", "-o", "a%%%h-%q{RANK}.xsp", "--", "true", env={**os.environ, "RANK": "3"})
        self.assertTrue((self.folder / f"a%{socket.gethostname()}-3.xsp").exists())
        self.xsp("run", "-q", "-o", "p%p.xsp", "--", "true")
        self.assertRegex(str(list(self.folder.glob("p*.xsp"))[0].name), r"^p[0-9]+\.xsp$")

    def test_ranks_at_once(self):
        ranks = [subprocess.Popen([XSP, "run", "-q", "-o", "r%q{RANK}.xsp", "--", *guest("run-guest-traced", "exit", rank)],
                                  cwd=self.folder, env={**os.environ, "RANK": str(rank)}) for rank in range(4)]
        self.assertEqual([rank.wait(WAIT_S) for rank in ranks], [0, 1, 2, 3])
        for rank in range(4):
            self.assertEqual(self.sql("select count(*) as n from span where name = 'work'", self.folder / f"r{rank}.xsp"),
                             [{"n": 100}])

    def test_ranks_into_one_file(self):
        """Only one can have it; the others do not start their program, and say so."""
        go = self.folder / "go"
        first = self.start("sh", "-c", f"while [ ! -e {go} ]; do :; done; echo first")
        wait_until(lambda: sessions(first.pid) != [], "it does not start")
        for _ in range(3):
            result = self.run_it("--", "echo", "another", check=3)
            self.assertEqual(result.stdout, b"")
            self.assertIn(b"writing", result.stderr)
        go.touch()
        self.assertEqual(first.communicate(timeout=WAIT_S)[0], b"first\n")
        self.assertEqual(first.returncode, 0)
        self.program_span()


class WrongUse(RunTest):
    def refuses(self, *arguments, mentions, **options):
        result = self.xsp("run", *arguments, check=125, **options)
        self.assertEqual(result.stdout, b"")
        error = result.stderr.decode()
        self.assertRegex(error, r"^xsp: [^\n]+\n$")
        self.assertIn(mentions, error)

    def test_wrong_use(self):
        echo = ["--", "echo", "it runs"]
        self.refuses("--sample-rate", "1001", *echo, mentions="1000")
        self.refuses("--sample-mode", "wall", *echo, mentions="cpu")
        self.refuses(mentions="missing")
        self.refuses("-o", "x.xsp", mentions="missing")
        self.refuses("--no-such", *echo, mentions="xsp help run")
        self.refuses("-t", "nvtxx,fake", *echo, mentions="nvtxx")
        self.refuses("-t", "fake,,fake", *echo, mentions="empty")
        self.refuses("-t", "functions_audit", *echo, mentions="functions_audit")
        self.refuses("-t", "/no/such/file.so", *echo, mentions="/no/such/file.so")
        self.refuses("--levels", "M,X", *echo, mentions="'X'")
        self.refuses("--levels", "M,M", *echo, mentions="twice")
        self.refuses("--levels", "M/L+metrics", *echo, mentions="metrics are those of kernels")
        self.refuses("--levels", "M/L/K+metrics", "-t", "nvtx,fake", *echo, mentions="no tracer for hardware metrics")
        self.refuses("--cuda", "metrics=xsp", "-t", "nvtx", *echo, mentions="no tracer for hardware metrics")
        self.refuses("--cuda", "metrics=xsp", "--levels", "M,M/L", *echo, mentions="a level set with K")
        self.refuses("--levels", "M/L/K+metrics", "--aggregate", *echo, mentions="--aggregate")
        self.refuses("--levels", "M/L/K+metrics", "--pid", "1", mentions="--pid")
        self.refuses("--cuda", "metrics=a b", *echo, mentions="'metrics=a b'")
        self.refuses("--runs", "0", *echo, mentions="--runs=0")
        self.refuses("--delay", "-1", *echo, mentions="--delay=-1")
        self.refuses("--delay", "1", "--capture-range", "x", *echo, mentions="--capture-range")
        self.refuses("--model-range", "", *echo, mentions="--model-range")
        self.refuses("--flight-recorder", "7", *echo, mentions="'7'")
        self.refuses("--flight-recorder", "1T", *echo, mentions="'1T'")
        self.refuses("--wait", "me", *echo, mentions="--wait=me")
        self.refuses("--functions", "/no/such/list", *echo, mentions="/no/such/list")
        self.refuses("-o", "%q{NO_SUCH_VARIABLE}.xsp", *echo, mentions="no NO_SUCH_VARIABLE")
        self.refuses("-o", "%q{}.xsp", *echo, mentions="%q{NAME}")
        self.refuses("-o", "%n.xsp", *echo, mentions="%%")
        self.refuses("-o", "100%", *echo, mentions="%%")
        self.refuses("-o", "", *echo, mentions="empty")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_nearest_tracer(self):
        self.refuses("-t", "fke", "--", "true", mentions="-t fake")

    def test_an_existing_file(self):
        self.file.write_text("precious", encoding="utf-8")
        self.refuses("-o", self.file, "--", "touch", "ran", mentions="--force")
        self.assertEqual(self.file.read_text(encoding="utf-8"), "precious")
        self.assertFalse((self.folder / "ran").exists())
        self.xsp("run", "-q", "-f", "-o", self.file, "--", "true")
        self.program_span()

    def test_a_file_that_appears_meanwhile(self):
        make = ("sh", "-c", f"echo precious > '{self.file}'")
        result = self.run_it("--", *make, check=3)
        partial = pathlib.Path(f"{self.file}.partial")
        self.assertIn(str(partial), result.stderr.decode())
        self.assertEqual(self.file.read_text(encoding="utf-8"), "precious\n")
        self.program_span(partial)
        partial.unlink()
        self.run_it("-f", "--", *make)
        self.program_span()

    def test_options_of_the_program_are_its_own(self):
        self.assertEqual(self.xsp("run", "-q", "echo", "-q", "--levels", "--").stdout, b"-q --levels --\n")
        self.assertEqual(self.xsp("run", "-q", "-f", "--", "echo", "--", "-f").stdout, b"-- -f\n")

    def test_cannot_be_started(self):
        with tempfile.TemporaryDirectory() as elsewhere:
            script = pathlib.Path(elsewhere) / "script"
            script.write_text("#!/no/such/interpreter\n", encoding="utf-8")
            script.chmod(0o755)
            self.cannot_start(str(script), "No such file", "the interpreter")
        self.cannot_start("nosuchprogram", "No such file", "PATH")
        self.cannot_start("/no/such/program", "No such file", "another path")
        self.cannot_start("/etc/passwd", "Permission denied", "chmod")
        self.cannot_start(str(self.folder), "Permission denied", "a folder")
        self.cannot_start("", "'': No such file", "its path")
        self.assertEqual(list(self.folder.iterdir()), [])

    def cannot_start(self, command, why, advice):
        result = self.run_it("--", command, check=127)
        self.assertRegex(result.stderr.decode(), f"^xsp: [^\n]+{why}[^\n]*; try: [^\n]*{advice}[^\n]*\n$")
        self.assertEqual(result.stdout, b"")
        self.assertFalse(self.file.exists())

    def test_output_that_cannot_be_written(self):
        result = self.xsp("run", "-o", "/no/such/folder/x.xsp", "--", "touch", "ran", check=3)
        self.assertIn(b"/no/such/folder", result.stderr)
        self.assertFalse((self.folder / "ran").exists())


class Ends(RunTest):
    def test_interrupted_from_the_terminal(self):
        process = self.start(sys.executable, "-uc", UNTIL_INTERRUPTED, process_group=0)
        self.assertEqual(read_line(process), b"ready\n")
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=WAIT_S)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn(b"KeyboardInterrupt", errors)
        self.program_span()

    def test_told_to_end_again_and_again(self):
        """After a second Ctrl-C the file is still written completely."""
        process = self.start(sys.executable, "-uc", UNTIL_INTERRUPTED, process_group=0)
        self.assertEqual(read_line(process), b"ready\n")
        os.killpg(process.pid, signal.SIGINT)
        sent = 1
        while process.poll() is None:
            os.kill(process.pid, (signal.SIGINT, signal.SIGTERM)[sent % 2])
            sent += 1
        process.communicate(timeout=WAIT_S)
        self.assertIn(process.returncode, (-signal.SIGINT, 128 + signal.SIGTERM))  # the program had some of them
        self.program_span()

    def test_xsp_is_killed(self):
        """The program goes on and ends as ever; what it published before and after is recovered."""
        process = self.start(*guest("run-guest-traced", "signals"), process_group=0)
        self.assertEqual(read_line(process), b"ready\n")
        folder, helpers = sessions(process.pid)[0], children(process.pid)
        program = next(child for child, name in helpers.items() if name == "run-guest-trace")
        self.addCleanup(self.end_by, os.pidfd_open(program))
        del helpers[program]
        process.send_signal(signal.SIGKILL)
        process.wait(WAIT_S)
        os.kill(program, signal.SIGTERM)
        self.assertEqual(read_line(process), b"got 15\n")
        os.kill(program, signal.SIGUSR2)
        output, errors = process.communicate(timeout=WAIT_S)  # both ends are closed when the program has ended
        self.assertIn(b"15: 1\n", output)
        self.assertEqual(errors, b"")
        wait_until(lambda: not any(pathlib.Path(f"/proc/{helper}").exists() for helper in helpers), "helpers are left")
        self.assertFalse(self.file.exists())
        self.xsp("recover", folder)
        self.assertEqual(self.sql("select count(*) as n from span where name = 'work'"), [{"n": 300}])
        self.assertFalse(folder.exists())

    @staticmethod
    def end_by(handle):
        """Of a program without its xsp: its number may be another's by now."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)

    def test_the_disk_is_full_in_the_end(self):
        """The program fills it. A program's status other than 0 wins; the rings stay for xsp recover."""
        if os.geteuid() != 0 or shutil.which("unshare") is None:
            self.skipTest("needs mounts of its own")
        work = f"cat /dev/zero > {self.folder}/all 2> /dev/null; exec {' '.join(guest('run-guest-traced', 'flood', '10000'))}"
        script = (f"mount -t tmpfs -o size=1m none {self.folder} || exit 99; "
                  f"{XSP} run -q -o {self.folder}/x.xsp -- sh -c '{work}'")
        result = subprocess.run(["unshare", "-m", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, timeout=WAIT_S, check=False)
        if result.returncode == 99 or result.stderr.startswith(b"unshare: "):
            self.skipTest("no mounts of its own here")
        error = result.stderr.decode()
        self.assertEqual(result.returncode, 3, error)
        session = re.search(r"xsp recover (\S+)", error).group(1)
        self.xsp("recover", session, "-o", self.file)
        self.assertEqual(self.sql("select count(*) as n from span where name = 'flood'"), [{"n": 10000}])

    def test_shared_memory_is_small_or_closed(self):
        if os.geteuid() != 0 or shutil.which("unshare") is None:
            self.skipTest("needs mounts of its own")
        for options in ("size=2m", "size=16k", "ro"):
            script = (f"mount -t tmpfs -o {options} none /dev/shm || exit 99; exec {XSP} run -q -f -o {self.file} -- "
                      f"{' '.join(guest('run-guest-traced', 'fork'))}")
            result = subprocess.run(["unshare", "-m", "sh", "-c", script], stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=WAIT_S, check=False)
            if result.returncode == 99 or result.stderr.startswith(b"unshare: "):
                self.skipTest("no mounts of its own here")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (3, b"0\n1\n2\n3\n4\n", b""), options)
            self.assertEqual(self.sql("select count(*) as n from span where name = 'work'"), [{"n": 600}])


class Terminal(RunTest):
    """A shell with job control on a terminal of its own, with typed input."""

    def setUp(self):
        super().setUp()
        if shutil.which("bash") is None:
            self.skipTest("needs bash")
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self.folder)
            os.environ["PS1"] = "$ "
            os.environ.pop("PROMPT_COMMAND", None)
            os.execlp("bash", "bash", "--norc", "--noediting", "-i")
        self.unread = self.seen = ""
        self.addCleanup(self.leave)
        self.type("set -b; PS1='pro''mpt> '\n", "prompt> ")

    def leave(self):
        os.kill(self.pid, signal.SIGHUP)
        os.close(self.terminal)
        os.waitpid(self.pid, 0)

    def type(self, text, *answers):
        """Types, and reads until the answers came, in this order. What follows them is read the next time."""
        os.write(self.terminal, text.encode())
        for answer in answers:
            while answer not in self.unread:
                ready, _, _ = select.select([self.terminal], [], [], WAIT_S)
                self.assertTrue(ready, f"{answer!r} does not come after {text!r}: {self.unread!r}")
                read = os.read(self.terminal, 4096).decode(errors="replace")
                self.unread += read
                self.seen += read
            self.unread = self.unread.partition(answer)[2]

    def begin(self, *command):
        return f"{XSP} run -q -f -o {self.file} -- {' '.join(command)}\n"

    def test_a_program_that_talks(self):
        self.type(self.begin(*guest("run-guest", "terminal")), "111 foreground 1")
        self.type("hello\n", "read hello")
        self.type("\x04", "prompt> ")
        self.type("echo status $?\n", "status 17")
        self.program_span()

    def test_interrupt(self):
        self.type(self.begin("cat"), "\n")
        self.wait_for_program("cat")
        self.type("\x03", "prompt> ")
        self.type("echo status $?\n", "status 130")
        self.program_span()

    def test_interrupt_ends_a_shells_loop(self):
        self.type("for i in 1 2 3; do " + self.begin("cat").strip() + "; echo ag''ain; done\n", "\n")
        self.wait_for_program("cat")
        self.type("\x03", "prompt> ")
        self.type("echo th''en\n", "then")
        self.assertNotIn("again", self.seen)

    def test_stop_and_go_on(self):
        self.type(self.begin("cat"), "\n")
        self.wait_for_program("cat")
        self.type("\x1a", "Stopped", "prompt> ")
        self.type("jobs\n", "Stopped", "xsp run", "prompt> ")
        self.type("fg\n", "-- cat\r\n")
        self.type("again\n", "again\r\nagain")
        self.type("\x1a", "Stopped", "prompt> ")
        self.type("kill %1; fg\n", "prompt> ")
        wait_until(self.file.exists, "no file is written")
        self.program_span()

    def wait_for_program(self, name):
        wait_until(lambda: any(name in children(xsp).values() for xsp in children(self.pid)), f"{name} does not start")


if __name__ == "__main__":
    unittest.main()
