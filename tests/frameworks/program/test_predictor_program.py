# SPDX-License-Identifier: Apache-2.0
"""Programs of the predictor protocol in `xsp profile`: the file has their times to the nanosecond; a broken rule is one
line that names it; no process outlives the runner."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

import predictor_programs
from test_profile import sessions_of

XSP = pathlib.Path(os.environ["XSP_BUILD"]) / "xsp"
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])


def xsp(*arguments, check=True, timeout=600, **options):
    result = subprocess.run([XSP, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, **options)
    if check and result.returncode != 0:
        raise AssertionError(f"status {result.returncode}: {result.stderr}")
    return result


def is_gone(process, bound_s=600):
    """The process has ended; it may be a zombie."""
    end = time.monotonic() + bound_s
    while time.monotonic() < end:
        try:
            if pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except OSError:
            return True
    return False


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "out.xsp"

    def profile(self, program, *options, check=True):
        return xsp("profile", program, "--quiet", "--force", "-o", self.output, *options, check=check)

    def sql(self, query):
        return json.loads(xsp("sql", self.output, query, "--json").stdout)

    def analyze(self, name, *options):
        return json.loads(xsp("analyze", name, self.output, "--json", *options).stdout)


class EnvironmentTest(ProgramTest):
    def test_a_program_is_no_guest_of_the_session(self):
        program = self.folder / "environment.py"
        program.write_text("import json, os, socket\n"
                           "lines = socket.socket(fileno=int(os.environ['XSP_PREDICTOR_FD'])).makefile('rw')\n"
                           "lines.readline()\n"
                           "names = sorted(name for name in os.environ if name.startswith('XSP_'))\n"
                           "print(json.dumps({'error': ' '.join(names)}), file=lines, flush=True)\n")
        result = self.profile(program, "--levels", "M/L", check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("XSP_PREDICTOR_INPUTS_FD", result.stderr)
        self.assertNotIn("XSP_SESSION ", result.stderr)
        self.assertNotIn("XSP_TRACERS", result.stderr)


class ToldTest(ProgramTest):
    def recorded(self, clock, untold=()):
        log = self.folder / "log"
        self.profile(predictor_programs.program(self.folder, clock=clock, untold=untold, log=log), "--levels", "M/L",
                     "--batch", "1,3", "--dim", "mask.1=5", "--runs", 4, "--warmup", 1)
        return [json.loads(line) for line in log.read_text().splitlines()]

    def test_what_is_told_is_what_the_file_has(self):
        for clock in ("monotonic", "realtime"):
            with self.subTest(clock):
                predictions = [entry for entry in self.recorded(clock) if isinstance(entry, dict)]
                (self.folder / "log").unlink()
                spans = self.sql("select * from span where tracer != 'runner' or name != 'load model' order by start_ns")
                models = [span for span in spans if span["level"] == "model"]
                self.assertEqual(len(models), len(predictions))
                offsets = set()
                for model, recorded in zip(models, predictions):
                    self.assertEqual(model["duration_ns"], recorded["end"] - recorded["start"])
                    offsets.add(model["start_ns"] - recorded["start"])
                    layers = [span for span in spans if span["level"] == "layer" and span["model_id"] == model["span_id"]
                              and span["run_id"] == model["run_id"]]
                    self.assertEqual([(layer["name"], layer["start_ns"] - model["start_ns"], layer["duration_ns"])
                                      for layer in layers],
                                     [(layer["name"], layer["start"] - recorded["start"], layer["end"] - layer["start"])
                                      for layer in recorded["layers"]])
                    self.assertEqual([layer["parent_id"] for layer in layers],
                                     [model["span_id"], layers[0]["span_id"], model["span_id"]])
                self.assertLess(max(offsets) - min(offsets), 1_000_000)  # one clock, whose zero is another
                stages = [span for span in spans if span["name"] in ("preprocess", "postprocess")]
                self.assertEqual([(stage["level"], stage["category"], stage["duration_ns"]) for stage in stages],
                                 [("application", stage, recorded[stage]["end"] - recorded[stage]["start"])
                                  for recorded in predictions for stage in ("preprocess", "postprocess")])

    def test_tags_and_facts(self):
        self.recorded("monotonic")
        [experiment] = self.sql("select framework, framework_version from experiment")
        self.assertEqual(experiment, {"framework": "testing", "framework_version": "7.5"})
        tags = self.sql("select t.key, t.value, count(*) as n from tag t join span s using (run_id, span_id) "
                        "where s.name = 'conv1' and t.key != 'thread' group by 1, 2 order by 1")
        self.assertEqual([(tag["key"], tag["value"], tag["n"]) for tag in tags],
                         [("algorithm", "direct", 10), ("alloc_bytes", 24, 10), ("layer_index", 0, 10),
                          ("layer_shape", "[2,3]", 10), ("layer_type", "Conv2d", 10), ("stride", 2, 10)])
        transport = self.sql("select count(*) as n, min(value) as least from tag where key = 'transport_ns'")
        self.assertEqual(transport[0]["n"], 10)
        self.assertGreater(transport[0]["least"], 0)

    def test_what_is_untold_is_marked(self):
        self.recorded("monotonic", ("start", "thread", "name"))
        rows = self.sql("select distinct name, t.value as untold from span s join tag t using (run_id, span_id) "
                        "where t.key = 'untold' order by 1")
        self.assertEqual(rows, [{"name": name, "untold": "start,thread,name"} for name in ("Conv2d", "Pad", "ReLU")])

    def test_inputs_are_those_of_every_framework(self):
        prepared = [entry for entry in self.recorded("monotonic") if isinstance(entry, list)]
        (one, bytes_of_one), (three, bytes_of_three) = prepared
        self.assertEqual((one["batch"], three["batch"]), (1, 3))
        self.assertEqual([(x["name"], x["type"], x["shape"], x["offset"], x["bytes"]) for x in three["inputs"]],
                         [("x", "float32", [3, 4], 0, 48), ("mask", "bool", [3, 5, 2], 64, 30)])
        self.assertEqual(three["bytes"], 128)
        self.assertEqual(bytes_of_three[:32], bytes_of_one[:32])  # a row does not depend on the batch
        self.assertEqual(bytes_of_three[128:188], "01" * 30)      # a mask is 1

    def test_the_example_in_plain_python(self):
        example = SOURCE / "examples" / "predictor_python.py"
        self.assertLessEqual(len(example.read_text().splitlines()), 60)
        judged = subprocess.run([*predictor_programs.CONFORMANCE, example], capture_output=True, text=True, timeout=600)
        self.assertEqual((judged.returncode, judged.stderr), (0, ""), judged.stdout)
        self.profile(example, "--batch", "1,2", "--levels", "M,M/L", "--runs", 3, "--warmup", 1)
        self.assertEqual([row["layer_name"] for row in self.analyze("A2")["rows"]], ["dense", "squash"])
        self.assertEqual([row["batch_size"] for row in self.analyze("A1")["rows"]], [1, 2])

    def test_in_a_manifest(self):
        program = predictor_programs.program(self.folder)
        manifest = self.folder / "net.yml"
        manifest.write_text("name: Net\nversion: '1'\ntask: other\nframework: {name: program, version: '==3'}\n"
                            f"model: {{path: {program.name}}}\ninputs:\n- {{name: x, type: float32, shape: [N, 4]}}\n"
                            "- {name: mask, type: bool, shape: [N, 5, 2]}\n")
        self.profile(manifest, "--runs", 1)
        self.assertEqual(self.sql("select name, framework from experiment"), [{"name": "Net", "framework": "testing"}])

    def test_the_device(self):
        program = predictor_programs.program(self.folder)
        quick = ["--dim", "mask.1=1", "--runs", 1, "--levels", "M"]
        result = self.profile(program, *quick, "--device", "gpu:1", check=False)
        self.assertEqual(result.returncode, 2)
        self.assertRegex(result.stderr, f"^xsp: cannot choose the device: .*{program.name} does not say that it runs the model on 'gpu:1'")
        program.write_text(program.read_text().replace('"note": "of the tests"', '"device": "npu of " + request.get("device", "nobody")'))
        for given, expected in ((["--device", "gpu:1"], "gpu:1"), ([], "nobody")):
            self.profile(program, *quick, *given)
            self.assertEqual(self.sql("select value from system where key = 'device'"), [{"value": f"npu of {expected}"}])

    def test_a_program_named_for_a_model(self):
        model = self.folder / "weights.bin"
        model.write_bytes(b"weights")
        program = predictor_programs.program(self.folder)
        named = ["--framework", "program", "--dim", "mask.1=1", "--runs", 1]
        self.profile(model, "--library", f"program={program}", *named)
        self.assertEqual(self.sql("select name, framework from experiment"),
                         [{"name": "weights", "framework": "testing"}])
        result = self.profile(model, *named, check=False)
        self.assertEqual(result.returncode, 2)
        self.assertIn("executable", result.stderr)


class WrongProgramsTest(ProgramTest):
    def refused(self, program, mentions, *options, status=2):
        output = program.with_suffix(".xsp")  # of its own: several at once
        result = xsp("profile", program, "--quiet", "-o", output, "--dim", "mask.1=1", "--runs", 1, *options, check=False)
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertFalse(output.exists())
        *notes, last = [line for line in result.stderr.splitlines() if line.startswith("xsp: ")]
        self.assertTrue(all("measured until then" in note for note in notes), result.stderr)
        self.assertRegex(last, mentions)
        self.assertIn(program.name, last)

    def test_a_fault_against_each_rule(self):  # all of them: long_predictor_program.py
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            running = {name: pool.submit(predictor_programs.judge, self.folder, name)
                       for name in [None, *predictor_programs.one_a_rule()]}
        for name, future in running.items():
            with self.subTest(name):
                predictor_programs.check(self, name, future.result())

    def test_a_program_ends_with_xsp(self):
        """However xsp ends: here by SIGKILL, while the program and a child of it wait for ever."""
        path, child = predictor_programs.program(self.folder), self.folder / "pid"
        path.write_text(path.read_text().replace(
            'elif what == "predict":',
            'elif what == "predict":\n        import subprocess\n        child = subprocess.Popen(["sleep", "600"]).pid\n'
            f'        open({str(child)!r} + ".new", "w").write(f"{{os.getpid()}} {{child}}")\n'
            f'        os.rename({str(child)!r} + ".new", {str(child)!r})\n        time.sleep(600)'))
        process = subprocess.Popen([XSP, "profile", path, "--quiet", "--dim", "mask.1=1", "-o", self.output],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 600
        while not child.exists() and time.monotonic() < end and process.poll() is None:
            pass
        process.kill()
        process.wait()
        for session in sessions_of(process.pid):  # which stays open
            self.addCleanup(shutil.rmtree, session, ignore_errors=True)
        for process in child.read_text().split():
            self.assertTrue(is_gone(int(process)))

    def test_a_program_that_hangs_is_killed(self):
        path = predictor_programs.program(self.folder)
        child = self.folder / "pid"
        path.write_text(path.read_text().replace(
            "log = open", f"open({str(child)!r} + '.new', 'w').write(str(os.getpid()))\n"
                          f"os.rename({str(child)!r} + '.new', {str(child)!r})\nlog = open").replace(
            'elif what == "predict":', 'elif what == "predict":\n        time.sleep(600)'))
        self.refused(path, "within 2 s", "--timeout", 2, "--levels", "M", status=3)
        if child.exists():  # else it was killed before it could begin
            self.assertTrue(is_gone(int(child.read_text())))

    def test_what_is_no_program(self):
        for name, text, mentions in [("nothing.py", "", "open: .*exit status 0"),
                                 ("syntax.py", "a b", "SyntaxError: invalid syntax"),
                                 ("no_interpreter.predictor", "#!/nowhere/at/all\n", "No such file or directory")]:
            with self.subTest(name):
                program = self.folder / name
                program.write_text(text)
                program.chmod(0o755 if name.endswith(".predictor") else 0o644)
                self.refused(program, mentions)


if __name__ == "__main__":
    unittest.main()
