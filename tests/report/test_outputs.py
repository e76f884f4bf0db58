# SPDX-License-Identifier: Apache-2.0
"""What any importer takes, every output shows: small files of each format with what is unusual in it, the corpora of the
importers' fuzz targets, and scripts of what no importer makes. long_outputs.py does the same with real traces."""
import json
import os
import pathlib
import unittest

import otlp
import scripted
from outputs import Outputs
from scripted import UNIX_START, Script, temporary_folder, xsp, xsp_json
from test_import_nsys import Export, gpid, gtid

CORPUS = pathlib.Path(os.environ["XSP_SOURCE"]) / "fuzz" / "corpus"
CORPORA = {"import_chrome": "chrome", "import_kineto": "kineto", "import_nsys": "nsys", "import_ort": "ort",
           "import_otlp_json": "otlp", "import_otlp_proto": "otlp-proto"}
CROSSING = 300  # spans of one track that all cross each other


def event(name="a", ts=0, dur=None, ph="X", **more):
    return {"name": name, "ph": ph, "ts": ts, **({} if dur is None else {"dur": dur}), **more}


def crossing(count=CROSSING, **more):
    return [event(f"x{i}", i, count, **more) for i in range(count)]


def kernel(name, ts, dur, correlation, stream=7, device=0):
    return event(name, ts, dur, cat="kernel", pid=device, tid=stream,
                 args={"device": device, "stream": stream, "correlation": correlation, "External id": correlation})


def launch(ts, dur, correlation, tid=1):
    return event("cudaLaunchKernel", ts, dur, cat="cuda_runtime", pid=1, tid=tid, args={"correlation": correlation})


CHROME = {
    "crossing": crossing(pid=1, tid=1),
    "no place": [event("a", 0, 10), event("b", 5, 10)],
    "threads beyond 31 bits": [event("a", 5 * i, 10, pid=2**40 + i, tid=2**40 + i % 2) for i in range(4)],
    "threads below 0, and 0": [event("a", 5 * i, 10, pid=-i, tid=-i) for i in range(4)],
    "threads with the numbers of made-up ones": [
        event("a", 5 * i, 10, pid=1, tid=tid) for i, tid in enumerate([8_000_000, 8_000_001, "main", "other", 8_000_000])],
    "named threads": [event("a", 0, 10, pid="server", tid="main"), event("b", 5, 10, pid="server", tid="main")],
    "asynchronous": [event(f"a{i}", 3 * i + k, None, ph, cat="c", id=i // 2, pid=1) for i in range(9)
                     for ph, k in (("b", 0), ("e", 4))],
    "asynchronous, open": [event("a", i, None, "b", cat="c", id=i, pid=1) for i in range(9)],
    "open": [event("a", i, None, "B", pid=1, tid=1) for i in range(9)] + crossing(9, pid=1, tid=1),
    "no length": [event("a", 5, 0, pid=1, tid=1) for _ in range(9)] + [event("b", 5, 0, pid=1, tid=1)],
    "no name": [event("", 0, 10, pid=1, tid=1), event("a;b\nc", 1, 2, pid=1, tid=1)],
    "below zero": [event("a", -50 + 7 * i, 20, pid=1, tid=1) for i in range(5)],
}
KINETO = {
    "no launches": [kernel("k", 0, 10, 0), kernel("k", 5, 10, 7)],
    "one id": [launch(i, 1, 5) for i in range(0, 40, 4)] + [kernel("k", 2 + i, 1, 5) for i in range(0, 40, 4)],
    "nested launches": [launch(0, 9, 5), launch(1, 3, 5), kernel("k", 4, 9, 5), kernel("k", 8, 9, 5)],
    "streams that cross": [launch(0, 1, 5)] + [kernel("k", i, 20, 5, stream=i % 2) for i in range(9)],
    "steps": [event("ProfilerStep#1", 0, 99, cat="user_annotation", pid=1, tid=1),
              event("aten::mm", 5, 20, cat="cpu_op", pid=1, tid=1), launch(6, 2, 1), kernel("k", 30, 9, 1)],
}
ORT = {
    "threads": [event("model_run", 0, 100, cat="Session", pid=1, tid=1, args={})] + [
        event(f"n{i}_kernel_time", 10 * i, 25, cat="Node", pid=1, tid=1 + i % 2,
              args={"op_name": "Conv", "provider": "CPUExecutionProvider", "node_index": str(i)}) for i in range(5)],
}
OTLP = {
    "no thread": [otlp.span(i + 1, f"request {i}", 10 * i, 10 * i + 35, thread=None) for i in range(9)],
    "no thread, named parents": [otlp.span(1, end=90, thread=None)] + [
        otlp.span(i, start=10, end=80, parent=1, thread=None) for i in (2, 3, 4)],
    "some threads": [otlp.span(1, end=9), otlp.span(2, end=9, thread=None), otlp.span(3, start=3, end=30, thread="io")],
    "one thread, two tracks": [otlp.span(i, start=i, end=i + 20, thread=None, xsp__track=i, xsp__thread_id=7,
                                         xsp__process_id=1) for i in (1, 2, 3)],
    "another clock": [otlp.span(1, end=9, thread=None, xsp__track=1, xsp__clock="sim"), otlp.span(2, start=3, end=20)],
    "only another clock": [otlp.span(1, end=9, thread=None, xsp__track=1, xsp__clock="sim")],
    "open": [otlp.span(1, start=5, end=-otlp.START, thread=None), otlp.span(2, end=20, thread=None)],
}


def nsys_ranges():
    """A range that starts and ends, alone, on the threads of others, and crossing."""
    alone = Export().nvtx("alone", 0, 100, kind=60)
    two = Export().nvtx("push", 0, 100).nvtx("start", 50, 200, kind=60).nvtx("start", 60, 250, kind=60)
    machines = Export().nvtx("a", 0, 100, tid=gtid(1, 5, 1)).nvtx("b", 50, 150, tid=gtid(1, 5, 2)).nvtx("r", 9, 99, kind=60)
    kernels = Export().nvtx("op", 0, 100).call("cudaLaunchKernel", 10, 20, 1).kernel("k", 30, 60, 1).kernel("l", 50, 70, 9)
    lost = Export().kernel("k", 30, 60, 1).kernel("k", 40, 70, 2, pid=gpid(200)).device("MEMSET", 35, 50, 3, bytes=64)
    return {"a range on no thread": alone, "ranges on and off threads": two, "two machines": machines, "kernels": kernels,
            "no calls": lost}


def undescribed():
    """What a writer may leave that died before it described its tracks."""
    script = Script()
    script.experiment()
    script.run(1, "M", 1)
    script.track(3, "main")
    for number, track in enumerate((3, 9, 2**31, 9, 0)):
        script.span(f"s{number}", UNIX_START + 10 * number, 25, track=track)
    return script


class OutputsFolder(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class OutputsTest(OutputsFolder):
    def check_file(self, source, *options):
        imported = self.folder / "imported.xsp"
        xsp("import", source, "-o", imported, "--force", *options, check=0)
        Outputs(self, imported, self.folder).check()

    def check_contents(self, contents, ending="json"):
        source = self.folder / f"source.{ending}"
        for name, content in contents.items():
            with self.subTest(name):
                source.write_bytes(content if isinstance(content, bytes) else content.encode())
                self.check_file(source)

    def test_chrome(self):
        self.check_contents({name: json.dumps(events) for name, events in CHROME.items()})

    def test_kineto(self):
        self.check_contents({name: json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "V100"}],
                                               "traceEvents": events}) for name, events in KINETO.items()})

    def test_onnxruntime(self):
        self.check_contents({name: json.dumps(events) for name, events in ORT.items()})

    def test_otlp(self):
        self.check_contents({name: otlp.lines(otlp.request(spans, {"process.pid": 12})) for name, spans in OTLP.items()})

    @unittest.skipIf(otlp.trace_pb2 is None, "the opentelemetry-proto package is not installed")
    def test_otlp_proto(self):
        self.check_contents({name: otlp.to_proto(otlp.request(spans)) for name, spans in OTLP.items()}, "otlp")

    def test_nsys(self):
        for name, export in nsys_ranges().items():
            with self.subTest(name):
                self.check_file(export.write(str(self.folder / "source.sqlite")))

    def test_corpora(self):
        taken = dict.fromkeys(CORPORA, 0)
        for corpus, form in CORPORA.items():
            for source in sorted((CORPUS / corpus).iterdir()):
                imported = self.folder / "imported.xsp"
                if xsp("import", source, "-o", imported, "--force", "--format", form).returncode != 0:
                    continue
                taken[corpus] += 1
                with self.subTest(source.name):
                    Outputs(self, imported, self.folder).check()
        self.assertNotIn(0, taken.values(), taken)

    def test_scripts(self):
        for name, script in (("asynchronous", scripted.asynchronous()), ("leveled", scripted.leveled()),
                             ("undescribed tracks", undescribed())):
            with self.subTest(name):
                Outputs(self, script.write(self.folder / "script.xsp"), self.folder).check()


