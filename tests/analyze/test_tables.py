# SPDX-License-Identifier: Apache-2.0
"""The tables over many files (T8 …): folders, files that cannot be read, and every figure against small_zoo's own."""
import contextlib
import csv
import io
import json
import pathlib
import shutil
import sqlite3
import unittest

import otlp
import paper_depth
import paper_tables as paper
from scripted import temporary_folder, xsp, xsp_json
from small_zoo import Layer, Model

GPU = {"gpu": "Tesla V100-SXM2-16GB", "cpu_model": "Small CPU", "peak_flops_per_s": 15.7e12,
       "memory_bandwidth_bytes_per_s": 900e9}


P4 = {"gpu": "Tesla P4", "cpu_model": "Small CPU", "peak_flops_per_s": 5.5e12, "memory_bandwidth_bytes_per_s": 192e9}


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
        self.assertNotIn("latency_from", answer["rows"][0])  # no figure comes from another run

    def test_notes_name_what_lacks(self):
        notes = "\n".join(xsp_json("analyze", "T8", self.folder, "--json")["notes"])
        self.assertRegex(notes, r"layer level: .*convolutions: Bare \(onnxruntime\)")
        self.assertRegex(notes, r"online latency: Bare \(onnxruntime\)")
        self.assertRegex(notes, r"not reached: Bare \(onnxruntime\), Words \(onnxruntime\)")

    def test_other_analyses_say_that_they_take_no_folder(self):
        line = xsp("analyze", "A1", self.folder, check=2).stderr.decode()
        self.assertRegex(line, "directory; try: .*T8")

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

    def test_a_name_may_have_spaces(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        Model("run 7", "mxnet", {1: 1.0}, workload={"model_name": "ResNet 50 v1"}).write(temporary.name, "a.xsp")
        row, = xsp_json("analyze", "T8", temporary.name, "--json")["rows"]
        self.assertEqual(row["model_name"], "ResNet 50 v1")

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
        xsp("analyze", "A1", self.folder, check=2)  # only for questions about many files
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

    def test_a_file_that_breaks_while_it_is_read(self):
        everything, _, _ = self.names(self.folder)
        for name, change in (("tensorflow-ResNet50_v1.xsp", "drop table system"), ("mxnet-ResNet50_v1.xsp", "drop table observation"),
                             ("onnxruntime-Words.xsp", "update chunk set data = x'00' where run_id = 2")):
            with contextlib.closing(sqlite3.connect(self.copy / name)) as database:
                database.execute(change)
                database.commit()
        names, notes, stderr = self.names(self.copy, check=2)
        self.assertEqual(names, [("onnxruntime", "Bare")])
        for name in ("tensorflow-ResNet50_v1.xsp", "mxnet-ResNet50_v1.xsp", "onnxruntime-Words.xsp"):
            self.assertEqual((sum(name in note for note in notes), stderr.count(name)), (1, 1), name)
        result = xsp("analyze", "T8", "T9", "T11", self.copy, "--json", check=2)
        self.assertEqual([len(answer["rows"]) for answer in json.loads(result.stdout)], [1, 1, 4])  # T11 reads no layers
        self.assertEqual(len(result.stderr.splitlines()), 3)
        result = xsp("analyze", "T9", self.copy / "mxnet-ResNet50_v1.xsp", check=2)
        self.assertEqual((result.stdout, len(result.stderr.splitlines())), (b"", 1))
        result = xsp("analyze", "T10", *sorted(self.folder.glob("*.xsp")), self.copy / "onnxruntime-Words.xsp", "--base", "mxnet",
                     "--json", check=2)
        self.assertEqual(len(json.loads(result.stdout)["rows"]), 1)

    def test_nothing_to_read(self):
        empty = self.copy / "empty"
        empty.mkdir()
        result = xsp("analyze", "T8", empty, check=2)
        self.assertEqual((result.stdout, len(result.stderr.splitlines())), (b"", 1))
        self.assertIn(".xsp", result.stderr.decode())
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


class T9Test(ZooCase):
    def rows(self, *options):
        rows = xsp_json("analyze", "T9", self.folder, *options, "--json")["rows"]
        return {(row["framework"], row["model_name"]): row for row in rows}

    def test_measured(self):
        model = next(model for model in self.models if model.has_metrics)
        row = self.rows()["tensorflow", "ResNet50_v1"]
        batch = model.optimal_batch()
        self.assertEqual((row["batch_size"], row["optimal_batch"], row["flops_from"]), (batch, batch, "measured"))
        self.near(row["latency_ms"], model.model_ms(batch))
        self.near(row["kernel_latency_ms"], model.kernel_ms(batch), 1e-6)  # whole nanoseconds a kernel
        self.near(row["gpu_pct"], 100 * model.kernel_ms(batch) / model.model_ms(batch), 1e-6)
        flops, reads, writes = (model.metric(name, batch) for name in ("flops", "reads", "writes"))
        self.assertEqual((row["flops"], row["dram_read_bytes"], row["dram_write_bytes"]), (flops, reads, writes))
        self.assertIsNone(row["layers_without_flops"])
        self.near(row["achieved_occupancy_pct"], 40)
        self.near(row["arithmetic_intensity"], flops / (reads + writes))
        self.near(row["arithmetic_throughput_flops_per_s"], flops / (model.kernel_ms(batch) / 1e3), 1e-6)
        self.near(row["ideal_arithmetic_intensity"], 15.7e12 / 900e9)
        self.assertEqual(row["bound"], "compute" if flops / (reads + writes) > 15.7e12 / 900e9 else "memory")

    def test_stages_leave_out_layers_that_compute_nothing(self):
        model = next(model for model in self.models if model.has_metrics)
        row = self.rows()["tensorflow", "ResNet50_v1"]
        for key, amount in (("latency_stage", lambda layer: layer.ms), ("memory_stage", lambda layer: layer.alloc),
                            ("flops_stage", lambda layer: layer.flops if layer.flops else 0),
                            ("traffic_stage", lambda layer: layer.reads + layer.writes if layer.flops else 0)):
            self.assertEqual(row[key], model.stage(amount), key)
        # With its constants in front the same model has its work elsewhere: A3 counts all layers.
        summary = xsp_json("analyze", "A3", self.folder / "tensorflow-ResNet50_v1.xsp", "--json")["summary"]
        self.assertEqual((summary["stage"], row["latency_stage"]), ("M", "B"))

    def test_analytic_where_not_measured(self):
        rows = self.rows()
        for framework in ("mxnet", "onnxruntime"):
            model = next(model for model in self.models if model.framework == framework and model.layers)
            row = rows[framework, model.name]
            batch = model.layer_batch()
            self.assertEqual((row["batch_size"], row["flops_from"]), (batch, "analytic"))
            for key in ("dram_read_bytes", "dram_write_bytes", "achieved_occupancy_pct", "arithmetic_intensity",
                        "arithmetic_throughput_flops_per_s", "bound", "traffic_stage"):
                self.assertIsNone(row[key], key)
            self.assertEqual(row["gpu_pct"] is None, not model.has_kernels)
            self.assertEqual(row["flops"], model.analytic_flops(batch))
            self.assertEqual(row["layers_without_flops"], sum(not layer.matrix for layer in model.computing()))
            self.assertEqual(row["flops_stage"], model.stage(lambda layer: layer.matrix[0] * layer.matrix[1] if layer.matrix else 0))
            self.near(row["analytic_throughput_flops_per_s"], model.analytic_flops(batch) / (model.model_ms(batch) / 1e3))
        bare = rows["onnxruntime", "Bare"]
        self.assertEqual((bare["batch_size"], bare["flops"], bare["flops_from"], bare["latency_stage"]), (4, None, None, None))
        words = rows["onnxruntime", "Words"]  # its layers are known at batch 1 only
        self.assertEqual((words["batch_size"], words["optimal_batch"]), (1, None))

    def test_notes(self):
        notes = " ".join(xsp_json("analyze", "T9", self.folder, "--json")["notes"])
        for part in ("partial", "no stages: Bare", "metrics", "neither measured"):
            self.assertIn(part, notes)

    def test_other_batch_size(self):
        row = self.rows("--batch", "8")["tensorflow", "ResNet50_v1"]
        model = next(model for model in self.models if model.has_metrics)
        self.assertEqual((row["batch_size"], row["flops"]), (8, model.metric("flops", 8)))
        self.near(row["latency_ms"], model.model_ms(8))
        self.assertIsNone(self.rows("--batch", "8")["onnxruntime", "Words"]["latency_ms"])
        lacking = xsp("analyze", "T9", self.folder, "--batch", "3", check=1)
        self.assertIn("batch size", lacking.stderr.decode())


class T10Test(ZooCase):
    def test_pairs(self):
        answer = xsp_json("analyze", "T10", self.folder, "--base", "TensorFlow", "--json")
        self.assertEqual(len(answer["rows"]), 1)
        row = answer["rows"][0]
        mxnet = next(model for model in self.models if model.framework == "mxnet")
        base = next(model for model in self.models if model.framework == "tensorflow")
        self.assertEqual((row["model_name"], row["framework"], row["base_framework"]), ("ResNet50_v1", "mxnet", "tensorflow"))
        self.near(row["normalized_online_latency"], mxnet.model_ms(1) / base.model_ms(1))
        self.near(row["normalized_maximum_throughput"],
                  mxnet.throughput(mxnet.maximum_batch()) / base.throughput(base.maximum_batch()))
        self.assertEqual((row["optimal_batch"], row["base_optimal_batch"]), (mxnet.optimal_batch(), base.optimal_batch()))
        self.near(row["convolution_pct_of_model"], mxnet.convolution_pct(mxnet.optimal_batch()))
        self.near(row["base_convolution_pct_of_model"], base.convolution_pct(base.optimal_batch()))
        self.assertEqual((row["flops_from"], row["base_flops_from"]), ("analytic", "measured"))
        self.near(row["online_non_gpu_latency_ms"], mxnet.model_ms(1) - mxnet.kernel_ms(1), 1e-6)
        self.near(row["base_online_non_gpu_latency_ms"], base.model_ms(1) - base.kernel_ms(1), 1e-6)
        notes = " ".join(answer["notes"])
        self.assertIn("Bare (onnxruntime), Words (onnxruntime)", notes)
        self.assertIn("flops", notes)

    def test_base(self):
        row = xsp_json("analyze", "T10", self.folder, "--base", "mxnet==1.9.1", "--json")["rows"][0]
        self.assertEqual((row["framework"], row["base_framework"]), ("tensorflow", "mxnet"))
        xsp("analyze", "T10", self.folder, "--base", "mxnet==1.8", check=2)
        xsp("analyze", "T10", self.folder, "--base", "caffe", check=2)
        # The framework with most models is ONNX Runtime, which shares none with another.
        xsp("analyze", "T10", self.folder, check=1)

    def test_names_and_versions_and_systems(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        for name, framework, version, system in (("Res-Net 50 V1", "mxnet", "1.9.1", GPU), ("resnet50_v1", "tensorflow", "2.20", GPU),
                                                 ("ResNet50_v1", "tensorflow", "2.21", GPU), ("ResNet50_v1", "mxnet", "1.9.1", P4)):
            model = Model(name, framework, {1: 2.0}, version=version, system=system)
            model.write(temporary.name, f"{framework}-{version}-{system['gpu']}.xsp")
        answer = xsp_json("analyze", "T10", temporary.name, "--base", "tensorflow==2.21", "--json")
        self.assertEqual([(row["framework"], row["framework_version"], row["base_framework_version"], row["system"])
                          for row in answer["rows"]],
                         [("mxnet", "1.9.1", "2.21", GPU["gpu"]), ("tensorflow", "2.20", "2.21", GPU["gpu"])])
        self.assertIn("not paired", " ".join(answer["notes"]))

    def test_models_that_do_not_compute_the_same(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        for name, inner in (("same", 1000), ("other", 900)):
            for framework, length in (("tensorflow", 1000), ("openvino", inner)):
                layer = Layer("dense", "MatMul", 0.5, matrix=(length, 100))
                Model(name, framework, {1: 1.0}, [layer]).write(temporary.name)
        notes = xsp_json("analyze", "T10", temporary.name, "--base", "tensorflow", "--json")["notes"]
        found = [note for note in notes if "flops" in note and "5 %" in note]
        self.assertEqual([note.rsplit(": ", 1)[1] for note in found], ["other (openvino)"])


class T11Test(Case):
    def test_systems(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        folder = pathlib.Path(temporary.name)
        fast = Model("ResNet50_v1", "tensorflow", {1: 2.0, 2: 3.0, 4: 5.9}, convolutional(), "2.21", GPU, {}, True)
        slow = Model("ResNet50_v1", "tensorflow", {1: 6.0, 2: 9.0, 8: 40.0}, convolutional(), "2.21", P4)
        fast.write(folder, "a.xsp")
        slow.write(folder, "b.xsp")
        Model("Other", "tensorflow", {1: 1.0}).write(folder, "c.xsp")
        answer = xsp_json("analyze", "T11", folder, "--json")
        rows = {(row["model_name"], row["system"], row["batch_size"]): row for row in answer["rows"]}
        self.assertEqual(len(rows), 7)
        self.assertEqual(answer["summary"]["systems"], 3)
        for model in (fast, slow):
            for batch in model.latency:
                row = rows["ResNet50_v1", model.system["gpu"], batch]
                self.near(row["throughput_per_s"], model.throughput(batch))
                self.near(row["kernel_latency_ms"], model.kernel_ms(batch) if model.has_kernels else None, 1e-6)
                has_both = model is slow and batch in fast.latency
                self.near(row["normalized_throughput"], slow.throughput(batch) / fast.throughput(batch) if has_both else None)
        notes = " ".join(answer["notes"])
        self.assertRegex(notes, "Tesla V100-SXM2-16GB .*Tesla P4 .*gpu, memory_bandwidth_bytes_per_s, peak_flops_per_s")
        self.assertRegex(notes, r"one system.*: Other \(tensorflow\)")
        self.assertRegex(notes, "kernel level: .*GPU latency: ResNet50_v1")

    def test_one_machine_is_one_system(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        for host, cpus in (("a", 2), ("b", 2), ("c", 8)):
            Model("m", "mxnet", {1: 1.0}, system={"host": host, "cpu_model": "EPYC", "cpus_allowed": cpus}).write(
                temporary.name, f"{host}.xsp")
        answer = xsp_json("analyze", "T11", temporary.name, "--json")
        self.assertEqual([row["system"] for row in answer["rows"]], ["EPYC", "EPYC", "EPYC (cpus_allowed 8)"])
        self.assertEqual(answer["summary"]["systems"], 2)

    def test_systems_of_one_name_say_all_that_tells_them_apart(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        for number, (gpus, cpus) in enumerate(((1, 8), (2, 4), (2, 8))):
            Model("m", "mxnet", {1: 1.0}, system={"gpu": "Tesla P4", "gpu_count": gpus, "cpus": cpus}).write(
                temporary.name, f"{number}.xsp")
        rows = xsp_json("analyze", "T11", temporary.name, "--json")["rows"]
        self.assertEqual([row["system"] for row in rows],
                         ["Tesla P4", "Tesla P4 (gpu_count 2)", "Tesla P4 (gpu_count 2, cpus 8)"])


    def test_nameless_systems_are_not_the_first(self):
        """Of batch size 2 the first system has no figure that the third one could be compared with."""
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        folder = pathlib.Path(temporary.name)
        for number, latency in enumerate(({1: 1000}, {1: 2000, 2: 2000}, {1: 4000, 2: 4000}), 1):
            source = folder / f"{number}.jsonl"
            source.write_text(otlp.lines(*(otlp.request([otlp.span(1, "net", 0, ns, level="model")],
                                                        {"xsp.experiment": "m", "xsp.run": batch, "xsp.levels": "M",
                                                         "xsp.batch_size": batch, "xsp.system.cpus": number})
                                           for batch, ns in latency.items())))
            xsp("import", source, "-o", folder / f"{number}.xsp", check=0)
        rows = xsp_json("analyze", "T11", folder, "--json")["rows"]
        self.assertEqual([(row["system"], row["batch_size"], row["normalized_throughput"]) for row in rows],
                         [(None, 1, None), (None, 1, 0.5), (None, 2, None), (None, 1, 0.25), (None, 2, None)])


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

    def test_t9_row_7(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        folder = pathlib.Path(temporary.name)
        (folder / "tables.jsonl").write_text(otlp.lines(*paper.requests()))
        xsp("import", folder / "tables.jsonl", "-o", folder / "tables.xsp", check=0)
        row = xsp_json("analyze", "T9", folder, "--batch", "256", "--json")["rows"][-1]
        printed = dict(latency_ms=275.05, gpu_pct=92.43, flops=1742.39e9, achieved_occupancy_pct=43.15,
                       arithmetic_intensity=30.62, arithmetic_throughput_flops_per_s=6.85e12)
        for key, value in printed.items():
            self.near(row[key], value, 0.002)
        self.near(row["dram_read_bytes"], 24.40e9, 0.005)  # Table VI has 23,185.11 MiB
        self.near(row["dram_write_bytes"], 32.61e9, 0.005)
        self.assertEqual((row["bound"], row["flops_from"]), ("compute", "measured"))


class PaperDepthTest(Case):
    """Tables IX and X: what follows from the figures that are printed, row by row."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = temporary_folder()
        cls.models, cls.pairs = (pathlib.Path(cls.temporary.name) / name for name in ("models", "pairs"))
        cls.models.mkdir()
        cls.pairs.mkdir()
        for row in paper_depth.TABLE_IX:
            paper_depth.write_tensorflow(row, cls.models)
        for row in paper_depth.TABLE_X:
            paper_depth.write_pair(row, cls.pairs)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_t9(self):
        rows = {row["model_name"]: row for row in xsp_json("analyze", "T9", self.models, "--json")["rows"]}
        memory_bound = 0
        for number, latency, gpu, flops, reads, writes, occupancy, intensity, throughput, bound in paper_depth.TABLE_IX:
            row = rows[paper_depth.NAMES[number]]
            self.near(row["latency_ms"], latency)
            self.near(row["gpu_pct"], gpu, 1e-6)
            self.near(row["flops"], flops * 1e9)
            self.near(row["arithmetic_intensity"], intensity, 0.006)  # traffic is printed with three digits
            self.near(row["arithmetic_throughput_flops_per_s"], throughput * 1e12, 0.004)
            self.assertEqual(row["bound"], bound)
            memory_bound += row["bound"] == "memory"
        self.assertEqual(memory_bound, 20)  # "Out of 37 models, 20 are memory-bound"

    def test_t10(self):
        answer = xsp_json("analyze", "T10", self.pairs, "--base", "tensorflow", "--json")
        rows = {row["model_name"]: row for row in answer["rows"]}
        self.assertEqual(len(rows), len(paper_depth.TABLE_X))
        for (number, online, batch, maximum, gpu, flops, reads, writes, occupancy, intensity, throughput, bound) in \
                paper_depth.TABLE_X:
            row = rows[paper_depth.NAMES[number]]
            self.near(row["normalized_online_latency"], online, 1e-6)
            self.near(row["normalized_maximum_throughput"], maximum, 1e-6)
            self.assertEqual((row["optimal_batch"], row["bound"]), (batch, bound))
            self.near(row["gpu_pct"], gpu, 1e-6)
            self.near(row["arithmetic_intensity"], intensity, 0.006)
            if number not in (23, 28, 34):  # where the printed figures do not agree with each other
                self.near(row["arithmetic_throughput_flops_per_s"], throughput * 1e12, 0.01)  # of a ratio of two digits


if __name__ == "__main__":
    unittest.main()
