# SPDX-License-Identifier: Apache-2.0
"""xsp run: a process that publishes nothing makes no file and loads no tracer; it is in the session all the same, and its first
span is as that of any other."""
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import unittest

from run_guests import BUILD, WAIT_S, XSP, guest, read_line, sessions, wait_until
from test_run import RunTest

ENTRY_BYTES = 512  # struct session_arrival
XSPS = {"session", "catalog", "arrivals", "collector", "tracks"}
LOOK = 'cat /proc/self/maps; echo; ls "$XSP_SESSION"'
# Without frameworks' tracers Python does not join with its first module.
LATE = "-q", "--force", "-t", "nvtx", "--"
# Not linked with libxsp.so, which is there all the same.
PUBLISH = """
import ctypes, os, sys, threading
class Span(ctypes.Structure):
    _fields_ = [("start", ctypes.c_uint64), ("site", ctypes.c_uint32), ("id", ctypes.c_uint32)]
xsp = ctypes.CDLL(None)
xsp.xsp_site_create.restype = ctypes.c_void_p
xsp.xsp_span_start_call.argtypes, xsp.xsp_span_start_call.restype = [ctypes.c_void_p], Span
def publish(name):
    span = xsp.xsp_span_start_call(xsp.xsp_site_create(b"app", 0, name.encode(), None))
    xsp.xsp_span_finish_call(ctypes.byref(span))
    return span.start != 0
def files():
    return sorted(os.listdir(os.environ["XSP_SESSION"]))
"""


def python(code):
    return sys.executable, "-c", PUBLISH + code


