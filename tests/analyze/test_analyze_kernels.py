# SPDX-License-Identifier: Apache-2.0
"""A8, A10, A11, A13 and A15 of random experiments, compared with a second implementation (kernel_answers.py)."""
import collections
import glob
import math
import os
import pathlib
import random
import unittest

import kernel_answers
import scripted
import trace_reader

LEVEL_SETS = ("M", "M/L", "M/K", "M/L/K", "M/L/K+metrics", "M/K+metrics", "A/M/L/Lib/K", "K")


class Random:
    """A random experiment as a script for make_trace."""

    def __init__(self, seed, level_sets=None):
        self.random = random.Random(seed)
        self.script = scripted.Script()
        self.now = scripted.UNIX_START
        self.correlation = 0
        self.has_indices = self.random.random() < 0.5
        self.is_steady = self.random.random() < 0.4  # every observation does the same
        if self.random.random() < 0.7:
            self.script.system(peak_flops_per_s=15.7e12, memory_bandwidth_bytes_per_s=900e9)
        self.script.experiment(f"random {seed}")
        run_id = 0
        for batch in self.random.sample([1, 2, 8], self.random.randint(1, 2)):
            sets = level_sets or self.random.sample(LEVEL_SETS, self.random.randint(1, 5))
            shape = self.random.random()
            for levels in sets:
                for _ in range(self.random.choice((1, 1, 2))):
                    run_id += 1
                    self.run(run_id, levels, batch, shape)

    def run(self, run_id, levels, batch, shape):
        self.run_id, self.levels = run_id, levels.removesuffix("+metrics").split("/")
        self.has_metrics = levels.endswith("+metrics")
        self.lacks = self.random.choice([(), (), ("flops",), ("achieved_occupancy_pct",)])
        self.script.run(run_id, levels, batch)
        self.script.track(1, "main", run_id=run_id)
        for stream in (7, 8):
            self.script.track(stream, f"stream {stream}", thread=None, device=0, stream=stream, run_id=run_id)
        steady = self.random
        for number in range(self.random.randint(1, 7)):
            self.random = random.Random(f"{shape} {batch}") if self.is_steady else steady
            self.observation(number, steady)
        self.random = steady
        if self.random.random() < 0.2:
            self.script.span("never done", self.now, "open", "kernel", "execution", 7, run_id, category="kernel")
        self.now += 1_000_000

    def observation(self, number, steady):
        start, self.jitter = self.now, steady
        at = self.layers(start + 10, 0, "", 0) if "L" in self.levels else start + 10
        for _ in range(self.random.randint(0, 3)):
            at = self.kernel(at + 5, "outside")
        if "M" in self.levels:
            self.script.span("net", start, at - start + 100, run_id=self.run_id,
                             tags={"warmup": 1} if number == 0 and steady.random() < 0.4 else {})
        # Some run late, after the observation; and what nothing launched.
        if self.random.random() < 0.2:
            self.script.span("stray", at + 50, 77, "kernel", "execution", 8, self.run_id, category="kernel")
        self.now = at + 50_000

    def layers(self, at, depth, prefix, index):
        for position in range(self.random.randint(1, 4)):
            if self.random.random() < 0.1 and not self.is_steady:
                continue  # lost
            name = self.random.choice((f"{prefix}layer{position}", "same"))
            start, at = at, at + 20
            if depth < 2 and self.random.random() < 0.4:
                at = self.layers(at, depth + 1, f"{prefix}{position}/", index)
            for _ in range(self.random.choice((0, 1, 1, 2, 3)) if "K" in self.levels else 0):
                at = self.kernel(at + 5, "k")
            at += self.jitter.randint(10, 40)
            tags = {"layer_type": self.random.choice(("Conv", "Relu"))} if self.random.random() < 0.7 else {}
            if self.has_indices:
                tags["layer_index"] = depth * 100 + position
            self.script.span(name, start, at - start, "layer", run_id=self.run_id, tags=tags,
                             category=self.random.choice(("module", None, None)))
            at += 3
        return at

    def kernel(self, at, kind):
        if "K" not in self.levels:
            return at
        choice = self.random.random()
        category = "kernel" if choice < 0.7 else self.random.choice(("memcpy", "memset", "sync", "other"))
        name = f"void {kind}<{self.random.randint(0, 3)}>(float)" if category == "kernel" else category
        duration = self.random.randint(0, 60) * 10 + self.jitter.randint(0, 9)
        tags = self.metrics() if category == "kernel" else {}
        if choice > 0.95:  # a primitive on the CPU
            self.script.span(name, at, duration, "kernel", "sync", 1, self.run_id, category="kernel", tags=tags)
            return at + duration + 1
        self.correlation += 1
        self.script.span("launch", at, 4, "kernel", "launch", 1, self.run_id, correlation=self.correlation,
                         category="api")
        self.script.span(name, at + self.random.randint(0, 300), duration, "kernel", "execution",
                         self.random.choice((7, 8)), self.run_id, correlation=self.correlation, category=category,
                         tags=tags)
        return at + 6

    def metrics(self):
        if not self.has_metrics:
            return {}
        tags = {"dram_read_bytes": self.jitter.randint(0, 10**6), "dram_write_bytes": self.jitter.uniform(0, 1e6),
                "flops": self.jitter.choice((0, self.jitter.randint(1, 10**9))),
                "achieved_occupancy_pct": self.jitter.uniform(1, 100)}
        if self.jitter.random() < 0.2:
            del tags["flops"]
            tags |= {"flops_single": self.jitter.randint(0, 1000), "flops_half": self.jitter.uniform(0, 1e3)}
        for name in self.lacks if self.jitter.random() < 0.3 else ():
            tags.pop(name, None)
        return tags


