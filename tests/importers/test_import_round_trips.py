# SPDX-License-Identifier: Apache-2.0
"""Each export, imported again: what comes back is what docs/importers.md states. With --update: writes its table."""
import json
import os
import sys
import unittest

import formats
import round_trips
from imported import real_file
from scripted import temporary_folder, xsp, xsp_json

STEPS = "select name, count(*) as n from span join observation using (run_id, span_id) group by 1"


NO_NAME, PATH = "a span without a name is in no chain of names", "a span with a call path has the name of the path's last frame"
NO_THREAD = "spans of two tracks without a process and a thread, of equal times, are one in the other"
NO_TEXT = "no annotation has a text of no length"
NAN, CLOCK = "a number that is NaN is not read", "a track with a clock of its own has no place on a timeline"
LIMITS = {("otlp/numbers.json", "perfetto"): NAN, ("otlp/numbers.json", "chrome"): NAN, ("otlp/unknown_members", "perfetto"): NO_TEXT,
          ("otlp/odd.json", "perfetto"): CLOCK, ("otlp/odd.json", "chrome"): CLOCK,
          ("otlp/plain.json", "perfetto"): NO_THREAD, ("pprof/tags", "perfetto"): NO_THREAD,  # the latter has two runs
          ("chrome/same_start", "chrome"): "a span of 0 ns where others of no end begin",
          ("otlp/numbers.json", "pprof"): NO_NAME, ("ort/odd", "pprof"): NO_NAME, ("chrome/any_order", "pprof"): NO_NAME,
          **{(f"xplane/{name}", "pprof"): PATH for name in ("asynchronous", "loop", "mangled", "paths")}}
for one, other in (("otlp/odd.json", "otlp-proto/odd.pb"), ("otlp/plain.json", "otlp-proto/plain.pb")):
    LIMITS.update({(other, export): why for (name, export), why in LIMITS.items() if name == one})


