# SPDX-License-Identifier: Apache-2.0
"""The XSP paper's tables with numbers, entered as OTLP (paper_tables.py), come back from the analyses: times from the
runs without metrics whose deepest level it is, metrics from the metric runs."""
import pathlib
import unittest

import otlp
import paper_tables as paper
from scripted import temporary_folder, xsp_json

LAYERS, BY_NAME, BATCHES = range(1, 5), range(5, 8), range(8, 44)  # the runs of each experiment
PRINTED = 0.002  # what rounding to the printed digits leaves


class PaperTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = temporary_folder()
        folder = pathlib.Path(cls.temporary.name)
        (folder / "tables.jsonl").write_text(otlp.lines(*paper.requests()))
        cls.file = folder / "tables.xsp"
        cls.reported = xsp_json("import", folder / "tables.jsonl", "-o", cls.file, "--json")
        cls.answers = {}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def analysis(self, name, experiment):
        """The answer of an analysis for one of the experiments (a range of runs)."""
        if name not in self.answers:
            answer = xsp_json("analyze", name, self.file, "--json")
            self.answers[name] = answer if isinstance(answer, list) else [answer]
        return next(one for one in self.answers[name] if set(one["run_set"]["run_ids"]) <= set(experiment))

    def near(self, found, expected, tolerance=1e-6):
        self.assertIsNotNone(found)
        self.assertLessEqual(abs(found - expected), tolerance * abs(expected), f"{found} is not {expected}")

    def roofline(self, row, intensity, tflops, is_memory_bound):
        self.near(row["arithmetic_intensity"], intensity, PRINTED if intensity > 1 else 0.025)
        self.near(row["arithmetic_throughput_flops_per_s"], tflops * 1e12, PRINTED if tflops > 1 else 0.025)
        self.assertEqual(row["bound"], "memory" if is_memory_bound else "compute")


class ImportTest(PaperTest):
    def test_every_span_is_there(self):
        file = self.reported["files"][0]
        self.assertEqual((file["skipped"], file["events"], len(file["run_ids"])), ({}, file["kept"], BATCHES[-1]))
        self.assertEqual(self.reported["unattributed"]["count"], 0)
        self.assertEqual(self.reported["parents"]["ambiguous"], 0)


class ModelTest(PaperTest):
    def test_a1_over_batch_sizes(self):
        answer = self.analysis("A1", BATCHES)
        self.assertEqual([row["batch_size"] for row in answer["rows"]], list(paper.MODEL_MS))
        for row in answer["rows"]:
            latency = paper.MODEL_MS[row["batch_size"]]
            self.near(row["latency_ms"], latency)
            self.near(row["throughput_per_s"], 1000 * row["batch_size"] / latency)
            self.assertEqual((row["is_optimal"], row["is_maximum"]), (row["batch_size"] == 64, row["batch_size"] == 256))
        summary = answer["summary"]
        self.near(summary["online_latency_ms"], 6.21)
        self.near(summary["maximum_throughput_per_s"], 930.7, PRINTED)
        self.assertEqual((summary["maximum_throughput_batch"], summary["optimal_batch"]), (256, 64))
        self.near(summary["cold_latency_ms"], 6.21 * paper.WARMUP)

    def test_a15_table_vi(self):
        rows = {row["batch_size"]: row for row in self.analysis("A15", BATCHES)["rows"]}
        self.assertEqual(list(rows), list(paper.TABLE_VI))
        for batch, (kernels, flops, reads, writes, occupancy, is_memory_bound) in paper.TABLE_VI.items():
            row = rows[batch]
            self.near(row["model_latency_ms"], paper.MODEL_MS[batch])
            self.near(row["kernel_latency_ms"], kernels)
            self.near(row["gpu_latency_ms"], kernels)  # on one stream, one behind the other
            self.near(row["non_gpu_latency_ms"], paper.MODEL_MS[batch] - kernels, 1e-5)
            self.near(row["gpu_pct"], 100 * kernels / paper.MODEL_MS[batch])
            self.near(row["flops"], flops * 1e9)
            self.near(row["dram_read_bytes"], reads * 2**20)
            self.near(row["dram_write_bytes"], writes * 2**20)
            self.near(row["achieved_occupancy_pct"], occupancy)
            self.roofline(row, flops * 1e9 / ((reads + writes) * 2**20), flops / kernels, is_memory_bound)


