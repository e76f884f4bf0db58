# SPDX-License-Identifier: Apache-2.0
"""The example that makes a PyTorch model a predictor, with the real library: it keeps the protocol's rules, and its
layers are the model's modules, with the times that PyTorch's profiler finds. tools/predictor_conformance and xsp detect
every deliberately wrong program."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import predictor_programs
import torch_environment

XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
EXAMPLE = SOURCE / "examples" / "predictor_torch.py"
LEAVES = [("0", "Conv2d"), ("1", "ReLU"), ("2", "MaxPool2d"), ("3.body.0", "Conv2d"), ("3.body.1", "BatchNorm2d"),
          ("3.body.2", "ReLU"), ("3.body.3", "Conv2d"), ("3.body.4", "BatchNorm2d"), ("3.shortcut", "Identity"),
          ("3.relu", "ReLU"), ("4.body.0", "Conv2d"), ("4.body.1", "BatchNorm2d"), ("4.body.2", "ReLU"),
          ("4.body.3", "Conv2d"), ("4.body.4", "BatchNorm2d"), ("4.shortcut", "Conv2d"), ("4.relu", "ReLU"),
          ("5", "AdaptiveAvgPool2d"), ("6", "Flatten"), ("7", "Linear")]
# Runs the example's model under torch.profiler with its hooks' own records, and prints for each prediction
# [[module's duration, of the operators that began within it], …] in ns.
BESIDE = """
import json, os, runpy, socket, sys, threading
import torch
ours, theirs = socket.socketpair()
inputs = os.memfd_create("inputs")
os.environ.update(XSP_PREDICTOR_FD=str(theirs.fileno()), XSP_PREDICTOR_INPUTS_FD=str(inputs))
os.truncate(inputs, 4 * 3 * 224 * 224)
stream = ours.makefile("rw")
def ask(**request):
    print(json.dumps(request), file=stream, flush=True)
    return json.loads(stream.readline())
def drive():
    ask(request="open", version=1, model="", layers=True, threads=1)
    shape = {"name": "image", "type": "float32", "shape": [1, 3, 224, 224], "offset": 0, "bytes": 4 * 3 * 224 * 224}
    ask(request="prepare", batch=1, bytes=shape["bytes"], inputs=[shape])
    for _ in range(8):
        answers.append(ask(request="predict"))
    print(json.dumps({"request": "close"}), file=stream, flush=True)
answers = []
threading.Thread(target=drive).start()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profiler:
    runpy.run_path(sys.argv[1])
profiler.export_chrome_trace(sys.argv[2])
trace = json.load(open(sys.argv[2]))
base = int(trace["baseTimeNanoseconds"])
events = [event for event in trace["traceEvents"] if event.get("cat") == "cpu_op"]
json.dump([answers, [[event["name"], event["ts"], event["dur"]] for event in events]], sys.stdout)
"""


def run(*command, environment=None, timeout=600):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=timeout,
                          env=environment)


class TorchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = torch_environment.torch_python()
        cls.environment = {**os.environ, "PATH": f"{cls.python.parent}:{os.environ['PATH']}", "OMP_WAIT_POLICY": "passive"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_the_example_keeps_the_rules(self):
        self.assertLessEqual(len(EXAMPLE.read_text().splitlines()), 60)
        result = run(*predictor_programs.CONFORMANCE, EXAMPLE, environment=self.environment)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)

    def test_its_modules_are_the_layers(self):
        output = self.folder / "torch.xsp"
        result = run(XSP, "profile", EXAMPLE, "--quiet", "--batch", "1,4", "--runs", 5, "--threads", 1, "-o", output,
                     environment=self.environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        [experiment] = json.loads(run(XSP, "sql", output, "select framework, framework_version from experiment",
                                      "--json").stdout)
        self.assertEqual(experiment["framework"], "pytorch")
        self.assertTrue(experiment["framework_version"].startswith(torch_environment.TORCH))
        table = json.loads(run(XSP, "analyze", "A2", output, "--batch", 4, "--json").stdout)
        self.assertEqual([(row["layer_name"], row["layer_type"]) for row in table["rows"]], LEAVES)
        self.assertEqual(table["rows"][0]["layer_shape"], "[4,32,112,112]")
        self.assertEqual(table["rows"][-1]["layer_shape"], "[4,1000]")
        self.assertTrue(all(row["n"] == 5 and row["latency_ms"] > 0 for row in table["rows"]))
        inside = json.loads(run(XSP, "sql", output, "select sum(l.start_ns < m.start_ns or l.end_ns > m.end_ns) as outside, "
                                "count(*) as n from span l join span m on m.run_id = l.run_id and m.span_id = l.model_id "
                                "where l.level = 'layer'", "--json").stdout)
        self.assertEqual(inside, [{"outside": 0, "n": 2 * 8 * len(LEAVES)}])

    def test_hooks_agree_with_the_profiler(self):
        """Each module calls one operator; its hooks' times enclose that operator's, and by little."""
        script = self.folder / "beside.py"
        script.write_text(BESIDE)
        result = run(self.python, script, EXAMPLE, self.folder / "trace.json", environment=self.environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        answers, events = json.loads(result.stdout)
        convolutions = sorted(((start, duration) for name, start, duration in events if name == "aten::conv2d"))
        recorded = [layer for answer in answers for layer in answer["layers"] if layer["type"] == "Conv2d"]
        self.assertEqual(len(convolutions), len(recorded))
        ratios = sorted((layer["end"] - layer["start"]) / 1000 / duration
                        for layer, (_, duration) in zip(recorded, convolutions))
        print(f"hook over torch.profiler, {len(recorded)} convolutions: least {ratios[0]:.3f}, "
              f"median {ratios[len(ratios) // 2]:.3f}")
        self.assertGreaterEqual(ratios[0], 0.99)  # encloses; the two clocks agree to a microsecond


class WrongProgramsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_each_is_told(self):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            running = {name: pool.submit(predictor_programs.judge, self.folder, name)
                       for name in [None, *predictor_programs.FAULTS]}
        for name, future in running.items():
            with self.subTest(name):
                predictor_programs.check(self, name, future.result())


if __name__ == "__main__":
    unittest.main()
