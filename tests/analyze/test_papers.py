# SPDX-License-Identifier: Apache-2.0
"""The tables of the XSP paper (IPDPS 2020, ResNet50 v1.5 on a V100), entered as OTLP JSON with slower runs for layers and
metrics, come back from the analyses. The paper prints rounded figures: they agree within 0.2 % and half a last digit."""
import json
import pathlib
import unittest

import otlp
from scripted import temporary_folder, xsp, xsp_json

MIB, GIGA = 2**20, 10**9
SYSTEM = {"xsp.system.peak_flops_per_s": 15.7e12, "xsp.system.memory_bandwidth_bytes_per_s": 900e9}

# index, name, type, shape, ms, allocated MB (10**6 bytes)
LAYERS = [(3, "conv2d/Conv2D", "Conv2D", "<256, 64, 112, 112>", 5.08, 822.1),
          (113, "conv2d_26/Conv2D", "Conv2D", "<256, 256, 14, 14>", 4.67, 51.4),
          (195, "conv2d_45/Conv2D", "Conv2D", "<256, 512, 7, 7>", 5.67, 25.7),
          (208, "conv2d_48/Conv2D", "Conv2D", "<256, 512, 7, 7>", 7.59, 25.7),
          (221, "conv2d_51/Conv2D", "Conv2D", "<256, 512, 7, 7>", 7.57, 25.7)]
# layer, kernel, ms, Gflop, reads, writes (MiB), occupancy, then what follows: flops/byte, Tflop/s. Table III.
CGEMM, SCUDNN_128, SCUDNN_64 = ("volta_cgemm_32x32_tn", "volta_scudnn_128x128_relu_interior_nn_v1",
                                "volta_scudnn_128x64_relu_interior_nn_v1")
KERNELS = [(221, CGEMM, 6.04, 77.42, 40.33, 43.86, 12.18, 876.97, 12.82),
           (208, CGEMM, 6.03, 77.42, 43.93, 43.81, 12.19, 841.59, 12.83),
           (195, SCUDNN_128, 5.48, 59.20, 27.71, 8.40, 15.49, 1563.30, 10.80),
           (3, SCUDNN_64, 4.91, 62.89, 11.55, 283.05, 13.20, 203.58, 12.81),
           (57, SCUDNN_128, 4.56, 59.24, 34.83, 37.64, 15.15, 779.55, 12.99)]
# Table IV: kernel, count, ms, % of the model, Gflop, reads, writes, occupancy, flops/byte, Tflop/s, bound
NAMES = [(SCUDNN_64, 34, 84.95, 30.87, 1053.63, 4429.64, 5494.22, 22.58, 101.25, 12.40, "compute"),
         ("Eigen::TensorCwiseBinaryOp<scalar_product_op>", 52, 28.43, 10.33, 2.85, 4181.23, 6371.12, 49.72, 0.26, 0.10,
          "memory"),
         ("Eigen::TensorCwiseBinaryOp<scalar_sum_op>", 51, 26.38, 9.59, 2.64, 4063.49, 6052.22, 49.69, 0.25, 0.10,
          "memory"),
         ("Eigen::TensorCwiseBinaryOp<scalar_max_op>", 48, 24.71, 8.98, 0, 3773.84, 5699.95, 98.39, 0, 0, "memory"),
         (SCUDNN_128, 4, 23.02, 8.37, 276.64, 671.68, 335.01, 15.96, 262.08, 12.02, "compute")]
# Table V: layer, layer ms, kernels' ms, Gflop, reads, writes, occupancy, flops/byte, Tflop/s
BY_LAYER = [(3, 5.08, 4.91, 62.89, 11.55, 284.21, 13.23, 202.78, 12.80),
            (113, 4.67, 4.57, 59.22, 76.65, 21.36, 15.31, 576.17, 12.94),
            (195, 5.67, 5.55, 59.20, 36.51, 17.99, 15.80, 1036.10, 10.67),
            (208, 7.59, 7.45, 79.74, 362.67, 548.50, 19.43, 83.46, 10.70),
            (221, 7.57, 7.43, 79.74, 368.11, 551.70, 19.43, 82.68, 10.73)]
# Table VI: batch, model ms, kernels' ms, Gflop, reads, writes, occupancy, bound
BATCHES = [(1, 6.21, 5.01, 7.94, 192.49, 194.16, 22.65, "compute"), (2, 6.83, 5.93, 16.08, 290.41, 354.54, 22.47, "compute"),
           (4, 8.51, 7.68, 30.95, 659.11, 720.15, 26.39, "compute"),
           (8, 12.80, 11.60, 60.66, 1676.07, 1496.81, 31.97, "compute"),
           (16, 21.90, 20.14, 118.04, 3969.19, 3024.09, 35.58, "memory"),
           (32, 40.03, 37.14, 232.78, 7711.50, 5823.97, 38.76, "memory"),
           (64, 74.03, 67.72, 429.08, 10932.22, 9268.27, 43.18, "compute"),
           (128, 142.89, 131.79, 873.63, 16071.32, 16105.40, 44.48, "compute"),
           (256, 275.05, 254.25, 1742.39, 23185.11, 31095.45, 43.15, "compute")]


