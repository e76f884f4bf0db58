# SPDX-License-Identifier: Apache-2.0
"""xsp history over files: rows, verdicts against figures by hand, series, constraints, tables of models over frameworks and hosts,
and what is refused."""
import json
import random
import re
import shutil
import sqlite3
import unittest

from history_files import HistoryTest, evaluated, write
from interval_answers import plain, reach, welch, yuen


def noisy(seed, mean, count=20, sigma=0.02):
    random.seed(seed)
    return [round(random.gauss(mean, sigma * mean), 6) for _ in range(count)]


class List(HistoryTest):
    def test_evaluations_and_profiles_in_order_of_time(self):
        write(self.files / "b.xsp", [4.0] * 9, 2, gpu="H100", evaluation=evaluated(75.5, 4.25, divergence=0.125, scenario="offline"))
        write(self.files / "a.xsp", [3.0] * 9, 1, batch=2, workload={"sha256": "ab" * 32})
        profile, evaluation = self.rows(self.files)
        self.assertEqual({key: profile[key] for key in ("created", "kind", "model", "model_version", "framework", "framework_version", "host",
                                                        "cpu", "batch", "latency_ms", "throughput_per_s", "levels", "file", "model_sha256")},
                         {"created": "2025-10-10T08:53:20Z", "kind": "profile", "model": "net", "model_version": "1.0", "framework": "onnxruntime",
                          "framework_version": "1.31.1", "host": "alpha", "cpu": "EPYC", "batch": 2, "latency_ms": 3,
                          "throughput_per_s": 2000 / 3, "levels": "M", "file": "a.xsp", "model_sha256": "ab" * 32})
        self.assertEqual({key: evaluation[key] for key in ("kind", "data_set", "top1_pct", "latency_ms", "divergence", "scenario", "gpu", "n")},
                         {"kind": "evaluation", "data_set": "digits", "top1_pct": 75.5, "latency_ms": 4.25, "divergence": 0.125,
                          "scenario": "offline", "gpu": "H100", "n": 9})
        self.assertEqual((profile["top1_pct"], profile["data_set"], profile["gpu"]), (None, None, None))

    def test_a_measurement_is_there_once(self):
        write(self.files / "a.xsp", [3.0] * 9)
        write(self.files / "b.xsp", [3.0] * 9, 1)
        shutil.copy(self.files / "a.xsp", self.files / "copy.xsp")
        self.assertEqual([row["file"] for row in self.rows(self.files, self.files / "b.xsp")], ["a.xsp", "b.xsp"])

    def test_all_formats(self):
        write(self.files / "a.xsp", [3.0] * 9, evaluation=evaluated(75, 3))
        for form, word in (("text", "top 1"), ("markdown", "top 1 (%) |"), ("csv", "top1_pct")):
            self.assertIn(word, self.run_xsp("history", self.files, "--format", form).stdout)

    def test_a_broken_file_is_left_out(self):
        write(self.files / "a.xsp", [3.0] * 9)
        (self.files / "b.xsp").write_bytes((self.files / "a.xsp").read_bytes()[:5000])
        done = self.run_xsp("history", self.files, "--format", "csv", status=2)
        self.assertEqual(len(done.stdout.splitlines()), 2)
        self.assertIn("b.xsp", done.stderr)

    def test_texts_of_strangers(self):
        path = write(self.files / "a.xsp", [3.0] * 9, evaluation={"batch": 1, "top1_pct": 50, "latency_ms": 3})
        with sqlite3.connect(path) as database:
            for number in range(200):
                database.execute("insert into evaluation values (1, ?, ?)", (f"figure_{number}", number))
            for key, value in (("id", "mine"), ("file", "x"), ("", 1), ("batch ", float("inf")), ("long", "x" * 100000)):
                database.execute("insert into evaluation values (1, ?, ?)", (key, value))
            database.execute("update experiment set framework = cast(x'ff1b5b33316d0a' as text)")
        table = self.table(self.files)
        row, = table["rows"]
        self.assertEqual((row["framework"], row["file"]), ("\ufffd\x1b[31m\n", "a.xsp"))
        self.assertLess(len(table["columns"]), 230)
        self.assertNotIn("\x1b", self.run_xsp("history", self.files).stdout)


    def test_figures_of_strangers(self):
        for number, (degrees, error, latency) in enumerate(((0, 1, 3), (-1, 1, 3), (1e308, 1, 3), (5, -1, 3), (5, 1e300, 3), (5, 1, 1e308), (5, 1, 5e-324),
                                                            (5, 1, -3), ("x", 1, 3), (5, "y", "z"), (1.0000001, 0, 3), (5, 0, 3))):
            path = write(self.files / f"{number}.xsp", [3.0] * 9, number, evaluation={"batch": 1e300 if number == 3 else 1, "latency_ms": latency,
                         "latency_degrees": degrees, "latency_error_ms": error, "throughput_per_s": latency, "top1_pct": latency})
            with sqlite3.connect(path) as database:
                database.execute("update experiment set created_ns = ?", ((1 << 63) - 1 - number if number % 2 else -number,))
        for table in ("list", "series", "models", "accuracy", "latency", "systems"):
            self.table(self.files, "--table", table)
            self.run_xsp("history", self.files, "--table", table)
        self.run_xsp("publish", self.folder / "site", self.files)

    def test_no_throughput(self):
        write(self.files / "a.xsp", [3.0] * 9, evaluation={"batch": 1, "top1_pct": 70, "throughput_per_s": 0})
        row, = self.rows(self.files, "--table", "models")
        self.assertEqual((row["accuracy_pct"], row["maximum_throughput_per_s"]), (70, None))
        self.run_xsp("publish", self.folder / "site", self.files)


