# SPDX-License-Identifier: Apache-2.0
"""Predictor `pytorch` without PyTorch: what it says of a Python that lacks it, of wrong paths, and of what it must not open;
and its program's own work, on a stand-in for PyTorch made of NumPy. The real one: long_torch_predictor.py."""
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import textwrap
import unittest
import zipfile

XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"

STAND_IN = {
    "torch/__init__.py": """
        import contextlib
        import numpy

        __version__ = "9.8.7"
        inference_mode = contextlib.nullcontext

        class Tensor(numpy.ndarray):
            detach = clone = contiguous = lambda self: self.copy()
            dim = lambda self: self.ndim
            repeat = lambda self, *times: numpy.tile(numpy.asarray(self), times).view(Tensor)

        def tensor(values, dtype="float32"):
            return numpy.array(values, dtype=dtype).view(Tensor)

        def frombuffer(memory, dtype, offset, count):
            return numpy.frombuffer(memory, dtype=dtype, offset=offset, count=count).view(Tensor)

        def set_num_threads(count):
            print("threads", count)

        from . import jit, nn
    """,
    "torch/jit.py": "class ScriptModule:\n    pass\n",
    "torch/nn.py": """
        class Module:
            training = True
            def __call__(self, *arguments, **keywords):
                return self.forward(*arguments, **keywords)
            def eval(self):
                self.training = False
    """,
    "torch/utils/__init__.py": "",
    "torch/utils/_pytree.py": """
        def tree_flatten(tree):
            if isinstance(tree, (tuple, list)):
                parts = [tree_flatten(value) for value in tree]
                return [leaf for part in parts for leaf in part[0]], (type(tree), [part[1] for part in parts])
            if isinstance(tree, dict):
                leaves, spec = tree_flatten(list(tree.values()))
                return leaves, (lambda values: dict(zip(tree, values)), spec[1])
            return [tree], None

        def tree_unflatten(leaves, spec):
            leaves = iter(leaves)
            def build(spec):
                return next(leaves) if spec is None else spec[0]([build(part) for part in spec[1]])
            return build(spec)
    """,
    # What a prediction got goes to a file.
    "model.py": """
        import json, torch

        class Net(torch.nn.Module):
            def forward(self, x, ids, scale, mask=None):
                with open("seen", "a") as seen:
                    print(json.dumps({"x": x.tolist(), "ids": ids.tolist(), "scale": scale, "training": self.training,
                                      "mask": None if mask is None else mask.tolist()}), file=seen)

        EXAMPLE = (torch.tensor([[1, 2], [3, 4]]), torch.tensor([[7], [8]], "int64"), 0.5)

        def make():
            return Net(), EXAMPLE

        def alone():
            return Net()

        class Unbatched(torch.nn.Module):
            def forward(self, x, y):
                with open("seen", "a") as seen:
                    print(json.dumps([x.shape, y.shape]), file=seen)

        def unbatched():
            return Unbatched(), {"y": torch.tensor([1, 2, 3]), "x": torch.tensor([[1, 2]])}

        class Nested(torch.nn.Module):
            def forward(self, pair):
                with open("seen", "a") as seen:
                    print(json.dumps([part.tolist() for part in pair]), file=seen)

        def nested():
            return Nested(), ((torch.tensor([[1]]), torch.tensor([[2]])),)

        def number():
            return 5

        def failing():
            raise ValueError("no weights\\nhere")

        class Failing(Net):
            def forward(self, x):
                raise RuntimeError("not enough memory: DefaultCPUAllocator: out of memory")

        def exhausted():
            return Failing(), (torch.tensor([[1]]),)

        def complex():
            return Net(), (torch.tensor([[1]], "complex64"),)
    """,
}


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {**os.environ, "XSP_LIBRARY_PYTORCH": ""}

    def xsp(self, *arguments, status=0):
        result = subprocess.run([XSP, *map(str, arguments)], capture_output=True, text=True, timeout=600, cwd=self.folder,
                                env=self.environment)
        self.assertEqual(result.returncode, status, result.stderr)
        return result.stdout if status == 0 else result.stderr

    def profile(self, model, *options, status=0):
        return self.xsp("profile", model, "--quiet", "--force", "--levels", "M", "--runs", 2, "--warmup", 1, "-o", "out.xsp",
                        *options, status=status)

    def refused(self, model, why, *options, status=2):
        line = self.profile(model, *options, status=status).splitlines()[-1]
        self.assertRegex(line, "^xsp: .*; try: ")
        self.assertIn(why, line)
        self.assertFalse((self.folder / "out.xsp").exists())


