# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry traces in: what spans, parents, tracks and runs become, clause by clause of docs/otlp.md."""
import unittest

import otlp
from otlp import START, lines, request, span
from otlp_case import OtlpTest, tag
from scripted import xsp_json


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


if __name__ == "__main__":
    unittest.main()