class Arrivals(RunTest):
    def run_it(self, *arguments, **more):
        """A sample joins. On a busy machine a shell may take the 10 ms of the usual rate, and wait 50 ms for a child, which is one, too."""
        return super().run_it("--sample-rate", "1", "--sample-mode", "cpu", *arguments, **more)

    def published(self, file=None):
        rows = self.sql("select name, count(*) as n from span where category is null group by name", file)
        return {row["name"]: row["n"] for row in rows}

    def test_nothing_is_made_and_loaded(self):
        result = self.run_it("-q", "--", "sh", "-c", LOOK)
        maps, files = result.stdout.decode().split("\n\n")
        self.assertEqual(set(files.split()), XSPS)
        ours = {pathlib.Path(line.split()[-1]).name for line in maps.splitlines() if f" {BUILD}/" in line}
        self.assertEqual(ours, {pathlib.Path(BUILD / "libxsp.so").resolve().name, "frameworks.so", "cpu.so"})
        mapped = {pathlib.Path(line.split()[-1]).name for line in maps.splitlines() if "/xsp-" in line}
        self.assertEqual(mapped, {"session"})
        self.assertEqual(self.note("processes"), "3")

    def test_a_short_wait_does_not_join(self):
        """Of a shell for its children. Where it has waited for 50 ms, as on a busy machine, it joins."""
        result = super().run_it("-q", "--sample-rate", "1", "--", "sh", "-c", 'for i in 1 2 3 4 5; do /bin/true; done; ls "$XSP_SESSION"')
        files = set(result.stdout.decode().split())
        waits = [row["duration_ns"] for row in self.sql("select duration_ns from sample where kind = 'child' order by time_ns")]
        if waits:
            self.assertGreaterEqual(waits[0], 50_000_000)
        else:
            self.assertEqual(files, XSPS)

    def test_each_costs_an_entry(self):
        script = 'i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done; stat -c %s "$XSP_SESSION/arrivals"'
        result = self.run_it("-q", "--", "sh", "-c", script)
        self.assertEqual(int(result.stdout), 102 * ENTRY_BYTES)
        self.assertEqual(self.note("processes"), "102")
        self.assertIsNone(self.note("left_running"))

    def test_the_first_span_joins(self):
        result = self.run_it(*LATE, *python("before = files(); publish('work'); print(set(files()) - set(before))"))
        self.assertEqual(set(result.stdout.decode().strip(" {}\n").replace("'", "").split(", ")), {"process-1", "ring-1"})
        self.assertEqual(self.published(), {"work": 1})
        self.assertEqual(self.note("processes"), "1")
        program = self.program_span()
        self.assertEqual(self.sql("select track_id, parent_id from span where name = 'work'"),
                         [{"track_id": program["track_id"], "parent_id": program["span_id"]}])

    def test_what_else_joins(self):
        for call in "xsp_session_levels()", "xsp_tracer_levels(b'app')", "xsp_string(b'text', 4)", "xsp_attach(None) + 1":
            with self.subTest(call):
                result = self.run_it(*LATE, *python(f"print(xsp.{call} != 0, 'process-1' in files())"))
                self.assertEqual(result.stdout, b"True True\n")

    def test_in_another_session_it_cannot_be(self):
        other = self.folder / "other"
        result = self.run_it(*LATE, *python(f"print(-xsp.xsp_attach(b'{other}')); publish('work')"))
        self.assertEqual(int(result.stdout), 16)  # EBUSY
        self.assertFalse(other.exists())
        self.assertEqual(self.published(), {"work": 1})

    def dropped(self):
        return self.sql("select dropped_count from run")[0]["dropped_count"]

    def test_from_several_threads_at_once(self):
        """All spans that begin while another thread joins are recorded, or counted where the machine gives that thread no CPU."""
        code = ("barrier = threading.Barrier(8)\ndef work():\n    barrier.wait()\n    publish('work')\n"
                "threads = [threading.Thread(target=work) for _ in range(8)]\nfor t in threads: t.start()\n"
                "for t in threads: t.join()")
        self.run_it(*LATE, *python(code))
        self.assertEqual(self.published().get("work", 0) + (self.dropped() or 0), 8)

    def test_waits_for_another_thread(self):
        result = self.run_it("-q", "--force", "--", *guest("late-guest", "waits"))
        self.assertEqual(result.stdout, b"1 1 1 0 1 1\n")
        self.assertEqual(self.published(), {"first": 1, "second": 3})

    def test_does_not_wait_for_ever(self):
        """The other thread cannot go on: what is lost meanwhile is counted, and only the first span waits for it."""
        result = self.run_it("-q", "--force", "--", *guest("late-guest", "slow"))
        self.assertEqual(result.stdout, b"0 1 0 0 1 1\n")
        self.assertEqual(self.published(), {"first": 1, "second": 1})
        self.assertEqual(self.dropped(), 2)

    def test_closed_standard_output(self):
        """What the program writes there is not written into a file of the session."""
        self.run_it("-q", "--force", "--", *guest("late-guest", "closed"))
        self.assertEqual(self.published(), {"closed": 1})

    def test_environment_that_is_gone(self):
        """The program may clear it, and overwrite the memory it was in."""
        code = ("for name in ('XSP_SESSION', 'XSP_TRACERS', 'XSP_SESSION_JOIN'):\n"
                "    address = ctypes.CDLL(None).getenv\n    address.restype = ctypes.c_void_p\n"
                "    place = address(name.encode())\n    ctypes.memset(place, 0, len(os.environ[name]))\n"
                "    del os.environ[name]\npublish('work')")
        self.run_it(*LATE, *python(code))
        self.assertEqual(self.published(), {"work": 1})

    def test_forked_children(self):
        code = ("if os.fork() == 0:\n    publish('child')\n    os._exit(0)\nos.wait()\npublish('parent')\n"
                "if os.fork() == 0:\n    publish('child')\n    os._exit(0)\nos.wait()")
        self.run_it(*LATE, *python(code))
        self.assertEqual(self.published(), {"child": 2, "parent": 1})
        self.assertEqual(self.note("processes"), "3")

    def test_images_of_one_process(self):
        """exec: one process, whichever of its images published something."""
        for first, second in ("pass", "publish('work')"), ("publish('work')", "pass"):
            with self.subTest(first):
                code = f"{first}\nos.execv(sys.executable, [sys.executable, '-c', {PUBLISH + second!r}])"
                self.run_it(*LATE, *python(code))
                self.assertEqual(self.published(), {"work": 1})
                self.assertEqual(self.note("processes"), "1")

    def test_names(self):
        """The program's track has the name of its process, as that of one with spans has."""
        for program in ["sh", "-c", ":"], ["sh", "-c", "exec sleep 0"]:
            self.run_it("-q", "--force", "--", *program)
            name = self.sql("select name, process_id, thread_id from track")
            self.assertEqual([row["name"] for row in name], [program[-1].split()[-2] if " " in program[-1] else "sh"])
            self.assertEqual(name[0]["process_id"], name[0]["thread_id"])

    def test_one_that_cannot_join_any_more(self):
        """It goes on, and what is not recorded is counted."""
        code = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\nprint(publish('a'), publish('b'))"
        result = self.run_it(*LATE, *python(code))
        self.assertEqual(result.stdout, b"False False\n")
        self.assertEqual(self.published(), {})
        self.assertEqual(self.sql("select dropped_count from run"), [{"dropped_count": 1}])
        self.assertEqual(self.note("processes"), "1")

    def test_python_joins_with_its_first_module(self):
        """Before it could give up the right to do so."""
        look = "import os, sys\ndef files(): return 'ring-1' in os.listdir(os.environ['XSP_SESSION'])\n"
        result = self.run_it("-q", "--sample-rate", "0", "--", sys.executable, "-I", "-S", "-c",
                             f"{look}before = files()\nimport _ctypes\nprint(before, files())")
        self.assertEqual(result.stdout, b"False True\n")

    def test_who_joins_at_once(self):
        with self.subTest("linked with libxsp.so"):
            process = self.start(*guest("run-guest-traced", "signals"), options=["-q"], process_group=0)
            self.assertEqual(read_line(process), b"ready\n")
            [folder] = sessions(process.pid)
            self.assertTrue((folder / "ring-1").exists())
            self.assertEqual((folder / "arrivals").stat().st_size, 0)
            process.send_signal(signal.SIGUSR2)
            process.communicate(timeout=WAIT_S)
        with self.subTest("a tracer that is loaded at the start"):
            result = self.run_it("-q", "--force", "-t", BUILD / "tracers" / "fake.so", "--", "sh", "-c", LOOK)
            self.assertIn(b"process-1", result.stdout)
        with self.subTest("files are limited"):
            result = self.run_it("-q", "--force", "--", "sh", "-c", LOOK, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY)))
            self.assertIn(b"process-1", result.stdout)

    def test_left_running(self):
        wait = ("import os; open('begun', 'w'); is_over = lambda: os.path.exists('go') or not os.path.exists('begun'); "
                "[0 for _ in iter(is_over, True)]; open('done', 'w')")
        script = f"{sys.executable} -c \"{wait}\" >&- 2>&- & while [ ! -e begun ]; do :; done"
        self.run_it("-q", "--", "sh", "-c", script)
        self.assertEqual(self.note("left_running"), "1")
        (self.folder / "go").touch()
        wait_until((self.folder / "done").exists, "it does not go on")


