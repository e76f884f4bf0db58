# SPDX-License-Identifier: Apache-2.0
"""Rooflines: analytic work of real models and traces against counts made here from the models' and traces' own files; the
optimal batch of published series; the machine's measured peaks. test_random_experiments.py has A9, A12 and A14."""
import collections
import glob
import gzip
import json
import math
import os
import pathlib
import subprocess
import sys
import unittest

import scripted
import trace_reader
from scripted import xsp, xsp_json

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
DATA = trace_reader.data_folder()
FRAMEWORKS = {"VIRTUAL_ENV": sys.prefix}  # where xsp finds ONNX Runtime


def temporary(test):
    folder = scripted.temporary_folder()
    test.addCleanup(folder.cleanup)
    return pathlib.Path(folder.name)


# ---- real models -------------------------------------------------------------------------------------------------------
def model_macs(path):
    """Multiply-adds at batch 1 of every convolution and matrix product, rising; shapes by the onnx package."""
    import onnx
    from onnx import shape_inference
    model = onnx.load(path)
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = 1
    graph = shape_inference.infer_shapes(model, strict_mode=True, data_prop=True).graph
    shapes = {tensor.name: list(tensor.dims) for tensor in graph.initializer}
    for value in (*graph.value_info, *graph.input, *graph.output):
        shapes[value.name] = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    macs = []
    for node in graph.node:
        if node.op_type == "Conv":
            count = math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[1]][1:])
        elif node.op_type == "Gemm":
            count = math.prod(shapes[node.input[1]]) * shapes[node.input[0]][0]
        else:
            continue
        macs.append(count)
    return sorted(macs)


class ModelsTest(unittest.TestCase):
    """End to end: a model in ONNX Runtime, its layers' shapes and counts, compared with the model's graph."""

    def check(self, name, expected_gmacs):
        folder = temporary(self)
        make = "import sys; sys.path.insert(0, sys.argv[1]); import models; " \
               "open(sys.argv[3], 'wb').write(models.Light(sys.argv[2]).bytes())"
        model = folder / f"{name}.onnx"
        subprocess.run([sys.executable, "-c", make, SOURCE / "tools", name, model], check=True, timeout=600)
        out = folder / "model.xsp"
        xsp("profile", model, "--runs", "1", "--warmup", "1", "--levels", "M/L", "-o", out, "--quiet", check=0,
            environment=FRAMEWORKS)
        answer = xsp_json("analyze", "A14", out, "--json")
        macs = model_macs(model)
        # ONNX Runtime makes convolutions of one value a channel out of batch norms.
        norms = {row["name"] for row in xsp_json("sql", out, "select s.name, value from tag t join span s using (run_id, "
                                                 "span_id) where t.key = 'input_shape'", "--json")
                 if ",1,1,1]" in row["value"]}
        found = sorted(row["multiply_adds"] for row in answer["rows"] if row["layer_name"] not in norms and
                       row["layer_type"] in ("Conv", "FusedConv", "Gemm", "FusedGemm"))
        self.assertEqual(len(found), len(macs))
        for counted, exact in zip(found, macs):
            # Channels are padded to a multiple of the vectors' width, 8 or 16: 1000 may count as 1008.
            self.assertIn(counted / exact, (1, 1.008))
        self.assertLessEqual(sum(counted != exact for counted, exact in zip(found, macs)), 1)
        self.assertAlmostEqual(sum(macs) / 1e9, expected_gmacs, delta=0.01 * expected_gmacs)
        self.assertEqual(answer["summary"]["analytic_unknown_layers"], 0)  # pools too: their windows are in the model
        self.assertGreaterEqual(answer["summary"]["analytic_multiply_adds"], sum(macs))
        self.assertIn("multiply_adds", " ".join(answer["notes"]))
        xsp("analyze", "A12", out, check=1)
        xsp("analyze", "A9", out, check=1)

    def test_squeezenet(self):
        self.check("squeezenet", 0.349)

    def test_resnet50(self):
        self.check("resnet50", 4.09)  # fvcore and torch count 4.09 to 4.12

    def test_densenet121(self):
        self.check("densenet121", 2.84)


