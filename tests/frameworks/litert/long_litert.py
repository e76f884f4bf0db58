# SPDX-License-Identifier: Apache-2.0
"""LiteRT's predictor on the real library: tables, layers in both modes of its kernels, against its own profiler's
summary, bad models. Fetches packages through pip, so it belongs to `make test-all`."""
import json
import pathlib
import re
import subprocess
import unittest

from framework_environment import FrameworkTest, framework_python

VERSION = "2.3.0"

# The profiler's own report of one inference of the same model, by the same library.
OWN_SUMMARY = """
import ctypes, sys
litert = ctypes.CDLL(sys.argv[1])
handle = ctypes.c_void_p
def make(function, *arguments):
    made = handle()
    if getattr(litert, function)(*arguments, ctypes.byref(made)) != 0:
        raise SystemExit(function)
    return made
environment = make("LiteRtCreateEnvironment", 0, None)
model = make("LiteRtCreateModelFromFile", environment, sys.argv[2].encode())
signature = make("LiteRtGetModelSignature", model, ctypes.c_size_t(0))
options = make("LiteRtCreateOptions")
keep = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda text: None)
litert.LiteRtSetOptionsHardwareAccelerators(options, 1)
for name, text in (("runtime_options_string", b"enable_profiling = true"), ("xnnpack", sys.argv[3].encode())):
    if text:
        litert.LiteRtAddOpaqueOptions(options, make("LiteRtCreateOpaqueOptions", name.encode(), text, keep))
compiled = make("LiteRtCreateCompiledModel", environment, model, options)
def buffer(direction):
    kind = (ctypes.c_int * 18)()
    litert.LiteRtGetRankedTensorType(make(f"LiteRtGetSignature{direction}TensorByIndex", signature, ctypes.c_size_t(0)), kind)
    needs = make(f"LiteRtGetCompiledModel{direction}BufferRequirements", compiled, ctypes.c_size_t(0), ctypes.c_size_t(0))
    return make("LiteRtCreateManagedTensorBufferFromRequirements", environment, kind, needs)
inputs, outputs = buffer("Input"), buffer("Output")
profiler = make("LiteRtCompiledModelGetProfiler", compiled)
litert.LiteRtStartProfiler(profiler)
litert.LiteRtRunCompiledModel(compiled, ctypes.c_size_t(0), ctypes.c_size_t(1), ctypes.byref(inputs), ctypes.c_size_t(1),
                              ctypes.byref(outputs))
litert.LiteRtStopProfiler(profiler)
text = ctypes.c_char_p()
litert.LiteRtGetProfileSummary(profiler, compiled, ctypes.byref(text))
print(text.value.decode(), flush=True)
import os; os._exit(0)
"""


