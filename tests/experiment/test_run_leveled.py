# SPDX-License-Identifier: Apache-2.0
"""`xsp run` repeated: level sets and repetitions of unmodified programs, ambiguous parents resolved by a
serialised execution, and the summary at the end."""
import importlib.util
import json
import os
import pathlib
import re
import select
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import unittest

import test_profile

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
XSP = BUILD / "xsp"
WORKLOAD = BUILD / "test-programs" / "run_workload"
SANITIZED = bool(os.environ.get("XSP_SANITIZE"))
PYTHON = sys.executable


def xsp(*arguments, status=0, **options):
    result = subprocess.run([XSP, *map(str, arguments)], capture_output=True, text=True, timeout=600, **options)
    if result.returncode != status:
        raise AssertionError(f"xsp {arguments}: status {result.returncode}, not {status}\n{result.stdout}{result.stderr}")
    return result


def wait_for_end(process):
    try:
        select.select([os.pidfd_open(process)], [], [], 600)
    except ProcessLookupError:
        pass


@unittest.skipIf(SANITIZED, "an instrumented libxsp.so cannot be preloaded into programs that are not")
class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "out.xsp"

    def run_xsp(self, *arguments, status=0, **options):
        return xsp("run", "-o", self.output, *arguments, status=status, **options)

    def script(self, text):
        path = self.folder / "any_script.py"
        path.write_text(text)
        return [PYTHON, path]

    def sql(self, query):
        return json.loads(xsp("sql", self.output, query, "--json").stdout)

    def analyze(self, *arguments):
        return json.loads(xsp("analyze", *arguments, self.output, "--json").stdout)

    def runs(self):
        return json.loads(xsp("info", self.output, "--json").stdout)["experiments"][0]["runs"]

    def notes(self):
        document = json.loads(xsp("info", self.output, "--json").stdout)
        return {note["key"]: note["value"] for note in document["file"]["notes"]}


# Of docs/run.md.
SERIAL = {"XSP_SERIALIZE": "1", "CUDA_LAUNCH_BLOCKING": "1", "HIP_LAUNCH_BLOCKING": "1", "AMD_SERIALIZE_KERNEL": "3",
          "UR_L0_SERIALIZE": "2", "OMP_NUM_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1", "MXNET_ENGINE_TYPE": "NaiveEngine"}


PINS = {"TF_DETERMINISTIC_OPS": "1", "TF_CUDNN_DETERMINISTIC": "1", "TF_CUDNN_USE_AUTOTUNE": "0",
        "MXNET_ENFORCE_DETERMINISM": "1", "MXNET_CUDNN_AUTOTUNE_DEFAULT": "0", "CUBLAS_WORKSPACE_CONFIG": ":4096:8"}


