# SPDX-License-Identifier: Apache-2.0
"""`xsp profile --cold N`: first inferences of fresh processes, separate from the warm runs and their statistics. A shell
script in the runner's place counts the processes and makes one of them fail."""
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import tempfile
import unittest

import test_profile
import wrapped_runner

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
MODEL = """\
input data float N,8
layer conv1 Conv 300us shape=N,64,112,112 alloc=3211264
layer relu1 Relu 100us shape=N,64,112,112
batch-factor 0.25
"""
TWICE = ["--library", "script=/opt/one", "--library", "script=/opt/two"]
COLD_KEYS = ("cold_batch", "cold_count", "cold_median_ms", "cold_min_ms", "cold_max_ms", "load_median_ms",
             "cold_start_median_ms")


class ColdTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "out.xsp"
        self.partial = self.folder / "out.xsp.partial"
        self.model = self.folder / "net.xspscript"
        self.model.write_text(MODEL)
        self.program = BUILD / "xsp"

    def xsp(self, *arguments, status=0, **options):
        result = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, timeout=600, **options)
        if result.returncode != status:
            raise AssertionError(f"xsp {arguments}: status {result.returncode}, not {status}\n{result.stderr}")
        return result

    def profile(self, *arguments, status=0, **options):
        return self.xsp("profile", self.model, "--quiet", "--force", *arguments, "-o", self.output, status=status, **options)

    def sql(self, query, path=None):
        return json.loads(self.xsp("sql", path or self.output, query, "--json").stdout)

    def analyze(self, *arguments, path=None):
        return json.loads(self.xsp("analyze", *arguments, path or self.output, "--json").stdout)

    def go_wrong(self, process, how):
        """From now on xsp's n-th runner executes the shell command `how` first."""
        self.program = wrapped_runner.xsp_with_runner(
            self.folder, f"echo >> {self.folder}/started\n"
            f"[ $(wc -l < {self.folder}/started) -ne {process} ] || {{ {how}; }}")

    def test_processes_of_their_own(self):
        self.profile("--batch", "1,4", "--runs", 3, "--warmup", 2, "--cold", 3)
        rows = self.sql("select r.run_id, r.batch_size, r.levels, o.warmup, t.process_id, s.span_id in (select span_id from tag"
                        " where run_id = r.run_id and key = 'cold' and value = 1) as cold, o.start_ns from observation o join"
                        " run r using (run_id) join span s using (run_id, span_id) join track t using (run_id, track_id)"
                        " order by o.start_ns")
        warm, cold = [row for row in rows if not row["cold"]], [row for row in rows if row["cold"]]
        self.assertEqual((len(warm), len(cold)), (2 * 2 * 5, 2 * 2 * 3))
        self.assertLess(max(row["start_ns"] for row in warm), min(row["start_ns"] for row in cold))
        self.assertEqual({row["warmup"] for row in cold}, {1})
        self.assertEqual(len({row["process_id"] for row in cold}), 12)
        self.assertFalse({row["run_id"] for row in warm} & {row["run_id"] for row in cold})
        lanes = [("M", 1), ("M", 4), ("M/L", 1), ("M/L", 4)]  # another one first each time
        self.assertEqual([(row["levels"], row["batch_size"]) for row in cold], lanes + lanes[1:] + lanes[:1] + lanes[2:] + lanes[:2])
        # Each process: started, loaded, inputs made, one inference; the whole encloses the rest.
        for run_id in {row["run_id"] for row in cold}:
            spans = self.sql(f"select span_id, parent_id, name, category, level, start_ns, end_ns from span where run_id = {run_id}")
            wholes = [span for span in spans if span["category"] == "cold"]
            self.assertEqual(len(wholes), 3)
            for whole in wholes:
                inside = [span for span in spans if span["parent_id"] == whole["span_id"]]
                self.assertEqual({(span["category"], span["level"]) for span in inside},
                                 {("load", "application"), ("preprocess", "application"), (None, "model")})
                for span in inside:
                    self.assertLessEqual(whole["start_ns"], span["start_ns"])
                    self.assertLessEqual(span["end_ns"], whole["end_ns"])

    def test_no_statistic_has_them(self):
        self.profile("--batch", "1,4", "--runs", 4, "--warmup", 2, "--cold", 2)
        warm = {(row["levels"], row["batch_size"]): row for row in self.sql(
            "select r.levels, r.batch_size, sum(not o.warmup) as n, count(*) as models from observation o join run r using"
            " (run_id) where r.run_id not in (select run_id from tag where key = 'cold') group by 1, 2")}
        cold_runs = {row["run_id"] for row in self.sql("select distinct run_id from tag where key = 'cold'")}
        self.assertEqual(len(cold_runs), 4)
        l0, a1, a2, a6 = self.analyze("L0", "A1", "A2", "A6")
        self.assertEqual({(row["levels"], row["batch_size"]) for row in l0["rows"]}, set(warm))
        for table in (l0, a1, a2, a6):
            self.assertFalse(cold_runs & set(table["run_set"]["run_ids"]))
        spans = {(row["levels"], row["batch_size"]): row["spans"] for row in self.sql(
            f"select r.levels, r.batch_size, count(*) as spans from span join run r using (run_id) where r.run_id not in"
            f" ({','.join(map(str, cold_runs))}) group by 1, 2")}
        self.assertEqual({(row["levels"], row["batch_size"]): row["spans"] for row in l0["rows"]}, spans)
        self.assertEqual([row["n"] for row in a1["rows"]], [4, 4])
        info = json.loads(self.xsp("info", self.output, "--json").stdout)
        found = {run["run_id"]: run["observations"] for run in info["experiments"][0]["runs"]}
        self.assertEqual([found[run_id] for run_id in sorted(cold_runs)], [2] * 4)

    def test_figures(self):
        self.profile("--batch", "4,1", "--runs", 2, "--warmup", 1, "--cold", 3)
        cold = {}
        for row in self.sql("select r.batch_size, o.duration_ns / 1e6 as ms from observation o join run r using (run_id) where"
                            " r.levels = 'M' and r.run_id in (select run_id from tag where key = 'cold')"):
            cold.setdefault(row["batch_size"], []).append(row["ms"])
        table = self.analyze("A1")
        for row in table["rows"]:
            self.assertAlmostEqual(row["cold_ms"], statistics.median(cold[row["batch_size"]]), 9)
        summary = table["summary"]
        self.assertEqual((summary["cold_batch"], summary["cold_count"]), (1, 3))
        for key, of in (("cold_median_ms", statistics.median), ("cold_min_ms", min), ("cold_max_ms", max)):
            self.assertAlmostEqual(summary[key], of(cold[1]), 9)
        for key, category in (("load_median_ms", "load"), ("cold_start_median_ms", "cold")):
            durations = [row["ms"] for row in self.sql(
                f"select duration_ns / 1e6 as ms from span where category = '{category}' and run_id in (select r.run_id from"
                f" tag t join run r using (run_id) where t.key = 'cold' and r.levels = 'M')")]
            self.assertEqual(len(durations), 6)
            self.assertAlmostEqual(summary[key], statistics.median(durations), 9)
        # The very first inference remains the first warm-up of the warm runs.
        first = self.sql("select o.duration_ns / 1e6 as ms from observation o order by o.start_ns limit 1")
        self.assertAlmostEqual(summary["cold_latency_ms"], first[0]["ms"], 9)

    def test_null_where_not_measured(self):
        result = self.profile("--runs", 2)
        self.assertNotIn("load median", result.stdout)
        self.assertIn("cold latency", result.stdout)
        table = self.analyze("A1")
        self.assertNotIn("cold_ms", [column["key"] for column in table["columns"]])
        for key in COLD_KEYS:
            self.assertIsNone(table["summary"][key])
        self.assertIsNotNone(table["summary"]["cold_latency_ms"])

    def test_layers_of_the_first_inference(self):
        self.profile("--batch", "1", "--runs", 2, "--cold", 3)
        layers = {}
        for row in self.sql("select s.name, s.duration_ns / 1e6 as ms from span s join run r using (run_id) where s.level = 'layer'"
                            " and r.run_id in (select run_id from tag where key = 'cold') order by s.start_ns"):
            layers.setdefault(row["name"], []).append(row["ms"])
        self.assertEqual({name: len(values) for name, values in layers.items()}, {"conv1": 3, "relu1": 3})
        models = [row["ms"] for row in self.sql(
            "select o.duration_ns / 1e6 as ms from observation o join run r using (run_id) where r.levels = 'M' and r.run_id in"
            " (select run_id from tag where key = 'cold')")]
        a1, a2, l0 = self.analyze("A1", "A2", "L0", "--cold", "--stat", "median")
        self.assertIn("first inferences", a2["title"])
        self.assertEqual([row["layer_name"] for row in a2["rows"]], ["conv1", "relu1"])
        for row in a2["rows"]:
            self.assertEqual(row["n"], 3)
            self.assertAlmostEqual(row["latency_ms"], statistics.median(layers[row["layer_name"]]), 9)
        self.assertAlmostEqual(a1["rows"][0]["latency_ms"], statistics.median(models), 9)
        self.assertGreater(a1["rows"][0]["load_ms"], 0)  # of the same processes
        self.assertEqual([row["levels"] for row in l0["rows"]], ["M", "M/L"])
        warm = self.analyze("A2")
        self.assertEqual({row["n"] for row in warm["rows"]}, {2})

    def test_layers_need_cold_runs_with_layers(self):
        self.profile("--levels", "M", "--runs", 1, "--cold", 1)
        self.assertEqual({row["levels"] for row in self.sql("select levels from run")}, {"M"})
        self.assertIn("first inferences", self.xsp("analyze", "A2", "--cold", self.output, status=1).stderr)
        self.profile("--levels", "M/L/K", "--tracer", "fake", "--runs", 1, "--cold", 1)  # no set asked for is without kernels
        self.assertEqual({row["levels"] for row in self.sql("select levels from run")}, {"M", "M/L/K"})

    def test_there_and_back_by_otlp(self):
        self.profile("--runs", 2, "--cold", 2)
        exported, again = self.folder / "out.otlp", self.folder / "again.xsp"
        self.xsp("export", self.output, "--to", "otlp", "-o", exported)
        self.xsp("import", exported, "-o", again)
        self.assertEqual(self.analyze("A1", path=again), self.analyze("A1"))
        self.assertEqual(self.analyze("L0", path=again), self.analyze("L0"))
        self.assertEqual(self.analyze("A2", "--cold", path=again), self.analyze("A2", "--cold"))

    def test_variants_each(self):
        self.profile(*TWICE, "--levels", "M", "--runs", 2, "--cold", 2)
        self.assertEqual([table["summary"]["cold_count"] for table in self.analyze("A1")], [2, 2])
        rows = self.sql("select r.experiment_id from observation o join run r using (run_id) where r.run_id in (select run_id"
                        " from tag where key = 'cold') order by o.start_ns")
        self.assertEqual([row["experiment_id"] for row in rows], [1, 2, 2, 1])

    def test_one_that_dies_leaves_what_was_measured(self):
        bad = self.folder / "bad.xspscript"
        bad.write_text(MODEL + "fault abort at 1\n")
        self.go_wrong(4, f'set -- "$@" --model {bad}')  # one warm runner, then the third cold one
        result = self.profile("--levels", "M", "--runs", 2, "--cold", 5, status=2)
        lines = result.stderr.strip().splitlines()
        self.assertEqual(len(lines), 2, result.stderr)
        self.assertIn(str(self.partial), lines[0])
        self.assertRegex(lines[1], "^xsp: cold repetition 3 of 5: .*signal 6")
        self.assertFalse(self.output.exists())
        table = self.analyze("A1", path=self.partial)
        self.assertEqual((table["rows"][0]["n"], table["summary"]["cold_count"]), (2, 2))

    def test_one_that_hangs_is_bounded(self):
        """The others have ten seconds for each answer, which they need on a busy machine."""
        bad = self.folder / "bad.xspscript"
        bad.write_text(MODEL + "fault hang at 1\n")
        self.go_wrong(3, f'set -- "$@" --model {bad}')
        result = self.profile(*TWICE, "--levels", "M", "--runs", 1, "--cold", 1, "--timeout", 10, status=3)
        self.assertRegex(result.stderr, "xsp: script=/opt/one: cold repetition 1 of 1: .*answer")
        self.assertIn("--timeout", result.stderr)

    def test_an_interrupt_keeps_what_there_is(self):
        self.go_wrong(4, "kill -INT $PPID")
        result = self.profile("--levels", "M", "--runs", 2, "--cold", 1000, status=-signal.SIGINT)
        self.assertIn("Interrupted", result.stdout)
        summary = self.analyze("A1")["summary"]
        self.assertEqual(summary["cold_count"], 3)  # the one that was begun is finished
        self.assertFalse(self.partial.exists())

    def test_a_full_disk_in_the_midst_of_it(self):
        def no_signal():  # a write beyond the limit fails as on a full disk
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        self.go_wrong(3, "prlimit --pid $PPID --fsize=1:1")
        result = self.profile("--levels", "M", "--runs", 2, "--cold", 3, status=3, preexec_fn=no_signal)
        self.assertEqual(len([line for line in result.stderr.splitlines() if line.startswith("xsp: ")]), 2, result.stderr)
        self.assertFalse(self.output.exists())
        self.assertEqual(self.analyze("A1", path=self.partial)["rows"][0]["n"], 2)

    def test_one_that_is_killed_for_its_memory(self):
        self.go_wrong(2, "kill -9 $$")
        result = self.profile(*TWICE, "--levels", "M", "--runs", 1, "--cold", 1, status=3)
        self.assertRegex(result.stderr, "^xsp: script=/opt/two: .*killed.*--sequential")
        self.assertFalse(self.output.exists() or self.partial.exists())  # nothing was measured yet

    def test_a_killed_xsp_is_recovered(self):
        self.go_wrong(4, "kill -9 $PPID")
        process = subprocess.Popen([self.program, "profile", self.model, "--levels", "M", "--runs", "2", "--cold", "5", "--quiet",
                                    "-o", self.output], stderr=subprocess.DEVNULL)
        self.assertEqual(process.wait(timeout=600), -signal.SIGKILL)
        sessions = test_profile.sessions_of(process.pid)
        self.assertEqual(len(sessions), 1)
        self.xsp("recover", *sessions)
        shutil.rmtree(sessions[0], ignore_errors=True)
        a1 = self.analyze("A1")
        self.assertEqual(a1["rows"][0]["n"], 2)
        self.assertGreaterEqual(a1["summary"]["cold_count"], 2)

    def test_nothing_is_left_behind(self):
        self.profile("--levels", "M", "--runs", 1, "--cold", 2, env={**os.environ, "TMPDIR": str(self.folder)})
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["net.xspscript", "out.xsp"])


if __name__ == "__main__":
    unittest.main()
