# SPDX-License-Identifier: Apache-2.0
"""CSV of Nsight Compute in both of its forms: a row a kernel, and a row a metric. Expected figures are worked out next to them."""
import unittest

from imported import Imported
from scripted import xsp_json

COLUMNS = '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC"'
FLOPS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
METRICS = ["dram__bytes_read.sum", "dram__bytes_write.sum", "gpu__time_duration.sum", "launch__registers_per_thread",
           "launch__shared_mem_per_block_static", "launch__shared_mem_per_block_dynamic",
           "sm__warps_active.avg.pct_of_peak_sustained_active", FLOPS.format("fadd"), FLOPS.format("ffma"), FLOPS.format("hfma"),
           "sm__throughput.avg.pct_of_peak_sustained_elapsed", "device__attribute_display_name"]
UNITS = ["Kbyte", "byte", "us", "register/thread", "byte/block", "Kbyte/block", "%", "inst", "Kinst", "inst", "%", ""]
GEMM = ["4.096", "1,024", "10.25", "32", "2,708", "1", "50.5", "1,000", "5", "7", "71.5", "NVIDIA A100"]
RELU = ["16", "0", "2", "16", "0", "0", "25", "n/a", "0", "0", "nan", "NVIDIA A100"]


def kernel(number, name, *, device=0, stream=7, grid="(16, 8, 1)"):
    return [str(number), "19963", "net", "host1", name, "1", str(stream), "(256, 1, 1)", grid, str(device), "8.0"]


def rows(*lines):
    return "".join(",".join(f'"{value}"' for value in line) + "\n" for line in lines)


def raw(*kernels):
    header = COLUMNS + "," + ",".join(f'"{name}"' for name in METRICS) + "\n"
    return "==PROF== Connected to process 19963\n" + header + rows([""] * 11 + UNITS, *kernels) + "==PROF== Disconnected\n"