class VariablesTest(RunTest):
    def program(self):
        """A program that appends what it sees of SERIAL and PINS to a file, then the workload."""
        log = self.folder / "environments"
        return log, self.script(f"""
import json, os, subprocess, sys
with open({str(log)!r}, "a") as file:
    print(json.dumps({{key: os.environ[key] for key in {sorted(SERIAL | PINS)!r} if key in os.environ}}), file=file)
sys.exit(subprocess.call([{str(WORKLOAD)!r}, "layers", "2"]))
""")

    def environments(self, log):
        return [json.loads(line) for line in log.read_text().splitlines()]

    def test_a_lane_like_the_others(self):
        log, program = self.program()
        self.run_xsp("--serialize", "--runs", 2, "-t", "fake:kernel_delay_ns=0", "--", *program)
        runs = self.sql("select levels, run_id from run order by run_id")
        levels = [row["levels"] for row in runs][1:]  # the first finds out which there are
        self.assertNotIn("@serial", runs[0]["levels"])
        self.assertEqual(sorted(levels), sorted(2 * ["M", "M/L", "M/L/K", "M/L/K@serial"]))
        self.assertEqual(levels[4:], levels[1:4] + levels[:1])  # turns
        for seen, row in zip(self.environments(log), runs, strict=True):
            self.assertEqual(seen, SERIAL if "@serial" in row["levels"] else {}, row)
        l0 = {row["levels"]: row for row in self.analyze("L0")["rows"]}
        self.assertEqual((l0["M/L/K@serial"]["over"], l0["M/L/K@serial"]["n"]), ("M/L/K", 2))
        self.assertEqual([run["serial"] for run in self.runs()], ["@serial" in row["levels"] for row in runs])

    def test_metrics_have_a_lane_and_a_number(self):
        log = self.folder / "numbers"
        program = self.script(f"""
import os, subprocess, sys
with open({str(log)!r}, "a") as file:
    print(os.environ.get("XSP_METRICS", "none"), file=file)
sys.exit(subprocess.call([{str(WORKLOAD)!r}, "layers", "2"]))
""")
        def numbers(*options):
            log.unlink(missing_ok=True)
            self.run_xsp("-f", "-t", "fake:kernel_delay_ns=0,cuda", *options, "--", *program)
            rows = self.sql("select levels from run order by run_id")
            found = list(zip([row["levels"] for row in rows], log.read_text().split(), strict=True))
            self.assertEqual([run["metrics"] for run in self.runs()], ["+metrics" in levels for levels, _ in found])
            return found

        os.environ["XSP_METRICS"] = "7"  # of an outer xsp run
        self.addCleanup(os.environ.pop, "XSP_METRICS")
        self.assertEqual(numbers("--levels", "M/L/K,M/L/K+metrics", "--runs", 2, "--warmup", 1),
                         [("M/L/K", "none"), ("M/L/K", "none"), ("M/L/K+metrics", "0"), ("M/L/K+metrics", "1"), ("M/L/K", "none")])
        self.assertEqual(numbers("--levels", "M/L/K+metrics"), [("M/L/K+metrics", "0")])
        # --cuda metrics= adds the twin of the deepest set, of those given and of those found.
        self.assertEqual(sorted(numbers("--levels", "M,M/L/K", "--cuda", "metrics=xsp", "--runs", 1, "--warmup", 0)),
                         [("M", "none"), ("M/L/K", "none"), ("M/L/K+metrics", "0")])
        self.assertEqual(sorted(numbers("--cuda", "collect=kernel", "--runs", 1))[1:],
                         [("M", "none"), ("M/L", "none"), ("M/L/K", "none"), ("M/L/K+metrics", "0")])

    def test_sets_that_are_given(self):
        log, program = self.program()
        self.run_xsp("--levels", "M/L", "--serialize", "--runs", 1, "--warmup", 0, "--", *program)
        self.assertEqual([row["levels"] for row in self.sql("select levels from run")], ["M/L", "M/L@serial"])
        log.unlink()
        self.run_xsp("-f", "--levels", "M@serial", "--", *program)  # one execution
        self.assertEqual(self.environments(log), [SERIAL])
        result = self.run_xsp("-f", "--levels", "M", "--serialize", "--", *program, status=125)
        self.assertIn("--serialize", result.stderr)


    def test_pinned_algorithms(self):
        log, program = self.program()
        result = self.run_xsp("--pin-algorithms", "--levels", "M", "--", *program)
        self.assertEqual(self.environments(log), [PINS])
        for text in (result.stderr, self.sql("select value from system where key = 'pinned_algorithms'")[0]["value"]):
            self.assertIn("TensorFlow (TF_DETERMINISTIC_OPS=1, ", text)
            self.assertIn("), cuBLAS (CUBLAS_WORKSPACE_CONFIG=:4096:8)", text)
        self.run_xsp("-f", "--levels", "M", "--", *program)
        self.assertEqual(self.environments(log)[1:], [{}])
        self.assertEqual(self.sql("select value from system where key = 'pinned_algorithms'"), [])


