# SPDX-License-Identifier: Apache-2.0
"""xsp manifest init: what it writes is a manifest by the schema, and `xsp check` and `xsp evaluate` take it as it is."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import jsonschema
import onnx
import yaml
from onnx import TensorProto, helper

import scripted

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
SCHEMA = json.loads((SOURCE / "docs" / "manifest.schema.json").read_text())


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def save(path, nodes, inputs, outputs):
    graph = helper.make_graph(nodes, "net", inputs, outputs)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


class ManifestInit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def xsp(self, *arguments, check=0):
        result = subprocess.run([scripted.XSP, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, check, result.stderr)
        return result

    def init(self, *arguments):
        rows = json.loads(self.xsp("manifest", "init", "net.onnx", *arguments, "--json").stdout)["rows"]
        written = yaml.safe_load((self.folder / "net.yml").read_text())
        jsonschema.validate(written, SCHEMA)
        return written, {row["name"]: row["taken_as"] for row in rows}

    def evaluate(self):
        self.xsp("data", "generate", "pictures.xspd", "--items", "3", "--size", "40x50")
        answer = json.loads(self.xsp("evaluate", "net.yml", "--data", "pictures.xspd", "--json").stdout)
        return (answer[0] if isinstance(answer, list) else answer)["rows"][0]

    def pool(self, channels_last=False):
        """Three classes: the means of the channels."""
        axes, shape = ([1, 2], ["N", 24, 32, 3]) if channels_last else ([2, 3], ["N", 3, 24, 32])
        nodes = [helper.make_node("ReduceMean", ["data"], ["scores"], axes=axes, keepdims=0)]
        save(self.folder / "net.onnx", nodes, [value("data", shape)], [value("scores", ["N", 3])])

    def test_pictures(self):
        for channels_last, layout in ((False, "NCHW"), (True, "NHWC")):
            self.pool(channels_last)
            written, taken = self.init("-f")
            self.assertEqual(taken, {"data": "image", "scores": "feature"})
            self.assertEqual(written["model"], {"path": "net.onnx"})
            parameters = written["inputs"][0]["parameters"]
            self.assertEqual((parameters["dimensions"], parameters["layout"]), ([3, 24, 32], layout))
        self.assertEqual(self.evaluate()["inputs"], 3)

    def test_names_of_any_file(self):
        """The name is text that a manifest may have, whatever the file is called."""
        self.pool()
        for file, name in (("123", "123"), ("on", "on"), ("_net v2", "net_v2"), ("x" * 120, "x" * 100), ("模型", "model")):
            (self.folder / "net.onnx").rename(self.folder / f"{file}.onnx")
            self.xsp("manifest", "init", f"{file}.onnx")
            written = yaml.safe_load((self.folder / f"{name}.yml").read_text())
            jsonschema.validate(written, SCHEMA)
            self.assertEqual(written["name"], name)
            self.xsp("check", f"{name}.yml")
            (self.folder / f"{file}.onnx").rename(self.folder / "net.onnx")

    def test_evaluate_names_the_command(self):
        self.pool()
        self.assertIn("`xsp manifest init net.onnx`", self.xsp("evaluate", "net.onnx", "--data", ".", check=2).stderr)

    def test_bytes_of_one_channel_and_any_size(self):
        nodes = [helper.make_node("Cast", ["data"], ["numbers"], to=TensorProto.FLOAT),
                 helper.make_node("ReduceMean", ["numbers"], ["scores"], axes=[2, 3], keepdims=0)]
        save(self.folder / "net.onnx", nodes, [value("data", ["N", 1, "h", "w"], TensorProto.UINT8)], [value("scores", ["N", 1])])
        parameters = self.init()[0]["inputs"][0]["parameters"]
        self.assertEqual((parameters["dimensions"], parameters["element_type"]), ([1, 224, 224], "uint8"))
        self.assertNotIn("scale", parameters)
        self.assertEqual(self.evaluate()["inputs"], 3)

    def test_boxes(self):
        nodes = [helper.make_node("Reshape", ["data", "shape"], ["boxes"])]
        save(self.folder / "net.onnx", [helper.make_node("Constant", [], ["shape"], value_ints=[0, 6, -1]), *nodes],
             [value("data", ["N", 3, 8, 16])], [value("boxes", ["N", 6, 64])])
        written, taken = self.init()
        self.assertEqual((taken["boxes"], written["outputs"][0]["parameters"]["transposed"]), ("boxes", True))
        self.xsp("check", "net.yml")

    def test_sides_that_no_picture_has(self):
        for layout in ("N", 3, None, None), ("N", None, None, 3):
            for side, taken_as in ((8192, "image"), (8193, None), (65501, None)):
                shape = [side if size is None else size for size in layout]
                save(self.folder / "net.onnx", [helper.make_node("Identity", ["data"], ["out"])], [value("data", shape)], [value("out", shape)])
                self.assertEqual(self.init("-f")[1]["data"], taken_as)

    def test_no_pictures(self):
        nodes = [helper.make_node("Identity", ["ids"], ["out"])]
        save(self.folder / "net.onnx", nodes, [value("ids", ["batch", "sequence"], TensorProto.INT64)],
             [value("out", ["batch", "sequence"], TensorProto.INT64)])
        self.assertIn("is for xsp profile", self.xsp("manifest", "init", "net.onnx").stderr)
        written, taken = self.init("-f")
        self.assertEqual((set(taken.values()), written["dims"]), ({None}, {"free_1": 128}))
        self.xsp("check", "net.yml")
        advice = self.xsp("evaluate", "net.yml", "--data", ".", check=2).stderr.partition("try: ")[2]
        self.assertTrue(advice.startswith("xsp profile net.yml"), advice)
        self.assertEqual(self.xsp("manifest", "init", "net.onnx", "-o", "-").stdout, (self.folder / "net.yml").read_text())
        self.assertFalse((self.folder / "-").exists())

    def test_names_and_places(self):
        """Names are any text; the path is that from the manifest's folder, else the whole one."""
        nodes = [helper.make_node("Identity", ['in: "1"\\#'], ["out\n"])]
        (self.folder / "models").mkdir()
        save(self.folder / "models" / "a b.onnx", nodes, [value('in: "1"\\#', ["N", 8])], [value("out\n", ["N", 8])])
        for output, path in (("a.yml", "models/a b.onnx"), ("models/a.yml", "a b.onnx")):
            self.xsp("manifest", "init", "models/a b.onnx", "-o", output)
            written = yaml.safe_load((self.folder / output).read_text())
            self.assertEqual((written["name"], written["model"]["path"]), ("a_b", path))
            self.assertEqual([written["inputs"][0]["name"], written["outputs"][0]["name"]], ['in: "1"\\#', "out\n"])
        (self.folder / "others").mkdir()
        self.xsp("manifest", "init", "models/a b.onnx", "-o", "others/a.yml")
        path = yaml.safe_load((self.folder / "others" / "a.yml").read_text())["model"]["path"]
        self.assertEqual(path, str((self.folder / "models" / "a b.onnx").resolve()))

    def test_of_a_manifest(self):
        self.pool()
        (self.folder / "old.yml").write_text("name: Old\nversion: '2.10'\ntask: other\nframework: {name: onnxruntime}\nmodel: {path: net.onnx}\n")
        self.xsp("manifest", "init", "old.yml", "-o", "new.yml")
        written = yaml.safe_load((self.folder / "new.yml").read_text())
        self.assertEqual((written["name"], written["version"], written["inputs"][0]["type"]), ("Old", "2.10", "image"))

    def test_wrong_use(self):
        self.pool()
        self.assertIn("manifest init MODEL", self.xsp("manifest", "int", "net.onnx", check=2).stderr)
        self.xsp("manifest", "init", check=2)
        (self.folder / "net.yml").write_text("mine")
        self.assertIn("exists", self.xsp("manifest", "init", "net.onnx", check=2).stderr)
        self.assertEqual((self.folder / "net.yml").read_text(), "mine")
        self.xsp("manifest", "init", "none.onnx", "-o", "none.yml", check=2)
        self.assertFalse((self.folder / "none.yml").exists())


if __name__ == "__main__":
    unittest.main()
