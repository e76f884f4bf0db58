# SPDX-License-Identifier: Apache-2.0
"""The stages around a prediction, and the parts of a training step: columns load_ms, preprocess_ms … of A1. Scripted traces with known figures,
the example that publishes such spans, and the runner's own."""
import os
import pathlib
import unittest

from scripted import BUILD, Script, UNIX_START, temporary_folder, xsp, xsp_json

MS = 1_000_000
STAGES = ("load_ms", "preprocess_ms", "preprocess_per", "postprocess_ms", "data_ms", "forward_ms", "backward_ms",
          "optimizer_ms", "compile_ms", "collective_ms", "other_ms")


class Trace(Script):
    """Times are in ms from the start of the trace."""

    def __init__(self, levels="M"):
        super().__init__()
        self.experiment()
        self.run(1, levels)
        self.track(1)

    def at(self, name, start, duration, level="application", category=None, track=1, run_id=1, tags=()):
        return self.span(name, UNIX_START + int(start * MS), int(duration * MS), level, category=category, track=track,
                         run_id=run_id, tags=tags)

    def stage(self, category, start, duration, **options):
        return self.at(f"a {category}", start, duration, category=category, **options)

    def predict(self, start, duration=10, warmup=False, **options):
        return self.at("net", start, duration, "model",
                       tags={"batch_size": 1, **({"warmup": 1} if warmup else {})}, **options)


