# SPDX-License-Identifier: Apache-2.0
"""xsp evaluate of models whose outputs are boxes, masks and texts: what is found, and its accuracy, equal what NumPy and pycocotools make of
ONNX Runtime's outputs. The models hand out their input's pixels, so that a picture decides what is found."""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy
import onnx
import yaml
from onnx import TensorProto, helper, numpy_helper
from PIL import Image
from pycocotools import mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
FLOAT = numpy.float32


def model(path, size, outputs, types=None):
    """Of a gray picture of size (height, width), values / 255. `outputs`: {name: (first column, columns, shape)} of its rows."""
    height, width = size
    nodes, constants, infos = [helper.make_node("Div", ["data", "most"], ["parts"]), helper.make_node("Reshape", ["parts", "table"], ["rows"])], [
        numpy_helper.from_array(numpy.array(255, FLOAT), "most"), numpy_helper.from_array(numpy.array([-1, height, width]), "table"),
        numpy_helper.from_array(numpy.array([2]), "axis")], []
    for name, (first, columns, shape) in outputs.items():
        kind = (types or {}).get(name, TensorProto.FLOAT)
        constants += [numpy_helper.from_array(numpy.array([first]), f"{name} from"), numpy_helper.from_array(numpy.array([first + columns]), f"{name} to"),
                      numpy_helper.from_array(numpy.array([-1 if isinstance(side, str) else side for side in shape]), f"{name} shape")]
        nodes += [helper.make_node("Slice", ["rows", f"{name} from", f"{name} to", "axis"], [f"{name} part"]),
                  helper.make_node("Reshape", [f"{name} part", f"{name} shape"], [f"{name} float" if kind != TensorProto.FLOAT else name])]
        if kind != TensorProto.FLOAT:  # whole numbers
            nodes += [helper.make_node("Mul", [f"{name} float", "most"], [f"{name} times"]), helper.make_node("Round", [f"{name} times"], [f"{name} whole"]),
                      helper.make_node("Cast", [f"{name} whole"], [name], to=kind)]
        infos.append(helper.make_tensor_value_info(name, kind, shape))
    graph = helper.make_graph(nodes, "pixels", [helper.make_tensor_value_info("data", TensorProto.FLOAT, ["N", 1, height, width])], infos, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


class OutputTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-outputs-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "out.xsp"

    def manifest(self, size, output, name="net", **parameters):
        path = self.folder / f"{name}.yml"
        path.write_text(yaml.safe_dump({
            "name": name, "version": "1.0", "task": "other", "framework": {"name": "onnxruntime"}, "model": {"path": "net.onnx"},
            "inputs": [{"type": "image", "parameters": {"dimensions": [1, *size], **parameters}}], "outputs": [output]}))
        return path

    def picture(self, name, values):
        Image.fromarray(numpy.asarray(values, numpy.uint8), "L").save(self.folder / name)
        return name

    def run_it(self, *arguments, status=0):
        done = subprocess.run([XSP, "evaluate", *map(str, arguments), "-q", "-f", "-o", self.output], capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def tables(self, *arguments):
        return json.loads(self.run_it(*arguments, "--items", "--json").stdout)

    def spans(self):
        query = "select name, count(*) as n from span where level = 'application' group by 1"
        rows = json.loads(subprocess.run([XSP, "sql", self.output, query, "--json"], capture_output=True, check=True, timeout=600).stdout)
        return {row["name"]: row["n"] for row in rows}

    def refused(self, reason, *arguments):
        done = self.run_it(*arguments, status=2)
        self.assertEqual(done.stdout, "")
        self.assertIn(reason, done.stderr.splitlines()[-1])

    def table(self, name, lines):
        (self.folder / name).write_text("".join(",".join(line) + "\n" for line in lines))
        return self.folder / name


ROWS = 12  # boxes of a picture


class Boxes(OutputTest):
    names = ["dog", "cat", "bird"]

    def make_set(self, count=9):
        """Pictures whose rows are x0, y0, x1, y1, score, class, scores of three classes; annotations near some of them."""
        random = numpy.random.default_rng(11)
        self.values, images, annotations = {}, [], []
        for number in range(count):
            rows = random.integers(0, 256, (ROWS, 9))
            rows[:, :4].sort(axis=1)
            rows[:, 5] = random.integers(0, 3, ROWS)
            rows[:, 4] = random.integers(0, 6, ROWS) * 51  # with ties
            images.append({"id": 100 - number, "file_name": self.picture(f"{number}.png", rows)})
            self.values[100 - number] = rows.astype(FLOAT) / FLOAT(255)
            for row in rows[:5]:
                left, top, right, bottom = (row[:4] + random.integers(-6, 7, 4)) / 255 * [9, ROWS, 9, ROWS]
                annotations.append({"id": len(annotations) + 1, "image_id": 100 - number, "category_id": int([7, 3, 5][row[5]]),
                                    "bbox": [left, top, max(0, right - left), max(0, bottom - top)], "area": 1, "iscrowd": int(random.random() < 0.1),
                                    "segmentation": [[1, 2, {"deep": [3]}]]})
        self.data = {"info": {"year": 2017}, "annotations": annotations, "images": images,
                     "categories": [{"id": 7, "name": "dog"}, {"id": 3, "name": "cat"}, {"id": 5, "name": "bird"}, {"id": 9, "name": "fish"}]}
        (self.folder / "set.json").write_text(json.dumps(self.data))
        (self.folder / "labels.txt").write_text("\n".join(self.names) + "\n")

    def expected(self, per_class=False, threshold=0.0):
        """[(picture's id, class, score, corners)] as the items are listed, without suppression."""
        found = []
        for image in sorted(self.values):
            rows = self.values[image]
            size = numpy.array([9, ROWS, 9, ROWS], FLOAT)
            whole = [(row[6 + place] if per_class else row[4], place if per_class else round(float(row[5]) * 255), row[:4] * size)
                     for row in rows for place in (range(3) if per_class else [0])]
            whole = [(score, place, corners) for score, place, corners in whole if score > FLOAT(threshold) and (corners[:2] <= corners[2:]).all()]
            whole.sort(key=lambda entry: -entry[0])
            found += [(image, place, score, corners) for score, place, corners in whole[:100]]
        return found

    def by_pycocotools(self, found):
        with contextlib.redirect_stdout(io.StringIO()):
            truth = COCO()
            truth.dataset = self.data
            truth.createIndex()
            ids = {"dog": 7, "cat": 3, "bird": 5}
            rating = COCOeval(truth, truth.loadRes([{"image_id": image, "category_id": ids[self.names[place]], "score": float(score), "bbox": [
                float(box[0]), float(box[1]), float(box[2]) - float(box[0]), float(box[3]) - float(box[1])]} for image, place, score, box in found]), "bbox")
            rating.params.areaRng, rating.params.areaRngLbl = rating.params.areaRng[:1], ["all"]
            rating.evaluate()
            rating.accumulate()
        precision = rating.eval["precision"][:, :, :, 0, 2]
        return [100 * float(values[values > -1].mean()) for values in (precision, precision[0], precision[5])]

    def check(self, tables, found):
        summary, items, classes = tables
        row, = summary["rows"]
        self.assertEqual((row["inputs"], row["labelled"]), (9, 9))
        self.assertNotIn("top1_pct", row)
        for key, own in zip(("map_pct", "ap50_pct", "ap75_pct"), self.by_pycocotools(found), strict=True):
            self.assertAlmostEqual(row[key], own, delta=1e-9)
        files = {image["id"]: str(self.folder / image["file_name"]) for image in self.data["images"]}
        listed = [row for row in items["rows"] if row["class"] is not None]
        self.assertEqual([(row["file"], row["class"], row["place"]) for row in listed], [(files[image], self.names[place], place) for image, place, _, _ in found])
        for row, (_, _, score, box) in zip(listed, found, strict=True):
            self.assertEqual(FLOAT(row["score"]), score)
            for key, own in zip(("left", "top", "right", "bottom"), box, strict=True):
                self.assertAlmostEqual(row[key], own, delta=1e-5)
        self.assertEqual([row["class"] for row in classes["rows"]], ["cat", "bird", "dog", "fish"])
        self.assertIsNone(classes["rows"][3]["ap_pct"])
        self.assertIn("1 of 4 categories", " ".join(summary["notes"]))

    def test_boxes_scores_and_classes_apart(self):
        self.make_set()
        model(self.folder / "net.onnx", (ROWS, 9), {"boxes": (0, 4, ["N", ROWS, 4]), "scores": (4, 1, ["N", ROWS]), "classes": (5, 1, ["N", ROWS])},
              {"classes": TensorProto.INT64})
        parameters = {"format": "xyxy", "normalized": True, "scores": "scores", "classes": "classes", "labels": "labels.txt", "score_threshold": 0.1}
        manifest = self.manifest((ROWS, 9), {"name": "boxes", "type": "boxes", "parameters": parameters})
        for batch in (1, 4):
            self.check(self.tables(manifest, "--data", self.folder / "set.json", "--batch", batch, "--warmup", 1), self.expected(threshold=0.1))
        spans = self.spans()
        self.assertEqual([spans[name] for name in ("postprocess", "decode boxes", "nms", "place boxes")], [4, 16, 16, 16])

    def test_the_boxes_of_a_broken_picture_do_not_count(self):
        self.make_set(11)
        model(self.folder / "net.onnx", (ROWS, 9), {"boxes": (0, 4, ["N", ROWS, 4]), "scores": (4, 1, ["N", ROWS]), "classes": (5, 1, ["N", ROWS])},
              {"classes": TensorProto.INT64})
        parameters = {"format": "xyxy", "normalized": True, "scores": "scores", "classes": "classes", "labels": "labels.txt"}
        for image in (self.data["images"][place] for place in (3, 8)):
            (self.folder / image["file_name"]).write_text("none")
            del self.values[image["id"]]
        self.data["images"] = [image for image in self.data["images"] if image["id"] in self.values]
        self.data["annotations"] = [box for box in self.data["annotations"] if box["image_id"] in self.values]
        manifest = self.manifest((ROWS, 9), {"name": "boxes", "type": "boxes", "parameters": parameters})
        self.check(self.tables(manifest, "--data", self.folder / "set.json"), self.expected())

    def test_scores_of_each_class(self):
        self.make_set()
        model(self.folder / "net.onnx", (ROWS, 9), {"boxes": (0, 4, ["N", ROWS, 1, 4]), "scores": (6, 3, ["N", ROWS, 3])})
        parameters = {"format": "xyxy", "normalized": True, "scores": "scores", "labels": "labels.txt", "score_threshold": 0.25}
        manifest = self.manifest((ROWS, 9), {"name": "boxes", "type": "boxes", "parameters": parameters})
        self.check(self.tables(manifest, "--data", self.folder / "set.json", "--batch", 3), self.expected(per_class=True, threshold=0.25))

    def test_boxes_of_two_models(self):
        """Side by side; values of their outputs are not compared, as a picture may have any number of boxes."""
        self.make_set()
        model(self.folder / "net.onnx", (ROWS, 9), {"boxes": (0, 4, ["N", ROWS, 4]), "scores": (6, 3, ["N", ROWS, 3])})
        manifests = [self.manifest((ROWS, 9), {"name": "boxes", "type": "boxes", "parameters": {
            "format": "xyxy", "normalized": True, "scores": "scores", "labels": "labels.txt", "iou_threshold": threshold}}, name=f"m{threshold}")
            for threshold in (0.5, 0.01)]
        tables = self.tables(*manifests, "--data", self.folder / "set.json")
        self.assertEqual([table["analysis"] for table in tables], ["evaluation", "items", "classes", "items", "classes"])
        self.assertLess(len(tables[3]["rows"]), len(tables[1]["rows"]))

    def test_columns_of_one_output(self):
        """[N, boxes, 9] with a column that the form has no use for is refused; without it the same as separate outputs."""
        self.make_set()
        model(self.folder / "net.onnx", (ROWS, 9), {"boxes": (0, 9, ["N", ROWS, 9])})
        output = {"type": "boxes", "parameters": {"format": "xyxy", "columns": ["box", "score", "class"]}}
        self.refused("another number of columns", self.manifest((ROWS, 9), output), "--data", self.folder / "set.json")
        output["parameters"] = {"format": "xyxy", "normalized": True, "columns": ["box", "objectness", "scores"], "score_threshold": 0.2, "most": 3, "iou_threshold": 0.3}
        table, items, _ = self.tables(self.manifest((ROWS, 9), output), "--data", self.folder / "set.json")
        self.assertLessEqual(len(items["rows"]), 27)
        self.assertIsNotNone(table["rows"][0]["map_pct"])

    def test_what_a_manifests_code_makes_of_the_output(self):
        """Python code cuts the columns that the form has no use for, and writes classes as whole numbers."""
        self.make_set()
        model(self.folder / "net.onnx", (ROWS, 9), {"boxes": (0, 9, ["N", ROWS, 9])})
        parameters = {"format": "xyxy", "normalized": True, "columns": ["box", "score", "class"], "labels": "labels.txt", "score_threshold": 0.1}
        path = self.manifest((ROWS, 9), {"type": "boxes", "parameters": parameters})
        path.write_text(path.read_text() + "postprocess: |\n  def cut(env, data):\n    data = data[..., :6].copy()\n"
                                           "    data[..., 5] = (data[..., 5] * 255).round()\n    return data\n")
        self.check(self.tables(path, "--data", self.folder / "set.json", "--batch", 4), self.expected(threshold=0.1))

    def test_limit_and_no_boxes(self):
        self.make_set()
        model(self.folder / "net.onnx", (ROWS, 9), {"boxes": (0, 9, ["N", ROWS, 9])})
        output = {"type": "boxes", "parameters": {"format": "xyxy", "score_threshold": 2.0}}
        table, items, _ = self.tables(self.manifest((ROWS, 9), output), "--data", self.folder / "set.json", "--limit", 2)
        self.assertEqual((table["rows"][0]["map_pct"], [row["class"] for row in items["rows"]]), (0, [None, None]))
        csv = self.table("a.csv", [["0.png", ""], ["1.png", "x"]])
        self.assertIsNone(self.tables(self.manifest((ROWS, 9), output), "--data", csv)[0]["rows"][0]["map_pct"])

    def test_through_a_letterbox(self):
        """A picture of 40 x 20 in an input of 20 x 20: boxes come back where they are."""
        model(self.folder / "net.onnx", (20, 20), {"boxes": (0, 20, ["N", 80, 5])})
        values = numpy.zeros((20, 40), numpy.uint8)
        values[:, :20] = 255
        self.picture("a.png", values)
        (self.folder / "set.json").write_text(json.dumps({"images": [{"id": 1, "file_name": "a.png"}], "categories": [], "annotations": []}))
        output = {"type": "boxes", "parameters": {"format": "xyxy", "normalized": True}}
        manifest = self.manifest((20, 20), output, resize="letterbox", pad=51, filter="nearest")
        rows = self.tables(manifest, "--data", self.folder / "set.json")[1]["rows"]
        # Padded rows of the input are 0.2 everywhere; the others half 1, half 0. So boxes are [0.2, …], empty, or [1, 1, 1, 1].
        self.assertEqual({(row["left"], row["top"], row["right"], row["bottom"]) for row in rows}, {(8, 0, 8, 0), (40, 20, 40, 20)})

    def test_files_that_are_no_data_set(self):
        model(self.folder / "net.onnx", (ROWS, 9), {"boxes": (0, 9, ["N", ROWS, 9])})
        manifest = self.manifest((ROWS, 9), {"type": "boxes", "parameters": {"format": "xyxy"}})
        image, category = {"id": 1, "file_name": "a.png"}, {"id": 2, "name": "a"}
        box = {"image_id": 1, "category_id": 2, "bbox": [0, 0, 1, 1]}
        for reason, content in (("not an object", []), ("no images", {}), ("no images", {"images": []}), ("not a list", {"images": 1}), ("lacks id", {"images": [{}]}),
                                ("not a whole number", {"images": [{"id": "a"}]}), ("two images", {"images": [image, image]}),
                                ("two categories", {"images": [image], "categories": [category, category]}),
                                ("of image 1", {"images": [{**image, "id": 3}], "categories": [category], "annotations": [box]}),
                                ("of category 2", {"images": [image], "categories": [], "annotations": [box]}),
                                ("lacks image_id", {"images": [image], "annotations": [{"bbox": [0, 0, 1, 1]}]}),
                                *(("bbox", {"images": [image], "annotations": [{**box, "bbox": sides}]}) for sides in
                                  ([], [0, 0, 1], [0, 0, 1, 1, 1], [0, 0, -1, 1], [0, 0, "a", 1], [0, 0, 1e999, 1], None, 3)),
                                ("iscrowd", {"images": [image], "annotations": [{**box, "iscrowd": "yes"}]})):
            with self.subTest(content):
                (self.folder / "set.json").write_text(json.dumps(content).replace("Infinity", "1e999"))
                self.refused(reason, manifest, "--data", self.folder / "set.json")
        (self.folder / "set.json").write_text('{"images": [{"id": 1, "file_name": "a.png"}')
        self.refused("byte", manifest, "--data", self.folder / "set.json")


def paste(grid, frame, width, height):
    """The value at each pixel's middle, in single precision, with zeros around the grid; frame: left, top, right, bottom."""
    def places(side, start, end, cells):
        with numpy.errstate(divide="ignore", invalid="ignore"):
            place = (numpy.arange(side, dtype=FLOAT) + FLOAT(.5) - start) / (end - start) * FLOAT(cells) - FLOAT(.5)
        near = (place > -1) & (place < cells)
        return near, numpy.floor(numpy.where(near, place, 0)).astype(int), numpy.where(near, place, 0) - numpy.floor(numpy.where(near, place, 0))
    rows, columns = grid.shape
    x_near, x, right = places(width, frame[0], frame[2], columns)
    y_near, y, below = places(height, frame[1], frame[3], rows)
    padded = numpy.pad(grid, 1)

    def mixed(row):
        left = padded[row + 1][:, x + 1]
        return left * (1 - right) + padded[row + 1][:, x + 2] * right
    return numpy.where(numpy.outer(y_near, x_near), mixed(y) * (1 - below)[:, None] + mixed(y + 1) * below[:, None], -numpy.inf)


class Instances(OutputTest):
    """Rows of a picture: x0, y0, x1, y1, score, class, a grid of 4 x 3."""
    size = (ROWS, 18)

    def make_set(self, scale=1, grid_of=lambda values, place: values.reshape(4, 3), frame_of=lambda frame: frame, threshold=.5):
        random = numpy.random.default_rng(8)
        self.found, images, annotations = [], [], []
        height, width = ROWS * scale, 18 * scale
        for number in range(1, 9):
            rows = random.integers(0, 256, self.size)
            rows[:, :2], rows[:, 2:4] = random.integers(0, 120, (ROWS, 2)), random.integers(120, 256, (ROWS, 2))
            rows[:, 5] = random.integers(0, 2, ROWS)
            self.picture(f"{number}.png", numpy.repeat(numpy.repeat(rows, scale, 0), scale, 1))
            images.append({"id": number, "file_name": f"{number}.png", "width": width, "height": height})
            parts = rows.astype(FLOAT) / FLOAT(255)
            for row, part in sorted(zip(rows, parts, strict=True), key=lambda both: -both[0][4]):
                frame = part[:4] * numpy.array([18, ROWS, 18, ROWS], FLOAT) * FLOAT(scale)
                pixels = paste(grid_of(part[6:], row[5]), frame_of(frame), width, height) > FLOAT(threshold)
                self.found.append((number, int(row[5]), part[4], frame, pixels))
                if random.random() < .5:
                    moved = numpy.roll(pixels, (random.integers(-1, 2), random.integers(-1, 2)), (0, 1))
                    crowd, runs = int(random.random() < .2), mask.encode(numpy.asfortranarray(moved.astype(numpy.uint8)))
                    left, top, right, bottom = map(float, frame)
                    annotations.append({"id": len(annotations) + 1, "image_id": number, "category_id": int(row[5]), "iscrowd": crowd, "area": int(moved.sum()),
                                        "bbox": [left, top, right - left, bottom - top], "segmentation": {"size": [height, width], "counts": runs["counts"].decode()}})
            left, top = random.uniform(0, width / 2), random.uniform(0, height / 2)
            annotations.append({"id": len(annotations) + 1, "image_id": number, "category_id": 1, "iscrowd": 0, "area": 1, "bbox": [left, top, width / 3, height / 3],
                                "segmentation": [[left, top, left + width / 3, top, left + width / 3, top + height / 3], [left, top, left + 2, top, left, top + 3]]})
        self.data = {"annotations": annotations, "images": images, "categories": [{"id": 0, "name": "a"}, {"id": 1, "name": "b"}]}
        (self.folder / "set.json").write_text(json.dumps(self.data))

    def by_pycocotools(self, kind):
        results = [{"image_id": number, "category_id": place, "score": float(score), "bbox": [float(frame[0]), float(frame[1]), *(float(frame[i + 2]) - float(frame[i]) for i in (0, 1))],
                    **({"segmentation": mask.encode(numpy.asfortranarray(pixels.astype(numpy.uint8)))} if kind == "segm" else {})} for number, place, score, frame, pixels in self.found]
        with contextlib.redirect_stdout(io.StringIO()):
            truth = COCO()
            truth.dataset = json.loads(json.dumps(self.data))
            truth.createIndex()
            rating = COCOeval(truth, truth.loadRes(results), kind)
            rating.params.areaRng, rating.params.areaRngLbl = rating.params.areaRng[:1], ["all"]
            rating.evaluate()
            rating.accumulate()
        precision = rating.eval["precision"][:, :, :, 0, 2]
        return [100 * float(values[values > -1].mean()) for values in (precision, precision[0], precision[5])]

    def check(self, manifest, *arguments):
        summary, items, classes = self.tables(manifest, "--data", self.folder / "set.json", *arguments)
        row, = summary["rows"]
        for kind, keys in (("bbox", ("map_pct", "ap50_pct", "ap75_pct")), ("segm", ("mask_map_pct", "mask_ap50_pct", "mask_ap75_pct"))):
            for key, own in zip(keys, self.by_pycocotools(kind), strict=True):
                self.assertAlmostEqual(row[key], own, delta=1e-9)
        self.assertEqual([entry["pixels"] for entry in items["rows"]], [int(pixels.sum()) for *_, pixels in self.found])
        self.assertNotEqual(row["map_pct"], row["mask_map_pct"])
        self.assertAlmostEqual(sum(entry["mask_ap_pct"] for entry in classes["rows"]) / 2, row["mask_map_pct"])
        return row

    def instances(self, **more):
        return {"name": "boxes", "type": "instances", "parameters": {"format": "xyxy", "normalized": True, "scores": "scores", "classes": "classes", "masks": "masks", **more}}

    def make_model(self, shape):
        model(self.folder / "net.onnx", self.size, {"boxes": (0, 4, ["N", ROWS, 4]), "scores": (4, 1, ["N", ROWS]), "classes": (5, 1, ["N", ROWS]),
                                                    "masks": (6, 12, ["N", ROWS, *shape])}, {"classes": TensorProto.INT64})

    def test_a_grid_for_each_box(self):
        """[N, boxes, 1, height, width], as Mask R-CNN has them."""
        self.make_set()
        self.make_model([1, 4, 3])
        for batch in (1, 3):
            self.check(self.manifest(self.size, self.instances()), "--batch", batch)
        self.assertEqual(self.spans()["paste masks"], 12)  # of full batches, with a warm-up

    def test_a_grid_for_each_box_and_class(self):
        """On a picture that was resized."""
        self.make_set(scale=3, grid_of=lambda values, place: values.reshape(2, 2, 3)[place], threshold=.4)
        self.make_model([2, 2, 3])
        self.check(self.manifest(self.size, self.instances(mask_threshold=.4), filter="nearest"))

    def test_masks_of_the_whole_input(self):
        """As torchvision has them."""
        self.make_set(scale=2, frame_of=lambda frame: numpy.array([0, 0, 36, 2 * ROWS], FLOAT))
        self.make_model([1, 4, 3])
        self.check(self.manifest(self.size, self.instances(mask_of="input"), filter="nearest"))

    def test_masks_that_are_not_labelled(self):
        self.make_set()
        self.make_model([4, 3])
        del self.data["annotations"][3]["segmentation"]
        (self.folder / "set.json").write_text(json.dumps(self.data))
        summary = self.tables(self.manifest(self.size, self.instances()), "--data", self.folder / "set.json")[0]
        self.assertIsNone(summary["rows"][0]["mask_map_pct"])
        self.assertIsNotNone(summary["rows"][0]["map_pct"])
        self.assertIn("segmentation", " ".join(summary["notes"]))

    def test_what_is_refused(self):
        self.make_set()
        self.make_model([4, 3])
        for reason, output in (("no such output", self.instances(masks="x")), ("another number of masks", self.instances(masks="boxes", mask_of="input"))):
            self.refused(reason, self.manifest(self.size, output), "--data", self.folder / "set.json")

    def test_a_picture_of_another_size_than_its_masks(self):
        """Turned by 90 degrees: as many pixels."""
        self.make_set()
        self.make_model([1, 4, 3])
        for image in self.data["images"]:
            image["width"], image["height"] = image["height"], image["width"]
        for annotation in self.data["annotations"]:
            if isinstance(annotation["segmentation"], dict):
                annotation["segmentation"]["size"].reverse()
        (self.folder / "set.json").write_text(json.dumps(self.data))
        self.refused("the data set says that it has", self.manifest(self.size, self.instances()), "--data", self.folder / "set.json")

    def test_a_picture_without_a_dimension_for_the_batch(self):
        """As the Mask R-CNN of ONNX's zoo takes it."""
        self.make_set()
        self.make_model([1, 4, 3])
        whole = onnx.load(self.folder / "net.onnx")
        del whole.graph.input[0].type.tensor_type.shape.dim[0]
        for output in whole.graph.output:
            del output.type.tensor_type.shape.dim[0]
        for constant in whole.graph.initializer:
            if constant.name.endswith(" shape"):
                constant.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(constant)[1:], constant.name))
        onnx.save(whole, self.folder / "net.onnx")
        self.check(self.manifest(self.size, self.instances()))
        self.refused("no free batch dimension", self.manifest(self.size, self.instances()), "--data", self.folder / "set.json", "--batch", 2)


