# SPDX-License-Identifier: Apache-2.0
"""xsp recover: sessions of programs without xsp, of killed programs and of a killed xsp."""
import json
import os
import pathlib
import struct
import subprocess
import tempfile
import time
import unittest

import strangers

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
XSP = BUILD / "xsp"
WORKLOAD = BUILD / "test-programs" / "collect-traced-workload"


class SessionTest(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="xsp-recover-")
        self.folder = pathlib.Path(self.temporary.name)
        self.session, self.out = self.folder / "session", self.folder / "out.xsp"
        self.progress = self.folder / "progress"
        self.progress.write_bytes(bytes(4096))

    def tearDown(self):
        self.temporary.cleanup()

    def finished(self, threads=2):
        return sum(struct.unpack(f"<{threads}Q", self.progress.read_bytes()[:8 * threads]))

    def allow(self, spans):
        """How many spans a thread may finish by now; see traced_workload.c."""
        with open(self.progress, "r+b") as file:
            file.seek(64 * 8)
            file.write(struct.pack("<Q", spans))

    def start(self, threads, spans, **environment):
        return subprocess.Popen([WORKLOAD, self.progress, str(threads), str(spans)],
                                env={**os.environ, "XSP_SESSION": str(self.session), **environment})

    def recover(self, *arguments, status=0):
        result = subprocess.run([XSP, "recover", *arguments], timeout=600, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, status, result.stderr.decode())
        self.assertEqual(result.stdout, b"")
        return result.stderr.decode()

    def sql(self, query, path=None):
        result = subprocess.run([XSP, "sql", path or self.out, query, "--json"], check=True, timeout=600,
                                stdout=subprocess.PIPE)
        return json.loads(result.stdout)


class RecoverTest(SessionTest):
    def test_a_program_by_itself(self):
        self.assertEqual(self.start(2, 5000).wait(600), 0)
        messages = self.recover(self.session, "-o", self.out)
        self.assertRegex(messages, "10000 spans .*0 open, 0 dropped, 0 overwritten, 0 torn")
        self.assertFalse(self.session.exists())
        rows = self.sql("select name, level, count(*) as n from span group by 1, 2 order by 1")
        self.assertEqual([(row["name"], row["level"], row["n"]) for row in rows],
                         [("inner", "kernel", 5000), ("outer", "layer", 5000)])
        # Live spans, equal intervals included, nest as they ran.
        self.assertEqual(self.sql("select p.name as parent, count(*) as n from span s join span p on"
                                  " p.run_id = s.run_id and p.span_id = s.parent_id where s.name = 'inner' group by 1"),
                         [{"parent": "outer", "n": 5000}])
        run = self.sql("select levels, epoch, dropped_count from run")
        self.assertEqual(run, [{"levels": "L/K", "epoch": "unix", "dropped_count": 0}])
        experiment = self.sql("select name, command from experiment")[0]
        self.assertEqual(experiment["name"], "collect-traced-workload")
        self.assertIn("progress", experiment["command"])

    def test_killed_at_any_instant(self):
        for round_number in range(8):
            self.progress.write_bytes(bytes(4096))
            # A bounded share of memory, so that a fast machine does not fill it before the kill.
            process = self.start(2, 0, XSP_SESSION_LIMIT_BYTES=str(16 << 20))
            deadline = time.monotonic() + 600
            while self.finished() < 1 + 3001 * round_number and time.monotonic() < deadline:
                pass
            process.kill()
            process.wait(600)
            messages = self.recover(self.session, "-o", self.out, "--force")
            finished = self.finished()
            counts = self.sql("select (select count(*) from span where duration_ns is not null) as whole,"
                              " (select count(*) from span where duration_ns is null) as open, dropped_count as dropped"
                              " from run")[0]
            with self.subTest(round=round_number, messages=messages):
                self.assertGreaterEqual(counts["whole"] + counts["dropped"], finished)
                # Beyond what was counted: one finish a thread, and its torn slot.
                self.assertLessEqual(counts["whole"] + counts["dropped"], finished + 4)
                self.assertLessEqual(counts["open"], 4)

    def test_keep_and_force(self):
        self.assertEqual(self.start(1, 10).wait(600), 0)
        self.recover(self.session, "-o", self.out, "--keep")
        self.assertTrue(self.session.exists())
        before = self.out.read_bytes()
        error = self.recover(self.session, "-o", self.out, status=2)
        self.assertIn("exists", error)
        self.assertEqual(self.out.read_bytes(), before)
        self.assertTrue(self.session.exists())
        self.recover(self.session, "-o", self.out, "--force")
        self.assertEqual(self.sql("select count(*) as n from span"), [{"n": 10}])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["out.xsp", "progress"])

    def test_a_file_in_the_place_of_the_new_one(self):
        """A file without a journal has the name under which the new one is written: it is set aside, and read from there."""
        self.assertEqual(self.start(1, 10).wait(600), 0)
        self.recover(self.session, "-o", self.out)
        partial, aside = self.folder / "out.xsp.partial", self.folder / "out.xsp.partial~"
        before = self.out.read_bytes()
        self.out.rename(partial)
        messages = self.recover(partial, "-o", self.out)
        self.assertIn(str(aside), messages)
        self.assertEqual(self.sql("select count(*) as n from span"), [{"n": 10}])
        self.assertEqual((partial.exists(), aside.read_bytes()), (False, before))

    def test_refusals(self):
        error = self.recover(self.folder, "-o", self.out, status=2)
        self.assertIn("session", error)
        self.assertEqual(error.count("\n"), 1)
        self.recover(self.folder / "nowhere", "-o", self.out, status=2)
        self.assertEqual(self.start(1, 10).wait(600), 0)
        self.assertIn("output", self.recover(self.session, status=2))
        for name, size in (("catalog", 16), ("session", 100)):
            path = self.session / name
            content = path.read_bytes()
            path.write_bytes(content[:size])
            self.assertIn("cut short", self.recover(self.session, "-o", self.out, status=2))
            path.write_bytes(content)
        self.assertFalse(self.out.exists())
        self.recover(self.session, "-o", self.folder / "no" / "such" / "out.xsp", status=3)
        self.assertTrue(self.session.exists())

    def test_a_broken_ring_does_not_hide_the_others(self):
        self.allow(50)  # so that both threads are there at once, each with a ring of its own
        process = self.start(2, 100)
        deadline = time.monotonic() + 600
        while self.finished() < 100 and time.monotonic() < deadline:
            pass
        self.allow(1000)
        self.assertEqual(process.wait(600), 0)
        ring = self.session / "ring-2"
        os.truncate(ring, 3000)
        messages = self.recover(self.session, "-o", self.out)
        self.assertIn("ring-2: ", messages)
        self.assertEqual(self.sql("select count(*) as n from span")[0]["n"], 100)

    def test_several_sessions_in_one_file(self):
        self.assertEqual(self.start(1, 10).wait(600), 0)
        first = self.session.rename(self.folder / "first")
        self.progress.write_bytes(bytes(4096))
        self.assertEqual(self.start(1, 20).wait(600), 0)
        self.recover(first, self.session, "-o", self.out)
        self.assertEqual([row["n"] for row in self.sql("select count(*) as n from span group by run_id order by run_id")],
                         [10, 20])


