# SPDX-License-Identifier: Apache-2.0
"""Call paths in the outputs of stacks: Python functions, operators and kernels are one stack; all figures by hand."""
import gzip
import json
import pathlib
import unittest

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from scripted import UNIX_START, Script, temporary_folder, xsp

# What google/pprof's profile.proto says of the fields that are read here: message: {field: (number, kind, repeated)}.
MESSAGES = {
    "ValueType": {"type": (1, "int64", False), "unit": (2, "int64", False)},
    "Label": {"key": (1, "int64", False), "str": (2, "int64", False)},
    "Sample": {"location_id": (1, "uint64", True), "value": (2, "int64", True), "label": (3, "Label", True)},
    "Mapping": {"id": (1, "uint64", False), "filename": (5, "int64", False), "has_functions": (7, "bool", False)},
    "Line": {"function_id": (1, "uint64", False), "line": (2, "int64", False)},
    "Location": {"id": (1, "uint64", False), "mapping_id": (2, "uint64", False), "address": (3, "uint64", False),
                 "line": (4, "Line", True)},
    "Function": {"id": (1, "uint64", False), "name": (2, "int64", False), "system_name": (3, "int64", False),
                 "filename": (4, "int64", False)},
    "Profile": {"sample_type": (1, "ValueType", True), "sample": (2, "Sample", True), "mapping": (3, "Mapping", True),
                "location": (4, "Location", True), "function": (5, "Function", True),
                "string_table": (6, "string", True), "default_sample_type": (14, "int64", False)},
}


def profile_class():
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="pprof", syntax="proto3")
    for message, fields in MESSAGES.items():
        made = file.message_type.add(name=message)
        for name, (number, kind, is_repeated) in fields.items():
            field = made.field.add(name=name, number=number)
            field.label = field.LABEL_REPEATED if is_repeated else field.LABEL_OPTIONAL
            field.type = getattr(field, f"TYPE_{kind.upper()}", field.TYPE_MESSAGE)
            if field.type == field.TYPE_MESSAGE:
                field.type_name = f".pprof.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("pprof.Profile"))


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
# Spans and self time. The program's is 1000 - 300 - 10; conv's 300 - 20 - 10. A launch's time is its execution's.
STACKS = {("program",): (1, 690), ("program", MAIN, FORWARD, "conv"): (1, 270),
          ("program", MAIN, FORWARD, "conv", "malloc"): (1, 20), ("program", MAIN, FORWARD, "conv", "launch"): (1, 0),
          ("program", MAIN, FORWARD, "conv", "gemm"): (1, 400), ("program", MAIN, ADD): (1, 10)}


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

    def test_pprof(self):
        profile = profile_class().FromString(gzip.decompress(self.export("out.pb.gz").read_bytes()))
        texts = profile.string_table
        self.assertEqual(texts[0], "")
        self.assertEqual([(texts[kind.type], texts[kind.unit]) for kind in profile.sample_type],
                         [("spans", "count"), ("time", "nanoseconds")])
        self.assertEqual(texts[profile.default_sample_type], "time")
        functions = {function.id: function for function in profile.function}
        modules = {mapping.id: texts[mapping.filename] for mapping in profile.mapping}
        names = {}
        for location in profile.location:
            function, line = functions[location.line[0].function_id], location.line[0].line
            place = f" ({texts[function.filename]}:{line})" if function.filename else ""
            module = f" [{modules[location.mapping_id]}]" if location.mapping_id else ""
            names[location.id] = texts[function.name] + place + module
        found = {tuple(names[at] for at in reversed(sample.location_id)): tuple(sample.value)
                 for sample in profile.sample}
        self.assertEqual(found, STACKS)
        self.assertEqual({(texts[label.key], texts[label.str]) for sample in profile.sample for label in sample.label},
                         {("run", "A/L/Lib/K batch 1")})

    def test_two_runs_of_one_path(self):
        script = frames_and_kernel()
        script.run(2, "A/L/Lib/K", batch=4)
        script.track(1, run_id=2)
        script.span("add", UNIX_START, 30, level="layer", run_id=2, context=5)
        script.write(self.trace)
        lines = self.export("out.folded").read_text().splitlines()
        self.assertIn(f"A/L/Lib/K batch 4;{MAIN};{ADD} 30", lines)
        self.assertEqual(len(lines), 6)


if __name__ == "__main__":
    unittest.main()
