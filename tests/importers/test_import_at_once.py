# SPDX-License-Identifier: Apache-2.0
"""Verbs that read .xsp files take traces of other profilers too: the answers are those of the imported file, and nothing of
the file in between stays."""
import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time
import unittest

import strangers
from scripted import TIMEOUT_S, XSP, temporary_folder

CORPUS = pathlib.Path(os.environ["XSP_SOURCE"]) / "fuzz" / "corpus"
FORMATS = {"import_chrome": "chrome", "import_kineto": "kineto", "import_nsys": "nsys", "import_ort": "ort",
           "import_otlp_json": "otlp", "import_otlp_proto": "otlp-proto"}
QUERY = "select name, level, kind, start_ns, end_ns, basis from span order by run_id, span_id"
STEPS = [{"ph": "X", "name": f"ProfilerStep#{i}", "cat": "user_annotation", "pid": 1, "tid": 1, "ts": 100 * i, "dur": 90}
         for i in range(3)] + [{"ph": "X", "name": "aten::mm", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": 100 * i + 10, "dur": 60}
                               for i in range(3)]


class AtOnce(unittest.TestCase):
    def setUp(self):
        made = temporary_folder()
        self.addCleanup(made.cleanup)
        self.folder, self.scratch = pathlib.Path(made.name) / "traces", pathlib.Path(made.name) / "scratch"
        self.folder.mkdir()
        self.scratch.mkdir()
        self.environment = {**os.environ, "TMPDIR": str(self.scratch)}

    def run_xsp(self, *arguments, status=0, through=()):
        result = subprocess.run([*through, XSP, *map(str, arguments)], timeout=TIMEOUT_S, capture_output=True, text=True, check=False,
                                env=self.environment, cwd=self.folder.parent)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(list(self.scratch.iterdir()), [], arguments)
        return result

    def trace(self, name="trace.json", events=STEPS):
        path = self.folder / name
        path.write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
        return path

    def test_every_format_and_verb(self):
        for corpus, form in FORMATS.items():
            taken = 0
            for source in sorted((CORPUS / corpus).iterdir()):
                path, kept = self.folder / source.name, self.folder.parent / "kept.xsp"
                shutil.copy(source, path)
                imported = subprocess.run([XSP, "import", path, "-o", kept, "--force"], capture_output=True, check=False,
                                          timeout=TIMEOUT_S, env=self.environment)
                if imported.returncode != 0 or not imported.stdout.startswith(f"{path}: {form}".encode()):
                    continue
                taken += 1
                before = strangers.snapshot(self.folder)
                with self.subTest(source.name):
                    result = self.run_xsp("sql", path, QUERY, "--json")
                    self.assertEqual(json.loads(result.stdout), json.loads(self.run_xsp("sql", kept, QUERY, "--json").stdout))
                    self.assertIn(f"{path}: {form}, imported into a temporary file", result.stderr)
                    self.run_xsp("report", path, "-o", "out.html", "--force")
                    self.assertEqual(strangers.snapshot(self.folder), before)
                path.unlink()
                if taken == 3:
                    break
            self.assertGreater(taken, 0, f"no file of {corpus} was imported")

    def test_no_room_for_the_temporary_file(self):
        """Its name, which means nothing to anybody, is not in the message."""
        packed = self.folder / "packed.sqlite.gz"
        packed.write_bytes(gzip.compress(next((CORPUS / "import_nsys").glob("*.sqlite")).read_bytes() + bytes(1 << 20)))
        for path, blocks, what in ((self.trace(), 16, "create trace"), (packed, 1000, "decompress")):
            with self.subTest(path.name):
                limit = ["sh", "-c", f'ulimit -f {blocks}; trap "" XFSZ; exec "$@"', "sh"]
                result = self.run_xsp("sql", path, QUERY, status=3, through=limit)
                self.assertRegex(result.stderr, f"cannot {what}: a temporary file in TMPDIR: .*try: TMPDIR=")
                self.assertNotIn(str(self.scratch), result.stderr)

    def test_the_other_verbs(self):
        path, kept = self.trace(), self.folder.parent / "kept.xsp"
        self.run_xsp("import", path, "-o", kept)
        for verb in (["analyze", "A2", "FILE", "--json"], ["analyze", "FILE", "--json"], ["check", "--links=FILE", "--json"]):
            answers = [self.run_xsp(*(word.replace("FILE", str(file)) for word in verb)).stdout.replace(str(file), "FILE")
                       for file in (path, kept)]
            self.assertEqual(answers[0], answers[1], verb)
        self.assertIn("trace.json", self.run_xsp("info", path).stdout)
        for file, out in ((path, "a.csv"), (kept, "b.csv")):
            self.run_xsp("export", file, "--to", "csv", "-o", out)
        self.assertEqual((self.folder.parent / "a.csv").read_bytes(), (self.folder.parent / "b.csv").read_bytes())

    def test_next_steps(self):
        """Each verb that wrote a trace offers the page."""
        path, kept = self.trace(), self.folder.parent / "kept.xsp"
        self.assertIn(f"xsp report {kept} ", self.run_xsp("import", path, "-o", kept).stderr.split("next:")[1])
        again = self.folder.parent / "again.xsp"
        self.assertIn(f"xsp report {again} ", self.run_xsp("recover", kept, "-o", again).stderr.split("next:")[1])
        self.assertIn(f"xsp report {path} ", self.run_xsp("analyze", path).stderr.split("next:")[1])

    def test_reports_are_named_after_the_trace(self):
        path, packed = self.trace(), self.folder / "packed.pt.trace.json.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        self.assertIn("wrote trace.html", self.run_xsp("report", path, packed).stderr)
        self.assertIn("wrote packed.pt.trace.html", self.run_xsp("report", packed).stderr)

    def test_a_report_does_not_replace_the_trace(self):
        path = self.trace()
        before = path.read_bytes()
        self.run_xsp("report", path, "-o", path, "--force", status=2)
        self.assertEqual(path.read_bytes(), before)

    def test_what_cannot_be_read(self):
        whole = self.trace().read_text()
        for name, text, word in (("broken.json", whole[:len(whole) // 2], "cannot import"), ("words.txt", "hello", "not an .xsp file"),
                                 ("empty.json", '{"traceEvents": []}', "no span")):
            path = self.folder / name
            path.write_text(text, encoding="utf-8")
            self.assertIn(word, self.run_xsp("analyze", path, status=2).stderr)
            self.assertIn(word, self.run_xsp("report", path, "-o", "x.html", status=2).stderr)
        self.assertFalse((self.folder.parent / "x.html").exists())

    def test_a_folder_for_temporary_files_that_is_missing(self):
        self.environment["TMPDIR"] = str(self.scratch / "absent")
        self.assertIn("TMPDIR", self.run_xsp("analyze", self.trace(), status=3).stderr)

    def test_a_signal_leaves_nothing(self):
        """Whenever the signal comes, once the temporary file is there."""
        path = self.trace("long.json", [{**event, "ts": event["ts"] + 1000 * i} for i in range(60_000) for event in STEPS])
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen([XSP, "analyze", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                       env=self.environment)
            deadline = time.monotonic() + TIMEOUT_S
            while not list(self.scratch.iterdir()) and process.poll() is None:
                self.assertLess(time.monotonic(), deadline)
            for file in self.scratch.iterdir():
                try:
                    self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
                except FileNotFoundError:  # it lost its name
                    pass
            process.send_signal(number)
            process.communicate(timeout=TIMEOUT_S)
            self.assertIn(process.returncode, (-number, 0))
            self.assertEqual(list(self.scratch.iterdir()), [])


if __name__ == "__main__":
    unittest.main()