class PlacesTest(OutputsFolder):
    """Where spans without a track are drawn: where the viewer's reader looks for them."""

    def chrome(self, source):
        xsp("import", source, "-o", self.folder / "in.xsp", "--force", check=0)
        target = self.folder / "out.json"
        xsp("export", self.folder / "in.xsp", "--to", "chrome", "-o", target, "--force", check=0)
        events = json.loads(target.read_text())["traceEvents"]
        names = {(one["pid"], one["tid"]): one["args"]["name"] for one in events if one["name"] == "thread_name"}
        return {one["name"]: (one["pid"], names[one["pid"], one["tid"]]) for one in events if one["ph"] == "X"}

    def test_in_the_only_process(self):
        export = Export().nvtx("push", 0, 100).nvtx("start", 50, 200, kind=60).nvtx("start 2", 60, 250, kind=60)
        places = self.chrome(export.write(str(self.folder / "source.sqlite")))
        self.assertEqual(places["start"], (places["push"][0], "no thread"))
        self.assertEqual(places["start 2"], (places["push"][0], "no thread (overlapping 1)"))

    def test_in_none_of_two_processes(self):
        export = Export().nvtx("a", 0, 9, tid=gtid(1)).nvtx("b", 0, 9, tid=gtid(2)).nvtx("start", 5, 20, kind=60)
        places = self.chrome(export.write(str(self.folder / "source.sqlite")))
        self.assertEqual(len({pid for pid, _ in places.values()}), 3)

    def test_no_track_stays_none(self):
        """The file still has no track for them: they take no part in containment."""
        source = self.folder / "source.jsonl"
        source.write_text(otlp.lines(otlp.request(OTLP["no thread"])))
        xsp("import", source, "-o", self.folder / "in.xsp", check=0)
        spans = xsp_json("sql", self.folder / "in.xsp", "select track_id, basis from span", "--json")
        self.assertEqual({(span["track_id"], span["basis"]) for span in spans}, {(None, "none")})


if __name__ == "__main__":
    unittest.main()
