# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 in all five frameworks, from the zoo's generators: the same convolutions, flops within 1 % of each other and of
independent counts, layers within their model. Prints the table of tools/cross_framework."""
import itertools
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import unittest

import long_litert
import long_mxnet
import long_openvino
import onnx
import tensorflow_environment
from framework_environment import BUILD, XSP, framework_python

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
GENERATORS = SOURCE / "lab/models" / "generators"
FRAMEWORKS = ["onnxruntime", "tensorflow", "mxnet", "openvino", "litert"]
MULTIPLY_ADDS = {"v1": 3857973248, "v1.5": 4089184256}  # of a network with 1000 outputs; one with 1001 has 2048 more
SEQUENTIAL = {"onnxruntime", "mxnet", "openvino", "litert"}  # one layer at a time

# TensorFlow's own count of a frozen graph, whose batch is fixed for it.
TENSORFLOW_COUNT = """
import sys, tensorflow as tf
v1 = tf.compat.v1
graph_def = v1.GraphDef()
graph_def.ParseFromString(open(sys.argv[1], "rb").read())
for node in graph_def.node:
    if node.op == "Placeholder":
        node.attr["shape"].shape.dim[0].size = 1
with tf.Graph().as_default() as graph:
    tf.import_graph_def(graph_def, name="")
    options = v1.profiler.ProfileOptionBuilder.float_operation()
    options["output"] = "none"
    print(v1.profiler.profile(graph, options=options).total_float_ops)
