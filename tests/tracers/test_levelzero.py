# SPDX-License-Identifier: Apache-2.0
"""The tracer of Level Zero between a program and a simulated driver, below the real loader: what the devices did is there
exactly once, with the devices' times, and the program sees what it sees without xsp."""
import collections
import ctypes
import json
import os
import re
import subprocess
import unittest

import monitor_client
from device_runs import BUILD, TIMEOUT, UNSANITIZED, XSP, DeviceTest

TRACERS, PLACE = BUILD / "tracers", BUILD / "test-programs" / "levelzero"
WORKLOAD, DRIVER = PLACE / "levelzero_workload", PLACE / "simulated_levelzero.so"
CYCLE_NS = 1e9 / 19.2e6  # of the simulated devices

Execution = collections.namedtuple("Execution", "category name grid block bytes device queue")


@unittest.skipIf(not WORKLOAD.exists(), "built without Level Zero's headers and loader (make setup)")
class LevelZeroTest(DeviceTest):
    tracer = "levelzero"
    hidden = ("ZE_",)

    def environment(self, **more):
        return {**self.plain_environment(), "ZE_ENABLE_ALT_DRIVERS": str(DRIVER), "XSP_SIM_TRUTH": str(self.truth), **more}

    def start(self, command, mode, environment):
        """Whatever the program does wrong in the driver's eyes is an error."""
        result = self.run_program([*command, WORKLOAD, mode], environment)
        self.assertNotIn("VIOLATION", self.said)
        return result

    def loading(self, tracer, options):
        """The door is preloaded, and brings libxsp.so."""
        return {"XSP_TRACERS": f"@{tracer}{options}", "ZE_ENABLE_TRACING_LAYER": "1",
                "LD_PRELOAD": f"{self.runtime()}:{TRACERS / 'frameworks.so'}"}

    def traced(self, mode, options="", **more):
        """Then self.done is what the devices did."""
        plain = self.trace(mode, self.environment(**more), options)
        self.done = self.truth_rows()
        return plain

    @staticmethod
    def runtime():
        listed = subprocess.run(["ldd", WORKLOAD], stdout=subprocess.PIPE, timeout=TIMEOUT).stdout.decode()
        return next(iter(re.findall(r"=> (\S*lib(?:a|t|ub)san\S*)", listed)), "")

    def executions(self):
        """With start and end, in ns of CLOCK_REALTIME."""
        tag = "(select value from tag g where g.run_id = s.run_id and g.span_id = s.span_id and g.key = '{}') as {}"
        tags = ", ".join(tag.format(key, f"{key}_") for key in ("grid", "block", "bytes"))
        rows = self.sql(f"select s.category, s.name, s.start_ns, s.end_ns, t.device_id, t.stream_id, {tags} from span s join "
                        "track t using (run_id, track_id) where s.kind = 'execution' and category != 'sync'")
        return [(Execution(row["category"], row["name"] if row["category"] == "kernel" else "", row["grid_"], row["block_"],
                           None if row["bytes_"] is None else int(row["bytes_"]), row["device_id"], row["stream_id"]),
                 row["start_ns"], row["end_ns"]) for row in rows]

    @staticmethod
    def execution_of(row):
        is_kernel = row["kind"] == "kernel"
        grid, block = (json.dumps(row[key], separators=(",", ":")) if is_kernel else None for key in ("grid", "block"))
        return Execution(row["kind"], row["name"], grid, block, None if is_kernel else row["bytes"], row["device"], row["queue"])

    def check(self, mode, has_queues=True, **more):
        """All that the devices did was recorded, when they did it. Queues that threads make together have any numbers."""
        plain = self.traced(mode, **more)
        found, wanted = self.executions(), [(self.execution_of(row), row["start"], row["end"]) for row in self.done]
        if not has_queues:
            found, wanted = ([(what._replace(queue=0), *times) for what, *times in rows] for rows in (found, wanted))
        self.assertEqual(collections.Counter(e for e, *_ in found), collections.Counter(e for e, *_ in wanted))
        self.check_device_times(found, wanted)
        return plain

    def check_device_times(self, found, wanted):
        """As long to a cycle and the stated error of the clock at either end, and at the same time as far as the clocks can be
        compared: to 5 ms and that error, where a wrap of the kernels' clock would be 224 s."""
        key = lambda row: (str(row[0]), row[1])
        error_ns = CYCLE_NS + 1000 * max((float(us) for us in re.findall(r"known to \+-([\d.]+) us", self.said)), default=0)
        for (what, start, end), (_, wanted_start, wanted_end) in zip(sorted(found, key=key), sorted(wanted, key=key)):
            length = wanted_end - wanted_start
            self.assertAlmostEqual(end - start, length, delta=2 * error_ns + 2, msg=what)
            self.assertAlmostEqual(start, wanted_start, delta=5e6 + error_ns, msg=what)