class Verdicts(HistoryTest):
    def test_against_the_one_before(self):
        """The interval is that of xsp compare, computed a second time here."""
        samples = [noisy(1, 10), noisy(2, 10), noisy(3, 12), noisy(4, 11.6, sigma=0.12, count=6)]
        for day, latencies in enumerate(samples):
            write(self.files / f"{day}.xsp", latencies, day)
        rows = self.rows(self.files)
        self.assertEqual([row["verdict"] for row in rows], [None, "same", "slower", "not decided"])
        self.assertEqual([row["reason"] for row in rows], [None, None, None, "noise"])
        self.assertEqual([row["verdict"] for row in self.rows(self.files, "--top", 2)], ["slower", "not decided"])
        for before, row, a, b in zip(rows, rows[1:], samples, samples[1:]):
            parts = [yuen(side) if len(side) >= 8 else plain(side) for side in (a, b)]
            width = reach(welch(parts[1], parts[0]), 0.95)
            difference = row["latency_ms"] - before["latency_ms"]
            for key, value in (("change_pct", difference), ("low_pct", difference - width), ("high_pct", difference + width)):
                self.assertAlmostEqual(row[key], 100 * value / before["latency_ms"], places=6)

    def test_series_are_apart(self):
        for day, (version, batch, host) in enumerate((("1", 1, "alpha"), ("1", 2, "alpha"), ("2", 1, "alpha"), ("2", 1, "beta"))):
            write(self.files / f"{day}.xsp", noisy(day, 10), day, version=version, batch=batch, host=host)
        self.assertEqual([row["verdict"] for row in self.rows(self.files)], [None, None, "same", None])
        self.assertEqual([row["verdict"] for row in self.rows(self.files, "--by", "model")], [None, None, "same", "same"])
        self.assertEqual([row["verdict"] for row in self.rows(self.files, "--by", "framework_version")], [None, None, None, "same"])

    def test_drift_and_too_few_values(self):
        drifting = [10 + 0.2 * number for number in range(12)]
        for day, latencies in enumerate((noisy(1, 11), drifting, [11.1])):
            write(self.files / f"{day}.xsp", latencies, day)
        self.assertEqual([row["reason"] for row in self.rows(self.files)], [None, "drift", "drift"])
        (self.files / "1.xsp").unlink()
        self.assertEqual([row["reason"] for row in self.rows(self.files)], [None, "too few values"])

    def test_changes_of_a_series_are_those_of_compare(self):
        for day in range(8):
            write(self.files / f"{day}.xsp", noisy(day, 10 if day < 5 else 12), day)
        write(self.files / "other.xsp", noisy(9, 5), 9, framework="openvino")
        series, other = self.rows(self.files, "--table", "series", "--by", "framework")
        self.assertEqual((series["framework"], series["n"], series["segments"], series["verdict"]), ("onnxruntime", 8, 2, "slower"))
        self.assertEqual((series["first"], series["last"]), ("2025-10-09T08:53:20Z", "2025-10-16T08:53:20Z"))
        self.assertEqual((other["n"], other["verdict"], other["segments"]), (1, None, None))
        compared = json.loads(self.run_xsp("compare", *sorted(self.files.glob("[0-9].xsp")), "--json", status=1).stdout)
        self.assertEqual([series[key] for key in ("verdict", "change_pct", "low_pct", "high_pct", "latency_ms")],
                         [compared[key] for key in ("verdict", "difference_pct", "low_pct", "high_pct", "b_ms")])


