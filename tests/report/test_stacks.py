# SPDX-License-Identifier: Apache-2.0
"""Call paths in the outputs of stacks: Python functions, operators and kernels are one stack; all figures by hand."""
import gzip
import json
import pathlib
import unittest

from opentelemetry.proto.profiles.v1development.profiles_pb2 import ProfilesData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from pprof_profile import profile_class
from scripted import UNIX_START, Script, temporary_folder, xsp


def frames_and_kernel(times=1):
    """A program of 1000 ns: main calls forward, which calls conv (300 ns; in it an allocation of 20 ns without a path and a
    launch of 10 ns), and add (10 ns). The kernel takes 400 ns. So often."""
    script = Script()
    script.experiment()
    script.run(1, "A/L/Lib/K")
    script.track(1, "main thread")
    script.track(2, "device", process=None, thread=None, device=0, stream=0)
    main = script.context("main", file="train.py", line=3)
    forward = script.context("forward", caller=main, file="net.py", line=9)
    conv = script.context("conv", caller=forward, kind="framework")
    gemm = script.context("gemm", caller=conv, kind="device")
    add = script.context("add", caller=main, kind="framework", module="libtorch.so")
    for number in range(times):
        start = UNIX_START + 2000 * number
        script.span("program", start, 1000, level="application")
        script.span("conv", start + 100, 300, level="layer", context=conv)
        script.span("malloc", start + 150, 20, level="library")
        script.span("launch", start + 200, 10, level="kernel", kind="launch", correlation=7 + number, category="api")
        script.span("add", start + 450, 10, level="layer", context=add)
        script.span("gemm", start + 500, 400, level="kernel", kind="execution", correlation=7 + number,
                    category="kernel", track=2, context=gemm)
    return script


MAIN, FORWARD, ADD = "main (train.py:3)", "forward (net.py:9)", "add [libtorch.so]"
# Spans and self time. The program's is 1000 - 300 - 10; conv's 300 - 20 - 10.
STACKS = {("program",): (1, 690), ("program", MAIN, FORWARD, "conv"): (1, 270),
          ("program", MAIN, FORWARD, "conv", "malloc"): (1, 20), ("program", MAIN, FORWARD, "conv", "launch"): (1, 10),
          ("program", MAIN, FORWARD, "conv", "gemm"): (1, 400), ("program", MAIN, ADD): (1, 10)}


# The same of frames_and_kernel and sampled(): 5 + 3, 4, 1 samples of instructions.
LINE, LOAD, ADD_UP = "gemm (gemm.cu:12)", "+0x80 [cubin 7]", "+0x90 [cubin 7]"
GEMM = (MAIN, FORWARD, "conv", "gemm", LINE)
SAMPLED = {(*GEMM, LOAD): 8, (*GEMM, ADD_UP): 4, ("other", "+0x10 [cubin 7]"): 1}


def sampled():
    """In addition: gemm's two instructions at one line, the first one read twice; one of a kernel whose caller is unknown."""
    script = frames_and_kernel()
    script.track(3, "instruction samples", process=None, thread=None, device=0)
    line = script.context("gemm", caller=4, kind="device", file="gemm.cu", line=12)
    load = script.context("+0x80", caller=line, kind="device", module="cubin 7", address=0x80)
    add_up = script.context("+0x90", caller=line, kind="device", module="cubin 7", address=0x90)
    other = script.context("+0x10", caller=script.context("other", kind="device"), kind="device", module="cubin 7",
                           address=0x10)
    for context, samples, stalled in ((load, 5, 2), (add_up, 4, 0), (load, 3, 3), (other, 1, 0)):
        script.span("instruction samples", UNIX_START + 990, 0, level="kernel", category="samples", track=3,
                    context=context, tags={"samples": samples, "samples_barrier": stalled})
    return script


# Samples of threads in addition to frames_and_kernel: figures of spans stay what they are.
CPU_TIME = {("main (train.py:3)",): 30, ("main (train.py:3)", "forward (net.py:9)"): 45}
WAITS = {("main (train.py:3)",): 500}