class Masks(OutputTest):
    def check(self, manifest, csv, predictions, labels, *arguments, ignored=None):
        """predictions: of each labelled picture, at the label's pixels; -1: not seen."""
        table, items, classes = self.tables(manifest, "--data", csv, *arguments)
        confusion = numpy.zeros((256, 256), int)
        for found, label in zip(predictions, labels, strict=True):
            counted = (found >= 0) & (label != ignored)
            numpy.add.at(confusion, (label[counted], found[counted]), 1)
        right = numpy.diag(confusion)
        either = confusion.sum(0) + confusion.sum(1) - right
        row, = table["rows"]
        self.assertAlmostEqual(row["miou_pct"], 100 * (right[either > 0] / either[either > 0]).mean(), delta=1e-9)
        self.assertAlmostEqual(row["pixel_pct"], 100 * right.sum() / confusion.sum(), delta=1e-9)
        self.assertEqual([entry["place"] for entry in classes["rows"]], numpy.nonzero(either)[0].tolist())
        self.assertEqual([entry["pixels"] for entry in classes["rows"]], confusion.sum(1)[either > 0].tolist())
        return row, items["rows"]

    def test_classes_of_channels(self):
        """Three channels beside each other in a picture; labels are gray, or places of a palette."""
        random = numpy.random.default_rng(5)
        model(self.folder / "net.onnx", (6, 24), {"mask": (0, 24, ["N", 6, 8, 3])})
        (self.folder / "labels.txt").write_text("sky\nroad\nsea\n")
        lines, predictions, labels = [], [], []
        for number in range(5):
            values = random.integers(0, 256, (6, 24))
            label = numpy.where(random.random((6, 24)) < 0.1, 255, random.integers(0, 4, (6, 24))).astype(numpy.uint8)
            lines.append([self.picture(f"{number}.png", values), f"label{number}.png"])
            image = Image.fromarray(label, "L" if number % 2 else "P")
            if number % 2 == 0:
                image.putpalette(random.integers(0, 256, 768).astype(numpy.uint8).tobytes())
            image.save(self.folder / f"label{number}.png")
            # the output has a third of the picture's width
            predictions.append(numpy.repeat(values.reshape(6, 8, 3).argmax(2), 3, axis=1))
            labels.append(label)
        csv = self.table("a.csv", [*lines, ["0.png", ""]])
        manifest = self.manifest((6, 24), {"type": "mask", "parameters": {"layout": "NHWC", "ignore": 255, "labels": "labels.txt"}})
        for batch in (1, 4):
            row, items = self.check(manifest, csv, predictions, labels, "--batch", batch, ignored=255)
        self.assertEqual((row["inputs"], row["labelled"]), (6, 5))
        self.assertEqual(self.tables(manifest, "--data", csv)[0]["notes"], ["net: 1 of 6 inputs have no label"])  # files are no classes
        shares = {(pathlib.Path(entry["file"]).name, entry["class"]): entry["share_pct"] for entry in items if entry["label"] is not None}
        self.assertAlmostEqual(shares["3.png", "sea"], 100 * (predictions[3] == 2).mean())
        self.assertIsNone([entry for entry in items if entry["label"] is None][0]["pixel_pct"])
        spans = self.spans()
        self.assertGreater(spans["decode mask"], spans["compare mask"])

    def test_a_threshold_on_a_resized_and_cut_picture(self):
        random = numpy.random.default_rng(6)
        model(self.folder / "net.onnx", (10, 8), {"mask": (0, 8, ["N", 1, 10, 8])})
        lines, predictions, labels = [], [], []
        for number, (width, height) in enumerate(((24, 30), (17, 40), (9, 12))):
            values = random.integers(0, 256, (height, width))
            label = random.integers(0, 2, (height, width)).astype(numpy.uint8)
            lines.append([self.picture(f"{number}.png", values), self.picture(f"label{number}.png", label)])
            resized = (12, int(12 * height / width)) if width <= height else (int(12 * width / height), 12)
            small = numpy.asarray(Image.fromarray(values.astype(numpy.uint8)).resize(resized, Image.Resampling.BOX))
            left, top = round((resized[0] - 8) / 2), round((resized[1] - 10) / 2)
            found = (small[top:top + 10, left:left + 8].astype(FLOAT) / FLOAT(255) > FLOAT(0.5)).astype(int)
            x = numpy.floor((numpy.arange(width) + 0.5) * resized[0] / width - left).astype(int)
            y = numpy.floor((numpy.arange(height) + 0.5) * resized[1] / height - top).astype(int)
            whole = found[numpy.clip(y, 0, 9)][:, numpy.clip(x, 0, 7)]
            whole[(y < 0) | (y > 9)] = -1
            whole[:, (x < 0) | (x > 7)] = -1
            predictions.append(whole)
            labels.append(label)
        manifest = self.manifest((10, 8), {"type": "mask", "parameters": {"threshold": 0.5}}, resize=12, filter="box")
        self.check(manifest, self.table("a.csv", lines), predictions, labels)

    def test_classes_themselves(self):
        model(self.folder / "net.onnx", (6, 5), {"mask": (0, 5, ["N", 6, 5])}, {"mask": TensorProto.INT64})
        values = numpy.random.default_rng(2).integers(0, 3, (6, 5))
        lines = [[self.picture("a.png", values), self.picture("b.png", values)]]
        row, _ = self.check(self.manifest((6, 5), {"type": "mask"}), self.table("a.csv", lines), [values], [values.astype(numpy.uint8)])
        self.assertEqual((row["miou_pct"], row["pixel_pct"]), (100, 100))

    def test_another_label_picture_is_another_data_set(self):
        model(self.folder / "net.onnx", (6, 5), {"mask": (0, 5, ["N", 6, 5])}, {"mask": TensorProto.INT64})
        values = numpy.random.default_rng(2).integers(0, 3, (6, 5))
        csv, checksums = self.table("a.csv", [[self.picture("a.png", values), self.picture("b.png", values)]]), set()
        for label in (values, numpy.zeros_like(values)):
            self.picture("b.png", label)
            self.run_it(self.manifest((6, 5), {"type": "mask"}), "--data", csv)
            query = "select value from evaluation where key = 'data_checksum'"
            checksums.add(subprocess.run([XSP, "sql", self.output, query, "--json"], capture_output=True, check=True, timeout=600).stdout)
        self.assertEqual(len(checksums), 2)

    def test_what_is_refused(self):
        model(self.folder / "net.onnx", (6, 5), {"mask": (0, 5, ["N", 1, 6, 5])})
        mask, other = self.manifest((6, 5), {"type": "mask", "parameters": {"threshold": 0.5}}), self.manifest((6, 5), {"type": "mask"}, name="other")
        self.picture("a.png", numpy.full((6, 5), 100))
        self.picture("large.png", numpy.zeros((6, 6)))
        Image.new("RGB", (5, 6)).save(self.folder / "rgb.png")
        Image.new("L", (5, 6)).save(self.folder / "b.jpg")
        for reason, label in (("5 x 6", "large.png"), ("more than one number", "rgb.png"), ("PNG", "b.jpg"), ("missing.png", "missing.png")):
            self.refused(reason, mask, "--data", self.table("a.csv", [["a.png", label]]))
        self.refused("not a class from 0 to 255", other, "--data", self.table("a.csv", [["a.png", ""]]))


