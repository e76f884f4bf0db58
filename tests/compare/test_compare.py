# SPDX-License-Identifier: Apache-2.0
"""xsp compare: figures and verdicts of random sides against a second implementation (compared.py), and examples with a known
answer."""
import math
import pathlib
import random
import sqlite3
import unittest

import scripted
from compared import Side, changes, created, expected
from interval_answers import reach
from scripted import xsp, xsp_json

LAYERS = ("conv", "relu", "gemm")
TYPES = {"conv": "Conv", "relu": "Relu", "gemm": "Gemm"}
SECOND = 10**9


def random_sides(seed):
    """Two sides with few or many runs, in turns or one after the other, with drift, absent layers, few or many observations."""
    chance = random.Random(seed)
    sides, now = (Side(TYPES), Side(TYPES)), scripted.UNIX_START
    spread, drift = chance.choice((0.002, 0.03, 0.2)), chance.choice((0, 0, 0, 0.5))
    factor = {layer: chance.choice((1, 1, 1.05, 0.8)) for layer in LAYERS}
    runs, observations, absent = chance.choice((1, 1, 2, 3, 4)), chance.choice((1, 2, 3, 7, 12)), chance.choice((0, 0, 0.2))
    counts = observations, chance.choice((observations, observations, 2))
    turns = [(number, which) for number in range(runs) for which in (0, 1)]
    if chance.random() < 0.3:
        turns.sort(key=lambda turn: turn[1])
    for number, which in turns:
        made = []
        for i in range(counts[which]):
            layers = {layer: (2 + place) * (factor[layer] if which else 1) * max(0.1, 1 + chance.gauss(0, spread)) *
                      (1 + drift * (number + i / counts[which])) for place, layer in enumerate(LAYERS)
                      if layer != "relu" or i == 0 or chance.random() >= absent}
            made.append({"model": math.fsum(layers.values()) * (1 + abs(chance.gauss(0, spread))), **layers})
        now = sides[which].run(made, now) + SECOND
    return sides, chance


class CompareTest(unittest.TestCase):
    def setUp(self):
        temporary = scripted.temporary_folder()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write(self, a, b):
        return a.write(self.folder / "a.xsp"), b.write(self.folder / "b.xsp")

    def compare(self, a, b, *arguments, check=0):
        return xsp_json("compare", *self.write(a, b), "--json", *arguments, check=check)

    def rows(self, answer, kind="layer"):
        return {row["name"]: row for row in answer["rows"] if row["kind"] == kind}


class Figures(CompareTest):
    def near(self, found, wanted, size, where):
        if isinstance(wanted, float) and isinstance(found, (int, float)):
            self.assertLessEqual(abs(found - wanted), 1e-8 * max(size, abs(wanted)), f"{where}: {found}, not {wanted}")
        else:
            self.assertEqual(found, wanted, where)

    def check_needed(self, a, b, row, error, count, decides, where=None):
        """Enough runs, or observations, for an interval that reaches so far; one fewer is not enough."""
        of_runs = max(row["a_n"] / len(a.runs), row["b_n"] / len(b.runs)) if "runs" in row["interval_from"] else 1
        needed = math.floor(row["observations_needed"] / of_runs + 1e-9)
        for more, is_enough in ((needed * 1.001, True), (needed - 1.001, False)):
            half = reach((error[0] * count / more, error[1] * more / count), 0.95)
            self.assertEqual(half <= decides, is_enough, f"{where}, {needed}")

    def check(self, seed):
        (a, b), chance = random_sides(seed)
        statistic, threshold = chance.choice(("trimmed:0.2", "trimmed:0.2", "mean", "median")), chance.choice((1, 0, 3))
        answer = self.compare(a, b, "--stat", statistic, "--threshold", f"{threshold}%", check=None)
        rows = {**self.rows(answer), "model": self.rows(answer, "model")["net"]}
        self.assertEqual(set(rows), {"model", *LAYERS})
        self.assertEqual(answer["verdict"], rows["model"]["verdict"])
        found = set()
        for layer, row in rows.items():
            wanted, (error, count, decides) = expected(a.runs, b.runs, layer, statistic, threshold)
            where = f"seed {seed}, {layer}"
            for key, value in wanted.items():
                self.near(row.get(key), value, 100 if key.endswith("pct") else wanted["a_ms"], f"{where}, {key}")
            if wanted["reason"] == "noise" and row["observations_needed"] is not None:
                self.check_needed(a, b, row, error, count, decides, where)
                found.add("needed")
            else:
                self.assertIsNone(row["observations_needed"], where)
            found |= {wanted["verdict"], wanted["interval_from"], wanted["reason"]}
        return found

    def test_random_sides(self):
        found = set().union(*(self.check(seed) for seed in range(60)))
        self.assertEqual(found, {"slower", "faster", "same", "not decided", "paired runs", "runs", "observations", None,
                                 "needed", "noise", "drift", "too few values"})

    def test_needed_by_runs_of_unequal_lengths(self):
        a, b, now = Side(TYPES), Side(TYPES), scripted.UNIX_START
        for one, runs, count in ((a, 3, 10), (b, 12, 3)):
            for number in range(runs):
                now = one.run([{"model": 8.0 + number % 2 + i / 1000} for i in range(count)], now, levels="M") + SECOND
        row = self.rows(self.compare(a, b), "model")["net"]
        wanted, needed = expected(a.runs, b.runs)
        self.assertEqual((row["interval_from"], row["reason"]), (wanted["interval_from"], "noise"))
        self.check_needed(a, b, row, *needed)


