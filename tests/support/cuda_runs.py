# SPDX-License-Identifier: Apache-2.0
"""Programs that xsp traces on the simulated NVIDIA GPU: what they launched, as they wrote it down, and what xsp recorded."""
import collections
import json
import random
import unittest

import cuda_simulator as gpu
from device_runs import DeviceTest

DEMANGLED = {
    "_Z6matmulPKfS0_Pfi": "matmul(float const*, float const*, float*, int)",
    "_ZN7runtime6kernelEPf": "runtime::kernel(float*)",
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_":
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, "
        "at::native::FillFunctor<float>, std::array<char*, 1ul>)"}
MODES = {"simple": 5, "runtime": 4, "graph": 3, "contexts": 4, "fork": 2, "fork-first": 2, "threads": 8, "names": 1,
         "errors": 3, "many": 3000, "pools": 8}  # with a count each
# Faults by what they cost: nothing, the names of kernels, or records.
HARMLESS = ("out-of-order", "empty-buffers", "many-threads", "unknown-kinds")
NAMELESS = ("null-names", "long-names")
LOSSY = ("zero-times", "drops", "cut", "cut-shown", "invalid-kinds", "kinds-refused")

Execution = collections.namedtuple("Execution", "category name grid block shared bytes copy device stream")
Launch = collections.namedtuple("Launch", "call thread executions")
Counter = collections.Counter


def launches_of(truth):
    """Launches and how often each was made."""
    made = {}
    for row in truth:
        is_kernel = row["operation"] == "kernel"
        grid, block = (json.dumps(row[key], separators=(",", ":")) if is_kernel else None for key in ("grid", "block"))
        execution = Execution(row["operation"], DEMANGLED.get(row["name"], row["name"]) if is_kernel else "", grid, block,
                              row["shared"] + 64 if is_kernel else None,  # the simulator's kernels have 64 static ones
                              None if is_kernel else row["bytes"], row["copy"] or None, row["device"], row["stream"])
        for time in range(row["times"]):
            made.setdefault((row["process"], row["launch"], time), (row["api"], row["thread"], []))[2].append(execution)
    return Counter(Launch(api, thread, tuple(sorted(executions, key=str))) for api, thread, executions in made.values())


def executions_of(launches, is_named=True):
    found = Counter()
    for launch, times in launches.items():
        for execution in launch.executions:
            found[execution if is_named or execution.category != "kernel" else execution._replace(name="")] += times
    return found


