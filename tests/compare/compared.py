# SPDX-License-Identifier: Apache-2.0
"""Files for tests of `xsp compare`: runs with known latencies of models and layers; and what a row must say of them, a second
time, straight from docs/compare.md and the definitions of intervals."""
import math
import sqlite3
import statistics

import interval_answers
import scripted
from interval_answers import are_pairs, plain, reach, welch

MS = 1_000_000


class Side:
    """Runs of one experiment. An observation is {layer: ms}, and "model" is its whole; layers begin one after the other."""

    def __init__(self, types=None, name="net", framework="onnxruntime", version="1.31.1", shapes=None, **system):
        self.script, self.types, self.shapes = scripted.Script(), types or {}, shapes or {}
        self.name, self.framework, self.version, self.system = name, framework, version, system
        self.experiment_id, self.run_id, self.runs = 0, 0, []
        self.next_experiment(**system)

    def next_experiment(self, framework=None, name=None, **system):
        self.experiment_id += 1
        self.script.system(**system)
        self.script.experiment(name or self.name, self.experiment_id, framework=framework or self.framework, version=self.version)

    def run(self, observations, start_ns=scripted.UNIX_START, batch=1, levels="M/L", kernels=()):
        """kernels: {(layer, kernel name): ms}, executed on a device after the layer began. Returns the end."""
        self.run_id += 1
        self.script.run(self.run_id, levels, batch, experiment_id=self.experiment_id)
        self.script.track(1, "main", run_id=self.run_id)
        self.script.track(2, "stream", thread=None, device=0, stream=7, run_id=self.run_id)
        counted, first_ns = [], start_ns
        for observation in observations:
            self.script.span("net", start_ns, round(observation["model"] * MS), run_id=self.run_id)
            at = start_ns
            for index, (layer, ms) in enumerate((layer, ms) for layer, ms in observation.items() if layer != "model"):
                place = list(self.types).index(layer) if layer in self.types else 100 + index
                tags = {"layer_index": place, "layer_type": self.types.get(layer, "Conv"),
                        **({"layer_shape": self.shapes[layer]} if layer in self.shapes else {})}
                self.script.span(layer, at, round(ms * MS), "layer", run_id=self.run_id, tags=tags)
                for number, ((of, kernel), kernel_ms) in enumerate(dict(kernels).items()):
                    if of == layer:
                        correlation = len(counted) * 1000 + index * 100 + number + 1
                        self.script.span("launch", at, 10, "kernel", "launch", run_id=self.run_id, correlation=correlation,
                                         category="api")
                        self.script.span(kernel, at + 10, round(kernel_ms * MS), "kernel", "execution", track=2,
                                         run_id=self.run_id, correlation=correlation, category="kernel")
                at += round(ms * MS)
            counted.append((start_ns, {layer: round(ms * MS) / MS for layer, ms in observation.items()}))
            start_ns += round(observation["model"] * MS) + MS
        self.runs.append((first_ns, counted))
        return start_ns

    def write(self, path):
        self.script.write(path)
        return path


# ---- what a row must say -------------------------------------------------------------------------------------------------
def figure(observations, layer, statistic):
    """The default trims observations by the model's latency; median takes the values by themselves."""
    values = [one.get(layer) for _, one in observations]
    if all(value is None for value in values):
        return None
    if statistic == "median":
        return statistics.median(value for value in values if value is not None)
    ordered = sorted(observations, key=lambda one: one[1]["model"])
    cut = 0 if statistic == "mean" or len(ordered) < 3 else 1 if len(ordered) == 3 else len(ordered) // 5
    return math.fsum(one.get(layer, 0) for _, one in ordered[cut:len(ordered) - cut]) / (len(ordered) - 2 * cut)


