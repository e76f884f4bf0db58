# SPDX-License-Identifier: Apache-2.0
"""A16: forward and backward time by operator and by module, computed by hand."""
import glob
import os
import unittest

import trace_reader
from scripted import UNIX_START, Script, temporary_folder, xsp, xsp_json

EVALUATE = "autograd::engine::evaluate_function: "
FOLDER = trace_reader.data_folder()
MS = 1_000_000


class Training(Script):
    """Steps of one thread, in ms."""

    def __init__(self, levels="M/L"):
        super().__init__()
        self.experiment()
        self.run(1, levels)
        self.track(1, thread=7)
        self.start = UNIX_START

    def step(self, duration=100):
        self.start = UNIX_START + (self.next_span.get(1, 1) * 1000) * MS
        super().span("training step", self.start, duration * MS)

    def operator(self, name, start, duration, **tags):
        return super().span(name, self.start + start * MS, duration * MS, "layer", tags=tags)

    def linear(self, start, duration, sequence, module=None):
        """aten::linear around the operator that autograd links."""
        modules = {} if module is None else {"module": module}
        self.operator("aten::linear", start, duration + 2, sequence=sequence, **modules)
        self.operator("aten::addmm", start + 1, duration, sequence=sequence, **modules)

    def backward(self, name, start, duration, sequence, around=0):
        """The operator, and the engine's step around it, which takes `around` more."""
        tags = {"sequence": sequence, "forward_thread": 7}
        self.operator(EVALUATE + name, start, duration + around, **tags)
        self.operator(name, start, duration, **tags)


class Case(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, script):
        return script.write(os.path.join(self.folder, "t.xsp"))

    def ask(self, script, *options):
        answer = xsp_json("analyze", "A16", self.write(script), "--json", *options)
        return answer, {row.get("operator", row.get("module")): row for row in answer["rows"]}

    def figures(self, row):
        return tuple(round(row[key], 9) for key in ("count", "forward_ms", "backward_ms", "backward_ratio", "model_pct"))

    def lacks(self, script, word):
        result = xsp("analyze", "A16", self.write(script), check=1)
        self.assertIn(word, result.stderr.decode())


class Checkpointing(Case):
    """Forward operators that ran again: recompute_ms of them, and forward_ms of the summary."""

    def recomputed(self, script):
        answer, rows = self.ask(script)
        parts = [answer["summary"][key] for key in ("forward_ms", "recompute_ms", "backward_ms")]
        return {name: (row["forward_ms"], row["recompute_ms"], row["backward_ms"]) for name, row in rows.items()}, parts

    def test_reentrant(self):
        script = Training()
        script.step(100)
        script.operator("CheckpointFunction", 0, 10, sequence=0)
        script.operator("aten::tanh", 1, 8)                       # without a gradient: no number
        script.backward("CheckpointFunctionBackward", 20, 30, 0)
        script.operator("aten::tanh", 21, 8, sequence=1)
        script.backward("TanhBackward0", 30, 5, 1)
        rows, parts = self.recomputed(script)
        self.assertEqual(rows["aten::tanh"], (None, 8, 5))
        self.assertEqual(rows["CheckpointFunction"], (10, None, 17))
        self.assertEqual(parts, [10, 8, 22])

    def test_not_reentrant(self):
        script = Training()
        script.step(100)
        script.operator("aten::tanh", 0, 8, sequence=0)
        script.operator("aten::addmm", 10, 10, sequence=1)
        script.backward("AddmmBackward0", 30, 25, 1)
        script.operator("aten::tanh", 31, 8, sequence=2)
        script.operator("aten::mm", 40, 5)                        # the gradient's own
        script.backward("TanhBackward0", 60, 4, 0)
        rows, parts = self.recomputed(script)
        self.assertEqual(rows, {"aten::addmm": (10, None, 17), "aten::tanh": (8, 8, 4)})
        self.assertEqual(parts, [18, 8, 21])

    def test_a_gradient_that_is_differentiated_computes_nothing_again(self):
        script = Training()
        script.step(100)
        script.operator("aten::mul", 0, 8, sequence=0)
        script.backward("MulBackward0", 10, 20, 0)
        script.operator("aten::mul", 11, 5, sequence=1)
        script.operator("aten::mul", 20, 6, sequence=2)           # its part of the graph is not used
        script.backward("MulBackward0", 40, 7, 1)
        rows, parts = self.recomputed(script)
        self.assertEqual(rows, {"aten::mul": (13, None, 22)})
        self.assertEqual(parts, [13, None, 22])


