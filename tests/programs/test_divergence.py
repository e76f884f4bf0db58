# SPDX-License-Identifier: Apache-2.0
"""Kept outputs are those of ONNX Runtime; divergences are SciPy's; two models are found to part at their input, for the right
reason, or at the layer whose weights were changed."""
import json
import unittest

import numpy
import onnxruntime
import scipy.special
import scipy.spatial.distance
import scipy.stats
from onnx import TensorProto, helper, load, save

from parting_models import CLASSES, MEAN, SCALE, SIDE, PartingTest, cnn

TOLERANCE = 1e-9  # of figures of the same single-precision outputs, relative


class Kept(PartingTest):
    def setUp(self):
        super().setUp()
        cnn(self.folder / "net.onnx")

    def test_outputs_are_those_of_the_framework(self):
        session = onnxruntime.InferenceSession(self.folder / "net.onnx", providers=["CPUExecutionProvider"])
        expected = session.run(["scores"], {"data": self.prepared()})[0]
        for batch in (1, 4):
            self.evaluate(self.manifest("net"), "--keep-outputs", "--batch", batch)
            kept = self.kept()
            self.assertEqual((kept.dtype, kept.shape), (numpy.float32, (9, CLASSES)))
            numpy.testing.assert_allclose(kept, expected, rtol=1e-5)
        rows = json.loads(self.xsp("sql", self.output, "select item, file, type, shape, length(data) as bytes from output", "--json").stdout)
        self.assertEqual(rows, [{"item": item, "file": str(path), "type": "float32", "shape": str(CLASSES), "bytes": 4 * CLASSES}
                                for item, path in enumerate(self.files)])

    def test_they_stay_in_copies(self):
        self.evaluate(self.manifest("net"), self.manifest("bgr", color_mode="BGR"), "--keep-outputs")
        kept = [self.kept(experiment) for experiment in (1, 2)]
        self.assertFalse((kept[0] == kept[1]).all())
        for command in (("export", self.output, "--to", "sqlite", "-o"), ("recover", self.output, "-o")):
            self.output = self.folder / "copy"
            self.xsp(*command, self.output, "--force")
            for experiment in (1, 2):
                numpy.testing.assert_array_equal(self.kept(experiment), kept[experiment - 1])
            self.output = self.folder / "out.xsp"

    def test_too_many_are_refused_at_the_first_inference(self):
        model = load(self.folder / "net.onnx")
        model.graph.node.append(helper.make_node("Flatten", ["r0"], ["large"]))
        model.graph.output[0].name = "large"
        model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 8 * SIDE * SIDE
        save(model, self.folder / "net.onnx")
        table = self.folder / "set.csv"
        table.write_text(f"{self.files[0]},0\n" * 240_000)  # 4.4 GB of outputs
        done = self.xsp("evaluate", self.manifest("net"), "--data", table, "-q", "-f", "-o", self.output, "--keep-outputs", status=2)
        self.assertIn("240000 items with 18432 bytes each", done.stderr)

    def test_only_if_asked_for(self):
        self.evaluate(self.manifest("net"))
        self.assertEqual(json.loads(self.xsp("sql", self.output, "select count(*) as n from output", "--json").stdout), [{"n": 0}])


