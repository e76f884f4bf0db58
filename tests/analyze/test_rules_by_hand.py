# SPDX-License-Identifier: Apache-2.0
"""Each rule of docs/analyses.md on an experiment that is small enough to compute by hand: statistics, which run answers,
pairing, metrics. test_device_basis_by_hand.py has the asynchronous layers."""
import math
import unittest

import scripted
from tiny_experiment import HandCase, Tiny, ask, kernel, layer, metrics


class ObservationsTest(HandCase):
    """The statistic trims observations, not values."""

    def noisy(self):
        """Model 10 11 12 13 90; a 1 2 3 4 5, b 9 8 7 6 70: a and b are slow in other observations than the model."""
        tiny = Tiny()
        run = tiny.run("M/L")
        for model, a, b in ((12, 3, 7), (90, 5, 70), (10, 1, 9), (13, 4, 6), (11, 2, 8)):
            run.predict(model, layer("a", a, layer_index=0), layer("b", b, layer_index=1))
        return self.write(tiny)

    def test_rows_add_up(self):
        # Of 5, floor(0.2 * 5) = 1 goes at each end: 10 and 90. Left: a 2 3 4, b 8 7 6. By value b were (7 + 8 + 9) / 3 = 8.
        answer = ask(self.noisy(), "A2")
        self.assertEqual(self.column(answer, "latency_ms"), [3, 7])
        self.agree(answer["summary"], sum_ms=10, model_latency_ms=12, outside_layers_ms=2)
        # n, min and max go over all five.
        self.agree(answer["rows"][1], n=5, min_ms=6, max_ms=70, present=3, occurrence_ms=7)
        # b: mean 20, deviations -11 -12 -13 -14 50: squares 121 + 144 + 169 + 196 + 2500 = 3130, / 4 = 782.5
        self.agree(answer["rows"][1], cv_pct=math.sqrt(782.5) / 20 * 100)

    def test_statistics(self):
        path = self.noisy()
        for stat, a, b, model in (("mean", 3, 20, 27.2), ("trimmed:0", 3, 20, 27.2), ("trimmed:0.4", 3, 7, 12),
                                  ("trimmed:0.2", 3, 7, 12)):
            answer = ask(path, "A2", "--stat", stat)
            self.assertEqual(self.column(answer, "latency_ms"), [a, b], stat)
            self.agree(answer["summary"], sum_ms=a + b, model_latency_ms=model)

    def test_value_by_value(self):
        # Sums are 10 75 10 10 10. trimmed-each: a 2 3 4, b 7 8 9, sums 10 10 10. p90: rank 3.6 between 4 and 5: 4.6.
        path = self.noisy()
        for stat, a, b, both in (("median", 3, 8, 10), ("min", 1, 6, 10), ("max", 5, 70, 75),
                                 ("trimmed-each:0.2", 3, 8, 10), ("p90", 4.6, 9 + 0.6 * 61, 10 + 0.6 * 65)):
            answer = ask(path, "A2", "--stat", stat)
            self.agree(answer["rows"][0], latency_ms=a)
            self.agree(answer["rows"][1], latency_ms=b)
            self.agree(answer["summary"], sum_ms=both, rows_sum_ms=a + b)
            self.assertTrue(answer["notes"], stat)
        # Percentages are of sum_ms: median 3 of 10.
        self.agree(ask(path, "A3", "--stat", "median")["summary"], beginning_pct=30, middle_pct=80, end_pct=0, stage="M")

    def test_layers_of_several_nodes(self):
        """Where the framework made one layer of several nodes, A2 has their names; a file without such layers has no such column."""
        folder = scripted.temporary_folder()
        self.addCleanup(folder.cleanup)
        script = scripted.Script()
        script.experiment()
        script.run(1, "M/L")
        script.track(1)
        script.span("net", 0, 10_000)
        script.span("Multiply_7", 0, 4000, "layer", tags={"source_layers": "bn1, conv1, relu1"})
        script.span("pool", 4000, 2000, "layer")
        rows = ask(script.write(f"{folder.name}/sources.xsp"), "A2")["rows"]
        self.assertEqual([row.get("source_layers") for row in rows], ["bn1, conv1, relu1", None])
        self.assertNotIn("source_layers", ask(self.noisy(), "A2")["rows"][0])

    def test_few_observations(self):
        # 1 and 2: all; 3: the middle one; 4: floor(0.8) = 0 at each end; 10: 2 at each end.
        for latencies, expected in (((5,), 5), ((5, 8), 6.5), ((5, 100, 6), 6), ((1, 2, 3, 100), 26.5),
                                    ((1, 2, 30, 40, 50, 60, 70, 80, 900, 900), 55)):
            for count, stat in ((expected, ()), (sum(latencies) / len(latencies), ("--stat", "mean"))):
                tiny = Tiny()
                run = tiny.run("M")
                for ms in latencies:
                    run.predict(ms)
                self.agree(ask(self.write(tiny), "A1", *stat)["rows"][0], latency_ms=count, n=len(latencies))

    def test_exact_fractions(self):
        # floor(0.29 * 100) is 29, in doubles 28. Of 30 times 1 and 70 times 8, 29 go at each end: 1 and 41 are left.
        tiny = Tiny()
        run = tiny.run("M")
        for number in range(100):
            run.predict(1 if number < 30 else 8)
        self.agree(ask(self.write(tiny), "A1", "--stat", "trimmed:0.29")["rows"][0], latency_ms=(1 + 41 * 8) / 42)

    def test_ties(self):
        # All last 9 ms: the first of run 1 and the last of run 2 are dropped. a: 1 [2 3] [4 5 6] 7: floor(1.4) = 1.
        tiny = Tiny()
        for times in ((1, 2, 3), (4, 5, 6, 8)):
            run = tiny.run("M/L")
            for ms in times:
                run.predict(9, layer("a", ms, layer_index=0))
        self.agree(ask(self.write(tiny), "A2")["rows"][0], latency_ms=4)

    def test_absent_is_zero(self):
        # Kept are 11 12 13. b is in 11 and in both dropped ones; c in the dropped 90 only.
        tiny = Tiny()
        run = tiny.run("M/L")
        for model, names in ((10, "ab"), (11, "ab"), (12, "a"), (13, "a"), (90, "abc")):
            run.predict(model, *(layer(name, 3 if name == "b" else 2, layer_index=number, alloc_bytes=30)
                                 for number, name in enumerate("abc") if name in names))
        path = self.write(tiny)
        answer = ask(path, "A2")
        self.agree(answer["summary"], layers=3, sum_ms=3)
        rows = {row["layer_name"]: row for row in answer["rows"]}
        self.agree(rows["a"], latency_ms=2, present=3, n=5)
        self.assertFalse(rows["a"].get("partial"))
        self.agree(rows["b"], latency_ms=1, present=1, n=3, min_ms=3, max_ms=3, occurrence_ms=3, alloc_bytes=10,
                   partial=True)
        self.agree(rows["c"], latency_ms=0, present=0, n=1, min_ms=2, occurrence_ms=None, alloc_bytes=0, partial=True)
        thirds = ask(path, "A3")["summary"]
        self.agree(thirds, beginning_pct=200 / 3, middle_pct=100 / 3, end_pct=0)

    def test_unmeasured_bytes(self):
        # a: 40 and unmeasured, so 20; b never.
        tiny = Tiny()
        tiny.run("M/L").predict(9, layer("a", 1, layer_index=0, layer_type="A", alloc_bytes=40), layer("b", 1, layer_index=1)) \
            .predict(9, layer("a", 1, layer_index=0, layer_type="A"), layer("b", 1, layer_index=1))
        path = self.write(tiny)
        self.assertEqual(self.column(ask(path, "A2"), "alloc_bytes"), [20, None])
        rows = {row["layer_type"]: row for row in ask(path, "A7")["rows"]}
        self.agree(rows["A"], alloc_bytes=20, alloc_pct=100)

    def test_shares(self):
        # Kept are the middle three of 5. relu twice there, conv always: 5 calls in 3 observations.
        tiny = Tiny()
        run = tiny.run("M/L")
        for model, count in ((10, 2), (11, 1), (12, 2), (13, 2), (14, 1)):
            run.predict(model, *(layer(f"l{number}", 2, layer_index=number, layer_type=("Conv", "ReLU")[number])
                                 for number in range(count)))
        path = self.write(tiny)
        answer = ask(path, "A5")
        self.assertEqual(self.column(answer, "layer_type"), ["Conv", "ReLU"])
        self.agree(answer["rows"][0], count=1, count_pct=60)
        self.agree(answer["rows"][1], count=2 / 3, count_pct=40)
        answer = ask(path, "A6")
        self.agree(answer["rows"][1], latency_ms=4 / 3, latency_pct=40, present=2, n=3)
        self.agree(answer["summary"], convolution_pct_of_layers=60, convolution_pct_of_model=100 * 2 / 12)

    def test_warmups_are_in_no_statistic(self):
        tiny = Tiny()
        tiny.run("M").predict(77, warmup=True).predict(5)
        tiny.run("M").predict(66, warmup=True, at=-200).predict(7)
        answer = ask(self.write(tiny), "A1")
        self.agree(answer["rows"][0], latency_ms=6, n=2)
        self.agree(answer["summary"], cold_latency_ms=66)  # the earliest


