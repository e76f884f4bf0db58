"""Exports read back by other means: Perfetto's own message definitions, a JSON parser, a CSV parser, the file's SQL."""
import contextlib
import csv
import io
import json
import os
import pathlib
import sqlite3
import subprocess
import unittest

import scripted
from scripted import (RANGES_IN_STEPS, UNIX_START, Script, asynchronous, kept_parents, leveled, ranges_in_steps,
                      temporary_folder, xsp, xsp_json)

try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2
except ImportError:
    perfetto_trace_pb2 = None

BEGIN, END = 1, 2


class Slice:
    def __init__(self, name, categories, start, track, depth, parent, annotations, flows, ending_flows):
        self.name, self.categories, self.start, self.track = name, categories, start, track
        self.depth, self.parent, self.annotations = depth, parent, annotations
        self.flows, self.ending_flows, self.end = flows, ending_flows, None


class Trace:
    """A viewer's reading of a .pftrace: slices nested by begin and end in the order of time, names resolved."""

    def __init__(self, path):
        trace = perfetto_trace_pb2.Trace()
        trace.ParseFromString(pathlib.Path(path).read_bytes())
        self.tracks, self.slices, self.clocks = {}, [], []
        interned = {kind: {} for kind in ("event_categories", "event_names", "debug_annotation_names",
                                          "debug_annotation_string_values")}
        events = []
        cleared = False
        for packet in trace.packet:
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("clock_snapshot"):
                self.clocks = [(clock.clock_id, clock.timestamp) for clock in packet.clock_snapshot.clocks]
            if packet.HasField("interned_data"):
                for kind, texts in interned.items():
                    for entry in getattr(packet.interned_data, kind):
                        text = entry.str.decode() if kind.endswith("string_values") else entry.name
                        assert entry.iid not in texts, "interned twice"
                        texts[entry.iid] = text
            if packet.HasField("track_event"):
                assert packet.trusted_packet_sequence_id != 0
                if not cleared:
                    assert packet.sequence_flags == 1, "the first packet clears the sequence's state"
                    cleared = True
                else:
                    assert packet.sequence_flags == 2
                events.append((packet.timestamp, self.resolve(packet.track_event, interned)))
        events.sort(key=lambda event: event[0])  # stable, as the trace processor's
        self.nest(events)

    @staticmethod
    def resolve(event, interned):
        annotations = {}
        for entry in event.debug_annotations:
            key = interned["debug_annotation_names"][entry.name_iid]
            kind = entry.WhichOneof("value")
            value = getattr(entry, kind)
            annotations[key] = interned["debug_annotation_string_values"][value] if kind.endswith("_iid") else value
        name = interned["event_names"][event.name_iid] if event.type == BEGIN else None
        categories = [interned["event_categories"][iid] for iid in event.category_iids]
        return (event.type, event.track_uuid, name, categories, annotations, list(event.flow_ids),
                list(event.terminating_flow_ids))

    def nest(self, events):
        open_slices = {}
        for time, (kind, track, name, categories, annotations, flows, ending) in events:
            assert track in self.tracks, "an event on a track that is not described"
            stack = open_slices.setdefault(track, [])
            if kind == BEGIN:
                parent = stack[-1] if stack else None
                stack.append(Slice(name, categories, time, track, len(stack), parent, annotations, flows, ending))
                self.slices.append(stack[-1])
            else:
                stack.pop().end = time

    def named(self, name):
        return [one for one in self.slices if one.name == name]

    def track_name(self, uuid):
        descriptor = self.tracks[uuid]
        if descriptor.HasField("thread"):
            return descriptor.thread.thread_name
        if descriptor.HasField("process"):
            return descriptor.process.process_name
        return descriptor.name


