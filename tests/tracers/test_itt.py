# SPDX-License-Identifier: Apache-2.0
"""tracers/itt.so: ITT events of programs and libraries become spans. Emitters: a program with the interface written by
hand (itt_emitter.c), OpenCV's dnn module, LLVM's OpenMP runtime."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import own_session

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"])
XSP = BUILD / "xsp"
TRACER = BUILD / "tracers" / "itt.so"
EMITTER = BUILD / "test-programs" / "itt-emitter"
MODULE = BUILD / "test-programs" / "itt-module.so"
SANITIZED = bool(os.environ.get("XSP_SANITIZE"))
TIMEOUT_S = 600


class Trace:
    """A program's run in a session of its own, and its spans."""

    def __init__(self, command, folder, levels=None, expect=0, **environment):
        variables = {**os.environ, "XSP_TRACERS": str(TRACER), "INTEL_LIBITTNOTIFY64": str(TRACER), **environment}
        if levels:
            variables["XSP_LEVELS"] = levels
        if os.environ.get("XSP_SANITIZE") == "thread":  # of a site, the same values are written again while others read
            (folder / "suppressions").write_text("race:xsp_site_create_variant\n")
            variables["TSAN_OPTIONS"] = f"suppressions={folder}/suppressions"
        self.file = folder / "trace.xsp"
        result, self.reported = own_session.record(command, folder / "session", self.file, variables)
        if result.returncode != expect:
            raise AssertionError(f"{command}: status {result.returncode}\n{result.stdout}{result.stderr}")
        self.stdout, self.stderr = result.stdout, result.stderr
        self.spans = self.sql("select s.*, t.name track, t.thread_id from span s join track t using (run_id, track_id) "
                              "order by start_ns, span_id")
        for span in self.spans:
            span["tags"] = {}
        by_id = {(span["run_id"], span["span_id"]): span for span in self.spans}
        for tag in self.sql("select * from tag"):
            by_id[tag["run_id"], tag["span_id"]]["tags"][tag["key"]] = tag["value"]
        for span in self.spans:
            span["parent"] = by_id.get((span["run_id"], span["parent_id"]))

    def sql(self, query):
        result = subprocess.run([XSP, "sql", self.file, query, "--json"], capture_output=True, text=True, check=True,
                                timeout=TIMEOUT_S)
        return json.loads(result.stdout)

    def named(self, name):
        return [span for span in self.spans if span["name"] == name]

    def one(self, name):
        found = self.named(name)
        if len(found) != 1:
            raise AssertionError(f"{len(found)} spans {name!r} in {[span['name'][:40] for span in self.spans[:50]]}")
        return found[0]

    def names(self):
        return [span["name"] for span in self.spans]


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-test-itt-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def trace(self, *command, **options):
        return Trace(command, self.folder, **options)

    def emit(self, case, *arguments, **options):
        return self.trace(EMITTER, case, *arguments, **options)


def name_of(span):
    return span and span["name"]


