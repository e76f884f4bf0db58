# SPDX-License-Identifier: Apache-2.0
"""Files that the real tools write here and now, each read a second time by other means."""
import ast
import collections
import decimal
import json
import os
import shutil
import subprocess
import sys
import unittest

from framework_environment import framework_python
from imported import Imported
from tensorflow_environment import tensorflow_environment
from torch_environment import torch_python

TIMEOUT_S = 300
CONVOLUTIONS = """
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3)).eval()
with torch.no_grad():
    for _ in range(3):
        model(torch.randn(2, 3, 32, 32))
print("done")
"""
TRAINING = """
import torch
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile
model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
observer = ExecutionTraceObserver().register_callback("graph.json")
with profile(activities=[ProfilerActivity.CPU], execution_trace_observer=observer) as profiler:
    for _ in range(2):
        model(torch.randn(8, 16)).sum().backward()
        optimizer.step()
        profiler.step()
profiler.export_chrome_trace("trace.json")
"""
LOADGEN = """
import mlperf_loadgen as loadgen

def issue(samples):
    loadgen.QuerySamplesComplete([loadgen.QuerySampleResponse(sample.id, 0, 0) for sample in samples])

sut, qsl = loadgen.ConstructSUT(issue, lambda: None), loadgen.ConstructQSL(4, 4, lambda _: None, lambda _: None)
settings, logs, output = loadgen.TestSettings(), loadgen.LogSettings(), loadgen.LogOutputSettings()
settings.scenario, settings.mode = loadgen.TestScenario.SingleStream, loadgen.TestMode.PerformanceOnly
settings.min_query_count = settings.max_query_count = 5
settings.min_duration_ms = 0
output.outdir, logs.log_output, logs.enable_trace = ".", output, True
loadgen.StartTestWithLogSettings(sut, qsl, settings, logs)
loadgen.DestroyQSL(qsl)
loadgen.DestroySUT(sut)
"""
SESSION = """
import numpy as np
import tensorflow as tf
from tensorflow.python.client import timeline
v1 = tf.compat.v1
v1.disable_eager_execution()
x = v1.placeholder(tf.float32, [4, 32, 32, 3], name="x")
y = tf.reduce_mean(tf.nn.relu(tf.nn.conv2d(x, tf.ones([3, 3, 3, 8]), 1, "SAME", name="conv"), name="relu"), name="mean")
with v1.Session() as session:
    for _ in range(2):
        metadata = v1.RunMetadata()
        session.run(y, {x: np.ones([4, 32, 32, 3], np.float32)}, run_metadata=metadata,
                    options=v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE))
open("step.pb", "wb").write(metadata.SerializeToString())
open("timeline.json", "w").write(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format(show_memory=True))
for device in metadata.step_stats.dev_stats:
    for node in device.node_stats:
        shape = [dim.size for dim in node.output[0].tensor_description.shape.dim] if node.output else None
        print(repr((node.node_name, node.all_start_nanos, node.all_end_rel_nanos, shape)))
"""

