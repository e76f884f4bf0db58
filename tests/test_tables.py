# SPDX-License-Identifier: Apache-2.0
"""The tables over many files (T8 …): folders, files that cannot be read, and every figure against small_zoo's own."""
import csv
import io
import json
import pathlib
import shutil
import unittest

import otlp
import paper_tables as paper
from scripted import temporary_folder, xsp, xsp_json
from small_zoo import Layer, Model

GPU = {"gpu": "Tesla V100-SXM2-16GB", "cpu_model": "Small CPU", "peak_flops_per_s": 15.7e12,
       "memory_bandwidth_bytes_per_s": 900e9}


def convolutional(share=0.6):
    """Ten layers of a TensorFlow graph, four of which compute nothing and come first."""
    idle = [Layer(f"weights {i}", "Const", 0.001, 0, "constant") for i in range(4)]
    body = [Layer("conv1", "Conv2D", share, 4000, flops=9_000_000, reads=2000, writes=500),
            Layer("relu1", "Relu", 0.1, 3000, flops=1000, reads=9000, writes=4000),
            Layer("conv2", "DepthwiseConv2dNative", share / 2, 2000, flops=2_000_000, reads=100, writes=50),
            Layer("cast", "Convert", 0.05, 2000, flops=0),
            Layer("relu2", "Relu", 0.1, 90000, flops=500, reads=700, writes=300),
            Layer("dense", "MatMul", 0.3, 100, matrix=(64, 1000), flops=4_000_000, reads=80, writes=20)]
    return idle + body


def zoo():
    return [
        Model("ResNet50_v1", "tensorflow", {1: 2.0, 2: 3.0, 4: 5.9, 8: 11.7}, convolutional(), "2.21", GPU,
              {"task": "image classification", "graph_bytes": 102_000_000}, True, True),
        Model("ResNet50_v1", "mxnet", {1: 4.0, 2: 3.9, 4: 6.1, 8: 12.0}, convolutional(0.5), "1.9.1", GPU,
              {"task": "image classification", "graph_bytes": 98_000_000}, True, False),
        Model("Words", "onnxruntime", {1: 1.0, 4: 2.0}, [Layer("m", "MatMul", 0.7, matrix=(8, 8)), Layer("a", "Add", 0.2)],
              "1.31", {"cpu_model": "Small CPU"}, {"task": "text"}, layer_batches=(1,)),
        Model("Bare", "onnxruntime", {2: 1.0, 4: 1.5}),
    ]


class Case(unittest.TestCase):
    def near(self, found, expected, tolerance=1e-9):
        if expected is None:
            self.assertIsNone(found)
            return
        self.assertIsNotNone(found)
        self.assertLessEqual(abs(found - expected), tolerance * abs(expected), f"{found} is not {expected}")


class ZooCase(Case):
    @classmethod
    def setUpClass(cls):
        cls.temporary = temporary_folder()
        cls.folder = pathlib.Path(cls.temporary.name) / "zoo"
        cls.folder.mkdir()
        cls.models = zoo()
        for model in cls.models:
            model.write(cls.folder)
        cls.models.sort(key=lambda model: f"{model.framework}-{model.name}")  # as the files stand

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()