@unittest.skipIf(gpu.WHY_NOT, gpu.WHY_NOT)
class CudaTest(DeviceTest):
    tracer = "cuda"
    hidden = ("CUDA_INJECTION",)

    def environment(self, version, faults, library=None, preload=None, variables=None, **more):
        return {**self.plain_environment(), **(variables or {}), **gpu.environment(version, faults, counts=self.counts, **more),
                **({"LD_PRELOAD": str(preload)} if preload else {}),
                "XSP_LIBRARY_CUPTI": str(library or gpu.VERSIONS[version][1])}

    def start(self, command, mode, environment):
        return self.run_program([*command, gpu.WORKLOAD, mode, self.truth, str(MODES.get(mode, 3))], environment)

    def loading(self, tracer, options):
        return {"CUDA_INJECTION64_PATH": str(tracer)}

    def traced(self, mode, version="13.1", faults="", options="", cuda=None, **more):
        """Then self.launches are what the program launched, self.counted what the simulator did."""
        plain = self.trace(mode, self.environment(version, faults, **more), options, ("--cuda", cuda) if cuda else (),
                           {"XSP_CUDA": cuda} if cuda else {})
        self.launches = launches_of(self.truth_rows())
        self.counted = gpu.read_counts(self.counts)
        return plain

    def executions(self, is_named=True):
        """(correlation id, execution) of what was recorded, without waits."""
        tag = "(select value from tag g where g.run_id = s.run_id and g.span_id = s.span_id and g.key = '{}')"
        keys = {"grid": "grid", "block": "block", "shared": "shared_bytes", "bytes": "bytes", "copy": "copy_kind"}
        tags = ", ".join(f"{tag.format(key)} as {name}" for name, key in keys.items())
        rows = self.sql(f"select s.correlation_id as id, s.category, s.name, t.device_id as device, t.stream_id as stream, {tags} "
                        "from span s join track t using (run_id, track_id) where kind = 'execution' and category <> 'sync'")
        return [(row["id"], Execution(row["category"], row["name"] if is_named and row["category"] == "kernel" else "",
                                      row["grid"], row["block"], row["shared"], row["bytes"], row["copy"], row["device"],
                                      row["stream"])) for row in rows]

    def recorded_launches(self):
        """Launches that made executions, with these. Each execution has exactly one launch."""
        made = {row["id"]: (row["name"], row["thread"], []) for row in self.sql(
            "select s.correlation_id as id, s.name, t.thread_id as thread from span s join track t using (run_id, track_id) "
            "where kind = 'launch'")}
        for number, execution in self.executions():
            self.assertIn(number, made, execution)
            made[number][2].append(execution)
        return Counter(Launch(name, thread, tuple(sorted(executions, key=str)))
                       for name, thread, executions in made.values() if executions)

    def check_spans(self, has_all_calls=True):
        """What holds in every trace: times, tracks, kinds, and the links from executions to launches."""
        self.check_times()
        self.assertEqual(self.sql("select category from span where kind = 'execution' and category not in "
                                  "('kernel', 'memcpy', 'memset', 'sync')"), [])
        doubled = self.sql("select correlation_id from span l where kind = 'launch' and exists (select 1 from span e where "
                           "e.kind = 'execution' and e.run_id = l.run_id and e.correlation_id = l.correlation_id) "
                           "group by run_id, correlation_id having count(*) > 1")
        if has_all_calls:
            self.assertEqual(doubled, [], "a call inside a call is not a second launch")
            self.assertEqual(self.sql("select distinct basis from span where kind = 'execution' and basis <> 'correlation'"), [])
            self.assertEqual(self.sql(
                "select e.name from span e join span l on l.run_id = e.run_id and l.correlation_id = e.correlation_id and "
                "l.kind = 'launch' where e.kind = 'execution' and (e.start_ns < l.start_ns or e.parent_id is not l.parent_id)"), [],
                "none starts before its call; what the call is inside of is the parent of both")

    def check_random(self, seed):
        """A random program on a random version with random faults: it does not notice, and what is recorded is right."""
        dice = random.Random(seed)
        mode, version = dice.choice(sorted(MODES)), dice.choice(sorted(gpu.VERSIONS))
        faults = dice.sample(HARMLESS + NAMELESS + LOSSY, dice.randrange(4))
        with self.subTest(seed=seed, mode=mode, version=version, faults=faults):
            self.traced(mode, version, ",".join(faults), seed=seed, kernel_ns=dice.choice((0, 1000, 20000, 1000000)
                        if mode != "many" else (0, 1000)), options=dice.choice(("", ":buffer_kb=64")))
            is_named, is_complete = not set(faults) & set(NAMELESS), not set(faults) & set(LOSSY)
            self.check_spans(has_all_calls=not set(faults) & {"drops", "invalid-kinds"})
            self.assertEqual(self.said_count("records were dropped"), self.counted["dropped"])
            self.assertGreaterEqual(self.sql("select dropped_count as n from run")[0]["n"], self.counted["dropped"])
            made, recorded = executions_of(self.launches, is_named), Counter(e for _, e in self.executions(is_named))
            self.assertEqual(recorded - made, Counter(), "what was not launched")
            if is_complete:
                self.assertEqual(recorded, made)
                if is_named:
                    self.assertEqual(self.recorded_launches(), self.launches)
            elif "invalid-kinds" not in faults:
                lost = self.counted["without_times"] + self.counted["cut"]
                written = self.counted["kernels"] + self.counted["memcpys"] + self.counted["memsets"]
                self.assertGreaterEqual(sum(recorded.values()), written - lost)
                self.assertLessEqual(sum(recorded.values()), written - self.counted["without_times"])