class Divergences(PartingTest):
    def check(self, row, first, other, distributions):
        """SciPy's figures of the outputs that were kept in this evaluation."""
        first, other = first.astype(numpy.float64), other.astype(numpy.float64)
        parts = [scipy.special.softmax(values, axis=1) if is_softmaxed else values for values, is_softmaxed in zip((first, other), distributions)]
        kl = scipy.stats.entropy(parts[0], parts[1], axis=1)
        js = scipy.spatial.distance.jensenshannon(parts[0], parts[1], axis=1) ** 2
        differences = abs(first - other)
        expected = {"largest_difference": differences.max(), "mean_difference": differences.mean(), "js_nats": js.mean(), "js_largest_nats": js.max(),
                    "cosine_similarity": ((first * other).sum(1) / numpy.linalg.norm(first, axis=1) / numpy.linalg.norm(other, axis=1)).mean()}
        finite = kl[numpy.isfinite(kl)]
        expected.update(kl_nats=finite.mean(), kl_largest_nats=finite.max())
        for key, value in expected.items():
            self.assertAlmostEqual(row[key], value, delta=TOLERANCE * max(1e-6, abs(value)), msg=key)
        self.assertEqual(row.get("kl_infinite"), int(numpy.isinf(kl).sum()) or None)
        self.assertEqual(row["largest_item"], str(self.files[differences.max(1).argmax()]))
        self.assertEqual(row["inputs"], len(self.files))

    def test_figures_are_those_of_scipy(self):
        cnn(self.folder / "net.onnx")
        cnn(self.folder / "changed.onnx", changed="w1")
        cnn(self.folder / "logits.onnx", changed="w2", softmax=False)
        manifests = [self.manifest("net"), self.manifest("changed", "changed.onnx"), self.manifest("logits", "logits.onnx")]
        table = self.divergence(*manifests, "--keep-outputs", "--batch", 2)
        self.assertEqual([row["model"] for row in table["rows"]], ["changed", "logits"])
        kept = [self.kept(experiment) for experiment in (1, 2, 3)]
        self.check(table["rows"][0], kept[0], kept[1], (False, False))
        self.check(table["rows"][1], kept[0], kept[2], (False, True))
        self.assertEqual([row["distributions"] for row in table["rows"]], ["as they are", "softmax of this"])

    def test_outputs_of_any_number_of_values(self):
        """Each picture's output has as many values as the picture has bright ones; two equal models have the same."""
        nodes = [helper.make_node("Flatten", ["data"], ["flat"]), helper.make_node("Greater", ["flat", "zero"], ["bright"]),
                 helper.make_node("NonZero", ["bright"], ["places"]), helper.make_node("Gather", ["places", "second"], ["row"], axis=0),
                 helper.make_node("Cast", ["row"], ["scores"], to=TensorProto.FLOAT)]
        graph = helper.make_graph(nodes, "bright", [helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 3, SIDE, SIDE])],
                                  [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, "K"])],
                                  [helper.make_tensor("zero", TensorProto.FLOAT, [], [0]), helper.make_tensor("second", TensorProto.INT64, [1], [1])])
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), self.folder / "net.onnx")
        table = self.divergence(self.manifest("net"), self.manifest("same"), self.manifest("bgr", color_mode="BGR"))
        same, other = table["rows"]
        self.assertEqual((same["inputs"], same["largest_difference"], same.get("kl_infinite")), (9, 0, None))
        self.assertEqual(other["inputs"], 0)
        self.assertIn("bgr: 9 outputs have another number of values", " ".join(table["notes"]))

    def test_classes_without_probability(self):
        """Relu leaves zeros, which a sum makes distributions of: KL is infinite where the other has 0, as in SciPy."""
        for name, changed in (("net", None), ("other", "dense")):
            cnn(self.folder / "whole.onnx", changed=changed, softmax=False)
            whole = load(self.folder / "whole.onnx")
            whole.graph.node[-1].output[0] = "g"
            whole.graph.node.extend([helper.make_node("ReduceMean", ["g"], ["mean"], axes=[1]), helper.make_node("Sub", ["g", "mean"], ["centred"]),
                                     helper.make_node("Relu", ["centred"], ["positive"]),
                                     helper.make_node("ReduceSum", ["positive", "axes"], ["sum"]), helper.make_node("Div", ["positive", "sum"], ["scores"])])
            whole.graph.initializer.append(helper.make_tensor("axes", TensorProto.INT64, [1], [1]))
            save(whole, self.folder / f"{name}.onnx")
        table = self.divergence(self.manifest("net"), self.manifest("other", "other.onnx", color_mode="BGR"), "--keep-outputs")
        row, = table["rows"]
        self.assertTrue((self.kept(1) == 0).any())
        self.check(row, self.kept(1), self.kept(2), (False, False))
        self.assertGreater(row["kl_infinite"], 0)
        self.assertIn("infinite", " ".join(table["notes"]))

    def test_outputs_of_another_size(self):
        cnn(self.folder / "net.onnx")
        cnn(self.folder / "whole.onnx")
        whole = load(self.folder / "whole.onnx")
        whole.graph.output[0].name = "flat"
        whole.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 16
        save(whole, self.folder / "whole.onnx")
        table = self.divergence(self.manifest("net"), self.manifest("other", "whole.onnx"))
        self.assertEqual((table["rows"][0]["inputs"], table["rows"][0]["js_nats"]), (0, None))
        self.assertIn("another number of values", " ".join(table["notes"]))

    def test_the_same_model(self):
        cnn(self.folder / "net.onnx")
        row, = self.divergence(self.manifest("net"), self.manifest("again"))["rows"]
        self.assertEqual((row["largest_difference"], row["kl_nats"], row["js_nats"]), (0, 0, 0))
        self.assertAlmostEqual(row["cosine_similarity"], 1)


