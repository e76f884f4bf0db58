# SPDX-License-Identifier: Apache-2.0
"""Findings of whole files: their figures computed a second time from the rows of `xsp sql`; the options of the verb; every form
of the output; what docs/findings.md has of each rule."""
import csv
import io
import json
import math
import os
import pathlib
import re
import select
import signal
import subprocess
import tempfile
import time
import unittest

import scripted

SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
RESNET = (pathlib.Path(os.environ["XSP_TEST_DATA"]) / "kineto" /
          "kineto__tb_plugin__samples__resnet50_num_workers_0__worker0.1623143089861.pt.trace.json.gz")
PACKAGE = SOURCE / "answers/python" / "src"
KEYS = {"id", "rule", "severity", "confidence", "title", "context", "context_id", "file", "line", "time_ms", "share_pct", "basis",
        "saving_ms", "saving_pct", "saving_basis", "threshold", "advice", "run_id", "spans", "numbers"}
STEPS = [{"ph": "X", "name": f"step {step}", "ts": 2000 * step, "dur": 1000, "pid": 1, "tid": 1} for step in range(3)]
OPERATORS = [{"ph": "X", "name": f"aten::op{number}", "ts": 2000 * step + 50 * number, "dur": 10, "pid": 1, "tid": 1}
             for step in range(3) for number in range(12)]


def findings(path, *options):
    return scripted.xsp_json("analyze", "findings", path, "--json", *options)


