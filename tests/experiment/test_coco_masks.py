# SPDX-License-Identifier: Apache-2.0
"""Masks in files as COCO has them: polygons, counts, and counts as text have the pixels that pycocotools gives them; what is none is refused."""
import json
import os
import pathlib
import random
import subprocess
import tempfile
import unittest

import numpy
from pycocotools import mask as masks

PROGRAM = pathlib.Path(os.environ["XSP_BUILD"]) / "test-programs" / "list_masks"


class CocoMasks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-masks-")
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "set.json"

    def run_it(self, width, height, segmentations, status=0):
        self.file.write_text(json.dumps({
            "annotations": [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "segmentation": one} for one in segmentations],
            "images": [{"id": 1, "file_name": "a.png", "width": width, "height": height}], "categories": [{"id": 1, "name": "a"}]}))
        done = subprocess.run([PROGRAM, self.file], capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout.splitlines()

    def check(self, width, height, segmentations):
        for line, segmentation in zip(self.run_it(width, height, segmentations), segmentations, strict=True):
            whole = numpy.zeros(width * height, numpy.uint8)
            borders = list(map(int, line.split()))
            for first, end in zip(borders[::2], borders[1::2], strict=True):
                whole[first:end] = 1
            if isinstance(segmentation, list):
                runs = masks.merge(masks.frPyObjects(segmentation, height, width))
            else:
                runs = masks.frPyObjects(segmentation, height, width) if isinstance(segmentation["counts"], list) else segmentation
            numpy.testing.assert_array_equal(whole.reshape(width, height).T, masks.decode(runs), err_msg=str(segmentation))
            self.assertTrue(all(a < b for a, b in zip(borders, borders[1:])))

    def test_polygons(self):
        """Corners inside and outside of the picture, on whole and half pixels; several, which overlap."""
        choose = random.Random(5)

        def corner(side):
            return choose.choice((choose.uniform(-5, side + 5), float(choose.randrange(side + 1)), choose.randrange(side) + .5))
        for _ in range(12):
            width, height = choose.randrange(1, 40), choose.randrange(1, 40)
            self.check(width, height, [[[corner(side) for _ in range(choose.randrange(3, 9)) for side in (width, height)]
                                        for _ in range(choose.randrange(1, 4))] for _ in range(60)])

    def test_counts(self):
        random_numbers = numpy.random.default_rng(3)
        for width, height in ((1, 1), (7, 5), (300, 200)):
            segmentations = []
            for share in (0, .1, .5, 1):
                pixels = numpy.asfortranarray((random_numbers.random((height, width)) < share).astype(numpy.uint8))
                packed = masks.encode(pixels)
                segmentations.append({"size": [height, width], "counts": packed["counts"].decode()})
                flat = pixels.T.reshape(-1)
                turns = numpy.flatnonzero(numpy.diff(numpy.concatenate([[0], flat]))).tolist()
                segmentations.append({"counts": numpy.diff([0, *turns, width * height]).tolist(), "size": [height, width]})
            self.check(width, height, segmentations)

    def test_what_is_refused(self):
        size = {"size": [4, 4]}
        for reason, one in (("neither", 3), ("neither", []), ("neither", {}), ("neither", size), ("neither", {"counts": [16]}), ("neither", {**size, "counts": 3}),
                            ("neither", {"size": [4], "counts": [16]}), ("neither", {"size": [0, 4], "counts": [0]}), ("x and y", [[1, 2, 3]]),
                            ("x and y", [[1, "a"]]), ("far outside", [[1e9, 0, 1, 1]]), ("not a number of pixels", {**size, "counts": [-1]}),
                            ("more pixels", {**size, "counts": [10, 7]}), ("another size", {"size": [4, 5], "counts": [20]}),
                            ("as COCO writes", {**size, "counts": "\u007f\u007f"}), ("not a number of pixels", {**size, "counts": "@"}),
                            ("longer", [[-99999, -99999, 99999, 99999] * 3])):
            with self.subTest(one):
                self.assertIn(reason, self.run_it(4, 4, [one], status=1)[0])
        self.assertIn("width or height", self.run_it(0, 4, [[[0, 0, 1, 0, 1, 1]]], status=1)[0])


if __name__ == "__main__":
    unittest.main()