def ns(ms):
    return round(ms * 1e6)


class Run:
    """One run: three predictions, each with its layers in order and what they launch, all one after the other."""

    def __init__(self, levels, batch, slower=1):
        self.levels, self.batch, self.slower = levels, batch, slower
        self.spans, self.now = [], 0

    def add(self, name, start, duration_ns, parent=None, **more):
        number = len(self.spans) + 1
        self.spans.append(otlp.span(number, name, start, start + duration_ns, parent, trace=f"{id(self):032x}"[-32:],
                                    **more))
        return number

    def kernels(self, at, parent, kernels):
        for name, ms, gflop, reads, writes, occupancy in kernels:
            metrics = {"flops": round(gflop * GIGA), "dram_read_bytes": reads * MIB, "dram_write_bytes": writes * MIB,
                       "achieved_occupancy_pct": occupancy} if self.levels.endswith("+metrics") else {}
            duration = ns(ms) * self.slower
            self.add(name, at, duration, parent, level="kernel", thread=None,
                     more={"xsp.kind": "execution", "xsp.category": "kernel", "xsp.track": "GPU 0",
                           **{f"xsp.{key}": value for key, value in metrics.items()}})
            at += duration
        return at

    def predict(self, model_ms, layers=(), kernels=()):
        """layers: (index, name, type, shape, ms, bytes, kernels); kernels: those in no layer."""
        for _ in range(3):
            start = self.now
            model = self.add("ResNet50", start, ns(model_ms), level="model", more={"xsp.batch_size": self.batch})
            at = start
            for index, name, kind, shape, ms, allocated, inside in layers:
                layer = self.add(name, at, ns(ms), model, level="layer",
                                 more={"xsp.layer_index": index, "xsp.layer_type": kind, "xsp.layer_shape": shape,
                                       "xsp.alloc_bytes": round(allocated * 1e6)})
                self.kernels(at, layer, inside)
                at += ns(ms)
            self.kernels(at, model, kernels)
            self.now += ns(model_ms) * 4
        return self

    def resource(self, number):
        about = {"xsp.experiment": "paper", "xsp.run": str(number), "xsp.levels": self.levels,
                 "xsp.batch_size": self.batch, **SYSTEM}
        return {"resource": {"attributes": otlp.attributes(about)}, "scopeSpans": [{"spans": self.spans}]}


