# SPDX-License-Identifier: Apache-2.0
"""xsp evaluate --registry, where agents are killed and the registry is away."""
import json
import os
import signal
import unittest

from agents import ENVIRONMENT
from dispatch_case import DispatchTest
from scripted import TIMEOUT_S
from server import stopped_child, wait_for


class Faults(DispatchTest):
    def agents_that_stop(self):
        """Two agents by name. Their evaluations stand still from the start: none ends before its agent is killed."""
        return dict(zip(("one", "two"), self.agents("one", "two", environment={**ENVIRONMENT, "XSP_STOP": "evaluate"})))

    def kill(self, agent):
        agent.process.kill()
        agent.process.wait()
        self.registry.remove(agent.about["name"])

    def test_killed_in_the_middle(self):
        """The work moves to another agent, and a note says so."""
        agents = self.agents_that_stop()
        client = self.start("-o", "moved.xsp")
        killed = wait_for(lambda: next((name for name, busy in self.busy().items() if busy), None), "a busy agent")
        stopped_child(agents[killed])
        self.kill(agents.pop(killed))
        (other, agent), = agents.items()
        os.kill(stopped_child(agent), signal.SIGCONT)
        out, errors = client.communicate(timeout=TIMEOUT_S)
        self.assertEqual(client.returncode, 0, errors)
        table = json.loads(out)
        self.assertEqual([(row["agent"], row["inputs"]) for row in table["rows"]], [(other, 12)])
        self.assertTrue(any(f"agent {killed} was lost" in note and f"moved to {other}" in note for note in table["notes"]), table["notes"])

    def test_killed_without_another(self):
        agents = self.agents_that_stop()
        client = self.start("--on", "name=one", "-o", "lost.xsp")
        stopped_child(agents["one"])
        self.kill(agents["one"])
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
        agents = self.agents_that_stop()
        client = self.start("--all", "-o", "all.xsp")
        stopped_child(agents["one"])
        self.kill(agents["one"])
        os.kill(stopped_child(agents["two"]), signal.SIGCONT)
        out, errors = client.communicate(timeout=TIMEOUT_S)
        self.assertEqual(client.returncode, 3)
        self.assertIn("one (http://", errors)
        self.assertEqual([(row["agent"], row["inputs"]) for row in json.loads(out)["rows"]], [("two", 12)])

    def test_no_registry(self):
        self.registry.stop()
        self.addCleanup(self.registry.start)
        self.assertIn("registry", self.evaluate(status=3).stderr)

if __name__ == "__main__":
    unittest.main()