class LeveledTest(RunTest):
    def test_a_slow_kernel_tracer_comes_back_from_l0(self):
        """The tracer waits 10 µs before each of a layer's two kernels. Only M/L/K has that wait; by layer, L0 is the difference
        of what the file has."""
        result = self.run_xsp("--leveled", "--runs", 15, "-t", "fake:kernel_delay_ns=10000", "--", WORKLOAD, "layers", 10)
        rows = {row["levels"]: row for row in self.analyze("L0", "--stat", "min")["rows"]}
        self.assertEqual(list(rows), ["M", "M/L", "M/L/K"])
        self.assertEqual((rows["M"]["over"], rows["M/L"]["over"], rows["M/L/K"]["over"]), (None, "M", "M/L"))
        self.assertEqual([row["n"] for row in rows.values()], [15, 15, 15])
        layers = self.analyze("L0", "--by", "layer", "--stat", "min")["rows"]
        self.assertEqual([(row["layer_name"], row["kernels"]) for row in layers], [(f"layer{i}", 2) for i in range(10)])
        least = {(row["levels"], row["name"]): row["ns"] for row in self.sql(
            "select r.levels, s.name, min(s.duration_ns) as ns from span s join run r using (run_id) where s.level = 'layer'"
            " and r.levels <> 'A/M/L/Lib/K' group by 1, 2")}  # without the warm-up
        for row in layers:
            without_ns, with_ns = (least[levels, row["layer_name"]] for levels in ("M/L", "M/L/K"))
            self.assertAlmostEqual(row["overhead_per_kernel_ns"], (with_ns - without_ns) / 2, places=3)
            self.assertGreaterEqual(without_ns, (100_000 + 2 * 50_000) * test_profile.CLOCK)
            self.assertGreaterEqual(with_ns, (100_000 + 2 * 60_000) * test_profile.CLOCK)
        self.assertEqual({row["layer_name"]: row["latency_ms"] for row in self.analyze("A2", "--stat", "min")["rows"]},
                         {name: ns / 1e6 for (levels, name), ns in least.items() if levels == "M/L"})
        self.assertIn("application, library", self.notes()["level_sets"])
        self.assertIn("L0  leveled overhead", result.stderr)
        self.assertIn("A10  kernels by name", result.stderr)

    def test_executions_are_interleaved_and_the_first_is_warm_up(self):
        self.run_xsp("--leveled", "--", WORKLOAD, "layers", 2)
        rows = self.sql("select levels, warmup, o.start_ns, o.span_id from observation o join run using (run_id) order by 3")
        self.assertEqual([(row["levels"], row["warmup"]) for row in rows[:1]], [("A/M/L/Lib/K", 1)])
        self.assertEqual([row["warmup"] for row in rows[1:]], [0] * 10)
        self.assertEqual([row["levels"] for row in rows[1:]], ["M", "M/L", "M/L", "M"] * 2 + ["M", "M/L"])
        self.assertEqual({row["span_id"] for row in rows}, {None}, "runs without models have no span for their observation")
        for run in self.runs():
            self.assertEqual(run["observations"], 1)
            self.assertEqual(run["spans"].get("layer", 0), 2 if "layer" in run["levels"] else 0)
            self.assertEqual(run["spans"]["application"], 1, "the program's own")
            self.assertEqual(run["dropped"], 0)

    def test_a_script_that_nobody_prepared(self):
        result = self.run_xsp("--leveled", "--", *self.script("print(sum(range(1000)))"))
        self.assertEqual(result.stdout, "499500\n", "eleven executions print once")
        table = self.analyze("L0")
        self.assertEqual([(row["levels"], row["n"]) for row in table["rows"]], [("M", 5), ("M/L/K", 5)])
        self.assertEqual(table["rows"][1]["interval_from"], "paired runs")  # executions took turns
        self.assertGreater(table["rows"][0]["latency_ms"], 1)
        self.assertIn("L0  leveled overhead", result.stderr)
        self.assertIn("listening", result.stderr)
        self.assertNotIn("at batch size", result.stderr)
        experiment = json.loads(xsp("info", self.output, "--json").stdout)["experiments"][0]
        self.assertEqual(experiment["framework"], None)
        self.assertIn("any_script.py", experiment["workload"])

    def test_the_spread_is_that_of_the_worst_set(self):
        """Every second execution of the deeper set takes long; a verdict on the other set alone would miss it. On a busy machine
        the other set may be the worse one."""
        script = ("import os, pathlib\n"
                  "counted = pathlib.Path('counted')\n"
                  "if 'nvtx' in os.environ.get('XSP_TRACERS', ''):\n"
                  "    counted.write_text((counted.read_text() if counted.exists() else '') + 'x')\n"
                  "    if len(counted.read_text()) % 2:\n"
                  "        for _ in range(5_000_000): pass\n")
        self.run_xsp("-t", "nvtx", "--levels", "M,M/L", "--runs", 4, "--warmup", 0, "--", *self.script(script),
                     cwd=self.folder)
        spreads = {}
        for row in self.analyze("L0")["rows"]:
            taken = [at["duration_ns"] for at in self.sql("select duration_ns from observation join run using (run_id) "
                                                          f"where levels = '{row['levels']}' and not warmup")]
            low, middle, high = statistics.quantiles(taken, method="inclusive")
            spreads[row["levels"]] = 100 * (high - low) / middle
        self.assertIn(f"up to {max(spreads.values()):.1f} %", self.notes()["noise"])

    def test_models_are_observations_and_those_of_warm_up_are_none(self):
        self.run_xsp("--leveled", "--runs", 2, "--warmup", 2, "--", WORKLOAD, "models", 3)
        self.assertEqual([(row["levels"], row["n"]) for row in self.analyze("L0")["rows"]], [("M", 6), ("M/L", 6)])
        runs = self.runs()
        self.assertEqual([(run["observations"], run["warmup_observations"]) for run in runs], [(3, 3)] * 2 + [(3, 0)] * 4)
        self.assertIsNotNone(self.analyze("A1")["summary"]["cold_latency_ms"])

    def test_a_model_range_that_matches_nothing_is_said(self):
        result = self.run_xsp("--model-range", "nonesuch*", "--", WORKLOAD, "layers", 2)
        self.assertRegex(result.stderr, r"--model-range 'nonesuch\*'")
        self.assertIn("nonesuch", self.notes()["model_range"])
        self.run_xsp("-f", "--model-range", "nonesuch*", "--", WORKLOAD, "models", 2)
        self.assertIn("models", self.notes()["model_range"])

    def test_ranges_that_match_are_the_observations(self):
        if importlib.util.find_spec("nvtx") is None:
            self.skipTest("the package nvtx is not there")
        script = self.script("""
import nvtx
for i in range(4):
    with nvtx.annotate(f"step {i}"):
        with nvtx.annotate("load"):
            pass
""")
        self.run_xsp("--leveled", "--runs", 2, "--model-range", "step *", "--", *script)
        rows = self.analyze("L0")["rows"]
        self.assertEqual([(row["levels"], row["n"], row["over"]) for row in rows], [("M", 8, None), ("A/M", 8, "M")])
        self.assertNotIn("model_range", self.notes())
        self.assertEqual([run["spans"].get("application") for run in self.runs() if run["levels"] == ["model"]], [1, 1])

    def test_given_sets_all_run(self):
        self.run_xsp("--levels", "M,M/L,M/L/Lib", "--runs", 2, "--warmup", 0, "--", "true")
        self.assertEqual([row["levels"] for row in self.analyze("L0")["rows"]], ["M", "M/L", "M/L/Lib"])
        self.assertEqual(len(self.runs()), 6)

    def test_repetitions_of_one_set(self):
        result = self.run_xsp("--runs", 3, "--", WORKLOAD, "layers", 2)
        self.assertEqual(result.stdout, "layers: 0 lines\n")
        self.assertIn("2 more executions", result.stderr)
        self.assertEqual([row["n"] for row in self.analyze("A2")["rows"]], [3, 3])

    def test_each_execution_has_a_line(self):
        """Without a terminal: how many, how long, then which one has ended."""
        result = self.run_xsp("--leveled", "--levels", "M,M/L", "--runs", "2", "--", "true")
        total = json.loads(xsp("sql", self.output, "select count(*) as n from run", "--json").stdout)[0]["n"]
        self.assertRegex(result.stderr, rf"xsp: {total - 1} more executions, for 2 at each of M, M/L, about \d+\.\d s; ")
        ended = [re.fullmatch(r"xsp: true: (M|M/L), execution (\d+) of (\d+), about \d+ s left", line)
                 for line in result.stderr.splitlines() if ", execution " in line]
        self.assertEqual([(int(line[2]), int(line[3])) for line in ended], [(n, total) for n in range(2, total + 1)])

    def test_a_program_that_fails_runs_once(self):
        result = self.run_xsp("--leveled", "--", WORKLOAD, "layers", 2, 7, status=7)
        self.assertEqual(result.stdout, "layers: 0 lines\n")
        self.assertEqual([(run["observations"], run["warmup_observations"]) for run in self.runs()], [(1, 0)])
        self.assertEqual(len(self.analyze("A2")["rows"]), 2)

    def test_a_file_as_input_is_read_by_every_execution(self):
        path = self.folder / "input"
        path.write_text("skipped\na\nb\n")
        script = self.script("import sys\ntext = sys.stdin.read()\nprint(text)\nsys.exit(text != 'a\\nb\\n')")
        with path.open() as file:
            os.lseek(file.fileno(), len("skipped\n"), os.SEEK_SET)
            result = self.run_xsp("--leveled", "--runs", 2, "--", *script, stdin=file)
        self.assertEqual(result.stdout, "a\nb\n\n")
        self.assertEqual(len(self.runs()), 5)

    def test_what_ends_with_another_status_is_not_repeated(self):
        for options in (["--leveled"], ["--runs", 2], ["--levels", "M,M/L"]):
            result = self.run_xsp("-f", *options, "--", *self.script("raise SystemExit(4)"), status=4)
            self.assertRegex(result.stderr, "xsp: .*status 4")
            self.assertEqual([run["observations"] for run in self.runs()], [1])
        result = self.run_xsp("-f", "--", *self.script("raise SystemExit(4)"), status=4)
        self.assertNotIn("repeated", result.stderr)

    def test_a_pipe_as_input_is_read_by_every_execution(self):
        text = "".join(f"line {i}\n" for i in range(100000))
        script = self.script(f"import sys\ntext = sys.stdin.read()\nprint(len(text))\nsys.exit(len(text) != {len(text)})")
        result = self.run_xsp("--leveled", "--runs", 2, "--", *script, input=text)
        self.assertEqual(result.stdout, f"{len(text)}\n")
        self.assertEqual(len(self.runs()), 5)

    def test_a_conversation_through_a_pipe(self):
        """Input is passed on at once: the other end waits for an answer before it continues."""
        script = self.script("import sys\nfor line in sys.stdin:\n    print('heard', line, end='', flush=True)")
        command = [XSP, "run", "-o", self.output, "--runs", "2", "--", *script]
        with subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as program:
            for word in ("one", "two"):
                program.stdin.write(word + "\n")
                program.stdin.flush()
                self.assertEqual(program.stdout.readline(), f"heard {word}\n")
            self.assertEqual(program.communicate(timeout=600)[0], "")
            self.assertEqual(program.returncode, 0)
        self.assertEqual(len(self.runs()), 2)

    def test_a_pipe_that_nobody_writes_or_reads(self):
        reader, writer = os.pipe()
        try:
            self.run_xsp("--runs", 3, "--", "true", stdin=reader)
            os.write(writer, b"x" * 60000)
            self.run_xsp("-f", "--runs", 3, "--", "true", stdin=reader)
        finally:
            os.close(reader)
            os.close(writer)
        self.assertEqual(len(self.runs()), 3)

    def test_a_socket_as_input_is_read_by_the_first(self):
        script = self.script("import sys\ntext = sys.stdin.read()\nprint('what is missing', file=sys.stderr)\n"
                             "sys.exit(0 if text else 5)")
        ours, theirs = socket.socketpair()
        ours.sendall(b"text")
        ours.close()
        with theirs:
            result = self.run_xsp("--leveled", "--", *script, stdin=theirs, status=5)
        self.assertIn("stdin", result.stderr)
        self.assertEqual(result.stderr.count("what is missing"), 2, "the first one's own, and what the second one said")
        self.assertEqual([run["warmup_observations"] for run in self.runs()], [1, 1])
        self.assertIn("status 5", self.notes()["failed"])

    def test_an_interrupted_experiment_keeps_what_was_measured(self):
        count = self.folder / "count"
        script = self.script(f"""
import os, pathlib, signal
count = pathlib.Path({str(count)!r})
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
if number == 4:
    os.kill(os.getppid(), signal.SIGINT)
    while True: pass
""")
        result = self.run_xsp("--leveled", "--", *script, status=-signal.SIGINT)
        self.assertEqual(count.read_text(), "4")
        self.assertIn("interrupted", result.stderr)
        self.assertIn("interrupted", self.notes())
        self.assertEqual([run["warmup_observations"] for run in self.runs()], [1, 0, 0, 1])

    def test_a_killed_xsp_leaves_what_was_measured(self):
        count = self.folder / "count"
        script = self.script(f"""
import os, pathlib, signal
count = pathlib.Path({str(count)!r})
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
if number == 3:
    pathlib.Path({str(self.folder / "session")!r}).write_text(os.environ["XSP_SESSION"])
    pathlib.Path({str(self.folder / "process")!r}).write_text(str(os.getpid()))
    os.kill(os.getppid(), signal.SIGKILL)
""")
        self.run_xsp("--leveled", "--", *script, status=-9)
        wait_for_end(int((self.folder / "process").read_text()))
        self.assertFalse(self.output.exists())
        self.output = pathlib.Path(f"{self.output}.partial")
        runs = [(run["levels"], run["warmup_observations"]) for run in self.runs()]
        self.assertEqual(runs[:2], [(["application", "model", "layer", "library", "kernel"], 1), (["model"], 0)])
        self.output = self.folder / "recovered.xsp"
        xsp("recover", (self.folder / "session").read_text(), "-o", self.output)
        self.assertEqual([run["warmup_observations"] for run in self.runs()][:2], [1, 0])

    def test_without_streams(self):
        """No file of xsp takes the places of streams that it was started without."""
        script = ('for n in 0 1 2; do [ ! -e /proc/$$/fd/$n ] || [ /proc/$$/fd/$n -ef /dev/null ] || [ $n = 2 ] || exit 9; done;'
                  ' [ ! /proc/$$/fd/2 -ef "$0.partial" ] || exit 8')
        command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", XSP, "run", "-o", self.output, "--leveled", "--runs", "2",
                   "--", "sh", "-c", script, self.output]
        self.assertEqual(subprocess.run(command, timeout=600).returncode, 0)
        self.assertEqual(len(self.runs()), 5)

    def test_quiet_says_nothing(self):
        result = self.run_xsp("-q", "--leveled", "--runs", 1, "--", WORKLOAD, "layers", 2)
        self.assertEqual(result.stderr, "layers: working\n")
        self.assertEqual(result.stdout, "layers: 0 lines\n")

    def test_an_existing_file_stays(self):
        self.output.write_text("mine")
        self.run_xsp("--leveled", "--", "true", status=125)
        self.assertEqual(self.output.read_text(), "mine")
        self.run_xsp("-f", "--", "nonesuch-program", status=127)
        self.assertEqual(self.output.read_text(), "mine")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["out.xsp"])


