# SPDX-License-Identifier: Apache-2.0
"""The tracer of CUDA on a simulated GPU, in the layouts of each version: what the program launched is there exactly once,
with names, shapes, sizes, streams and threads. And a program runs as ever, whatever goes wrong in CUPTI."""
import json
import subprocess
import unittest

import cuda_simulator as gpu
import monitor_client
from cuda_runs import Counter, CudaTest, executions_of, MODES
from device_runs import UNSANITIZED, XSP


TAG = "(select value from tag g where g.run_id = s.run_id and g.span_id = s.span_id and g.key = '{}') as {}"
TAGS = {"pool": "pool", "bytes": "bytes", "pool_bytes": "pool_bytes", "pool_used_bytes": "used", "kept_bytes": "kept",
        "total_bytes": "total"}
MEMORY = f"select name, {', '.join(TAG.format(key, name) for key, name in TAGS.items())} from span s where " \
         "category = 'memory' order by start_ns"


class VersionsTest(CudaTest):
    def check(self, mode):
        for version in gpu.VERSIONS:
            with self.subTest(version):
                self.traced(mode, version)
                self.check_spans()
                self.assertEqual(self.recorded_launches(), self.launches)
                self.assertEqual(self.counted["dropped"], 0)

    def test_kernels_copies_and_sets_of_two_streams_and_two_threads(self):
        self.check("simple")

    def test_calls_of_the_runtime(self):
        """Their launches are theirs, not those of the driver's calls inside."""
        self.check("runtime")
        self.assertEqual({launch.call for launch in self.launches},
                         {"cudaMemcpy", "cudaMemsetAsync", "cudaLaunchKernel", "__cudaLaunchKernel"})

    def test_graphs(self):
        self.check("graph")
        lanes = self.sql("select t.name from span s join track t using (run_id, track_id) where s.category = 'kernel' "
                         "group by 1 order by count(*) desc")
        self.assertGreaterEqual(len(lanes), 6)  # six nodes that overlap in one stream
        self.assertEqual(self.sql("select count(*) as n from tag where key = 'graph'"), [{"n": 3 * 5 + 3 * 6}])

    def test_several_contexts_and_devices(self):
        self.check("contexts")

    def test_kernels_by_device(self):
        """Five kernels on device 0, one on device 1."""
        self.traced("contexts")
        done = subprocess.run([XSP, "analyze", "A10", "--by", "device", self.out, "--json"], check=True, stdout=subprocess.PIPE)
        self.assertEqual([(row["device"], row["kernel_name"], row["count"], row["kernels_pct"])
                          for row in json.loads(done.stdout)["rows"]], [(0, "vector_add", 5, 100), (1, "vector_add", 1, 100)])

    def test_parallelism(self):
        """Device 0 has 4 processors of 2,048 threads, and 8 · 128 threads run: an eighth. Device 1 has 8, and 1,920 · 512 run."""
        self.traced("contexts")
        rows = self.sql("select distinct t.device_id as device, g.value as ppm from span s join track t using (run_id, track_id) "
                        "join tag g using (run_id, span_id) where g.key = 'parallelism_ppm' order by 1")
        self.assertEqual([(row["device"], row["ppm"]) for row in rows], [(0, 125_000), (1, 60_000_000)])

    def test_names_of_any_length(self):
        self.check("names")

    def test_many_threads(self):
        self.check("threads")

    def test_calls_that_fail(self):
        self.check("errors")
        self.assertEqual(self.sql("select count(*) as n from span join tag using (run_id, span_id) where key = 'error' and "
                                  "value = 1 and name = 'cuLaunchKernel'"), [{"n": MODES["errors"]}])

    def test_many_launches(self):
        self.check("many")

    def test_forks(self):
        self.check("fork")
        self.check("fork-first")

    @UNSANITIZED
    def test_events_for_a_client_in_the_process(self):
        """A begin and an end for each call of the driver that is a span: launches, copies, allocations, waits, also within the runtime's."""
        client = monitor_client.made_in(self.folder)
        for version in "12.9", "13.5":  # earlier ones record all calls
            for mode, call in (("errors", "cuLaunchKernel"), ("graph", "cuGraphLaunch"), ("runtime", "cuMemAlloc")):
                with self.subTest(version=version, mode=mode):
                    self.start((XSP, "run", "-f", "-t", f"cuda,{client}", "-o", self.out, "--"), mode, self.environment(version, ""))
                    counted = Counter(monitor_client.calls(self.said, "cuda"))
                    calls = self.sql("select name, count(*) as n from span where category = 'api' and name glob 'cu[A-Z]*' group by name")
                    self.assertEqual(counted, {row["name"]: row["n"] for row in calls})
                    self.assertIn(call, counted)

    @UNSANITIZED
    def test_ranges_of_the_program_are_parents(self):
        """By the call, not by the time of the execution: each kernel runs for 5 ms, and the ranges are over by then."""
        environment = self.environment("13.1", "", kernel_ns=5000000)
        self.start((XSP, "run", "-f", "-t", "cuda,nvtx", "-o", self.out, "--"), "ranges", environment)
        rows = self.sql("select s.name as kernel, p.name as range, p.end_ns <= s.end_ns as is_over from span s join span p on "
                        "p.run_id = s.run_id and p.span_id = s.parent_id where s.category = 'kernel' order by s.start_ns")
        self.assertEqual([(row["kernel"], row["range"]) for row in rows],
                         [("of_step_0", "step 0"), ("of_step_1", "step 1"), ("of_step_2", "step 2")])
        self.assertEqual(rows[2]["is_over"], 1)

    @UNSANITIZED
    def test_a_capture_range(self):
        """What is launched in the range is kept, though it runs, and is read, long after the range; nothing else is."""
        environment = self.environment("13.1", "", kernel_ns=20000000)
        self.start((XSP, "run", "-f", "-t", "cuda,nvtx", "--capture-range", "step 1", "-o", self.out, "--"), "ranges", environment)
        self.assertEqual(self.sql("select name from span where category = 'kernel'"), [{"name": "of_step_1"}])
        self.assertEqual(self.sql("select name from span where category = 'api'"), [{"name": "cuLaunchKernel"}])

    def test_memory_and_overhead(self):
        """simple allocates twice 4096 bytes and frees them; the simulator reports what asking for buffers took."""
        for version in gpu.VERSIONS:
            with self.subTest(version):
                self.traced("simple", version)
                tag = "(select value from tag g where g.run_id = s.run_id and g.span_id = s.span_id and g.key = '{}')"
                rows = self.sql(f"select name, {tag.format('bytes')} as bytes, {tag.format('total_bytes')} as total from span s "
                                "where category = 'memory' order by start_ns")
                self.assertEqual([(row["name"], row["bytes"], row["total"]) for row in rows],
                                 [("allocate", 4096, 4096), ("allocate", 4096, 8192), ("free", 4096, 4096), ("free", 4096, 0)])
                self.assertRegex(self.said, r"cuda: CUPTI reports \d+\.\d+ ms asking for buffers")

    def test_pools(self):
        """The simulator's pools take memory in blocks of 2 MiB: 3 MiB are 4, 8 MiB are 8; 5 remain after the trim to 1."""
        mib = 1 << 20
        for version in gpu.VERSIONS:
            with self.subTest(version):
                self.traced("pools", version)
                rows = self.sql(MEMORY)
                pool = rows[0]["pool"]
                self.assertEqual([(row["name"], row["pool_bytes"], row["used"], row["kept"]) for row in rows
                                  if row["pool"] == pool],
                                 [("create pool", 0, 0, None), ("allocate", 4 * mib, 3 * mib, None),
                                  ("allocate", 8 * mib, 8 * mib, None), ("free", 8 * mib, 5 * mib, None),
                                  ("trim pool", 5 * mib, 5 * mib, mib), ("free", 5 * mib, 0, None),
                                  ("destroy pool", 5 * mib, 0, None)])

    def test_the_peak_of_memory(self):
        """Threads have buffers of their own; still, what is allocated is summed up in the order of time."""
        self.traced("pools")
        rows = [row for row in self.sql(MEMORY) if row["total"] is not None]
        self.assertEqual(len(rows), 4 + 8 * 50 * 8)
        total = 0
        for row in rows:
            total += row["bytes"] if row["name"] == "allocate" else -row["bytes"]
            self.assertEqual(row["total"], total)
        self.assertEqual(max(row["total"] for row in rows), self.counted["peak_bytes"])

    def test_waits(self):
        self.traced("simple")
        waits = self.sql("select name, count(*) as n from span where kind = 'execution' and category = 'sync' group by 1")
        self.assertEqual({wait["name"]: wait["n"] for wait in waits},
                         {"Stream Sync": 2, "Event Sync": 1, "Context Sync": 1, "Stream Wait Event": 1})


