# SPDX-License-Identifier: Apache-2.0
"""Programs that xsp traces on the simulated AMD GPUs of tests/tracers/rocm: what they launched, as they wrote it down, and what xsp
recorded."""
import collections
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
XSP, PLACE, TRACER = BUILD / "xsp", BUILD / "test-programs" / "rocm", BUILD / "tracers" / "rocm.so"
TIMEOUT = 120
SANITIZED = bool(os.environ.get("XSP_SANITIZE"))
# Of tests that need `xsp run` itself.
UNSANITIZED = unittest.skipIf(SANITIZED, "the sanitizer's runtime must be preloaded before libxsp.so")
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


class RocmTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="xsp-rocm-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.out, self.truth, self.counts = (self.folder / name for name in ("out.xsp", "truth", "counts"))

    def environment(self, version, faults, seed=1, kernel_ns=20000, clock_ns=0):
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("XSP_SESSION", "ROCP"))}
        return {**plain, "XSP_SIM_VERSION": version, "XSP_SIM_FAULTS": faults, "XSP_SIM_SEED": str(seed),
                "XSP_SIM_KERNEL_NS": str(kernel_ns), "XSP_SIM_CLOCK_NS": str(clock_ns), "XSP_SIM_COUNTS": str(self.counts),
                "LD_LIBRARY_PATH": str(PLACE),  # the sanitizers' dlopen does not know its caller's path
                "ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "atexit_sleep_ms=0"}

    def start(self, command, mode, environment):
        """Status (as a shell has it) and output of the program; what was said is in self.said."""
        self.truth.unlink(missing_ok=True)
        self.counts.unlink(missing_ok=True)
        count = {"flood": 100000}.get(mode, MODES.get(mode, 3))
        done = subprocess.run([*command, PLACE / "rocm_workload", mode, self.truth, str(count)], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT)
        self.said = done.stderr.decode()
        return done.returncode if done.returncode >= 0 else 128 - done.returncode, done.stdout.decode()

    def traced(self, mode, version="1.0.0", faults="", options="", **more):
        """Runs the program with and without xsp: it must not notice. Then self.launches are what it launched, self.by_stream what
        each stream had, self.counted what the simulator did."""
        environment = self.environment(version, faults, **more)
        plain = self.start((), mode, environment)
        if SANITIZED:
            self.record_without_run(mode, options, environment, plain)
        else:
            command = (XSP, "run", "-f", "-t", f"rocm{options}", "-o", self.out, "--")
            self.assertEqual(self.start(command, mode, environment), plain, self.said)
        rows = [json.loads(line) for line in self.truth.read_text().splitlines()]
        self.launches = Counter(Launch(row["api"], row["thread"], execution_of(row)) for row in rows)
        streams = collections.defaultdict(list)
        for row in rows:
            if row["operation"] == "kernel":
                streams[row["process"], row["device"], row["stream"]].append(execution_of(row))
        self.by_stream = Counter(tuple(sorted(executions, key=str)) for executions in streams.values())
        data = self.counts.read_bytes() if self.counts.exists() else bytes(8 * len(COUNTS))
        self.counted = dict(zip(COUNTS, struct.unpack(f"<{len(COUNTS)}Q", data)))
        self.assertNotRegex(self.said, r"[1-9]\d* (overwritten|torn)")
        return plain

    def record_without_run(self, mode, options, environment, plain):
        """rocprofiler-sdk loads the tracer, which brings libxsp.so; the sanitizers' runtime is the program's."""
        session = self.folder / "session"
        shutil.rmtree(session, ignore_errors=True)
        environment = {**environment, "XSP_SESSION": str(session), "XSP_TRACERS": f"{TRACER}{options}",
                       "ROCP_TOOL_LIBRARIES": f"{TRACER}:"}
        self.assertEqual(self.start((), mode, environment), plain, self.said)
        said = self.said
        done = subprocess.run([XSP, "recover", session, "--force", "-o", self.out], stderr=subprocess.PIPE, timeout=TIMEOUT)
        self.said = said + done.stderr.decode()
        self.assertEqual(done.returncode, 0, self.said)

    def counted_clients(self):
        return struct.unpack_from("<Q", self.counts.read_bytes(), 8 * COUNTS.index("clients"))[0]

    def said_count(self, pattern):
        """The sum of numbers before these words of the tracer's report, over all processes."""
        return sum(int(number) for number in re.findall(rf"rocm: (\d+) {pattern}", self.said))

    def sql(self, query):
        done = subprocess.run([XSP, "sql", self.out, query, "--json"], check=True, timeout=TIMEOUT, stdout=subprocess.PIPE)
        return json.loads(done.stdout)

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
        self.assertEqual(self.sql("select name from span where end_ns < start_ns or start_ns <= 0"), [])
        self.assertEqual(self.sql(
            "select name, before, start_ns from (select s.name, s.start_ns, max(s.end_ns) over (partition by s.track_id "
            "order by s.start_ns, s.end_ns rows between unbounded preceding and 1 preceding) as before from span s "
            "where kind = 'execution') where start_ns < before limit 3"), [], "executions of a track do not overlap")
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
