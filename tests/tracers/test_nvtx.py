# SPDX-License-Identifier: Apache-2.0
"""nvtx.so with real emitters: a C program over the vendor's own headers (nvtx_program.c), and the nvtx Python package."""
import glob
import json
import os
import pathlib
import subprocess
import sysconfig
import tempfile
import unittest

import own_session

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
SOURCE = pathlib.Path(os.environ["XSP_SOURCE"]).resolve()
PYTHON = os.environ["XSP_PYTHON"]
XSP, TRACER = BUILD / "xsp", BUILD / "tracers" / "nvtx.so"
HEADERS = [path[:-len("/nvtx3/nvToolsExtCounters.h")] for path in
           glob.glob(f"{sysconfig.get_path('purelib')}/nvidia/*/include/nvtx3/nvToolsExtCounters.h")]


class Traced(unittest.TestCase):
    """Runs a command in a session of its own and reads its spans."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="xsp-nvtx-", dir="/dev/shm")
        self.folder = pathlib.Path(self.temporary.name)
        self.out = self.folder / "out.xsp"

    def tearDown(self):
        self.temporary.cleanup()

    def trace(self, command, status=0, output=None, preload=True, **environment):
        variables = {**os.environ, "XSP_TRACERS": str(TRACER), "NVTX_INJECTION64_PATH": str(TRACER), **environment}
        result, said = own_session.record(command, self.folder / "session", self.out, variables, preload)
        self.assertEqual(result.returncode, status, result.stderr)
        if output is not None:
            self.assertEqual((result.stdout, result.stderr), (output, ""))
        return said

    def sql(self, query):
        result = subprocess.run([XSP, "sql", self.out, query, "--json"], check=True, timeout=600, stdout=subprocess.PIPE)
        return json.loads(result.stdout)

    def spans(self):
        """{name: [(level, category, {tag: value}), …]}, in the order of their starts."""
        tags = {}
        for row in self.sql("select run_id, span_id, key, value from tag"):
            tags.setdefault((row["run_id"], row["span_id"]), {})[row["key"]] = row["value"]
        found = {}
        for row in self.sql("select run_id, span_id, level, category, name from span order by start_ns, span_id"):
            key = row["run_id"], row["span_id"]
            found.setdefault(row["name"], []).append((row["level"], row["category"], tags.get(key, {})))
        return found


def needs_headers(test):
    return unittest.skipUnless(HEADERS, "the vendor's NVTX headers are not installed (nvidia-nvtx)")(test)


@needs_headers
class ProgramTest(Traced):
    @classmethod
    def setUpClass(cls):
        cls.programs = tempfile.TemporaryDirectory(prefix="xsp-nvtx-")
        cls.program = f"{cls.programs.name}/program"
        cls.library = f"{cls.programs.name}/library.so"
        source = str(SOURCE / "tests" / "tracers" / "nvtx_program.c")
        compiler = [os.environ.get("CC", "cc"), "-g", "-isystem", HEADERS[0], source, "-ldl", "-lpthread"]
        if os.environ.get("XSP_SANITIZE"):
            compiler.append("-fsanitize=" + os.environ["XSP_SANITIZE"])
        subprocess.run([*compiler, "-o", cls.program], check=True, timeout=600)
        subprocess.run([*compiler, "-DLIBRARY", "-shared", "-fPIC", "-o", cls.library], check=True, timeout=600)

    @classmethod
    def tearDownClass(cls):
        cls.programs.cleanup()

    def run_section(self, section, **options):
        return self.trace([self.program, section], NVTX_LIBRARY=self.library, **{"output": "done\n", **options})

    def test_core(self):
        self.run_section("core")
        spans = self.spans()
        application = "application"
        for name in ("plain", "wide ü€😀"):
            self.assertEqual(spans[name], [(application, None, {})])
        self.assertEqual(spans["with attributes"], [(application, "input", {"payload": 0.5})])
        self.assertEqual(spans["mark a"], [(application, "mark", {})])
        self.assertEqual(spans["mark w"], [(application, "mark", {})])
        self.assertEqual(spans["mark ex"], [(application, "mark", {"category": "wörter", "payload": str(2**64 - 1)})])
        self.assertEqual(spans["start ex"], [(application, None, {"payload": -4})])
        self.assertEqual((spans["int64"][0][2], spans["uint32"][0][2], spans["float"][0][2]),
                         ({"payload": -9}, {"payload": 2**32 - 1}, {"payload": 1.5}))
        self.assertEqual(len(spans["(unnamed)"]), 3)
        nested = self.sql("select s.name, p.name as parent from span s join span p on p.span_id = s.parent_id")
        self.assertIn({"name": "with attributes", "parent": "wide ü€😀"}, nested)
        self.assertIn({"name": "wide ü€😀", "parent": "plain"}, nested)
        # Ranges that any thread may end are on no thread, and none overlaps another on its track.
        tracks = self.sql("select distinct s.name, s.track_id, t.thread_id from span s join track t using (run_id, track_id)"
                          " where s.name in ('start a', 'start w', 'start ex')")
        self.assertEqual(len({row["track_id"] for row in tracks}), 3)
        self.assertEqual({row["thread_id"] for row in tracks}, {None})
        self.assertEqual(len(self.sql("select 1 from track where name = 'the main thread'")), 1)

    def test_domains(self):
        self.run_section("domains")
        spans = self.spans()
        mine = {"domain": "mine"}
        self.assertEqual(spans["registered"],
                         [("application", None, mine), ("application", "9", mine), ("application", "io", mine)])
        self.assertEqual(spans["wide registered €"], [("application", "other", {"domain": "wîde"})])
        self.assertEqual(sorted(span[1] or "" for span in spans["unicode"]), ["", "mark"])
        self.assertEqual(spans["ncclAllReduce"], [("library", None, {"domain": "NCCL"})])
        self.assertEqual(spans["something else"], [("application", None, {})])
        self.assertEqual(spans["after its end"], [("application", None, mine)])

    def test_payloads(self):
        self.run_section("payloads")
        spans = self.spans()
        reported = {"domain": "NCCL", "NCCL communicator ID": 0xc0ffee, "Message size [bytes]": 1 << 20,
                "Reduction operation": "Max"}
        self.assertEqual(spans["ncclAllReduce"], [("library", None, reported)] * 2)
        whole = {"domain": "NCCL", "rank": 5, "payload": 5}
        self.assertEqual(spans["by its payload"], [("library", None, whole)])
        self.assertEqual(spans["started"], [("library", None, whole)])
        self.assertEqual(spans["marked"], [("application", "mark", {"domain": "NCCL", "rank": 5})])
        once = {"domain": "NCCL", "rank": 5}
        self.assertEqual(spans["said twice"], [("library", None, once), ("library", None, {**once, "rank at end": 6})])
        self.assertEqual(self.sql("select count(*) n from tag join span using (run_id, span_id) where name = 'said twice'"
                                  " and key = 'rank'"), [{"n": 2}])  # of two ranges

    def test_counters(self):
        self.run_section("counters")
        spans = self.spans()
        self.assertEqual([tags["value"] for _, _, tags in spans["queue"]], [12, 0, 21, 22, 23])
        self.assertEqual([tags["value"] for _, _, tags in spans["load"]], [0.75, 1.25])
        self.assertEqual({(level, category, tags["domain"]) for level, category, tags in spans["queue"] + spans["load"]},
                         {("application", "counter", "counted")})

    def test_deferred_events(self):
        self.run_section("deferred")
        recorded = self.spans()["request"]
        self.assertEqual(sorted(tags["request"] for _, _, tags in recorded), [0, 1, 2, 10])
        self.assertEqual({(level, tags["domain"]) for level, _, tags in recorded}, {("application", "told later")})

    def test_too_many_texts(self):
        messages = self.run_section("flood")
        shared = self.sql("select name, count(*) as n from span where name like '%#%' group by 1 order by 1")
        self.assertEqual(shared, [{"name": "registered #", "n": 40000}, {"name": "request #", "n": 40000 - 32768}])
        self.assertIn("'#'", messages)

    def test_threads(self):
        self.run_section("threads")
        counts = self.sql("select name, level, count(*) as n, count(distinct track_id) as tracks from span group by 1, 2")
        by_name = {row["name"]: (row["level"], row["n"], row["tracks"]) for row in counts}
        self.assertEqual(by_name["aten::add"], ("layer", 8000, 4))
        self.assertEqual(by_name["inner"], ("application", 8000, 4))
        self.assertEqual(by_name["any thread's"][:2], ("application", 8000))
        self.assertEqual(by_name["ends elsewhere"][:2], ("application", 1)) # of four that end it, one does
        tags = self.sql("select key, count(*) as n, count(distinct value) as values_seen from tag group by 1 order by 1")
        self.assertEqual([(row["key"], row["n"], row["values_seen"]) for row in tags],
                         [("layer_index", 8000, 8000), ("op_id", 8000, 2000), ("sequence", 8000, 2000), ("sizes", 8000, 7)])
        named = self.sql("select distinct t.name from span s join track t using (run_id, track_id)"
                         " where s.name = 'on a named thread'")
        self.assertEqual(named, [{"name": "named by another"}])

    def test_a_library_with_nvtx_of_its_own(self):
        self.run_section("library")
        spans = self.spans()
        self.assertEqual(spans["in the library"], [("application", None, {})])
        self.assertEqual(spans["handed over"], [("application", None, {"domain": "shared"})])
        self.assertIn("after dlclose", spans)

    def test_fork(self):
        self.run_section("forks")
        self.assertEqual(sorted(self.spans()), ["around the fork", "in the child"])

    @unittest.skipIf("thread" in os.environ.get("XSP_SANITIZE", ""), "the thread sanitizer does not follow such forks")
    def test_forks_while_threads_annotate(self):
        self.run_section("storm", XSP_RING_RECORDS="4096", XSP_FLIGHT_RECORDER="1")
        self.assertEqual(self.sql("select count(*) as n from span where name = 'child'"), [{"n": 40}])

    def test_exit_from_a_thread(self):
        messages = self.run_section("exits", status=3, output="")
        self.assertIn("1 open", messages)

    def test_steps_are_observations(self):
        self.run_section("steps", XSP_MODEL_RANGE="iteration *")
        self.assertEqual(len(self.sql("select 1 from observation where span_id is not null")), 5)
        parents = self.sql("select p.level, count(*) as n from span s join span p on p.span_id = s.parent_id"
                           " where s.name = 'aten::mm' group by 1")
        self.assertEqual(parents, [{"level": "model", "n": 5}])

    def test_capture_range(self):
        self.run_section("steps", XSP_CAPTURE_RANGE="iteration [13]")
        names = sorted(row["name"] for row in self.sql("select name from span"))
        self.assertEqual(names, ["aten::mm", "aten::mm", "iteration 1", "iteration 3"])

    def test_levels(self):
        self.run_section("steps", XSP_MODEL_RANGE="iteration *", XSP_LEVELS="M")
        self.assertEqual({row["level"] for row in self.sql("select level from span")}, {"model"})

    def test_output_is_that_of_the_plain_program(self):
        variables = {key: value for key, value in os.environ.items() if key != "NVTX_INJECTION64_PATH"}
        plain = subprocess.run([self.program, "steps"], env=variables, stdout=subprocess.PIPE, text=True, timeout=600)
        self.run_section("steps", output=plain.stdout)

    def test_without_a_session_it_declines(self):
        variables = {**os.environ, "NVTX_INJECTION64_PATH": str(TRACER)}
        variables.pop("XSP_SESSION", None)
        result = subprocess.run([self.program, "steps"], env=variables, timeout=600, stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.PIPE)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "done\n", ""))

    def test_without_the_preload(self):
        self.run_section("steps", preload=False) # the tracer joins the session by itself
        self.assertEqual(len(self.sql("select 1 from span")), 10)


PYTHON_PROGRAM = """
import threading
import numpy as np
import nvtx

