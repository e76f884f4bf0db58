# SPDX-License-Identifier: Apache-2.0
"""What the tests of xsp evaluate on agents share."""
import json
import pathlib
import subprocess
import unittest

from agents import Agent, make_machine
from etcd import Etcd
from scripted import TIMEOUT_S, XSP, temporary_folder
from server import wait_for


class DispatchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.registry = Etcd()
        cls.addClassCleanup(cls.registry.kill)
        parent = temporary_folder()
        cls.addClassCleanup(parent.cleanup)
        cls.folder = pathlib.Path(parent.name)
        make_machine(cls.folder)

    def agents(self, *names, options=(), **more):
        """Registered agents of these names."""
        found = [Agent(self.registry.url, self.folder, *options, name=name, **more) for name in names]
        for agent in found:
            self.addCleanup(agent.kill)
        wait_for(lambda: set(names) <= {key.rsplit("/", 1)[1] for key in self.registry.keys()}, f"the agents {names}")
        return found

    def setUp(self):
        self.addCleanup(self.registry.remove)  # the next test has agents of its own

    def command(self, *arguments, data="set"):
        return [XSP.resolve(), "evaluate", *(() if "net" in str(arguments[:1]) else ("net",)), *map(str, arguments), "--data", data, "--registry", self.registry.url,
                "--json", "-f"]

    def evaluate(self, *arguments, status=0, **more):
        done = subprocess.run(self.command(*arguments, **more), cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def start(self, *arguments, **more):
        process = subprocess.Popen(self.command(*arguments, **more), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    def busy(self):
        return {key.rsplit("/", 1)[1]: json.loads(value)["busy"] for key, value in self.registry.keys().items()}

    def wait_for_busy(self, **wanted):
        wait_for(lambda: self.busy().items() >= wanted.items(), f"the loads {wanted}")