def threads():
    script = frames_and_kernel()
    for time_ns, duration_ns, context in ((20, 30, 1), (400, 25, 2), (700, 20, 2), (800, 7, None)):
        script.sample("cpu", UNIX_START + time_ns, duration_ns, context)
    script.sample("sleep", UNIX_START + 900, 400, 1)
    script.sample("io", UNIX_START + 990, 100, 1)
    return script


class Stacks(unittest.TestCase):
    def setUp(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.trace = self.folder / "x.xsp"
        frames_and_kernel().write(self.trace)

    def export(self, name, *options):
        xsp("export", self.trace, "-o", self.folder / name, *options, check=0)
        return self.folder / name

    def test_folded(self):
        lines = [line.rpartition(" ") for line in self.export("out.folded").read_text().splitlines()]
        self.assertEqual({tuple(chain.split(";")): int(value) for chain, _, value in lines},
                         {chain: own for chain, (_, own) in STACKS.items() if own > 0})

    def test_speedscope(self):
        document = json.loads(self.export("out.speedscope.json").read_text())
        frames = document["shared"]["frames"]
        self.assertIn({"name": "forward", "file": "net.py", "line": 9}, frames)
        self.assertIn({"name": "add", "file": "libtorch.so"}, frames)
        thread, device = ([(event["type"], frames[event["frame"]]["name"], event["at"]) for event in profile["events"]]
                          for profile in document["profiles"])
        self.assertEqual(thread, [
            ("O", "program", 0), ("O", "main", 100), ("O", "forward", 100), ("O", "conv", 100), ("O", "malloc", 150),
            ("C", "malloc", 170), ("O", "launch", 200), ("C", "launch", 210), ("C", "conv", 400), ("C", "forward", 400),
            ("C", "main", 400), ("O", "main", 450), ("O", "add", 450), ("C", "add", 460), ("C", "main", 460),
            ("C", "program", 1000)])
        self.assertEqual(device, [(kind, name, at) for kind, at, names in (
            ("O", 500, ["main", "forward", "conv", "gemm"]), ("C", 900, ["gemm", "conv", "forward", "main"]))
                                  for name in names])

    def pprof(self):
        """Types of values, [(chain, values)], labels."""
        profile = profile_class().FromString(gzip.decompress(self.export("out.pb.gz").read_bytes()))
        texts = profile.string_table
        self.assertEqual(texts[0], "")
        self.assertEqual(texts[profile.default_sample_type], "time")
        functions = {function.id: function for function in profile.function}
        modules = {mapping.id: texts[mapping.filename] for mapping in profile.mapping}
        names = {}
        for location in profile.location:
            function, line = functions[location.line[0].function_id], location.line[0].line
            place = f" ({texts[function.filename]}:{line})" if function.filename else ""
            module = f" [{modules[location.mapping_id]}]" if location.mapping_id else ""
            names[location.id] = texts[function.name] + place + module
        return ([(texts[kind.type], texts[kind.unit]) for kind in profile.sample_type],
                [(tuple(names[at] for at in reversed(sample.location_id)), tuple(sample.value))
                 for sample in profile.sample],
                {(texts[label.key], texts[label.str]) for sample in profile.sample for label in sample.label})

    def test_pprof(self):
        types, found, labels = self.pprof()
        self.assertEqual(types, [("spans", "count"), ("time", "nanoseconds")])
        self.assertEqual(dict(found), STACKS)
        self.assertEqual(labels, {("run", "A/L/Lib/K batch 1"), *(("level", level) for level in ("application", "layer", "library", "kernel")),
                                  *(("kind", kind) for kind in ("sync", "launch", "execution")), ("category", "api"),
                                  ("category", "kernel")})

    def test_samples_in_pprof(self):
        """A third value; spans and time have none of it, and stay what they are."""
        sampled().write(self.trace)
        types, found, _ = self.pprof()
        self.assertEqual(types, [("spans", "count"), ("time", "nanoseconds"), ("samples", "count")])
        self.assertEqual([(chain, values) for chain, values in found if values[2] > 0],
                         [(chain, (0, 0, samples)) for chain, samples in SAMPLED.items()])
        self.assertEqual({chain: values for chain, values in found if values[1] > 0},
                         {chain: (*values, 0) for chain, values in STACKS.items() if values[1] > 0})

    def speedscope_samples(self):
        """[(name, {chain: weight})] of the profiles of samples."""
        document = json.loads(self.export("out.speedscope.json").read_text())
        frames, found = document["shared"]["frames"], []
        for profile in document["profiles"]:
            if profile["type"] == "sampled":
                chains = [tuple(frames[frame]["name"] for frame in chain) for chain in profile["samples"]]
                unit = "none" if profile["name"].startswith("samples of instructions") else "nanoseconds"
                self.assertEqual((profile["startValue"], profile["endValue"], profile["unit"]),
                                 (0, sum(profile["weights"]), unit))
                found.append((profile["name"], dict(zip(chains, profile["weights"], strict=True))))
        self.assertIn({"name": "main", "file": "train.py", "line": 3}, frames)
        return found

    def test_samples_in_speedscope(self):
        """A profile of each run that has samples."""
        script = sampled()
        script.run(2, "A")
        script.run(3, "K", batch=4)
        script.track(1, run_id=3)
        script.span("instruction samples", UNIX_START, 0, level="kernel", category="samples", run_id=3, context=6,
                    tags={"samples": 7})
        script.write(self.trace)
        gemm = ("main", "forward", "conv", "gemm", "gemm")
        self.assertEqual(self.speedscope_samples(), [
            ("samples of instructions, A/L/Lib/K batch 1",
             {(*gemm, "+0x80"): 8, (*gemm, "+0x90"): 4, ("other", "+0x10"): 1}),
            ("samples of instructions, K batch 4", {gemm: 7})])

    def test_samples_of_threads(self):
        """Metrics of their own in each form, never in the time of spans."""
        threads().write(self.trace)
        types, found, _ = self.pprof()
        self.assertEqual(types, [("spans", "count"), ("time", "nanoseconds"), ("cpu", "nanoseconds"),
                                 ("wait", "nanoseconds")])
        for at, expected in ((2, CPU_TIME), (3, WAITS)):
            self.assertEqual({chain: values[at] for chain, values in found if values[at] > 0}, expected)
            self.assertTrue(all(values[:2] == (0, 0) for chain, values in found if values[at] > 0))
        self.assertEqual({chain: values for chain, values in found if values[1] > 0},
                         {chain: (*values, 0, 0) for chain, values in STACKS.items() if values[1] > 0})
        run = "A/L/Lib/K batch 1"
        self.assertEqual(self.speedscope_samples(), [
            (f"CPU time of samples, {run}", {("main",): 30, ("main", "forward"): 45}),
            (f"waits of samples, {run}", {("main",): 500})])
        self.assertEqual(self.folded("--metric", "cpu_ns"), CPU_TIME)
        self.assertEqual(self.folded("--metric", "wait_ns"), WAITS)
        self.assertEqual(self.folded("--metric", "io_ns"), {("main (train.py:3)",): 100})
        self.assertEqual(self.folded(), {chain: own for chain, (_, own) in STACKS.items() if own > 0})

    def otlp_profiles(self):
        """{(type, unit): [(chain, attributes, link, values, times from UNIX_START)]}, by OpenTelemetry's own messages."""
        data = ProfilesData.FromString(self.export("out.otlp-profiles", "--force").read_bytes())
        tables, found = data.dictionary, {}
        texts = tables.string_table
        for field in tables.DESCRIPTOR.fields:  # place 0 is empty in all
            first = getattr(tables, field.name)[0]
            self.assertEqual(first if isinstance(first, str) else first.ByteSize(), "" if isinstance(first, str) else 0)

        def name(place):
            location = tables.location_table[place]
            function, line = tables.function_table[location.lines[0].function_index], location.lines[0].line
            file, module = texts[function.filename_strindex], tables.mapping_table[location.mapping_index].filename_strindex
            return (texts[function.name_strindex] + (f" ({file}:{line})" if file else "")
                    + (f" [{texts[module]}]" if module else ""))

        def attribute(place):
            pair = tables.attribute_table[place]
            return texts[pair.key_strindex], getattr(pair.value, pair.value.WhichOneof("value"))
        for resource in data.resource_profiles:
            self.assertIn(("xsp.levels", "A/L/Lib/K"), {(pair.key, pair.value.string_value)
                                                        for pair in resource.resource.attributes})
            for profile in resource.scope_profiles[0].profiles:
                kind = texts[profile.sample_type.type_strindex], texts[profile.sample_type.unit_strindex]
                for sample in profile.samples:
                    link = tables.link_table[sample.link_index]
                    chain = tuple(map(name, reversed(tables.stack_table[sample.stack_index].location_indices)))
                    found.setdefault(kind, []).append(
                        (chain, dict(map(attribute, sample.attribute_indices)), (link.trace_id, link.span_id),
                         list(sample.values), [time - UNIX_START for time in sample.timestamps_unix_nano]))
        return found

    def test_otlp_profiles(self):
        """Samples of threads as they were taken, with links to the spans of the traces."""
        script = threads()
        script.sample("cpu", UNIX_START + 650, 8, 2, span=1)
        script.sample("cpu", UNIX_START + 600, 9, 2, span=1)
        script.write(self.trace)
        traces = TracesData.FromString(self.export("out.otlp-proto").read_bytes())
        [program] = [span for span in traces.resource_spans[0].scope_spans[0].spans if span.name == "program"]
        main, forward = (MAIN,), (MAIN, FORWARD)
        thread, none = {"thread.id": 100, "thread.name": "main thread"}, (b"", b"")
        found = self.otlp_profiles()
        self.assertEqual(sorted(found), [("cpu", "nanoseconds"), ("wait", "nanoseconds")])
        self.assertCountEqual(found["cpu", "nanoseconds"], [
            ((), thread, none, [7], [800]), (main, thread, none, [30], [20]), (forward, thread, none, [25, 20], [400, 700]),
            (forward, thread, (program.trace_id, program.span_id), [9, 8], [600, 650])])
        self.assertCountEqual(found["wait", "nanoseconds"], [
            (main, thread | {"xsp.wait": "sleep"}, none, [400], [900]),
            (main, thread | {"xsp.wait": "io"}, none, [100], [990])])

    def test_times_before_1970_in_otlp_profiles(self):
        """OTLP has no such times: their samples are a sum without times, beside those of the path that have some."""
        script = threads()
        script.sample("cpu", 0, 4, 2)
        script.sample("cpu", -5, 3, 2)
        script.write(self.trace)
        found = [(values, times) for chain, _, _, values, times in self.otlp_profiles()["cpu", "nanoseconds"] if chain == (MAIN, FORWARD)]
        self.assertCountEqual(found, [([7], []), ([25, 20], [400, 700])])

    def test_samples_of_instructions_in_otlp_profiles(self):
        sampled().write(self.trace)
        self.assertCountEqual(self.otlp_profiles()["samples", "count"],
                              [(chain, {}, (b"", b""), [samples], []) for chain, samples in SAMPLED.items()])

    def folded(self, *options):
        lines = self.export("out.folded", "--force", *options).read_text().splitlines()
        return {tuple(chain.split(";")): int(value) for chain, _, value in (line.rpartition(" ") for line in lines)}

    def test_metric_in_folded(self):
        sampled().write(self.trace)
        self.assertEqual(self.folded("--metric", "samples"), SAMPLED)
        self.assertEqual(self.folded("--metric", "samples_barrier"), {(*GEMM, LOAD): 5})
        self.assertEqual(self.folded("--metric", "device_ns"), {GEMM[:-1]: 400})
        self.assertEqual(self.folded(), {chain: own for chain, (_, own) in STACKS.items() if own > 0})

    def test_unknown_metric(self):
        for options, word in ((["--metric", "samples"], "context_metric"),
                              (["--metric", "host_ns", "--to", "pprof"], "--to folded")):
            done = xsp("export", self.trace, "-o", self.folder / "out.folded", *options, check=2)
            self.assertIn(word, done.stderr.decode())
            self.assertFalse((self.folder / "out.folded").exists())

    def test_two_runs_of_one_path(self):
        script = frames_and_kernel()
        script.run(2, "A/L/Lib/K", batch=4)
        script.track(1, run_id=2)
        script.span("add", UNIX_START, 30, level="layer", run_id=2, context=5)
        script.write(self.trace)
        lines = self.export("out.folded").read_text().splitlines()
        self.assertIn(f"A/L/Lib/K batch 4;{MAIN};{ADD} 30", lines)
        self.assertEqual(len(lines), 7)


if __name__ == "__main__":
    unittest.main()
