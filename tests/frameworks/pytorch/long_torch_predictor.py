# SPDX-License-Identifier: Apache-2.0
"""Predictor `pytorch` on PyTorch itself: ResNet-50 as a Python function, as TorchScript and as torch.export, over batch sizes,
at M and M/L. What the model computes is what it computes outside of xsp."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import torch_environment

XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
WORKLOADS = pathlib.Path(os.environ["XSP_SOURCE"]) / "bench/workloads"

# ResNet-50 has 1 convolution before its 3 + 4 + 6 + 3 blocks of 3, and 4 in the ways around a stage's first block. Each is
# normalised. A ReLU follows the first one and each of the blocks' three.
BLOCKS = 3 + 4 + 6 + 3
CONVOLUTIONS, RELUS = 1 + 3 * BLOCKS + 4, 1 + 3 * BLOCKS
CONVOLUTION_MODULES = {"conv1"} | {f"layer{stage}.0.downsample.0" for stage in (1, 2, 3, 4)} | {
    f"layer{stage}.{block}.conv{number}" for stage, blocks in ((1, 3), (2, 4), (3, 6), (4, 3))
    for block in range(blocks) for number in (1, 2, 3)}
SIZE = 64

MODELS = f"""
import hashlib, json, os, sys
sys.path.insert(0, {str(WORKLOADS)!r})
import torch
import resnet

torch.manual_seed(0)

class Hashed(resnet.ResNet):
    # Keeps what it computes: batch, and the sum of each row rounded to what is stable.
    def forward(self, x):
        y = super().forward(x)
        if "XSP_TEST_OUTPUTS" in os.environ and not torch.jit.is_tracing():
            with open(os.environ["XSP_TEST_OUTPUTS"], "a") as file:
                rows = [round(float(v), 3) for v in y.abs().mean(1)]
                print(json.dumps([self.training, torch.is_inference_mode_enabled(), rows]), file=file)
        return y

def make():
    torch.manual_seed(0)
    return Hashed(), (torch.randn(2, 3, {SIZE}, {SIZE}),)

def plain():
    torch.manual_seed(0)
    return resnet.ResNet().eval(), torch.randn(2, 3, {SIZE}, {SIZE})
"""
FILES = """
import torch
import models
model, x = models.plain()
torch.jit.trace(model, x).save("traced.pt")
torch.jit.script(model).save("scripted.pt")
torch.export.save(torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("batch")},)), "free.pt2")
torch.export.save(torch.export.export(model, (x,)), "fixed.pt2")
torch.save(model, "pickle.pt")
"""
DIRECT = """
import torch
import models
module, (x,) = models.make()
module.eval()
with torch.inference_mode():
    for rows in ([0], [0, 1], [0, 1, 0, 1]):
        module(x[rows])
