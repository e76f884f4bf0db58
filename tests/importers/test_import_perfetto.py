# SPDX-License-Identifier: Apache-2.0
"""Perfetto's traces: what xsp exported comes back as it was; slices of others, written by Perfetto's own protobuf."""
import os
import pathlib
import unittest

from imported import Imported, real_file
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
from scripted import xsp

CORPUS = pathlib.Path(os.environ["XSP_SOURCE"]) / "fuzz" / "corpus"
SPANS = "select name, level, kind, category, tracer, start_ns, duration_ns, correlation_id, basis, depth from span" \
        " order by start_ns, duration_ns desc, level, name"
TAGS = "select s.name, s.start_ns, t.key, t.value, typeof(t.value) as type from tag t join span s using (run_id, span_id)" \
       " order by s.start_ns, s.duration_ns desc, s.name, t.key, t.value"
PARENTS = "select s.name, s.start_ns, p.name as parent, p.start_ns as at from span s join span p on p.run_id = s.run_id and" \
          " p.span_id = s.parent_id order by s.start_ns, s.duration_ns desc, s.level, s.name"


def written(*, ends=True):
    """As another program writes it: texts in place and interned, defaults of a sequence, several clocks."""
    trace = Trace()
    packet = trace.packet.add(trusted_packet_sequence_id=1)
    packet.clock_snapshot.clocks.add(clock_id=6, timestamp=1_000)
    packet.clock_snapshot.clocks.add(clock_id=1, timestamp=1_700_000_000_000_001_000)
    process = trace.packet.add(trusted_packet_sequence_id=1).track_descriptor
    process.uuid, process.process.pid, process.process.process_name = 7, 42, "server"
    thread = trace.packet.add(trusted_packet_sequence_id=1).track_descriptor
    thread.uuid, thread.parent_uuid, thread.thread.pid, thread.thread.tid, thread.thread.thread_name = 8, 7, 42, 43, "worker"
    trace.packet.add(trusted_packet_sequence_id=1).trace_packet_defaults.track_event_defaults.track_uuid = 8

    def event(kind, time, track=None, **fields):
        packet = trace.packet.add(trusted_packet_sequence_id=1, timestamp=time)
        packet.track_event.type = kind
        if track:
            packet.track_event.track_uuid = track
        for key, value in fields.items():
            setattr(packet.track_event, key, value)
        return packet

    outer = event(TrackEvent.TYPE_SLICE_BEGIN, 2_000, name_iid=1)
    outer.interned_data.event_names.add(iid=1, name="step 1")
    outer.track_event.categories.append("training")
    for key, value in (("int_value", -5), ("double_value", 0.5), ("string_value", "text"), ("bool_value", True)):
        setattr(outer.track_event.debug_annotations.add(name=key), key, value)
    event(TrackEvent.TYPE_SLICE_BEGIN, 2_500, name="aten::mm")
    event(TrackEvent.TYPE_INSTANT, 2_600, name="mark")
    event(TrackEvent.TYPE_SLICE_END, 3_000)
    event(TrackEvent.TYPE_SLICE_BEGIN, 2_700, track=9, name="elsewhere")  # a track without a description
    event(TrackEvent.TYPE_SLICE_END, 2_900, track=9)
    trace.packet.add(trusted_packet_sequence_id=1, timestamp=1, timestamp_clock_id=64).track_event.type = 1
    if ends:
        event(TrackEvent.TYPE_SLICE_END, 4_000)
        event(TrackEvent.TYPE_SLICE_END, 4_001)  # of nothing
    trace.packet.add(trusted_packet_sequence_id=1).trigger.trigger_name = "x"
    return trace.SerializeToString()


