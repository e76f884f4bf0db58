# SPDX-License-Identifier: Apache-2.0
"""JSON of rocprofv3. Objects have the members that rocprofiler-sdk's own writer gives them."""
import copy
import json
import unittest

from imported import Imported

BASE = 172_352_210_000_000  # of the monotonic clock


def handle(number):
    return {"handle": number}


def record(kind, operation, start, end, correlation, **more):
    return {"size": 64, "kind": kind, "operation": operation, "thread_id": 71, "correlation_id": {"internal": correlation, "external": 0},
            "start_timestamp": BASE + start, "end_timestamp": BASE + end, **more}


def dispatch(start, end, correlation, kernel, agent=20, **more):
    return record(2, 0, start, end, correlation, dispatch_info={
        "size": 80, "agent_id": handle(agent), "queue_id": handle(1), "kernel_id": kernel, "dispatch_id": 1, "private_segment_size": 0,
        "group_segment_size": 8192, "workgroup_size": {"x": 256, "y": 1, "z": 1}, "grid_size": {"x": 1024, "y": 2, "z": 1}}, **more)


def process(pid=70):
    return {
        "metadata": {"pid": pid, "init_time": BASE, "fini_time": BASE + 9000},
        "agents": [{"id": handle(10), "type": 1, "name": "cpu", "product_name": "AMD EPYC"},
                   {"id": handle(20), "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X"},
                   {"id": handle(21), "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X"}],
        "buffer_records": {  # before the names
            "kernel_dispatch": [dispatch(500, 1500, 7, 1, stream_id=handle(3)), dispatch(600, 900, 8, 2, agent=21)],
            "memory_copy": [record(3, 1, 2000, 2500, 9, src_agent_id=handle(10), dst_agent_id=handle(20), bytes=4096)],
            "hip_api": [record(1, 1, 100, 200, 7), record(1, 1, 250, 300, 8), record(1, 2, 1900, 2600, 9)],
            "marker_api": [record(0, 0, 50, 400, 3)],
            "rccl_api": [record(4, 0, 410, 480, 4)],
            "memory_allocation": [record(5, 0, 10, 20, 2)]},
        "strings": {"buffer_records": [{"kind": "MARKER_CORE_API", "operations": ["roctxRangePushA"]},
                                       {"kind": "HIP_RUNTIME_API", "operations": ["hipMalloc", "hipLaunchKernel", "hipMemcpy"]},
                                       {"kind": "KERNEL_DISPATCH", "operations": ["NONE"]}, {"kind": "MEMORY_COPY", "operations": []},
                                       {"kind": "RCCL_API", "operations": ["ncclAllReduce"]}],
                    "marker_api": [{"key": 3, "value": "aten::mm"}]},
        "kernel_symbols": [{"kernel_id": 1, "kernel_name": "_Z4gemmPf.kd", "formatted_kernel_name": "gemm(float*)"},
                           {"kernel_id": 2, "kernel_name": "relu.kd", "formatted_kernel_name": ""}]}


FILE = {"rocprofiler-sdk-tool": [process()]}


