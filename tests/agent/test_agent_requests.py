# SPDX-License-Identifier: Apache-2.0
"""What xsp agent answers to whom: evaluations, their queue and their end; models; requests that are refused."""
import http.client
import json
import os
import pathlib
import signal
import subprocess
import unittest

import jsonschema

from agent_case import AgentTest
from agents import ENVIRONMENT, manifest
from openapi_schema import openapi_schema
from scripted import TIMEOUT_S, xsp, xsp_json
from server import state_of, wait_for


class Evaluations(AgentTest):
    def test_figures_are_those_of_the_verb(self):
        with self.agent() as agent:
            number = agent.submit(batch=3, levels="M/L", items=True, warmup=2, device="cpu", tracer=["itt"], **{"call-paths": "none"})
            job = self.wait_for_state(agent, number, "done", "failed")
            self.assertEqual((job["state"], job["error"], job["progress"], job["place"]), ("done", None, None, None))
            here = json.loads(xsp("evaluate", self.folder / "models/net.yml", "--data", self.folder / "data/set", "--batch", "3", "--items", "--json",
                                  "-q", "-f", "-o", self.folder / "here.xsp", check=0, environment=ENVIRONMENT).stdout)
            self.assertEqual(job["result"][1]["rows"], here[1]["rows"])
            self.assertEqual([job["result"][0]["rows"][0][key] for key in ("top1_pct", "inputs")], [here[0]["rows"][0][key] for key in ("top1_pct", "inputs")])
            status, _, trace = agent.ask("GET", f"/evaluations/{number}/file")
            self.assertEqual(status, 200)
            (self.folder / "there.xsp").write_bytes(trace)
            rows = xsp_json("sql", self.folder / "there.xsp", "select levels, (select count(*) from observation) as n from run", "--json")
            self.assertEqual(rows, [{"levels": "M/L", "n": 6}])
            self.assertEqual(agent.ask("DELETE", f"/evaluations/{number}")[0], 204)
            self.assertEqual(agent.ask("GET", f"/evaluations/{number}")[0], 404)

    def test_one_that_fails(self):
        with self.agent() as agent:
            job = self.wait_for_state(agent, agent.submit(batch=5000), "failed")
            self.assertIn("5000", job["error"])
            self.assertEqual(agent.ask("GET", f"/evaluations/{job['id']}/file")[0], 409)

    def test_cancel_and_queue(self):
        with self.agent() as agent:
            running, waiting = agent.submit("many.csv"), agent.submit("many.csv")
            self.wait_for_state(agent, running, "running")
            self.assertEqual((agent.look(waiting)["state"], agent.look(waiting)["place"]), ("queued", 1))
            wait_for(lambda: self.records().get("one", {}).get("busy") == 2, "the registered load")
            while True:  # until it is full
                status, headers, reply = agent.ask("POST", "/evaluations", {"models": ["net"], "data": "set"})
                if status != 202:
                    break
            self.assertEqual((status, headers["Retry-After"]), (429, "10"))
            self.assertIn("64", reply["error"]["message"])
            for number in (waiting, running):
                self.assertEqual(agent.ask("DELETE", f"/evaluations/{number}")[0], 204)
            self.wait_for_state(agent, waiting, "cancelled")
            self.wait_for_state(agent, running, "cancelled")
            self.assertEqual(agent.stop()[0], 0)

    def children(self, agent):
        """Processes that run evaluations of this agent."""
        found = []
        for place in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if (place / "stat").read_text().rsplit(") ", 1)[1].split()[1] == str(agent.process.pid):
                    found.append(int(place.name))
            except (FileNotFoundError, ProcessLookupError):
                pass
        return found

    def test_evaluations_end_with_the_agent(self):
        for how in (signal.SIGKILL, signal.SIGTERM):
            agent = self.agent(name=f"end-{how}")
            self.wait_for_state(agent, agent.submit("many.csv"), "running")
            child, = wait_for(lambda: self.children(agent), "the process")
            agent.process.send_signal(how)
            agent.process.wait()
            wait_for(lambda: state_of(child) in (None, "Z"), "its end")