class Perfetto(Imported):
    def round_trip(self, path):
        self.load_files(path)
        before = [self.rows(query) for query in (SPANS, TAGS, PARENTS)]
        exported = os.path.join(self.folder, "exported.dat")
        xsp("export", self.out, "--to", "perfetto", "-o", exported, "--force", check=0)
        report, _ = self.load_files(exported)
        self.assertEqual(report["files"][0]["format"], "perfetto")
        after = [self.rows(query) for query in (SPANS, TAGS, PARENTS)]
        if before[0] and before[0][0]["start_ns"] != after[0][0]["start_ns"]:  # no Unix time: from the first span on
            first = before[0][0]["start_ns"]
            for rows in before:
                for row in rows:
                    row.update({key: row[key] - first for key in ("start_ns", "at") if key in row})
        for rows, expected in zip(after, before):
            self.assertEqual(rows, expected)
        return len(before[0])

    def test_what_xsp_exported_comes_back(self):
        """Spans, tags and parents of other formats' inputs, where the source named no parents."""
        for name in ("import_rocprof/process", "import_onednn/stamped", "import_nvprof/trace", "import_loadgen/server"):
            with self.subTest(name):
                self.assertGreater(self.round_trip(CORPUS / name), 1)

    def test_a_published_trace_comes_back(self):
        path = real_file("kineto", "hta__critical_path__alexnet__benchmark_result_2869224_1695835535_trace.json.gz")
        self.assertEqual(self.round_trip(path), 867)

    def test_slices_of_others(self):
        report, (outer, inner, elsewhere) = self.load(written())
        self.assertEqual(report["files"][0]["skipped"], {"instant": 1, "of a clock of its sequence": 1, "end without a beginning": 1,
                                                         "another packet": 1})
        # The boot clock's zero was at 1,700,000,000 s
        self.assertEqual((outer["name"], outer["start_ns"], outer["duration_ns"]), ("step 1", 1_700_000_000_000_002_000, 2_000))
        self.assertEqual((outer["level"], outer["category"], outer["track"], outer["process_id"], outer["thread_id"]),
                         ("application", "training", "worker", 42, 43))
        self.assertEqual(outer["tags"], {"int_value": -5, "double_value": 0.5, "string_value": "text", "bool_value": 1})
        self.assertEqual((inner["level"], inner["parent_id"], inner["duration_ns"]), ("layer", outer["span_id"], 500))
        self.assertEqual((elsewhere["duration_ns"], elsewhere["process_id"]), (200, None))
        self.assertEqual(self.rows("select epoch from run"), [{"epoch": "unix"}])

    def test_clocks_of_a_sequence(self):
        """As Perfetto's SDK writes: defaults and clocks in one packet, then times that count from the packet before."""
        trace = Trace()
        clocks = trace.packet.add(trusted_packet_sequence_id=9).clock_snapshot  # of the service
        clocks.clocks.add(clock_id=6, timestamp=10_000)
        clocks.clocks.add(clock_id=3, timestamp=4_000)
        clocks.clocks.add(clock_id=1, timestamp=1_700_000_000_000_010_000)
        packet = trace.packet.add(trusted_packet_sequence_id=1)
        packet.trace_packet_defaults.timestamp_clock_id = 64
        packet.trace_packet_defaults.track_event_defaults.track_uuid = 8
        packet.clock_snapshot.clocks.add(clock_id=3, timestamp=5_000)
        packet.clock_snapshot.clocks.add(clock_id=64, timestamp=5, is_incremental=True, unit_multiplier_ns=1_000)
        packet.clock_snapshot.clocks.add(clock_id=65, timestamp=5, unit_multiplier_ns=1_000)

        def add(time, kind, clock=None, sequence=1, **fields):
            packet = trace.packet.add(trusted_packet_sequence_id=sequence, timestamp=time)
            packet.track_event.type = kind
            if clock:
                packet.timestamp_clock_id = clock
            for key, value in fields.items():
                setattr(packet.track_event, key, value)

        thread = trace.packet.add(trusted_packet_sequence_id=1, timestamp=1).track_descriptor  # at 6 us, which counts
        thread.uuid, thread.thread.pid, thread.thread.tid = 8, 42, 43
        add(1, TrackEvent.TYPE_SLICE_BEGIN, name="outer")  # 7 us of the monotonic clock: 13 us of the boot clock
        add(2, TrackEvent.TYPE_SLICE_BEGIN, name="inner")
        add(10, TrackEvent.TYPE_SLICE_END, clock=65)  # by no other packet
        add(3, TrackEvent.TYPE_SLICE_END)
        add(4_500, TrackEvent.TYPE_SLICE_BEGIN, clock=3, sequence=2, name="other", track_uuid=11)
        add(10_700, TrackEvent.TYPE_SLICE_END, sequence=2, track_uuid=11)
        add(5, TrackEvent.TYPE_SLICE_BEGIN, clock=64, sequence=2, name="lost")
        report, (outer, inner, other) = self.load(trace.SerializeToString())
        self.assertEqual(report["files"][0]["skipped"], {"of a clock of its sequence": 1})
        zero = 1_700_000_000_000_000_000
        self.assertEqual([(s["name"], s["start_ns"] - zero, s["duration_ns"], s["thread_id"]) for s in (other, outer, inner)],
                         [("other", 10_500, 200, None), ("outer", 13_000, 5_000, 43), ("inner", 15_000, 1_000, 43)])

    def test_what_comes_late(self):
        """A track that two sequences write to, a name after its events, arguments at the end of a slice."""
        trace = Trace()

        def add(time, kind, sequence, **fields):
            packet = trace.packet.add(trusted_packet_sequence_id=sequence, timestamp=time)
            packet.track_event.type, packet.track_event.track_uuid = kind, 8
            for key, value in fields.items():
                setattr(packet.track_event, key, value)
            return packet.track_event

        def describe(**fields):
            thread = trace.packet.add(trusted_packet_sequence_id=1).track_descriptor
            thread.uuid = 8
            for key, value in fields.items():
                setattr(thread.thread, key, value)

        describe(pid=42, tid=43)
        end = add(5_000, TrackEvent.TYPE_SLICE_END, 2)  # before its beginning in the file
        for key, value in (("uint_value", (1 << 64) - 1), ("pointer_value", 0xff), ("legacy_json_value", "[1]")):
            setattr(end.debug_annotations.add(name=key), key, value)
        end.debug_annotations.add(name="nested").dict_entries.add(name="a").int_value = 1
        add(1_000, TrackEvent.TYPE_SLICE_BEGIN, 1, name="outer")
        add(2_000, TrackEvent.TYPE_SLICE_BEGIN, 1, name="inner")
        add(3_000, TrackEvent.TYPE_SLICE_END, 1)
        describe(thread_name="late")
        report, (outer, inner) = self.load(trace.SerializeToString())
        self.assertEqual(report["files"][0]["skipped"], {})
        self.assertEqual([(s["name"], s["start_ns"], s["duration_ns"], s["track"], s["process_id"], s["thread_id"]) for s in (outer, inner)],
                         [("outer", 1_000, 4_000, "late", 42, 43), ("inner", 2_000, 1_000, "late", 42, 43)])
        self.assertEqual(outer["tags"], {"uint_value": "18446744073709551615", "pointer_value": "0xff", "legacy_json_value": "[1]"})
        self.assertIn("1 debug annotations", " ".join(report["files"][0]["notes"]))

    def test_packed_packets_are_counted(self):
        trace = written() + b"\x0a\x05\x92\x03\x02\x78\x9c"
        report, _ = self.load(trace)
        self.assertEqual(report["files"][0]["skipped"]["compressed packets"], 1)

    def legacy(self, is_cut=False):
        """Chrome's older events: pairs and complete ones on a thread, asynchronous ones of two ids, with names in place and interned."""
        trace = Trace()
        for process in (42, 52):
            thread = trace.packet.add(trusted_packet_sequence_id=process).track_descriptor
            thread.uuid, thread.thread.pid, thread.thread.tid = process, process, process + 1

        def add(time, phase, name=None, track=42, category="cc", **fields):
            packet = trace.packet.add(trusted_packet_sequence_id=track, timestamp=time)
            packet.track_event.track_uuid = track
            packet.track_event.categories.append(category)
            packet.track_event.legacy_event.phase = ord(phase)
            if name:
                packet.track_event.name = name
            for key, value in fields.items():
                setattr(packet.track_event.legacy_event, key, value)
            return packet

        interned = add(1_000, "B", name_iid=5)
        interned.interned_data.event_names.add(iid=5, name="outer")
        add(9_000, "X", "late", duration_us=2)
        add(2_000, "X", "inner", duration_us=3)
        add(20_000, "E")
        add(1_500, "b", "load", unscoped_id=7)
        add(1_600, "b", "parse", unscoped_id=7)
        add(1_700, "e", "load", track=52, unscoped_id=7)  # of the outer one, from another process
        add(1_800, "e", "parse", unscoped_id=7)
        for track, start, end in ((42, 3_000, 6_000), (52, 3_500, 4_000)):  # one local id in two processes
            add(start, "b", "task", track=track, local_id=1)
            add(end, "e", "task", track=track, local_id=1)
        add(3_000, "B", "elsewhere", pid_override=60, tid_override=61)
        add(4_000, "E", pid_override=60, tid_override=61)
        if is_cut:
            add(5_000, "X", "cut", track=52)
        add(6_000, "e", "nothing", unscoped_id=7)
        for phase in "niCs":
            add(7_000, phase, "other")
        trace.packet.add(trusted_packet_sequence_id=1, timestamp=7_000).ftrace_events.cpu = 1
        return trace.SerializeToString()

    def test_events_of_chrome(self):
        report, spans = self.load(self.legacy(is_cut=True))
        self.assertEqual(report["files"][0]["skipped"], {"instant": 2, "counter": 1, "unknown type": 1, "end without a beginning": 1,
                                                         "kernel's events (ftrace)": 1})
        found = {(s["name"], s["start_ns"], s["duration_ns"], s["process_id"], s["thread_id"]) for s in spans if not s["is_open"]}
        self.assertEqual(found, {("outer", 1_000, 19_000, 42, 43), ("inner", 2_000, 3_000, 42, 43), ("late", 9_000, 2_000, 42, 43),
                                 ("load", 1_500, 200, 42, None), ("parse", 1_600, 200, 42, None), ("task", 3_000, 3_000, 42, None),
                                 ("task", 3_500, 500, 52, None), ("elsewhere", 3_000, 1_000, 60, 61)})
        self.assertEqual([span["name"] for span in spans if span["is_open"]], ["cut"])
        named = {span["name"]: span for span in spans}
        self.assertEqual(named["inner"]["parent_id"], named["outer"]["span_id"])

    def test_observations_by_name(self):
        _, spans = self.load(written(), options=["--model-range", "step *"])
        self.assertEqual(spans[0]["level"], "model")

    def test_what_cannot_be_read(self):
        whole = written()
        report, spans = self.load(written(ends=False))
        self.assertEqual([span["is_open"] for span in spans], [1, 0, 0])
        self.assertTrue(any("1 slices did not end" in note for note in report["files"][0]["notes"]))
        self.refuse(whole[:-3], mentions=["byte"])
        self.refuse(whole + b"\x0a\x05\x08", mentions=["byte"])
        self.refuse(whole + b"\x0a\x03\x5a\x05\x08", mentions=["byte"])  # an event longer than its packet
        self.refuse(whole + b"\x0a\xff\xff\xff\xff\x0f", mentions=["byte"])


if __name__ == "__main__":
    unittest.main()
