# SPDX-License-Identifier: Apache-2.0
"""The rules of kernels and their metrics in docs/analyses.md, on experiments that are small enough to compute by hand."""
import math
import unittest

import scripted
from tiny_experiment import HandCase, Tiny, ask, kernel, layer, metrics

V100 = {"peak_flops_per_s": 15.7e12, "memory_bandwidth_bytes_per_s": 900e9}


class KernelsTest(HandCase):
    def test_pairs_by_layer_ordinal_and_name(self):
        # Two calls of one kernel in a layer are two rows; ordinals go by start, longer first.
        tiny = Tiny()
        tiny.run("M/L/K").predict(90, layer("a", 9, kernel("k", 1, at=2), kernel("k", 3, at=1), layer_index=0)) \
            .predict(90, layer("a", 9, kernel("k", 2, at=2), kernel("k", 5, at=2, stream=8), layer_index=0))
        rows = ask(self.write(tiny), "A8")["rows"]
        self.assertEqual([row["latency_ms"] for row in rows], [4, 1.5])

    def test_ordinals_count_kernels_only(self):
        # A copy before it in one prediction does not make the kernel another one.
        tiny = Tiny()
        tiny.run("M/L/K").predict(90, layer("a", 9, kernel("copy", 1, category="memcpy"), kernel("k", 3), layer_index=0)) \
            .predict(90, layer("a", 9, kernel("k", 5), layer_index=0))
        answer = ask(self.write(tiny), "A8")
        self.assertEqual([(row["kernel_name"], row["latency_ms"], row["n"]) for row in answer["rows"]], [("k", 4, 2)])

    def test_absent_is_zero(self):
        # k 4 ms always, extra 6 ms in one of two: 3 ms; sums 7. Names: k twice where extra is called k.
        tiny = Tiny()
        tiny.run("M/L/K").predict(90, layer("a", 20, kernel("k", 4), kernel("extra", 6), layer_index=0)) \
            .predict(90, layer("a", 20, kernel("k", 4), layer_index=0))
        path = self.write(tiny)
        answer = ask(path, "A10")
        self.assertEqual([(row["kernel_name"], row["count"], row["latency_ms"], row["present"]) for row in answer["rows"]],
                         [("k", 1, 4, 2), ("extra", 0.5, 3, 1)])
        self.agree(answer["rows"][1], latency_pct=100 * 3 / 90, occurrence_ms=6, n=1)
        self.agree(ask(path, "A11")["rows"][0], kernel_latency_ms=7, count=1.5, min_ms=4, max_ms=10, n=2)
        self.agree(ask(path, "A15")["rows"][0], kernel_latency_ms=7, count=1.5)

    def test_kernels_in_no_layer(self):
        tiny = Tiny()
        tiny.run("M/L/K").predict(90, layer("a", 9, kernel("k", 4), layer_index=0), kernels=(kernel("x", 2, at=20),)) \
            .predict(90, layer("a", 9, kernel("k", 4), layer_index=0))
        path = self.write(tiny)
        for analysis in ("A11", "A13"):
            answer = ask(path, analysis)
            self.assertEqual(len(answer["rows"]), 1)
            self.agree(answer["summary"], kernels_without_layer=0.5, kernels_without_layer_ms=1)
        self.assertEqual(len(ask(path, "A8")["rows"]), 2)

    def test_layers_of_both_sets(self):
        # only is in M/L, deep in M/L/K.
        tiny = Tiny()
        tiny.run("M/L").predict(90, layer("a", 9, layer_index=0), layer("only", 8, layer_index=1))
        tiny.run("M/L/K").predict(90, layer("a", 9, kernel("k", 4), layer_index=0), layer("deep", 8, kernel("k", 3), layer_index=2))
        path = self.write(tiny)
        for analysis, gpu in (("A11", "kernel_latency_ms"), ("A13", "gpu_latency_ms"), ("A13", "kernel_latency_ms")):
            rows = ask(path, analysis)["rows"]
            self.assertEqual([(row["layer_name"], row["layer_latency_ms"], row[gpu]) for row in rows],
                             [("a", 9, 4), ("only", 8, None), ("deep", None, 3)], analysis)
        self.agree(ask(path, "A13")["summary"], layer_sum_ms=17, gpu_sum_ms=7)

    def test_concurrent_kernels(self):
        # k 0–4 and j 2–6 on two streams, a copy 6–7: sum 8, union 7.
        tiny = Tiny()
        tiny.run("M/L/K").predict(90, layer("a", 10, kernel("k", 4, at=0), kernel("j", 4, at=2, stream=8),
                                            kernel("copy", 1, at=6, category="memcpy"), layer_index=0))
        path = self.write(tiny)
        self.agree(ask(path, "A13")["rows"][0], kernel_latency_ms=8, gpu_latency_ms=7, non_gpu_latency_ms=3, gpu_pct=70)
        self.agree(ask(path, "A15")["rows"][0], kernel_latency_ms=8, gpu_latency_ms=7, non_gpu_latency_ms=83,
                   gpu_pct=100 * 8 / 90)

    def test_negative_differences(self):
        # Slower with kernels: 5 ms of kernels in a layer of 4 ms. Null with a note, not 0; under half a nanosecond 0.
        tiny = Tiny()
        tiny.run("M/L").predict(90, layer("a", 4, layer_index=0), layer("b", 6, layer_index=1))
        tiny.run("M/L/K").predict(95, layer("a", 6, kernel("k", 5), layer_index=0), layer("b", 6, kernel("k", 6), layer_index=1))
        answer = ask(self.write(tiny), "A13", "--latency-basis", "host")
        self.assertEqual(self.column(answer, "non_gpu_latency_ms"), [None, 0])
        self.agree(answer["rows"][0], gpu_pct=125)
        self.assertTrue(answer["notes"])