@unittest.skipIf(DATA is None, "no real traces: set XSP_TEST_DATA")
class ImportedOnnxRuntimeTest(unittest.TestCase):
    """Profiles of PP-OCR by ONNX Runtime: shapes and bytes from the file itself."""

    def check(self, name, convolutions):
        path = os.path.join(DATA, "ort", name)
        out = temporary(self) / "ort.xsp"
        xsp("import", path, "-o", out, check=0)
        answer = xsp_json("analyze", "A14", out, "--json")
        nodes = {}
        for event in json.loads(pathlib.Path(path).read_text()):
            arguments = event.get("args") or {}
            if event["cat"] == "Node" and event["name"].endswith("_kernel_time"):
                nodes[int(arguments["node_index"]), event["name"].removesuffix("_kernel_time")] = arguments
        counted = 0
        for row in answer["rows"]:
            arguments = nodes[row["layer_index"], row["layer_name"]]
            shapes = [next(iter(shape.values())) for shape in arguments["input_type_shape"]]
            output = next(iter(arguments["output_type_shape"][0].values()))
            listed = sum(int(arguments[key]) for key in ("parameter_size", "activation_size", "output_size"))
            if row["layer_type"] in ("Conv", "FusedConv"):
                self.assertEqual(row["multiply_adds"], math.prod(output) * math.prod(shapes[1][1:]))
                self.assertEqual(row["analytic_bytes"], listed)
                counted += 1
            elif row["layer_type"] == "Gemm":  # its weights are not listed: they are packed
                self.assertEqual(row["multiply_adds"], math.prod(shapes[0]) * output[1])
                self.assertEqual(row["analytic_bytes"], listed + 4 * shapes[0][1] * output[1])
            elif row["layer_type"] in ("Add", "Mul", "Relu"):
                self.assertEqual(row["analytic_flops"], math.prod(output))
            elif row["layer_type"] == "ConvTranspose":
                self.assertIsNone(row["analytic_flops"])
                self.assertIsNone(row["analytic_bytes"])
            elif row["layer_type"] == "Reshape":
                self.assertEqual((row["analytic_flops"], row["analytic_bytes"]), (0, 0))
        self.assertEqual(counted, convolutions)

    def test_detection(self):
        self.check("ort1.30_ppocr_det_320_session.json", 62)

    def test_classification(self):
        self.check("ort1.30_ppocr_cls_session.json", 53)


# ---- real traces -------------------------------------------------------------------------------------------------------
def product_of_matrices(name, dims):
    """(multiply-adds, adds) of ATen's products, by hand; None: it is none."""
    if name in ("aten::mm", "aten::bmm"):
        a, b = dims[0], dims[1]
        return math.prod(a) * b[-1], 0
    if name == "aten::addmm":
        a, b = dims[1], dims[2]
        return a[0] * a[1] * b[1], a[0] * b[1]
    return None


@unittest.skipIf(DATA is None, "no real traces: set XSP_TEST_DATA")
class KinetoTest(unittest.TestCase):
    def load(self, name):
        path, = glob.glob(os.path.join(DATA, "kineto", name + "*.gz"))
        self.out = temporary(self) / "kineto.xsp"
        xsp("import", path, "-o", self.out, check=0)
        with gzip.open(path) as file:
            return json.load(file)["traceEvents"]

    def products(self, name, steps):
        """Innermost, each product has its own work; those that call it have none. One step's sum against the file's."""
        events = self.load(name)
        expected = collections.Counter()
        for event in events:
            arguments = event.get("args") or {}
            if isinstance(arguments, dict) and "Input Dims" in arguments:
                found = product_of_matrices(event["name"], arguments["Input Dims"])
                if found:
                    expected[event["name"]] += found[0]
        answer = xsp_json("analyze", "A14", self.out, "--layer", "innermost", "--json")
        self.assertEqual(answer["run_set"]["observations"], steps)
        found = collections.Counter()
        for row in answer["rows"]:
            if row["layer_name"] in expected:
                found[row["layer_name"]] += row["multiply_adds"]
            elif row["layer_name"] in ("aten::linear", "aten::matmul"):
                self.assertEqual(row["multiply_adds"], 0, row)
        self.assertEqual({key: value * steps for key, value in found.items()}, dict(expected))
        return answer

    def test_recommendation_model_on_an_a100(self):
        answer = self.products("hta__trace_diff__control", 6)
        row = next(row for row in answer["rows"] if row["layer_name"] == "aten::addmm")
        self.assertEqual((row["peak_flops_per_s"], row["memory_bandwidth_bytes_per_s"]), (19.5e12, 1555e9))
        self.assertIsNone(row["flops"])

    def test_training_on_an_mi250(self):
        events = self.load("hta__amd_trace__mi250")
        answer = xsp_json("analyze", "A14", self.out, "--layer", "innermost", "--json")
        expected = sorted(product_of_matrices(event["name"], event["args"]["Input Dims"])[0] for event in events
                          if event.get("cat") == "cpu_op" and event["name"] in ("aten::mm", "aten::addmm"))
        # Each is in one step of two and adds 0 to the other.
        found = sorted(row["multiply_adds"] * 2 for row in answer["rows"] if row["layer_name"] in ("aten::mm", "aten::addmm"))
        self.assertEqual((answer["run_set"]["observations"], found), (2, expected))
        self.assertIsNone(answer["rows"][0]["peak_flops_per_s"])  # "AMD Radeon Graphics" names no model
        self.assertIn("AMD Radeon Graphics", " ".join(answer["notes"]))

    def test_resnet50_gradients(self):
        """2021: strides are not recorded, so what a convolution writes is not known; what its gradient reads is."""
        events = self.load("kineto__tb_plugin__samples__resnet50")
        expected = 0
        for event in events:
            if event["name"] == "aten::cudnn_convolution_backward_input":
                _, gradient, weight, *_ = event["args"]["Input Dims"]
                expected += math.prod(gradient) * math.prod(weight[1:])
        answer = xsp_json("analyze", "A14", self.out, "--layer", "innermost", "--json")
        rows = collections.defaultdict(list)
        for row in answer["rows"]:
            rows[row["layer_name"]].append(row)
        self.assertEqual(sum(row["multiply_adds"] for row in rows["aten::cudnn_convolution_backward_input"]) * 6, expected)
        self.assertTrue(all(row["multiply_adds"] is None for row in rows["aten::cudnn_convolution"]))
        # 32 images, 4.09 G each, without the first layer, which needs no gradient of its input.
        self.assertAlmostEqual(expected / 6 / 32 / 1e9, 4.09 - 0.118, delta=0.01)
        self.assertEqual(answer["rows"][0]["peak_flops_per_s"], 15.7e12)  # Tesla V100-DGXS-32GB


