#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tracer of ROCm on simulated GPUs: each launch is recorded once, whatever the version, and whatever goes wrong in
rocprofiler-sdk."""
import json
import os
import subprocess
import unittest

import monitor_client
from device_runs import BUILD, UNSANITIZED, XSP
from rocm_runs import Counter, MODES, PLACE, RocmTest, TRACER, VERSIONS, executions_of

WITH_ALLOCATIONS = [version for version in VERSIONS if version >= "0.6"]


class VersionsTest(RocmTest):
    def check(self, mode):
        for version in VERSIONS:
            with self.subTest(version):
                self.traced(mode, version)
                self.check_spans()
                self.assertEqual(self.recorded_launches(), self.launches)
                self.assertEqual(self.by_queue(), self.by_stream)
                self.assertNotIn("records", self.said)

    def test_kernels_and_copies_of_three_streams_and_two_threads(self):
        self.check("simple")
        self.assertEqual(sum(self.launches.values()), 1 + 3 * 2 * MODES["simple"] + 3)  # a fill; kernels; copies

    def test_several_devices(self):
        self.check("devices")

    def test_many_threads(self):
        self.check("threads")

    @UNSANITIZED
    def test_events_for_a_client_in_the_process(self):
        """A begin and an end for each call of HIP that is a span: launches, copies, allocations, waits."""
        client = monitor_client.made_in(self.folder)
        for version in VERSIONS:
            for mode, options in (("devices", ""), ("devices", ":api=all"), ("errors", ":api=none")):
                with self.subTest(version=version, mode=mode, options=options):
                    self.start((XSP, "run", "-f", "-t", f"rocm{options},{client}", "-o", self.out, "--"), mode, self.environment(version, ""))
                    calls = self.sql("select name, count(*) as n from span where category = 'api' group by name")
                    self.assertEqual(Counter(monitor_client.calls(self.said, "rocm")), {row["name"]: row["n"] for row in calls})
                    self.assertEqual({"hipModuleLaunchKernel", "hipGetDevice"} & {row["name"] for row in calls},
                                     {"": {"hipModuleLaunchKernel"}, ":api=all": {"hipModuleLaunchKernel", "hipGetDevice"},
                                      ":api=none": set()}[options])

    def test_names(self):
        """Long ones whole; without the ".kd" that the code's symbols end in; none."""
        self.check("names")
        self.assertEqual({row["name"] for row in self.sql("select name from span where category = 'kernel'")},
                         {"k" * 2999, ".kd", "(kernel without a name)"})

    def test_calls_that_fail(self):
        self.check("errors")

    def test_many_launches(self):
        self.check("many")

    def test_forks(self):
        self.check("fork")
        self.check("fork-first")

    def test_registers_and_bytes(self):
        """48 vector and 16 accumulation registers; 16 private bytes, and what the launch asks for."""
        self.traced("simple")
        tags = self.sql("select distinct key, value from tag join span using (run_id, span_id) where name like 'matmul%' and key in "
                        "('registers', 'scalar_registers', 'local_bytes', 'shared_bytes', 'grid', 'block') order by key")
        self.assertEqual({row["key"]: row["value"] for row in tags},
                         {"block": "[16,4,2]", "grid": "[4,3,2]", "local_bytes": 16, "registers": 64, "scalar_registers": 32,
                          "shared_bytes": 1024})

    def test_memory(self):
        """simple allocates twice 4096 bytes on the device and 8192 on the host, and frees them."""
        tag = "(select value from tag g where g.run_id = s.run_id and g.span_id = s.span_id and g.key = '{}')"
        for version in VERSIONS:
            with self.subTest(version):
                self.traced("simple", version)
                rows = self.sql(f"select name, {tag.format('bytes')} as bytes, {tag.format('total_bytes')} as total, "
                                f"{tag.format('memory_kind')} as kind from span s where category = 'memory' and "
                                "name in ('allocate', 'free') order by start_ns")
                expected = [("allocate", 4096, 4096, "Device"), ("allocate", 4096, 8192, "Device"),
                            ("allocate", 8192, None, "Host"), ("free", 4096, 4096, "Device"), ("free", 4096, 0, "Device"),
                            ("free", 8192, None, "Host")]
                self.assertEqual([(row["name"], row["bytes"], row["total"], row["kind"]) for row in rows],
                                 expected if version in WITH_ALLOCATIONS else [])
                self.assertEqual(self.sql("select t.name, count(*) as n from span s join track t using (run_id, track_id) where "
                                          "s.name = 'allocate scratch'"), [{"name": "GPU 0 scratch", "n": 1}])

    @UNSANITIZED
    def test_times_are_those_of_the_program(self):
        """rocprofiler-sdk's clock differs from CLOCK_MONOTONIC by the time that the machine was suspended."""
        for shift_ns in (0, 3600 * 10**9):
            with self.subTest(shift_ns):
                self.traced("simple", clock_ns=shift_ns)
                self.check_spans()
                self.assertEqual(self.sql("select s.name from span s join span p on p.run_id = s.run_id and p.category = 'program' "
                                          "where s.start_ns < p.start_ns or s.end_ns > p.end_ns"), [])


