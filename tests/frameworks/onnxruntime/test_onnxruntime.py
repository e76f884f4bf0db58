# SPDX-License-Identifier: Apache-2.0
"""Layers of ONNX Runtime: the listener against the profile file that the same session wrote, the profile-file route
against the listener, nested graphs, several batch sizes, and the listener in a Python program of its own."""
import glob
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import textwrap
import unittest

import onnx
from onnx import TensorProto, helper

import runner_session
from runner_session import BUILD, Runner, Session

RUNS = 6
SUFFIX = "_kernel_time"
SITE_TAGS = ("layer_index", "layer_type", "layer_shape", "provider", "input_shape", "parameter_bytes",
             "activation_bytes", "output_bytes")


def shape_text(type_shapes):
    return " ".join("[" + ",".join(map(str, next(iter(entry.values())))) + "]" for entry in type_shapes)


class Node:
    """A node event of ONNX Runtime's own profile, in xsp's words."""

    def __init__(self, event):
        arguments = event["args"]
        self.name = event["name"].removesuffix(SUFFIX)
        self.start_us, self.duration_us = event["ts"], event["dur"]
        self.tags = {"layer_index": int(arguments["node_index"]), "layer_type": arguments["op_name"],
                     "provider": arguments["provider"], "input_shape": shape_text(arguments["input_type_shape"]),
                     "parameter_bytes": int(arguments["parameter_size"]),
                     "activation_bytes": int(arguments["activation_size"]),
                     "output_bytes": int(arguments["output_size"])}
        if arguments["output_type_shape"]:
            self.tags["layer_shape"] = shape_text(arguments["output_type_shape"][:1])
        if not self.tags["input_shape"]:
            del self.tags["input_shape"]
        requested = arguments.get("mem_requested_in_use_delta")
        self.alloc_bytes = None if requested is None else int(requested)


def profile_runs(path):
    """The nodes of each model_run of a profile file, by start."""
    events = json.loads(pathlib.Path(path).read_text())
    runs = [event for event in events if event["name"] == "model_run"]
    nodes = [Node(event) for event in events if event["cat"] == "Node"]
    found = []
    for run in sorted(runs, key=lambda event: event["ts"]):
        inside = [node for node in nodes if run["ts"] <= node.start_us <= run["ts"] + run["dur"]]
        found.append(sorted(inside, key=lambda node: (node.start_us, -node.duration_us)))
    return found


def site_tags(layer):
    return {key: layer.tags[key] for key in SITE_TAGS if key in layer.tags}


class OnnxRuntimeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.models = runner_session.test_models()

    def run_model(self, model, batches=(1,), options=(), runs=RUNS):
        """Session and the profile's runs; the profile of the listener's own session is left in its work folder."""
        runner = self.enterContext(Runner(self.models / model, options=options))
        self.assertEqual(runner.ready[0], "ready", runner.ready)
        for batch in batches:
            for _ in range(runs):
                self.assertEqual(runner.ask("predict", batch, 0), ["done"])
            self.assertEqual(runner.ask("flush"), ["done"])
        self.assertEqual(runner.close(), (0, b"", b""))
        files = list(runner.work.glob("*.json"))
        session = Session(runner.session)
        self.assertEqual(session.dropped, 0)
        return runner, session, profile_runs(files[0]) if files else None

    def test_listener_says_what_the_profile_of_the_same_run_says(self):
        for model, options in [("squeezenet.onnx", []), ("text.onnx", ["--dim", "sequence=6"])]:
            with self.subTest(model=model):
                runner, session, runs = self.run_model(model, options=options)
                self.assertEqual(runner.ready[4], "listener")
                self.assertEqual(len(runs), RUNS)
                self.assertEqual(len(session.models()), RUNS)
                differences = []
                for prediction, nodes in zip(session.models(), runs):
                    layers = session.layers(prediction)
                    self.assertEqual([layer.name for layer in layers], [node.name for node in nodes])
                    self.assertGreater(len(layers), 2)
                    for layer, node in zip(layers, nodes):
                        self.assertEqual(site_tags(layer), node.tags)
                        differences.append(node.duration_us - layer.duration_ns / 1000)
                    # Memory figures mean something in the first run of a shape only; the site has those.
                    for layer, node in zip(layers, runs[0]):
                        self.assertEqual(layer.tags.get("alloc_bytes"), node.alloc_bytes)
                # The profile's times are whole microseconds, cut; with all levels on (as here) ours end with that
                # microsecond, or before it where our own readings lie closer together.
                self.assertGreater(statistics.median(differences), -1.05)
                self.assertLess(statistics.median(differences), 0.5)

    def test_layers_have_counts(self):
        """Also nodes of nested graphs."""
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        subprocess.run([BUILD / "xsp", "profile", self.models / "branches.onnx", "--levels", "M,M/L", "--runs", "3", "-q", "--counters",
                        "page_faults,cpu_ns", "-o", folder / "out.xsp"], check=True, capture_output=True, timeout=600)
        rows = json.loads(subprocess.run([BUILD / "xsp", "sql", folder / "out.xsp", "--json", "select name, sum(key = 'page_faults') as faults, "
                                          "sum(key = 'cpu_ns' and value > 0) as cpu, count(distinct run_id || ' ' || span_id) as spans "
                                          "from span left join tag using (run_id, span_id) where level = 'layer' group by 1"],
                                         check=True, capture_output=True, timeout=600).stdout)
        self.assertGreater(len(rows), 2)
        for row in rows:
            self.assertEqual((row["faults"], row["cpu"]), (row["spans"], row["spans"]), row)

    def test_the_profile_file_route_publishes_the_same_layers(self):
        _, by_listener, _ = self.run_model("squeezenet.onnx")
        runner, by_file, left = self.run_model("squeezenet.onnx", options=["--profile-file"])
        self.assertEqual(runner.ready[4], "profile file")
        self.assertIsNone(left)  # read and removed
        for session in (by_listener, by_file):
            self.assertEqual(len(session.models()), RUNS)
        for listened, read in zip(by_listener.models(), by_file.models()):
            expected = [(layer.name, site_tags(layer), layer.tags.get("alloc_bytes")) for layer in by_listener.layers(listened)]
            layers = by_file.layers(read)
            self.assertEqual([(layer.name, site_tags(layer), layer.tags.get("alloc_bytes")) for layer in layers], expected)
            for layer in layers:  # the clocks agree: a microsecond of rounding, and what the clock readings differ by
                self.assertGreater(layer.start_ns, read.start_ns - 50_000)
                self.assertLess(layer.end_ns, read.end_ns + 50_000)

    def test_the_profile_file_route_goes_on_after_a_flush(self):
        _, session, _ = self.run_model("tiny.onnx", batches=(1, 3, 1), options=["--profile-file"], runs=2)
        self.assertEqual(len(session.models()), 6)
        for prediction in session.models():
            layers = session.layers(prediction)
            self.assertEqual(len(layers), len(session.layers(session.models()[0])))
            self.assertGreater(len(layers), 2)
            self.assertTrue(layers[0].tags["layer_shape"].startswith(f"[{prediction.tags['batch_size']},"))

    def test_every_batch_has_its_own_shapes(self):
        _, session, _ = self.run_model("tiny.onnx", batches=(1, 4), runs=2)
        for prediction in session.models():
            for layer in session.layers(prediction):
                self.assertTrue(layer.tags["layer_shape"].startswith(f"[{prediction.tags['batch_size']},"), layer)

    def check_nesting(self, session, runs):
        for prediction, nodes in zip(session.models(), runs):
            layers = session.layers(prediction)
            self.assertEqual(sorted(layer.name for layer in layers), sorted(node.name for node in nodes))
            repeat, = [layer for layer in layers if layer.tags["layer_type"] == "Loop"]
            choose, = [layer for layer in layers if layer.tags["layer_type"] == "If"]
            inner = [layer for layer in layers if layer.tags["layer_type"] == "Tanh"]
            self.assertEqual(len(inner), 3)
            yield layers, repeat, choose, inner

    def test_nodes_of_nested_graphs_lie_in_the_node_that_runs_them(self):
        _, session, runs = self.run_model("branches.onnx")
        for layers, repeat, choose, inner in self.check_nesting(session, runs):
            branch, = [layer for layer in layers if layer.name in ("then_layer", "else_layer")]
            self.assertTrue(choose.start_ns <= branch.start_ns and branch.end_ns <= choose.end_ns)
            for layer in inner:
                self.assertTrue(repeat.start_ns <= layer.start_ns and layer.end_ns <= repeat.end_ns)

    def test_the_profile_file_route_names_the_parents_of_nested_nodes(self):
        _, _, runs = self.run_model("branches.onnx")
        _, session, _ = self.run_model("branches.onnx", options=["--profile-file"])
        for layers, repeat, choose, inner in self.check_nesting(session, runs):
            for layer in inner:
                self.assertEqual(layer.parent, (repeat.ring, repeat.id))
            branch, = [layer for layer in layers if layer.name in ("then_layer", "else_layer")]
            self.assertEqual(branch.parent, (choose.ring, choose.id))
            model = session.models()[0]
            self.assertIn((model.ring, model.id), {layer.parent for layer in session.layers(model)})

    def test_own_time_is_measured(self):
        _, session, _ = self.run_model("squeezenet.onnx")
        for prediction in session.models()[1:]:
            self.assertGreater(prediction.tags["own_ns"], 0)
            self.assertLess(prediction.tags["own_ns"], prediction.duration_ns)

    @unittest.skipIf(os.environ.get("XSP_SANITIZE"), "python3 is not linked with the sanitizers' runtime")
    def test_a_python_program_is_traced_by_the_same_file(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            program = textwrap.dedent(f"""
                import numpy, onnxruntime
                onnxruntime.register_execution_provider_library("xsp", {str(BUILD / "tracers/onnxruntime.so")!r})
                options = onnxruntime.SessionOptions()
                options.enable_profiling = True
                options.profile_file_prefix = {str(folder / "profile")!r}
                device, = [d for d in onnxruntime.get_ep_devices() if d.ep_name == "XspListenerExecutionProvider"]
                options.add_provider_for_devices([device], {{}})
                session = onnxruntime.InferenceSession({str(self.models / "tiny.onnx")!r}, options)
                for _ in range({RUNS}):
                    session.run(None, {{"image": numpy.ones((2, 3, 16, 16), numpy.float32)}})
                print(session.end_profiling())
            """)
            result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600,
                                    env={**os.environ, "XSP_SESSION": str(folder / "session")})
            self.assertEqual(result.returncode, 0, result.stderr)
            runs = profile_runs(result.stdout.strip())
            layers = Session(folder / "session").layers()
            self.assertEqual([layer.name for layer in layers], [node.name for run in runs for node in run])
            self.assertEqual([site_tags(layer) for layer in layers], [node.tags for run in runs for node in run])
            self.assertEqual({layer.tracer for layer in layers}, {"onnxruntime"})

    def test_nodes_without_a_name_have_their_attributes(self):
        """ONNX Runtime names them by their number, which constants have none of."""
        shape = [1, 2, 8, 4]
        nodes = [helper.make_node("Constant", [], ["one"], value_float=1.0), helper.make_node("Add", ["x", "one"], ["a"]),
                 helper.make_node("Attention", ["a", "x", "x"], ["b"], is_causal=1),
                 helper.make_node("Attention", ["b", "x", "x"], ["c"]),
                 helper.make_node("MaxPool", ["c"], ["y"], kernel_shape=[2, 2])]
        graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2, 7, 3])])
        with tempfile.TemporaryDirectory() as folder:
            model, output = pathlib.Path(folder, "net.onnx"), pathlib.Path(folder, "net.xsp")
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11), model)
            subprocess.run([BUILD / "xsp", "profile", model, "--quiet", "--levels", "M/L", "--runs", "1", "--warmup", "0", "--batch",
                            "1", "-o", output], check=True, capture_output=True, timeout=600)
            answer = subprocess.run([BUILD / "xsp", "analyze", "A14", output, "--json"], check=True, capture_output=True, timeout=600)
        rows = json.loads(answer.stdout)["rows"]
        products = 2 * 2 * 8 * 8 * 4  # of queries and keys, of weights and values, in two heads
        self.assertEqual([(row["layer_type"], row["multiply_adds"], row["compares"]) for row in rows],
                         [("Add", 0, 0), ("Attention", products / 2, 0), ("Attention", products, 0), ("MaxPool", 0, 2 * 7 * 3 * 4)])


if __name__ == "__main__":
    unittest.main()