class Texts(OutputTest):
    def distance(self, a, b):
        row = list(range(len(b) + 1))
        for i, x in enumerate(a):
            row, last = [i + 1], row
            for k, y in enumerate(b):
                row.append(min(last[k] + (x != y), last[k + 1] + 1, row[k] + 1))
        return row[-1]

    def check(self, manifest, labels, texts, *arguments):
        csv = self.table("a.csv", [[f"{number}.png", label] for number, label in enumerate(labels)])
        table, items = self.tables(manifest, "--data", csv, *arguments)
        self.assertEqual([entry["text"] or "" for entry in items["rows"]], texts)
        edits = [self.distance(text, label) for text, label in zip(texts, labels) if label]
        self.assertEqual([entry["edits"] for entry in items["rows"] if entry["label"]], edits)
        row, = table["rows"]
        self.assertAlmostEqual(row["exact_pct"], 100 * edits.count(0) / len(edits))
        self.assertAlmostEqual(row["cer_pct"], 100 * sum(edits) / sum(map(len, filter(None, labels))))
        return row

    def test_ctc(self):
        random = numpy.random.default_rng(4)
        model(self.folder / "net.onnx", (20, 5), {"steps": (0, 5, ["N", 20, 5])})
        (self.folder / "words.txt").write_text("-\nä\nb\n \nc\n")
        texts = []
        for number in range(7):
            values = random.integers(0, 256, (20, 5))
            values[:, 0] //= 2
            self.picture(f"{number}.png", values)
            best = values.argmax(1)
            texts.append("".join("-äb c"[token] for token, before in zip(best, [-1, *best[:-1]]) if token not in (before, 0)))
        labels = [texts[0], texts[1][2:], "x" + texts[2], texts[3].replace("ä", "b"), texts[4], "", "entirely other"]
        manifest = self.manifest((20, 5), {"type": "text", "parameters": {"vocabulary": "words.txt", "decoding": "ctc"}})
        for batch in (1, 3):
            row = self.check(manifest, labels, texts, "--batch", batch)
        self.assertEqual(row["labelled"], 6)
        self.assertIn("ctc", self.spans())

    def test_tokens_with_a_stop(self):
        model(self.folder / "net.onnx", (1, 6), {"tokens": (0, 6, ["N", 6])}, {"tokens": TensorProto.INT32})
        (self.folder / "words.txt").write_text("<pad>\n<end>\nthe\ncat\nsat\n")
        for number, tokens in enumerate(([2, 3, 4, 1, 2, 2], [3, 3, 9, 4, 4, 4], [1, 2, 2, 2, 2, 2])):
            self.picture(f"{number}.png", [tokens])
        parameters = {"vocabulary": "words.txt", "stop": 1, "separator": " "}
        self.check(self.manifest((1, 6), {"type": "text", "parameters": parameters}), ["the cat sat", "cat sat", "x"], ["the cat sat", "cat cat sat sat sat", ""])
        table = self.tables(self.manifest((1, 6), {"type": "text", "parameters": parameters}), "--data", self.folder / "a.csv")[0]
        self.assertTrue(any("1 tokens are beyond the 5 lines" in note for note in table["notes"]), table["notes"])
        self.assertEqual(len(table["notes"]), 1)  # labels are no classes

    def test_kinds_side_by_side(self):
        """Columns of both; what a model has not is null."""
        model(self.folder / "net.onnx", (20, 5), {"steps": (0, 5, ["N", 20, 5])})
        (self.folder / "words.txt").write_text("-\na\nb\n \nc\n")
        self.picture("0.png", numpy.zeros((20, 5)))
        text = self.manifest((20, 5), {"type": "text", "parameters": {"vocabulary": "words.txt"}}, name="text")
        scores = self.manifest((20, 5), {"type": "feature"}, name="scores")
        table = self.tables(text, scores, "--data", self.table("a.csv", [["0.png", "0"]]))[0]
        self.assertEqual([(row["top1_pct"], row["exact_pct"]) for row in table["rows"]], [(None, 0), (100, None)])


class Refused(OutputTest):
    def test_outputs_that_the_model_does_not_have(self):
        model(self.folder / "net.onnx", (4, 6), {"a": (0, 4, ["N", 4, 4]), "b": (4, 1, [1, "M"])})
        self.picture("0.png", numpy.zeros((4, 6)))
        data = self.table("a.csv", [["0.png", ""]] * 2)
        for reason, output, batch in (("no such output", {"name": "a", "type": "boxes", "parameters": {"format": "xyxy", "scores": "x"}}, 1),
                                      ("no output x", {"name": "x", "type": "mask"}, 1),
                                      ("name", {"type": "mask"}, 1),
                                      ("not the batch", {"name": "b", "type": "text", "parameters": {"vocabulary": "a.csv"}}, 2)):
            with self.subTest(output):
                self.refused(reason, self.manifest((4, 6), output), "--data", data, "--batch", batch)
        path = self.manifest((4, 6), {"name": "a", "type": "mask"})
        path.write_text(path.read_text().replace("outputs:", "outputs:\n- {name: b, type: feature}"))
        self.refused("to evaluate, too", path, "--data", data)


if __name__ == "__main__":
    unittest.main()
