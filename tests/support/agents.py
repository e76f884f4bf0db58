# SPDX-License-Identifier: Apache-2.0
"""Starts `xsp agent` with a small model and pictures, and talks to it."""
import http.client
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile

import numpy
import onnx
import yaml
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from scripted import TIMEOUT_S, XSP

SIDE, CLASSES = 16, 5
ENVIRONMENT = {**os.environ, "VIRTUAL_ENV": str(pathlib.Path(sys.executable).parents[1])}


def manifest(name="net", version="1.0", file="net.onnx", **more):
    """A manifest of a linear classifier, as text."""
    whole = {"name": name, "version": version, "task": "image classification", "framework": {"name": "onnxruntime"}, "model": {"path": file},
             "inputs": [{"type": "image", "parameters": {"dimensions": [3, SIDE, SIDE], "mean": 127.5, "scale": 127.5}}],
             "outputs": [{"type": "feature"}]}
    return yaml.safe_dump({**whole, **more})


def make_machine(folder):
    """FOLDER/models with net, FOLDER/data with 12 pictures (set), and many.csv, which takes some seconds."""
    (folder / "models").mkdir()
    weights = numpy.random.default_rng(3).normal(size=(3 * SIDE * SIDE, CLASSES)).astype(numpy.float32)
    graph = helper.make_graph([helper.make_node("Flatten", ["data"], ["flat"]), helper.make_node("MatMul", ["flat", "weights"], ["scores"])], "linear",
                              [helper.make_tensor_value_info("data", TensorProto.FLOAT, ["N", 3, SIDE, SIDE])],
                              [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["N", CLASSES])], [numpy_helper.from_array(weights, "weights")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), folder / "models" / "net.onnx")
    (folder / "models" / "net.yml").write_text(manifest())
    random, files = numpy.random.default_rng(5), []
    for number in range(12):
        place = folder / "data" / "set" / str(number % CLASSES)
        place.mkdir(parents=True, exist_ok=True)
        files.append(place / f"{number:02}.png")
        Image.fromarray(random.integers(0, 256, (20, 24, 3), numpy.uint8)).save(files[-1])
    (folder / "data" / "many.csv").write_text("".join(f"{file},{file.parent.name}\n" for file in files) * 20000)


class Agent:
    """An agent on a free port. Use it in `with`, or call kill. Where it gets no CPU its lease may end: `ttl` is short only in tests of that."""

    def __init__(self, registry, folder, *options, name="one", ttl=600, environment=ENVIRONMENT, program=XSP):
        self.token = None
        self.scratch = tempfile.TemporaryDirectory(prefix="xsp-agents-")  # its state and its log
        self.log = pathlib.Path(self.scratch.name) / "stderr"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [program, "agent", "--registry", registry, "--name", name, "--ttl", str(ttl), "--models", folder / "models", "--data", folder / "data", "--json",
                 *options], stdout=subprocess.PIPE, stderr=log, env={**environment, "TMPDIR": self.scratch.name, "XDG_STATE_HOME": self.scratch.name})
        ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT_S)
        line = self.process.stdout.readline() if ready else b""
        if not line:
            self.process.kill()
            raise AssertionError(f"the agent does not start: {self.log.read_text()}")
        self.about = json.loads(line)
        self.url = self.about["url"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        if self.process.poll() is None:
            self.process.terminate()  # it takes its record away
            try:
                self.process.wait(TIMEOUT_S / 10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()
        self.scratch.cleanup()

    def said(self):
        """The whole lines that it has written to stderr."""
        return [line for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def stop(self):
        """Ends it; returns its exit status and what it wrote to stderr."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT_S), self.log.read_text()

    def ask(self, method, path, body=None, headers=None):
        """Status, headers and body of the reply; JSON is read."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=TIMEOUT_S)
        authorization = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        text = json.dumps(body) if isinstance(body, dict) else body
        try:
            connection.request(method, path, text, {**authorization, **(headers or {})})
            reply = connection.getresponse()
            found = reply.read()
        finally:
            connection.close()
        is_json = reply.headers.get("Content-Type") == "application/json" and found
        return reply.status, reply.headers, json.loads(found) if is_json else found

    def submit(self, data="set", **more):
        """The number of a new evaluation."""
        status, headers, job = self.ask("POST", "/evaluations", {"models": ["net"], "data": data, **more})
        if status != 202 or headers["Location"] != f"/evaluations/{job['id']}":
            raise AssertionError((status, job))
        return job["id"]

    def look(self, number):
        return self.ask("GET", f"/evaluations/{number}")[2]
