# SPDX-License-Identifier: Apache-2.0
"""nvprof's CSV: traces of the device and of calls, metrics of each kernel, of every version's form. The rows have the form of
published files; expected figures are worked out next to them."""
import os
import unittest

from scripted import temporary_folder, xsp, xsp_json

BANNER = """==2119== NVPROF is profiling process 2119, command: ./net
==2119== Profiling application: ./net
==2119== Profiling result:
"""
TRACE = ('"Start","Duration","Grid X","Grid Y","Grid Z","Block X","Block Y","Block Z","Registers Per Thread","Static SMem",'
         '"Dynamic SMem","Size","Throughput","SrcMemType","DstMemType","Device","Context","Stream","Name","Correlation_ID"\n')
UNITS = "ms,us,,,,,,,,KB,B,KB,GB/s,,,,,,,\n"
GPU = '"Tesla P100-PCIE-16GB (0)","1","7"'
GEMM = '"void gemm<float, int=4>(float*, int)"'
# 8 x 2 blocks of 128; 2.644531 KB and 16 B of shared memory: 2.644531 * 1024 = 2707.9997 -> 2708, + 16
KERNEL = f'205.360000,10.250000,8,2,1,128,1,1,32,2.644531,16,,,,,{GPU},{GEMM},273\n'
METRICS = '"Device","Context","Stream","Kernel","Correlation_ID","flop_count_sp","dram_read_transactions",' \
          '"dram_write_transactions","achieved_occupancy","sm_efficiency","dram_utilization"\n'


