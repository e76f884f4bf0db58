# SPDX-License-Identifier: Apache-2.0
"""xsp run --remote-control: a user of xsp serve switches the levels of a program while it runs."""
import json
import os
import signal
import subprocess
import unittest

import test_run
from otlp_receiver import Answer, Receiver
from published_run import PublishedRun
from scripted import TIMEOUT_S, XSP, xsp, xsp_json
from server import JSON, wait_for
from test_attach import Guest
from test_serve import ServeTest

# A step, with a layer and a library call, again and again until there is something to read; each adds a byte to a file.
PROGRAM = """
import os, select, sys, xsp
steps = open(os.environ["STEPS"], "ab", 0)
def step():
    with xsp.span("step", level="model"):
        with xsp.span("conv", level="layer"):
            with xsp.span("gemm", level="library"):
                pass
while not select.select([sys.stdin], [], [], 0.002)[0]:
    step()
    steps.write(b".")
"""


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an instrumented libxsp.so cannot be preloaded into programs")
class RemoteControl(PublishedRun, ServeTest):
    program = PROGRAM

    def setUp(self):
        super().setUp()
        self.place_runs(self.parent)
        self.steps = self.parent / "steps"
        self.environment["STEPS"] = str(self.steps)

    def jobs(self, server):
        status, _, body = server.ask(None, path="/api/v1/jobs", method="GET")
        self.assertEqual(status, 200, body)
        return json.loads(body)["jobs"]

    def put(self, server, job, levels, headers=None):
        return server.ask(json.dumps({"levels": levels}), {**JSON, **(headers or {})}, path=f"/api/v1/jobs/{job}/levels",
                          method="PUT")

    def some_steps(self):
        """Until three more have ended: two at least began after now."""
        wanted = self.steps.stat().st_size + 3
        wait_for(lambda: self.steps.stat().st_size >= wanted, "steps of the program")

    def switch(self, server, job, levels):
        """Until the program has it."""
        status, _, body = self.put(server, job, levels)
        self.assertEqual((status, json.loads(body)["wanted"]), (200, levels), body)
        wait_for(lambda: [one["levels"] for one in self.jobs(server) if one["id"] == job] == [levels], "levels of the job")

    def sql(self, text):
        return xsp_json("sql", self.output, text, "--json")

    def test_levels_are_switched_while_it_runs(self):
        server = self.server()
        process = self.start(server.about["url"], "--levels", "M/L/Lib", "--remote-control", "M")
        job = wait_for(lambda: self.jobs(server), "a job")[0]
        self.assertEqual((job["levels"], job["possible"], job["wanted"]), ("M", "M/L/Lib", "M"))
        wait_for(self.steps.exists, "the program")
        self.some_steps()
        for levels in ("M/L", "none", "M/L/Lib", "none"):
            self.switch(server, job["id"], levels)
            self.some_steps()
        self.ended(process)
        switches = self.sql("select l.time_ns, l.message from log l join span s using (run_id, span_id)"
                            " where s.level = 'application' order by 1")
        self.assertEqual([row["message"] for row in switches],
                         [f"levels on: {levels}" for levels in ("M", "M/L", "none", "M/L/Lib", "none")])
        # A level's spans are in the times in which it was on; one may begin while it is switched.
        ends = [row["time_ns"] for row in switches] + [2 ** 63]
        for name, on in (("step", [0, 1, 3]), ("conv", [1, 3]), ("gemm", [3])):
            times = [row["start_ns"] for row in self.sql(f"select start_ns from span where name = '{name}'")]
            counts = [sum(first <= time < last for time in times) for first, last in zip(ends, ends[1:])]
            for period, count in enumerate(counts):
                self.assertGreater(count, 1) if period in on else self.assertLessEqual(count, 1)

    def test_a_process_that_runs_already(self):
        server = self.server()
        guest = Guest()
        self.addCleanup(lambda: guest.process.stdin.closed or guest.ends())
        process = subprocess.Popen([XSP, "run", "-q", "--pid", str(guest.pid), "-o", self.output, "--publish",
                                    server.about["url"], "--remote-control", "none"], env=self.environment,
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        job = wait_for(lambda: self.jobs(server), "a job")[0]["id"]
        guest.does("sss")
        self.switch(server, job, "L")
        levels = test_run.What.switch_word(process.pid)
        wait_for(lambda: levels() != 0, "levels of the process")
        guest.does("ss")
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=TIMEOUT_S)[1].decode()
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(self.sql("select count(*) as n from span where name = 'span'"), [{"n": 2}])

    def test_only_a_job_that_allows_it_is_one(self):
        server = self.server()
        process = self.start(server.about["url"])
        self.ended(process)
        self.assertEqual(self.jobs(server), [])
        self.assertEqual(self.put(server, "0" * 32, "M")[0], 404)

    def test_what_may_be_switched(self):
        server = self.server()
        process = self.start(server.about["url"], "--levels", "M/L", "--remote-control", "none")
        job = wait_for(lambda: self.jobs(server), "a job")[0]["id"]
        for levels in ("M/L/K", "L/M", "M+metrics", "", 7, None):
            self.assertEqual(self.put(server, job, levels)[0], 400, levels)
        self.assertEqual(self.put(server, "nobody", "M")[0], 404)
        for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
            self.assertEqual(self.put(server, job, "M", headers)[0], 403)
        self.assertEqual([one["wanted"] for one in self.jobs(server)], ["none"])
        self.ended(process)
        self.assertEqual(self.sql("select count(*) as n from span where level <> 'application'"), [{"n": 0}])
        wait_for(lambda: not self.jobs(server), "the end of the job")

    def test_a_token_is_needed_by_both(self):
        token = self.parent / "token"
        token.write_text("abc")
        server = self.server("--token-file", token)
        process = self.start(server.about["url"], "--publish-token-file", token, "--remote-control", "M")
        bearer = {"Authorization": "Bearer abc"}

        def jobs():
            return json.loads(server.ask(None, bearer, path="/api/v1/jobs", method="GET")[2])["jobs"]
        job = wait_for(jobs, "a job")[0]["id"]
        self.assertEqual(self.put(server, job, "M/L")[0], 401)
        self.assertEqual(self.put(server, job, "M/L", bearer)[0], 200)
        self.ended(process)

    def test_another_server_has_no_say(self):
        """One that is not an xsp serve, or answers with what was not offered: the levels stay."""
        for answer in (Answer(404), Answer(body=b'{"wanted":"M/L/Lib/K"}', content_type="application/json"),
                       Answer(body=b"{}", content_type="application/json"), Answer(body=b"<", content_type="text/html")):
            with Receiver(usual=lambda body, answer=answer: answer if body.startswith(b'{"name"') else Answer()) as receiver:
                process = self.start(receiver.url, "--force", "--levels", "M/L", "--remote-control", "M")
                wait_for(lambda: receiver.seen, "a report")
                self.ended(process)
            allowed = {"step", "conv"} if b"wanted" in (answer.body or b"") else {"step"}
            found = {row["name"] for row in self.sql("select distinct name from span where level <> 'application'")}
            self.assertEqual(found - allowed, set())

    def test_wrong_use(self):
        url = "http://127.0.0.1:1"
        for options, word in ((["--remote-control", "M"], "--publish"),
                              (["--publish", url, "--remote-control", "X"], "not levels"),
                              (["--publish", url, "--levels", "M", "--remote-control", "M/L"], "not levels"),
                              (["--publish", url, "--leveled", "--remote-control", "M"], "one execution"),
                              (["--publish", url, "--runs", "2", "--remote-control", "M"], "one execution"),
                              (["--publish", url, "--capture-range", "x", "--remote-control", "M"], "--capture-range"),
                              (["--publish", url + "/other", "--remote-control", "M"], "xsp serve")):
            result = xsp("run", *options, "-o", self.output, "--", "true", environment=self.environment, check=125)
            self.assertIn(word, result.stderr.decode())


if __name__ == "__main__":
    unittest.main()