class OwnerTest(SessionTest):
    """Sessions belong to the caller, or are refused: their files name what is written, and where."""

    def setUp(self):
        super().setUp()
        self.victim = self.folder / "victim.xsp"
        self.assertEqual(self.start(1, 10).wait(600), 0)
        (self.session / "collector").write_text(f"run {1:27d}\n1\t{self.victim}\n", encoding="utf-8")

    def refused(self, *words):
        before = strangers.snapshot(self.session)
        for arguments in ((), ("-o", self.out), ("-o", self.out, "--force")):
            error = self.recover(self.session, *arguments, status=2)
            for word in words:
                self.assertIn(word, error)
        self.assertEqual(strangers.snapshot(self.session), before)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["progress", "session"])

    @unittest.skipUnless(os.geteuid() == 0, "a second user's files are made by root only")
    def test_of_another_user(self):
        for path in (self.session, *self.session.iterdir()):
            os.chown(path, strangers.STRANGER, strangers.STRANGER)
        self.refused("belongs to user 65534")

    def check_not_joined(self):
        """A program runs as without a session, and writes nothing there."""
        before = strangers.snapshot(self.session)
        self.progress.write_bytes(bytes(4096))
        self.assertEqual(self.start(1, 10).wait(600), 0)
        self.assertEqual(self.finished(), 10)
        self.assertEqual(strangers.snapshot(self.session), before)

    @unittest.skipUnless(os.geteuid() == 0, "a second user's files are made by root only")
    def test_programs_do_not_join_another_users(self):
        for path in (self.session / "catalog", self.session / "session", self.session):
            os.chown(path, strangers.STRANGER, strangers.STRANGER)
            self.check_not_joined()
            os.chown(path, 0, 0)

    def test_programs_do_not_join_where_others_can_write(self):
        self.session.chmod(0o770)
        self.check_not_joined()

    def test_a_catalog_that_claims_to_be_full(self):
        """The sum of what it claims and of what is asked for passes 2^64."""
        with (self.session / "catalog").open("r+b") as file:
            file.seek(16)
            file.write(struct.pack("<Q", 2**64 - 8))
        self.progress.write_bytes(bytes(4096))
        self.assertEqual(self.start(1, 10).wait(600), 0)

    @unittest.skipUnless(os.geteuid() == 0, "a second user's files are made by root only")
    def test_a_file_of_another_user_in_it(self):
        for name, word in (("session", "another user"), ("catalog", "another user")):
            os.chown(self.session / name, strangers.STRANGER, strangers.STRANGER)
            self.refused(name, word)
            os.chown(self.session / name, 0, 0)
        os.chown(self.session / "collector", strangers.STRANGER, strangers.STRANGER)
        self.assertIn("output", self.recover(self.session, status=2))  # nobody says where to
        os.chown(self.session / "ring-1", strangers.STRANGER, strangers.STRANGER)
        self.assertIn("ring-1", self.recover(self.session, "-o", self.out))
        self.assertFalse(self.victim.exists())

    def test_that_others_can_write_to(self):
        for mode in (0o777, 0o1777, 0o770):
            self.session.chmod(mode)
            self.refused("other users can write to it", "chmod")

    def test_links_are_not_followed(self):
        elsewhere = self.folder.parent / f"{self.folder.name}-elsewhere"
        self.addCleanup(elsewhere.unlink)
        for name in ("session", "catalog"):
            (self.session / name).rename(elsewhere)
            (self.session / name).symlink_to(elsewhere)
            self.refused(name)
            (self.session / name).unlink()
            elsewhere.rename(self.session / name)
        (self.session / "collector").rename(elsewhere)
        (self.session / "collector").symlink_to(elsewhere)
        self.assertIn("output", self.recover(self.session, status=2))
        content = elsewhere.read_bytes()
        (self.session / "tracks").unlink(missing_ok=True)
        (self.session / "tracks").symlink_to(elsewhere)
        self.recover(self.session, "-o", self.out)
        self.assertEqual(elsewhere.read_bytes(), content)
        self.assertFalse(self.victim.exists())


