# SPDX-License-Identifier: Apache-2.0
"""tools/accuracy on a few pictures and an untrained network in ONNX Runtime: it measures, and the page has what the files have."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

import numpy
from PIL import Image

from scripted import XSP, temporary_folder

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
TOOLS = SOURCE / "tools" / "accuracy"
PICTURES = 20


def load(name):
    loader = importlib.machinery.SourceFileLoader(name, str(TOOLS / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def make(folder):
    """Pictures, and a network of random weights."""
    random = numpy.random.default_rng(3)
    for number in range(PICTURES):
        place = folder / "pictures" / str(number % 10)
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 256, (32, 64, 3), numpy.uint8)).save(place / f"{number}.png")
    shapes = ((32, 3, 3, 3), 32, (64, 32, 3, 3), 64, (1024, 512), 512, (512, 10), 10)
    numpy.savez(folder / "digits_cnn.npz", *(random.normal(0, 0.1, shape).astype(numpy.float32) for shape in shapes))
    subprocess.run([sys.executable, TOOLS / "save_onnx.py", folder], check=True, timeout=600)
    (folder / "results").mkdir()
    (folder / "results" / ".made").touch()


class AccuracyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = temporary_folder()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        make(cls.folder)
        measure = load("measure")
        measure.XSP, measure.MODELS, measure.VERSIONS, measure.BATCHES = str(XSP), ("digits_cnn",), ("a", "b"), "1,4"
        measure.FRAMEWORKS = {"onnxruntime": measure.FRAMEWORKS["onnxruntime"]}
        measure.RUNS, measure.WARMUP, measure.COLD, measure.SCENARIO_S, measure.VERSION_RUNS = 5, 1, 2, 0.05, 20
        measure.SCENARIOS = ("single-stream", "offline")
        measure.zoo_environments.environment = lambda cache, name: pathlib.Path(sys.prefix)
        cls.measure = measure
        with contextlib.redirect_stderr(io.StringIO()):
            evaluation = measure.Evaluation(cls.folder, cls.folder)
            evaluation.make()
            evaluation.measure_accuracy()
            evaluation.measure_times()
            evaluation.measure_mistakes()
        cls.page = cls.write_page()

    @classmethod
    def write_page(cls):
        result = subprocess.run([sys.executable, "-B", TOOLS / "page", cls.folder], capture_output=True, text=True, timeout=300,
                                env={**os.environ, "XSP": str(XSP)})
        if result.returncode != 0:
            raise AssertionError(result.stderr)
        return result.stdout

    def rows(self, title):
        """The cells of the first table of a section."""
        section = re.search(rf"^## {re.escape(title)}.*?(?=^## |\Z)", self.page, re.M | re.S)[0]
        table = re.search(r"(?:^\|.*\n)+", section, re.M)[0].splitlines()[2:]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]

    def figures(self, name):
        rows = json.loads(subprocess.run([XSP, "sql", self.folder / "results" / name, "select experiment_id, key, value from evaluation",
                                          "--json"], check=True, capture_output=True, timeout=600).stdout)
        return {(row["experiment_id"], row["key"]): row["value"] for row in rows}

    def test_accuracy(self):
        figures = self.figures("accuracy-digits_cnn.xsp")
        (row,) = self.rows("Accuracy across frameworks")
        self.assertEqual(row[:2], ["digits_cnn", "onnxruntime"])
        self.assertAlmostEqual(float(row[2]), float(figures[1, "top1_pct"]), places=2)
        self.assertAlmostEqual(float(row[3]), float(figures[1, "top5_pct"]), places=2)
        self.assertIn(f"| pictures | {PICTURES} |", self.page)

    def test_versions_are_equal_where_they_are_one(self):
        self.assertIn("outputs are equal, bit by bit", self.page)
        self.assertEqual([row[3:5] for row in self.rows("Accuracy and latency across versions")], [["–", "–"], ["0", "0"]])

    def test_times(self):
        self.assertEqual([row[0] for row in self.rows("Latency across frameworks")], ["1", "4"])
        self.assertEqual(self.rows("Layers across frameworks")[0][2], "0")  # ONNX Runtime fuses
        load_ms, _, first, later, times, _ = map(float, self.rows("Cold starts by layer")[0][1:])
        self.assertGreater(load_ms, 0)
        self.assertAlmostEqual(times, first / later, delta=0.05 * times)
        self.assertEqual([row[1] for row in self.rows("Throughput as queries arrive")], ["single-stream", "offline"])

    def test_mistakes(self):
        rows = {row[0]: row for row in self.rows("Mistakes in preparing pictures")}
        self.assertEqual(len(rows), len(self.measure.MISTAKES) - len(self.measure.REFUSED))
        self.assertEqual({row[5] for row in rows.values()}, {"data"})
        for name, title in (("channels", "blue, green, red instead of red, green, blue"), ("filter", "nearest pixel instead of bilinear")):
            figures = self.figures(f"mistake-{name}.xsp")
            lost = float(figures[1, "top1_pct"]) - float(figures[2, "top1_pct"])
            self.assertAlmostEqual(float(rows[title][3]), lost, delta=0.01)
        for note in ("the channels are in the opposite order, as RGB and BGR are", "the second's values are the first's × 0.5",
                     "| filter (bilinear; nearest) |", "| preprocess (none; code) |",
                     "input data is of type float32 in the model, here it is uint8", "dimension 1 of input data is 3 in the model"):
            self.assertIn(note, self.page)

    def test_no_place_of_this_machine_is_on_it(self):
        self.assertNotIn(str(self.folder), self.page)

    def test_the_same_again(self):
        self.assertEqual(self.write_page(), self.page)


if __name__ == "__main__":
    unittest.main()
