# SPDX-License-Identifier: Apache-2.0
"""MLPerf LoadGen's trace, whose lines are not all JSON."""
import unittest

from imported import Imported
from scripted import xsp_json

HEAD, TAIL = '{"traceEvents":[\n', '],\n"displayTimeUnit":"ns",\n"otherData":{\n"ts":1700000000000000.250,\n"version":"MLPerf LoadGen v1.0"\n}\n}\n'
EVENTS = """{"name":"Waiting","ph":"X","pid":7,"tid":7,"ts":73.005,"dur":0.047,"args":{}},
{"name":"Sample","cat":"default","ph":"b","pid":7,"id":0,"ts":73.034,"args":{"sample_seq":0,"query_seq":0,"complete_ns":40345}},
{"name":"Sample","cat":"default","ph":"b","pid":7,"id":1,"ts":80,"args":{"sample_seq":1,"query_seq":1,"complete_ns":20500}},
{"name":"Sample","cat":"default","ph":"e", "pid":7,"id":1,"ts":100.5},
{"name":"Sample","cat":"default","ph":"e", "pid":7,"id":0,"ts":113.379},
{"name":"LogDetail","ph":"X","pid":7,"tid":9,"ts":-447.239,"dur":12.109,"args":{"key":""loadgen_version"","value":"","note":""a, b""}},
{"name":"LastTrace"}
"""


class LoadGen(Imported):
    def test_samples_are_predictions(self):
        report, spans = self.load(HEAD + EVENTS + TAIL)
        account = report["files"][0]
        self.assertEqual((account["format"], account["events"], account["kept"], account["skipped"]), ("loadgen", 7, 6, {"not a span": 1}))
        self.assertTrue(any(note.startswith("1 events had texts in two pairs of quotes") for note in account["notes"]))
        first, second = sorted((span for span in spans if span["level"] == "model"), key=lambda span: span["start_ns"])
        # Microseconds from 1,700,000,000 s and 250 ns
        self.assertEqual((first["start_ns"], first["duration_ns"]), (1_700_000_000_000_073_284, 40_345))
        # It lies within the first, and is a prediction of its own.
        self.assertEqual((second["duration_ns"], second["parent_id"], second["tags"]["query_seq"]), (20_500, None, 1))
        self.assertEqual(xsp_json("analyze", "A1", self.out, "--json")["run_set"]["observations"], 2)
        waiting, detail = (next(span for span in spans if span["name"] == name) for name in ("Waiting", "LogDetail"))
        self.assertEqual((waiting["level"], waiting["thread_id"], waiting["duration_ns"]), ("application", 7, 47))
        self.assertEqual((detail["start_ns"], detail["tags"]), (1_699_999_999_999_553_011, {"key": "loadgen_version", "note": "a, b"}))
        self.assertEqual(self.rows("select epoch from run"), [{"epoch": "unix"}])

    def test_what_cannot_be_read(self):
        odd = '{"name":"Sample","ph":"e","pid":7,"id":5,"ts":1},\n{"name":"Sample","ph":"b","pid":7,"id":6,"ts":1,"args":{}},\n' \
              '{"name":"Wait","ph":"X","pid":7,"tid":7,"ts":5,"dur":-1,"args":{}},\n{"name":"cut\n'
        report, spans = self.load(HEAD + EVENTS + odd + TAIL)
        self.assertEqual((len(spans), report["files"][0]["skipped"]), (4, {
            "not a span": 1, "end without a beginning": 1, "a sample that did not end": 1, "negative duration": 1,
            "not JSON, and not to be mended": 1}))
        self.refuse(HEAD + EVENTS + TAIL.replace("1700000000000000", "9223372036854775"), mentions=["beyond 64 bits"])
        self.refuse(HEAD + EVENTS.replace('"ts":73.005', '"ts":1e30') + TAIL, mentions=["beyond 64 bits"])


if __name__ == "__main__":
    unittest.main()
