# SPDX-License-Identifier: Apache-2.0
"""Counters over time of `xsp run`: CPU time of processes and threads, memory, what the machine did, against what a program with a
known load reports of itself."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
XSP = BUILD / "xsp"
COMPILER = shutil.which(os.environ.get("CC", "cc"))
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
del held  # not by its exit, whose time it cannot print
print(json.dumps({"program": os.getpid(), "thread": threads[0], "child": child, "program_s": time.process_time(),
                  "child_s": used.ru_utime + used.ru_stime}), flush=True)
os._exit(0)  # nothing more counts
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
        # Both seconds, in ticks of the kernel. Of a process's time the host may have taken a part for other machines.
        worked = sum(self.series[name, None, None]["counted"][-1] for name in ("busy_ns", "steal_ns"))
        self.assertGreater(worked / 1e9, 1.5)

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


NVML = r"""
#include <stdio.h>
struct memory { unsigned long long total, free, used; };
struct use { unsigned gpu, memory; };
static unsigned reads;
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { return snprintf(text, size, "1.2") < 0; }
int nvmlSystemGetCudaDriverVersion(int *version) { *version = 12080; return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) { *device = (void *)(size_t)(index + 1); return 0; }
int nvmlDeviceGetName(void *device, char *text, unsigned size) { (void)device; return snprintf(text, size, "GPU") < 0; }
int nvmlDeviceGetMemoryInfo(void *device, struct memory *memory)
{
  *memory = (struct memory){1 << 20, 0, (size_t)device << 10};
  return 0;
}
int nvmlDeviceGetUtilizationRates(void *device, struct use *use) { *use = (struct use){50, 0}; return device == (void *)2; }
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *energy)
{
  (void)device;
  *energy = 1000000 + 1500 * reads++;
  return 0;
}
"""


@unittest.skipIf(os.environ.get("XSP_SANITIZE") or COMPILER is None, "preloading into programs that are not sanitized")
class Gpus(unittest.TestCase):
    def test_use_memory_and_energy(self):
        """Of two GPUs, one of which does not say how busy it is."""
        with tempfile.TemporaryDirectory() as folder:
            source, library, out = (f"{folder}/{name}" for name in ("nvml.c", "nvml.so", "out.xsp"))
            pathlib.Path(source).write_text(NVML, encoding="utf-8")
            subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, source], check=True)
            subprocess.run([XSP, "run", "-q", "-o", out, "--", "true"], check=True, capture_output=True,
                           env={**os.environ, "XSP_LIBRARY_NVML": library})
            rows = Counters.sql(out, SERIES.replace("process_id", "source"))
        found = {(row["name"], row["source"]): json.loads(row["counted"]) for row in rows if (row["source"] or "")[:3] == "GPU"}
        self.assertEqual(sorted(found), [("energy_j", "GPU 0"), ("energy_j", "GPU 1"), ("gpu_bytes", "GPU 0"),
                                         ("gpu_bytes", "GPU 1"), ("gpu_pct", "GPU 0")])
        self.assertEqual({key: set(values) for key, values in found.items() if key[0] != "energy_j"},
                         {("gpu_pct", "GPU 0"): {50}, ("gpu_bytes", "GPU 0"): {1024}, ("gpu_bytes", "GPU 1"): {2048}})
        self.assertEqual(found["energy_j", "GPU 0"][:2], [0, 3])  # 1.5 J a reading, of two GPUs in turn


if __name__ == "__main__":
    unittest.main()