# Plain Python: the sums of each channel's top and bottom half as outputs, and, where they are asked for, twice as much before.
PROGRAM = '''import array, json, mmap, os, socket, time
lines = socket.socket(fileno=int(os.environ["XSP_PREDICTOR_FD"])).makefile("rw")
outputs = int(os.environ["XSP_PREDICTOR_OUTPUTS_FD"])
for line in lines:
    request, answer = json.loads(line), {}
    if request["request"] == "open":
        with_layers = request.get("layer_outputs")
        answer = {"version": VERSION, "framework": "own", "framework_version": "1", "clock": "monotonic",
                  "inputs": [{"name": "data", "type": "float32", "shape": ["N", 3, 24, 24]}]}
    elif request["request"] == "prepare":
        batch = request["inputs"][0]["shape"][0]
        memory = mmap.mmap(int(os.environ["XSP_PREDICTOR_INPUTS_FD"]), request["bytes"])
    elif request["request"] == "predict":
        start, values = time.monotonic_ns(), array.array("f", memory[:batch * 3 * 576 * 4])
        sums = array.array("f", [SCALE * sum(values[half * 288:half * 288 + 288]) for half in range(6 * batch)])
        answer = {"start": start, "end": time.monotonic_ns()}
        if request.get("outputs"):
            doubled = array.array("f", [2 * value for value in sums]).tobytes()
            os.ftruncate(outputs, 0)
            os.pwrite(outputs, sums.tobytes(), 64)
            os.pwrite(outputs, doubled, 4096)
            answer["outputs"] = [{"name": "sums", "type": "float32", "shape": [batch, 6], "offset": 64}]
            if with_layers:
                answer["outputs"].append({"name": "doubled", "type": "float32", "shape": [batch, 6], "offset": 4096, "layer_type": "Double"})
    elif request["request"] == "close":
        break
    print(json.dumps(answer), file=lines, flush=True)
'''


class Programs(PartingTest):
    def program(self, name, version=2, scale=1):
        (self.folder / f"{name}.py").write_text(PROGRAM.replace("VERSION", str(version)).replace("SCALE", str(scale)))
        return self.manifest(name, f"{name}.py", "program")

    def test_outputs(self):
        expected = self.prepared().reshape(9, 6, 288).sum(2)
        for batch in (1, 2):
            self.evaluate(self.program("own"), "--keep-outputs", "--batch", batch)
            numpy.testing.assert_allclose(self.kept(), expected, rtol=1e-4, atol=1e-3)

    def test_tensors_between_layers(self):
        table = self.difference(self.program("own"), self.program("other", scale=1.5))
        self.assertEqual(table["summary"]["first_difference"], "doubled")
        self.assertEqual([(row["name"], row["type"]) for row in table["rows"]], [("data", None), ("doubled", "Double"), ("sums", None)])
        self.assertAlmostEqual(table["rows"][1]["relative_difference"], .5, delta=1e-5)

    def test_the_first_version_of_the_protocol_has_none(self):
        self.assertIn("speaks version 1", self.evaluate(self.program("old", version=1), status=2).stderr)