class T8Test(ZooCase):
    def test_every_figure(self):
        answer = xsp_json("analyze", "T8", self.folder, "--json")
        self.assertEqual([(row["model_name"], row["framework"]) for row in answer["rows"]],
                         [(model.name, model.framework) for model in self.models])
        for row, model in zip(answer["rows"], self.models):
            self.assertEqual((row["task"], row["graph_bytes"]), (model.workload.get("task"), model.workload.get("graph_bytes")))
            self.assertEqual((row["framework_version"], row["system"]),
                             (model.version, model.system.get("gpu", model.system["cpu_model"])))
            self.near(row["online_latency_ms"], model.model_ms(1) if 1 in model.latency else None)
            self.near(row["maximum_throughput_per_s"], model.throughput(model.maximum_batch()))
            self.assertEqual((row["maximum_throughput_batch"], row["optimal_batch"]),
                             (model.maximum_batch(), model.optimal_batch()))
            self.assertEqual(row["n"], 5 if 1 in model.latency else None)
            if not model.layers:
                self.assertEqual([row[key] for key in ("batch_size", "convolution_pct_of_model", "dominant_layer_type",
                                                       "dominant_layer_pct")], [None] * 4)
                continue
            batch = model.layer_batch()
            self.assertEqual(row["batch_size"], batch)
            self.near(row["convolution_pct_of_model"], model.convolution_pct(batch))
            name, share = model.dominant_type(batch)
            self.assertEqual(row["dominant_layer_type"], name)
            self.near(row["dominant_layer_pct"], share)
        self.assertNotIn("latency_from", answer["rows"][0])  # every figure comes from where it should

    def test_notes_name_what_lacks(self):
        notes = xsp_json("analyze", "T8", self.folder, "--json")["notes"]
        self.assertIn("without the layer level: no share of convolutions: Bare (onnxruntime)", notes)
        self.assertIn("not measured at batch size 1: no online latency: Bare (onnxruntime)", notes)
        self.assertIn("optimal batch size not reached: Bare (onnxruntime), Words (onnxruntime)", notes)

    def test_it_is_what_a1_and_a6_say(self):
        for path in sorted(self.folder.glob("*.xsp")):
            row = xsp_json("analyze", "T8", path, "--json")["rows"][0]
            models = xsp_json("analyze", "A1", path, "--json")["summary"]
            for key in ("online_latency_ms", "maximum_throughput_per_s", "maximum_throughput_batch", "optimal_batch"):
                self.assertEqual(row[key], models[key])
            if row["batch_size"] is not None:
                types = xsp_json("analyze", "A6", path, "--json")
                self.assertEqual(row["convolution_pct_of_model"], types["summary"]["convolution_pct_of_model"])
                self.assertEqual(row["batch_size"], types["run_set"]["batch_size"])

    def test_options(self):
        by_size = xsp_json("analyze", "T8", self.folder, "--sort", "online_latency_ms", "--top", "2", "--json")["rows"]
        self.assertEqual([row["framework"] for row in by_size], ["mxnet", "tensorflow"])
        model = next(model for model in self.models if model.framework == "tensorflow")
        rows = xsp_json("analyze", "T8", self.folder, "--batch", "8", "--json")["rows"]
        row = next(row for row in rows if row["framework"] == "tensorflow")
        self.assertEqual(row["batch_size"], 8)
        self.near(row["convolution_pct_of_model"], model.convolution_pct(8))
        self.near(row["online_latency_ms"], model.model_ms(1))  # of one input, whatever the batch size looked at
        row = xsp_json("analyze", "T8", self.folder, "--optimal", "latency<=3.5ms", "--json")["rows"][-1]
        self.assertEqual((row["model_name"], row["optimal_batch"], row["batch_size"]), ("ResNet50_v1", 2, 2))
        largest = xsp_json("analyze", "T8", self.folder, "--stat", "max", "--json")["rows"][-1]
        self.near(largest["online_latency_ms"], 2.0 * 1.4)
        self.assertIn("throughput_per_s", xsp("analyze", "T8", self.folder, "--sort", "colour", check=2).stderr.decode())
        xsp("analyze", "T8", self.folder, "--stat", "average", check=2)

    def test_all_forms(self):
        text = xsp("analyze", "T8", self.folder, check=0).stdout.decode()
        self.assertIn("ResNet50_v1", text)
        self.assertIn("102", text)  # megabytes
        rows = list(csv.DictReader(io.StringIO(xsp("analyze", "T8", self.folder, "--format", "csv", check=0).stdout.decode())))
        self.assertEqual(len(rows), len(self.models))
        self.assertEqual(float(rows[-1]["graph_bytes"]), 102_000_000)
        self.assertIn("| ResNet50_v1 |", xsp("analyze", "T8", self.folder, "--format", "markdown", check=0).stdout.decode())