EXECUTORCH = """
import json
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.devtools.etdump.serialize import deserialize_from_etdump_flatcc
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings.portable_lib import _load_for_executorch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.linear = torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.Linear(8, 4)

    def forward(self, x):
        return torch.softmax(self.linear(torch.relu(self.convolution(x)).mean((2, 3))), 1)

x = torch.randn(1, 3, 16, 16)
for name, partitioners in (("portable", []), ("xnnpack", [XnnpackPartitioner()])):
    program = to_edge_transform_and_lower(torch.export.export(Net().eval(), (x,)), partitioner=partitioners).to_executorch()
    open(name + ".pte", "wb").write(program.buffer)
    module = _load_for_executorch(name + ".pte", enable_etdump=True)
    for _ in range(3):
        module.run_method("forward", (x,))
    module.write_etdump_result_to_file(name + ".etdp", "")
    dump = deserialize_from_etdump_flatcc(open(name + ".etdp", "rb").read())
    events = [(event.profile_event.name or event.profile_event.delegate_debug_id_str, event.profile_event.start_time,
               event.profile_event.end_time - event.profile_event.start_time, event.profile_event.instruction_id)
              for run in dump.run_data for event in run.events if event.profile_event]
    json.dump(events, open(name + ".json", "w"))
"""
NETWORK = """
func.func @predict(%x: tensor<64x128xf32>, %w: tensor<128x256xf32>, %v: tensor<256x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %a = tensor.empty() : tensor<64x256xf32>
  %b = linalg.fill ins(%zero : f32) outs(%a : tensor<64x256xf32>) -> tensor<64x256xf32>
  %c = linalg.matmul ins(%x, %w : tensor<64x128xf32>, tensor<128x256xf32>) outs(%b : tensor<64x256xf32>) -> tensor<64x256xf32>
  %d = tensor.empty() : tensor<64x64xf32>
  %e = linalg.fill ins(%zero : f32) outs(%d : tensor<64x64xf32>) -> tensor<64x64xf32>
  %f = linalg.matmul ins(%c, %v : tensor<64x256xf32>, tensor<256x64xf32>) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %f : tensor<64x64xf32>
}
"""
SPINNER = """
package main

import (
	"os"
	"runtime/pprof"
)

func spin(n uint64) uint64 {
	x := uint64(1)
	for i := uint64(0); i < n; i++ {
		x = x*6364136223846793005 + i
	}
	return x
}

func main() {
	file, err := os.Create("cpu.pb.gz")
	if err != nil || pprof.StartCPUProfile(file) != nil {
		os.Exit(1)
	}
	if spin(400_000_000) == 0 {
		os.Exit(1)
	}
	pprof.StopCPUProfile()
	file.Close()
}
"""


def run_python(python, program, folder, **environment):
    return subprocess.run([python, "-c", program], cwd=folder, check=True, capture_output=True, text=True, timeout=TIMEOUT_S,
                          env={**os.environ, "OMP_NUM_THREADS": "2", **environment}).stdout


class PyTorch(Imported):
    @classmethod
    def setUpClass(cls):
        cls.python = torch_python()

    def test_onednn(self):
        """What PyTorch's oneDNN prints for two convolutions, three times."""
        log = run_python(self.python, CONVOLUTIONS, self.folder, ONEDNN_VERBOSE="2", ONEDNN_VERBOSE_TIMESTAMP="1")
        rows = [line.split(",") for line in log.splitlines() if line.startswith("onednn_verbose") and ",primitive," in line]
        expected = [(row[4][:4], int(decimal.Decimal(row[2]) * 10**6), decimal.Decimal(row[-1]) * 10**6) for row in rows
                    if row[4][:4] in ("exec", "crea")]
        report, spans = self.load(log)
        self.assertEqual(len(spans), len(expected))
        for span, (operation, start_ns, duration_ns) in zip(spans, expected):
            self.assertEqual((span["level"], span["start_ns"]), ("kernel" if operation == "exec" else "library", start_ns))
            self.assertLessEqual(abs(span["duration_ns"] - duration_ns), 1)
        convolutions = [span for span in spans if span["category"] == "kernel" and span["tags"]["primitive"] == "convolution"]
        self.assertEqual(len(convolutions), 6)
        self.assertEqual(report["files"][0]["skipped"]["not a line of oneDNN"], 1)  # "done"

    def test_an_execution_trace(self):
        """Every operator of the Kineto file is a node of the execution trace, with the node's number and schema."""
        run_python(self.python, TRAINING, self.folder)
        trace, graph = (os.path.join(self.folder, name) for name in ("trace.json", "graph.json"))
        with open(trace, encoding="utf-8") as file:
            numbers = {event["args"]["Record function id"]: event["name"] for event in json.load(file)["traceEvents"]
                       if "Record function id" in event.get("args", {})}
        with open(graph, encoding="utf-8") as file:
            nodes = {attributes["rf_id"]: (node, attributes) for node in json.load(file)["nodes"]
                     for attributes in [{entry["name"]: entry["value"] for entry in node["attrs"]}]}
        report, spans = self.load_files(graph, trace)
        self.assertGreater(len(numbers), 100)
        self.assertEqual(report["files"][0]["kept"], len(numbers))
        described = [span for span in spans if "et_node" in span["tags"]]
        self.assertEqual(len(described), len(numbers))
        for span in described:
            node, attributes = nodes[span["tags"]["Record function id"]]
            self.assertEqual((span["name"], span["tags"]["et_node"], span["tags"].get("op_schema", "")),
                             (node["name"], node["id"], attributes["op_schema"]))
            self.assertEqual(json.loads(span["tags"]["et_input_shapes"]), node["inputs"]["shapes"])