class CommandsTest(LevelZeroTest):
    def test_ordered_lists_with_and_without_events(self):
        self.check("ordered")
        calls = self.sql("select name, kind, count(*) as n from span where category = 'api' group by 1, 2 order by 1")
        self.assertIn({"name": "zeCommandListAppendLaunchKernel", "kind": "launch", "n": 8}, calls)

    def test_executions_have_launches(self):
        """By correlation, each after its launch began."""
        self.check("ordered")
        rows = self.sql("select count(*) as n from span l join span e on l.run_id = e.run_id and l.correlation_id = "
                        "e.correlation_id where l.kind = 'launch' and e.kind = 'execution' and e.start_ns >= l.start_ns - 5000000")
        self.assertEqual(rows, [{"n": 8}])

    def test_unordered_lists_stay_unordered(self):
        """The long kernel still runs when the last one is done, and they are on lanes of one queue."""
        self.check("unordered")
        lanes = self.sql("select distinct t.name from span s join track t using (run_id, track_id) where s.category = 'kernel'")
        self.assertEqual({lane["name"] for lane in lanes} - {"Simulated GPU A queue 1"}, {"Simulated GPU A queue 1 lane 2",
                                                                                        "Simulated GPU A queue 1 lane 3"})

    def test_nothing_waits_that_did_not(self):
        self.check("interlocked")

    def test_events_of_the_program_with_times(self):
        self.check("times")

    def test_copies(self):
        self.check("copies")
        rows = self.sql("select name, count(*) as n from span where kind = 'execution' group by 1 order by 1")
        self.assertEqual({row["name"]: row["n"] for row in rows}, {"Barrier": 2, "Memcpy HtoD": 2, "Memcpy DtoH": 2, "Memset": 2})

    def test_lists_executed_again_and_again(self):
        self.check("lists")
        self.check_order("first_100", "second_200")
        launches = self.sql("select count(*) as n from span where name = 'zeCommandQueueExecuteCommandLists' and kind = 'launch'")
        self.assertEqual(launches, [{"n": 6}])
        per_launch = self.sql("select count(*) as n from span where kind = 'execution' group by correlation_id order by 1")
        self.assertEqual([row["n"] for row in per_launch], [1, 4, 4, 4, 4, 4])

    def test_lists_in_flight_many_times(self):
        """Of 80 runs 64 are followed; the others, two kernels and two barriers each, are counted."""
        self.traced("pipelined")
        self.check_order("first_10000", "second_1000")
        rows = self.sql("select name, count(*) as n from span where kind = 'execution' group by 1 order by 1")
        self.assertEqual({row["name"]: row["n"] for row in rows}, {"Barrier": 128, "first_10000": 64, "gated_100": 1, "second_1000": 64})
        self.assertEqual(self.said_count("commands were more than can be followed"), 64)
        self.check_device_times(self.executions(), [(self.execution_of(row), row["start"], row["end"]) for row in self.done
                                             if row["name"] == "gated_100" or row in self.first_runs(64)])

    def check_order(self, first, second):
        """In each run the second kernel waits for the first: with xsp, too."""
        ends, starts = ([row[key] for row in self.done if row["name"] == name and row["grid"][0] == grid]
                        for key, name, grid in (("end", first, 1), ("start", second, 2)))
        self.assertEqual(len(ends), len(starts))
        self.assertTrue(all(end <= start for end, start in zip(ends, starts)), (ends, starts))

    def first_runs(self, count):
        return [row for name in ("first_10000", "second_1000")
                for row in [row for row in self.done if row["name"] == name][:count]]

    def test_lists_that_go_at_once(self):
        self.check("hasty")

    def test_large_lists(self):
        self.check("large")

    def test_events_that_the_device_resets(self):
        """What was in the event may be gone when it is read: such commands are counted, not guessed."""
        self.traced("resets")
        self.assertEqual(self.executions(), [])
        self.assertEqual(self.said_count("commands whose event the program used again"), 4)

    def test_events_that_xsp_has_not_seen_made(self):
        self.traced("foreign")
        self.assertEqual(self.executions(), [])
        self.assertEqual(self.said_count("commands with events of another process or an extension"), 1)

    def test_events_with_counters(self):
        self.check("counters")

    def test_a_tracer_that_is_switched_off_and_on(self):
        """What was launched while it was on is recorded, whenever it runs."""
        self.traced("switched")
        self.assertEqual([what.name for what, *_ in sorted(self.executions(), key=lambda row: row[1])], ["first_100", "third_100"])

    def test_many_threads(self):
        self.check("threads", has_queues=False)

    def test_many_launches_before_a_wait(self):
        self.check("many")

    def test_objects_that_come_and_go(self):
        self.check("contexts")

    def test_a_program_that_polls(self):
        self.check("polls")

    def test_the_wrap_of_the_kernels_clock(self):
        self.check("late")

    def test_calls_that_fail(self):
        self.check("errors")
        rows = self.sql("select name, value from span join tag using (run_id, span_id) where key = 'error' order by 1, 2")
        invalid, memory, kind = 0x78000004, 0x70000003, 0x78000019
        self.assertEqual([(row["name"], int(row["value"])) for row in rows],
                         [("zeCommandListAppendLaunchKernel", invalid)] * 2 + [("zeCommandListAppendLaunchKernel", kind)] +
                         [("zeCommandQueueExecuteCommandLists", memory)])

    def test_memory(self):
        self.traced("memory")
        tag = "(select value from tag g where g.run_id = s.run_id and g.span_id = s.span_id and g.key = '{}')"
        rows = self.sql(f"select name, {tag.format('bytes')} as bytes, {tag.format('memory_kind')} as kind, "
                        f"{tag.format('total_bytes')} as total from span s where category = 'memory' order by start_ns")
        self.assertEqual([(row["name"], row["bytes"], row["kind"], row["total"]) for row in rows],
                         [("allocate", 1000, "Device", 1000), ("allocate", 500, "Device", 1500), ("allocate", 300, "Host", None),
                          ("allocate", 200, "Shared", None), ("free", 1000, "Device", 500), ("free", 500, "Device", 0),
                          ("free", 300, "Host", None), ("free", 200, "Shared", None)])


