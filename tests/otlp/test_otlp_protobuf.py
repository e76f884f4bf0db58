# SPDX-License-Identifier: Apache-2.0
"""OpenTelemetry's protobuf: against the official package in both directions, and files that are broken at any byte."""
import json
import random
import struct
import unittest

import otlp
import scripted
from otlp import START, lines, request, span
from otlp_case import OtlpTest, TABLES, tag
from otlp_random import random_message


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


if __name__ == "__main__":
    unittest.main()