class Constraints(HistoryTest):
    def test_each(self):
        for day, (name, version, framework, model_version, host) in enumerate((
                ("resnet50", "1.20.0", "onnxruntime", "1.0", "alpha"), ("resnet101", "1.9", "onnxruntime", "1.5", "beta"),
                ("vgg", "2025.1", "openvino", "2.0", "gamma"))):
            write(self.files / f"{name}.xsp", [3.0] * 9, day, name, framework, version, host=host, cpu="EPYC 7" if host == "alpha" else "Xeon",
                  gpu="NVIDIA H100" if host == "beta" else None, model_version=model_version,
                  evaluation=evaluated(50, 3, data_set="sets/digits") if name == "vgg" else None)
        everything = ["resnet50", "resnet101", "vgg"]
        for options, models in (
                ("--model vgg", ["vgg"]), ("--model RES*", ["resnet50", "resnet101"]), ("--model res", []),
                ("--model-version >=1.0,<2", ["resnet50", "resnet101"]), ("--model-version 1.5", ["resnet101"]), ("--model-version ==2", ["vgg"]),
                ("--framework onnxruntime", ["resnet50", "resnet101"]), ("--framework onnxruntime>=1.10", ["resnet50"]),
                ("--framework ONNXRuntime<1.10", ["resnet101"]), ("--framework onnx", []),
                ("--system alpha", ["resnet50"]), ("--system xeon", ["resnet101", "vgg"]), ("--system h100", ["resnet101"]),
                ("--since 2025-10-10", ["resnet101", "vgg"]), ("--since 2025-10-10T08:54", ["vgg"]), ("--until 2025-10-10", ["resnet50", "resnet101"]),
                ("--until 2025-10-10T08:53:19Z", ["resnet50"]), ("--since 2025-10-10 --until 2025-10-10", ["resnet101"]),
                ("--data DIGITS", ["vgg"]), ("--top 2", ["resnet101", "vgg"]), ("--top 0", everything)):
            with self.subTest(options):
                if models:
                    self.assertEqual([row["model"] for row in self.rows(self.files, *options.split())], models)
                else:
                    self.refused("constraints", "history", self.files, *options.split(), status=1)

    def test_wrong_ones(self):
        write(self.files / "a.xsp", [3.0] * 9)
        for options in ("--model-version >=x", "--framework >=1", "--framework onnxruntime>>1", "--since yesterday", "--until 2025-13-01", "--since 1960-01-01",
                        "--since 2025-10-10junk", "--table none", "--by colour", "--by model," + "host," * 12, "--top -1", "--base nobody --table systems",
                        "--to mysql://x"):
            with self.subTest(options):
                self.refused("xsp: wrong use", "history", self.files, *options.split())

    def test_no_such_column(self):
        write(self.files / "a.xsp", [3.0] * 9)
        self.refused("cannot sort by this key: colour: list has created, model, ", "history", self.files, "--sort", "colour")

    def test_nothing_to_see(self):
        self.refused("no .xsp file", "history", self.files)
        self.refused("missing", "history", self.folder / "missing")