class Nvprof(unittest.TestCase):
    def setUp(self):
        temporary = temporary_folder()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def write(self, text, name="nvprof.csv"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def load(self, *texts):
        """The report of an import of these files, its spans, each with its tags and track."""
        paths = [self.write(text, f"{i}.csv") for i, text in enumerate(texts)]
        self.out = os.path.join(self.folder, "t.xsp")
        report = xsp_json("import", *paths, "-o", self.out, "--force", "--json")
        spans = self.rows("select s.*, t.name as track, t.process_id, t.device_id, t.stream_id from span s"
                          " join track t using (run_id, track_id) order by run_id, span_id")
        for span in spans:
            span["tags"] = {row["key"]: row["value"] for row in self.rows(
                f"select key, value from tag where run_id = {span['run_id']} and span_id = {span['span_id']}")}
        return report, spans

    def rows(self, sql):
        return xsp_json("sql", self.out, sql, "--json")

    def test_a_trace(self):
        copy = f'205.340000,1.888000,,,,,,,,,,1.003906,0.507097,"Pageable","Device",{GPU},"[CUDA memcpy HtoD]",272\n'
        memset = f'205.380000,1.024000,,,,,,,,,,1.003906,0.610586,"Device",,{GPU},"[CUDA memset]",274\n'
        call = '205.349000,2.500000,,,,,,,,,,,,,,,,,"cudaLaunchKernel",273\n'
        report, (c, l, k, s) = self.load(BANNER + TRACE + UNITS + copy + call + KERNEL + memset)
        self.assertEqual(report["files"][0]["format"], "nvprof")
        self.assertEqual([span["category"] for span in (c, l, k, s)], ["memcpy", "api", "kernel", "memset"])
        # milliseconds and microseconds, exactly
        self.assertEqual((k["start_ns"], k["duration_ns"]), (205360000, 10250))
        self.assertEqual(k["name"], "void gemm<float, int=4>(float*, int)")
        self.assertEqual(k["tags"], {"grid": "[8,2,1]", "block": "[128,1,1]", "registers": 32, "shared_bytes": 2724})
        self.assertEqual((k["process_id"], k["device_id"], k["stream_id"]), (2119, 0, 7))
        self.assertEqual((k["kind"], k["correlation_id"], l["kind"]), ("execution", 273, "launch"))
        # 1.003906 * 1024 = 1027.9997
        self.assertEqual((c["name"], c["tags"]), ("Memcpy HtoD (Pageable -> Device)", {"copy_kind": "HtoD", "bytes": 1028}))
        self.assertEqual((s["name"], s["tags"]), ("Memset (Device)", {"bytes": 1028}))
        system = {row["key"]: row["value"] for row in self.rows("select key, value from system")}
        self.assertEqual(system["gpu"], "Tesla P100-PCIE-16GB")

    def test_numbers_behind_names(self):
        """Before CUDA 9 a name ended with the correlation id; the columns were fewer."""
        calls = '"Start","Duration","Name"\ns,ns,\n0.000001,500,"cudaLaunch (relu(float*) [17])"\n'
        gpu = '"Start","Duration","Device","Context","Stream","Name"\nus,us,,,,\n' \
              '2.5,3,"GeForce GTX 480 (1)","1","2","relu(float*) [17]"\n'
        report, (call, kernel) = self.load("======== Profiling result:\n" + calls + gpu)
        self.assertEqual((call["name"], call["kind"], call["start_ns"]), ("cudaLaunch", "launch", 1000))
        self.assertEqual((kernel["name"], kernel["start_ns"], kernel["device_id"]), ("relu(float*)", 2500, 1))
        self.assertEqual(call["correlation_id"], kernel["correlation_id"])
        self.assertEqual(report["unattributed"]["reasons"], {"launched outside any range": 1})

    def test_metrics_join_the_trace(self):
        metrics = f'{GPU},{GEMM},9,2097152,4096,1024,0.5,97.25%,"Low (2)"\n' \
                  f'{GPU},"relu(float*)",10,<OVERFLOW>,16,16,0.25,1.5%,"Idle (0)"\n'
        report, spans = self.load(BANNER + TRACE + UNITS + KERNEL, BANNER + METRICS + metrics)
        self.assertEqual([row["levels"] for row in self.rows("select levels from run")], ["K", "K+metrics"])
        # a transaction has 32 bytes: 4096 * 32, 1024 * 32; a ratio of 0.5 is 50 %
        self.assertEqual(spans[1]["tags"], {"flops_single": 2097152, "dram_read_bytes": 131072, "dram_write_bytes": 32768,
                                            "achieved_occupancy_pct": 50, "sm_efficiency": 97.25, "dram_utilization": "Low (2)"})
        self.assertNotIn("flops_single", spans[2]["tags"])  # it overflowed
        self.assertTrue(any("no times" in note for note in report["files"][1]["notes"]))
        row, = xsp_json("analyze", "A8", self.out, "--json")["rows"]
        # 2097152 flop over 131072 + 32768 bytes = 12.8; over 10.25 us = 2.046e11 per second
        self.assertAlmostEqual(row["arithmetic_intensity"], 12.8)
        self.assertAlmostEqual(row["arithmetic_throughput_flops_per_s"] / (2097152 / 10.25e-6), 1)
        self.assertEqual((row["achieved_occupancy_pct"], row["latency_ms"]), (50, 0.01025))

    def test_units_of_metrics(self):
        """A row of units belongs to all rows; bytes are believed before transactions, which then stay as they are."""
        header = '"Device","Context","Stream","Kernel","dram_read_bytes","dram_read_transactions","achieved_occupancy","ipc",' \
                 '"dram_read_throughput"\n,,,,KB,,%,,MB/s\n'
        _, (span,) = self.load(header + f'{GPU},"k()",3,1,75.5,1.25,2\n')
        self.assertEqual(span["tags"], {"dram_read_bytes": 3072, "achieved_occupancy_pct": 75.5, "ipc": 1.25,
                                        "dram_read_throughput": 2 << 20, "dram_read_transactions": 1})

    def test_processes(self):
        """Correlation ids repeat between processes."""
        api = '"Start","Duration","Name","Correlation_ID"\nus,us,,\n1,1,"cudaLaunchKernel",273\n'
        one = BANNER + api + TRACE + UNITS + KERNEL
        report, spans = self.load(one + one.replace("2119", "2120"))
        self.assertEqual([span["process_id"] for span in spans], [2119, 2119, 2120, 2120])
        self.assertEqual([span["correlation_id"] for span in spans], [273, 273, 1 << 32 | 273, 1 << 32 | 273])
        self.assertEqual(spans[3]["tags"]["recorded_correlation"], 273)
        self.assertEqual([span["kind"] for span in spans], ["launch", "execution"] * 2)
        self.assertTrue(any("2 processes" in note for note in report["files"][0]["notes"]))

    def test_what_is_not_a_row(self):
        """The program's own output, rows without times, Windows' line ends, invalid UTF-8, a last line without an end."""
        text = BANNER + "==2119== Warning: 2 records have invalid timestamps\n" + TRACE + UNITS
        text = text.replace("\n", "\r\n").encode() + b"loss 0.5, accuracy 0.9\n\n" + \
            KERNEL.replace("gemm", "g\udcff").encode("utf-8", "surrogateescape") + \
            b'1,,,,,,,,,,,,,,,,,,"cudaFree",4\n' + b'1,-2,,,,,,,,,,,,,,,,,"cudaFree",5\n' + b'"unclosed,2\n' + \
            b'2,2,,,,,,,,,,,,,,,,,"cudaFree",6'
        report, spans = self.load(text)
        file = report["files"][0]
        self.assertEqual(file["skipped"], {"not a row of a table": 2, "no times": 1, "negative duration": 1})
        self.assertEqual((file["events"], file["kept"]), (6, 2))
        self.assertEqual(file["notes"], ["nvprof: 2 records have invalid timestamps"])
        self.assertEqual([span["name"] for span in spans], ["void g\ufffd<float, int=4>(float*, int)", "cudaFree"])

    def test_refused(self):
        summary = '"Type","Time(%)","Time","Calls","Avg","Min","Max","Name"\n,%,us,,us,us,us,\n' \
                  '"GPU activities",100,1.0,1,1.0,1.0,1.0,"k()"\n'
        aggregated = '"Device","Kernel","Invocations","Metric Name","Metric Description","Min","Max","Avg"\n' \
                     '"Tesla K20c (0)","k()",3,"flop_count_sp","Floating Point Operations",10,10,10\n'
        for text, word in ((summary, "--print-gpu-trace"), (aggregated, "--metrics"),
                           (TRACE + UNITS.replace("us", "weeks") + KERNEL, "weeks"),
                           (TRACE + UNITS + KERNEL.replace("205.36", "9" * 20), "64 bits"),
                           (BANNER + TRACE + UNITS, "nvprof.csv"),
                           ('"Start","Duration","Device"\nus,us,\n', "Name")):
            with self.subTest(word):
                result = xsp("import", self.write(text), "-o", os.path.join(self.folder, "no.xsp"), check=2)
                self.assertIn(word, result.stderr.decode())
                self.assertFalse(os.path.exists(os.path.join(self.folder, "no.xsp")))


if __name__ == "__main__":
    unittest.main()
