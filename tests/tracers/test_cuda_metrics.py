# SPDX-License-Identifier: Apache-2.0
"""Hardware metrics of kernels on a simulated GPU: each kernel that the program launched has those that the simulator's formula
(profiler_metrics.h) gives its name and shape, and no other. Where CUPTI refuses, the program runs as ever and a line says why."""
import json
import random
import subprocess
import unittest

import cuda_simulator as gpu
from cuda_runs import DEMANGLED, MODES, Counter, CudaTest, executions_of
from device_runs import SANITIZED, TIMEOUT, UNSANITIZED, XSP

INSTRUCTIONS, TENSOR = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum", "sm__ops_path_tensor_src_{}.sum"
FLOPS = {"flops_single": "f", "flops_half": "h", "flops_double": "d"}
TENSOR_OF = {"GH100": ("fp16", "bf16_dst_fp32", "tf32_dst_fp32", "fp64", "fp8"),
             "GB202": ("fp16_dst_fp16", "fp16_dst_fp32", "bf16_dst_fp32", "tf32_dst_fp32", "fp64", "fp4_dst_fp32",
                       "fp4_fp6_dst_fp16", "fp4_fp6_dst_fp32", "fp8_dst_fp16", "fp8_dst_fp32")}
DRAM_OF = {"GH100": "dram__bytes_{}.sum", "GB202": "dram__bytes_op_{}.sum"}
OCCUPANCY = "sm__warps_active.avg.pct_of_peak_sustained_active"
TAGS = (*FLOPS, "flops_tensor", "dram_read_bytes", "dram_write_bytes", "achieved_occupancy_pct")
VERSIONS = ("12.9", "13.0", "13.1", "13.5")  # of those, 11.8 and 12.4 have no range profiler
LEVELS = ("--levels", "M/L/K+metrics")


def weight(kernel, metric):
    return 1 + (sum(kernel.encode()) + sum(metric.encode())) % 97


def metrics_of(row, chip="GH100"):
    """By the formula, of a kernel that the program wrote down."""
    threads, name = 1, row["name"]
    for size in (*row["grid"], *row["block"]):
        threads *= size
    value = {tag: threads * (weight(name, INSTRUCTIONS.format(kind + "add")) + weight(name, INSTRUCTIONS.format(kind + "mul")) +
                             2 * weight(name, INSTRUCTIONS.format(kind + "fma"))) for tag, kind in FLOPS.items()}
    value["flops_tensor"] = threads * sum(weight(name, TENSOR.format(kind)) for kind in TENSOR_OF[chip])
    for direction in ("read", "write"):
        value[f"dram_{direction}_bytes"] = threads * weight(name, DRAM_OF[chip].format(direction))
    value["achieved_occupancy_pct"] = weight(name, OCCUPANCY)
    return value


def text(shape):
    return json.dumps(shape, separators=(",", ":"))