class ByHand(Case):
    def trace(self):
        script = Training()
        for factor in (1, 3):  # means over the two steps are twice the first one's
            script.step(100)
            script.linear(0, 5 * factor, 10, "fc1")
            script.linear(30, 2 * factor, 11, "fc2")
            script.operator("aten::relu", 40, 1 * factor, sequence=12, module="act")
            script.operator("aten::add_", 45, 3)                         # autograd has no use for it
            script.backward("ReluBackward0", 50, 2 * factor, 12)
            script.backward("AddmmBackward0", 60, 3 * factor, 11, around=1)
            script.backward("AddmmBackward0", 75, 4 * factor, 10)
            script.operator(EVALUATE + "torch::autograd::AccumulateGrad", 95, 2)
        script.operator("LostBackward0", 98, 1, sequence=99, forward_thread=7)
        return script

    def test_by_operator(self):
        answer, rows = self.ask(self.trace())
        self.assertEqual(list(rows), ["aten::addmm", "aten::relu"])
        # addmm: forward (5 + 2) * 2; backward (3 * 2 + 1) + 4 * 2
        self.assertEqual(self.figures(rows["aten::addmm"]), (2, 14, 15, round(15 / 14, 9), 29))
        self.assertEqual(self.figures(rows["aten::relu"]), (1, 2, 4, 2, 6))
        summary = answer["summary"]
        self.assertEqual((summary["forward_ms"], summary["backward_ms"], summary["backward_ratio"]), (16, 19, 19 / 16))
        self.assertEqual((summary["without_forward"], summary["model_latency_ms"]), (1, 100))

    def test_by_module(self):
        _, rows = self.ask(self.trace(), "--by", "module")
        self.assertEqual({name: self.figures(row)[:3] for name, row in rows.items()},
                         {"fc1": (1, 10, 8), "fc2": (1, 4, 7), "act": (1, 2, 4)})

    def test_layers_by_module(self):
        path = self.write(self.trace())
        rows = xsp_json("analyze", "A2", path, "--layer", "all", "--json")["rows"]
        self.assertEqual([(row["layer_name"], row["module"]) for row in rows[:5]],
                         [("aten::linear", "fc1"), ("aten::addmm", "fc1"), ("aten::linear", "fc2"), ("aten::addmm", "fc2"),
                          ("aten::relu", "act")])
        self.assertEqual(rows[0]["latency_ms"], 2)                       # without aten::addmm, which takes 10
        counts = xsp_json("analyze", "A5", path, "--layer", "all", "--by", "module", "--json")["rows"]
        self.assertEqual({row["module"]: row["count"] for row in counts if row["module"]},
                         {"fc1": 2, "fc2": 2, "act": 1})
        times = xsp_json("analyze", "A6", path, "--by", "module", "--json")["rows"]
        self.assertEqual({row["module"]: row["latency_ms"] for row in times if row["module"]},
                         {"fc1": 12, "fc2": 6, "act": 2})

    def test_an_operator_that_one_step_lacks(self):
        script = Training()
        for is_second in (False, True):
            script.step(100)
            script.linear(0, 5, 10 + is_second)
            script.backward("AddmmBackward0", 20, 10, 10 + is_second)
            if is_second:
                script.operator("aten::relu", 40, 4, sequence=20)
                script.backward("ReluBackward0", 50, 8, 20)
        _, rows = self.ask(script)
        self.assertEqual(self.figures(rows["aten::relu"]), (0.5, 2, 4, 2, 6))
        self.assertEqual((rows["aten::relu"]["present"], rows["aten::relu"]["partial"]), (1, True))

    def test_a_backward_operator_within_another(self):
        """create_graph: the inner operator is of the outer one's time, but has a backward operator of its own."""
        script = Training()
        script.step(100)
        script.operator("aten::mul", 0, 2, sequence=5)
        script.operator("MulBackward0", 10, 20, sequence=5, forward_thread=7)
        script.operator("aten::pow", 15, 4, sequence=6)
        script.operator("PowBackward0", 40, 6, sequence=6, forward_thread=7)
        _, rows = self.ask(script)
        self.assertEqual(self.figures(rows["aten::mul"])[:3], (1, 2, 16))
        self.assertEqual(self.figures(rows["aten::pow"])[:3], (1, 4, 6))

    def test_work_on_a_device(self):
        script = Training("M/L/K")
        script.track(2, thread=None, device=0, stream=7)
        script.step(1000)
        for number, (name, tags, start, executed) in enumerate([("aten::mul", {"sequence": 5}, 0, (50, 40)),
                                                                ("MulBackward0", {"sequence": 5, "forward_thread": 7},
                                                                 100, (150, 100))], 1):
            script.operator(name, start, 10, **tags)
            at = script.start + start * MS
            script.span("launch", at + MS, MS, "kernel", "launch", category="api", correlation=number)
            script.span("kernel", script.start + executed[0] * MS, executed[1] * MS, "kernel", "execution", track=2,
                        category="kernel", correlation=number)
        _, rows = self.ask(script)
        self.assertEqual(self.figures(rows["aten::mul"])[:3], (1, 50, 110))
        _, rows = self.ask(script, "--latency-basis", "host")
        self.assertEqual(self.figures(rows["aten::mul"])[:3], (1, 10, 10))