class Emitter(Case):
    def test_tasks_nest_and_carry_metadata(self):
        trace = self.emit("tasks")
        outer, inner, tagged = trace.one("outer"), trace.one("inner"), trace.one("tagged")
        self.assertIs(inner["parent"], outer)
        self.assertIs(tagged["parent"], outer)
        self.assertEqual(outer["level"], "application")
        self.assertEqual(outer["tracer"], "itt")
        self.assertEqual(outer["tags"], {"domain": "emitter"})
        self.assertEqual(tagged["tags"], {
            "domain": "emitter", "u64": 5, "largest": "18446744073709551615", "s32 list": "[1,-2,3,4]", "s16": -3,
            "float": 0.5, "double list": "[1.25,-2]", "whole": "to its end", "part": "four", "scope": 5,
            "scope text": "near"})
        stamped = trace.one("stamped")
        self.assertGreater(stamped["duration_ns"], 0)
        self.assertEqual(stamped["tags"]["note"], "kept until the end")
        first, second = trace.one("first"), trace.one("second")
        self.assertLess(first["end_ns"], second["end_ns"])
        self.assertEqual(second["tags"]["domain"], "other domain")
        self.assertEqual((trace.one("convolution")["level"], trace.one("convolution")["category"]), ("library", None))
        self.assertEqual((trace.one("a primitive")["level"], trace.one("a primitive")["category"]), ("library", "create"))
        self.assertEqual(trace.one("aten::mm")["level"], "layer")
        self.assertEqual(len(trace.spans), 10, trace.names())  # and the one named by a function
        self.assertNotIn("left out", trace.reported)

    def test_ranges_end_anywhere(self):
        trace = self.emit("ranges")
        a, b, region = trace.one("a"), trace.one("b"), trace.one("region")
        self.assertLess(a["start_ns"], b["start_ns"])
        self.assertLess(b["start_ns"], a["end_ns"])
        self.assertLess(a["end_ns"], b["end_ns"])
        self.assertEqual(b["tags"]["of"], "b")
        self.assertEqual(region["tags"]["rows"], 640)
        for span in (a, b, region, trace.one("stamped range")):
            self.assertIsNone(span["thread_id"], span["name"])
        self.assertNotEqual(a["track_id"], b["track_id"])
        self.assertEqual(trace.one("of the group")["tags"]["task_group"], "batch 7")
        self.assertNotIn("task_group", trace.one("after the group")["tags"])

    def test_frames(self):
        trace = self.emit("frames")
        frames = trace.named("game loop")
        self.assertEqual(len(frames), 6, trace.names())
        for frame in frames:
            self.assertEqual((frame["level"], frame["category"]), ("application", "frame"))
            self.assertGreater(frame["duration_ns"], 0)
        self.assertEqual(trace.sql("select distinct thread_id = process_id is_first from span join track "
                                   "using (run_id, track_id) where span.name = 'game loop'"), [{"is_first": 1}])
        self.assertIsNone(trace.one("handed over")["thread_id"])
        self.assertIn("4 intervals", trace.reported)

    def test_numbers_and_instants(self):
        trace = self.emit("numbers")
        def values(name):
            return [span["tags"]["value"] for span in trace.named(name) if span["category"] == "counter"]
        self.assertEqual(values("requests"), [1, 11, 10, 7, 100, 101])
        self.assertEqual({span["tags"]["domain"] for span in trace.named("requests")}, {"server"})
        self.assertEqual(values("load"), [0.25, 0.75])
        self.assertEqual(values("signed"), [-5])
        self.assertEqual(values("by handle"), [1, 5, 4, 2])
        here, there, old = trace.one("here"), trace.one("there"), trace.one("old mark")
        self.assertEqual([span["category"] for span in (here, there, old)], ["mark"] * 3)
        self.assertEqual((here["tags"]["scope"], there["tags"]["scope"]), ("process", "global"))
        self.assertEqual(old["tags"]["parameter"], "with a parameter")
        self.assertEqual(trace.one("of no task")["tags"], {"domain": "emitter", "of no task": "[7,8]"})
        events = trace.named("event")
        self.assertEqual(len(events), 2)
        self.assertTrue(all(event["duration_ns"] > 0 for event in events))
        singles = trace.named("single")
        self.assertEqual([event["duration_ns"] for event in singles], [0] * 8)
        # Hundredths of a second of the program's clock, on ours.
        for name in ("own clock", "own clock after reset"):
            self.assertAlmostEqual(trace.one(name)["duration_ns"] / 1e6, 1, delta=0.3)

    def test_pause_resume_and_thread_names(self):
        trace = self.emit("control")
        self.assertEqual(trace.names(), ["before", "after"])
        self.assertEqual({span["track"] for span in trace.spans}, {"the chief"})

    def test_hostile_calls(self):
        trace = self.emit("hostile")
        for reported in ("5 ends", "744 tasks", "ranges beyond", "metadata", "relations",
                     "intervals"):
            self.assertIn(reported, trace.reported)
        self.assertEqual(len(trace.named("deep")), 256)
        self.assertEqual(len(trace.named("left open")), 1)
        unnamed = {span["category"]: span for span in trace.named("(unnamed)")}
        self.assertEqual(set(unnamed), {None, "frame", "mark"})
        self.assertEqual(unnamed[None]["tags"], {"(unnamed)": "value"})
        self.assertEqual(unnamed["mark"]["tags"], {})  # an unknown scope
        self.assertEqual(trace.one("in a domain without a name")["tags"], {})

    def test_threads(self):
        trace = self.emit("threads")
        parent = trace.one("parent")
        children = trace.named("child")
        self.assertEqual(len(children), 4)
        for child in children:
            self.assertEqual((child["parent"], child["basis"]), (parent, "explicit"))
        self.assertIsNone(trace.one("of a parent whose thread has ended")["parent"])
        self.assertRegex(trace.reported, "(?m)itt: .*: 1 ends?[^,]*$")
        related = trace.named("by relation")
        self.assertEqual([name_of(span["parent"]) for span in related if span["basis"] == "explicit"], ["parent"] * 4)
        self.assertEqual({span["track"] for span in children}, {f"worker {i}" for i in range(1, 5)})
        inner = [span for span in trace.spans if span["name"].startswith("name ")]
        self.assertEqual(len(inner), 4 * 2000)
        # regions are on no thread: one may enclose what another thread does, and several at once are ambiguous
        self.assertLessEqual({(name_of(span["parent"]), span["basis"]) for span in inner},
                             {("child", "containment"), ("range", "containment"), (None, "ambiguous")})
        self.assertEqual(sum(span["tags"]["round"] for span in inner), 4 * sum(range(2000)))
        ranges = trace.named("range")
        self.assertEqual(len(ranges), 4 * 2000)
        self.assertTrue(all(span["parent"] is parent and span["basis"] == "explicit" for span in ranges))
        self.assertEqual(len(trace.named("ended by another")), 4)
        rounds = [span["tags"]["value"] for span in trace.named("rounds")]
        self.assertEqual(sorted(rounds), list(range(1, 4 * 2000 + 1)))

    def test_a_fork_records_nothing_twice(self):
        trace = self.emit("fork")
        self.assertEqual(sorted(trace.names()), ["around the fork", "in the child", "region around the fork",
                                                 "stamped around the fork", "stamped in the child", "within it"])
        self.assertEqual(trace.one("stamped in the child")["tags"], {"domain": "other domain", "note": "the child's"})

    def test_modules_share_their_handles(self):
        trace = self.emit("modules", MODULE)
        self.assertEqual(trace.names(), ["our handle", "their handle"])
        self.assertEqual(trace.one("their handle")["tags"]["domain"], "theirs")

    def test_handles_from_before_the_collector(self):
        trace = self.emit("early")
        self.assertEqual(trace.one("early name")["tags"]["domain"], "early domain")
        self.assertEqual(trace.one("early counter")["tags"]["value"], -42)

    def test_tables_of_functions(self):
        self.assertEqual(self.emit("tables").names(), ["after all"])

    def test_a_killed_program(self):
        trace = self.emit("killed", expect=-9)
        self.assertEqual([span["name"] for span in trace.spans], ["finished", "open when killed"])

    def test_steps_and_levels(self):
        trace = self.emit("steps", XSP_MODEL_RANGE="step*")
        self.assertEqual([span["level"] for span in trace.named("step 1")], ["model"] * 3)
        self.assertEqual([name_of(span["parent"]) for span in trace.named("aten::relu")], ["step 1"] * 3)
        self.assertEqual(trace.one("step frame")["level"], "model")
        trace = self.emit("steps", XSP_MODEL_RANGE="step 1")
        self.assertEqual(trace.one("step frame")["level"], "application")

    def test_more_names_than_are_kept(self):
        trace = self.emit("names")
        self.assertEqual(len(trace.spans), 70000)
        names = {span["name"] for span in trace.spans}
        self.assertIn("name # of many", names)
        self.assertIn("name 0 of many", names)
        self.assertLess(len(names), 66000)

    def test_capture_ranges(self):
        trace = self.emit("capture", XSP_CAPTURE_RANGE="record*")
        self.assertEqual(sorted(trace.names()), ["inside"] * 3 + ["record a frame", "record a region", "record a task"])
        self.assertEqual(trace.one("record a region")["tags"], {"domain": "emitter", "of": "the region"})

    def test_without_a_session(self):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("XSP_SESSION")}
        variables["INTEL_LIBITTNOTIFY64"] = str(TRACER)
        result = subprocess.run([EMITTER, "off"], env=variables, capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual((result.returncode, result.stdout), (0, "off\n"), result.stderr)


OPENCV = """
import json, sys, numpy, cv2
nets = [cv2.dnn.readNetFromONNX(path) for path in sys.argv[1:]]
for net in nets:
    net.setPreferableBackend(cv2.dnn.DNN_BACKEND_OPENCV)
    net.setPreferableTarget(cv2.dnn.DNN_TARGET_CPU)
shapes = {"tiny": (1, 3, 16, 16), "squeezenet": (1, 3, 224, 224)}
sums = []
for _ in range(3):
    for net, path in zip(nets, sys.argv[1:]):
        shape = next(shape for name, shape in shapes.items() if name in path)
        net.setInput(numpy.full(shape, 0.5, "f4"))
        sums.append(float(net.forward().sum()))
print(json.dumps({"sums": sums, "layers": [[[name, net.getLayer(net.getLayerId(name)).type]
                                             for name in net.getLayerNames()] for net in nets]}))
"""
ALL_LAYERS = {"OPENCV_TRACE_DEPTH_OPENCV": "0", "OPENCV_TRACE_MAX_CHILDREN_OPENCV": "0"}


class OpenCV(Case):
    """Each layer as OpenCV's own API lists it."""

    @classmethod
    def setUpClass(cls):
        try:
            import cv2  # pylint: disable=unused-import,import-outside-toplevel
        except ImportError as error:
            raise unittest.SkipTest(f"OpenCV is not installed: {error}")
        if SANITIZED:
            raise unittest.SkipTest("a sanitized libxsp.so is no guest for Python")
        cls.models = tempfile.TemporaryDirectory(prefix="xsp-test-itt-models-")
        cls.addClassCleanup(cls.models.cleanup)
        subprocess.run([sys.executable, SOURCE / "tools/models.py", cls.models.name, "--set", "test"], check=True,
                       capture_output=True, timeout=TIMEOUT_S)

    def model(self, name):
        return pathlib.Path(self.models.name) / f"{name}.onnx"

    def run_models(self, *names, **options):
        command = [sys.executable, "-c", OPENCV, *(self.model(name) for name in names)]
        trace = self.trace(*command, **{**ALL_LAYERS, **options})
        return trace, json.loads(trace.stdout)

    def layers_of_passes(self, trace):
        """[[layer spans of one pass, in order]]."""
        passes = [span for span in trace.spans if "::forwardToLayer(" in span["name"]]
        return [[span for span in trace.spans if span["level"] == "layer" and span["parent"] is one] for one in passes]

    def check(self, layers, expected):
        """`expected`: [name, type] of all layers but the input, in order. OpenCV does not report the names of layers that
        it fused into others."""
        self.assertEqual(len(layers), len(expected) + 1)
        self.assertEqual((layers[0]["name"], layers[0]["tags"]["layer_type"]), ("_input", "__NetInputLayer__"))
        for span, (name, kind) in zip(layers[1:], expected):
            self.assertEqual(span["tags"]["layer_type"], kind, name)
            self.assertIn(span["name"], (name, f"{kind} (unnamed)"))
        named = [span for span, (name, _) in zip(layers[1:], expected) if span["name"] == name]
        self.assertGreater(len(named), len(expected) / 3)
        for first, second in zip(layers, layers[1:]):
            self.assertLessEqual(first["end_ns"], second["start_ns"])

    def test_every_layer_has_its_name_and_type(self):
        trace, answer = self.run_models("squeezenet")
        self.assertNotIn("WARN", trace.stderr)
        passes = self.layers_of_passes(trace)
        self.assertEqual(len(passes), 3)
        for layers in passes:
            self.check(layers, answer["layers"][0])
            whole = layers[0]["parent"]
            total = sum(span["duration_ns"] for span in layers)
            self.assertLessEqual(total, whole["duration_ns"])
        convolutions = [span for span in passes[0] if span["tags"]["layer_type"] == "Convolution"]
        self.assertEqual(len(convolutions), 26)
        inside = [span for span in trace.spans if "ConvolutionLayerImpl::forward(" in span["name"]]
        self.assertEqual(len(inside), 3 * 26)
        for span, layer in zip(inside, (span for layers in passes for span in layers
                                        if span["tags"]["layer_type"] == "Convolution")):
            self.assertEqual(layer["name"], span["tags"]["name"])
            self.assertLessEqual(layer["start_ns"], span["start_ns"])
            self.assertLessEqual(span["end_ns"], layer["end_ns"])
            self.assertEqual(span["level"], "application")  # by contract: only operators are layers

    def test_work_of_other_threads_has_the_parent_that_opencv_names(self):
        threads = set()
        for _ in range(20):  # on a busy machine one thread may do all of the work
            trace, _ = self.run_models("squeezenet")
            bodies = trace.named("parallel_for_body")
            if not bodies:
                self.skipTest("OpenCV used one thread only")
            self.assertEqual({(span["basis"], name_of(span["parent"])) for span in bodies}, {("explicit", "parallel_for")})
            threads = {span["thread_id"] for span in bodies}
            if len(threads) > 1:
                break
        self.assertGreater(len(threads), 1)

    def test_two_networks_in_turns(self):
        trace, answer = self.run_models("tiny", "squeezenet")
        for number, layers in enumerate(self.layers_of_passes(trace)):
            self.check(layers, answer["layers"][number % 2])

    def test_under_xsp_run(self):
        file = self.folder / "run.xsp"
        command = [sys.executable, "-c", OPENCV, self.model("squeezenet")]
        result = subprocess.run([XSP, "run", "-t", "itt", "--levels", "L", "-o", file, "--", *command],
                                capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(result.returncode, 0, result.stderr)
        plain = subprocess.run(command, capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
        self.assertEqual(result.stdout, plain.stdout)
        self.assertNotIn("WARN", result.stderr)
        count = subprocess.run([XSP, "sql", file, "select count(*) n from span where level = 'layer'", "--json"],
                               capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
        self.assertEqual(json.loads(count.stdout), [{"n": 3 * (1 + len(json.loads(plain.stdout)["layers"][0]))}])

    def test_outputs_stay_the_same(self):
        _, traced = self.run_models("squeezenet")
        plain = subprocess.run([sys.executable, "-c", OPENCV, self.model("squeezenet")], capture_output=True, text=True,
                               check=True, timeout=TIMEOUT_S)
        self.assertEqual(json.loads(plain.stdout), traced)

    def test_analyses_know_the_layers(self):
        trace, _ = self.run_models("squeezenet", XSP_MODEL_RANGE="*Net::forward(*")
        result = subprocess.run([XSP, "analyze", "A5", trace.file, "--json"], capture_output=True, text=True, check=True,
                                timeout=TIMEOUT_S)
        types = {row["layer_type"] for row in json.loads(result.stdout)["rows"]}
        self.assertTrue({"Convolution", "Pooling", "Concat"} <= types, types)


OPENMP = r"""
#include <stdio.h>
int main(void) {
  double sum = 0;
  for (int round = 0; round < 5; round++) {
#pragma omp parallel for reduction(+ : sum) num_threads(2)
    for (int i = 0; i < 100000; i++)
      sum += i * 0.5;
  }
  printf("%.0f\n", sum);
}
"""

# All regions of the second thread lie within those of the first.
OPENMP_IN_THREADS = r"""
#include <omp.h>
#include <pthread.h>
static pthread_barrier_t both;
static void *many(void *unused) {
  (void)unused;
  for (int round = 0; round < 3; round++) {
    pthread_barrier_wait(&both);
    for (int i = 0; i < 40; i++) {
#pragma omp parallel num_threads(2)
      __asm__ volatile("");
    }
    pthread_barrier_wait(&both);
  }
  return NULL;
}
int main(void) {
  pthread_t thread;
  pthread_barrier_init(&both, NULL, 2);
  pthread_create(&thread, NULL, many, NULL);
  for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 0) {
      pthread_barrier_wait(&both);
      pthread_barrier_wait(&both);
    }
  }
  pthread_join(thread, NULL);
  return 0;
}
"""


class OpenMP(Case):
    """LLVM's OpenMP runtime submits a frame per parallel region if the collector has a clock."""

    def build(self, text):
        library = next(iter(sorted(pathlib.Path("/usr/lib").glob("llvm-*/lib/libomp.so"))), None)
        compiler = shutil.which("gcc")
        if library is None or compiler is None:
            self.skipTest("no libomp (package libomp-14-dev), or no gcc")
        if SANITIZED:
            self.skipTest("a sanitized libxsp.so is no guest for this program")
        (self.folder / "openmp.c").write_text(text)
        program = self.folder / "openmp"
        # gcc's calls are GOMP's: libomp serves them too.
        subprocess.run([compiler, "-O1", "-fopenmp", "-c", self.folder / "openmp.c", "-o", self.folder / "openmp.o"],
                       check=True, timeout=TIMEOUT_S)
        subprocess.run([compiler, self.folder / "openmp.o", "-o", program, library, f"-Wl,-rpath,{library.parent}"],
                       check=True, timeout=TIMEOUT_S)
        return program

    def test_regions_in_threads_are_observations(self):
        """libomp submits a frame for a region and one for its barrier, often with equal times."""
        trace = self.trace(self.build(OPENMP_IN_THREADS), XSP_MODEL_RANGE="*$omp$*")
        regions = [span for span in trace.spans if "$omp$parallel" in span["name"]]
        self.assertEqual(len(regions), 123)
        self.assertEqual(len({region["observation"] for region in regions}), 123)
        self.assertEqual(trace.sql("select count(*) count from observation"), [{"count": 123}])

    def test_parallel_regions_are_frames(self):
        trace = self.trace(self.build(OPENMP))
        self.assertEqual(trace.stdout, "12499875000\n")
        frames = [span for span in trace.spans if "$omp$parallel:2" in span["name"]]
        self.assertEqual(len(frames), 5, trace.names())
        self.assertEqual(len({frame["thread_id"] for frame in frames} - {None}), 1)
        for frame in frames:
            self.assertEqual((frame["level"], frame["category"]), ("application", "frame"))
            self.assertGreater(frame["duration_ns"], 1000)
        for first, second in zip(frames, frames[1:]):
            self.assertLessEqual(first["end_ns"], second["start_ns"])
        self.assertNotIn("left out", trace.reported)
        names = {track["name"] for track in trace.sql("select name from track")}
        self.assertTrue(any(name and name.startswith("OMP") for name in names), names)


if __name__ == "__main__":
    unittest.main()
