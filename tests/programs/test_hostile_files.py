# SPDX-License-Identifier: Apache-2.0
"""Files and folders of other users: readers never write, delete or wait, and obey nobody else's journal."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import strangers
from scripted import TIMEOUT_S

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
XSP = BUILD / "xsp"
IS_ROOT = os.geteuid() == 0
needs_root = unittest.skipUnless(IS_ROOT, "a second user's files are made by root only")
TRACE = [{"ph": "X", "name": "ProfilerStep#1", "cat": "user_annotation", "pid": 1, "tid": 1, "ts": 0, "dur": 100}] + [
    {"ph": "X", "name": name, "cat": "cpu_op", "pid": 1, "tid": 1, "ts": start, "dur": 10}
         for start, name in ((10, "one"), (30, "two"), (50, "three"))]
NAMES = ["ProfilerStep#1", "one", "two", "three"]
READERS = [["info", "FILE"], ["analyze", "L0", "FILE"], ["sql", "FILE", "select count(*) as n from span"],
           ["export", "FILE", "--to", "csv", "-o", "OUT"], ["report", "FILE", "-o", "OUT"], ["check", "--links=FILE"]]


class Files(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="xsp-hostile-")
        base = pathlib.Path(self.temporary.name)
        base.chmod(0o755)
        self.folder, self.elsewhere, self.scratch = base / "folder", base / "elsewhere", base / "scratch"
        for folder in (self.folder, self.elsewhere, self.scratch):
            folder.mkdir(mode=0o755)
        self.trace, self.victim = self.folder / "x.xsp", self.elsewhere / "victim"
        source = self.elsewhere / "trace.json"
        source.write_text(json.dumps({"traceEvents": TRACE}), encoding="utf-8")
        self.run_xsp("import", source, "-o", self.trace)
        self.victim.write_text("not to be deleted", encoding="utf-8")

    def tearDown(self):
        self.temporary.cleanup()

    def run_xsp(self, *arguments, status=0):
        result = subprocess.run([XSP, *arguments], timeout=TIMEOUT_S, capture_output=True, text=True, check=False,
                                env={**os.environ, "TMPDIR": str(self.scratch)})
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def read(self, verb, status=0):
        """Runs a reading verb on the trace. Whatever it says, nothing around the trace changed."""
        before = strangers.snapshot(self.folder), strangers.snapshot(self.elsewhere)
        out = pathlib.Path(self.temporary.name) / "out"
        result = self.run_xsp(*self.command(verb, self.trace, out), status=status)
        self.assertEqual((strangers.snapshot(self.folder), strangers.snapshot(self.elsewhere)), before)
        self.assertEqual(list(self.scratch.iterdir()), [])
        out.unlink(missing_ok=True)
        return result

    @staticmethod
    def command(verb, path, out):
        return [word.replace("FILE", str(path)).replace("OUT", str(out)) for word in verb]

    def each_reader(self, status=0, word=""):
        for verb in READERS:
            with self.subTest(verb=verb[0]):
                self.assertIn(word, self.read(verb, status).stderr)

    def spans(self, path=None):
        result = self.run_xsp("sql", path or self.trace, "select name from span order by start_ns", "--json")
        return [row["name"] for row in json.loads(result.stdout)]

    def plant_journal(self):
        strangers.leave_hot_journal(self.trace)
        strangers.name_super_journal(self.trace, self.victim)

    def give_away(self, *paths):
        for path in paths:
            os.chown(path, strangers.STRANGER, strangers.STRANGER, follow_symlinks=False)


class Journals(Files):
    def test_replayed_in_a_private_copy_in_a_folder_of_ones_own(self):
        strangers.leave_hot_journal(self.trace)
        self.each_reader()
        self.assertEqual(self.spans(), NAMES)

    def test_a_super_journal_is_not_deleted(self):
        self.plant_journal()
        self.each_reader()
        self.assertEqual(self.victim.read_text(encoding="utf-8"), "not to be deleted")

    def test_refused_where_others_can_write_to_the_folder(self):
        self.plant_journal()
        for mode in (0o1777, 0o777, 0o775):
            self.folder.chmod(mode)
            self.each_reader(2, f"xsp recover {self.trace}")

    def test_recover_makes_a_file_of_it(self):
        self.plant_journal()
        self.folder.chmod(0o1777)
        out = self.scratch / "out.xsp"
        before = strangers.snapshot(self.folder), strangers.snapshot(self.elsewhere)
        result = self.run_xsp("recover", self.trace, "-o", out)
        self.assertIn("recovered 4 spans", result.stderr)
        self.assertEqual(self.spans(out), NAMES)
        self.assertEqual((strangers.snapshot(self.folder), strangers.snapshot(self.elsewhere)), before)
        self.assertIn("output", self.run_xsp("recover", self.trace, status=2).stderr)

    @needs_root
    def test_a_copy_takes_the_room_of_the_data(self):
        strangers.leave_hot_journal(self.trace)
        with open(self.trace, "r+b") as file:
            file.truncate(1 << 30)  # a hole; the journal says how long the file was
        info = 'mount -t tmpfs -o size=$1 tmpfs "$TMPDIR" || exit 77; exec "$2" info "$3"'
        for size, status, word in (("8m", 0, ""), ("64k", 3, "are free there")):
            with self.subTest(size):
                result = subprocess.run(["unshare", "-m", "sh", "-c", info, "sh", size, XSP, self.trace], check=False,
                                        timeout=TIMEOUT_S, capture_output=True, text=True,
                                        env={**os.environ, "TMPDIR": str(self.scratch)})
                if "unshare" in result.stderr or result.returncode == 77:
                    self.skipTest("mounting is not permitted here")
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertIn(word, result.stderr)

    def stop_in_copy(self, command):
        """Starts xsp, which stops when its private copy is there."""
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 env={**os.environ, "TMPDIR": str(self.scratch), "XSP_STOP": "copy"})
        _, state = os.waitpid(child.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(state))
        self.assertNotEqual(list(self.scratch.glob("xsp-copy-*/trace")), [])
        return child

    def test_a_signal_leaves_no_copy(self):
        strangers.leave_hot_journal(self.trace)
        out = self.scratch / "out"
        for number, verb in ((signal.SIGINT, ["info", "FILE"]), (signal.SIGTERM, ["analyze", "L0", "FILE"]),
                             (signal.SIGHUP, READERS[2]), (signal.SIGINT, [*READERS[3], "--force"]),
                             (signal.SIGTERM, [*READERS[4], "--force"]), (signal.SIGINT, READERS[5]),
                             (signal.SIGTERM, ["recover", "FILE", "-o", "OUT", "--force"])):
            with self.subTest(verb[0]):
                child = self.stop_in_copy([XSP, *self.command(verb, self.trace, out)])
                child.send_signal(number)
                child.send_signal(signal.SIGCONT)
                self.assertEqual(child.wait(TIMEOUT_S), -number)
                out.unlink(missing_ok=True)
                self.assertEqual(list(self.scratch.iterdir()), [])

    def test_a_signal_leaves_no_copy_of_what_a_session_names(self):
        strangers.leave_hot_journal(self.trace)
        session, out = self.folder / "session", self.scratch / "out"
        subprocess.run([BUILD / "test-programs" / "attach-guest"], stdin=subprocess.DEVNULL, check=True,
                       env={**os.environ, "XSP_SESSION": str(session)}, timeout=TIMEOUT_S)
        (session / "collector").write_text(f"run {1:27}\n1\t{self.trace}\n")
        child = self.stop_in_copy([XSP, "recover", session, "--keep", "--force", "-o", out])
        child.send_signal(signal.SIGINT)
        child.send_signal(signal.SIGCONT)
        self.assertEqual(child.wait(TIMEOUT_S), -signal.SIGINT)
        self.assertEqual(list(self.scratch.iterdir()), [])
        self.run_xsp("recover", session, "-o", out)
        self.assertIn("span", self.spans(out))

    @needs_root
    def test_another_users_journal_is_not_replayed(self):
        for shown, files in (("both", (self.trace, f"{self.trace}-journal")), ("journal", (f"{self.trace}-journal",))):
            with self.subTest(shown):
                os.chown(self.trace, 0, 0)
                self.plant_journal()
                self.give_away(*files)
                self.each_reader(2, "xsp recover")

    @needs_root
    def test_recover_leaves_out_a_journal_of_another_user_than_the_file(self):
        self.folder.chmod(0o1777)
        shutil.copy(self.trace, self.elsewhere / "copy.xsp")
        strangers.leave_hot_journal(self.elsewhere / "copy.xsp")
        journal = (self.elsewhere / "copy.xsp-journal").read_bytes()
        self.assertEqual(strangers.as_stranger(
            lambda: pathlib.Path(f"{self.trace}-journal").write_bytes(journal)), 0)
        out = self.scratch / "out.xsp"
        result = self.run_xsp("recover", self.trace, "-o", out)
        self.assertIn("left out the journal", result.stderr)
        self.assertEqual(self.spans(out), NAMES)

    @needs_root
    def test_a_strangers_journal_that_does_not_open(self):
        """Neither user is root, whom no mode keeps out; the victim's file is complete."""
        self.folder.chmod(0o1777)
        self.scratch.chmod(0o1777)
        os.chown(self.trace, strangers.VICTIM, strangers.VICTIM)
        journal, log = pathlib.Path(f"{self.trace}-journal"), pathlib.Path(f"{self.trace}-wal")

        def as_victim(*arguments, status=0, word=""):
            self.assertEqual(strangers.as_stranger(
                lambda: self.assertIn(word, self.run_xsp(*arguments, status=status).stderr), strangers.VICTIM), 0)

        def plant(*paths):
            for path in paths:
                path.write_bytes(strangers.JOURNAL_MAGIC * 100)
                path.chmod(0)

        for number, (shown, paths, links) in enumerate((("journal", (journal,), ()), ("log", (log,), ()),
                                                        ("both", (journal, log), ()),
                                                        ("log and a link", (log,), (journal,)))):
            with self.subTest(shown):
                self.assertEqual(strangers.as_stranger(lambda: plant(*paths)), 0)  # pylint: disable=cell-var-from-loop
                for link in links:
                    link.symlink_to(self.victim)
                as_victim("info", self.trace, status=2, word=f"xsp recover {self.trace}")
                out = self.scratch / f"{number}.xsp"
                as_victim("recover", self.trace, "-o", out, word="left out the journal")
                self.assertEqual(self.spans(out), NAMES)
                for path in (*paths, *links):
                    path.unlink()

    @needs_root
    def test_a_stranger_deletes_nothing_by_a_file_in_a_sticky_folder(self):
        """The attack as it was: all of it is the stranger's, in a folder like /tmp; root only looks."""
        self.folder.chmod(0o1777)
        shutil.copy(self.trace, self.folder / "given.xsp")
        self.give_away(self.folder / "given.xsp")
        self.trace.unlink()
        given, self.trace = self.folder / "given.xsp", self.folder / "planted.xsp"
        victim = self.victim

        def attack():
            shutil.copy(given, self.trace)
            strangers.leave_hot_journal(self.trace)
            strangers.name_super_journal(self.trace, victim)

        self.assertEqual(strangers.as_stranger(attack), 0)
        self.each_reader(status=2)
        self.run_xsp("recover", self.trace, "-o", self.scratch / "out.xsp")
        self.assertEqual(self.victim.read_text(encoding="utf-8"), "not to be deleted")

    def test_a_journal_that_is_a_fifo_or_a_link_is_not_waited_for(self):
        journal = pathlib.Path(f"{self.trace}-journal")
        os.mkfifo(journal)
        self.assertEqual(self.spans(), NAMES)
        journal.unlink()
        journal.symlink_to(self.victim)
        self.assertEqual(self.spans(), NAMES)
        self.assertEqual(self.victim.read_text(encoding="utf-8"), "not to be deleted")