class ExportTest(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def export(self, script, form, ending, *options):
        source = script.write(self.folder / "in.xsp")
        target = self.folder / f"out.{ending}"
        xsp("export", source, "--to", form, "-o", target, "--force", *options, check=0)
        return source, target

    def spans(self, source, where="1"):
        return xsp_json("sql", source, f"select s.*, t.name track from span s join track t using (run_id, track_id) "
                                       f"where {where} order by run_id, span_id", "--json")


def counting():
    """A second of a program, its thread and a child without spans; a counter of the machine."""
    second = 10**9
    script = Script()
    script.experiment()
    script.run(1, "M")
    script.track()
    script.span("tiny", UNIX_START, 2 * second)
    script.counter("cpu_ns", [(UNIX_START - 5, 0), (UNIX_START + second, second // 2), (UNIX_START + 2 * second, second)],
                   total=True, process=100)
    script.counter("cpu_ns", [(UNIX_START, 0), (UNIX_START + second, second // 4)], total=True, process=100, thread=101)
    script.counter("rss_bytes", [(UNIX_START, 4096), (UNIX_START + second, 8192)], process=7)
    script.counter("energy_j", [(UNIX_START, 0), (UNIX_START + second // 2, 20)], total=True, source="package-0")
    return script


# What is drawn: from each time on, the value.
COUNTING = {
    ("cpu", "%"): [(0, 50), (10**9, 50), (2 * 10**9, 0)],
    ("cpu, thread 101", "%"): [(0, 25), (10**9, 0)],
    ("rss_bytes, process 7", ""): [(0, 4096), (10**9, 8192)],
    ("energy package-0", "W"): [(0, 40), (5 * 10**8, 0)],
}


@unittest.skipIf(perfetto_trace_pb2 is None, "the perfetto package is not installed")
class PerfettoTest(ExportTest):
    def test_every_span_is_a_slice_with_its_times_and_level(self):
        source, target = self.export(leveled(), "perfetto", "pftrace")
        trace = Trace(target)
        spans = self.spans(source)
        expected = sorted((s["start_ns"], s["end_ns"], s["name"], s["level"]) for s in spans)
        self.assertEqual(len(expected), 4 * 5 + 2 * 5 * 3)
        self.assertEqual(sorted((s.start, s.end, s.name, s.categories[0]) for s in trace.slices), expected)

    def test_layers_nest_in_models_and_carry_their_tags(self):
        _, target = self.export(leveled(), "perfetto", "pftrace")
        layers = Trace(target).named("block/conv_1")
        self.assertEqual(len(layers), 10)
        for layer in layers:
            self.assertEqual((layer.depth, layer.parent.name), (1, "tiny"))
            self.assertEqual(layer.annotations["layer_type"], "Conv")
            self.assertEqual(layer.annotations["layer_index"], 1)
        self.assertEqual({layer.parent.annotations["batch_size"] for layer in layers}, {1, 4})

    def test_tracks_are_named(self):
        _, target = self.export(leveled(), "perfetto", "pftrace")
        trace = Trace(target)
        processes = {t.process.pid: t.process.process_name for t in trace.tracks.values() if t.HasField("process")}
        self.assertEqual(processes, {110: "tiny: M", 111: "tiny: M/L"})
        threads = {(t.thread.pid, t.thread.tid, t.thread.thread_name) for t in trace.tracks.values()
                   if t.HasField("thread")}
        self.assertEqual(threads, {(110, 110, "main"), (111, 111, "main")})

    def test_wall_time_is_stated(self):
        _, target = self.export(leveled(), "perfetto", "pftrace")
        trace = Trace(target)
        first = min(one.start for one in trace.slices)
        self.assertEqual(dict(trace.clocks), {1: first, 6: first})

    def test_arrows_lead_from_launches_to_executions(self):
        _, target = self.export(asynchronous(), "perfetto", "pftrace")
        trace = Trace(target)
        starts = {flow: one.name for one in trace.slices for flow in one.flows}
        ends = {flow: one.name for one in trace.slices for flow in one.ending_flows}
        arrows = sorted((starts[flow], ends[flow]) for flow in starts.keys() | ends.keys())
        self.assertEqual(arrows, [("launchGraph", "graph a"), ("launchGraph", "graph b"),
                                  ("launchKernel", "kernel 0"), ("launchKernel", "kernel 1")])
        self.assertEqual(len(starts), 4)
        for one in trace.slices:
            if one.ending_flows:
                self.assertNotEqual(one.track, trace.named("launchKernel")[0].track)

    def test_counters_are_lines_of_their_process(self):
        _, target = self.export(counting(), "perfetto", "pftrace")
        trace = perfetto_trace_pb2.Trace()
        trace.ParseFromString(target.read_bytes())
        tracks = {p.track_descriptor.uuid: p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")}
        drawn = {}
        for packet in trace.packet:
            if packet.track_event.type == perfetto_trace_pb2.TrackEvent.TYPE_COUNTER:
                track = tracks[packet.track_event.track_uuid]
                self.assertEqual(tracks[track.parent_uuid].process.pid, 100)
                drawn.setdefault((track.name, track.counter.unit_name), []).append(
                    (packet.timestamp - UNIX_START, round(packet.track_event.double_counter_value, 3)))
        self.assertEqual(drawn, COUNTING)

    def test_crossing_spans_keep_their_lengths(self):
        _, target = self.export(asynchronous(), "perfetto", "pftrace")
        trace = Trace(target)
        a, b = trace.named("graph a")[0], trace.named("graph b")[0]
        self.assertEqual((a.end - a.start, b.end - b.start), (1000, 1000))
        self.assertEqual(trace.track_name(a.track), "device 0 stream 7")
        self.assertEqual(trace.track_name(b.track), "device 0 stream 7 (overlapping 1)")
        self.assertEqual(trace.tracks[b.track].parent_uuid, a.track)
        self.assertTrue(trace.tracks[trace.tracks[a.track].parent_uuid].HasField("process"))

    def test_device_spans_keep_category_and_numbers(self):
        _, target = self.export(asynchronous(), "perfetto", "pftrace")
        kernel = Trace(target).named("kernel 1")[0]
        self.assertEqual(kernel.categories, ["kernel", "kernel"])
        self.assertEqual(kernel.annotations["kind"], "execution")
        self.assertEqual(kernel.annotations["flops"], 123)
        self.assertEqual(kernel.annotations["achieved_occupancy_pct"], 12.5)
        self.assertEqual(kernel.annotations["correlation_id"], 2)

    def test_a_foreign_clock_is_left_out_and_said(self):
        script = asynchronous()
        source = script.write(self.folder / "in.xsp")
        target = self.folder / "out.pftrace"
        result = xsp("export", source, "-o", target, check=0)
        self.assertIn(b"1 track with a clock of its own (sim)", result.stderr)
        trace = Trace(target)
        self.assertEqual(trace.named("cycle"), [])
        self.assertEqual(dict(trace.clocks), {1: UNIX_START, 6: UNIX_START})  # not the simulator's 5 ns

    def test_an_open_span_has_no_end(self):
        _, target = self.export(asynchronous(), "perfetto", "pftrace")
        self.assertIsNone(Trace(target).named("never done")[0].end)

    def test_runs_from_their_own_zero_have_their_own_processes(self):
        script = Script()
        script.experiment()
        for run_id in (1, 2):
            script.run(run_id, "M", epoch="trace")
            script.track(run_id=run_id)
            script.span("net", run_id * -1000, 500, run_id=run_id)
        _, target = self.export(script, "perfetto", "pftrace")
        trace = Trace(target)
        first, second = trace.named("net")
        self.assertEqual((first.start, first.end, second.start), (0, 500, 0))
        self.assertNotEqual(first.track, second.track)
        self.assertEqual(trace.clocks, [])

    def test_receivers_are_said_to_file_runs_from_their_own_zero_under_1970(self):
        script = Script()
        script.experiment()
        for run_id, epoch in ((1, "trace"), (2, "unix")):
            script.run(run_id, "M", epoch=epoch)
            script.track(run_id=run_id)
            script.span("net", run_id * UNIX_START, 500, run_id=run_id)
        source = script.write(self.folder / "in.xsp")
        for form, is_said in (("otlp", True), ("otlp-proto", True), ("perfetto", False)):
            done = xsp("export", source, "--to", form, "-o", self.folder / form, check=0)
            self.assertEqual(b"times of 1 of 2 runs do not count from 1970" in done.stderr, is_said, form)

    def test_hostile_names(self):
        names = [b"", b"\x00\x01\x1b[31m\n\t\"\\", b"\xff\xfe\x80", "層 ‮".encode(), b"x" * 300_000]
        script = Script()
        script.experiment("a\nb")
        script.run(1, "M/L")
        script.track(1, b"\xffthread\n")
        for number, name in enumerate(names):
            script.span(name, UNIX_START + number * 100, 50, tags={b"\xffkey": name})
        _, target = self.export(script, "perfetto", "pftrace")
        expected = [name.decode(errors="replace") for name in names]
        slices = Trace(target).slices
        self.assertEqual([one.name.replace("�", "") for one in slices], [e.replace("�", "") for e in expected])
        self.assertEqual([one.annotations["�key"] for one in slices], [one.name for one in slices])


class ChromeTest(ExportTest):
    def load(self, script):
        source, target = self.export(script, "chrome", "json")
        return source, json.loads(target.read_text())

    def test_every_span_is_an_event_with_exact_times(self):
        script = leveled()
        script.span("odd nanoseconds", UNIX_START + 12_345_678_901, 1_234_567, run_id=1)
        source, document = self.load(script)
        zero = int(document["otherData"]["zero_unix_ns"])
        spans = self.spans(source)
        self.assertEqual(zero, min(s["start_ns"] for s in spans))
        expected = sorted((s["start_ns"] - zero, s["duration_ns"], s["name"], s["level"]) for s in spans)
        events = [e for e in document["traceEvents"] if e["ph"] == "X"]
        found = sorted((round(e["ts"] * 1000), round(e["dur"] * 1000), e["name"], e["cat"]) for e in events)
        self.assertEqual(found, expected)

    def test_metadata_names_processes_and_threads(self):
        _, document = self.load(leveled())
        names = {(e["name"], e["pid"], e["args"]["name"]) for e in document["traceEvents"] if e["ph"] == "M"}
        self.assertEqual(names, {("process_name", 110, "tiny: M"), ("process_name", 111, "tiny: M/L"),
                                 ("thread_name", 110, "main"), ("thread_name", 111, "main")})

    def test_flows_pair_up(self):
        _, document = self.load(asynchronous())
        events = document["traceEvents"]
        starts = {e["id"]: e for e in events if e["ph"] == "s"}
        ends = {e["id"]: e for e in events if e["ph"] == "f"}
        self.assertEqual((len(starts), starts.keys()), (4, ends.keys()))
        for flow, end in ends.items():
            self.assertEqual(end["bp"], "e")
            self.assertLess(starts[flow]["ts"], end["ts"])
            self.assertNotEqual(starts[flow]["tid"], end["tid"])
            there = [e for e in events if e["ph"] == "X" and (e["tid"], e["ts"]) == (end["tid"], end["ts"])]
            self.assertEqual(there[0]["args"]["kind"], "execution")

    def test_counters_are_lines_of_their_process(self):
        _, target = self.export(counting(), "chrome", "json")
        drawn = {}
        for event in json.loads(target.read_bytes())["traceEvents"]:
            if event["ph"] == "C":
                self.assertEqual(event["pid"], 100)
                (unit, value), = event["args"].items()
                drawn.setdefault((event["name"], "" if unit == "value" else unit), []).append(
                    (round(event["ts"] * 1000), round(value, 3)))
        self.assertEqual(drawn, COUNTING)

    def test_no_two_events_of_a_thread_cross(self):
        _, document = self.load(asynchronous())
        lanes = {}
        for event in document["traceEvents"]:
            if event["ph"] == "X":
                lanes.setdefault(event["tid"], []).append((event["ts"], event["ts"] + event["dur"]))
        self.assertEqual(len(lanes), 3)
        for lane in lanes.values():
            for a in lane:
                for b in lane:
                    self.assertFalse(a[0] < b[0] < a[1] < b[1], f"{a} crosses {b}")

    def test_an_open_span_begins_and_does_not_end(self):
        _, document = self.load(asynchronous())
        self.assertEqual([e["name"] for e in document["traceEvents"] if e["ph"] == "B"], ["never done"])
        self.assertEqual([e for e in document["traceEvents"] if e["ph"] == "E"], [])

    def test_hostile_names(self):
        script = Script()
        script.experiment("\"</script>\n")
        script.run(1, "M")
        script.track(1, b"\xff\x1b")
        names = [b"", b"\x01\"\\\n", b"\xff", b"y" * 100_000]
        for number, name in enumerate(names):
            script.span(name, UNIX_START + number * 100, 50)
        _, document = self.load(script)
        found = [e["name"] for e in document["traceEvents"] if e["ph"] == "X"]
        self.assertEqual(found, [name.decode(errors="replace") for name in names])


class CsvTest(ExportTest):
    COLUMNS = ("run_id span_id trace_id parent_id model_id layer_id level kind category tracer track_id name start_ns "
               "end_ns duration_ns self_ns correlation_id basis depth is_open").split()

    def test_rows_are_those_of_table_span(self):
        source, target = self.export(asynchronous(), "csv", "csv")
        rows = list(csv.DictReader(io.StringIO(target.read_bytes().decode(), newline="")))
        self.assertEqual(list(rows[0]), self.COLUMNS)
        expected = xsp_json("sql", source, "select " + ", ".join(self.COLUMNS) + " from span", "--json")
        as_text = [{key: "" if value is None else str(value) for key, value in row.items()} for row in expected]
        self.assertEqual(rows, as_text)
        self.assertIn("cycle", {row["name"] for row in rows})

    def test_quoting(self):
        script = Script()
        script.experiment()
        script.run(1, "M")
        script.track()
        names = ["a,b", 'say "x"', "two\r\nlines", "", "=1+1"]
        for number, name in enumerate(names):
            script.span(name, UNIX_START + number * 100, 50)
        _, target = self.export(script, "csv", "csv", "--raw")
        data = target.read_bytes()
        rows = list(csv.DictReader(io.StringIO(data.decode(), newline="")))
        self.assertEqual([row["name"] for row in rows], names)
        self.assertIn(b'"say ""x"""', data)
        self.assertTrue(data.endswith(b"\r\n"))


class FlameTest(ExportTest):
    """speedscope and folded stacks, recomputed from the rows of table span."""

    def own_times(self, source):
        """{(levels, chain of names): ns} by the parents and self times of table span."""
        rows = self.spans(source, "t.clock is null")
        by_id = {(row["run_id"], row["span_id"]): row for row in rows}
        runs = {row["run_id"]: row for row in xsp_json("sql", source, "select * from run", "--json")}
        times = {}
        for row in rows:
            if row["is_open"] or row["self_ns"] == 0:
                continue
            chain, at = [], row
            while at is not None:
                chain.insert(0, at["name"])
                at = by_id.get((row["run_id"], at["parent_id"]))
            if len(runs) > 1:
                chain.insert(0, f"{runs[row['run_id']]['levels']} batch {runs[row['run_id']]['batch_size']}")
            times[tuple(chain)] = times.get(tuple(chain), 0) + row["self_ns"]
        return times

    def folded(self, script):
        source, target = self.export(script, "folded", "folded")
        lines = [line.rpartition(" ") for line in target.read_text().splitlines()]
        self.assertEqual(len({chain for chain, _, _ in lines}), len(lines))
        return source, {tuple(chain.split(";")): int(value) for chain, _, value in lines}

    def test_folded_is_own_time_by_context(self):
        for script in (leveled(), asynchronous()):
            source, found = self.folded(script)
            self.assertEqual(found, self.own_times(source))
            self.assertGreater(len(found), 3)

    def test_a_span_inside_one_of_a_lower_level_counts_once(self):
        _, found = self.folded(ranges_in_steps())
        self.assertEqual(found, {chain: own for chain, (_, own) in RANGES_IN_STEPS.items() if own > 0})
        self.assertEqual(sum(found.values()), 3000 + 100)  # the tracks' covered time

    def test_a_span_moves_only_where_it_is_between_host_spans_of_its_lane(self):
        _, found = self.folded(kept_parents())
        self.assertEqual(found, {("program",): 70, ("task",): 50, ("program", "range"): 30, ("early",): 60,
                                 ("crossed",): 60, ("program", "other"): 20, ("parent", "child"): 70})

    def test_an_ambiguous_span_is_in_no_other(self):
        """Within two ranges that cross each other."""
        script = Script()
        script.experiment()
        script.run(1, "A/L")
        script.track()
        script.span("first", UNIX_START, 600, level="application")
        script.span("second", UNIX_START + 300, 600, level="application")
        script.span("layer", UNIX_START + 350, 200, level="layer")
        source, found = self.folded(script)
        self.assertEqual([row["basis"] for row in self.spans(source) if row["name"] == "layer"], ["ambiguous"])
        self.assertEqual(found, {("first",): 600, ("second",): 600, ("layer",): 200})

    def test_folded_names_cannot_break_lines(self):
        script = Script()
        script.experiment()
        script.run(1, "M")
        script.track()
        script.span("a;b\nc", UNIX_START, 50)
        _, target = self.export(script, "folded", "folded")
        self.assertEqual(target.read_text(), "a:b c 50\n")

    def test_speedscope_has_every_span_once(self):
        for script in (leveled(), asynchronous()):
            source, target = self.export(script, "speedscope", "json")
            document = json.loads(target.read_text())
            self.assertEqual(document["$schema"], "https://www.speedscope.app/file-format-schema.json")
            names = [frame["name"] for frame in document["shared"]["frames"]]
            found = []
            for profile in document["profiles"]:
                self.assertEqual((profile["type"], profile["unit"]), ("evented", "nanoseconds"))
                stack, before = [], profile["startValue"]
                for event in profile["events"]:
                    self.assertGreaterEqual(event["at"], before)
                    before = event["at"]
                    if event["type"] == "O":
                        stack.append(event)
                    else:  # its reader wants what was opened last to be closed first
                        opened = stack.pop()
                        self.assertEqual(opened["frame"], event["frame"])
                        found.append((names[event["frame"]], event["at"] - opened["at"]))
                self.assertEqual(stack, [])
                self.assertLessEqual(before, profile["endValue"])
            expected = [(row["name"], row["duration_ns"])
                        for row in self.spans(source, "t.clock is null") if not row["is_open"]]
            self.assertEqual(sorted(found), sorted(expected))


class SqliteTest(ExportTest):
    def test_plain_tables_answer_as_xsp_does(self):
        source, target = self.export(asynchronous(), "sqlite", "sqlite")
        with contextlib.closing(sqlite3.connect(target)) as database:
            database.row_factory = sqlite3.Row
            for query in ("select run_id, span_id, parent_id, layer_id, level, kind, category, name, start_ns, end_ns, self_ns, "
                          "correlation_id, basis, depth from span order by run_id, span_id",
                          "select run_id, levels, batch_size, epoch from run",
                          "select run_id, observation, span_id, warmup from observation",
                          "select span_id, key, value, typeof(value) as type from tag order by span_id, key",
                          "select track_id, name, device_id, stream_id, thread_id from track order by track_id",
                          "select l.name, sum(e.duration_ns) as ns from span e join span l on l.run_id = e.run_id and "
                          "l.span_id = e.layer_id where e.kind = 'execution' group by 1"):
                rows = [dict(row) for row in database.execute(query)]
                self.assertTrue(rows)
                self.assertEqual(rows, xsp_json("sql", source, query, "--json"))


class PlaceTest(ExportTest):
    """The output file: written next to its place and renamed, never over an existing file without --force, removed on errors."""

    def setUp(self):
        super().setUp()
        self.source = leveled().write(self.folder / "in.xsp")

    def left_behind(self):
        return sorted(p.name for p in self.folder.iterdir())

    def test_an_existing_file_is_kept_without_force(self):
        target = self.folder / "out.json"
        target.write_text("precious")
        result = xsp("export", self.source, "-o", target, check=2)
        self.assertIn(b"--force", result.stderr)
        self.assertEqual(target.read_text(), "precious")
        xsp("export", self.source, "-o", target, "--force", check=0)
        self.assertNotEqual(target.read_text(), "precious")
        self.assertEqual(self.left_behind(), ["in.xsp", "out.json"])

    def test_the_source_is_not_replaced(self):
        before = self.source.read_bytes()
        link = self.folder / "link.xsp"
        link.hardlink_to(self.source)
        for place in (self.source, link):
            result = xsp("export", self.source, "--to", "csv", "-o", place, "--force", check=2)
            self.assertIn(b"is exported", result.stderr)
        self.assertEqual(self.source.read_bytes(), before)

    def test_the_name_may_say_the_format(self):
        for ending in ("pftrace", "json", "sqlite", "db"):
            xsp("export", self.source, "-o", self.folder / f"out.{ending}", check=0)
        target = self.folder / "spans.csv"
        xsp("export", self.source, f"--output={target}", check=0)
        self.assertTrue(target.read_bytes().startswith(b"run_id,span_id"))
        result = xsp("export", self.source, "-o", self.folder / "what.ever", check=2)
        self.assertIn(b"--to", result.stderr)

    def test_unknown_formats_are_named(self):
        result = xsp("export", self.source, "--to", "perfeto", "-o", self.folder / "x", check=2)
        self.assertIn(b"perfetto", result.stderr)

    def test_no_place_to_write(self):
        for place in (self.folder / "missing" / "out.json", pathlib.Path("/proc/out.json")):
            result = xsp("export", self.source, "-o", place, check=3)
            self.assertEqual(result.stderr.count(b"\n"), 1)
        self.assertEqual(self.left_behind(), ["in.xsp"])

    def test_devices_and_folders_are_not_replaced(self):
        for place in ("/dev/null", self.folder):
            xsp("export", self.source, "--to", "csv", "-o", place, "--force", check=2)
        self.assertTrue(os.path.exists("/dev/null") and not os.path.isfile("/dev/null"))

    def test_a_full_disk(self):
        limit = "ulimit -f 1; exec \"$@\""  # blocks of 512 bytes or 1 KiB: less than the export needs
        target = self.folder / "out.json"
        target.write_text("precious")
        result = subprocess.run(["sh", "-c", "trap '' XFSZ; " + limit, "sh", scripted.XSP, "export", self.source, "-o",
                                 target, "--force"], capture_output=True, timeout=scripted.TIMEOUT_S)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(target.read_text(), "precious")
        self.assertEqual(self.left_behind(), ["in.xsp", "out.json"])


if __name__ == "__main__":
    unittest.main()
