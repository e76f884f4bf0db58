# SPDX-License-Identifier: Apache-2.0
"""xsp evaluate --registry, where agents are killed and the registry is away."""
import json
import pathlib
import unittest

from dispatch_case import DispatchTest
from scripted import TIMEOUT_S
from server import wait_for


class Faults(DispatchTest):
    def kill_the_busy_one(self, agents):
        name = wait_for(lambda: next((name for name, busy in self.busy().items() if busy), None), "a busy agent")
        by_name = {agent.about["name"]: agent for agent in agents}
        wait_for(lambda: pathlib.Path(f"/proc/{by_name[name].process.pid}/task/{by_name[name].process.pid}/children").exists(), "its process")
        by_name[name].process.kill()
        by_name[name].process.wait()
        return name

    def test_killed_in_the_middle(self):
        """The work moves to another agent, and a note says so."""
        agents = self.agents("one", "two")
        client = self.start("--limit", 15000, "-o", "moved.xsp", data="many.csv")
        killed = self.kill_the_busy_one(agents)
        out, errors = client.communicate(timeout=TIMEOUT_S)
        self.assertEqual(client.returncode, 0, errors)
        table = json.loads(out)
        other, = {"one", "two"} - {killed}
        self.assertEqual([(row["agent"], row["inputs"]) for row in table["rows"]], [(other, 15000)])
        self.assertTrue(any(f"agent {killed} was lost" in note and f"moved to {other}" in note for note in table["notes"]), table["notes"])

    def test_killed_without_another(self):
        agents = self.agents("one", "two")
        client = self.start("--on", "name=one", "-o", "lost.xsp", data="many.csv")
        self.kill_the_busy_one(agents)
        out, errors = client.communicate(timeout=TIMEOUT_S)
        self.assertEqual((client.returncode, out), (3, ""))
        self.assertIn("one (http://", errors)
        self.assertEqual(list(self.folder.glob("lost*")), [])

    def test_killed_before(self):
        """Its record is there until its lease ends."""
        agents = self.agents("one", "two")
        agents[0].process.kill()
        agents[0].process.wait()
        for _ in range(2):
            self.assertEqual(json.loads(self.evaluate().stdout)["rows"][0]["agent"], "two")

    def test_one_of_all_is_killed(self):
        agents = self.agents("one", "two")
        client = self.start("--all", "--limit", 15000, "-o", "all.xsp", data="many.csv")
        self.wait_for_busy(one=1, two=1)
        agents[0].process.kill()
        out, errors = client.communicate(timeout=TIMEOUT_S)
        self.assertEqual(client.returncode, 3)
        self.assertIn("one (http://", errors)
        self.assertEqual([(row["agent"], row["inputs"]) for row in json.loads(out)["rows"]], [("two", 15000)])

    def test_no_registry(self):
        self.registry.stop()
        self.addCleanup(self.registry.start)
        self.assertIn("registry", self.evaluate(status=3).stderr)

if __name__ == "__main__":
    unittest.main()