class EndsTest(LevelZeroTest):
    def test_an_exit_without_waiting(self):
        self.assertEqual(self.check("leave"), (7, "left\n"))
        self.assertEqual(len(self.done), 2)

    def test_an_exit_that_may_not_wait(self):
        self.assertEqual(self.traced("leave", options=":exit_wait_ms=0"), (7, "left\n"))
        self.assertEqual(self.said_count("commands or lists had not ended at exit"), 2)

    def test_an_abrupt_exit(self):
        self.assertEqual(self.traced("abrupt"), (8, "left\n"))
        self.assertEqual(self.sql("select count(*) as n from span where kind = 'launch'"), [{"n": 2}])

    def test_an_abrupt_exit_after_a_wait(self):
        self.assertEqual(self.check("waited"), (9, ""))
        self.assertEqual(len(self.done), 1)

    def test_a_fork(self):
        self.check("fork")


@UNSANITIZED
class RunTest(LevelZeroTest):
    def test_a_program_that_looks_functions_up(self):
        """As runtimes do that load the loader themselves."""
        program = ("import ctypes; ze = ctypes.CDLL('libze_loader.so.1'); assert ze.zeInit(0) == 0; n = ctypes.c_uint32(0); "
                   "assert ze.zeDriverGet(ctypes.byref(n), None) == 0 and n.value == 1; print('found')")
        done = subprocess.run([XSP, "run", "-f", "-t", "levelzero", "-o", self.out, "--", os.environ["XSP_PYTHON"], "-c", program],
                              env=self.environment(XSP_DEBUG="launch"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=TIMEOUT)
        self.assertEqual((done.returncode, done.stdout), (0, b"found\n"), done.stderr)

    def test_events_for_a_client_in_the_process(self):
        """A begin and an end for each call that is a span: launches, copies, waits."""
        client = monitor_client.made_in(self.folder)
        self.start((XSP, "run", "-f", "-t", f"levelzero,{client}", "-o", self.out, "--"), "ordered", self.environment())
        counted = collections.Counter(monitor_client.calls(self.said, "levelzero"))
        calls = self.sql("select name, count(*) as n from span where category = 'api' group by name")
        self.assertEqual(counted, {row["name"]: row["n"] for row in calls})
        self.assertEqual(counted["zeCommandListAppendLaunchKernel"], 8)

    def test_a_process_without_the_door(self):
        """As models of `xsp profile`: it runs as ever, and the trace says what is missing."""
        environment = self.environment()
        plain = self.start((), "ordered", environment)
        session = {"XSP_SESSION": str(self.folder / "session"), "XSP_TRACERS": str(TRACERS / "levelzero.so"),
                   "LD_PRELOAD": str(BUILD / "libxsp.so")}
        self.assertEqual(self.start((), "ordered", {**environment, **session}), plain)
        done = subprocess.run([XSP, "recover", self.folder / "session", "-o", self.out], stderr=subprocess.PIPE, timeout=TIMEOUT)
        self.assertIn(b"levelzero: records programs of `xsp run` only", done.stderr)

    def test_levels_without_kernels(self):
        """Nothing of the tracer is in the process."""
        environment = self.environment()
        plain = self.start((), "ordered", environment)
        command = (XSP, "run", "-f", "--levels", "M", "-t", "levelzero", "-o", self.out, "--")
        self.assertEqual(self.start(command, "ordered", environment), plain)
        self.assertEqual(self.sql("select count(*) as n from span where tracer = 'levelzero'"), [{"n": 0}])

    def test_a_tracing_layer_that_is_switched_off(self):
        """Newer loaders let a tool switch it on."""
        if hasattr(ctypes.CDLL("libze_loader.so.1"), "zelEnableTracingLayer"):
            self.check("ordered", ZE_ENABLE_TRACING_LAYER="0")
            return
        self.traced("ordered", ZE_ENABLE_TRACING_LAYER="0")
        self.assertEqual(self.executions(), [])
        self.assertRegex(self.said, "levelzero: kernels are not recorded: .*ZE_ENABLE_TRACING_LAYER")

    def check_probe(self, *options, **environment):
        done = subprocess.run([XSP, "check", "levelzero", "--json", *options], env=self.environment(**environment),
                              stdout=subprocess.PIPE, timeout=TIMEOUT)
        return [row for row in json.loads(done.stdout) if row.get("tracer") == "levelzero"][0]

    def test_check(self):
        found = self.check_probe()
        self.assertTrue(found["usable"], found)
        self.assertRegex(found["version"], r"loader \d+\.\d+\.\d+, tracing layer \d+.*2 devices: Simulated GPU A, Simulated GPU B")

    def test_check_without_a_driver(self):
        found = self.check_probe(ZE_ENABLE_ALT_DRIVERS="/nowhere.so")
        self.assertFalse(found["usable"], found)
        self.assertIn("no device", found["reason"])

    def test_check_of_another_loader(self):
        found = self.check_probe("--library", "levelzero=/nowhere.so")
        self.assertFalse(found["usable"], found)
        self.assertIn("/nowhere.so", found["reason"])


if __name__ == "__main__":
    unittest.main()