class Lacking(Case):
    def test_no_sequence_numbers(self):
        script = Training()
        script.step()
        script.operator("Conv", 0, 10)
        self.lacks(script, "no sequence numbers")

    def test_inference(self):
        script = Training()
        script.step()
        script.linear(0, 5, 10)
        self.lacks(script, "no backward operators")

    def test_forward_operators_that_were_not_recorded(self):
        script = Training()
        script.step()
        script.backward("AddmmBackward0", 0, 5, 10)
        self.lacks(script, "none of its 2 backward operators")

    def test_no_modules(self):
        script = Training()
        script.step()
        script.linear(0, 5, 10)
        script.backward("AddmmBackward0", 20, 5, 10)
        result = xsp("analyze", "A16", self.write(script), "--by", "module", check=1)
        self.assertIn("`module`", result.stderr.decode())


@unittest.skipIf(FOLDER is None, "no real traces: set XSP_TEST_DATA")
class RealTraining(Case):
    def test_the_hosts_times(self):
        """Three steps of distributed training. The engine's steps are around the backward operators."""
        path, = glob.glob(os.path.join(FOLDER, "kineto", "hta__nccl_parser_config*.gz"))
        out = os.path.join(self.folder, "t.xsp")
        xsp_json("import", path, "-o", out, "--json")
        expected = xsp_json("sql", out, f"""
            select f.name, count(distinct f.span_id) / 3.0 as count, sum(b.duration_ns) / 3e6 as backward_ms,
                   (select sum(duration_ns) / 3e6 from span where span_id in (select forward_id from span)
                    and name = f.name) as forward_ms
            from span b join span f on f.run_id = b.run_id and f.span_id = b.forward_id
            where b.name like '{EVALUATE}%' and b.observation is not null group by 1""", "--json")
        answer = xsp_json("analyze", "A16", out, "--latency-basis", "host", "--stat", "mean", "--json")
        found = {row["operator"]: row for row in answer["rows"]}
        self.assertEqual(set(found), {row["name"] for row in expected})
        for row in expected:
            for key in ("count", "forward_ms", "backward_ms"):
                self.assertAlmostEqual(found[row["name"]][key] / row[key], 1, 9, (row["name"], key))
        self.assertEqual(answer["summary"]["without_forward"], 0)


if __name__ == "__main__":
    unittest.main()
