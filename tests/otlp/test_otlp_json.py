# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry's JSON: its layouts, as several programs write it, and files that are broken at any byte."""
import base64
import gzip
import json
import unittest

import otlp
from otlp import START, lines, request, span
from otlp_case import OtlpTest, TABLES, tag


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


if __name__ == "__main__":
    unittest.main()