class NsightCompute(Imported):
    def test_a_row_a_kernel(self):
        report, (gemm, relu) = self.load(raw(kernel(0, "void gemm<float, 4>(float *, const int &)") + GEMM,
                                             kernel(1, "relu(float *)", device=1, grid="(4, 1, 1)") + RELU))
        self.assertEqual((report["files"][0]["format"], report["files"][0]["skipped"]), ("ncu", {"not a row of a table": 2}))
        self.assertEqual((gemm["name"], gemm["start_ns"], gemm["duration_ns"]),
                         ("void gemm<float, 4>(float*, const int&)", 0, 10_250))
        self.assertEqual((relu["start_ns"], relu["duration_ns"], relu["device_id"], relu["stream_id"], relu["process_id"]),
                         (10_250, 2_000, 1, 7, 19963))
        self.assertEqual((gemm["level"], gemm["kind"], gemm["category"]), ("kernel", "execution", "kernel"))
        # fadd 1000 + 2 x 5000 ffma; 2 x 7 hfma; 2708 static and 1 x 1000 dynamic bytes
        self.assertEqual(gemm["tags"], {
            "grid": "[16,8,1]", "block": "[256,1,1]", "registers": 32, "shared_bytes": 3708, "flops_single": 11_000,
            "flops_half": 14, "dram_read_bytes": 4096, "dram_write_bytes": 1024, "achieved_occupancy_pct": 50.5,
            "sm__throughput.avg.pct_of_peak_sustained_elapsed": 71.5, "device__attribute_display_name": "NVIDIA A100"})
        self.assertNotIn("sm__throughput.avg.pct_of_peak_sustained_elapsed", relu["tags"])  # nan
        self.assertEqual(self.rows("select levels from run"), [{"levels": "K+metrics"}])
        self.assertEqual(self.system()["gpu_compute_capability"], "8.0")

    def test_roofline_of_a_file_alone(self):
        self.load(raw(kernel(0, "gemm") + GEMM))
        row, = xsp_json("analyze", "A8", self.out, "--json")["rows"]
        # 11014 flops over 4096 + 1024 bytes, in 10.25 us
        self.assertAlmostEqual(row["arithmetic_intensity"], 11014 / 5120)
        self.assertAlmostEqual(row["arithmetic_throughput_flops_per_s"] / (11014 / 10.25e-6), 1)
        self.assertEqual((row["achieved_occupancy_pct"], row["latency_ms"]), (50.5, 0.01025))

    def test_a_row_a_metric(self):
        header = COLUMNS + ',"Section Name","Metric Name","Metric Unit","Metric Value","Rule Name","Rule Type","Rule Description"\n'
        lines = [("GPU Speed Of Light Throughput", "Duration", "us", "1,234.5", "", "", ""), ("Occupancy", "Achieved Occupancy", "%", "93.1", "", "", ""),
                 ("SpeedOfLight", "", "", "", "SOLBottleneck", "INF", "Look at \"\"memory\"\""),
                 ("Command line profiler metrics", "dram__bytes_read.sum", "Mbyte", "2.5", "", "", "")]
        text = header + rows(*(kernel(0, "saxpy") + list(line) for line in lines), kernel(1, "saxpy") + list(lines[3]))
        report, (first, second) = self.load(text)
        self.assertEqual((report["files"][0]["events"], report["files"][0]["kept"]), (5, 5))
        self.assertEqual((first["duration_ns"], second["duration_ns"]), (1_234_500, 0))
        self.assertEqual((first["tags"]["achieved_occupancy_pct"], first["tags"]["dram_read_bytes"]), (93.1, 2_500_000))
        self.assertTrue(any("1 kernels have no duration" in note for note in report["files"][0]["notes"]))
        self.assertIn("locked clocks", " ".join(report["files"][0]["notes"]))

    def test_units_that_fit_each_value(self):
        """Of one metric the kernels have several units, in versions before "Ghz" and after."""
        header = COLUMNS + ',"Section Name","Metric Name","Metric Unit","Metric Value"\n'
        units = [("cycle/nsecond", "1.25"), ("cycle/usecond", "1,250"), ("Ghz", "1.25"), ("cycle/s", "1,250,000,000"), ("Mbyte/msecond", "1.25")]
        times = [("usecond", "2.5"), ("ms", "0.0025"), ("ns", "2,500"), ("nsecond", "2,500"), ("us", "2.5")]
        text = header + rows(*(kernel(at, "saxpy") + ["", name, *value] for at in range(len(units))
                               for name, value in (("SM Frequency", units[at]), ("gpu__time_active.avg", times[at]))))
        _, spans = self.load(text)
        self.assertEqual([(span["tags"]["SM Frequency"], span["tags"]["gpu__time_active.avg"]) for span in spans],
                         len(units) * [(1_250_000_000, 2500)])

    def test_metrics_join_a_trace(self):
        """Latencies of the trace, metrics of Nsight Compute."""
        trace = '"Start","Duration","Device","Context","Stream","Name","Correlation_ID"\nus,us,,,,,\n' \
                '5,20,"GPU (0)","1","7","relu(float*)",1\n'
        self.load("==1== Profiling result:\n" + trace, raw(kernel(0, "relu(float *)") + RELU))
        row, = xsp_json("analyze", "A8", self.out, "--json")["rows"]
        self.assertEqual((row["latency_ms"], row["dram_read_bytes"], row["achieved_occupancy_pct"]), (0.02, 16_000, 25))

    def test_what_cannot_be_read(self):
        self.refuse(raw(), mentions=["no span"])
        days = [*GEMM[:2], "4,000,000,000,000", *GEMM[3:]]
        text = raw(*(kernel(i, "k") + days for i in range(3))).replace('"us"', '"ms"')
        self.refuse(text, mentions=["beyond 64 bits"])
        report, spans = self.load(raw(kernel(0, "k") + GEMM, ["1", "2"], kernel(2, "k") + GEMM) + '"3","19963","broken\n')
        self.assertEqual((len(spans), report["files"][0]["skipped"]), (2, {"not a row of a table": 4}))


if __name__ == "__main__":
    unittest.main()
