# SPDX-License-Identifier: Apache-2.0
"""Whose turn it is in an agent's queue, how many may wait, and how long one may run."""
import json
import os
import pathlib
import unittest

from agent_case import AgentTest
from agents import ENVIRONMENT, manifest
from scripted import xsp
from server import wait_for


class Queue(AgentTest):
    TOKENS = {"owner": "secret", "ann": "token-of-ann", "bob": "token-of-bob", "carol": "token-of-carol"}

    def setUp(self):
        (self.folder / "token").write_text("secret\n")
        (self.folder / "users").write_text("".join(f"{name} {token}\n" for name, token in self.TOKENS.items() if name != "owner"))

    def serve(self, *options, **more):
        return self.agent("--token-file", self.folder / "token", "--users", self.folder / "users", *options, **more)

    def submit(self, agent, who, data="set", **more):
        agent.token = self.TOKENS[who]
        status, headers, reply = agent.ask("POST", "/evaluations", {"models": ["net"], **({"data": data} if data else {}), **more})
        return (reply["id"], reply["place"]) if status == 202 else (status, headers["Retry-After"], reply["error"]["message"])

    def seen(self, agent, who="owner"):
        """All that wait, as {id: place}."""
        agent.token = self.TOKENS[who]
        return {job["id"]: job["place"] for job in agent.ask("GET", "/evaluations")[2]["evaluations"] if job["state"] == "queued"}

    def start_long(self, agent, who):
        number, _ = self.submit(agent, who, "many.csv")
        self.wait_for_state(agent, number, "running")
        return number

    @staticmethod
    def processes(number):
        """Those whose folder is that of the evaluation, or below it."""
        found = []
        for place in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if f"/{number}" in os.readlink(place / "cwd"):
                    found.append(place.name)
            except OSError:  # it has ended
                pass
        return found

    def test_users_take_turns(self):
        agent = self.serve()
        running = self.start_long(agent, "ann")
        of_ann = [self.submit(agent, "ann") for _ in range(3)]
        of_bob = [self.submit(agent, "bob") for _ in range(2)]
        of_owner = [self.submit(agent, "owner")]
        self.assertEqual([place for _, place in of_ann], [1, 2, 3])
        # ann was served, bob and the owner were not
        order = [of_bob[0], of_owner[0], of_ann[0], of_bob[1], of_ann[1], of_ann[2]]
        places = {number: place + 1 for place, (number, _) in enumerate(order)}
        self.assertEqual(self.seen(agent), places)
        self.assertEqual(self.seen(agent, "bob"), {number: places[number] for number, _ in of_bob})
        self.assertEqual([of_bob[0][1], of_owner[0][1]], [1, 2])
        agent.token = self.TOKENS["owner"]
        self.assertEqual(agent.ask("DELETE", f"/evaluations/{of_bob[0][0]}")[0], 204)  # its next one is first
        order = [of_bob[1], of_owner[0], *of_ann]
        self.assertEqual(self.seen(agent), {number: place + 1 for place, (number, _) in enumerate(order)})
        agent.ask("DELETE", f"/evaluations/{running}")
        for number in self.seen(agent):
            self.assertEqual(self.wait_for_state(agent, number, "done", "failed")["state"], "done")

    def test_how_many_may_wait(self):
        agent = self.serve("--queue", "5", "--queue-each", "2")
        self.start_long(agent, "owner")
        for who in ("ann", "bob"):
            for _ in range(2):
                self.assertEqual(len(self.submit(agent, who)), 2)
            status, after, why = self.submit(agent, who)
            self.assertEqual((status, after), (429, "10"))
            self.assertIn("2 of your evaluations wait", why)
        number, place = self.submit(agent, "carol")
        self.assertEqual(place, 3)  # a first one of each
        status, after, why = self.submit(agent, "owner")
        self.assertEqual((status, after), (503, "10"))
        self.assertIn("5 evaluations wait", why)
        self.assertEqual(agent.ask("DELETE", f"/evaluations/{number}")[0], 204)
        self.assertEqual(len(self.submit(agent, "owner")), 2)

    def test_an_agent_that_is_full_for_the_user_is_passed_over(self):
        (self.folder / "token-of-ann").write_text(self.TOKENS["ann"])
        full, other = self.serve("--queue-each", "1"), self.serve("--jobs", "2", name="two")
        self.start_long(full, "ann")
        self.submit(full, "ann")
        self.start_long(other, "bob")
        wait_for(lambda: [(record := self.records().get(name)) and record["busy"] for name in ("one", "two")] == [2, 1], "the loads")
        self.registry.put("/xsp/agents/idle", json.dumps({**self.records()["one"], "name": "idle", "busy": 0}))  # so it is asked first
        done = xsp("evaluate", "net", "--data", "set", "--registry", self.registry.url, "--token-file", self.folder / "token-of-ann", "-q", "-f",
                   "-o", self.folder / "over.xsp", environment={**ENVIRONMENT, "XSP_DEBUG": "agent"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"idle, 0 busy", done.stderr)

    def test_one_that_takes_too_long(self):
        agent = self.serve("--time-limit", "1")
        number, _ = self.submit(agent, "ann", "many.csv")
        other, _ = self.submit(agent, "bob", "many.csv")
        profile, _ = self.submit(agent, "carol", None, verb="profile", runs=1000000)
        for one, who in ((number, "ann"), (profile, "carol"), (other, "bob")):
            agent.token = self.TOKENS[who]
            job = self.wait_for_state(agent, one, "failed", "done", "cancelled")
            self.assertEqual(job["state"], "failed")
            self.assertIn("longer than 1 s", job["error"])
            self.assertIn("cannot measure: ", job["error"])
            self.assertIn("; try: fewer inputs or runs", job["error"])
        self.assertEqual(agent.ask("GET", f"/evaluations/{other}/file")[0], 409)
        wait_for(lambda: not self.processes(other), "the end of all its processes")

    def test_one_that_hangs(self):
        """Its code does not return, whatever signal xsp evaluate gets."""
        code = ("import signal, time\ndef preprocess(env, data):\n  signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                "  while True:\n    time.sleep(1000)\n")
        (self.folder / "models/hangs.yml").write_text(manifest("hangs", preprocess=code))
        self.addCleanup((self.folder / "models/hangs.yml").unlink)
        agent = self.serve("--time-limit", "2")
        number, _ = self.submit(agent, "ann", models=["hangs"])
        self.assertIn("longer than 2 s", self.wait_for_state(agent, number, "failed", "done", "cancelled")["error"])
        wait_for(lambda: not self.processes(number), "the end of all its processes")


if __name__ == "__main__":
    unittest.main()
