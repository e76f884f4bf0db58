# SPDX-License-Identifier: Apache-2.0
"""TensorFlow models in TensorFlow itself: a small network and ResNet-50, as SavedModel and frozen, over batch sizes; layers
compared with TensorFlow's Python on the same graphs; models that cannot run. Fetches 1.6 GB once."""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import unittest

import framework_environment
import tensorflow_environment

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
XSP = BUILD / "xsp"
# The official classes, on bytes that a profiled run got.
READ_METADATA = """
import json, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
from tensorflow.core.protobuf import config_pb2
metadata = config_pb2.RunMetadata()
metadata.ParseFromString(open(sys.argv[1], "rb").read())
print(json.dumps([(node.node_name, node.all_start_nanos, node.all_end_rel_nanos) for device in
                  metadata.step_stats.dev_stats for node in device.node_stats if node.node_name != "_SOURCE"]))
"""
NAMES = ["small_frozen", "small_saved", "resnet50_frozen", "resnet50_saved"]


def setUpModule():
    environment = tensorflow_environment.tensorflow_environment()
    os.environ["VIRTUAL_ENV"] = str(environment)
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    TensorFlow.folder = pathlib.Path(folder.name)
    script = pathlib.Path(__file__).with_name("tensorflow_models.py")
    subprocess.run([environment / "bin" / "python3", "-B", script, TensorFlow.folder], check=True, timeout=900,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def model_path(name):
    path = TensorFlow.folder / name
    return path if path.is_dir() else path.with_suffix(".pb")


class TensorFlow(unittest.TestCase):
    folder = None
    profiles = {}

    def xsp(self, *arguments, status=0, timeout=600):
        result = subprocess.run([XSP, *map(str, arguments)], capture_output=True, text=True, timeout=timeout)
        self.assertEqual(result.returncode, status, f"{arguments}\n{result.stderr}")
        return result

    def profile(self, name, *options, runs=5):
        """Its .xsp file; what was profiled already is not profiled again."""
        output = self.folder / f"{name}{''.join(map(str, options))}.xsp".replace("/", "_")
        if output not in self.profiles:
            result = self.xsp("profile", model_path(name), "--levels", "M,M/L", "--runs", runs, "--quiet", *options, "-o", output)
            self.assertEqual(result.stderr, "")  # without the framework's log lines
            self.profiles[output] = result.stdout
        return output

    def sql(self, output, query):
        return json.loads(self.xsp("sql", output, query, "--json").stdout)

    def analyze(self, analysis, output, *options):
        return json.loads(self.xsp("analyze", analysis, output, *options, "--json").stdout)

    def layers(self, output, batch=1):
        """Of the last observation of the deepest run at this batch size, with their tags."""
        rows = self.sql(output, "select s.span_id, s.name, s.start_ns, s.duration_ns, s.parent_id, s.model_id, s.category"
                                " from span s join run r using (run_id) where s.level='layer' and r.batch_size="
                                f"{batch} and s.model_id=(select max(o.span_id) from observation o"
                                f" join run q using (run_id) where q.batch_size={batch} and q.levels='M/L')"
                                " and r.levels='M/L' order by s.start_ns, s.span_id")
        tags = self.sql(output, "select t.span_id, t.key, t.value from tag t join run r using (run_id)"
                                f" where r.batch_size={batch} and r.levels='M/L'")
        by_span = {}
        for tag in tags:
            by_span.setdefault(tag["span_id"], {})[tag["key"]] = tag["value"]
        return [{**row, "tags": by_span.get(row["span_id"], {})} for row in rows]

    def test_check_names_the_library(self):
        row, = [row for row in json.loads(self.xsp("check", "tensorflow", "--json").stdout) if "predictor" in row]
        self.assertTrue(row["usable"])
        self.assertEqual((row["version"], row["untold"]), (tensorflow_environment.TENSORFLOW, "thread"))
        self.assertTrue(row["library"].endswith("libtensorflow_cc.so.2"))

    def test_run_metadata_is_read_as_by_the_official_classes(self):
        for name in NAMES:
            with self.subTest(name):
                dumped = subprocess.run([BUILD / "test-programs" / "dump_run_metadata", self.folder / f"{name}.metadata"],
                                        check=True, capture_output=True, timeout=600).stdout
                expected = json.loads((self.folder / f"{name}.json").read_text())
                key = lambda step: (step["start_ns"], -step["duration_ns"], step["node"])  # noqa: E731
                self.assertEqual(sorted(json.loads(dumped), key=key), sorted(expected, key=key))

    def test_layers_equal_those_of_tensorflows_python(self):
        for name in NAMES:
            with self.subTest(name):
                output = self.profile(name, "--batch", "1,4")
                found = sorted((layer["tags"].get("node", layer["name"]), layer["tags"]["layer_type"],
                                layer["tags"].get("layer_shape")) for layer in self.layers(output))
                steps = json.loads((self.folder / f"{name}.json").read_text())
                expected = sorted((step["node"], step["type"], None if step["shape"] is None else
                                   json.dumps(step["shape"], separators=(",", ":"))) for step in steps)
                as_text = lambda rows: [tuple(str(part) for part in row) for row in rows]  # noqa: E731
                self.assertEqual(sorted(as_text(found)), sorted(as_text(expected)))
                ours, theirs = (sum(duration) / 1e6 for duration in (
                    (layer["duration_ns"] for layer in self.layers(output)), (step["duration_ns"] for step in steps)))
                print(f"{name}: {len(found)} layers; their sum {ours:.2f} ms, in a run of Python's {theirs:.2f} ms",
                      file=sys.stderr)

    def test_layers_take_as_long_as_the_run_metadata_of_the_same_run_says(self):
        environment = pathlib.Path(os.environ["VIRTUAL_ENV"])
        library = next(environment.glob("lib/python3*/site-packages/tensorflow/libtensorflow_cc.so*"))
        tee = framework_environment.tee_library("tensorflow", library, self.folder)
        for name in ("small_frozen", "resnet50_saved"):
            with self.subTest(name):
                output = self.folder / f"{name}-beside.xsp"
                os.environ["XSP_TEE"] = f"{self.folder}/{name}-own-"
                self.addCleanup(os.environ.pop, "XSP_TEE", None)
                self.xsp("profile", model_path(name), "--levels", "M/L", "--runs", 3, "--quiet", "--library",
                         f"tensorflow={tee}", "-o", output)
                last = sorted(self.folder.glob(f"{name}-own-*"))[-1]
                read = subprocess.run([environment / "bin" / "python3", "-B", "-c", READ_METADATA, last], check=True,
                                      capture_output=True, text=True, timeout=120).stdout
                own = sorted((node, duration) for node, _, duration in json.loads(read))
                ours = sorted((layer["tags"].get("node", layer["name"]), layer["duration_ns"])
                              for layer in self.layers(output))
                self.assertEqual([node for node, _ in ours], [node for node, _ in own])
                theirs, total = (sum(duration for _, duration in rows) for rows in (own, ours))
                worst = max(abs(a - b) for (_, a), (_, b) in zip(own, ours))
                print(f"{name}: {len(own)} layers of the same run: {theirs / 1e3:.0f} us by RunMetadata, {total / 1e3:.0f} us by"
                      f" xsp; the largest difference of one: {worst} ns", file=sys.stderr)
                self.assertLessEqual(worst, 2)

    def test_every_layer_lies_in_its_inference(self):
        for name in NAMES:
            with self.subTest(name):
                output = self.profile(name, "--batch", "1,4")
                outside = self.sql(output, "select count(*) as n from span l join span m on m.run_id=l.run_id and"
                                           " m.span_id=l.model_id where l.level='layer' and (l.start_ns < m.start_ns or"
                                           " l.end_ns > m.end_ns)")
                lost = self.sql(output, "select count(*) as n from span where level='layer' and (parent_id is null or"
                                        " basis<>'explicit')")
                self.assertEqual((outside[0]["n"], lost[0]["n"]), (0, 0))

    def test_observations_have_the_same_layers_in_the_same_places(self):
        output = self.profile("resnet50_saved", "--batch", "1,4")
        rows = self.analyze("A2", output, "--batch", 1)["rows"]
        self.assertFalse([row for row in rows if row.get("partial")])
        self.assertEqual(len({row["layer_index"] for row in rows}), len(rows))

    def test_fused_layers_name_the_operator_they_are_made_around(self):
        for name in NAMES:
            with self.subTest(name):
                layers = self.layers(self.profile(name, "--batch", "1,4"))
                fused = [layer for layer in layers if "fused" in layer["tags"]]
                convolutions = [layer for layer in layers if "Conv2D" in layer["tags"]["layer_type"]]
                self.assertEqual(len(convolutions), 4 if name.startswith("small") else 53)
                for layer in convolutions:
                    self.assertTrue(layer["name"].endswith("/convolution"), layer)
                    types = layer["tags"]["fused_types"].split()
                    self.assertEqual(types[types.index("Conv2D"):][:2], ["Conv2D", "BiasAdd"])
                    originals = layer["tags"]["fused"].split()
                    self.assertEqual(originals[types.index("Conv2D")], layer["name"])
                    self.assertEqual(originals[-1], layer["tags"]["node"])
                self.assertEqual({layer["tags"]["layer_type"] for layer in fused} & {"Const", "Mul", "AddV2"}, set())

    def test_unfused_layers_are_the_models_own(self):
        for name, convolutions in (("small_frozen", 4), ("resnet50_saved", 53)):
            with self.subTest(name):
                layers = self.layers(self.profile(name, "--unfused", runs=2))
                types = [layer["tags"]["layer_type"] for layer in layers]
                self.assertEqual((types.count("Conv2D"), types.count("BiasAdd")), (convolutions, convolutions + 1))
                self.assertEqual([layer for layer in layers if "fused" in layer["tags"]], [])
                self.assertEqual([kind for kind in types if re.match("_Mkl|_Fused", kind)], [])

    def test_analyses(self):
        for name in NAMES:
            with self.subTest(name):
                output = self.profile(name, "--batch", "1,4")
                levels = self.analyze("L0", output)["rows"]
                self.assertEqual([(row["batch_size"], row["levels"]) for row in levels],
                                 [(1, "M"), (1, "M/L"), (4, "M"), (4, "M/L")])
                self.assertEqual({row["dropped"] for row in levels}, {0})
                self.assertEqual([row["batch_size"] for row in self.analyze("A1", output)["rows"]], [1, 4])
                summary = self.analyze("A6", output)["summary"]
                self.assertGreater(summary["convolution_pct_of_layers"], 20)
                overhead = [f"{row['batch_size']}: {row['overhead_pct']}" for row in levels if row["levels"] == "M/L"]
                print(f"{name}: convolutions {summary['convolution_pct_of_layers']:.1f} % of layers; overhead of layers"
                      f" in % by batch size {', '.join(overhead)}", file=sys.stderr)

    def test_model_level_alone_asks_for_no_trace(self):
        output = self.profile("small_frozen", "--batch", "1,4")
        rows = self.sql(output, "select r.levels, count(*) as n from span s join run r using (run_id) where s.level='layer'"
                                " group by 1")
        self.assertEqual([row["levels"] for row in rows], ["M/L"])

    def test_several_inputs_types_loops_and_calls(self):
        result = self.xsp("profile", model_path("mixed"), "-o", self.folder / "none.xsp", "--quiet", status=2)
        self.assertIn('"ids.1"', result.stderr)
        layers = self.layers(self.profile("mixed", "--dim", "ids.1=7", "--threads", 1, "--batch", "1,3"), batch=3)
        names = {layer["span_id"]: layer["name"] for layer in layers}
        looped = [layer for layer in layers if "while/body" in layer["name"] and "MatMul" in layer["tags"]["layer_type"]]
        self.assertEqual(len(looped), 5)  # one node, executed five times
        self.assertEqual(len({layer["name"] for layer in looped}), 1)
        called = [layer for layer in layers if names.get(layer["parent_id"], "").endswith("PartitionedCall")]
        self.assertEqual(sum("MatMul" in layer["tags"]["layer_type"] for layer in called), 2)
        shapes = {layer["tags"].get("layer_shape") for layer in layers if layer["category"] == "input"}
        self.assertLessEqual({"[3,7]", "[3,16]"}, shapes)

    def test_texts(self):
        layers = self.layers(self.profile("texts", "--batch", "1,2"), batch=2)
        self.assertIn("[2]", [layer["tags"].get("layer_shape") for layer in layers
                              if layer["tags"]["layer_type"] == "StringLength"])

    def test_models_that_cannot_be_run_are_one_line_each(self):
        empty, cut, text = (self.folder / f"{name}.pb" for name in ("empty", "cut", "text"))
        empty.write_bytes(b"")
        whole = (self.folder / "small_frozen.pb").read_bytes()
        cut.write_bytes(whole[:len(whole) // 2])
        text.write_text("node { name: 'x' }\n")
        without_variables = self.folder / "without_variables"
        without_variables.mkdir()
        (without_variables / "saved_model.pb").write_bytes((self.folder / "small_saved/saved_model.pb").read_bytes())
        for path, options, why in [
                (empty, [], "is empty"), (cut, [], "longer"), (text, [], "unknown"),
                (without_variables, [], "Could not find variable"),
                (model_path("no_operator"), [], "Op type not registered 'NoSuchOperator'"),
                (model_path("no_rank"), [], 'input "x"'),
                (model_path("huge_constant"), [], "Cannot parse tensor from proto"),
                (model_path("no_value"), [], "could not find variable"),
                (model_path("reshapes"), ["--dim", "x.1=5"], "Input to reshape is a tensor with 5 values"),
                (model_path("small_frozen"), ["--framework", "onnxruntime"], "model")]:
            with self.subTest(path.name):
                output = self.folder / "bad.xsp"
                result = self.xsp("profile", path, *options, "--quiet", "--runs", 1, "-o", output, status=2)
                self.assertIn(why.lower(), result.stderr.lower())
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                self.assertRegex(result.stderr, "^xsp: .*; try: ")
                self.assertEqual(result.stdout, "")
                self.assertFalse(output.exists())


if __name__ == "__main__":
    unittest.main()
