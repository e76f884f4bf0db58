# SPDX-License-Identifier: Apache-2.0
"""xsp evaluate of real models whose outputs are no scores of classes: PP-OCR reads text, and finds it, in pictures that are drawn here; a
detector of handwritten digits is trained here. What is found, and its accuracy, is what ONNX Runtime, NumPy and pycocotools make of the
same pictures in Python. Fetches packages through pip, so it belongs to `make test-all`."""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnxruntime
import yaml
from PIL import Image, ImageDraw, ImageFont
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from framework_environment import XSP, framework_python

FLOAT = numpy.float32
PACKAGE = "rapidocr-onnxruntime==1.4.4"
WORDS = ["Hello World", "across the stack", "2026-11-26", "xsp evaluate", "Tracing 42 layers", "a quick brown fox", "kernel launch", "3.14159"]


class OutputTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-outputs-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def evaluate(self, manifest, data, *arguments, env=None, library=f"onnxruntime={sys.prefix}"):
        path = self.folder / "net.yml"
        path.write_text(yaml.safe_dump({"name": "net", "version": "1", "task": "other", "framework": {"name": "onnxruntime"}, **manifest}))
        done = subprocess.run([XSP, "evaluate", path, "--data", data, "--items", "--json", "-q", "-f", "-o", self.folder / "out.xsp", "--library",
                               library, *map(str, arguments)], capture_output=True, text=True, timeout=600, check=False,
                              env={**os.environ, **(env or {})})
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)