# ---- published series --------------------------------------------------------------------------------------------------
def optimal(series, threshold=5):
    """The smallest batch size whose doubling raises throughput by at most so many per cent; None: not reached."""
    throughput = {batch: batch / latency for batch, latency in series.items()}
    for batch in sorted(throughput):
        if 2 * batch in throughput and (throughput[2 * batch] / throughput[batch] - 1) * 100 <= threshold:
            return batch
    return None


@unittest.skipIf(DATA is None, "no published series: set XSP_TEST_DATA")
class OptimalBatchTest(unittest.TestCase):
    def test_every_framework_on_every_host(self):
        """319 measurements of AlexNet by the authors of MLModelScope: 6 frameworks, 5 hosts."""
        path = os.path.join(DATA, "mlmodelscope", "latency_throughput_BVLC-AlexNet_1.0.json")
        groups = collections.defaultdict(dict)
        for entry in json.loads(pathlib.Path(path).read_text()):
            groups[entry["framework_name"], entry["host_name"]][entry["batch_size"]] = \
                round(entry["duration"] * 1000)  # of a whole batch, in microseconds
        script = scripted.Script()
        for experiment, series in enumerate(groups.values(), 1):
            script.experiment(f"series {experiment}", experiment)
            for batch, duration_ns in series.items():
                run_id = experiment * 1000 + batch
                script.run(run_id, "M", batch, experiment_id=experiment)
                script.track(run_id=run_id)
                script.span("predict", scripted.UNIX_START, duration_ns, run_id=run_id)
        path = temporary(self) / "series.xsp"
        script.write(path)
        answers = xsp_json("analyze", "A1", path, "--json")
        self.assertEqual(len(answers), len(groups))
        reached = 0
        for answer, (key, series) in zip(answers, groups.items()):
            best = max(series, key=lambda batch: batch / series[batch])
            self.assertEqual(answer["summary"]["optimal_batch"], optimal(series), key)
            self.assertEqual(answer["summary"]["maximum_throughput_batch"], best, key)
            reached += optimal(series) is not None
        self.assertGreater(reached, 20)
        self.assertLess(reached, len(groups))  # two have one batch size only


# ---- the machine -------------------------------------------------------------------------------------------------------
class PeaksTest(unittest.TestCase):
    def test_check_shows_them_on_request_only(self):
        environment = {"XSP_PEAKS": "quick"}
        text = xsp("check", environment=environment).stdout.decode()
        self.assertNotIn("peaks", text)
        text = xsp("check", "--peaks", environment=environment).stdout.decode()
        self.assertRegex(text, r"peaks +[\d.e+]+ Gflop/s in single precision \(\S+\), [\d.e+]+ GB/s of memory")
        found = json.loads(xsp("check", "--peaks", "--json", environment=environment).stdout)
        peaks, = [entry for entry in found if "peaks" in entry]
        self.assertGreater(peaks["peak_flops_per_s"], 0)
        self.assertIsNone(peaks["memory_bandwidth_bytes_per_s"])  # so quick that it stays in the caches
        found = json.loads(xsp("check", "--json", environment=environment).stdout)
        self.assertFalse([entry for entry in found if "peaks" in entry])

    def test_profile_stores_them(self):
        folder = temporary(self)
        subprocess.run([sys.executable, SOURCE / "tools/models.py", folder, "--set", "test"], check=True, timeout=600,
                       capture_output=True)
        out = folder / "tiny.xsp"

        def system(*options, **environment):
            xsp("profile", folder / "tiny.onnx", "--runs", "1", "--levels", "M,M/L", "-o", out, "--quiet", "--force",
                *options, environment=environment | FRAMEWORKS, check=0)
            return {row["key"]: row["value"] for row in
                    xsp_json("sql", out, "select key, value from system", "--json")}

        values = system(XSP_PEAKS="quick")
        self.assertGreater(values["peak_flops_per_s"], 0)
        self.assertEqual(values["peak_source"], "measured")
        self.assertEqual(values["peak_threads"], len(os.sched_getaffinity(0)))
        self.assertEqual(system("--affinity", str(min(os.sched_getaffinity(0))), XSP_PEAKS="quick")["peak_threads"], 1)
        self.assertNotIn("peak_flops_per_s", system("--no-peaks", XSP_PEAKS="quick"))
        self.assertNotIn("peak_flops_per_s", system(XSP_PEAKS="skip"))


if __name__ == "__main__":
    unittest.main()
