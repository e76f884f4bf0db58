# SPDX-License-Identifier: Apache-2.0
"""Several frameworks, or versions of one, in one `xsp profile`: one experiment each, interleaved in time, and
distinguished by every reader. On scripted models, whose libraries are names only, and on one ONNX Runtime by two paths."""
import json
import math
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import unittest

import interval_answers
import runner_session

XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
MODEL = """\
input data float N,8
layer conv1 Conv 300us shape=N,64,112,112 alloc=3211264
layer relu1 Relu 100us shape=N,64,112,112
batch-factor 0.25
"""
TWICE = ["--library", "script=/opt/one", "--library", "script=/opt/two"]


def xsp(*arguments, status=0, env=None):
    result = subprocess.run([XSP, *map(str, arguments)], capture_output=True, text=True, timeout=600,
                            env={**os.environ, "COLUMNS": "0", **(env or {})})
    if result.returncode != status:
        raise AssertionError(f"xsp {arguments}: status {result.returncode}, not {status}\n{result.stderr}")
    return result


class VariantsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "out.xsp"

    def model(self, text=MODEL, name="net.xspscript"):
        path = self.folder / name
        path.write_text(text)
        return path

    def profile(self, *arguments, status=0, env=None):
        return xsp("profile", *arguments, "--quiet", "--force", "-o", self.output, status=status, env=env)

    def sql(self, query, path=None):
        return json.loads(xsp("sql", path or self.output, query, "--json").stdout)

    def observations(self):
        return self.sql("select r.experiment_id, r.levels, r.batch_size, o.warmup, o.start_ns, o.duration_ns from observation o"
                        " join run r using (run_id) order by o.start_ns")

    def test_an_experiment_each_interleaved(self):
        self.profile(self.model(), *TWICE, "--batch", "1,4", "--runs", 4, "--warmup", 2)
        self.assertEqual([row["experiment_id"] for row in self.sql("select experiment_id from experiment")], [1, 2])
        self.assertEqual(len({row["system_id"] for row in self.sql("select system_id from experiment")}), 2)
        runs = self.sql("select run_id, experiment_id, levels, batch_size from run")
        self.assertEqual(len({row["run_id"] for row in runs}), 8)
        self.assertEqual({(row["experiment_id"], row["levels"], row["batch_size"]) for row in runs},
                         {(variant, levels, batch) for variant in (1, 2) for levels in ("M", "M/L") for batch in (1, 4)})
        for batch in (1, 4):
            order = [row for row in self.observations() if row["batch_size"] == batch]
            self.assertEqual(len(order), 6 * 4)
            firsts = []
            for repetition in range(6):  # each visits both variants at both level sets, and begins with another one
                visited = [(row["experiment_id"], row["levels"]) for row in order[4 * repetition:4 * repetition + 4]]
                self.assertEqual(len(set(visited)), 4)
                firsts.append(visited[0])
            self.assertEqual(len(set(firsts)), 4)

    def test_sequential_is_one_after_the_other(self):
        self.profile(self.model(), *TWICE, "--sequential", "--batch", "1,4", "--runs", 3)
        order = [row["experiment_id"] for row in self.observations()]
        self.assertEqual(order, [1] * (len(order) // 2) + [2] * (len(order) // 2))

    def test_all_that_reads_tells_them_apart(self):
        result = self.profile(self.model(), *TWICE, "--batch", "1,4", "--runs", 3)
        self.assertIn("2 variants", result.stdout)
        self.assertIn("experiment 2: script 1, experiment 2", result.stdout)
        for analysis in ("L0", "A1", "A2", "A6"):
            tables = json.loads(xsp("analyze", analysis, self.output, "--json").stdout)
            self.assertEqual([table["experiment"] for table in tables],
                             ["net in script 1, experiment 1", "net in script 1, experiment 2"])
            ids = [set(table["run_set"]["run_ids"]) for table in tables]
            self.assertFalse(ids[0] & ids[1])
        info = json.loads(xsp("info", self.output, "--json").stdout)
        self.assertEqual([experiment["experiment_id"] for experiment in info["experiments"]], [1, 2])
        keys = {note["key"]: note["value"] for note in info["experiments"][1]["runs"][0]["notes"]}
        self.assertEqual(keys["layer_source"], "script")  # of a variant: not of the file
        self.assertNotIn("layer_source", {note["key"] for note in info["file"]["notes"]})
        self.assertIn("noise", {note["key"] for note in info["file"]["notes"]})

    def test_summary_compares(self):
        result = self.profile(self.model(), *TWICE, "--batch", "1,4", "--runs", 9, "--json")
        tables = json.loads(result.stdout)
        self.assertEqual([table["analysis"] for table in tables],
                         ["A1", "A1", "L0", "L0", "A2", "A2", "A6", "A6", "variants"])
        rows = tables[-1]["rows"]
        self.assertEqual([(row["batch_size"], row["variant"]) for row in rows],
                         [(batch, f"script 1, experiment {variant}") for batch in (1, 4) for variant in (1, 2)])
        self.assertEqual([rows[0]["latency_ratio"], rows[2]["latency_ratio"]], [1, 1])
        self.assertAlmostEqual(rows[1]["latency_ratio"], rows[1]["latency_ms"] / rows[0]["latency_ms"], 12)
        self.assertEqual([row["latency_ms"] for row in tables[1]["rows"]], [rows[1]["latency_ms"], rows[3]["latency_ms"]])
        # Paired: the k-th counted observation of each, at level set M.
        for row in (rows[1], rows[3]):
            series = [[one["ns"] for one in self.sql(
                f"select o.duration_ns as ns from observation o join run r using (run_id) where not o.warmup and r.levels = 'M'"
                f" and r.batch_size = {row['batch_size']} and r.experiment_id = {variant} order by o.start_ns")]
                for variant in (1, 2)]
            logs = sorted(math.log(own / first) for first, own in zip(*series))
            mean = statistics.fmean(logs[1:-1])  # of nine: without the least and the most
            reach = interval_answers.reach(interval_answers.yuen(logs), 0.95)
            for key, log in (("paired_ratio", mean), ("paired_low", mean - reach), ("paired_high", mean + reach)):
                self.assertAlmostEqual(row[key], math.exp(log), 7)
        self.assertIsNone(rows[0]["paired_ratio"])
        sequential = json.loads(self.profile(self.model(), *TWICE, "--sequential", "--runs", 7, "--json").stdout)[-1]
        self.assertIsNone(sequential["rows"][1]["paired_ratio"])  # there are no pairs
        self.assertIsNotNone(sequential["rows"][1]["latency_ratio"])

    def test_round_trip_by_otlp_and_a_report(self):
        self.profile(self.model(), *TWICE, "--runs", 2)
        exported, again = self.folder / "out.otlp", self.folder / "again.xsp"
        xsp("export", self.output, "--to", "otlp", "-o", exported)
        xsp("import", exported, "-o", again)
        query = "select experiment_id, name, framework, framework_version from experiment order by 1"
        self.assertEqual(self.sql(query, again), self.sql(query))
        query = "select run_id, experiment_id, levels, batch_size from run order by 1"
        self.assertEqual(self.sql(query, again), self.sql(query))
        for analysis in ("A1", "A2"):
            self.assertEqual(json.loads(xsp("analyze", analysis, again, "--json").stdout),
                             json.loads(xsp("analyze", analysis, self.output, "--json").stdout))
        xsp("report", self.output, "-o", self.folder / "out.html")
        for form in ("perfetto", "chrome", "csv", "sqlite", "folded"):
            xsp("export", self.output, "--to", form, "-o", self.folder / f"out.{form}")

    def test_one_onnx_runtime_by_two_paths(self):
        library = next(pathlib.Path(sys.prefix).glob("lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so*"))
        copy = self.folder / "other" / "lib"
        copy.mkdir(parents=True)
        (copy / "libonnxruntime.so.1").symlink_to(library)
        model = runner_session.test_models() / "tiny.onnx"
        self.profile(model, "--library", f"onnxruntime={library}", "--library", f"onnxruntime={copy.parent}", "--runs", 2)
        libraries = [row["value"] for row in self.sql(
            "select value from system where key = 'framework_library' order by system_id")]
        self.assertEqual(libraries, [str(library), str(copy / "libonnxruntime.so.1")])
        tables = json.loads(xsp("analyze", "A2", self.output, "--json").stdout)
        self.assertEqual(*[[(row["layer_name"], row["layer_type"]) for row in table["rows"]] for table in tables])
        # The Python environment, found by its folder.
        self.profile(model, "--library", f"onnxruntime={sys.prefix}", "--runs", 1)
        self.assertEqual(self.sql("select value from system where key = 'framework_library'"), [{"value": str(library)}])

    def test_wrong_use(self):
        model = self.model()
        for arguments, words in (
                (["--framework", "script,script"], ["script", "twice"]),
                (["--framework", "script,caffe3"], ["caffe3"]),
                (["--framework", "script,"], ["such framework"]),
                (["--library", "mxnet=/a"], ["mxnet", "--framework"]),
                (["--library", "script=/a", "--library", "openvino=/b"], ["'openvino'"]),
                ([f"--library=script=/{number}" for number in range(17)], ["at most 16"])):
            result = self.profile(model, *arguments, status=2)
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
            for word in words:
                self.assertIn(word, result.stderr)
            self.assertFalse(self.output.exists())

    def test_an_error_names_the_variant(self):
        model = self.model()
        result = self.profile(model, "--framework", "script,openvino", "--library", f"openvino={self.folder}", status=3)
        self.assertRegex(result.stderr, "^xsp: openvino: .*library")
        # Two of one framework: named by the end of the library's path.
        long = "/".join(["deep"] * 30)
        result = self.profile(self.model(MODEL + "fault abort at 2\n"), "--library", "script=/opt/one", "--library",
                              f"script=/{long}/1.20", "--runs", 2, status=2)
        self.assertRegex(result.stderr, r"xsp: script=/opt/one: .*crashed|xsp: script=\.\.\.deep.*1\.20: .*crashed")
        partial = self.output.with_name("out.xsp.partial")
        self.assertIn(str(partial), result.stderr)
        experiments = json.loads(xsp("info", partial, "--json").stdout)["experiments"]
        self.assertEqual(len(experiments), 2)
        self.assertFalse(self.output.exists())

    def test_an_interrupted_sequence_keeps_what_it_has(self):
        process = subprocess.Popen([XSP, "profile", self.model(), *TWICE, "--sequential", "--runs", "100000", "-o",
                                    self.output], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        partial = self.output.with_name("out.xsp.partial")
        try:
            while process.poll() is None:  # bounded by the test's own time limit
                if partial.exists():
                    info = subprocess.run([XSP, "info", partial, "--json"], capture_output=True, text=True)
                    if info.returncode == 0 and '"model":0' not in info.stdout and '"model":' in info.stdout:
                        break
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=600)
        finally:
            process.kill()
        self.assertEqual(process.returncode, -signal.SIGINT, err)
        self.assertIn("Interrupted", out)
        self.assertEqual(self.sql("select count(*) as n from experiment"), [{"n": 1}])
        self.assertFalse(partial.exists())


if __name__ == "__main__":
    unittest.main()