class FirstDifference(PartingTest):
    def setUp(self):
        super().setUp()
        cnn(self.folder / "net.onnx")

    def part(self, *arguments):
        """(where, its row, the notes)"""
        table = self.difference(self.manifest("net"), *arguments)
        rows = table["rows"]
        self.assertEqual([row["part"] for row in rows], ["input"] + ["layer"] * (len(rows) - 2) + ["output"])
        first = table["summary"]["first_difference"]
        return first, next((row for row in rows if row["name"] == first), None), " / ".join(table["notes"])

    def test_the_same_model(self):
        first, _, notes = self.part(self.manifest("again"))
        self.assertIsNone(first)
        self.assertIn("no difference above the tolerance", notes)
        self.assertIn("9 tensors between layers are in both", notes)

    def test_the_layer_whose_weights_were_changed(self):
        for changed, layer in (("w0", "c0"), ("b1", "c1"), ("w2", "c2"), ("dense", "g")):
            with self.subTest(changed):
                cnn(self.folder / "changed.onnx", changed=changed)
                first, row, notes = self.part(self.manifest("changed", "changed.onnx"), "--batch", 3)
                self.assertEqual(first, layer)
                self.assertEqual(row["part"], "layer")
                self.assertIn(f"part at layer {layer}", notes)
        text = self.evaluate(self.manifest("net"), self.manifest("changed", "changed.onnx"), "--first-difference").stdout
        self.assertRegex(text, r"the models part at layer g \(Gemm\)")

    def test_differences_are_those_of_the_tensors(self):
        """By hand, in ONNX Runtime with the tensor as an output."""
        cnn(self.folder / "changed.onnx", changed="w1")
        _, row, _ = self.part(self.manifest("changed", "changed.onnx"))
        found = []
        for name in ("net", "changed"):
            model = load(self.folder / f"{name}.onnx")
            model.graph.output.add().name = "c1"
            session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            found.append(session.run(["c1"], {"data": self.prepared()[:1]})[0])
        difference = abs(found[0] - found[1])
        self.assertAlmostEqual(row["largest_difference"], difference.max(), delta=1e-5)
        self.assertAlmostEqual(row["mean_difference"], difference.mean(), delta=1e-6)
        self.assertAlmostEqual(row["relative_difference"], difference.max() / abs(found[0]).max(), delta=1e-5)
        self.assertEqual(row["shape"], f"1,12,{SIDE},{SIDE}")

    def test_mistakes_in_preparing_pictures(self):
        cases = {
            "bgr": ({"color_mode": "BGR", "mean": MEAN[::-1], "scale": SCALE[::-1]}, "opposite order, as RGB and BGR are$", "color_mode (RGB; BGR)"),
            "bgr_only": ({"color_mode": "BGR"}, "opposite order.*by channel", "color_mode (RGB; BGR)"),
            "mean": ({"mean": 0}, r"the first's \+1.99174; \+1.8927; \+1.72727, by channel", "mean (120.5, 110.25, 99.75; 0, 0, 0)"),
            "scale": ({"scale": [value * 2 for value in SCALE]}, r"the first's × 0\.5:", "scale ("),
            "crop": ({"resize": [SIDE + 4, SIDE + 6]}, "another way to resize or cut", "resize ([24, 24]; [28, 30])"),
            "shorter": ({"resize": SIDE}, "another way to resize or cut", "resize ([24, 24]; 24)"),
            "filter": ({"filter": "nearest"}, "correlation 0.9", "filter (bilinear; nearest)"),
        }
        for name, (parameters, relation, manifests) in cases.items():
            with self.subTest(name):
                first, row, notes = self.part(self.manifest(name, **parameters))
                self.assertEqual((first, row["part"]), ("data", "input"))
                inputs = next(note for note in notes.split(" / ") if note.startswith("the inputs: "))
                self.assertRegex(inputs, relation)
                self.assertIn(f"the manifests differ in {manifests}", notes)

    def test_another_type_of_elements(self):
        cnn(self.folder / "bytes.onnx", element=TensorProto.UINT8)
        path = self.manifest("bytes", "bytes.onnx", element_type="uint8")
        path.write_text(path.read_text().replace("    mean:\n    - 120.5\n    - 110.25\n    - 99.75\n", "")
                        .replace("    scale:\n    - 60.5\n    - 58.25\n    - 57.75\n", ""))
        first, _, notes = self.part(path)
        self.assertEqual(first, "data")
        self.assertIn("elements are float32 and uint8; the second's values are the first's × 60.5 +120.5; × 58.25 +110.25; × 57.75 +99.75", notes)
        self.assertIn("element_type (float32; uint8)", notes)

    def test_another_layout_is_no_difference(self):
        cnn(self.folder / "last.onnx")
        model = load(self.folder / "last.onnx")
        model.graph.node[0].input[0] = "first"
        model.graph.node.insert(0, helper.make_node("Transpose", ["data"], ["first"], perm=[0, 3, 1, 2]))
        for place, size in enumerate((SIDE, SIDE, 3)):
            model.graph.input[0].type.tensor_type.shape.dim[place + 1].dim_value = size
        save(model, self.folder / "last.onnx")
        first, _, notes = self.part(self.manifest("last", "last.onnx", layout="NHWC"))
        self.assertIsNone(first, notes)

    def test_other_names_are_paired_by_order(self):
        cnn(self.folder / "named.onnx", changed="w1", prefix="net/")
        table = self.difference(self.manifest("net"), self.manifest("named", "named.onnx"))
        self.assertEqual(table["summary"]["first_difference"], "c1")
        self.assertEqual(next(row["other_name"] for row in table["rows"] if row["name"] == "c1"), "net/c1")
        self.assertIn("share few names", " ".join(table["notes"]))

    def test_weights_in_a_file_of_their_own(self):
        cnn(self.folder / "apart.onnx", changed="w2", save_as_external_data=True, location="apart.data", size_threshold=0)
        self.assertTrue((self.folder / "apart.data").exists())
        first, _, notes = self.part(self.manifest("apart", "apart.onnx"))
        self.assertEqual(first, "c2", notes)

    def test_a_tolerance(self):
        cnn(self.folder / "changed.onnx", changed="w1")
        self.assertIsNone(self.part(self.manifest("changed", "changed.onnx"), "--tolerance", 100)[0])
        self.assertEqual(self.part(self.manifest("changed", "changed.onnx"), "--tolerance", 0)[0], "c1")

    def test_wrong_use(self):
        manifest = self.manifest("net")
        self.assertIn("two manifests", self.evaluate(manifest, "--first-difference", status=2).stderr)
        self.assertIn("--tolerance", self.evaluate(manifest, manifest, "--first-difference", "--tolerance", "much", status=2).stderr)

    def test_a_model_that_cannot_run(self):
        cnn(self.folder / "fixed.onnx", batch=2)
        self.assertIn("fixed: ", self.evaluate(self.manifest("net"), self.manifest("fixed", "fixed.onnx"), "--first-difference", status=2).stderr)

    def test_leaves_no_files(self):
        before = set(self.folder.iterdir())
        self.evaluate(self.manifest("net"), self.manifest("again"), "--first-difference", TMPDIR=str(self.folder))
        self.assertEqual({path.name for path in set(self.folder.iterdir()) - before}, {"net.yml", "again.yml"})


if __name__ == "__main__":
    unittest.main()
