# SPDX-License-Identifier: Apache-2.0
"""Nsight Systems exports: real ones against an independent reader, our own databases for every difference of schemas,
and databases that are broken, hostile, or not from Nsight Systems."""
import glob
import gzip
import os
import random
import sqlite3
import struct
import unittest

import strangers
import trace_reader
from call_paths import span_paths
from scripted import STEP, temporary_folder, xsp, xsp_json

FOLDER = trace_reader.data_folder()
BY_OPERATOR = """select l.name, sum(e.duration_ns) as ns, count(*) as count from span e
                 join span l on l.run_id = e.run_id and l.span_id = e.layer_id
                 where e.kind = 'execution' and e.category = 'kernel' group by 1"""
CAPTURED = """with made as (select n.value as node, coalesce(o.value, n.value) as origin, s.layer_id, s.run_id
                  from span s join tag n on n.run_id = s.run_id and n.span_id = s.span_id and n.key = 'graph_node'
                  left join tag o on o.run_id = s.run_id and o.span_id = s.span_id and o.key = 'original_graph_node'
                  where s.category = 'graph' and s.kind = 'sync')
              select l.name, sum(k.duration_ns) as ns from span k
              join tag t on t.run_id = k.run_id and t.span_id = k.span_id and t.key = 'graph_node'
              join made clone on clone.run_id = k.run_id and clone.node = t.value
              join made first on first.run_id = k.run_id and first.node = clone.origin
              join span l on l.run_id = k.run_id and l.span_id = first.layer_id
              where k.category = 'kernel' group by 1"""
EPOCH = 1_700_000_000_000_000_000


def gtid(process=100, thread=101, machine=1):
    return machine << 48 | process << 24 | thread


def gpid(process=100, machine=1):
    return machine << 48 | process << 24


def import_file(path, folder, *options):
    """The report of an import, and the file it wrote."""
    out = os.path.join(folder, "t.xsp")
    return xsp_json("import", path, "-o", out, "--force", "--json", *options), out


def rows(out, sql):
    return xsp_json("sql", out, sql, "--json")


class Export:
    """Tables as nsys makes them, with the columns that the rows have; rows are dictionaries."""

    KEYS = {"StringIds": "id integer primary key, value text not null"}

    def __init__(self, version="3.25.0", epoch=EPOCH):
        self.tables, self.strings, self.extra = {}, {}, []
        major = int(version.split(".")[0])
        self.meta = "META_DATA_EXPORT" if major >= 3 else "EXPORT_META_DATA"
        self.tables["StringIds"] = []
        for name, value in (("EXPORT_PRODUCT_VERSION", "2026.1"), ("EXPORT_SCHEMA_VERSION", version)):
            self.add(self.meta, name=name, value=value)
        if epoch is not None:
            self.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=epoch, utcTime="", localTime="")

    def add(self, table, **row):
        self.tables.setdefault(table, []).append(row)
        return self

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 10
            self.add("StringIds", id=self.strings[text], value=text)
        return self.strings[text]

    def nvtx(self, text, start, end, tid=gtid(), kind=59, domain=0, registered=False, **more):
        return self.add("NVTX_EVENTS", start=start, end=end, eventType=kind, globalTid=tid, domainId=domain,
                        text=None if registered else text, textId=self.string(text) if registered else None, **more)

    def call(self, name, start, end, correlation, tid=gtid(), **more):
        return self.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=start, end=end, eventClass=0, globalTid=tid,
                        correlationId=correlation, nameId=self.string(name), returnValue=more.pop("returnValue", 0), **more)

    def kernel(self, name, start, end, correlation, pid=gpid(), device=0, stream=7, **more):
        return self.add("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, deviceId=device, contextId=1, streamId=stream,
                        correlationId=correlation, globalPid=pid, demangledName=self.string(name + "<float>(int)"),
                        shortName=self.string(name), mangledName=self.string("_Z" + name), registersPerThread=32, gridX=4,
                        gridY=2, gridZ=1, blockX=128, blockY=1, blockZ=1, staticSharedMemory=16, dynamicSharedMemory=1000,
                        **more)

    def device(self, kind, start, end, correlation, pid=gpid(), stream=7, **more):
        return self.add("CUPTI_ACTIVITY_KIND_" + kind, start=start, end=end, deviceId=0, contextId=1, streamId=stream,
                        correlationId=correlation, globalPid=pid, **more)

    def write(self, path, page_size=4096, types="integer"):
        if os.path.exists(path):
            os.unlink(path)
        data = sqlite3.connect(path)
        data.execute(f"pragma page_size = {page_size}")
        for table, table_rows in self.tables.items():
            columns = list(dict.fromkeys(key for row in table_rows for key in row))
            text = self.KEYS.get(table) or ", ".join(
                f'"{c}" {"text" if c in ("name", "value", "text", "jsonText") else types}' for c in columns)
            columns = columns or ["id", "value"]
            data.execute(f"create table {table} ({text})")
            names = ", ".join(f'"{c}"' for c in columns)
            data.executemany(f"insert into {table} ({names}) values ({', '.join('?' * len(columns))})",
                             [[row.get(c) for c in columns] for row in table_rows])
        for statement in self.extra:
            data.execute(statement)
        data.commit()
        data.close()
        return path