def steady(layers, count=10, spread=0.001, seed=1, start=0.0):
    """Observations with this much noise; the model takes what its layers take."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        values = {layer: ms * (1 + chance.gauss(0, spread)) for layer, ms in layers.items()}
        made.append({"model": math.fsum(values.values()) + start, **values})
    return made


def side(layers, types=TYPES, seed=1, count=10, spread=0.001, **options):
    made = Side(types, **options)
    made.run(steady(layers, count, spread, seed))
    return made


class Verdicts(CompareTest):
    layers = {"conv": 5.0, "relu": 1.0, "gemm": 2.0}

    def test_the_same_program(self):
        answer = self.compare(side(self.layers), side(self.layers, seed=2))
        self.assertEqual(answer["verdict"], "same")
        self.assertEqual({row["verdict"] for row in answer["rows"]}, {"same"})
        self.assertEqual(answer["unpaired"], {"a": [], "b": []})
        self.assertEqual({row["matched_by"] for row in answer["rows"]}, {None, "name"})

    def test_a_slower_layer(self):
        slow = side({**self.layers, "conv": 5.5}, seed=2)
        answer = self.compare(side(self.layers), slow, check=1)
        self.assertEqual(answer["verdict"], "slower")
        self.assertEqual([(row["kind"], row["name"]) for row in answer["rows"][:2]], [("model", "net"), ("layer", "conv")])
        self.assertEqual([row["verdict"] for row in answer["rows"]], ["slower", "slower", "same", "same"])
        self.assertAlmostEqual(answer["difference_pct"], 0.5 / 8 * 100, delta=0.5)
        for arguments, status in ((["--fail-above", "3%"], 1), (["--fail-above", "7"], 0),
                                  (["--fail-above", "7", "--fail-rows"], 1), (["--fail-above", "20", "--fail-rows"], 0),
                                  (["--threshold", "8"], 0)):
            self.compare(side(self.layers), slow, *arguments, check=status)
        answer = self.compare(slow, side(self.layers))
        self.assertEqual(answer["verdict"], "faster")

    def test_noise_is_not_decided(self):
        answer = self.compare(side(self.layers, spread=0.2), side(self.layers, spread=0.2, seed=2))
        self.assertEqual(answer["verdict"], "not decided")
        self.assertGreater(answer["further_observations"], 0)

    def test_a_slow_observation_of_one_layer_is_noise(self):
        """The model's latency is in the middle there, so the layer's figure has it."""
        a, b = ([{"model": 8 + i / 1000, "conv": 5.0, "relu": 1 + i / 10_000} for i in range(10)] for _ in range(2))
        a[5]["relu"] = 3.0
        sides = Side(TYPES), Side(TYPES)
        for one, observations in zip(sides, (a, b)):
            one.run(observations)
        rows = self.rows(self.compare(*sides))
        self.assertAlmostEqual(rows["relu"]["a_ms"], 8 / 6, delta=0.01)
        self.assertEqual((rows["relu"]["verdict"], rows["relu"]["reason"]), ("not decided", "noise"))
        self.assertEqual(rows["conv"]["verdict"], "same")

    def test_one_observation_is_not_decided(self):
        answer = self.compare(side(self.layers, count=1), side(self.layers, count=1))
        self.assertEqual((answer["verdict"], answer["rows"][0]["reason"]), ("not decided", "too few values"))
        self.assertIsNone(answer["low_pct"])

    def test_other_batch_sizes_do_not_compare(self):
        a, b = Side(TYPES), Side(TYPES)
        a.run(steady(self.layers), batch=1)
        b.run(steady(self.layers), batch=2)
        done = xsp("compare", *self.write(a, b), "--json", check=2)
        self.assertIn(b"not comparable", done.stdout)
        self.assertEqual(done.stderr.count(b"\n"), 1)
        now = b.run(steady(self.layers), batch=4)
        a.run(steady({**self.layers, "conv": 9}), now, batch=4)
        answer = self.compare(a, b)
        self.assertEqual((answer["batch_size"], answer["verdict"]), (4, "faster"))
        self.assertEqual(xsp("compare", *self.write(a, b), "--batch", "1").returncode, 2)
        a, b = Side(TYPES), Side(TYPES)
        a.run([{"model": 0.0}] * 3, batch=1)
        b.run([{"model": 0.0}] * 3, batch=2)
        self.assertEqual(xsp("compare", *self.write(a, b)).returncode, 2)

    def test_a_side_without_a_recorded_batch_size(self):
        a, b = Side(TYPES), Side(TYPES)
        a.run(steady(self.layers), batch=4)
        b.run(steady(self.layers), batch=0)
        for sides in ((a, b), (b, a)):
            answer = self.compare(*sides)
            self.assertEqual(answer["verdict"], "same")
            self.assertEqual(sum("did not record its batch size" in note for note in answer["notes"]), 1)
        a.run(steady(self.layers), a.runs[-1][0] + 10**12, batch=2)  # which of the two b has is unknown
        self.assertEqual(xsp("compare", *self.write(a, b)).returncode, 2)

    def test_other_levels_do_not_compare(self):
        a, b = Side(TYPES), Side(TYPES)
        now = a.run([{"model": 8.0 + i / 100} for i in range(10)], levels="M")
        b.run(steady(self.layers))
        self.assertEqual(xsp("compare", *self.write(a, b)).returncode, 2)
        a.run(steady(self.layers), now)  # M/L on both sides
        self.assertEqual(self.compare(a, b)["verdict"], "same")

    def test_levels_that_answer_on_neither_side(self):
        """a's model is of M, b's of M/L: both have M/L/K."""
        a, b = Side(TYPES), Side(TYPES)
        now = a.run([{"model": 5.0 + i / 100} for i in range(10)], levels="M")
        a.run(steady(self.layers), now, levels="M/L/K", kernels={("conv", "k"): 1.0})
        now = b.run(steady({**self.layers, "conv": 2.0}), levels="M/L")
        b.run(steady(self.layers, seed=2), now, levels="M/L/K", kernels={("conv", "k"): 1.0})
        answer = self.compare(a, b)
        self.assertEqual({row["verdict"] for row in answer["rows"]}, {"same"})
        self.assertAlmostEqual(answer["a_ms"], 8.0, delta=0.1)

    def test_many_more_observations_at_one_level(self):
        one = Side(TYPES)
        now = one.run([{"model": 8.0 + i / 10_000} for i in range(10_000)], levels="M")
        one.run(steady(self.layers, 3), now, levels="M/L/K", kernels={("conv", "k"): 1.0})
        answer = self.compare(one, one)
        self.assertEqual([(row["kind"], row["a_n"]) for row in answer["rows"]],
                         [("model", 10_000), *[("layer", 3)] * 3, ("kernel", 3)])


class Pairs(CompareTest):
    def test_frameworks_that_fuse(self):
        a = side({"c1": 3.0, "bn1": 1.0, "relu1": 0.5, "pool": 1.0, "fc": 2.0},
                 {"c1": "Conv", "bn1": "BatchNormalization", "relu1": "Relu", "pool": "MaxPool", "fc": "Gemm"})
        b = side({"0": 4.5, "1": 1.0, "2": 2.0, "3": 0.7}, {"0": "CONV_2D", "1": "MAX_POOL_2D", "2": "FULLY_CONNECTED",
                                                            "3": "SOFTMAX"}, framework="litert")
        answer = self.compare(a, b, check=None)
        rows = self.rows(answer)
        self.assertEqual({name: row["b_name"] for name, row in rows.items()}, {"c1 + bn1 + relu1": "0", "pool": "1", "fc": "2"})
        self.assertEqual({row["matched_by"] for row in rows.values()}, {"structure"})
        self.assertEqual({row["verdict"] for row in rows.values()}, {"same"})
        self.assertEqual([row["name"] for row in answer["unpaired"]["b"]], ["3"])
        self.assertIn({"key": "framework", "a": "onnxruntime", "b": "litert"}, answer["systems"])

    def test_kernels(self):
        a, b = Side(TYPES), Side(TYPES)
        for one, kernels in ((a, {("conv", "gemm_128"): 1.0, ("conv", "add"): 0.5, ("relu", "add"): 0.2, ("gemm", "old"): 0.3}),
                             (b, {("conv", "gemm_128"): 1.2, ("conv", "add"): 0.5, ("gemm", "add"): 0.2, ("gemm", "new"): 0.3})):
            one.run(steady({"conv": 2.0, "relu": 1.0, "gemm": 1.0}), levels="M/L/K", kernels=kernels)
        answer = self.compare(a, b, "--kind", "kernel", check=None)
        rows = {(row["name"], row["layer_name"]): row for row in answer["rows"]}
        self.assertEqual({key: (round(row["a_ms"], 6), round(row["b_ms"], 6), row["verdict"]) for key, row in rows.items()},
                         {("gemm_128", "conv"): (1.0, 1.2, "slower"), ("add", "conv"): (0.5, 0.5, "same"),
                          ("add", None): (0.2, 0.2, "same")})
        self.assertEqual([(row["name"], row["layer_name"]) for row in answer["unpaired"]["a"]], [("old", "gemm")])
        self.assertEqual([(row["name"], row["layer_name"]) for row in answer["unpaired"]["b"]], [("new", "gemm")])
        a_only = xsp_json("analyze", "A10", self.folder / "a.xsp", "--json")
        sums = {row["kernel_name"]: row["latency_ms"] for row in a_only["rows"]}
        self.assertAlmostEqual(sums["add"], 0.7, places=6)

    def test_kernels_of_layers_without_a_partner(self):
        """They pair by name, all at once: with those of paired layers too, where only one side has them there."""
        a, b = (Side({"conv": "Conv", "lstm": "LSTM", "sort": "Sort", "own": "Own"}) for _ in range(2))
        a.run(steady({"conv": 2.0, "lstm": 1.0, "own": 1.0}), levels="M/L/K", kernels={
            ("conv", "k"): 1.0, ("lstm", "add"): 0.1, ("own", "add"): 0.2, ("lstm", "old"): 0.1, ("own", "old"): 0.2})
        b.run(steady({"conv": 2.0, "sort": 1.0}), levels="M/L/K", kernels={("conv", "k"): 1.0, ("conv", "add"): 0.1, ("sort", "add"): 0.2})
        answer = self.compare(a, b, "--kind", "kernel", check=None)
        self.assertEqual([(row["name"], row["layer_name"], round(row["a_ms"], 6), round(row["b_ms"], 6)) for row in answer["rows"]],
                         [("add", None, 0.3, 0.3), ("k", "conv", 1.0, 1.0)])
        self.assertEqual([(row["name"], row.get("layer_name")) for row in answer["unpaired"]["a"]], [("old", None)])

    def test_kernels_of_one_side(self):
        """The other one was measured without them, which says nothing about what it executes."""
        a, b = Side(TYPES), Side(TYPES)
        a.run(steady({"conv": 2.0}), levels="M/L/K", kernels={("conv", "k"): 1.0})
        b.run(steady({"conv": 2.0}), levels="M/L")
        for sides in ((a, b), (b, a)):
            answer = self.compare(*sides, check=None)
            self.assertEqual((self.rows(answer, "kernel"), answer["unpaired"]), ({}, {"a": [], "b": []}))

    def test_one_basis_for_both_sides(self):
        a, b = Side(TYPES), Side(TYPES)
        a.run(steady({"conv": 0.1, "relu": 0.1}, start=5), levels="M/L/K", kernels={("conv", "k"): 3.0})  # asynchronous
        now = b.run(steady({"conv": 0.1, "relu": 0.1}, start=5), levels="M/L")
        rows = self.rows(self.compare(a, b, check=None))
        self.assertAlmostEqual(rows["conv"]["a_ms"], 0.1, delta=0.01)  # on the host: b has no device
        self.assertEqual(rows["conv"]["verdict"], "not comparable")
        b.run(steady({"conv": 4.0, "relu": 0.1}, start=5), now, levels="M/L/K", kernels={("conv", "k"): 3.5})
        rows = self.rows(self.compare(a, b, check=None))
        self.assertAlmostEqual(rows["conv"]["a_ms"], 3.0, delta=0.02)
        self.assertAlmostEqual(rows["conv"]["b_ms"], 4.0, delta=0.02)  # 3.5 on the device, 0.5 on the host alone


class Sides(CompareTest):
    layers = {"conv": 5.0, "relu": 1.0}

    def folder_of(self, name, count, scale, start, **measured):
        folder = self.folder / name
        folder.mkdir()
        for number in range(count):
            one = Side(TYPES)
            one.run(steady({key: ms * scale for key, ms in self.layers.items()}, 5, seed=number + 7 * len(name)),
                    start + 2 * number * 10 * SECOND, **measured)
            one.write(folder / f"{number}.xsp")
        return folder

    def test_folders_of_repetitions(self):
        a = self.folder_of("before", 4, 1, scripted.UNIX_START)
        b = self.folder_of("after", 4, 1.05, scripted.UNIX_START + 10 * SECOND)
        answer = xsp_json("compare", a, b, "--json", check=1)
        self.assertEqual({row["interval_from"] for row in answer["rows"]}, {"paired runs"})
        self.assertEqual((answer["rows"][0]["a_n"], answer["verdict"]), (20, "slower"))
        latencies = [xsp_json("analyze", "A2", a / f"{number}.xsp", "--json")["rows"][0]["latency_ms"] for number in range(4)]
        row = self.rows(answer)["conv"]
        self.assertAlmostEqual(row["a_ms"], sum(latencies) / 4, delta=0.01)
        (a / "broken.xsp").write_bytes(b"nothing")
        done = xsp("compare", b, a, "--json", check=2)  # faster, without that file
        self.assertIn(b"broken.xsp", done.stderr)
        self.assertEqual(xsp("compare", a, b, "--to", "folded", "-o", "-").returncode, 2)
        self.assertIn(b'"verdict":"faster"', done.stdout.replace(b" ", b""))

    def test_kernels_of_repetitions(self):
        """Pooled like layers: three files on each side are three runs."""
        a = self.folder_of("before", 3, 1, scripted.UNIX_START, levels="M/L/K", kernels={("conv", "k"): 1.0})
        b = self.folder_of("after", 3, 1, scripted.UNIX_START + 10 * SECOND, levels="M/L/K", kernels={("conv", "k"): 1.5})
        row = self.rows(xsp_json("compare", a, b, "--json", check=None), "kernel")["k"]
        self.assertEqual((row["verdict"], row["interval_from"], row["layer_name"], row["a_n"]), ("slower", "paired runs", "conv", 15))

    def test_kernels_where_repetitions_have_other_layers(self):
        """One more layer in one file moves the others; their kernels stay theirs."""
        folder = self.folder / "side"
        folder.mkdir()
        for number in range(3):
            layers = {**({"first": 1.0} if number == 1 else {}), "conv": 2.0, "relu": 1.0}
            one = Side()
            one.run(steady(layers), scripted.UNIX_START + number * SECOND, levels="M/L/K",
                    kernels={("conv", "k"): 1.0, ("relu", "k"): 0.5})
            one.write(folder / f"{number}.xsp")
        answer = xsp_json("compare", folder, folder, "--json")
        self.assertEqual({(row["layer_name"], round(row["a_ms"], 6)) for row in answer["rows"] if row["kind"] == "kernel"},
                         {("conv", 1.0), ("relu", 0.5)})

    def two_experiments(self, after_ns=0):
        both = Side(TYPES)
        now = both.run(steady(self.layers), scripted.UNIX_START + after_ns)
        both.next_experiment(framework="openvino", gpu="none")
        both.run(steady({**self.layers, "conv": 8.0}), now)
        return both.write(self.folder / "both.xsp")

    def test_experiments_of_one_file(self):
        path = self.two_experiments()
        for arguments in ([path], [f"{path}:1", f"{path}:2"], [f"{path}:onnxruntime", f"{path}:openvino"]):
            answer = xsp_json("compare", *arguments, "--json", check=1)
            self.assertEqual(answer["verdict"], "slower")
            self.assertIn({"key": "gpu", "a": None, "b": "none"}, answer["systems"])
        answer = xsp_json("compare", path, path, "--json")  # each with its own
        self.assertEqual([(row["experiment"], row["verdict"]) for row in answer["rows"] if row["kind"] == "model"],
                         [("net in onnxruntime 1.31.1", "same"), ("net in openvino 1.31.1", "same")])

    def test_packages_that_differ(self):
        """One row for each, with its two versions; names and versions with hyphens."""
        lists = [{"dpkg_packages": "apt=2.6.1, libc6=2.36-9, libstdc++-12-dev=12.2.0-14", "python_packages": "numpy-1.26.4, onnxruntime-1.25.0",
                  "conda_packages": "ca-certificates-2026.1-0, numpy-base-1.26.4-py311_0"},
                 {"dpkg_packages": "apt=2.6.1, libc6=2.39-1, zlib1g=1.3", "python_packages": "numpy-2.4.0, onnxruntime-1.25.0",
                  "conda_packages": "ca-certificates-2026.1-1, numpy-base-1.26.4-py311_0"}]
        paths = []
        for number, packages in enumerate(lists):
            side = Side(**packages)
            side.run([{"model": 3 + 0.01 * step} for step in range(9)], levels="M")
            paths.append(side.write(self.folder / f"packages{number}.xsp"))
        rows = {row["key"]: (row["a"], row["b"]) for row in xsp_json("compare", *paths, "--json", check=None)["systems"]}
        self.assertEqual(rows, {
            "dpkg_packages": (3, 3), "dpkg: libc6": ("2.36-9", "2.39-1"), "dpkg: libstdc++-12-dev": ("12.2.0-14", None), "dpkg: zlib1g": (None, "1.3"),
            "python_packages": (2, 2), "python: numpy": ("1.26.4", "2.4.0"),
            "conda_packages": (2, 2), "conda: ca-certificates": ("2026.1-0", "2026.1-1")})
        self.assertIn(b"apt=2.6.1", xsp("info", paths[0]).stdout)

    def test_packages_that_are_no_list(self):
        """A file of an earlier version has a count and a checksum, another nothing; an architecture more has a name again."""
        paths = []
        for number, packages in enumerate(("zlib1g=1.3, libc6=2.36, libc6=2.35", "2, sha256:00ff", "none", "libc6=2.35, libc6=2.36, zlib1g=1.2")):
            side = Side(dpkg_packages=packages)
            side.run([{"model": 3 + 0.01 * step} for step in range(9)], levels="M")
            paths.append(side.write(self.folder / f"packages{number}.xsp"))
        with sqlite3.connect(paths[2]) as database:
            database.execute("update system set value = null where key = 'dpkg_packages'")
        database.close()
        for a, b, expected in ((0, 1, [(3, "2, sha256:00ff")]), (1, 0, [("2, sha256:00ff", 3)]), (0, 2, [(3, None)]), (2, 0, [(None, 3)]),
                               (0, 3, [(3, 3), ("1.3", "1.2")])):
            rows = xsp_json("compare", paths[a], paths[b], "--json", check=None)["systems"]
            self.assertEqual([(row["a"], row["b"]) for row in rows], expected, (a, b))

    def test_facts_of_all_files(self):
        """Of a folder: a driver that changed within one is a difference, one that changed within both alike is none."""
        def folder(name, drivers, numbers):
            (self.folder / name).mkdir(exist_ok=True)
            for number, (driver, cores) in enumerate(zip(drivers, numbers)):
                one = Side(TYPES, driver=driver, cores=cores)
                one.run(steady(self.layers), scripted.UNIX_START + number * 60 * SECOND)
                one.write(self.folder / name / f"{number}.xsp")
            return self.folder / name
        a, b = folder("a", ("1.0", "1.0", "1.0"), (4, 4, 4)), folder("b", ("1.0", "2.0", "2.0"), (4, 4, 8))
        self.assertEqual(xsp_json("compare", a, b, "--json", check=None)["systems"],
                         [{"key": "cores", "a": 4, "b": "4, 8"}, {"key": "driver", "a": "1.0", "b": "1.0, 2.0"}])
        alike = folder("c", ("2.0", "1.0"), (8, 4))
        self.assertEqual(xsp_json("compare", b, alike, "--json", check=None)["systems"], [])
        many = folder("d", [f"{number}" for number in range(10)], [4] * 10)
        self.assertEqual(xsp_json("compare", a, many, "--json", check=None)["systems"],
                         [{"key": "driver", "a": "1.0", "b": "0, 1, 2, 3, 4, 5, 6, 7 and 2 more"}])

    def test_a_file_given_twice_counts_once(self):
        a, b = self.write(side(self.layers), side({**self.layers, "conv": 3.01}))
        once, twice = (xsp("compare", "--history", *paths, "--json", check=None) for paths in ((a, b), (a, b, a, self.folder / "." / "b.xsp")))
        self.assertEqual(once.stdout, twice.stdout)
        self.assertEqual((once.returncode, twice.returncode), (0, 0))
        self.assertEqual(twice.stderr.count(b"it was given before"), 2)

    def test_experiments_are_chosen_by_id_or_name(self):
        both = Side(TYPES, name="net:v1")
        now = both.run(steady(self.layers))
        both.next_experiment(name="1")
        both.run(steady({**self.layers, "conv": 8.0}), now)
        path = both.write(self.folder / "a:both.xsp")
        for name in ("net:v1", "1"):  # ids first
            answer = xsp_json("compare", f"{path}:{name}", f"{path}:2", "--json", check=1)
            self.assertEqual((answer["rows"][0]["name"], answer["rows"][0]["b_name"]), ("net:v1", "1"))
        done = xsp("compare", f"{self.two_experiments()}:net", path, check=2)
        self.assertIn(b"several experiments", done.stderr)
        done = xsp("compare", f"{self.folder}/none.xsp:net:v1", path, check=2)
        self.assertIn(b"none.xsp:net:v1", done.stderr)

    def test_experiments_of_a_folder(self):
        """Files with two frameworks each: one of them is chosen in all."""
        folder = self.folder / "all"
        folder.mkdir()
        for number in range(3):
            self.two_experiments(number * 100 * SECOND).rename(folder / f"{number}.xsp")
        answer = xsp_json("compare", f"{folder}:onnxruntime", f"{folder}:openvino", "--json", check=1)
        self.assertEqual((answer["rows"][0]["a_n"], answer["rows"][0]["interval_from"]), (30, "paired runs"))

    def test_an_experiment_has_one_partner(self):
        """What is left over pairs with nothing that has a better partner."""
        path = self.two_experiments()
        later = side({**self.layers, "conv": 8.0}, framework="openvino", version="1.32")
        later = later.write(self.folder / "later.xsp")
        for sides, alone in (((path, later), "net in onnxruntime 1.31.1 of a"), ((later, path), "net in onnxruntime 1.31.1 of b")):
            answer = xsp_json("compare", *sides, "--json")
            self.assertEqual([row["verdict"] for row in answer["rows"] if row["kind"] == "model"], ["same"])
            self.assertIn(alone, " ".join(answer["notes"]))
        other = side(self.layers, framework="litert").write(self.folder / "other.xsp")
        self.assertEqual(xsp("compare", path, other).returncode, 2)  # either could be meant

    def test_wrong_use(self):
        path = self.two_experiments()
        single = side(self.layers).write(self.folder / "single.xsp")
        for arguments in ([single], [self.folder], [f"{path}:3", single], [f"{path}:net", single], [self.folder / "missing.xsp", single],
                          [single, single, "--fail-above", "x"], [single, single, "--kind", "span"],
                          [single, single, "--stat", "mode"], [single, single, "--latency-basis", "moon"]):
            done = xsp("compare", *arguments, check=2)
            self.assertEqual((done.stdout, done.stderr.count(b"\n")), (b"", 1), arguments)
        (self.folder / "broken.xsp").write_bytes(b"SQLite format 3\0" + bytes(100))
        self.assertEqual(xsp("compare", single, self.folder / "broken.xsp").returncode, 2)

    def test_outputs(self):
        a, b = self.write(side(self.layers, cpus=2), side({**self.layers, "conv": 7.0, "extra": 1.0}, cpus=4))
        text = xsp("compare", a, b, check=1).stdout.decode()
        for part in ("cpus", "verdict  slower: b takes", "only in b", "extra"):
            self.assertIn(part, text)
        self.assertIn("| layer |", xsp("compare", a, b, "--format", "markdown", check=1).stdout.decode())
        lines = xsp("compare", a, b, "--format", "csv", "--top", "1", check=1).stdout.decode().splitlines()
        self.assertEqual([line.split(",")[:2] for line in lines], [["kind", "name"], ["model", "net"], ["layer", "conv"]])


class FoldedStacks(CompareTest):
    def test_both_sides_by_context(self):
        a, b = Side(TYPES), Side(TYPES)
        a.run([{"model": 10.0, "conv": 4.0, "relu": 1.0}] * 3)
        b.run([{"model": 11.0, "conv": 6.0, "gemm": 1.0}] * 6)  # twice as many
        a, b = self.write(a, b)
        out = self.folder / "difference.folded"
        self.assertEqual(xsp("compare", a, b, "--to", "folded", "-o", out, check=0).stderr.decode(), f"xsp: wrote {out}\n")
        self.assertEqual(set(out.read_text().splitlines()), {
            "net 15000000 12000000", "net;conv 12000000 18000000", "net;relu 3000000 0", "net;gemm 0 3000000"})
        self.assertEqual(xsp("compare", a, b, "--to", "folded", "-o", "-", check=0).stdout, out.read_bytes())
        self.assertEqual(xsp("compare", a, b, "--to", "folded", "-o", out).returncode, 2)  # it exists
        self.assertEqual(xsp("compare", a, b, "--to", "folded", "-o", a, "--force").returncode, 2)
        self.assertEqual(xsp("compare", a, b, "--to", "folded").returncode, 2)
        for gate in (["--fail-above", "3"], ["--fail-rows"]):  # no gate that never fails
            self.assertEqual(xsp("compare", a, b, "--to", "folded", "-o", "-", *gate, check=2).stdout, b"")
        xsp("compare", a, b, "--to", "folded", "-o", out, "--force", check=0)

    def test_a_page_beside_the_answer(self):
        """-o OUT.html prints the comparison with its status, and writes the page once."""
        a, b = Side(), Side()
        a.run([{"model": 10.0, "conv": 4.0}] * 5)
        b.run([{"model": 12.0, "conv": 6.0}] * 5)
        a, b = self.write(a, b)
        out = self.folder / "difference.html"
        plain_answer = xsp("compare", a, b, "--json", check=1).stdout
        done = xsp("compare", a, b, "--json", "-o", out, check=1)
        self.assertEqual(done.stdout, plain_answer)
        self.assertIn(out.name.encode(), done.stderr)
        self.assertTrue(out.read_bytes().startswith(b"<!doctype html>"))
        for sides in ((a, b), ("missing.xsp", "missing.xsp")):  # it exists; before the sides are read
            done = xsp("compare", *sides, "-o", out, check=2)
            self.assertEqual((done.stdout, b"the output exists" in done.stderr), (b"", True))
        xsp("compare", b, a, "-o", out, "--force", "--fail-above", "3", check=0)
        for arguments in ((a, b, "-o", self.folder / "difference"), (a, b, a, "-o", out, "--force")):  # no such form; a history
            self.assertIn(b"-o", xsp("compare", *arguments, check=2).stderr)

    def test_lines_that_moved(self):
        """A line was added above, in another folder: contexts pair, and those of two lines add up."""
        paths = []
        for name, folder, lines, own_ns in (("a", "/old", (3, 4), 1000), ("b", "/new", (9, 10), 4000)):
            script = scripted.Script()
            script.experiment()
            script.run()
            script.track(1)
            script.span("net", 0, 20_000)
            for place, line in enumerate(lines):
                context = script.context("conv", script.context("main", None, "python", folder + "/train.py", line), "framework")
                script.span("conv", 100 + 6000 * place, own_ns, "layer", context=context)
            paths.append(script.write(self.folder / f"{name}.xsp"))
        lines = xsp("compare", *paths, "--to", "folded", "-o", "-").stdout.decode().splitlines()
        self.assertEqual(set(lines), {"net 18000 12000", "net;main (train.py);conv 2000 8000"})

    def test_as_export_writes_them(self):
        """Of equal numbers of observations, both sides are what `xsp export` writes of each file."""
        path = scripted.leveled().write(self.folder / "leveled.xsp")
        slower = scripted.leveled(layers=4).write(self.folder / "slower.xsp")
        found = {}
        for line in xsp("compare", path, slower, "--to", "folded", "-o", "-").stdout.decode().splitlines():
            stack, a, b = line.rsplit(" ", 2)
            found[stack] = int(a), int(b)
        for which, file in enumerate((path, slower)):
            wanted = dict(line.rsplit(" ", 1) for line in xsp("export", file, "--to", "folded", "-o", "-").stdout.decode().splitlines())
            self.assertEqual({stack: str(both[which]) for stack, both in found.items() if both[which]}, wanted)


class Histories(CompareTest):
    def files(self, latencies, versions=None):
        """Written in another order than created."""
        paths = []
        for number, latency in reversed(list(enumerate(latencies))):
            one = Side(TYPES, version=versions[number] if versions else "1.31.1")
            one.run([{"model": latency}] * 3)
            paths.append(created(one.write(self.folder / f"{len(latencies) - number}.xsp"), 1_700_000_000 + number))
        return paths

    def test_a_change(self):
        chance = random.Random(4)
        latencies = [10 * (1 + chance.gauss(0, 0.005)) * (1.05 if number >= 7 else 1) for number in range(12)]
        paths = self.files(latencies, ["1.30"] * 7 + ["1.31"] * 5)
        answer = xsp_json("compare", *paths, "--json", check=1)
        for row, latency in zip(answer["rows"], latencies):
            self.assertAlmostEqual(row["latency_ms"], latency, places=5)
        self.assertEqual([row["segment"] for row in answer["rows"]], [1] * 7 + [2] * 5)
        self.assertEqual((answer["verdict"], answer["changes"]), ("slower", 1))
        self.assertAlmostEqual(answer["difference_pct"], 5, delta=1)
        self.assertEqual(answer["systems"], [{"key": "framework_version", "a": "1.30", "b": "1.31"}])
        self.assertEqual(answer["rows"][0]["created"], "2023-11-14T22:13:20Z")
        xsp("compare", *paths, "--fail-above", "8%", check=0)
        text = xsp("compare", "--history", self.folder, check=1).stdout.decode()
        self.assertIn("verdict  slower: the last segment takes", text)
        self.assertEqual(xsp("compare", *paths, "--to", "folded", "-o", "-").returncode, 2)

    def test_no_change(self):
        chance = random.Random(5)
        answer = xsp_json("compare", *self.files([10 * (1 + chance.gauss(0, 0.004)) for _ in range(10)]), "--json")
        self.assertEqual((answer["verdict"], answer["changes"]), ("same", 0))
        answer = xsp_json("compare", *self.files([10, 12, 9, 14, 8, 11, 13, 9.5]), "--json")
        self.assertEqual((answer["verdict"], answer["changes"]), ("not decided", 0))
        answer = xsp_json("compare", *self.files([10] * 5), "--json")
        self.assertEqual((answer["verdict"], answer["changes"]), ("same", 0))
        answer = xsp_json("compare", *self.files([10, 10, 10.1]), "--json")
        self.assertEqual((answer["verdict"], answer["changes"]), ("not decided", 0))

    def test_edges(self):
        """Changes: after equal values, at the last file, of two files, of a version within one framework. No time at all."""
        for latencies, verdict, changes, status in (([5.0] * 6 + [5.2], "slower", 1, 1), ([5.0] * 3 + [4.0] * 3, "faster", 1, 0),
                                                    ([5.0, 9.0], "not decided", 0, 0), ([5.0, 5.0, 9.0], "not decided", 0, 0),
                                                    ([0.0] * 3 + [5.0] * 3, "not comparable", 1, 2), ([0.0] * 5, "not comparable", 0, 2),
                                                    ([5.0] * 3 + [0.0] * 3, "faster", 1, 0)):
            answer = xsp_json("compare", "--history", *self.files(latencies), "--json", check=status)
            self.assertEqual((answer["verdict"], answer["changes"]), (verdict, changes), latencies)

    def test_random_histories(self):
        found = set()
        for seed in range(25):
            chance = random.Random(seed)
            level, latencies = 10.0, []
            for _ in range(chance.randint(4, 14)):
                level *= chance.choice((1, 1, 1, 1, 1, 1.1, 0.8))
                latencies.append(round(level * (1 + chance.gauss(0, chance.choice((0.002, 0.02)))), 6))
            rows = xsp_json("compare", *self.files(latencies), "--json", check=None)["rows"]
            starts = [i for i in range(1, len(rows)) if rows[i]["segment"] != rows[i - 1]["segment"]]
            self.assertEqual(starts, changes(latencies), seed)
            found.add(min(len(starts), 2))
        self.assertEqual(found, {0, 1, 2})

    def test_options_of_two_sides(self):
        paths = self.files([10.0, 10.1, 10.2])
        for option in (("--kind", "layer"), ("--top", "1"), ("--layer", "all"), ("--fail-rows",)):
            self.assertIn(option[0].encode(), xsp("compare", *paths, *option, check=2).stderr)

    def test_files_that_do_not_belong(self):
        paths = self.files([10.0, 10.1, 10.2, 10.1])
        other = Side(TYPES, name="other")
        other.run([{"model": 5.0}])
        self.assertEqual(xsp("compare", *paths, other.write(self.folder / "other.xsp")).returncode, 2)
        batch = Side(TYPES)
        batch.run([{"model": 5.0}], batch=8)
        answer = xsp_json("compare", *paths, created(batch.write(self.folder / "batch.xsp"), 1_800_000_000), "--json")
        self.assertEqual(len(answer["rows"]), 4)
        self.assertIn("batch.xsp", " ".join(answer["notes"]))
        without = Side(TYPES)  # its observation never ended
        without.script.run(1, "M", 1)
        without.script.track(1, "main")
        without.script.span("net", scripted.UNIX_START, "open")
        answer = xsp_json("compare", without.write(self.folder / "without.xsp"), *paths, "--json")
        self.assertEqual(len(answer["rows"]), 4)
        self.assertIn("without.xsp", " ".join(answer["notes"]))
        both = Side(TYPES)
        both.next_experiment(framework="openvino")
        done = xsp("compare", *paths, both.write(self.folder / "both.xsp"), check=2)
        self.assertIn(b"onnxruntime and openvino", done.stderr)
        (self.folder / "broken.xsp").write_bytes(b"nothing")
        done = xsp("compare", *paths, self.folder / "broken.xsp", "--json", check=2)
        self.assertIn(b"broken.xsp", done.stderr)
        self.assertTrue(done.stdout)


if __name__ == "__main__":
    unittest.main()