class Sample:
    def __init__(self, runs, layer, statistic):
        self.runs = sorted(runs, key=lambda run: run[0])
        everything = [one for _, run in runs for one in run]
        self.figure = figure(everything, layer, statistic)
        absent = None if statistic == "median" else 0
        values = [(at, one.get(layer, absent)) for at, one in sorted(everything, key=lambda one: one[0])]
        self.values = [value for value in values if value[1] is not None]
        # Of a layer, those that the figure is the mean over.
        ordered, cut = sorted(everything, key=lambda one: one[1]["model"]), 0 if statistic == "mean" else len(everything) // 5
        kept = [one.get(layer, 0) for _, one in ordered[cut:len(ordered) - cut]]
        self.kept = None if layer == "model" or statistic == "median" else kept
        figures = [(start, figure(run, layer, statistic)) for start, run in self.runs]
        self.of_runs = [(start, absent if value is None else value) for start, value in figures]
        self.of_runs = [one for one in self.of_runs if one[1] is not None]


def error_of(a, b, statistic):
    """(squared error, degrees), what it is from, and how many values the larger side has."""
    if len(a.of_runs) >= 3 and len(b.of_runs) >= 3:
        a_runs, b_runs = ([value for _, value in side.of_runs] for side in (a, b))
        count = max(len(a_runs), len(b_runs))
        if are_pairs(a.of_runs, b.of_runs):
            return plain([x - y for x, y in zip(b_runs, a_runs)]), "paired runs", count
        return welch(plain(b_runs), plain(a_runs)), "runs", count
    counts = len(a.values), len(b.values)
    if min(counts) < 2:
        return None, None, None
    def one(side):
        values = [value for _, value in side.values]
        are_many = min(counts) >= 8
        return plain(side.kept) if are_many and side.kept is not None else interval_answers.error_of(statistic, are_many)(values)
    error = welch(one(b), one(a))
    return (None, None, None) if math.isnan(error[0]) else (error, "observations", max(counts))


def expected(a_runs, b_runs, layer="model", statistic="trimmed:0.2", threshold=1, same_within=5):
    """The row of a model or layer that both sides have, without observations_needed; and the reach that would decide."""
    a, b = Sample(a_runs, layer, statistic), Sample(b_runs, layer, statistic)
    difference, least, same = b.figure - a.figure, a.figure * threshold / 100, a.figure * same_within / 100
    error, source, count = error_of(a, b, statistic)
    half = None if error is None else reach(error, 0.95)
    low, high = (None, None) if half is None else (difference - half, difference + half)
    drifts = source != "paired runs" and any(interval_answers.has_drift([(0, side.values)], same) for side in (a, b))
    if half is None or drifts:
        verdict = "not decided"
    elif low > least:
        verdict = "slower"
    elif high < -least:
        verdict = "faster"
    else:
        verdict = "same" if low > -same and high < same else "not decided"
    reason = None if verdict != "not decided" else "too few values" if half is None else "drift" if drifts else "noise"
    row = {"a_ms": a.figure, "b_ms": b.figure, "difference_ms": difference, "verdict": verdict, "interval_from": source,
           "low_pct": None if low is None else low / a.figure * 100, "high_pct": None if low is None else high / a.figure * 100,
           "reason": reason, "a_n": len(a.values), "b_n": len(b.values)}
    return row, (error, count, max(abs(difference) - least, same - abs(difference)))


# ---- histories -----------------------------------------------------------------------------------------------------------
def created(path, seconds):
    """Sets when the experiments of a file were made."""
    with sqlite3.connect(path) as database:
        database.execute("update experiment set created_ns = ?", (seconds * 10**9,))
    return path


def changes(values, threshold=1):
    """The places at which segments begin: binary segmentation, one variance for both parts, 95 % for all splits together."""
    def split(part, at):
        means = [statistics.fmean(part[:at]), statistics.fmean(part[at:])]
        squares = sum((value - means[i >= at]) ** 2 for i, value in enumerate(part))
        return means, squares / (len(part) - 2) * (1 / at + 1 / (len(part) - at))
    def find(first, part):
        if len(part) < 4:
            return []
        def size(at):
            (before, after), error = split(part, at)
            return abs(after - before) / math.sqrt(error)
        best = max(range(1, len(part)), key=size)
        (before, after), error = split(part, best)
        half = reach((error, len(part) - 2), 1 - 0.05 / (len(part) - 1))
        if abs(after - before) - half <= before * threshold / 100:
            return []
        return [*find(first, part[:best]), first + best, *find(first + best, part[best:])]
    return find(0, values)
