# SPDX-License-Identifier: Apache-2.0
"""Every output of a file, each read back: what a viewer of the format needs of it holds, and no span is missing."""
import collections
import csv
import json
import os
import pathlib
import sqlite3

import test_export
from scripted import xsp, xsp_json

ANALYSES = ["L0", *(f"A{number}" for number in range(1, 16)), "T8", "T9", "T10", "T11", "findings"]
SPANS = """select s.*, t.clock from span s left join track t on t.run_id = s.run_id and t.track_id = s.track_id
           order by s.run_id, s.span_id"""


def covered_ns(spans):
    """The time of each track during which it has a span."""
    total, ends = 0, {}
    for span in sorted(spans, key=lambda span: span["start_ns"]):
        track, end = (span["run_id"], span["track_id"]), span["start_ns"] + (span["duration_ns"] or 0)
        total += max(0, end - max(span["start_ns"], ends.get(track, span["start_ns"])))
        ends[track] = max(end, ends.get(track, end))
    return total


class Outputs:
    """The outputs of one .xsp file, and its spans as SQL has them. `case` is the test that fails."""

    def __init__(self, case, path, folder):
        self.case, self.path, self.folder = case, str(path), pathlib.Path(folder)
        self.spans = xsp_json("sql", self.path, SPANS, "--json")
        self.drawn = [span for span in self.spans if span["clock"] is None]  # other clocks are left out

    def written(self, verb, *options, ending):
        target = self.folder / f"out.{ending}"
        xsp(verb, self.path, *options, "-o", target, "--force", check=0)
        return target

    def check(self):
        for form in ("perfetto", "chrome", "speedscope", "folded", "sqlite", "csv", "otlp", "otlp-proto"):
            with self.case.subTest(form):
                getattr(self, "check_" + form.replace("-", "_"))()
        self.written("report", ending="html")
        self.check_readers()

    def check_readers(self):
        for arguments in (["info"], ["info", "--json"], ["check", "--links"], ["analyze", *ANALYSES],
                          ["analyze", "L0", "--by", "layer"], ["analyze", "A10", "--by", "system"]):
            result = xsp(*arguments, self.path)
            self.case.assertIn(result.returncode, (0,) if arguments[0] == "info" else (0, 1), result.stderr)

    # ---- timelines: each track's slices nest strictly, in the order of time
    def check_perfetto(self):
        if test_export.perfetto_trace_pb2 is None:
            self.case.skipTest("the perfetto package is not installed")
        trace = test_export.Trace(self.written("export", "--to", "perfetto", ending="pftrace"))
        self.case.assertEqual(collections.Counter(one.name for one in trace.slices), self.names(self.drawn))
        ended = [span for span in self.drawn if not span["is_open"]]
        self.case.assertEqual(sum(one.end is not None for one in trace.slices), len(ended))
        durations = collections.Counter((one.name, one.end - one.start) for one in trace.slices if one.end is not None)
        self.case.assertEqual(durations, collections.Counter((s["name"] or "", s["duration_ns"]) for s in ended))
        for one in trace.slices:
            if one.parent is not None and one.parent.end is not None and one.end is not None:
                self.case.assertLessEqual(one.end, one.parent.end)
        threads = [(t.thread.pid, t.thread.tid) for t in trace.tracks.values() if t.HasField("thread")]
        self.case.assertEqual(len(threads), len(set(threads)), "two tracks are one thread")

    def check_chrome(self):
        events = json.loads(self.written("export", "--to", "chrome", ending="json").read_text())["traceEvents"]
        slices = [event for event in events if event["ph"] in "XB"]
        self.case.assertEqual(collections.Counter(event["name"] for event in slices), self.names(self.drawn))
        named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
        self.case.assertLessEqual({(event["pid"], event["tid"]) for event in slices}, named)
        ends = collections.defaultdict(list)
        for event in slices:
            start = round(event["ts"] * 1000)
            end = start + round(event["dur"] * 1000) if event["ph"] == "X" else float("inf")
            stack = ends[event["pid"], event["tid"]]
            while stack and stack[-1] <= start:
                stack.pop()
            self.case.assertTrue(not stack or end <= stack[-1] + 2, "slices cross")  # two roundings of doubles
            stack.append(end)

    def check_speedscope(self):
        document = json.loads(self.written("export", "--to", "speedscope", ending="speedscope.json").read_text())
        names = [frame["name"] for frame in document["shared"]["frames"]]
        found = collections.Counter()
        self.case.assertGreater(len(document["profiles"]), document["activeProfileIndex"])
        for profile in document["profiles"]:
            stack, last = [], profile["startValue"]
            for event in profile["events"]:
                self.case.assertLessEqual(last, event["at"])
                last = event["at"]
                if event["type"] == "O":
                    stack.append(event["frame"])
                    found[names[event["frame"]]] += 1
                else:
                    self.case.assertEqual(stack.pop(), event["frame"], "an end that is not the innermost's")
            self.case.assertEqual(stack, [])
            self.case.assertLessEqual(last, profile["endValue"])
        names = self.names(span for span in self.drawn if not span["is_open"])
        self.case.assertEqual(names - found, collections.Counter(), "spans are missing")
        callers = {row["name"] for row in xsp_json("sql", self.path, "select name from frame", "--json")}
        self.case.assertLessEqual(set(found - names), callers, "neither spans nor their callers")

    def check_folded(self):
        total = 0
        for line in self.written("export", "--to", "folded", ending="folded").read_text().split("\n")[:-1]:
            time = int(line.rpartition(" ")[2])
            self.case.assertGreater(time, 0)
            total += time
        # Time that lies in several spans of one lane counts once (answers/report/exports/timeline_nest.c): between what a track's
        # spans cover and the sum of all own times. test_export.py has exact figures.
        self.case.assertLessEqual(total, sum(max(0, span["self_ns"] or 0) for span in self.drawn))
        self.case.assertGreaterEqual(total, covered_ns(self.drawn))

    # ---- rows
    def check_sqlite(self):
        database = sqlite3.connect(self.written("export", "--to", "sqlite", ending="db"))
        self.case.assertEqual(database.execute("select count(*) from span").fetchone()[0], len(self.spans))
        database.close()

    def check_csv(self):
        target = self.written("export", "--to", "csv", ending="csv")
        with open(target, newline="", encoding="utf-8") as file:
            self.case.assertEqual(len(list(csv.reader(file))), len(self.spans) + 1)

    def check_otlp(self, form="otlp", ending="jsonl"):
        target, again = self.written("export", "--to", form, ending=ending), self.folder / "again.xsp"
        xsp("import", target, "-o", again, "--force", check=0)
        facts = ("name", "level", "kind", "start_ns", "duration_ns", "track_id", "basis")
        self.case.assertEqual(*(sorted([tuple(str(span[fact]) for fact in facts) for span in spans])
                                for spans in (xsp_json("sql", str(again), SPANS, "--json"), self.spans)))
        os.unlink(again)

    def check_otlp_proto(self):
        self.check_otlp("otlp-proto", "otlp")

    @staticmethod
    def names(spans):
        return collections.Counter(span["name"] or "" for span in spans)
