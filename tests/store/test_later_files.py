# SPDX-License-Identifier: Apache-2.0
"""Files of a later version that only added something: docs/format.md promises that this version reads them."""
import pathlib
import re
import shutil
import sqlite3
import unittest

from scripted import leveled, temporary_folder, xsp

TABLES = ("experiment", "system", "workload", "evaluation", "output", "run", "observation", "track", "log", "trace", "note", "string", "chunk",
          "frame", "context")
READERS = [("info", "x.xsp"), ("info", "x.xsp", "--json"), ("analyze", "L0", "A1", "A2", "A5", "x.xsp", "--json"),
           ("check", "--links=x.xsp"), ("sql", "x.xsp", "select * from span"), ("sql", "x.xsp", "select * from tag"),
           *(("export", "x.xsp", "--to", form, "-o", "-")
             for form in ("perfetto", "chrome", "otlp", "otlp-proto", "csv", "speedscope", "folded", "pprof", "otlp-profiles")),
           ("report", "x.xsp", "-o", "-")]
COPIES = [("export", "x.xsp", "--to", "sqlite", "-o", "out", "--force"), ("recover", "x.xsp", "-o", "out", "--force")]
SIZE = rb"(?m)^x.xsp: format 1, .*|\"size_bytes\": ?[0-9]+"  # of the file itself, in info
LATER = {
    **{f"a column in {table}": f"alter table {table} add column later text default 'unknown'" for table in TABLES},
    **{f"a number in {table}": f"alter table {table} add column later integer default 7" for table in TABLES},
    "a table": "create table later(run_id, value); insert into later values(1, 'unknown')",
    "a series": "insert into chunk(run_id, series, part, \"column\", row_count, minimum, maximum, data)"
                " select run_id, series || '_later', part, \"column\", row_count, minimum, maximum, data from chunk",
    "a column of spans": "insert into chunk(run_id, series, part, \"column\", row_count, minimum, maximum, data)"
                         " select run_id, series, part, 'later', row_count, minimum, maximum, data from chunk"
                         " where \"column\" = 'start_ns'",
}


class LaterFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = temporary_folder()
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.trace, cls.original = cls.folder / "x.xsp", cls.folder / "original"
        script = leveled()
        script.workload(task="a task")
        script.system(cpu="a processor")
        script.write(cls.original)
        with sqlite3.connect(cls.original) as data:  # a row in every table
            data.execute("insert into log values(1, 1, 5, 'a message')")
            data.execute("insert into trace values(1, 1, '4bf92f3577b34da6a3ce929d0e0e4736')")
            data.execute("insert into frame values(1, 'python', 'main', 'a.py', 7, null, null)")
            data.execute("insert into context values(1, null, 1)")
            data.execute("insert into output values(1, 0, 'a.png', 'float32', '2', x'0000803f00000040')")
            data.execute("insert into evaluation values(1, 'top1_pct', 92.5)")
            data.execute("insert into note values(1, 'a key', 'a value')")
        data.close()
        shutil.copy(cls.original, cls.trace)
        cls.expected = cls.everything()

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def everything(cls):
        """What each verb and output makes of the trace."""
        made = {command: re.sub(SIZE, b"", xsp(*command, cwd=cls.folder, check=0).stdout) for command in READERS}
        for command in COPIES:
            xsp(*command, cwd=cls.folder, check=0)
            data = sqlite3.connect(cls.folder / "out")
            made[command] = [line for line in data.iterdump() if "INSERT INTO \"chunk\"" not in line]
            data.close()
        made["spans of the copy"] = xsp("sql", "out", "select * from span", cwd=cls.folder, check=0).stdout
        return made

    def test_every_table_has_a_row(self):
        data = sqlite3.connect(self.original)
        for table in TABLES:
            self.assertGreater(data.execute(f"select count(*) from {table}").fetchone()[0], 0, table)
        named = {row[0] for row in data.execute("select name from sqlite_schema where type = 'table'")}
        data.close()
        self.assertEqual(named, set(TABLES))

    def test_what_was_added_changes_nothing(self):
        for name, sql in LATER.items():
            shutil.copy(self.original, self.trace)
            data = sqlite3.connect(self.trace)
            data.executescript(sql)
            data.close()
            with self.subTest(name):
                made = self.everything()
                for command, expected in self.expected.items():
                    self.assertEqual(made[command], expected, command)


if __name__ == "__main__":
    unittest.main()