"""


def environments():
    """{framework: the interpreter with it}"""
    return {"onnxruntime": pathlib.Path(sys.executable),
            "tensorflow": tensorflow_environment.tensorflow_environment() / "bin" / "python3",
            "mxnet": framework_python("mxnet", f"mxnet=={long_mxnet.VERSION}", "numpy<1.24"),
            "openvino": framework_python("openvino", f"openvino=={long_openvino.VERSION}", "onnx==1.23.2", "numpy==2.4.6"),
            "litert": framework_python("litert", f"ai-edge-litert=={long_litert.VERSION}", "numpy==2.4.6")}


def make_models(pythons, folder):
    """{(variant, framework): path}; what is there already is not made again."""
    keras = pythons["tensorflow"], GENERATORS / "keras_model.py"
    onnx_light = pythons["onnxruntime"], GENERATORS / "onnx_light.py"
    models = {}
    for variant, network, light in (("v1", "ResNet50", "resnet50_v1"), ("v1.5", "ResNet50V1_5", "resnet50")):
        for framework, name, command in (
                ("tensorflow", "resnet50.pb", (*keras, network)),
                ("litert", "resnet50.tflite", (*keras, network, "--format", "tflite")),
                ("mxnet", "resnet50-symbol.json", (pythons["mxnet"], GENERATORS / "mxnet_model.py", f"resnet50_{variant}")),
                ("onnxruntime", "resnet50.onnx", (*onnx_light, light)), ("openvino", "resnet50.onnx", ())):
            place = folder / variant
            if not (place / name).exists():
                part = folder / f"{variant}.part"
                part.mkdir(parents=True, exist_ok=True)
                subprocess.run([*command, "--output", part / name], check=True, timeout=600, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
                place.mkdir(exist_ok=True)
                for made in sorted(part.iterdir(), key=lambda path: path.name == name):  # what is looked for, last
                    made.rename(place / made.name)
                part.rmdir()
            models[variant, framework] = place / name
    return models


def count_onnx(path):
    """Flops of an ONNX model at batch size 1 by the shapes that onnx infers: multiply-adds twice, all else once. Batch norms
    count as what remains of them: a shift."""
    model = onnx.load(path)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    graph = onnx.shape_inference.infer_shapes(model).graph
    shapes = {value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
              for value in (*graph.value_info, *graph.input, *graph.output)}
    shapes.update({tensor.name: list(tensor.dims) for tensor in graph.initializer})
    flops = 0
    for node in graph.node:
        size = math.prod(shapes.get(node.output[0], [0]))
        attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
        weights = shapes.get(node.input[1], []) if len(node.input) > 1 else []
        if node.op_type == "Conv":
            flops += 2 * size * math.prod(weights[1:]) + (size if len(node.input) > 2 else 0)
        elif node.op_type == "Gemm":
            flops += 2 * size * shapes[node.input[0]][1] + size
        elif node.op_type in ("MaxPool", "AveragePool"):
            flops += size * math.prod(attributes["kernel_shape"])
        elif node.op_type in ("Relu", "Add", "Sum", "BatchNormalization"):
            flops += size
        elif node.op_type == "Softmax":
            flops += 5 * size
        elif node.op_type not in ("Reshape", "Flatten", "Dropout"):
            raise AssertionError(f"{node.op_type} is not counted")
    return flops


class CrossFramework(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pythons = environments()
        cache = pathlib.Path(os.environ.get("XSP_TEST_CACHE") or BUILD).resolve() / "cross-framework"
        cls.models = make_models(cls.pythons, cache)
        cls.files = {}
        for (variant, framework), path in cls.models.items():
            cls.files[variant, framework] = output = cache / f"{variant}-{framework}.xsp"
            cls.addClassCleanup(output.unlink, missing_ok=True)
            subprocess.run([XSP, "profile", path, "--framework", framework, "--batch", "1", "--levels", "M,M/L", "--runs", "10",
                            "--warmup", "3", "--quiet", "--force", "-o", output], check=True, timeout=300,
                           stdout=subprocess.DEVNULL,
                           env={**os.environ, "VIRTUAL_ENV": str(cls.pythons[framework].parent.parent)})
        cls.rows = {variant: cls.table(variant, "--json") for variant in MULTIPLY_ADDS}

    @classmethod
    def table(cls, variant, *options):
        done = subprocess.run([sys.executable, "-B", SOURCE / "tools" / "cross_framework", "--xsp", XSP, *options,
                               *(cls.files[variant, framework] for framework in FRAMEWORKS)], check=True,
                              capture_output=True, text=True, timeout=120)
        return {row["framework"]: row for row in json.loads(done.stdout)} if options else done.stdout

    def test_each_executes_the_same_convolutions(self):
        for variant, rows in self.rows.items():
            print(f"\nResNet-50 {variant}, batch size 1\n{self.table(variant)}", file=sys.stderr)
            for framework, row in rows.items():
                with self.subTest((variant, framework)):
                    self.assertEqual((row["convolutions"], row["unknown_layers"]), (53, 0))
                    self.assertGreater(row["convolution_pct"], 50)

    def test_flops_agree_within_a_percent(self):
        for variant, rows in self.rows.items():
            for framework, row in rows.items():
                if (variant, framework) == ("v1", "openvino"):
                    continue
                with self.subTest((variant, framework)):
                    self.assertAlmostEqual(row["multiply_adds"] / MULTIPLY_ADDS[variant], 1, delta=1e-6)
                    for other in rows.values():
                        if (variant, other["framework"]) != ("v1", "openvino"):
                            self.assertAlmostEqual(row["flops"] / other["flops"], 1, delta=.01)

    def test_openvino_computes_less_of_v1(self):
        """It moves a stage's stride into the convolutions before it, whose other results are unused."""
        row = self.rows["v1"]["openvino"]
        self.assertAlmostEqual(row["multiply_adds"] / MULTIPLY_ADDS["v1"], .9026, delta=.001)
        self.assertEqual(row["layers"] - self.rows["v1.5"]["openvino"]["layers"], 3)  # pools that pick every second

    def test_flops_are_those_of_independent_counts(self):
        for variant, rows in self.rows.items():
            expected = count_onnx(self.models[variant, "onnxruntime"])
            for framework in set(FRAMEWORKS) - ({"openvino"} if variant == "v1" else set()):
                with self.subTest((variant, framework)):
                    self.assertAlmostEqual(rows[framework]["flops"] / expected, 1, delta=.01)
            own = subprocess.run([self.pythons["tensorflow"], "-B", "-c", TENSORFLOW_COUNT, self.models[variant, "tensorflow"]],
                                 check=True, capture_output=True, text=True, timeout=300)
            self.assertAlmostEqual(rows["tensorflow"]["flops"] / int(own.stdout.split()[-1]), 1, delta=.01)
            print(f"{variant}: xsp {rows['tensorflow']['flops']}, from the ONNX graph {expected}, TensorFlow's profiler"
                  f" {own.stdout.split()[-1]}", file=sys.stderr)

    def read(self, *arguments):
        return json.loads(subprocess.run([XSP, *arguments, "--json"], capture_output=True, timeout=120).stdout)

    def test_layers_of_two_frameworks_pair(self):
        """`xsp compare` pairs all layers but the pools that OpenVINO adds to v1 and the softmax that MXNet lacks. Layers of a pair
        have results of one size, whatever the order of dimensions: but the last ones, of 1000 or 1001, and where OpenVINO moved
        a stride."""
        for variant in MULTIPLY_ADDS:
            shapes = {}
            for framework in FRAMEWORKS:
                for row in self.read("analyze", "A2", self.files[variant, framework])["rows"]:
                    sizes = [int(size) for size in re.findall(r"\d+", row["layer_shape"] or "") if int(size) > 1]
                    shapes[framework, row["layer_name"]] = sorted(sizes)
            for a, b in itertools.permutations(FRAMEWORKS, 2):
                with self.subTest((variant, a, b)):
                    answer = self.read("compare", self.files[variant, a], self.files[variant, b])
                    alone = {row["layer_type"] for side in answer["unpaired"].values() for row in side}
                    self.assertEqual([kind for kind in alone if not re.search("(?i)softmax|identity|maxpool", kind)], [])
                    rows = [row for row in answer["rows"] if row["kind"] == "layer"]
                    self.assertGreaterEqual(len(rows), 56)
                    others = [row["name"] for row in rows if not any(
                        shapes[a, one] == shapes[b, other] for one in row["name"].split(" + ")
                        for other in (row["b_name"] or row["name"]).split(" + "))]
                    self.assertLessEqual(len(others), 8 if variant == "v1" and "openvino" in (a, b) else 3, others)

    def test_layers_fit_into_their_model(self):
        for variant, rows in self.rows.items():
            for framework in SEQUENTIAL:
                with self.subTest((variant, framework)):
                    self.assertLessEqual(rows[framework]["sum_ms"], rows[framework]["model_layers_ms"] * 1.001)


if __name__ == "__main__":
    unittest.main()