class WithFolder(unittest.TestCase):
    def setUp(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.path = os.path.join(self.folder, "report.sqlite")

    def load(self, export, *options, **how):
        """Imports an Export (or the file it wrote): the report, the spans by name, all rows of its tags by span."""
        if isinstance(export, Export):
            export.write(self.path, **how)
        self.report, self.out = import_file(self.path, self.folder, *options)
        report = self.report
        spans = rows(self.out, "select s.*, p.name as parent, l.name as layer from span s left join span p on p.run_id ="
                               " s.run_id and p.span_id = s.parent_id left join span l on l.run_id = s.run_id and"
                               " l.span_id = s.layer_id order by s.span_id")
        tags = {}
        for tag in rows(self.out, "select span_id, key, value from tag"):
            tags.setdefault(tag["span_id"], {})[tag["key"]] = tag["value"]
        for span in spans:
            span["tags"] = tags.get(span["span_id"], {})
        file = report["files"][0]
        self.assertEqual(file["events"], file["kept"] + sum(file["skipped"].values()))
        self.assertEqual(file["kept"], len(spans))
        return file, spans

    def named(self, spans, name):
        found = [span for span in spans if span["name"] == name]
        self.assertEqual(len(found), 1, name)
        return found[0]

    def refuse(self, *words, status=2, path=None, format=None):
        """The import fails in one line that holds these words; an old output stays, no new one comes."""
        out = os.path.join(self.folder, "old.xsp")
        with open(out, "w") as file:
            file.write("old")
        options = ("--format", format) if format else ()
        result = xsp("import", path or self.path, "-o", out, "--force", *options, check=status)
        line = result.stderr.decode()
        self.assertEqual(line.count("\n"), 1, line)
        for word in words:
            self.assertIn(word, line)
        with open(out) as file:
            self.assertEqual(file.read(), "old")
        self.assertEqual(glob.glob(out + "?*"), [])
        return line


# ---- real files ------------------------------------------------------------------------------------------------------
@unittest.skipIf(FOLDER is None, "no real traces: set XSP_TEST_DATA")
class RealTraces(WithFolder):
    def real(self, pattern):
        path, = glob.glob(os.path.join(FOLDER, "nsys", pattern + "*.sqlite"))
        report, out = import_file(path, self.folder)
        trace = trace_reader.read(path)
        found = {row["name"]: (row["count"], row["ns"]) for row in rows(out, BY_OPERATOR)}
        expected = trace_reader.device_time(trace, trace_reader.relate(trace))
        expected.pop(None, None)
        self.assertEqual(found, expected)
        return report, out

    def test_two_gpus(self):
        report, out = self.real("nsys-ai__h100_2gpu")
        devices = rows(out, "select t.device_id as device, count(*) as count, sum(duration_ns) as ns from span s join track"
                            " t using (run_id, track_id) where s.category = 'kernel' and kind = 'execution' group by 1"
                            " order by 1")
        self.assertEqual([(row["device"], row["ns"]) for row in devices], [(0, 22385163), (1, 22444359)])
        self.assertEqual(sum(row["count"] for row in devices), 3442)
        union, last = 0, 0
        for row in rows(out, "select start_ns, end_ns from span where category = 'kernel' order by start_ns"):
            union += max(0, row["end_ns"] - max(last, row["start_ns"]))
            last = max(last, row["end_ns"])
        self.assertEqual(union, 29315386)
        self.assertEqual(report["unattributed"], {"count": 1810, "duration_ns": 21682293, "reasons": {"no launch": 1810}})
        self.assertEqual(report["files"][0]["version"], "3.25.0")
        self.assertIn({"name": "aten::mm"}, rows(out, "select name from span s join tag using (run_id, span_id) where"
                                                      " key = 'op_id' and value = 318133"))
        epoch = rows(out, "select min(start_ns) as ns, epoch from span join run using (run_id)")[0]
        self.assertEqual((epoch["ns"], epoch["epoch"]), (1779630014975716426 + 155357525002, "unix"))

    def test_one_process(self):
        report, out = self.real("pipit__saxpy")
        self.assertEqual(report["files"][0]["version"], "2.9.1")
        self.assertEqual(report["unattributed"]["count"], 0)
        self.assertEqual(rows(out, "select count(*) as n, sum(e.duration_ns) as ns, p.name from span e join span p on"
                                   " p.run_id = e.run_id and p.span_id = e.parent_id where e.category = 'kernel'"
                                   " group by 3"), [{"n": 5, "ns": 88573480, "name": "saxpy"}])
        self.assertEqual(rows(out, "select count(*) as n, sum(value) as bytes from tag where key = 'bytes'"),
                         [{"n": 15, "bytes": 3932160000}])
        system = {row["key"]: row["value"] for row in rows(out, "select key, value from system")}
        self.assertEqual((system["gpu"], system["memory_bandwidth_bytes_per_s"], system["gpu_count"]),
                         ("NVIDIA A100-SXM4-40GB", 1555200000000, 1))

    def test_a_range_as_model(self):
        path, = glob.glob(os.path.join(FOLDER, "nsys", "pipit*.sqlite"))
        _, out = import_file(path, self.folder, "--model-range", "saxpy")
        self.assertEqual(len(rows(out, "select * from observation")), 5)
        self.assertEqual(rows(out, "select distinct m.name from span e join span m on m.span_id = e.model_id where"
                                   " e.category = 'kernel'"), [{"name": "saxpy"}])


# ---- what spans become -----------------------------------------------------------------------------------------------
class Spans(WithFolder):
    def test_a_kernel_in_an_operator(self):
        export = Export().nvtx("aten::mm, seq = 3, op_id = 12, sizes = [[4, 2], [2, 8]]", 100, 200)
        export.call("cudaLaunchKernel_v7000", 120, 130, 77, returnValue=0).kernel("gemm", 150, 190, 77)
        file, spans = self.load(export)
        operator, call, kernel = spans
        self.assertEqual((operator["name"], operator["level"], operator["category"]), ("aten::mm", "layer", "nvtx"))
        self.assertEqual(operator["tags"], {"sequence": 3, "op_id": 12, "Input Dims": "[[4,2],[2,8]]",
                                            "layer_type": "aten::mm", "layer_index": 0})
        self.assertEqual((call["kind"], call["category"], call["parent"], call["basis"]),
                         ("launch", "api", "aten::mm", "containment"))
        self.assertEqual(call["tags"], {"recorded_correlation": 77})
        self.assertEqual((kernel["kind"], kernel["level"], kernel["category"], kernel["layer"], kernel["basis"]),
                         ("execution", "kernel", "kernel", "aten::mm", "correlation"))
        self.assertEqual(kernel["name"], "gemm<float>(int)")
        self.assertEqual(kernel["tags"], {
            "recorded_correlation": 77, "short_name": "gemm", "mangled_name": "_Zgemm", "registers": 32,
            "grid": "[4,2,1]", "block": "[128,1,1]", "shared_bytes": 1016, "context": 1})
        self.assertEqual((kernel["start_ns"], kernel["duration_ns"]), (EPOCH + 150, 40))
        tracks = rows(self.out, "select * from track order by track_id")
        self.assertEqual([(t["process_id"], t["thread_id"], t["device_id"], t["stream_id"]) for t in tracks],
                         [(100, 101, None, None), (100, None, 0, 7)])
        experiment = rows(self.out, "select framework from experiment")[0]
        self.assertEqual(experiment["framework"], "pytorch")

    def test_two_processes_with_equal_correlation_ids(self):
        export = Export()
        for process in (100, 200):
            export.nvtx(f"aten::op{process}", 100, 200, tid=gtid(process))
            export.call("cudaLaunchKernel", 120, 130, 7, tid=gtid(process))
            export.kernel(f"of{process}", 150, 190, 7, pid=gpid(process))
        _, spans = self.load(export)
        for process in (100, 200):
            kernel = self.named(spans, f"of{process}<float>(int)")
            self.assertEqual(kernel["layer"], f"aten::op{process}")
            self.assertEqual(kernel["tags"]["recorded_correlation"], 7)
        self.assertEqual(len({span["correlation_id"] for span in spans if span["category"] == "kernel"}), 2)

    def test_one_process_on_two_machines(self):
        export = Export()
        for machine in (1, 2):
            export.nvtx(f"aten::op{machine}", 100, 200, tid=gtid(machine=machine))
            export.call("cudaLaunchKernel", 120, 130, 7, tid=gtid(machine=machine))
            export.kernel(f"of{machine}", 150, 190, 7, pid=gpid(machine=machine))
        _, spans = self.load(export)
        self.assertEqual([self.named(spans, f"of{m}<float>(int)")["layer"] for m in (1, 2)], ["aten::op1", "aten::op2"])

    def test_nested_calls_with_one_id(self):
        export = Export().nvtx("aten::outer", 100, 200).nvtx("aten::inner", 122, 128)
        export.call("cuLaunchKernel", 123, 127, 7).call("cudaLaunchKernel", 120, 130, 7).kernel("k", 150, 190, 7)
        _, spans = self.load(export)
        self.assertEqual(self.named(spans, "cudaLaunchKernel")["kind"], "launch")
        self.assertEqual(self.named(spans, "cuLaunchKernel")["kind"], "sync")
        self.assertEqual(self.named(spans, "k<float>(int)")["layer"], "aten::outer")

    def test_graphs(self):
        export = Export().nvtx("replay", 100, 200).call("cudaGraphLaunch_v10000", 120, 130, 7)
        for node in range(3):
            export.kernel(f"k{node}", 150 + node * 10, 158 + node * 10, 7, graphNodeId=node + 1, graphId=5)
        export.device("GRAPH_TRACE", 150, 190, 7, graphId=5, graphExecId=6)
        file, spans = self.load(export)
        launches = [span for span in spans if span["kind"] == "launch"]
        self.assertEqual(len(launches), 1)
        kernels = [span for span in spans if span["category"] == "kernel"]
        self.assertEqual([k["parent"] for k in kernels], ["replay"] * 3)
        self.assertEqual([(k["tags"]["graph"], k["tags"]["graph_node"]) for k in kernels], [(5, 1), (5, 2), (5, 3)])
        graph = self.named(spans, "CUDA graph 5")
        self.assertEqual((graph["category"], graph["kind"], graph["parent"], graph["tags"]["graph_exec"]),
                         ("graph", "execution", "replay", 6))

    def test_the_operator_of_a_captured_kernel(self):
        export = Export().nvtx("aten::mm", 100, 110).nvtx("replay", 200, 300)
        for table, node, more in (("CUDA_GRAPH_NODE_EVENTS", 1, {"originalGraphNodeId": None}),
                                  ("CUDA_GRAPH_NODE_EVENTS", 9, {"originalGraphNodeId": 1}),
                                  ("CUDA_GRAPH_EVENTS", None, {"graphId": 4, "graphExecId": 5})):
            start = 105 if node == 1 else 150
            export.add(table, start=start, end=start + 1, eventClass=77, globalTid=gtid(),
                       nameId=export.string("CUDA graph node creation"), graphNodeId=node, **more)
        export.call("cudaGraphLaunch", 210, 220, 7).kernel("k", 230, 240, 7, graphNodeId=9)
        _, spans = self.load(export)
        self.assertEqual(self.named(spans, "k<float>(int)")["parent"], "replay")
        made = [span for span in spans if span["category"] == "graph"]
        self.assertEqual([(s["kind"], s["layer"], s["tags"]) for s in made], [
            ("sync", "aten::mm", {"graph_node": 1}), ("sync", None, {"graph_node": 9, "original_graph_node": 1}),
            ("sync", None, {"graph": 4, "graph_exec": 5})])
        # as docs/importers.md has it
        self.assertEqual(rows(self.out, CAPTURED), [{"name": "aten::mm", "ns": 10}])
        self.assertEqual([row["layer_name"] for row in xsp_json("analyze", "A8", self.out, "--json")["rows"]], ["aten::mm"])

    def test_call_stacks(self):
        export = Export()
        for number, chain in enumerate((5, 5, 6, None, 8)):
            export.call("cudaMalloc", number * 10, number * 10 + 5, number + 1, callchainId=chain)
        for chain, depth, symbol, unresolved in ((5, 0, "0x7f01", 1), (5, 1, "alloc", None), (5, 2, "main", None),
                                                 (6, 1, "main", None), (6, 0, "init", None), (5, 0, "late", None)):
            export.add("CUDA_CALLCHAINS", id=chain, symbol=export.string(symbol), stackDepth=depth, unresolved=unresolved,
                       module=export.string("/usr/lib/libcuda.so.1"))
        _, spans = self.load(export)
        library = "[libcuda.so.1]"
        one = [f"{library} main", f"{library} alloc", library, "cudaMalloc"]
        self.assertEqual([path for _, path in span_paths(self.out)],
                         [one, one, [f"{library} main", f"{library} init", "cudaMalloc"], None, None])
        self.assertEqual(rows(self.out, "select distinct kind from frame"), [{"kind": "native"}])

    def test_call_stacks_without_end(self):
        export = Export().call("cudaMalloc", 0, 5, 1, callchainId=5).call("cudaMalloc", 5, 7, 2, callchainId=6)
        for depth in range(1000):
            export.add("CUDA_CALLCHAINS", id=5, symbol=export.string(f"f{depth}"), stackDepth=depth)
        for depth in range(20):
            export.add("CUDA_CALLCHAINS", id=6, symbol=export.string(f"{depth}" + "x" * 1000), stackDepth=depth)
        self.load(export)
        (_, deep), (_, long) = span_paths(self.out)
        self.assertEqual((len(deep), deep[-4:]), (257, ["f2", "f1", "f0", "cudaMalloc"]))
        self.assertEqual(long, [f"{depth}" + "x" * 1000 for depth in reversed(range(20))] + ["cudaMalloc"])

    def test_start_end_ranges_enclose_nothing(self):
        export = Export().nvtx("outer", 50, 300, kind=60).nvtx("aten::mm", 100, 200, kind=60)
        export.call("cudaLaunchKernel", 120, 130, 7).kernel("k", 150, 190, 7)
        _, spans = self.load(export)
        self.assertEqual(self.named(spans, "outer")["track_id"], None)
        self.assertEqual((self.named(spans, "k<float>(int)")["parent"], self.named(spans, "aten::mm")["basis"]),
                         (None, "none"))

    def test_domains(self):
        export = Export().nvtx("early", 5, 6, domain=3)
        for number, name in ((1, "NCCL"), (2, "MPI"), (3, "late"), (6, "cuBLAS")):
            export.nvtx(name, 10, None, kind=75, domain=number, registered=number == 6)
        export.nvtx("ncclAllReduce", 20, 30, domain=1).nvtx("MPI_Send", 20, 30, domain=2)
        export.nvtx("ncclBroadcast", 20, 30, domain=4).nvtx("ncclReduce", 20, 30, domain=4, registered=True)
        export.nvtx("nameless", 20, 30, domain=5).nvtx("aten::mm", 20, 30, domain=6)
        export.nvtx("other process", 20, 30, domain=1, tid=gtid(200))
        _, spans = self.load(export)
        found = {span["name"]: (span["level"], span["category"]) for span in spans}
        self.assertEqual(found, {
            "ncclAllReduce": ("library", "NCCL"), "MPI_Send": ("application", "MPI"), "early": ("application", "late"),
            "ncclBroadcast": ("library", "NCCL"), "ncclReduce": ("library", "NCCL"), "nameless": ("application", "nvtx"),
            "aten::mm": ("library", "cuBLAS"), "other process": ("application", "nvtx")})

    def test_ranges_by_what_they_say(self):
        export = Export().nvtx("step 1", 0, 100).nvtx("step 2", 100, 200).nvtx("aten::relu, op_id = 1", 10, 20)
        export.nvtx("warm", 300, 310).nvtx("forwardLayer", 301, 302, registered=True)
        file, spans = self.load(export, "--model-range", "step *")
        self.assertEqual({s["name"]: s["level"] for s in spans}, {
            "step 1": "model", "step 2": "model", "aten::relu": "layer", "warm": "application", "forwardLayer": "layer"})
        self.assertEqual(len(rows(self.out, "select * from observation")), 2)
        file, spans = self.load(export)
        self.assertEqual(self.named(spans, "step 1")["level"], "application")

    def test_payloads_without_a_sign(self):
        """SQLite has their bits as a number with one."""
        export = Export().nvtx("a", 10, 20, uint64Value=-1).nvtx("b", 20, 30, uint64Value=(1 << 63) - 1).nvtx("c", 30, 40, int64Value=-1)
        _, spans = self.load(export)
        self.assertEqual([span["tags"]["payload"] for span in spans], ["18446744073709551615", (1 << 63) - 1, -1])

    def test_categories_and_payloads(self):
        export = Export().nvtx("solver", 1, None, kind=33, category=4)
        export.nvtx("a", 10, 20, category=4).nvtx("b", 20, 30, category=5, uint64Value=17)
        export.nvtx("c", 30, 40, jsonText='{"bytes":12}', doubleValue=1.5).nvtx("d", 40, 50, doubleValue=1.5)
        export.nvtx("e", 50, 60, jsonTextId=export.string('{"bytes":13}'))
        _, spans = self.load(export)
        self.assertEqual([span["tags"] for span in spans], [
            {"nvtx_category": "solver"}, {"nvtx_category": 5, "payload": 17}, {"payload": '{"bytes":12}'},
            {"payload": 1.5}, {"payload": '{"bytes":13}'}])

    def test_libraries_and_mpi(self):
        export = Export().nvtx("aten::conv", 100, 200)
        for table, name in (("CUDNN_EVENTS", "cudnnConvolutionForward"), ("CUBLAS_EVENTS", "cublasGemmEx")):
            export.add(table, start=110, end=140, eventClass=28, globalTid=gtid(), nameId=export.string(name))
        export.add("MPI_P2P_EVENTS", start=300, end=400, globalTid=gtid(), textId=export.string("MPI_Send"), size=8)
        export.call("cudaLaunchKernel", 120, 130, 7).kernel("k", 150, 190, 7)
        _, spans = self.load(export)
        self.assertEqual([(s["level"], s["category"]) for s in spans[1:4]],
                         [("library", "cudnn"), ("library", "cublas"), ("application", "mpi")])
        kernel = self.named(spans, "k<float>(int)")
        self.assertEqual((kernel["parent"], kernel["layer"]), ("cublasGemmEx", "aten::conv"))

    def test_copies_sets_and_waits(self):
        export = Export()
        export.device("MEMCPY", 10, 20, 1, bytes=64, copyKind=1, srcKind=0, dstKind=2)
        export.device("MEMCPY", 20, 30, 2, bytes=65, copyKind=10, srcKind=2, dstKind=2, srcDeviceId=0, dstDeviceId=1)
        export.device("MEMCPY", 30, 40, 3, bytes=66, copyKind=99)
        export.device("MEMSET", 40, 50, 4, bytes=67, value=0, memKind=2)
        export.device("SYNCHRONIZATION", 50, 60, 5, syncType=3, stream=7)
        export.device("SYNCHRONIZATION", 60, 70, 6, syncType=4, stream=4294967295)
        _, spans = self.load(export)
        self.assertEqual([(s["name"], s["category"], s["tags"].get("bytes"), s["tags"].get("copy_kind")) for s in spans], [
            ("Memcpy HtoD (Pageable -> Device)", "memcpy", 64, "HtoD"),
            ("Memcpy PtoP (Device -> Device)", "memcpy", 65, "PtoP"), ("Memcpy Unknown", "memcpy", 66, "Unknown"),
            ("Memset (Device)", "memset", 67, None), ("Stream Sync", "sync", None, None),
            ("Context Sync", "sync", None, None)])
        self.assertEqual((spans[1]["tags"]["source_device"], spans[1]["tags"]["destination_device"]), (0, 1))
        tracks = {row["track_id"]: row for row in rows(self.out, "select * from track")}
        self.assertEqual(tracks[spans[5]["track_id"]]["stream_id"], None)
        # waits overlap the work of their stream: they have tracks of their own
        self.assertNotEqual(spans[4]["track_id"], spans[0]["track_id"])
        self.assertEqual(tracks[spans[4]["track_id"]]["stream_id"], 7)

    def test_names_of_threads_and_processes(self):
        export = Export().nvtx("a", 1, 2).nvtx("b", 1, 2, tid=gtid(thread=102)).nvtx("c", 1, 2, tid=gtid(thread=103))
        export.nvtx("by hand", 1, None, kind=39, tid=gtid(thread=103))
        export.add("PROCESSES", globalPid=gpid(), pid=100, name="/usr/bin/python3")
        for thread in (102, 103):
            export.add("ThreadNames", nameId=export.string("loader"), priority=20, globalTid=gtid(thread=thread))
        export.add("TARGET_INFO_SYSTEM_ENV", globalVid=0, name="Hostname", nameEnum=619, value="node 1")
        _, spans = self.load(export)
        tracks = rows(self.out, "select name, host from track order by track_id")
        self.assertEqual([(t["name"], t["host"]) for t in tracks],
                         [("python3", "node 1"), ("loader", "node 1"), ("by hand", "node 1")])

    def test_failed_calls_say_so(self):
        _, spans = self.load(Export().call("cudaMalloc", 1, 2, 1, returnValue=2).call("cudaFree", 3, 4, 2))
        self.assertEqual([span["tags"].get("return_value") for span in spans], [2, None])

    def test_the_machine_but_not_its_environment(self):
        export = Export().nvtx("a", 1, 2)
        for name, value in (("CpuDescription", "EPYC"), ("CpuCores", "64"), ("DeviceEnvironment", "TOKEN=hidden")):
            export.add("TARGET_INFO_SYSTEM_ENV", globalVid=0, name=name, nameEnum=1, value=value)
        for number in range(2):
            export.add("TARGET_INFO_GPU", vmId=1, id=number, name="H100", memoryBandwidth=3352320000000 + number,
                       clockRate=1980000000, smCount=132, totalMemory=85e9, computeMajor=9, computeMinor=0)
        self.load(export)
        system = {row["key"]: row["value"] for row in rows(self.out, "select key, value from system")}
        self.assertEqual(system, {"cpu_model": "EPYC", "cpus": 64, "gpu": "H100", "gpu_count": 2, "nsys_version": "2026.1",
                                  "memory_bandwidth_bytes_per_s": 3352320000000, "gpu_clock_hz": 1980000000,
                                  "gpu_multiprocessors": 132, "gpu_memory_bytes": 85000000000,
                                  "gpu_compute_capability": "9.0"})
        with open(self.out, "rb") as file:
            self.assertFalse(b"hidden" in file.read())

    def test_a_bandwidth_that_cannot_be(self):
        self.load(Export().nvtx("a", 1, 2).add("TARGET_INFO_GPU", id=0, name="odd", memoryBandwidth=900))
        self.assertEqual([r["key"] for r in rows(self.out, "select key from system order by key")],
                         ["gpu", "gpu_count", "nsys_version"])

    def test_times(self):
        _, spans = self.load(Export(epoch=None).nvtx("a", 5, 9))
        self.assertEqual((spans[0]["start_ns"], rows(self.out, "select epoch from run")), (5, [{"epoch": "trace"}]))
        export = Export().nvtx("a", EPOCH + 5, EPOCH + 9) # exported with --ts-normalize
        export.add("META_DATA_EXPORT", name="EXPORT_PARAM_TIME_NORMALIZE", value="true")
        _, spans = self.load(export)
        self.assertEqual((spans[0]["start_ns"], rows(self.out, "select epoch from run")),
                         (EPOCH + 5, [{"epoch": "unix"}]))

    def test_what_is_skipped_is_counted(self):
        export = Export().nvtx("mark", 1, None, kind=34).nvtx("open", 1, None).nvtx("back", 9, 4).nvtx("future", 1, 2, kind=200)
        export.kernel("never", 0, 0, 1).kernel("back", 9, 4, 1).nvtx("kept", 1, 2)
        export.add("OSRT_API", start=1, end=2).add("OSRT_API", start=1, end=2).add("GPU_METRICS", timestamp=1, value=3)
        export.add("SCHED_EVENTS", start=1).add("SOMETHING_NEW", start=1).add("NO_EVENTS", id=1)
        export.add("CUPTI_ACTIVITY_KIND_OVERHEAD", start=1, end=2)
        file, spans = self.load(export)
        self.assertEqual(file["skipped"], {
            "mark": 1, "no end": 1, "negative duration": 2, "other NVTX event": 1, "no times": 1, "system library call": 2,
            "hardware metric": 1, "thread scheduling": 1, "other event": 1, "profiler overhead": 1})
        self.assertEqual(file["notes"], ["the table SOMETHING_NEW is new: 1 events in it are not read"])

    def test_a_table_by_another_name(self):
        """The note has what kernels lack for it."""
        for table, name, what in (("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_RUNTIME_V2", "launches"),
                                  ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUDA_API_EVENTS", "launches"),
                                  ("NVTX_EVENTS", "NVTX_EVENTS_V2", "ranges")):
            export = Export().nvtx("range", 100, 140).call("cudaLaunchKernel", 120, 130, 7).kernel("k", 150, 190, 7)
            export.extra = [f"alter table {table} rename to {name}"]
            file, _ = self.load(export)
            self.assertEqual(file["skipped"], {"other event": 1})
            self.assertRegex(file["notes"][0], f"{name} is new: .*, {what} .*among them")

    def test_compressed(self):
        Export().nvtx("a", 1, 2).write(self.path)
        with open(self.path, "rb") as file, gzip.open(self.path + ".gz", "wb") as packed:
            packed.write(file.read())
        report, out = import_file(self.path + ".gz", self.folder)
        self.assertEqual((report["files"][0]["format"], report["files"][0]["kept"]), ("nsys", 1))

    def test_odd_paths(self):
        for name in ("a%41?b#c.sqlite", "with space", "ä"):
            self.path = os.path.join(self.folder, name)
            _, spans = self.load(Export().nvtx("a", 1, 2))
            self.assertEqual(len(spans), 1)
            self.assertEqual(sorted(os.listdir(self.folder)), sorted([name, "t.xsp"]))
            os.unlink(self.path)


class Random(WithFolder):
    """Ranges that nest, touch and cross, calls within calls, equal ids in two processes; compared with the independent
    reader."""

    def export(self, generator):
        export = Export()
        threads = [gtid(process, thread) for process in (100, 200) for thread in (1, 2)]
        for number in range(150):
            start = generator.randrange(1000)
            text = generator.choice((f"aten::op{number % 9}", f"aten::op{number % 9}, seq = {number}, op_id = 5", "plain",
                                     f"custom::op{number % 3}, op_id = {number}"))
            export.nvtx(text, start, start + generator.choice((0, 5, 5, 40, 300)), tid=generator.choice(threads),
                        kind=generator.choice((59, 59, 59, 60)), registered=generator.random() < 0.3)
        for number in range(200):
            start, tid = generator.randrange(1000), generator.choice(threads)
            length, correlation = generator.choice((0, 1, 4, 20)), generator.randrange(120)
            export.call("cudaLaunchKernel", start, start + length, correlation, tid=tid)
            if generator.random() < 0.3:
                export.call("cuLaunchKernel", start, start + length - length // 2, correlation, tid=tid)
        for number in range(150):
            start = generator.randrange(2000)
            export.kernel(f"k{number % 5}", start, start + generator.randrange(100), generator.randrange(140),
                          pid=generator.choice((gpid(100), gpid(200))), device=number % 2)
        return export

    def test_device_time_by_operator(self):
        generator = random.Random(1)
        for turn in range(6):
            path = self.export(generator).write(self.path)
            report, out = import_file(path, self.folder)
            found = {row["name"]: (row["count"], row["ns"]) for row in rows(out, BY_OPERATOR)}
            trace = trace_reader.read(path)
            expected = trace_reader.device_time(trace, trace_reader.relate(trace))
            self.assertGreater(len(expected), 5)
            expected.pop(None, None)
            self.assertEqual(found, expected)


# ---- schemas ---------------------------------------------------------------------------------------------------------
class Schemas(WithFolder):
    def test_versions(self):
        for version in ("2.9.1", "2.14.3", "3.1.7", "3.13.2", "3.25.0"):
            file, _ = self.load(Export(version).nvtx("a", 1, 2))
            self.assertEqual((file["format"], file["version"]), ("nsys", version))

    def test_only_what_is_needed(self):
        """Columns that only some versions have."""
        export = Export()
        export.add("NVTX_EVENTS", start=100, end=200, eventType=59, globalTid=gtid(), textId=export.string("aten::mm"))
        export.add("CUPTI_ACTIVITY_KIND_RUNTIME", start=120, end=130, globalTid=gtid(), correlationId=7,
                   nameId=export.string("cudaLaunchKernel"))
        export.add("CUPTI_ACTIVITY_KIND_KERNEL", start=150, end=190, deviceId=0, streamId=7, correlationId=7,
                   shortName=export.string("k"))
        file, spans = self.load(export)
        self.assertEqual((spans[2]["name"], spans[2]["layer"]), ("k", "aten::mm"))
        self.assertEqual(file["notes"], [])

    def test_executions_of_nobody_knows_whom(self):
        export = Export()
        for process in (100, 200):
            export.call("cudaLaunchKernel", 120, 130, 7, tid=gtid(process))
        export.nvtx("aten::mm", 100, 200, tid=gtid(200)).call("cudaLaunchKernel", 120, 130, 9, tid=gtid(200))
        for name, correlation in (("both", 7), ("one", 9), ("neither", 8)):
            export.kernel(name, 150, 190, correlation, pid=None)
        export.kernel("named", 150, 190, 9, pid=gpid(200))
        file, spans = self.load(export)
        found = {name: self.named(spans, f"{name}<float>(int)") for name in ("both", "one", "neither", "named")}
        self.assertEqual({name: (span["basis"], span["layer"]) for name, span in found.items()}, {
            "both": ("ambiguous", None), "one": ("correlation", "aten::mm"), "neither": ("none", None),
            "named": ("correlation", "aten::mm")})
        self.assertEqual(found["one"]["correlation_id"], found["named"]["correlation_id"])
        self.assertEqual(found["both"]["tags"]["recorded_correlation"], 7)
        self.assertIn("2 executions", file["notes"][0])
        self.assertEqual(self.report["unattributed"]["reasons"], {"ambiguous": 1, "no launch": 1})

    def test_needed_columns(self):
        full = Export().nvtx("aten::mm", 1, 9).call("cudaLaunchKernel", 1, 2, 7).kernel("k", 3, 4, 7)
        full.device("MEMCPY", 5, 6, 8, bytes=1, copyKind=1)
        for table, column in (("NVTX_EVENTS", "start"), ("NVTX_EVENTS", "end"), ("NVTX_EVENTS", "eventType"),
                              ("NVTX_EVENTS", "globalTid"), ("CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"),
                              ("CUPTI_ACTIVITY_KIND_RUNTIME", "correlationId"), ("CUPTI_ACTIVITY_KIND_KERNEL", "end"),
                              ("CUPTI_ACTIVITY_KIND_KERNEL", "correlationId"), ("CUPTI_ACTIVITY_KIND_KERNEL", "streamId"),
                              ("CUPTI_ACTIVITY_KIND_MEMCPY", "bytes"), ("StringIds", "value"), (full.meta, "name")):
            with self.subTest(f"{table}.{column}"):
                full.extra = [f'alter table {table} rename column "{column}" to another']
                full.write(self.path)
                self.refuse("report.sqlite", table, column)

    def test_needed_columns_one_of_several(self):
        export = Export().kernel("k", 3, 4, 7)
        export.extra = [f"alter table CUPTI_ACTIVITY_KIND_KERNEL drop column {name}"
                        for name in ("demangledName", "shortName", "mangledName")]
        export.write(self.path)
        self.refuse("CUPTI_ACTIVITY_KIND_KERNEL", "demangledName")
        export = Export().nvtx("a", 1, 2)
        export.extra = [f"alter table NVTX_EVENTS drop column {name}" for name in ("text", "textId")]
        export.write(self.path)
        self.refuse("NVTX_EVENTS", "textId")

    def test_strings_without_a_key(self):
        export = Export().nvtx("aten::mm", 1, 9, registered=True)
        export.KEYS = {"StringIds": "id integer, value text"}
        export.add("StringIds", id=export.string("aten::mm"), value="second of its id")
        export.add("StringIds", id=99, value="of no use")
        _, spans = self.load(export)
        self.assertEqual(spans[0]["name"], "aten::mm")
        with open(self.out, "rb") as file: # what nothing refers to is not stored
            self.assertFalse(b"of no use" in file.read())

    def test_registered_texts(self):
        export = Export().nvtx("", 1, 2, registered=True).nvtx("", 3, 4)
        for row, text in zip(export.tables["NVTX_EVENTS"], ("", None)):
            row["text"], row["textId"] = text, export.string("registered")
        _, spans = self.load(export)
        self.assertEqual([span["name"] for span in spans], ["registered"] * 2)

    def test_a_long_registered_text_is_a_name_and_no_more(self):
        """It may serve a million rows; a text written out is read as often as it occurs."""
        long = "aten::mm, seq = 3" + ", x" * 30000
        export = Export().nvtx(long, 1, 2, registered=True).nvtx("aten::mm, seq = 3", 3, 4, registered=True)
        _, spans = self.load(export.nvtx(long, 5, 6))
        self.assertEqual([(span["name"], span["level"]) for span in spans],
                         [(long, "application"), ("aten::mm", "layer"), ("aten::mm", "layer")])

    def test_numbers_as_text(self):
        export = Export().nvtx("aten::mm", "100", "200").call("c", "120", "130", "7").kernel("k", "140", "150", "7")
        _, spans = self.load(export, types="")
        self.assertEqual([s["duration_ns"] for s in spans], [100, 10, 10])
        self.assertEqual(spans[2]["layer"], "aten::mm")
        for text in ("", "-", "12x", "9223372036854775808", " 1", "1.0"):
            with self.subTest(text):
                Export().nvtx("a", 1, text).write(self.path, types="")
                self.refuse("NVTX_EVENTS", "row 1", "end")

    def test_strings_that_are_missing(self):
        export = Export().nvtx("aten::mm", 1, 9, registered=True).call("cudaFree", 1, 2, 1).call("cudaFree", 3, 4, 2)
        export.extra = ["delete from StringIds"]
        file, spans = self.load(export)
        self.assertEqual([s["name"] for s in spans], ["[string 10 missing]", "[string 11 missing]", "[string 11 missing]"])
        self.assertIn("2 strings", file["notes"][0])
        export.extra = ["drop table StringIds"]
        file, spans = self.load(export)
        self.assertEqual(spans[1]["name"], "[string 11 missing]")

    def test_no_strings_and_no_events(self):
        Export().write(self.path)
        self.refuse("report.sqlite", "no span", "nsys 3.25.0; 0 events")

    def test_columns_without_a_type(self):
        _, spans = self.load(Export().nvtx("aten::mm", 1, 9).call("c", 2, 3, 7).kernel("k", 4, 5, 7), types="")
        self.assertEqual(spans[2]["layer"], "aten::mm")

    def test_an_index_changes_no_order(self):
        export = Export()
        for number in range(9, 0, -1):
            export.nvtx(f"r{number}", number, 20 + number)
        export.extra = [f"alter table NVTX_EVENTS add column c{number} text" for number in range(20)]  # the index is less
        export.extra += ["create index by_start on NVTX_EVENTS (start, end, eventType, globalTid, domainId, text, textId)"]
        _, spans = self.load(export)
        self.assertEqual([s["name"] for s in spans], [f"r{number}" for number in range(9, 0, -1)])

    def test_names_in_other_encodings(self):
        export = Export().nvtx("größe", 1, 2)
        for encoding in ("UTF-16le", "UTF-16be"):
            export.write(self.path)
            data = sqlite3.connect(self.path)
            script = "\n".join(data.iterdump())
            data.close()
            os.unlink(self.path)
            data = sqlite3.connect(self.path)
            data.execute(f"pragma encoding = '{encoding}'")
            data.executescript(script)
            data.close()
            _, spans = self.load(self.path)
            self.assertEqual(spans[0]["name"], "größe")

    def test_text_that_is_no_utf8(self):
        export = Export().nvtx("a", 1, 2)
        export.extra = ["update NVTX_EVENTS set text = cast(x'61ff62c3' as text)"]
        _, spans = self.load(export)
        self.assertEqual(spans[0]["name"], "a\ufffdb\ufffd")


# ---- values of the wrong kind ----------------------------------------------------------------------------------------
class Values(WithFolder):
    def broken(self, column, value, *words, table="NVTX_EVENTS"):
        export = Export().nvtx("before", 1, 2).nvtx("a", 1, 2).call("c", 1, 2, 3).kernel("k", 1, 2, 3)
        export.extra = [f"update {table} set \"{column}\" = {value} where rowid = (select max(rowid) from {table})"]
        export.write(self.path)
        with self.subTest(f"{column} = {value}"):
            self.refuse("report.sqlite", table, *words)

    def test_times_that_are_none(self):
        self.broken("start", "'soon'", "row 2", "start")
        self.broken("end", "x'00'", "row 2", "end")
        self.broken("end", "9223372036854775808", "row 2", "end")
        self.broken("end", "1.5", "row 2", "end")
        self.broken("start", "'soon'", "row 1", table="CUPTI_ACTIVITY_KIND_KERNEL")

    def test_times_beyond_64_bits(self):
        self.broken("end", "9223372036854775807", "row 2", "64 bits")
        self.broken("start", "-9223372036854775808", "64 bits", table="CUPTI_ACTIVITY_KIND_KERNEL")

    def test_numbers_that_are_none(self):
        self.broken("globalTid", "'me'", "globalTid")
        self.broken("eventType", "'range'", "eventType")
        self.broken("nameId", "'cudaFree'", "nameId", table="CUPTI_ACTIVITY_KIND_RUNTIME")
        self.broken("correlationId", "1e300", "correlationId", table="CUPTI_ACTIVITY_KIND_RUNTIME")
        self.broken("deviceId", "'gpu'", "deviceId", table="CUPTI_ACTIVITY_KIND_KERNEL")
        self.broken("gridX", "'wide'", "gridX", table="CUPTI_ACTIVITY_KIND_KERNEL")

    def test_no_start_is_skipped(self):
        export = Export().nvtx("a", 1, 2).nvtx("b", None, 2)
        file, _ = self.load(export)
        self.assertEqual(file["skipped"], {"no start": 1})

    def test_correlation_ids_beyond_32_bits(self):
        file, spans = self.load(Export().call("c", 1, 2, 1 << 40).kernel("k", 3, 4, 1 << 40).call("d", 5, 6, -1))
        self.assertEqual([s["correlation_id"] for s in spans], [None] * 3)
        self.assertEqual(spans[1]["tags"]["recorded_correlation"], -1)
        self.assertIn("3 correlation ids", file["notes"][0])

    def test_nulls(self):
        export = Export().add("CUPTI_ACTIVITY_KIND_RUNTIME", start=1, end=2, globalTid=None, correlationId=None, nameId=None)
        export.add("NVTX_EVENTS", start=1, end=2, globalTid=None, eventType=59, text=None, textId=None)
        export.kernel("k", 3, 4, None, pid=None)
        for column in ("deviceId", "streamId", "gridX", "demangledName", "staticSharedMemory"):
            export.tables["CUPTI_ACTIVITY_KIND_KERNEL"][0][column] = None
        file, spans = self.load(export)
        self.assertEqual([(s["name"] or "", s["track_id"] is None) for s in spans], [("", True), ("", True), ("k", False)])


# ---- databases that are something else, damaged or hostile -----------------------------------------------------------
class Strangers(WithFolder):
    def database(self, *statements):
        if os.path.exists(self.path):
            os.unlink(self.path)
        data = sqlite3.connect(self.path)
        for statement in statements:
            data.execute(statement)
        data.commit()
        data.close()

    def test_other_databases(self):
        for words, statements in (
                (("notes", "nsys export"), ["create table notes (a)"]),
                (("no tables",), ["pragma user_version = 1"]),
                (("nvprof",), ["create table StringTable (_id_)", "create table CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL (a)"]),
                (("rocprofv3",), ["create table rocpd_string_x (id)", "create view rocpd_string as select * from rocpd_string_x"]),
                ((".rpd",), ["create table rocpd_api (id)", "create table rocpd_op (id)"])):
            with self.subTest(words):
                self.database(*statements)
                self.refuse(*words)

    def test_no_database(self):
        for content in (b"", b"{}", b"SQLite format 3", b"SQLite format 3\0" + b"\0" * 50, b"SQLite format 3\0" + b"\xff" * 5000):
            with self.subTest(content[:20]):
                with open(self.path, "wb") as file:
                    file.write(content)
                self.refuse("report.sqlite", format="nsys")

    def test_limit(self):
        Export().nvtx("a" * 100000, 1, 2).write(self.path)
        with open(self.path, "rb") as file, gzip.open(self.path + ".gz", "wb") as packed:
            packed.write(file.read())
        for path in (self.path, self.path + ".gz"):
            result = xsp("import", path, "-o", os.path.join(self.folder, "t.xsp"), "--limit-bytes", "50000", check=2)
            self.assertIn(b"50000 bytes", result.stderr)

    def test_limit_beyond_what_is_looked_at(self):
        """Also if the file is longer than the head that recognizers see, and SQLite reads it."""
        export = Export()
        for number in range(40):
            export.nvtx(f"{number}" + "a" * 100000, 1, 2)
        export.write(self.path)
        result = xsp("import", self.path, "-o", os.path.join(self.folder, "t.xsp"), "--limit-bytes", "3M", check=2)
        self.assertIn(b"3145728 bytes", result.stderr)
        self.assertIn(f"--limit-bytes {os.path.getsize(self.path)}".encode(), result.stderr)
        xsp("import", self.path, "-o", os.path.join(self.folder, "t.xsp"), "--limit-bytes", "5M", check=0)

    def test_an_xsp_file(self):
        _, out = import_file(Export().nvtx("a", 1, 2).write(self.path), self.folder)
        self.refuse(".xsp file", path=out)
        self.refuse(".xsp file", path=out, format="nsys")

    def test_changes_that_are_not_in_the_file(self):
        Export().nvtx("a", 1, 2).write(self.path)
        data = sqlite3.connect(self.path)
        data.execute("pragma journal_mode = wal")
        data.execute("insert into NVTX_EVENTS select * from NVTX_EVENTS")
        data.commit()
        self.refuse("writing", "report.sqlite-wal")
        data.close() # writes it all into the file
        file, _ = self.load(self.path)
        self.assertEqual(file["kept"], 2)
        data = sqlite3.connect(self.path)
        data.execute("pragma journal_mode = persist")
        data.execute("pragma cache_spill = 1")
        data.execute("insert into NVTX_EVENTS select * from NVTX_EVENTS")
        data.commit()
        data.close()
        self.assertTrue(os.path.exists(self.path + "-journal")) # of a transaction that is through
        file, _ = self.load(self.path)
        self.assertEqual(file["kept"], 4)

    def test_a_hostile_journal(self):
        """Nothing is replayed, and the super-journal that the journal names stays."""
        Export().nvtx("a", 1, 2).write(self.path)
        data = sqlite3.connect(self.path)
        data.execute("create table chunk(a)")
        data.close()
        with temporary_folder() as elsewhere:
            victim = os.path.join(elsewhere, "victim")
            with open(victim, "w") as file:
                file.write("not to be deleted")
            strangers.leave_hot_journal(self.path)
            strangers.name_super_journal(self.path, victim)
            before = strangers.snapshot(self.folder)
            self.refuse("writing", "report.sqlite-journal")
            os.unlink(os.path.join(self.folder, "old.xsp"))
            self.assertEqual(strangers.snapshot(self.folder), before)
            self.assertTrue(os.path.exists(victim))

    def test_nothing_is_left_next_to_a_file(self):
        Export().nvtx("a", 1, 2).write(self.path)
        data = sqlite3.connect(self.path)
        data.execute("pragma journal_mode = wal")
        data.close() # a file in this mode without a log
        before = strangers.snapshot(self.folder)
        _, out = import_file(self.path, self.folder)
        os.unlink(out)
        self.assertEqual(strangers.snapshot(self.folder), before)

    def test_views_and_virtual_tables(self):
        export = Export().nvtx("a", 1, 2)
        endless = ("create view CUPTI_ACTIVITY_KIND_KERNEL as with recursive n(i) as (select 1 union all select i + 1 from n)"
                   " select i as start, i as end, 0 as deviceId, 0 as streamId, 0 as correlationId, 1 as shortName from n")
        export.extra = [endless]
        export.write(self.path)
        self.refuse("CUPTI_ACTIVITY_KIND_KERNEL", " view")
        export.extra = ["drop table StringIds", "create view StringIds as select 1 as id, 'x' as value"]
        export.write(self.path)
        self.refuse("StringIds", " view")
        export.extra = ["create virtual table CUPTI_ACTIVITY_KIND_MEMCPY using fts5(start, end)"]
        try:
            export.write(self.path)
        except sqlite3.OperationalError as problem:
            self.skipTest(str(problem))
        self.refuse("CUPTI_ACTIVITY_KIND_MEMCPY", "virtual table")

    def test_columns_that_compute(self):
        for computed in ("length(hex(zeroblob(100000000)))", "abs(start)"):
            export = Export().nvtx("a", 1, 2)
            export.extra = ["create table CUPTI_ACTIVITY_KIND_MEMSET (start, end, deviceId, streamId, correlationId,"
                            f" bytes as ({computed}))", "insert into CUPTI_ACTIVITY_KIND_MEMSET values (1, 2, 0, 0, 0)"]
            export.write(self.path)
            self.refuse("CUPTI_ACTIVITY_KIND_MEMSET", "bytes", "computed")

    def test_tables_without_row_numbers(self):
        export = Export().nvtx("a", 1, 2)
        export.extra = ["create table CUPTI_ACTIVITY_KIND_MEMSET (start primary key, end, deviceId, streamId,"
                        " correlationId, bytes) without rowid"]
        export.write(self.path)
        self.refuse("CUPTI_ACTIVITY_KIND_MEMSET")
        export.extra = ["create table MINE (start primary key) without rowid", "insert into MINE values (1)"]
        file, _ = self.load(export)
        self.assertEqual(file["skipped"], {})

    def test_odd_table_names(self):
        export = Export().nvtx("a", 1, 2)
        export.extra = ['create table "a""b" (start)', "create table \"x'; drop table y\" (start)",
                        'create table "%s" (timestamp)' % ("n" * 5000)]
        file, _ = self.load(export)
        self.assertEqual(file["kept"], 1)

    def test_a_tree_that_leads_in_circles(self):
        """An interior page whose children are all the same leaf, stacked: 40 levels of it would take for ever."""
        export = Export()
        for number in range(200):
            export.nvtx(f"range {number}", number, number + 1)
        export.write(self.path, page_size=512)
        data = sqlite3.connect(self.path)
        root, = data.execute("select rootpage from sqlite_schema where name = 'NVTX_EVENTS'").fetchone()
        data.close()
        with open(self.path, "r+b") as file:
            content = bytearray(file.read())
            page = 512 * (root - 1)
            self.assertEqual(content[page], 5)  # interior page of a table
            cells = struct.unpack(">H", content[page + 3:page + 5])[0]
            for cell in range(cells):
                at = page + struct.unpack(">H", content[page + 12 + 2 * cell:page + 14 + 2 * cell])[0]
                content[at:at + 4] = content[page + 8:page + 12]  # every child is the rightmost one
            file.seek(0)
            file.write(content)
        self.refuse("NVTX_EVENTS", "damaged")

    def share_pages(self, table, short, long):
        """Makes all texts of `short` bytes claim `long` bytes and the pages of the one that has them."""
        def varint(number):
            return bytes((0x80 | number >> 14 & 127, 0x80 | number >> 7 & 127, number & 127))  # of three bytes
        with open(self.path, "r+b") as file:
            content = bytearray(file.read())
            cells = []
            for page in range(0, len(content), 4096):
                if content[page] != 13:  # leaf page of a table
                    continue
                for cell in range(struct.unpack(">H", content[page + 3:page + 5])[0]):
                    cells.append(page + struct.unpack(">H", content[page + 8 + 2 * cell:page + 10 + 2 * cell])[0])
            def texts(length):  # (payload, the text's type within it, place of the number of the first further page)
                for at in cells:
                    kind = content.find(varint(2 * length + 13), at, at + 40)
                    if kind < 0:
                        continue
                    head = next(size for size in range(4, 24) if varint(length + size) == bytes(content[at:at + 3]))
                    inside = 489 + (length + head - 489) % 4092
                    behind = at + 3
                    while content[behind] & 0x80:
                        behind += 1
                    yield at, kind, behind + 1 + (inside if inside <= 4061 else 489), head
            (_, _, pages, _), = texts(long)
            found = list(texts(short))
            for at, kind, place, head in found:
                content[at:at + 3] = varint(long + head)
                content[kind:kind + 3] = varint(2 * long + 13)
                content[place:place + 4] = content[pages:pages + 4]
            file.seek(0)
            file.write(content)
        return len(found)

    def test_texts_that_share_their_pages(self):
        """300 texts of 840 KB, each another one, in a file of 6 MB."""
        short = 17000
        long = short + 200 * 4092
        for registered, table in ((True, "StringIds"), (False, "NVTX_EVENTS")):
            export = Export().nvtx("the longest ".ljust(long, "x"), 0, 1, registered=registered)
            for number in range(300):
                export.nvtx(f"range {number} ".ljust(short, "y"), number, number + 1, registered=registered)
            export.write(self.path)
            self.assertEqual(self.share_pages(table, short, long), 300)
            data = sqlite3.connect(self.path)  # SQLite finds nothing wrong with them
            column = "value" if registered else "text"
            self.assertEqual(data.execute(f"select count(distinct substr({column}, 1, 50)), sum(length({column})) "
                                          f"from {table} where length({column}) > 1000").fetchone(), (301, 301 * long))
            data.close()
            with self.subTest(table):
                self.refuse(table, "more than", "damaged")

    def test_tables_that_share_their_pages(self):
        """2,500 names of one table of 60,000 rows."""
        export = Export()
        for number in range(60000):
            export.add("EVENTS_0", start=number)
        export.write(self.path)
        data = sqlite3.connect(self.path)
        root, = data.execute("select rootpage from sqlite_schema where name = 'EVENTS_0'").fetchone()
        data.execute("pragma writable_schema = on")
        data.executemany("insert into sqlite_schema values ('table', ?1, ?1, ?2, 'create table ' || ?1 || ' (start)')",
                         [(f"EVENTS_{number}", root) for number in range(1, 2500)])
        data.commit()
        data.close()
        self.refuse("EVENTS_", "steps", "damaged")

    def test_every_truncation(self):
        export = self.everything()
        export.write(self.path, page_size=512)
        with open(self.path, "rb") as file:
            content = file.read()
        for length in [*range(0, 130, 13), *range(130, len(content), 211 * STEP)]:
            with open(self.path, "wb") as file:
                file.write(content[:length])
            with self.subTest(length):
                self.refuse("report.sqlite", format="nsys")

    def test_flipped_bytes(self):
        export = self.everything()
        export.write(self.path, page_size=512)
        with open(self.path, "rb") as file:
            content = file.read()
        out, generator = os.path.join(self.folder, "flip.xsp"), random.Random(4)
        outcomes = set()
        for turn in range(0, 150, STEP):
            broken = bytearray(content)
            for _ in range(generator.choice((1, 1, 4, 30))):
                broken[generator.randrange(100 if turn % 5 == 0 else len(broken))] = generator.randrange(256)
            with open(self.path, "wb") as file:
                file.write(broken)
            result = xsp("import", self.path, "-o", out, "--force", "--format", "nsys")
            self.assertIn(result.returncode, (0, 2), result.stderr)
            if result.returncode == 2:
                self.assertEqual(result.stderr.count(b"\n"), 1)
            outcomes.add(result.returncode)
            self.assertEqual(glob.glob(out + "?*"), [])
        self.assertEqual(outcomes, {0, 2})

    def everything(self):
        export = Export().nvtx("aten::mm, op_id = 1", 1, 90).nvtx("NCCL", 1, None, kind=75, domain=1)
        export.nvtx("ncclAllReduce", 20, 30, domain=1)
        for number in range(12):
            export.call("cudaLaunchKernel", 2 + number, 3 + number, number).kernel(f"k{number}", 30 + number, 40 + number, number)
            export.device("MEMCPY", 50, 60, 50 + number, bytes=64, copyKind=1, srcKind=0, dstKind=2)
        export.add("ThreadNames", nameId=export.string("t"), globalTid=gtid()).add("OSRT_API", start=1, end=2)
        return export


if __name__ == "__main__":
    unittest.main()
