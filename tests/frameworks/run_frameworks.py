# SPDX-License-Identifier: Apache-2.0
"""Shared by the long tests of TensorFlow and MXNet inside unmodified programs: run a program without xsp and under
`xsp run`, compare all its results, read its trace."""
import collections
import os
import re
import shutil
import subprocess
import sys
import textwrap

from framework_environment import BUILD, XSP, FrameworkTest
from run_guests import sessions

COMPILER = shutil.which(os.environ.get("CC", "cc"))
WAIT_S = 600


class Outcome:
    def __init__(self, process, out, err, folder):
        self.process, self.status, self.out, self.err = process.pid, process.returncode, out, err
        self.files = sorted(path.name for path in folder.iterdir())

    def same(self):
        """What must be the same in every run: not times, addresses and process ids in log lines."""
        error = re.sub(r"[IWE]\d{4}|\d\d:\d\d:\d+(\.\d+)?|0x[0-9a-f]+|\d{2,}(\.\d+)?", "NUMBER", self.err)
        return self.status, self.out, re.sub(r"\s+", " ", error), self.files


class RunFrameworkTest(FrameworkTest):
    python = None

    def new_folder(self):
        self.folders = getattr(self, "folders", 0) + 1
        folder = self.folder / f"f{self.folders}"
        folder.mkdir()
        return folder

    def script(self, text, *arguments, options=()):
        path = self.new_folder() / "script.py"
        path.write_text(textwrap.dedent(text))
        return [self.python, "-B", "-W", "ignore", *options, path, *arguments]

    def variables(self):
        return {name: value for name, value in os.environ.items()
                if not name.startswith("XSP_") and name != "LD_PRELOAD"}

    def start(self, command, env=None):
        folder = self.new_folder()
        with subprocess.Popen([str(part) for part in command], text=True, cwd=folder, env={**self.variables(), **(env or {})},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                return Outcome(process, *process.communicate(timeout=WAIT_S), folder)
            except BaseException:
                process.kill()
                raise

    def run_inside(self, command, *options, output=None, env=None):
        output = output or self.output
        output.unlink(missing_ok=True)
        return self.start([XSP, "run", "-q", "-t", self.framework, *options, "-o", output, "--", *command], env)

    def check_same(self, command, *options, env=None):
        """Runs it without xsp and under `xsp run`, and compares the outcomes."""
        before = self.start(command, env)
        after = self.run_inside(command, *options, env=env)
        self.assertEqual(after.same(), before.same())
        self.assertEqual(self.sql("select sum(dropped_count) as dropped from run"), [{"dropped": 0}])
        self.assertEqual(sessions(after.process), [])
        return after

    def models(self, path=None):
        """[{name, tags, start, duration, layers: [(name, type)]}] in order of start."""
        tags = {}
        for row in self.sql("select run_id, span_id, key, value from tag", path):
            tags.setdefault((row["run_id"], row["span_id"]), {})[row["key"]] = row["value"]
        found, above = {}, {}
        for row in self.sql("select run_id, span_id, parent_id, level, name, start_ns, duration_ns, basis from span"
                            " where level in ('model', 'layer') order by level = 'layer', start_ns, span_id", path):
            key, own = (row["run_id"], row["span_id"]), tags.get((row["run_id"], row["span_id"]), {})
            if row["level"] == "model":
                found[key] = {"name": row["name"], "tags": own, "layers": [], "start": row["start_ns"],
                              "duration": row["duration_ns"]}
                continue
            above[key] = top = (row["run_id"], row["parent_id"])
            while top in above:
                top = above[top]
            if top in found:
                found[top]["layers"].append((row["name"], own.get("layer_type")))
            else:  # published after a prediction, it must belong to one
                self.assertNotEqual(row["basis"], "explicit", row)
        return list(found.values())

    def calls_inside_layers(self, command, env=None):
        """Records each call of posix_memalign. Of those that are in a layer of their own thread: how many have such a layer as
        parent, how many are ambiguous. None may have another parent."""
        functions = self.new_folder() / "functions"
        functions.write_text("posix_memalign\n")
        outcome = self.run_inside(command, "--functions", functions, env=env)
        self.assertEqual(outcome.status, 0, outcome.err)
        layers, linked, ambiguous = collections.defaultdict(dict), 0, 0
        for row in self.sql("select span_id, track_id, start_ns, end_ns from span where level = 'layer'"):
            layers[row["track_id"]][row["span_id"]] = (row["start_ns"], row["end_ns"])
        for row in self.sql("select parent_id, track_id, start_ns, end_ns, basis from span where tracer = 'functions'"):
            around = {span for span, (start, end) in layers[row["track_id"]].items()
                      if start <= row["start_ns"] and row["end_ns"] <= end}
            if around and row["basis"] == "ambiguous":
                ambiguous += 1
            elif around:
                self.assertIn(row["parent_id"], around)
                linked += 1
        self.assertGreater(linked, 0)
        print(f"{self.framework} {env or ''}: of {linked + ambiguous} calls inside layers {ambiguous} are ambiguous", file=sys.stderr)
        return linked, ambiguous

    def notes(self):
        return "\n".join(str(row) for row in self.sql("select * from note"))


__all__ = ["BUILD", "COMPILER", "Outcome", "RunFrameworkTest", "XSP"]