class PaperTest(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def enter(self, *runs):
        source = self.folder / "paper.json"
        source.write_text(json.dumps({"resourceSpans": [run.resource(i + 1) for i, run in enumerate(runs)]}))
        xsp("import", source, "-o", self.folder / "paper.xsp", check=0)

    def ask(self, *arguments):
        return xsp_json("analyze", *arguments, self.folder / "paper.xsp", "--json")

    def agree(self, row, expected):
        for key, printed in expected.items():
            if isinstance(printed, float):
                self.assertLessEqual(abs(row[key] - printed), 0.002 * printed + 0.005, f"{key}: {row[key]}, not {printed}")
            else:
                self.assertEqual(row[key], printed, key)

    def metrics(self, row, gflop, reads, writes, occupancy, intensity=None, throughput=None, bound=None):
        scaled = {"flops": row["flops"] / GIGA, "dram_read_bytes": row["dram_read_bytes"] / MIB,
                  "dram_write_bytes": row["dram_write_bytes"] / MIB, "bound": row["bound"],
                  "achieved_occupancy_pct": row["achieved_occupancy_pct"], "intensity": row["arithmetic_intensity"],
                  "throughput": row["arithmetic_throughput_flops_per_s"] / 1e12}
        expected = {"flops": gflop, "dram_read_bytes": reads, "dram_write_bytes": writes, "bound": bound,
                    "achieved_occupancy_pct": occupancy, "intensity": intensity, "throughput": throughput}
        self.agree(scaled, {key: float(value) if key != "bound" else value for key, value in expected.items()
                            if value is not None})

    def test_tables_ii_and_iii(self):
        """A2 from M/L, A8 from M/L/K with the metrics of a run that is three times slower."""
        def layers(slower):
            found = []
            for index, name, kind, shape, ms, allocated in LAYERS + [(57, "conv2d_13/Conv2D", "Conv2D", "<>", 4.6, 1)]:
                inside = [kernel[1:7] for kernel in KERNELS if kernel[0] == index]
                found.append((index, name, kind, shape, ms * slower, allocated, inside if slower > 1 else ()))
            return sorted(found)
        self.enter(Run("M", 256).predict(275.05), Run("M/L", 256).predict(432, layers(1)),
                   Run("M/L/K", 256).predict(490.3, layers(2)),
                   Run("M/L/K+metrics", 256, slower=3).predict(5000, layers(9)))
        a2 = self.ask("A2")
        rows = {row["layer_index"]: row for row in a2["rows"]}
        for index, name, kind, shape, ms, allocated in LAYERS:
            self.agree(rows[index], {"layer_name": name, "layer_type": kind, "layer_shape": shape, "latency_ms": ms,
                                     "alloc_bytes": round(allocated * 1e6), "n": 3})
        self.assertAlmostEqual(a2["summary"]["model_latency_ms"], 275.05)
        a8 = self.ask("A8", "--sort", "latency_ms")
        self.assertEqual([(row["layer_index"], row["kernel_name"]) for row in a8["rows"]],
                         [kernel[:2] for kernel in KERNELS])
        for row, (_, _, ms, gflop, reads, writes, occupancy, intensity, throughput) in zip(a8["rows"], KERNELS):
            self.agree(row, {"latency_ms": ms, "is_latency_bound": False, "above_roof": False, "precision": "single"})
            self.metrics(row, gflop, reads, writes, occupancy, intensity, throughput, "compute")
        self.assertNotIn("latency_from", a8["rows"][0])
        overheads = {row["levels"]: row["overhead_ms"] for row in self.ask("L0")["rows"]}
        self.assertAlmostEqual(overheads["M/L"], 157, delta=0.1)

    def test_table_iv(self):
        kernels = [(name, ms / count, gflop / count, reads / count, writes / count, occupancy)
                   for name, count, ms, _, gflop, reads, writes, occupancy, *_ in NAMES for _ in range(count)]
        self.enter(Run("M", 256).predict(275.05), Run("M/L/K", 256).predict(490.3, kernels=kernels),
                   Run("M/L/K+metrics", 256, slower=5).predict(5000, kernels=kernels))
        a10 = self.ask("A10")
        for row, printed in zip(a10["rows"], NAMES):
            name, count, ms, share, gflop, reads, writes, occupancy, intensity, throughput, bound = printed
            self.agree(row, {"kernel_name": name, "count": count, "latency_ms": ms})
            self.assertAlmostEqual(row["latency_pct"], share, delta=0.02)  # the paper's own quotient is off by that much
            self.metrics(row, gflop, reads, writes, occupancy, intensity, throughput, bound)

    def test_table_v(self):
        def layers(slower):
            found = []
            for index, layer_ms, ms, gflop, reads, writes, occupancy, *_ in BY_LAYER:
                # In two kernels, the second with a fifth of the time and twice the occupancy of the first.
                first = occupancy / 1.2
                inside = [("first", ms * 0.8, gflop * 0.9, reads / 2, writes / 4, first),
                          ("second", ms * 0.2, gflop * 0.1, reads / 2, writes * 0.75, first * 2)]
                found.append((index, f"conv {index}", "Conv2D", "<>", layer_ms * slower, 1, inside if slower > 1 else ()))
            return found
        self.enter(Run("M/L", 256).predict(432, layers(1)), Run("M/L/K", 256).predict(490.3, layers(1.5)),
                   Run("M/L/K+metrics", 256, slower=4).predict(5000, layers(9)))
        rows = {row["layer_index"]: row for row in self.ask("A11")["rows"]}
        gpu = {row["layer_index"]: row for row in self.ask("A13")["rows"]}
        for index, layer_ms, ms, *printed in BY_LAYER:
            self.agree(rows[index], {"layer_latency_ms": layer_ms, "kernel_latency_ms": ms, "count": 2})
            self.metrics(rows[index], *printed, "compute")
            self.agree(gpu[index], {"gpu_latency_ms": ms, "non_gpu_latency_ms": layer_ms - ms})

    def test_table_vi(self):
        runs = []
        for batch, model_ms, ms, gflop, reads, writes, occupancy, _ in BATCHES:
            kernels = [("all", ms / 4, gflop / 4, reads / 4, writes / 4, occupancy)] * 4
            runs += [Run("M", batch).predict(model_ms), Run("M/K", batch).predict(model_ms * 2, kernels=kernels),
                     Run("M/L/K", batch).predict(model_ms * 3, kernels=[(name, part * 1.1, *more)
                                                                        for name, part, *more in kernels]),
                     Run("M/K+metrics", batch, slower=3).predict(model_ms * 9, kernels=kernels)]
        self.enter(*runs)
        a15 = self.ask("A15")["rows"]
        self.assertEqual([row["batch_size"] for row in a15], [row[0] for row in BATCHES])
        for row, (_, model_ms, ms, *printed, bound) in zip(a15, BATCHES):
            self.agree(row, {"model_latency_ms": model_ms, "kernel_latency_ms": ms, "gpu_latency_ms": ms,
                             "non_gpu_latency_ms": model_ms - ms, "gpu_pct": ms / model_ms * 100})
            self.metrics(row, *printed, bound=bound)
        a1 = self.ask("A1")
        self.agree(a1["summary"], {"maximum_throughput_per_s": 930.7, "maximum_throughput_batch": 256, "optimal_batch": 64,
                                   "online_latency_ms": 6.21})
        by_batch = self.ask("A10", "--by", "batch")["rows"]
        self.assertEqual([(row["batch_size"], row["count"]) for row in by_batch], [(row[0], 4) for row in BATCHES])


if __name__ == "__main__":
    unittest.main()
