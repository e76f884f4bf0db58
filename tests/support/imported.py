# SPDX-License-Identifier: Apache-2.0
"""Tests of one importer: files of the test's own making, imported, and their spans with tags and tracks."""
import json
import os
import unittest

from scripted import temporary_folder, xsp, xsp_json

DATA = os.environ.get("XSP_TEST_DATA", "")


def real_file(*parts):
    """The path of a published file; skips the test where the folder of them is absent."""
    path = os.path.join(DATA, *parts)
    if not os.path.exists(path):
        raise unittest.SkipTest(f"no {os.path.join(*parts)}: set XSP_TEST_DATA")
    return path


class Imported(unittest.TestCase):
    def setUp(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.out = os.path.join(self.folder, "out.xsp")

    def write(self, content, name):
        path = os.path.join(self.folder, name)
        if isinstance(content, (dict, list)):
            content = json.dumps(content)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def load(self, *contents, options=()):
        """The account of an import of these files, whose names say nothing, and its spans, each with its tags and track."""
        return self.load_files(*(self.write(content, f"{i}.dat") for i, content in enumerate(contents)), options=options)

    def load_files(self, *paths, options=()):
        report = xsp_json("import", *paths, "-o", self.out, "--force", "--json", *options)
        spans = self.rows("select s.*, t.name as track, t.process_id, t.thread_id, t.device_id, t.stream_id from span s"
                          " join track t using (run_id, track_id) order by run_id, span_id")
        by_id = {(span["run_id"], span["span_id"]): span for span in spans}
        for span in spans:
            span["tags"] = {}
        for row in self.rows("select run_id, span_id, key, value from tag"):
            by_id[row["run_id"], row["span_id"]]["tags"][row["key"]] = row["value"]
        return report, spans

    def rows(self, sql):
        return xsp_json("sql", self.out, sql, "--json")

    def system(self):
        return {row["key"]: row["value"] for row in self.rows("select key, value from system")}

    def refuse(self, *contents, mentions=(), options=()):
        """These files are refused with status 2 and one line that has these words; there is no output."""
        paths = [self.write(content, f"{i}.dat") for i, content in enumerate(contents)]
        out = os.path.join(self.folder, "refused.xsp")
        error = xsp("import", *paths, "-o", out, *options, check=2).stderr.decode()
        self.assertEqual(error.count("\n"), 1, error)
        for word in mentions:
            self.assertIn(word, error)
        self.assertFalse(os.path.exists(out))
