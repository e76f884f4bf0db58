# SPDX-License-Identifier: Apache-2.0
"""Imports and exports OpenTelemetry traces in a folder of the test's own, and compares files table by table."""
import pathlib
import unittest

from otlp import lines, request
from scripted import temporary_folder, xsp, xsp_json

TABLES = {
    "experiment": "select * from experiment order by experiment_id",
    "system": "select * from system order by system_id, key",
    "workload": "select experiment_id, key, value from workload order by experiment_id, key",
    "run": "select * from run order by run_id",
    "track": "select * from track order by run_id, track_id",
    "trace": "select * from trace order by run_id, trace_id",
    "note": "select * from note where key <> 'import' order by run_id, key, value",
    "observation": "select * from observation order by run_id, observation",
    "span": "select run_id, span_id, trace_id, parent_id, model_id, layer_id, level, kind, category, tracer, track_id, "
            "name, start_ns, end_ns, duration_ns, self_ns, correlation_id, basis, depth, is_open, observation "
            "from span order by run_id, span_id",
    "tag": "select run_id, span_id, key, typeof(value) as type, value from tag order by 1, 2, 3, 4, 5",
    "log": "select run_id, coalesce(span_id, 0) as span_id, time_ns, message from log order by 1, 2, 3, 4",
}


class OtlpTest(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.files = 0

    def path(self, ending):
        self.files += 1
        return self.folder / f"file{self.files}.{ending}"

    def file(self, content, ending="jsonl"):
        path = self.path(ending)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def imported(self, *contents, options=(), ending="jsonl"):
        """Imports files of these contents; returns the .xsp file and the report of the import."""
        paths = [self.file(one, ending) for one in contents]
        out = self.path("xsp")
        return out, xsp_json("import", *paths, "-o", out, "--json", *options)

    def exported(self, source, form="otlp"):
        path = self.path(form)
        xsp("export", source, "--to", form, "-o", path, check=0)
        return path

    def sql(self, path, text):
        return xsp_json("sql", path, text, "--json")

    def rows(self, path, text):
        return [tuple(row.values()) for row in self.sql(path, text)]

    def tables(self, path):
        return {name: self.sql(path, text) for name, text in TABLES.items()}

    def refused(self, content, ending="jsonl", status=2, options=()):
        """An import that must fail without output; returns the message."""
        source = self.file(content, ending)
        out = self.path("xsp")
        result = xsp("import", source, "-o", out, *options)
        text = result.stderr.decode(errors="replace")
        self.assertEqual(result.returncode, status, text)
        self.assertEqual(text.count("\n"), 1, text)
        self.assertTrue(text.startswith("xsp: "), text)
        self.assertEqual([one.name for one in self.folder.iterdir() if ".xsp" in one.name and one.stem == out.stem], [])
        source.unlink()
        return text

    def spans(self, spans, resource=None, **options):
        return self.imported(lines(request(spans, resource)), **options)


def tag(out, test, number, key):
    found = test.sql(out, f"select value from tag where span_id = {number} and key = '{key}'")
    return found[0]["value"] if found else None
