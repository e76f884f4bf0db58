# SPDX-License-Identifier: Apache-2.0
"""The caller's span (TRACEPARENT, xsp_traceparent_in) is the parent of topmost spans, in the file and in its exports."""
import json
import os
import pathlib
import unittest

from scripted import temporary_folder, xsp, xsp_json
from otlp_case import TABLES

BUILD = pathlib.Path(os.environ.get("XSP_BUILD", "build")).resolve()
TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"  # the highest bit is set: no number of a table
SPANS = "select s.*, p.name as parent from span s left join span p using (run_id) where p.span_id = s.parent_id union " \
        "select s.*, null from span s where s.parent_id is null order by run_id, span_id"


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an instrumented libxsp.so cannot be preloaded into programs")
class Caller(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "out.xsp"

    def run_it(self, *command, header=f"00-{TRACE}-{CALLER}-01"):
        xsp("run", "-o", self.file, "--force", "--", *command, environment={"TRACEPARENT": header}, check=0)
        return {row["name"]: row for row in xsp_json("sql", self.file, SPANS, "--json")}

    def exported(self, form="otlp"):
        path = self.folder / f"out.{form}"
        xsp("export", self.file, "--to", form, "--force", "-o", path, check=0)
        return path

    def exported_spans(self):
        return {span["name"]: span for line in self.exported().read_text().splitlines()
                for group in json.loads(line)["resourceSpans"] for scope in group["scopeSpans"] for span in scope["spans"]}

    def round_trip(self):
        expected = {name: xsp_json("sql", self.file, text, "--json") for name, text in TABLES.items()}
        for form in ("otlp", "otlp-proto"):
            again = self.folder / f"again-{form}.xsp"
            xsp("import", self.exported(form), "-o", again, check=0)
            for name, text in TABLES.items():
                self.assertEqual(xsp_json("sql", again, text, "--json"), expected[name], name)

    def test_of_the_program(self):
        spans = self.run_it(BUILD / "examples/annotated")
        self.assertEqual({name: (row["parent"], row["basis"], row["depth"]) for name, row in spans.items()}, {
            "annotated": (None, "explicit", 0), "predict": ("annotated", "containment", 1),
            "conv1": ("predict", "containment", 2), "start copy": ("conv1", "containment", 3),
            "copy": ("conv1", "correlation", 3)})
        self.assertEqual(xsp_json("sql", self.file, "select value from note where key = 'remote_parent'", "--json"),
                         [{"value": CALLER}])
        exported = self.exported_spans()
        self.assertEqual({span["traceId"] for span in exported.values()}, {TRACE})
        self.assertEqual(exported["annotated"]["parentSpanId"], CALLER)
        self.assertEqual(exported["predict"]["parentSpanId"], exported["annotated"]["spanId"])
        self.round_trip()

    def test_two_sessions_of_one_trace_share_no_id(self):
        ids = []
        for _ in range(2):
            spans = self.run_it(BUILD / "examples/annotated")
            self.assertLess(min(row["span_id"] for row in spans.values()), 1 << 33)  # in the file they count up
            ids.append({span["spanId"] for span in self.exported_spans().values()})
        self.assertEqual((len(ids[0]), ids[0] & ids[1]), (5, set()))

    def test_no_caller(self):
        spans = self.run_it(BUILD / "examples/annotated", header="")
        self.assertEqual((spans["annotated"]["parent"], spans["annotated"]["basis"]), (None, "none"))
        self.assertNotIn("parentSpanId", self.exported_spans()["annotated"])

    def test_every_level_set(self):
        xsp("run", "--leveled", "--runs", "2", "-o", self.file, "--", BUILD / "examples/annotated", check=0,
            environment={"TRACEPARENT": f"00-{TRACE}-{CALLER}-01"})
        runs = xsp_json("sql", self.file, "select run_id, (select count(*) from note n where n.run_id = r.run_id and "
                                          "key = 'remote_parent') as notes from run r", "--json")
        self.assertGreater(len(runs), 1)
        self.assertEqual({row["notes"] for row in runs}, {1})
        self.assertEqual(xsp_json("sql", self.file, "select distinct basis from span where depth = 0", "--json"),
                         [{"basis": "explicit"}])

    def test_of_a_span(self):
        """The program continues another trace itself: that span's caller is not the program's."""
        spans = self.run_it(BUILD / "test-programs/test-guest-call", "trace-context", header=f"00-{'2' * 32}-{'1' * 16}-01")
        self.assertEqual((spans["outer"]["parent"], spans["outer"]["basis"]), (None, "explicit"))
        self.assertEqual(spans["inner"]["parent"], "outer")
        exported = self.exported_spans()
        self.assertEqual((exported["outer"]["traceId"], exported["outer"]["parentSpanId"]), (TRACE, CALLER))
        program = exported["test-guest-call"]
        self.assertEqual((program["traceId"], program["parentSpanId"]), ("2" * 32, "1" * 16))
        self.round_trip()


if __name__ == "__main__":
    unittest.main()