class RocProf(Imported):
    def by_name(self, spans):
        return {span["name"]: span for span in spans}

    def test_a_process(self):
        report, spans = self.load(FILE)
        self.assertEqual((report["files"][0]["format"], report["files"][0]["events"], report["files"][0]["skipped"]),
                         ("rocprof", 9, {"memory": 1}))
        named = self.by_name(spans)
        gemm, relu, layer = named["gemm(float*)"], named["relu.kd"], named["aten::mm"]
        self.assertEqual((gemm["start_ns"], gemm["duration_ns"], gemm["kind"], gemm["category"]), (BASE + 500, 1000, "execution", "kernel"))
        # Grids are in work-items: 1024 / 256 groups
        self.assertEqual(gemm["tags"], {"block": "[256,1,1]", "grid": "[4,2,1]", "shared_bytes": 8192, "recorded_correlation": 7})
        self.assertEqual((gemm["device_id"], gemm["stream_id"], relu["device_id"], relu["stream_id"]), (0, 3, 1, 1))
        # Both are launched within the range, which is an operator by its name
        self.assertEqual((layer["level"], gemm["parent_id"], relu["parent_id"], gemm["basis"]),
                         ("layer", layer["span_id"], layer["span_id"], "correlation"))
        self.assertEqual([(span["kind"], span["category"]) for span in spans if span["name"] == "hipLaunchKernel"],
                         [("launch", "api")] * 2)
        copied = named["Memcpy HtoD"]
        self.assertEqual((copied["category"], copied["tags"]["bytes"], copied["tags"]["copy_kind"]), ("memcpy", 4096, "HtoD"))
        self.assertEqual((named["ncclAllReduce"]["level"], named["ncclAllReduce"]["thread_id"], layer["process_id"]), ("library", 71, 70))
        self.assertEqual(self.system()["gpu"], "AMD Instinct MI300X")

    def test_a_grid_that_blocks_do_not_fill(self):
        """As of HSA's and OpenCL's launches: the last block is cut."""
        file = copy.deepcopy(FILE)
        info = file["rocprofiler-sdk-tool"][0]["buffer_records"]["kernel_dispatch"][0]["dispatch_info"]
        info["grid_size"] = {"x": 1000, "y": 1, "z": 1}
        info["workgroup_size"] = {"x": 256, "y": 2, "z": 1}
        _, spans = self.load(file)
        self.assertEqual(self.by_name(spans)["gemm(float*)"]["tags"]["grid"], "[4,1,1]")

    def test_a_copy_within_the_host(self):
        """No GPU takes part, so it is on none."""
        file = copy.deepcopy(FILE)
        file["rocprofiler-sdk-tool"][0]["buffer_records"]["memory_copy"].append(
            record(3, 1, 2000, 2600, 9, src_agent_id=handle(10), dst_agent_id=handle(10), bytes=64))
        _, spans = self.load(file)
        named = self.by_name(spans)
        self.assertEqual([(named[f"Memcpy {kind}"]["device_id"], named[f"Memcpy {kind}"]["thread_id"]) for kind in ("HtoH", "HtoD")],
                         [(None, None), (0, None)])

    def test_ids_of_more_than_32_bits(self):
        """They join calls and kernels, too, and those of two processes are apart."""
        file = {"rocprofiler-sdk-tool": [process(70), process(71)]}
        large = 1 << 32 | 7  # that of process 71 with the id 7
        for whole in file["rocprofiler-sdk-tool"]:
            for records in ("kernel_dispatch", "hip_api"):
                extra = copy.deepcopy(whole["buffer_records"][records][0])
                extra["correlation_id"]["internal"] = large
                whole["buffer_records"][records].append(extra)
        _, spans = self.load(file)
        gemms = [span for span in spans if span["name"] == "gemm(float*)"]
        self.assertEqual([span["basis"] for span in gemms], ["correlation"] * 4)
        self.assertEqual(len({span["correlation_id"] for span in gemms}), 4)
        self.assertEqual(sorted(span["tags"]["recorded_correlation"] for span in gemms), [7, 7, large, large])

    def test_lists_that_are_not_read_are_counted(self):
        file = copy.deepcopy(FILE)
        whole = file["rocprofiler-sdk-tool"][0]
        whole["callback_records"] = {"counter_collection": [{"dispatch_data": {}, "records": [{"value": 1.0}]}] * 2}
        whole["buffer_records"]["pc_sample_host_trap"] = [{"record": {"pc": {}}, "inst_index": 0}] * 3
        whole["buffer_records"]["of_a_later_version"] = [record(9, 0, 1, 2, 1)]
        report, spans = self.load(file)
        self.assertEqual((len(spans), report["files"][0]["skipped"]),
                         (8, {"memory": 1, "counter": 2, "sample of instructions": 3, "other record": 1}))

    def test_processes_do_not_share_correlation_ids(self):
        _, spans = self.load({"rocprofiler-sdk-tool": [process(70), process(71)]})
        gemms = [span for span in spans if span["name"] == "gemm(float*)"]
        self.assertEqual([(s["process_id"], s["correlation_id"], s["basis"]) for s in gemms],
                         [(70, 7, "correlation"), (71, 1 << 32 | 7, "correlation")])
        self.assertNotEqual(gemms[0]["parent_id"], gemms[1]["parent_id"])

    def test_what_cannot_be_read(self):
        self.refuse(json.dumps(FILE)[:-2], mentions=["byte"])
        self.refuse({"rocprofiler-sdk-tool": [7]}, mentions=["byte"])
        self.refuse({"rocprofiler-sdk-tool": [{"metadata": {}}]}, mentions=["no span"])
        bad = copy.deepcopy(FILE)
        bad["rocprofiler-sdk-tool"][0]["buffer_records"]["hip_api"] += [record(1, 1, 100, 50, 7), {"kind": 1}]
        report, spans = self.load(bad)
        self.assertEqual((len(spans), report["files"][0]["skipped"]), (8, {"memory": 1, "negative duration": 1, "no times": 1}))


if __name__ == "__main__":
    unittest.main()
