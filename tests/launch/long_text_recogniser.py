# SPDX-License-Identifier: Apache-2.0
"""examples/ocr: three models in one process, and in three processes of two network namespaces, give one application span with
three models and the same shares."""
import importlib.util
import os
import pathlib
import subprocess
import sys
import unittest

from scripted import BUILD, XSP, temporary_folder, xsp, xsp_json
from server import Server, files

SOURCE = pathlib.Path(os.environ.get("XSP_SOURCE", ".")).resolve()
RECOGNISER = SOURCE / "examples/ocr/recogniser.py"
SAYS = "HELLO XSP\nTHREE MODELS\nONE TRACE 2026\n"
MODELS = ("ch_PP-OCRv4_det_infer", "ch_ppocr_mobile_v2.0_cls_infer", "ch_PP-OCRv4_rec_infer")
TIMES = 6
PACKAGES = ["cv2", "numpy", "onnxruntime", "rapidocr_onnxruntime"]
# Of each model: its spans, the chain of callers' names, and its time as a share of "recognise text".
SHARES = """
with recursive above(run_id, model, at, path) as (
  select run_id, span_id, parent_id, name from span where level = 'model' union all
  select a.run_id, a.model, s.parent_id, s.name || ' < ' || path from above a join span s on s.run_id = a.run_id and s.span_id = a.at)
select s.run_id, s.name, count(*) as n, min(path) as path, max(path) as last_path,
       sum(s.duration_ns) * 1.0 / (select sum(duration_ns) from span where name = 'recognise text') as share
from span s join above a on a.run_id = s.run_id and a.model = s.span_id and a.at is null where s.level = 'model' group by 1, 2
"""


def has_namespaces():
    return os.geteuid() == 0 and subprocess.run(["ip", "netns", "add", "xsp-probe"], capture_output=True).returncode == 0 and \
        subprocess.run(["ip", "netns", "delete", "xsp-probe"], capture_output=True).returncode == 0


@unittest.skipIf(os.environ.get("XSP_SANITIZE"), "an instrumented libxsp.so cannot be preloaded into programs")
@unittest.skipUnless(all(map(importlib.util.find_spec, PACKAGES)), "needs " + ", ".join(PACKAGES) +
                     " (pip install --no-deps rapidocr-onnxruntime==1.4.4)")
class TextRecogniser(unittest.TestCase):
    def setUp(self):
        folder = temporary_folder()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE / "answers/python/src"), *sys.path]),
                            "XDG_STATE_HOME": str(self.folder / "state")}

    def program(self, name, *arguments, publish=()):
        return [XSP, "run", "--tracer", "onnxruntime", "-o", self.folder / f"{name}.xsp", *publish, "--", sys.executable, RECOGNISER, *arguments]

    def shares(self, file):
        rows = xsp_json("sql", file, SHARES, "--json")
        self.assertEqual(len({row["run_id"] for row in rows}), 1)
        self.assertEqual({row["name"]: row["n"] for row in rows}, dict.fromkeys(MODELS, TIMES))
        return {row["name"]: row for row in rows}

    def namespace(self, name, address):
        """A network namespace, joined to the other one by a pair of devices."""
        subprocess.run(["ip", "netns", "add", name], check=True)
        self.addCleanup(subprocess.run, ["ip", "netns", "delete", name])
        device = f"v{name}"[:15]
        if not hasattr(self, "peer"):
            self.peer = f"p{name}"[:15]
            subprocess.run(["ip", "link", "add", device, "type", "veth", "peer", "name", self.peer], check=True)
        else:
            device = self.peer
        subprocess.run(["ip", "link", "set", device, "netns", name], check=True)
        for command in (["address", "add", f"{address}/24", "dev", device], ["link", "set", device, "up"], ["link", "set", "lo", "up"]):
            subprocess.run(["ip", "-n", name, *command], check=True)

    def one_process(self):
        done = subprocess.run(self.program("one", "--times", str(TIMES)), env=self.environment, capture_output=True, text=True, timeout=600)
        self.assertEqual((done.returncode, done.stdout.startswith(SAYS)), (0, True), done.stdout + done.stderr)
        shares = self.shares(self.folder / "one.xsp")
        for name, stage in zip(MODELS, ("detection", "orientation", "recognition")):
            self.assertTrue(shares[name]["path"].endswith(f"read pictures < recognise text < {stage} < {name}"), shares[name])
        return shares

    def start(self, namespace, command):
        process = subprocess.Popen(["ip", "netns", "exec", namespace, *map(str, command)], env=self.environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdout.close)
        return process

    def test_one_trace_of_three_processes_on_two_networks(self):
        if not has_namespaces():
            self.skipTest("network namespaces are not permitted here")
        alone = self.one_process()
        here, there = f"xa{os.getpid()}", f"xb{os.getpid()}"
        self.namespace(here, "10.77.41.1")
        self.namespace(there, "10.77.41.2")
        token = self.folder / "token"
        token.write_text("fourandtwentylettersandmore")
        token.chmod(0o600)
        traces = self.folder / "traces"
        server = self.start(here, [XSP, "serve", "--dir", traces, "--listen", "10.77.41.1:4318", "--token-file", token])
        self.assertIn("10.77.41.1:4318", server.stdout.readline())
        publish = ["--publish", "http://10.77.41.1:4318", "--publish-token-file", token]
        services = {}
        for number, name in enumerate(("orientation", "recognition")):
            at = f"10.77.41.2:{8001 + number}"
            services[name] = at, self.start(there, self.program(name, "--serve", name, "--listen", at, publish=publish))
            self.assertEqual(services[name][1].stdout.readline().split(), [name, "at", at])
        places = [word for name, (at, _) in services.items() for word in ("--at", f"{name}=http://{at}")]
        application = self.start(here, self.program("application", "--times", str(TIMES), *places, publish=publish))
        output, _ = application.communicate(timeout=600)
        self.assertEqual((application.returncode, output.startswith(SAYS)), (0, True), output)
        for _, process in services.values():
            process.communicate(timeout=600)
        server.terminate()
        server.communicate(timeout=600)
        received = files(traces)
        merged = self.folder / "merged.xsp"
        xsp("merge", *received, self.folder / "recognition.xsp", "-o", merged, check=0)  # the local file adds nothing
        shares = self.shares(merged)
        chains = {name: " < ".join(shares[name]["path"].split(" < ")[-6:]) for name in MODELS}
        self.assertEqual(chains[MODELS[2]],
                         f"read pictures < recognise text < call recognition < serve recognition < recognition < {MODELS[2]}")
        self.assertTrue(chains[MODELS[0]].endswith(f"read pictures < recognise text < detection < {MODELS[0]}"))
        self.assertEqual(len(xsp_json("sql", merged, "select distinct process_id from track where process_id is not null and run_id in "
                                      "(select run_id from span where name = 'recognise text')", "--json")), 3)
        self.assertEqual(xsp_json("sql", merged, "select value from note where value like '%clock%'", "--json"), [])  # one boot
        for name in MODELS:
            print(f"{name}: {alone[name]['share']:.1%} of the application in one process, {shares[name]['share']:.1%} in three")
            self.assertLess(abs(shares[name]["share"] - alone[name]["share"]), 0.2)
        keep = os.environ.get("XSP_KEEP")
        if keep:
            pathlib.Path(keep).write_bytes(merged.read_bytes())


if __name__ == "__main__":
    unittest.main()
