# SPDX-License-Identifier: Apache-2.0
"""Samples of instructions on the simulated GPU: as many as its kernels have (tests/tracers/cuda/pc_sampling.c), at their lines."""
import json
import os
import pathlib
import re
import subprocess
import unittest

import cuda_simulator as gpu
from cuda_runs import CudaTest
from device_runs import UNSANITIZED

LAUNCHES = 3  # of saxpy, twice; sum_blocks runs twice, `other` once
CODE = pathlib.Path(__file__).parent / "cuda" / "sampled.cubin"
SAXPY, SUM = "saxpy", "sum_blocks(float*, float const*)"
# (kernel, line, instruction): samples of one launch, by reason. The lines are those of cuda/sampled.cu.
ONCE = {(SAXPY, 8, "+0x80"): {"long_scoreboard": 5, "long_scoreboard_not_issued": 2},
        (SAXPY, 8, "+0x100"): {"long_scoreboard": 3, "wait": 1},
        (SAXPY, 7, "+0x70"): {"wait": 1, "wait_not_issued": 1},
        (SUM, 15, "+0x110"): {"barrier": 4, "barrier_not_issued": 3},
        ("other", None, "+0x10"): {"wait": 1}}
TIMES = {SAXPY: 2 * LAUNCHES, SUM: 2, "other": 1}
FRAMES = """select k.name as kernel, l.file as file, l.line as line, i.name as instruction, i.address as address, k.kind as kind,
    m.metric as metric, m.sum as sum from context_metric m join context c using (context_id) join frame i using (frame_id)
    join context p on p.context_id = c.parent_id join frame l on l.frame_id = p.frame_id
    join context r on r.context_id = coalesce(p.parent_id, p.context_id) join frame k on k.frame_id = r.frame_id
    where m.metric like 'samples%' and i.module like 'cubin %'"""


def expected():
    rows = {}
    for (kernel, line, instruction), reasons in ONCE.items():
        found = {f"samples_{reason}": samples for reason, samples in reasons.items()}
        not_issued = {reason: samples for reason, samples in found.items() if reason.endswith("_not_issued")}
        found["samples"] = sum(found.values()) - sum(not_issued.values())
        found["samples_not_issued"] = sum(not_issued.values())
        rows[kernel, line, instruction] = {metric: samples * TIMES[kernel] for metric, samples in found.items()}
    return rows


