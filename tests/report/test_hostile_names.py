# SPDX-License-Identifier: Apache-2.0
"""Names from traces in CSV, and exports to stdout."""
import csv
import io
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

from scripted import TIMEOUT_S

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
XSP = BUILD / "xsp"
# What a trace holds, and what a spreadsheet or a terminal gets to see: derived from the rule by hand.
NAMES = {
    "=cmd|' /C calc'!A0": "'=cmd|' /C calc'!A0",
    "+1": "'+1",
    "-1+2": "'-1+2",
    "@SUM(A1)": "'@SUM(A1)",
    "\t=1": "\\t=1",
    "\r=1": "\\x0d=1",
    "\x1b]0;title\x07": "\\x1b]0;title\\x07",
    "\uff1d1": "'\uff1d1",  # the full-width = + - @, which some spreadsheets take for the others
    "\uff0b1": "'\uff0b1",
    "\uff0d1": "'\uff0d1",
    "\uff20SUM(A1)": "'\uff20SUM(A1)",
    "\uff21": "\uff21",
    "a;=1;b;@c": "a;'=1;b;'@c",  # many locales split at a semicolon, and not at a comma
    "a;\uff0b1": "a;'\uff0b1",
    "a;\"=1\"": "a;'\"=1\"",
    "a;b=1;": "a;b=1;",
    "a\u202eb\u2066c\u2069": "a\\u{202e}b\\u{2066}c\\u{2069}",
    "a\u2028b\u2029": "a\\u{2028}b\\u{2029}",
    "c1 \u009b31m": "c1 \\u{9b}31m",
    "=\x1b": "'=\\x1b",
    "a\nb": "a\\nb",
    "a=b-c, \"d\"": "a=b-c, \"d\"",
    "'quoted": "'quoted",
    "größer": "größer",
}
FORMATS = {"perfetto": b"\n", "chrome": b"{", "otlp": b"{", "otlp-proto": b"\n", "csv": b"run_id", "speedscope": b"{",
           "folded": b"", "pprof": b"\x1f\x8b", "otlp-profiles": b"\n"}


class HostileNames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="xsp-names-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.trace = cls.folder / "x.xsp"
        events = [{"ph": "X", "name": name, "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 20 * place, "dur": 10}
                  for place, name in enumerate(NAMES)]
        (cls.folder / "trace.json").write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
        subprocess.run([XSP, "import", cls.folder / "trace.json", "-o", cls.trace], check=True, timeout=TIMEOUT_S,
                       capture_output=True)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def xsp(self, *arguments, status=0):
        result = subprocess.run([XSP, *arguments], timeout=TIMEOUT_S, capture_output=True, check=False, cwd=self.folder)
        self.assertEqual(result.returncode, status, result.stderr.decode())
        return result

    def rows(self, *arguments):
        return list(csv.DictReader(io.StringIO(self.xsp(*arguments).stdout.decode(), newline="")))

    def test_csv_of_a_query(self):
        query = "select name, -start_ns - 1 as number from span order by start_ns"
        rows = self.rows("sql", self.trace, query, "--format", "csv")
        self.assertEqual([row["name"] for row in rows], list(NAMES.values()))
        self.assertEqual([int(row["number"]) < 0 for row in rows], [True] * len(NAMES))  # numbers stay numbers
        self.assertEqual([row["name"] for row in self.rows("sql", self.trace, query, "--format", "csv", "--raw")],
                         list(NAMES))

    def test_names_of_columns(self):
        text = self.xsp("sql", self.trace, "select 1 as \"=1\"", "--format", "csv").stdout
        self.assertEqual(text, b"'=1\r\n1\r\n")

    def test_csv_of_spans(self):
        self.xsp("export", self.trace, "-o", "out.csv", "--force")
        with open(self.folder / "out.csv", encoding="utf-8", newline="") as file:
            self.assertEqual([row["name"] for row in csv.DictReader(file)], list(NAMES.values()))
        self.assertEqual([row["name"] for row in self.rows("export", self.trace, "--to", "csv", "-o", "-")],
                         list(NAMES.values()))
        self.assertEqual([row["name"] for row in self.rows("export", self.trace, "--to", "csv", "-o", "-", "--raw")],
                         list(NAMES))

    def test_raw_is_for_csv(self):
        for arguments in (("export", self.trace, "--to", "chrome", "-o", "-", "--raw"),
                          ("info", self.trace, "--raw"), ("info", self.trace, "--json", "--raw")):
            self.assertIn(b"csv --raw", self.xsp(*arguments, status=2).stderr)

    def test_every_format_to_stdout(self):
        for name, beginning in FORMATS.items():
            with self.subTest(name):
                result = self.xsp("export", self.trace, "--to", name, "-o", "-")
                self.assertTrue(result.stdout.startswith(beginning))
                self.xsp("export", self.trace, "--to", name, "-o", "file", "--force")
                self.assertEqual(result.stdout, (self.folder / "file").read_bytes())
                self.assertNotIn(b"wrote", result.stderr)
        page = self.xsp("report", self.trace, "-o", "-").stdout
        self.assertTrue(page.lower().startswith(b"<!doctype html>"))
        self.assertFalse((self.folder / "-").exists())

    def test_what_stdout_cannot_take(self):
        for arguments in (("export", self.trace, "--to", "sqlite", "-o", "-"), ("import", "trace.json", "-o", "-")):
            error = self.xsp(*arguments, status=2).stderr
            self.assertIn(b"in any order", error)
        self.assertFalse((self.folder / "-").exists())
        self.xsp("export", self.trace, "--to", "sqlite", "-o", "./-")  # a file of that name can be asked for
        with sqlite3.connect(self.folder / "-") as data:
            self.assertEqual(data.execute("select count(*) from span").fetchone(), (len(NAMES),))
        data.close()
        (self.folder / "-").unlink()

    def test_a_reader_that_goes_away(self):
        read_end, write_end = os.pipe()
        os.close(read_end)
        result = subprocess.run([XSP, "export", self.trace, "--to", "csv", "-o", "-"], stdout=write_end, timeout=TIMEOUT_S,
                                stderr=subprocess.PIPE, check=False)
        os.close(write_end)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        with open("/dev/full", "wb") as full:
            result = subprocess.run([XSP, "export", self.trace, "--to", "csv", "-o", "-"], stdout=full, timeout=TIMEOUT_S,
                                    stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 3)
        self.assertIn(b"cannot write: stdout", result.stderr)

    def test_a_closed_stdout(self):
        for verb in (("export", "--to", "csv"), ("report",)):
            result = subprocess.run(["sh", "-c", "exec \"$@\" >&-", "sh", XSP, *verb, self.trace, "-o", "-"],
                                    timeout=TIMEOUT_S, capture_output=True, check=False)
            self.assertEqual(result.returncode, 3, verb)
            self.assertIn(b"stdout: it is closed", result.stderr, verb)

    def test_an_output_does_not_go_through_a_link(self):
        """The name of the unfinished file can be guessed: it is made anew, or it is an error."""
        script = ("ln -s \"$1/victim\" \"$1/out.csv.$$.partial\"; touch \"$1/victim\"; "
                  "exec \"$2\" export \"$3\" --to csv -o \"$1/out.csv\"")
        folder = self.folder / "linked"
        folder.mkdir()
        subprocess.run(["sh", "-c", script, "sh", folder, XSP, self.trace], timeout=TIMEOUT_S, check=True, capture_output=True)
        self.assertEqual((folder / "victim").read_bytes(), b"")
        self.assertFalse((folder / "out.csv").is_symlink())


if __name__ == "__main__":
    unittest.main()
