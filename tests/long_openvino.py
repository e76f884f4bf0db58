# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's predictor on the real library: tables, layers by both routes, against OpenVINO's own profiling in Python, bad
models, an older version. Fetches packages through pip, so it belongs to `make test-all`."""
import json
import pathlib
import subprocess
import unittest

from framework_environment import FrameworkTest, framework_python

VERSION, OLD_VERSION = "2026.4.1", "2024.6.0"

# What a person would do: the profile of the same model in OpenVINO's own Python package.
OWN_PROFILE = """
import json, sys
import numpy, openvino
core = openvino.Core()
model = core.read_model(sys.argv[1])
model.reshape([int(sys.argv[2]), 3, 96, 96])
compiled = core.compile_model(model, "CPU", {"PERF_COUNT": True})
request = compiled.create_infer_request()
data = numpy.random.default_rng(0).random((int(sys.argv[2]), 3, 96, 96), dtype=numpy.float32)
for _ in range(200):
    request.infer([data])
print(json.dumps([[info.node_type, info.exec_type, info.real_time.total_seconds() * 1e6] for info in request.profiling_info
                  if info.status == openvino.ProfilingInfo.Status.EXECUTED]))
"""


class OpenVinoTest(FrameworkTest):
    framework = "openvino"

    @classmethod
    def setUpClass(cls):
        cls.python = framework_python("openvino", f"openvino=={VERSION}", "onnx==1.23.2", "numpy==2.4.6")
        cls.environment = cls.python.parent.parent
        cls.models = cls.environment / "models"
        subprocess.run([cls.python, pathlib.Path(__file__).parent / "framework_models.py", cls.models], check=True,
                       timeout=120)

    def test_tables_and_layers(self):
        result = self.profile(self.models / "cnn.onnx", "--batch", "1,4", "--levels", "M,M/L", "--runs", 10)
        self.assertIn("inference precision", result.stdout)
        _, _, a2, a6 = self.check_tables()
        self.assertIn("Convolution", {row["layer_type"] for row in a6["rows"]})
        self.assertEqual(sum(row["layer_type"] == "Convolution" for row in a2["rows"]), 3)
        for batch in (1, 4):
            layers = self.layers(batch=batch)
            self.assertEqual(len(layers), 10 * len({layer["name"] for layer in layers}))
            self.check_within_models(layers)
            for layer in layers:
                self.assertEqual(layer["basis"], "containment")
                self.assertNotIn("untold", layer["tags"])
                self.assertIn("primitive", layer["tags"])
                self.assertGreaterEqual(layer["tags"]["layer_index"], 0)
            fused = {layer["tags"].get("fused_names") for layer in layers}
            self.assertLessEqual({"block0/relu", "block1/relu", "block2/relu"}, fused)
        self.assertEqual(self.sql("select count(*) n from span where level = 'layer' and parent_id is null"), [{"n": 0}])
        info = json.loads(self.xsp("info", self.output, "--json").stdout)
        self.assertEqual(info["experiments"][0]["framework_version"], VERSION)

    def test_model_level_switches_nothing_on(self):
        self.profile(self.models / "cnn.onnx", "--levels", "M", "--runs", 3)
        self.assertEqual(self.sql("select distinct level from span where level = 'layer'"), [])

    def test_layers_are_those_of_its_own_profiler(self):
        batch = 4
        own = json.loads(subprocess.run([self.python, "-c", OWN_PROFILE, self.models / "cnn.onnx", str(batch)], check=True,
                                        capture_output=True, text=True, timeout=300).stdout)
        self.profile(self.models / "cnn.onnx", "--batch", batch, "--runs", 100, "--levels", "M/L")
        heard = self.layers()
        counted_file = self.folder / "counted.xsp"
        self.profile(self.models / "cnn.onnx", "--batch", batch, "--runs", 100, "--levels", "M/L", "--profile-file",
                     output=counted_file)
        counted = self.layers(counted_file)
        # The same nodes with the same implementations, in the same order. Below 1 us its counters show nothing.
        kinds = lambda layers: list(dict.fromkeys(
            (layer["tags"]["layer_index"], layer["tags"]["layer_type"], layer["tags"]["primitive"]) for layer in layers))
        present = {(kind, primitive) for kind, primitive, _ in own}
        self.assertLessEqual(present, {kind[1:] for kind in kinds(heard)})
        self.assertLessEqual(set(kinds(counted)), set(kinds(heard)))
        convolutions = [microseconds for kind, _, microseconds in own if kind == "Convolution"]
        for route in (heard, counted):
            medians = self.medians([layer for layer in route if layer["tags"]["layer_type"] == "Convolution"])
            self.assertEqual(len(medians), len(convolutions))
            print("us by its own profiler, by xsp:", [(round(a), round(b)) for a, b in zip(convolutions, medians.values())])
            # The machine is shared: the proportion of the layers to each other is what must agree.
            for own_us, ours_us in zip(convolutions, medians.values()):
                self.assertAlmostEqual(own_us / sum(convolutions), ours_us / sum(medians.values()), delta=0.1)
        for layer in counted:
            self.assertEqual(layer["tags"]["untold"], "start,thread")

    def test_counters_add_up(self):
        self.profile(self.models / "cnn.onnx", "--batch", "1,4", "--runs", 20, "--profile-file")
        self.check_tables()
        layers = self.layers()
        self.check_within_models(layers)
        sums = self.sql("select m.duration_ns model, sum(s.duration_ns) layers from span s join span m on m.run_id = s.run_id"
                        " and m.span_id = s.model_id where s.level = 'layer' group by s.run_id, m.span_id")
        self.assertLess(sum(row["layers"] for row in sums), sum(row["model"] for row in sums))
        self.assertGreater(sum(row["layers"] for row in sums), 0.5 * sum(row["model"] for row in sums))

    def test_ir_is_recognised(self):
        path = self.folder / "cnn.xml"
        subprocess.run([self.python, "-c", "import sys, openvino\n"
                        "openvino.save_model(openvino.Core().read_model(sys.argv[1]), sys.argv[2])",
                        self.models / "cnn.onnx", path], check=True, timeout=120)
        self.xsp("profile", path, "--quiet", "--batch", "1,4", "--runs", 3, "-o", self.output)
        self.check_tables()
        path.with_suffix(".bin").write_bytes(b"short")
        self.check_refused(path)

    def test_inputs_types_threads_and_batches(self):
        self.profile(self.models / "inputs.onnx", "--batch", "1,4", "--dim", "ids.1=7", "--dim", "mask.1=7", "--runs", 3)
        self.assertEqual({layer["batch_size"] for layer in self.layers()}, {1, 4})
        self.profile(self.models / "types.onnx", "--batch", "1,4", "--runs", 3, "--threads", 1)
        self.profile(self.models / "fixed.onnx", "--batch", 2, "--runs", 3)
        self.check_tables(batches=(2,))
        self.check_refused(self.models / "fixed.onnx", "--batch", 3, why="no free batch dimension")
        self.check_refused(self.models / "inputs.onnx", "--batch", 1, why="--dim")
        self.check_refused(self.models / "inputs.onnx", "--dim", "ids.1=7", "--dim", "mask.1=5")

    def test_bad_models(self):
        for name in ("truncated", "empty", "noise", "operator", "shape"):
            with self.subTest(name):
                self.check_refused(self.models / f"{name}.onnx")
        self.check_refused(self.models / "huge.onnx", status=3, why="smaller batch")  # memory
        for name, content in (("noise.xml", b"<net><layers>"), ("text.pb", b"no graph"), ("x.tflite", b"TFL3")):
            (self.folder / name).write_bytes(content)
            self.check_refused(self.folder / name)
        self.check_refused(self.folder / "absent.xml")

    def test_an_older_version(self):
        python = framework_python("openvino-old", f"openvino=={OLD_VERSION}", "numpy<2.1")
        env = {"VIRTUAL_ENV": str(python.parent.parent)}
        self.profile(self.models / "cnn.onnx", "--batch", "1,4", "--runs", 5, env=env)
        self.check_tables()
        self.assertEqual({layer["tags"]["untold"] for layer in self.layers()}, {"start,thread"})
        self.profile(self.models / "types.onnx", "--batch", "1,4", "--runs", 3, env=env)

    def test_check(self):
        [found] = json.loads(self.xsp("check", "openvino", "--json").stdout)
        self.assertTrue(found["usable"])
        self.assertEqual(found["version"], VERSION)
        self.assertIn("libopenvino_c.so", found["library"])


if __name__ == "__main__":
    unittest.main()