class Absent(Case):
    def setUp(self):
        super().setUp()
        self.environment.update(VIRTUAL_ENV="", PATH="/nowhere", PYTHONPATH="")
        (self.folder / "model.pt").write_bytes(b"anything")

    def test_no_python(self):
        self.refused("model.pt", "not a Python interpreter", status=3, *("--library", "pytorch=/dev/null"))
        self.refused("model.pt", "--library pytorch=PATH", status=3, *("--library", f"pytorch={self.folder}/absent"))
        self.refused("model.pt", "the folder has no bin/python3", status=3, *("--library", f"pytorch={self.folder}"))

    def test_python_without_torch(self):
        library = ("--library", f"pytorch={sys.executable}")
        if subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode == 0:
            self.skipTest("this Python has PyTorch")
        self.refused("model.pt", "No module named 'torch'", *library, status=3)
        self.refused("model:make", "No module named 'torch'", *library, status=3)
        self.assertIn("No module named 'torch'", self.xsp("check", "pytorch", *library, status=3))

    def test_absent_model(self):
        self.refused("absent.pt", "absent.pt")


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "the sanitizer's runtime must come before libxsp.so in Python")
class StandIn(Case):
    def setUp(self):
        super().setUp()
        for name, text in STAND_IN.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        self.environment.update(XSP_LIBRARY_PYTORCH=sys.executable, PYTHONPATH=str(self.folder),
                                PYTHONDONTWRITEBYTECODE="1")

    def rows(self, query):
        return json.loads(self.xsp("sql", "out.xsp", query, "--json"))

    def seen(self):
        return [json.loads(line) for line in (self.folder / "seen").read_text().splitlines()]

    def test_spans(self):
        self.profile("model.py:make", "--batch", "1,3")
        spans = self.rows("select s.name, s.tracer, o.warmup, (select value from tag t where t.run_id = s.run_id and"
                          " t.span_id = s.span_id and t.key = 'batch_size') as batch from span s join observation o"
                          " using (run_id, span_id) where s.level = 'model' order by batch, s.start_ns")
        self.assertEqual([row["batch"] for row in spans], [1] * 3 + [3] * 3)
        self.assertEqual([row["warmup"] for row in spans], [1, 0, 0] * 2)
        self.assertEqual({(row["name"], row["tracer"]) for row in spans}, {("make", "runner")})
        [experiment] = self.rows("select name, workload, framework, framework_version from experiment")
        self.assertEqual(experiment, {"name": "make", "workload": "model.py:make", "framework": "pytorch",
                                      "framework_version": "9.8.7"})
        [row] = self.rows("select count(distinct t.process_id) as n from span s join track t using (run_id, track_id)")
        self.assertEqual(row["n"], 2)  # "load model" is the runner's, the predictions are not

    def test_values_of_the_example(self):
        for batch, x, ids in ((1, [[1, 2]], [[7]]), (3, [[1, 2], [3, 4], [1, 2]], [[7], [8], [7]])):
            (self.folder / "seen").unlink(missing_ok=True)
            self.profile("model.py:make", "--batch", batch)
            self.assertEqual(self.seen(), [{"x": x, "ids": ids, "scale": 0.5, "training": False, "mask": None}] * 3)

    def test_values_of_the_user(self):
        import numpy
        numpy.save(self.folder / "x.npy", numpy.array([[9, 10]], "float32"))
        self.profile("model:make", "--batch", 2, "--input", "x=x.npy")
        self.assertEqual(self.seen()[0]["x"], [[9, 10], [9, 10]])
        self.assertEqual(self.seen()[0]["ids"], [[7], [8]])

    def test_tensors_in_a_tuple(self):
        import numpy
        numpy.save(self.folder / "x.npy", numpy.array([[9]], "float32"))
        self.profile("model.py:nested", "--input", "pair.1=x.npy")
        self.assertEqual(self.seen()[0], [[[1]], [[9]]])

    def test_example_inputs_of_the_file(self):
        self.refused("model.py:alone", "returned no example inputs")
        with open(self.folder / "model.py", "a") as file:
            file.write("\ndef example_inputs():\n    return EXAMPLE + (torch.tensor([[True], [False]], 'bool'),)\n")
        self.profile("model.py:alone")
        self.assertEqual(self.seen()[0]["mask"], [[True]])

    def test_inputs_without_a_batch(self):
        """Dimension 0 of the examples differs: it is not the batch."""
        self.profile("model.py:unbatched")
        self.assertEqual(self.seen()[0], [[1, 2], [3]])
        (self.folder / "out.xsp").unlink()
        self.refused("model.py:unbatched", "no free batch dimension", "--batch", 2)

    def test_refusals(self):
        for model, why in (("model.py:number", "number returned int"), ("model.py:absent", "no function absent"),
                           ("absent.py:make", "no such file: absent.py"), ("absent:make", "No module named 'absent'"),
                           ("model.py:failing", "ValueError: no weights here"), ("model.py:complex", "complex64"),
                           ("model:EXAMPLE", "no function EXAMPLE")):
            with self.subTest(model):
                self.refused(model, why)
        self.refused("model.py:exhausted", "out of memory", status=3)

    def test_files_that_are_not_opened(self):
        (self.folder / "text.pt").write_text("anything")
        with zipfile.ZipFile(self.folder / "other.pt2", "w") as archive:
            archive.writestr("x/readme", "anything")
        with zipfile.ZipFile(self.folder / "pickle.pt", "w") as archive:
            archive.writestr("x/data.pkl", pickle.dumps(Touch(str(self.folder / "touched"))))
        (self.folder / "bare.pt").write_bytes(pickle.dumps(Touch(str(self.folder / "touched"))))
        self.refused("text.pt", "neither TorchScript nor torch.export")
        self.refused("other.pt2", "neither TorchScript nor torch.export")
        self.refused("pickle.pt", "it can run any code")
        self.refused("bare.pt", "neither TorchScript nor torch.export")
        self.assertFalse((self.folder / "touched").exists())


class Touch:
    """Makes a file when it is unpickled."""
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


if __name__ == "__main__":
    unittest.main()
