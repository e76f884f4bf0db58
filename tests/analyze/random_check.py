# SPDX-License-Identifier: Apache-2.0
"""One random experiment through `xsp import` and `xsp analyze --json`, compared with the second implementation. Run as a
program, it prints the differences of the seeds in its arguments:
    .venv/bin/python3 tests/run.py tests/analyze/random_check.py 12 13"""
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import analysis_answers as answers
import analysis_data
from analysis_layers import Impossible
from analysis_rules import Question
from analysis_sums import broken_sums
from random_experiments import Generator

ANALYSES = tuple(f"A{number}" for number in range(1, 16))
STATISTICS = ("trimmed:0.2",) * 5 + ("mean", "trimmed:0", "trimmed:0.35", "trimmed-each:0.2", "median", "min", "max",
                                     "p90", "p25")
MODES = ("outermost", "outermost", "innermost", "module")
FALLING = {"A5": "count", "A6": "latency_ms", "A7": "alloc_bytes", "A10": "latency_ms"}


def run(xsp, *arguments):
    done = subprocess.run([xsp, *map(str, arguments)], capture_output=True, timeout=600)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


class Check:
    """`tally` counts what was seen, so that a test can see that it has met everything."""

    def __init__(self, xsp, folder, analyses=ANALYSES, stat=None, mode=None):
        self.xsp, self.folder, self.analyses, self.stat, self.mode = xsp, pathlib.Path(folder), analyses, stat, mode
        self.tally = collections.Counter()

    def differences(self, seed):
        """[(the command, what differs)]"""
        self.experiment = Generator(seed).experiment
        source, self.path = self.folder / f"{seed}.jsonl", self.folder / f"{seed}.xsp"
        source.write_text(analysis_data.to_otlp(self.experiment))
        status, _, stderr = run(self.xsp, "import", source, "-o", self.path, "--force")
        if status != 0:
            return [(f"import {source}", stderr)]
        choose, found = random.Random(f"options {seed}"), []
        for analysis in ANALYSES:
            options = {"stat": choose.choice(STATISTICS), "mode": choose.choice(MODES),
                       "basis": choose.choice((None,) * 5 + ("host", "device")),
                       "threshold": choose.choice((5, 5, 5, 0.5, 50)), "is_partial": choose.random() < 0.2}
            options |= {key: value for key, value in (("stat", self.stat), ("mode", self.mode)) if value}
            # Which batch size has modules is not asked.
            batches = [self.experiment.runs[at].batch for at in (0, -1)]
            batch = choose.choice(batches if options["mode"] == "module" else [None, *batches])
            if analysis in self.analyses:
                command = self.command(analysis, batch, options)
                found += [(f"seed {seed}: {' '.join(map(str, command))}", text)
                          for text in self.compare(command, analysis, batch, options)]
        return found

    def command(self, analysis, batch, options):
        return ["analyze", analysis, self.path, "--json", "--stat", options["stat"], "--layer", options["mode"],
                "--asynchronous-threshold", options["threshold"],
                *(["--partial-metrics"] if options["is_partial"] else []),
                *(["--batch", batch] if batch is not None and analysis not in ("A1", "A15") else []),
                *(["--latency-basis", options["basis"]] if options["basis"] else [])]

    def compare(self, command, analysis, batch, options):
        status, out, stderr = run(self.xsp, *command)
        got = json.loads(out) if status == 0 else None
        try:
            rows, summary = answers.answer(analysis, self.experiment, batch, got, **options)
        except Impossible:
            self.tally[analysis, "impossible"] += 1
            is_right = (status, out) == (1, b"") and len(stderr.splitlines()) == 1
            return [] if is_right else [f"status {status}, not 1: {stderr}"]
        if status != 0:
            return [f"status {status}, not 0: {stderr.strip()}"]
        self.count(analysis, got, options)
        found = answers.differences(analysis, got, rows, summary)
        if analysis in ("A2", "A3", "A11", "A13") and rows:
            question, levels = Question(self.experiment, got["run_set"]["batch_size"], **options), got["run_set"]["levels"]
            if not answers.is_in_order(question, levels, answers.match(analysis, got["rows"], rows)):
                found.append(f"rows are not in execution order: {got['rows']}")
        if options["stat"].partition(":")[0] in ("trimmed", "mean"):
            found += broken_sums(analysis, got)
        values = [row[FALLING[analysis]] for row in got["rows"]] if analysis in FALLING else []
        known = [value for value in values if value is not None]
        if known != sorted(known, reverse=True) or None in values[:len(known)]:
            found.append(f"{FALLING[analysis]} does not fall: {values}")
        return found

    def count(self, analysis, got, options):
        self.tally[analysis] += len(got["rows"])
        self.tally[options["stat"]] += 1
        for row in got["rows"][:1]:
            self.tally[row.get("latency_basis")] += 1
            self.tally[row.get("latency_from")] += 1


def main():
    """The experiments stay in the folder."""
    folder = tempfile.mkdtemp(prefix="xsp-random-")
    print(folder)
    for seed in map(int, sys.argv[1:]):
        for command, text in Check(pathlib.Path(os.environ["XSP_BUILD"]) / "xsp", folder).differences(seed):
            print(f"{command}\n    {text}")


if __name__ == "__main__":
    main()
