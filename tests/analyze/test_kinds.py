# SPDX-License-Identifier: Apache-2.0
"""Kinds of calls: observations of one model and one signature are a set of their own. Scripted traces with known figures."""
import contextlib
import pathlib
import sqlite3
import unittest

from scripted import Script, UNIX_START, temporary_folder, xsp, xsp_json

MS = 1_000_000
SHORT, LONG = "ids=int64[2,1]", "ids=int64[2,64]"


class Trace(Script):
    def __init__(self):
        super().__init__()
        self.experiment()
        self.run(1, "M/L", 0)
        self.track(1)
        self.now = 0

    def call(self, duration, signature, batch=2, model="Net", warmup=False, layers=()):
        tags = {"batch_size": batch, "model": model, **({"signature": signature} if signature else {}),
                **({"warmup": 1} if warmup else {})}
        self.span(model, UNIX_START + self.now * MS, duration * MS, "model", tags=tags)
        for at, layer in enumerate(layers):
            self.span(layer, UNIX_START + (self.now + at) * MS, MS, "layer")
        self.now += duration + 5


class KindsTest(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "trace.xsp"

    def ask(self, trace, analysis, *options):
        trace.write(self.file)
        return xsp_json("analyze", analysis, self.file, "--json", *options)

    def trace(self):
        """A decoder: 50 ms for two prompts, of which one is a warm-up, 60 ms for six tokens; and another model."""
        trace = Trace()
        trace.call(500, LONG, warmup=True)
        for _ in range(2):
            trace.call(50 if _ else 20, LONG, layers=["prefill"])
            for _ in range(3):
                trace.call(30, SHORT, layers=["decode", "sample"])
        trace.call(40, "x=float32[8,3]", batch=8, model="Other")
        return trace

    def test_the_kind_with_most_time_answers(self):
        answer = self.ask(self.trace(), "A1")
        found = [(row["model"], row["signature"], row["batch_size"], row["observations"], row["n"], row["latency_ms"])
                 for row in answer["rows"]]
        self.assertEqual(found, [("Net", SHORT, 2, 6, 6, 30), ("Net", LONG, 2, 2, 2, 35), ("Other", "x=float32[8,3]", 8, 1, 1, 40)])
        self.assertEqual([round(row["share_pct"], 6) for row in answer["rows"]], [62.068966, 24.137931, 13.793103])
        self.assertEqual(answer["summary"]["kind_count"], 3)
        self.assertEqual([kind["signature"] for kind in answer["summary"]["kinds"]], [SHORT, LONG, "x=float32[8,3]"])
        self.assertEqual(answer["summary"]["maximum_throughput_batch"], 2)

    def test_layers_are_of_one_kind(self):
        for options, names in (((), ["decode", "sample"]), (("--signature", "2"), ["prefill"]),
                               (("--signature", "[2,64]"), ["prefill"])):
            self.assertEqual([row["layer_name"] for row in self.ask(self.trace(), "A2", *options)["rows"]], names, options)

    def test_names_are_kinds_where_no_models_are_known(self):
        """As annotations in a trace of torch.profiler; a number in a name counts calls of one kind."""
        trace = Trace()
        for i in range(3):
            for name, duration in (("enumerate(DataLoader)", 2), (f"forward {i}", 10), ("Optimizer.step#SGD.step", 5)):
                trace.span(name, UNIX_START + trace.now * MS, duration * MS, "model")
                trace.span(f"in {name[:4]}", UNIX_START + trace.now * MS, MS, "layer")
                trace.now += duration
        rows = self.ask(trace, "A1")["rows"]
        self.assertEqual([(row["model"], row["observations"], row["latency_ms"]) for row in rows],
                         [("forward", 3, 10), ("Optimizer.step#SGD.step", 3, 5), ("enumerate(DataLoader)", 3, 2)])
        self.assertEqual([row["layer_name"] for row in self.ask(trace, "A2")["rows"]], ["in forw"])

    def test_names_are_kinds_over_all_runs(self):
        """The first rank alone evaluates: its forward calls are of one kind with those of the other."""
        trace = Trace()
        trace.run(2, "M/L", 0)
        trace.track(1, run_id=2)
        for run, names in ((1, ("forward", "evaluate")), (2, ("forward", ))):
            for name in names * 3:
                trace.span(name, UNIX_START + trace.now * MS, MS if name == "evaluate" else 10 * MS, "model", run_id=run)
                trace.now += 10
        rows = self.ask(trace, "A1")["rows"]
        self.assertEqual([(row["model"], row["observations"], row["n"]) for row in rows], [("forward", 6, 6), ("evaluate", 3, 3)])

    def test_a_name_for_each_call_of_another_run(self):
        """A run has too many names to be kinds: then those of the first are none either."""
        trace = Trace()
        trace.run(2, "M/L", 0)
        trace.track(1, run_id=2)
        calls = [(1, "forward"), (1, "evaluate")] + [(2, f"call {chr(65 + i % 26)}{chr(65 + i // 26)}") for i in range(70)]
        for run, name in calls:
            trace.span(name, UNIX_START + trace.now * MS, MS, "model", run_id=run)
            trace.now += 1
        self.assertEqual([(row["n"], "model" in row) for row in self.ask(trace, "A1")["rows"]], [(72, False)])

    def test_a_name_for_each_call_is_no_kind(self):
        trace = Trace()
        for i in range(70):
            trace.span(f"call {chr(65 + i % 26)}{chr(65 + i // 26)}", UNIX_START + trace.now * MS, MS, "model")
            trace.now += 1
        self.assertEqual([(row["n"], "model" in row) for row in self.ask(trace, "A1")["rows"]], [(70, False)])

    def test_batch_chooses_among_kinds(self):
        [row] = self.ask(self.trace(), "A1", "--batch", "8")["rows"]
        self.assertEqual((row["model"], row["latency_ms"]), ("Other", 40))

    def test_an_unknown_signature(self):
        self.trace().write(self.file)
        for text in ("4", "float64"):
            done = xsp("analyze", "A1", self.file, "--signature", text, check=2)
            self.assertIn(b"signature", done.stderr)

    def test_a_trace_without_signatures(self):
        """A kind for each model; calls of one model are no kind."""
        for models, expected in ((["Net", "Net"], [2]), (["Net", "Net", "Other"], [2, 1])):
            trace = Trace()
            for model in models:
                trace.call(10, None, model=model)
            answer = self.ask(trace, "A1")
            self.assertEqual([row["n"] for row in answer["rows"]], expected)
            self.assertNotIn("signature", answer["rows"][0])
            self.assertEqual(answer["summary"]["kind_count"], len(expected) if len(expected) > 1 else None)

    def test_the_first_call_of_all(self):
        """The cold latency is of a warm-up, not of another kind."""
        answer = self.ask(self.trace(), "A1", "--signature", "2")
        self.assertEqual(answer["summary"]["cold_latency_ms"], 500)
        self.assertIsNone(self.ask(self.trace(), "A1")["summary"]["cold_latency_ms"])


class InterruptedTest(unittest.TestCase):
    def test_the_first_experiment_says_it(self):
        script = Script()
        for number in (1, 2):
            script.experiment(f"net {number}", number)
            script.run(number, experiment_id=number)
            script.track(1, run_id=number)
            script.span("predict", UNIX_START + number * MS, MS, run_id=number)
        with temporary_folder() as folder:
            path = script.write(pathlib.Path(folder) / "two.xsp")
            with contextlib.closing(sqlite3.connect(path)) as database, database:
                database.execute("insert into note values (0, 'interrupted', 'the user ended it')")
            notes = [table["notes"] for table in xsp_json("analyze", "A1", path, "--json")]
        self.assertEqual([[note for note in of if "ended" in note] for of in notes], [["the user ended it"], []])


if __name__ == "__main__":
    unittest.main()
