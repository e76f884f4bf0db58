# SPDX-License-Identifier: Apache-2.0
"""Average precision of boxes: equal to pycocotools on random boxes with ties, crowds, classes without boxes and more than 100 boxes."""
import contextlib
import io
import os
import pathlib
import random
import subprocess
import unittest

import numpy
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

PROGRAM = pathlib.Path(os.environ["XSP_BUILD"]) / "test-programs" / "rate_boxes"
TOLERANCE = 1e-12


def by_pycocotools(items, categories, wanted, found):
    """(AP, AP50, AP75), [(AP, AP50) of each category]; None where it has none."""
    data = {"images": [{"id": item} for item in range(items)], "categories": [{"id": place} for place in range(categories)],
            "annotations": [{"id": number + 1, "image_id": item, "category_id": category, "bbox": sides, "area": sides[2] * sides[3],
                             "iscrowd": int(is_crowd)} for number, (item, category, sides, _, is_crowd) in enumerate(wanted)]}
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = data
        truth.createIndex()
        results = truth.loadRes([{"image_id": item, "category_id": category, "bbox": sides, "score": score}
                                 for item, category, sides, score, _ in found])
        rating = COCOeval(truth, results, "bbox")
        rating.params.areaRng, rating.params.areaRngLbl = rating.params.areaRng[:1], ["all"]
        rating.evaluate()
        rating.accumulate()
    precision = rating.eval["precision"][:, :, :, 0, 2]  # overlap, recall, category

    def mean(values):
        values = values[values > -1]
        return float(values.mean()) if values.size else None
    return ((mean(precision), mean(precision[0]), mean(precision[5])),
            [(mean(precision[:, :, place]), mean(precision[0, :, place])) for place in range(categories)])


def by_xsp(categories, wanted, found):
    lines = [f"{categories} {len(wanted)} {len(found)}"]
    lines += [f"{item} {category} {' '.join(map(repr, sides))} {score!r} {int(is_crowd)}" for item, category, sides, score, is_crowd in wanted + found]
    done = subprocess.run([PROGRAM], input="\n".join(lines), capture_output=True, text=True, timeout=600, check=True)
    rows = [tuple(None if word in ("nan", "-nan") else float(word) for word in line.split()) for line in done.stdout.splitlines()]
    return rows[0], rows[1:]


class AveragePrecision(unittest.TestCase):
    def near(self, found, wanted):
        self.assertEqual(len(found), len(wanted))
        for a, b in zip(found, wanted, strict=True):
            self.assertEqual(a is None, b is None)
            if a is not None:
                self.assertLess(abs(a - b), TOLERANCE)

    def check(self, items, categories, wanted, found):
        wanted, found = (sorted(boxes, key=lambda box: box[0]) for boxes in (wanted, found))
        theirs, ours = by_pycocotools(items, categories, wanted, found), by_xsp(categories, wanted, found)
        self.near(ours[0], theirs[0])
        for a, b in zip(ours[1], theirs[1], strict=True):
            self.near(a, b)
        return ours[0][0]

    def boxes(self, choose, items, categories, crowds=0.1):
        """Whole numbers and few scores, so that overlaps and scores are equal often."""
        wanted, found = [], []
        for item in range(items):
            for _ in range(choose.randrange(0, 7)):
                sides = [choose.randrange(0, 60), choose.randrange(0, 60), choose.randrange(0, 30), choose.randrange(0, 30)]
                category = choose.randrange(0, categories)
                wanted.append((item, category, sides, 0.0, choose.random() < crowds))
                for _ in range(choose.randrange(0, 4)):
                    moved = [side + choose.choice((0, 0, 1, 2, -1)) for side in sides[:2]] + [max(0, side + choose.choice((0, 0, 1, -2))) for side in sides[2:]]
                    found.append((item, choose.choice((category, category, choose.randrange(0, categories))), moved, choose.randrange(1, 12) / 12, False))
            for _ in range(choose.randrange(0, 3)):
                found.append((item, choose.randrange(0, categories), [choose.random() * 60, choose.random() * 60, 20.5, 9.25], choose.random(), False))
        return wanted, found

    def test_random_boxes(self):
        seen = []
        for seed in range(40):
            with self.subTest(seed=seed):
                choose = random.Random(seed)
                items, categories = choose.randrange(1, 30), choose.randrange(1, 6)
                wanted, found = self.boxes(choose, items, categories, choose.choice((0, 0.1, 0.5)))
                if found:
                    seen.append(self.check(items, categories, wanted, found))
        values = [value for value in seen if value is not None]
        self.assertGreater(len(values), 25)
        self.assertGreater(max(values) - min(values), 0.2)  # not all the same

    def test_classes_without_boxes_and_boxes_without_class(self):
        wanted = [(0, 1, [0, 0, 10, 10], 0.0, False), (1, 3, [0, 0, 10, 10], 0.0, True)]
        found = [(0, 0, [0, 0, 10, 10], 0.5, False), (0, 1, [0, 0, 10, 10], 0.5, False), (1, 3, [0, 0, 5, 5], 0.5, False)]
        self.assertAlmostEqual(self.check(3, 5, wanted, found), 1)

    def test_only_the_best_hundred_of_a_class_count(self):
        wanted = [(0, 0, [0, 0, 10, 10], 0.0, False), (1, 0, [0, 0, 10, 10], 0.0, False)]
        found = [(0, 0, [30, 30, 5, 5], 0.9 - number / 1000, False) for number in range(120)] + [(0, 0, [0, 0, 10, 10], 0.1, False)]
        self.assertEqual(self.check(2, 1, wanted, found), 0)
        self.assertGreater(self.check(2, 1, wanted, found[:99] + found[120:]), 0)

    def test_overlaps_at_the_thresholds(self):
        """A box of 10 x 2n against 10 x 20: the overlap is a threshold, or next to it in floating point."""
        for height in range(10, 21):
            with self.subTest(height):
                self.check(1, 1, [(0, 0, [0, 0, 10, 20], 0.0, False)], [(0, 0, [0, 0, 10, height], 0.5, False)])

    def test_many(self):
        choose = random.Random(77)
        random_numbers = numpy.random.default_rng(7)
        wanted = [(choose.randrange(200), choose.randrange(20), [float(side) for side in random_numbers.uniform(0, 50, 4)], 0.0, choose.random() < 0.03)
                  for _ in range(1500)]
        found = [(item, category, [float(max(0, side + shift)) for side, shift in zip(sides, random_numbers.normal(0, 3, 4))], choose.random(), False)
                 for item, category, sides, _, _ in choose.choices(wanted, k=4000)]
        self.check(200, 20, wanted, found)


if __name__ == "__main__":
    unittest.main()
