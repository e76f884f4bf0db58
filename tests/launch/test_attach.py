# SPDX-License-Identifier: Apache-2.0
"""xsp run --pid: a process that runs already joins a session, goes on, and may be recorded again."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from run_guests import BUILD, SANITIZED, WAIT_S, XSP, guest, sessions, wait_until
from strangers import STRANGER


class Guest:
    """attach_guest.c; each order is done when its answer is there."""

    def __init__(self, **options):
        self.process = subprocess.Popen(guest("attach-guest"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)
        self.pid = self.process.pid
        self.does("n")  # nothing, once its libraries are there

    def does(self, orders):
        os.write(self.process.stdin.fileno(), orders.encode())
        for order in orders:
            assert os.read(self.process.stdout.fileno(), 1) == order.encode()

    def ends(self):
        self.process.stdin.close()
        status = self.process.wait(WAIT_S)
        self.process.stdout.close()
        return status


def reads_from(process, file):
    with contextlib.suppress(OSError):
        return os.stat(f"/proc/{process}/fd/0").st_ino == os.fstat(file).st_ino
    return False


def maps(session):
    for entry in pathlib.Path("/proc").glob("[0-9]*/maps"):
        with contextlib.suppress(OSError):
            if str(session) in entry.read_text():
                return True
    return False


class AttachTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.guest = Guest()
        self.addCleanup(lambda: self.guest.process.stdin.closed or self.guest.ends())

    def start(self, *options, pid=None, file="out.xsp"):
        """xsp, when it has asked the process."""
        xsp = subprocess.Popen([XSP, "run", "--pid", str(pid or self.guest.pid), "-o", file, *options], cwd=self.folder,
                               env={**os.environ, "XSP_DEBUG": "launch"}, stdin=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
        said = ""
        while "recording of process" not in said:
            line = xsp.stderr.readline()
            self.assertNotEqual(line, "", said)
            said += line
        return xsp

    def end(self, xsp, number=signal.SIGINT):
        xsp.send_signal(number)
        return self.ended(xsp)

    def ended(self, xsp, status=0):
        _, said = xsp.communicate(timeout=WAIT_S)
        self.assertEqual(xsp.returncode, status, said)
        return said

    def refused(self, pid, *options, status=125):
        result = subprocess.run([XSP, "run", "--pid", str(pid), "-o", "no.xsp", *options], cwd=self.folder, text=True,
                                stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=WAIT_S)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertFalse(list(self.folder.glob("no.xsp*")))
        return result.stderr

    def names(self, file="out.xsp"):
        found = json.loads(subprocess.run(
            [XSP, "sql", file, "select name, count(*) as n from span where category <> 'program' or category is null"
             " group by name", "--json"], cwd=self.folder, check=True, capture_output=True).stdout)
        return {row["name"]: row["n"] for row in found}


class Joining(AttachTest):
    def test_records_what_is_done_meanwhile_and_nothing_else(self):
        self.guest.does("sss")
        xsp = self.start()
        self.guest.does("ssssmm")
        said = self.end(xsp)
        self.assertIn("it goes on", said)
        self.guest.does("ss")
        self.assertEqual(self.names(), {"span": 4, "made": 2})
        self.assertEqual(self.guest.ends(), 0)

    def test_again_and_again(self):
        folders = set()
        for count in (3, 1, 200_000):
            xsp = self.start("--force")
            folders |= set(map(str, sessions(xsp.pid)))
            self.guest.does("s" * count if count < 1000 else "s")
            for _ in range(count // 1000):
                self.guest.does("s" * 1000)
            self.end(xsp)
            self.guest.does("s")
            self.assertEqual(self.names(), {"span": count + (count >= 1000)})
        self.assertEqual(len(folders), 1)
        self.guest.ends()

    def test_level_sets_of_each_time(self):
        xsp = self.start("--levels", "M")
        self.guest.does("ocs")
        self.end(xsp)
        self.assertEqual(self.names(), {"long": 1})
        xsp = self.start("--levels", "L", "--force")
        self.guest.does("ocs")
        self.end(xsp)
        self.assertEqual(self.names(), {"span": 1})

    def test_duration_ends_it(self):
        xsp = self.start("--duration", "0.2")
        self.guest.does("s")
        said = self.ended(xsp)
        self.assertIn("it goes on", said)

    def test_process_ends_first(self):
        xsp = self.start()
        self.guest.does("ss")
        self.assertEqual(self.guest.ends(), 0)
        self.assertIn("until its end", self.ended(xsp))
        self.assertEqual(self.names(), {"span": 2})

    def test_children_that_it_forks(self):
        xsp = self.start()
        self.guest.does("sf")
        self.end(xsp)
        self.assertEqual(self.names(), {"span": 2})

    @unittest.skipIf(SANITIZED, "a sanitizer's frames need more stack")
    def test_from_a_thread_with_little_stack(self):
        xsp = self.start()
        self.guest.does("t")
        self.end(xsp)
        self.assertEqual(self.names(), {"span": 1})

    @unittest.skipIf(SANITIZED, "a sanitizer's frames need more stack")
    def test_not_from_a_handler_on_a_stack_of_its_own(self):
        xsp = self.start()
        self.guest.does("hsh")
        self.end(xsp)
        self.assertEqual(self.names(), {"span": 2})

    def test_session_that_the_program_made(self):
        program = Guest(cwd=self.folder, env={**os.environ, "XSP_SESSION": "./own"})
        self.addCleanup(program.ends)
        program.does("s")
        self.assertIn("xsp recover", self.refused(program.pid))
        subprocess.run([XSP, "recover", "own", "-o", "before.xsp"], cwd=self.folder, check=True, capture_output=True)
        xsp = self.start(pid=program.pid)
        program.does("ss")
        self.end(xsp)
        self.assertEqual(self.names(), {"span": 2})

    def test_open_span(self):
        xsp = self.start()
        self.guest.does("so")
        self.assertIn("1 never finished", self.end(xsp))
        self.guest.does("c")

    def test_preloaded_into_python(self):
        code = "import sys\nprint('ready', flush=True)\nfor line in sys.stdin: print(eval(line), flush=True)"
        program = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "LD_PRELOAD": str(BUILD / "libxsp.so")})
        self.assertEqual(program.stdout.readline(), "ready\n")
        xsp = self.start(pid=program.pid)
        said = self.end(xsp)
        self.assertIn("began no span", said)
        self.assertEqual(program.communicate("1 + 1\n", timeout=WAIT_S)[0], "2\n")

    def test_xsp_is_killed(self):
        xsp = self.start()
        self.guest.does("s" * 50)
        [session] = sessions(xsp.pid)
        xsp.kill()
        self.ended(xsp, -signal.SIGKILL)
        self.guest.does("s")
        subprocess.run([XSP, "recover", session, "-o", "saved.xsp"], cwd=self.folder, check=True, capture_output=True)
        self.assertEqual(self.names("saved.xsp"), {"span": 51})

    def test_again_after_xsp_was_killed(self):
        """What the killed one did not read goes into a file of its own, not into the next recording."""
        xsp = self.start()
        self.guest.does("s" * 50)
        [session] = sessions(xsp.pid)
        xsp.kill()
        self.ended(xsp, -signal.SIGKILL)
        self.guest.does("ss")
        for _ in range(2):
            self.assertIn(f"xsp recover {session}", self.refused(self.guest.pid))
            self.assertTrue(pathlib.Path(session).exists())
        subprocess.run([XSP, "recover", session, "-o", "saved.xsp"], cwd=self.folder, check=True, capture_output=True)
        self.assertEqual(self.names("saved.xsp"), {"span": 52})
        self.guest.does("s")
        xsp = self.start("--force")
        self.guest.does("sss")
        self.end(xsp)
        self.assertEqual(self.names(), {"span": 3})


class Nothing(AttachTest):
    def test_question_is_taken_back(self):
        xsp = self.start()
        [session] = sessions(xsp.pid)
        said = self.end(xsp)
        self.assertIn("it began no span", said)
        self.guest.does("sss")
        self.assertFalse(pathlib.Path(session).exists())
        xsp = self.start("--force")
        self.guest.does("s")
        self.end(xsp)
        self.assertEqual(self.names(), {"span": 1})

    def test_xsp_is_killed_before_it_joins(self):
        for with_folder in True, False:
            xsp = self.start("--force")
            [session] = sessions(xsp.pid)
            xsp.kill()
            self.ended(xsp, -signal.SIGKILL)
            if not with_folder:
                shutil.rmtree(session)
            xsp = self.start("--force")
            self.assertEqual(sessions(xsp.pid) == [session], with_folder)
            if not with_folder:
                self.guest.does("s")
            self.end(xsp)
            self.assertEqual(self.names(), {} if with_folder else {"span": 1})

    def test_kept_session_is_no_leftover_and_goes_with_its_process(self):
        xsp = self.start()
        [session] = sessions(xsp.pid)
        self.guest.does("s")
        self.end(xsp)
        listed = subprocess.run([XSP, "recover"], cwd=self.folder, check=False, capture_output=True, text=True)
        self.assertTrue(pathlib.Path(session).exists())
        self.assertNotIn(str(session), listed.stdout + listed.stderr)
        another = Guest()
        self.addCleanup(another.ends)
        self.end(self.start(pid=another.pid, file="another.xsp"))
        self.assertTrue(pathlib.Path(session).exists())
        self.guest.does("x")  # the child has the session, and no span yet
        self.guest.process.wait(WAIT_S)
        self.end(self.start(pid=another.pid, file="fourth.xsp"))
        self.assertTrue(pathlib.Path(session).exists())
        self.guest.process.stdin.close()
        self.assertEqual(self.guest.process.stdout.read(), b"")  # it has ended
        self.guest.process.stdout.close()
        wait_until(lambda: not maps(session), "it still ends")
        self.end(self.start(pid=another.pid, file="third.xsp"))
        # By the xsp of another test, if that looked first: then it may be at it.
        wait_until(lambda: not pathlib.Path(session).exists(), "the session stays")

    def test_kept_session_stays_where_another_container_records(self):
        """One that shares /dev/shm, and sees no process of this machine."""
        inside = ["unshare", "--pid", "--fork", "--mount-proc"]
        tried = subprocess.run([*inside, "true"], check=False, capture_output=True, text=True, timeout=WAIT_S)
        if tried.returncode != 0:
            self.skipTest(f"needs a namespace of processes: {tried.stderr.strip()}")  # not without rights, nor in a chroot
        xsp = self.start()
        [session] = sessions(xsp.pid)
        self.guest.does("s")
        self.end(xsp)
        subprocess.run([*inside, XSP, "run", "-q", "-o", self.folder / "inside.xsp", "--", "true"], check=True, timeout=WAIT_S)
        self.assertTrue(pathlib.Path(session).exists())


class Refusals(AttachTest):
    def test_no_such_process(self):
        with subprocess.Popen(["true"]) as gone:
            gone.wait()
        self.assertIn("no such process", self.refused(gone.pid))
        self.assertIn("a whole number from 1", self.refused(0))

    def test_process_without_the_library(self):
        with subprocess.Popen(["sleep", "600"]) as sleeper:
            said = self.refused(sleeper.pid)
            sleeper.kill()
        self.assertIn("started without libxsp.so of this version", said)
        self.assertIn("LD_PRELOAD=", said)

    def test_sandbox(self):
        self.guest.does("p")
        self.assertIn("seccomp", self.refused(self.guest.pid))
        self.guest.does("s")
        self.guest.process.kill()

    def test_options_of_a_start(self):
        for options in (["--leveled"], ["-r", "3"], ["-t", "nvtx"], ["--wait", "all"], ["--levels", "M,M/L"],
                        ["--capture-range", "a"]):
            with self.subTest(options):
                self.assertIn("wrong use: --pid", self.refused(self.guest.pid, *options))
        self.assertIn("a command and a process", self.refused(self.guest.pid, "--", "true"))

    def test_another_xsp_records_it(self):
        xsp = self.start()
        self.assertIn("another xsp records it", self.refused(self.guest.pid, status=3))
        self.guest.does("s")
        self.assertIn("another xsp records it", self.refused(self.guest.pid, status=3))
        self.end(xsp)

    def test_session_that_has_ended(self):
        orders, answers = os.pipe(), os.pipe()
        for end in (*orders[:1], *answers):
            self.addCleanup(os.close, end)
        os.write(orders[1], b"sx")
        subprocess.run([XSP, "run", "-q", "-o", "first.xsp", "--", *guest("attach-guest")], cwd=self.folder,
                       stdin=orders[0], stdout=answers[1], check=True, timeout=WAIT_S)
        [left] = [int(entry) for entry in os.listdir("/proc") if entry.isdecimal() and int(entry) != os.getpid() and
                  reads_from(entry, orders[0])]
        self.assertIn("a session that has ended", self.refused(left))
        os.close(orders[1])

    @unittest.skipUnless(os.geteuid() == 0, "needs root, to make a process of another user")
    def test_other_users(self):
        def become():
            os.setgroups([])
            os.setgid(STRANGER)
            os.setuid(STRANGER)
        with subprocess.Popen(["sleep", "600"], preexec_fn=become) as stranger:
            self.assertIn(f"user {STRANGER}'s", self.refused(stranger.pid))
            stranger.kill()


if __name__ == "__main__":
    unittest.main()