class KilledCollectorTest(unittest.TestCase):
    """`xsp profile` killed: no measurement is lost or stored twice."""

    MODEL = "input data float N,8\nlayer conv Conv 200us\nlayer relu Relu 100us\nlayer fc Gemm 50us\n"

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="xsp-recover-")
        self.folder = pathlib.Path(self.temporary.name)
        self.model, self.out = self.folder / "model.xspscript", self.folder / "out.xsp"
        self.model.write_text(self.MODEL, encoding="utf-8")

    def tearDown(self):
        self.temporary.cleanup()

    @staticmethod
    def sessions_of(pid):
        """The session folders of the runners that this xsp started."""
        found = {}
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if not entry.name.isdigit() or int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) != pid:
                    continue
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue  # it ended meanwhile
            for variable in variables:
                if variable.startswith(b"XSP_SESSION="):
                    found[pathlib.Path(os.fsdecode(variable[12:]))] = int(entry.name)
        return found

    def committed(self):
        """Model spans that the unfinished file has by now."""
        result = subprocess.run([XSP, "sql", f"{self.out}.partial", "select count(*) as n from span where"
                                 " level = 'model'", "--json"], timeout=600, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL)
        return json.loads(result.stdout)[0]["n"] if result.returncode == 0 else 0

    def test_killed_while_it_measures(self):
        with subprocess.Popen([XSP, "profile", self.model, "--levels", "M,M/L", "--runs", "100000", "--batch", "1",
                               "-o", self.out], stderr=subprocess.DEVNULL) as process:
            try:
                deadline = time.monotonic() + 600
                while self.committed() < 20 and process.poll() is None and time.monotonic() < deadline:
                    pass
                sessions = self.sessions_of(process.pid)
            finally:
                process.kill()
        self.assertEqual(len(sessions), 2)
        deadline = time.monotonic() + 600
        for runner in sessions.values():  # they leave when their xsp is gone
            while time.monotonic() < deadline and os.path.exists(f"/proc/{runner}"):
                pass
        committed = self.committed()
        self.assertGreaterEqual(committed, 20)
        result = subprocess.run([XSP, "recover", *sessions], timeout=600, stderr=subprocess.PIPE)
        self.assertEqual(result.returncode, 0, result.stderr.decode())
        self.assertIn(f"into {self.out}", result.stderr.decode())
        self.assertFalse([folder for folder in sessions if folder.exists()])
        rows = json.loads(subprocess.run(
            [XSP, "sql", self.out, "select r.levels, sum(s.level = 'model' and s.duration_ns is not null) as models,"
             " sum(s.level = 'layer') as layers, sum(s.level = 'layer' and s.parent_id is null) as orphans,"
             " count(*) - count(distinct s.span_id) as repeated from run r join span s on s.run_id = r.run_id"
             " group by 1 order by 1", "--json"], check=True, timeout=600, stdout=subprocess.PIPE).stdout)
        self.assertEqual([row["levels"] for row in rows], ["M", "M/L"])
        self.assertGreaterEqual(sum(row["models"] for row in rows), committed)
        self.assertLessEqual(abs(rows[0]["models"] - rows[1]["models"]), 1)
        self.assertEqual([row["repeated"] for row in rows], [0, 0])
        self.assertEqual([row["orphans"] or 0 for row in rows], [0, 0])
        # Whole predictions have all their layers; the one that was cut short has some of them.
        self.assertIn(rows[1]["layers"] - 3 * rows[1]["models"], (0, 1, 2, 3))


if __name__ == "__main__":
    unittest.main()