class Lines(HistoryTest):
    def lines(self, plot):
        """Of each line of a plot: how many points it has."""
        svg = self.run_xsp("history", self.files, "--plot", plot).stdout
        return sorted(len(line.split()) for line in re.findall(r'<polyline class="line c\d" points="([^"]*)"', svg)), svg

    def test_versions_levels_and_data_are_lines_of_their_own(self):
        """Each is a series; as one line they would go forth and back in time, and upright over batch sizes."""
        series = [{}, {"model_version": "2.0"}, {"levels": "M/L"}, {"evaluation": evaluated(70, 5)}, {"evaluation": evaluated(70, 6, data_set="mnist")}]
        for number, more in enumerate(series):
            for day in (0, 1):
                write(self.files / f"{number}-{day}.xsp", [5.0 + number] * 9, day, **more)
        counts, svg = self.lines("time")
        self.assertEqual(counts, [2] * len(series))
        for word in ("2.0", "M/L", "evaluation", "mnist"):
            self.assertIn(word, svg)
        self.assertEqual(self.lines("batches")[0], [1] * len(series))

    def test_one_series_has_its_plain_name(self):
        for batch in (1, 2):
            for day in (0, 1):
                write(self.files / f"{batch}-{day}.xsp", [5.0] * 9, day, batch=batch)
        self.assertIn(">net, onnxruntime on alpha, batch 2<", self.lines("time")[1])
        self.assertEqual(self.lines("batches")[0], [2])
        self.assertIn(">net, onnxruntime on alpha<", self.lines("batches")[1])