"""


def multiply_adds():
    """Of the convolutions, for one picture: outputs times the length of their sums."""
    total, size, width_in = 64 * (SIZE // 2) ** 2 * 3 * 7 * 7, SIZE // 4, 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            out = size // 2 if stage > 0 and block == 0 else size
            total += width * size ** 2 * width_in + width * out ** 2 * width * 3 * 3 + 4 * width * out ** 2 * width
            total += 4 * width * out ** 2 * width_in if block == 0 else 0  # the way around
            size, width_in = out, 4 * width
    return total


class Predictor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = torch_environment.torch_python()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "models.py").write_text(MODELS)
        cls.run_python(FILES)

    @classmethod
    def run_python(cls, text, **environment):
        result = subprocess.run([cls.python, "-c", text], cwd=cls.folder, capture_output=True, text=True, timeout=600,
                                env={**os.environ, **environment})
        assert result.returncode == 0, result.stderr

    def xsp(self, *arguments, status=0, **environment):
        result = subprocess.run([XSP, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, timeout=900,
                                env={**os.environ, "XSP_LIBRARY_PYTORCH": str(self.python), **environment})
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout if status == 0 else result.stderr

    def profile(self, model, *options, levels="M,M/L", status=0, **environment):
        return self.xsp("profile", model, "--quiet", "--force", "--threads", 1, "--levels", levels, "--runs", 3, "--warmup", 1,
                        "-o", "out.xsp", *options, status=status, **environment)

    def read(self, *arguments):
        return json.loads(self.xsp(*arguments, "--json"))

    def layer_counts(self, batch, function):
        """{type: how many of the outermost operators}, as A5 has it; of those that a TorchScript `function` calls."""
        if function is None:
            rows = self.read("analyze", "A5", "out.xsp", "--batch", batch)["rows"]
            return {row["layer_type"]: row["count"] for row in rows}
        rows = self.read("sql", "out.xsp", "select s.name, count(*) * 1.0 / (select count(*) from observation o where o.run_id ="
                         " s.run_id) as count from span s join run r using (run_id) join span f on f.run_id = s.run_id and"
                         f" f.span_id = s.parent_id where f.name = '{function}' and f.model_id is not null and r.batch_size ="
                         f" {batch} group by s.run_id, s.name")
        return {row["name"]: row["count"] for row in rows}

    def assert_resnet(self, batches, function=None):
        rows = self.read("analyze", "A1", "out.xsp")["rows"]
        self.assertEqual([row["batch_size"] for row in rows], batches)
        for row in rows:
            self.assertGreater(row["latency_ms"], 0)
        for batch in batches:
            counts = self.layer_counts(batch, function)
            found = {kind: sum(count for name, count in counts.items() if kind in name)
                     for kind in ("conv", "batch_norm", "relu", "max_pool2d", "linear")}
            self.assertEqual(found, {"conv": CONVOLUTIONS, "batch_norm": CONVOLUTIONS, "relu": RELUS, "max_pool2d": 1,
                                     "linear": 1})
        [row] = self.read("sql", "out.xsp", "select sum(dropped_count) as dropped from run")
        self.assertEqual(row["dropped"], 0)

    def test_function(self):
        self.profile("models.py:make", "--batch", "1,2,4")
        self.assert_resnet([1, 2, 4])
        # All operators of a prediction are in its model span, on its thread.
        rows = self.read("sql", "out.xsp", "select count(*) as n, sum(s.model_id is null) as outside, count(distinct"
                         " s.track_id) as tracks, count(distinct m.track_id) as model_tracks, sum(s.track_id = m.track_id) as"
                         " same from span s join span m on m.run_id = s.run_id and m.level = 'model' and s.start_ns >="
                         " m.start_ns and s.end_ns <= m.end_ns where s.level = 'layer' group by s.run_id")
        self.assertEqual(len(rows), 3)
        for row in rows:
            self.assertGreater(row["n"], 4 * (2 * CONVOLUTIONS + RELUS))
            self.assertEqual((row["outside"], row["tracks"], row["model_tracks"], row["same"]), (0, 1, 1, row["n"]))
        modules = self.read("sql", "out.xsp", "select distinct t.value as module from tag t join span s using (run_id, span_id)"
                            " where s.name = 'aten::conv2d' and t.key = 'module'")
        self.assertEqual({row["module"] for row in modules}, CONVOLUTION_MODULES)
        # The last convolution's callers in the model's own code, innermost first.
        callers = self.read("sql", "out.xsp", "with recursive path(id, depth) as (select * from (select context_id, 0 from"
                            " span where name = 'aten::conv2d' order by run_id desc, start_ns desc limit 1) union all select"
                            " c.parent_id, depth + 1 from path join context c on c.context_id = path.id) select f.name from"
                            " path join context c on c.context_id = path.id join frame f using (frame_id) where f.file like"
                            " '%/resnet.py' or f.file like '%/models.py' order by depth")
        self.assertEqual([row["name"] for row in callers], ["Bottleneck.forward", "ResNet.forward", "Hashed.forward"])
        # The pool gives 64 planes of (SIZE / 4)^2, a float and an index of 8 bytes each.
        rows = self.read("analyze", "A4", "out.xsp", "--batch", 2)["rows"]
        self.assertEqual([row["alloc_bytes"] for row in rows if row["layer_name"] == "aten::max_pool2d"],
                         [2 * 64 * (SIZE // 4) ** 2 * (4 + 8)])
        rows = self.read("analyze", "A14", "out.xsp", "--batch", 4)["rows"]
        self.assertEqual(sum(row["multiply_adds"] for row in rows if row["layer_name"] == "aten::conv2d"),
                         4 * multiply_adds())
        [row] = self.read("sql", "out.xsp", "select count(*) as n from observation")
        self.assertEqual(row["n"], 3 * 2 * 4)  # one model span each, no second one of the tracer

    def test_device(self):
        """Tensors of `meta` have no values: model and inputs are there, or the model refuses them."""
        self.profile("models.py:make", "--batch", "2", "--device", "meta", levels="M")
        self.assertEqual(self.read("sql", "out.xsp", "select value from system where key = 'device'"), [{"value": "meta"}])
        self.assertIn("torch has no 'nonsense' here", self.profile("models.py:make", "--device", "nonsense", levels="M", status=2))

    def test_library_calls(self):
        """oneDNN announces its primitives, in the runs that record them only."""
        self.profile("models.py:make", "--batch", "1", levels="M/L,M/L/Lib")
        rows = self.read("sql", "out.xsp", "select distinct levels, tracer from span join run using (run_id) where"
                         " span.level = 'library' and span.name = 'convolution'")
        self.assertEqual(rows, [{"levels": "M/L/Lib", "tracer": "itt"}])

    def test_same_results(self):
        ours, theirs = self.folder / "ours", self.folder / "theirs"
        self.profile("models:make", "--batch", "1,2,4", levels="M", XSP_TEST_OUTPUTS=str(ours))
        self.run_python(DIRECT, XSP_TEST_OUTPUTS=str(theirs))
        expected = [json.loads(line) for line in theirs.read_text().splitlines()]
        self.assertEqual([entry[:2] for entry in expected], [[False, True]] * 3)
        found = [json.loads(line) for line in ours.read_text().splitlines()]
        self.assertEqual(sorted(map(str, found)), sorted(map(str, expected * 4)))  # 1 warm-up and 3 counted of each batch

    def test_torchscript(self):
        self.profile("traced.pt", "--batch", "1,2,4")
        self.assert_resnet([1, 2, 4], "forward")

    def test_torchscript_without_shapes(self):
        self.assertIn("no shape of input x", self.profile("scripted.pt", status=2))
        import numpy
        numpy.save(self.folder / "x.npy", numpy.zeros((1, 3, SIZE, SIZE), "float32"))
        self.profile("scripted.pt", "--batch", 2, "--input", "x=x.npy", levels="M")
        [row] = self.read("analyze", "A1", "out.xsp")["rows"]
        self.assertEqual(row["batch_size"], 2)

    def test_exported(self):
        self.profile("free.pt2", "--batch", "1,2,4")
        self.assert_resnet([1, 2, 4])
        self.profile("fixed.pt2", "--batch", 2)
        self.assert_resnet([2])
        self.assertIn("no free batch dimension", self.profile("fixed.pt2", "--batch", 4, status=2))

    def test_what_is_not_opened(self):
        self.assertIn("it can run any code", self.profile("pickle.pt", status=2))
        (self.folder / "cut.pt2").write_bytes((self.folder / "free.pt2").read_bytes()[:-1000])
        self.assertIn("neither TorchScript nor torch.export", self.profile("cut.pt2", status=2))

    def test_what_the_model_refuses(self):
        """A picture with one channel."""
        text = f"import models, torch\ndef make():\n    return models.plain()[0], torch.randn(2, 1, {SIZE}, {SIZE})\n"
        (self.folder / "wrong.py").write_text(text)
        self.assertRegex(self.profile("wrong.py:make", status=2), "cannot run the model: wrong.py:make: RuntimeError")

    def test_manifest(self):
        (self.folder / "model.yml").write_text(f"""
name: ResNet
version: "1"
task: image classification
framework: {{name: pytorch, version: ">={torch_environment.TORCH}"}}
model: {{path: free.pt2}}
inputs:
  - {{name: x, type: float32, shape: [N, 3, {SIZE}, {SIZE}]}}
""")
        self.xsp("check", "model.yml")
        self.profile("model.yml", "--batch", 3, levels="M")

    def test_check(self):
        rows = self.read("check", "pytorch")
        [predictor] = [row for row in rows if row.get("predictor") == "pytorch"]
        self.assertTrue(predictor["usable"])
        self.assertTrue(predictor["version"].startswith(torch_environment.TORCH))
        self.assertEqual(predictor["library"], str(self.python))


if __name__ == "__main__":
    unittest.main()
