# SPDX-License-Identifier: Apache-2.0
"""xsp agent with a real etcd: what is registered, and for how long; a registry that goes away, one that others write to."""
import json
import os
import pathlib
import unittest

from agent_case import AgentTest
from agents import ENVIRONMENT, Agent, manifest
from etcd import Etcd
from scripted import xsp, xsp_json
from server import wait_for


class UsersOfTheRegistry(AgentTest):
    """An etcd that asks for a user and a password."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.registry.require_users()

    def test_registered_again_after_its_tokens_have_ended(self):
        environment = {**ENVIRONMENT, "ETCDCTL_USER": "root:secret"}
        self.agent(environment=environment)
        self.wait_for_records("one")
        self.registry.stop()
        self.registry.start()  # it keeps tokens in memory
        listed = lambda: xsp("agent", "--list", "--registry", self.registry.url, "--json", environment=environment, check=0).stdout
        self.wait_for_records("one")
        record = self.registry.keys()["/xsp/agents/one"]
        (self.folder / "models/late.yml").write_text(manifest("late"))
        self.addCleanup((self.folder / "models/late.yml").unlink)
        wait_for(lambda: self.registry.keys()["/xsp/agents/one"] != record, "the new record")
        self.assertEqual([row["model"] for row in json.loads(listed())[1]["rows"]], ["late", "net"])

    def test_a_password_that_was_wrong_for_a_while(self):
        self.agent(ttl=2, environment={**ENVIRONMENT, "ETCDCTL_USER": "root:secret"})
        self.wait_for_records("one")
        self.registry.change_password("other")
        (self.folder / "models/late.yml").write_text(manifest("late"))
        self.addCleanup((self.folder / "models/late.yml").unlink)
        wait_for(lambda: self.registry.keys() == {}, "the end of the lease")
        self.registry.change_password("secret")
        self.wait_for_records("one")

    def test_users_that_come_later(self):
        with Etcd() as registry:
            agent = Agent(registry.url, self.folder, environment={**ENVIRONMENT, "ETCDCTL_USER": "root:secret"})
            self.addCleanup(agent.kill)
            before = wait_for(lambda: registry.keys().get("/xsp/agents/one"), "the record")
            registry.require_users()
            (self.folder / "models/late.yml").write_text(manifest("late"))
            self.addCleanup((self.folder / "models/late.yml").unlink)
            wait_for(lambda: registry.keys().get("/xsp/agents/one", before) != before, "the new record")

    def test_a_user_that_is_not_asked_for(self):
        for user in ("root:secret", ""):
            with Etcd() as registry:
                xsp("agent", "--list", "--registry", registry.url, environment={**ENVIRONMENT, "ETCDCTL_USER": user}, check=0)

    def test_evaluations_are_started_without_the_password(self):
        code = "import os\ndef preprocess(env, data):\n  assert 'ETCDCTL_USER' not in os.environ, os.environ\n  return data\n"
        (self.folder / "models/curious.yml").write_text(manifest("curious", preprocess=code))
        self.addCleanup((self.folder / "models/curious.yml").unlink)
        agent = self.agent(environment={**ENVIRONMENT, "ETCDCTL_USER": "root:secret"})
        job = self.wait_for_state(agent, agent.submit(models=["curious"]), "done", "failed")
        self.assertEqual((job["state"], job["error"]), ("done", None))

    def test_without_or_with_a_wrong_password(self):
        for more, what in (({}, "user name is empty"), ({"ETCDCTL_USER": "root:wrong"}, "authentication failed"), ({"ETCDCTL_USER": "root"}, "authentication failed")):
            done = xsp("agent", "--list", "--registry", self.registry.url, environment={**ENVIRONMENT, **more}, check=3)
            self.assertIn(what, done.stderr.decode())
            self.assertIn("try: ETCDCTL_USER=NAME:PASSWORD", done.stderr.decode())


class Registration(AgentTest):
    def test_what_is_registered(self):
        with self.agent() as agent:
            record = self.wait_for_records("one")["one"]
            self.assertEqual(record, agent.ask("GET", "/system")[2])
            usable = {row["predictor"]: row["version"] for row in json.loads(xsp("check", "--json", environment=ENVIRONMENT, check=0).stdout)
                      if row["usable"] and "predictor" in row}
            self.assertEqual({one["name"]: one["version"] for one in record["frameworks"]}, usable)
            self.assertEqual((record["architecture"], record["cpus"]), (os.uname().machine, len(os.sched_getaffinity(0))))
            self.assertEqual(record["memory_bytes"], os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE"))
            self.assertEqual([(model["name"], model["version"], model["framework"]) for model in record["models"]], [("net", "1.0", "onnxruntime")])
            agents, models = xsp_json("agent", "--list", "--registry", self.registry.url, "--json")
            self.assertEqual([(row["agent"], row["url"], row["models"], row["busy"]) for row in agents["rows"]], [("one", agent.url, 1, 0)])
            self.assertEqual([(row["model"], row["agent"]) for row in models["rows"]], [("net", "one")])

    def test_one_that_stops_is_gone_at_once(self):
        agent = self.agent()
        self.wait_for_records("one")
        self.wait_for_line(agent, "registered one")
        before = len(agent.said())
        status, errors = agent.stop()
        self.assertEqual(status, 0, errors)
        for line in errors.splitlines()[before:]:  # only of a registry that is slow
            self.assertIn("again", line)
        self.assertEqual(self.records(), {})

    def test_one_that_is_killed_is_gone_when_its_lease_ends(self):
        agent = self.agent(ttl=2)
        self.wait_for_records("one")
        agent.process.kill()
        agent.process.wait()
        wait_for(lambda: not self.records(), "the end of the lease")

    def test_a_name_that_is_taken(self):
        first = self.agent()
        self.wait_for_records("one")
        second = self.agent()
        self.wait_for_line(second, "another agent")
        self.assertEqual(self.records()["one"]["url"], first.url)
        first.stop()
        wait_for(lambda: self.records().get("one", {}).get("url") == second.url, "the second agent")

    def test_models_come_and_go(self):
        with self.agent():
            self.wait_for_models("net")
            new = self.folder / "models" / "other.yml"
            self.addCleanup(new.unlink, missing_ok=True)
            new.write_text(manifest("other"))
            self.wait_for_models("net", "other")
            new.write_text(manifest("other", framework={"name": "tensorflow"}))
            self.wait_for_models("net")  # this machine has no TensorFlow
            new.write_text(manifest("other", hardware="memory>=1MiB"))
            self.wait_for_models("net", "other")
            new.write_text(manifest("other", hardware="memory>=1000000GiB"))
            self.wait_for_models("net")
            new.write_text("no: manifest\n")
            self.wait_for_models("net")
            new.write_text(manifest("other", "2.0"))
            self.wait_for_models("net", "other")
            new.unlink()
            self.wait_for_models("net")

    def test_wrong_use(self):
        for options, word in ((("--name", "a/b"), "--name"), (("--address", "ftp://x"), "--address"), (("--listen", "0.0.0.0:0"), "token"),
                              (("--registry", "nonsense"), "--registry"), (("--data", "/nowhere"), "/nowhere"), (("--models", "/nowhere"), "/nowhere")):
            with self.subTest(options):
                result = xsp("agent", "--registry", self.registry.url, *options, check=2, environment={"XDG_STATE_HOME": str(self.folder / "state")})
                self.assertIn(word, result.stderr.decode())
        self.assertIn("registry", xsp("agent", check=2).stderr.decode())


class Registry(AgentTest):
    """A registry that goes away, and one that others write to."""

    def test_away_and_back(self):
        agent = self.agent(ttl=2)
        self.wait_for_line(agent, "registered one")
        for keeps_data in (True, False):
            self.registry.stop()
            before = len(agent.said())
            wait_for(lambda: agent.said()[-1].endswith("trying again\n"), "the loss of the registry")
            self.assertEqual(agent.ask("GET", "/system")[0], 200)  # it goes on
            if not keeps_data:
                for place in pathlib.Path(self.registry.folder.name).glob("*"):
                    place.rename(place.with_name("old"))
            self.registry.start()
            self.wait_for_line(agent, "registered one", after=before)  # not its record: the registry may have kept that one
            self.wait_for_records("one")
        self.assertEqual(agent.stop()[0], 0)

    def test_a_record_that_changes_while_it_is_away(self):
        """And changes back, so that there is nothing to write: the agent asks before it says that the registry is back."""
        agent = self.agent(ttl=600)
        self.wait_for_records("one")
        self.wait_for_line(agent, "registered one")
        self.registry.stop()
        before = len(agent.said())
        for _ in range(2):
            self.wait_for_state(agent, agent.submit(), "done")
        said = agent.said()[before:]
        self.registry.start()
        self.assertEqual(["trying again" in line for line in said], [True], said)
        self.wait_for_line(agent, "registered one", after=before + 1)
        self.assertEqual(agent.stop()[0], 0)

    def test_records_that_are_none(self):
        with self.agent():
            self.wait_for_records("one")
            good = self.registry.keys()["/xsp/agents/one"]
            for name, value in (("a", "nonsense"), ("b", "{}"), ("c", good), ("d", good.replace('"one"', '"../d"')),
                                ("e", good.replace('"one"', '"e"').replace("http://", "http://user@")), ("f", "[" * 200000)):
                self.registry.put(f"/xsp/agents/{name}", value)
            result = xsp("agent", "--list", "--registry", self.registry.url, "--json", check=0)
            self.assertEqual([row["agent"] for row in json.loads(result.stdout)[0]["rows"]], ["one"])
            self.assertEqual(len(result.stderr.splitlines()), 6)

    def test_what_is_no_etcd(self):
        with self.agent() as agent:
            self.assertIn("HTTP status 404", xsp("agent", "--list", "--registry", agent.url, check=3).stderr.decode())

if __name__ == "__main__":
    unittest.main()