class ResolveTest(RunTest):
    PARENTS = """select e.name, l.name as parent, count(*) as count, min(launch.basis) as basis
        from span e left join span l on l.run_id = e.run_id and l.span_id = e.layer_id
        join span launch on launch.run_id = e.run_id and launch.correlation_id = e.correlation_id
        and launch.kind = 'launch' where e.kind = 'execution' group by 1, 2 order by 1, 2"""

    def test_without(self):
        self.run_xsp("--", WORKLOAD, "crossing")
        self.assertEqual(self.runs()[0]["parents"]["ambiguous"], 10)
        self.assertNotIn("resolved", self.runs()[0])

    def test_launches_find_their_layers(self):
        result = self.run_xsp("--resolve", "--", WORKLOAD, "crossing")
        run = self.runs()[0]
        self.assertEqual(run["resolved"], {"before": 10, "after": 2})
        self.assertEqual(run["parents"]["ambiguous"], 2)
        self.assertEqual(run["parents"]["explicit"], 8)
        rows = [(row["name"], row["parent"], row["count"]) for row in self.sql(self.PARENTS)]
        # "both" is launched by two threads in turns, serialised by one after the other; "once" is not launched there.
        self.assertEqual(rows, [("both", "conv0", 1), ("both", "conv1", 1), ("both", "relu0", 1), ("both", "relu1", 1),
                                ("gemm0", "conv0", 2), ("gemm0", "relu0", 2), ("gemm1", "conv1", 2),
                                ("gemm1", "relu1", 2), ("once", None, 2)])
        self.assertIn("8 of 10", result.stderr)
        self.assertIn("differs", self.notes()["resolve"])
        self.assertEqual(len(self.runs()), 1, "the serialised execution is in no statistic")
        self.assertEqual(result.stdout, "crossing: 0 lines\n")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["out.xsp"])

    def test_layers_of_asynchronous_opencl(self):
        """The program's layers end when their kernels are seen to have finished; serialised, before the next one begins."""
        program = BUILD / "test-programs" / "run_opencl_crossing"
        if not program.exists() or subprocess.run([program], capture_output=True, timeout=600).returncode == 77:
            self.skipTest("there is no OpenCL here")
        self.run_xsp("--", program)
        before = self.runs()[0]["parents"]["ambiguous"]
        self.assertGreater(before, 0)
        self.run_xsp("--resolve", "-f", "--", program)
        run = self.runs()[0]
        self.assertEqual(run["resolved"]["after"], 0)
        self.assertEqual(run["parents"]["ambiguous"], 0)
        layers = self.sql("select l.name, count(*) as count from span e join span l on l.run_id = e.run_id and"
                          " l.span_id = e.layer_id where e.kind = 'execution' group by 1 order by 1")
        self.assertEqual([tuple(row.values()) for row in layers], [(f"layer{i}", 2) for i in range(4)])

    def test_every_run_of_an_experiment_is_resolved(self):
        self.run_xsp("--resolve", "--leveled", "--runs", 2, "--", WORKLOAD, "crossing")
        found = [(run["levels"], run.get("resolved")) for run in self.runs()]
        self.assertEqual(len(found), 7)
        for levels, resolved in found:
            self.assertEqual(resolved, {"before": 10, "after": 2} if "kernel" in levels else None)

    def test_nothing_to_resolve(self):
        result = self.run_xsp("--resolve", "--", WORKLOAD, "layers", 2)
        self.assertIn("ambiguous", result.stderr)
        self.assertIn("no parent", self.notes()["resolve"])

    def test_a_serialised_execution_that_fails(self):
        script = self.script(f"""
import os, subprocess, sys
sys.exit(subprocess.call([{str(WORKLOAD)!r}, "crossing"]) or 3 * ("XSP_SERIALIZE" in os.environ))
""")
        self.run_xsp("--resolve", "--", *script)
        self.assertEqual(self.runs()[0]["parents"]["ambiguous"], 10)
        self.assertIn("status 3", self.notes()["resolve"])