domain = nvtx.get_domain("python")

@nvtx.annotate("decorated", color="red")
def function():
    pass

function()
with nvtx.annotate("integer", domain="python", category="io", payload=42):
    with nvtx.annotate("real", domain="python", payload=0.5):
        pass
record = np.array((3, 0.25), dtype=[("rank", np.int32), ("ratio", np.float64)])
with nvtx.annotate("record", domain="python", payload=record):
    pass
with nvtx.annotate("array", domain="python", payload=np.arange(4, dtype=np.int32)):
    pass
started = nvtx.start_range("process range", domain="python", payload=5)
thread = threading.Thread(target=nvtx.end_range, args=(started,))
thread.start()
thread.join()
nvtx.mark("marked", domain="python", payload=1)
nvtx.push_range("pushed")
nvtx.pop_range()
counter = domain.get_counter("bytes", np.int64)
counter.sample(5)
counter.batch_submit([6, 7], [domain.get_timestamp() for _ in range(2)])
pair = np.dtype([("hits", np.int32), ("share", np.float64)])
domain.get_counter("cache", pair).sample(np.array((1, 2.5), dtype=pair))
print("done")
"""


def has_package():
    return subprocess.run([PYTHON, "-c", "import nvtx, numpy; nvtx.get_domain('x').get_counter"],
                          stderr=subprocess.DEVNULL).returncode == 0


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "Python is not built with a sanitizer")
class PythonTest(Traced):
    def test_package(self):
        if not has_package():
            self.skipTest("the nvtx Python package is not installed")
        script = self.folder / "program.py"
        script.write_text(PYTHON_PROGRAM)
        self.trace([PYTHON, script], output="done\n")
        spans = self.spans()
        python = {"domain": "python"}
        self.assertEqual(spans["decorated"], [("application", None, {})])
        self.assertEqual(spans["integer"], [("application", "io", {**python, "payload": 42})])
        self.assertEqual(spans["real"], [("application", None, {**python, "payload": 0.5})])
        self.assertEqual(spans["record"], [("application", None, {**python, "rank": 3, "ratio": 0.25})])
        self.assertEqual(spans["array"], [("application", None, {**python, "size": 4, "data": "[0, 1, 2, 3]"})])
        self.assertEqual(spans["process range"], [("application", None, {**python, "payload": 5})])
        self.assertEqual(spans["marked"], [("application", "mark", {**python, "payload": 1})])
        self.assertIn("pushed", spans)
        self.assertEqual([tags["value"] for _, _, tags in spans["bytes"]], [5, 6, 7])
        self.assertEqual(spans["cache.hits"][0][2]["value"], 1)
        self.assertEqual(spans["cache.share"][0][2]["value"], 2.5)
        real = self.sql("select p.name from span s join span p on p.span_id = s.parent_id where s.name = 'real'")
        self.assertEqual(real, [{"name": "integer"}])


if __name__ == "__main__":
    unittest.main()
