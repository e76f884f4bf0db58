# SPDX-License-Identifier: Apache-2.0
"""Outputs of models: boxes, masks and texts as NumPy reads them, value by value; and values that are no numbers."""
import os
import pathlib
import subprocess
import tempfile
import unittest

import numpy

PROGRAM = pathlib.Path(os.environ["XSP_BUILD"]) / "test-programs" / "process_output"
FORMATS = ("xyxy", "yxyx", "xywh", "cxcywh")
BOX, OBJECTNESS, SCORES, SCORE, CLASS, ITEM = range(6)  # enum box_column
FLOAT = numpy.float32


def corners(values, form):
    a, b, c, d = values.T
    two = FLOAT(2)
    return numpy.stack({"xyxy": (a, b, c, d), "yxyx": (b, a, d, c), "xywh": (a, b, a + c, b + d),
                        "cxcywh": (a - c / two, b - d / two, a + c / two, b + d / two)}[form], 1)


def overlaps(box, others):
    width = numpy.minimum(box[2], others[:, 2]) - numpy.maximum(box[0], others[:, 0])
    height = numpy.minimum(box[3], others[:, 3]) - numpy.maximum(box[1], others[:, 1])
    common = numpy.where((width <= 0) | (height <= 0), FLOAT(0), width * height)
    with numpy.errstate(invalid="ignore"):
        area = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
        return numpy.where(common > 0, common / ((box[2] - box[0]) * (box[3] - box[1]) + area - common), FLOAT(0))


def suppress(boxes, scores, classes, threshold, most, agnostic):
    """Places of what is kept, in single precision."""
    kept = []
    for place in numpy.argsort(-scores, kind="stable"):
        rivals = [other for other in kept if agnostic or classes[other] == classes[place]]
        if len(kept) < most and (threshold < 0 or not rivals or not (overlaps(boxes[place], boxes[rivals]) > FLOAT(threshold)).any()):
            kept.append(place)
    return kept