class FilesTest(ZooCase):
    def setUp(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        self.copy = pathlib.Path(temporary.name) / "copy"
        shutil.copytree(self.folder, self.copy)

    def names(self, *paths, check=0):
        result = xsp("analyze", "T8", *paths, "--json", check=check)
        answer = json.loads(result.stdout)
        return [(row["framework"], row["model_name"]) for row in answer["rows"]], answer["notes"], result.stderr.decode()

    def test_files_and_folders(self):
        everything, _, _ = self.names(self.folder)
        self.assertEqual(self.names(*sorted(self.folder.glob("*.xsp")))[0], everything)
        one = self.folder / "onnxruntime-Bare.xsp"
        self.assertEqual(self.names(one, f"{self.copy}/")[0], [("onnxruntime", "Bare")] + everything)
        (self.copy / "below").mkdir()
        shutil.copy(one, self.copy / "below")
        shutil.copy(one, self.copy / ".hidden.xsp")
        self.assertEqual(self.names(self.copy)[0], everything)  # not recursive
        xsp("analyze", "A1", self.folder, check=2)  # only where the question is about many
        xsp("analyze", "T8", "A1", self.folder, check=2)

    def test_what_cannot_be_read_is_named_and_kept_out(self):
        everything, _, _ = self.names(self.folder)
        good = (self.copy / "mxnet-ResNet50_v1.xsp").read_bytes()
        (self.copy / "a_text.xsp").write_text("not one")
        (self.copy / "cut.xsp").write_bytes(good[:len(good) // 2])
        (self.copy / "empty.xsp").write_bytes(b"")
        (self.copy / "later.xsp.partial").write_bytes(good)
        (self.copy / "notes.txt").write_text("not ours")
        (self.copy / "folder.xsp").mkdir()
        names, notes, stderr = self.names(self.copy, check=2)
        self.assertEqual(names, everything)
        for name in ("a_text.xsp", "cut.xsp", "empty.xsp", "folder.xsp", "later.xsp.partial"):
            self.assertEqual(sum(name in note for note in notes), 1, name)
            self.assertEqual(stderr.count(name), 1, name)
        self.assertEqual(len(stderr.splitlines()), 5)
        for name in ("a_text.xsp", "cut.xsp", "empty.xsp", "folder.xsp"):
            path = self.copy / name
            path.rmdir() if path.is_dir() else path.unlink()
        self.assertEqual(self.names(self.copy)[0], everything)  # an unfinished one alone is no error
        broken = self.copy / "broken.xsp"
        broken.write_text("not one")
        self.assertEqual(self.names(broken, self.folder, check=2)[0], everything)
        result = xsp("analyze", "T8", broken, check=2)
        self.assertEqual((result.stdout, len(result.stderr.splitlines())), (b"", 1))
        self.assertEqual(xsp("analyze", "A1", broken, self.folder, check=2).stdout, b"")

    def test_nothing_to_read(self):
        empty = self.copy / "empty"
        empty.mkdir()
        result = xsp("analyze", "T8", empty, check=2)
        self.assertEqual((result.stdout, len(result.stderr.splitlines())), (b"", 1))
        self.assertIn("no .xsp file", result.stderr.decode())
        xsp("analyze", "T8", self.copy / "missing", check=2)
        xsp("analyze", "T8", check=2)
        self.assertIn("T8", xsp("analyze", "T7", self.copy, check=2).stderr.decode())

    def test_files_without_what_is_needed(self):
        lines = otlp.request([otlp.span(1, "kernel", 0, 100, level="kernel", more={"xsp.category": "kernel"})],
                             {"xsp.experiment": "kernels", "xsp.levels": "K"})
        (self.copy / "k.jsonl").write_text(otlp.lines(lines))
        alone = self.copy / "alone"
        alone.mkdir()
        xsp("import", self.copy / "k.jsonl", "-o", alone / "k.xsp", check=0)
        result = xsp("analyze", "T8", alone, check=1)
        self.assertEqual((result.stdout, len(result.stderr.splitlines())), (b"", 1))


class PaperTest(Case):
    """Table VIII's row of MLPerf ResNet50 v1.5, from the latencies of Table VI."""

    def test_t8(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        folder = pathlib.Path(temporary.name)
        (folder / "tables.jsonl").write_text(otlp.lines(*paper.requests()))
        xsp("import", folder / "tables.jsonl", "-o", folder / "tables.xsp", check=0)
        rows = xsp_json("analyze", "T8", folder, "--json")["rows"]
        self.assertEqual(len(rows), 3)
        row = rows[-1]
        self.assertEqual((row["model_name"], row["framework"], row["system"]),
                         ("MLPerf_ResNet50_v1.5", "TensorFlow", "Tesla_V100"))
        self.near(row["online_latency_ms"], 6.21)
        self.near(row["maximum_throughput_per_s"], 930.7, 0.002)
        self.assertEqual((row["maximum_throughput_batch"], row["optimal_batch"]), (256, 64))


if __name__ == "__main__":
    unittest.main()