class KernelAnswersTest(unittest.TestCase):
    def setUp(self):
        folder = scripted.temporary_folder()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "random.xsp"

    def near(self, value, expected, where):
        if isinstance(expected, (int, float)) and isinstance(value, (int, float)):
            rounding = 1e-9 if where.endswith("cv_pct") else 0  # of a mean whose values are equal
            self.assertTrue(math.isclose(value, expected, rel_tol=1e-9, abs_tol=rounding),
                            f"{where}: {value!r}, not {expected!r}")
        else:
            self.assertEqual(value, expected, where)

    def compare(self, file, analysis, arguments, batch, mode, stat):
        where = f"{analysis} {' '.join(arguments)}"
        rows, summary = kernel_answers.answer(file, analysis, batch, mode, stat)
        if not rows and mode == "module" and analysis in ("A11", "A13"):
            scripted.xsp("analyze", analysis, self.path, *arguments, check=1)
            return 0
        got = scripted.xsp_json("analyze", analysis, self.path, *arguments, "--json")
        self.assertEqual(len(got["rows"]), len(rows), where)
        for number, (row, expected) in enumerate(zip(got["rows"], rows)):
            for key, value in expected.items():
                self.near(row[key], value, f"{where} row {number} {key}")
        for key, value in summary.items():
            self.near(got["summary"][key], value, f"{where} summary {key}")
        return len(rows)

    def check(self, seed, level_sets=None):
        experiment = Random(seed, level_sets)
        experiment.script.write(self.path)
        file = kernel_answers.File(scripted.XSP, self.path)
        rows = 0
        for analysis in ("A8", "A10", "A11", "A13", "A15"):
            levels = ["L", "K"] if analysis in ("A11", "A13") else ["K"]
            for batch in file.batches():
                if not file.sets(batch, levels):
                    if analysis != "A15":
                        scripted.xsp("analyze", analysis, self.path, "--batch", str(batch), "--json", check=1)
                    continue
                stat = experiment.random.choice(("trimmed:0.2", "mean", "median", "p90", "max"))
                mode = experiment.random.choice(("outermost", "innermost", "module"))
                arguments = ["--stat", stat, "--layer", mode]
                if analysis != "A15":
                    arguments += ["--batch", str(batch)]
                with self.subTest(seed=seed, analysis=analysis, batch=batch, stat=stat, mode=mode):
                    rows += self.compare(file, analysis, arguments, batch, mode, stat)
        return rows

    def test_random_experiments(self):
        rows = sum(self.check(seed) for seed in range(40))
        self.assertGreater(rows, 1500)

    def test_level_sets(self):
        """The important ones, more often than by chance."""
        for seed, sets in enumerate((["M", "M/L", "M/L/K", "M/L/K+metrics"], ["M/L/K+metrics"], ["M/L/K", "M/K+metrics"],
                                     ["M", "M/K", "M/L/K+metrics"], ["M/K", "M/L/K"], ["K"], ["M/L/K"])):
            for variant in range(3):
                self.check(1000 + seed * 10 + variant, sets)


FOLDER = trace_reader.data_folder()


