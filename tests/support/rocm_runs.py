# SPDX-License-Identifier: Apache-2.0
"""Programs that xsp traces on the simulated AMD GPUs of tests/tracers/rocm: what they launched, as they wrote it down, and what xsp
recorded."""
import collections
import json
import random
import struct

from device_runs import BUILD, DeviceTest

PLACE, TRACER = BUILD / "test-programs" / "rocm", BUILD / "tracers" / "rocm.so"
VERSIONS = ("0.4.0", "0.5.0", "0.6.0", "1.0.0", "1.1.3")  # of ROCm 6.2, 6.3, 6.4, 7
MODES = {"simple": 3, "devices": 4, "threads": 8, "many": 2000, "names": 2, "errors": 3, "fork": 2, "ranges": 3, "open-ranges": 4100, "fork-first": 2}
DEMANGLED = {"_Z6matmulPKfS0_Pfi": "matmul(float const*, float const*, float*, int)", "": "(kernel without a name)"}
COUNTS = ("kernels", "copies", "calls", "dropped", "without_times", "unreadable", "flushes", "clients")  # as in simulator.h
HARMLESS, FAULTS = ("out-of-order", "others"), ("drops", "zero-times", "reversed", "short")

Execution = collections.namedtuple("Execution", "category name grid block shared bytes copy device")
Launch = collections.namedtuple("Launch", "call thread execution")
Counter = collections.Counter


def execution_of(row):
    is_kernel = row["operation"] == "kernel"
    grid, block = (json.dumps(row[key], separators=(",", ":")) if is_kernel else None for key in ("grid", "block"))
    return Execution(row["operation"], DEMANGLED.get(row["name"], row["name"]) if is_kernel else "", grid, block,
                     row["shared"] if is_kernel else None, None if is_kernel else row["bytes"], row["copy"] or None, row["device"])


def executions_of(launches):
    found = Counter()
    for launch, times in launches.items():
        found[launch.execution] += times
    return found


class RocmTest(DeviceTest):
    tracer = "rocm"
    hidden = ("ROCP",)

    def environment(self, version, faults, seed=1, kernel_ns=20000, clock_ns=0):
        return {**self.plain_environment(), "XSP_SIM_VERSION": version, "XSP_SIM_FAULTS": faults, "XSP_SIM_SEED": str(seed),
                "XSP_SIM_KERNEL_NS": str(kernel_ns), "XSP_SIM_CLOCK_NS": str(clock_ns), "XSP_SIM_COUNTS": str(self.counts),
                "LD_LIBRARY_PATH": str(PLACE)}  # the sanitizers' dlopen does not know its caller's path

    def start(self, command, mode, environment):
        count = {"flood": 100000}.get(mode, MODES.get(mode, 3))
        return self.run_program([*command, PLACE / "rocm_workload", mode, self.truth, str(count)], environment)

    def loading(self, tracer, options):
        return {"ROCP_TOOL_LIBRARIES": f"{tracer}:"}

    def traced(self, mode, version="1.0.0", faults="", options="", **more):
        """Then self.launches are what the program launched, self.by_stream what each stream had, self.counted what the simulator
        did."""
        plain = self.trace(mode, self.environment(version, faults, **more), options)
        rows = self.truth_rows()
        self.launches = Counter(Launch(row["api"], row["thread"], execution_of(row)) for row in rows)
        streams = collections.defaultdict(list)
        for row in rows:
            if row["operation"] == "kernel":
                streams[row["process"], row["device"], row["stream"]].append(execution_of(row))
        self.by_stream = Counter(tuple(sorted(executions, key=str)) for executions in streams.values())
        data = self.counts.read_bytes() if self.counts.exists() else bytes(8 * len(COUNTS))
        self.counted = dict(zip(COUNTS, struct.unpack(f"<{len(COUNTS)}Q", data)))
        return plain

    def counted_clients(self):
        return struct.unpack_from("<Q", self.counts.read_bytes(), 8 * COUNTS.index("clients"))[0]

    def rows(self):
        tag = "(select value from tag g where g.run_id = s.run_id and g.span_id = s.span_id and g.key = '{}')"
        keys = {"grid": "grid", "block": "block", "shared": "shared_bytes", "bytes": "bytes", "copy": "copy_kind"}
        tags = ", ".join(f"{tag.format(key)} as {name}" for name, key in keys.items())
        return self.sql("select s.correlation_id as id, s.category, s.name, s.track_id as track, t.device_id as device, "
                        f"{tags} from span s join track t using (run_id, track_id) where kind = 'execution'")

    @staticmethod
    def execution(row):
        return Execution(row["category"], row["name"] if row["category"] == "kernel" else "", row["grid"], row["block"],
                         row["shared"], row["bytes"], row["copy"], row["device"])

    def executions(self):
        """(correlation id, execution) of what was recorded."""
        return [(row["id"], self.execution(row)) for row in self.rows()]

    def by_queue(self):
        """Like self.by_stream; a stream of the simulator has a queue of its own, whose operations never overlap."""
        tracks = collections.defaultdict(list)
        for row in self.rows():
            if row["category"] == "kernel":
                tracks[row["track"]].append(self.execution(row))
        return Counter(tuple(sorted(executions, key=str)) for executions in tracks.values())

    def recorded_launches(self):
        """Each execution has exactly one launch."""
        made = {row["id"]: (row["name"], row["thread"]) for row in self.sql(
            "select s.correlation_id as id, s.name, t.thread_id as thread from span s join track t using (run_id, track_id) "
            "where kind = 'launch'")}
        found = self.executions()
        self.assertLessEqual({number for number, _ in found}, set(made))
        return Counter(Launch(*made[number], execution) for number, execution in found)

    def check_spans(self, has_all_calls=True):
        """What holds in every trace: times, tracks, and the links from executions to launches."""
        self.check_times()
        if has_all_calls:
            self.assertEqual(self.sql("select distinct basis from span where kind = 'execution' and basis <> 'correlation'"), [])
            self.assertEqual(self.sql(
                "select e.name from span e join span l on l.run_id = e.run_id and l.correlation_id = e.correlation_id and "
                "l.kind = 'launch' where e.kind = 'execution' and e.start_ns < l.start_ns"), [], "none starts before its call")

    def check_random(self, seed):
        """A random program on a random version with random faults: it does not notice, and what is recorded is right."""
        dice = random.Random(seed)
        mode, version = dice.choice(sorted(MODES)), dice.choice(VERSIONS)
        faults = dice.sample(HARMLESS, dice.randrange(3)) + dice.sample(FAULTS, dice.randrange(2))  # a record has one of the latter
        with self.subTest(seed=seed, mode=mode, version=version, faults=faults):
            self.traced(mode, version, ",".join(faults), seed=seed, kernel_ns=dice.choice((1000, 20000)),
                        options=dice.choice(("", ":buffer_kb=64")))
            self.check_spans(has_all_calls=not set(faults) & {"drops", "short"})
            self.assertEqual(self.said_count("records were dropped"), self.counted["dropped"])
            self.assertEqual(self.said_count("records without times"), self.counted["without_times"])
            self.assertEqual(self.said_count("records could not be read"), self.counted["unreadable"])
            made, recorded = executions_of(self.launches), Counter(execution for _, execution in self.executions())
            self.assertEqual(recorded - made, Counter(), "what was not launched")
            lost = sum(self.counted[key] for key in ("dropped", "without_times", "unreadable"))
            self.assertGreaterEqual(sum(recorded.values()), sum(made.values()) - lost)
            if not set(faults) & set(FAULTS):
                self.assertEqual(self.recorded_launches(), self.launches)
