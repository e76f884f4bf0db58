# SPDX-License-Identifier: Apache-2.0
"""`xsp run --counters`: what is counted within spans. Hardware is simulated (tests/capture/perf_simulator.c), down to the instruction
that reads a counter; page faults are the system's own."""
import errno
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
XSP, PROGRAMS = BUILD / "xsp", BUILD / "test-programs"
SIMULATOR = PROGRAMS / "libtest-perf-simulator.so"


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "preloading into programs that are not sanitized")
@unittest.skipUnless(SIMULATOR.exists(), "the simulated counters are those of x86-64")
class SpanCounters(unittest.TestCase):
    around = []

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name) / "out.xsp"

    def run_xsp(self, counters, *arguments, **environment):
        return subprocess.run([*self.around, XSP, "run", "-q", "-f", "--sample-rate", "0", "--counters", counters, "-o", self.out, "--",
                               PROGRAMS / "test-counted", *arguments], capture_output=True, text=True, timeout=600,
                              env={**os.environ, "LD_PRELOAD": str(SIMULATOR), **environment})

    def runs_not(self, *command):
        return subprocess.run([*self.around, *command], capture_output=True, timeout=600).returncode != 0

    def counted(self, counters, *arguments):
        """{span: {counter: value}} of the program's own spans."""
        done = self.run_xsp(counters, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(subprocess.run(
            [XSP, "sql", self.out, "select s.name, key, value from span s left join tag using (run_id, span_id) "
             "where tracer = 'app' order by start_ns", "--json"], capture_output=True, check=True).stdout)
        found = {row["name"]: {} for row in rows}
        for row in rows:
            if row["key"] is not None:
                found[row["name"]][row["key"]] = row["value"]
        return found

    def test_hardware(self):
        """Instructions are counted twice for each unit of work, cycles once. A closed descriptor changes nothing."""
        expected = {name: {"instructions": 2 * units, "cycles": units} for name, units in (
            ("warm", 1), ("outer", 13), ("inner", 3), ("first", 3), ("second", 6), ("in a thread", 4), ("in a child", 2))}
        for arguments in ((), ("daemon",)):
            self.assertEqual(self.counted("instructions,PAPI_TOT_CYC", *arguments), expected | {"shared": {}})

    def test_of_the_system(self):
        found = self.counted("cpu_ns,page_faults,context_switches")
        for name, counts in found.items():
            self.assertEqual(set(counts), {"cpu_ns", "page_faults", "context_switches"}, name)
        self.assertGreaterEqual(found["outer"]["page_faults"], 50)
        self.assertLess(found["outer"]["page_faults"], 60)
        self.assertLess(found["inner"]["page_faults"], 5)
        self.assertGreater(found["outer"]["cpu_ns"], found["inner"]["cpu_ns"])

    def test_system_calls(self):
        """Those of the program alone, exactly: reading the other counters asks the system, too."""
        self.around = ["unshare", "-m", "sh", "-c", 'mount -t tracefs tracefs /sys/kernel/tracing && "$@"', "sh"]
        if os.geteuid() != 0 or self.runs_not("cat", "/sys/kernel/tracing/events/raw_syscalls/sys_enter/id"):
            self.skipTest("trace points of the kernel need root, and a kernel that has them")
        checked = subprocess.run([*self.around, XSP, "check"], capture_output=True, text=True, check=True, timeout=600).stdout
        fact, = (line for line in checked.splitlines() if line.startswith("system calls"))
        if "not counted" in fact:  # as in a container without the right to, whose kernel has the trace points
            self.skipTest(fact)
        for counters in ("system_calls", "os"):
            found = self.counted(counters, "calls")
            self.assertEqual({name: found[name]["system_calls"] for name in ("calls", "inner calls")}, {"calls": 7, "inner calls": 3})
        self.assertEqual(set(found["calls"]), {"cpu_ns", "page_faults", "context_switches", "system_calls"})

    def test_system_calls_where_the_kernel_has_none(self):
        """Asked for by name it is an error, of all of the system they are left out with a line."""
        self.around = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel && "$@"', "sh"]
        if os.geteuid() != 0 or self.runs_not("true"):
            self.skipTest("needs root that may mount, to hide the kernel's trace points")
        done = self.run_xsp("system_calls", "calls")
        self.assertEqual((done.returncode, self.out.exists()), (3, False), done.stderr)
        self.assertIn("system_calls", done.stderr)
        self.assertEqual(set(self.counted("os", "calls")["calls"]), {"cpu_ns", "page_faults", "context_switches"})
        self.assertIn("not counted", self.run_xsp("os", "calls").stderr)
        checked = subprocess.run([*self.around, XSP, "check"], capture_output=True, text=True, check=True, timeout=600).stdout
        fact, = (line for line in checked.splitlines() if line.startswith("system calls"))
        self.assertIn("mount -t tracefs", fact)

    def test_none_by_default(self):
        subprocess.run([XSP, "run", "-q", "-f", "-o", self.out, "--", PROGRAMS / "test-counted"], check=True,
                       env={**os.environ, "LD_PRELOAD": str(SIMULATOR)}, timeout=600)
        rows = json.loads(subprocess.run([XSP, "sql", self.out, "select count(*) as n from tag where key = 'cycles'", "--json"],
                                         capture_output=True, check=True).stdout)
        self.assertEqual(rows, [{"n": 0}])

    def test_what_cannot_be_counted_is_said_before_the_start(self):
        done = self.run_xsp("page_faults,cycles", XSP_TEST_PERF_ERROR=str(errno.ENOENT))
        self.assertEqual(done.returncode, 3)
        self.assertIn("cycles", done.stderr)
        for wrong in ("instruction", "cycles,cycles", ""):
            done = self.run_xsp(wrong)
            self.assertEqual(done.returncode, 125, wrong)
            self.assertIn("--counters", done.stderr)
        self.assertFalse(self.out.exists())


if __name__ == "__main__":
    unittest.main()
