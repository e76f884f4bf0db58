# SPDX-License-Identifier: Apache-2.0
"""xsp-runner as a process: its answers, its spans, its errors for bad models and options, and its session after a
framework's crash."""
import os
import pathlib
import resource
import signal
import struct
import tempfile
import unittest

import numpy

import runner_session
from runner_session import Runner, Session

USE, INPUT, SYSTEM, MEMORY = 2, 3, 4, 5  # enum status
SCRIPT = """\
input data float N,8
layer conv Conv 100us shape=N,64,7,7 alloc=4096
kernel sgemm 50us
layer relu Relu 20us
"""


class RunnerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = runner_session.test_models()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def runner(self, model, *arguments, **named):
        runner = self.enterContext(Runner(self.models / model, *arguments, **named))
        return runner

    def script(self, text, name="net.script.txt"):
        path = self.folder / name
        path.write_text(text)
        return path

    def error(self, answer, status, *parts):
        """The answer is an error of this status that contains all of `parts`."""
        self.assertIsNotNone(answer)
        self.assertEqual(answer[0], "error", answer)
        self.assertEqual(int(answer[1]), status, answer)
        text = " | ".join(answer[2:])
        for part in parts:
            self.assertIn(part, text)
        return answer

    # ---- the main way
    def test_a_scripted_model_gives_its_spans(self):
        runner = self.runner(self.script(SCRIPT))
        self.assertEqual(runner.ready, ["ready", "script", "1", "built in", "script", "", "", "0", "0"])
        self.assertEqual(runner.ask("prepare", 2), ["done"])
        self.assertEqual(runner.ask("predict", 2, 1), ["done"])
        self.assertEqual(runner.ask("predict", 2, 0), ["done"])
        self.assertEqual(runner.ask("flush"), ["done"])
        self.assertEqual(runner.close(), (0, b"", b""))
        session = Session(runner.session)
        load = session.level(0)
        self.assertEqual([(span.name, span.tracer) for span in load], [("load model", "runner"),
                                                                       ("prepare inputs", "runner")])
        first, second = session.models()
        self.assertEqual((first.name, first.tracer), ("net", "runner"))
        self.assertEqual(first.tags["batch_size"], 2)
        self.assertEqual(first.tags["warmup"], 1)
        self.assertNotIn("warmup", second.tags)
        self.assertGreaterEqual(second.tags["own_ns"], 0)
        layers = session.layers(second)
        self.assertEqual([layer.name for layer in layers], ["conv", "relu"])
        self.assertEqual(layers[0].tags, {"layer_index": 0, "layer_type": "Conv", "alloc_bytes": 4096,
                                          "layer_shape": "[2,64,7,7]"})
        # batch-factor is 1: everything takes twice its time at batch 2.
        self.assertGreaterEqual(layers[0].duration_ns, 299_000)
        self.assertGreaterEqual(layers[1].duration_ns, 39_000)

    def test_model_level_alone_has_no_layers(self):
        runner = self.runner(self.script(SCRIPT), "M")
        self.assertEqual(runner.ready[4], "none")
        runner.ask("predict", 1, 0)
        runner.close()
        session = Session(runner.session)
        self.assertEqual(len(session.models()), 1)
        self.assertEqual(session.layers(), [])

    def test_inputs_of_every_type_are_made(self):
        for model, options in [("tiny.onnx", []), ("text.onnx", ["--dim", "sequence=5"]), ("scalar.onnx", []),
                               ("half.onnx", []), ("strings.onnx", []), ("branches.onnx", []),
                               ("unnamed.onnx", ["--dim", "x.1=4"]), ("fixed.onnx", [])]:
            with self.subTest(model=model):
                runner = self.runner(model, "M", options)
                self.assertEqual(runner.ask("predict", 1, 0), ["done"])
                self.assertEqual(runner.close()[0], 0)

    def test_runs_without_a_session(self):
        runner = self.runner("tiny.onnx", environment={"XSP_SESSION": ""})
        self.assertEqual(runner.ask("predict", 1, 0), ["done"])
        self.assertEqual(runner.close()[0], 0)

    # ---- inputs from files
    def array(self, name, array):
        path = self.folder / name
        numpy.save(path, array)
        return path

    def predict_with(self, model, *options, batch=1):
        runner = self.runner(model, "M", options)
        answer = runner.ask("predict", batch, 0)
        runner.close()
        return answer

    def test_input_files_are_checked(self):
        good = self.array("good.npy", numpy.zeros((1, 3, 16, 16), numpy.float32))
        self.assertEqual(self.predict_with("tiny.onnx", "--input", f"image={good}"), ["done"])
        self.assertEqual(self.predict_with("tiny.onnx", "--input", f"image={good}", batch=4), ["done"])  # repeated
        wide = self.array("wide.npy", numpy.zeros((1, 3, 16, 17), numpy.float32))
        self.error(self.predict_with("tiny.onnx", "--input", f"image={wide}"), INPUT, "wide.npy", "dimension 3", "16", "17")
        flat = self.array("flat.npy", numpy.zeros((3, 16), numpy.float32))
        self.error(self.predict_with("tiny.onnx", "--input", f"image={flat}"), INPUT, "flat.npy", "2")
        double = self.array("double.npy", numpy.zeros((1, 3, 16, 16)))
        self.error(self.predict_with("tiny.onnx", "--input", f"image={double}"), INPUT, "double.npy", "float")
        fortran = self.array("fortran.npy", numpy.asfortranarray(numpy.zeros((1, 3, 16, 16), numpy.float32)))
        self.error(self.predict_with("tiny.onnx", "--input", f"image={fortran}"), INPUT, "fortran.npy", "Fortran")
        short = self.folder / "short.npy"
        short.write_bytes(good.read_bytes()[:-1])
        self.error(self.predict_with("tiny.onnx", "--input", f"image={short}"), INPUT, "short.npy", "bytes")
        self.error(self.predict_with("tiny.onnx", "--input", f"picture={good}"), USE, "picture", "image")
        self.error(self.predict_with("tiny.onnx", "--input", f"image={self.folder}/none.npy"), INPUT, "none.npy", "No such")

    def test_a_file_gives_the_sizes_of_free_dimensions(self):
        ids = self.array("ids.npy", numpy.ones((1, 9), numpy.int64))
        mask = self.array("mask.npy", numpy.ones((1, 9), numpy.int64))
        self.assertEqual(self.predict_with("text.onnx", "--input", f"input_ids={ids}", "--input", f"attention_mask={mask}"),
                         ["done"])

    # ---- dimensions
    def test_free_dimensions_without_a_size_are_named(self):
        self.error(self.predict_with("text.onnx"), INPUT, '"sequence"', "--dim sequence=N")
        self.error(self.predict_with("unnamed.onnx"), INPUT, '"x.1"', "--dim x.1=N")
        self.error(self.predict_with("text.onnx", "--dim", "length=3"), USE, "length", "input_ids")
        self.error(self.predict_with("text.onnx", "--dim", "sequence=1000000000", batch=100), INPUT, "input_ids")

    def test_a_fixed_batch_is_refused(self):
        self.assertEqual(self.predict_with("fixed.onnx", batch=2), ["done"])
        self.error(self.predict_with("fixed.onnx", batch=3), INPUT, "fixed.onnx", "batch size 3")

    # ---- bad models
    def test_bad_models_are_told_with_their_place(self):
        for model, status, parts in [
                ("missing.onnx", INPUT, ["missing.onnx", "No such file"]),
                ("truncated.onnx", INPUT, ["truncated.onnx: byte ", "announced"]),
                ("empty.onnx", INPUT, ["empty.onnx: byte 0", "empty"]),
                ("noise.onnx", INPUT, ["noise.onnx: byte "]),
                ("unknown_operator.onnx", INPUT, ["unknown_operator.onnx", "NoSuchOperator"]),
                (".", INPUT, ["not a file"])]:
            with self.subTest(model=model):
                runner = self.runner(model, options=["--predictor", "onnxruntime"])
                self.error(runner.ready, status, *parts)
                self.assertEqual(runner.close(), (2, b"", b""))

    def test_models_that_fail_when_they_run(self):
        self.error(self.predict_with("bad_shape.onnx"), INPUT, "bad_shape.onnx", "misfit")

    @unittest.skipIf(os.environ.get("XSP_SANITIZE"), "sanitizers have an allocator of their own")
    def test_models_that_want_too_much_memory(self):
        self.error(self.predict_with("huge.onnx"), MEMORY, "huge.onnx", "allocate")

    def test_errors_of_scripts_have_their_line(self):
        for text, why in [("layer a Conv\n", ":1"), ("layer a Conv 5us\nkernel\n", ":2"), ("kernel k 5us\n", ":1"),
                          ("layer a Conv 5\n", "duration: 5"), ("what\n", ": what"), ("", "layer"),
                          ("layer a Conv 5us\nfault exit\n", "fault"), ("layer a Conv 1us shape\n", ": shape")]:
            with self.subTest(text=text):
                runner = self.runner(self.script(text))
                self.error(runner.ready, INPUT, "net.script.txt", why)

    # ---- options
    def test_wrong_use(self):
        self.error(self.runner("tiny.onnx", options=["--predictor", "caffe"]).ready, USE, "caffe")
        self.error(self.runner("tiny.onnx", options=["--affinity", "0-"]).ready, USE, "0-")
        self.error(self.runner("tiny.onnx", options=["--affinity", "1000"]).ready, SYSTEM, "1000")
        self.error(self.runner("tiny.onnx", options=["--frobnicate", "1"]).ready, USE, "--frobnicate")
        self.error(self.runner("tiny.onnx", options=["--dim", "sequence"]).ready, USE, "NAME=NUMBER")
        self.error(self.runner("models.json").ready, USE, "models.json", "--predictor")
        runner = self.runner("tiny.onnx")
        self.error(runner.ask("predict", 0, 0), USE, "batch")
        runner = self.runner("tiny.onnx")
        self.error(runner.ask("dance"), USE, "dance")

    def test_a_given_library_that_does_not_open_is_final(self):
        self.error(self.runner("tiny.onnx", options=["--library", "/nowhere/libort.so"]).ready, SYSTEM, "/nowhere/libort.so")
        variable = {"XSP_LIBRARY_ONNXRUNTIME": "/nowhere/else.so"}
        self.error(self.runner("tiny.onnx", environment=variable).ready, SYSTEM, "/nowhere/else.so")
        self.error(self.runner("tiny.onnx", options=["--library", str(runner_session.BUILD / "libxsp.so")]).ready, SYSTEM,
                   "OrtGetApiBase")

    def test_affinity_and_manners(self):
        runner = self.runner("tiny.onnx", options=["--affinity", "0"])
        process = pathlib.Path(f"/proc/{runner.process.pid}")
        status = dict(line.split(":\t", 1) for line in (process / "status").read_text().splitlines() if ":\t" in line)
        self.assertEqual(status["Cpus_allowed_list"], "0")
        self.assertEqual((process / "oom_score_adj").read_text().strip(), "800")
        self.assertEqual(resource.prlimit(runner.process.pid, resource.RLIMIT_CORE), (1, 1))

    # ---- death
    def test_faults_are_contained(self):
        for fault, status in [("abort", -signal.SIGABRT), ("segv", -signal.SIGSEGV), ("exit 7", 7)]:
            with self.subTest(fault=fault):
                runner = self.runner(self.script(SCRIPT + f"fault {fault} at 2\n"))
                self.assertEqual(runner.ask("predict", 1, 0), ["done"])
                self.assertIsNone(runner.ask("predict", 1, 0))
                self.assertEqual(runner.close()[0], status)
                session = Session(runner.session)
                self.assertEqual(len(session.models()), 1)  # what had finished is kept
                self.assertEqual(list(self.folder.glob("core*")), [])

    def test_a_hanging_framework_can_be_killed(self):
        runner = self.runner(self.script(SCRIPT + "fault hang at 2\n"))
        runner.ask("predict", 1, 0)
        runner.send("predict", 1, 0)
        runner.process.kill()
        self.assertEqual(runner.close(quit_first=False)[0], -signal.SIGKILL)
        self.assertEqual(len(Session(runner.session).models()), 1)

    @unittest.skipIf(os.environ.get("XSP_SANITIZE"), "sanitizers have an allocator of their own")
    def test_memory_that_is_not_there_kills_the_runner_only(self):
        def limit(runner):
            resource.prlimit(runner.process.pid, resource.RLIMIT_AS, (1 << 30, 1 << 30))

        runner = self.runner(self.script(SCRIPT + f"fault allocate {1 << 40}\n"))
        limit(runner)
        self.assertIsNone(runner.ask("predict", 1, 0))
        self.assertEqual(runner.close()[0], -signal.SIGABRT)

    def test_ends_when_the_socket_closes(self):
        runner = self.runner("tiny.onnx")
        self.assertEqual(runner.close(quit_first=False)[0], 0)
        runner = self.runner("tiny.onnx")
        runner.send("predict\t1")  # half a request
        self.assertNotEqual(runner.close(quit_first=False)[0], None)

    def test_a_line_without_end_is_refused(self):
        runner = self.runner("tiny.onnx")
        runner.socket.sendall(b"x" * 10000)
        self.assertIsNone(runner.read())
        self.assertEqual(runner.close(quit_first=False)[0], 0)


if __name__ == "__main__":
    unittest.main()
