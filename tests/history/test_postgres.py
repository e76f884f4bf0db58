# SPDX-License-Identifier: Apache-2.0
"""xsp history with a real PostgreSQL: the same answers as from files, each measurement once, and what happens when the server is gone,
restarted, full, or has another schema."""
import random
import shutil
import socket
import sqlite3
import threading
import unittest

from history_files import HistoryTest, evaluated, write
from postgres import Postgres


def setUpModule():
    global server
    server = Postgres()
    unittest.addModuleCleanup(server.close)


class DatabaseTest(HistoryTest):
    def setUp(self):
        super().setUp()
        self.name = self.id().rsplit(".", 1)[1].lower()[:60]
        self.address = server.database(self.name)

    def store(self, *files, status=0, address=None):
        return self.run_xsp("history", "--to", address or self.address, *files, "--format", "csv", status=status)

    def count(self):
        return int(server.sql(self.name, "select count(*) from xsp.evaluation")[0])


class Stored(DatabaseTest):
    def test_the_same_answers_as_from_files(self):
        self.zoo()
        for day in range(6):
            write(self.files / f"net{day}.xsp", [random.gauss(10 + (day > 3), 0.1) for _ in range(20)], day)
        self.store(self.files)
        for options in ("", "--table series", "--table series --by model,framework", "--table accuracy", "--table latency", "--table systems --base beta",
                        "--model res* --framework openvino>=2 --system beta --top 2", "--since 2025-10-10 --until 2025-10-12", "--data digits",
                        "--system h100", "--model-version >=1"):
            for form in ("json", "csv", "text"):
                with self.subTest(f"{options} as {form}"):
                    answers = [self.run_xsp("history", place, *options.split(), "--format", form).stdout for place in (self.files, self.address)]
                    self.assertEqual(*answers)
                    self.assertGreater(len(answers[0].splitlines()), 0)
        self.assertEqual(*(self.run_xsp("history", *places, "--json").stdout for places in ([self.files], [self.address, self.files])))

    def test_a_file_is_stored_once(self):
        write(self.files / "a.xsp", [3.0] * 9)
        write(self.files / "b.xsp", [4.0] * 9, evaluation=evaluated(50, 4))
        self.assertEqual(self.store(self.files).stdout.splitlines(),
                         ["file,evaluations,new", f"{self.files}/a.xsp,1,1", f"{self.files}/b.xsp,1,1"])
        shutil.copy(self.files / "a.xsp", self.files / "again.xsp")
        self.assertEqual([line.rsplit(",", 1)[1] for line in self.store(self.files).stdout.splitlines()[1:]], ["0", "0", "0"])
        self.assertEqual(self.count(), 2)

    def test_constraints_and_broken_files(self):
        self.zoo()
        (self.files / "broken.xsp").write_bytes((self.files / "vgg-openvino-beta.xsp").read_bytes()[:6000])
        self.assertIn("broken.xsp", self.store(self.files, "--model", "vgg", "--system", "beta", status=2).stderr)
        self.assertEqual([row["file"] for row in self.rows(self.address)], ["vgg-onnxruntime-beta.xsp", "vgg-openvino-beta.xsp"])

    def test_texts_are_values(self):
        """Nothing of a file becomes a part of a statement, and nothing is lost."""
        path = write(self.files / "a.xsp", [3.0] * 9, name="'; drop table xsp.evaluation; --", host="\\x \"$1\" \U0001f600",
                     evaluation=evaluated(50, 1 / 3, note="it's {\"a\": null}\n\t"))
        with sqlite3.connect(path) as database:
            database.execute("update experiment set framework = cast(x'ff27' as text)")
        self.store(path)
        self.assertEqual(self.rows(self.address), self.rows(path))
        self.assertEqual(server.sql(self.name, "select figures->>'latency_ms' from xsp.evaluation"), [repr(1 / 3)])

    def test_a_site_of_a_database(self):
        self.zoo()
        self.store(self.files)
        site = self.folder / "site"
        self.run_xsp("publish", site, self.address, "--model", "vgg")
        self.assertEqual(sorted(path.parent.name for path in site.rglob("*.html")), ["models", "site", "systems", "systems"])
        self.run_xsp("publish", site, self.address, self.files / "vgg-openvino-beta.xsp", "--model", "vgg")
        self.assertEqual(sum(path.parent.name == "reports" for path in site.rglob("*.html")), 1)
        self.assertEqual((site / "index.html").read_text().count(">open</a>"), 1)

    def test_two_that_begin_at_once(self):
        for number in range(8):
            write(self.folder / f"{number}.xsp", [3.0 + number] * 9)
        threads = [threading.Thread(target=self.store, args=(self.folder / f"{number}.xsp",)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((self.count(), server.sql(self.name, "select version from xsp.version")), (8, ["1"]))


class Faults(DatabaseTest):
    def setUp(self):
        super().setUp()
        write(self.files / "a.xsp", [3.0] * 9)

    def test_nothing_was_stored(self):
        self.refused("no schema xsp", "history", self.address)
        self.assertEqual(server.sql(self.name, "select count(*) from pg_namespace where nspname = 'xsp'"), ["0"])

    def test_another_version_of_the_schema(self):
        self.store(self.files)
        server.sql(self.name, "update xsp.version set version = 2")
        self.refused("version 2", "history", self.address)
        self.refused("version 2", "history", "--to", self.address, self.files)
        self.assertEqual(self.count(), 1)

    def test_no_right_to_write(self):
        self.store(self.files)
        server.sql(self.name, "create role reader login")
        server.sql(self.name, "grant usage on schema xsp to reader; grant select on all tables in schema xsp to reader")
        address = self.address.replace("xsp@", "reader@")
        self.assertEqual(len(self.rows(address)), 1)
        self.refused("permission denied", "history", "--to", address, self.files, status=3)

    def test_no_server(self):
        """One line, without the password."""
        done = self.run_xsp("history", f"postgresql://xsp:geheim@/x?host={self.folder}&connect_timeout=2", status=3)
        self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1))
        self.assertNotIn("geheim", done.stderr)
        self.refused("does not exist", "history", server.address("missing"), status=3)
        self.refused("xsp:", "history", "postgresql://%zz", status=3)

    def test_a_damaged_row(self):
        self.store(self.files)
        server.sql(self.name, "update xsp.evaluation set figures = '[1]', kind = null, batch = null")
        self.refused("not an object", "history", self.address)
        server.sql(self.name, """update xsp.evaluation set figures = '{"latency_ms": [1, {"a": 2}], "b": null, "top1_pct": 1e400, "x": true, "c": 7}'""")
        row, = self.rows(self.address)
        self.assertEqual((row["kind"], row["batch"], row["c"], row.get("latency_ms"), row.get("x")), ("profile", None, 7, None, None))

    def test_a_disk_that_is_full(self):
        """No file of the server may pass 2 MB: the second file's figures do not fit, so none of its rows is there."""
        random.seed(1)
        large = {"batch": 1, "latency_ms": 5, **{f"text{number}": random.randbytes(200_000).hex() for number in range(8)}}
        path = write(self.files / "b.xsp", [5.0] * 9, evaluation=large)
        with sqlite3.connect(path) as database:
            database.execute("insert into experiment select 2, name, workload, framework, framework_version, command, created_ns + 1, system_id, "
                             "xsp_version from experiment")
            database.execute("insert into evaluation values (2, 'latency_ms', 6)")
        write(self.files / "c.xsp", [3.0] * 9, 3)
        server.restart(file_bytes=2 << 20)
        try:
            done = self.store(self.files, status=3)
        finally:
            server.restart()
        self.assertIn("refuses", done.stderr)
        self.assertEqual(done.stdout.splitlines()[1:], [f"{self.files}/a.xsp,1,1"])
        self.assertEqual(self.count(), 1)
        self.assertEqual([line.rsplit(",", 1)[1] for line in self.store(self.files).stdout.splitlines()[1:]], ["0", "2", "1"])


