# SPDX-License-Identifier: Apache-2.0
"""pprof's profiles: what xsp exported comes back, as sums; those of others, written by protobuf; all figures by hand."""
import gzip
import os
import unittest

from imported import Imported
from pprof_profile import profile_class
from scripted import UNIX_START, Script, xsp, xsp_json
from test_stacks import frames_and_kernel, sampled, threads

MINUTE = 1_700_000_000_000_000_000


class Writer:
    """A profile of another program: texts, functions and locations are numbered as they are asked for."""

    def __init__(self, *types, period=None):
        self.profile = profile_class()()
        self.texts = [""]
        self.locations = {}
        for kind, unit in types:
            self.profile.sample_type.add(type=self.text(kind), unit=self.text(unit))
        if period is not None:
            self.profile.period_type.type, self.profile.period_type.unit = self.text("cpu"), self.text("nanoseconds")
            self.profile.period = period
        self.profile.mapping.add(id=1, filename=self.text("/usr/bin/server"))

    def text(self, text):
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    def location(self, *frames, module=1):
        """One or more (function, file, line), the innermost first: those before the last one are inlined."""
        if frames not in self.locations:
            number = self.locations[frames] = len(self.locations) + 1
            location = self.profile.location.add(id=number, mapping_id=module, address=0x1000 + number)
            for name, file, line in frames:
                function = len(self.profile.function) + 1
                self.profile.function.add(id=function, name=self.text(name), filename=self.text(file))
                location.line.add(function_id=function, line=line)
        return self.locations[frames]

    def sample(self, values, *locations):
        self.profile.sample.add(location_id=locations, value=values)

    def bytes(self):
        self.profile.string_table.extend(self.texts)
        return self.profile.SerializeToString()


def server(*types, **options):
    """main.go:7 calls serve, into which parse is inlined; and a location without a function."""
    writer = Writer(*types, **options)
    main, serve = (writer.location(frame) for frame in (("main.main", "/src/main.go", 7), ("main.serve", "/src/main.go", 20)))
    parse = writer.location(("main.parse", "/src/parse.go", 3), ("main.handle", "/src/main.go", 31))
    unknown = writer.location()
    writer.profile.time_nanos, writer.profile.duration_nanos = MINUTE, 2_000_000_000
    return writer, main, serve, parse, unknown