class TextRecognition(OutputTest):
    """PP-OCR, with its trained weights."""
    @classmethod
    def setUpClass(cls):
        python = framework_python("pp-ocr", "--no-deps", PACKAGE)
        cls.environment = {"VIRTUAL_ENV": str(python.parent.parent)}
        cls.models = next(python.parent.parent.glob("lib/python3*/site-packages/rapidocr_onnxruntime/models"))

    def test_reads_lines_of_text(self):
        session = onnxruntime.InferenceSession(self.models / "ch_PP-OCRv4_rec_infer.onnx", providers=["CPUExecutionProvider"])
        vocabulary = ["", *session.get_modelmeta().custom_metadata_map["character"].splitlines(), " "]
        (self.folder / "vocabulary.txt").write_text("\n".join(vocabulary) + "\n")
        font, lines, texts = ImageFont.load_default(52), [], []
        for number, word in enumerate(WORDS):
            picture = Image.new("RGB", (640, 96), (250, 250, 245))
            ImageDraw.Draw(picture).text((20, 16), word, (20, 20, 40 + 20 * number), font=font)
            picture.save(self.folder / f"{number}.png")
            lines.append(f'{number}.png,"{word}"')
            values = (numpy.asarray(picture.resize((320, 48), Image.Resampling.BILINEAR))[..., ::-1].astype(FLOAT) - FLOAT(127.5)) / FLOAT(127.5)
            best = session.run(None, {"x": values.transpose(2, 0, 1)[None]})[0][0].argmax(1)
            texts.append("".join(vocabulary[token] for token, before in zip(best, [-1, *best[:-1]]) if token not in (0, before)))
        (self.folder / "lines.csv").write_text("\n".join(lines))
        manifest = {"model": {"package": PACKAGE, "file": "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx"},
                    "inputs": [{"type": "image", "parameters": {"dimensions": [3, 48, 320], "color_mode": "BGR", "mean": 127.5, "scale": 127.5}}],
                    "outputs": [{"type": "text", "parameters": {"vocabulary": "vocabulary.txt", "decoding": "ctc"}}]}
        for batch in (1, 4):
            table, items = self.evaluate(manifest, self.folder / "lines.csv", "--batch", batch, env=self.environment)
            self.assertEqual([row["text"] for row in items["rows"]], texts)
            row, = table["rows"]
            self.assertAlmostEqual(row["exact_pct"], 100 * sum(map(str.__eq__, texts, WORDS)) / len(WORDS))
            self.assertAlmostEqual(row["cer_pct"], 100 * sum(entry["edits"] for entry in items["rows"]) / sum(map(len, WORDS)))
        self.assertGreater(row["exact_pct"], 40)
        self.assertLess(row["cer_pct"], 10)
        print(f"PP-OCR recognition: {row['exact_pct']:.1f} % exact, {row['cer_pct']:.2f} % of characters wrong")

    def test_finds_text(self):
        """Detection, whose output is how likely each pixel is text."""
        session = onnxruntime.InferenceSession(self.models / "ch_PP-OCRv4_det_infer.onnx", providers=["CPUExecutionProvider"])
        mean, scale = FLOAT([123.675, 116.28, 103.53]), FLOAT([58.395, 57.12, 57.375])
        font, lines, both, either, right, count = ImageFont.load_default(40), [], numpy.zeros(2), numpy.zeros(2), 0, 0
        for number, word in enumerate(WORDS[:5]):
            picture, label = Image.new("RGB", (480, 320), (230, 240, 250)), Image.new("L", (480, 320))
            place = (20 + 10 * number, 30 + 40 * number)
            ImageDraw.Draw(picture).text(place, word, (20, 20, 40), font=font)
            ImageDraw.Draw(label).rectangle(ImageDraw.Draw(label).textbbox(place, word, font=font), fill=1)
            picture.save(self.folder / f"{number}.png")
            label.save(self.folder / f"label{number}.png")
            lines.append(f"{number}.png,label{number}.png")
            values = (numpy.asarray(picture.resize((320, 320), Image.Resampling.BILINEAR))[..., ::-1].astype(FLOAT) - mean) / scale
            found = session.run(None, {"x": values.transpose(2, 0, 1)[None]})[0][0, 0] > FLOAT(0.3)
            columns = numpy.floor((numpy.arange(480) + 0.5) * 320 / 480).astype(int)
            found, label = found[:, columns], numpy.asarray(label) == 1
            for place in range(2):
                both[place] += ((found == place) & (label == place)).sum()
                either[place] += ((found == place) | (label == place)).sum()
            right, count = right + (found == label).sum(), count + label.size
        (self.folder / "pictures.csv").write_text("\n".join(lines))
        manifest = {"model": {"package": PACKAGE, "file": "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx"},
                    "inputs": [{"type": "image", "parameters": {"dimensions": [3, 320, 320], "color_mode": "BGR", "mean": mean.tolist(), "scale": scale.tolist()}}],
                    "outputs": [{"type": "mask", "parameters": {"threshold": 0.3}}]}
        row, = self.evaluate(manifest, self.folder / "pictures.csv", "--batch", 2, env=self.environment)[0]["rows"]
        self.assertAlmostEqual(row["miou_pct"], 100 * (both / either).mean(), delta=1e-9)
        self.assertAlmostEqual(row["pixel_pct"], 100 * right / count, delta=1e-9)
        self.assertGreater(row["miou_pct"], 60)  # it marks the middle of letters, the label their whole box
        print(f"PP-OCR detection: mIoU {row['miou_pct']:.1f} %, {row['pixel_pct']:.2f} % of pixels right")