class Files(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def made(self, name, source, *options):
        path = self.folder / name
        if not path.exists():
            scripted.xsp("import", source, "-o", path, *options)
        return path


class Steps(Files):
    """Three steps of 1 ms with twelve operators of 10 µs each: F2 alone."""

    def steps(self):
        source = self.folder / "steps.json"
        source.write_text(json.dumps(STEPS + OPERATORS))
        return self.made("steps.xsp", source, "--model-range", "step*")

    def status(self, *options):
        done = subprocess.run([scripted.XSP, "analyze", "findings", self.steps(), *options], capture_output=True, text=True,
                              timeout=600, check=False)
        return done.returncode, done.stdout, done.stderr


class Sentence(Files):
    def test_layers_that_are_all_inside_a_compiled_region(self):
        """The region is a wrapper and the kernels have no types: there is no operator to name, and a sentence all the same."""
        script = scripted.Script()
        script.experiment()
        script.run(1, "M/L", 1)
        script.track(1, "main")
        script.span("net", scripted.UNIX_START, 10**9)
        region = script.span("Torch-Compiled Region: 0/0", scripted.UNIX_START, 10**9, "layer")
        for number in range(4):
            script.span(f"cpp_fused_{number}", scripted.UNIX_START + number * 10**6, 10**5, "layer", parent=region)
        table = findings(script.write(self.folder / "compiled.xsp"))
        self.assertEqual(table["rows"], [])


class Small(Steps):
    def test_rows(self):
        table = findings(self.steps())
        self.assertEqual({column["key"] for column in table["columns"]}, KEYS)
        (row,) = table["rows"]
        self.assertEqual((row["id"], row["rule"], row["basis"]), ("F2", "small_kernels", "observation"))
        self.assertAlmostEqual(row["time_ms"], 0.12)
        self.assertEqual(row["numbers"]["count"], 12)
        self.assertEqual(len(row["spans"]), 12)
        self.assertEqual(table["summary"]["findings"], 1)
        asked = {rule["id"]: rule["asked"] for rule in findings(self.steps(), "--only", "hotspot")["summary"]["rules"]}
        self.assertEqual([rule for rule, is_asked in asked.items() if is_asked], ["F1"])

    def test_text(self):
        _, text, _ = self.status()
        for part in ("F2 ", "gain", "try", "small_kernels-operator=20us"):
            self.assertIn(part, text)
        self.assertIn("no findings", self.status("--only", "F1")[1])

    def test_csv(self):
        (row,) = csv.DictReader(io.StringIO(self.status("--format", "csv")[1]))
        self.assertEqual((row["id"], json.loads(row["numbers"])["count"]), ("F2", 12))

    def test_summary(self):
        """Without an analysis: the first findings, a line each, and the command for more."""
        text = scripted.xsp("analyze", self.steps()).stdout.decode()
        self.assertIn("findings  F2", text)
        self.assertIn(f"xsp analyze findings {self.steps()}", text)
        self.assertEqual([row["id"] for row in scripted.xsp_json("analyze", self.steps(), "--json")["findings"]["rows"]], ["F2"])
        self.assertNotIn(b"findings  F2", scripted.xsp("analyze", self.steps(), "--format", "csv").stdout)

    def test_cause(self):
        """Other profilers' files have a first sentence: the top finding, else what the time goes to."""
        cause = findings(self.steps())["summary"]["cause"]
        self.assertEqual(cause["finding"], "F2")
        source = self.folder / "kernels.json"
        events = [event for step in range(3) for event in (
            {"ph": "X", "pid": 1, "tid": 1, "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": 2000 * step + 10, "dur": 5,
             "args": {"correlation": step + 1}},
            {"ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": "gemm", "ts": 2000 * step + 50, "dur": 900,
             "args": {"device": 0, "stream": 7, "correlation": step + 1}})]
        source.write_text(json.dumps({"traceEvents": STEPS + events}))
        cause = findings(self.made("kernels.xsp", source, "--model-range", "step*"), "--only", "F7")["summary"]["cause"]
        self.assertIsNone(cause["finding"])
        self.assertIn("gemm", cause["text"])
        self.assertAlmostEqual(cause["share_pct"], 90)

    def test_calls_of_one_row(self):
        """The first sentence says that a model is called row by row: a hundred times and more."""
        def cause(calls):
            trace = scripted.Script()
            trace.experiment()
            trace.run(1, "M/L", 0)
            trace.track(1)
            for call in range(calls):
                at = scripted.UNIX_START + call * 1000
                trace.span("predict", at, 900, "model", tags={"batch_size": 1})
                trace.span("Conv", at, 800, "layer")
            trace.write(self.folder / f"{calls}.xsp")
            return findings(self.folder / f"{calls}.xsp", "--only", "F7")["summary"]["cause"]["text"]
        self.assertIn("100 calls of one row each", cause(100))
        self.assertNotIn("one row", cause(99))

    def test_fail_on(self):
        for limits, expected in (("F2", 1), ("small_kernels:5%", 1), ("F2:5", 1), ("F2:100%", 0), ("F1", 0), ("F1,F2:5", 1),
                                 ("F2:x", 2), ("F99", 2), ("", 2)):
            with self.subTest(limits):
                self.assertEqual(self.status("--fail-on", limits)[0], expected)
        status, text, errors = self.status("--fail-on", "F2", "--json")
        self.assertEqual((status, len(json.loads(text)["rows"])), (1, 1))
        self.assertEqual(errors.count("\n"), 1)
        self.assertEqual(self.status("--fail-on", "F99")[1], "", "what is wrong is found before anything is printed")

    def test_fail_on_what_was_not_measured(self):
        """There is no device: nothing is known about copies."""
        for options, expected in (("F7", 2), ("waits:5%", 2), ("F2,F7", 1), ("F7,F2", 1), ("F2:100,F7", 2), ("F2:100", 0)):
            with self.subTest(options):
                status, text, errors = self.status("--fail-on", options, "--json")
                self.assertEqual((status, len(json.loads(text)["rows"])), (expected, 1))
                self.assertEqual("device" in errors, expected == 2)
        self.assertEqual(self.status("--fail-on", "F7,waits", "--may-lack", "f7,F8")[0], 0)
        self.assertEqual(self.status("--fail-on", "F2,F7", "--may-lack", "F7")[0], 1)
        self.assertEqual(self.status("--fail-on", "F7", "--may-lack", "F99")[0], 2)
        self.assertEqual(self.status("--fail-on", "F2", "--only", "F1")[:2], (2, ""), "it was not asked")

    def test_fail_on_without_observations(self):
        """Nothing was measured: neither a finding nor none."""
        script = scripted.Script()
        script.experiment()
        script.run()
        empty = script.write(self.folder / "empty.xsp")
        for files, more in (((empty,), ()), ((self.steps(), empty), ("--only", "F1")), ((empty, self.steps()), ("--only", "F1"))):
            done = subprocess.run([scripted.XSP, "analyze", "findings", *files, "--fail-on", "F1", "--may-lack", "F1", *more],
                                  capture_output=True, timeout=600, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)

    def test_wrong_use(self):
        for options in (("--only", "F99"), ("--threshold", "hotspot-share"), ("--threshold", "share=1"), ("--only", ",")):
            with self.subTest(options):
                status, text, errors = self.status(*options)
                self.assertEqual((status, text, errors.count("\n")), (2, "", 1))
        done = subprocess.run([scripted.XSP, "analyze", "A1", self.steps(), "--only", "F1"], capture_output=True, timeout=600,
                              check=False)
        self.assertEqual(done.returncode, 2)

    def test_documented(self):
        """docs/findings.md has a paragraph for each rule, and each threshold with its default and what is compared with it."""
        page = (SOURCE / "docs" / "findings.md").read_text()
        rows = {name: rest for name, *rest in re.findall(r"^\| ([a-z_0-9-]+) \| ([^|]*?) \| (.*) \|$", page.replace("`", ""), re.M)}
        for rule in findings(self.steps())["summary"]["rules"]:
            self.assertIn(f"\n## {rule['id']} {rule['rule'].replace('_', ' ')}\n", page)
            for threshold in rule["thresholds"]:
                default = f"{threshold['default']:g} {threshold['unit']}".strip()
                self.assertEqual(rows.get(threshold["name"]), [default, threshold["help"]])


class Waits(Files):
    def waits(self, call):
        """A kernel of 1 ms, and a call of 1.5 ms before the next, four times an observation."""
        script = scripted.Script()
        script.experiment()
        script.run(levels="M/K")
        script.track()
        script.track(2, device=0, stream=1)
        for number in range(12):
            start = 2_500_000 * number
            if number % 4 == 0:
                script.span("predict", start, 10_000_000)
            script.span("cudaLaunchKernel", start + 1000, 1000, "kernel", "launch", correlation=number + 1)
            script.span("gemm", start + 3000, 1_000_000, "kernel", "execution", track=2, correlation=number + 1)
            script.span(call, start + 5000, 1_500_000, "kernel")
        return {row["id"] for row in findings(script.write(self.folder / "waits.xsp"), "--only", "F8,F15")["rows"]}

    def test_names_of_calls(self):
        """With what CUDA, HIP and Nsight Systems put behind a call's name."""
        for call in ("cudaMemcpy", "cudaMemcpy_v3020", "cudaMemcpy2D_ptds_v7000", "hipMemcpyDtoH_spt", "cuMemcpyDtoH_v2", "cudaStreamSynchronize_v3020"):
            self.assertIn("F8", self.waits(call), call)
        for call in ("cudaMemcpyAsync_v3020", "cudaMemcpy_v3020x", "_v2", "malloc"):
            self.assertEqual(self.waits(call), {"F15"}, call)


class Own(Steps):
    """Findings of the user's own, in a folder."""

    def own(self, name, text):
        folder = tempfile.TemporaryDirectory(dir=self.folder)
        self.addCleanup(folder.cleanup)
        (pathlib.Path(folder.name) / name).write_text(text)
        return "--findings", folder.name, "--only", "F1"

    def test_query(self):
        """Columns are keys; others become numbers; the wrong type, and what is missing, is null."""
        options = self.own("long_step.sql", """select 'a step of ' || max(duration_ns) as title, 0.1 as saving_ms, span_id as spans,
            run_id, 'x' as line, count(*) as steps, 'step.py' as file from observation""")
        (row,) = findings(self.steps(), *options)["rows"]
        self.assertEqual(row.keys(), KEYS)
        self.assertEqual((row["id"], row["title"], row["severity"]), ("long_step", "a step of 1000000", "high"))
        self.assertEqual((row["line"], row["file"], row["confidence"]), (None, "step.py", None))
        self.assertEqual((row["numbers"], row["run_id"], len(row["spans"])), ({"steps": 3}, 1, 1))
        self.assertAlmostEqual(row["saving_pct"], 10)
        for limit, status in (("long_step:5%", 1), ("long_step:11", 0), ("another", 0)):
            self.assertEqual(self.status(*options, "--fail-on", limit)[0], status)

    def test_only(self):
        """--only leaves out other files where it names one."""
        options = self.own("a.sql", "values (1)")[:2]
        (pathlib.Path(options[1]) / "ab.sql").write_text("values (1)")
        for only, ids in (("a", ["a"]), ("ab,F2", ["F2", "ab"]), ("F2", ["F2", "a", "ab"])):
            with self.subTest(only):
                self.assertEqual([row["id"] for row in findings(self.steps(), *options, "--only", only)["rows"]], ids)
        status, _, errors = self.status(*options, "--only", "abc")
        self.assertEqual((status, "abc" in errors), (2, True))

    def test_order(self):
        """They are in the order of all others, and --top counts them."""
        options = self.own("a.sql", "values (1), (2)")[:2]
        self.assertEqual([row["id"] for row in findings(self.steps(), *options)["rows"]], ["F2", "a", "a"])
        self.assertEqual(len(findings(self.steps(), *options, "--top", "2")["rows"]), 2)
        status, text, _ = self.status(*options, "--top", "1", "--fail-on", "a", "--json")
        self.assertEqual((status, len(json.loads(text)["rows"])), (1, 1), "what --top leaves out fails, too")

    def two_experiments(self):
        """Observations of 10 and of 100 ms."""
        script = scripted.Script()
        for number, latency_ns in ((1, 10_000_000), (2, 100_000_000)):
            script.experiment(f"e{number}", number)
            script.run(number, experiment_id=number)
            script.track(run_id=number)
            script.span("predict", 0, latency_ns, run_id=number)
        return script.write(self.folder / "two.xsp")

    def test_bounds(self):
        """No more can be gained than there is, of one observation or of all; so no limit is passed by more."""
        options = self.own("a.sql", "values (1), (2)")[:2]
        query = pathlib.Path(options[1]) / "a.sql"
        for columns, saving_ms, saving_pct in (("50000 as saving_ms", 1, 100), ("0.2 as saving_ms", 0.2, 20), ("0.1 as saving_ms, 500 as saving_pct", 0.1, 100),
                                               ("40 as saving_ms, 40 as time_ms, 40 as share_pct, 'all' as basis", 40, 40),
                                               ("400 as saving_ms, 40 as time_ms, 40 as share_pct, 'all' as basis", 100, 100),
                                               ("40 as saving_ms, 'all' as basis", 40, None)):
            with self.subTest(columns):
                query.write_text(f"select {columns}")
                table = findings(self.steps(), *options, "--only", "F1")
                self.assertEqual([(row["saving_ms"], row["saving_pct"]) for row in table["rows"]], [(saving_ms, saving_pct)])
                self.assertEqual(table["summary"]["findings"], 1)
        query.write_text("select 'no figures' as title")
        self.assertEqual(self.status(*options, "--fail-on", "a:50%")[0], 1, "one without figures is above every limit")

    def test_several_experiments(self):
        """A finding is of its run's experiment, and of that latency."""
        options = self.own("a.sql", "select run_id, 5 as saving_ms from run union all values (null, 5), (77, 5)")
        tables = scripted.xsp_json("analyze", "findings", self.two_experiments(), *options, "--json")
        found = {table["experiment"]: [(row["run_id"], row["saving_pct"]) for row in table["rows"]] for table in tables}
        self.assertEqual(found, {"e1": [(1, 50), (None, None), (77, None)], "e2": [(2, 5)]})

    def test_names_that_nothing_has(self):
        """A finding's own name may be one that is seldom found; a misspelt one is named on stderr."""
        options = self.own("a.sql", "select 'b' as id, 'c' as rule")
        for name, status, is_known in (("a", 0, True), ("b", 1, True), ("c:5%", 1, True), ("F3", 2, True), ("long_layres:5%", 0, False), ("F99", 0, False)):
            with self.subTest(name):
                found, _, errors = self.status(*options[:2], "--fail-on", name)
                self.assertEqual((found, "has this name" not in errors), (status, is_known), errors)

    def test_what_cannot_run(self):
        for name, text in (("a.sql", "selekt 1"), ("a.sql", "delete from run"), ("a.sql", "select 1; select 2"), ("a.py", "not python"),
                           ("a.sql", "")):
            with self.subTest(text):
                status, out, errors = self.status(*self.own(name, text))
                self.assertEqual((status, out), (2, ""))
                self.assertIn("/" + name, errors.splitlines()[-1])
        self.assertEqual(self.status("--findings", self.folder / "none")[0], 2)

    @unittest.skipUnless(PACKAGE.exists(), "the package xsp is not there")
    def test_a_program_that_hangs(self):
        """It is killed with what it started, although that holds its stdout."""
        note = self.folder / "started"
        options = self.own("hang.py", f"""import os, subprocess, time
started = subprocess.Popen(["sleep", "1000"])
open({str(note)!r}, "w").write(str(started.pid))
time.sleep(1000)
""")
        begun = time.monotonic()
        self.status(*self.own("quick.py", "import os, subprocess, time"))
        limit = 1 + math.ceil(10 * (time.monotonic() - begun))  # it has started something by then
        done = subprocess.run([scripted.XSP, "analyze", "findings", self.steps(), *options, "--findings-timeout", str(limit)],
                              capture_output=True, text=True, timeout=600, check=False,
                              env={**os.environ, "PYTHONPATH": str(PACKAGE)})
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(f"/hang.py: it ran for more than {limit} s", done.stderr)
        try:
            handle = os.pidfd_open(int(note.read_text()))  # a zombie where nobody reaps orphans
        except ProcessLookupError:
            return
        self.addCleanup(os.close, handle)
        self.assertTrue(select.select([handle], [], [], 600)[0])

    def test_a_query_without_end(self):
        options = self.own("endless.sql", "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n")
        done = subprocess.run([scripted.XSP, "analyze", "findings", self.steps(), *options, "--findings-timeout", "1"],
                              capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("it ran for more than 1 s", done.stderr)

    @unittest.skipUnless(PACKAGE.exists(), "the package xsp is not there")
    def test_a_program_that_leaves_another_behind(self):
        """Its end counts, not that of what holds its stdout."""
        options = self.own("leaves.py", """import os, subprocess
files = [file for file in range(3, 20) if os.path.exists(f"/proc/self/fd/{file}")]
left = subprocess.Popen(["sleep", "1000"], pass_fds=files, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
flag_issue(call_tree.root, str(left.pid))
""")
        done = subprocess.run([scripted.XSP, "analyze", "findings", self.steps(), *options, "--json"], capture_output=True,
                              text=True, timeout=600, check=True, env={**os.environ, "PYTHONPATH": str(PACKAGE)})
        os.kill(int(json.loads(done.stdout)["rows"][0]["rule"]), signal.SIGKILL)

    def test_only_regular_files(self):
        options = self.own("a.sql", "select 1")
        os.mkfifo(pathlib.Path(options[1]) / "b.sql")
        self.assertEqual(self.status(*options)[0], 2)

    @unittest.skipUnless(PACKAGE.exists(), "the package xsp is not there")
    def test_program(self):
        options = self.own("slow.py", "flag_issue(call_tree.root, 'slow', saving_ms=0.25)\nprint('to stderr')\n")
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
        current = tempfile.TemporaryDirectory(dir=self.folder)
        self.addCleanup(current.cleanup)
        (pathlib.Path(current.name) / "traceback.py").write_text("raise SystemExit('imported from the current folder')")
        done = subprocess.run([scripted.XSP, "analyze", "findings", self.steps(), *options, "--json"], capture_output=True, text=True,
                              timeout=600, check=True, env=environment, cwd=current.name)
        (row,) = json.loads(done.stdout)["rows"]
        self.assertEqual((row["id"], row["saving_ms"], done.stderr), ("slow", 0.25, "to stderr\n"))


@unittest.skipUnless(RESNET.exists(), f"{RESNET} is not there")
class Resnet(Files):
    """PyTorch on a V100, with call stacks: its figures from the spans."""

    def setUp(self):
        self.path = self.made("resnet.xsp", RESNET)

    def sql(self, query):
        return scripted.xsp_json("sql", self.path, query, "--json")

    def kept(self):
        """The observations that trimmed:0.2 keeps: four of six."""
        rows = self.sql("select observation, start_ns, duration_ns from observation order by duration_ns, observation")
        cut = len(rows) // 5
        return rows[cut:len(rows) - cut]

    def in_kept(self, row):
        return any(step["start_ns"] <= row["start_ns"] < step["start_ns"] + step["duration_ns"] for step in self.kept_rows)

    def test_optimizer(self):
        """`sgd` updates each parameter by three kernels: all of them, with the host's time, but one."""
        self.kept_rows = self.kept()
        below = """with recursive below(id) as (select context_id from context join frame using (frame_id) where name = 'sgd'
            union all select context_id from context join below on parent_id = id) """
        kernels = [row for row in self.sql(below + "select start_ns, duration_ns, correlation_id from span where kind = 'execution'"
                                           " and context_id in (select id from below)")]
        launches = {row["correlation_id"]: row["start_ns"] for row in
                    self.sql("select correlation_id, start_ns from span where kind = 'launch'")}
        kernels = [row for row in kernels if self.in_kept({"start_ns": launches[row["correlation_id"]]})]
        hosts = [row for row in self.sql(below + "select start_ns, self_ns from span where kind != 'execution' and context_id in "
                                         "(select id from below)") if self.in_kept(row)]
        called = [row for row in self.sql("""select s.start_ns, s.start_ns + s.duration_ns as end_ns, s.track_id, f.name as
            caller from span s left join context c using (context_id) left join context q on q.context_id = c.parent_id left join
            frame f on f.frame_id = q.frame_id left join span p on p.span_id = s.parent_id where s.level = 'layer' and s.kind =
            'sync' and (p.level is not 'layer' or (c.context_id is not null and f.kind is not 'framework'))""") if self.in_kept(row)]
        lead_ns = 0
        for row in called:
            if row["caller"] == "sgd":
                passed = max((other["end_ns"] if other["end_ns"] <= row["start_ns"] else other["start_ns"], other["caller"])
                             for other in called if other["track_id"] == row["track_id"] and other["start_ns"] < row["start_ns"])
                lead = row["start_ns"] - passed[0]
                lead_ns += lead if passed[1] == "sgd" and lead <= 100_000 else 0  # longer: a pause of the program
        found = next(row for row in findings(self.path, "--only", "F2")["rows"] if row["context"] == "sgd")
        steps, kernel_ns = len(self.kept_rows), sum(row["duration_ns"] for row in kernels)
        self.assertEqual(found["numbers"]["count"], len(kernels) / steps)
        self.assertAlmostEqual(found["time_ms"], kernel_ns / steps / 1e6)
        whole_ms = (kernel_ns + sum(row["self_ns"] for row in hosts) + lead_ns) / steps / 1e6
        self.assertAlmostEqual(found["saving_ms"], whole_ms * (1 - steps / len(kernels)))
        self.assertEqual((found["file"], found["line"]), ("resnet50_profiler_api.py", 51))

    def test_hotspots(self):
        """Kernels above a tenth of the device time, by name: the backward ones have no call paths."""
        self.kept_rows = self.kept()
        launches = {row["correlation_id"]: row["start_ns"] for row in
                    self.sql("select correlation_id, start_ns from span where kind = 'launch'")}
        sums = {}
        for row in self.sql("select name, duration_ns, correlation_id from span where kind = 'execution' and category != 'sync'"):
            if self.in_kept({"start_ns": launches[row["correlation_id"]]}):
                sums[row["name"]] = sums.get(row["name"], 0) + row["duration_ns"]
        all_ns = sum(sums.values())
        found = {row["context"]: row["time_ms"] for row in findings(self.path, "--only", "F1")["rows"]}
        expected = {name: ns / 1e6 / len(self.kept_rows) for name, ns in sums.items() if ns / all_ns > 0.1}
        self.assertEqual(found.keys(), expected.keys())
        for name, ms in expected.items():
            self.assertAlmostEqual(found[name], ms)


if __name__ == "__main__":
    unittest.main()