class RoundTrips(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.table = round_trips.table()

    def test_the_table_is_that_of_the_page(self):
        self.assertEqual(formats.PAGE.read_text(encoding="utf-8"), formats.page_with(self.table, round_trips.BEGIN, round_trips.END))

    def test_what_must_come_back(self):
        """Whatever the page states: OpenTelemetry's form is complete but for samples, timelines have all spans, pprof their sums."""
        rows = {row.split("|")[1].strip(" `"): [cell.strip() for cell in row.split("|")[2:-1]] for row in self.table.splitlines()[2:]}
        self.assertEqual(rows["otlp"][1:], rows["otlp-proto"][1:])
        for name in ("otlp", "perfetto", "chrome"):
            self.assertEqual(rows[name][1:4], ["same"] * 3, name)
        self.assertEqual(rows["pprof"][1:4] + rows["pprof"][5:6], ["sums"] * 4)

    def test_parents_that_nesting_does_not_give(self):
        with temporary_folder() as folder:
            source, file, out = [os.path.join(folder, name) for name in ("in.xsp", "file", "out.xsp")]
            round_trips.linked().write(source)
            before = xsp_json("sql", source, round_trips.PARTS["parents"], "--json")
            self.assertEqual(sum(row["parent"] == "module" for row in before), 4, before)
            for name in ("perfetto", "chrome"):
                xsp("export", source, "--to", name, "-o", file, "--force", check=0)
                xsp("import", file, "-o", out, "--force", check=0)
                self.assertEqual(xsp_json("sql", out, round_trips.PARTS["parents"], "--json"), before, name)
                self.assertEqual(xsp_json("sql", out, STEPS, "--json"), xsp_json("sql", source, STEPS, "--json"), name)

    def test_parents_of_a_file_that_was_edited(self):
        """Nesting gives the parent of spans with basis ambiguous alone, which former versions wrote, and of those whose parent is not in the file."""
        with temporary_folder() as folder:
            source, file, out = [os.path.join(folder, name) for name in ("in.xsp", "file", "out.xsp")]
            round_trips.everything().write(source)
            xsp("export", source, "--to", "chrome", "-o", file, check=0)
            with open(file, encoding="utf-8") as stream:
                trace = json.load(stream)
            for arguments in ({"basis": "ambiguous"}, {"xsp.parent_id": 10**6}, {"xsp.parent_id": 10**6, "basis": "explicit"}):
                for event in trace["traceEvents"]:
                    if event["name"] == "conv":
                        event["args"] = {**{key: value for key, value in event["args"].items() if key not in ("basis", "xsp.parent_id")}, **arguments}
                with open(file, "w", encoding="utf-8") as stream:
                    json.dump(trace, stream)
                xsp("import", file, "-o", out, "--force", check=0)
                parents = xsp_json("sql", out, "select p.name as parent, s.basis from span s left join span p using (run_id)"
                                   " where s.name = 'conv' and p.span_id = s.parent_id group by 1, 2", "--json")
                self.assertEqual(parents, [{"parent": "predict", "basis": "containment"}], arguments)

    def test_inputs_of_each_importer(self):
        """Spans, parents, tags and times are equal, or LIMITS says why not; pprof has the number of spans, and tags that all of them have."""
        tried = set()
        with temporary_folder() as folder:
            source, file, out = [os.path.join(folder, name) for name in ("in.xsp", "file", "out.xsp")]
            for name, path in round_trips.inputs():
                if xsp("import", path, "-o", source, "--force").returncode != 0:
                    continue
                tried.add(name)
                rows = {query: round_trips.rows_of(source, query) for query in (round_trips.COUNTS, round_trips.SPANS_AND_TAGS)}
                for export in ("otlp", "otlp-proto", "perfetto", "chrome", "pprof"):
                    with self.subTest(input=f"{name}/{path.name}", export=export):
                        self.compare(source, rows, file, out, export, is_limit=(f"{name}/{path.name}", export) in LIMITS)
        self.assertEqual(tried, set(formats.WRITERS) - {*formats.DESCRIBED, "otlp-journal"})  # which is no file of its own

    def compare(self, source, rows, file, out, export, is_limit):
        xsp("export", source, "--to", export, "-o", file, "--force", check=0)
        if xsp("import", file, "-o", out, "--force").returncode != 0:
            self.assertTrue(is_limit)
            return
        query = round_trips.COUNTS if export == "pprof" else round_trips.SPANS_AND_TAGS
        before, after = rows[query], round_trips.rows_of(out, query)
        (self.assertNotEqual if is_limit else self.assertEqual)((before - after, after - before), ({}, {}))
        if export != "pprof" or is_limit:
            return
        before, after = (xsp_json("sql", one, round_trips.TAGS, "--json") for one in (source, out))
        all_have, had, has = ({(row["name"], row["key"], row["value"]) for row in rows if not only or row["spans"] == row["all_spans"]}
                              for rows, only in ((before, True), (before, False), (after, False)))
        self.assertLessEqual(all_have, has)
        self.assertLessEqual(has, had)

    def test_parents_of_published_traces(self):
        for path in (("tf", "ikhlestov__GPU_timeline_01.json"), ("torch", "torch1.13_debian12_legacy_autograd_cpu.json")):
            with temporary_folder() as folder:
                source, file, out = [os.path.join(folder, name) for name in ("in.xsp", "file", "out.xsp")]
                xsp("import", real_file(*path), "-o", source, check=0)
                for name in ("perfetto", "chrome"):
                    xsp("export", source, "--to", name, "-o", file, "--force", check=0)
                    xsp("import", file, "-o", out, "--force", check=0)
                    self.assertEqual(*[xsp_json("sql", one, round_trips.PARTS["parents"], "--json") for one in (out, source)], (path, name))


if __name__ == "__main__":
    if "--update" in sys.argv:
        formats.PAGE.write_text(formats.page_with(round_trips.table(), round_trips.BEGIN, round_trips.END), encoding="utf-8")
    else:
        unittest.main()