class EndsTest(CudaTest):
    """However a program ends, its status is its own, and what is recorded is right."""

    def test_an_exit_without_waiting(self):
        for kernel_ns in (1000, 100000000):
            with self.subTest(kernel_ns):
                self.assertEqual(self.traced("leave", kernel_ns=kernel_ns), (7, ""))
                self.check_spans()
                self.assertEqual(self.sql("select count(*) as n from span where kind = 'launch'"), [{"n": 3}])
                self.assertEqual(Counter(e for _, e in self.executions()) - executions_of(self.launches), Counter())

    def test_an_abrupt_exit(self):
        self.assertEqual(self.traced("leave-at-once"), (8, ""))
        self.check_spans(has_all_calls=False)

    def test_an_abort(self):
        self.assertEqual(self.traced("abort"), (134, ""))
        self.check_spans(has_all_calls=False)


class FaultsTest(CudaTest):
    def check_all_there(self, fault, mode="simple", **more):
        self.traced(mode, faults=fault, **more)
        self.check_spans()
        self.assertEqual(self.recorded_launches(), self.launches)
        self.assertEqual(self.said_count("records"), 0)

    def test_what_costs_nothing(self):
        for fault in ("out-of-order", "empty-buffers", "many-threads", "unknown-kinds"):
            for seed in range(3):
                with self.subTest(fault, seed=seed):
                    self.check_all_there(fault, seed=seed)

    def test_names_that_are_missing_or_long(self):
        for fault, name in (("null-names", "(kernel without a name)"), ("long-names", "n" * 10000)):
            with self.subTest(fault):
                self.traced("simple", faults=fault)
                self.check_spans()
                self.assertEqual(Counter(e for _, e in self.executions(is_named=False)),
                                 executions_of(self.launches, is_named=False))
                self.assertIn({"name": name}, self.sql("select distinct name from span where category = 'kernel'"))

    def test_records_without_times(self):
        self.traced("simple", faults="zero-times")
        self.check_spans()
        self.assertGreater(self.counted["without_times"], 0)
        self.assertEqual(self.said_count("records without times"), self.counted["without_times"])
        self.assertEqual(len(self.executions()), sum(executions_of(self.launches).values()) - self.counted["without_times"])

    def test_records_that_are_dropped(self):
        self.traced("simple", faults="drops")
        self.check_spans(has_all_calls=False)
        self.assertGreater(self.counted["dropped"], 0)
        self.assertEqual(self.said_count("records were dropped"), self.counted["dropped"])
        self.assertEqual(self.sql("select dropped_count as n from run"), [{"n": self.counted["dropped"]}])
        self.assertEqual(len(self.executions()), self.counted["kernels"] + self.counted["memcpys"] + self.counted["memsets"])

    def test_buffers_that_are_refused(self):
        self.traced("simple", faults="tiny-refused", options=":buffer_kb=64")
        self.assertEqual(self.executions(), [])
        self.assertGreater(self.counted["dropped"], 0)
        self.assertEqual(self.said_count("records were dropped"), self.counted["dropped"])
        self.assertEqual(self.sql("select dropped_count as n from run"), [{"n": self.counted["dropped"]}])

    def test_a_record_that_is_cut(self):
        for fault in ("cut", "cut-shown"):
            for seed in range(5):
                with self.subTest(fault, seed=seed):
                    self.traced("many", faults=fault, seed=seed, kernel_ns=1000, options=":buffer_kb=64")
                    self.check_spans()
                    self.assertGreater(self.counted["cut"], 0)
                    self.assertEqual(len(self.executions()), MODES["many"] - self.counted["cut"])

    def test_a_kind_that_ends_a_buffer(self):
        self.traced("simple", faults="invalid-kinds")
        self.check_spans(has_all_calls=False)
        self.assertGreater(self.counted["unknown"], 0)
        self.assertEqual(Counter(e for _, e in self.executions()) - executions_of(self.launches), Counter())
        self.assertGreater(self.said_count("buffers were read in part"), 0, self.said)

    def test_kinds_that_are_refused(self):
        self.traced("simple", faults="kinds-refused")
        self.check_spans()
        self.assertIn("memsets", self.said)
        kept = Counter({e: n for e, n in executions_of(self.launches).items() if e.category != "memset"})
        self.assertEqual(Counter(e for _, e in self.executions()), kept)
        self.traced("simple", faults="kernels-refused")
        self.assertRegex(self.said, "kernels.* 35")
        self.assertEqual({e.category for _, e in self.executions()}, {"memcpy", "memset"})

    def test_another_tool_that_holds_cupti(self):
        """One line says who; nothing else of CUPTI is called then, as it is the other's."""
        self.traced("simple", faults="subscriber")
        self.assertIn("Nsight Systems", self.said)
        self.assertLessEqual(self.counted["entries"], 2)  # version, subscribe
        self.assertEqual(self.sql("select name from span where level = 'kernel'"), [])
        self.traced("simple", "11.8", "subscriber")  # which does not say who
        self.assertRegex(self.said, "cuda: .*another tool")

    def test_one_of_several_subscribers(self):
        """Where the driver allows it: CUPTI's functions for one subscriber refuse then, so no other is called."""
        for version in ("13.1", "13.5"):
            for mode in ("simple", "graph", "pools"):
                with self.subTest(version, mode=mode):
                    self.check_all_there("several", mode=mode, version=version)
        self.traced("simple", "13.5", "several,drops")
        self.assertEqual(self.said_count("records were dropped"), self.counted["dropped"])

    def test_another_tool_that_takes_the_records(self):
        """After a second without records a launch is watched for; the one that then brings none shows the thief."""
        for version in ("11.8", "13.1"):
            with self.subTest(version):
                self.traced("thief", version)
                self.assertIn("cuda: another tool took CUPTI's records", self.said)
                self.assertEqual(self.sql("select name, count(*) as n from span where category = 'kernel' group by 1"),
                                 [{"name": "vector_add", "n": 3}])

    @UNSANITIZED
    def test_a_thief_where_events_are_refused(self):
        """A client wants events of calls, and CUPTI refuses them at first: the calls can be watched for all the same."""
        client = monitor_client.made_in(self.folder)
        self.start((XSP, "run", "-f", "-t", f"cuda,{client}", "-o", self.out, "--"), "thief", self.environment("13.1", "callbacks-late"))
        self.assertEqual(monitor_client.calls(self.said, "cuda"), [])
        self.assertIn("cuda: another tool took CUPTI's records", self.said)

    def test_cupti_that_does_not_work(self):
        self.traced("simple", faults="subscribe-fails")
        self.assertRegex(self.said, "cuda: .*999")
        self.assertLessEqual(self.counted["entries"], 2)

    @UNSANITIZED
    def test_a_libcupti_that_is_not_there(self):
        environment = self.environment("13.1", "", library=self.folder / "none.so")
        status, output = self.start((XSP, "run", "-f", "-t", "cuda", "-o", self.out, "--"), "simple", environment)
        self.assertEqual(status, 0)
        self.assertRegex(output, r"^copied \d+\n$")
        self.assertRegex(self.said, "cuda: .*none.so")

    @UNSANITIZED
    def test_a_machine_without_a_device(self):
        self.assertEqual(self.traced("simple", faults="no-device"), (4, "cuInit: 100\n"))

    def test_a_flush_that_hangs(self):
        """It delays the exit by no more than the option allows; the program's status is its own."""
        for fault in ("flush-hangs", "last-flush-hangs"):
            with self.subTest(fault):
                self.assertEqual(self.traced("simple", faults=fault, options=":exit_wait_ms=100")[0], 0)
                self.assertIn("exit_wait_ms", self.said)
                self.check_spans(has_all_calls=False)

    @UNSANITIZED
    def test_a_session_without_the_kernel_level(self):
        environment = self.environment("13.1", "")
        self.start((XSP, "run", "-f", "-t", "cuda", "--levels", "M", "-o", self.out, "--"), "simple", environment)
        self.assertFalse(self.counts.exists())

    def test_random_faults(self):
        for seed in range(30):
            self.check_random(seed)


