# SPDX-License-Identifier: Apache-2.0
"""Each verb of an xsp that is not in its build folder: tests of an installed one and of the tarball are subclasses of Verbs."""
import json
import os
import pathlib
import re
import subprocess
import tempfile

from agents import ENVIRONMENT, Agent, make_machine
from containers import FRAMEWORK_IN_IT, framework_layer, layout, system_layer, why_not
from device_runs import UNSANITIZED
from etcd import Etcd
from scripted import TIMEOUT_S
from server import Server, wait_for


class Verbs:
    """`program` is its path. Mixed with unittest.TestCase."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="xsp-installed-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def xsp(self, *arguments, status=0, **variables):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
                              cwd=self.folder, env={**ENVIRONMENT, "XSP_PEAKS": "skip", **variables})
        self.assertEqual(done.returncode, status, (arguments, done.stderr))
        return done.stdout

    def test_help(self):
        self.assertRegex(self.xsp("--version"), r"^xsp \d")
        self.assertEqual(self.xsp("--version"), self.xsp("version"))
        verbs = re.findall(r"^  ([a-z]+) ", self.xsp("help"), re.M)
        self.assertIn("evaluate", verbs)
        for verb in verbs:
            self.assertIn(f"xsp {verb}", self.xsp("help", verb))
        pages = pathlib.Path(self.xsp("help").splitlines()[-1].rpartition(" are in ")[2])
        self.assertTrue((pages / "run.md").exists(), pages)
        self.assertTrue(pages.is_relative_to(self.program.resolve().parents[1]), pages)

    @UNSANITIZED
    def test_run(self):
        self.xsp("run", "-q", "-o", "run.xsp", "--", "/bin/true")
        self.assertIn("true", self.xsp("info", "run.xsp"))

    @UNSANITIZED
    def test_demo(self):
        self.xsp("demo", "-q", PATH=os.environ["PATH"])
        self.assertIn("slow_loop.py", self.xsp("analyze", "lines", "xsp-demo/slow_loop.xsp", "--json"))
        self.assertIn("<html", (self.folder / "xsp-demo/slow_loop.html").read_text(encoding="utf-8"))
        self.xsp("demo", status=2)
        self.xsp("demo", "-q", "--force", PATH=os.environ["PATH"])

    def test_a_model_and_its_file(self):
        make_machine(self.folder)
        self.xsp("profile", "models/net.onnx", "--levels", "M,M/L", "--runs", "2", "-q", "-o", "net.xsp")
        self.assertIn("MatMul", self.xsp("analyze", "A2", "net.xsp"))
        self.xsp("report", "net.xsp", "-o", "net.html")
        self.assertIn("<html", (self.folder / "net.html").read_text(encoding="utf-8"))
        self.assertIn("MatMul", self.xsp("sql", "net.xsp", "select distinct name from span"))
        self.xsp("export", "net.xsp", "--to", "chrome", "-o", "net.json")
        self.xsp("import", "net.json", "-o", "again.xsp")
        self.xsp("compare", "net.xsp", "net.xsp")
        self.xsp("merge", "net.xsp", "-o", "merged.xsp")
        self.xsp("history", "net.xsp")
        self.xsp("data", "make", "set.xspd", "data/set")
        self.xsp("publish", "site", "net.xsp")
        self.xsp("recover")
        self.assertIn("onnxruntime", self.xsp("check"))

    def test_an_evaluation_in_a_container(self):
        if why_not():
            self.skipTest(why_not())
        make_machine(self.folder)
        image = layout(self.folder / "image", system_layer("A small system"), framework_layer())
        arguments = ("evaluate", "models/net.yml", "--data", "data/set", "--levels", "M/L", "--json", "-q", "-f")
        native = json.loads(self.xsp(*arguments, "-o", "native.xsp"))
        isolated = json.loads(self.xsp(*arguments, "-o", "isolated.xsp", "--isolate"))
        contained = json.loads(self.xsp(*arguments, "-o", "contained.xsp", "--container", image, XSP_IMAGE_CACHE=str(self.folder / "cache"),
                                        XSP_LIBRARY_ONNXRUNTIME=FRAMEWORK_IN_IT))
        for other in (isolated, contained):
            self.assertEqual(other["rows"][0]["top1_pct"], native["rows"][0]["top1_pct"])

    def test_servers(self):
        make_machine(self.folder)
        with Server(self.folder / "served", program=self.program) as server:
            self.assertGreater(server.port, 0)
        with Etcd() as etcd, Agent(etcd.url, self.folder, program=self.program) as agent:
            self.assertEqual(agent.ask("GET", "/models")[0], 200)
            wait_for(lambda: "net" in self.xsp("agent", "--list", "--registry", etcd.url), "the agent's record")
            self.xsp("evaluate", "net", "--registry", etcd.url, "--data", "set", "-q", "-o", "remote.xsp")
            self.assertTrue((self.folder / "remote.xsp").exists())
