# SPDX-License-Identifier: Apache-2.0
"""What the tests of agents share: a registry, a machine with a model and pictures, waits."""
import json
import pathlib
import unittest

from agents import Agent, make_machine
from etcd import Etcd
from scripted import temporary_folder
from server import wait_for


class AgentTest(unittest.TestCase):
    """One registry and one folder for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.registry = Etcd()
        cls.addClassCleanup(cls.registry.kill)
        parent = temporary_folder()
        cls.addClassCleanup(parent.cleanup)
        cls.folder = pathlib.Path(parent.name)
        make_machine(cls.folder)

    def agent(self, *options, **more):
        self.addCleanup(self.registry.remove)  # the record of one that was killed
        agent = Agent(self.registry.url, self.folder, *options, **more)
        self.addCleanup(agent.kill)
        return agent

    def records(self):
        return {key.removeprefix("/xsp/agents/"): json.loads(value) for key, value in self.registry.keys().items()}

    def wait_for_records(self, *names):
        return wait_for(lambda: (found := self.records()) is not None and set(found) == set(names) and (found or [None]),
                        f"the records {names}")

    def wait_for_line(self, agent, words, after=0):
        """Waits for a line of the agent's stderr with these words, not among the first `after` ones. A slow registry adds others."""
        wait_for(lambda: any(words in line for line in agent.said()[after:]), f"a line of the agent with {words}")

    def wait_for_models(self, *names):
        wait_for(lambda: [model["file"] for model in self.records().get("one", {"models": []})["models"]] == list(names), f"the models {names}")

    def wait_for_state(self, agent, number, *states):
        return wait_for(lambda: (job := agent.look(number))["state"] in states and job, f"one of {states}")
