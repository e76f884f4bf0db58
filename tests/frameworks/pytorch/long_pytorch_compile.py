# SPDX-License-Identifier: Apache-2.0
"""The tracer of PyTorch in programs with torch.compile: compilations, and what runs compiled."""
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

    def test_inductor(self):
        out, path = self.traced([self.python, self.program(pytorch_programs.INDUCTOR), self.folder / "inductor"])
        self.assertEqual(out, "True\nTrue\n")
        self.assertEqual(self.compilations(path), [("call 0", "application", "compile", "DYNAMO", "0/0")])
        regions = sql(path, "select count(*) as n from span where name = 'Torch-Compiled Region: 0/0'")
        self.assertEqual(regions[0]["n"], 2)


if __name__ == "__main__":
    unittest.main()