class TensorFlow(Imported):
    def test_run_metadata_and_its_timeline(self):
        """The same operators from both; times and shapes as TensorFlow's own reader of protobuf prints them."""
        python = tensorflow_environment() / "bin" / "python3"
        printed = run_python(python, SESSION, self.folder, TF_CPP_MIN_LOG_LEVEL="3")
        expected = [ast.literal_eval(line) for line in printed.splitlines()]
        _, spans = self.load_files(os.path.join(self.folder, "step.pb"))
        self.assertEqual([(s["name"], s["start_ns"], s["duration_ns"]) for s in spans], [row[:3] for row in expected])
        for span, row in zip(spans, expected):
            self.assertEqual(span["tags"].get("layer_shape"), None if row[3] is None else str(row[3]).replace(" ", ""))
        report, layers = self.load_files(os.path.join(self.folder, "timeline.json"))
        self.assertEqual(report["files"][0]["format"], "tf-timeline")
        self.assertEqual([(s["name"], s["start_ns"] // 1000, s["tags"]["layer_type"]) for s in layers],
                         [(s["name"], s["start_ns"] // 1000, s["tags"]["layer_type"]) for s in spans])


class LoadGen(Imported):
    def test_a_trace(self):
        """Five samples, each as long as LoadGen says itself."""
        run_python(framework_python("loadgen", "mlcommons-loadgen==6.0.17"), LOADGEN, self.folder)
        report, spans = self.load_files(os.path.join(self.folder, "mlperf_log_trace.json"))
        samples = [span for span in spans if span["level"] == "model"]
        self.assertEqual([span["tags"]["sample_seq"] for span in samples], list(range(5)))
        for span in samples:
            self.assertEqual(span["duration_ns"], span["tags"]["complete_ns"] - span["tags"]["issue_start_ns"])
        self.assertTrue(any("two pairs of quotes" in note for note in report["files"][0]["notes"]))
        self.assertNotIn("not JSON, and not to be mended", report["files"][0]["skipped"])


class Go(Imported):
    def run_go(self, *arguments):
        environment = {**os.environ, "GOCACHE": os.path.join(self.folder, "cache"), "GO111MODULE": "off", "GOTOOLCHAIN": "local"}
        return subprocess.run(["go", *arguments], cwd=self.folder, check=True, capture_output=True, text=True, timeout=TIMEOUT_S,
                              env=environment).stdout

    def test_cpu_time(self):
        """Samples, their sum and that of each innermost function are those that Go's own reader lists."""
        if shutil.which("go") is None:
            self.skipTest("no go")
        self.write(SPINNER, "spin.go")
        self.run_go("run", "spin.go")
        raw = self.run_go("tool", "pprof", "-raw", "cpu.pb.gz").splitlines()
        places = {int(line.split(":")[0]): line.split()[3] for line in raw[raw.index("Locations") + 1:raw.index("Mappings")]
                  if line.strip()[0].isdigit() and len(line.split()) > 3}
        rows = [line.partition(":") for line in raw[raw.index("samples/count cpu/nanoseconds") + 1:raw.index("Locations")]]
        expected = collections.Counter()
        for values, _, locations in rows:
            expected[places[int(locations.split()[0])]] += int(values.split()[1])
        report, (program,) = self.load_files(os.path.join(self.folder, "cpu.pb.gz"))
        self.assertEqual((report["files"][0]["format"], report["files"][0]["kept"]), ("pprof", len(rows) + 1))
        found = self.rows("select f.name, sum(s.duration_ns) as ns from sample s join context using (context_id) join frame f using"
                          " (frame_id) group by 1")
        self.assertEqual({row["name"]: row["ns"] for row in found}, dict(expected))
        self.assertGreater(expected["main.spin"], 0)
        self.assertEqual(self.rows("select epoch from run"), [{"epoch": "unix"}])


class ExecuTorch(Imported):
    @classmethod
    def setUpClass(cls):
        cls.python = torch_python()
        added = framework_python("executorch-1.5.1", "--no-deps", "executorch==1.5.1", "torchao==0.18.0", "flatbuffers==25.12.19",
                                 "ruamel.yaml==0.19.1", "pandas==3.1.1", "python-dateutil==4.0.0", "tabulate==0.10.0")
        cls.packages = str(added.parents[1] / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages")

    def test_what_its_own_reader_lists(self):
        """With and without a delegate: each event's start, duration and instruction; layers are calls, each once."""
        run_python(self.python, EXECUTORCH, self.folder, PYTHONPATH=self.packages)
        for name in ("portable", "xnnpack"):
            with self.subTest(name):
                with open(os.path.join(self.folder, name + ".json"), encoding="utf-8") as file:
                    events = json.load(file)
                report, spans = self.load_files(os.path.join(self.folder, name + ".etdp"))
                self.assertEqual((report["files"][0]["kept"], report["files"][0]["skipped"]), (len(events), {}))
                self.assertEqual(sorted((span["start_ns"], span["duration_ns"]) for span in spans),
                                 sorted((start, duration) for _, start, duration, _ in events))
                calls = sorted((start, instruction) for event, start, _, instruction in events if event in ("OPERATOR_CALL", "DELEGATE_CALL"))
                layers = [span for span in spans if span["level"] == "layer" and span["category"] != "delegated"]
                self.assertEqual(sorted((span["start_ns"], span["tags"]["layer_index"]) for span in layers), calls)
                by_id = {span["span_id"]: span for span in layers}
                for span in spans:
                    if span["category"] == "delegated":
                        self.assertEqual(by_id[span["parent_id"]]["tags"]["layer_index"], span["tags"]["layer_index"])
                self.assertEqual(any(span["category"] == "delegated" for span in spans), name == "xnnpack")


class Iree(Imported):
    def test_what_iree_profile_lists(self):
        """On threads and without: each operation's start, duration and work of all threads, and how often each function ran."""
        tools = framework_python("iree-3.13.0", "iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0").parent
        self.write(NETWORK, "net.mlir")

        def run_tool(*arguments):
            return subprocess.run([tools / arguments[0], *arguments[1:]], cwd=self.folder, check=True, capture_output=True, text=True,
                                  timeout=TIMEOUT_S).stdout

        run_tool("iree-compile", "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
                 "--iree-llvmcpu-target-cpu=host", "net.mlir", "-o", "net.vmfb")
        for device in ("local-task", "local-sync"):
            with self.subTest(device):
                run_tool("iree-benchmark-module", "--device=" + device, "--module=net.vmfb", "--function=predict", "--input=64x128xf32=1",
                         "--input=128x256xf32=1", "--input=256x64xf32=1", "--benchmark_min_time=4x", "--device_profiling_output=net.ireeprof",
                         "--device_profiling_mode=queue-events,host-execution,memory-events,executable-metadata")
                rows = [json.loads(line) for line in run_tool("iree-profile", "export", "--format=ireeperf-jsonl", "net.ireeprof").splitlines()]
                rows = [row for row in rows if row["record_type"] == "host_execution_event"]
                report, spans = self.load_files(os.path.join(self.folder, "net.ireeprof"))
                self.assertEqual((report["files"][0]["format"], report["files"][0]["kept"]), ("iree", len(rows)))
                self.assertEqual(sorted((span["start_ns"], span["duration_ns"], span["tags"].get("tile_duration_sum_ns", 0)) for span in spans),
                                 sorted((row["start_host_time_ns"], row["duration_ns"], row["tile_duration_sum_ns"]) for row in rows))
                layers = [span for span in spans if span["level"] == "layer"]
                self.assertEqual([span["name"] for span in layers], [row["key"] for row in rows if row["op"] == "dispatch"])
                executions = {span["span_id"] for span in spans if span["level"] == "model"}
                self.assertEqual(collections.Counter(span["parent_id"] for span in layers), {execution: 2 for execution in executions})


if __name__ == "__main__":
    unittest.main()
