# SPDX-License-Identifier: Apache-2.0
"""The loadable extension in Debian's sqlite3 shell and in Python's sqlite3, compared with `xsp sql` and the SQLite export."""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
SHELL = shutil.which("sqlite3")
TRACE = SOURCE / "fuzz/corpus/store/small"
QUESTIONS = [
    "select count(*) n, sum(duration_ns), min(start_ns) from span",
    "select name, count(*), sum(duration_ns) from span group by name order by name",
    "select level, kind, category, parent_id, basis, depth, is_open from span order by span_id",
    "select span_id, key, value, typeof(value) from tag order by 1, 2, 3",
    "select p.name, count(*) from span s join span p on p.run_id = s.run_id and p.span_id = s.parent_id"
    " group by 1 order by 1",
    "select run_id, levels, batch_size, epoch from run",
]


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "a sanitized extension does not load into an ordinary program")
class Extension(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.trace = pathlib.Path(self.folder.name) / "small.xsp"
        shutil.copy(TRACE, self.trace)

    def xsp_sql(self, question):
        result = subprocess.run([BUILD / "xsp", "sql", self.trace, question, "--json"], capture_output=True, text=True,
                                timeout=600)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def shell(self, *commands, file=None):
        result = subprocess.run(["sqlite3", "-json", str(file or self.trace), *commands], capture_output=True, text=True,
                                timeout=600)
        return result

    def loaded(self, question, file=None):
        result = self.shell(f".load {BUILD}/xsp_sqlite", question, file=file)
        self.assertEqual(result.stderr, "")
        return json.loads(result.stdout or "[]")

    @unittest.skipUnless(SHELL, "no sqlite3 shell")
    def test_shell_equals_xsp_sql(self):
        for question in QUESTIONS:
            with self.subTest(question):
                rows = self.xsp_sql(question)
                self.assertTrue(rows)
                self.assertEqual(self.loaded(question), rows)

    def test_export_equals_xsp_sql(self):
        exported = pathlib.Path(self.folder.name) / "out.db"
        subprocess.run([BUILD / "xsp", "export", self.trace, "--to", "sqlite", "-o", exported], check=True, timeout=600,
                       capture_output=True)
        connection = sqlite3.connect(exported)
        self.addCleanup(connection.close)
        for question in QUESTIONS:
            with self.subTest(question):
                self.assertEqual(connection.execute(question).fetchall(),
                                 [tuple(row.values()) for row in self.xsp_sql(question)])
        plan = connection.execute("explain query plan select * from span where run_id = 1 and span_id = 2").fetchall()
        self.assertIn("USING INDEX", str(plan))

    @unittest.skipUnless(SHELL, "no sqlite3 shell")
    def test_tables_cannot_be_written(self):
        for statement in ("insert into span(span_id) values(1)", "delete from tag", "create virtual table t using span"):
            result = self.shell(f".load {BUILD}/xsp_sqlite", statement)
            self.assertIn("rror", result.stderr, statement)

    @unittest.skipUnless(SHELL, "no sqlite3 shell")
    def test_a_database_that_is_no_trace(self):
        result = self.shell(f".load {BUILD}/xsp_sqlite", "select * from span", file=":memory:")
        self.assertIn("no such table", result.stderr)

    def test_a_file_gets_a_table_between_two_questions(self):
        """As one that is being recorded does."""
        connection = sqlite3.connect(self.trace)
        self.addCleanup(connection.close)
        if not hasattr(connection, "enable_load_extension"):
            self.skipTest("this Python cannot load extensions")
        connection.enable_load_extension(True)
        connection.load_extension(str(BUILD / "xsp_sqlite"))
        for table in ("one", "two"):
            found = connection.execute(QUESTIONS[0]).fetchall()
            other = sqlite3.connect(self.trace)
            other.execute(f"create table {table}(x)")
            other.close()
            self.assertEqual(connection.execute(QUESTIONS[0] + " where 1").fetchall(), found)

    def test_python(self):
        connection = sqlite3.connect(self.trace)
        if not hasattr(connection, "enable_load_extension"):
            self.skipTest("this Python cannot load extensions")
        connection.enable_load_extension(True)
        connection.load_extension(str(BUILD / "xsp_sqlite"))
        for question in QUESTIONS:
            with self.subTest(question):
                self.assertEqual(connection.execute(question).fetchall(),
                                 [tuple(row.values()) for row in self.xsp_sql(question)])
        self.assertEqual(connection.execute("select count(*) from span").fetchone(), (20,))
        self.assertEqual(connection.execute("select name from span where span_id = ?", (3,)).fetchone(), ("name 2",))
        self.assertIsNone(connection.execute("select duration_ns from span where is_open").fetchone()[0])
        connection.close()


if __name__ == "__main__":
    unittest.main()