class Logs(Files):
    """Files in SQLite's WAL mode, which xsp does not make, but people can."""

    def test_nothing_is_left_next_to_a_file_without_a_log(self):
        strangers.leave_log(self.trace, "insert into note values(0, 'a', 'b')")
        with strangers.sqlite3.connect(self.trace) as data:
            data.execute("pragma wal_checkpoint(truncate)")
        data.close()
        self.assertEqual([path.name for path in self.folder.iterdir()], ["x.xsp"])
        self.each_reader()

    def test_a_log_is_read_in_a_private_copy(self):
        strangers.leave_log(self.trace, "insert into note values(0, 'late', 'committed')")
        self.each_reader()
        result = self.read(["sql", "FILE", "select value from note where key = 'late'", "--json"])
        self.assertEqual(json.loads(result.stdout), [{"value": "committed"}])

    def test_a_log_is_refused_where_others_can_write_to_the_folder(self):
        strangers.leave_log(self.trace, "insert into note values(0, 'late', 'committed')")
        self.folder.chmod(0o1777)
        self.each_reader(2, "xsp recover")


class Kinds(Files):
    """What is no regular file is refused at once."""

    def test_traces_that_are_pipes_devices_or_folders(self):
        os.mkfifo(self.folder / "pipe.xsp")
        for path, word in ((self.folder / "pipe.xsp", "pipe"), ("/dev/zero", "device"), ("/dev/tty", ""),
                           (self.folder, "directory")):
            for verb in READERS:
                with self.subTest(path=path, verb=verb[0]):
                    error = self.run_xsp(*self.command(verb, path, self.scratch / "out"), status=2).stderr
                    self.assertIn(word, error)
                    self.assertEqual(error.count("\n"), 1)

    def test_imports_take_files_and_pipes_only(self):
        for path, word in (("/dev/zero", "device"), (self.folder, "directory")):
            self.assertIn(word, self.run_xsp("import", path, "-o", self.scratch / "out.xsp", status=2).stderr)
        read_end, write_end = os.pipe()
        os.write(write_end, json.dumps({"traceEvents": TRACE}).encode())
        os.close(write_end)
        subprocess.run([XSP, "import", f"/dev/fd/{read_end}", "-o", self.scratch / "out.xsp"], pass_fds=[read_end],
                       check=True, timeout=TIMEOUT_S, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_end)
        self.assertEqual(self.spans(self.scratch / "out.xsp"), NAMES)

    def test_other_inputs(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.assertIn("pipe", self.run_xsp("run", "--functions", pipe, "-o", self.scratch / "out.xsp", "--", "true",
                                           status=125).stderr)

    def test_manifests_and_libraries(self):
        for name in ("model.yml", "tracer.so"):
            os.mkfifo(self.folder / name)
        manifest, library = self.folder / "model.yml", self.folder / "tracer.so"
        for arguments, status, word in ((("check", manifest, "--syntax"), 2, "it is a pipe"),
                                        (("profile", manifest, "-o", self.scratch / "out.xsp"), 2, "it is a pipe"),
                                        (("run", "--tracer", library, "-o", self.scratch / "out.xsp", "--", "true"), 125,
                                         "it is not a regular file"),
                                        (("check", "--library", f"onnxruntime={library}", "onnxruntime"), 3, "pipe")):
            with self.subTest(arguments[0]):
                result = self.run_xsp(*arguments, status=status)
                self.assertIn(word, result.stdout + result.stderr)


class Writers(Files):
    """A writer uses no file that it did not make: names next to an output can be guessed."""

    def plant(self):
        """An empty unfinished file, and a journal that names a super-journal, by the second user."""
        self.folder.chmod(0o1777)
        shutil.copy(self.trace, self.folder / "given.xsp")
        self.give_away(self.folder / "given.xsp")
        partial, given, victim = self.folder / "out.xsp.partial", self.folder / "given.xsp", self.victim

        def attack():
            os.umask(0)
            strangers.leave_hot_journal(given)
            strangers.name_super_journal(given, victim)
            os.rename(f"{given}-journal", f"{partial}-journal")
            os.close(os.open(partial, os.O_CREAT | os.O_WRONLY, 0o666))

        self.assertEqual(strangers.as_stranger(attack), 0)

    @needs_root
    def test_files_of_another_user_are_not_used(self):
        self.plant()
        self.run_xsp("import", self.elsewhere / "trace.json", "-o", self.folder / "out.xsp")
        self.assertEqual((self.folder / "out.xsp").stat().st_uid, 0)
        self.assertEqual(self.spans(self.folder / "out.xsp"), NAMES)
        self.assertEqual(self.victim.read_text(encoding="utf-8"), "not to be deleted")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["given.xsp", "out.xsp", "x.xsp"])

    def test_a_link_is_not_followed(self):
        for name in ("out.xsp.partial", "out.xsp.partial-journal"):
            with self.subTest(name):
                (self.folder / name).symlink_to(self.victim)
                status = 3 if name.endswith("partial") else 0  # a journal without its file is worth nothing
                self.run_xsp("import", self.elsewhere / "trace.json", "-o", self.folder / "out.xsp", "--force",
                             status=status)
                (self.folder / name).unlink(missing_ok=True)
                self.assertEqual(self.victim.read_text(encoding="utf-8"), "not to be deleted")