class Boxes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-outputs-")
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "values"

    def found(self, values, columns, *, form="xyxy", normalized=0, transposed=0, score=0.0, iou=-1.0, most=100, agnostic=0, batch=1,
              size=(100, 80), place=(100, 80, 100, 80, 0, 0), status=0):
        numpy.asarray(values, FLOAT).tofile(self.file)
        text = f"boxes {FORMATS.index(form)} {normalized} {transposed} {score} {iou} {most} {agnostic} {''.join(map(str, columns))} 0 0\n\n"
        rows, width = values.shape[-2:] if not transposed else values.shape[:-3:-1]
        done = subprocess.run([PROGRAM, text, self.file, *map(str, (rows, width, batch, *place, *size))], capture_output=True, text=True,
                              timeout=600, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return [(int(item), int(category), *map(FLOAT, rest)) for item, category, *rest in map(str.split, done.stdout.splitlines())]

    def test_columns_and_formats_and_suppression(self):
        random = numpy.random.default_rng(5)
        for number in range(40):
            form, classes, rows = FORMATS[number % 4], int(random.integers(1, 6)), int(random.integers(1, 120))
            agnostic, transposed, has_objectness = number % 3 == 0, number % 2, number % 5 == 0
            most, threshold = int(random.integers(1, 60)), float(random.choice([0.0, 0.3, 0.55]))
            with self.subTest(number):
                first = random.uniform(0, 60, (rows, 2)).astype(FLOAT)
                second = random.uniform(1, 30, (rows, 2)).astype(FLOAT) + (first if form in ("xyxy", "yxyx") else 0)
                scores = (random.integers(0, 20, (rows, classes)) / FLOAT(19)).astype(FLOAT)  # with ties
                objectness = random.uniform(0, 1, (rows, 1)).astype(FLOAT)
                parts = [first, second] + ([objectness] if has_objectness else []) + [scores]
                values = numpy.concatenate(parts, 1, dtype=FLOAT)
                ours = self.found(values.T if transposed else values, [BOX] + [OBJECTNESS] * has_objectness + [SCORES], form=form,
                                  transposed=transposed, score=0.25, iou=threshold, most=most, agnostic=int(agnostic), size=(90, 95), place=(90, 95, 90, 95, 0, 0))
                boxes = corners(values[:, :4], form)
                whole = scores * objectness if has_objectness else scores
                row, category = numpy.nonzero(whole > FLOAT(0.25))
                kept = suppress(boxes[row], whole[row, category], category, threshold, most, agnostic)
                limits = numpy.array([90, 95, 90, 95], FLOAT)
                theirs = [(0, int(category[at]), whole[row[at], category[at]], *numpy.clip(boxes[row[at]], 0, limits)) for at in kept]
                self.assertEqual(ours, theirs)

    def test_after_a_models_own_suppression(self):
        values = numpy.array([[10, 20, 30, 40, 0.9, 2], [1, 2, 3, 4, 0.0, 0], [5, 5, 6, 6, 0.5, 7]], FLOAT)
        self.assertEqual(self.found(values, (BOX, SCORE, CLASS)), [(0, 2, FLOAT(0.9), 10, 20, 30, 40), (0, 7, FLOAT(0.5), 5, 5, 6, 6)])

    def test_one_list_of_a_whole_batch(self):
        values = numpy.array([[1, 3, 0.5, 0, 0, 0.5, 0.5], [0, 2, 0.25, 0, 0, 1, 1], [-1, 0, 0, 0, 0, 0, 0]], FLOAT)
        numpy.concatenate([values, values]).tofile(self.file)
        self.assertEqual(self.found(values, (ITEM, CLASS, SCORE, BOX), normalized=1), [(0, 2, FLOAT(0.25), 0, 0, 100, 80)])

    def test_back_onto_the_picture(self):
        """A picture of 200 x 100 pixels, resized to half and cut to 80 x 40 in the middle; then one that is padded."""
        values = numpy.array([[0, 0, 80, 40, 0.5], [10, 5, 20, 10, 0.25]], FLOAT)
        self.assertEqual(self.found(values, (BOX, SCORES), place=(200, 100, 100, 50, 10, 5), size=(80, 40)),
                         [(0, 0, FLOAT(0.5), 20, 10, 180, 90), (0, 0, FLOAT(0.25), 40, 20, 60, 30)])
        self.assertEqual(self.found(values, (BOX, SCORES), place=(200, 80, 80, 32, 0, -4), size=(80, 40)),
                         [(0, 0, FLOAT(0.5), 0, 0, 200, 80), (0, 0, FLOAT(0.25), 25, 2.5, 50, 15)])

    def test_values_that_make_no_box(self):
        nan, inf = numpy.nan, numpy.inf
        bad = [[nan, 0, 1, 1, 0.5, 1], [0, 0, inf, 1, 0.5, 1], [5, 0, 1, 1, 0.5, 1], [0, 0, 1, 1, nan, 1], [0, 0, 1, 1, -inf, 1],
               [0, 0, 1, 1, 0.5, -1], [0, 0, 1, 1, 0.5, 0.5], [0, 0, 1, 1, 0.5, nan], [0, 0, 1, 1, 0.5, inf], [0, 0, 1, 1, 0.5, 1e30]]
        self.assertEqual(self.found(numpy.array(bad, FLOAT), (BOX, SCORE, CLASS), iou=0.5), [])
        good = self.found(numpy.array([[0, 0, 1, 1, inf, 1], [0, 0, 0, 0, 0.5, 1]], FLOAT), (BOX, SCORE, CLASS), iou=0.5)
        self.assertEqual(good, [(0, 1, inf, 0, 0, 1, 1), (0, 1, 0.5, 0, 0, 0, 0)])

    def test_another_number_of_columns(self):
        values = numpy.zeros((3, 7), FLOAT)
        self.found(values, (BOX, SCORE, CLASS), status=3)
        self.found(numpy.zeros((3, 4), FLOAT), (BOX, SCORES), status=3)
        self.assertEqual(self.found(values, (BOX, SCORES)), [])


class Masks(unittest.TestCase):
    setUp = Boxes.setUp

    def classes(self, values, form, channels, status=0):
        height, width = [side for side in values.shape if side != channels or channels == 1][-2:]
        numpy.asarray(values, FLOAT).tofile(self.file)
        done = subprocess.run([PROGRAM, f"mask {form}", self.file, *map(str, (height, channels, 1, width))], capture_output=True, timeout=600, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return numpy.frombuffer(done.stdout, numpy.uint8).reshape(height, width) if status == 0 else None

    def test_the_best_channel(self):
        values = numpy.random.default_rng(3).integers(0, 6, (5, 17, 23)).astype(FLOAT)  # with ties
        self.assertTrue((self.classes(values, "0 0 0 -1", 5) == values.argmax(0)).all())
        self.assertTrue((self.classes(values.transpose(1, 2, 0).copy(), "0 0 1 -1", 5) == values.argmax(0)).all())
        values[2] = numpy.nan
        self.assertTrue((self.classes(values, "0 0 0 -1", 5) == numpy.where(numpy.isnan(values), -numpy.inf, values).argmax(0)).all())

    def test_a_threshold(self):
        values = numpy.random.default_rng(3).uniform(0, 1, (1, 17, 23)).astype(FLOAT)
        values[0, 0, :3] = numpy.nan, numpy.inf, 0.3
        self.assertTrue((self.classes(values, "1 0.3 0 -1", 1) == (values[0] > FLOAT(0.3))).all())

    def test_classes_themselves(self):
        values = numpy.random.default_rng(3).integers(0, 256, (1, 17, 23)).astype(FLOAT)
        self.assertTrue((self.classes(values, "0 0 0 -1", 1) == values[0]).all())
        for bad in (256, -1, 0.5, numpy.nan, numpy.inf):
            values[0, 3, 3] = bad
            self.classes(values, "0 0 0 -1", 1, status=3)


class Texts(unittest.TestCase):
    setUp = Boxes.setUp

    def tokens(self, values, form):
        numpy.asarray(values, FLOAT).tofile(self.file)
        batch, steps, classes = values.shape
        done = subprocess.run([PROGRAM, f"text {form}", self.file, *map(str, (steps, classes, batch))], capture_output=True, text=True, timeout=600, check=True)
        return [list(map(int, line.split())) for line in done.stdout.splitlines()]

    def test_ctc(self):
        random = numpy.random.default_rng(3)
        for blank in (0, 4):
            values = random.integers(0, 4, (6, 50, 5)).astype(FLOAT)
            best = values.argmax(2)
            expected = [[int(token) for token, before in zip(row, [-1, *row[:-1]]) if token not in (before, blank)] for row in best]
            self.assertEqual(self.tokens(values, f"1 {blank} -1"), expected)

    def test_greedy_with_a_stop(self):
        values = numpy.random.default_rng(3).uniform(0, 1, (6, 20, 7)).astype(FLOAT)
        values[:, 3, 2] = numpy.nan
        best = numpy.where(numpy.isnan(values), -numpy.inf, values).argmax(2).tolist()
        self.assertEqual(self.tokens(values, "0 0 -1"), best)
        self.assertEqual(self.tokens(values, "0 0 3"), [row[:row.index(3)] if 3 in row else row for row in best])


if __name__ == "__main__":
    unittest.main()