class ModelsTest(HandCase):
    def test_overlapping_predictions(self):
        # Ten of 100 ms, a new one each 10 ms: 190 ms cover them: 10 / 0.19 s. Their latency stays 100 ms.
        tiny = Tiny()
        run = tiny.run("M")
        for number in range(10):
            run.predict(100, at=10 * number, thread=1 + number)
        answer = ask(self.write(tiny), "A1")
        self.agree(answer["rows"][0], latency_ms=100, throughput_per_s=10 / 0.19)
        self.agree(answer["summary"], maximum_throughput_per_s=10 / 0.19)

    def test_level_rule(self):
        # Model from M, layers from M/L, kernels from M/L/K: never the slower, deeper runs; serialised ones never.
        tiny = Tiny()
        tiny.run("M").predict(10)
        for levels, slower in (("M/L", 2), ("M/L/K", 4), ("M/L/K@serial", 8), ("M/L/K+metrics", 16), ("M/K", 32)):
            tiny.run(levels).predict(40 * slower, layer("a", slower, *(kernel("k", slower / 2),) * ("K" in levels),
                                                        layer_index=0)) if "L" in levels else \
                tiny.run(levels).predict(40 * slower, kernels=(kernel("k", slower / 2),))
        path = self.write(tiny)
        self.agree(ask(path, "A2")["rows"][0], latency_ms=2)
        self.agree(ask(path, "A2")["summary"], model_latency_ms=10)
        self.agree(ask(path, "A8")["rows"][0], latency_ms=2)  # M/L/K
        self.agree(ask(path, "A15")["rows"][0], kernel_latency_ms=16, model_latency_ms=10)  # M/K
        self.agree(ask(path, "A13")["rows"][0], layer_latency_ms=2, gpu_latency_ms=2, non_gpu_latency_ms=0)

    def test_the_next_deeper_set_serves(self):
        tiny = Tiny()
        tiny.run("M/L/K").predict(40, layer("a", 9, kernel("k", 1), layer_index=0))
        answer = ask(self.write(tiny), "A2")
        self.agree(answer["rows"][0], latency_ms=9, latency_from="M/L/K")
        self.assertRegex(" ".join(answer["notes"]), "overhead of the deeper levels")

    def test_default_batch(self):
        # Throughput 100, 190, 195 /s: 2 is optimal, 4 of maximum throughput. Metrics: at 1 and 4; 4 is better.
        tiny = Tiny(peak_flops_per_s=1e12, memory_bandwidth_bytes_per_s=1e11)
        for batch, ms in ((1, 10), (2, 2000 / 190), (4, 4000 / 195)):
            tiny.run("M", batch).predict(ms)
            tiny.run("M/L/K", batch).predict(50, layer("a", 9, kernel("k", 1), layer_index=0))
            if batch != 2:
                tiny.run("M/L/K+metrics", batch).predict(50, layer("a", 9, kernel("k", 1, **metrics(5, 6, 7, 8)), layer_index=0))
        path = self.write(tiny)
        for analysis in ("A2", "A8", "A10", "A11", "A13"):
            self.assertEqual(ask(path, analysis)["run_set"]["batch_size"], 2, analysis)
        for analysis in ("A9", "A12", "A14"):
            answer = ask(path, analysis)
            self.assertEqual((answer["run_set"]["batch_size"], self.column(answer, "flops")), (4, [5]), analysis)
            self.assertTrue(answer["notes"], analysis)

    def test_what_is_missing_is_status_1(self):
        tiny = Tiny()
        tiny.run("L/K").predict(9, layer("a", 4, kernel("k", 1), layer_index=0))
        tiny.experiment.runs[0].spans[1].parent = None
        del tiny.experiment.runs[0].spans[0]  # no model level
        for row, span in enumerate(tiny.experiment.runs[0].spans):
            span.row = row
        path = self.write(tiny)
        for analysis in ("A1", "A4", "A7", "A9", "A12", "A14"):
            result = scripted.xsp("analyze", analysis, path, "--json", check=1)
            self.assertEqual((result.stdout, len(result.stderr.splitlines())), (b"", 1), analysis)
        for analysis in ("A2", "A3", "A5", "A6", "A8", "A10", "A11", "A13", "A15"):
            scripted.xsp("analyze", analysis, path, "--json", check=0)
        # Of several, the possible ones.
        result = scripted.xsp("analyze", "A1", "A2", path, "--json", check=1)
        self.assertIn(b'"A2"', result.stdout)


