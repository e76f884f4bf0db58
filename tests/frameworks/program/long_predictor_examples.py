# SPDX-License-Identifier: Apache-2.0
"""The examples that make models of MNN, ncnn and TVM's Relax predictors, with the real libraries: they keep the protocol's rules, and
their layers are those of the model."""
import json
import math
import os
import pathlib
import struct
import subprocess
import unittest

from framework_environment import framework_python
from predictor_programs import CONFORMANCE
from scripted import temporary_folder, xsp_json

XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
TIMEOUT_S = 600
MNN_MODEL = """
import MNN.expr as F
import MNN.nn as nn
x = F.placeholder([1, 3, 32, 32], F.NCHW)
x.name = "image"
y = F.relu(nn.conv(3, 16, [3, 3], [1, 1], [1, 1])(x))
y = F.reduce_mean(nn.conv(16, 32, [3, 3], [2, 2], [1, 1])(y), [2, 3])
y = F.softmax(nn.linear(32, 10)(y))
y.name = "scores"
F.save([y], "net.mnn")
"""
NCNN_MODEL = """7767517
6 6
Input image 0 1 image 0=32 1=32 2=3
Convolution conv1 1 1 image conv1 0=16 1=3 4=1 5=1 6=432 9=1
Convolution conv2 1 1 conv1 conv2 0=32 1=3 3=2 4=1 5=1 6=4608 9=1
Pooling pool 1 1 conv2 pool 0=1 4=1
InnerProduct fc 1 1 pool fc 0=10 1=1 2=320
Softmax prob 1 1 fc prob 0=0
"""
ONNX_MODEL = """
import numpy
import onnx
from onnx import helper
weights = [onnx.numpy_helper.from_array(numpy.ones(shape, "float32"), name) for name, shape in (("v", (16, 3, 3, 3)), ("w", (16, 10)))]
nodes = [helper.make_node("Conv", ["x", "v"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["b"]),
         helper.make_node("GlobalAveragePool", ["b"], ["c"]), helper.make_node("Flatten", ["c"], ["d"]),
         helper.make_node("Gemm", ["d", "w"], ["y"])]
x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", *shape]) for name, shape in (("x", [3, 32, 32]), ("y", [10])))
graph = helper.make_graph(nodes, "net", [x], [y], weights)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "net.onnx")
"""


class Examples(unittest.TestCase):
    def setUp(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_it(self, python, *command):
        environment = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}", "OMP_WAIT_POLICY": "passive"}
        return subprocess.run([str(part) for part in command], cwd=self.folder, check=True, capture_output=True, text=True,
                              timeout=TIMEOUT_S, env=environment)

    def profile(self, python, name, model):
        """The layers of one prediction, and the framework, after the example kept all rules."""
        example, output = SOURCE / "examples" / f"predictor_{name}.py", self.folder / "out.xsp"
        self.run_it(python, *CONFORMANCE, "--model", model, example)
        self.run_it(python, XSP, "profile", model, "--framework", "program", "--library", f"program={example}", "--quiet", "--runs", 2,
                    "--threads", 1, "-o", output)
        [experiment] = xsp_json("sql", output, "select framework from experiment", "--json")
        self.assertEqual(experiment["framework"], name)
        return xsp_json("sql", output, "select s.name, max(t.value) filter (where t.key = 'layer_type') as type,"
                        " max(t.value) filter (where t.key = 'layer_shape') as shape,"
                        " max(t.value) filter (where t.key = 'multiply_adds') as multiply_adds from span s left join tag t using (run_id, span_id)"
                        " where s.level = 'layer' and s.model_id = (select min(span_id) from span where level = 'model'"
                        " and run_id = s.run_id) and run_id = (select max(run_id) from span) group by s.span_id order by s.start_ns", "--json")

    def test_mnn(self):
        """What MNN calls flops is right for convolutions, and no tag of what only moves or compares elements."""
        python = framework_python("mnn-3.6.1", "mnn==3.6.1", "numpy==2.4.6")
        self.run_it(python, python, "-c", MNN_MODEL)
        layers = self.profile(python, "mnn", "net.mnn")
        convolutions = [layer for layer in layers if layer["type"] == "Convolution"]
        self.assertEqual([layer["multiply_adds"] for layer in convolutions],
                         [math.prod(json.loads(layer["shape"])) * channels * 9 for layer, channels in zip(convolutions, (3, 16), strict=True)])
        self.assertTrue({"Raster", "ReLU", "Softmax"} <= {layer["type"] for layer in layers if layer["multiply_adds"] is None})

    def test_ncnn(self):
        python = framework_python("ncnn-1.0.20261020", "ncnn==1.0.20261020", "numpy==2.4.6")
        (self.folder / "net.param").write_text(NCNN_MODEL)
        weights = [[*struct.pack("<I", 0), *struct.pack(f"<{count + bias}f", *[0.1] * (count + bias))]
                   for count, bias in ((432, 16), (4608, 32), (320, 10))]
        (self.folder / "net.bin").write_bytes(bytes(sum(weights, [])))
        self.assertEqual([(layer["name"], layer["type"], layer["shape"]) for layer in self.profile(python, "ncnn", "net.param")],
                         [("conv1", "Convolution", "[16,32,32]"), ("conv2", "Convolution", "[32,16,16]"), ("pool", "Pooling", "[32]"),
                          ("fc", "InnerProduct", "[10]"), ("prob", "Softmax", "[10]")])

    def test_tvm(self):
        python = framework_python("tvm-0.27.0", "apache-tvm==0.27.0.post1", "onnx==1.23.2", "numpy==2.4.6")
        self.run_it(python, python, "-c", ONNX_MODEL)
        layers = self.profile(python, "tvm", "net.onnx")
        self.assertEqual([(layer["type"], layer["shape"]) for layer in layers],
                         [("fused_conv2d_relu", "[1,16,32,32]"), ("mean", "[1,16,1,1]"), ("matmul", "[1,10]")])


if __name__ == "__main__":
    unittest.main()
