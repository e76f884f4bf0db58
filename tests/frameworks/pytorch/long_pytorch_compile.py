# SPDX-License-Identifier: Apache-2.0
"""The tracer of PyTorch in programs with torch.compile: compilations, and what runs compiled."""
import pathlib
import unittest

import long_pytorch
import pytorch_programs
from run_programs import sql

COMPILATIONS = """
    select r.name as range, s.level, s.category,
      (select value from tag where run_id = s.run_id and span_id = s.span_id and key = 'trigger') as trigger,
      (select value from tag where run_id = s.run_id and span_id = s.span_id and key = 'compile_id') as id
    from span s join span r on r.run_id = s.run_id and s.start_ns >= r.start_ns and s.end_ns <= r.end_ns
      and r.tracer = 'pytorch' and r.level = 'application' and r.category is null
    where s.name = 'torch.compile' order by s.start_ns"""
INSIDE = """
    select i.name from span i join span s on s.run_id = i.run_id and s.name = 'torch.compile'
      and i.span_id <> s.span_id and i.start_ns >= s.start_ns and i.end_ns <= s.end_ns and i.track_id = s.track_id"""
CALLERS = """
    with recursive caller(id) as (select context_id from span where name = 'torch.compile'
      union select c.parent_id from caller join context c on c.context_id = caller.id)
    select distinct f.name from caller join context c on c.context_id = caller.id join frame f on f.frame_id = c.frame_id"""

KERNELS = """
    select s.name, p.name as parent,
      (select value from tag where run_id = s.run_id and span_id = s.span_id and key = 'operators') as operators,
      (select value from tag where run_id = s.run_id and span_id = s.span_id and key = 'source') as source
    from span s join span p on p.run_id = s.run_id and p.span_id = s.parent_id
    where s.level = 'layer' and s.category = 'fused' order by s.start_ns"""
ANNOUNCED = """
    select i.name from span s join span i on i.run_id = s.run_id and i.parent_id = s.span_id
    where s.category = 'fused' order by s.start_ns"""
CALLS = """
    select distinct p.kind, p.name, p.line, p.file from span s join context c on c.context_id = s.context_id
      join context o on o.context_id = c.parent_id join frame p on p.frame_id = o.frame_id where s.category = 'fused'"""
# The model's parts are linear, sin (line A), mul, cos and add (B), linear, relu (C). What is between two linear layers is a
# kernel, and so is what is after them. The second makes relu's mask for the backward pass, which is relu's derivative and the
# sum for the bias of C; then mul, -sin * 2 h, their sum, cos of the first sin, and the sum for the other bias.
FORWARD = [("cpp_fused_add_cos_mul_sin_0", "CompiledFunction", "add cos mul sin", "AB"),
           ("cpp_fused_relu_threshold_backward_1", "CompiledFunction", "relu threshold_backward", "C")]
BACKWARD = [("cpp_fused_sum_threshold_backward_0", "CompiledFunctionBackward", "sum threshold_backward", "C"),
            ("cpp_fused_add_cos_mul_neg_sin_sum_1", "CompiledFunctionBackward", "add cos mul neg sin sum", "AB")]


class Compilations(long_pytorch.Profiled):
    def compilations(self, path):
        self.assertEqual(sql(path, INSIDE), [])  # operators and backward passes on fake tensors
        return [tuple(row.values()) for row in sql(path, COMPILATIONS)]

    def test_training(self):
        """Forward and backward graphs are compiled at their first call, and again after a reset; layers of a call without
        are torch.profiler's."""
        events = self.check_equal(pytorch_programs.COMPILE)
        self.assertEqual(self.compilations(self.folder / "trace.xsp"), [
            (name, "application", "compile", trigger, "0/0") for name in ("first", "after reset")
            for trigger in ("DYNAMO", "LAZY_BACKWARD")])
        parts = [(event["name"], event["category"]) for event in events if event["category"] in ("forward", "backward")
                 and event["level"] == "application"]
        self.assertEqual(sorted(parts), [("OptimizedModule", "forward")] * 3 + [("backward", "backward")] * 3)
        for name in ("Torch-Compiled Region: 0/0", "CompiledFunction", "CompiledFunctionBackward"):
            self.assertEqual(sum(event["name"] == name for event in events), 3, name)
        self.assertLessEqual({"<module>", "call", "CompiledFunctionBackward", "torch.compile"},
                             {frame["name"] for frame in sql(self.folder / "trace.xsp", CALLERS)})

    def keys(self, cache):
        """What Inductor made: Python and C++ files, and entries of its caches."""
        return {path.relative_to(cache) for pattern in ("??/*.py", "??/*.cpp", "fxgraph/*/*", "aotautograd/*")
                for path in cache.glob(pattern)}

    def check_kernels(self, option, cache, kernels):
        """`kernels` run in both calls. Returns the trace."""
        program = self.program(pytorch_programs.INDUCTOR)
        out, path = self.traced([self.python, program, self.folder / cache, option])
        self.assertEqual(out, self.plain)
        self.assertEqual([tuple(row.values()) for row in sql(path, KERNELS)], 2 * kernels)
        return path

    def test_inductor(self):
        """Fused kernels are layers in the operator around them. Compiled ones have the operators and lines that they come
        from, those of Inductor's cache have not. The program computes the same, and Inductor makes the same files."""
        program = self.program(pytorch_programs.INDUCTOR)
        done = self.run_it(self.python, program, self.folder / "plain", "")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.plain, keys = done.stdout, self.keys(self.folder / "plain")
        lines = {line[-1]: f"{program}:{number}" for number, line in enumerate(pytorch_programs.INDUCTOR.splitlines(), 1)
                 if line[:-1].endswith("# ")}
        known = [(name, parent, " ".join(f"aten::{operator}" for operator in operators.split()),
                  ", ".join(lines[letter] for letter in letters)) for name, parent, operators, letters in FORWARD + BACKWARD]
        bare = [(name, parent, None, None) for name, parent, _, _ in known]

        path = self.check_kernels("", "traced", known)
        self.assertEqual(self.keys(self.folder / "traced"), keys)
        self.assertEqual(self.compilations(path), [
            ("call 0", "application", "compile", trigger, "0/0") for trigger in ("DYNAMO", "LAZY_BACKWARD")])
        callers = sql(path, CALLS)  # the lines of Inductor's code
        self.assertEqual([(row["kind"], row["name"].split(".")[-1]) for row in callers], [("python", "call")] * 4)
        for row in callers:
            self.assertIn("cpp_fused_", pathlib.Path(row["file"]).read_text(encoding="utf-8").splitlines()[row["line"] - 1])

        self.check_kernels("", "plain", bare)
        self.assertEqual(self.keys(self.folder / "plain"), keys)
        self.check_kernels("keep", "plain", [])  # a PyTorch that keeps them as functions of another name

        path = self.check_kernels("announce", "announced", known)  # there PyTorch announces each kernel itself
        self.assertEqual([row["name"] for row in sql(path, ANNOUNCED)], 2 * [f"graph_0_{row[0]}" for row in known])


if __name__ == "__main__":
    unittest.main()
