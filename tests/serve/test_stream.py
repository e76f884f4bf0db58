# SPDX-License-Identifier: Apache-2.0
"""xsp run and xsp evaluate --publish to an xsp serve: spans are there while the program runs, and the server's file becomes the local one."""
import os
import signal
import subprocess
import unittest

import agents
import cuda_simulator
from scripted import BUILD, XSP, xsp_json
from server import Server, files, wait_for
from test_live import LiveTest
from otlp_receiver import Receiver
from ports import unused_port
from published_run import PublishedRun

# Steps with tags on two threads, until there is something to read; then one more.
PROGRAM = """
import select, sys, threading, xsp
def step(number, name):
    with xsp.span(name, level="model"):
        xsp.tag("number", number)
        xsp.tag("share", number / 7)
        xsp.tag("text", f"text {number % 5}")
        with xsp.span("conv", level="layer"):
            with xsp.span("gemm", level="library"):
                pass
def work(name):
    number = 0
    while not is_over.wait(0.002):
        number += 1
        step(number, name)
is_over = threading.Event()
thread = threading.Thread(target=work, args=("other step",), name="worker")
thread.start()
number = 0
while not select.select([sys.stdin], [], [], 0.002)[0]:
    number += 1
    step(number, "step")
is_over.set()
thread.join()
step(0, "last step")
"""
SPANS = """select s.run_id, s.span_id, s.parent_id, s.recorded_parent_id, s.basis, s.level, s.kind, s.name, s.category, s.tracer, s.start_ns,
    s.duration_ns, s.self_ns, s.depth, s.correlation_id, s.is_open, s.observation, t.name as track, t.process_id, t.thread_id,
    t.device_id, t.stream_id, s.trace_id from span s left join track t using (run_id, track_id) order by s.run_id, s.span_id"""
GUEST = BUILD / "test-programs/test-guest-call"
OTHERS = ("select run_id, span_id, key, value from tag order by 1, 2, 3, 4",
          "select span_id, time_ns, message from log order by 2, 1, 3",
          "select run_id, levels, batch_size, dropped_count, misused_count, epoch, own_pct from run",
          "select key, value from note where run_id = 1 and key not like 'import%' order by 1, 2",
          "select name, command, framework, created_ns from experiment",
          "select run_id, observation, span_id, start_ns, duration_ns, warmup from observation order by 1, 2")
