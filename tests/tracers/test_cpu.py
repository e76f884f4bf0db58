# SPDX-License-Identifier: Apache-2.0
"""tracers/cpu.so: where the time of threads goes, and that programs behave as without it. What is recorded is read from the
session's folder."""
import bisect
import collections
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from interpreters import interpreters

BUILD = pathlib.Path(os.environ["XSP_BUILD"])
GUEST = BUILD / "test-programs" / "cpu_guest"
SANITIZED = os.environ.get("XSP_SANITIZE", "")
INTERPRETERS = interpreters()
PERIOD_NS = 1_000_000_000 // 999
LATE_NS = 2 * PERIOD_NS + 10_000_000  # a period's end is seen at a tick of the kernel's, every 1 to 10 ms

Sample = collections.namedtuple("Sample", "pid tid kind ns span path")


class Trace:
    """What a program printed, and the samples and messages that it left."""

    def __init__(self, command, preload=(), **environment):
        folder = tempfile.mkdtemp(prefix="xsp-test-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        libraries = [*preload, str(BUILD / "libxsp.so"), str(BUILD / "tracers" / "cpu.so")]
        variables = {**os.environ, "XSP_SESSION": folder, "XSP_CPU_RATE": "999", "LD_PRELOAD": ":".join(libraries),
                     "ASAN_OPTIONS": "detect_leaks=0", **environment}
        try:
            self.done = subprocess.run([str(part) for part in command], env=variables, capture_output=True, text=True,
                                       stdin=subprocess.DEVNULL, timeout=600)
            dump = subprocess.run([BUILD / "test-programs" / "test-dump", folder], capture_output=True, text=True)
        finally:
            shutil.rmtree(folder)
        lines = dump.stdout.splitlines()
        self.counts = dict(line.split()[1:] for line in lines if line.startswith("count "))
        self.messages = [line[len("message "):] for line in lines if line.startswith("message ")]
        self.samples = []
        for line in lines:
            if line.startswith("sample\t"):
                pid, tid, kind, ns, span, *path = line.split("\t")[1:]
                self.samples.append(Sample(int(pid), int(tid), kind, int(ns), int(span), path))


class Symbols:
    """The function of an address in a file."""

    def __init__(self, path):
        lines = subprocess.run(["nm", "-n", path], capture_output=True, text=True, check=True).stdout.splitlines()
        found = [line.split() for line in lines if re.match(r"[0-9a-f]+ [tT] ", line)]
        self.path, self.at, self.names = str(path), [int(at, 16) for at, _, _ in found], [name for _, _, name in found]

    def name(self, frame):
        module, _, address = frame.rpartition("+")
        return self.names[bisect.bisect_right(self.at, int(address, 16)) - 1] if module == self.path else None


def runtimes():
    """A sanitizer's library comes before everything else."""
    if not SANITIZED:
        return []
    text = subprocess.run(["ldd", BUILD / "libxsp.so"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"=> (\S*/lib(?:asan|ubsan|tsan)\S*)", text)


def trace(*command, **environment):
    return Trace(command, preload=runtimes(), **environment)


class Figures(unittest.TestCase):
    def within_error(self, part_ns, whole_ns, share, count):
        error = 5 * math.sqrt(share * (1 - share) / count)  # by chance once in a million runs
        self.assertLess(abs(part_ns / whole_ns - share), error, (part_ns, whole_ns, count))

    def test_sums_are_the_cpu_time_and_shares_are_right(self):
        traced = trace(GUEST, "shares")
        self.assertEqual(traced.done.returncode, 0)
        symbols = Symbols(GUEST)
        threads = [line.split() for line in traced.done.stderr.splitlines()]
        self.assertEqual(len(threads), 2)
        for tid, cpu_ns in threads:
            samples = [sample for sample in traced.samples if sample.tid == int(tid)]
            total = sum(sample.ns for sample in samples)
            self.assertEqual({sample.kind for sample in samples}, {"cpu"})
            self.assertLess(int(cpu_ns) - LATE_NS, total)
            self.assertLess(total, int(cpu_ns) + LATE_NS)  # it goes on after it was read
            # While another thread prepares call paths, a thread has none.
            # Before its function begins, it may be in the loader.
            named = [(sample.ns, [name for name in map(symbols.name, sample.path) if name]) for sample in samples]
            known = [(ns, names) for ns, names in named if names]
            self.assertGreater(len(known), 0.9 * len([sample for sample in samples if sample.path]))
            total = sum(ns for ns, _ in known)
            by_function = collections.Counter()
            for ns, names in known:
                self.assertEqual(names[0], "three_to_seven", names)
                by_function[names[1] if len(names) > 1 else None] += ns
            self.within_error(by_function["light"], total, 0.3, len(known))
            self.within_error(by_function["heavy"], total, 0.7, len(known))

    def test_waits(self):
        traced = trace(GUEST, "waits", XSP_CPU_MODE="real")
        self.assertEqual((traced.done.stdout, traced.done.returncode), ("done\n", 0))
        symbols = Symbols(GUEST)
        longest = collections.defaultdict(list)
        for sample in traced.samples:
            names = [name for name in map(symbols.name, sample.path) if name]
            if sample.kind != "cpu":
                longest[names[-1], sample.kind].append(sample.ns)
        tenth, calls = 99_000_000, {("sleeps", "sleep"): 1, ("locks", "lock"): 3, ("reads", "io"): 2,
                                    ("waits_for_child", "child"): 1, ("stay_within", "sleep"): 4}
        for wait, least in calls.items():
            self.assertGreaterEqual(sum(ns >= tenth for ns in longest[wait]), least, (wait, longest))
        # Reading that uses the CPU is no waiting, nor a handler's work in a call: at most what the program itself has seen of that.
        for wait, unused_ns in zip(("reads_without_waiting", "waits_with_work_inside"), map(int, traced.done.stderr.split()), strict=True):
            self.assertLess(sum(longest[wait, "io"]), unused_ns + 20_000_000, wait)

    def test_waits_are_not_the_default(self):
        self.assertEqual({sample.kind for sample in trace(GUEST, "waits").samples}, {"cpu"})

    def test_python(self):
        program = ("import time\n"
                   "def pure(end):\n"
                   "    while time.thread_time() < end:\n"
                   "        sum(i for i in range(1000))\n"
                   "def native(end):\n"
                   "    data = list(range(20000, 0, -1)) * 5\n"
                   "    while time.thread_time() < end:\n"
                   "        sorted(data, key=float)\n"
                   "def outer():\n"
                   "    for i in range(3):\n"
                   "        pure(time.thread_time() + .05)\n"
                   "        native(time.thread_time() + .15)\n"
                   "outer()\n")
        for version, path in INTERPRETERS.items():
            with self.subTest(version=version), tempfile.NamedTemporaryFile("w", suffix=".py") as file:
                file.write(program)
                file.flush()
                traced = trace(path, "-I", file.name)
                self.assertEqual((traced.done.returncode, traced.done.stderr), (0, ""))
                self.assertEqual(traced.messages, [])
                everything = sum(sample.ns for sample in traced.samples)  # from the interpreter's start to its end
                self.assertGreater(sum(sample.ns for sample in traced.samples if sample.path), 0.8 * everything)
                frames = {name: [sample for sample in traced.samples if f"{name}:{file.name}" in
                                 ",".join(sample.path)] for name in ("outer", "pure", "native")}
                total = sum(sample.ns for sample in frames["outer"])
                for name, share, lines in (("pure", 0.25, (3, 4)), ("native", 0.75, (6, 7, 8))):
                    self.within_error(sum(sample.ns for sample in frames[name]), total, share, len(frames["outer"]))
                    for sample in frames[name]:
                        at = [frame.split(":")[0] for frame in sample.path].index(name)
                        self.assertIn(sample.path[at - 1], (f"outer:{file.name}:{line}" for line in (11, 12)))
                        self.assertIn(sample.path[at], [f"{name}:{file.name}:{line}" for line in lines])


class Manners(unittest.TestCase):
    """Output and status are the same with and without samples."""

    def same(self, *command, plain_status=0):
        plain = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600,
                               stdin=subprocess.DEVNULL)
        traced = trace(*command)
        self.assertEqual(plain.returncode, plain_status, plain.stderr)
        self.assertEqual((traced.done.stdout, traced.done.returncode), (plain.stdout, plain.returncode), traced.done.stderr)
        self.assertEqual((traced.counts.get("misused"), traced.counts.get("lost")), ("0", "0"))
        return traced

    def sampled(self, *command, plain_status=0):
        traced = self.same(*command, plain_status=plain_status)
        self.assertTrue(traced.samples)
        self.assertEqual(traced.messages, [])
        return traced

    def test_own_timers(self):
        self.sampled(GUEST, "own_itimer")
        self.sampled(GUEST, "own_timer")

    def test_the_highest_signal_is_the_programs_where_it_wants_it(self):
        traced = self.same(GUEST, "take_highest")
        self.assertIn("sampling has ended", " ".join(traced.messages))
        self.assertTrue(traced.samples)

    def test_others_may_end_it_by_the_highest_signal(self):
        self.same(GUEST, "die_by_highest", plain_status=-signal.SIGRTMAX)

    def test_blocked_signals_and_waits_for_all(self):
        traced = self.sampled(GUEST, "wait_for_signals")
        self.assertEqual(len({sample.tid for sample in traced.samples}), 2)  # both block all

    def test_masks_in_handlers(self):
        self.sampled(GUEST, "masks_in_handlers")

    def test_blocking_calls_are_not_interrupted(self):
        self.sampled(GUEST, "wait_uninterrupted")

    def test_small_stacks(self):
        symbols = Symbols(GUEST)
        traced = self.sampled(GUEST, "on_small_stacks")
        leaves = {name for sample in traced.samples for name in map(symbols.name, sample.path[-2:])}
        self.assertLessEqual({"light", "heavy"}, leaves)
        traced = self.sampled(GUEST, "in_coroutine")
        self.assertTrue(any("coroutine" in map(symbols.name, sample.path) for sample in traced.samples))

    @unittest.skipIf(SANITIZED, "the sanitizer's runtime gives threads a signal stack of its own")
    def test_a_stack_pointer_in_data(self):
        self.sampled(GUEST, "with_data_below")

    def test_conditions(self):
        self.same(GUEST, "conditions")
        traced = trace(GUEST, "conditions", XSP_CPU_MODE="real")
        self.assertEqual((traced.done.stdout, traced.done.returncode), ("around it 1\n", 0))

    def test_handlers_that_jump(self):
        self.sampled(GUEST, "jump_out_of_handlers")

    def test_threads(self):
        self.same(GUEST, "hundreds_of_threads")
        self.sampled(GUEST, "ends_of_threads")

    def test_processes(self):
        traced = self.sampled(GUEST, "forks")
        self.assertEqual(len({sample.pid for sample in traced.samples}), 2)
        self.sampled(GUEST, "exec")

    def test_what_forbids_timers_is_said(self):
        for scenario in ("sandbox_refuses", "sandbox_kills"):
            traced = self.same(GUEST, scenario)
            self.assertIn("restricted its system calls", " ".join(traced.messages))
        traced = self.same(GUEST, "without_pending_signals")
        self.assertIn("ulimit -i", " ".join(traced.messages))

    def test_more_rights_than_the_caller(self):
        if os.geteuid() != 0:
            self.skipTest("only root can make a program of another user")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            program = shutil.copy(GUEST, folder)
            os.chown(program, 65534, 65534)
            os.chmod(program, 0o4755)
            self.assertEqual(trace(program, "own_itimer").samples, [])

    def test_python_warns_of_no_threads(self):
        code = ("import os\n"
                "child = os.fork()\n"
                "sum(i for i in range(3000000))\n"
                "if child: print(os.waitpid(child, 0)[1])\n")
        for version, path in INTERPRETERS.items():
            with self.subTest(version=version):
                traced = self.sampled(path, "-I", "-W", "error", "-c", code)
                self.assertEqual(len({sample.pid for sample in traced.samples}), 2)


if __name__ == "__main__":
    unittest.main()
