# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry traces out and in again: what is exported and read back is the same trace."""
import json
import pathlib
import random
import sqlite3
import unittest

import scripted
import trace_reader
from otlp import lines, resource_spans, span
from otlp_case import OtlpTest, TABLES
from otlp_random import random_span
from scripted import Script, asynchronous, leveled, xsp, xsp_json

DATA = trace_reader.data_folder()


class RoundTripTest(OtlpTest):
    """What is exported and read back is the same trace: rows, analyses, and the next export byte by byte."""

    def there_and_back(self, source):
        expected = self.tables(source)
        analyses = self.analyses(source)
        text = self.exported(source, "otlp")
        proto = self.exported(source, "otlp-proto")
        for first, form in ((text, "otlp"), (proto, "otlp-proto")):
            with self.subTest(form):
                out, reported = self.imported(first.read_bytes())
                file = reported["files"][0]
                self.assertEqual((file["format"], file["skipped"]), (form, {}))
                self.assertEqual(file["kept"], len(expected["span"]))
                found = self.tables(out)
                for name in TABLES:
                    self.assertEqual(found[name], expected[name], name)
                self.assertEqual(self.analyses(out), analyses)
                self.assertEqual(self.exported(out, "otlp").read_bytes(), text.read_bytes())
                self.assertEqual(self.exported(out, "otlp-proto").read_bytes(), proto.read_bytes())

    def analyses(self, path):
        answers = {}
        for one in ["L0"] + [f"A{number}" for number in range(1, 16)]:
            result = xsp("analyze", one, path, "--json")
            answers[one] = (result.returncode, result.stdout)
        self.assertTrue(any(code == 0 for code, _ in answers.values()))
        return answers

    def test_leveled_experiments(self):
        self.there_and_back(leveled(experiments=2).write(self.path("xsp")))

    def test_asynchronous(self):
        self.there_and_back(asynchronous().write(self.path("xsp")))

    def test_odd_things(self):
        script = scripted.Script()
        script.experiment("odd \"name\"\n\u00e9", 1)
        script.experiment("odd \"name\"\n\u00e9", 2)  # two of one name on one system
        script.workload(1, model_name="m\u00e9 \"1\"", task="text", graph_bytes=2**40 + 1)
        script.workload(2, model_version="", model_name="other")
        for run_id, experiment_id in ((1, 1), (2, 2), (3, 2)):
            script.run(run_id, "M/L/K+metrics" if run_id == 1 else "M/K", 0, dropped=run_id, epoch="trace",
                       experiment_id=experiment_id)
        script.track(4, "used late", run_id=1)
        script.track(1, "main")
        script.track(1, "main, of another run", run_id=2)
        script.track(9, None, host="h", clock="simulated", process=None, thread=None, device=1, stream=2)
        script.track(3, "never used", thread=None)
        tags = {"xsp.level": "a tag", "xsp.flops": 1, "xsp.tag.x": 2, "thread.id": 5, "batch_size": 2.5, "warmup": 0,
                "text": "a\0b\u00e9\t\"", "real": 1e-320, "whole": -2**63, "layer_type": "Conv", "xsp.unknown": 1.5}
        script.span("before the epoch", -1000, 500, track=9, tags=tags)
        script.span("across it", -10, 20, track=4, parent=1, tags={"flops": 5})
        script.span("names a parent that is not there", 5, 6, "layer", parent=12345)
        script.span("", 5, 0, "kernel", "execution", correlation=-7, tracer=None)
        script.span("open", 7, "open", "application", track=4)
        script.span("far", 2**62, 2**62 - 1, "library", category="cudnn")
        script.span("a kernel of no category", 10, 1, "kernel", run_id=2, track=1)
        self.there_and_back(script.write(self.path("xsp")))

    def test_more_tracks_than_are_kept_encoded(self):
        script = scripted.Script()
        script.experiment()
        script.run(1, "M")
        for track_id in range(1000, 3600):
            script.track(track_id, f"{track_id}" * 100, thread=track_id)
        for place, track_id in enumerate([*range(1000, 3600), 1000, 1000, 3599]):
            script.span("net", place, 1, track=track_id)
        self.there_and_back(script.write(self.path("xsp")))

    def test_spans_of_any_kind(self):
        rng = random.Random(4)
        for seed in range(3):
            groups = [resource_spans([random_span(rng, number) for number in range(1, 60)],
                                     {"xsp.run": run, "xsp.experiment": "e", "service.name": "s", "host.name": "h"})
                      for run in (1, 2)]
            out, _ = self.imported(lines({"resourceSpans": groups}))
            self.there_and_back(out)

    def test_the_model(self):
        out, _ = self.spans([span(1, level="model")], {"xsp.experiment": "e", "xsp.model.model_name": "ResNet", "xsp.model.task": "text",
                                                       "xsp.model.graph_bytes": 12, "xsp.model.": "no key"})
        self.assertEqual(self.rows(out, "select * from workload order by key"),
                         [(1, "graph_bytes", 12), (1, "model_name", "ResNet"), (1, "task", "text")])
        self.there_and_back(out)
        row = xsp_json("analyze", "T8", out, "--json")["rows"][0]
        self.assertEqual((row["model_name"], row["task"], row["graph_bytes"]), ("ResNet", "text", 12))

    def test_notes_and_messages(self):
        one = span(1, level="model", events=[(1, "a"), (2, "b\0c")])
        out, _ = self.spans([one], {
            "xsp.run": 1, "xsp.note.plain": "n", "xsp.file_note.noise": "quiet", "service.name": "shop", "xsp.own_pct": 0.25,
            "xsp.misused": 3, "xsp.tracks": '[{"track":7,"name":"idle","thread_id":3}]',
            "xsp.logs": json.dumps([{"time_ns": -5, "message": "early"}, {"time_ns": 5, "message": "late"}])})
        self.assertEqual(self.rows(out, "select track_id, name, thread_id from track order by 1"), [(1, None, 1), (7, "idle", 3)])
        self.assertEqual(self.rows(out, "select time_ns, message from log where coalesce(span_id, 0) = 0 order by 1"),
                         [(-5, "early"), (5, "late")])
        self.there_and_back(out)

    def test_foreign_traces_and_parents_across_them(self):
        other = span(2, trace="aa" * 16, parent=1, xsp__trace="a name of a trace")
        out, _ = self.spans([span(1, level="model"), other, span(3, trace="", parent=1), span(4, trace="00" * 16)],
                            {"xsp.run": 1, "xsp.unique_ids": True})
        self.assertEqual(self.rows(out, "select span_id, parent_id, trace_id from span order by 1"),
                         [(1, None, 1), (2, 1, 2), (3, 1, None), (4, 3, None)])
        self.there_and_back(out)

    @unittest.skipIf(DATA is None, "no folder of real traces")
    def test_real_traces(self):
        found = 0
        folder = pathlib.Path(DATA)
        for name in ("kineto/hta__triton_example__triton_example.json.gz",
                     "ort/ort1.30_ppocr_cls_session.json", "nsys/pipit__saxpy-mpi-cuda_nsys_perlmutter0.sqlite"):
            path = folder / name
            if not path.exists():
                continue
            with self.subTest(name):
                out = self.path("xsp")
                xsp("import", path, "-o", out, check=0)
                self.there_and_back(out)
                found += 1
        if found == 0:
            self.skipTest("no real traces")

    def test_a_profile(self):
        try:
            import onnx
            import onnxruntime  # noqa: F401
        except ImportError:
            self.skipTest("onnx or onnxruntime is not installed")
        helper = onnx.helper
        shape = ["N", 8]
        graph = helper.make_graph(
            [helper.make_node("Relu", ["x"], ["y"], name="relu"), helper.make_node("Sigmoid", ["y"], ["z"], name="sigmoid")],
            "small", [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("z", onnx.TensorProto.FLOAT, shape)])
        model = self.folder / "small.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model)
        out = self.path("xsp")
        xsp("profile", model, "--batch", "1,2", "--levels", "M,M/L", "--runs", "3", "--warmup", "1", "-o", out, check=0)
        self.there_and_back(out)

    def test_a_profile_with_kernels(self):
        model = self.folder / "scripted.xspscript"
        model.write_text("input data float N,8\nlayer a Conv 200us\nkernel k1 50us\nkernel k2 20us\nlayer b Relu 100us\n")
        out = self.path("xsp")
        xsp("profile", model, "--batch", "1,2", "--levels", "M,M/L,M/L/K", "--tracer", "fake:kernel_delay_ns=1000",
            "--runs", "3", "--warmup", "1", "-o", out, check=0)
        self.assertGreater(self.sql(out, "select count(*) as n from span where level = 'kernel'")[0]["n"], 10)
        self.there_and_back(out)

    def test_requests_are_complete(self):
        script = leveled(observations=200)
        out = script.write(self.path("xsp"))
        requests = [json.loads(line) for line in self.exported(out).read_text().splitlines()]
        sizes = [len(one["resourceSpans"][0]["scopeSpans"][0]["spans"]) for one in requests]
        self.assertEqual((max(sizes), sum(sizes)), (512, 4 * 200 + 2 * 200 * 3))
        for one in requests:
            keys = {pair["key"] for pair in one["resourceSpans"][0]["resource"]["attributes"]}
            self.assertTrue({"xsp.experiment", "xsp.run", "xsp.levels", "xsp.batch_size", "service.name"} <= keys)
        # Cut into requests of one span and shuffled within a run, it is still the same trace but for the file's order.
        apart = []
        for one in requests:
            group = one["resourceSpans"][0]
            for each in group["scopeSpans"][0]["spans"]:
                apart.append({"resourceSpans": [{"resource": group["resource"], "scopeSpans": [{"spans": [each]}]}]})
        again, _ = self.imported(lines(*apart))
        self.assertEqual(self.tables(again)["span"], self.tables(out)["span"])

    def test_large_requests_end_early(self):
        script = Script()
        script.experiment("large")
        script.run(1, "M")
        script.track(1, "main")
        for i in range(30):
            script.span("span", scripted.UNIX_START + i * 1000, 500, tags={"text": "x" * 100_000})
        requests = self.exported(script.write(self.path("xsp"))).read_text().splitlines()
        self.assertEqual([len(json.loads(one)["resourceSpans"][0]["scopeSpans"][0]["spans"]) for one in requests], [11, 11, 8])

    def test_what_is_open_is_an_analysis_of_its_own(self):
        """A file whose writer died and that was never correlated is exported as readers correlate it."""
        out = asynchronous().write(self.path("xsp"))
        copy = self.path("xsp")
        copy.write_bytes(out.read_bytes())
        with sqlite3.connect(copy) as db:
            db.execute("delete from chunk where series = 'span' and \"column\" in ('parent_id', 'basis', 'depth')")
        self.assertEqual(self.exported(copy).read_bytes(), self.exported(out).read_bytes())


if __name__ == "__main__":
    unittest.main()