# A classifier of windows, as a network of convolutions: each of its places is a box. Digits of scikit-learn on dark canvases.
MAKE = r"""
import json, pathlib, sys
import numpy, onnx
from onnx import TensorProto, helper, numpy_helper
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

folder, SIDE, PICTURES = pathlib.Path(sys.argv[1]), 40, 60
random = numpy.random.default_rng(7)
digits = load_digits()
half = len(digits.target) // 2

def canvas(first, last):
    image, boxes = random.integers(0, 3, (SIDE, SIDE)).astype(float), []
    for _ in range(40):
        x, y = random.integers(0, SIDE - 8, 2)
        if len(boxes) < 4 and all(abs(x - a) >= 9 or abs(y - b) >= 9 for a, b, _ in boxes):
            number = random.integers(first, last)
            image[y:y + 8, x:x + 8] = numpy.maximum(image[y:y + 8, x:x + 8], digits.images[number])
            boxes.append((int(x), int(y), int(digits.target[number])))
    return image, boxes

windows, classes = [], []
for _ in range(500):
    image, boxes = canvas(0, half)
    for x, y, digit in boxes:
        windows.append(image[y:y + 8, x:x + 8].ravel())
        classes.append(digit)
    for _ in range(14):
        x, y = random.integers(0, SIDE - 8, 2)
        if all(abs(x - a) > 1 or abs(y - b) > 1 for a, b, _ in boxes):
            windows.append(image[y:y + 8, x:x + 8].ravel())
            classes.append(10)
model = MLPClassifier((96,), random_state=1, max_iter=60).fit(numpy.array(windows), classes)
(w0, w1), (b0, b1) = model.coefs_, model.intercepts_
places = SIDE - 7
boxes = numpy.array([[x, y, 8, 8] for y in range(places) for x in range(places)], numpy.float32)[None]
single = lambda name, value: numpy_helper.from_array(numpy.asarray(value, numpy.float32), name)
whole = lambda name, value: numpy_helper.from_array(numpy.array(value, numpy.int64), name)
nodes = [helper.make_node("Conv", ["data", "w0", "b0"], ["c0"]), helper.make_node("Relu", ["c0"], ["r0"]), helper.make_node("Conv", ["r0", "w1", "b1"], ["c1"]),
         helper.make_node("Softmax", ["c1"], ["s1"], axis=1), helper.make_node("Slice", ["s1", "zero", "ten", "one"], ["s2"]),
         helper.make_node("Reshape", ["s2", "flat"], ["scores"]), helper.make_node("Shape", ["data"], ["size"]),
         helper.make_node("Slice", ["size", "zero", "one"], ["batch"]), helper.make_node("Concat", ["batch", "rest"], ["wanted"], axis=0),
         helper.make_node("Expand", ["every", "wanted"], ["boxes"])]
values = [single("w0", w0.T.reshape(-1, 1, 8, 8)), single("b0", b0), single("w1", w1.T.reshape(11, -1, 1, 1)), single("b1", b1), single("every", boxes),
          whole("zero", [0]), whole("ten", [10]), whole("one", [1]), whole("flat", [0, 10, -1]), whole("rest", [1, 1])]
graph = helper.make_graph(nodes, "detector", [helper.make_tensor_value_info("data", TensorProto.FLOAT, ["N", 1, SIDE, SIDE])],
                          [helper.make_tensor_value_info("boxes", TensorProto.FLOAT, ["N", "M", 4]),
                           helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", 10, "M"])], values)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), folder / "detector.onnx")
data = {"images": [], "annotations": [], "categories": [{"id": digit, "name": str(digit)} for digit in range(10)]}
for number in range(PICTURES):
    image, found = canvas(half, len(digits.target))
    Image.fromarray((image * 15).astype(numpy.uint8), "L").resize((2 * SIDE, 2 * SIDE), Image.Resampling.NEAREST).save(folder / f"{number}.png")
    data["images"].append({"id": number + 1, "file_name": f"{number}.png"})
    data["annotations"] += [{"id": len(data["annotations"]) + place + 1, "image_id": number + 1, "category_id": digit, "bbox": [2 * x, 2 * y, 16, 16],
                             "area": 256, "iscrowd": 0} for place, (x, y, digit) in enumerate(found)]
(folder / "instances.json").write_text(json.dumps(data))
"""