class LayerTest(PaperTest):
    def test_a2_table_ii(self):
        answer = self.analysis("A2", LAYERS)
        self.assertEqual((answer["summary"]["layers"], answer["summary"]["layers_under_1ms"]),
                         (paper.LAYERS, paper.LAYERS_UNDER_1MS))
        self.near(answer["summary"]["model_latency_ms"], 275.05)
        top = sorted(answer["rows"], key=lambda row: -row["latency_ms"])[:5]
        self.assertEqual([row["layer_index"] for row in top], list(paper.TABLE_II))
        for row, (name, shape, latency, alloc) in zip(top, paper.TABLE_II.values()):
            self.assertEqual((row["layer_name"], row["layer_type"], row["layer_shape"]), (name, "Conv2D", shape))
            self.near(row["latency_ms"], latency)
            self.near(row["alloc_bytes"], alloc * 1e6)

    def test_a3_to_a7_agree_with_a2(self):
        layers = self.analysis("A2", LAYERS)["rows"]
        latency = sum(row["latency_ms"] for row in layers)
        memory = sum(row["alloc_bytes"] for row in layers)
        for name, key, total in (("A3", "latency_ms", latency), ("A4", "alloc_bytes", memory)):
            answer = self.analysis(name, LAYERS)
            thirds = [0, 0, 0]
            for position, row in enumerate(layers):
                thirds[3 * position // len(layers)] += row[key]
            for stage, third in zip(("beginning_pct", "middle_pct", "end_pct"), thirds):
                self.near(answer["summary"][stage], 100 * third / total)
            self.assertEqual(answer["summary"]["stage"], "BME"[thirds.index(max(thirds))])
        for name, key, total in (("A5", "count", len(layers)), ("A6", "latency_ms", latency), ("A7", "alloc_bytes", memory)):
            expected = {}
            for row in layers:
                expected[row["layer_type"]] = expected.get(row["layer_type"], 0) + (1 if key == "count" else row[key])
            rows = self.analysis(name, LAYERS)["rows"]
            self.assertEqual({row["layer_type"] for row in rows}, set(expected))
            for row in rows:
                self.near(row[key], expected[row["layer_type"]])
                self.near(row[{"count": "count_pct", "latency_ms": "latency_pct", "alloc_bytes": "alloc_pct"}[key]],
                          100 * expected[row["layer_type"]] / total)

    def test_a11_table_v(self):
        rows = {row["layer_index"]: row for row in self.analysis("A11", LAYERS)["rows"]}
        self.assertEqual(len(rows), paper.LAYERS)
        for layer, (latency, kernels, flops, reads, writes, occupancy, intensity, tflops, bound) in paper.TABLE_V.items():
            row = rows[layer]
            self.near(row["layer_latency_ms"], latency)
            self.near(row["kernel_latency_ms"], kernels, PRINTED)
            self.near(row["flops"], flops * 1e9, PRINTED)
            self.near(row["dram_read_bytes"], reads * 2**20, PRINTED)
            self.near(row["dram_write_bytes"], writes * 2**20, PRINTED)
            self.near(row["achieved_occupancy_pct"], occupancy, PRINTED)
            self.roofline(row, intensity, tflops, bound)

    def test_a12_and_a14_agree_with_a11(self):
        layers = {row["layer_index"]: row for row in self.analysis("A11", LAYERS)["rows"]}
        for row in self.analysis("A12", LAYERS)["rows"]:
            other = layers[row["layer_index"]]
            for key in ("flops", "dram_read_bytes", "dram_write_bytes"):
                self.assertEqual(row[key], other[key])
            self.assertEqual(row["dram_bytes"], other["dram_read_bytes"] + other["dram_write_bytes"])
        roofs = self.analysis("A14", LAYERS)["rows"]
        self.assertEqual(len(roofs), paper.LAYERS)
        for row in roofs:
            other = layers[row["layer_index"]]
            self.assertEqual((row["arithmetic_intensity"], row["bound"]), (other["arithmetic_intensity"], other["bound"]))

    def test_a13_time_without_the_gpu(self):
        rows = {row["layer_index"]: row for row in self.analysis("A13", LAYERS)["rows"]}
        for layer, (latency, kernels) in ((layer, row[:2]) for layer, row in paper.TABLE_V.items()):
            self.near(rows[layer]["gpu_latency_ms"], kernels, PRINTED)
            self.assertAlmostEqual(rows[layer]["non_gpu_latency_ms"], latency - kernels, delta=0.006)
            self.near(rows[layer]["gpu_pct"], 100 * kernels / latency, PRINTED)


class KernelTest(PaperTest):
    def test_a8_table_iii(self):
        answer = self.analysis("A8", LAYERS)
        summary = answer["summary"]
        self.assertEqual((summary["kernels"], summary["kernels_under_1ms"], summary["distinct_names"]),
                         (paper.KERNELS, paper.KERNELS_UNDER_1MS, paper.KERNEL_NAMES))
        top = sorted(answer["rows"], key=lambda row: -row["latency_ms"])
        # Layer 113's kernel is in Table V only: 4.57 ms, between the fourth and the fifth of Table III.
        self.assertEqual(top.pop(4)["layer_index"], 113)
        for row, (name, layer, latency, flops, reads, writes, occupancy, intensity, tflops, bound) in zip(top, paper.TABLE_III):
            self.assertEqual((row["kernel_name"], row["layer_index"]), (name, layer))
            self.near(row["latency_ms"], latency)
            self.near(row["flops"], flops * 1e9)
            self.near(row["dram_read_bytes"], reads * 2**20)
            self.near(row["dram_write_bytes"], writes * 2**20)
            self.near(row["achieved_occupancy_pct"], occupancy)
            self.roofline(row, intensity, tflops, bound)

    def test_a9_roofs(self):
        answer = self.analysis("A9", LAYERS)
        self.assertEqual(len(answer["rows"]), paper.KERNELS)
        found = {**answer["summary"], **answer["rows"][0]}
        self.assertEqual(found["peak_flops_per_s"], paper.PEAK_FLOPS)
        self.assertEqual(found["memory_bandwidth_bytes_per_s"], paper.BANDWIDTH)
        self.near(found["ideal_arithmetic_intensity"], 17.44, PRINTED)

    def test_a10_table_iv(self):
        rows = self.analysis("A10", BY_NAME)["rows"]
        self.assertEqual([row["kernel_name"] for row in rows], [row[0] for row in paper.TABLE_IV])
        for row, (_, calls, latency, pct, flops, reads, writes, occupancy, intensity, tflops, bound) in zip(
                rows, paper.TABLE_IV):
            self.assertEqual(row["count"], calls)
            self.near(row["latency_ms"], latency)
            self.near(row["latency_pct"], pct, PRINTED)
            self.near(row["flops"], flops * 1e9)
            self.near(row["dram_read_bytes"], reads * 2**20)
            self.near(row["dram_write_bytes"], writes * 2**20)
            self.near(row["achieved_occupancy_pct"], occupancy)
            self.roofline(row, intensity, tflops, bound)

    def test_levels_cost_what_was_put_in(self):
        rows = {row["levels"]: row for row in self.analysis("L0", LAYERS)["rows"]}
        self.near(rows["M"]["latency_ms"], 275.05)
        self.assertGreater(rows["M/L"]["overhead_ms"], 100)
        self.assertGreater(rows["M/L/K"]["overhead_ms"], 0)


if __name__ == "__main__":
    unittest.main()
