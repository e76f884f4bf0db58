# SPDX-License-Identifier: Apache-2.0
"""L0's intervals and verdicts, and the certainty of A1's optimal batch: random experiments against a second implementation
(interval_answers.py), and examples with a known answer."""
import math
import pathlib
import random
import unittest

import interval_answers
import scripted
from scripted import xsp, xsp_json

SECOND = 10**9


class Experiment:
    """Runs at chosen times with chosen latencies."""

    def __init__(self, name="overhead"):
        self.script = scripted.Script()
        self.script.experiment(name)
        self.sets = {}  # (batch, levels): runs as interval_answers takes them
        self.run_id = 0

    def run(self, levels, latencies_ms, start_ns, batch=1, warmups=0, epoch="unix", step_ns=SECOND):
        """Returns the end. Warm-ups take ten times as long as the first observation."""
        self.run_id += 1
        self.script.run(self.run_id, levels, batch, epoch=epoch)
        self.script.track(1, "main", run_id=self.run_id)
        first_ns, counted = start_ns, []
        for number, latency in enumerate([10 * latencies_ms[0]] * warmups + list(latencies_ms)):
            duration_ns = round(latency * 1e6)
            self.script.span("net", start_ns, duration_ns, run_id=self.run_id, tags={"warmup": 1} if number < warmups else {})
            if number >= warmups:
                counted.append((start_ns, duration_ns / 1e6))
            start_ns += duration_ns + step_ns
        self.sets.setdefault((batch, levels), []).append((first_ns, counted))
        return start_ns

    def write(self, path):
        self.script.write(path)
        return path


def random_experiment(seed):
    """Level sets with or without an overhead, in turns or one after the other, with drift, outliers, few or many runs."""
    chance = random.Random(seed)
    experiment, now = Experiment(f"random {seed}"), scripted.UNIX_START
    epoch = chance.choice(("unix", "unix", "trace"))
    spread, drift = chance.choice((0, 0.002, 0.05, 0.3)), chance.choice((0, 0, 0.2, 2))
    for batch in (1, 2, 4, 8)[:chance.randint(1, 4)]:
        sets = [("M", 0), ("M/L", chance.choice((0, 0.02, 0.5))), ("M/L/K", chance.choice((0, 1)))][:chance.randint(1, 3)]
        runs = [chance.choice((1, 2, 3, 3, 5, 6))] * len(sets)
        if chance.random() < 0.2:
            runs = [chance.randint(1, 5) for _ in sets]
        observations, is_equal = chance.choice((1, 1, 2, 3, 5, 8, 12)), chance.random() < 0.7
        in_turns = [(number, one) for number in range(max(runs)) for one in range(len(sets))]
        if chance.random() < 0.3:
            in_turns.sort(key=lambda turn: turn[1])
        for place, (number, one) in enumerate(in_turns):
            if number >= runs[one]:
                continue
            level, scale = 1 + drift * place / len(in_turns), batch ** chance.choice((0.5, 0.9, 0.9, 1.0))
            count = observations if is_equal else chance.randint(1, 14)
            latencies = [10 * scale * level * (1 + sets[one][1]) * max(0.1, 1 + chance.gauss(0, spread)) *
                         chance.choice((1,) * 20 + (4,)) * (1 + drift * i / 20 if epoch == "trace" else 1) for i in range(count)]
            now = experiment.run(sets[one][0], latencies, now, batch, chance.choice((0, 1)), epoch)
    return experiment, chance