class ShapesTest(RunTest):
    """Every reader reads what `xsp run` writes, whatever the program did."""

    def read_all(self):
        xsp("info", self.output)
        for analysis in ("L0", "A1"):
            xsp("analyze", analysis, self.output)
        for analysis in ("A2", "A6", "A10", "A15"):
            result = subprocess.run([XSP, "analyze", analysis, self.output, "--json"], capture_output=True, timeout=600)
            self.assertIn(result.returncode, (0, 1), result.stderr)
        for kind in ("perfetto", "chrome", "otlp", "otlp-proto", "csv", "sqlite"):
            xsp("export", self.output, "--to", kind, "-o", self.folder / f"out.{kind}")
        xsp("import", self.folder / "out.otlp", "--format", "otlp", "-o", self.folder / "again.xsp")
        for query in ("select run_id, levels from run", "select * from observation",
                      "select run_id, span_id, parent_id, level, name, basis from span order by 1, 2"):
            texts = [xsp("sql", path, query, "--json").stdout for path in (self.output, self.folder / "again.xsp")]
            self.assertEqual(*texts)

    def test_a_program_that_says_nothing(self):
        result = self.run_xsp("--", "true")
        self.assertIn("none but", result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertNotIn("the tracer", result.stderr)
        rows = self.sql("select name, level, category, basis, parent_id, depth from span")
        self.assertEqual(rows, [{"name": "true", "level": "application", "category": "program", "basis": "none",
                                 "parent_id": None, "depth": 0}])
        self.read_all()

    def test_a_program_that_does_nothing_of_what_a_tracer_records(self):
        result = self.run_xsp("-t", "nvtx", "--", "true")
        self.assertRegex(result.stderr, "none but .*nvtx")

    def test_several_processes(self):
        result = self.run_xsp("--", "sh", "-c", f"{WORKLOAD} layers 2; {WORKLOAD} layers 3; exit 4", status=4)
        self.assertIn("exit status 4", result.stderr)
        self.assertIn("processes", result.stderr)
        self.assertEqual(self.runs()[0]["spans"]["layer"], 5)
        self.read_all()

    def test_a_killed_program(self):
        result = self.run_xsp("--", "sh", "-c", f"{WORKLOAD} layers 2; kill -9 $$", status=137)
        self.assertIn("signal 9", result.stderr)
        self.read_all()

    def test_a_leveled_file(self):
        self.run_xsp("--leveled", "--runs", 2, "--", WORKLOAD, "models", 2)
        self.read_all()

    def test_a_resolved_file(self):
        self.run_xsp("--resolve", "--", WORKLOAD, "crossing")
        self.read_all()

    def test_kernels_outside_of_all_ranges_are_said(self):
        result = self.run_xsp("-t", "fake:kernel_delay_ns=0", "--levels", "M/K", "--", WORKLOAD, "layers", 3)
        self.assertRegex(result.stderr, r"6, 6 in no range.*\(100 %")
        self.assertIn("outside any range", result.stderr)


if __name__ == "__main__":
    unittest.main()