class RangesTest(RocmTest):
    """ROCTx."""
    def names(self, where):
        return [row["name"] for row in self.sql(f"select s.name from span s where {where} order by start_ns")]

    def test_ranges_are_parents_of_kernels(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.traced("ranges", version)
                self.assertEqual(self.recorded_launches(), self.launches)
                rows = self.sql("select s.name as range, p.name as parent from span k join span s on s.run_id = k.run_id and "
                                "s.span_id = k.parent_id left join span p on p.run_id = s.run_id and p.span_id = s.parent_id "
                                "where k.category = 'kernel' order by k.start_ns")
                self.assertEqual([(row["range"], row["parent"]) for row in rows],
                                 [("aten::mm", f"step {number}") for number in range(MODES["ranges"])])
                self.assertEqual(self.names("category = 'mark'"), ["half"] * MODES["ranges"])
                self.assertEqual(self.names("name in ('whole', '(unnamed)')"), ["whole", "(unnamed)"])
                self.assertEqual(self.sql("select value from tag where key = 'sequence'"), [{"value": 3}] * MODES["ranges"])
                self.assertEqual(self.sql("select s.name from span s join span k on k.name = 'whole' and k.run_id = s.run_id and "
                                          "s.name = 'half' and (s.start_ns < k.start_ns or s.end_ns > k.end_ns)"), [])

    def test_too_many_that_are_open(self):
        """4096 are kept by their number; no further one is recorded."""
        self.traced("open-ranges")
        self.assertEqual(self.said_count("ranges of ROCTx were not recorded"), MODES["open-ranges"] - 4096)

    def test_a_profiler_without_roctx(self):
        self.traced("ranges", faults="no-callbacks")
        self.assertIn("does not report ROCTx", self.said)
        self.assertEqual(self.names("name = 'step 0'"), [])

    @UNSANITIZED
    def test_a_capture_range(self):
        """What is launched in the range is kept, though it runs, and is read, long after the range; nothing else is."""
        for shift_ns in (0, 3600 * 10**9):
            with self.subTest(shift_ns):
                self.start((XSP, "run", "-f", "-t", "rocm", "--capture-range", "step 1", "-o", self.out, "--"), "ranges",
                           self.environment("1.0.0", "", kernel_ns=20000000, clock_ns=shift_ns))
                self.assertEqual(self.names("category in ('kernel', 'api')"), ["hipModuleLaunchKernel", "relu"])
                self.assertEqual(self.names("name like 'step%'"), ["step 1"])

    @UNSANITIZED
    def test_levels_without_kernels(self):
        """No records are asked for: ranges alone."""
        self.start((XSP, "run", "-f", "-t", "rocm", "--levels", "M/L", "-o", self.out, "--"), "ranges", self.environment("1.0.0", ""))
        self.assertEqual(self.names("name like 'aten%'"), ["aten::mm"] * MODES["ranges"])
        self.assertEqual(self.names("level = 'kernel'"), [])
        self.start((XSP, "run", "-f", "-t", "rocm", "--levels", "M", "--model-range", "step*", "-o", self.out, "--"), "ranges",
                   self.environment("1.0.0", ""))
        self.assertEqual(self.names("level = 'model'"), [f"step {number}" for number in range(MODES["ranges"])])


@UNSANITIZED
class GraphsTest(RocmTest):
    def nodes(self, mode, version):
        """Of each kernel that ran: its name, the range that launched it, the range that captured it."""
        self.start((XSP, "run", "-f", "-t", "rocm", "-o", self.out, "--"), mode, self.environment(version, ""))
        tag = "(select value from tag g where g.run_id = s.run_id and g.span_id = s.span_id and g.key = 'graph_node')"
        rows = self.sql(f"select s.name, s.category, p.name as parent, {tag} as node from span s left join span p on p.run_id = s.run_id and "
                        "p.span_id = s.parent_id where s.category in ('kernel', 'graph') order by s.start_ns")
        captured = {row["node"]: row["parent"] for row in rows if row["category"] == "graph"}
        return [(row["name"].split("(")[0], row["parent"], captured.get(row["node"])) for row in rows if row["category"] == "kernel"]

    def test_layers_that_captured(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.assertEqual(self.nodes("graph", version), [("relu", "replay", "layer a"), ("matmul", "replay", "layer b"), ("relu", "replay", "layer b")] * 3)

    def test_what_another_stream_may_capture_is_not_known(self):
        self.assertEqual(self.nodes("graph-with-event", "1.0.0"), [(name, "replay", None) for name in ("relu", "matmul", "relu")] * 3)

    def test_a_capture_that_does_not_begin(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.assertEqual(self.nodes("graph-with-failures", version), [("relu", "before", None)] + [
                    ("relu", "replay", "layer a"), ("matmul", "replay", "layer b"), ("relu", "replay", "layer b")] * 3)
                self.assertEqual(self.sql("select count(*) as n from span where category = 'graph'"), [{"n": 3}])


@UNSANITIZED
class MetricsTest(RocmTest):
    """A pass of the simulator has room for eight counters of instructions, of which each wave has one more than of the one before,
    and for two others; each thread reads 4 bytes and writes 2."""
    SMALL, FLAT = 8 * 64, 4 * 3 * 2 * 16 * 4 * 2  # threads of the workload's kernels
    FLOPS = {"flops_half": 1 + 2 + 3 + 2 * 4, "flops_single": 5 + 6 + 7 + 2 * 8, "flops_double": 9 + 10 + 11 + 2 * 12,
             "flops_tensor": 8 * (13 + 14 + 15 + 16)}  # of a thread; no F8, no XF32

    MORE_TENSOR = 8 * (17 + 18)  # on GPU 1: F8, XF32

    def run_with(self, options="", version="1.0.0", faults=""):
        self.start((XSP, "run", "-f", "-t", f"rocm{options}", "--levels", "M/K+metrics", "-o", self.out, "--"), "simple",
                   self.environment(version, faults))
        return {(row["name"], row["key"]): row["value"] for row in self.sql(
            "select distinct s.name, key, value from span s join tag using (run_id, span_id) where s.category = 'kernel' and "
            "key not in ('grid', 'block', 'registers', 'scalar_registers', 'local_bytes', 'shared_bytes', 'recorded_correlation')")}

    def test_metrics_of_xsp(self):
        """They need two executions; the first has what fits into its pass."""
        found = self.run_with()
        self.assertEqual({key: found["relu", key] for key in ("dram_read_bytes", "dram_write_bytes")},
                         {"dram_read_bytes": 4 * self.SMALL, "dram_write_bytes": 2 * self.SMALL})
        self.assertEqual(found["matmul(float const*, float const*, float*, int)", "dram_read_bytes"], 4 * self.FLAT)
        self.assertNotIn("achieved_occupancy_pct", {key for _, key in found})
        self.assertEqual({key: found["relu", key] for key in ("flops_half", "flops_single")},
                         {key: self.FLOPS[key] * self.SMALL for key in ("flops_half", "flops_single")})
        self.assertEqual(found["relu", "flops_precisions"], 4)
        self.assertFalse({"flops_tensor", "flops_double"} & {key for _, key in found})
        self.assertIn("GPU 0: metrics of each kernel: flops_single flops_half dram_read_bytes dram_write_bytes; "
                      "2 executions complete them, this is number 1", self.said)
        self.assertEqual(len(self.executions()), 1 + 3 * 2 * MODES["simple"] + 3)  # none twice

    def test_the_second_execution_has_the_rest(self):
        self.start((XSP, "run", "-f", "-t", "rocm", "--levels", "M/K+metrics", "-r", "2", "-w", "0", "-o", self.out, "--"), "simple",
                   self.environment("1.0.0", ""))
        found = self.sql("select s.run_id as run, key, count(*) as n from span s join tag using (run_id, span_id) where "
                         "s.category = 'kernel' and (key like 'dram%' or key like 'achieved%' or key like 'flops%' and key <> 'flops_precisions') group by 1, 2 order by 1, 2")
        kernels = 1 + 3 * 2 * MODES["simple"]
        self.assertEqual([(row["key"], row["n"]) for row in found],
                         [(key, kernels) for key in ("dram_read_bytes", "dram_write_bytes", "flops_half", "flops_single",
                                                     "achieved_occupancy_pct", "flops_double", "flops_tensor")])

    def test_matrix_instructions_of_more_types(self):
        """GPU 1 has six counters of them: they take an execution of their own; single precision is in the first as on GPU 0."""
        self.start((XSP, "run", "-f", "-t", "rocm", "--levels", "M/K+metrics", "-r", "3", "-w", "0", "-o", self.out, "--"), "devices",
                   self.environment("1.0.0", ""))
        rows = self.sql("select distinct s.run_id as run, t.device_id as gpu, key, value from span s join track t using (run_id, track_id) "
                        "join tag using (run_id, span_id) where s.name = 'relu' and key in ('flops_single', 'flops_half', 'flops_double', 'flops_tensor') order by run, gpu, key")
        single, tensor, double = ("flops_half", "flops_single"), ("flops_tensor",), ("flops_double",)
        self.assertEqual([(row["run"], row["gpu"], row["key"], row["value"]) for row in rows], [
            (run, gpu, key, (self.FLOPS[key] + self.MORE_TENSOR * (gpu == 1 and key == "flops_tensor")) * self.SMALL)
            for run, of_gpus in enumerate(((single, single), (double + tensor, tensor), (single, double)), 1)
            for gpu, keys in enumerate(of_gpus) for key in keys])

    def test_flops_of_two_executions_add_up(self):
        """Of one thread, so that kernels have the same place in both."""
        self.start((XSP, "run", "-f", "-t", "rocm", "--levels", "M/K+metrics", "-r", "2", "-w", "0", "-o", self.out, "--"), "ranges",
                   self.environment("1.0.0", ""))
        done = subprocess.run([XSP, "analyze", "A10", "--json", self.out], check=True, stdout=subprocess.PIPE)
        row, = json.loads(done.stdout)["rows"]
        self.assertEqual((row["count"], row["flops"]), (MODES["ranges"], MODES["ranges"] * sum(self.FLOPS.values()) * self.SMALL))

    def test_a_group_of_counters_an_observation(self):
        """Of a model in xsp's runner, which is one process: its inferences complete the metrics."""
        self.start((XSP, "run", "-f", "-t", "rocm", "--levels", "M/K+metrics", "--model-range", "aten::observe", "-o", self.out, "--"),
                   "like-observations", self.environment("1.0.0", ""))
        rows = self.sql("select s.span_id as id, key from span s join tag using (run_id, span_id) where s.category = 'kernel' and key in "
                        "('flops_single', 'flops_half', 'flops_double', 'flops_tensor', 'achieved_occupancy_pct') order by s.start_ns, key")
        found = [[row["key"] for row in rows if row["id"] == number] for number in dict.fromkeys(row["id"] for row in rows)]
        first, second = ["flops_half", "flops_single"], ["achieved_occupancy_pct", "flops_double", "flops_tensor"]
        self.assertEqual(found, [first, second, first])
        self.assertEqual([self.said.count(f"2 executions complete them, this is number {number}") for number in (1, 2)], [1, 1])
        done = subprocess.run([XSP, "analyze", "A10", "--json", self.out], check=True, stdout=subprocess.PIPE)
        row, = json.loads(done.stdout)["rows"]
        self.assertEqual(row["flops"], sum(self.FLOPS.values()) * self.SMALL)

    def test_flops_of_one_execution_are_not_shown_as_all(self):
        self.run_with()
        done = subprocess.run([XSP, "analyze", "A10", "--json", self.out], check=True, stdout=subprocess.PIPE)
        table = json.loads(done.stdout)
        self.assertEqual({row["flops"] for row in table["rows"]}, {None})
        self.assertIn("only flops_half, flops_single were counted", str(table["notes"]))

    def test_metrics_by_name(self):
        """The sum over a counter's instances; what is not there, or needs several passes alone, is left out."""
        found = self.run_with(":metrics=SQ_WAVES+TOO_MUCH+NOTHING")
        self.assertEqual({key for _, key in found}, {"SQ_WAVES"})
        self.assertEqual(found["relu", "SQ_WAVES"], self.SMALL / 64)
        self.assertIn("GPU 0 has no metric TOO_MUCH: the counter needs several passes", self.said)
        self.assertIn("GPU 0 has no metric NOTHING: it does not have the counter", self.said)

    def test_each_configuration_is_made_once(self):
        """Of an SDK that makes none again which was destroyed."""
        self.assertEqual({key for _, key in self.run_with(":metrics=SQ_WAVES+TOO_MUCH", faults="config-again")}, {"SQ_WAVES"})

    def test_without_metrics(self):
        """Kernels are recorded as ever, and one line says why they have no metrics."""
        for options, version, faults, line in (("", "0.6.0", "", "rocprofiler-sdk 1.0"), ("", "1.0.0", "no-counting", "error 38"),
                                               (":metrics=NOTHING", "1.0.0", "", "no metric NOTHING")):
            with self.subTest(version, faults=faults):
                self.assertEqual(self.run_with(options, version, faults), {})
                self.assertRegex(self.said, line)
                self.assertEqual(len(self.executions()), 1 + 3 * 2 * MODES["simple"] + 3)


@UNSANITIZED
class SamplesTest(RocmTest):
    """Of each kernel three samples at +0x10, of which the hardware saw two issue and one wait, and one at +0x40; one of no code."""
    KERNELS = {"relu": 3 * MODES["simple"], "matmul": 3 * MODES["simple"], "__amd_rocclr_fillBufferAligned": 1}

    def run_with(self, options, mode="simple", version="1.0.0", levels="M/K", allowed="1"):
        environment = self.environment(version, "")
        if allowed:
            environment["ROCPROFILER_PC_SAMPLING_BETA_ENABLED"] = allowed
        self.start((XSP, "run", "-f", "-t", f"rocm{options}", "--levels", levels, "-o", self.out, "--"), mode, environment)
        rows = self.sql("select k.name as kernel, f.name as place, m.metric, m.exclusive_sum as n from context_metric m "
                        "join context c using (context_id) join frame f using (frame_id) join context p on p.context_id = c.parent_id "
                        "join frame k on k.frame_id = p.frame_id where m.metric like 'samples%' and m.exclusive_sum > 0")
        return {(row["kernel"].split("(")[0].removeprefix("_Z6").removesuffix("PKfS0_Pfi"), row["place"], row["metric"]): row["n"] for row in rows}

    def expected(self, of_call):
        return {(kernel, place, metric): number * count for kernel, count in self.KERNELS.items() for (place, metric), number in of_call.items()}

    def test_methods(self):
        stochastic = {("+0x10", "samples"): 3, ("+0x10", "samples_selected"): 2, ("+0x10", "samples_waitcnt"): 1,
                      ("+0x40", "samples"): 1, ("+0x40", "samples_barrier_wait"): 1}
        host = {("+0x10", "samples"): 3, ("+0x40", "samples"): 1}
        for options, of_call in ((":samples=any", stochastic), (":samples=stochastic:sampling_interval=1000", stochastic),
                                 (":samples=stochastic:sampling_interval=1", stochastic), (":samples=host", host)):
            with self.subTest(options):
                self.assertEqual(self.run_with(options), self.expected(of_call))
                self.assertEqual(self.said_count("samples of instructions had no room, or are of no kernel"), sum(self.KERNELS.values()))
                self.assertEqual(len(self.executions()), sum(self.KERNELS.values()) + 3)
        self.assertIn("GPU 1: instructions are not sampled: it does not have the method stochastic\n", self.run_with(":samples=stochastic") and self.said)
        done = subprocess.run([XSP, "analyze", "A18", "--json", self.out], check=True, stdout=subprocess.PIPE)
        self.assertEqual(sum(row["samples"] for row in json.loads(done.stdout)["rows"]), 4 * sum(self.KERNELS.values()))

    def test_a_flush_publishes_samples(self):
        """Those of an observation are there before the next, also where the program is killed."""
        self.run_with(":samples=host", "observations", levels="M/L/K")
        by_range = self.sql("select sum(value) as n from span o join span s on s.run_id = o.run_id and s.start_ns between o.start_ns and o.end_ns "
                            "join tag g on g.run_id = s.run_id and g.span_id = s.span_id and g.key = 'samples' where o.name = 'aten::observe' "
                            "group by o.span_id order by o.start_ns")
        self.assertEqual([row["n"] for row in by_range], [4, 8, 12])

    def test_without_samples(self):
        for options, levels, version, allowed, line in (
                ("", "M/K", "1.0.0", "1", ""), (":samples=none", "M/K", "1.0.0", "1", ""), (":samples=any", "M/K+metrics", "1.0.0", "1", "level set with metrics"),
                (":samples=any", "M/K", "0.6.0", "1", "rocprofiler-sdk 1.0"), (":samples=any", "M/K", "1.0.0", None, "BETA_ENABLED=1"),
                (":samples=most", "M/K", "1.0.0", "1", "samples is none, host")):
            with self.subTest(options, levels=levels, version=version):
                self.assertEqual(self.run_with(options, "simple", version, levels, allowed), {})
                self.assertIn(line, self.said)
                self.assertEqual(len(self.executions()), sum(self.KERNELS.values()) + 3)


class EndsTest(RocmTest):
    """However a program ends, its status is its own, and what is recorded is right."""

    def test_an_exit_without_waiting(self):
        for kernel_ns in (1000, 50000000):
            with self.subTest(kernel_ns):
                self.assertEqual(self.traced("leave", kernel_ns=kernel_ns), (7, ""))
                self.check_spans()
                self.assertEqual(self.recorded_launches(), self.launches)  # HIP waits for its device

    def test_an_abrupt_exit(self):
        self.assertEqual(self.traced("leave-at-once"), (8, ""))
        self.check_spans(has_all_calls=False)

    def test_an_abort(self):
        self.assertEqual(self.traced("abort"), (134, ""))
        self.check_spans(has_all_calls=False)


class FaultsTest(RocmTest):
    def test_what_costs_nothing(self):
        for fault in ("out-of-order", "others"):
            for version in VERSIONS:
                with self.subTest(fault, version=version):
                    self.traced("simple", version, faults=fault)
                    self.check_spans()
                    self.assertEqual(self.recorded_launches(), self.launches)
                    self.assertNotIn("records", self.said)

    def test_kernels_without_names(self):
        for fault, line in (("null-names", ""), ("nameless", "kernels have no names")):
            with self.subTest(fault):
                self.traced("many", faults=fault)
                self.assertEqual(self.sql("select distinct name from span where category = 'kernel'"),
                                 [{"name": "(kernel without a name)"}])
                self.assertEqual(len(self.executions()), MODES["many"])
                self.assertIn(line, self.said)

    def test_records_that_are_dropped(self):
        self.traced("simple", faults="drops")
        self.assertGreater(self.counted["dropped"], 0)
        self.assertEqual(self.said_count("records were dropped by rocprofiler-sdk"), self.counted["dropped"])
        self.assertEqual(self.sql("select dropped_count as n from run"), [{"n": self.counted["dropped"]}])

    def test_records_without_times(self):
        self.traced("simple", faults="zero-times")
        self.check_spans()
        self.assertGreater(self.counted["without_times"], 0)
        self.assertEqual(self.said_count("records without times"), self.counted["without_times"])
        self.assertEqual(len(self.executions()), sum(executions_of(self.launches).values()) - self.counted["without_times"])

    def test_records_that_cannot_be_read(self):
        """They end before they start, or are shorter than those of any version."""
        for fault in ("reversed", "short"):
            with self.subTest(fault):
                self.traced("simple", faults=fault)
                self.assertGreater(self.counted["unreadable"], 0)
                self.assertEqual(self.said_count("records could not be read"), self.counted["unreadable"])
                self.assertEqual(Counter(e for _, e in self.executions()) - executions_of(self.launches), Counter())

    def test_a_kind_that_is_refused(self):
        self.traced("simple", faults="copies-refused")
        self.assertRegex(self.said, "does not record MEMORY_COPY here: error 5")
        self.assertEqual({e.category for _, e in self.executions()}, {"kernel"})

    def test_a_profiler_that_refuses(self):
        """One line says why; the program runs."""
        for fault, version, line in (("no-context", "1.0.0", "create_context"), ("no-buffer", "1.0.0", "create_buffer: error 1"),
                                     ("no-start", "1.0.0", "start_context: error 1"), ("", "0.3.0", "version 0.3.0 is not known"),
                                     ("", "0.7.0", "version 0.7.0"), ("", "2.0.0", "version 2.0.0")):
            with self.subTest(fault, version=version):
                self.assertEqual(self.traced("simple", version, faults=fault)[0], 0)
                self.assertRegex(self.said, f"rocm: nothing is recorded: .*{line}")
                self.assertEqual(self.sql("select name from span where level = 'kernel'"), [])

    def test_a_flush_that_hangs(self):
        """It delays the exit by no more than the option allows; what does not fit into the buffers then is counted."""
        self.assertEqual(self.traced("simple", faults="flush-hangs", options=":exit_wait_ms=100")[0], 0)
        self.assertIn("exit_wait_ms", self.said)
        self.assertEqual(self.traced("flood", faults="flush-hangs", kernel_ns=0, options=":exit_wait_ms=100:buffer_kb=64")[0], 0)
        self.assertGreater(self.said_count("records were dropped: the program launches faster"), 0, self.said)

    def test_random_faults(self):
        for seed in range(30):
            self.check_random(seed)


@UNSANITIZED
class ChoiceTest(RocmTest):
    def run_with(self, *options, **environment):
        return self.start((XSP, "run", "-f", *options, "-o", self.out, "--"), "simple",
                          {**self.environment("1.0.0", ""), **environment})

    def calls(self):
        return {row["name"] for row in self.sql("select distinct name from span where category = 'api'")}

    def test_calls_are_chosen(self):
        self.run_with("-t", "rocm")
        some = self.calls()
        self.assertLessEqual({"hipModuleLaunchKernel", "hipMemcpyAsync", "hipStreamSynchronize", "hipMalloc"}, some)
        self.assertNotIn("hipGetDevice", some)
        for word in ("all", "hsa"):
            self.run_with("-t", f"rocm:api={word}")
            self.assertEqual(self.calls() - some, {"hipGetDevice", "hipModuleGetFunction", "hipStreamCreate"})
        self.run_with("-t", "rocm:api=none")
        self.assertEqual(self.calls(), set())
        self.assertEqual(len(self.executions()), 1 + 3 * 2 * MODES["simple"] + 3)
        self.run_with("-t", "rocm:api=few")
        self.assertIn("api is some, all, hsa or none", self.said)
        self.assertEqual(self.calls(), some)

    def test_a_session_without_the_kernel_level(self):
        self.run_with("-t", "rocm", "--levels", "M")
        self.assertFalse(self.counts.exists())

    def test_the_users_own_tools_stay(self):
        """Also the last of the list, which rocprofiler-sdk leaves out where no ':' follows."""
        mark = self.folder / "other"
        self.run_with("-t", "rocm", ROCP_TOOL_LIBRARIES=str(PLACE / "rocm_other_tool.so"), XSP_OTHER_TOOL=str(mark))
        self.assertTrue(mark.exists())
        self.assertEqual(self.counted_clients(), 1)  # the other wants nothing
        self.assertEqual(len(self.executions()), 1 + 3 * 2 * MODES["simple"] + 3)

    def test_a_process_that_has_the_tracer_from_its_start(self):
        """As a model's has it: nobody set ROCP_TOOL_LIBRARIES."""
        session = self.folder / "session"
        environment = {**self.environment("1.0.0", ""), "XSP_SESSION": str(session), "XSP_TRACERS": str(TRACER),
                       "LD_PRELOAD": str(BUILD / "libxsp.so")}
        self.start((), "simple", environment)
        subprocess.run([XSP, "recover", session, "--force", "-o", self.out], check=True, stderr=subprocess.DEVNULL)
        self.assertEqual(len(self.executions()), 1 + 3 * 2 * MODES["simple"] + 3)

    def test_a_program_without_rocm(self):
        self.start((XSP, "run", "-f", "-t", "rocm", "-o", self.out, "--"), "none", self.environment("1.0.0", ""))
        self.assertFalse(self.counts.exists())

    def test_check_says_what_there_is(self):
        driver = os.access("/dev/kfd", os.R_OK | os.W_OK)
        for faults, version, library, usable, key, text in (
                ("", "1.0.0", None, driver, "version", "rocprofiler-sdk 1.0.0, 2 GPUs"),
                ("", "0.5.0", None, driver, "version", "rocprofiler-sdk 0.5.0, 2 GPUs"),
                ("no-device", "1.0.0", None, False, "reason", "no GPU of AMD"),
                ("", "0.3.0", None, False, "reason", "version 0.3.0 is not known"),
                ("", "1.0.0", "/none.so", False, "reason", "ROCPROFILER_REGISTER_LIBRARY: /none.so")):
            environment = {**self.environment(version, faults), "LD_LIBRARY_PATH": str(PLACE),
                           **({"ROCPROFILER_REGISTER_LIBRARY": library} if library else {})}
            done = subprocess.run([XSP, "check", "rocm", "--json"], env=environment, timeout=600, stdout=subprocess.PIPE)
            found = [row for row in json.loads(done.stdout) if row.get("tracer") == "rocm"][0]
            self.assertEqual(found["usable"], usable, found)
            self.assertIn(text, found[key], found)
            if not driver and not usable and key == "version":
                self.assertIn("/dev/kfd", found["reason"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
