# SPDX-License-Identifier: Apache-2.0
"""The queue of an agent outlives it: what the next one goes on with, what it leaves out, and a disk that is full."""
import json
import os
import pathlib
import resource
import signal
import unittest

from agent_case import AgentTest
from agents import manifest
from scripted import temporary_folder, xsp
from server import wait_for


class Restart(AgentTest):
    def setUp(self):
        parent = temporary_folder()
        self.addCleanup(parent.cleanup)
        self.state = pathlib.Path(parent.name) / "made" / "state"

    def agent(self, *options, **more):
        return super().agent("--state", self.state, *options, **more)

    def names(self):
        return sorted(path.name for path in self.state.iterdir() if not path.name.startswith("."))

    def record(self, number):
        return json.loads((self.state / f"{number}.evaluation").read_text())

    def end(self, agent, how):
        agent.process.send_signal(how)
        agent.process.wait()

    def test_what_waits_runs_and_what_is_done_stays(self):
        for how in (signal.SIGKILL, signal.SIGTERM):
            with self.subTest(how):
                agent = self.agent()
                done = agent.submit(limit=3)
                result = self.wait_for_state(agent, done, "done")["result"]
                running = agent.submit("many.csv")
                waiting = [agent.submit(limit=limit) for limit in (5, 7)]
                cancelled = agent.submit()
                self.assertEqual(agent.ask("DELETE", f"/evaluations/{cancelled}")[0], 204)
                self.wait_for_state(agent, running, "running")
                self.end(agent, how)
                agent = self.agent()
                self.assertEqual(agent.look(done)["result"], result)
                self.assertEqual(agent.ask("GET", f"/evaluations/{done}/file")[0], 200)
                self.assertEqual(agent.look(cancelled)["state"], "cancelled")
                self.wait_for_state(agent, running, "running")
                self.assertEqual([(job["id"], job["place"]) for job in agent.ask("GET", "/evaluations")[2]["evaluations"]],
                                 [(done, None), (running, None), (waiting[0], 1), (waiting[1], 2), (cancelled, None)])
                self.assertEqual(agent.ask("DELETE", f"/evaluations/{running}")[0], 204)
                inputs = [self.wait_for_state(agent, number, "done")["result"]["rows"][0]["inputs"] for number in waiting]
                self.assertEqual(inputs, [5, 7])
                self.wait_for_state(agent, running, "cancelled")
                for number in (done, running, cancelled, *waiting):
                    self.assertEqual(agent.ask("DELETE", f"/evaluations/{number}")[0], 204)
                self.assertEqual(self.names(), [])
                self.assertEqual(agent.stop()[0], 0)

    def test_one_that_is_cancelled_does_not_run_again(self):
        agent = self.agent()
        running = agent.submit("many.csv")
        self.wait_for_state(agent, running, "running")
        self.assertEqual(agent.ask("DELETE", f"/evaluations/{running}")[0], 204)
        self.end(agent, signal.SIGKILL)  # maybe before its process has ended
        self.assertEqual(self.agent().look(running)["state"], "cancelled")

    def test_one_that_runs_at_each_kill_ends(self):
        agent = self.agent()
        number = agent.submit("many.csv")
        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):  # an ordinary end does not count
            self.wait_for_state(agent, number, "running")
            self.end(agent, how)
            agent = self.agent()
        job = agent.look(number)
        self.assertEqual(job["state"], "failed")
        self.assertIn("3 times", job["error"])
        self.assertEqual(self.record(number)["state"], "failed")

    def test_permissions_are_those_of_now(self):
        (self.folder / "token").write_text("secret\n")
        (self.folder / "users").write_text("ann token-of-ann\nbob token-of-bob\n")
        (self.folder / "models" / "late.yml").write_text(manifest("late"))
        options = ("--token-file", self.folder / "token", "--users", self.folder / "users")
        agent = self.agent(*options)
        agent.token = "secret"
        agent.submit("many.csv")
        agent.token = "token-of-ann"
        of_ann = [agent.submit(), agent.submit(models=["late"])]
        agent.token = "token-of-bob"
        of_bob = agent.submit()
        self.end(agent, signal.SIGKILL)
        (self.folder / "models" / "late.yml").unlink()
        (self.folder / "users").write_text("ann token-of-ann\n")
        agent = self.agent(*options, "--jobs", "2")
        agent.token = "secret"
        self.assertEqual(self.wait_for_state(agent, of_ann[0], "done", "failed")["state"], "done")
        self.assertIn("late", self.wait_for_state(agent, of_ann[1], "failed")["error"])
        self.assertIn("bob", self.wait_for_state(agent, of_bob, "failed")["error"])
        agent.token = "token-of-ann"
        self.assertEqual([job["id"] for job in agent.ask("GET", "/evaluations")[2]["evaluations"]], of_ann)

    def test_what_is_no_record_is_left_out_and_leftovers_are_removed(self):
        self.state.mkdir(parents=True)
        for name in ("a" * 32 + ".evaluation", "b" * 32 + ".evaluation", "c" * 32 + ".evaluation.1.partial", "notes.txt", "e" * 31):
            (self.state / name).write_text("")
        (self.state / ("b" * 32 + ".evaluation")).write_text('{"version": 2}')
        (self.state / ("d" * 32)).mkdir()
        (self.state / ("d" * 32) / "table.json").write_text("[]")
        agent = self.agent()
        self.assertEqual(agent.ask("GET", "/evaluations")[2]["evaluations"], [])
        self.assertEqual(self.names(), ["a" * 32 + ".evaluation", "b" * 32 + ".evaluation", "e" * 31, "notes.txt"])
        # Beside that it may report that a slow registry is away.
        self.assertEqual(len([line for line in agent.said() if ".evaluation: " in line and "left out" in line]), 2)

    def test_a_full_disk(self):
        agent = self.agent()
        limit = resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
        status, headers, reply = agent.ask("POST", "/evaluations", {"models": ["net"], "data": "set"})
        self.assertEqual((status, headers["Retry-After"]), (503, "10"))
        self.assertIn(str(self.state), reply["error"]["message"])
        self.assertEqual(self.names(), [])
        resource.prlimit(agent.process.pid, resource.RLIMIT_FSIZE, limit)
        self.wait_for_state(agent, agent.submit(), "done")

    def test_folders_that_cannot_be_used(self):
        command = ("agent", "--registry", self.registry.url, "--models", self.folder / "models")
        agent = self.agent()
        self.assertIn("another xsp agent", xsp(*command, "--state", self.state, check=3).stderr.decode())
        agent.stop()
        (self.folder / "file").write_text("")
        self.assertIn("Not a directory", xsp(*command, "--state", self.folder / "file" / "state", check=3).stderr.decode())
        self.state.chmod(0o777)
        self.assertIn("other users", xsp(*command, "--state", self.state, check=3).stderr.decode())
        self.assertIn("HOME is not set", xsp(*command, check=3, environment={"HOME": "", "XDG_STATE_HOME": ""}).stderr.decode())
        if os.geteuid() != 0:  # root may write everywhere
            self.state.chmod(0o500)
            self.assertIn("Permission denied", xsp(*command, "--state", self.state, check=3).stderr.decode())


if __name__ == "__main__":
    unittest.main()
