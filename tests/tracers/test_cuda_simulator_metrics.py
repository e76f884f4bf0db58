# SPDX-License-Identifier: Apache-2.0
"""The simulated GPU's profilers of counters are like the vendor's: the same metrics take the same passes, wrong arguments have the
same results, and the sequence of calls of NVIDIA's samples gives the values that the simulator documents."""
import ctypes
import itertools
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import cuda_simulator as gpu
import cupti_host

TIME, READ, OCCUPANCY = "gpu__time_duration.sum", "dram__bytes_read.sum", "sm__warps_active.avg.pct_of_peak_sustained_active"
FADD = "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"
SASS = [f"smsp__sass_thread_inst_executed_op_{operation}_pred_on.sum"
        for operation in ("fadd", "fmul", "ffma", "hadd", "hmul", "hfma", "dadd", "dmul", "dfma")]
TENSOR = [f"sm__ops_path_tensor_src_{kind}.sum" for kind in (
    "bf16_dst_fp32", "tf32_dst_fp32", "fp64", "int8", "fp16", "fp8", "fp16_dst_fp16", "fp16_dst_fp32", "fp4_dst_fp32",
    "fp4_fp6_dst_fp16", "fp4_fp6_dst_fp32", "fp8_dst_fp16", "fp8_dst_fp32")]
BASE = [TIME, OCCUPANCY, READ, "dram__bytes_write.sum", "dram__bytes_op_read.sum", "dram__bytes_op_write.sum"]
OTHERS = ["lts__t_bytes.sum", "smsp__inst_executed.sum", "dram__throughput.avg.pct_of_peak_sustained_elapsed",
          "dram__read_throughput.avg.pct_of_peak_sustained_elapsed", "dram__write_throughput.avg.pct_of_peak_sustained_elapsed",
          "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"]
MINE = gpu.VERSIONS["13.1"][1]
LAUNCHES = [("first", (3, 2, 1), (32, 1, 1)), ("second", (4, 2, 1), (64, 1, 1)), ("first", (5, 2, 1), (32, 1, 1)),
            ("node", (1, 2, 1), (32, 1, 1)), ("node", (2, 2, 1), (32, 1, 1)), ("saxpy", (1, 2, 1), (1, 1, 1))]  # of range_client
KERNEL_NS = 3000000


@unittest.skipIf(gpu.WHY_NOT, gpu.WHY_NOT)
class HostTest(unittest.TestCase):
    """The host half: no driver is needed."""

    def setUp(self):
        if not gpu.vendors_library():
            self.skipTest("the vendor's libcupti is not installed (nvidia-cuda-cupti)")
        self.mine, self.vendors = cupti_host.Host(MINE), cupti_host.Host(gpu.vendors_library())
        self.addCleanup(self.mine.close)
        self.addCleanup(self.vendors.close)

    def known(self, chip, metrics):
        return [metric for metric in metrics if isinstance(self.mine.passes(chip, [metric]), int)]

    def test_chips_are_among_the_vendors(self):
        self.assertEqual(self.mine.chips, ["GH100", "GB202"])
        self.assertLessEqual(set(self.mine.chips), set(self.vendors.chips))

    def test_each_metric_is_known_and_takes_passes_as_the_vendors(self):
        for chip, profiler in itertools.product(self.mine.chips, (cupti_host.RANGES, cupti_host.SAMPLING)):
            for metric in [*SASS, *TENSOR, *BASE, *OTHERS, "dram__bytes_read", "nonsense.sum"]:
                with self.subTest(chip=chip, metric=metric, profiler=profiler):
                    self.assertEqual(self.mine.passes(chip, [metric], profiler), self.vendors.passes(chip, [metric], profiler))

    def test_sets_of_metrics_take_passes_as_the_vendors(self):
        asked = 0
        for chip in self.mine.chips:
            tensor, base = self.known(chip, TENSOR), self.known(chip, BASE)
            counts = range(len(tensor) + 1) if chip == "GH100" else range(3)  # larger ones of GB202 depend on their order
            sets = [list(some) for count in counts for some in itertools.combinations(tensor, count)]
            for metrics in [[*some, *more] for some in sets for more in ([], base, SASS, SASS[:3], [*base, *SASS]) if some or more]:
                asked += 1
                with self.subTest(chip=chip, metrics=metrics):
                    self.assertEqual(self.mine.passes(chip, metrics), self.vendors.passes(chip, metrics))
        self.assertEqual(asked, (64 + 1 + 11 + 55) * 5 - 2)
        self.assertEqual(self.mine.passes("GH100", [*BASE[:4], *SASS, *TENSOR[:6]]), 7)

    def test_wrong_arguments_have_the_vendors_results(self):
        for chip, metrics in (("GH999", [TIME]), ("GH100", []), ("", [TIME])):
            self.assertEqual(self.mine.passes(chip, metrics), self.vendors.passes(chip, metrics))
            self.assertIsInstance(self.mine.passes(chip, metrics), dict)
        for wrong in (-48, -1, 8, None):
            with self.subTest(wrong):
                self.assertEqual([host.wrong_size(wrong) for host in (self.mine, self.vendors)], [1, 1])
        self.assertEqual([host.wrong_size(0) for host in (self.mine, self.vendors)], [0, 0])


