# SPDX-License-Identifier: Apache-2.0
"""PyTorch's emit_itt into itt.so: every operator of a forward and a backward pass is a layer inside of its step."""
import json
import os
import pathlib
import tempfile
import unittest

import test_run_unseen
import torch_environment
from test_itt import Trace, name_of

PROGRAM = """
import json, sys, threading, torch
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
batch = torch.randn(2, 8)
losses = []

def step():
    with torch.profiler.record_function("train step"):
        loss = model(batch).square().mean()
        loss.backward()
        losses.append(loss.item())

if sys.argv[1] == "itt":
    with torch.autograd.profiler.emit_itt():
        for _ in range(4):
            step()
        torch.profiler.itt.mark("halfway")
        torch.profiler.itt.range_push("pushed")
        torch.relu(batch)
        torch.profiler.itt.range_pop()
else:
    with torch.autograd.profiler.profile(use_kineto=False) as profile:
        for _ in range(4):
            step()
        with torch.profiler.record_function("pushed"):
            torch.relu(batch)
    print(json.dumps(sorted(event.name for event in profile.function_events)))
print(repr(losses))
"""

CONVOLUTION = """
import torch
torch.manual_seed(0)
model, batch = torch.nn.Conv2d(64, 64, 3), torch.randn(4, 64, 56, 56)
with torch.autograd.profiler.emit_itt(), torch.no_grad():
    model(batch)
"""


class Torch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.environ.get("XSP_SANITIZE"):
            raise unittest.SkipTest("PyTorch is not built with a sanitizer")
        cls.python = torch_environment.torch_python()

    def run_program(self, route):
        with tempfile.TemporaryDirectory(prefix="xsp-test-itt-torch-") as name:
            folder = pathlib.Path(name)
            (folder / "program.py").write_text(PROGRAM)
            return Trace([self.python, folder / "program.py", route], folder, XSP_MODEL_RANGE="train step")

    def test_operators_are_layers(self):
        trace, own = self.run_program("itt"), self.run_program("own")
        self.assertEqual(trace.stdout.splitlines()[-1], own.stdout.splitlines()[-1])
        steps = trace.named("train step")
        self.assertEqual([(step["level"], step["depth"]) for step in steps], [("model", 0)] * 4)
        # PyTorch's own profiler saw the same operators, as many of each.
        events = json.loads(own.stdout.splitlines()[0])
        operators = [span for span in trace.spans if span["name"].startswith("aten::")]
        # One that hands over to itself is one event to PyTorch.
        whole = sorted(span["name"] for span in operators if span["name"] != name_of(span["parent"]))
        self.assertEqual(whole, [name for name in events if name.startswith("aten::")])
        self.assertEqual({(span["level"], span["tags"]["domain"]) for span in operators}, {("layer", "PyTorch")})
        inside = [span for span in operators if span["model_id"] is not None]
        self.assertGreater(len(inside), 0.9 * len(operators))
        for span in trace.named("aten::addmm"):
            self.assertEqual(name_of(span["parent"]), "aten::linear")
        backward = [span for span in trace.spans if span["name"].startswith("autograd::engine::evaluate_function")]
        self.assertEqual(len(backward), sum(name.startswith("autograd::engine::evaluate_function") for name in events))
        self.assertEqual(trace.one("halfway")["category"], None)  # a task without length: PyTorch has no other mark
        pushed = trace.one("pushed")
        self.assertIs(trace.named("aten::relu")[-1]["parent"], pushed)
        self.assertEqual(pushed["level"], "application")
        self.assertNotIn("left out", trace.reported)

    def test_a_program_that_does_not_ask_for_it(self):
        with tempfile.TemporaryDirectory(prefix="xsp-test-itt-torch-") as name:
            code = f"import sys, torch; print('mapped', file=sys.stderr, flush=True); open('{name}/go').read()"
            text = test_run_unseen.summary(pathlib.Path(name), [self.python, "-c", code])
        self.assertIn("not seen PyTorch's operators", text)

    def test_what_operators_call_is_library_level(self):
        with tempfile.TemporaryDirectory(prefix="xsp-test-itt-torch-") as name:
            folder = pathlib.Path(name)
            (folder / "program.py").write_text(CONVOLUTION)
            trace = Trace([self.python, folder / "program.py"], folder)
        if not trace.named("aten::mkldnn_convolution"):
            self.skipTest("PyTorch does not use oneDNN here")
        found = [span for span in trace.spans if span["tags"].get("domain") == "dnnl::primitive::execute"]
        self.assertEqual({span["level"] for span in found}, {"library"})
        # oneDNN announces its part on each of its threads; the operator's own thread has the operator around it.
        main = trace.one("aten::mkldnn_convolution")["track_id"]
        convolutions = [span for span in found if span["name"] == "convolution" and span["track_id"] == main]
        self.assertEqual([name_of(span["parent"]) for span in convolutions], ["aten::mkldnn_convolution"])


if __name__ == "__main__":
    unittest.main()