class Leftovers(Files):
    """Unfinished files are never overwritten."""

    def leave(self, number):
        """As a killed writer of out.xsp leaves it: a whole file of `number` more notes."""
        partial = self.scratch / "out.xsp.partial"
        shutil.copy(self.trace, partial)
        with strangers.sqlite3.connect(partial) as data:
            data.execute("insert into note values(0, 'number', ?)", (number,))
        data.close()
        strangers.leave_hot_journal(partial)

    def test_they_are_numbered_named_and_listed(self):
        names = ["out.xsp.partial~", "out.xsp.partial~2", "out.xsp.partial~3"]
        for number, name in enumerate(names):
            self.leave(number)
            result = self.run_xsp("import", self.elsewhere / "trace.json", "-o", self.scratch / "out.xsp", "--force")
            self.assertIn(f"{name};", result.stderr)
        listed = subprocess.run([XSP, "recover"], cwd=self.scratch, timeout=TIMEOUT_S, capture_output=True, text=True,
                                check=True).stdout
        for number, name in enumerate(names):
            self.assertRegex(listed, rf"file +{name} ")
            out = self.folder / f"{number}.xsp"
            self.assertIn("4 spans", self.run_xsp("recover", self.scratch / name, "-o", out).stderr)
            rows = json.loads(self.run_xsp("sql", out, "select value from note where key = 'number'", "--json").stdout)
            self.assertEqual(rows, [{"value": str(number)}])

    def test_what_cannot_be_recovered_is_not_listed(self):
        for name in ("movie.mkv.partial", "a.csv.4711.partial", "empty.xsp.partial"):
            (self.scratch / name).touch()
        os.mkfifo(self.scratch / "pipe.xsp.partial")
        (self.scratch / "link.xsp.partial").symlink_to(self.trace)
        for name in ("a.sqlite.4711.partial", "b.xsp.partial", "2.xsp.partial"):
            shutil.copy(self.trace, self.scratch / name)
        listed = subprocess.run([XSP, "recover"], cwd=self.scratch, timeout=TIMEOUT_S, capture_output=True, text=True,
                                check=True).stdout
        self.assertEqual(re.findall(r"^file +(\S+)", listed, re.MULTILINE), ["2.xsp.partial", "b.xsp.partial"])

    def test_a_gap_is_filled_and_a_lone_journal_counts_as_taken(self):
        self.leave(0)
        (self.scratch / "out.xsp.partial~-journal").write_text("mine", encoding="utf-8")
        self.run_xsp("import", self.elsewhere / "trace.json", "-o", self.scratch / "out.xsp")
        self.assertEqual((self.scratch / "out.xsp.partial~-journal").read_text(encoding="utf-8"), "mine")
        self.assertTrue((self.scratch / "out.xsp.partial~2").exists())
        self.assertFalse((self.scratch / "out.xsp.partial~").exists())


if __name__ == "__main__":
    unittest.main()