@UNSANITIZED
class MetricsTest(CudaTest):
    def measured(self, mode, version="13.1", faults="", levels=LEVELS, chip="GH100", count=None, command=(), tracer="cuda", **more):
        """Runs the program with and without metrics: it must not notice."""
        self.count = count or MODES.get(mode, 3)
        environment = self.environment(version, faults, chip=chip, **more)
        def start(*before):
            self.truth.unlink(missing_ok=True)
            self.counts.unlink(missing_ok=True)
            done = subprocess.run([*before, gpu.WORKLOAD, mode, self.truth, str(self.count)], env=environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT)
            self.said = done.stderr.decode()
            return done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stdout
        plain = start()
        self.assertEqual(start(XSP, "run", "-f", "-t", tracer, *levels, *command, "-o", self.out, "--"), plain, self.said)
        self.made = [json.loads(line) for line in self.truth.read_text().splitlines()]
        self.counted = gpu.read_counts(self.counts)

    def kernels(self, made=None):
        """What was launched, with its metrics."""
        found = Counter()
        for row in self.made if made is None else made:
            if row["operation"] == "kernel":
                values = metrics_of(row, self.chip)
                key = (DEMANGLED.get(row["name"], row["name"]), text(row["grid"]), text(row["block"]), row["device"],
                       row["stream"], row["thread"])
                found[key + tuple(values[tag] for tag in TAGS)] += row["times"]
        return found

    chip = "GH100"

    def recorded(self):
        tag = "(select value from tag g where g.run_id = s.run_id and g.span_id = s.span_id and g.key = '{}')"
        tags = ", ".join(f"{tag.format(key)} as {key}" for key in ("grid", "block", *TAGS))
        rows = self.sql(f"""select s.name, t.device_id as device, t.stream_id as stream, c.thread_id as thread, {tags},
            s.end_ns - s.start_ns as ns, l.start_ns <= s.start_ns and l.end_ns = s.end_ns as is_inside
          from span s join track t using (run_id, track_id)
            left join span l on l.run_id = s.run_id and l.correlation_id = s.correlation_id and l.kind = 'launch'
            left join track c on c.run_id = l.run_id and c.track_id = l.track_id
          where s.kind = 'execution' order by s.start_ns""")
        return rows

    def check(self, made=None):
        """Every kernel has its metrics, once, on its stream, under the launch of its thread."""
        rows = self.recorded()
        keys = ("name", "grid", "block", "device", "stream", "thread", *TAGS)
        self.assertEqual(Counter(tuple(row[key] for key in keys) for row in rows), self.kernels(made))
        return rows

    # ---- all versions
    def test_each_kernel_has_its_metrics(self):
        for version in VERSIONS:
            for mode in ("simple", "runtime", "contexts", "threads", "names"):
                with self.subTest(version=version, mode=mode):
                    self.measured(mode, version)
                    rows = self.check()
                    self.assertEqual(self.said_count("kernels have no metrics"), 0)
                    # Nothing overlaps, and a launch lasts until its kernel has ended.
                    self.assertEqual([row for row in rows if not row["is_inside"]], [])

    def test_the_execution_lasts_as_one_pass(self):
        self.measured("simple", kernel_ns=300000)
        self.assertEqual({row["ns"] for row in self.check()}, {300000})
        self.assertIn("cuda: GH100: 7 metrics of each kernel: flops_single, flops_half, flops_double, flops_tensor, "
                      "dram_read_bytes, dram_write_bytes, achieved_occupancy_pct; each kernel runs 5 times\n", self.said)

    def test_another_chip_has_other_names(self):
        self.chip = "GB202"
        self.measured("simple", chip=self.chip)
        self.check()

    def test_more_launches_than_a_batch_has_room_for(self):
        self.measured("many", count=600)
        self.check()
        self.assertEqual(self.counted["ranges"], 600)
        self.assertEqual(self.counted["kernels"], 0)  # of CUPTI's records: none were asked for

    def test_more_contexts_than_there_is_room_for_at_once(self):
        """At most 64 at a time: those that were destroyed make room."""
        self.measured("renewals", count=140)
        self.check()

    def test_calls_that_fail_launch_nothing(self):
        self.measured("errors")
        self.check()
        self.assertEqual(self.sql("select count(*) as n from tag where key = 'error'"), [{"n": self.count}])

    # ---- graphs
    def test_a_graph_captured_in_one_stream(self):
        for version in VERSIONS:
            with self.subTest(version):
                self.measured("chain", version)
                self.check()
                nodes = [row["grid"] for row in self.recorded()][1:-1]
                self.assertEqual(nodes, self.count * ["[4,2,1]", "[640,1,3]", "[3,1,1]"])

    def test_graphs_of_unknown_kernels_have_none(self):
        """graph captures two streams, and makes another graph by hand: their ranges cannot be named. The launch after is."""
        self.measured("graph")
        self.check([row for row in self.made if row["api"] != "cuGraphLaunch"])
        self.assertEqual(self.said_count("launches of graphs have no metrics"), 2 * self.count)

    def test_kernels_that_wait_for_others_run_outside(self):
        self.measured("collective")  # a replay of them would hang
        rows = self.recorded()
        self.assertEqual([row["flops_single"] is None for row in rows], [row["name"].startswith("nccl") for row in rows])
        self.assertEqual(len(rows), 2 * self.count)
        self.assertEqual(self.said_count("kernels have no metrics: they wait for others"), self.count)

    def test_no_thread_begins_to_measure_while_such_a_kernel_is_launched(self):
        """Each launch takes 20 ms, in which the other thread launches kernels that are measured."""
        environment = self.environment("13.1", "slow-launch", kernel_ns=1000)
        status, _ = self.start((XSP, "run", "-f", "-t", "cuda", *LEVELS, "-o", self.out, "--"), "crowd", environment)
        self.assertEqual(status, 0, self.said)
        rows = self.recorded()
        self.assertEqual({(row["flops_single"] is None, row["name"].startswith("nccl")) for row in rows}, {(True, True), (False, False)})

    def test_a_kernel_does_not_hold_up_another_device(self):
        """It may wait for what is launched there: NCCL's kernels of one communicator, by a thread for each device."""
        environment = self.environment("13.1", "", kernel_ns=40000000)  # 5 passes: 0.2 s, while the other thread launches each ms
        status, _ = self.start((XSP, "run", "-f", "-t", "cuda", *LEVELS, "-o", self.out, "--"), "peers", environment)
        self.assertEqual(status, 0, self.said)
        inside = self.sql("""select count(*) as n from span k join span l on l.correlation_id = k.correlation_id and l.kind = 'launch'
          join span o on o.kind = 'launch' and o.start_ns > l.start_ns and o.end_ns < l.end_ns
          where k.kind = 'execution' and k.name = 'vector_add'""")
        self.assertGreater(inside[0]["n"], 0)

    # ---- faults
    def check_without(self, *words):
        """All kernels are there, without metrics."""
        rows = self.recorded()
        self.assertEqual(len(rows), sum(row["times"] for row in self.made if row["operation"] == "kernel"))
        self.assertEqual({row[tag] for row in rows for tag in TAGS}, {None})
        for word in words:
            self.assertIn(word, self.said)

    def test_what_a_refusal_is_due_to(self):
        for fault, words in (("enable-refused", ("error 35", "NVreg_RestrictProfilingToAdminUsers=0", "CAP_SYS_ADMIN")),
                             ("counters-refused", ("error 35", "CAP_SYS_ADMIN")), ("counters-virtual", ("error 40", "vGPU")),
                             ("counters-mig", ("error 43", "MIG")), ("counters-busy", ("error 26", "dcgmi profile --pause"))):
            with self.subTest(fault):
                self.measured("simple", faults=fault)
                self.check_without("no metrics: cupti", *words)
                self.assertEqual(self.said.count("no metrics: cupti"), 1)  # once, whatever is launched

    def test_ranges_that_are_dropped(self):
        """A batch is measured as a whole or not at all: the simulator drops every third range."""
        self.measured("simple", faults="ranges-dropped", seed=1)
        self.assertGreater(self.counted["ranges_dropped"], 0)
        self.check_without("kernels have no metrics: CUPTI measured other ranges than were launched")
        self.assertEqual(self.said_count("kernels have no metrics: CUPTI measured"), len(self.recorded()))

    def test_a_cupti_without_range_profiler(self):
        self.measured("simple", "12.4")
        self.assertIn("no metrics: this libcupti has no function cuptiProfilerHostInitialize: hardware metrics need the CUPTI of CUDA 12.6", self.said)
        kernels = self.sql("select count(*) as n from span where kind = 'execution' and category = 'kernel'")
        self.assertEqual(kernels, [{"n": sum(row["operation"] == "kernel" for row in self.made)}])  # recorded as ever

    def test_random_faults(self):
        """The program does not notice, however it ends, and no kernel has another's metrics."""
        for seed in range(25):
            dice = random.Random(seed)
            mode, version = dice.choice(sorted(MODES) + ["chain", "layers", "leave", "abort"]), dice.choice(VERSIONS)
            faults = dice.sample(("out-of-order", "flush-hangs", "subscriber", "ranges-dropped", "counters-busy", "enable-refused",
                                  "kinds-refused"), dice.randrange(3))
            with self.subTest(seed=seed, mode=mode, version=version, faults=faults):
                self.measured(mode, version, ",".join(faults), seed=seed, count=300 if mode == "many" else None,
                              kernel_ns=dice.choice((1000, 20000, 300000)), tracer="cuda:exit_wait_ms=300")
                keys = ("name", "grid", "block", "device", "stream", "thread", *TAGS)
                measured = Counter(tuple(row[key] for key in keys) for row in self.recorded() if row["flops_single"] is not None)
                self.assertEqual(measured - self.kernels(), Counter())
                if not faults and mode not in ("graph", "leave", "abort"):
                    self.assertEqual(measured, self.kernels())

    def test_what_an_abrupt_end_loses(self):
        """A batch lasts 250 ms, and a kernel here 300 ms (5 passes): only the last of three is lost."""
        self.measured("leave-at-once", kernel_ns=60000000)
        self.assertEqual([row["flops_single"] is not None for row in self.recorded()], [True, True])

    # ---- analyses
    def test_analyses(self):
        """Latencies from M/L/K, metrics from M/L/K+metrics. By hand: matmul has 640 * 1 * 3 * 32 * 8 * 2 = 983,040 threads. The bytes
        of its name add up to 1665, those of dram__bytes_read.sum to 2055: 1 + (1665 + 2055) % 97 = 35. So it reads 34,406,400
        bytes, and writes 983,040 * (1 + (1665 + 2198) % 97) = 983,040 * 81. vector_add has 4 * 2 * 128 = 1,024 threads, 1051 in
        its name, reads 1,024 * 3 bytes and writes 1,024 * 49. Each kernel runs for 0.3 ms."""
        self.measured("layers", levels=("-t", "nvtx", "--levels", "M/L/K,M/L/K+metrics", "--runs", "2", "--warmup", "0"), count=1,
                      kernel_ns=300000)
        def answer(analysis):
            return json.loads(subprocess.run([XSP, "analyze", analysis, self.out, "--json"], check=True, timeout=TIMEOUT,
                                             stdout=subprocess.PIPE).stdout)["rows"]
        flops = {row["name"]: sum(value for tag, value in metrics_of(row).items() if tag.startswith("flops")) for row in self.made}
        matmul, add = flops["_Z6matmulPKfS0_Pfi"], flops["vector_add"]
        for analysis in ("A8", "A9"):
            rows = answer(analysis)
            self.assertEqual([(row["layer_name"], row["latency_ms"], row["flops"], row["dram_read_bytes"], row["dram_write_bytes"])
                              for row in rows], [("aten::mm", 0.3, matmul, 34406400, 79626240)] +
                             2 * [("aten::relu", 0.3, add, 3072, 50176)])
            self.assertAlmostEqual(rows[0]["arithmetic_intensity"], matmul / (34406400 + 79626240), 9)
            self.assertAlmostEqual(rows[0]["arithmetic_throughput_flops_per_s"] / (matmul / 0.3e-3), 1, 9)
            self.assertEqual(rows[0]["achieved_occupancy_pct"], weight("_Z6matmulPKfS0_Pfi", OCCUPANCY))
        self.assertEqual([(row["layer_name"], row["flops"], row["dram_read_bytes"], row["dram_write_bytes"]) for row in answer("A11")],
                         [("aten::mm", matmul, 34406400, 79626240), ("aten::relu", 2 * add, 2 * 3072, 2 * 50176)])

    # ---- choosing
    def test_names_by_the_user(self):
        self.measured("simple", command=("--cuda", "metrics=lts__t_bytes.sum+no__such.sum"))
        self.assertIn("cuda: GH100 has no metric: no__such.sum\n", self.said)
        rows = self.sql("select s.name, g.key, g.value from span s join tag g using (run_id, span_id) where "
                        "s.kind = 'execution' and g.key like '%bytes%'")
        matmul = "_Z6matmulPKfS0_Pfi"  # 640 * 1 * 3 blocks of 32 * 8 * 2 threads: 983,040
        self.assertEqual({(row["key"], row["value"]) for row in rows if row["name"] == DEMANGLED[matmul]},
                         {("lts__t_bytes.sum", 983040 * weight(matmul, "lts__t_bytes.sum"))})

    def test_one_pass_an_execution(self):
        """Each repetition measures other metrics, so all of those that take one pass are known after as many as there are groups."""
        self.measured("ranges", levels=("--levels", "M/L/K,M/L/K+metrics", "--runs", "4", "--warmup", "0"),
                      command=("--cuda", "collect=application"))
        runs = self.sql("select run_id from run where levels like '%metrics' order by run_id")
        found = []
        for run in runs:
            rows = self.sql(f"select distinct key, value from tag join span s using (run_id, span_id) where run_id = {run['run_id']} "
                            "and s.name = 'of_step_0' and (key like 'flops%' or key like 'dram%' or key like 'achieved%')")
            found.append({row["key"]: row["value"] for row in rows})
        groups = next(i for i in range(1, 5) if i == 4 or found[i] == found[0])
        self.assertGreaterEqual(groups, 2)
        together = {key: value for values in found for key, value in values.items()}
        expected = metrics_of(self.made[0])
        del expected["flops_tensor"]  # several passes by itself
        self.assertEqual(together, expected)
        for i in range(groups):
            for j in range(i):
                self.assertFalse(found[i].keys() & found[j].keys())
        self.assertIn("take further passes: flops_tensor; --cuda collect=kernel", self.said)

    def test_one_pass_an_observation_of_one_process(self):
        """Of a model in xsp's runner: the process goes on, and each prediction measures the next metrics."""
        self.measured("observations", command=("--cuda", "collect=application"), count=4)
        rows = self.recorded()
        groups = [frozenset(tag for tag in TAGS if row[tag] is not None) for row in rows]
        self.assertEqual([row["grid"] for row in rows], [f"[{i},1,1]" for i in range(1, 5)])
        self.assertEqual((groups[0], groups[1]), (groups[2], groups[3]))  # of GH100's two groups
        self.assertEqual(groups[0] | groups[1], set(TAGS) - {"flops_tensor"})
        self.assertFalse(groups[0] & groups[1])
        for row, made in zip(rows, self.made):
            expected = metrics_of(made)
            self.assertEqual([row[tag] for tag in TAGS if row[tag] is not None],
                             [expected[tag] for tag in TAGS if row[tag] is not None])
        self.assertEqual(self.said.count("this one is number 1 of them"), 1)  # a line for each group, once


@unittest.skipUnless(SANITIZED, "the same, sanitized: without `xsp run`")
class SanitizedTest(CudaTest):
    def environment(self, *arguments, **more):
        return {**super().environment(*arguments, **more), "XSP_METRICS": "0"}

    def test_kernels_have_metrics(self):
        for mode in ("simple", "threads", "chain", "contexts", "layers", "collective"):
            with self.subTest(mode):
                self.traced(mode)
                kernels = sum(n for execution, n in executions_of(self.launches).items()
                              if execution.category == "kernel" and not execution.name.startswith("nccl"))
                self.assertEqual(self.sql("select count(*) as n from tag where key = 'flops_single'"), [{"n": kernels}])


if __name__ == "__main__":
    unittest.main()