class ClientTest(unittest.TestCase):
    """Runs a client. What it printed is in self.said, results of calls in self.results, the simulator's counts in self.counted."""
    CLIENT = None

    def setUp(self):
        if gpu.WHY_NOT:
            self.skipTest(gpu.WHY_NOT)
        temporary = tempfile.TemporaryDirectory(prefix="xsp-cuda-")
        self.addCleanup(temporary.cleanup)
        self.counts = pathlib.Path(temporary.name) / "counts"

    def client(self, mode, metrics, version="13.1", entries=10, faults="", **more):
        """The rows of ranges or samples."""
        self.counts.unlink(missing_ok=True)
        environment = gpu.environment(version, faults, counts=self.counts, kernel_ns=KERNEL_NS, **more)
        done = subprocess.run([self.CLIENT, gpu.VERSIONS[version][1], mode, str(entries), *metrics], stdout=subprocess.PIPE,
                              timeout=600, env={**os.environ, **environment})
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        self.said, self.results, self.status = {}, {}, done.returncode
        for row in rows:
            if "call" in row:
                self.results[row["call"]] = row["result"]
            elif not row.keys() & {"range", "start"}:
                self.said.update(row)
        self.counted = gpu.read_counts(self.counts)
        return [row for row in rows if row.keys() & {"range", "start"}]

    def check_order(self, allowed, wrong, **others):
        """Calls that succeed; that have a wrong argument; with other results. The rest is invalid at its time."""
        expected = {call: 0 if call in allowed else 1 if call in wrong else others.get(call.replace(" ", "_"), 7)
                    for call in self.results}
        self.assertEqual(self.results, expected)
        self.assertLessEqual(allowed | wrong | {call.replace("_", " ") for call in others}, set(self.results))


