# SPDX-License-Identifier: Apache-2.0
"""Metrics of kernels by PM sampling on a simulated GPU: a kernel that has samples of its own has the metrics that the simulator's
formula (profiler_metrics.h) gives its name and shape; another has none. Kernels are recorded as ever."""
import json
import subprocess
import unittest
from unittest import mock

import cuda_simulator as gpu
from cuda_runs import DEMANGLED, MODES, CudaTest, launches_of
from device_runs import SANITIZED, TIMEOUT, UNSANITIZED, XSP

READ, WRITE = "dram__bytes_read.sum", "dram__bytes_write.sum"
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
TAGS = {"dram_read_bytes": READ, "dram_write_bytes": WRITE, "achieved_occupancy_pct": OCCUPANCY}
INTERVAL_NS, KERNEL_NS = 200000, 3000000
MANGLED = {value: key for key, value in DEMANGLED.items()}


class SamplingTest(CudaTest):
    def sampled(self, mode, version="13.1", faults="", choice="", kernel_ns=KERNEL_NS, **more):
        """Runs the program with and without sampling: it must not notice. What was launched is in self.launches."""
        environment = self.environment(version, faults, kernel_ns=kernel_ns, **more)
        plain = self.start((), mode, environment)
        choice = f"collect=sampling,interval_us={INTERVAL_NS // 1000}{choice}"
        command = (XSP, "run", "-f", "-t", "cuda", "--levels", "M/L/K+metrics", "--cuda", choice, "-o", self.out, "--")
        if SANITIZED:
            self.record_without_run(mode, "", {**environment, "XSP_CUDA": choice, "XSP_METRICS": "0"}, plain)
        else:
            self.assertEqual(self.start(command, mode, environment), plain, self.said)
        self.made = [json.loads(line) for line in self.truth.read_text().splitlines()]
        self.launches = launches_of(self.made)
        self.counted = gpu.read_counts(self.counts)

    def recorded(self):
        """All that ran on devices, by its start; kernels with their tags."""
        tag = "(select value from tag g where g.run_id = s.run_id and g.span_id = s.span_id and g.key = '{}')"
        tags = ", ".join(f"{tag.format(key)} as {key}" for key in ("grid", "block", "metric_samples", *TAGS))
        return self.sql(f"select s.name, s.category, t.device_id as device, s.start_ns as start, s.end_ns as end, {tags} from span s "
                        "join track t using (run_id, track_id) where kind = 'execution' and category <> 'sync' order by start_ns")

    @staticmethod
    def alone(row, rows):
        """Times in which nothing else ran on the device."""
        others = sorted((max(o["start"], row["start"]), min(o["end"], row["end"])) for o in rows if o is not row and
                        o["device"] == row["device"] and o["start"] < row["end"] and o["end"] > row["start"])
        at, gaps = row["start"], []
        for start, end in [*others, (row["end"], row["end"])]:
            if start > at:
                gaps.append(start - at)
            at = max(at, end)
        return gaps

    def check_metrics(self, row):
        """By the formula; none without samples."""
        shape = (MANGLED.get(row["name"], row["name"]), json.loads(row["grid"]), json.loads(row["block"]))
        expected = {tag: gpu.metric(name, *shape) if row["metric_samples"] else None for tag, name in TAGS.items()}
        self.assertEqual({tag: row[tag] for tag in TAGS}, expected, row)

    def check(self):
        """All launches, each kernel with its metrics where a sample must lie in it alone, and none where no sample can."""
        self.assertEqual(self.recorded_launches(), self.launches)
        rows = self.recorded()
        kernels = [row for row in rows if row["category"] == "kernel"]
        sampled = 0
        for row in kernels:
            gaps = self.alone(row, rows)
            fits = sum(max(0, gap // INTERVAL_NS) for gap in gaps)  # a gap has as many samples, or one fewer
            samples = row["metric_samples"] or 0
            self.assertLessEqual(samples, fits, row)
            self.assertGreaterEqual(samples, fits - len(gaps), row)
            self.check_metrics(row)
            sampled += samples > 0
        if kernels and not SANITIZED:
            self.assertIn(f"cuda: {sampled} of {len(kernels)} kernels have metrics", self.said)
        return kernels, sampled

    def test_kernels_one_after_the_other(self):
        for version in ("12.9", "13.0", "13.1", "13.5"):
            with self.subTest(version):
                self.sampled("names", version)
                kernels, sampled = self.check()
                self.assertEqual((sampled, len(kernels)), (8, 8))
                self.assertTrue({row["metric_samples"] for row in kernels} <= {14, 15})  # of 0.2 ms in 3 ms
                if not SANITIZED:
                    self.assertIn("cuda: GH100: 3 metrics of each kernel: dram_read_bytes, dram_write_bytes, "
                                  "achieved_occupancy_pct; sampled every 200 us, kernels run once\n", self.said)

    def test_kernels_beside_others(self):
        for mode in ("simple", "contexts", "chain", "graph", "threads"):
            with self.subTest(mode):
                self.sampled(mode)
                kernels, sampled = self.check()
                self.assertLess(0 if mode in ("chain", "contexts") else sampled, len(kernels))

    @UNSANITIZED  # the level set is that of xsp run
    def test_values_derived_by_hand(self):
        """vector_add has 4 * 2 blocks of 128 threads: 1,024. The bytes of its name add up to 1051, those of the metric to 2055:
        1 + (1051 + 2055) % 97 = 3. So it reads 3,072 bytes."""
        self.sampled("chain")
        kernels, _ = self.check()
        self.assertEqual({row["dram_read_bytes"] for row in kernels if (row["name"], row["grid"]) == ("vector_add", "[4,2,1]")},
                         {3072})
        rows = json.loads(subprocess.run([XSP, "analyze", "A8", self.out, "--json"], check=True, timeout=TIMEOUT,
                                         stdout=subprocess.PIPE).stdout)["rows"]
        self.assertIn(3072, {row["dram_read_bytes"] for row in rows if row["kernel_name"] == "vector_add"})

    def test_kernels_shorter_than_the_interval_have_none(self):
        self.sampled("simple", kernel_ns=INTERVAL_NS // 2)
        _, sampled = self.check()
        self.assertEqual(sampled, 0)

    @UNSANITIZED
    def test_metrics_by_name(self):
        tensor, throughput = ("sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
                              "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum")
        self.sampled("names", choice=f",metrics={tensor}+{throughput}")
        self.assertIn(f"cuda: GH100 has no metric: {throughput}\n", self.said)  # counted by instrumented kernels
        values = self.sql(f"select s.name, value from tag join span s using (run_id, span_id) where key = '{tensor}'")
        self.assertEqual(len(values), 8)

    @UNSANITIZED
    def test_many_samples_at_a_time(self):
        """3 kernels of 1.1 s have 3,300 samples, which CUPTI's counters have to hold until the tracer comes: NVIDIA loses others."""
        with mock.patch.dict(MODES, many=3):
            self.sampled("many", choice=",interval_us=1000", kernel_ns=1100000000)
        self.assertNotIn("samples were", self.said)
        self.assertTrue({row["metric_samples"] for row in self.recorded() if row["category"] == "kernel"} <= {1099, 1100})

    @UNSANITIZED
    def test_samples_that_are_lost(self):
        """CUPTI's counters hold half as many samples as it was asked for, so those of a kernel do not fit. The device holds
        those of 3.2 s: were it full, none would come."""
        self.sampled("names", choice=",interval_us=25", kernel_ns=60000000, faults="counter-data-small")
        self.assertGreater(self.said_count("samples were lost"), 0)
        self.assertEqual(self.recorded_launches(), self.launches)

    @UNSANITIZED
    def test_sampling_goes_on_after_an_overflow(self):
        """At first the device has room for 400 samples: not for those of a kernel of 500 ms. The first sample after each start has
        wrong values. The tracer has the first kernel's end before the last begins, if it does not come 2 s later than it should."""
        self.sampled("names", choice=",interval_us=1000", kernel_ns=500000000, faults="sampling-overflow,first-sample")
        self.assertEqual(self.said_count("times samples were lost"), 1)
        kernels = [row for row in self.recorded() if row["category"] == "kernel"]
        self.assertIsNone(kernels[0]["metric_samples"])
        self.assertIn(kernels[-1]["metric_samples"], (499, 500))
        for row in kernels:
            self.check_metrics(row)

    def test_lost_records(self):
        """Then something unknown may have run beside a kernel: it has its own metrics, or none. One record in three is lost."""
        for fault in ("zero-times", "drops", "cut-shown", "invalid-kinds"):
            for seed in (1, 2, 3):
                with self.subTest(fault=fault, seed=seed):
                    self.sampled("simple", faults=fault, seed=seed)
                    for row in self.recorded():
                        if row["category"] == "kernel":
                            self.check_metrics(row)
                    if fault == "zero-times" and not SANITIZED:
                        self.assertGreater(self.said_count("kernels have no metrics: records were lost"), 0)

    @UNSANITIZED
    def test_times_of_another_clock_are_not_used(self):
        self.sampled("names", faults="sample-times")
        self.assertGreater(self.said_count("samples were not used: their times"), 0)
        self.assertEqual({row[tag] for row in self.recorded() for tag in TAGS}, {None})

    def test_callbacks_during_calls_of_the_tracer(self):
        """On its thread, which may have locks of the tracer's."""
        self.sampled("names", faults="calls-inside")
        self.assertEqual(self.check()[1], 8)

    @UNSANITIZED
    def test_refusals(self):
        for fault, words in (("enable-refused", ("error 35", "NVreg_RestrictProfilingToAdminUsers=0", "CAP_SYS_ADMIN")),
                             ("counters-refused", ("error 35", "CAP_SYS_ADMIN")), ("counters-virtual", ("error 40", "vGPU")),
                             ("counters-mig", ("error 43", "MIG")), ("counters-busy", ("error 26", "dcgmi profile --pause"))):
            with self.subTest(fault):
                self.sampled("simple", faults=fault)
                for word in ("no metrics: cuptiPmSampling", *words):
                    self.assertIn(word, self.said)
                self.assertEqual(self.recorded_launches(), self.launches)  # recorded as ever
                self.assertEqual({row[tag] for row in self.recorded() for tag in TAGS}, {None})
                self.assertEqual(self.counted["samples"], 0)

    @UNSANITIZED
    def test_a_cupti_without_sampling(self):
        self.sampled("simple", "12.4")
        self.assertIn("no metrics: this libcupti has no function cuptiProfilerHostInitialize: hardware metrics need the CUPTI", self.said)
        self.assertEqual(self.recorded_launches(), self.launches)

    @UNSANITIZED
    def test_no_records_while_counters_are_sampled(self):
        """To the tracer this looks as a tool does that takes the records."""
        self.sampled("thief")
        self.assertIn("cuda: kernels are missing: CUPTI gave no records while it sampled counters", self.said)

    def test_programs_that_end_in_any_way(self):
        for mode in ("leave", "leave-at-once", "abort", "fork", "fork-first", "many"):
            with self.subTest(mode):
                self.sampled(mode, kernel_ns=1000000 if mode in MODES and mode != "many" else 1000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