class Tables(HistoryTest):
    def test_accuracy_over_frameworks(self):
        self.zoo()
        write(self.files / "older.xsp", [5.0] * 9, -3, "vgg", "openvino", evaluation=evaluated(11, 5))
        rows = self.rows(self.files, "--table", "accuracy")
        self.assertEqual([(row["model"], row["data_set"], row["onnxruntime_top1_pct"], row["openvino_top1_pct"], row["openvino_top5_pct"])
                          for row in rows], [("resnet", "digits", 70, 72.5, 92.5), ("vgg", "digits", 60, 62.5, 82.5)])

    def test_a_slash_after_a_folder_is_no_other_data_set(self):
        write(self.files / "a.xsp", [5.0] * 9, 0, evaluation=evaluated(70, 5, data_set="data/digits"))
        write(self.files / "b.xsp", [5.0] * 9, 1, evaluation=evaluated(70, 5, data_set="data/digits/"))
        write(self.files / "c.xsp", [5.0] * 9, 1, framework="openvino", evaluation=evaluated(72, 5, data_set="data/digits/"))
        row, = self.rows(self.files, "--table", "accuracy")
        self.assertEqual((row["data_set"], row["onnxruntime_top1_pct"], row["openvino_top1_pct"]), ("data/digits", 70, 72))
        self.assertEqual(sorted(row["n"] for row in self.rows(self.files, "--table", "series")), [1, 2])

    def test_accuracies_over_other_inputs_are_noted(self):
        write(self.files / "a.xsp", [5.0] * 9, 0, evaluation=evaluated(70, 5, data_checksum="aa"))
        write(self.files / "b.xsp", [5.0] * 9, 0, framework="openvino", evaluation=evaluated(72, 5, data_checksum="aa"))
        self.assertFalse(any("other inputs" in note for note in self.table(self.files, "--table", "accuracy")["notes"]))
        write(self.files / "limited.xsp", [5.0] * 9, 1, framework="openvino", evaluation=evaluated(90, 5, data_checksum="bb", inputs=10))
        table = self.table(self.files, "--table", "accuracy")
        self.assertEqual([row["openvino_top1_pct"] for row in table["rows"]], [90])
        self.assertTrue(any("1 rows" in note and "other inputs" in note for note in table["notes"]))

    def test_latency_over_batch_sizes_and_frameworks(self):
        self.zoo()
        rows = self.rows(self.files, "--table", "latency", "--model", "resnet", "--system", "beta")
        self.assertEqual([(row["host"], row["batch"], row["onnxruntime_latency_ms"], row["openvino_latency_ms"]) for row in rows],
                         [("beta", 1, 12, 6), ("beta", 2, 24, 12), ("beta", 4, 48, 24)])

    def test_frameworks_are_compared_at_the_same_version(self):
        for version, slow in (("1.0", 4), ("2.0", 2)):
            for framework, ms in (("onnxruntime", slow), ("openvino", 1)):
                write(self.files / f"{framework}-{version}.xsp", [ms] * 9, float(version), framework=framework, model_version=version)
        rows = self.rows(self.files, "--table", "frameworks", "--base", "onnxruntime")
        self.assertEqual(sorted((row["model_version"], row["normalized_online_latency"]) for row in rows), [("1.0", 1 / 4), ("2.0", 1 / 2)])

    def test_latency_relative_to_a_host(self):
        self.zoo()
        rows = self.rows(self.files, "--table", "systems", "--model", "resnet", "--framework", "openvino")
        self.assertEqual([(row["batch"], row["alpha_latency_ms"], row["beta_latency_ms"], row["beta_relative"]) for row in rows],
                         [(1, 2, 6, 3), (2, 4, 12, 3), (4, 8, 24, 3)])
        rows = self.rows(self.files, "--table", "systems", "--model", "resnet", "--base", "beta")
        self.assertAlmostEqual(rows[0]["alpha_relative"], 1 / 3)

    def test_models_with_accuracy_next_to_latency(self):
        """Size, task and reported accuracy come from the profile, the evaluated one and the fastest batch from later files."""
        self.zoo()
        write(self.files / "profile.xsp", [7.0] * 9, -5, "vgg", "onnxruntime", "2.1", 8, "alpha",
              workload={"graph_bytes": 500, "task": "image classification", "reported.top1_pct": 71.3, "reported.source": "https://vgg.example"})
        write(self.files / "slower.xsp", [6.0] * 9, 30, "resnet", "openvino", "2.1", 1, "alpha")
        names = ("model", "framework", "host", "online_latency_ms", "maximum_throughput_per_s", "maximum_throughput_batch",
                 "accuracy_metric", "reported_accuracy_pct", "accuracy_pct", "data_set", "graph_bytes", "task")
        rows = [tuple(row[name] for name in names) for row in self.rows(self.files, "--table", "models", "--system", "alpha", "--sort", "accuracy_pct")]
        self.assertEqual(rows, [
            ("resnet", "openvino", "alpha", 6, 500, 2, "top1_pct", None, 72.5, "digits", None, None),
            ("resnet", "onnxruntime", "alpha", 4, 250, 1, "top1_pct", None, 70, "digits", None, None),
            ("vgg", "openvino", "alpha", 10, 100, 1, "top1_pct", None, 62.5, "digits", None, None),
            ("vgg", "onnxruntime", "alpha", 10, 8000 / 7, 8, "top1_pct", 71.3, 60, "digits", 500, "image classification")])
        latencies = [row["online_latency_ms"] for row in self.rows(self.files, "--table", "models", "--sort", "online latency")]
        self.assertEqual(latencies, sorted(latencies, reverse=True))
        self.assertEqual([row["model"] for row in self.rows(self.files, "--table", "models")], ["resnet"] * 4 + ["vgg"] * 4)

    def test_latencies_with_the_fewest_levels(self):
        """The overhead of layers is in a later file. Its latency counts only where there is no other; a note says so."""
        write(self.files / "old.xsp", [3.0] * 9, 0)
        write(self.files / "alone.xsp", [4.0] * 9, 1)
        write(self.files / "layers.xsp", [9.0] * 9, 2, levels="M/L")
        write(self.files / "two.xsp", [8.0] * 9, 3, batch=2, levels="M/L/K")
        write(self.files / "other.xsp", [12.0] * 9, 3, framework="openvino", levels="M/L")
        latency = self.table(self.files, "--table", "latency")
        self.assertEqual([(row["batch"], row["onnxruntime_latency_ms"], row["openvino_latency_ms"]) for row in latency["rows"]], [(1, 4, 12), (2, 8, None)])
        self.assertTrue(any("2 latencies" in note for note in latency["notes"]))
        self.assertEqual([row["alpha_latency_ms"] for row in self.rows(self.files, "--table", "systems")], [4, 8, 12])
        own, other = self.rows(self.files, "--table", "models", "--sort", "online_latency_ms")[::-1]
        self.assertEqual((own["online_latency_ms"], own["maximum_throughput_per_s"], own["maximum_throughput_batch"]), (4, 250, 1))
        self.assertEqual((other["online_latency_ms"], other["maximum_throughput_per_s"]), (12, 1000 / 12))
        self.assertEqual(len(self.rows(self.files)), 5)
        write(self.files / "beta.xsp", [16.0] * 9, 4, batch=2, host="beta")
        self.assertIn(">relative to alpha<", self.run_xsp("history", self.files, "--plot", "systems").stdout)

    def test_small_figures_next_to_large_ones(self):
        """Each row is another model: 12.3 µs keep their digits next to 70 s."""
        write(self.files / "a.xsp", [70000.0] * 9, name="large")
        write(self.files / "b.xsp", [0.0123] * 9, name="small")
        rows = [[cell.strip() for cell in line.split("|")] for line in
                self.run_xsp("history", self.files, "--table", "models", "--format", "markdown").stdout.splitlines() if "|" in line]
        latency = next(place for place, head in enumerate(rows[0]) if head.startswith("online latency"))
        self.assertEqual([row[latency] for row in rows[2:]], ["70.000", "0.0000123"])

    def test_outputs_of_other_kinds_and_scenarios(self):
        write(self.files / "a.xsp", [3.0] * 9, name="boxes", evaluation={"batch": 1, "map_pct": 40.5, "latency_ms": 3, "offline.value": 300, "offline.p99_ms": 5})
        write(self.files / "b.xsp", [3.0] * 9, name="masks", framework="openvino", evaluation={"batch": 1, "miou_pct": 60.5, "latency_ms": 3})
        rows = self.rows(self.files, "--table", "accuracy")
        self.assertEqual([(row["model"], row.get("onnxruntime_map_pct"), row.get("openvino_miou_pct")) for row in rows],
                         [("boxes", 40.5, None), ("masks", None, 60.5)])
        self.assertEqual(self.rows(self.files)[0]["offline.p99_ms"], 5)
        text = self.run_xsp("history", self.files).stdout
        self.assertEqual([word in text for word in ("mAP", "offline.value", "offline.p99")], [True, True, False])

    def test_an_evaluated_metric_before_a_reported_one(self):
        """The manifest reports top 1; the model was evaluated for mAP."""
        write(self.files / "a.xsp", [3.0] * 9, evaluation={"batch": 1, "map_pct": 40.5}, workload={"reported.top1_pct": 71.3})
        write(self.files / "b.xsp", [3.0] * 9, name="other", workload={"reported.top1_pct": 71.3, "reported.map_pct": 45.5})
        rows = self.rows(self.files, "--table", "models", "--sort", "model")
        self.assertEqual(sorted((row["model"], row["accuracy_metric"], row["reported_accuracy_pct"], row["accuracy_pct"]) for row in rows),
                         [("net", "map_pct", None, 40.5), ("other", "top1_pct", 71.3, None)])

    def test_runs_of_scenarios_do_not_count(self):
        path = write(self.files / "a.xsp", [3.0, 3.1, 3.2] * 3, evaluation=evaluated(50, 3.1))
        expected, = self.rows(path)
        with sqlite3.connect(path) as database:
            database.execute("insert into run select 2, experiment_id, levels, batch_size, dropped_count, epoch, layer, misused_count, own_pct from run")
            database.execute("insert into observation select 2, observation, span_id, start_ns, duration_ns * 10, warmup from observation")
            database.execute("insert into note values (2, 'scenario', 'server')")
        row, = self.rows(path)
        self.assertEqual((row["n"], row["latency_error_ms"]), (expected["n"], expected["latency_error_ms"]))

    def test_a_model_that_was_not_evaluated_has_no_accuracy(self):
        write(self.files / "a.xsp", [3.0] * 9)
        self.assertEqual(self.rows(self.files, "--table", "accuracy"), [])


if __name__ == "__main__":
    unittest.main()
