# SPDX-License-Identifier: Apache-2.0
"""`xsp run` on real unmodified programs: OpenCV's DNN module and tinygrad on OpenCL. The expected results come
from other sources: the model's own graph, the numbers that the programs print, the shapes that OpenCV writes into the names
of its kernels, and a second implementation of the rules (parent_rules.py) and of the analyses (analysis_rules.py)."""
import collections
import json
import math
import pathlib
import re
import tempfile
import unittest

import onnx

import analysis_answers
import analysis_tables
import parent_rules
import runner_session
import workloads
from workloads import OPENCV, TINYGRAD, XSP

RUNS, WARMUPS = 4, 1
LEVELS = ("application", "model", "layer", "library", "kernel")
KINDS = ("sync", "launch", "execution")
# What a kernel of OpenCV's does, by its name.
CONVOLUTION = re.compile(r"(?:BASIC|IDLF|GEMM_LIKE|DWCONV)\w*?_k(\d+)x(\d+)_cn(\d+)_g(\d+)_.*_M(\d+)_")
OPERATORS = {"max_pool": {"MaxPool"}, "ave_pool": {"AveragePool", "GlobalAveragePool"}, "lrn_": {"LRN"},
             "kernel_channel_": {"Softmax"}}
KERNELS_OF = collections.Counter({"Conv": 1, "MaxPool": 1, "AveragePool": 1, "GlobalAveragePool": 1, "LRN": 1, "Softmax": 4})


class Recorded:
    """One run of a file, read through SQL."""

    def __init__(self, path, levels):
        self.path = path
        [self.run] = workloads.read("sql", path, f"select * from run where levels = '{levels}'")
        self.run_id = self.run["run_id"]
        self.spans = self.rows("select * from span")
        self.by_id = {span["span_id"]: span for span in self.spans}
        self.tags = collections.defaultdict(dict)
        for row in self.rows("select span_id, key, value from tag"):
            self.tags[row["span_id"]][row["key"]] = row["value"]
        self.observations = [row for row in self.rows("select * from observation") if not row["warmup"]]

    def rows(self, query):
        return workloads.read("sql", self.path, f"{query} where run_id = {self.run_id}")

    def of(self, **wanted):
        found = [span for span in self.spans if all(span[key] == value for key, value in wanted.items())]
        return sorted(found, key=lambda span: span["start_ns"])

    def launches(self, observation):
        return [span for span in self.of(kind="launch", observation=observation["observation"])
                if self.execution(span)["category"] == "kernel"]

    def execution(self, launch):
        [found] = self.of(kind="execution", correlation_id=launch["correlation_id"])
        return found

    def node(self, span):
        """The name of the graph's node of a layer's span."""
        texts = [span["name"], *(value for value in self.tags[span["span_id"]].values() if isinstance(value, str))]
        found = {name for text in texts for name in re.findall(r"onnx_node!(\w+)", text)}
        return found.pop() if len(found) == 1 else None