class RangesTest(ClientTest):
    CLIENT = gpu.RANGE_CLIENT

    def ranges(self, *arguments, **more):
        return {row.pop("range"): row for row in self.client(*arguments, **more)}

    def test_functions_of_each_version(self):
        for version, (_, path) in gpu.VERSIONS.items():
            for function in ("cuptiProfilerHostInitialize", "cuptiRangeProfilerStart", "cuptiPmSamplingStart"):
                self.assertEqual(hasattr(ctypes.CDLL(str(path)), function), version not in ("11.8", "12.4"), (version, function))

    def test_each_kernel_is_a_range_with_the_documented_values(self):
        metrics = [TIME, READ, OCCUPANCY, FADD]
        for version in ("13.1", "13.5"):
            with self.subTest(version):
                ranges = self.ranges("auto", metrics, version)
                self.assertEqual(list(ranges), [str(i) for i in range(6)])
                for (kernel, grid, block), values in zip(LAUNCHES, ranges.values()):
                    self.assertEqual(values, {TIME: KERNEL_NS} | {name: gpu.metric(name, kernel, grid, block) for name in metrics[1:]})
                self.assertEqual((self.said["chip"], self.said["passes"], self.said["complete"]), ("GH100", 2, 1))
                self.assertEqual((self.said["y"], self.said["dropped"], self.counted["ranges"]), (7, 0, 6))
                self.assertGreaterEqual(self.said["launches_ns"], 3 * 2 * KERNEL_NS)  # 3 kernels, 2 passes, waited for

    def test_values_derived_by_hand(self):
        """dram__bytes_read.sum of "node", grid 1×2×1, block 32: 64 threads; the bytes of "node" are 110+111+100+101 = 422, those of
        the metric 2055, together 2477 = 25 × 97 + 52, so the weight is 53."""
        self.assertEqual(self.ranges("auto", [READ])["3"], {READ: 64 * 53})

    def test_the_user_repeats_ranges_until_all_passes_are_in(self):
        ranges = self.ranges("user", [TIME, READ, OCCUPANCY, FADD])
        values = {name: [gpu.metric(name, *launch) for launch in LAUNCHES[:3]] for name in (READ, OCCUPANCY, FADD)}
        self.assertEqual(ranges, {"both": {TIME: 2 * KERNEL_NS, READ: sum(values[READ][:2]), OCCUPANCY: sum(values[OCCUPANCY][:2]) / 2,
                                           FADD: sum(values[FADD][:2])},
                                  "one": {TIME: KERNEL_NS} | {name: three[2] for name, three in values.items()}})
        self.assertEqual((self.said["sessions"], self.said["passes"]), (2, 2))
        self.ranges("user", [READ])
        self.assertEqual((self.said["sessions"], self.said["passes"]), (1, 1))

    def test_another_chip_has_other_names(self):
        self.ranges("auto", [READ], chip="GB202")
        self.assertEqual((self.said["failed"], self.said["result"]), ("cuptiProfilerHostConfigAddMetrics", 1))
        other = "dram__bytes_op_read.sum"
        self.assertEqual(self.ranges("auto", [other], chip="GB202")["0"], {other: gpu.metric(other, *LAUNCHES[0])})

    def test_calls_out_of_order_are_refused(self):
        self.client("order", [READ])
        self.check_order({"config", "start", "stop", "decode"},
                         {"config before image", "image too small", "auto range, user replay", "size of the structure"},
                         before_initialization=15)

    def test_parameters_of_a_later_version(self):
        """13.1 has added a field to those of cuptiProfilerGetCounterAvailability; the client has 13.1's headers."""
        for version in ("12.9", "13.0"):
            self.ranges("auto", [READ], version)
            self.assertEqual((self.said["failed"], self.said["result"]), ("cuptiProfilerGetCounterAvailability", 1))

    def test_ranges_that_do_not_fit_are_dropped_and_counted(self):
        self.assertEqual(list(self.ranges("auto", [READ], entries=4)), ["0", "1", "2", "3"])
        self.assertEqual((self.said["dropped"], self.counted["ranges_dropped"]), (2, 2))
        self.assertEqual(list(self.ranges("auto", [READ], faults="counter-data-small")), ["0", "1", "2", "3", "4"])
        self.assertEqual((self.said["dropped"], self.counted["ranges_dropped"]), (1, 1))
        ranges = self.ranges("auto", [READ], faults="ranges-dropped", seed=2)
        self.assertGreater(self.said["dropped"], 0)
        self.assertEqual(len(ranges) + self.said["dropped"], 6)

    def test_refusals(self):
        for fault, failed, result in (("counters-refused", "cuptiProfilerGetCounterAvailability", 35),
                                      ("counters-virtual", "cuptiProfilerGetCounterAvailability", 40),
                                      ("counters-mig", "cuptiProfilerGetCounterAvailability", 43),
                                      ("enable-refused", "cuptiRangeProfilerEnable", 35),
                                      ("counters-busy", "cuptiRangeProfilerStart", 26)):
            with self.subTest(fault):
                self.ranges("auto", [READ], faults=fault)
                self.assertEqual((self.status, self.said["failed"], self.said["result"]), (1, failed, result))


