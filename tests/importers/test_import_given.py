# SPDX-License-Identifier: Apache-2.0
"""--batch, --levels and --warmup before a FILE: several traces become one experiment over batch sizes and level sets."""
import pathlib
import unittest

import otlp
from scripted import temporary_folder, xsp, xsp_json
from test_import_kineto import call, dump, event, kernel, operator

# Per batch size: a step, its convolution, the convolution's kernel, in ms.
STEPS = {1: (10, 6, 4), 2: (12, 8, 5), 4: (22, 16, 9), 8: (43, 30, 18)}


def steps(step_ms, layer_ms=None, kernel_ms=None):
    """A trace of three steps, the first of 100 ms. Each has a layer; the layer's kernel ends before the layer does."""
    events = []
    for i in range(3):
        start = 1000 * (1 + 200 * i)
        events.append(event("user_annotation", f"ProfilerStep#{i}", start, 100_000 if i == 0 else 1000 * step_ms))
        if layer_ms:
            events.append(operator("aten::conv2d", start + 1000, 1000 * layer_ms))
        if kernel_ms:
            events += [call(i + 1, start + 1100, 50), kernel(i + 1, start + 1500, 1000 * kernel_ms, name="conv_kernel")]
    return events


class Given(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out.xsp"

    def trace(self, name, *durations, gpu=None):
        path = self.folder / name
        devices = {"deviceProperties": [{"id": 0, "name": gpu}]} if gpu else {}
        path.write_text(dump({"schemaVersion": 1, **devices, "traceEvents": steps(*durations)}))
        return path

    def take(self, *arguments):
        return xsp_json("import", *map(str, arguments), "-o", self.out, "--force", "--json")

    def refused(self, *arguments):
        line = xsp("import", *map(str, arguments), "-o", self.out, check=2).stderr.decode()
        self.assertEqual(line.count("\n"), 1, line)
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.startswith(self.out.name)], [])
        return line

    def runs(self):
        experiment, = xsp_json("info", self.out, "--json")["experiments"]
        return [(run["batch_size"], "/".join(run["levels"]), run["observations"], run["warmup_observations"])
                for run in experiment["runs"]]

    def analysis(self, *arguments):
        answer = xsp_json("analyze", *arguments, self.out, "--json")
        return answer["rows"], answer["summary"]

    def test_batch_sizes(self):
        """As in the XSP paper's Table VI: throughput, the optimal batch, kernels of the model, each by batch size."""
        arguments = []
        for batch, durations in STEPS.items():
            arguments += ["--batch", batch, self.trace(f"b{batch}.json", *durations)]
        self.take("--warmup", 1, *arguments)
        self.assertEqual(self.runs(), [(batch, "model/layer/kernel", 3, 1) for batch in STEPS])
        rows, summary = self.analysis("A1")
        self.assertEqual([row["latency_ms"] for row in rows], [10, 12, 22, 43])
        for row, expected in zip(rows, (100, 1000 * 2 / 12, 1000 * 4 / 22, 1000 * 8 / 43)):
            self.assertAlmostEqual(row["throughput_per_s"], expected, places=9)
        # 2 to 4 gains 9.1 %, 4 to 8 only 2.3 %
        self.assertEqual((summary["optimal_batch"], summary["maximum_throughput_batch"]), (4, 8))
        self.assertEqual((summary["online_latency_ms"], summary["cold_latency_ms"]), (10, 100))
        rows, _ = self.analysis("A15")
        self.assertEqual([(row["batch_size"], row["model_latency_ms"], row["kernel_latency_ms"]) for row in rows],
                         [(1, 10, 4), (2, 12, 5), (4, 22, 9), (8, 43, 18)])
        self.assertAlmostEqual(rows[1]["gpu_pct"], 100 * 5 / 12, places=9)
        rows, _ = self.analysis("A2")  # of the optimal batch
        self.assertEqual([(row["layer_name"], row["latency_ms"]) for row in rows], [("aten::conv2d", 16)])

    def test_level_sets(self):
        """Each level's latency comes from the trace that goes no deeper."""
        self.take("--batch", 1, "--warmup", 1, "--levels", "M", self.trace("m.json", 7), "--levels", "M/L",
                  self.trace("ml.json", 8, 5), "--levels", "M/L/K", self.trace("mlk.json", 10, 6, 4))
        self.assertEqual(self.runs(), [(1, "model", 3, 1), (1, "model/layer", 3, 1), (1, "model/layer/kernel", 3, 1)])
        rows, summary = self.analysis("A2")
        self.assertEqual((rows[0]["latency_ms"], summary["model_latency_ms"]), (5, 7))
        rows, _ = self.analysis("L0")
        self.assertEqual([(row["levels"], row["latency_ms"]) for row in rows], [("M", 7), ("M/L", 8), ("M/L/K", 10)])

    def test_each_option_holds_until_it_is_given_again(self):
        plain, other = self.trace("a.json", 7, 5), self.trace("b.json", 8, 5)
        self.take(plain, "--batch", 2, "--warmup", 2, other, "--warmup", 0, plain, "--batch=4", other)
        self.assertEqual(self.runs(), [(None, "model/layer", 3, 0), (2, "model/layer", 3, 2), (2, "model/layer", 3, 0),
                                       (4, "model/layer", 3, 0)])

    def test_warmups_survive_an_export(self):
        self.take("--batch", 2, "--warmup", 1, self.trace("a.json", 7, 5))
        exported = self.folder / "a.otlp"
        xsp("export", self.out, "--to", "otlp", "-o", exported, check=0)
        self.take(exported)
        self.assertEqual(self.runs(), [(2, "model/layer", 3, 1)])
        self.assertEqual(xsp_json("sql", self.out, "select observation from observation where warmup", "--json"),
                         [{"observation": 0}])

    def test_levels_beyond_the_spans(self):
        account = self.take("--levels", "A/M/L/K", self.trace("a.json", 7, 5))
        self.assertEqual(self.runs()[0][1], "application/model/layer/kernel")
        self.assertIn("no span is at K", account["files"][0]["notes"][0])

    def test_contradictions(self):
        trace = self.trace("a.json", 7, 5)
        self.assertIn("M/L", self.refused("--levels", "M", trace))
        self.assertIn("3 observations", self.refused("--warmup", 3, trace))
        spans = self.folder / "spans.jsonl"
        spans.write_text(otlp.lines(otlp.request([otlp.span(1, level="model")], {"xsp.batch_size": 4})))
        self.assertIn("says 4", self.refused("--batch", 2, spans))
        self.take("--batch", 4, spans)

    def test_wrong_use(self):
        trace = self.trace("a.json", 7, 5)
        for arguments in (["--levels", "L/M", trace], ["--levels", "M,L", trace], ["--levels", "", trace],
                          ["--batch", 0, trace], ["--batch", "x", trace], ["--warmup", -1, trace], [trace, "--batch", 2]):
            self.assertIn("wrong use" if "--levels" not in arguments else "level set", self.refused(*arguments))


