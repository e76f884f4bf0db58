# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry traces in and out: every clause of docs/otlp.md, the round trip, the official protobuf package
in both directions, and files that are broken at any byte."""
import base64
import gzip
import json
import os
import pathlib
import random
import sqlite3
import struct
import subprocess
import unittest

import otlp
import scripted
import trace_reader
from otlp import START, lines, request, resource_spans, span
from scripted import XSP, Script, asynchronous, leveled, temporary_folder, xsp, xsp_json

DATA = trace_reader.data_folder()
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


class AttributesTest(OtlpTest):
    def test_columns(self):
        out, reported = self.spans([
            span(1, "net", 0, 100, level="model", xsp__category="c", xsp__tracer="t", xsp__batch_size=4),
            span(2, "k", 5, 6, level="kernel", xsp__kind="execution", xsp__correlation_id=9, xsp__category="kernel"),
            span(3, "l", 5, 6, level="kernel", xsp__kind="launch", xsp__correlation_id="9", xsp__category="api"),
            span(4, "plain", 7, 8), span(5, "lib", 8, 9, level="library")])
        self.assertEqual(reported["files"][0]["format"], "otlp")
        self.assertEqual((reported["files"][0]["events"], reported["files"][0]["kept"]), (5, 5))
        self.assertEqual(self.rows(out, "select span_id, name, level, kind, category, tracer, correlation_id, start_ns, "
                                        "end_ns, trace_id from span order by span_id"), [
            (1, "net", "model", "sync", "c", "t", None, START, START + 100, 1),
            (2, "k", "kernel", "execution", "kernel", "test", 9, START + 5, START + 6, 1),
            (3, "l", "kernel", "launch", "api", "test", 9, START + 5, START + 6, 1),
            (4, "plain", "application", "sync", None, "test", None, START + 7, START + 8, 1),
            (5, "lib", "library", "sync", None, "test", None, START + 8, START + 9, 1)])
        self.assertEqual(tag(out, self, 1, "batch_size"), 4)
        self.assertEqual(self.sql(out, "select text from trace"), [{"text": otlp.TRACE}])

    def test_tracer_is_the_scope_where_the_span_names_none(self):
        out, _ = self.imported(lines({"resourceSpans": [{"scopeSpans": [
            {"scope": {"name": "one"}, "spans": [span(1)]}, {"spans": [span(2)]},
            {"scope": {"name": "two"}, "spans": [span(3), span(4, xsp__tracer="own")]}]}]}))
        self.assertEqual(self.rows(out, "select tracer from span order by span_id"),
                         [("one",), ("otlp",), ("two",), ("own",)])

    def test_tags_keep_their_types(self):
        tags = {"whole": 5, "negative": -2**63, "real": 0.1, "exponent": 1e300, "text": "a\u00e9\u4e2d\n\"\\\0z",
                "yes": True, "no": False, "list": [1, "a", [True, None], {"k": 0.5}], "map": {"a": 1, "b": {"c": []}},
                "bytes": b"\0\1\xff", "empty": "", "none": None, "xsp.flops": 7.5e10, "xsp.layer_index": 3,
                "xsp.grid": "[1,2,3]", "xsp.foo": "bar", "xsp.tag.xsp.level": "own", "http.method": "GET",
                "beyond": {"intValue": "99999999999999999999"}, "number": {"intValue": 7}, "exp": {"intValue": "1e3"},
                "infinite": {"doubleValue": "Infinity"}, "digits": {"doubleValue": "2.5"}}
        out, _ = self.spans([span(1, thread=None, more=tags)])
        found = {row["key"]: row["value"] for row in self.sql(out, "select key, value from tag")}
        infinite = found.pop("infinite")
        self.assertTrue(infinite is None or infinite > 1e308)  # JSON has no infinity
        self.assertEqual(self.sql(out, "select value > 1e308 as big from tag where key = 'infinite'"), [{"big": 1}])
        self.assertEqual(found, {
            "whole": 5, "negative": -2**63, "real": 0.1, "exponent": 1e300, "text": "a\u00e9\u4e2d\n\"\\\0z", "yes": 1,
            "no": 0, "list": '[1,"a",[true,null],{"k":0.5}]', "map": '{"a":1,"b":{"c":[]}}', "bytes": "AAH/",
            "empty": "", "none": "", "flops": 7.5e10, "layer_index": 3, "grid": "[1,2,3]", "xsp.foo": "bar",
            "xsp.level": "own", "http.method": "GET", "beyond": "99999999999999999999", "number": 7, "exp": 1000,
            "digits": 2.5})
        types = {row["key"]: row["type"] for row in self.sql(out, "select key, typeof(value) as type from tag")}
        self.assertEqual((types["whole"], types["real"], types["yes"], types["list"], types["beyond"]),
                         ("integer", "real", "integer", "text", "text"))

    def test_an_attribute_of_another_type_than_its_role_is_a_tag(self):
        out, _ = self.spans([span(1, thread=None, xsp__category=7, xsp__correlation_id="x", xsp__basis="guess")])
        self.assertEqual(self.rows(out, "select key, value from tag order by key"),
                         [("xsp.basis", "guess"), ("xsp.category", 7), ("xsp.correlation_id", "x")])

    def test_events_are_messages(self):
        one = span(1, events=[(3, "first"), (4, "second")])
        one["events"].append({"timeUnixNano": str(START), "name": "exception",
                              "attributes": otlp.attributes({"message": "no \"way\"", "code": 5, "list": [1]})})
        out, _ = self.spans([one])
        self.assertEqual(self.rows(out, "select span_id, time_ns - %d, message from log" % START), [
            (1, 3, "first"), (1, 4, "second"), (1, 0, 'exception {"message":"no \\"way\\"","code":5,"list":[1]}')])

    def test_fields_that_a_trace_has_not_are_tags(self):
        one = span(1, thread=None)
        one.update(kind=3, traceState="a=b", status={"code": 2, "message": "went wrong"},
                   links=[{"traceId": otlp.TRACE, "spanId": "00000000000000ff",
                           "attributes": otlp.attributes({"why": "batch"})}], flags=257, droppedEventsCount=3)
        named = span(2, thread=None)
        named.update(kind="SPAN_KIND_SERVER", status={"code": "STATUS_CODE_OK"})
        out, _ = self.spans([one, named])
        self.assertEqual(self.rows(out, "select span_id, key, value from tag order by span_id, key"), [
            (1, "otel.links", '[{"traceId":"%s","spanId":"00000000000000ff","attributes":{"why":"batch"}}]' % otlp.TRACE),
            (1, "otel.status_code", "ERROR"), (1, "otel.status_description", "went wrong"), (1, "span.kind", "client"),
            (1, "w3c.tracestate", "a=b"), (2, "otel.status_code", "OK"), (2, "span.kind", "server")])

    def test_warmup_and_observations(self):
        out, _ = self.spans([
            span(1, "epoch", 0, 1000, level="model"),
            span(2, "step", 0, 100, level="model", xsp__observation=0, xsp__warmup=True),
            span(3, "inner", 10, 20, level="model", xsp__observation=0),
            span(4, "step", 200, 300, level="model", xsp__observation=1),
            span(5, "layer", 210, 220, level="layer", xsp__observation=1)])
        self.assertEqual(self.rows(out, "select observation, span_id, warmup from observation"), [(0, 2, 1), (1, 4, 0)])
        self.assertEqual(self.rows(out, "select key, value from tag where key like '%warmup'"), [("warmup", 1)])
        self.assertEqual(self.rows(out, "select span_id, observation from span order by 1"),
                         [(1, 0), (2, 0), (3, 0), (4, 1), (5, 1)])  # the first starts in an observation

    def test_outermost_models_are_observations_where_none_are_marked(self):
        out, _ = self.spans([span(1, "a", 0, 100, level="model"), span(2, "b", 10, 20, level="model"),
                             span(3, "c", 200, 300, level="model")])
        self.assertEqual(self.rows(out, "select span_id from observation"), [(1,), (3,)])

    def test_model_range_names_the_models_of_spans_without_level(self):
        out, _ = self.spans([span(1, "predict 1", 0, 100), span(2, "work", 5, 6), span(3, "predict", 0, 9, level="layer")],
                            options=("--model-range", "predict*"))
        self.assertEqual(self.rows(out, "select span_id, level from span order by 1"),
                         [(1, "model"), (2, "application"), (3, "layer")])
        self.assertEqual(self.rows(out, "select span_id from observation"), [(1,)])

    def test_a_kernel_without_category_is_a_kernel(self):
        out, _ = self.spans([
            span(1, level="kernel", xsp__kind="execution", xsp__correlation_id=1), span(2, level="kernel"),
            span(3, level="kernel", xsp__kind="launch", xsp__correlation_id=1),
            span(4, level="kernel", xsp__correlation_id=1), span(5, level="kernel", xsp__category="memcpy")])
        self.assertEqual(self.rows(out, "select category from span order by span_id"),
                         [("kernel",), ("kernel",), (None,), (None,), ("memcpy",)])

    def test_nested_calls_of_one_correlation_id_have_one_launch(self):
        """The source does not mark the launch among its calls."""
        out, _ = self.spans([
            span(1, "inner", 20, 30, level="kernel", xsp__category="api", xsp__correlation_id=5),
            span(2, "outer", 10, 40, level="kernel", xsp__category="api", xsp__correlation_id=5),
            span(3, "k", 50, 60, level="kernel", xsp__kind="execution", xsp__correlation_id=5, thread=None),
            span(4, "layer", 0, 45, level="layer")])
        self.assertEqual(self.rows(out, "select kind, parent_id from span order by span_id"),
                         [("sync", 4), ("launch", 4), ("execution", 4), ("sync", None)])

    def test_skipped_by_reason(self):
        no_id = span(9)
        del no_id["spanId"]
        zero = span(0)
        bad = span(9)
        bad["spanId"] = "xyz"
        long = span(9)
        long["spanId"] = "00" * 9
        bad_parent = span(9)
        bad_parent["parentSpanId"] = "parent"
        out, reported = self.spans([
            span(1), span(1, "again"), span(2, start=10, end=9), span(3, level="galaxy"), span(4, xsp__kind="nice"),
            span(5, xsp__level=2), no_id, zero, bad, long, bad_parent, span(6)])
        file = reported["files"][0]
        self.assertEqual(file["skipped"], {"duplicate id": 1, "negative duration": 1, "unknown level": 2,
                                           "unknown kind": 1, "no span id": 2, "bad span id": 2, "bad parent id": 1})
        self.assertEqual((file["events"], file["kept"]), (12, 2))
        self.assertEqual(self.rows(out, "select span_id, name from span order by 1"), [(1, "span"), (6, "span")])

    def test_a_span_without_an_end_is_open(self):
        one = span(1, level="model")
        del one["endTimeUnixNano"]
        other = span(2, level="model")
        other["endTimeUnixNano"] = "0"  # as if it were absent: protobuf does not distinguish them
        out, reported = self.spans([one, other, span(3, level="model", xsp__open=True)])
        self.assertEqual(self.rows(out, "select span_id, is_open, end_ns from span order by 1"),
                         [(1, 1, None), (2, 1, None), (3, 1, None)])
        self.assertEqual(reported["files"][0]["skipped"], {})


class ParentsTest(OtlpTest):
    def test_named_parents_whatever_the_order(self):
        out, reported = self.spans([span(2, parent=1, start=1), span(3, parent=2, start=2), span(1), span(4, parent=77)])
        self.assertEqual(self.rows(out, "select span_id, parent_id, basis from span order by 1"),
                         [(1, None, "none"), (2, 1, "explicit"), (3, 2, "explicit"), (4, 77, "explicit")])
        self.assertRegex(" ".join(reported["files"][0]["notes"]), "1 parent .*not in the file")

    def test_a_named_parent_with_the_times_of_its_child(self):
        out, _ = self.spans([span(2, "child", parent=1), span(1, "parent")])
        self.assertEqual(self.rows(out, "select span_id, parent_id, basis from span order by 1"),
                         [(1, None, "none"), (2, 1, "explicit")])

    def test_ids_of_traces_are_apart(self):
        other = "ff" * 16
        out, _ = self.spans([span(2, "a2", 5, parent=1), span(2, "b2", 5, trace=other, parent=1), span(1, "b1", trace=other),
                             span(1, "a1")])
        found = {row["name"]: row for row in self.sql(out, "select * from span")}
        self.assertEqual(len({row["span_id"] for row in found.values()}), 4)
        self.assertEqual(found["a2"]["parent_id"], found["a1"]["span_id"])
        self.assertEqual(found["b2"]["parent_id"], found["b1"]["span_id"])
        self.assertEqual((found["a1"]["span_id"], found["a2"]["span_id"]), (1, 2))

    def test_large_ids(self):
        out, _ = self.spans([span(2**64 - 1, "top", 5, parent=2**63), span(2**63, "half"), span(2**63 - 1, "rest"),
                             span(12345678901234567, "kept")])
        found = {row["name"]: row for row in self.sql(out, "select name, span_id, parent_id from span")}
        self.assertTrue(all(1 <= row["span_id"] < 2**63 for row in found.values()))
        self.assertEqual(len({row["span_id"] for row in found.values()}), 4)
        self.assertEqual(found["kept"]["span_id"], 12345678901234567)
        self.assertEqual(found["top"]["parent_id"], found["half"]["span_id"])

    def test_no_thread_no_containment(self):
        out, _ = self.spans([span(1, "outer", 0, 100, level="model"), span(2, "in", 10, 20, level="layer"),
                             span(3, "away", 10, 20, level="layer", thread=None),
                             span(4, "other", 10, 20, level="layer", thread=2)])
        self.assertEqual(self.rows(out, "select span_id, parent_id, basis, track_id from span order by 1"), [
            (1, None, "none", 1), (2, 1, "containment", 1), (3, None, "none", None), (4, None, "none", 2)])

    def test_a_recorded_basis_is_not_resolved_again(self):
        out, _ = self.spans([
            span(1, "outer", 0, 100, level="model"), span(2, "kept", 10, 20, level="layer", xsp__basis="none"),
            span(3, "moved", 10, 20, level="layer", xsp__basis="containment", parent=2),
            span(4, "torn", 10, 20, level="layer", xsp__basis="ambiguous"),
            span(5, "k", 50, 60, level="kernel", xsp__kind="execution", xsp__correlation_id=1, xsp__basis="correlation"),
            span(6, "found", 30, 40, level="layer")])
        self.assertEqual(self.rows(out, "select span_id, parent_id, basis from span order by 1"), [
            (1, None, "none"), (2, None, "none"), (3, 2, "containment"), (4, None, "ambiguous"),
            (5, None, "correlation"), (6, 1, "containment")])


class TracksTest(OtlpTest):
    def tracks(self, spans, resource=None):
        out, _ = self.spans(spans, resource)
        return self.rows(out, "select s.span_id, s.track_id, t.name, t.host, t.process_id, t.thread_id, t.device_id, "
                              "t.stream_id from span s left join track t using (run_id, track_id) order by 1")

    def test_numbers_with_their_facts(self):
        self.assertEqual(self.tracks([
            span(1, thread=None, xsp__track=7, xsp__track_name="gpu", xsp__host="h", xsp__process_id=5,
                 xsp__device_id=0, xsp__stream_id=13),
            span(2, thread=None, xsp__track=7), span(3, thread=3, xsp__track=8, xsp__thread_id=9)]), [
                (1, 7, "gpu", "h", 5, None, 0, 13), (2, 7, "gpu", "h", 5, None, 0, 13),
                (3, 8, None, None, None, 9, None, None)])

    def test_ranks_of_processes_in_and_out(self):
        out, _ = self.spans([
            span(1, thread=None, xsp__track=7, xsp__process_id=5, xsp__rank=1, xsp__local_rank=0, xsp__world_size=2),
            span(2, thread=None, xsp__track=8, xsp__process_id=6, xsp__rank=0, xsp__world_size=2),
            span(3, thread=None, xsp__track=9, xsp__process_id=7, xsp__rank=4)])
        query = "select track_id, rank, local_rank, world_size from track order by 1"
        found = [(7, 1, 0, 2), (8, 0, None, 2), (9, None, None, None)]
        self.assertEqual(self.rows(out, query), found)
        again = self.path("xsp")
        xsp_json("import", self.exported(out), "-o", again, "--json")
        self.assertEqual(self.rows(again, query), found)

    def test_a_text_stands_for_number_and_name(self):
        self.assertEqual(self.tracks([span(1, thread=None, xsp__track="stream a"), span(2, thread=None, xsp__track="b"),
                                      span(3, thread=None, xsp__track="stream a")]), [
            (1, 1, "stream a", None, None, None, None, None), (2, 2, "b", None, None, None, None, None),
            (3, 1, "stream a", None, None, None, None, None)])

    def test_threads(self):
        self.assertEqual(self.tracks([span(1, thread=70), span(2, thread=71, thread__name="worker"),
                                      span(3, thread=70), span(4, thread=None)],
                                     {"host.name": "box", "process.pid": 12}), [
            (1, 1, None, "box", 12, 70, None, None), (2, 2, "worker", "box", 12, 71, None, None),
            (3, 1, None, "box", 12, 70, None, None), (4, None, None, None, None, None, None, None)])

    def test_threads_of_two_processes_are_two(self):
        out, _ = self.imported(lines(request([span(1)], {"xsp.run": 1, "process.pid": 5}),
                                     request([span(2)], {"xsp.run": 1, "process.pid": 6})))
        self.assertEqual(self.rows(out, "select run_id, process_id, thread_id from track order by track_id"),
                         [(1, 5, 1), (1, 6, 1)])

    def test_numbers_that_no_track_can_have(self):
        found = self.tracks([span(1, thread=None, xsp__track=-5), span(2, thread=None, xsp__track=1),
                             span(3, thread=None, xsp__track=2**60), span(4, thread=None, xsp__track=-5)])
        self.assertEqual(found[0][1], found[3][1])
        self.assertEqual(len({row[1] for row in found}), 3)


class RunsTest(OtlpTest):
    def runs(self, *requests):
        out, _ = self.imported(lines(*requests))
        return self.rows(out, "select e.name, r.levels, r.batch_size, count(s.span_id) from run r "
                              "join experiment e using (experiment_id) left join span s using (run_id) "
                              "group by r.run_id order by r.run_id")

    def test_a_run_is_its_number_whatever_the_request_and_the_trace(self):
        first = {"xsp.experiment": "e", "xsp.run": 1, "xsp.levels": "M/L", "xsp.batch_size": 4}
        later = {"xsp.experiment": "e", "xsp.run": "1", "xsp.levels": "M", "xsp.batch_size": 8, "more": "x"}
        self.assertEqual(self.runs(request([span(1)], first), request([span(2, trace="11" * 16)], later),
                                   request([span(3)], {**first, "xsp.run": 2}),
                                   request([span(4)], {**first, "xsp.experiment": "f"}), request([span(5)], first)),
                         [("e", "M/L", 4, 3), ("e", "M/L", 4, 1), ("f", "M/L", 4, 1)])

    def test_without_a_number_each_distinct_resource_is_a_run(self):
        found = self.runs(request([span(1)], {"a": 1, "b": 2}), request([span(2)], {"b": 2, "a": 1}),
                          request([span(3)], {"a": 1}), {"resourceSpans": [{"scopeSpans": [{"spans": [span(4)]}]}]},
                          request([span(5)], {"a": 1.0}))
        self.assertEqual([row[3] for row in found], [2, 1, 1, 1])

    def test_levels_are_what_is_present_where_nobody_says(self):
        def kernels(run, **tags):
            return request([span(1, level="model"), span(2, level="kernel", **tags)], {"xsp.run": run})
        found = self.runs(kernels(1), kernels(2, xsp__flops=5), kernels(3, xsp__grid="1"),
                          request([span(1)], {"xsp.run": 4}), request([span(1, level="layer", xsp__flops=1)], {"xsp.run": 5}),
                          request([span(1, level="model")], {"xsp.run": 6, "xsp.levels": "nonsense"}),
                          request([span(1, level="model")], {"xsp.run": 7, "xsp.levels": "M/L/K+metrics"}),
                          request([span(1, level="model")], {"xsp.run": 8, "xsp.levels": "M/L@serial"}))
        self.assertEqual([row[1] for row in found], ["M/K", "M/K+metrics", "M/K", "A", "L", "M", "M/L/K+metrics",
                                                   "M/L@serial"])

    def test_systems_are_separate_experiments(self):
        def on(run, **system):
            return request([span(1)], {"xsp.experiment": "e", "xsp.run": run,
                                       **{f"xsp.system.{key}": one for key, one in system.items()}})
        out, _ = self.imported(lines(on(1, gpu="a", peak=1.5), on(1, gpu="b", peak=1.5), on(2, peak=1.5, gpu="a"), on(3),
                                     on(1, gpu="a", peak=2)))
        self.assertEqual(self.rows(out, "select experiment_id, count(*) from run group by 1 order by 1"),
                         [(1, 3), (2, 1), (3, 1)])
        self.assertEqual(self.rows(out, "select experiment_id, key, value from experiment join system using (system_id) "
                                        "order by 1, 2"),
                         [(1, "gpu", "a"), (1, "peak", 1.5), (2, "gpu", "b"), (2, "peak", 1.5), (3, "gpu", "a"),
                          (3, "peak", 2.0)])

    def test_facts_of_runs_and_experiments(self):
        out, _ = self.spans([span(1, level="model")], {
            "xsp.experiment": "name", "xsp.run": 1, "xsp.workload": "w", "xsp.framework": "f",
            "xsp.framework_version": "1.2", "xsp.command": "c d", "xsp.dropped": 7, "xsp.epoch": "trace",
            "xsp.layer": "innermost", "xsp.own_pct": 0.5, "service.name": "shop"})
        self.assertEqual(self.rows(out, "select name, workload, framework, framework_version, command from experiment"),
                         [("name", "w", "f", "1.2", "c d")])
        self.assertEqual(self.rows(out, "select dropped_count, epoch, layer, own_pct from run"),
                         [(7, "trace", "innermost", 0.5)])
        self.assertEqual(self.rows(out, "select run_id, key, value from note where key like 'service%'"),
                         [(1, "service.name", "shop")])

    def test_files_of_one_call(self):
        first = lines(request([span(1)], {"xsp.experiment": "e", "xsp.run": 1}))
        second = lines(request([span(1)], {"xsp.experiment": "e", "xsp.run": 2}))
        out, reported = self.imported(first, second)
        self.assertEqual([one["run_ids"] for one in reported["files"]], [[1], [2]])
        self.assertEqual(self.rows(out, "select experiment_id, name from experiment"), [(1, "e")])
        out, _ = self.imported(lines(request([span(1)])), lines(request([span(1)])))
        self.assertEqual(self.rows(out, "select count(*) from experiment"), [(1,)])

    def test_no_span(self):
        self.assertIn("0 events", self.refused('{"resourceSpans":[]}\n{}\n'))
        self.assertIn("1 bad span id", self.refused(lines(request([{**span(1), "spanId": "x"}]))))
        text = self.refused('{"trace":{"spans":[]},"status":"COMPLETE"}', options=("--format", "otlp"))
        self.assertIn("resourceSpans", text)


class FormTest(OtlpTest):
    """The same trace in all the forms that it may come in."""

    def test_layouts(self):
        spans = [span(number, f"s{number}", number, number + 5, level="layer", note=f"\u00e9{number}") for number in
                 range(1, 40)]
        resource = {"xsp.run": 1, "xsp.experiment": "e"}
        plain, _ = self.imported(lines(request(spans, resource)))
        expected = self.tables(plain)
        one = request(spans, resource)
        group = one["resourceSpans"][0]
        late = {"resourceSpans": [{"schemaUrl": "x", "scopeSpans": [{"spans": spans, "extra": {"a": [1, {}]},
                                                                     "scope": {"name": "test"}}],
                                   "resource": group["resource"]}], "unknown": [None, {"b": 1}]}
        forms = {
            "pretty": json.dumps(one, indent=2),
            "ascii": json.dumps(one) + "\r\n\r\n",
            "mark": b"\xef\xbb\xbf" + lines(one).encode(),
            "a span a line": lines(*[request([each], resource) for each in spans]),
            "no line ends": lines(*[request([each], resource) for each in spans]).replace("\n", ""),
            "resource behind": lines(late),
            "compressed": gzip.compress(lines(one).encode()),
        }
        for name, content in forms.items():
            with self.subTest(name):
                out, reported = self.imported(content)
                self.assertEqual(reported["files"][0]["format"], "otlp")
                self.same(self.tables(out), expected)

    def test_as_grafana_tempo_writes_it(self):
        """Ids in base64, enumerations by name, the trace in an object of its own or under an older name."""
        spans = [span(2**63 + number, f"s{number}", number, number + 5, parent=number and 2**63 + number - 1,
                      level="layer") for number in range(1, 20)]
        spans[0].pop("parentSpanId")
        spans[3]["links"] = [{"traceId": otlp.TRACE, "spanId": spans[0]["spanId"]}]
        resource = {"xsp.experiment": "e"}
        expected = self.tables(self.spans(spans, resource)[0])
        for one in spans:
            one["kind"] = "SPAN_KIND_INTERNAL"
        groups = otlp.with_ids(request(spans, resource), lambda text: base64.b64encode(bytes.fromhex(text)).decode())
        groups = groups["resourceSpans"]
        old = [{"resource": groups[0]["resource"], "instrumentationLibrarySpans": [
            {"instrumentationLibrary": {"name": "test"}, "spans": groups[0]["scopeSpans"][0]["spans"]}]}]
        forms = {
            "/api/v2/traces": {"trace": {"resourceSpans": groups}, "metrics": {"inspectedBytes": "7"}, "status": "COMPLETE"},
            "the trace alone": {"resourceSpans": groups},
            "/api/traces": {"batches": groups},
            "before OTLP 0.15": {"batches": old},
            "metrics first": {"metrics": {"filler": "x" * (2 << 20)}, "trace": {"resourceSpans": groups}},
        }
        for name, content in forms.items():
            with self.subTest(name):
                self.same(self.tables(self.imported(json.dumps(content), options=("--format", "otlp"))[0]), expected)
                if name != "metrics first":  # which is longer than what a format is recognised by
                    _, reported = self.imported(json.dumps(content, indent=1))
                    self.assertEqual((reported["files"][0]["format"], reported["files"][0]["kept"]), ("otlp", 19))

    @unittest.skipUnless(otlp.json_format, "needs opentelemetry-proto")
    def test_as_protobufs_own_json_writes_it(self):
        one = request([span(1, "a", level="model"), span(2, "b", parent=1)], {"xsp.experiment": "e"})
        one["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["kind"] = 3
        expected = self.tables(self.imported(lines(one))[0])
        self.same(self.tables(self.imported(otlp.json_format.MessageToJson(otlp.message(one)))[0]), expected)

    def test_ids_that_are_not_base64(self):
        broken = [{**span(number), "spanId": text} for number, text in enumerate(
            ["AAAAAAAAAA=", "AAAAAAAAAA!=", "AAAAAAAAAAAAAAAAAAAAAA==", "=", "===="])]
        _, reported = self.spans([*broken, span(1)])
        self.assertEqual(reported["files"][0]["skipped"], {"bad span id": 5})

    def same(self, found, expected):
        for name in expected:
            left, right = found[name], expected[name]
            if name == "experiment":  # when it was imported
                left = [{**row, "created_ns": 0} for row in left]
                right = [{**row, "created_ns": 0} for row in right]
            self.assertEqual(left, right, name)

    def test_snake_case(self):
        def snake(item):
            if isinstance(item, list):
                return [snake(one) for one in item]
            if not isinstance(item, dict):
                return item
            return {"".join("_" + c.lower() if c.isupper() else c for c in key): snake(one) for key, one in item.items()}
        spans = [span(1, level="model", list=[1, 2.5, {"a": b"x"}], yes=True, events=[(1, "e")]), span(2, parent=1)]
        spans[0].update(traceState="a=b", status={"code": 1})
        camel, _ = self.imported(lines(request(spans)))
        other, _ = self.imported(lines(snake(request(spans))))
        for name, text in TABLES.items():
            if name != "experiment":
                self.assertEqual(self.sql(other, text), self.sql(camel, text), name)

    def test_upper_case_ids_and_plain_numbers(self):
        one = span(0xab, "a", level="model")
        one["traceId"], one["spanId"] = "AB" * 16, "00000000000000AB"
        one["startTimeUnixNano"], one["endTimeUnixNano"] = START, START + 7
        out, _ = self.spans([one, span(1, parent=0xab, trace="ab" * 16)])
        self.assertEqual(self.rows(out, "select text from trace"), [("ab" * 16,)])
        self.assertEqual(self.rows(out, "select span_id, parent_id, duration_ns from span order by 1"),
                         [(1, 171, 10), (171, None, 7)])

    def test_larger_than_the_window(self):
        """Tokens end at any byte of a window: the same file in two layouts, both longer than several windows."""
        spans = [span(number + 1, f"span \u00e9 {number}", number, number + 50, level="layer", parent=number or None,
                      text="x" * (number % 300)) for number in range(20_000)]
        spans[7]["attributes"].append({"key": "huge", "value": {"stringValue": "y" * 9_000_000}})
        compact, _ = self.imported(lines(request(spans)))
        spread, _ = self.imported(json.dumps(request(spans), indent=1, ensure_ascii=False))
        text = "select run_id, span_id, parent_id, name, start_ns, duration_ns from span order by span_id"
        expected = self.rows(compact, text)
        self.assertEqual(len(expected), 20_000)
        self.assertEqual(expected[19_999][2:4], (19_999, "span \u00e9 19999"))
        self.assertEqual(self.rows(spread, text), expected)
        self.assertEqual(self.sql(spread, "select max(length(value)) as n from tag"), [{"n": 9_000_000}])
        out = self.exported(compact, "otlp-proto")
        again, _ = self.imported(out.read_bytes())
        self.assertEqual(self.rows(again, text), expected)

    def test_formats_are_told_apart(self):
        kineto = {"schemaVersion": 1, "traceEvents": [{"ph": "X", "name": '"resourceSpans":[', "ts": 1, "dur": 1,
                                                      "pid": 1, "tid": 1}]}
        _, reported = self.imported(json.dumps(kineto))
        self.assertNotIn("otlp", reported["files"][0]["format"])
        text = self.refused('{"traceEvents":[]}', options=("--format", "otlp"))
        self.assertIn("resourceSpans", text)


class BrokenJsonTest(OtlpTest):
    def test_cut_anywhere(self):
        """At every byte: trace/importers/otlp/otlp_test.c."""
        text = lines(request([span(1, "a\u00e9\\\"", events=[(1, "e")], list=[1, {"a": True}])],
                             {"xsp.run": 1})).encode().rstrip()
        for length in range(1, len(text), 13):
            with self.subTest(length):
                message = self.refused(text[:length], options=("--format", "otlp"))
                self.assertIn("file", message)
        self.spans([span(1)])  # the whole is fine

    def test_syntax(self):
        good = lines(request([span(1)])).rstrip()
        for bad in (good + "]", good + "x", good[:-1] + ",}", good.replace(":", "=", 1), "[" + good + "]",
                    good.replace('"spans"', "spans"), good + "\0", good.replace('"kind": 1', '"kind": 01'),
                    good.replace("[{", "[,{", 1), good.replace('"test"', '"\\u12"'), '{"resourceSpans":[{"scopeSpans":'):
            with self.subTest(bad[-60:]):
                self.assertIn("byte", self.refused(bad, options=("--format", "otlp")))

    def test_wrong_types(self):
        def changed(**fields):
            return lines(request([{**span(1), **fields}]))
        for bad in (changed(name=5), changed(attributes={"a": 1}), changed(events={}), changed(startTimeUnixNano="soon"),
                    changed(startTimeUnixNano=True), changed(endTimeUnixNano=[]), changed(traceId=5), changed(kind={}),
                    changed(attributes=[5]), changed(attributes=[{"key": "a", "value": {"stringValue": 5}}]),
                    changed(attributes=[{"key": "a", "value": {"boolValue": "x"}}]),
                    changed(attributes=[{"key": "a", "value": {"arrayValue": [1]}}]),
                    '{"resourceSpans":{}}', '{"resourceSpans":[5]}', '{"resourceSpans":[{"scopeSpans":[{"spans":[5]}]}]}'):
            with self.subTest(bad[:120]):
                self.assertIn("byte", self.refused(bad, options=("--format", "otlp")))

    def test_null_is_absence(self):
        one = {**span(1), "attributes": None, "events": None, "parentSpanId": None, "status": None, "links": None}
        out, reported = self.imported(lines({"resourceSpans": [{"resource": None, "scopeSpans": [
            {"scope": None, "spans": [one]}, {"spans": None}]}, {"scopeSpans": None}]}, {"resourceSpans": None}))
        self.assertEqual(reported["files"][0]["kept"], 1)

    def test_times_beyond_int64(self):
        for number in (2**63, 2**64 - 1, 2**64, 10**40, -1):
            for field in ("startTimeUnixNano", "endTimeUnixNano"):
                for form in (str(number), number):
                    with self.subTest(f"{field} {form!r}"):
                        text = self.refused(lines(request([{**span(1), field: form}])))
                        self.assertIn("int64" if number > 0 else "a time", text)
        one = span(1)
        one["startTimeUnixNano"], one["endTimeUnixNano"] = "0", str(2**63 - 1)
        out, _ = self.spans([one])
        self.assertEqual(self.rows(out, "select duration_ns from span"), [(2**63 - 1,)])

    def test_invalid_utf8_is_replaced(self):
        text = lines(request([span(1, "QQ", thread=None, note="ZZ")])).encode()
        out, _ = self.imported(text.replace(b"QQ", b"a\xff\xc3").replace(b"ZZ", b"\xed\xa0\x80\\ud800"))
        self.assertEqual(self.rows(out, "select name from span"), [("a\ufffd\ufffd",)])
        self.assertEqual(self.rows(out, "select value from tag"), [("\ufffd" * 4,)])

    def test_nesting(self):
        deep = '{"arrayValue":{"values":[' * 1_000_000
        text = lines(request([span(1, a="MARK")]))
        message = self.refused(text.replace('{"stringValue": "MARK"}', deep))
        self.assertIn("nested", message)
        for levels, works in ((90, True), (110, False)):
            nested = '{"arrayValue":{"values":[' * levels + '{"intValue":1}' + "]}}" * levels
            content = text.replace('{"stringValue": "MARK"}', nested)
            if works:
                out, _ = self.imported(content)
                self.assertEqual(tag(out, self, 1, "a"), "[" * levels + "1" + "]" * levels)
            else:
                self.assertIn("nested", self.refused(content))

    def test_limits(self):
        many = lines(request([span(1, more={f"a{n}": 1 for n in range(70_000)})]))
        self.assertIn("65536", self.refused(many))
        runs = lines(*[request([span(1)], {"n": n}) for n in range(10_001)])
        self.assertIn("10000 runs", self.refused(runs))


@unittest.skipIf(otlp.trace_pb2 is None, "the opentelemetry-proto package is not installed")
class ProtobufTest(OtlpTest):
    def same(self, left, right):
        for name, text in TABLES.items():
            if name != "experiment":
                self.assertEqual(self.sql(left, text), self.sql(right, text), name)

    def test_official_messages_read_like_their_json(self):
        for seed in range(12):
            with self.subTest(seed):
                data = random_message(random.Random(seed))
                proto, reported = self.imported(data.SerializeToString())
                self.assertEqual(reported["files"][0]["format"], "otlp-proto")
                _, named = self.imported(data.SerializeToString(), options=("--format", "otlp"))
                self.assertEqual(named["spans"], reported["spans"])  # the name of both
                text, also = self.imported(lines(otlp.from_message(data)))
                self.assertEqual(also["files"][0]["format"], "otlp")
                self.assertGreater(reported["files"][0]["kept"], 20)
                self.assertEqual(reported["files"][0]["skipped"], also["files"][0]["skipped"])
                self.same(proto, text)

    def test_ours_is_read_by_the_official_package(self):
        source, _ = self.spans([span(1, "a\u00e9", level="model", list=[1], real=0.5, yes=True, events=[(1, "e")]),
                                span(2**62, parent=1, whole=-5)], {"xsp.experiment": "e", "xsp.system.x": 1.5})
        data = otlp.trace_pb2.TracesData.FromString(self.exported(source, "otlp-proto").read_bytes())
        text = [json.loads(line) for line in self.exported(source, "otlp").read_text().splitlines()]
        self.assertEqual([otlp.from_message(data)], [otlp.from_message(otlp.message(one)) for one in text])
        one = data.resource_spans[0].scope_spans[0].spans[1]
        self.assertEqual((one.span_id, one.parent_span_id), ((2**62).to_bytes(8, "big"), (1).to_bytes(8, "big")))
        found = {pair.key: pair.value for pair in one.attributes}
        self.assertEqual((found["whole"].int_value, found["xsp.basis"].string_value), (-5, "explicit"))

    def test_texts_that_are_no_utf8_are_repaired(self):
        script = scripted.Script()
        script.experiment()
        script.run()
        script.track()
        script.span(b"a\xff\xc3b", START, 5, tags={"layer_type": b"\xed\xa0\x80"})
        source = script.write(self.path("xsp"))
        data = otlp.trace_pb2.TracesData.FromString(self.exported(source, "otlp-proto").read_bytes())
        one = data.resource_spans[0].scope_spans[0].spans[0]
        self.assertEqual(one.name, "a\ufffd\ufffdb")
        text = json.loads(self.exported(source, "otlp").read_bytes())
        self.assertEqual(text["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"], one.name)

    def test_unknown_members_are_counted_and_named(self):
        """As encoding/json of Go writes the structs of protobuf: what they say of a value is lost."""
        number = {"key": "n", "value": {"Value": {"IntValue": 5}}}
        nested = {"key": "list", "value": {"arrayValue": {"values": [{"Value": 1}, {"intValue": "2"}]}}}
        padding = {"key": "padding", "value": {"stringValue": "x" * 200_000}}  # spans are read again at a window's end
        spans = [{"traceId": "01" * 16, "spanId": f"{i + 1:016x}", "name": "s", "startTimeUnixNano": START,
                  "endTimeUnixNano": START + 1, "flags": 257, "droppedLinksCount": 0, "colour": "red",
                  "attributes": [number, nested, padding]} for i in range(20)]
        group = {"resource": {"attributes": [{"key": "a", "value": {"Value": {}}}], "entityRefs": []}, "schemaUrl": "x",
                 "scopeSpans": [{"scope": {"name": "s", "attributes": []}, "spans": spans, "extra": 1}]}
        _, report = self.imported(json.dumps({"resourceSpans": [group], "mine": 1}))
        note, = [note for note in report["files"][0]["notes"] if "OTLP does not have" in note]
        self.assertEqual(sorted(note.rpartition(": ")[2].split(", ")),
                         ["1 extra of ScopeSpans", "20 colour of Span", "41 Value of AnyValue"])
        many = {"resourceSpans": [{"scopeSpans": [{"spans": [{**spans[0], "colour": 1, **{f"m{i}" * 30: i for i in range(9)}}]}]}]}
        note, = [note for note in self.imported(json.dumps(many))[1]["files"][0]["notes"] if "OTLP" in note]
        self.assertIn("m0m0", note)
        self.assertRegex(note, r" [0-9]+ others$")
        _, report = self.imported(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{
            **spans[0], "colour": None, "attributes": []}]}]}]}))
        self.assertIn("1 colour of Span", str(report["files"][0]["notes"]))

    def test_unknown_fields_are_passed_over(self):
        unknown = (otlp.field(1000, b"\0\1\2") + otlp.field(77, otlp.varint(2**64 - 1), 0) + otlp.field(31, b"12345678", 1) +
                   otlp.field(2**29 - 1, b"1234", 5))
        spread = otlp.trace_pb2.TracesData()
        data = otlp.message(request([span(1, level="model", list=[1], events=[(1, "e")]), span(2, parent=1)], {"a": 1}))
        plain, _ = self.imported(data.SerializeToString())

        def pair(one):
            value = one.value.SerializeToString() + unknown
            return otlp.field(1, one.key.encode()) + unknown + otlp.field(2, value)
        spans = b""
        for one in data.resource_spans[0].scope_spans[0].spans:
            rest = type(one)()
            rest.CopyFrom(one)
            del rest.attributes[:]
            spans += otlp.field(2, unknown + rest.SerializeToString() + b"".join(
                otlp.field(9, pair(each)) for each in one.attributes) + unknown)
        resource = otlp.field(1, unknown + b"".join(
            otlp.field(1, pair(each)) for each in data.resource_spans[0].resource.attributes))
        group = resource + unknown + otlp.field(2, otlp.field(1, otlp.field(1, b"test") + unknown) + spans + unknown)
        content = otlp.field(1, group + unknown) + unknown
        spread.ParseFromString(content)  # the official package agrees that this is a message
        odd, _ = self.imported(content)
        self.same(odd, plain)

    def test_framings(self):
        requests = [request([span(number, parent=number - 1 or None)], {"xsp.run": 1}) for number in range(1, 30)]
        messages = [otlp.to_proto(one) for one in requests]
        plain, _ = self.imported(otlp.to_proto(*requests))
        for name, content in {
                "one after the other": b"".join(messages),
                "varints": b"".join(otlp.varint(len(one)) + one for one in messages),
                "words": b"".join(struct.pack(">I", len(one)) + one for one in messages)}.items():
            with self.subTest(name):
                out, reported = self.imported(content)
                self.assertEqual(reported["files"][0]["format"], "otlp-proto")
                self.same(out, plain)

    def test_heads_behind_their_items(self):
        data = otlp.message(request([span(1), span(2)], {"xsp.run": 5, "xsp.batch_size": 3}, "scope"))
        group = data.resource_spans[0]
        spans = b"".join(otlp.field(2, one.SerializeToString()) for one in group.scope_spans[0].spans)
        content = otlp.field(1, otlp.field(2, spans + otlp.field(1, otlp.field(1, b"scope"))) +
                             otlp.field(1, group.resource.SerializeToString()))
        out, _ = self.imported(content)
        self.assertEqual(self.rows(out, "select batch_size from run"), [(3,)])
        self.assertEqual(self.rows(out, "select distinct tracer from span"), [("scope",)])

    def test_cut_anywhere(self):
        one = otlp.to_proto(request([span(1, "a", events=[(1, "e")], list=[1])], {"xsp.run": 1}))
        content = one + one.replace(b"\0\0\0\1", b"\0\0\0\2")
        for length in [*range(1, len(one), 5), *range(len(one) - 2, len(one) + 6), len(content) - 1]:
            if length == len(one):
                continue  # a whole message
            with self.subTest(length):
                self.refused(content[:length], "pb", options=("--format", "otlp-proto"))
        self.imported(content)

    def test_wrong_wire_types(self):
        good = otlp.to_proto(request([span(1)]))
        self.imported(good)
        start = otlp.field(2, b"\0" * 7 + b"\1") + otlp.field(1, b"\1" * 16)

        def in_span(content):
            return otlp.field(1, otlp.field(2, otlp.field(2, start + content)))
        for bad in (in_span(otlp.field(7, otlp.varint(5), 0)), in_span(otlp.field(5, otlp.varint(5), 0)),
                    in_span(otlp.field(9, b"1234", 5)), in_span(otlp.field(6, b"12345678", 1)),
                    in_span(otlp.field(9, otlp.field(1, otlp.varint(5), 0))),
                    in_span(otlp.field(9, otlp.field(2, otlp.field(3, b"x")))),
                    in_span(otlp.field(20, b"", 3)), in_span(otlp.field(20, b"", 4)), in_span(otlp.field(20, b"", 6)),
                    in_span(otlp.field(0, b"", 2)), in_span(b"\xff" * 11), in_span(otlp.field(5, b"x")[:-1]),
                    in_span(otlp.field(9, otlp.field(1, b"a") + otlp.field(2, otlp.field(5, otlp.field(1, otlp.varint(1), 0))))),
                    in_span(otlp.varint(9 << 3 | 2) + otlp.varint(2**63)),
                    otlp.field(1, otlp.field(1, otlp.varint(5), 0)), otlp.field(1, otlp.varint(7), 0),
                    otlp.field(1, otlp.field(2, otlp.varint(5), 0)), otlp.field(1, otlp.field(2, otlp.field(1, b"1234", 5)))):
            with self.subTest(bad.hex()):
                self.assertIn("byte", self.refused(bad, "pb", options=("--format", "otlp-proto")))

    def test_what_cannot_be_represented(self):
        good = otlp.message(request([span(1, "name", note="text")]))
        one = good.resource_spans[0].scope_spans[0].spans[0]
        one.end_time_unix_nano = 2**63
        self.assertIn("int64", self.refused(good.SerializeToString(), "pb"))
        one.end_time_unix_nano = 2**63 - 1
        self.imported(good.SerializeToString())
        for part in (b"name", b"note", b"text", b"test"):
            with self.subTest(part):
                bad = good.SerializeToString().replace(part, b"na\xffe", 1)
                self.assertIn("UTF-8", self.refused(bad, "pb"))

    def test_nesting(self):
        def nested(levels):
            value = otlp.field(3, otlp.varint(1), 0)
            for _ in range(levels):
                value = otlp.field(5, otlp.field(1, value))
            return otlp.field(1, otlp.field(2, otlp.field(2, otlp.field(1, b"\1" * 16) + otlp.field(2, b"\0" * 7 + b"\1") +
                                                          otlp.field(9, otlp.field(1, b"a") + otlp.field(2, value)))))
        out, _ = self.imported(nested(90))
        self.assertEqual(tag(out, self, 1, "a"), "[" * 90 + "1" + "]" * 90)
        self.assertIn("nested", self.refused(nested(101), "pb"))
        # A million levels: the lengths grow with every one, so that it is built from the inside once.
        chunks, length = [], 2
        for _ in range(1_000_000):
            for key in (b"\x0a", b"\x2a"):
                head = key + otlp.varint(length)
                chunks.append(head)
                length += len(head)
        value = b"".join(reversed(chunks)) + otlp.field(3, otlp.varint(1), 0)
        deep = otlp.field(1, otlp.field(2, otlp.field(2, otlp.field(2, b"\0" * 7 + b"\1") +
                                                      otlp.field(9, otlp.field(1, b"a") + otlp.field(2, value)))))
        self.assertIn("nested", self.refused(deep, "pb", options=("--format", "otlp-proto")))

    def test_other_protobuf_is_not_taken(self):
        for content in (b"\n\x02\x08\x01", otlp.field(1, otlp.field(2, b"/host:CPU")), b"\n" + b"text\n" * 20):
            with self.subTest(content):
                self.assertRegex(self.refused(content, "pb"), "format|another --from")


def random_value(rng, depth=0):
    kind = rng.randrange(8 if depth < 3 else 6)
    if kind == 0:
        return {"stringValue": "".join(rng.choice("ab\u00e9\u4e2d\U0001f600\"\\\n\0") for _ in range(rng.randrange(9)))}
    if kind == 1:
        return {"boolValue": rng.random() < 0.5}
    if kind == 2:
        return {"intValue": str(rng.choice([0, 1, -1, 2**63 - 1, -2**63, 1 << rng.randrange(63), (1 << rng.randrange(63)) - 1]))}
    if kind == 3:
        return {"doubleValue": rng.choice([0.0, -0.5, 1e-300, 1.7976931348623157e308, rng.random()])}
    if kind == 4:
        return otlp.value(rng.randbytes(rng.randrange(6)))
    if kind == 5:
        return {}
    if kind == 6:
        return {"arrayValue": {"values": [random_value(rng, depth + 1) for _ in range(rng.randrange(4))]}}
    return {"kvlistValue": {"values": [{"key": f"k{i}", "value": random_value(rng, depth + 1)}
                                       for i in range(rng.randrange(4))]}}


def random_span(rng, number):
    one = span(number, "n" * rng.randrange(4), rng.randrange(1000), 1000 + rng.randrange(1000),
               parent=rng.choice([None, rng.randrange(1, 40)]), trace=rng.choice(["11" * 16, "22" * 16]),
               level=rng.choice([None, "model", "layer", "library", "kernel", "nothing"]),
               thread=rng.choice([None, 1, 2]), events=[(n, f"e{n}") for n in range(rng.randrange(3))])
    one["attributes"] += [{"key": f"a{n}", "value": random_value(rng)} for n in range(rng.randrange(5))]
    extra = {"xsp.kind": rng.choice(["launch", "execution", "sync", "odd"]), "xsp.correlation_id": rng.randrange(3),
             "xsp.track": rng.choice([1, 5, "name"]), "xsp.basis": rng.choice(["none", "containment", "explicit"]),
             "xsp.flops": rng.choice([5, 5.5]), "xsp.warmup": rng.random() < 0.5, "xsp.observation": rng.randrange(3)}
    one["attributes"] += otlp.attributes({key: item for key, item in extra.items() if rng.random() < 0.2})
    if rng.random() < 0.2:
        one["status"] = {"code": rng.randrange(3), "message": "m"}
        one["kind"] = rng.randrange(6)
        one["traceState"] = "s=1"
        one["links"] = [{"traceId": "33" * 16, "spanId": "44" * 8, "attributes": otlp.attributes({"x": [1]})}]
    return one


def random_message(rng):
    groups = []
    for _ in range(rng.randrange(1, 4)):
        resource = {"xsp.run": rng.randrange(2)} if rng.random() < 0.5 else {}
        resource.update({f"r{n}": random_value(rng) for n in range(rng.randrange(3))})
        scopes = [{"scope": {"name": rng.choice(["", "s", "t"])},
                   "spans": [random_span(rng, rng.randrange(1, 60)) for _ in range(30)]} for _ in range(rng.randrange(1, 3))]
        groups.append({"resource": {"attributes": otlp.attributes(resource)}, "scopeSpans": scopes})
    return otlp.message({"resourceSpans": groups})


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