class Tls(AgentTest):
    def test_evaluations_by_tls(self):
        certificate, key = self.folder / "cert.pem", self.folder / "key.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True, timeout=TIMEOUT_S)
        agent = self.agent("--tls-cert", certificate, "--tls-key", key)
        self.assertTrue(agent.url.startswith("https://127.0.0.1:"))
        self.wait_for_models("net")
        command = ("evaluate", "net", "--data", "set", "--registry", self.registry.url, "-q", "-f", "-o", self.folder / "tls.xsp")
        self.assertIn("certificate", xsp(*command, check=3, environment=ENVIRONMENT).stderr.decode())
        xsp(*command, check=0, environment={**ENVIRONMENT, "SSL_CERT_FILE": str(certificate)})
        for address, why in (("http://127.0.0.1:1", "without TLS"), ("127.0.0.1", "is not an address")):
            done = xsp("agent", "--registry", self.registry.url, "--tls-cert", certificate, "--tls-key", key, "--address", address, check=2)
            self.assertIn(why, done.stderr.decode())
        self.assertIn("both --tls-cert", xsp("agent", "--registry", self.registry.url, "--tls-cert", certificate, check=2).stderr.decode())


class Requests(AgentTest):
    """Who may ask, and what is refused."""

    def setUp(self):
        (self.folder / "token").write_text("secret\n")
        self.agent_of_all = self.agent("--token-file", self.folder / "token")
        self.agent_of_all.token = "secret"

    def refused(self, status, method, path, body=None, headers=None):
        found, _, reply = self.agent_of_all.ask(method, path, body, headers)
        self.assertEqual((found, reply["error"]["status"]), (status, status), reply)
        return reply["error"]["message"]

    def test_tokens_and_other_sites(self):
        for authorization in ("", "Bearer wrong", "Bearer secretsecret", "Bearer", "Basic c2VjcmV0"):
            for method, path in (("POST", "/evaluations"), ("GET", "/models"), ("PUT", "/models/a"), ("GET", "/system"), ("DELETE", "/models/net")):
                self.refused(401, method, path, {} if method in ("POST", "PUT") else None, {"Authorization": authorization})
        self.refused(403, "GET", "/system", headers={"Origin": "http://evil.example"})
        self.refused(403, "POST", "/evaluations", {}, {"Sec-Fetch-Site": "cross-site"})
        with self.agent(name="open") as without:
            self.assertEqual(without.ask("GET", "/system", headers={"Host": "evil.example"})[0], 403)
            for method in ("PUT", "DELETE"):
                self.assertEqual(without.ask(method, "/models/net", "x")[0], 403)

    def test_evaluations_that_are_none(self):
        good = {"models": ["net"], "data": "set"}
        self.assertEqual(self.agent_of_all.ask("POST", "/evaluations", good)[0], 202)
        for change in ({"models": []}, {"models": "net"}, {"models": [1]}, {"models": ["net"] * 65}, {"data": 1}, {"data": ""}, {"batch": "4"}, {"batch": "1,2"}, {"batch": -1},
                       {"items": 1}, {"levels": 1}, {"publish": "env"}, {"publish": "file:///etc/passwd"}, {"output": "/etc/passwd"}, {"scenario": "server"}, {"scenario": []},
                       {"scenario": [1]}, {"qps": "1"}, {"qps": None}, {"duration": True}, {"levels": "M\n"},
                       {"tracer": "itt"}, {"tracer": ["/tmp/evil.so"]}, {"tracer": ["functions:file=x"]}):
            with self.subTest(change):
                self.refused(400, "POST", "/evaluations", {**good, **change})
        for text in ("", "{", "[]", "null", "[" * 100000, '{"models": ["net"], "data": "set"} x'):
            self.refused(400, "POST", "/evaluations", text)
        for change in ({"models": ["other"]}, {"models": ["net==2.0"]}, {"models": ["net>=x"]}, {"framework": "tensorflow"}, {"data": "none"}, {"data": "."},
                       {"data": ".."}, {"data": "../models"}, {"data": "set/../../models"}, {"data": "/etc"}, {"data": "link"}, {"models": ["../models/net"]},
                       {"models": ["--help"]}):
            with self.subTest(change):
                link = self.folder / "data" / "link"
                if not link.is_symlink():
                    link.symlink_to(self.folder / "models")
                self.refused(404, "POST", "/evaluations", {**good, **change})
        self.refused(413, "POST", "/evaluations", "x" * (300 << 10))

    def test_paths(self):
        for path in ("/evaluations/none", "/evaluations/" + "0" * 32, "/evaluations/..%2f..", "/evaluations/%2e%2e/file", "/index.html", "/evaluations/a/b/c"):
            self.refused(404, "GET", path)
        self.refused(405, "DELETE", "/system")
        self.refused(400, "GET", "/system?a=b")

    def test_models_are_published_and_removed(self):
        agent = self.agent_of_all
        self.wait_for_models("net")
        self.assertEqual(agent.ask("PUT", "/models/new-1.2", manifest("fresh"))[0], 204)
        self.addCleanup((self.folder / "models" / "new-1.2.yml").unlink, missing_ok=True)
        self.wait_for_models("net", "new-1.2")
        job = self.wait_for_state(agent, agent.submit(models=["fresh==1.0"]), "done", "failed")
        self.assertEqual(job["result"]["rows"][0]["model"], "fresh")
        self.assertEqual(agent.ask("DELETE", "/models/new-1.2")[0], 204)
        self.wait_for_models("net")
        self.refused(404, "DELETE", "/models/new-1.2")
        for name in ("..%2fdata%2fx", ".hidden", "-x", "a%2fb", "a%00", "%2e%2e"):
            self.assertIn(agent.ask("PUT", f"/models/{name}", manifest())[0], (400, 404))
        self.assertIn("tensorflow", self.refused(400, "PUT", "/models/a", manifest(framework={"name": "tensorflow"})))
        self.refused(400, "PUT", "/models/a", "nonsense: [")
        self.assertIn("this machine misses memory>=1000TiB", self.refused(400, "PUT", "/models/a", manifest(hardware="memory>=1000TiB")))
        for text in ("", b"\0", "\n", "# nothing"):
            with self.subTest(text):
                self.refused(400, "PUT", "/models/a", text)
        self.assertEqual(sorted(os.listdir(self.folder / "models")), ["net.onnx", "net.yml"])

    def test_the_description(self):
        agent = self.agent_of_all
        text = agent.ask("GET", "/openapi.json")[2]
        jsonschema.validate(text, openapi_schema(), cls=jsonschema.Draft202012Validator)

        def check(schema, value):
            jsonschema.validate(value, {**text, "$ref": f"#/components/schemas/{schema}"}, cls=jsonschema.Draft202012Validator)
        check("System", agent.ask("GET", "/system")[2])
        check("Models", agent.ask("GET", "/models")[2])
        check("DataSets", agent.ask("GET", "/data")[2])
        status, _, job = agent.ask("POST", "/evaluations", {"models": ["net"], "data": "set"})
        self.assertEqual(status, 202)
        check("Job", job)
        check("Evaluations", agent.ask("GET", "/evaluations")[2])
        for state in (("queued", "running", "done"), ("done",)):
            check("Evaluation", self.wait_for_state(agent, job["id"], *state))
        check("Error", agent.ask("GET", "/nothing")[2])

    def test_a_broken_request_ends_nothing(self):
        connection = http.client.HTTPConnection(self.agent_of_all.url.removeprefix("http://"), timeout=600)
        connection.putrequest("POST", "/evaluations")
        connection.putheader("Authorization", "Bearer secret")
        connection.putheader("Content-Length", "100")
        connection.endheaders(b"{")
        connection.close()
        self.assertEqual(self.agent_of_all.ask("GET", "/system")[0], 200)


