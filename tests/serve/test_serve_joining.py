# SPDX-License-Identifier: Apache-2.0
"""Processes and machines that share a trace: their runs become one, and their clocks are compared."""
import os
import subprocess
import sys
import unittest

from otlp import START, request, span
from scripted import BUILD, xsp_json
from server import files
from test_serve import ServeTest
from test_serve_keeping import OTLPSpanExporter

TREE = "select s.run_id, s.name, p.name as parent, s.start_ns, s.duration_ns from span s left join span p on " \
       "p.run_id = s.run_id and p.span_id = s.parent_id order by s.start_ns, s.span_id"
MS, T0 = 1_000_000, 0  # spans count from START


def child(number, parent, start, end, **more):
    return span(number, start=start, end=end, parent=parent, **more)


class Joining(ServeTest):
    def receive(self, *requests):
        server = self.server()
        for one in requests:
            server.send(one)
        self.stopped(server)
        file, = files(self.folder)
        return file, xsp_json("sql", file, TREE, "--json")

    def notes(self, file):
        return [row["value"] for row in xsp_json("sql", file, "select value from note where key = 'joined' order by 1", "--json")]

    def test_processes_that_call_each_other_are_one_run(self):
        """Whatever the order in which they come; a trace that nobody calls stays apart."""
        file, rows = self.receive(
            request([span(3, name="p3", parent=2)], {"service.name": "s", "process.pid": 3}),
            request([span(9, name="alone", trace="f" * 32)], {"service.name": "s", "process.pid": 9}),
            request([span(1, name="p1")], {"service.name": "s", "process.pid": 1}),
            request([span(2, name="p2", parent=1)], {"service.name": "s", "process.pid": 2}))
        by_name = {row["name"]: row for row in rows}
        self.assertEqual({name: row["parent"] for name, row in by_name.items()},
                         {"p1": None, "p2": "p1", "p3": "p2", "alone": None})
        self.assertEqual(len({by_name[name]["run_id"] for name in ("p1", "p2", "p3")}), 1)
        self.assertNotEqual(by_name["alone"]["run_id"], by_name["p1"]["run_id"])
        self.assertEqual([note.split(";")[0] for note in self.notes(file)], ["s"] * 2)

    def test_one_id_in_two_traces_is_not_joined(self):
        file, rows = self.receive(
            request([span(1, name="a"), span(1, name="b", trace="e" * 32)], {"service.name": "s"}),
            request([span(2, name="c", parent=1)], {"service.name": "t"}))
        self.assertEqual(len({row["run_id"] for row in rows}), 2)
        self.assertEqual(len(rows), 3)

    def test_level_sets_of_one_experiment_stay_apart(self):
        """The caller's spans go to the run with most levels; the other is as it was."""
        def run(number, levels, at):
            return request([span(at, name=f"program {number}", parent=1, level="model")],
                           {"xsp.experiment": "e", "xsp.run": number, "xsp.levels": levels})
        file, rows = self.receive(run(1, "M", 11), run(2, "M/L", 12), request([span(1, name="app")], {"service.name": "app"}))
        by_name = {row["name"]: row for row in rows}
        self.assertEqual(by_name["program 2"]["parent"], "app")
        self.assertEqual(by_name["program 1"]["parent"], None)
        runs = xsp_json("sql", file, "select run_id, levels, name from run join experiment using (experiment_id) order by 1", "--json")
        self.assertEqual([(row["levels"], row["name"]) for row in runs], [("M", "e"), ("A/M/L", "e")])

    def test_clocks_of_two_machines(self):
        ahead = 40 * MS
        file, rows = self.receive(
            request([child(1, None, T0, T0 + 100 * MS, name="app"), child(2, 1, T0 + 10 * MS, T0 + 30 * MS, name="call")],
                    {"service.name": "app", "host.name": "a"}),
            request([child(3, 2, T0 + 11 * MS + ahead, T0 + 28 * MS + ahead, name="answer", events=[(T0 + 12 * MS + ahead, "event")])],
                    {"service.name": "model", "host.name": "b"}))
        answer = next(row for row in rows if row["name"] == "answer")
        self.assertEqual(answer["duration_ns"], 17 * MS)
        self.assertAlmostEqual(answer["start_ns"] - START, 11 * MS, delta=1.5 * MS)  # 1 ms there, 2 ms back: 1.5 ms each
        note, = self.notes(file)
        self.assertRegex(note, r"model; its clock is 39\.5\d* ms ahead of that of a, \+- 1\.5\d* ms \(1 of 1 calls agree\): its times are moved")
        event, = xsp_json("sql", file, "select time_ns from log", "--json")
        self.assertEqual(event["time_ns"] - answer["start_ns"], MS)

    def test_clocks_that_agree_are_left_alone(self):
        _, rows = self.receive(
            request([child(1, None, T0, T0 + 100 * MS, name="app")], {"service.name": "app", "host.name": "a"}),
            request([child(2, 1, T0 + MS, T0 + 90 * MS, name="answer")], {"service.name": "model", "host.name": "b"}))
        self.assertEqual([row["start_ns"] for row in rows], [START, START + MS])

    def test_contradicting_calls_move_nothing_and_are_said(self):
        calls = [child(number, 1, T0 + number * 20 * MS, T0 + (number * 20 + 10) * MS, name=f"call {number}") for number in (2, 3, 4)]
        answers = [child(10 + number, number, T0 + number * 20 * MS + off * MS, T0 + (number * 20 + 9) * MS + off * MS, name="answer")
                   for number, off in ((2, 0), (3, 70), (4, -55))]
        file, rows = self.receive(
            request([child(1, None, T0, T0 + 500 * MS, name="app"), *calls], {"service.name": "app", "host.name": "a"}),
            request(answers, {"service.name": "model", "host.name": "b"}))
        self.assertIn(START + 60 * MS + 70 * MS, [row["start_ns"] for row in rows if row["name"] == "answer"])
        self.assertIn("the 3 calls between them contradict each other", self.notes(file)[0])


SDK = """
import os, subprocess, sys
from opentelemetry import propagate, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=sys.argv[1] + "/v1/traces")))
trace.set_tracer_provider(provider)
with trace.get_tracer("app").start_as_current_span("checkout"):
    carrier = {}
    propagate.inject(carrier)
    subprocess.run(sys.argv[2:], check=True, env={**os.environ, "TRACEPARENT": carrier["traceparent"]}, stdout=subprocess.DEVNULL)
provider.shutdown()
"""


@unittest.skipIf(OTLPSpanExporter is None, "OpenTelemetry's SDK is missing")
@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an instrumented libxsp.so cannot be preloaded into programs")
class Application(ServeTest):
    def test_one_tree_below_the_span_of_the_sdk(self):
        """The SDK's span comes after ours: it ends last."""
        server = self.server()
        url = server.about["url"]
        subprocess.run([sys.executable, "-c", SDK, url, BUILD / "xsp", "run", "--publish", url, "-o", self.parent / "o.xsp",
                        "--", BUILD / "examples/annotated"], check=True, timeout=600)
        self.stopped(server)
        file, = files(self.folder)
        rows = xsp_json("sql", file, TREE, "--json")
        self.assertEqual({row["name"]: row["parent"] for row in rows},
                         {"checkout": None, "annotated": "checkout", "predict": "annotated", "conv1": "predict",
                          "start copy": "conv1", "copy": "conv1"})
        self.assertEqual(len({row["run_id"] for row in rows}), 1)


if __name__ == "__main__":
    unittest.main()