class SystemsTest(Given):
    """Two files of one call at the same levels and batch size; steps of 10 and 5 ms, kernels of 4 and 2 ms."""

    def take_two(self, first, second):
        files = [self.trace("first.json", 10, 6, 4, gpu=first), self.trace("second.json", 5, 3, 2, gpu=second)]
        report = self.take("--warmup", "1", "--batch", "1", files[0], "--warmup", "1", "--batch", "1", files[1])
        notes = [note for file in report["files"] for note in file["notes"]]
        answers = xsp_json("analyze", "A1", self.out, "--json")
        return notes, [answers] if isinstance(answers, dict) else answers

    def test_one_gpu_is_pooled(self):
        for gpus in (("Tesla V100", "Tesla V100"), ("Tesla V100", None), (None, "Tesla V100")):
            with self.subTest(gpus):
                notes, (answer,) = self.take_two(*gpus)
                self.assertEqual(notes, [])
                self.assertEqual((answer["rows"][0]["latency_ms"], answer["rows"][0]["n"]), (7.5, 4)) # of 10, 10, 5, 5

    def test_different_gpus_are_not(self):
        notes, answers = self.take_two("Tesla V100", "NVIDIA A100")
        self.assertEqual(len(notes), 1)
        self.assertIn("another system", notes[0])
        self.assertEqual([answer["rows"][0]["latency_ms"] for answer in answers], [10, 5])
        experiments = xsp_json("info", self.out, "--json")["experiments"]
        self.assertEqual([(one["name"], one["system"]["gpu"]) for one in experiments],
                         [("first.json", "Tesla V100"), ("second.json", "NVIDIA A100")])
        rows, _ = self.analysis("A10", "--by", "system")
        self.assertEqual([(row["system"], row["latency_ms"]) for row in rows], [("Tesla V100", 4), ("NVIDIA A100", 2)])


if __name__ == "__main__":
    unittest.main()