class Workload(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if why := workloads.missing():
            raise unittest.SkipTest(why)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    @classmethod
    def trace(cls, name, options, command):
        """(what the program printed, the file)"""
        path = cls.folder / f"{name}.xsp"
        result = workloads.run([XSP, "run", "--model-range", "inference", *options, "-o", path, "--", *command])
        return result, path

    def check_parents(self, recorded):
        """Every parent, by brute force."""
        names = {track["track_id"] for track in recorded.rows("select * from track") if track["thread_id"] is not None}
        spans = [parent_rules.Span(
            span_id=span["span_id"], recorded_parent=0, level=LEVELS.index(span["level"]), kind=KINDS.index(span["kind"]),
            category=span["category"], track=span["track_id"] if span["track_id"] in names else 0, start=span["start_ns"],
            end=span["end_ns"], correlation=span["correlation_id"] or 0, clock="") for span in recorded.spans]
        self.assertGreater(len(spans), 100)
        for span, (parent, basis) in zip(recorded.spans, parent_rules.parents(spans)):
            if span["basis"] != "explicit":
                self.assertEqual((span["parent_id"], span["basis"]), (parent, basis), span)

    def check_launches(self, recorded):
        """Executions come after their launches, each has one, and their parents are right."""
        for execution in recorded.of(kind="execution"):
            [launch] = recorded.of(kind="launch", correlation_id=execution["correlation_id"])
            self.assertEqual(execution["basis"], "correlation")
            self.assertEqual(execution["parent_id"], launch["parent_id"])
            self.assertEqual(execution["observation"], launch["observation"])
            self.assertGreaterEqual(execution["start_ns"], launch["start_ns"])

    def check_analyses(self, path, analyses):
        """Every figure, by the second implementation."""
        experiment = analysis_tables.read(XSP, path)
        for analysis in analyses:
            got = workloads.read("analyze", analysis, path)
            rows, summary = analysis_answers.answer(analysis, experiment, None, got)
            self.assertFalse(analysis_answers.differences(analysis, got, rows, summary), analysis)


class OpenCV(Workload):
    """Model, layers and kernels of SqueezeNet: NVTX names the inference, ITT the layers, OpenCL the kernels."""
    MODEL = "squeezenet.onnx"
    OPTIONS, THREADS = (), 1
    HAS_LAST_WORD = True  # the device works on when the last layer has returned

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        model = runner_session.test_models() / cls.MODEL
        cls.graph = onnx.load(model, load_external_data=False).graph
        cls.command = [runner_session.sys.executable, OPENCV, model, "--runs", RUNS, "--warmup", WARMUPS,
                       "--json", *cls.OPTIONS]
        workloads.run(cls.command)  # builds and tunes the kernels, once
        cls.plain = workloads.run(cls.command)
        cls.traced, cls.path = cls.trace("deep", ["-t", "nvtx,itt,opencl", "--levels", "M/L/K"], cls.command)
        cls.recorded = Recorded(cls.path, "M/L/K")

    def test_answers_are_those_of_the_plain_program(self):
        self.assertEqual(workloads.answer(self.traced)["answers"], workloads.answer(self.plain)["answers"])
        # What OpenCV prints itself; where two threads come first, both print it.
        self.assertEqual(set(self.traced.stdout.splitlines()[:-1]), set(self.plain.stdout.splitlines()[:-1]))

    def test_observations_are_the_inferences(self):
        self.assertEqual(len(self.recorded.observations), RUNS * self.THREADS)
        models = [self.recorded.by_id[row["span_id"]] for row in self.recorded.observations]
        self.assertEqual({(span["name"], span["level"]) for span in models}, {("inference", "model")})
        self.assertEqual(len({span["track_id"] for span in models}), self.THREADS)
        taken = zip(sorted(row["duration_ns"] for row in self.recorded.observations),
                    sorted(workloads.answer(self.traced)["forward_ms"]))
        for duration_ns, forward_ms in taken:
            self.assertLessEqual(duration_ns, forward_ms * 1e6)
        self.assertEqual((self.recorded.run["dropped_count"], len(self.recorded.of(basis="ambiguous"))), (0, 0))

    def test_every_kernel_is_there(self):
        expected = sum(KERNELS_OF[node.op_type] for node in self.graph.node)
        for observation in self.recorded.observations:
            self.assertEqual(len(self.recorded.launches(observation)), expected)

    def test_every_launch_is_in_the_right_layer(self):
        """A kernel's name has its operator and, for convolutions, the shape of the layer's node."""
        shapes = {tensor.name: tuple(tensor.dims) for tensor in self.graph.initializer}
        nodes = {node.name: node for node in self.graph.node}
        order = [node.name for node in self.graph.node]
        for observation in self.recorded.observations:
            counts, last = collections.Counter(), -1
            for launch in self.recorded.launches(observation):
                name = self.recorded.execution(launch)["name"]
                self.assertEqual(launch["basis"], "containment")
                layer = self.recorded.by_id[launch["layer_id"]]
                self.assertEqual(layer["model_id"], observation["span_id"])
                node = nodes[self.recorded.node(layer)]
                counts[node.name] += 1
                self.assertGreaterEqual(order.index(node.name), last)
                last = order.index(node.name)
                if match := CONVOLUTION.search(name):
                    height, width, channels, groups, outputs = map(int, match.groups())
                    self.assertEqual(node.op_type, "Conv", name)
                    self.assertEqual(shapes[node.input[1]], (outputs, channels // groups, height, width), name)
                else:
                    [operators] = [found for prefix, found in OPERATORS.items() if name.startswith(prefix)]
                    self.assertIn(node.op_type, operators, name)
            self.assertEqual(counts, +collections.Counter({node.name: KERNELS_OF[node.op_type] for node in self.graph.node}))

    def test_model_range_of_opencv_itself(self):
        """A program without any range of its own: OpenCV's function that runs a network is the model."""
        path = self.folder / f"{type(self).__name__}-own.xsp"
        workloads.run([XSP, "run", "-t", "itt,opencl", "--levels", "M/L/K", "--model-range", "*::Net::forward(*", "-o", path,
                       "--", *self.command])
        recorded = Recorded(path, "M/L/K")
        self.assertEqual(len(recorded.observations), (RUNS + WARMUPS) * self.THREADS)
        expected = [len(self.recorded.launches(row)) for row in self.recorded.observations]
        self.assertEqual([len(recorded.launches(row)) for row in recorded.observations[-len(expected):]], expected)

    def test_layers_are_named(self):
        rows = workloads.read("analyze", "A11", self.path)["rows"]
        with_kernels = [row for row in rows if row["count"]]
        self.assertEqual(len({row["layer_name"] for row in with_kernels}), len(with_kernels))

    def test_launches_and_executions(self):
        self.check_launches(self.recorded)

    def test_parents(self):
        self.check_parents(self.recorded)

    def test_kernels_start_when_the_one_before_has_ended(self):
        """And not when they are launched: the queue keeps their order."""
        for observation in self.recorded.observations:
            executions = [self.recorded.execution(launch) for launch in self.recorded.launches(observation)]
            for first, second in zip(executions, executions[1:]):
                self.assertLessEqual(first["end_ns"], second["start_ns"])
            if self.HAS_LAST_WORD:
                self.assertLessEqual(executions[-1]["end_ns"], self.recorded.by_id[observation["span_id"]]["end_ns"])

    def test_analyses(self):
        self.check_analyses(self.path, ("A8", "A10", "A11", "A13", "A15"))

    def test_what_opencv_claims(self):
        """OpenCV's own profile times the calls inside of our layers: it is what they take on the host."""
        layers_ms = [sum(span["duration_ns"] for span in self.recorded.of(level="layer", observation=row["observation"])) / 1e6
                     for row in self.recorded.observations]
        for claimed_ms, own_ms in zip(sorted(workloads.answer(self.traced)["perf_profile_ms"]), sorted(layers_ms), strict=True):
            self.assertLessEqual(claimed_ms, own_ms)
        if self.HAS_LAST_WORD:
            [row] = workloads.read("analyze", "A15", self.path)["rows"]
            self.assertLess(row["kernel_latency_ms"], row["model_latency_ms"])


class Leveled(Workload):
    """Each level's figures come from runs that record nothing deeper."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        model = runner_session.test_models() / OpenCV.MODEL
        command = [runner_session.sys.executable, OPENCV, model, "--runs", RUNS, "--warmup", WARMUPS, "--json"]
        workloads.run(command)
        cls.result, cls.path = cls.trace("leveled", ["-t", "nvtx,itt,opencl", "--leveled", "--levels", "M,M/L,M/L/K",
                                                     "--runs", 1], command)

    def test_level_sets_hold_what_they_say(self):
        levels = collections.defaultdict(collections.Counter)
        for row in workloads.read("sql", self.path, "select levels, level, count(*) as n from span join run using (run_id)"
                                                    " join observation using (run_id, observation) where not warmup"
                                                    " group by 1, 2"):
            levels[row["levels"]][row["level"]] = row["n"]
        self.assertEqual({name: {level for level in found if level in ("model", "layer", "kernel")}
                          for name, found in levels.items()},
                         {"M": {"model"}, "M/L": {"model", "layer"}, "M/L/K": {"model", "layer", "kernel"}})
        self.assertEqual(levels["M"]["model"], RUNS)
        self.assertEqual(levels["M/L"]["layer"], levels["M/L/K"]["layer"])

    def test_overhead(self):
        rows = workloads.read("analyze", "L0", self.path)["rows"]
        self.assertEqual([row["levels"] for row in rows], ["M", "M/L", "M/L/K"])
        self.assertEqual([row["over"] for row in rows], [None, "M", "M/L"])
        for row in rows:
            self.assertGreater(row["latency_ms"], 0)
        kernels = workloads.read("analyze", "L0", self.path, "--by", "layer")
        self.assertTrue(kernels["rows"])

    def test_each_figure_comes_from_its_own_runs(self):
        rows = workloads.read("analyze", "A11", self.path, "--latency-basis", "host")["rows"]
        self.assertFalse({"latency_from", "layer_latency_from", "model_latency_from"} & set(
            key for row in rows for key, value in row.items() if value is not None))
        # OpenCL executes after the layers have returned: by default they are those of the kernels' runs.
        rows = workloads.read("analyze", "A11", self.path)["rows"]
        self.assertEqual({(row["layer_latency_from"], row["latency_basis"]) for row in rows}, {("M/L/K", "device")})


class Tinygrad(Workload):
    """Model and kernels of a transformer, with kernels' names that tinygrad generates."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if why := workloads.missing_tinygrad():
            raise unittest.SkipTest(why)
        command = [runner_session.sys.executable, TINYGRAD, "--runs", RUNS, "--json"]
        cls.plain = workloads.run(command)
        cls.traced, cls.path = cls.trace("tinygrad", ["-t", "nvtx,opencl", "--levels", "M/K"], command)
        cls.recorded = Recorded(cls.path, "M/K")
        # DEBUG=2 has tinygrad print every kernel that it launches.
        printed = workloads.run(["env", "DEBUG=2", *command]).stdout
        printed = re.sub(r"\x1b\[\d+m", "", printed).split("jit execs")[-1]
        cls.names = re.findall(r"^\*\*\* CL +\d+ (\S+)", printed, re.MULTILINE)

    def test_kernels_are_those_that_tinygrad_names(self):
        self.assertGreater(len(self.names), 50)
        self.assertEqual(len(self.recorded.observations), RUNS)
        self.assertEqual(workloads.answer(self.traced)["kernels"], [len(self.names)] * RUNS)
        for observation in self.recorded.observations:
            launches = self.recorded.launches(observation)
            self.assertEqual([self.recorded.execution(launch)["name"] for launch in launches], self.names)
            self.assertEqual({launch["parent_id"] for launch in launches}, {observation["span_id"]})

    def test_answers_are_those_of_the_plain_program(self):
        self.assertEqual(workloads.answer(self.traced)["answers"], workloads.answer(self.plain)["answers"])

    def test_launches_executions_parents_analyses(self):
        self.check_launches(self.recorded)
        self.check_parents(self.recorded)
        self.check_analyses(self.path, ("A8", "A10", "A15"))


if __name__ == "__main__":
    unittest.main()