class LiteRtTest(FrameworkTest):
    framework = "litert"

    @classmethod
    def setUpClass(cls):
        cls.python = framework_python("litert", f"ai-edge-litert=={VERSION}", "numpy==2.4.6")
        cls.environment = cls.python.parent.parent
        cls.models = cls.environment / "models"
        subprocess.run([cls.python, pathlib.Path(__file__).parent / "tflite_models.py", cls.models], check=True,
                       timeout=120)

    def own_types(self, model, options=""):
        """The types in its own profiler's summary, in the order of execution."""
        library = next(self.environment.glob("lib/python3*/site-packages/ai_edge_litert/libLiteRt.so"))
        text = subprocess.run([self.python, "-c", OWN_SUMMARY, library, model, options], check=True, capture_output=True,
                              text=True, timeout=120).stdout
        return re.findall(r"^\s*(?:Delegate/)?(\S.*?)\s+[\d.]+\s+[\d.]+\s+[\d.]+\s+[\d.]+%", text.split("Top by")[0], re.M)

    def test_tables_and_layers(self):
        self.xsp("profile", self.models / "cnn.tflite", "--batch", "1,4", "--levels", "M,M/L", "--runs", 10, "--quiet", "-o",
                 self.output)
        self.check_tables()
        for batch in (1, 4):
            layers = self.layers(batch=batch)
            self.assertEqual(len(layers), 70)
            self.check_within_models(layers)
            for layer in layers:
                self.assertEqual(layer["tags"]["untold"], "start,thread,name")
                self.assertEqual(layer["tags"]["name_by"], "order of the operators")
                self.assertEqual(layer["basis"], "explicit")
        # Laid out: each begins where the one before it ended.
        first = self.layers(batch=1)[0]["model_id"]
        one = sorted((layer for layer in self.layers(batch=1) if layer["model_id"] == first),
                     key=lambda layer: layer["tags"]["layer_index"])
        self.assertEqual(len(one), 7)
        for before, after in zip(one, one[1:]):
            self.assertEqual(before["start_ns"] + before["duration_ns"], after["start_ns"])
        info = json.loads(self.xsp("info", self.output, "--json").stdout)
        self.assertEqual(info["experiments"][0]["framework_version"], VERSION)

    def test_model_level_switches_nothing_on(self):
        self.profile(self.models / "cnn.tflite", "--levels", "M", "--runs", 3)
        self.assertEqual(self.sql("select distinct level from span where level = 'layer'"), [])

    def test_devices(self):
        result = self.profile(self.models / "cnn.tflite", "--device", "cpu", "--runs", 3)
        self.assertIn("; on CPU", result.stdout)
        for device in ("gpu", "gpu:1", "npu", "cuda"):
            self.check_refused(self.models / "cnn.tflite", "--device", device, why="it has CPU")

    def test_operators_apart(self):
        self.profile(self.models / "fixed.tflite", "--batch", 2, "--unfused", "--runs", 5)
        self.check_tables(batches=(2,))
        layers = self.layers()
        self.check_within_models(layers)
        self.assertEqual([(layer["name"], layer["tags"]["layer_type"], layer["tags"]["layer_shape"])
                          for layer in layers[:6]],
                         [("block0/conv", "CONV_2D", "[2,96,96,16]"), ("block1/conv", "CONV_2D", "[2,96,96,32]"),
                          ("block2/conv", "CONV_2D", "[2,96,96,32]"), ("head/mean", "MEAN", "[2,32]"),
                          ("head/dense", "FULLY_CONNECTED", "[2,10]"), ("classes", "SOFTMAX", "[2,10]")])
        self.assertEqual({layer["tags"]["untold"] for layer in layers}, {"thread"})
        # It reports starts: within the model, truncated to microseconds.
        models = {(row["run_id"], row["span_id"]): row for row in self.sql(
            "select run_id, span_id, start_ns, end_ns from span where level = 'model'")}
        for layer in layers:
            model = models[layer["run_id"], layer["model_id"]]
            self.assertGreaterEqual(layer["start_ns"], model["start_ns"] - 1000)
            self.assertLessEqual(layer["start_ns"] + layer["duration_ns"], model["end_ns"] + 1000)
        self.profile(self.models / "cnn.tflite", "--batch", "1,4", "--unfused", "--runs", 3)
        self.assertEqual(self.layers()[0]["tags"]["layer_shape"], "[1,96,96,16]")  # of a free batch: filled in

    def test_layers_are_those_of_its_own_profiler(self):
        for options, kernel_mode in (((), ""), (("--unfused",), "kernel_mode = 2")):
            with self.subTest(kernel_mode):
                types = self.own_types(self.models / "fixed.tflite", kernel_mode)
                self.profile(self.models / "fixed.tflite", "--batch", 2, "--levels", "M/L", "--runs", 1, *options)
                layers = sorted(self.layers(), key=lambda layer: layer["tags"]["layer_index"])
                self.assertEqual([layer["tags"]["layer_type"] for layer in layers], types)

    def test_layers_take_as_long_as_its_own_profiler_says(self):
        for options, operator in (((), 8), (("--unfused",), 2)):
            with self.subTest(options):
                own = [path.read_text().split("\n\n", 1) for path in self.profile_beside_its_own(
                    "ai_edge_litert/libLiteRt.so", self.models / "fixed.tflite", "--batch", 2, *options)]
                ours, pairs = {}, []
                for row in self.sql("select s.model_id, s.duration_ns from span s join tag t using (run_id, span_id) where"
                                    " s.level = 'layer' and t.key = 'layer_index' order by s.model_id, t.value"):
                    ours.setdefault(row["model_id"], []).append(row["duration_ns"])
                self.assertEqual(len(ours), len(own))
                for durations, (events, _) in zip(ours.values(), own):
                    theirs = [int(duration) * 1000 for kind, _, duration, _ in (
                        line.split(" ", 3) for line in events.splitlines()) if int(kind) == operator]
                    self.assertEqual(len(theirs), len(durations))
                    pairs += zip(theirs, durations)
                self.check_agreement(pairs, most_ns=2)
                # Its summary agrees with its events, so they are read correctly.
                summary = re.findall(r"^\s*(?:Delegate/)?\S.*?\s+[\d.]+\s+[\d.]+\s+([\d.]+)\s+[\d.]+%",
                                     own[0][1].split("Top by")[0], re.M)
                self.check_agreement([(round(float(milliseconds) * 1e6), duration) for milliseconds, duration in
                                      zip(summary, next(iter(ours.values())), strict=True)], most_ns=2)
                for path in self.folder.glob("own-*"):
                    path.unlink()

    def test_inputs_threads_and_batches(self):
        self.profile(self.models / "inputs.tflite", "--batch", "1,4", "--runs", 3, "--threads", 2)
        names = {(layer["name"], layer["tags"]["layer_type"]) for layer in self.layers()}
        self.assertEqual(names, {("rows", "GATHER"), ("result", "Multiply (ND)")})
        self.check_refused(self.models / "fixed.tflite", "--batch", 3, why="batch")

    def test_bad_models(self):
        for name, why in (("truncated", "damaged"), ("empty", "empty"), ("noise", "TFL3"), ("head", "damaged"),
                          ("operator", "Frobnicate"), ("shape", "failed to"), ("huge", ".")):
            with self.subTest(name):
                result = self.check_refused(self.models / f"{name}.tflite", why=why)
                self.assertIn(f"{name}.tflite", result.stderr)
        other = self.folder / "other.tflite"
        other.write_bytes(b"\x08\x08\x12\x07pytorch" * 100)
        self.check_refused(other, why="TFL3")
        self.check_refused(self.folder / "absent.tflite")

    def test_check(self):
        [found] = json.loads(self.xsp("check", "litert", "--json").stdout)
        self.assertTrue(found["usable"])
        self.assertEqual((found["version"], found["untold"]), (VERSION, "start,thread,name"))


if __name__ == "__main__":
    unittest.main()