@UNSANITIZED
class ChoiceTest(CudaTest):
    def test_what_is_recorded_is_chosen(self):
        """By --cuda: calls, and what the device does."""
        for choice, categories in (("api=none", {"kernel", "memcpy", "memset", "sync", "memory"}),
                                   ("activities=kernel+sync", {"api", "kernel", "sync"}),
                                   ("api=none,activities=memset", {"memset"})):
            with self.subTest(choice):
                environment = self.environment("13.1", "")
                self.start((XSP, "run", "-f", "-t", "cuda", "--cuda", choice, "-o", self.out, "--"), "simple", environment)
                self.assertEqual({row["category"] for row in self.sql("select distinct category from span")} - {"program"},
                                 categories)

    def test_all_calls(self):
        """A call that is not chosen by default is there; before 12.9, CUPTI cannot choose."""
        for version, choice, is_there in (("13.1", "api=some", 0), ("13.1", "api=all", 1), ("12.4", "api=some", 1)):
            with self.subTest(version=version, choice=choice):
                environment = self.environment(version, "")
                self.start((XSP, "run", "-f", "-t", "cuda", "--cuda", choice, "-o", self.out, "--"), "simple", environment)
                self.assertEqual(self.sql("select count(*) > 0 as n from span where name = 'cuStreamGetId'"), [{"n": is_there}])

    def test_check_says_what_there_is(self):
        for faults, library, usable, key, text in (
                ("", None, True, "version", "CUPTI 130101, driver for CUDA 13.1, 2 devices: Simulated GPU 0"),
                ("", gpu.VERSIONS["12.4"][1], True, "version", "(no hardware metrics: those need CUPTI of CUDA 12.6 or later), driver"),
                ("mps", None, True, "version", "Simulated GPU 0, through MPS"),
                ("no-device", None, False, "reason", "100"), ("", "/none.so", False, "reason", "none.so")):
            environment = {**self.environment("13.1", faults, library=library), "LD_LIBRARY_PATH": str(gpu.PLACE)}
            done = subprocess.run([XSP, "check", "cuda", "--json"], env=environment, timeout=600, stdout=subprocess.PIPE)
            found = [row for row in json.loads(done.stdout) if row.get("tracer") == "cuda"][0]
            self.assertEqual(found["usable"], usable, found)
            self.assertEqual(done.returncode, 0 if usable else 3, found)  # the library that was named cannot be used
            self.assertIn(text, found[key])


@UNSANITIZED
class ProgramsOwnLibraryTest(CudaTest):
    def test_the_libcupti_of_the_program_is_used(self):
        """One that is loaded already, then one that the loader finds."""
        for name, variable in (("13", "LD_PRELOAD"), ("12.9", "LD_PRELOAD"), ("13", "LD_LIBRARY_PATH")):
            with self.subTest(name, variable=variable):
                path = gpu.PLACE / name / f"libcupti.so.{name.split('.')[0]}"
                environment = self.environment("12.9" if name == "12.9" else "13.1", "")
                del environment["XSP_LIBRARY_CUPTI"]
                environment[variable] = str(path if variable == "LD_PRELOAD" else path.parent)
                status, _ = self.start((XSP, "run", "-f", "-t", "cuda", "-o", self.out, "--"), "runtime", environment)
                self.assertEqual(status, 0)
                self.assertEqual(self.sql("select count(*) as n from span where category = 'kernel'"), [{"n": 8}], self.said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