@unittest.skipIf(FOLDER is None, "no real traces: set XSP_TEST_DATA")
class RealTracesTest(unittest.TestCase):
    """Traces of one observation, where the analyses' sums equal those of plain SQL."""

    def setUp(self):
        folder = scripted.temporary_folder()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "real.xsp"

    def import_file(self, pattern):
        [path] = glob.glob(os.path.join(FOLDER, pattern))
        scripted.xsp("import", path, "-o", self.path, "--force", check=0)

    def sums(self, query):
        return {row["name"]: (row["count"], row["ns"]) for row in scripted.xsp_json("sql", self.path, query, "--json")}

    def test_sums_are_those_of_sql(self):
        for pattern in ("kineto/hta__critical_path__alexnet*", "kineto/hta__critical_path__cuda_event_sync*",
                        "kineto/hta__triton_example*", "nsys/nsys-ai__h100*", "nsys/pipit__saxpy*"):
            with self.subTest(pattern):
                self.import_file(pattern)
                kernels = "from span e where e.kind = 'execution' and e.category = 'kernel' group by 1"
                by_name = self.sums("select e.name, count(*) as count, sum(e.duration_ns) as ns " + kernels)
                a10 = scripted.xsp_json("analyze", "A10", self.path, "--layer", "innermost", "--json")
                self.assertEqual({row["kernel_name"]: (row["count"], round(row["latency_ms"] * 1e6))
                                  for row in a10["rows"]}, by_name)
                self.assertEqual(a10["summary"]["kernels"], sum(count for count, _ in by_name.values()))
                by_layer = self.sums("select l.name, count(*) as count, sum(e.duration_ns) as ns from span e join span l"
                                     " on l.run_id = e.run_id and l.span_id = e.layer_id where e.kind = 'execution' and"
                                     " e.category = 'kernel' group by 1")
                if not by_layer:
                    scripted.xsp("analyze", "A11", self.path, check=1)
                    continue
                a11 = scripted.xsp_json("analyze", "A11", self.path, "--layer", "innermost", "--json")
                found = collections.defaultdict(lambda: (0, 0))
                for row in a11["rows"]:
                    if row["count"]:
                        count, ns = found[row["layer_name"]]
                        found[row["layer_name"]] = (count + row["count"], ns + round(row["kernel_latency_ms"] * 1e6))
                self.assertEqual(dict(found), by_layer)
                outside = sum(ns for _, ns in by_name.values()) - sum(ns for _, ns in by_layer.values())
                self.assertEqual(round(a11["summary"]["kernels_without_layer_ms"] * 1e6), outside)

    def test_what_is_known_of_these_traces(self):
        self.import_file("nsys/nsys-ai__h100*")
        a15 = scripted.xsp_json("analyze", "A15", self.path, "--json")["rows"][0]
        self.assertEqual(a15["count"], 3442)
        self.assertEqual(round(a15["kernel_latency_ms"] * 1e6), 44829522)
        self.assertIsNone(a15["model_latency_ms"])
        self.assertIsNone(a15["gpu_pct"])
        self.import_file("kineto/hta__critical_path__alexnet*")
        a8 = scripted.xsp_json("analyze", "A8", self.path, "--layer", "innermost", "--json")
        self.assertEqual(a8["summary"]["kernels"], 79)
        self.assertEqual(round(sum(row["latency_ms"] for row in a8["rows"]) * 1e3), 10692)
        for analysis in ("A10", "A15", "A11"):
            answer = scripted.xsp_json("analyze", analysis, self.path, "--json")
            self.assertEqual({row["model_latency_from"] for row in answer["rows"]}, {"M/L/K"}, analysis)
            self.assertEqual({row["latency_from"] for row in answer["rows"]}, {"M/L/K"}, analysis)
            self.assertTrue(any("overhead" in note for note in answer["notes"]))

    def test_tables_shorten_names(self):
        self.import_file("kineto/hta__critical_path__alexnet*")
        text = scripted.xsp("analyze", "A10", self.path, check=0).stdout.decode()
        self.assertIn("at::native::vectorized_elementwise_kernel<…launch_clamp_scalar…>", text)
        self.assertNotIn("float const*", text)
        csv = scripted.xsp("analyze", "A10", self.path, "--format", "csv", check=0).stdout.decode()
        self.assertIn("void at::native::vectorized_elementwise_kernel<4, ", csv)


if __name__ == "__main__":
    unittest.main()
