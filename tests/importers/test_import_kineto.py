# SPDX-License-Identifier: Apache-2.0
"""PyTorch profiler traces: real ones against an independent reader and what others published about them, and small ones
of our own for every generation of the format."""
import fractions
import glob
import gzip
import json
import os
import re
import unittest

import trace_reader
from call_paths import span_paths
from scripted import temporary_folder, xsp, xsp_json

FOLDER = trace_reader.data_folder()
REAL = ("hta__amd_trace__mi250", "hta__cpu_only", "hta__critical_path__alexnet", "hta__critical_path__cuda_event_sync",
        "hta__triton_example", "hta__trace_diff__control", "hta__nccl_parser_config",
        "kineto__tb_plugin__samples__resnet50")
BY_OPERATOR = """select l.name, sum(e.duration_ns) as ns, count(*) as count from span e
                 join span l on l.run_id = e.run_id and l.span_id = e.layer_id
                 where e.kind = 'execution' and e.category {} group by 1"""


def import_file(path, folder, *options):
    """The report of an import, and the file it wrote."""
    out = os.path.join(folder, "t.xsp")
    return xsp_json("import", path, "-o", out, "--force", "--json", *options), out


def rows(out, sql):
    return xsp_json("sql", out, sql, "--json")


def device_time(out, category="= 'kernel'"):
    return {row["name"]: (row["count"], row["ns"]) for row in rows(out, BY_OPERATOR.format(category))}


