# SPDX-License-Identifier: Apache-2.0
"""Experiments small enough to compute by hand, in milliseconds: predictions, their layers, what these execute."""
import json
import math
import pathlib
import unittest

import analysis_data
import scripted
from analysis_data import Experiment, Track

MS = 1_000_000


class Tiny:
    """Predictions of a run follow each other; `at` in them is the time since the experiment's zero."""

    def __init__(self, **system):
        self.experiment = Experiment(system=system)

    def run(self, levels, batch=1):
        return TinyRun(self.experiment.add(levels, batch))

    def write(self, folder):
        """Imports it; returns the path of the .xsp file."""
        source, path = pathlib.Path(folder) / "tiny.jsonl", pathlib.Path(folder) / "tiny.xsp"
        source.write_text(analysis_data.to_otlp(self.experiment))
        scripted.xsp("import", source, "-o", path, "--force", check=0)
        return path


class TinyRun:
    def __init__(self, run):
        self.run, self.now = run, 0

    def predict(self, ms, *layers, kernels=(), at=None, warmup=False, thread=1, process=1):
        """`layers`: layer(); `kernels`: those in no layer."""
        start = self.now if at is None else at
        self.now = start + ms + 1
        track = Track(10 * process + thread, process, 10 * process + thread)
        model = self.span("model", "net", start, ms, track, tags={"warmup": 1} if warmup else {})
        inside = start
        for one in layers:
            inside = self.layer(one, inside, start, model, track)
        for one in kernels:
            self.kernel(one, start, start, model, process)
        return self

    def span(self, level, name, start, ms, track, parent=None, **more):
        return self.run.add(level, name, round(start * MS), round((start + ms) * MS), track, parent, **more)

    def layer(self, one, inside, base, parent, track):
        """Returns its end. `at` counts from the prediction's start; without it a layer starts where the last one ended."""
        start = inside if one["at"] is None else base + one["at"]
        span = self.span("layer", one["name"], start, one["ms"], track, parent, tags=one["tags"],
                         category=one["category"])
        at = start
        for nested in one["nested"]:
            at = self.layer(nested, at, start, span, track)
        at = start
        for kernel in one["kernels"]:
            at = self.kernel(kernel, at, start, span, track.process)
        return start + one["ms"]

    def kernel(self, one, inside, base, parent, process):
        start = inside if one["at"] is None else base + one["at"]
        stream = Track(100 * process + one["stream"], process, None, one["stream"])
        self.span("kernel", one["name"], start, one["ms"], stream, parent, kind="execution", category=one["category"],
                  tags=one["tags"])
        return start + one["ms"]


def layer(name, ms, *kernels, at=None, nested=(), category="operator", **tags):
    return {"name": name, "ms": ms, "kernels": kernels, "at": at, "nested": nested, "category": category, "tags": tags}


def kernel(name, ms, at=None, stream=7, category="kernel", **tags):
    """`at` counts from the start of its layer, else of the prediction."""
    return {"name": name, "ms": ms, "at": at, "stream": stream, "category": category, "tags": tags}


def metrics(flops=None, reads=None, writes=None, occupancy=None):
    tags = {"flops": flops, "dram_read_bytes": reads, "dram_write_bytes": writes, "achieved_occupancy_pct": occupancy}
    return {key: value for key, value in tags.items() if value is not None}


def ask(path, *arguments):
    return json.loads(scripted.xsp("analyze", *arguments, path, "--json", check=0).stdout)


class HandCase(unittest.TestCase):
    """Figures that were computed by hand."""

    def write(self, tiny):
        folder = scripted.temporary_folder()
        self.addCleanup(folder.cleanup)
        return tiny.write(folder.name)

    def agree(self, row, **expected):
        for key, value in expected.items():
            found = row[key]
            if isinstance(value, (int, float)) and not isinstance(value, bool) and found is not None:
                self.assertTrue(math.isclose(found, value, rel_tol=1e-9), f"{key}: {found!r}, not {value!r}")
            else:
                self.assertEqual(found, value, key)

    def column(self, answer, key):
        return [row[key] for row in answer["rows"]]