class Proxy:
    """Between xsp and the server. Before the client's COMMIT is sent on, `cut` gets its number and a function that sends it; if it
    returns true, the connection ends. Meanwhile the client hears nothing."""

    def __init__(self, folder, cut):
        self.cut, self.count, self.is_mute = cut, 0, False
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(folder / ".s.PGSQL.5432"))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            upstream = socket.socket(socket.AF_UNIX)
            try:
                upstream.connect(str(server.folder / ".s.PGSQL.5432"))
            except OSError:
                client.close()
                continue
            for source, target, is_client in ((client, upstream, True), (upstream, client, False)):
                threading.Thread(target=self.pump, args=(source, target, is_client), daemon=True).start()

    def pump(self, source, target, is_client):
        try:
            while data := source.recv(1 << 16):
                if is_client and b"COMMIT" in data:
                    self.count += 1
                    self.is_mute = True
                    is_cut = self.cut(self.count, lambda: target.sendall(data))
                    self.is_mute = is_cut
                    if is_cut:
                        break
                if is_client or not self.is_mute:
                    target.sendall(data)
        except OSError:
            pass
        if is_client or not self.is_mute:
            self.is_mute = False
            for one in (source, target):
                try:
                    one.shutdown(socket.SHUT_RDWR)
                except OSError: # the other thread did
                    pass
        source.close()


class Lost(DatabaseTest):
    """The connection ends where it hurts: at a file's COMMIT."""

    def setUp(self):
        super().setUp()
        for day in range(3):
            write(self.files / f"{day}.xsp", [3.0] * 9, day)
        self.store(self.files / "0.xsp")

    def through(self, cut):
        (self.folder / ".s.PGSQL.5432").unlink(missing_ok=True)
        proxy = Proxy(self.folder, cut)
        self.addCleanup(proxy.listener.close)
        return server.address(self.name, self.folder)

    def test_once(self):
        """Before the server has it, and after: each file is stored once."""
        for is_sent in (False, True):
            with self.subTest(is_sent=is_sent):
                server.sql(self.name, "delete from xsp.evaluation where file > '0'")

                def cut(number, send):
                    if number == 2 and is_sent:
                        send()
                        while self.count() != 2:
                            pass
                    return number == 2
                done = self.store(self.files, address=self.through(cut))
                self.assertEqual((len(done.stdout.splitlines()), self.count()), (4, 3))

    def test_a_restart_in_between(self):
        def cut(number, send):
            if number == 2:
                server.restart()
            return number == 2
        self.store(self.files, address=self.through(cut))
        self.assertEqual(self.count(), 3)

    def test_a_server_that_does_not_come_back(self):
        def cut(number, send):
            if number == 2:
                server.stop("fast")
            return number == 2
        try:
            done = self.store(self.files, address=self.through(cut), status=3)
        finally:
            server.start()
        self.assertEqual((len(done.stdout.splitlines()), len(done.stderr.splitlines())), (2, 1), done.stderr)
        self.assertIn("not stored twice", done.stderr)
        self.assertEqual(self.count(), 1)
        self.assertEqual([line.rsplit(",", 1)[1] for line in self.store(self.files).stdout.splitlines()[1:]], ["0", "1", "1"])


if __name__ == "__main__":
    unittest.main()