# ---- real files ------------------------------------------------------------------------------------------------------
@unittest.skipIf(FOLDER is None, "no real traces: set XSP_TEST_DATA")
class RealTraces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = temporary_folder()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.loaded = {}

    def path(self, name):
        path, = glob.glob(os.path.join(FOLDER, "kineto", name + "*.gz"))
        return path

    def load(self, name):
        out = os.path.join(self.folder.name, name + ".xsp")
        if name not in self.loaded:
            self.loaded[name] = xsp_json("import", self.path(name), "-o", out, "--json")
        return self.loaded[name], out

    def check(self, name, categories, operators):
        """categories: {category: (executions, ns)}; operators: {name: ns of its kernels}."""
        _, out = self.load(name)
        found = rows(out, "select category, count(*) as count, sum(duration_ns) as ns from span where kind = 'execution'"
                          " group by 1")
        found = {row["category"]: (row["count"], row["ns"]) for row in found}
        for category, expected in categories.items():
            self.assertEqual(found[category], expected)
        sums = device_time(out)
        for operator, ns in operators.items():
            self.assertEqual(sums[operator][1], ns)
        return out, sums

    def test_alexnet_and_its_external_ids(self):
        _, sums = self.check("hta__critical_path__alexnet", {"kernel": (79, 10692000)},
                             {"aten::cudnn_convolution": 5371000, "aten::addmm": 2660000})
        # joined by External id, 71 us would be attributed
        self.assertEqual(sum(ns for _, ns in sums.values()), 10692000)

    def test_kernels_outside_operators(self):
        out, sums = self.check("hta__critical_path__cuda_event_sync", {"kernel": (4, 49000)}, {})
        self.assertEqual(sum(ns for _, ns in sums.values()), 13000)
        outside = rows(out, "select name, duration_ns from span where category = 'kernel' and layer_id is null")
        self.assertEqual(sum(row["duration_ns"] for row in outside), 36000)
        self.assertTrue(all("spin_kernel" in row["name"] for row in outside))

    def test_amd(self):
        out, _ = self.check("hta__amd_trace__mi250", {"kernel": (14, 110881), "memcpy": (2, 38161)},
                            {"aten::addmm": 24480})
        self.assertEqual(rows(out, "select value, count(*) as n from tag where key = 'copy_kind' group by 1"),
                         [{"value": "HtoD", "n": 2}])
        system = {row["key"]: row["value"] for row in rows(out, "select key, value from system")}
        self.assertEqual((system["gpu"], system["gpu_compute_capability"]), ("AMD Radeon Graphics", "9.0"))

    def test_triton(self):
        self.check("hta__triton_example", {"kernel": (1, 1760)}, {"triton_poi_fused_add_cos_sin_0": 1760})

    def test_dlrm(self):
        self.check("hta__trace_diff__control", {"kernel": (8568, 446813000)}, {})
        report, _ = self.load("hta__trace_diff__control")
        self.assertNotIn("no launch", report["unattributed"]["reasons"])

    def test_nccl(self):
        self.check("hta__nccl_parser_config", {"kernel": (2700, 162532340)}, {"record_param_comms": 46876493})
        report, out = self.load("hta__nccl_parser_config")
        self.assertIn("rank 0 of 2", " ".join(report["files"][0]["notes"]))
        # 2024-05-23 00:15:22 UTC: ts counts from baseTimeNanoseconds, which comes after the events
        first = rows(out, "select min(start_ns) as ns, r.epoch from span join run r using (run_id)")[0]
        self.assertEqual((first["epoch"], first["ns"] // 10 ** 9), ("unix", 1716423322))

    def test_no_gpu(self):
        _, out = self.load("hta__cpu_only")
        self.assertEqual(rows(out, "select distinct level from span where level = 'kernel'"), [])

    def test_resnet50_against_the_tables_of_another_tool(self):
        _, out = self.load("kineto__tb_plugin__samples__resnet50")
        with open(os.path.join(FOLDER, "kineto", "kineto__tb_plugin__test__result_check_file.txt")) as file:
            lines = [json.loads(line) for line in file.read().splitlines()]
        sums = device_time(out, "in ('kernel', 'memset', 'memcpy')")
        # that tool counts an operator within one of its own name as one call
        calls = {row["name"]: row["n"] for row in rows(out, "select s.name, count(*) as n from span s left join span p on"
                                                            " p.run_id = s.run_id and p.span_id = s.parent_id"
                                                            " where s.level = 'layer' and p.name is not s.name group by 1")}
        operators = lines[2]["data"]
        self.assertGreater(len(operators), 40)
        for row in operators:
            self.assertEqual(sums.get(row["name"], (0, 0))[1], row["device_self_duration"] * 1000, row["name"])
            self.assertEqual(calls[row["name"]], row["calls"])
        columns = [column["name"] for column in lines[3]["data"]["columns"]]
        name, count, total = (columns.index(key) for key in ("Name", "Calls", "Total Duration (us)"))
        kernels = rows(out, "select name, count(*) as n, sum(duration_ns) as ns from span where category = 'kernel'"
                            " group by 1")
        self.assertEqual({row["name"]: (row["n"], row["ns"]) for row in kernels},
                         {row[name]: (row[count], row[total] * 1000) for row in lines[3]["data"]["rows"]})
        self.assertEqual(sum(row["n"] for row in kernels), 8772)

    def test_every_span_and_parent_against_the_reader_in_python(self):
        for name in REAL:
            with self.subTest(name):
                trace = trace_reader.read(self.path(name))
                related = trace_reader.relate(trace)
                _, out = self.load(name)
                ours = rows(out, "select span_id, parent_id, name, start_ns, end_ns, kind, basis, correlation_id, category"
                                 " from span order by span_id")
                self.assertEqual(len(ours), len(trace.spans))
                kinds = ("sync", "launch", "execution")
                for at, (row, span) in enumerate(zip(ours, trace.spans)):
                    parent, basis = related[at]
                    self.assertEqual(
                        (row["span_id"], row["parent_id"], row["name"], row["start_ns"], row["end_ns"], row["kind"],
                         row["basis"], row["correlation_id"] or 0),
                        (at + 1, None if parent is None else parent + 1, trace.names[at], span.start, span.end,
                         kinds[span.kind], basis, span.correlation))
                    if span.level == trace_reader.KERNEL:
                        self.assertEqual(row["category"], trace.categories[at])
                expected = trace_reader.device_time(trace, related)
                expected.pop(None, None)
                # the oldest files call steps operators too; no kernel is directly in one
                self.assertEqual(device_time(out), expected)

    def test_nothing_is_lost(self):
        for name in REAL:
            with self.subTest(name):
                with gzip.open(self.path(name)) as file:
                    events = len(json.load(file)["traceEvents"])
                report, out = self.load(name)
                recorded = report["files"][0]
                self.assertEqual((recorded["format"], recorded["version"], recorded["events"]), ("kineto", "1", events))
                self.assertEqual(recorded["kept"] + sum(recorded["skipped"].values()), events)
                allocations = 12838 - recorded["skipped"]["memory freed"] - recorded["skipped"][
                    "memory allocated outside operators"] if "resnet50" in name else 0  # parts of operators' spans
                self.assertEqual(rows(out, "select count(*) as n from span")[0]["n"] + allocations, recorded["kept"])


# ---- files of our own ------------------------------------------------------------------------------------------------
class Decimal(str):
    """A number that the file has in exactly this notation."""


def dump(value):
    """JSON; Decimal texts become numbers."""
    class Encoder(json.JSONEncoder):
        def iterencode(self, item, *arguments, **options):
            return super().iterencode(self.mark(item), *arguments, **options)

        def mark(self, item):
            if isinstance(item, Decimal):
                return f"@@{item}@@"
            if isinstance(item, dict):
                return {key: self.mark(entry) for key, entry in item.items()}
            return [self.mark(entry) for entry in item] if isinstance(item, list) else item
    return re.sub(r'"@@(.*?)@@"', r"\1", json.dumps(value, cls=Encoder))


def event(category, name, ts, dur, pid=100, tid=100, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
            "args": {key.replace("_", " "): value for key, value in arguments.items()}}


def operator(name, ts, dur, **options):
    return event("cpu_op", name, ts, dur, **options)


def call(correlation, ts, dur, name="cudaLaunchKernel", category="cuda_runtime", **options):
    return event(category, name, ts, dur, correlation=correlation, **options)


def kernel(correlation, ts, dur, name="k", category="kernel", device=0, stream=7, **options):
    return event(category, name, ts, dur, pid=device, tid=stream, device=device, stream=stream, correlation=correlation,
                 **options)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = temporary_folder()
        self.addCleanup(self.folder.cleanup)

    def write(self, events, before=None, after=None, name="t.json"):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as file:
            file.write(dump({**({"schemaVersion": 1} if before is None else before), "traceEvents": events,
                             **(after or {})}))
        return path

    def load(self, events, *options, **keys):
        self.report, self.out = import_file(self.write(events, **keys), self.folder.name, *options)
        return {row["name"]: row for row in rows(self.out, "select s.*, p.name as parent, l.name as layer from span s"
                                                           " left join span p on p.span_id = s.parent_id"
                                                           " left join span l on l.span_id = s.layer_id")}

    def tags(self, name):
        found = rows(self.out, f"select key, value from tag join span using (run_id, span_id) where name = '{name}'")
        self.assertEqual(len(found), len({row["key"] for row in found}), "a key twice")
        return {row["key"]: row["value"] for row in found}


class Generations(Case):
    def test_2021(self):
        spans = self.load([
            {"ph": "M", "name": "thread_name", "pid": 100, "tid": "101", "ts": 5, "args": {"name": "thread 101 (python)"}},
            event("Operator", "ProfilerStep#5", 1623142623460000, 900, tid="101", Device=100),
            event("Operator", "aten::add", 1623142623460100, 100, tid="101", External_id=7, Trace_name="PyTorch Profiler",
                  Trace_iteration=0, Call_stack="inner.py(1): f;outer.py(2): <module>", Input_Dims=[[2, 3], []]),
            call(9, 1623142623460120, 10, category="Runtime", tid="101", external_id=7),
            event("Kernel", "k", 1623142623460200, 40, pid=0, tid="stream 7", correlation=9, external_id=7),
            event("Memset", "Memset (Device)", 1623142623460300, 2, pid=0, tid="stream 7", correlation=99),
            event("Memcpy", "Memcpy DtoH (Device -> Pageable)", 1623142623460400, 2, pid=0, tid="stream 20",
                  bytes=4096, correlation=98),
            {"ph": "s", "cat": "async", "name": "launch", "id": 9, "pid": 100, "tid": "101", "ts": 1},
            {"ph": "i", "s": "t", "name": "[memory]", "pid": 100, "tid": 101, "ts": 1, "args": {"Bytes": 4}},
            event("Trace", "PyTorch Profiler (0)", 1, 2, pid="Traces", tid="PyTorch Profiler"),
        ])
        self.assertEqual({name: (row["level"], row["kind"], row["category"], row["parent"]) for name, row in spans.items()}, {
            "ProfilerStep#5": ("model", "sync", None, None),
            "aten::add": ("layer", "sync", None, "ProfilerStep#5"),
            "cudaLaunchKernel": ("kernel", "launch", "api", "aten::add"),
            "k": ("kernel", "execution", "kernel", "aten::add"),
            "Memset (Device)": ("kernel", "execution", "memset", None),
            "Memcpy DtoH (Device -> Pageable)": ("kernel", "execution", "memcpy", None)})
        no_rank = {"rank": None, "local_rank": None, "world_size": None}
        self.assertEqual(rows(self.out, "select * from track order by track_id"), [
            {"run_id": 1, "track_id": 1, "name": "thread 101 (python)", "host": None, "process_id": 100, "thread_id": 101,
             "device_id": None, "stream_id": None, "clock": None, **no_rank},
            {"run_id": 1, "track_id": 2, "name": None, "host": None, "process_id": None, "thread_id": None,
             "device_id": 0, "stream_id": 7, "clock": None, **no_rank},
            {"run_id": 1, "track_id": 3, "name": None, "host": None, "process_id": None, "thread_id": None,
             "device_id": 0, "stream_id": 20, "clock": None, **no_rank}])
        self.assertEqual(self.tags("aten::add"), {"layer_type": "aten::add", "external_id": 7, "Input Dims": "[[2,3],[]]",
                                                  "alloc_bytes": 0, "alloc_own_bytes": 0, "layer_index": 0})
        self.assertEqual(span_paths(self.out, "name = 'aten::add'"),
                         [("aten::add", ["<module> outer.py:2", "f inner.py:1", "aten::add"])])
        self.assertEqual(self.tags("Memcpy DtoH (Device -> Pageable)"),
                         {"copy_kind": "DtoH", "bytes": 4096, "recorded_correlation": 98})
        self.assertEqual(self.report["files"][0]["skipped"],
                         {"metadata": 1, "flow": 1, "memory allocated outside operators": 1, "profiler span": 1})
        self.assertEqual(rows(self.out, "select epoch from run"), [{"epoch": "unix"}])
        self.assertEqual(rows(self.out, "select count(*) as n from observation where span_id = 1"), [{"n": 1}])

    BASE = 1735632360000000000

    def test_2024_decimals_and_their_base(self):
        exact = [operator("a", Decimal("4203669604595.407"), Decimal("340.024")),
                 operator("b", Decimal("4203669604935.4319"), Decimal("0.0009")),  # its end is 435.4328: rounded down
                 operator("c", 4203669604940, 0)]
        base = {"baseTimeNanoseconds": self.BASE}
        for place in ("before", "after"):
            with self.subTest(place):
                keys = {"before": {"schemaVersion": 1, **base}} if place == "before" else {"after": base}
                spans = self.load(exact, **keys)
                self.assertEqual([(spans[name]["start_ns"] - self.BASE, spans[name]["end_ns"] - self.BASE)
                                  for name in "abc"],
                                 [(4203669604595407, 4203669604935431), (4203669604935431, 4203669604935432),
                                  (4203669604940000, 4203669604940000)])
                self.assertEqual(rows(self.out, "select epoch from run"), [{"epoch": "unix"}])
                self.assertEqual(rows(self.out, f"select name from span where start_ns = {self.BASE + 4203669604940000}"),
                                 [{"name": "c"}])

    def test_times_of_a_long_file_are_moved_everywhere(self):
        spans = [operator("op", 10 + 2 * i, 1) for i in range(70000)]
        self.load(spans + [event("user_annotation", "ProfilerStep#1", 0, 200000)],
                  after={"baseTimeNanoseconds": self.BASE})
        found = rows(self.out, "select min(start_ns) as least, max(end_ns) as most, count(*) as n from span")[0]
        self.assertEqual((found["least"], found["most"], found["n"]), (self.BASE, self.BASE + 200000000, 70001))
        self.assertEqual(rows(self.out, "select start_ns from observation"), [{"start_ns": self.BASE}])
        self.assertEqual(rows(self.out, "select count(*) as n from span where basis = 'containment'"), [{"n": 70000}])

    def test_times_of_no_known_zero(self):
        spans = self.load([operator("a", 12, 3)])
        self.assertEqual((spans["a"]["start_ns"], rows(self.out, "select epoch from run")[0]["epoch"]), (12000, "trace"))

    def test_amd(self):
        spans = self.load([
            operator("aten::mm", 100, 100),
            call(5, 110, 10, "hipExtModuleLaunchKernel", cid=1, kernel="Cijk", grid=[Decimal("64"), 1, 1], block=[256, 1, 1],
                 stream="0x0"),
            call(6, 130, 10, "hipMemcpyWithStream", kind="1", size="2560"),
            kernel(5, 150, 20, "Cijk", device=2, stream=0, kind="Kernel"),
            kernel(6, 180, 20, "CopyHostToDevice", category="gpu_memcpy", device=2, stream=0)])
        self.assertEqual((spans["Cijk"]["layer"], spans["Cijk"]["basis"]), ("aten::mm", "correlation"))
        self.assertEqual(self.tags("hipExtModuleLaunchKernel"), {
            "recorded_correlation": 5, "cid": 1, "kernel": "Cijk", "grid": "[64,1,1]", "block": "[256,1,1]",
            "stream": "0x0"})
        self.assertEqual(self.tags("CopyHostToDevice"), {"recorded_correlation": 6, "copy_kind": "HtoD"})
        self.assertEqual(self.tags("Cijk"), {"recorded_correlation": 5, "kind": "Kernel"})

    def test_other_makers(self):
        spans = self.load([
            call(1, 0, 5, "zeEnqueue", category="xpu_runtime"),
            call(2, 10, 5, "mtiaLaunch", category="mtia_runtime"),
            call(3, 20, 5, "launch", category="PrivateUse1_Driver"),
            kernel(2, 30, 5, "mtia kernel", category="mtia_ccp_events"),
            kernel(3, 40, 5, "op on hpu", category="hpu_op"),
            kernel(4, 50, 5, "wait", category="cuda_sync"),
            kernel(4, 60, 5, "insight", category="mtia_insight")])
        self.assertEqual({name: (row["kind"], row["category"]) for name, row in spans.items()}, {
            "zeEnqueue": ("sync", "api"), "mtiaLaunch": ("launch", "api"), "launch": ("launch", "api"),
            "mtia kernel": ("execution", "other"), "op on hpu": ("execution", "other"), "wait": ("execution", "sync"),
            "insight": ("execution", "other")})


    def test_a_file_of_one_category(self):
        """The recogniser and the reader have one table: such a file is not a Chrome trace at application level."""
        with temporary_folder() as folder:
            for category, stored in (("xpu_sync", "sync"), ("mtia_op", "other"), ("cuda_event", "other")):
                path = f"{folder}/{category}.json"
                with open(path, "w") as file:
                    json.dump([{"ph": "X", "cat": category, "name": "wait", "ts": 0, "dur": 5, "pid": 0, "tid": 7,
                                "args": {"device": 0, "stream": 7}}], file)
                report, out = import_file(path, folder)
                self.assertEqual(report["files"][0]["format"], "kineto", category)
                self.assertEqual(xsp_json("sql", out, "select level, category from span", "--json"),
                                 [{"level": "kernel", "category": stored}], category)


class Attribution(Case):
    def test_external_ids_that_are_correlation_ids_attribute_nothing(self):
        spans = self.load([
            operator("aten::wrong", 0, 10, External_id=7), operator("aten::right", 20, 30, External_id=3),
            call(7, 25, 5, External_id=7), kernel(7, 100, 9, External_id=7),
            operator("aten::other", 60, 10, External_id=8), kernel(8, 120, 9, "lost", External_id=8)])
        self.assertEqual(spans["k"]["layer"], "aten::right")
        self.assertEqual((spans["lost"]["parent"], spans["lost"]["basis"]), (None, "none"))
        self.assertEqual(self.report["unattributed"]["count"], 1)
        self.assertEqual(self.report["unattributed"]["duration_ns"], 9000)
        self.assertEqual(list(self.report["unattributed"]["reasons"]), ["no launch"])

    def test_a_driver_call_within_a_runtime_call(self):
        for order in (1, -1):
            spans = self.load([operator("aten::mm", 0, 50)] + [call(4, 10, 20), call(4, 15, 10, "cuLaunchKernel",
                              category="cuda_driver")][::order] + [kernel(4, 40, 5)])
            self.assertEqual({name: row["kind"] for name, row in spans.items()}, {
                "aten::mm": "sync", "cudaLaunchKernel": "launch", "cuLaunchKernel": "sync", "k": "execution"})
            # host calls are not parents
            self.assertEqual({row["parent"] for row in spans.values()}, {None, "aten::mm"})

    def test_a_graph_launch_has_many_kernels(self):
        spans = self.load([operator("replay", 0, 50), call(4, 10, 20, "cudaGraphLaunch")] +
                          [kernel(4, 40 + 10 * i, 5, f"k{i}") for i in range(3)])
        self.assertEqual([spans[f"k{i}"]["layer"] for i in range(3)], ["replay"] * 3)

    def test_threads_that_overlap(self):
        spans = self.load([operator("one", 0, 100, tid=1), operator("two", 5, 90, tid=2), call(1, 10, 5, "a", tid=1),
                           call(2, 10, 5, "b", tid=2), kernel(1, 20, 5, "ka"), kernel(2, 30, 5, "kb")])
        self.assertEqual((spans["ka"]["layer"], spans["kb"]["layer"]), ("one", "two"))

    def test_equal_thread_ids_of_two_processes(self):
        spans = self.load([operator("outer", 0, 100, pid=1), operator("inner", 10, 10, pid=2)])
        self.assertIsNone(spans["inner"]["parent"])

    def test_autograd_threads(self):
        self.load([operator("aten::mm", 0, 10, Sequence_number=4, Fwd_thread_id=0),
                   operator("MmBackward0", 20, 10, tid=2, Sequence_number=4, Fwd_thread_id=1),
                   operator("aten::ones", 40, 10, Sequence_number=-1)])
        self.assertEqual([self.tags(name).get("sequence") for name in ("aten::mm", "MmBackward0", "aten::ones")],
                         [4, 4, None])
        self.assertEqual(self.tags("MmBackward0")["Fwd thread id"], 1)

    def test_an_annotation_within_an_operator(self):
        spans = self.load([operator("aten::mm", 0, 50), event("user_annotation", "mine", 5, 40), call(1, 10, 5),
                           kernel(1, 20, 5)])
        self.assertEqual(spans["k"]["parent"], "aten::mm")
        self.assertEqual(spans["mine"]["level"], "model")

    def test_steps_and_the_model_range(self):
        events = [event("user_annotation", "forward 1", 0, 10), event("user_annotation", "other", 20, 10),
                  operator("## forward 2 ##", 40, 10), event("python_function", "nn.Module: forward 3", 60, 10)]
        spans = self.load(events)
        self.assertEqual([row["n"] for row in rows(self.out, "select count(*) as n from observation")], [2])
        self.assertEqual(spans["## forward 2 ##"]["level"], "layer")
        for model_range, expected in (("*forward*", [1]), ("*", [1, 2]), ("## forward*", [3]), ("nn.Module: forward*", [4])):
            spans = self.load(events, "--model-range", model_range)
            self.assertEqual([row["span_id"] for row in rows(self.out, "select span_id from observation")], expected)
            self.assertEqual({row["span_id"] for row in spans.values() if row["level"] == "model"}, {1, 2} | set(expected))

    def test_copies_of_annotations_on_the_device_are_no_spans(self):
        spans = self.load([kernel(1, 0, 5), event("gpu_user_annotation", "copy", 0, 5, pid=0, tid=7),
                           event("MTIA_user_annotation", "copy", 0, 5, pid=0, tid=7)])
        self.assertEqual(list(spans), ["k"])
        self.assertEqual(self.report["files"][0]["skipped"], {"device's copy of an annotation": 2})


class MergedRanks(Case):
    """Traces of several ranks in one file: threads, streams, correlation and External ids repeat."""
    KERNELS = ("select k.name, o.name as layer, k.basis, t.process_id, t.host, t.device_id, t.name as track, k.track_id "
               "from span k join track t using (run_id, track_id) left join span o on o.span_id = k.layer_id "
               "where k.kind = 'execution' order by k.name")

    def rank(self, name, start, pid, external=1):
        """An operator, its call and its kernel, which comes first in the file. `pid` makes a rank's pids."""
        return [{**kernel(1, start + 20, 5, f"k{name}", External_id=external), "pid": pid(0)},
                operator(f"op{name}", start, 10, pid=pid(123), tid=7, External_id=external),
                call(1, start + 2, 5, pid=pid(123), tid=7, External_id=external)]

    def merge(self, *ranks):
        self.load(sum(ranks, []))
        return rows(self.out, self.KERNELS)

    def test_labels_before_pids(self):
        kernels = self.merge(self.rank("A", 0, lambda pid: f"[TP00] {pid}"),
                             self.rank("B", 1, lambda pid: f"[TP01-DP02] {pid + 1 if pid else pid}"),
                             [{"ph": "M", "name": "thread_name", "pid": "[TP00] 0", "tid": 7, "args": {"name": "stream 7 "}}])
        self.assertEqual([(row["name"], row["layer"], row["basis"], row["process_id"], row["device_id"], row["track"])
                          for row in kernels],
                         [("kA", "opA", "correlation", 123, 0, "TP00 stream 7"),
                          ("kB", "opB", "correlation", 124, 0, "TP01-DP02")])
        self.assertEqual(rows(self.out, "select count(*) as n from track")[0]["n"], 4)
        self.assertEqual(rows(self.out, "select distinct process_id, rank, world_size from track order by 1"),
                         [{"process_id": 123 + i, "rank": i, "world_size": 2} for i in range(2)])
        self.assertIn("2 ranks were merged into this file: each is a process", str(self.report["files"][0]["notes"]))

    def test_labels_without_brackets(self):
        kernels = self.merge(*(self.rank(f"{i}", i, lambda pid, i=i: f"rank{i} {pid}") for i in (10, 2)))
        self.assertEqual([(row["name"], row["layer"], row["basis"], row["process_id"], row["host"], row["track"]) for row in kernels],
                         [(f"k{i}", f"op{i}", "correlation", 123, f"rank{i}", f"rank{i}") for i in (10, 2)])
        self.assertEqual(rows(self.out, "select distinct host, rank from track order by rank"),
                         [{"host": "rank2", "rank": 0}, {"host": "rank10", "rank": 1}])

    def test_ranks_that_have_one_pid(self):
        kernels = self.merge(*(self.rank(name, i, lambda pid, i=i: f"[TP0{i}] {pid}") for i, name in enumerate("AB")))
        self.assertEqual([(row["name"], row["layer"], row["process_id"], row["host"]) for row in kernels],
                         [("kA", "opA", 123, "TP00"), ("kB", "opB", 123, "TP01")])

    def test_pids_that_were_shifted(self):
        shifted = [lambda pid: pid, lambda pid: pid + 10_000_000]
        kernels = self.merge(self.rank("A", 0, shifted[0], external=5), self.rank("B", 1, shifted[1], external=6))
        self.assertEqual([(row["name"], row["layer"]) for row in kernels], [("kA", "opA"), ("kB", "opB")])
        self.assertEqual(len({row["track_id"] for row in kernels}), 2)
        kernels = self.merge(self.rank("A", 0, shifted[0]), self.rank("B", 1, shifted[1]))
        self.assertEqual([(row["layer"], row["basis"]) for row in kernels], [(None, "ambiguous")] * 2)

    def test_brackets_that_are_no_label(self):
        for pid in ("[TP00]", "[] 5", "[TP00 5", "[TP00]5", "rank 5", "rank0", "rank0 ", "rank0 five", "python 5"):
            self.load([operator("a", 0, 1, pid=pid, tid=1)])
            self.assertEqual(rows(self.out, "select process_id from track"), [{"process_id": None}])
            self.assertEqual(self.report["files"][0]["notes"], [])


class Paddle(Case):
    """As PaddlePaddle's profiler writes traces: `ts` in whole µs, the rest in the arguments."""
    ZERO_US = 1_700_000_000_000_000

    def event(self, category, name, start, end, lane="C++", **arguments):
        is_device = category in ("Kernel", "Memcpy")
        return {"ph": "X", "cat": category, "name": f"{name}[{end - start:.3f} us]", "pid": 0 if is_device else 50,
                "tid": 7 if is_device else f"50({lane})", "ts": int(self.ZERO_US + 0.4 + start),
                "dur": Decimal(f"{end - start:.3f}"), "args": {
                    **arguments, "start_time": f"{start:.3f} us", "end_time": f"{end:.3f} us"}}

    def read(self, events, key="span_indx"):
        return self.load(events, before={"schemaVersion": "1.0.0", "displayTimeUnit": "ms", key: "0"})

    def test_the_key_of_3_3(self):
        spans = self.read([self.event("ProfileStep", "ProfileStep#1", 0, 90), self.event("Operator", "conv2d dygraph", 10, 20)], "span_index")
        self.assertEqual({name: row["level"] for name, row in spans.items()}, {"ProfileStep#1": "model", "conv2d dygraph": "layer"})

    def test_operators_steps_and_kernels(self):
        spans = self.read([
            self.event("ProfileStep", "ProfileStep#1", 0.1, 99.9, "Python"),
            self.event("Operator", "conv2d dygraph", 10.9, 20.2), self.event("OperatorInner", "conv2d compute", 10.95, 20.15),
            self.event("CudaRuntime", "cudaLaunchKernel", 12, 14, **{"correlation id": 3}),
            self.event("Kernel", "gemm[0]", 30, 40.25, **{"correlation id": 3, "device": 0, "stream": 7}),
            self.event("Operator", "conv2d dygraph", 120, 128.471), self.event("Forward", "Forward", 119, 140, "Python"),
            self.event("ProfileStep", "ProfileStep#2", 110, 150, "Python"), self.event("ProfileStep", "ProfileStep#3", 150, 150.3)])
        found = {name: (row["level"], row["parent"], row["end_ns"] - row["start_ns"]) for name, row in spans.items()}
        self.assertEqual(found, {
            "ProfileStep#1": ("model", None, 99800), "ProfileStep#2": ("model", None, 40000),
            "conv2d dygraph": ("layer", "Forward", 8471), "conv2d compute": ("layer", "conv2d dygraph", 9200),
            "Forward": ("model", "ProfileStep#2", 21000), "cudaLaunchKernel": ("kernel", "conv2d compute", 2000),
            "gemm[0]": ("kernel", "conv2d compute", 10250)})
        self.assertEqual([row["name"] for row in rows(self.out, "select s.name from observation join span s using "
                                                                "(run_id, span_id) order by s.start_ns")],
                         ["ProfileStep#1", "ProfileStep#2"])
        self.assertEqual(self.report["files"][0]["skipped"], {"empty step": 1})
        self.assertEqual(rows(self.out, "select framework from experiment"), [{"framework": "paddle"}])
        self.assertEqual(rows(self.out, "select count(*) as n from track where thread_id = 50"), [{"n": 1}])
        self.assertEqual(self.tags("gemm[0]"), {"recorded_correlation": 3})

    def test_other_writers_keep_their_names(self):
        spans = self.load([operator("a[1.5 us]", 0, 2), event("user_annotation", "ProfileStep#1", 0, 0)])
        self.assertEqual(sorted(spans), ["ProfileStep#1", "a[1.5 us]"])
        spans = self.read([{**operator(name, i, 1), "args": {}} for i, name in enumerate(
            ("a[1.5 us]", "b[3 ms]", "c[0]", "d[1.5 kg]", "e[x us]", "f[1 us] ", "[2 us]"))])
        self.assertEqual(sorted(spans), ["", "a", "b", "c[0]", "d[1.5 kg]", "e[x us]", "f[1 us] "])


class PythonFrames(Case):
    def frame(self, name, ts, dur, tid=100):
        return event("python_function", name, ts, dur, tid=tid, Python_id=1)

    def test_paths_and_modules(self):
        spans = self.load([
            operator("aten::linear", 30, 20), operator("aten::mm", 32, 10), call(1, 70, 5, "cudaFree"),
            operator("elsewhere", 30, 20, tid=2),
            self.frame("train.py(9): <module>", 0, 100), self.frame("nn.Module: Linear_12", 20, 40),
            self.frame("module.py(5): forward", 25, 30)])
        self.assertEqual({name: (row["level"], row["category"], row["parent"]) for name, row in spans.items()}, {
            "nn.Module: Linear_12": ("layer", "module", None),
            "aten::linear": ("layer", None, "nn.Module: Linear_12"), "aten::mm": ("layer", None, "aten::linear"),
            "cudaFree": ("kernel", "api", None), "elsewhere": ("layer", None, None)})
        main, module = "<module> train.py:9", "nn.Module: Linear_12"
        linear = [main, module, "forward module.py:5", "aten::linear"]
        self.assertEqual(dict(span_paths(self.out)), {
            "aten::linear": linear, "aten::mm": [*linear, "aten::mm"], "cudaFree": [main, "cudaFree"],
            "elsewhere": None, module: [main, module]})
        kinds = rows(self.out, "select name, kind from frame order by name")
        self.assertEqual({row["name"]: row["kind"] for row in kinds}, {
            "<module>": "python", "forward": "python", module: "framework", "aten::linear": "framework",
            "aten::mm": "framework", "cudaFree": "native"})
        self.assertEqual(self.tags("nn.Module: Linear_12")["layer_type"], "Linear")
        self.assertEqual(self.report["files"][0]["skipped"], {"Python frame, now call path": 2})
        self.assertRegex(" ".join(self.report["files"][0]["notes"]), "2 .*frames.* 4 spans")

    def test_a_generator_has_one_frame(self):
        """torch.profiler names it by the line of its yield when it goes on, and records from which line frames are called."""
        def frame(number, name, ts, dur, caller=None, line=None):
            called = {"Python_parent_id": caller, "CallFrom": line} if caller else {"CallFrom": "a.py:1"}
            return [event("python_function", name, ts, dur, tid=100, Python_id=number, **called), operator("op", ts + 1, 1)]
        self.load(sum((
            frame(1, "a.py(35): main", 0, 1000),
            frame(2, "a.py(15): batches", 10, 50, 1, "a.py:36"), frame(3, "b.py(1): ones", 20, 5, 2, "a.py:16"),
            frame(4, "b.py(9): relu", 30, 5, 2, "a.py:18"),  # in the line of the first yield
            frame(5, "a.py(6): forward", 70, 20, 1, "a.py:37"), frame(6, "b.py(1): ones", 80, 5, 5, "a.py:8"),
            frame(7, "a.py(11): forward", 100, 20, 1, "a.py:38"), frame(8, "b.py(1): ones", 110, 5, 7, "a.py:12"),
            frame(9, "a.py(18): batches", 130, 50, 1, "a.py:36"), frame(10, "b.py(1): ones", 140, 5, 9, "a.py:19"),
            frame(11, "a.py(20): batches", 190, 50, 1, "a.py:36"), frame(12, "b.py(1): ones", 200, 5, 11, "a.py:16"),
            frame(13, "a.py(22): batches", 250, 50, 1, "a.py:36"),  # called nothing where it stopped
            frame(14, "c.py(2): batches", 310, 50, 1, "a.py:39"), frame(15, "b.py(1): ones", 320, 5, 14, "a.py:12"),
            frame(16, "a.py(50): <lambda>", 370, 50, 1, "a.py:40"), frame(17, "b.py(1): ones", 380, 5, 16, "a.py:53"),
            frame(18, "a.py(52): <lambda>", 430, 50, 1, "a.py:41")), []))
        found = rows(self.out, "select distinct name, file, line from frame where kind = 'python' order by file, line")
        self.assertEqual([tuple(row.values()) for row in found], [
            ("forward", "a.py", 6), ("forward", "a.py", 11), ("batches", "a.py", 15), ("batches", "a.py", 22), ("main", "a.py", 35),
            ("<lambda>", "a.py", 50), ("<lambda>", "a.py", 52), ("ones", "b.py", 1), ("relu", "b.py", 9), ("batches", "c.py", 2)])

    def test_a_kernel_ends_the_path_of_its_operator(self):
        self.load([self.frame("train.py(9): <module>", 0, 100), operator("aten::mm", 10, 30),
                   call(7, 20, 5), kernel(7, 60, 20, name="gemm"), kernel(8, 90, 1, name="alone")])
        path = ["<module> train.py:9", "aten::mm"]
        self.assertEqual(span_paths(self.out), [
            ("aten::mm", path), ("cudaLaunchKernel", [*path, "cudaLaunchKernel"]), ("gemm", [*path, "gemm"]),
            ("alone", None)])
        self.assertEqual(rows(self.out, "select sum, metric from context_metric join context using (context_id)"
                                        " where parent_id is null order by metric"),
                         [{"sum": 20000, "metric": "device_ns"}, {"sum": 30000, "metric": "host_ns"},
                          {"sum": 1, "metric": "launches"}])

    def test_names_of_frames(self):
        names = {"a (1)/b.py(12): f": ("f", "a (1)/b.py", 12), "<built-in method mm of type object at 0x7f>": None,
                 "c.py(0): g": None, "(7): h": None, "d.py(7): ": None, "e.py(8): i (9): j": ("i (9): j", "e.py", 8)}
        self.load([operator("op", 0, 1), *(self.frame(name, -20 + i, 100 - i) for i, name in enumerate(names))])
        found = rows(self.out, "select name, file, line from frame where kind = 'python' order by frame_id")
        self.assertEqual([tuple(row.values()) for row in found],
                         [split or (name, None, None) for name, split in names.items()])

    def test_steps_do_not_split_paths(self):
        self.load([self.frame("train.py(9): <module>", 0, 100), event("user_annotation", "ProfilerStep#1", 1, 40),
                   operator("aten::mm", 10, 5), event("user_annotation", "ProfilerStep#2", 50, 40), operator("aten::mm", 60, 5)])
        path = ["<module> train.py:9", "aten::mm"]
        self.assertEqual(span_paths(self.out), [("ProfilerStep#1", None), ("aten::mm", path), ("ProfilerStep#2", None),
                                                ("aten::mm", path)])

    def test_module_types(self):
        names = {"nn.Module: Conv2d_0": "Conv2d", "nn.Module: Layer_1_22": "Layer_1", "nn.Module: ResNet": "ResNet",
                 "nn.Module: _3": "_3", "nn.Module: x9": "x9"}
        self.load([self.frame(name, 10 * i, 5) for i, name in enumerate(names)])
        for name, kind in names.items():
            self.assertEqual(self.tags(name)["layer_type"], kind)


class Values(Case):
    def test_tags_keep_type_and_key(self):
        self.load([kernel(1, 0, 5, queued=0, context=1, registers_per_thread=38, shared_memory=16384, grid=[50, 2, 1],
                          block=[256, 1, 1], blocks_per_SM=Decimal("0.625"), small=Decimal("1e-05"), many=Decimal("1" * 25),
                          huge=Decimal("1e999"), yes=True, no=False, nothing=None, empty="", text="a b",
                          occupancy={"limits": ["a b", "c\\\"d"], "n": [1, 2]}, bytes=7, external_id=3)])
        self.assertEqual(self.tags("k"), {
            "recorded_correlation": 1, "context": 1, "registers": 38, "shared_bytes": 16384, "grid": "[50,2,1]",
            "block": "[256,1,1]", "blocks per SM": 0.625, "small": 1e-05, "many": "1" * 25, "huge": "1e999", "yes": 1,
            "no": 0, "text": "a b", "occupancy": '{"limits":["a b","c\\\\\\"d"],"n":[1,2]}', "bytes": 7, "external_id": 3})

    def test_estimated_occupancy_is_not_measured(self):
        arguments = {"est. achieved occupancy %": 40}
        self.load([kernel(1, 0, 5, **arguments)])
        self.assertEqual(self.tags("k"), {"recorded_correlation": 1, **arguments})

    def test_of_a_repeated_key_the_last_counts(self):
        path = self.write([])
        with open(path, "w") as file:
            file.write('{"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7,'
                       '"ts": 1, "dur": 2, "args": {"a": 1, "correlation": 1, "b": 5, "a": 2, "correlation": 2}}]}')
        self.report, self.out = import_file(path, self.folder.name)
        self.assertEqual(self.tags("k"), {"a": 2, "b": 5, "recorded_correlation": 2})
        self.assertEqual(rows(self.out, "select correlation_id from span"), [{"correlation_id": 2}])

    def test_more_keys_and_categories_than_a_table_holds(self):
        self.load([event(f"kind {i % 400}", "x" if i else "first", i, 1, **{f"key {i}": i}) for i in range(600)])
        self.assertEqual(rows(self.out, "select count(distinct key) as n, sum(value) as sum from tag"),
                         [{"n": 600, "sum": sum(range(600))}])
        self.assertEqual(rows(self.out, "select count(distinct category) as n from span"), [{"n": 400}])
        self.assertEqual(self.tags("first"), {"key 0": 0})

    def test_correlation_ids_that_are_none(self):
        spans = self.load([call(0, 0, 5, "zero"), kernel(0, 10, 5), call("x", 20, 5, "text"), call(-1, 30, 5, "minus"),
                           call(Decimal("9" * 30), 40, 5, "huge"), call(Decimal("7.5"), 50, 5, "part")])
        self.assertEqual({row["correlation_id"] for row in spans.values()}, {None})
        self.assertEqual({row["kind"] for row in spans.values()}, {"sync", "execution"})
        self.assertEqual([self.tags(name)["recorded_correlation"] for name in ("zero", "text", "minus", "huge", "part")],
                         [0, "x", -1, "9" * 30, 7.5])

    def test_places_that_are_no_numbers(self):
        self.load([operator("a", 0, 1, pid="host", tid="main"), kernel(1, 0, 1, device="gpu", stream="copy"),
                   {"ph": "X", "cat": "cpu_op", "name": "b", "ts": 5, "dur": 1}])
        self.assertEqual([(row["name"], row["process_id"], row["thread_id"], row["device_id"], row["stream_id"])
                          for row in rows(self.out, "select * from track order by track_id")],
                         [("main", None, None, None, None), ("copy", None, None, None, None), (None,) * 5])

    def test_times_in_quotes(self):
        self.load([operator("aten::a", "1700000000000000.1239", "2.0002"), call(1, "1700000000000000.125", 1),
                   kernel(1, "1700000000000010", "3.5")])
        self.assertEqual([(row["start_ns"], row["end_ns"]) for row in rows(self.out, "select * from span order by span_id")],
                         [(1700000000000000123, 1700000000000002124), (1700000000000000125, 1700000000000001125),
                          (1700000000000010000, 1700000000000013500)])
        self.assertEqual(device_time(self.out), {"aten::a": (1, 3500)})

    def test_nonsense_is_skipped_and_counted(self):
        spans = self.load([operator("a", 0, 1), operator("b", 10, -1), {"ph": "X", "cat": "cpu_op", "name": "c", "dur": 1},
                           {"ph": "X", "cat": "cpu_op", "name": "d", "ts": 1}, {"ph": "Q"}, {}, operator("e", "one", 2),
                           {"ph": "C", "name": "n", "ts": 1}])
        self.assertEqual(list(spans), ["a"])
        self.assertEqual(self.report["files"][0]["skipped"], {
            "negative duration": 1, "no start time": 2, "no duration": 1, "phase other than X": 2, "counter": 1})
        self.assertEqual((self.report["files"][0]["events"], self.report["files"][0]["kept"]), (8, 1))

    def test_invalid_utf8(self):
        path = self.write([operator("NAME", 0, 1)])
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(data.replace(b"NAME", b"na\xffme"))
        _, self.out = import_file(path, self.folder.name)
        self.assertEqual(rows(self.out, "select name from span"), [{"name": "na\ufffdme"}])

    def test_facts_of_the_machine(self):
        devices = [{"id": i, "name": f"GPU {i}", "totalGlobalMem": 1000 + i, "computeMajor": 8, "computeMinor": i,
                    "numSms": 100 + i, "nested": {"id": 9, "list": [{"name": "x"}]}} for i in range(3)]
        keys = {"deviceProperties": devices, "cuda_driver_version": 12040, "cupti_version": "18", "record_shapes": 1,
                "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{"rank": 7}],
                                    "nccl_version": "2.17.1"}, "INFO": ["a_version"], "torch_version": "2.4.1", "host_name": "node7"}
        for place in ({"before": keys}, {"after": keys}):
            self.load([kernel(1, 0, 5, device=1), kernel(2, 10, 5, device=2), kernel(3, 20, 5, device=2, stream=9)], **place)
            self.assertEqual({row["key"]: row["value"] for row in rows(self.out, "select key, value from system")}, {
                "gpu": "GPU 2", "gpu_count": 3, "gpu_memory_bytes": 1002, "gpu_multiprocessors": 102,
                "gpu_compute_capability": "8.2", "cuda_driver_version": 12040, "cupti_version": "18", "world_size": 8,
                "distributed_backend": "nccl", "nccl_version": "2.17.1", "host": "node7"})
            self.assertEqual({row["host"] for row in rows(self.out, "select host from track")},
                             {"node7" if "before" in place else None})
            self.assertEqual(rows(self.out, "select framework, framework_version from experiment"),
                             [{"framework": "pytorch", "framework_version": "2.4.1"}])
            self.assertIn("rank 3 of 8", " ".join(self.report["files"][0]["notes"]))


class RoundedTimes(Case):
    PARENTS = ("select s.name, p.name as parent, s.basis from span s left join span p on p.run_id = s.run_id and "
               "p.span_id = s.parent_id")
    NOTES = "select key, value from note where key in ('time_resolution_ns', 'ends_after_parent') order by key"

    def parents(self, events):
        out = import_file(self.write(events), self.folder.name)[1]
        return ({row["name"]: (row["parent"], row["basis"]) for row in rows(out, self.PARENTS)},
                {row["key"]: row["value"] for row in rows(out, self.NOTES)})

    def test_a_nanosecond(self):
        parents, notes = self.parents([
            operator("outer", 1000.001, 10), operator("inner", 1005, 5.002), call(1, 1006, 4.002),
            kernel(1, 1100, 5),
            operator("before", 2000, 5.15), call(2, 2005, 7.78, "crosses"), kernel(2, 2100, 4, "next")])
        self.assertEqual((parents["inner"], parents["k"]), (("outer", "containment"), ("inner", "correlation")))
        self.assertEqual((parents["crosses"], parents["next"]), ((None, "none"), (None, "correlation")))
        self.assertEqual(notes, {"time_resolution_ns": "1", "ends_after_parent": "2"})

    def nest(self, count):
        """Operators that end 10 ns before the one around them, each group after the other, at a Unix time."""
        for i in range(count):
            start = 1_700_000_000_000_000 + i * 100 + fractions.Fraction(i * 37 % 1000, 1000)
            for depth, name in enumerate("abc"):
                inset = depth * fractions.Fraction(5213, 1000)
                yield f"{name}{i}", start + inset, 30 - inset - fractions.Fraction(depth, 100)

    def test_doubles_of_unix_times(self):
        exact = list(self.nest(64))
        parents, notes = self.parents([operator(name, float(start), float(length)) for name, start, length in exact])
        self.assertEqual(parents, {f"{name}{i}": (f"{above}{i}", "containment") if above else (None, "none")
                                   for above, name in zip(("", "a", "b"), "abc") for i in range(64)})
        self.assertEqual(notes["time_resolution_ns"], "350")
        self.assertGreater(int(notes["ends_after_parent"]), 10)

    def test_neighbours_stay_neighbours(self):
        parents, notes = self.parents([
            event for i in range(64) for event in (operator(f"a{i}", 100 * i, 10), operator(f"b{i}", 100 * i + 10, 1),
                                                   operator(f"c{i}", 100 * i + 20, 10), operator(f"d{i}", 100 * i + 25, 8))])
        self.assertEqual({parent for parent, _ in parents.values()}, {None})  # d crosses c by 3 us
        self.assertEqual(notes, {"time_resolution_ns": "1000"})


class Files(Case):
    def test_several_ranks_are_runs_of_one_experiment(self):
        paths = [self.write([operator("a", 10 * i, 5), call(7, 10 * i + 1, 1), kernel(7, 10 * i + 5, 1)],
                            after={"baseTimeNanoseconds": 1000 * (i + 1), "distributedInfo": {"rank": i, "world_size": 2}},
                            name=f"{i}.json") for i in range(2)]
        out = os.path.join(self.folder.name, "t.xsp")
        report = xsp_json("import", *paths, "-o", out, "--json")
        self.assertEqual([file["run_ids"] for file in report["files"]], [[1], [2]])
        self.assertEqual(rows(out, "select run_id, min(start_ns) as ns from span group by 1"),
                         [{"run_id": 1, "ns": 1000}, {"run_id": 2, "ns": 12000}])
        self.assertEqual(rows(out, "select distinct experiment_id from run"), [{"experiment_id": 1}])
        self.assertEqual(rows(out, "select distinct run_id, rank, local_rank, world_size from track order by 1"),
                         [{"run_id": i + 1, "rank": i, "local_rank": None, "world_size": 2} for i in range(2)])
        self.assertEqual(rows(out, "select count(*) as n from span e join span l on l.run_id = e.run_id and l.span_id ="
                                   " e.layer_id where e.category = 'kernel'"), [{"n": 2}])

    def recognised(self, text):
        path = os.path.join(self.folder.name, "r.json")
        with open(path, "w") as file:
            file.write(text)
        result = xsp("import", path, "-o", os.path.join(self.folder.name, "r.xsp"), "--force", "--json")
        return json.loads(result.stdout)["files"][0]["format"] if result.returncode == 0 else None

    def test_what_is_recognised(self):
        an_event = dump([operator("aten::mm", 1, 2)])
        old = dump([event("Operator", "aten::mm", 1, 2, External_id=1)])
        odd = dump([event("x", "y", 1, 2)])
        for text in (f'{{"schemaVersion": 1, "traceEvents": {odd}}}', f'{{"traceEvents": {an_event}}}', an_event,
                     f'\n {{"traceEvents": {old}}}',
                     f'{{"displayTimeUnit": "ms", "deviceProperties": [], "traceEvents": {odd}}}',
                     f'{{"traceEvents": {an_event}, "traceName": "x"}}'):
            self.assertEqual(self.recognised(text), "kineto", text)
        for text in (f'{{"traceEvents": {odd}}}', f'{{"traceEvents": {odd}, "other": {{"schemaVersion": 1}}}}',
                     dump([event("Node", "schemaVersion", 1, 2, a='"cat": "cpu_op"', cat="cpu_op")]),
                     dump({"traceEvents": [event("Op", "deviceProperties", 1, 2)]})):
            self.assertNotEqual(self.recognised(text), "kineto", text)

    def refused(self, path, *words):
        out = os.path.join(self.folder.name, "kept.xsp")
        with open(out, "w") as file:
            file.write("old")
        result = xsp("import", path, "-o", out, "--force", check=2)
        line = result.stderr.decode()
        self.assertEqual(line.count("\n"), 1, line)
        for word in (path, *words):
            self.assertIn(word, line)
        self.assertEqual(sorted(os.listdir(self.folder.name)), sorted(["kept.xsp", os.path.basename(path)]))
        with open(out) as file:
            self.assertEqual(file.read(), "old")

    def test_no_span(self):
        path = os.path.join(self.folder.name, "t.json")
        for events, words in (([], ["kineto", "0 events"]),
                              ([event("Trace", "x", 1, 2), {"ph": "i", "name": "x"}], ["2 events", "1 instant"])):
            with open(path, "w") as file:
                file.write(dump({"schemaVersion": 1, "traceEvents": events}))
            self.refused(path, "no span", "0 kept", *words)

    def test_a_base_that_is_no_number(self):
        for base in ("soon", Decimal("1.5"), Decimal("9" * 19), [1]):
            self.refused(self.write([operator("a", 0, 1)], after={"baseTimeNanoseconds": base}), "baseTimeNanoseconds",
                         "byte ")

    def test_times_beyond_int64(self):
        self.refused(self.write([operator("a", Decimal("9223372036854775.807"), 0)], after={"baseTimeNanoseconds": 1}),
                     "64 bits")
        self.refused(self.write([operator("a", Decimal("9223372036854775.808"), 0)]), "64 bits", "byte ")
        self.refused(self.write([operator("a", 1, Decimal("9223372036854775.807"))]), "64 bits", "byte ")

    def test_a_file_that_was_cut(self):
        path = self.write([operator(f"aten::op{i}", i, 1) for i in range(5000)])
        with open(path, "rb") as file:
            data = file.read()
        for end in (len(data) - 1, len(data) // 2, 60):
            with open(path, "wb") as file:
                file.write(data[:end])
            self.refused(path, "byte ")


if __name__ == "__main__":
    unittest.main()
