# SPDX-License-Identifier: Apache-2.0
"""`xsp profile` as a whole, on scripted models whose truth is known: level sets, overhead, interleaving, containment."""
import collections
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import unittest

import predictor_programs
import wrapped_runner

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
XSP = BUILD / "xsp"
COLLECTOR_PID = 80  # its offset in DIR/session, trace/format/session.h
CLOCK = 0.999  # two clocks differ by less: the one that a script waits by, and that of spans

MODEL = """\
input data float N,8
layer conv1 Conv 300us shape=N,64,112,112 alloc=3211264
kernel sgemm 200us
kernel bias 100us
layer relu1 Relu 100us shape=N,64,112,112
kernel relu 50us
layer conv2 Conv 500us shape=N,64,56,56 alloc=802816
kernel sgemm 200us
batch-factor 0.25
"""


def xsp(*arguments, status=0, env=None, **options):
    result = subprocess.run([XSP, *map(str, arguments)], capture_output=True, text=True, timeout=600,
                            env={**os.environ, **(env or {})}, **options)
    if result.returncode != status:
        raise AssertionError(f"xsp {arguments}: status {result.returncode}, not {status}\n{result.stderr}")
    return result


def sessions_of(pid):
    """Capture sessions of one xsp. Other processes make and remove theirs in /dev/shm meanwhile."""
    found = []
    for session in pathlib.Path("/dev/shm").glob(f"xsp-{os.getuid()}-*/session"):
        try:
            if struct.unpack_from("<I", session.read_bytes(), COLLECTOR_PID)[0] == pid:
                found.append(session.parent)
        except (FileNotFoundError, struct.error):  # gone, or not whole yet
            pass
    return found


class ProfileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "out.xsp"

    def model(self, text=MODEL, name="net.xspscript"):
        path = self.folder / name
        path.write_text(text)
        return path

    def sql(self, query):
        return json.loads(xsp("sql", self.output, query, "--json").stdout)

    def analyze(self, *arguments):
        return json.loads(xsp("analyze", *arguments, self.output, "--json").stdout)

    def test_a_framework_without_unfused_layers_says_so(self):
        result = xsp("profile", self.model(), "--unfused", "-o", self.output, status=2)
        self.assertIn("--unfused", result.stderr)
        self.assertFalse(self.output.exists())

    def test_matrix_is_complete_and_interleaved(self):
        result = xsp("profile", self.model(), "--batch", "1,4", "--levels", "M,M/L", "--runs", 5, "--warmup", 2,
                     "-o", self.output)
        self.assertIn(f"xsp report {self.output} ", result.stderr.split("next:")[1])
        rows = self.sql("select r.levels, r.batch_size, o.observation, o.warmup, o.start_ns, o.duration_ns from observation o"
                        " join run r using (run_id) order by o.start_ns")
        self.assertEqual(len(rows), 2 * 2 * 7)
        for batch in (1, 4):
            order = [(row["levels"], row["warmup"]) for row in rows if row["batch_size"] == batch]
            # Every repetition visits both sets; the first two repetitions are warm-up.
            for repetition in range(7):
                pair = order[2 * repetition:2 * repetition + 2]
                self.assertEqual({levels for levels, _ in pair}, {"M", "M/L"})
                self.assertEqual({warmup for _, warmup in pair}, {1 if repetition < 2 else 0})
        starts = {order[0] for order in (
            [row["levels"] for row in rows if row["batch_size"] == 1][2 * i:2 * i + 2] for i in range(7))}
        self.assertEqual(starts, {"M", "M/L"}, "no set always comes first")
        # Durations as in the script: 0.9 ms of layers and 0.55 ms of kernels, times 1.75 at batch 4.
        for batch, expected in ((1, 1.45e6), (4, 1.45e6 * 1.75)):
            fastest = min(row["duration_ns"] for row in rows if row["batch_size"] == batch and not row["warmup"])
            self.assertGreaterEqual(fastest, expected * CLOCK)
        # Each run has counters of its own, from before its first observation; the runner of a level set is another process.
        counted = self.sql("""select r.levels, count(distinct r.run_id) as runs, count(distinct process_id) as runners,
            min(first_ns <= (select min(start_ns) from observation o where o.run_id = r.run_id)) as is_before
            from run r join (select run_id, process_id, min(time_ns) as first_ns from counter join counter_value
            using (run_id, counter_id) where name = 'cpu_ns' and thread_id is null group by run_id, process_id) using (run_id)
            group by r.levels order by r.levels""")
        self.assertEqual([tuple(row.values()) for row in counted], [("M", 2, 1, 1), ("M/L", 2, 1, 1)])
        self.assertEqual(self.sql("select count(distinct run_id) as n from counter where name = 'busy_ns'"), [{"n": 4}])

    def test_layers_and_tables(self):
        xsp("profile", self.model(), "--runs", 5, "-o", self.output)
        a2 = self.analyze("A2")
        self.assertEqual([(row["layer_index"], row["layer_name"], row["layer_type"]) for row in a2["rows"]],
                         [(0, "conv1", "Conv"), (1, "relu1", "Relu"), (2, "conv2", "Conv")])
        self.assertEqual([row["alloc_bytes"] for row in a2["rows"]], [3211264, None, 802816])
        self.assertEqual(a2["rows"][0]["n"], 5)
        self.assertGreaterEqual(a2["rows"][0]["min_ms"], 0.6 * CLOCK)
        a6 = self.analyze("A6")
        self.assertEqual([row["layer_type"] for row in a6["rows"]], ["Conv", "Relu"])
        info = json.loads(xsp("info", self.output, "--json").stdout)
        runs = info["experiments"][0]["runs"]
        self.assertEqual([run["levels"] for run in runs], [["model"], ["model", "layer"]])
        self.assertEqual(runs[1]["spans"]["layer"], 3 * 8)
        self.assertEqual(runs[1]["parents"]["containment"], 3 * 8)
        self.assertEqual([run["dropped"] for run in runs], [0, 0])
        self.assertEqual(info["experiments"][0]["framework"], "script")

    def test_a_serialised_lane(self):
        program = wrapped_runner.xsp_with_runner(
            self.folder, f'echo "$XSP_SERIALIZE,$CUDA_LAUNCH_BLOCKING,$MXNET_ENGINE_TYPE $*" >> {self.folder}/log')
        subprocess.run([program, "profile", self.model(), "--serialize", "--runs", "3", "--warmup", "1", "--quiet",
                        "-o", self.output], check=True, capture_output=True, timeout=600,
                       env={**os.environ, "XSP_SERIALIZE": "1"})  # of an outer xsp run: not meant for these
        lines = (self.folder / "log").read_text().splitlines()
        seen = [(line.split()[0], line[line.index("--levels "):].split()[1]) for line in lines]
        self.assertEqual(seen, [(",,", "M"), (",,", "M/L"), ("1,1,NaiveEngine", "M/L@serial")])
        rows = self.analyze("L0")["rows"]
        self.assertEqual([(row["levels"], row["over"], row["n"]) for row in rows],
                         [("M", None, 3), ("M/L", "M", 3), ("M/L@serial", "M/L", 3)])
        self.assertEqual(self.analyze("A2")["run_set"]["levels"], "M/L")
        result = xsp("profile", self.model(), "--levels", "M", "--serialize", "--force", "-o", self.output, status=2)
        self.assertIn("--serialize", result.stderr)

    def test_a_lane_with_library_calls(self):
        """Libraries that announce calls load the tracers in those runners only; a level that stays empty is said, and noted."""
        program = wrapped_runner.xsp_with_runner(
            self.folder, f'echo "$INTEL_LIBITTNOTIFY64,$NVTX_INJECTION64_PATH" >> {self.folder}/log')
        result = subprocess.run([program, "profile", self.model(), "--levels", "M/L,M/L/Lib", "--runs", "1", "--warmup", "1",
                                 "--quiet", "-o", self.output], check=True, capture_output=True, text=True, timeout=600)
        tracers = self.folder / "bin" / "tracers"
        self.assertEqual((self.folder / "log").read_text().splitlines(), [",", f"{tracers}/itt.so,{tracers}/nvtx.so"])
        self.assertEqual(result.stderr.count("at M/L/Lib nothing was published at level library"), 1, result.stderr)
        self.assertEqual(result.stderr.count("nothing was published"), 1)
        self.assertEqual([row["value"] for row in self.sql("select value from note where key = 'absent_levels'")],
                         [line.removeprefix("xsp: ") for line in result.stderr.splitlines() if "nothing was published" in line])

    def test_a_lane_with_metrics(self):
        program = wrapped_runner.xsp_with_runner(self.folder, f'echo "$XSP_METRICS,$XSP_CUDA $*" >> {self.folder}/log')
        profile = [program, "profile", self.model(), "--runs", "1", "--warmup", "1", "--quiet", "-f", "-o", self.output]
        wish = ["--tracer", "cuda", "--levels", "M,M/L/K", "--cuda", "metrics=xsp"]
        subprocess.run(profile + wish, check=True, capture_output=True, timeout=600,
                       env={**os.environ, "XSP_METRICS": "7", "XSP_CUDA": "api=all"})  # of an outer xsp run
        lines = (self.folder / "log").read_text().splitlines()
        seen = [(line.split()[0], line[line.index("--levels "):].split()[1]) for line in lines]
        self.assertEqual(seen, [(",metrics=xsp", "M"), (",metrics=xsp", "M/L/K"), ("0,metrics=xsp", "M/L/K+metrics")])
        self.assertEqual([row["levels"] for row in self.analyze("L0")["rows"]], ["M", "M/L/K", "M/L/K+metrics"])
        for options, word in ((["--levels", "M/L+metrics"], "those of kernels"), (["--cuda", "metrics=xsp"], "a level set with K"),
                              (["--cuda", "metric=xsp"], "'metric=xsp'")):
            self.assertIn(word, xsp(*profile[1:], *options, status=2).stderr)

    def test_as_many_runs_as_the_precision_needs(self):
        """The first goal is met soon, the second by no clock."""
        model = self.model()
        for goal, most in ((50, 60), (0.001, 15)):
            xsp("profile", model, "--levels", "M,M/L", "--batch", "1,2", "--runs", 8, "--precision", goal, "--max-runs", most, "--force", "-o", self.output)
            counts = [row["n"] for row in self.sql("select run_id, sum(not warmup) as n from observation group by 1 order by 1")]
            notes = self.sql("select run_id, value from note where key = 'precision' order by 1")
            self.assertEqual([note["run_id"] for note in notes], [1, 3])  # of M
            for count, note in zip(counts[::2], notes):
                told = re.fullmatch(r"(\d+) runs; the latency is known within (\S+) % \(95 %\)", note["value"])
                self.assertEqual(int(told[1]), count)
                self.assertTrue(8 <= count <= most)
                self.assertTrue(count == most or float(told[2]) <= goal, note)
            self.assertEqual(counts[::2], counts[1::2])
        told = xsp("profile", model, "--levels", "M", "--runs", 1, "--precision", 1, "--max-runs", 1, "--force", "-o", self.output).stdout
        self.assertIn(", 1 runs, too few to know how precise each latency is (--max-runs ended before 1 %)", told)
        self.assertEqual(self.sql("select value from note where key = 'precision'"),
                         [{"value": "1 runs; too few to know how precise the latency is"}])
        self.assertIn("it is below --runs, 10", xsp("profile", model, "--precision", "1", "--max-runs", 5, "-o", self.output, status=2).stderr)

    def test_a_name_keeps_its_dots(self):
        for name, expected in (("mobilenet_v1_0.25_224.xspscript", "mobilenet_v1_0.25_224"), ("net-symbol.json", "net")):
            xsp("profile", self.model(name=name), "--framework", "script", "--runs", 1, "--levels", "M", "--force", "-o", self.output)
            self.assertEqual(self.analyze("T8")["rows"][0]["model_name"], expected)

    def layer_times(self, levels):
        """For each layer, from the file's spans: the shortest time of a counted prediction, and the least of it outside of
        kernels."""
        layers = self.sql("select s.name, s.span_id, s.duration_ns from span s join observation o on o.run_id = s.run_id and"
                          " o.span_id = s.model_id join run r on r.run_id = s.run_id"
                          f" where r.levels = '{levels}' and s.level = 'layer' and o.warmup = 0")
        kernels = collections.Counter()
        for kernel in self.sql("select s.layer_id, s.duration_ns from span s join run r using (run_id)"
                               f" where r.levels = '{levels}' and s.level = 'kernel'"):
            kernels[kernel["layer_id"]] += kernel["duration_ns"]
        times = collections.defaultdict(list)
        for layer in layers:
            times[layer["name"]].append((layer["duration_ns"], layer["duration_ns"] - kernels[layer["span_id"]]))
        self.assertEqual({len(of_layer) for of_layer in times.values()}, {20})
        return {name: (min(whole for whole, _ in of_layer), min(rest for _, rest in of_layer)) for name, of_layer in times.items()}

    def test_a_slow_kernel_tracer_comes_back_from_l0(self):
        """The tracer waits 10 µs before each of a layer's ten kernels. Only M/L/K has that wait, in the layers and outside of
        the kernels; by layer, L0 is the difference of what the file has. How long anything else takes is the machine's."""
        kernels = "".join(f"kernel k{i} 50us\n" for i in range(10))
        layers = "".join(f"layer layer{i} Conv 200us\n{kernels}" for i in range(6))
        model = self.model(f"input data float N,8\n{layers}")
        xsp("profile", model, "--levels", "M,M/L,M/L/K", "--tracer", "fake:kernel_delay_ns=10000", "--runs", 20, "-o", self.output)
        rows = {row["levels"]: row for row in self.analyze("L0", "--stat", "min")["rows"]}
        self.assertIsNone(rows["M"]["overhead_ms"])
        self.assertEqual(rows["M/L/K"]["over"], "M/L")
        shallow, deep = self.layer_times("M/L"), self.layer_times("M/L/K")
        by_layer = self.analyze("L0", "--by", "layer", "--stat", "min")["rows"]
        self.assertEqual([row["layer_name"] for row in by_layer], [f"layer{i}" for i in range(6)])
        for row in by_layer:
            (without_ns, _), (with_ns, rest_ns) = shallow[row["layer_name"]], deep[row["layer_name"]]
            self.assertEqual(row["kernels"], 10)
            self.assertAlmostEqual(row["overhead_per_kernel_ns"], (with_ns - without_ns) / 10, places=3)
            self.assertGreaterEqual(without_ns, (200_000 + 10 * 50_000) * CLOCK)
            self.assertGreaterEqual(rest_ns, (200_000 + 10 * 10_000) * CLOCK)

    def test_wrong_use(self):
        model = self.model()
        for arguments, word in (
                (["--levels", "M,L/M"], "--levels"), (["--levels", "L"], "--levels"), (["--levels", "M,M"], "twice"),
                (["--levels", "M/K"], "kernel"), (["--batch", "0"], "batch"), (["--batch", "1,1"], "twice"),
                (["--batch", "x"], "batch"), (["--framework", "caffe3"], "caffe3"), (["--runs", "-1"], "runs"),
                (["--library", "script"], "NAME=PATH"), (["--tracer", "nonesuch"], "nonesuch")):
            result = xsp("profile", model, *arguments, "-o", self.output, status=2)
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
            self.assertIn(word, result.stderr)
            self.assertFalse(self.output.exists())
        xsp("profile", self.folder / "missing.onnx", "-o", self.output, status=2)
        xsp("profile", self.model("layer a\n", "bad.xspscript"), "-o", self.output, status=2)

    def test_existing_output(self):
        self.output.write_text("mine")
        xsp("profile", self.model(), "-o", self.output, status=2)
        self.assertEqual(self.output.read_text(), "mine")
        xsp("profile", self.model(MODEL + "fault abort\n", "bad.xspscript"), "-o", self.output, "--force", status=2)
        self.assertEqual(self.output.read_text(), "mine")
        xsp("profile", self.model(), "-o", self.output, "--force", "--runs", 1)
        self.assertEqual(self.output.read_bytes()[:15], b"SQLite format 3")

    def test_containment(self):
        for fault, word in (("abort", "signal 6"), ("segv", "signal 11"), ("exit 7", "exit status 7")):
            result = xsp("profile", self.model(MODEL + f"fault {fault} at 4\n"), "--runs", 5, "-o", self.output, status=2)
            self.assertIn(word, result.stderr)
            self.assertFalse(self.output.exists())
            # What was measured until then is kept, named, and opens.
            partial = self.output.with_name("out.xsp.partial")
            self.assertIn(str(partial), result.stderr)
            info = json.loads(xsp("info", partial, "--json").stdout)
            self.assertGreater(info["experiments"][0]["runs"][0]["spans"]["model"], 0)
            partial.unlink()
        self.assertEqual(list(self.folder.glob("out*")), [])

    def test_a_full_disk_after_a_part_was_published(self):
        """What the server was given is in the partial file, which cannot grow any more, and is named."""
        program = predictor_programs.program(self.folder)
        program.write_text(program.read_text().replace("count += 1", """count += 1
        if count == 3:
            import resource
            stat = open(f"/proc/{os.getppid()}/stat").read()
            resource.prlimit(int(stat.rpartition(")")[2].split()[1]), resource.RLIMIT_FSIZE, (1, 1))  # the runner's parent
            os._exit(7)"""))
        with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:  # answers nothing
            result = xsp("profile", program, "--dim", "mask.1=1", "--levels", "M", "--publish", f"http://127.0.0.1:{server.server_port}",
                         "--publish-timeout", 1, "-o", self.output, status=2, env={"XDG_STATE_HOME": str(self.folder)},
                         preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))  # such a write fails as on a full disk
        self.assertIn("out.xsp.partial", result.stderr)
        xsp("info", self.output.with_name("out.xsp.partial"))

    def test_hang_is_bounded(self):
        result = xsp("profile", self.model(MODEL + "fault hang at 1\n"), "--timeout", 1, "-o", self.output, status=3)
        self.assertIn("--timeout", result.stderr)

    def test_interrupt_keeps_what_was_measured(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                self.interrupt_while_it_measures(number)

    def interrupt_while_it_measures(self, number):
        process = subprocess.Popen([XSP, "profile", self.model(), "--runs", "100000", "-f", "-o", self.output],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        partial = self.output.with_name("out.xsp.partial")
        try:
            while process.poll() is None:  # bounded by the test's own time limit
                if partial.exists():
                    try:
                        info = json.loads(xsp("info", partial, "--json").stdout)
                        if info["experiments"] and info["experiments"][0]["runs"][0]["spans"].get("model", 0) > 5:
                            break
                    except AssertionError:
                        continue
            process.send_signal(number)
            out, err = process.communicate(timeout=600)
        finally:
            process.kill()
        self.assertEqual(process.returncode, -number, err)
        observations = self.sql("select count(*) as n from observation")[0]["n"]
        made = f"after {observations} of 200006 observations"
        self.assertIn(f"Interrupted {made}", out)
        self.assertIn(made, self.sql("select value from note where key = 'interrupted'")[0]["value"])
        self.assertIn(f"the user ended the experiment {made}, warm-ups among them", self.analyze("A1")["notes"])
        self.assertGreater(self.sql("select count(*) as n from observation where warmup = 0")[0]["n"], 0)
        self.assertFalse(partial.exists())

    def before_the_first_observation(self, commands, ended_by):
        """The only runner executes the shell commands first."""
        program = wrapped_runner.xsp_with_runner(self.folder, f'echo "$XSP_SESSION" > {self.folder}/session\n{commands}')
        result = subprocess.run([program, "profile", self.model(), "--levels", "M", "-o", self.output], capture_output=True,
                                text=True, timeout=600, env={**os.environ, "TMPDIR": str(self.folder)})
        self.assertEqual(result.returncode, -ended_by, result.stderr)
        self.assertIn("interrupted", result.stderr)
        self.assertFalse(os.path.exists((self.folder / "session").read_text().strip()))
        self.assertEqual({path.name for path in self.folder.iterdir()}, {"bin", "net.xspscript", "session"})

    def test_interrupt_before_the_first_observation(self):
        self.before_the_first_observation("kill -INT $PPID", signal.SIGINT)

    def test_interrupt_while_inputs_are_prepared(self):
        """All runners are ready, and nothing is measured yet."""
        program = predictor_programs.program(self.folder)
        program.write_text(program.read_text().replace('elif what == "prepare":', """elif what == "prepare":
        stat = open(f"/proc/{os.getppid()}/stat").read()
        os.kill(int(stat.rpartition(")")[2].split()[1]), 2)  # the runner's parent"""))
        result = xsp("profile", program, "--dim", "mask.1=1", "--levels", "M", "-o", self.output, status=-signal.SIGINT)
        self.assertIn("interrupted", result.stderr)
        self.assertEqual(list(self.folder.glob("out*")), [])

    def test_call_paths(self):
        program, seen = predictor_programs.program(self.folder), self.folder / "seen"
        program.write_text(program.read_text().replace('elif what == "prepare":', f"""elif what == "prepare":
        open({str(seen)!r}, "w").write(os.environ.get("XSP_CALL_PATHS", "default"))"""))
        for mode in (None, "none", "full"):
            given = ["--call-paths", mode] if mode else []
            xsp("profile", program, "--dim", "mask.1=1", "--levels", "M", "--runs", 1, *given, "-f", "-o", self.output)
            self.assertEqual(seen.read_text(), mode or "default")
            self.assertEqual([row["value"] for row in self.sql("select value from note where key = 'call_paths'")],
                             [mode] if mode else [])
        self.assertIn("--call-paths", xsp("profile", program, "--call-paths", "", status=2).stderr)

    def test_hangup_leaves_nothing_behind(self):
        self.before_the_first_observation("kill -HUP $PPID", signal.SIGHUP)

    def test_second_interrupt_ends_a_hanging_runner(self):
        self.before_the_first_observation("while :; do kill -INT $PPID; done", signal.SIGINT)

    def test_a_killed_xsp_leaves_no_work_folder(self):
        process = subprocess.Popen([XSP, "profile", self.model(MODEL + "fault hang at 4\n"), "-o", self.output],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "TMPDIR": str(self.folder)})
        while not self.output.with_name("out.xsp.partial").exists():
            self.assertIsNone(process.poll())
        process.kill()
        process.wait()
        # A runner may be in an inference, or hang in one; bounded by the test's time limit.
        while list(self.folder.glob("xsp-work-*")):
            pass
        # The capture sessions stay for `xsp recover`; not needed here.
        sessions = sessions_of(process.pid)
        self.assertEqual(len(sessions), 2)
        for session in sessions:
            shutil.rmtree(session)

    def test_nothing_is_left_behind(self):
        process = subprocess.Popen([XSP, "profile", self.model(), "--runs", "1", "-o", self.output],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={**os.environ, "TMPDIR": str(self.folder)})
        self.assertEqual(process.wait(timeout=600), 0)
        self.assertEqual(sessions_of(process.pid), [])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["net.xspscript", "out.xsp"])


if __name__ == "__main__":
    unittest.main()