class SamplingTest(ClientTest):
    """6 kernels of sampling_client in two streams, sampled each 50 µs."""
    CLIENT, INTERVAL_NS = gpu.SAMPLING_CLIENT, 50000
    LAUNCHES = [("first", (3, 2, 1), (32, 1, 1)), ("second", (3, 2, 1), (32, 1, 1))] * 3

    def test_samples_follow_one_another_and_share_what_the_kernels_do(self):
        *samples, last = self.client("run", [TIME, READ, OCCUPANCY], entries=60000)  # of 3 s
        self.assertEqual((last["start"], last["end"]), (samples[0]["start"],) * 2)  # after the end: of no time
        for sample, following in zip(samples, samples[1:]):
            self.assertEqual(sample["end"], following["start"])
        self.assertEqual({sample["end"] - sample["start"] for sample in samples}, {self.INTERVAL_NS})
        self.assertGreaterEqual(len(samples), 3 * KERNEL_NS / self.INTERVAL_NS)  # 3 kernels one after the other
        self.assertEqual(sum(sample[TIME] for sample in samples), 6 * KERNEL_NS)
        self.assertAlmostEqual(sum(sample[READ] for sample in samples), sum(gpu.metric(READ, *launch) for launch in self.LAUNCHES))
        self.assertAlmostEqual(sum(sample[OCCUPANCY] for sample in samples) * self.INTERVAL_NS,
                               sum(gpu.metric(OCCUPANCY, *launch) for launch in self.LAUNCHES) * KERNEL_NS, places=0)
        self.assertEqual((self.said["decodes"], self.said["overflows"], self.counted["samples"]), (1, 0, len(samples)))

    def test_samples_beyond_full_counters_are_lost(self):
        samples = self.client("run", [READ], entries=7)
        self.assertGreater(self.said["decodes"], 1)
        self.assertTrue(all(sample["end"] - sample["start"] == self.INTERVAL_NS for sample in samples[:7]))
        self.assertEqual({(sample["start"], sample["end"]) for sample in samples[7:-1]}, {(0, 0)})

    def test_a_full_buffer_keeps_the_latest_and_says_so(self):
        samples = self.client("overflow", [READ])
        self.assertEqual((len(samples), self.said["overflows"]), (3, 1))  # of 8 KiB, and the last

    def test_times_of_another_clock(self):
        plain, other = (self.client("run", [READ], faults=fault)[0]["start"] for fault in ("", "sample-times"))
        self.assertGreater(plain - other, 900000 * 10 ** 9)

    def test_calls_out_of_order_are_refused(self):
        self.client("order", [READ])
        self.check_order({"config", "start", "stop"}, {"buffer too small"}, two_passes=27)

    def test_refusals(self):
        for fault, failed, result in (("counters-refused", "cuptiPmSamplingGetCounterAvailability", 35),
                                      ("enable-refused", "cuptiPmSamplingEnable", 35), ("counters-busy", "cuptiPmSamplingStart", 26)):
            self.client("run", [READ], faults=fault)
            self.assertEqual((self.status, self.said["failed"], self.said["result"]), (1, failed, result))
        self.client("run", [FADD])
        self.assertEqual((self.said["failed"], self.said["result"]), ("cuptiProfilerHostConfigAddMetrics", 1))


del ClientTest  # has no tests of its own

if __name__ == "__main__":
    unittest.main(verbosity=2)