class Pprof(Imported):
    def round_trip(self, script):
        """Contexts of a file, and of what became of its export: {names: (spans, own time, cpu, wait, instruction samples)}."""
        before, profile = os.path.join(self.folder, "before.xsp"), os.path.join(self.folder, "net.pb.gz")
        script.write(before)
        xsp("export", before, "-o", profile, "--force", check=0)
        report, spans = self.load_files(profile)
        self.assertEqual(report["files"][0]["format"], "pprof")
        self.assertEqual(report["files"][0]["skipped"], {})
        again = os.path.join(self.folder, "again.pb.gz")
        xsp("export", self.out, "-o", again, "--force", check=0)
        return spans, self.contexts(profile), self.contexts(again)

    def contexts(self, path):
        with open(path, "rb") as file:
            profile = profile_class().FromString(gzip.decompress(file.read()))
        texts, names = profile.string_table, {}
        functions = {function.id: function for function in profile.function}
        for location in profile.location:
            function = functions[location.line[0].function_id]
            names[location.id] = (texts[function.name], texts[function.filename], location.line[0].line)
        types = [texts[kind.type] for kind in profile.sample_type]
        sums = {}
        for sample in profile.sample:
            labels = {texts[label.key]: texts[label.str] for label in sample.label}
            for kind, value in zip(types, sample.value):
                chain = (labels["run"], tuple(names[at] for at in reversed(sample.location_id)), kind)
                sums[chain] = sums.get(chain, 0) + value
        return {chain: value for chain, value in sums.items() if value > 0}

    def test_what_xsp_exported_comes_back(self):
        for script in (frames_and_kernel(), threads(), sampled()):
            _, before, after = self.round_trip(script)
            self.assertGreater(len(before), 8)
            self.assertEqual(after, {(run, chain, kind): 1 if kind == "spans" else value for (run, chain, kind), value in before.items()})

    def test_spans_have_their_numbers_levels_and_parents(self):
        spans, _, _ = self.round_trip(frames_and_kernel(times=3))
        found = {span["name"]: span for span in spans}
        self.assertEqual(len(found), len(spans))
        self.assertEqual({name: (span["level"], span["kind"], span["category"], span["duration_ns"], span["self_ns"]) for name, span in found.items()},
                         {"program": ("application", "sync", None, 3000, 2070),  # without conv and add
                          "conv": ("layer", "sync", None, 900, 810), "malloc": ("library", "sync", None, 60, 60),
                          "launch": ("kernel", "sync", "api", 30, 30), "add": ("layer", "sync", None, 30, 30),
                          "gemm": ("kernel", "execution", "kernel", 1200, 1200)})
        self.assertEqual({span["tags"]["count"] for span in spans}, {3})
        parents = {name: next((other["name"] for other in spans if other["span_id"] == span["parent_id"]), None)
                   for name, span in found.items()}
        self.assertEqual(parents, {"program": None, "conv": "program", "malloc": "conv", "launch": "conv", "add": "program", "gemm": "conv"})
        self.assertEqual(self.rows("select levels, batch_size from run"), [{"levels": "A/L/Lib/K", "batch_size": 1}])

    def test_tags_that_all_spans_of_a_chain_have(self):
        """Of each type, also with keys of labels and of no length; what spans of a chain have of their own is lost."""
        shared = {"layer_type": "Conv", "stride": 0, "pad": -2, "loss": 0.1, "level": "deep", "kind": 7, "real.x": "0.5", "tag.y": 1, "note": "é;"}
        script = Script()
        script.experiment()
        for run_id, more in ((1, {"beta": 2.0}), (2, {"beta": 1.0})):  # of equal levels: one run of the profile
            script.run(run_id, "L")
            script.track(1, "main", run_id=run_id)
            for number in range(3):
                own = {"sequence": number, **({} if number == 1 else {"bias": 1})}
                script.span("conv", UNIX_START + 1000 * number, 500, level="layer", run_id=run_id, tags={**own, **shared, **more})
        spans, _, _ = self.round_trip(script)
        self.assertEqual([span["tags"] for span in spans], [{**shared, "count": 6, "layer_index": 0}])
        again = os.path.join(self.folder, "again.pb.gz")
        _, spans = self.load_files(again)
        self.assertEqual([span["tags"] for span in spans], [{**shared, "count": 6, "layer_index": 0}])

    def test_a_tag_count_is_not_the_number_of_spans(self):
        """Of each type; that of an import of sums is, and stays so when it is exported again."""
        for count in (1000, 0, 2.5, "many"):
            script = Script()
            script.experiment()
            script.run(1, "L")
            script.track(1, "main")
            for number in range(3):
                script.span("conv", UNIX_START + 1000 * number, 500, level="layer", tags={"count": count})
            spans, _, _ = self.round_trip(script)
            expected = [{"count": 3, "tag.count": count, "layer_index": 0}]
            self.assertEqual([span["tags"] for span in spans], expected)
            _, spans = self.load_files(os.path.join(self.folder, "again.pb.gz"))
            self.assertEqual([span["tags"] for span in spans], expected)

    def samples(self):
        return self.rows("select s.duration_ns, s.kind, f.name, f.file, f.line, f.module, f.kind as of from sample s join context using"
                         " (context_id) join frame f using (frame_id) order by s.time_ns")

    def test_cpu_time_of_go(self):
        """Of samples and CPU time the latter; functions with their lines, inlined ones too."""
        writer, main, serve, parse, unknown = server(("samples", "count"), ("cpu", "nanoseconds"))
        writer.sample([3, 30_000_000], parse, serve, main)
        writer.sample([1, 10_000_000], unknown, main)
        writer.sample([0, 0], main)
        times = type(writer.profile)(time_nanos=MINUTE).SerializeToString()
        report, (program,) = self.load(gzip.compress(times + writer.bytes()))  # as Go: times first
        self.assertEqual(report["files"][0]["skipped"], {"without a value above 0": 1})
        self.assertEqual((program["name"], program["start_ns"], program["duration_ns"]), ("server", MINUTE, 2_000_000_000))
        place = {"module": "/usr/bin/server", "of": "native"}
        self.assertEqual(self.samples(), [
            {"duration_ns": 30_000_000, "kind": "cpu", "name": "main.parse", "file": "/src/parse.go", "line": 3, **place},
            {"duration_ns": 10_000_000, "kind": "cpu", "name": None, "file": None, "line": None, **place}])
        self.assertEqual([row["name"] for row in self.rows("select name from frame where line is not null order by name")],
                         ["main.handle", "main.main", "main.parse", "main.serve"])
        rows = {row["function"]: row for row in xsp_json("analyze", "A22", self.out, "--json")["rows"]}
        self.assertEqual((rows["main.parse"]["samples"], rows["main.parse"]["native_ms"]), (1, 30))

    def test_which_values(self):
        """Locks are waits; without a time each sample stands for a period; Python's functions by their files."""
        for types, period, values, expected in (
                ([("contentions", "count"), ("delay", "nanoseconds")], None, [2, 500], ("lock", 500)),
                ([("samples", "count")], 10_000_000, [4], ("cpu", 40_000_000)),
                ([("cpu", "microseconds"), ("wall", "microseconds")], None, [7, 70], ("cpu", 7_000)),
                ([("alloc", "bytes"), ("wall", "seconds")], None, [7, 2], ("cpu", 2_000_000_000))):
            writer = Writer(*types, period=period)
            writer.sample(values, writer.location(("step", "/src/train.py", 12)))
            self.load(writer.bytes())
            (sample,) = self.samples()
            self.assertEqual((sample["kind"], sample["duration_ns"]), expected)
            self.assertEqual((sample["name"], sample["file"], sample["line"], sample["of"], sample["module"]),
                             ("step", "/src/train.py", 12, "python", None))

    def test_what_is_no_cpu_time(self):
        """Wall time has waits in it, and a note; so have values that are left out. CPU time and waits for locks need none."""
        for types, period, expected in ((["cpu"], None, []), (["delay"], None, []), (["wall"], None, ['of "wall"']),
                                        (["cpu", "wall"], None, ["not read: wall"]), (["wall", "delay"], None, ["not read: wall"])):
            writer = Writer(("samples", "count"), *((kind, "nanoseconds") for kind in types), period=period)
            writer.sample([1] + [500] * len(types), writer.location(("step", "/src/train.py", 12)))
            report, _ = self.load(writer.bytes())
            notes = [note for note in report["files"][0]["notes"] if "sums, no times" not in note]
            self.assertEqual(len(notes), len(expected), (types, notes))
            for note, word in zip(notes, expected):
                self.assertIn(word, note)
        writer = Writer(("samples", "count"), period=10_000_000)
        writer.profile.period_type.type = writer.text("wall")
        writer.sample([4], writer.location(("step", "/src/train.py", 12)))
        report, _ = self.load(writer.bytes())
        self.assertIn('of "wall"', " ".join(report["files"][0]["notes"]))

    def test_what_cannot_be_read(self):
        writer, main, *_ = server(("samples", "count"), ("cpu", "nanoseconds"))
        writer.sample([1, 5], main)
        whole = writer.bytes()
        self.load(whole)
        self.refuse(whole[:-3], mentions=["byte"])
        for values, locations, word in (([1], [main], "one value of each type"), ([1, 5], [99], "a location that is not in the file"),
                                        ([1, 2**62], [main, main], "64 bits")):
            writer, main, *_ = server(("samples", "count"), ("cpu", "nanoseconds"))
            writer.sample(values, *locations)
            writer.sample(values, *locations)
            self.refuse(writer.bytes(), mentions=[word])
        writer = Writer(("inuse_objects", "count"), ("inuse_space", "bytes"))
        writer.sample([1, 64], writer.location(("main.main", "main.go", 7)))
        self.refuse(writer.bytes(), mentions=["no time, only inuse_objects"])


if __name__ == "__main__":
    unittest.main()
