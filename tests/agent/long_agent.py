# SPDX-License-Identifier: Apache-2.0
"""Agents where faults last: a registry that is away for half a minute, an agent that hangs."""
import json
import os
import signal
import time
import unittest

from agent_case import AgentTest
from dispatch_case import DispatchTest
from scripted import TIMEOUT_S
from server import wait_for


class Away(AgentTest):
    def test_for_half_a_minute(self):
        """Evaluations go on, and are taken; nothing is lost."""
        agent = self.agent()
        self.wait_for_records("one")
        number = agent.submit("many.csv", limit=100000)
        self.wait_for_state(agent, number, "running")
        self.registry.stop()
        end = time.monotonic() + 30
        while time.monotonic() < end:
            job = self.wait_for_state(agent, agent.submit(), "queued", "running", "done")
            self.assertIn(job["state"], ("queued", "running", "done"))
            time.sleep(5)
        self.registry.start()
        self.wait_for_records("one")
        job = self.wait_for_state(agent, number, "done", "failed")
        self.assertEqual(job["result"]["rows"][0]["inputs"], 100000)
        status, errors = agent.stop()
        self.assertEqual((status, [word for word in ("trying again", "again") if errors.count(word) == 0]), (0, []))
        self.assertEqual(len(errors.splitlines()), 3, errors)


class Hung(DispatchTest):
    def test_its_work_moves(self):
        agents = {agent.about["name"]: agent for agent in self.agents("one", "two", ttl=2)}
        client = self.start("--limit", 15000, "-o", "moved.xsp", data="many.csv")
        hung = wait_for(lambda: next((name for name, busy in self.busy().items() if busy), None), "a busy agent")
        os.kill(agents[hung].process.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, agents[hung].process.pid, signal.SIGCONT)
        out, errors = client.communicate(timeout=TIMEOUT_S)
        self.assertEqual(client.returncode, 0, errors)
        table = json.loads(out)
        self.assertNotEqual(table["rows"][0]["agent"], hung)
        self.assertTrue(any(f"agent {hung} was lost" in note for note in table["notes"]), table["notes"])


if __name__ == "__main__":
    unittest.main()