class LayersTest(HandCase):
    def test_pairs_by_index_and_name(self):
        # Without an index by name and occurrence: relu is lost once, so the second one is in one of two observations.
        tiny = Tiny()
        tiny.run("M/L").predict(90, layer("conv", 1), layer("relu", 2), layer("conv", 3), layer("relu", 4)) \
            .predict(90, layer("conv", 1), layer("conv", 3), layer("relu", 4))
        rows = ask(self.write(tiny), "A2")["rows"]
        self.assertEqual([(row["layer_name"], row["latency_ms"], row["n"]) for row in rows],
                         [("conv", 1, 2), ("relu", 3, 2), ("conv", 3, 2), ("relu", 2, 1)])
        # With one: (index, name), equal ones by occurrence.
        tiny = Tiny()
        tiny.run("M/L").predict(90, layer("a", 1, layer_index=5), layer("a", 2, layer_index=5), layer("b", 3, layer_index=5)) \
            .predict(90, layer("a", 3, layer_index=5), layer("b", 3, layer_index=5))
        rows = ask(self.write(tiny), "A2")["rows"]
        self.assertEqual([(row["layer_name"], row["latency_ms"], row["present"]) for row in rows],
                         [("a", 2, 2), ("a", 1, 1), ("b", 3, 2)])

    def test_own_time(self):
        # outer 0–10 has inner 2–5, which has core 3–4: 10 - 3, 3 - 1 and 1.
        tiny = Tiny()
        inner = layer("inner", 3, at=2, nested=(layer("core", 1, at=1, layer_index=2),), layer_index=1, category="module")
        tiny.run("M/L").predict(20, layer("outer", 10, nested=(inner,), layer_index=0, category="module"))
        path = self.write(tiny)
        self.assertEqual(self.column(ask(path, "A2"), "latency_ms"), [10])
        self.assertEqual(self.column(ask(path, "A2", "--layer", "innermost"), "latency_ms"), [7, 2, 1])
        self.assertEqual(self.column(ask(path, "A2", "--layer", "module"), "latency_ms"), [7, 3])

    def test_own_time_without_layers_of_no_observation(self):
        # The prediction ends at 5, its layer at 10; the nested one starts at 6, outside of every observation.
        tiny = Tiny()
        run = tiny.run("M/L")
        run.predict(5, layer("outer", 10, layer_index=0))
        outer = run.run.spans[-1]
        late = run.span("layer", "late", 6, 3, outer.track, None, tags={"layer_index": 1})
        run.run.names_parents = False
        late.parent = outer  # found by containment
        self.assertEqual(self.column(ask(self.write(tiny), "A2", "--layer", "innermost"), "latency_ms")[0], 7)


if __name__ == "__main__":
    unittest.main()