class OverheadTest(unittest.TestCase):
    def setUp(self):
        folder = scripted.temporary_folder()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "overhead.xsp"

    def near(self, found, expected, size, where):
        if isinstance(expected, float) and isinstance(found, (int, float)):
            self.assertLessEqual(abs(found - expected), 1e-9 * max(size, abs(expected)), f"{where}: {found}, not {expected}")
        else:
            self.assertEqual(found, expected, where)

    def compare(self, seed):
        """The verdicts and sources that occurred."""
        experiment, chance = random_experiment(seed)
        experiment.write(self.path)
        statistic, threshold = chance.choice(("trimmed:0.2", "mean")), chance.choice((5, 5, 1, 30))
        is_one_clock = "\ttrace" not in experiment.script.lines[1]
        answer = xsp_json("analyze", "L0", self.path, "--stat", statistic, "--overhead-threshold", str(threshold), "--json")
        found = set()
        for row in answer["rows"]:
            where = f"seed {seed}, batch {row['batch_size']}, {row['levels']}"
            runs = experiment.sets[row["batch_size"], row["levels"]]
            expected = dict.fromkeys(("overhead_ms", "overhead_low_ms", "overhead_high_ms", "interval_from", "verdict"))
            if row["over"] is not None:
                before = experiment.sets[row["batch_size"], row["over"]]
                expected = interval_answers.overhead(runs, before, statistic, threshold, is_one_clock)
                found |= {expected["verdict"], expected["interval_from"]}
            for key, value in expected.items():
                self.near(row[key], value, row["latency_ms"], f"{where}, {key}")
        summary = xsp_json("analyze", "A1", self.path, "--stat", statistic, "--optimal-threshold", str(threshold), "--json")[
            "summary"]
        sets = {batch: runs for (batch, levels), runs in experiment.sets.items() if levels == "M"}
        expected = interval_answers.optimal_batch_is_certain(sets, summary["optimal_batch"], threshold, statistic, is_one_clock)
        self.assertEqual(summary["optimal_batch_is_certain"], expected, f"seed {seed}")
        return found | {f"certain: {expected}"}

    def test_random_experiments(self):
        found = set().union(*(self.compare(seed) for seed in range(60)))
        self.assertEqual(found, {"overhead", "none found", "not decided", "paired runs", "runs", "observations", None,
                                 "certain: None", "certain: True", "certain: False"})

    # ---- by hand ---------------------------------------------------------------------------------------------------------
    def overhead(self, *sets, arguments=(), in_turns=True):
        """The row of the second of two sets, each a list of runs; and the notes."""
        experiment, now = Experiment(), scripted.UNIX_START
        turns = [(number, one) for number in range(len(sets[0])) for one in range(2)]
        for number, one in turns if in_turns else sorted(turns, key=lambda turn: turn[1]):
            now = experiment.run(("M", "M/L")[one], sets[one][number], now)
        answer = xsp_json("analyze", "L0", experiment.write(self.path), "--json", *arguments)
        return answer["rows"][1], " ".join(answer["notes"])

    def expect(self, row, overhead, reach, source, verdict):
        for key, value in (("overhead_ms", overhead), ("overhead_low_ms", overhead - reach),
                           ("overhead_high_ms", overhead + reach)):
            self.assertAlmostEqual(row[key], value, 8, key)
        self.assertEqual((row["interval_from"], row["verdict"]), (source, verdict))

    def test_runs_in_turns_are_pairs(self):
        runs = [[[value] for value in values] for values in ((100, 110, 120), (101.5, 111, 121.5))]
        # Differences 1.5, 1, 1.5 have variance 1/12, their mean the error 1/6; t(2) = 4.302652729749461. Middle of three: 111 - 110.
        row, notes = self.overhead(*runs)
        self.expect(row, 1, 4.302652729749461 / 6, "paired runs", "overhead")
        self.assertNotIn("observations:", notes)
        # One set after the other: variances 100 and 100.0833…, a third of each; 3.9999993 degrees.
        row, _ = self.overhead(*runs, in_turns=False)
        self.expect(row, 1, interval_answers.student(0.95, row_degrees(100, 100 + 1 / 12, 3)) * math.sqrt(
            (200 + 1 / 12) / 3), "runs", "not decided")

    def test_none_found(self):
        values = [9.9, 10, 10, 10, 10.1]  # variance 0.005, of the mean 0.001; both: 0.002, 8 degrees, t = 2.306004135204166
        reach = 2.306004135204166 * math.sqrt(0.002)  # 0.103 ms
        row, notes = self.overhead([values], [values])
        self.expect(row, 0, reach, "observations", "none found")
        self.assertIn("differences between runs", notes)
        row, _ = self.overhead([values], [values], arguments=("--overhead-threshold", "1.1"))
        self.assertEqual(row["verdict"], "none found")
        row, _ = self.overhead([values], [values], arguments=("--overhead-threshold", "1"))  # 0.1 ms
        self.assertEqual(row["verdict"], "not decided")
        row, _ = self.overhead([values], [[value - 2 for value in values]])
        self.expect(row, -2, reach, "observations", "none found")
        self.assertAlmostEqual(row["overhead_pct"], -20)

    def test_drift_leaves_it_open(self):
        """From 155 to 494 ms, and a level that adds more than that."""
        rising = [155 + 339 * i / 11 for i in range(12)]
        for order, verdict in ((rising, "not decided"), (rising[::2] + rising[::-2], "overhead"), (rising[:8], "overhead")):
            row, notes = self.overhead([order], [[value + 1000 for value in order]])
            self.assertGreater(row["overhead_low_ms"], 0)
            self.assertEqual(row["verdict"], verdict, order)
            self.assertEqual("M drifts" in notes or "M at batch size 1 drifts" in notes, verdict == "not decided", notes)
        row, notes = self.overhead([[value] for value in rising], [[value + 1] for value in rising])
        self.assertEqual((row["interval_from"], row["verdict"]), ("paired runs", "overhead"))
        self.assertNotIn("drifts", notes)

    def certainty(self, sets, *arguments):
        experiment, now = Experiment(), scripted.UNIX_START
        for batch, latencies in sets.items():
            now = experiment.run("M", latencies, now, batch)
        summary = xsp_json("analyze", "A1", experiment.write(self.path), "--json", *arguments)["summary"]
        return summary["optimal_batch"], summary["optimal_batch_is_certain"]

    def test_the_optimal_batch_is_certain(self):
        # Doubling 1 gains 2.6 %: 1.05 * 19.5 - 20 = 0.475.
        self.assertEqual(self.certainty({1: [10] * 5, 2: [19.5] * 5}), (1, True))
        self.assertEqual(self.certainty({1: [10] * 5, 2: [9.5, 14.5, 19.5, 24.5, 29.5]}), (1, False))
        self.assertEqual(self.certainty({1: [10], 2: [19.5]}), (1, False), "one observation has no interval")
        self.assertEqual(self.certainty({1: [21] * 5, 2: [40] * 5}), (1, True), "5 % is the limit: 1.05 * 40 = 42")
        self.assertEqual(self.certainty({1: [10] * 5, 2: [19.5] * 5}, "--optimal", "latency<=15ms"), (1, None))
        self.assertEqual(self.certainty({1: [10] * 5, 2: [14] * 5}), (None, None), "not reached")
        # Doubling 1 gains 43 %, 2 only 1.8 %: 1.05 * 14 - 20 = -5.3 must be surely below 0.
        self.assertEqual(self.certainty({1: [10] * 5, 2: [14] * 5, 4: [27.5] * 5}), (2, True))
        self.assertEqual(self.certainty({1: [2, 6, 10, 14, 18], 2: [14] * 5, 4: [27.5] * 5}), (2, False))


def row_degrees(first, second, count):
    """Welch's degrees of freedom of two variances over as many runs."""
    return (first + second) ** 2 / (first ** 2 + second ** 2) * (count - 1)


if __name__ == "__main__":
    unittest.main()