class Samples(CudaTest):
    def sampled(self, version="13.1", faults="", options="", **more):
        self.traced("samples", version, faults, options, cuda="samples=continuous",
                    variables={"XSP_SIM_CODE": str(CODE)}, **more)

    def found(self):
        rows = {}
        for row in self.sql(FRAMES):
            self.assertEqual(row["kind"], "device")
            self.assertEqual(int(row["instruction"], 16), row["address"] or 0)
            self.assertEqual(row["file"], None if row["line"] is None else "/src/sampled.cu")
            rows.setdefault((row["kernel"], row["line"], row["instruction"]), {})[row["metric"]] = row["sum"]
        return rows

    def test_every_version(self):
        for version in gpu.VERSIONS:
            with self.subTest(version=version):
                self.sampled(version)
                self.assertEqual(self.found(), expected())
                self.assertNotIn("sampl", "".join(line for line in self.said.splitlines() if "cuda:" in line))

    def test_sums_of_kernels_and_lines(self):
        """saxpy's 10 samples a launch, 8 of them at line 8; kernels are in the same context as their times."""
        self.sampled()
        sums = self.sql("select f.name, f.line, m.sum from context_metric m join context c using (context_id) join frame f using "
                        "(frame_id) where metric = 'samples' and f.module is null and f.name = 'saxpy' order by f.line")
        self.assertEqual([(row["line"], row["sum"]) for row in sums],
                         [(None, 10 * TIMES[SAXPY]), (7, TIMES[SAXPY]), (8, 9 * TIMES[SAXPY])])

    def test_the_documented_query(self):
        """Of saxpy's 9 samples a launch at line 8, 8 wait for memory and 1 for a fixed time; at line 7 the only one does."""
        self.sampled()
        section = (pathlib.Path(os.environ["XSP_SOURCE"]) / "docs" / "cuda.md").read_text().split("## Instruction samples")[1]
        query = re.search('xsp sql out.xsp "(.*?)"', section, re.DOTALL)[1]
        self.assertEqual([(row["name"], row["line"], row["metric"], row["samples"], row["pct"]) for row in self.sql(query)][:2],
                         [(SAXPY, 8, "samples_long_scoreboard", 8 * TIMES[SAXPY], 88.9), (SUM, 15, "samples_barrier", 4 * 2, 100)])
        self.assertEqual(len(self.sql(query)), 4)

    @UNSANITIZED
    def test_serialized(self):
        """Each sample is below the code that launched its kernel: here the n-th launch is by "layer n". Before 12.4 nobody knows."""
        launches = [SAXPY] * LAUNCHES + [SUM]
        launches = [*launches, *launches, "other"]
        for version in gpu.VERSIONS:
            with self.subTest(version=version):
                self.traced("samples", version, cuda="samples=serialized", variables={"XSP_SIM_CODE": str(CODE)},
                            preload=gpu.PLACE / "path_provider.so")
                samples = self.sql("select k.name as kernel, l.name as layer, sum(m.exclusive_sum) as n from context_metric m join "
                                   "context i using (context_id) join context c on c.context_id = i.parent_id join context u on "
                                   "u.context_id in (c.context_id, c.parent_id) join frame k on k.frame_id = u.frame_id left join "
                                   "context o on o.context_id = u.parent_id left join frame l on l.frame_id = o.frame_id where "
                                   "m.metric = 'samples' and k.kind = 'device' and k.line is null and (l.kind is null or l.kind = "
                                   "'framework') group by 1, 2")
                found = {(row["kernel"], row["layer"]): row["n"] for row in samples if row["n"] > 0}
                each = {SAXPY: 10, SUM: 4, "other": 1}
                if version == "11.8":
                    self.assertEqual(found, {(kernel, None): each[kernel] * times for kernel, times in TIMES.items()})
                else:
                    self.assertEqual(found, {(kernel, f"layer {number}"): each[kernel]
                                             for number, kernel in enumerate(launches, 1)})

    def test_hot_lines(self):
        """A18. Of 69 samples saxpy has 54 at line 8, 48 of them for memory; at 12 of the 54 nothing was issued."""
        self.sampled()
        done = subprocess.run([gpu.BUILD / "xsp", "analyze", "A18", self.out, "--json"], check=True, timeout=600,
                              stdout=subprocess.PIPE)
        answer = json.loads(done.stdout)
        rows = [(row["kernel"], row["line"], row["samples"], row["samples_pct"], row["not_issued_pct"], row["stall"],
                 row["stall_pct"], row["next_stall"], row["next_stall_pct"]) for row in answer["rows"]]
        expected_rows = [(SAXPY, 8, 54, 5400 / 69, 1200 / 54, "long_scoreboard", 4800 / 54, "wait", 600 / 54),
                         (SUM, 15, 8, 800 / 69, 600 / 8, "barrier", 100, None, None),
                         (SAXPY, 7, 6, 600 / 69, 100, "wait", 100, None, None),
                         ("other", None, 1, 100 / 69, 0, "wait", 100, None, None)]
        for row, right in zip(rows, expected_rows, strict=True):
            for value, figure in zip(row, right):
                self.assertAlmostEqual(value, figure) if isinstance(figure, float) else self.assertEqual(value, figure)
        self.assertEqual((answer["summary"]["samples"], answer["summary"]["runs"]), (69, 1))
        self.assertAlmostEqual(answer["summary"]["with_lines_pct"], 100 * 68 / 69)

    def test_findings(self):
        """F4. The two lines with more than a tenth of the samples: 48 of saxpy's 60 wait there for memory."""
        self.sampled()
        done = subprocess.run([gpu.BUILD / "xsp", "analyze", "findings", "--only", "F4", "--min-gain", "0", self.out, "--json"], check=True, timeout=600,
                              stdout=subprocess.PIPE)
        rows = {(row["context"], row["line"]): row for row in json.loads(done.stdout)["rows"]}
        self.assertEqual(rows.keys(), {(SAXPY, 8), (SUM, 15)})
        (time,) = self.sql("select sum(duration_ns) / 1e6 as ms from span where kind = 'execution' and name = 'saxpy'")
        self.assertAlmostEqual(rows[SAXPY, 8]["time_ms"], time["ms"] * 54 / 60)
        self.assertAlmostEqual(rows[SAXPY, 8]["saving_ms"], time["ms"] * 48 / 60)
        self.assertAlmostEqual(rows[SUM, 15]["share_pct"], 800 / 69)
        self.assertEqual((rows[SAXPY, 8]["file"], rows[SAXPY, 8]["rule"]), ("/src/sampled.cu", "stalls"))

    @UNSANITIZED
    def test_folded_stacks(self):
        """Of a file with spans, and of one whose spans are folded."""
        chains = {}
        for (kernel, line, instruction), samples in expected().items():
            place = [f"{kernel} (/src/sampled.cu:{line})"] if line is not None else []
            chains[kernel, *place, instruction] = samples["samples"]
        environment = self.environment("13.1", "", variables={"XSP_SIM_CODE": str(CODE)})
        for options in ((), ("--aggregate",)):
            with self.subTest(options=options):
                self.start((gpu.BUILD / "xsp", "run", "-f", *options, "-t", "cuda", "--cuda", "samples=continuous", "-o", self.out,
                            "--"), "samples", environment)
                done = subprocess.run([gpu.BUILD / "xsp", "export", self.out, "--to", "folded", "--metric", "samples", "-o", "-"],
                                      check=True, timeout=600, stdout=subprocess.PIPE, text=True)
                lines = [re.sub(r" \[cubin .*?\]", "", line).rpartition(" ") for line in done.stdout.splitlines()]
                self.assertEqual({tuple(chain.split(";")): int(samples) for chain, _, samples in lines}, chains, self.said)

    def test_without_the_wish(self):
        self.traced("samples", variables={"XSP_SIM_CODE": str(CODE)})
        self.assertEqual(self.sql("select 1 from span where category = 'samples'"), [])

    @UNSANITIZED
    def test_with_metrics(self):
        """A run with metrics, by repetition or by sampling, has no samples of instructions; the one without has them."""
        for collect in ("kernel", "sampling"):
            with self.subTest(collect=collect):
                environment = self.environment("13.1", "", variables={"XSP_SIM_CODE": str(CODE)})
                self.start((gpu.BUILD / "xsp", "run", "-f", "-t", "cuda", "--levels", "M/L/K,M/L/K+metrics", "--cuda",
                            f"samples=continuous,collect={collect}", "-o", self.out, "--"), "samples", environment)
                runs = self.sql("select r.levels, sum(s.category = 'samples') > 0 as n from run r join span s using (run_id) "
                                "group by 1 order by 1")
                self.assertEqual([(row["levels"], row["n"]) for row in runs], [("M/L/K", 1), ("M/L/K+metrics", 0)], self.said)

    def test_refused(self):
        """The program goes on, kernels are recorded, and a line says what to change."""
        self.sampled(faults="pc-refused")
        self.assertIn("NVreg_RestrictProfilingToAdminUsers=0", self.said)
        self.assertEqual(self.said.count("instructions are not sampled"), 1)
        self.assertEqual(self.found(), {})
        self.assertEqual(len(self.executions()), 2 * LAUNCHES + 3)

    def test_dropped_samples_are_counted(self):
        self.sampled(faults="pc-dropped")
        self.assertEqual(self.said_count("samples of instructions were dropped by the device"), 70)
        self.assertEqual(self.found(), expected())

    def test_a_full_buffer(self):
        """What CUPTI has at the end is taken: all samples but those of the module that is unloaded."""
        self.sampled(faults="pc-full")
        self.assertGreater(self.said_count("times the device's buffer of samples was full"), 0)
        # Of saxpy the launches after the unloading, but for +0x70, which is decoded at the end.
        self.assertEqual({instruction: samples["samples"] for (_, _, instruction), samples in self.found().items()},
                         {"+0x80": 5 * LAUNCHES, "+0x100": 4 * LAUNCHES, "+0x70": 2 * LAUNCHES, "+0x110": 4, "+0x10": 1})

    def test_threads(self):
        """Each launch of a kernel that is not in sampled.cubin has one sample."""
        self.traced("threads", cuda="samples=continuous")
        kernels = [execution for _, execution in self.executions() if execution.category == "kernel"]
        self.assertEqual(self.sql("select sum(value) as n from tag where key = 'samples'"), [{"n": len(kernels)}])
        self.assertGreater(len(kernels), 8)

    def test_contexts(self):
        """One that ends is read before; of a device's second one nothing can be known."""
        self.traced("contexts", cuda="samples=continuous")
        self.assertIn("1 contexts were not sampled", self.said)
        devices = self.sql("select t.device_id as device, sum(g.value) as n from span s join track t using (run_id, track_id) join "
                           "tag g using (run_id, span_id) where s.category = 'samples' and g.key = 'samples' group by 1 order by 1")
        self.assertEqual([(row["device"], row["n"]) for row in devices], [(0, 1), (1, 1)])  # a launch each, of one sample

    def test_failures(self):
        self.sampled(faults="pc-fails")
        self.assertRegex(self.said, r"cuda: \d+ times CUPTI gave no samples of instructions: error 999")

    def test_records_of_another_length(self):
        """Nothing is guessed: no sample, and a line."""
        self.sampled(faults="pc-longer")
        self.assertEqual(self.said_count("contexts gave samples that cannot be read"), 1)
        self.assertEqual(self.found(), {})

    @UNSANITIZED
    def test_an_end_that_hangs(self):
        self.sampled(faults="pc-hangs", options=":exit_wait_ms=300")
        self.assertIn("exit did not wait longer", self.said)


if __name__ == "__main__":
    unittest.main()
