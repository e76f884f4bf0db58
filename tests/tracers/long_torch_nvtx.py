# SPDX-License-Identifier: Apache-2.0
"""PyTorch's NVTX state into nvtx.so: what emit_nvtx says of operators, forward and backward, on a machine without a GPU."""
import os
import unittest

import torch_environment
from test_nvtx import Traced

# What torch.autograd.profiler.emit_nvtx does, without its torch.cuda.synchronize().
PROGRAM = """
import sys
import threading
import torch
from torch.autograd.profiler import ProfilerConfig, ProfilerState, _disable_profiler, _enable_profiler
from torch._C._profiler import _ExperimentalConfig

torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
batch = torch.randn(2, 8)
losses = []


def profiled(shapes):
    _enable_profiler(ProfilerConfig(ProfilerState.NVTX, shapes, False, False, False, False, _ExperimentalConfig()), set())


def step(number):
    torch.cuda.nvtx.range_push(f"iteration {number}")
    loss = model(batch).square().mean()
    loss.backward()
    losses.append(loss.item())
    torch.cuda.nvtx.range_pop()


profiled(True)
for number in range(4):
    step(number)
_disable_profiler()
torch.cuda.nvtx.mark("halfway")
started = torch.cuda.nvtx.range_start("any thread's")
thread = threading.Thread(target=torch.cuda.nvtx.range_end, args=(started,))
thread.start()
thread.join()
print(repr(losses))
"""


class TorchTest(Traced):
    @classmethod
    def setUpClass(cls):
        if os.environ.get("XSP_SANITIZE"):
            raise unittest.SkipTest("PyTorch is not built with a sanitizer")
        cls.python = torch_environment.torch_python()

    def run_program(self, **environment):
        script = self.folder / "program.py"
        script.write_text(PROGRAM)
        return self.trace([self.python, script], **environment)

    def test_operators(self):
        self.run_program(XSP_MODEL_RANGE="iteration *")
        levels = {row["level"]: row["n"] for row in self.sql("select level, count(*) as n from span group by 1")}
        self.assertEqual(levels["model"], 4)
        self.assertEqual(len(self.sql("select 1 from observation where span_id is not null")), 4)
        addmm = self.sql("select s.span_id, o.observation from span s join observation o on s.start_ns >= o.start_ns"
                         " and s.end_ns <= o.start_ns + o.duration_ns where s.name = 'aten::addmm' order by s.start_ns")
        self.assertEqual([row["observation"] for row in addmm], [0, 0, 1, 1, 2, 2, 3, 3])
        tags = {}
        for row in self.sql("select t.span_id, t.key, t.value from tag t join span s using (run_id, span_id)"
                            " where s.name = 'aten::addmm'"):
            tags.setdefault(row["span_id"], {})[row["key"]] = row["value"]
        first = tags[addmm[0]["span_id"]]
        self.assertEqual(first["sizes"][:22], "[[16], [2, 8], [8, 16]")
        self.assertIsInstance(first["sequence"], int)
        self.assertIsInstance(first["op_id"], int)
        ids = [row["value"] for row in self.sql("select value from tag where key = 'op_id'")]
        self.assertEqual(len(ids), len(set(ids)))  # one an operator, in no name
        self.assertEqual(self.sql("select name from span where name like '%, %'"), [])

    def test_backward_finds_its_forward(self):
        self.run_program()
        # The sequence number of an operator that has a gradient is that of its backward.
        pairs = self.sql("""
            select f.name as forward, b.name as backward, count(*) as n from span f
            join tag x on x.run_id = f.run_id and x.span_id = f.span_id and x.key = 'sequence'
            join tag y on y.run_id = x.run_id and y.key = 'sequence' and y.value = x.value and y.span_id <> x.span_id
            join span b on b.run_id = y.run_id and b.span_id = y.span_id
            where f.name = 'aten::addmm' and b.name = 'AddmmBackward0' group by 1, 2""")
        self.assertEqual(pairs, [{"forward": "aten::addmm", "backward": "AddmmBackward0", "n": 8}])

    def test_ranges_of_the_program(self):
        self.run_program()
        rows = self.sql("select name, level, category, count(*) as n from span where level = 'application' group by 1, 2, 3"
                        " order by 1")
        found = {row["name"]: (row["category"], row["n"]) for row in rows}
        for number in range(4):
            self.assertEqual(found[f"iteration {number}"], (None, 1))
        self.assertEqual(found["halfway"], ("mark", 1))
        self.assertEqual(found["any thread's"], (None, 1))
        track = self.sql("select t.thread_id from span s join track t using (run_id, track_id)"
                         " where s.name = 'any thread''s'")
        self.assertEqual(track, [{"thread_id": None}])

    def test_layers_of_a_step(self):
        self.run_program(XSP_MODEL_RANGE="iteration *")
        result = self.sql("select p.level as parent, count(*) as n from span s left join span p on p.run_id = s.run_id and"
                          " p.span_id = s.parent_id where s.level = 'layer' group by 1 order by 1")
        parents = {row["parent"]: row["n"] for row in result}
        self.assertEqual(set(parents), {"layer", "model"})  # every operator lies in a step, directly or in another
        self.assertGreater(parents["model"], 4)


if __name__ == "__main__":
    unittest.main()
