# SPDX-License-Identifier: Apache-2.0
"""The OpenCL tracer in real programs on a real driver: launches and executions, clocks, exits, and unchanged
behaviour of the program. Skipped without an OpenCL platform (Debian: apt-get install pocl-opencl-icd)."""
import collections
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

import device_runs
import monitor_client
import own_session

BUILD = pathlib.Path(os.environ["XSP_BUILD"]).resolve()
XSP, LAYER = BUILD / "xsp", BUILD / "tracers" / "opencl.so"
FAKE = BUILD / "test-programs" / "test-opencl-fake"
GUEST = BUILD / "test-programs" / "test-opencl"
SANITIZED = bool(os.environ.get("XSP_SANITIZE"))
TIMEOUT = 600


def why_not():
    if not GUEST.exists():
        return "built without OpenCL's headers or library (apt-get install opencl-c-headers ocl-icd-opencl-dev)"
    found = subprocess.run([GUEST, "devices"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=TIMEOUT,
                           env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    return None if found.returncode == 0 else "no OpenCL platform (apt-get install pocl-opencl-icd)"


WHY_NOT = why_not()


class TracedTest(unittest.TestCase):
    """Runs a program with the layer and reads its spans."""

    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory(prefix="xsp-opencl-cache-")

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="xsp-opencl-")
        self.folder = pathlib.Path(self.temporary.name)
        self.session, self.out = self.folder / "session", self.folder / "out.xsp"

    def tearDown(self):
        self.temporary.cleanup()

    def environment(self, **more):
        plain = {key: value for key, value in os.environ.items() if not key.startswith(("XSP_SESSION", "OPENCL_LAYERS"))}
        return {**plain, "POCL_CACHE_DIR": self.kept.name, "ASAN_OPTIONS": "detect_leaks=0", **more}

    def run_guest(self, arguments, environment, command=()):
        command = [device_runs.patient(word, "opencl") for word in command]
        done = subprocess.run([*command, GUEST, *arguments], env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def plain(self, *arguments):
        return self.run_guest(arguments, self.environment())[:2]

    def traced(self, *arguments, options="", guest=GUEST, **more):
        """Status and output of the scenario; what it left is in self.out, what the tracer said in self.said."""
        environment = self.environment(XSP_TRACERS=device_runs.patient(f"{LAYER}{options}", "opencl"), OPENCL_LAYERS=str(LAYER), **more)
        done, self.reported = own_session.record((guest, *arguments), self.session, self.out, environment)
        self.assertRegex(self.reported, r"\b0 dropped, 0 overwritten, 0 torn")
        return done.returncode, done.stdout

    def sql(self, query):
        done = subprocess.run([XSP, "sql", self.out, query, "--json"], check=True, timeout=TIMEOUT,
                              stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def one(self, query):
        return list(self.sql(query)[0].values())[0]

    def clock_error_ns(self):
        """A whole number: a time since 1970 in a double is right to 256 ns only. It was printed to 10 ns."""
        errors = re.findall(r"clock of device .* known to \+-([0-9]+)\.([0-9]{2}) us", self.reported)
        return max((int(us + hundredths) * 10 + 5 for us, hundredths in errors), default=0)

    def check_all(self, launches=None, executions=None):
        """What holds in every trace."""
        counts = {row["kind"]: row["n"] for row in self.sql(
            "select kind, count(*) as n from span where level = 'kernel' group by 1")}
        if launches is not None:
            self.assertEqual(counts.get("launch", 0), launches)
        if executions is not None:
            self.assertEqual(counts.get("execution", 0), executions)
        self.assertEqual(self.sql("select level, count(*) as n from span where level <> 'kernel' group by 1"), [])
        self.assertEqual(self.sql(
            "select e.span_id from span e left join span l on l.run_id = e.run_id and l.kind = 'launch' "
            "and l.correlation_id = e.correlation_id where e.kind = 'execution' group by e.span_id "
            "having count(l.span_id) <> 1"), [], "every execution has one launch")
        self.assertEqual(self.sql("select correlation_id from span where kind = 'execution' group by 1 "
                                  "having count(*) > 1"), [], "a command is executed once")
        self.assertEqual(self.sql("select distinct basis from span where kind = 'execution'"),
                         [{"basis": "correlation"}] if counts.get("execution") else [])
        self.assertEqual(self.sql("select distinct category from span where kind <> 'execution'"), [{"category": "api"}])
        self.assertEqual(self.sql("select name from span where kind = 'execution' and category not in "
                                  "('kernel', 'memcpy', 'memset', 'sync', 'other')"), [])
        self.assertEqual(self.sql(
            "select name, before, start_ns from (select s.name, s.start_ns, max(s.end_ns) over (partition by s.track_id "
            "order by s.start_ns, s.end_ns rows between unbounded preceding and 1 preceding) as before from span s "
            "where s.kind = 'execution') where before > start_ns limit 5"), [], "executions overlap on one track")
        if counts.get("execution"):
            least = self.one("select min(e.start_ns - l.start_ns) from span e join span l using (run_id, correlation_id) "
                             "where e.kind = 'execution' and l.kind = 'launch'")
            self.assertGreaterEqual(least, -self.clock_error_ns(), "a command ran before it was enqueued")
            self.assertEqual(self.sql("select t.track_id from span s join track t using (run_id, track_id) where "
                                      "s.kind = 'execution' and (t.device_id is null or t.stream_id is null or "
                                      "t.name not like '% queue %' or t.thread_id is not null)"), [])
            self.assertEqual(self.sql("select t.track_id from span s join track t using (run_id, track_id) where "
                                      "s.kind <> 'execution' and t.thread_id is null"), [])
        return counts


@unittest.skipIf(WHY_NOT, WHY_NOT)
class DriverTest(TracedTest):
    """On the driver of the machine."""

    def test_every_kind_of_command(self):
        self.assertEqual(self.traced("commands"), self.plain("commands"))
        counts = self.check_all()
        failed = self.sql("select s.name, t.value from span s join tag t using (run_id, span_id) where t.key = 'error' "
                          "order by s.span_id")
        self.assertEqual([row["name"] for row in failed],
                         ["clEnqueueReadBuffer", "clEnqueueReadBuffer", "clEnqueueFillBuffer"])
        self.assertTrue(all(row["value"] < 0 for row in failed))
        self.assertEqual(counts["launch"], counts["execution"] + len(failed))
        found = {(row["name"], row["category"]) for row in self.sql("select name, category from span "
                                                                    "where kind = 'execution'")}
        self.assertLessEqual({("write buffer", "memcpy"), ("copy buffer rect", "memcpy"), ("fill buffer", "memset"),
                              ("map buffer", "memcpy"), ("unmap", "memcpy"), ("migrate", "memcpy"),
                              ("read image", "memcpy"), ("fill image", "memset"), ("map image", "memcpy"),
                              ("busy", "kernel"), ("marker", "sync"), ("barrier", "sync")}, found)
        host = {row["name"] for row in self.sql("select name from span where kind = 'sync'")}
        self.assertLessEqual({"clFinish", "clWaitForEvents", "clFlush", "clBuildProgram", "clEnqueueBarrier"}, host)

        def tags(name):
            return {(row["key"], row["value"]) for row in self.sql(
                f"select t.key, t.value from tag t join span s using (run_id, span_id) where s.name = '{name}' "
                "and s.kind = 'execution' and t.key <> 'recorded_correlation'")}
        self.assertEqual(tags("write buffer"), {("bytes", 4096), ("copy_kind", "HtoD")})
        self.assertEqual(tags("read buffer rect"), {("bytes", 256), ("copy_kind", "DtoH")})
        self.assertEqual(tags("copy image"), {("bytes", 256), ("copy_kind", "DtoD"), ("region", "[8,8,1]")})
        self.assertLessEqual({("grid", "[16,8,1]"), ("block", "[4,2,1]"), ("grid", "[1,1,1]")}, tags("busy"))
        self.assertEqual({row["value"] for row in self.sql("select value from tag where key = 'kernel'")}, {"busy"})

    def test_queries_are_answered_as_without_it(self):
        plain = self.plain("queries")
        self.assertIn("times -7 -7 -7 -7", plain[1])
        self.assertIn("times 0 0 0 0", plain[1])
        self.assertEqual(self.traced("queries"), plain)
        self.check_all(14, 14)

    def test_queues_of_four_threads(self):
        self.assertEqual(self.traced("own-queues"), self.plain("own-queues"))
        self.check_all(32, 32)
        tracks = self.sql("select t.stream_id, t.device_id, count(*) as n from span s join track t using (run_id, track_id) "
                          "where s.kind = 'execution' group by 1, 2 order by 1")
        self.assertEqual([(row["stream_id"], row["device_id"], row["n"]) for row in tracks],
                         [(1, 0, 8), (2, 0, 8), (3, 0, 8), (4, 0, 8)])
        self.assertEqual(self.one("select count(distinct track_id) from span where kind = 'launch'"), 4)
        if os.cpu_count() > 1:
            self.assertGreater(self.overlaps(), 0, "four queues never ran side by side")

    def overlaps(self):
        return self.one("select count(*) from span a join span b on a.run_id = b.run_id and a.span_id < b.span_id and "
                        "a.start_ns < b.end_ns and b.start_ns < a.end_ns where a.kind = 'execution' and "
                        "b.kind = 'execution'")

    def test_one_queue_out_of_order(self):
        self.assertEqual(self.traced("out-of-order"), self.plain("out-of-order"))
        self.check_all(32, 32)
        lanes = self.sql("select distinct t.name, t.stream_id from span s join track t using (run_id, track_id) "
                         "where s.kind = 'execution' order by length(t.name), t.name")
        self.assertEqual({row["stream_id"] for row in lanes}, {1})
        if self.overlaps() > 0:
            self.assertGreater(len(lanes), 1)
            self.assertTrue(lanes[1]["name"].endswith(" queue 1 lane 2"), lanes)

    def test_a_hundred_thousand_launches(self):
        self.assertEqual(self.traced("many", "100000"), (0, ""))
        self.check_all(100000, 100000)
        self.assertEqual(self.one("select count(distinct track_id) from span where kind = 'execution'"), 1)
        finish = self.one("select max(end_ns) from span where name = 'clFinish'")
        self.assertLessEqual(self.one("select max(end_ns) from span where kind = 'execution'"),
                             finish + self.clock_error_ns())

    def test_an_exit_without_waiting(self):
        self.assertEqual(self.traced("leave", "3", options=":exit_wait_ms=60000"), (7, ""))
        self.check_all(3, 3)

    def test_an_exit_whose_commands_never_end(self):
        self.assertEqual(self.traced("never", options=":exit_wait_ms=100"), (0, ""))
        self.check_all(1, 0)
        self.assertIn("1 commands had not finished", self.reported)

    def test_an_abrupt_exit(self):
        self.assertEqual(self.traced("leave-at-once", "3"), (8, ""))
        self.check_all(launches=3)

    def test_a_killed_program(self):
        self.assertEqual(self.traced("die", "3"), (-signal.SIGKILL, ""))
        self.check_all(launches=3)

    def test_a_program_that_aborts_in_a_callback(self):
        self.assertEqual(self.traced("abort-in-callback"), (-signal.SIGABRT, ""))
        self.check_all(launches=1)

    def test_an_exit_of_another_thread(self):
        self.assertEqual(self.traced("thread-exits"), (9, ""))
        self.check_all(8, 8)

    def test_names_of_any_length(self):
        self.assertEqual(self.traced("names"), self.plain("names"))
        self.check_all(9, 9)
        names = self.sql("select name, count(*) as n from span where category = 'kernel' group by 1 order by 1")
        self.assertEqual([(row["name"], row["n"]) for row in names], [("k" * 200, 3), ("m" * 100, 3), ("s", 3)])

    def test_everything_made_and_released(self):
        self.assertEqual(self.traced("storm", options=":exit_wait_ms=60000"), (0, ""))
        counts = self.check_all(launches=4 * 60 * 7)
        self.assertEqual(counts["execution"], counts["launch"])

    def test_forks(self):
        self.assertEqual(self.traced("forks"), self.plain("forks"))
        self.check_all(24, 24)

    def test_a_forked_worker_that_exits_without_waiting(self):
        self.assertEqual(self.traced("forked-worker", options=":exit_wait_ms=60000"), (0, "child 6\n"))
        self.check_all(3, 3)

    def test_user_events_and_callbacks_that_enqueue(self):
        for serialize in ("0", "1"):
            with self.subTest(serialize=serialize):
                self.assertEqual(self.traced("user-event", XSP_SERIALIZE=serialize), (0, "both ran\n"))
                self.check_all(2, 2)

    def test_one_after_the_other(self):
        for scenario in ("own-queues", "out-of-order"):
            with self.subTest(scenario=scenario):
                self.assertEqual(self.traced(scenario, XSP_SERIALIZE="1"), (0, ""))
                self.check_all(32, 32)
                self.assertEqual(self.overlaps(), 0)
                self.assertEqual(self.sql(  # none is launched while another is under way
                    "select l.span_id from span l join span e on e.kind = 'execution' and l.kind = 'launch' and "
                    "l.correlation_id <> e.correlation_id and l.start_ns between e.start_ns and e.end_ns limit 3"), [])

    @unittest.skipIf(SANITIZED, "the sanitizer's runtime must be preloaded before libxsp.so")
    def test_a_serialised_set_waits_at_each_launch(self):
        """Also where kernels are not recorded: layers must not end before their kernels."""
        for levels, ended, launches in (("M@serial", 8, 0), ("M/K@serial", 8, 8), ("M", None, 0)):
            with self.subTest(levels):
                status, output, messages = self.run_guest(
                    ["at-return"], self.environment(),
                    [XSP, "run", "-q", "-f", "-t", "opencl", "--levels", levels, "-o", self.out, "--"])
                self.assertEqual(status, 0, messages)
                if ended is not None:
                    self.assertEqual(output, f"{ended} of 8 had ended\n")
                self.assertEqual(self.one("select count(*) from span where kind = 'launch'"), launches)
                self.assertEqual(self.one("select levels from run"), levels)

    def test_serialised_queries_are_answered_as_ever(self):
        self.assertEqual(self.traced("queries", XSP_SERIALIZE="1"), self.plain("queries"))

    @unittest.skipIf(SANITIZED, "the sanitizer's runtime must be preloaded before libxsp.so")
    def test_without_the_kernel_level(self):
        status, output, messages = self.run_guest(
            ["queries"], self.environment(), [XSP, "run", "-q", "-t", "opencl", "--levels", "M", "-o", self.out, "--"])
        self.assertEqual((status, output), self.plain("queries"), messages)
        self.assertEqual(self.one("select count(*) from span where level = 'kernel'"), 0)

    @unittest.skipIf(SANITIZED, "the sanitizer's runtime must be preloaded before libxsp.so")
    def test_through_xsp_run(self):
        status, output, messages = self.run_guest(
            ["commands"], self.environment(), [XSP, "run", "-q", "-t", "opencl", "-o", self.out, "--"])
        self.assertEqual((status, output), self.plain("commands"), messages)
        self.assertGreater(self.one("select count(*) from span where kind = 'execution' and category = 'kernel'"), 2)

    @unittest.skipIf(SANITIZED, "the sanitizer's runtime must be preloaded before libxsp.so")
    def test_events_for_a_client_in_the_process(self):
        """A begin and an end for each launch that is a span."""
        client = monitor_client.made_in(self.folder)
        status, output, messages = self.run_guest(
            ["commands"], self.environment(), [XSP, "run", "-q", "-t", f"opencl,{client}", "-o", self.out, "--"])
        self.assertEqual((status, output), self.plain("commands")[:2], messages)
        counted = collections.Counter(monitor_client.calls(messages, "opencl"))
        launched = self.sql("select name, count(*) as n from span where kind = 'launch' group by name")
        self.assertEqual(counted, {row["name"]: row["n"] for row in launched})
        self.assertIn("clEnqueueNDRangeKernel", counted)

    def test_check_says_what_there_is(self):
        done = subprocess.run([XSP, "check", "opencl", "--json"], env=self.environment(), timeout=TIMEOUT,
                              stdout=subprocess.PIPE)
        found = [row for row in json.loads(done.stdout) if row.get("tracer") == "opencl"]
        self.assertEqual(len(found), 1, done.stdout)
        self.assertTrue(found[0]["usable"], found)
        self.assertIn("libOpenCL", found[0]["library"])
        self.assertRegex(found[0]["version"], r"OpenCL \d.* \d+ device")

    def test_check_says_what_is_missing(self):
        with tempfile.TemporaryDirectory() as nothing:
            for environment, options, status, reason, advice in (
                    ({"OCL_ICD_VENDORS": nothing}, [], 1, "no platform", "OCL_ICD_VENDORS"),
                    ({"XSP_LIBRARY_OPENCL": f"{nothing}/no.so"}, [], 3, "no.so", "XSP_LIBRARY_OPENCL"),
                    ({}, ["--library", f"opencl={nothing}/no.so"], 3, "no.so", "XSP_LIBRARY_OPENCL")):
                done = subprocess.run([XSP, "check", "opencl", "--json", *options], env=self.environment(**environment),
                                      timeout=TIMEOUT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertEqual(done.returncode, status, done.stderr)
                found = [row for row in json.loads(done.stdout) if row.get("tracer") == "opencl"][0]
                self.assertFalse(found["usable"], found)
                self.assertIn(reason, found["reason"])
                self.assertIn(advice, found["advice"])


@unittest.skipUnless(FAKE.exists(), "built without OpenCL's headers")
class FakeDriverTest(TracedTest):
    """On a fake driver with faults on demand; it runs each command inside the call."""

    def fake(self, scenario):
        status, output = self.traced(str(LAYER), scenario, guest=FAKE)
        self.assertEqual(status, 0)
        return output

    def test_names_are_never_cut(self):
        self.fake("names")
        self.check_all(5, 5)
        self.assertEqual([row["n"] for row in self.sql("select length(name) as n from span where kind = 'execution' "
                                                       "order by start_ns")], [1, 64, 65, 1001, 60000])

    def check_clock(self):
        """How well a clock is known depends on how long calls take; device_clock_test.c has the accuracy."""
        self.check_all()
        error = self.clock_error_ns()
        self.assertGreater(error, 0)
        outside = self.sql(
            f"select e.start_ns - l.start_ns as late, l.end_ns - e.end_ns as early from span e join span l using (run_id, "
            f"correlation_id) where e.kind = 'execution' and l.kind = 'launch' and (e.start_ns < l.start_ns - {error} or "
            f"e.end_ns > l.end_ns + {error}) limit 5")
        self.assertEqual(outside, [], "an execution is outside the call that ran it by more than the clock's error")
        off = self.sql("select e.duration_ns as ns, count(*) over () as n from span e where e.kind = 'execution' "
                       "order by 1")
        self.assertAlmostEqual(off[len(off) // 2]["ns"], 20000, delta=1500)

    def test_a_clock_of_its_own(self):
        self.fake("clock-off")
        self.check_clock()

    def test_a_clock_that_can_be_asked(self):
        self.assertEqual(self.fake("clock-timer"), "timer asked\n")
        self.check_clock()

    def test_a_clock_of_which_little_is_known(self):
        self.fake("clock-bare")
        self.check_clock()

    def test_a_clock_that_steps(self):
        self.fake("clock-steps")
        self.check_all(200, 200)
        self.assertGreater(self.clock_error_ns(), 3e9)  # it says so

    def test_what_fails_is_counted(self):
        self.assertEqual(self.fake("failures").split("\n"),
                         ["error -5", "times -7", "switched 0 from 0", "times 0", "switched 0 from 2", "times -7",
                          "0 events, 1 queues left", ""])
        self.check_all(7, 3)
        for reason in ("failed", "without times", "could not"):
            self.assertIn(f"1 commands {reason}", self.reported)
        self.assertEqual(self.one("select value from tag where key = 'error'"), -5)

    def test_a_queue_that_cannot_have_times(self):
        self.assertEqual(self.fake("refused"), "a queue, 0 events left\n")
        self.check_all(1, 0)
        self.assertIn("1 commands without times", self.reported)

    def test_a_queue_that_was_not_seen_made(self):
        self.assertEqual(self.fake("unseen"), "0 events left\n")
        self.check_all(2, 1)
        self.assertIn("1 commands without times", self.reported)

    def test_more_queues_than_tracks(self):
        self.assertEqual(self.fake("many-queues"), "0 events, 0 queues left\n")
        self.check_all(3000, 3000)
        self.assertLess(self.one("select count(distinct track_id) from span"), 1200)

    def test_more_shapes_than_sites(self):
        self.fake("shapes")
        self.check_all(200, 200)
        shapes = self.sql("select g.value as grid, b.value as block, count(*) as n from span s join tag g using (run_id, "
                          "span_id) join tag b using (run_id, span_id) where g.key = 'grid' and b.key = 'block' group by 1, 2")
        self.assertEqual({(row["grid"], row["block"], row["n"]) for row in shapes},
                         {(f"[{i},7,1]", f"[1,{i},1]", 2) for i in range(1, 101)})

    @unittest.skipIf(SANITIZED, "libxsp.so is not preloaded there")
    def test_recording_is_switched_while_the_program_runs(self):
        self.assertEqual(self.fake("switched"), "0 events\n" * 5)
        self.check_all(20, 20)
        self.assertEqual(self.sql("select distinct name from span where kind = 'execution'"), [{"name": "on"}])

    def test_drivers_that_lack_functions(self):
        for scenario in ("no-callbacks", "short-table"):
            self.assertEqual(self.fake(scenario), "0, 0 events left\n")
            self.check_all(1, 0)
            self.assertIn("1 commands could not", self.reported)


if __name__ == "__main__":
    unittest.main(verbosity=2)