class Detector(OutputTest):
    def suppress(self, boxes, scores, threshold=0.3, least=0.05, most=100):
        """[(class, score, corners)] of a picture, by NumPy in single precision."""
        category, row = numpy.nonzero(scores > FLOAT(least))
        order = numpy.lexsort((category, row))  # as xsp reads them: by box, then by class
        category, row = category[order], row[order]
        corners = numpy.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], 1)
        kept = []
        for at in numpy.argsort(-scores[category, row], kind="stable"):
            box, others = corners[row[at]], [corners[row[other]] for other in kept if category[other] == category[at]]
            sides = [numpy.minimum(box[2:], other[2:]) - numpy.maximum(box[:2], other[:2]) for other in others]
            common = [side[0] * side[1] if (side > 0).all() else FLOAT(0) for side in sides]
            if len(kept) < most and not any(area / (FLOAT(128) - area) > FLOAT(threshold) for area in common):
                kept.append(at)
        return [(int(category[at]), float(scores[category[at], row[at]]), corners[row[at]] * 2) for at in kept]

    def test_boxes_of_digits(self):
        python = framework_python("digits", "scikit-learn==1.7.2", "onnx==1.23.2", "pillow==12.0.0")
        # one thread: threads that spin for small matrices take minutes on a machine with other work
        subprocess.run([python, "-c", MAKE, self.folder], check=True, capture_output=True, timeout=600, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
        session = onnxruntime.InferenceSession(self.folder / "detector.onnx", providers=["CPUExecutionProvider"])
        data, found = json.loads((self.folder / "instances.json").read_text()), []
        for image in data["images"]:
            small = Image.open(self.folder / image["file_name"]).resize((40, 40), Image.Resampling.NEAREST)
            boxes, scores = session.run(["boxes", "scores"], {"data": numpy.asarray(small).astype(FLOAT)[None, None] / FLOAT(15)})
            found += [(image["id"], *entry) for entry in self.suppress(boxes[0], scores[0])]
        with contextlib.redirect_stdout(io.StringIO()):
            truth = COCO(self.folder / "instances.json")
            rating = COCOeval(truth, truth.loadRes([{"image_id": image, "category_id": place, "score": score, "bbox": [*map(float, box[:2]), *map(float, box[2:] - box[:2])]}
                                                    for image, place, score, box in found]), "bbox")
            rating.evaluate()
            rating.accumulate()
            rating.summarize()
        manifest = {"model": {"path": "detector.onnx"}, "inputs": [{"type": "image", "parameters": {"dimensions": [1, 40, 40], "scale": 15, "filter": "nearest"}}],
                    "outputs": [{"name": "boxes", "type": "boxes", "parameters": {"format": "xywh", "scores": "scores", "transposed": True,
                                                                                  "score_threshold": 0.05, "iou_threshold": 0.3}}]}
        for batch in (1, 8):
            table, items, classes = self.evaluate(manifest, self.folder / "instances.json", "--batch", batch)
            row, = table["rows"]
            for key, own in zip(("map_pct", "ap50_pct", "ap75_pct"), rating.stats, strict=False):
                self.assertAlmostEqual(row[key], 100 * own, delta=1e-9)
            listed = [entry for entry in items["rows"] if entry["class"] is not None]
            self.assertEqual([(entry["place"], entry["left"], entry["top"], entry["right"], entry["bottom"]) for entry in listed],
                             [(place, *map(float, box)) for _, place, _, box in found])
            self.assertEqual(sum(entry["boxes"] for entry in classes["rows"]), len(data["annotations"]))
        self.assertGreater(row["ap50_pct"], 50)
        environment = framework_python("openvino", "openvino==2026.4.1", "onnx==1.23.2", "numpy==2.4.6").parent.parent
        other, = self.evaluate({**manifest, "framework": {"name": "openvino"}}, self.folder / "instances.json", "--batch", 8,
                               library=f"openvino={environment}")[0]["rows"]
        self.assertAlmostEqual(other["map_pct"], row["map_pct"], delta=1)  # it may compute in bfloat16
        print(f"digits: mAP {row['map_pct']:.1f} %, AP50 {row['ap50_pct']:.1f} %, AP75 {row['ap75_pct']:.1f} %, {len(found)} boxes")


if __name__ == "__main__":
    unittest.main()