BY_RUN = (*(f"select r.levels, r.batch_size, {columns} using (run_id) order by 1, 2, 3, 4" for columns in (
    "s.span_id, s.parent_id, s.basis, s.level, s.kind, s.name, s.start_ns, s.duration_ns, s.self_ns, s.depth, s.observation from run r join span s",
    "span_id, key, value from run r join tag", "o.observation, o.span_id, o.duration_ns, o.warmup from run r join observation o",
    "key, value from run r join note")), "select levels, batch_size, dropped_count, own_pct from run order by 1, 2", OTHERS[4],
    "select key, value from note where run_id = 0 and key not like 'import%' order by 1, 2")


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an instrumented libxsp.so cannot be preloaded into programs")
class Stream(PublishedRun, LiveTest):
    program = PROGRAM

    def setUp(self):
        super().setUp()
        self.parent = self.folder.parent
        self.place_runs(self.parent)

    def sees(self, count):
        """For shown: a run with so many spans and their observations."""
        return lambda document: document["runs"] and document["runs"][0]["recorded"] > count and document["runs"][0]["observations"]["start"]

    def assert_same(self, server, analyses=("A1", "A2", "A3", "A5", "A6", "L0")):
        self.assertEqual(server.stop()[0], 0)
        file, = files(self.folder)
        for question in (SPANS, *OTHERS):
            self.assertEqual(xsp_json("sql", file, question, "--json"), xsp_json("sql", self.output, question, "--json"), question)
        for analysis in analyses:
            tables = [xsp_json("analyze", analysis, path, "--json") for path in (file, self.output)]
            self.assertEqual(*tables)

    def test_spans_are_seen_while_the_program_runs(self):
        server = self.server()
        process = self.start(server.about["url"])
        document, _ = self.shown(server, self.sees(200))
        self.assertIsNone(process.poll())
        names = set(document["names"])
        self.assertTrue({"step", "other step", "conv", "gemm"} <= names, names)
        errors = self.ended(process)
        spans, = xsp_json("sql", self.output, "select count(*) as n from span", "--json")
        self.assertIn(f"published {spans['n']} spans", errors)
        self.assert_same(server)
        self.assertEqual(list((self.parent / "state/xsp/publish").glob("*/*.otlp")), [])

    def check_twice(self, command, *options, analyses=("L0",), environment=None):
        """A program that runs twice; between the two, the server has the first one's spans."""
        server = self.server()
        process = self.start(server.about["url"], *options, command=("sh", "-c", f"{command}; read line; {command}"), environment=environment)
        self.shown(server, lambda document: bool(document["runs"]))
        self.assertIsNone(process.poll())
        self.ended(process)
        self.assert_same(server, analyses)

    def count(self, question):
        return xsp_json("sql", self.output, f"select count(*) as n from {question}", "--json")[0]["n"]

    def test_messages_tracks_launches_and_parents(self):
        self.check_twice(BUILD / "examples/annotated")
        self.assertGreater(self.count("log"), 1)
        self.assertGreater(self.count("span where basis = 'correlation'"), 1)

    def test_other_clocks(self):
        self.check_twice(f"{GUEST} annotate")
        self.assertGreater(self.count("span where basis = 'explicit'"), 1)
        self.assertGreater(self.count("track where clock is not null"), 1)

    @unittest.skipIf(cuda_simulator.WHY_NOT, cuda_simulator.WHY_NOT)
    def test_a_simulated_gpu(self):
        """Kernels come later than their launches, and from two processes."""
        library = cuda_simulator.VERSIONS["13.1"][1]
        self.check_twice(f"{cuda_simulator.WORKLOAD} simple {self.parent}/truth 5", "-t", "cuda", analyses=("A8", "L0"),
                         environment={**cuda_simulator.environment("13.1"), "XSP_LIBRARY_CUPTI": str(library)})
        self.assertGreater(self.count("span where kind = 'execution'"), 10)

    def test_an_evaluation(self):
        server = self.server()
        agents.make_machine(self.parent)
        (self.parent / "models/net.yml").write_text(agents.manifest())
        process = subprocess.Popen([XSP, "evaluate", self.parent / "models/net.yml", "--data", self.parent / "data/many.csv", "--levels", "M/L", "-o", self.output,
                                    "--publish", server.about["url"]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env={**agents.ENVIRONMENT, **self.environment})
        self.addCleanup(process.kill)
        document, _ = self.shown(server, self.sees(200))
        self.assertIsNone(process.poll())
        self.assertLessEqual({"net", "MatMul_1", "preprocess"}, set(document["names"]))
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=600)[1]
        spans, = xsp_json("sql", self.output, "select count(*) as n from span", "--json")
        self.assertIn(f"published {spans['n']} spans", errors)
        self.assert_same(server, ("A1", "A2", "L0"))

    def test_a_leveled_experiment(self):
        """Of two level sets while it measures; of two batch sizes. Runs have numbers in the order in which their first spans come."""
        server = self.server()
        agents.make_machine(self.parent)
        command = [XSP, "profile", self.parent / "models/net.onnx", "-q", "--levels", "M,M/L", "--batch", "1,2", "-o", self.output]
        more = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True, "env": {**agents.ENVIRONMENT, **self.environment, "XSP_PEAKS": "skip"}}
        process = subprocess.Popen([*command, "--runs", "1000000", "--publish", server.about["url"]], **more)
        self.addCleanup(process.kill)
        self.shown(server, lambda document: {run["levels"] for run in document["runs"] if run["recorded"] > 20} == {"M", "M/L"})
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=600)
        self.assertEqual(server.stop()[0], 0)
        first, = files(self.folder)
        again = self.server()
        done = subprocess.run([*command, "-f", "--runs", "300", "--publish", again.about["url"]], timeout=600, check=True, **more)
        self.assertEqual(again.stop()[0], 0)
        spans, = xsp_json("sql", self.output, "select count(*) as n from span", "--json")
        self.assertIn(f"published {spans['n']} spans", done.stderr)
        file, = (path for path in files(self.folder) if path != first)
        for question in BY_RUN:
            self.assertEqual(xsp_json("sql", file, question, "--json"), xsp_json("sql", self.output, question, "--json"), question)
        for analysis in ("A1", "A2", "L0"):
            self.assertEqual(*(self.by_run(analysis, path) for path in (file, self.output)))

    def by_run(self, analysis, path):
        """Its answer, with the levels and the batch size of each run in place of its number."""
        answer = xsp_json("analyze", analysis, path, "--json")
        runs = {run["run_id"]: (run["levels"], run["batch_size"]) for run in xsp_json("sql", path, "select * from run", "--json")}
        run_set = answer["run_set"]
        run_set["run_ids"] = sorted(runs[number] for number in run_set["run_ids"])
        return answer

    def test_a_server_that_comes_late(self):
        port = unused_port()
        process = self.start(f"http://127.0.0.1:{port}")
        wait_for(lambda: self.output.with_name("run.xsp.partial").exists(), "the file")
        server = Server(self.folder, listen=f"127.0.0.1:{port}")
        self.addCleanup(server.kill)
        self.shown(server, self.sees(200))
        self.ended(process)
        self.assert_same(server)

    def test_a_server_that_goes(self):
        """What is not accepted waits, in order, and is sent once."""
        server = self.server()
        process = self.start(server.about["url"], "--publish-timeout", "5")
        self.shown(server, self.sees(50))
        server.kill()
        wait_for(lambda: list((self.parent / "state/xsp/publish").glob("*/*.otlp")), "a spool")
        self.assertIn("wait in", self.ended(process))
        again = Server(self.folder, listen=f"127.0.0.1:{server.port}")
        self.addCleanup(again.kill)
        subprocess.run([XSP, "export", "--publish", server.about["url"]], env=self.environment, check=True, capture_output=True)
        self.assert_same(again)

    def test_other_receivers_get_the_tree_at_the_end(self):
        with Receiver() as receiver:
            process = self.start(receiver.url)
            wait_for(lambda: self.output.with_name("run.xsp.partial").exists(), "the file")
            self.ended(process)
            spans = [span for request in receiver.accepted for part in request.resource_spans for scope in part.scope_spans
                     for span in scope.spans]
            self.assertTrue(all("xsp.basis" in {attribute.key for attribute in span.attributes} for span in spans))
            layers = [span for span in spans if span.name == "conv"]
            self.assertTrue(layers and all(span.parent_span_id for span in layers))


del LiveTest
if __name__ == "__main__":
    unittest.main()