class Killed(RunTest):
    """xsp is killed; the program has published nothing."""
    def setUp(self):
        super().setUp()
        code = "print('ready', flush=True)\nfor line in sys.stdin: print(eval(line), flush=True)"
        self.process = subprocess.Popen([XSP, "run", "-o", self.file, *LATE, *python(code)], cwd=self.folder,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.process.communicate)
        self.assertEqual(self.process.stdout.readline(), b"ready\n")
        [self.session] = sessions(self.process.pid)
        self.program = int(pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()[-1])
        self.process.kill()
        self.process.wait(WAIT_S)

    def does(self, code):
        self.process.stdin.write(code.encode() + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().decode().strip()

    def test_what_comes_later_is_recovered(self):
        self.assertEqual(self.does("publish('late')"), "True")
        self.xsp("recover", self.session)
        self.assertEqual(self.sql("select count(*) as n from span where name = 'late'"), [{"n": 1}])

    def test_recovered_it_can_be_recorded_again(self):
        """The session stays for the process; the command is that of the first process."""
        self.xsp("recover", self.session)
        self.assertIn("python", self.sql("select workload from experiment")[0]["workload"])
        self.assertTrue(self.session.exists())
        again = subprocess.Popen([XSP, "run", "--pid", str(self.program), "-o", "again.xsp"], cwd=self.folder, text=True,
                                 env={**os.environ, "XSP_DEBUG": "launch"}, stdin=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE)
        said = ""
        while "recording of process" not in said:
            line = again.stderr.readline()
            self.assertNotEqual(line, "", said)
            said += line
        self.assertEqual(self.does("publish('again')"), "True")
        again.send_signal(signal.SIGINT)
        again.communicate(timeout=WAIT_S)
        names = self.sql("select name from span where category is null", self.folder / "again.xsp")
        self.assertEqual(names, [{"name": "again"}])

    def test_its_folder_is_removed(self):
        """Without one the process goes on as one that nobody records, and may be recorded later."""
        shutil.rmtree(self.session)
        self.assertEqual(self.does("publish('lost')"), "False")
        self.assertEqual(self.does("1 + 1"), "2")


if __name__ == "__main__":
    unittest.main()
