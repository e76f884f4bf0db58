# SPDX-License-Identifier: Apache-2.0
"""tools/evaluation over a folder of small experiments whose figures decide each finding one way or the other."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

from scripted import XSP, temporary_folder
from small_zoo import Layer, Model

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
CPU = {"cpu_model": "Small CPU", "peak_flops_per_s": 1e6, "memory_bandwidth_bytes_per_s": 1e9}
GPU = {"gpu": "Tesla P4", "peak_flops_per_s": 5.5e12, "memory_bandwidth_bytes_per_s": 192e9}
CLASSES = {"task": "image classification", "graph_bytes": 10_000_000}


def layers(convolution, element_wise=0.1, late=False):
    body = [Layer("conv", "Conv2D", convolution, 4000, flops=100, reads=10, writes=10), Layer("bias", "BiasAdd", element_wise, 10),
            Layer("dense", "MatMul", 0.2, 20, matrix=(8, 100)), Layer("pool", "AvgPool", 0.01, 10), Layer("a", "Relu", 0.01, 1),
            Layer("b", "Softmax", 0.01, 1)]
    return body[::-1] if late else body


def pair(name, base, other, element_wise=0.1, **more):
    """A model in TensorFlow and in MXNet: latencies at batch sizes 1 and 2."""
    return [Model(name, "tensorflow", {1: base, 2: 2 * base}, layers(base / 2, element_wise), "2.21", CPU, CLASSES, **more),
            Model(name, "mxnet", {1: other, 2: 2 * other}, layers(other / 2, 0.05, True), "1.9.1", CPU, CLASSES, **more)]


def zoo():
    models = []
    for depth in (50, 101, 152):
        models += pair(f"ResNet{depth}_v1", depth / 10, depth / 10 * 1.5, has_kernels=True)
    for width in ("0.25", "0.5", "1.0"):
        models += pair(f"MobileNet_v1_{width}_224", 2 + float(width), 2 + float(width) * 0.95, element_wise=0.3)
    models.append(Model("SSD", "tensorflow", {1: 10.0}, [Layer("w", "Where", 5.0), Layer("c", "Conv2D", 1.0)], "2.21", CPU,
                        {"task": "object detection"}))
    models.append(Model("SRGAN", "tensorflow", {1: 9.0}, [Layer("c", "Conv2D", 1.0), Layer("a", "Add", 3.0)], "2.21", CPU,
                        {"task": "super resolution"}))
    models.append(Model("ResNet50_v1", "tensorflow", {1: 2.0, 2: 4.0}, layers(1.0), "2.21", GPU, CLASSES, has_kernels=True))
    return models


def evaluate(folder, check=0):
    result = subprocess.run([sys.executable, "-B", SOURCE / "tools" / "evaluation", folder], capture_output=True, timeout=600,
                            env={**os.environ, "XSP": str(XSP)})
    if result.returncode != check:
        raise AssertionError(f"status {result.returncode}: {result.stderr.decode()}")
    return result.stdout.decode()


class EvaluationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = temporary_folder()
        cls.folder = pathlib.Path(cls.temporary.name)
        for number, model in enumerate(zoo()):
            model.write(cls.folder, f"{number:02}.xsp")
        cls.page = evaluate(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def reported(self, title):
        found = re.search(rf"\*\*{re.escape(title)}: (.*?)\.\*\*\n\n- The paper: .*\n- Here: (.*)\.\n- Rule: .+", self.page)
        self.assertIsNotNone(found, f"{title} is not on the page")
        self.assertIn(f"| {title} | {found[1]} |", self.page)
        return found[1], found[2]

    def decided(self, title, verdict, *parts):
        found, text = self.reported(title)
        self.assertEqual(found, verdict, f"{title}: {text}")
        for part in parts:
            self.assertIn(part, text)

    def test_models(self):
        self.decided("Convolutions dominate image classification", "holds", "50.0", "n = 13")
        self.decided("They do not dominate object detection", "holds", "10.0 % (n = 1)", "Where")
        self.decided("Convolutions dominate super resolution", "does not hold", "0 of 1")
        self.decided("Convolutions dominate instance segmentation", "not measurable here", "instance segmentation")
        self.decided("Large batches are worth it", "does not hold", "1 to 1", "n = 13")
        self.decided("Occupancy rises towards the optimal batch size", "not measurable here")
        self.decided("The GPU's share goes with the work", "not measurable here", "kernel level")
        self.decided("The demanding thirds vary", "does not hold", "latency B 7, M 0, E 6", "flops B 0, M 13, E 0")
        self.decided("A few layers take much of the time", "holds")

    def test_no_model_comes_near_the_peak(self):
        # 1,600 flops an input, of 1 Mflop/s, in 2 ms + 0.25 * 0.95: MXNet's narrowest MobileNet is the fastest model.
        self.decided("No model comes near the peak", "does not hold", f"to {100 * 1600 / 2.2375e-3 / 1e6:.1f} %",
                     "MobileNet_v1_0.25_224 (mxnet)")

    def test_frameworks(self):
        self.decided("The optimal batch sizes match", "holds", "6 of 6 pairs")
        self.decided("ResNets: MXNet is slower online", "holds", "1.50 to 1.50 (median 1.50, n = 3)")
        self.decided("ResNets: about the same maximum throughput", "does not hold", "0.67")
        self.decided("ResNets: MXNet's overhead is fixed", "does not hold", "1.50 to 1.50 (median 1.50, n = 3) at the best")
        self.decided("ResNets are compute-bound, MobileNets memory-bound", "not measurable here", "0 ResNets and 0 MobileNets")
        self.decided("ResNets: it is the time outside the GPU", "holds")
        self.decided("ResNets: the same work", "not measurable here", "no ResNet pairs have the flops of all layers")
        self.decided("MobileNets: the same online latency", "holds", "n = 3")
        self.decided("MobileNets: MXNet has more throughput", "does not hold")
        self.decided("MobileNets: element-wise layers cost TensorFlow more", "holds", "TensorFlow 0.310", "MXNet 0.060")

    def test_systems(self):
        self.decided("Performance differs across systems at each batch size", "holds", "2.50")
        self.decided("Bandwidth counts besides the peak", "not measurable here")
        self.decided("Kernels depend on the system", "does not hold", "0 of 1")

    def test_the_top_says_where_from(self):
        top = self.page.split("## ")[0]
        for part in ("Small CPU (14 profiles)", "Tesla P4", "13 image classification", "mxnet 1.9.1 (6)",
                     "tensorflow 2.21 (9)", "noise", "| batch sizes | 1, 2 |", "2023-11-14"):
            self.assertIn(part, top)
        held, failed, unknown = map(int, re.findall(r"\*\*(\d+)\*\* (?:hold|do not|are not)", top))
        for verdict, count in (("holds", held), ("does not hold", failed), ("not measurable here", unknown)):
            self.assertEqual(len(re.findall(rf"^\| [IV-]+[A-D], .* \| {verdict} \|$", top, re.M)), count)

    def test_the_same_again(self):
        self.assertEqual(evaluate(self.folder), self.page)

    def test_tables(self):
        for title in ("The models (T8)", "At their optimal batch sizes (T9)", "MXNet normalised to TensorFlow (T10)"):
            self.assertIn(f"## {title}\n", self.page)
        self.assertIn("| ResNet50_v1 | mxnet | image classification | 10.0 | 7.50 |", self.page)
        self.assertIn("| its % | noise |", self.page)


class OtherFoldersTest(unittest.TestCase):
    def setUp(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def test_a_batch_size_that_was_not_reached_decides_nothing(self):
        title = "Large batches are worth it"
        for number in range(2):  # each doubling gains more than 5 %
            Model(f"m{number}", "mxnet", {1: 1.0, 2: 1.2, 4: 1.5}, workload=CLASSES).write(self.folder, f"{number}.xsp")
        page = evaluate(self.folder)
        self.assertIn(f"| {title} | not measurable here |", page)
        self.assertIn("2 not reached (up to batch size 4)", page)
        for number in range(2):
            Model(f"n{number}", "mxnet", {1: 1.0, 2: 1.2, 4: 1.5, 8: 2.0, 16: 2.5}, workload=CLASSES).write(
                self.folder, f"n{number}.xsp")
        Model("k", "mxnet", {1: 1.0, 2: 1.2, 4: 1.5, 8: 2.0, 16: 4.0}, workload=CLASSES).write(self.folder, "k.xsp")
        self.assertIn(f"| {title} | holds |", evaluate(self.folder))

    def test_a_broken_file_is_left_out_and_named(self):
        zoo()[0].write(self.folder, "good.xsp")
        (self.folder / "broken.xsp").write_text("not one")
        page = evaluate(self.folder)
        self.assertIn("| left out | broken.xsp |", page)
        self.assertIn("tensorflow 2.21 (1)", page)

    def test_nothing_to_read(self):
        self.assertEqual(evaluate(self.folder, 2), "")


if __name__ == "__main__":
    unittest.main()