class MetricsTest(HandCase):
    def experiment(self):
        """Layer a has k (4 ms) and j (12 ms), b has k (2 ms); in metric runs everything takes twice as long."""
        tiny = Tiny(**V100)
        tiny.run("M/L/K").predict(90, layer("a", 20, kernel("k", 4), kernel("j", 12), layer_index=0),
                                  layer("b", 5, kernel("k", 2), layer_index=1), layer("c", 5, layer_index=2))
        return tiny

    def test_join(self):
        tiny = self.experiment()
        tiny.run("M/L/K+metrics").predict(180, layer("a", 40, kernel("k", 8, **metrics(100, 10, 30, 20)),
                                                     kernel("j", 24, **metrics(300, 40, 20, 60)), layer_index=0),
                                          layer("b", 10, kernel("k", 4, **metrics(7, 0, 0, 50)), layer_index=1),
                                          layer("c", 10, layer_index=2))
        path = self.write(tiny)
        rows = ask(path, "A8")["rows"]
        self.agree(rows[0], latency_ms=4, flops=100, dram_read_bytes=10, dram_write_bytes=30, achieved_occupancy_pct=20,
                   arithmetic_intensity=2.5, arithmetic_throughput_flops_per_s=100 / 0.004, bound="memory")
        self.agree(rows[2], flops=7, dram_read_bytes=0, arithmetic_intensity=None, bound=None)  # 7/0
        # Occupancy weighs by latency: (20 * 4 + 60 * 12) / 16 = 50
        rows = ask(path, "A11")["rows"]
        self.agree(rows[0], flops=400, dram_read_bytes=50, dram_write_bytes=50, achieved_occupancy_pct=50,
                   arithmetic_intensity=4, arithmetic_throughput_flops_per_s=400 / 0.016, metric_coverage_pct=100)
        self.agree(rows[2], kernel_latency_ms=0, flops=0, dram_read_bytes=0, dram_write_bytes=0,
                   arithmetic_intensity=None, arithmetic_throughput_flops_per_s=None, achieved_occupancy_pct=None)
        rows = ask(path, "A10")["rows"]
        self.agree(rows[1], kernel_name="k", flops=107, achieved_occupancy_pct=(20 * 4 + 50 * 2) / 6)
        self.agree(ask(path, "A15")["rows"][0], flops=407, dram_read_bytes=50, achieved_occupancy_pct=(80 + 720 + 100) / 18)
        answer = ask(path, "A12")
        self.assertEqual(self.column(answer, "dram_bytes"), [100, 0, 0])
        self.agree(answer["summary"], flops_beginning_pct=100 * 400 / 407, flops_middle_pct=100 * 7 / 407, flops_end_pct=0,
                   flops_stage="B")

    def test_another_kernel_has_no_metrics(self):
        # The metric run chose winograd where the times are of j: a is covered by 4 of 16 ms, all by 6 of 18.
        tiny = self.experiment()
        tiny.run("M/L/K+metrics").predict(180, layer("a", 40, kernel("k", 8, **metrics(100, 10, 30, 20)),
                                                     kernel("winograd", 24, **metrics(300, 40, 20, 60)), layer_index=0),
                                          layer("b", 10, kernel("k", 4, **metrics(7, 1, 0, 50)), layer_index=1),
                                          layer("c", 10, layer_index=2))
        path = self.write(tiny)
        null = {"flops": None, "dram_read_bytes": None, "arithmetic_intensity": None, "bound": None,
                "arithmetic_throughput_flops_per_s": None, "achieved_occupancy_pct": None}
        self.agree(ask(path, "A8")["rows"][1], **null)
        rows = ask(path, "A11")["rows"]
        self.agree(rows[0], metric_coverage_pct=25, kernel_latency_ms=16, **null)
        self.agree(rows[1], metric_coverage_pct=100, flops=7)
        answer = ask(path, "A15")
        self.agree(answer["rows"][0], metric_coverage_pct=100 * 6 / 18, **null)
        self.assertRegex(" ".join(answer["notes"]), "winograd|j")
        self.agree(ask(path, "A12")["summary"], flops_stage=None, flops_beginning_pct=None)
        # On request the covered part, never scaled up.
        self.agree(ask(path, "A11", "--partial-metrics")["rows"][0], flops=100, metric_coverage_pct=25)

    def test_a_name_that_differs_by_ordinal_only(self):
        # k is the second kernel of its layer in the metric run: another call.
        tiny = Tiny(**V100)
        tiny.run("M/L/K").predict(90, layer("a", 20, kernel("k", 4), layer_index=0))
        tiny.run("M/L/K+metrics").predict(90, layer("a", 20, kernel("j", 4), kernel("k", 4, **metrics(1, 1, 1, 1)), layer_index=0))
        self.agree(ask(self.write(tiny), "A8")["rows"][0], flops=None)

    def test_mean_where_it_was_measured(self):
        # Kept are the middle three of five: 10, unmeasured and 40: 25. The 999 are in the dropped ones.
        tiny = self.experiment()
        run = tiny.run("M/L/K+metrics")
        for ms, flops in ((100, 999), (110, 10), (120, None), (130, 40), (900, 999)):
            run.predict(ms, layer("a", 9, kernel("k", 1, **metrics(flops, 1, 1, 1)), layer_index=0))
        self.agree(ask(self.write(tiny), "A8")["rows"][0], flops=25)

    def test_times_present_over_kept(self):
        # k in both predictions, x in one of two: flops 8 and 6 / 2; the intensity is x's own: 6 / 3.
        tiny = Tiny(**V100)
        for levels, tags in (("M/L/K", ({}, {})), ("M/L/K+metrics", (metrics(8, 2, 2, 10), metrics(6, 1, 2, 30)))):
            tiny.run(levels).predict(90, layer("a", 20, kernel("k", 2, **tags[0]), kernel("x", 4, **tags[1]), layer_index=0)) \
                .predict(90, layer("a", 20, kernel("k", 2, **tags[0]), layer_index=0))
        path = self.write(tiny)
        rows = ask(path, "A8")["rows"]
        self.agree(rows[1], latency_ms=2, flops=3, dram_read_bytes=0.5, dram_write_bytes=1, achieved_occupancy_pct=30,
                   arithmetic_intensity=2, arithmetic_throughput_flops_per_s=6 / 0.004, present=1)
        # Sums over each kept observation: 14 and 8. Occupancy (10 * 2 + 30 * 2) / 4.
        self.agree(ask(path, "A11")["rows"][0], flops=11, dram_read_bytes=2.5, achieved_occupancy_pct=20,
                   arithmetic_intensity=11 / 5.5)
        self.agree(ask(path, "A15")["rows"][0], flops=11)

    def test_the_metric_set_is_one_for_all(self):
        # Times from M/K (A15) and M/L/K (the rest); metrics from the set of the same levels, else M/L/K before M/K.
        def build(*metric_sets):
            tiny = Tiny(**V100)
            tiny.run("M").predict(50)
            for levels in ("M/K", "M/L/K", *(f"{levels}+metrics" for levels in metric_sets)):
                tags = metrics({"M/K+metrics": 5, "M/L/K+metrics": 7}.get(levels), 1, 1, 1) if "+" in levels else {}
                run = tiny.run(levels)
                if "L" in levels:
                    run.predict(90, layer("a", 20, kernel("k", 2, **tags), layer_index=0))
                else:
                    run.predict(90, kernels=(kernel("k", 2, **tags),))
            path = self.write(tiny)
            return [ask(path, analysis)["rows"][0]["flops"] for analysis in ("A8", "A10", "A11", "A15")]
        self.assertEqual(build("M/L/K", "M/K"), [7, 7, 7, 5])
        self.assertEqual(build("M/L/K"), [7, 7, 7, 7])
        self.assertEqual(build("M/K"), [5, 5, 5, 5])

    def test_partial_metrics_of_one_kernel(self):
        # b's writes were not measured: reads add up, writes, intensity and bound do not.
        tiny = self.experiment()
        tiny.run("M/L/K+metrics").predict(180, layer("a", 40, kernel("k", 8, **metrics(100, 10, 30, 20)),
                                                     kernel("j", 24, **metrics(300, 40, 20, 60)), layer_index=0),
                                          layer("b", 10, kernel("k", 4, **metrics(7, 5, None, 50)), layer_index=1))
        row = ask(self.write(tiny), "A15")["rows"][0]
        self.agree(row, flops=407, dram_read_bytes=55, dram_write_bytes=None, arithmetic_intensity=None, bound=None)

    def test_each_metric_for_itself(self):
        # Reads were measured in one prediction, writes in the other: 10 + 20 and 60 / 30.
        tiny = Tiny(**V100)
        tiny.run("M/L/K").predict(90, layer("a", 20, kernel("k", 2), layer_index=0))
        tiny.run("M/L/K+metrics").predict(90, layer("a", 20, kernel("k", 2, **metrics(60, 10, None, 1)), layer_index=0)) \
            .predict(90, layer("a", 20, kernel("k", 2, **metrics(60, None, 20, 1)), layer_index=0))
        path = self.write(tiny)
        self.agree(ask(path, "A8")["rows"][0], dram_read_bytes=10, dram_write_bytes=20, arithmetic_intensity=2)
        self.agree(ask(path, "A12")["rows"][0], dram_bytes=30)

    def test_zero_flops(self):
        # 0 flops measured: intensity 0, memory-bound. 0 bytes too: 0/0 is null.
        tiny = Tiny(**V100)
        tags = (metrics(0, 5, 5, 1), metrics(0, 0, 0, 1))
        tiny.run("M/L/K+metrics").predict(90, layer("a", 20, *(kernel(f"k{number}", 2, **tags[number]) for number in (0, 1)),
                                                    layer_index=0))
        path = self.write(tiny)
        rows = ask(path, "A8")["rows"]
        self.agree(rows[0], arithmetic_intensity=0, arithmetic_throughput_flops_per_s=0, bound="memory")
        self.agree(rows[1], arithmetic_intensity=None, bound=None)
        self.assertEqual(rows[0]["latency_from"], "M/L/K+metrics")
        self.assertTrue(math.isclose(ask(path, "A9")["rows"][0]["ideal_arithmetic_intensity"], 157 / 9))

    def test_further_metrics(self):
        # However long their names are; at most eight. Tags of unknown names keep OTLP's prefix.
        long = "m" * 600
        tiny = Tiny(**V100)
        tiny.run("M/L/K+metrics").predict(90, layer("a", 20, kernel("k", 2, registers=32, **{long: 3}), layer_index=0))
        path = self.write(tiny)
        row = ask(path, "A8", "--metric", f"xsp.{long},registers")["rows"][0]
        self.agree(row, registers=32, **{f"xsp.{long}": 3})
        for names, why in (("registers,", "a part of the list is empty"), (",".join("abcdefghi"), "at most 8")):
            result = scripted.xsp("analyze", "A8", path, "--metric", names, check=2)
            self.assertRegex(result.stderr.decode(), f"wrong use: --metric=[^:]*: .*{why}")


if __name__ == "__main__":
    unittest.main()