class Users(AgentTest):
    """Tokens of others than the owner, and manifests with permissions."""

    def setUp(self):
        (self.folder / "token").write_text("secret\n")
        (self.folder / "users").write_text("ann token-of-ann\nbob token-of-bob\ncarol token-of-carol\n")
        for name, permissions in (("shown", {"use": ["ann"]}), ("hidden", {"view": ["ann", "bob"]}), ("both", {"view": ["bob"], "use": ["ann"]})):
            (self.folder / "models" / f"{name}.yml").write_text(manifest(name, permissions=permissions))
            self.addCleanup((self.folder / "models" / f"{name}.yml").unlink)
        self.served = self.agent("--token-file", self.folder / "token", "--users", self.folder / "users")

    def ask(self, who, method, path, body=None):
        self.served.token = {"owner": "secret", "ann": "token-of-ann", "bob": "token-of-bob", "carol": "token-of-carol"}.get(who, who)
        return self.served.ask(method, path, body)

    def test_models(self):
        self.wait_for_models("net", "shown")  # in the registry
        seen = {who: [model["name"] for model in self.ask(who, "GET", "/models")[2]["models"]] for who in ("owner", "ann", "bob", "carol")}
        every = ["both", "hidden", "net", "shown"]
        self.assertEqual(seen, {"owner": every, "ann": every, "bob": every, "carol": ["net", "shown"]})
        may = {who: [name for name in ("both", "hidden", "net", "shown") if self.ask(who, "POST", "/evaluations", {"models": [name], "data": "set"})[0] == 202]
               for who in ("owner", "ann", "bob", "carol")}
        self.assertEqual(may, {"owner": every, "ann": every, "bob": ["hidden", "net"], "carol": ["net"]})
        status, _, reply = self.ask("bob", "POST", "/evaluations", {"models": ["net", "shown"], "data": "set"})
        self.assertEqual((status, reply["error"]["message"]), (403, "bob may not use shown: its manifest has permissions"))
        (self.folder / "models" / "shown.yml").write_text(manifest("shown", permissions={"view": ["ann"]}))
        status, _, reply = self.ask("bob", "POST", "/evaluations", {"models": ["shown"], "data": "set"})
        self.assertEqual((status, reply["error"]["message"]), (404, "there is no model shown; /models lists all"))
        self.assertEqual([model["name"] for model in self.ask("bob", "GET", "/models")[2]["models"]], ["both", "hidden", "net"])
        self.assertEqual([model["name"] for model in self.ask("bob", "GET", "/system")[2]["models"]], ["net"])

    def test_one_name_has_one_manifest(self):
        closed = {"permissions": {"use": ["ann"]}, "preprocess": "def preprocess(env, data):\n  raise ValueError('closed')\n"}
        for end, more in (("yaml", {}), ("yml", closed)):
            (self.folder / f"models/twice.{end}").write_text(manifest("twice", **more))
            self.addCleanup((self.folder / f"models/twice.{end}").unlink, missing_ok=True)
        job = self.ask("bob", "POST", "/evaluations", {"models": ["twice"], "data": "set"})[2]
        self.assertEqual(self.wait_for_state(self.served, job["id"], "done", "failed")["error"], None)  # the open one ran
        self.assertEqual(self.ask("owner", "PUT", "/models/twice", manifest("twice", permissions={"use": ["ann"]}))[0], 204)
        self.assertFalse((self.folder / "models/twice.yaml").exists())
        self.assertEqual(self.ask("bob", "POST", "/evaluations", {"models": ["twice"], "data": "set"})[0], 403)
        (self.folder / "models/twice.yaml").write_text(manifest("twice"))
        self.assertEqual(self.ask("owner", "DELETE", "/models/twice")[0], 204)
        self.assertEqual([path.name for path in (self.folder / "models").glob("twice*")], [])

    def test_a_newer_version_that_is_not_permitted(self):
        (self.folder / "models/net-2.yml").write_text(manifest("net", "2.0", permissions={"use": ["ann"]}))
        self.addCleanup((self.folder / "models/net-2.yml").unlink)
        for who, model, status in (("ann", "net==2.0", 202), ("bob", "net", 202), ("bob", "net==2.0", 403)):
            self.assertEqual(self.ask(who, "POST", "/evaluations", {"models": [model], "data": "set"})[0], status)

    def test_each_users_last_results_are_kept(self):
        anns = self.ask("ann", "POST", "/evaluations", {"models": ["net"], "data": "many.csv"})[2]["id"]
        for _ in range(110):
            number = self.ask("bob", "POST", "/evaluations", {"models": ["net"], "data": "set"})[2]["id"]
            self.ask("bob", "DELETE", f"/evaluations/{number}")
        self.assertEqual(len(self.ask("bob", "GET", "/evaluations")[2]["evaluations"]), 100)
        self.assertEqual(self.ask("ann", "GET", f"/evaluations/{anns}")[0], 200)

    def test_users_do_not_take_each_others_places(self):
        self.ask("bob", "POST", "/evaluations", {"models": ["net"], "data": "many.csv"})
        while (status := self.ask("bob", "POST", "/evaluations", {"models": ["net"], "data": "set"})[0]) == 202:
            pass
        self.assertEqual((status, self.ask("ann", "POST", "/evaluations", {"models": ["net"], "data": "set"})[0]), (429, 202))

    def test_users_see_their_own_evaluations(self):
        number = self.ask("ann", "POST", "/evaluations", {"models": ["net"], "data": "set"})[2]["id"]
        for who, there in (("ann", True), ("owner", True), ("bob", False)):
            self.assertEqual(self.ask(who, "GET", f"/evaluations/{number}")[0], 200 if there else 404)
            self.assertEqual([job["id"] for job in self.ask(who, "GET", "/evaluations")[2]["evaluations"]], [number] if there else [])
        owners = self.ask("owner", "POST", "/evaluations", {"models": ["net"], "data": "set"})[2]["id"]
        self.assertEqual(self.ask("ann", "GET", f"/evaluations/{owners}")[0], 404)
        self.assertEqual(self.ask("bob", "GET", f"/evaluations/{number}/file")[0], 404)
        self.assertEqual(self.ask("bob", "DELETE", f"/evaluations/{number}")[0], 404)
        self.served.token = "token-of-ann"
        self.wait_for_state(self.served, number, "done")
        self.assertEqual(self.ask("ann", "GET", f"/evaluations/{number}/file")[0], 200)
        self.assertEqual(self.ask("ann", "DELETE", f"/evaluations/{number}")[0], 204)

    def test_only_the_owner_changes_models(self):
        for who, status in (("ann", 403), ("token-of-nobody", 401), ("owner", 204)):
            self.assertEqual(self.ask(who, "PUT", "/models/new", manifest("new"))[0], status)
        for who, status in (("bob", 403), ("owner", 204)):
            self.assertEqual(self.ask(who, "DELETE", "/models/new")[0], status)

    def test_through_the_registry(self):
        (self.folder / "bob").write_text("token-of-bob")
        self.wait_for_models("net", "shown")
        done = xsp("evaluate", "shown", "--data", "set", "--registry", self.registry.url, "--token-file", self.folder / "bob", "-o", self.folder / "bob.xsp", check=3,
                   environment=ENVIRONMENT)
        self.assertIn("bob may not use shown", done.stderr.decode())
        (self.folder / "others").write_text("ann token-of-bob")
        with self.agent("--token-file", self.folder / "token", "--users", self.folder / "others", "--jobs", "2", name="two") as two:
            two.token = "secret"
            two.submit("many.csv")  # so the other one is asked first, which does not permit it
            wait_for(lambda: self.records().get("two", {}).get("busy") == 1, "the load")
            xsp("evaluate", "shown", "--data", "set", "--registry", self.registry.url, "--token-file", self.folder / "bob", "-o", self.folder / "bob.xsp", check=0,
                environment=ENVIRONMENT)

    def test_files_of_users_that_are_none(self):
        for text, why in (("ann", "line 1: there is no token"), ("ann secret", "line 1: this token is the owner's")):
            (self.folder / "none").write_text(text)
            done = xsp("agent", "--registry", self.registry.url, "--token-file", self.folder / "token", "--users", self.folder / "none", check=2)
            self.assertIn(why, done.stderr.decode())
        self.assertIn("--token-file", xsp("agent", "--registry", self.registry.url, "--users", self.folder / "users", check=2).stderr.decode())


if __name__ == "__main__":
    unittest.main()
