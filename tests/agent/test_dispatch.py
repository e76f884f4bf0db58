# SPDX-License-Identifier: Apache-2.0
"""xsp evaluate --registry: agents that satisfy constraints, all of them or the least busy one."""
import glob
import gzip
import json
import os
import pathlib
import signal
import subprocess
import sysconfig
import unittest

from agents import ENVIRONMENT, manifest
from dispatch_case import DispatchTest
from scripted import TIMEOUT_S, XSP, xsp, xsp_json
from server import Server, stopped_child, wait_for


class Choice(DispatchTest):
    def test_any_and_all(self):
        self.agents("one", "two")
        here = json.loads(xsp("evaluate", self.folder / "models/net.yml", "--data", self.folder / "data/set", "--items", "--json", "-q", "-f", "-o",
                              self.folder / "here.xsp", check=0, environment=ENVIRONMENT).stdout)
        accuracy, items = json.loads(self.evaluate("--items", "-o", "any.xsp").stdout)
        self.assertEqual([{key: row[key] for key in here[1]["rows"][0]} for row in items["rows"]], here[1]["rows"])
        row, = accuracy["rows"]
        self.assertIn(row["agent"], ("one", "two"))
        self.assertEqual(list(row), ["agent", *here[0]["rows"][0]])
        self.assertEqual(row["top1_pct"], here[0]["rows"][0]["top1_pct"])
        self.assertEqual(xsp_json("sql", self.folder / "any.xsp", "select count(*) as n from observation where not warmup", "--json"), [{"n": 12}])
        accuracy = json.loads(self.evaluate("net==1.0", "--all", "-o", "all.xsp", "--limit", 4).stdout)
        self.assertEqual([(row["agent"], row["inputs"]) for row in accuracy["rows"]], [("one", 4), ("two", 4)])
        for name in ("all-one.xsp", "all-two.xsp"):
            self.assertEqual(xsp_json("sql", self.folder / name, "select count(*) as n from observation where not warmup", "--json"), [{"n": 4}])
        self.assertFalse((self.folder / "all.xsp").exists())
        for options, name in ((("--all", "-o", "all.xsp"), "all-two.xsp"), (("-o", "any.xsp"), "any.xsp")):
            (self.folder / name).write_text("mine")
            done = subprocess.run([option for option in self.command(*options) if option != "-f"], cwd=self.folder, capture_output=True, text=True,
                                  timeout=TIMEOUT_S, check=False)
            self.assertEqual((done.returncode, (self.folder / name).read_text()), (2, "mine"), done.stderr)
            (self.folder / name).unlink()
            (self.folder / "all-one.xsp").unlink(missing_ok=True)

    def test_constraints(self):
        self.agents("one", "two")
        for constraints, names in (("name=two", ["two"]), ("name!=two,framework=onnxruntime>=1.0,<9", ["one"]), ("cpus>=1,memory>=1MiB", ["one", "two"])):
            rows = json.loads(self.evaluate("--all", "--on", constraints).stdout)["rows"]
            self.assertEqual([row["agent"] for row in rows], names)
        for constraints, missed in (("gpus>=100,name=one", "gpus>=100"), ("memory>=1000TiB", "memory>=1000TiB"), ("framework=onnxruntime<1", "onnxruntime<1"),
                                    ("framework=tensorflow", "no tensorflow"), ("framework=script", "no model")):
            done = self.evaluate("--on", constraints, status=3)
            lines = done.stderr.splitlines()
            self.assertEqual((done.stdout, [line.split(":")[1].strip() for line in lines[:2]]), ("", ["one", "two"]))
            self.assertTrue(all(missed in line for line in lines[:2]), lines)
        self.assertIn("no model other", self.evaluate("net>=2", "other", status=3).stderr.replace("net>=2", "other"))
        for constraints in ("memory", "memory=x", "size>=3", "arch>=3", "framework", "framework=onnxruntime>=x", "gpus~=3"):
            self.assertIn(constraints, self.evaluate("--on", constraints, status=2).stderr)

    def test_a_gpu(self):
        """Simulated: stand-ins for NVML and for ONNX Runtime's provider of CUDA, which computes on the CPU."""
        programs = pathlib.Path(os.environ["XSP_BUILD"]) / "test-programs"
        real, = glob.glob(sysconfig.get_path("purelib") + "/onnxruntime/capi/libonnxruntime.so.*")
        self.agents("one")
        self.agents("two", environment={**ENVIRONMENT, "XSP_LIBRARY_NVML": str(programs / "libcudnn.so.9"), "XSP_STAND_IN_GPU_NAMES": "Simulated",
                                        "XSP_LIBRARY_ONNXRUNTIME": str(programs / "libonnxruntime_stand_in.so"), "XSP_STAND_IN_OF": real,
                                        "XSP_STAND_IN_LOG": str(self.folder / "log")})
        row, = json.loads(self.evaluate("--on", "gpus>=1,gpu=simulated", "--device", "gpu", "-o", "gpu.xsp").stdout)["rows"]
        self.assertEqual(row["agent"], "two")
        self.assertEqual(xsp_json("sql", self.folder / "gpu.xsp", "select value from system where key in ('device', 'gpu') order by key", "--json"),
                         [{"value": "CUDAExecutionProvider"}, {"value": "Simulated"}])
        self.assertIn("append cuda", (self.folder / "log").read_text())

    def test_the_least_busy_one(self):
        one, = self.agents("one", environment={**ENVIRONMENT, "XSP_STOP": "evaluate"})
        self.agents("two")
        long = self.start("--on", "name=one", "-o", "long.xsp")
        stopped_child(one)
        self.wait_for_busy(one=1, two=0)
        for number in range(3):
            self.assertEqual(json.loads(self.evaluate("-o", f"{number}.xsp").stdout)["rows"][0]["agent"], "two")
            self.wait_for_busy(two=0)
        long.send_signal(signal.SIGINT)
        long.communicate(timeout=TIMEOUT_S)
        self.assertEqual(long.returncode, -signal.SIGINT)
        self.wait_for_busy(one=0)  # an evaluation that nobody waits for has been ended

    def test_wrong_use_and_tokens(self):
        (self.folder / "token").write_text("secret\n")
        (self.folder / "wrong").write_text("wrong\n")
        self.agents("one", options=("--token-file", self.folder / "token"))
        self.assertIn("token", self.evaluate(status=3).stderr)
        self.assertIn("token", self.evaluate("--token-file", "wrong", status=3).stderr)
        self.evaluate("--token-file", "token")
        self.assertIn("no data set", self.evaluate("--token-file", "token", data="../models", status=3).stderr)
        self.assertIn("5000", self.evaluate("--token-file", "token", "--batch", 5000, status=3).stderr)
        for options in (("--any", "--all"), ("--library", "a=b"), ("--timeout", "3"), ("--spool", "x"), ("--first-difference",), ("--container", "/"), ("--qps", "x"),
                        ("--batch", "x"), ("--batch", "1,2"), ("--batch", ",")):
            self.evaluate(*options, status=2)
        self.assertIn("--registry", xsp("evaluate", "net", "--data", "set", "--on", "name=one", check=2).stderr.decode())

    def test_scenarios(self):
        self.agents("one")
        done = self.evaluate("--scenario", "offline", "--scenario", "server", "--qps", "500.5", "--duration", "0.2", "--queries", 20, "--keep-outputs",
                             "-o", "scenarios.xsp")
        scenarios = json.loads(done.stdout)[1]["rows"]
        self.assertEqual([(row["agent"], row["scenario"]) for row in scenarios], [("one", "offline"), ("one", "server")])
        self.assertEqual(xsp_json("sql", self.folder / "scenarios.xsp", "select count(*) > 0 as n from output", "--json"), [{"n": 1}])

    def test_a_precision(self):
        self.agents("one")
        done = json.loads(self.evaluate("--precision", "0.001%", "--max-runs", 14, "-o", "precise.xsp").stdout)
        table = done[0] if isinstance(done, list) else done
        self.assertIn("net: 14 inferences: --max-runs ended before the precision", table["notes"])

    def profile(self, *arguments, status=0):
        done = xsp("profile", "net", "--registry", self.registry.url, "--json", "-f", "-o", "profile.xsp", *map(str, arguments), check=status, cwd=self.folder)
        return json.loads(done.stdout) if status == 0 else done.stderr.decode()

    def test_a_leveled_experiment_over_batch_sizes(self):
        self.agents("one", "two")
        first, *_ = self.profile("--batch", "1,2,4", "--levels", "M,M/L", "--runs", 3, "--warmup", 1, "--all")
        self.assertEqual([(row["agent"], row["batch_size"]) for row in first["rows"]], [(agent, batch) for agent in ("one", "two") for batch in (1, 2, 4)])
        for name in ("one", "two"):
            runs = xsp_json("sql", self.folder / f"profile-{name}.xsp", "select levels, batch_size as b from run order by 1, 2", "--json")
            self.assertEqual([(row["levels"], row["b"]) for row in runs], [(levels, batch) for levels in ("M", "M/L") for batch in (1, 2, 4)])
            self.assertNotEqual(xsp_json("analyze", "A2", self.folder / f"profile-{name}.xsp", "--json")["rows"], [])

    def test_spans_of_a_profile_go_to_a_server(self):
        self.agents("one")
        with Server(self.folder / "profiles") as server:
            self.profile("--levels", "M/L", "--runs", 2, "--publish", f"http://127.0.0.1:{server.port}")
            file = wait_for(lambda: [file for file in (self.folder / "profiles").glob("*.xsp")], "a file of the server")[0]
            self.assertEqual(xsp_json("sql", file, "select count(*) > 5 as n from span where level = 'layer'", "--json"), [{"n": 1}])

    def test_a_profile_is_seen_while_it_runs(self):
        """Its spans at each level set on the server's live page, and the place of one that waits."""
        def start(name, *options):
            process = subprocess.Popen([XSP.resolve(), "profile", "net", "--registry", self.registry.url, "-o", name, "-f", *options], cwd=self.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.addCleanup(process.kill)
            return process

        def live_levels():
            status, _, body = server.ask(None, path="/live/parts/document?after=0", method="GET")
            return {run["levels"] for run in json.loads(gzip.decompress(body))["runs"]} if status == 200 else set()

        self.agents("one")
        with Server(self.folder / "live") as server:
            runs = start("runs.xsp", "--levels", "M,M/L", "--runs", "1000000", "--publish", server.about["url"])
            wait_for(lambda: live_levels() == {"M", "M/L"}, "spans of both level sets")
            waits = start("waits.xsp")
            self.assertTrue(any("one: waits, place 1 in its queue" in line for line in waits.stderr))
            self.wait_for_busy(one=2)
            for process in (waits, runs):
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=TIMEOUT_S)

    def test_a_wrong_profile(self):
        self.agents("one")
        for options, word in ((("--seed", 1), "no effect"), (("--batch", "1,x"), "whole number"), (("--batch", "1,,2"), "whole number"), (("--any", "--all"), "--any"),
                              (("--framework", "onnxruntime"), "no effect")):
            self.assertIn(word, self.profile(*options, status=2))
        self.assertIn("three", self.profile("--on", "name=three", status=3))
        self.assertIn("--registry", xsp("profile", "net", "--on", "name=one", check=2).stderr.decode())

    def test_what_no_profile_is(self):
        one, = self.agents("one")
        for body, word in (({"models": ["net"], "data": "set"}, "no data"), ({"models": ["net", "net"]}, "one model"), ({"models": ["net"], "batch": "1;2"}, "whole numbers"),
                           ({"models": ["net"], "batch": "1,,2"}, "whole numbers"), ({"models": ["net"], "batch": ","}, "whole numbers")):
            status, _, answer = one.ask("POST", "/evaluations", {"verb": "profile", **body})
            self.assertEqual(status, 400)
            self.assertIn(word, str(answer))
        self.assertEqual(one.ask("POST", "/evaluations", {"verb": "remove", "models": ["net"]})[0], 400)

    def test_limits_are_handed_on(self):
        self.agents("one")
        for options, word in ((("--memory", 1000), "--memory"), (("--cpus", 5000), "--cpus"), (("--time-limit", 10**9), "--time-limit"),
                              (("--data-sha256", "0" * 64), "checksum")):
            self.assertIn(word, self.evaluate(*options, status=3, data="many.csv").stderr.lower())

    def test_spans_go_to_a_server(self):
        self.agents("one")
        with Server(self.folder / "traces") as server:
            self.evaluate("--publish", f"http://127.0.0.1:{server.port}")
            question = "select count(*) as n from span where name = 'decode'"
            # The file is made again while spans come.
            found = wait_for(lambda: [row["n"] for file in (self.folder / "traces").glob("*.xsp") for row in xsp_json("sql", file, question, "--json")
                                      if row["n"] >= 13], "all spans")
            self.assertEqual(found, [13])  # with the warm-up's

    def test_versions(self):
        """The newest one that fits."""
        for version in ("1.9", "1.10"):
            path = self.folder / "models" / f"net{version}.yml"
            path.write_text(manifest("versions", version, inputs=[{"type": "image", "name": "data", "parameters": {
                "dimensions": [3, 16, 16], "mean": 0 if version == "1.9" else 50, "scale": 1}}]))
            self.addCleanup(path.unlink)
        agent, = self.agents("one")
        for requirement, file in (("versions", "net1.10"), ("versions<1.10", "net1.9"), ("versions==1.9", "net1.9")):
            here = json.loads(xsp("evaluate", self.folder / "models" / f"{file}.yml", "--data", self.folder / "data/set", "--json", "--items", "-q", "-f", "-o",
                                  self.folder / "here.xsp", check=0, environment=ENVIRONMENT).stdout)[1]
            status, _, job = agent.ask("POST", "/evaluations", {"models": [requirement], "data": "set", "items": True})
            self.assertEqual(status, 202)
            done = wait_for(lambda number=job["id"]: (found := agent.look(number))["state"] == "done" and found, "the result")
            self.assertEqual([row["score"] for row in done["result"][1]["rows"]], [row["score"] for row in here["rows"]])

if __name__ == "__main__":
    unittest.main()
