# SPDX-License-Identifier: Apache-2.0
"""Counters over time of `xsp run`: CPU time of processes and threads, memory, what the machine did, against what a program with a
known load reports of itself."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
XSP = BUILD / "xsp"
MEBIBYTE = 1 << 20
# A thread and a child use a second of CPU time each; the program holds 96 MiB meanwhile and prints what it used.
GUEST = """
import json, os, threading, time
held = bytearray(os.urandom(1 << 20)) * 96
threads = []
def work(clock):
    while clock() < 1:
        sum(range(10000))
def in_thread():
    work(time.thread_time)
    threads.append(threading.get_native_id())
child = os.fork()
if child == 0:
    work(time.process_time)
    os._exit(0)
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
_, _, used = os.wait4(child, 0)
print(json.dumps({"program": os.getpid(), "thread": threads[0], "child": child, "program_s": time.process_time(),
                  "child_s": used.ru_utime + used.ru_stime}))
"""
SERIES = """select counter_id, name, process_id, thread_id, is_total, json_group_array(time_ns) as times,
    json_group_array(value) as counted from counter join (select * from counter_value order by time_ns)
    using (run_id, counter_id) group by counter_id"""


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "preloading into programs that are not sanitized")
class Counters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        out = f"{cls.folder.name}/out.xsp"
        run = subprocess.run([XSP, "run", "-q", "-o", out, "--", sys.executable, "-c", GUEST], capture_output=True, check=True)
        cls.said = json.loads(run.stdout)
        cls.series = {}
        for row in cls.sql(out, SERIES):
            row["times"], row["counted"] = json.loads(row["times"]), json.loads(row["counted"])
            cls.series[row["name"], row["process_id"], row["thread_id"]] = row
        cls.life = cls.sql(out, "select start_ns, end_ns from span where category = 'program'")[0]

    @classmethod
    def sql(cls, path, query):
        return json.loads(subprocess.run([XSP, "sql", path, query, "--json"], capture_output=True, check=True).stdout)

    def test_cpu_time_is_what_each_process_and_thread_used(self):
        program, child, thread = self.said["program"], self.said["child"], self.said["thread"]
        for of, most_s in (((program, None), self.said["program_s"]), ((child, None), self.said["child_s"]),
                           ((program, thread), 1.1)):
            counted = self.series["cpu_ns", *of]["counted"]
            self.assertEqual(counted[0], 0)
            self.assertEqual(counted, sorted(counted))
            self.assertGreater(counted[-1], 0, of)
            self.assertLessEqual(counted[-1] / 1e9, most_s + 0.01, of)

    def test_memory_is_what_the_program_holds(self):
        resident = self.series["rss_bytes", self.said["program"], None]
        self.assertEqual(resident["is_total"], 0)
        self.assertGreater(max(resident["counted"]), 96 * MEBIBYTE)
        self.assertLess(max(resident["counted"]), 400 * MEBIBYTE)

    def test_the_machine_worked_at_least_as_much_as_the_program(self):
        busy = self.series["busy_ns", None, None]
        self.assertGreater(busy["counted"][-1] / 1e9, 1.5)  # both seconds, in ticks of the kernel
        self.assertIn(("steal_ns", None, None), self.series)

    def test_times_rise_and_lie_in_the_program_s_life(self):
        for row in self.series.values():
            self.assertEqual(row["times"], sorted(set(row["times"])), row["name"])
            self.assertGreaterEqual(row["times"][0], self.life["start_ns"] - 10**9)
            self.assertLess(row["times"][-1], self.life["end_ns"] + 10**10)

    def test_a_value_that_stays_takes_two_rows(self):
        for row in self.series.values():
            counted = row["counted"]
            for i in range(len(counted) - 2):
                self.assertFalse(counted[i] == counted[i + 1] == counted[i + 2], row["name"])


if __name__ == "__main__":
    unittest.main()
