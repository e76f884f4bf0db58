# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of ONNX Runtime inside unmodified programs: run a program without xsp and in a session, compare the
outcomes, read its trace."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import runner_session
from runner_session import BUILD, SOURCE

XSP = BUILD / "xsp"
WAIT_S = 600
COMPILER = shutil.which(os.environ.get("CC", "cc"))
SANITIZED = bool(os.environ.get("XSP_SANITIZE"))
# kernel_shape, source_layers: xsp profile reads them from the model's file.
LAYERS = """
    select s.span_id, s.parent_id, s.name, p.name as parent, p.level as parent_level,
           (select group_concat(key || '=' || value, ' ') from tag t where t.run_id = s.run_id and t.span_id = s.span_id
              and key not in ('kernel_shape', 'source_layers')) as tags
    from span s left join span p on p.run_id = s.run_id and p.span_id = s.parent_id
    where s.level = 'layer' order by s.start_ns, s.span_id"""
MODELS = """
    select s.span_id, s.name, s.tracer,
           (select value from tag t where t.run_id = s.run_id and t.span_id = s.span_id and key = 'batch_size') as batch
    from span s where s.level = 'model' order by s.start_ns, s.span_id"""


def runtime_library():
    """The library of the Python environment's wheel."""
    import onnxruntime
    return next((pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*"))


def sql(path, query):
    done = subprocess.run([XSP, "sql", path, query, "--json"], capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()] if not done.stdout.startswith("[") else \
        json.loads(done.stdout)


class Trace:
    def __init__(self, path):
        self.path = path
        self.layers = sql(path, LAYERS)
        self.models = sql(path, MODELS)
        self.messages = ""
        self.dropped = sql(path, "select sum(dropped_count) as dropped from run")[0]["dropped"]

    def names(self):
        return collections.Counter(model["name"] for model in self.models)

    def batches(self):
        return [None if model["batch"] is None else int(model["batch"]) for model in self.models]

    def by_model(self):
        """The layers of each model span, in order of their start, with the name of what they lie in."""
        found = {model["span_id"]: [] for model in self.models}
        place = {layer["span_id"]: layer["parent_id"] for layer in self.layers}
        for layer in self.layers:
            top = layer["parent_id"]
            while top in place:
                top = place[top]
            found.setdefault(top, []).append((layer["name"], layer["parent"] if layer["parent_level"] == "layer" else "",
                                              layer["tags"]))
        return list(found.values())


class Result:
    def __init__(self, status, out, err, folder):
        self.status, self.out, self.err, self.folder = status, out, err, folder

    def same(self):
        """What must be the same in every run: not the times in ONNX Runtime's log lines and file names."""
        error = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+", "TIME", self.err)
        error = re.sub(r"[0-9a-f]{6,}", "HEX", error)
        files = sorted({re.sub(r"_\d{4}-\d\d.*", "", path.name) for path in self.folder.iterdir()})
        return self.status, self.out, error, files


@unittest.skipIf(SANITIZED, "preloading into programs that are not sanitized")
class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            cls.library = runtime_library()
        except (ImportError, StopIteration):
            raise unittest.SkipTest("no onnxruntime in this Python environment")
        cls.models = runner_session.test_models()
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="xsp-run-onnxruntime-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.count = 0

    def new_folder(self):
        type(self).count += 1
        folder = self.folder / f"{self.count}"
        folder.mkdir()
        return folder

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("XSP_") and name != "LD_PRELOAD"}
        return {**kept, "ORT_LIBRARY": str(self.library), "ORT_DISABLE_TELEMETRY": "1", "VIRTUAL_ENV": sys.prefix}

    def run_program(self, command, environment, cwd):
        done = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True,
                              timeout=WAIT_S, stdin=subprocess.DEVNULL)
        return Result(done.returncode, done.stdout, done.stderr, cwd)

    def without(self, command):
        return self.run_program(command, self.environment(), self.new_folder())

    def inside(self, command, levels="M/L"):
        """The program in a session of our own: its outcome, and its trace (None: it left none)."""
        session = self.new_folder() / "session"
        preload = f"{BUILD / 'libxsp.so'}:{BUILD / 'tracers/frameworks.so'}"
        outcome = self.run_program(command, {**self.environment(), "XSP_SESSION": str(session), "XSP_LEVELS": levels,
                                             "XSP_TRACERS": str(BUILD / "tracers/onnxruntime.so"),
                                             "LD_PRELOAD": preload}, self.new_folder())
        path = session.parent / "trace.xsp"
        done = subprocess.run([XSP, "recover", session, "-o", path], capture_output=True, text=True, timeout=WAIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        trace = Trace(path)
        trace.messages = done.stderr
        return outcome, trace

    def check_same(self, command, levels="M/L"):
        """Runs it without and inside, compares the outcomes, and returns the outcome and the trace."""
        before = self.without(command)
        after, trace = self.inside(command, levels)
        self.assertEqual(after.same(), before.same())
        self.assertEqual(trace.dropped, 0)
        orphans = [layer for layer in trace.layers if layer["parent_id"] is None]
        self.assertEqual(orphans, [])
        return after, trace

    def profile(self, model, options=()):
        path = self.new_folder() / "profile.xsp"
        done = subprocess.run([XSP, "profile", self.models / model, "--batch", "1", "--levels", "M/L", "--runs", "3",
                               "--warmup", "1", "-o", path, *options], capture_output=True, text=True, timeout=WAIT_S,
                              env={**os.environ, "VIRTUAL_ENV": sys.prefix})
        self.assertEqual(done.returncode, 0, done.stderr)
        return Trace(path)

    def xsp_run(self, command, *options):
        path = self.new_folder() / "run.xsp"
        done = subprocess.run([XSP, "run", "-t", "onnxruntime", "-o", path, *options, "--", *map(str, command)],
                              capture_output=True, text=True, timeout=WAIT_S, env=self.environment(),
                              cwd=self.new_folder())
        return done, path