class Case(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "trace.xsp"

    def answer(self, trace, *options):
        trace.write(self.file)
        return xsp_json("analyze", "A1", self.file, "--json", *options)

    def stages(self, trace, *options):
        """The only row's stages: those that the table has."""
        [row] = self.answer(trace, *options)["rows"]
        return {key: row[key] for key in STAGES if key in row}


class StagesTest(Case):
    def test_each_prediction_has_its_own(self):
        trace = Trace()
        for number in range(5):  # the first is a warm-up: its stages do not count, however long
            start = 100 * number
            trace.stage("preprocess", start, 50 if number == 0 else number)
            trace.predict(start + 60, warmup=number == 0)
            trace.stage("postprocess", start + 75, 20 if number == 0 else number / 10)
        self.assertEqual(self.stages(trace, "--stat", "mean"),
                         {"preprocess_ms": 2.5, "preprocess_per": "prediction", "postprocess_ms": 0.25})
        self.assertEqual(self.stages(trace, "--stat", "max"),
                         {"preprocess_ms": 4, "preprocess_per": "prediction", "postprocess_ms": 0.4})

    def test_several_add_up_and_nested_ones_count_once(self):
        trace = Trace()
        trace.stage("preprocess", 0, 2)  # decode
        trace.stage("preprocess", 3, 4)  # resize, and a part of it
        trace.stage("preprocess", 4, 1)
        trace.predict(10, 20)
        trace.stage("preprocess", 11, 1)   # inside the prediction: this one's
        trace.stage("postprocess", 28, 1)  # inside, too
        trace.stage("postprocess", 31, 3)
        trace.stage("postprocess", 40, 3)
        self.assertEqual(self.stages(trace), {"preprocess_ms": 7, "preprocess_per": "prediction", "postprocess_ms": 7})

    def test_borders(self):
        trace = Trace()
        trace.predict(10)
        trace.stage("preprocess", 20, 4)   # begins as the first ends: the second's
        trace.predict(30)
        trace.stage("postprocess", 30, 2)  # begins as the second does: the second's
        trace.stage("preprocess", 50, 9)   # after the last prediction: not counted
        trace.stage("postprocess", 5, 9)   # before the first: not counted
        self.assertEqual(self.stages(trace, "--stat", "mean"),
                         {"preprocess_ms": 2, "preprocess_per": "prediction", "postprocess_ms": 1})  # of two predictions

    def test_a_prediction_without_has_0(self):
        trace = Trace()
        for number in range(4):
            if number % 2:
                trace.stage("preprocess", 100 * number, 6)
            trace.predict(100 * number + 10)
        self.assertEqual(self.stages(trace), {"preprocess_ms": 3, "preprocess_per": "prediction"})
        self.assertEqual(self.stages(trace, "--stat", "median"), {"preprocess_ms": 6, "preprocess_per": "prediction"})

    def test_threads_have_their_own_predictions(self):
        trace = Trace()
        trace.track(2, "worker", thread=101)
        trace.track(3, "loader", thread=102)   # makes no predictions: those of its process count
        trace.track(4, "other", process=200, thread=200)
        trace.stage("preprocess", 0, 1)
        trace.stage("preprocess", 1, 8, track=2)
        trace.predict(10, 30)                  # the first by time, but of the other thread
        trace.predict(12, 50, track=2)
        trace.stage("postprocess", 45, 1)      # while the second still runs
        trace.stage("postprocess", 65, 2, track=2)
        trace.stage("postprocess", 70, 16, track=3)  # of the last that began
        trace.stage("postprocess", 80, 99, track=4)  # another process without predictions
        self.assertEqual(self.stages(trace, "--stat", "min"),
                         {"preprocess_ms": 1, "preprocess_per": "prediction", "postprocess_ms": 1})
        self.assertEqual(self.stages(trace, "--stat", "max"),
                         {"preprocess_ms": 8, "preprocess_per": "prediction", "postprocess_ms": 18})

    def test_only_spans_of_application_level_that_ended(self):
        trace = Trace("M/L")
        trace.stage("preprocess", 0, 5, level="layer")
        trace.span("never done", UNIX_START, "open", level="application", category="preprocess")
        trace.at("preprocess", 0, 5)  # a name is no category
        trace.predict(10)
        self.assertEqual(self.stages(trace), {})

    def test_loading_is_of_each_process_and_of_this_level_set(self):
        trace = Trace()
        for process, (first, second) in enumerate([(4, 1), (7, 2)]):
            trace.track(10 + process, f"process {process}", process=300 + process, thread=300 + process)
            trace.stage("load", 0, first, track=10 + process)
            trace.stage("load", 20, second, track=10 + process)
            trace.predict(100, track=10 + process)
        trace.run(2, "M/L")
        trace.track(1, process=400, thread=400, run_id=2)
        trace.stage("load", 0, 1000, run_id=2)
        trace.predict(2000, run_id=2)
        table = self.answer(trace, "--stat", "mean")
        self.assertEqual(table["rows"][0]["load_ms"], 7)  # of 5 and 9
        self.assertEqual(table["summary"]["load_ms"], 7)

    def test_what_is_made_once_says_so(self):
        trace = Trace()
        trace.stage("preprocess", 0, 8, tags={"once": 1, "batch_size": 1})
        trace.predict(10, warmup=True)
        trace.predict(30)
        table = self.answer(trace)
        self.assertEqual({key: table["rows"][0][key] for key in ("preprocess_ms", "preprocess_per")},
                         {"preprocess_ms": 8, "preprocess_per": "batch size"})
        self.assertTrue(any("once" in note for note in table["notes"]))
        trace.stage("preprocess", 22, 3)  # and where predictions have their own, theirs counts
        table = self.answer(trace)
        self.assertEqual({key: table["rows"][0][key] for key in ("preprocess_ms", "preprocess_per")},
                         {"preprocess_ms": 3, "preprocess_per": "prediction"})
        self.assertFalse(any("once" in note for note in table["notes"]))

    def test_a_trace_without_stages_has_no_such_columns(self):
        trace = Trace()
        trace.predict(0)
        table = self.answer(trace)
        self.assertFalse({column["key"] for column in table["columns"]} & set(STAGES))
        self.assertIsNone(table["summary"]["load_ms"])


class TrainingTest(Case):
    def step(self, trace, start, factor):
        trace.at("training step", start, 100, "model", tags={"batch_size": 1})
        trace.stage("data", start, 5 * factor)
        trace.stage("optimizer", start + 20, 1)             # zero_grad
        trace.stage("forward", start + 21, 10 * factor)
        trace.stage("backward", start + 51, 20)
        trace.stage("backward", start + 55, 4)              # within the other: autograd.grad in a hook
        trace.stage("optimizer", start + 80, 3 * factor)

    def test_parts_of_a_step(self):
        trace = Trace("M")
        self.step(trace, 0, 1)
        self.step(trace, 100, 3)
        trace.stage("data", 210, 50)                        # of no step: an evaluation's
        trace.stage("forward", 260, 10, level="layer")      # a category of layers is no stage
        self.assertEqual(self.stages(trace),
                         {"data_ms": 10, "forward_ms": 20, "backward_ms": 20, "optimizer_ms": 7, "other_ms": 43})

    def test_threads_that_train_side_by_side(self):
        """The other thread's step began later and is around the first one's backward pass as well."""
        trace = Trace("M")
        trace.track(2, "second", thread=101)
        for track, start, backward in ((1, 0, 30), (2, 20, 10)):
            trace.at("training step", start, 100, "model", track=track, tags={"batch_size": 1})
            trace.stage("backward", start + 50, backward, track=track)
        self.assertEqual(self.stages(trace, "--stat", "max"), {"backward_ms": 30, "other_ms": 90})
        self.assertEqual(self.stages(trace, "--stat", "min"), {"backward_ms": 10, "other_ms": 70})

    def test_parts_add_up(self):
        """Each instant counts in the innermost part, and only within its step."""
        trace = Trace("M")
        trace.at("training step", 0, 100, "model", tags={"batch_size": 2})
        trace.stage("optimizer", 10, 80)                     # with a closure
        trace.stage("forward", 20, 30)
        trace.stage("compile", 22, 18, tags={"compile_id": "0/0"})
        trace.stage("backward", 50, 20)
        trace.stage("compile", 52, 3, tags={"compile_id": "0/1"})
        trace.stage("collective", 60, 6)
        trace.stage("data", 95, 15)                          # reaches into the next step
        trace.stage("compile", 200, 50, tags={"compile_id": "12/10"})  # in no step
        trace.stage("compile", 210, 20, tags={"compile_id": "13/1"})   # a part of it
        table = self.answer(trace)
        [row] = table["rows"]
        self.assertEqual({key: row[key] for key in STAGES if key in row}, {
            "data_ms": 5, "forward_ms": 12, "backward_ms": 11, "optimizer_ms": 30, "compile_ms": 21, "collective_ms": 6,
            "other_ms": 15})
        self.assertEqual(sum(row[key] for key in STAGES if key in row), row["latency_ms"])
        self.assertEqual({key: table["summary"][key] for key in ("compile_count", "recompile_count", "compile_total_ms")},
                         {"compile_count": 3, "recompile_count": 2, "compile_total_ms": 71})

    def test_a_compilation_that_never_ended(self):
        """Its time is not known: it is in no figure, in A25 as in A1."""
        trace = Trace("M")
        trace.predict(100)
        trace.stage("compile", 0, 20, tags={"compile_id": "0/0", "function": "f"})
        trace.span("never done", UNIX_START + 50 * MS, "open", level="application", category="compile",
                   tags={"compile_id": "0/1", "function": "f", "reason": "0/0: another value"})
        self.assertEqual(self.answer(trace)["summary"]["compile_count"], 1)
        table = xsp_json("analyze", "A25", self.file, "--json")
        self.assertEqual([(row["kind"], row["count"], row["total_ms"]) for row in table["rows"]], [("first", 1, 20)])
        self.assertEqual((table["summary"]["compile_count"], table["summary"]["recompile_count"]), (1, 0))

    def test_collectives_beside_the_step_are_no_part_of_it(self):
        trace = Trace("M")
        trace.at("training step", 0, 100, "model", tags={"batch_size": 2})
        trace.stage("backward", 20, 60)
        trace.track(2, "backend", process=100, thread=102)
        trace.at("all_reduce", 30, 55, "library", category="collective", track=2)
        [row] = self.answer(trace)["rows"]
        self.assertEqual((row["backward_ms"], row.get("collective_ms"), row["other_ms"]), (60, None, 40))

    def test_throughput_of_the_loop(self):
        """What lies between steps, and the slowest step, count in the loop's throughput."""
        trace = Trace("M")
        for start, duration in ((0, 10), (20, 10), (40, 10), (60, 10), (80, 120)):
            trace.at("training step", start, duration, "model", tags={"batch_size": 4})
        [row] = self.answer(trace)["rows"]
        self.assertEqual((row["throughput_per_s"], row["loop_throughput_per_s"]), (100, 25))
        self.assertNotIn("step_samples", row)

    def test_throughput_of_accumulated_gradients(self):
        """All micro-batches of a step count, and the last step of an epoch may have fewer."""
        trace = Trace("M")
        for start, samples in ((0, 8), (10, 8), (30, 5)):
            trace.at("training step", start, 10, "model", tags={"step_samples": samples})
        trace.at("training step", 50, 10, "model")
        [row] = self.answer(trace)["rows"]
        self.assertEqual({key: row[key] for key in ("batch_size", "step_samples", "throughput_per_s")},
                         {"batch_size": 1, "step_samples": 5.5, "throughput_per_s": 550})
        self.assertAlmostEqual(row["loop_throughput_per_s"], 1000 * (8 + 8 + 5 + 1) / 60)


class CoverageTest(Case):
    def test_parts_of_a_program(self):
        trace = Trace("A/M/L")
        trace.at("python3 train.py", 0, 1000, category="program")
        trace.at("aten::randn", 400, 10, "layer")
        trace.stage("compile", 420, 30)
        trace.stage("data", 440, 20)                         # half of it while something was compiled
        for step in range(2):
            trace.at("training step", 500 + 100 * step, 100, "model", tags={"batch_size": 1})
            trace.at("aten::mm", 510 + 100 * step, 10, "layer")
        trace.at("save", 690, 60)
        summary = self.answer(trace)["summary"]
        self.assertEqual(summary["covered_pct"], 20)
        self.assertEqual(summary["outside"], "start and imports 0.4 s (40 %), end 0.25 s (25 %), ranges 0.05 s (5 %), "
                                             "unknown 0.05 s (5 %)")

    def test_a_trace_without_a_program(self):
        trace = Trace("M")
        trace.predict(0)
        summary = self.answer(trace)["summary"]
        self.assertEqual((summary["covered_pct"], summary["outside"]), (None, None))

    def test_predictions_have_their_data_before_them(self):
        trace = Trace()
        for start, data in ((0, 4), (50, 8)):
            trace.stage("data", start, data)
            trace.predict(start + 20)
        trace.stage("data", 100, 9)                         # there was no more
        self.assertEqual(self.stages(trace), {"data_ms": 6})

    def test_ranges_of_torch_profiler(self):
        """Models or layers, by version; their names have no category."""
        trace = Trace("M/L")
        for start, level in ((0, "layer"), (200, "model")):
            trace.at(f"ProfilerStep#{start}", start, 100, "model")
            trace.at("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", start + 1, 20, level)
            trace.at("Optimizer.zero_grad#SGD.zero_grad", start + 30, 2, level)
            trace.at("Optimizer.step#SGD.step", start + 90, 8, level)
            trace.at("enumerate", start + 40, 20, level)
        self.assertEqual(self.stages(trace), {"data_ms": 20, "optimizer_ms": 10})


class ProgramsTest(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "out.xsp"

    @unittest.skipIf(os.environ.get("XSP_SANITIZE"), "preloading into programs that are not sanitized")
    def test_the_example(self):
        xsp("run", "-o", self.file, "--", BUILD / "examples" / "stages", "8", check=0)
        [row] = xsp_json("analyze", "A1", self.file, "--json")["rows"]
        self.assertEqual((row["batch_size"], row["n"], row["preprocess_per"]), (1, 8, "prediction"))
        sums = xsp_json("sql", self.file, "select category, count(*) as n, sum(duration_ns) / 1e6 as ms from span "
                        "where category in ('load', 'preprocess', 'postprocess') group by 1 order by 1", "--json")
        self.assertEqual([(part["category"], part["n"]) for part in sums],
                         [("load", 1), ("postprocess", 8), ("preprocess", 8)])
        [row] = xsp_json("analyze", "A1", self.file, "--json", "--stat", "mean")["rows"]
        for part in sums:
            self.assertAlmostEqual(row[f"{part['category']}_ms"], part["ms"] / part["n"], delta=1e-9)

    def test_the_runner(self):
        model = self.file.with_name("net.script.txt")
        model.write_text("input data float N,8\nlayer conv Conv 100us\n")
        xsp("profile", model, "--quiet", "--batch", "1,2", "--runs", "2", "-o", self.file, check=0)
        table = xsp_json("analyze", "A1", self.file, "--json")
        self.assertEqual([row["preprocess_per"] for row in table["rows"]], ["batch size"] * 2)
        self.assertTrue(all(row["preprocess_ms"] > 0 for row in table["rows"]))
        self.assertGreater(table["rows"][0]["load_ms"], 0)  # one process for both batch sizes: before the first
        self.assertIsNone(table["rows"][1]["load_ms"])
        self.assertEqual(table["summary"]["load_ms"], table["rows"][0]["load_ms"])
        # Stages are recorded at any level set, other application spans are not.
        found = xsp_json("sql", self.file, "select distinct tracer, category from span where level = 'application' "
                         "order by 2", "--json")
        self.assertEqual(found, [{"tracer": "runner", "category": "load"}, {"tracer": "runner", "category": "preprocess"}])
        self.assertEqual({run["levels"] for run in xsp_json("sql", self.file, "select levels from run", "--json")},
                         {"M", "M/L"})


if __name__ == "__main__":
    unittest.main()
