# SPDX-License-Identifier: Apache-2.0
"""A1 to A7 a second time, straight from the definitions (docs/analyses.md): see analysis_rules.py."""
import re

from analysis_rules import (Question, busy_intervals, difference_ms, length, observations_of, over, percent, spread,
                            total, within)

CONVOLUTION = re.compile(r"conv(?!ert|ers)", re.IGNORECASE)


class Impossible(Exception):
    """The file lacks what the analysis needs: status 1."""


# ---- A1 ----------------------------------------------------------------------------------------------------------------
def throughput_per_s(question):
    """1000 batch / latency; of predictions that overlap: predictions over the time that they cover."""
    models = question.model_set()
    if question.batch is None:
        return None
    taken = covered = 0
    for run in models.runs:
        mine = [(one.start, one.end) for one in models.observations if one.run is run]
        taken += sum(end - start for start, end in mine)
        covered += length(mine)
    if covered < taken:
        return question.batch * len(models.observations) / (covered / 1e9)
    return over(1000 * question.batch, models.model_ms())


def throughputs(experiment, **options):
    """By batch size, of those with a model level."""
    found = {}
    for batch in sorted({run.batch for run in experiment.runs}):
        question = Question(experiment, batch, **options)
        if question.model_set():
            found[batch] = throughput_per_s(question)
    return found


def optimal_batch(rates, threshold=5):
    """The smallest batch whose doubling raises throughput by at most 5 %; None: not reached."""
    return next((batch for batch in sorted(rates) if 2 * batch in rates
                 and rates[2 * batch] <= rates[batch] * (1 + threshold / 100)), None)


def default_batch(experiment, can_answer, **options):
    """The optimal batch, else that of maximum throughput; where that lacks what is needed, the best that has it. A
    serialised set can answer, but throughput is never its own."""
    rates = throughputs(experiment, **options)
    best = sorted(rates, key=lambda batch: (-rates[batch], batch))
    chosen = optimal_batch(rates) or (best[0] if best else None)
    rest = sorted({run.batch for run in experiment.runs} - set(rates))
    return next((batch for batch in [chosen, *best, *rest] if batch is not None
                 and can_answer(Question(experiment, batch, **options))), None)


def a1(experiment, **options):
    rates = throughputs(experiment, **options)
    if not rates:
        raise Impossible
    rows = {}
    known = {batch: rate for batch, rate in rates.items() if rate is not None}
    most, optimal = max(known, key=lambda batch: (known[batch], -batch), default=None), optimal_batch(known)
    for batch, rate in rates.items():
        models = Question(experiment, batch, **options).model_set()
        latencies = [one.ms for one in models.observations]
        rows[batch] = {"batch_size": batch, "latency_ms": models.model_ms(), "throughput_per_s": rate,
                       "is_optimal": optimal is not None and batch == optimal,
                       "is_maximum": most is not None and batch == most} | spread(latencies)
    # The first inference of a run without metrics, never pooled.
    cold = [one for run in experiment.runs if not run.levels.endswith("+metrics") for one in observations_of(run)
            if one.is_warmup]
    return rows, {"online_latency_ms": rows.get(1, {}).get("latency_ms"), "maximum_throughput_per_s": known.get(most),
                  "maximum_throughput_batch": most, "optimal_batch": optimal,
                  "cold_latency_ms": min(cold, key=lambda one: one.start).ms if cold else None}


# ---- which set answers for layers --------------------------------------------------------------------------------------
def asynchronous_pct(run_set, mode):
    """Share of the executions' time that is after the return of their layer."""
    late = whole = 0
    for observed in run_set.observations:
        for layer, executions in observed.executions:
            for span in executions:
                late += max(0, span.end - max(span.start, layer.end))
                whole += span.ns
    return percent(late, whole)


def is_asynchronous(question, run_set):
    share = run_set and asynchronous_pct(run_set, question.mode)
    return share is not None and share > question.threshold


def serialised_set(question):
    """Answers for layer latencies and for A13 only where the L/K set is asynchronous or missing."""
    return question.make(next((levels for levels in sorted(question.levels()) if levels.endswith("@serial")
                               and {"L", "K"} <= set(levels.removesuffix("@serial").split("/"))), None))


def layer_set(question):
    """(set, basis) of the layers' latencies."""
    deep, serial = question.layer_kernel_set(), serialised_set(question)
    if serial and (deep is None or is_asynchronous(question, deep)):
        return serial, question.basis or ("device" if is_asynchronous(question, serial) else "host")
    if question.basis == "device" or (question.basis is None and is_asynchronous(question, deep)):
        return deep, "device"
    return question.answering(["L"], ["M/L"]), "host"


class Layers:
    """The layers of the set that answers for their latencies, each as a value per observation."""

    def __init__(self, question, latencies=True):
        """Without latencies (memory, counts) the level rule's set answers."""
        self.question = question
        self.run_set, self.basis = layer_set(question) if latencies else (question.answering(["L"], ["M/L"]), "host")
        if self.run_set is None:
            raise Impossible
        self.found = by_key(self.run_set)

    def source(self):
        """What the rows say about where their latencies come from."""
        own = self.run_set.levels.split("/")[-1] == "L"  # its deepest level, without metrics
        return {"latency_from": None if own else self.run_set.levels, "latency_basis": self.basis}

    def latencies(self, key):
        """ms. Device: |U| + |H minus B|; host: the span's (innermost, module: its own time)."""
        return [layer and (layer.device_ns + layer.rest_ns if self.basis == "device" else layer.host_ns) / 1e6
                for layer in self.found[key]]

    def allocated(self, key):
        return [layer and layer.span.tags.get("alloc_bytes") for layer in self.found[key]]

    def sums(self, values_of, keys):
        """Per observation, over some layers."""
        return [total(values) for values in zip(*(values_of(key) for key in keys))]

    def sum(self, values_of, keys=None):
        keys = self.found if keys is None else keys
        return self.run_set.figure(self.sums(values_of, keys)) if keys else 0 if self.found else None

    def model_ms(self):
        """On the device basis that of the set that answers for the layers."""
        return self.run_set.model_ms() if self.basis == "device" else self.question.model_ms()

    def covered_ms(self):
        """Time within observations in which some layer is on the host or executes."""
        covered = []
        for observed in self.run_set.observations:
            busy = busy_intervals(observed.run, self.question.mode)
            covered.append(length(within(busy, [(observed.start, observed.end)])) / 1e6)
        return self.run_set.figure(covered)


def by_key(run_set):
    """{key: [layer or None per observation]}"""
    keys = {layer.key: None for observed in run_set.observations for layer in observed.layers}
    found = {key: [] for key in keys}
    for observed in run_set.observations:
        here = {layer.key: layer for layer in observed.layers}
        for key in keys:
            found[key].append(here.get(key))
    return found


def need_modules(question, keys):
    """Without any module `--layer module` cannot answer."""
    if question.mode == "module" and not keys:
        raise Impossible


def describe(key, layers):
    """`layers`: the layer in each observation, or None. Without an index any of its positions may be shown."""
    seen = [layer for layer in layers if layer is not None]

    def first(tag):
        return next((layer.span.tags[tag] for layer in seen if tag in layer.span.tags), None)

    index = key[0] if key[0] is not None else {layer.position for layer in seen}
    return {"layer_index": index, "layer_name": key[1], "layer_type": first("layer_type"),
            "layer_shape": first("layer_shape")}


# ---- A2 to A7 ----------------------------------------------------------------------------------------------------------
def a2(question):
    layers = Layers(question)
    need_modules(question, layers.found)
    rows = {}
    for key, found in layers.found.items():
        latencies = layers.latencies(key)
        rows[key] = describe(key, found) | spread(latencies) | layers.run_set.presence(latencies) | {
            "latency_ms": layers.run_set.figure(latencies), "alloc_bytes": layers.run_set.figure(layers.allocated(key))}
        rows[key] |= layers.source()
        if layers.basis == "device":
            rows[key]["host_ms"] = layers.run_set.figure([layer and layer.span.ns / 1e6 for layer in found])
    summary = {"layers": len(rows), "layers_under_1ms": sum(row["latency_ms"] < 1 for row in rows.values()),
               "sum_ms": layers.sum(layers.latencies), "model_latency_ms": layers.model_ms()}
    inner = summary["sum_ms"]
    if layers.basis == "device":
        inner = summary["covered_ms"] = layers.covered_ms()
    deciding = question.layer_kernel_set() if layers.run_set.levels != "M/L/K@serial" else layers.run_set
    summary["asynchronous_pct"] = deciding and asynchronous_pct(deciding, question.mode)
    summary["outside_layers_ms"] = difference_ms(summary["model_latency_ms"], inner)
    return rows, summary


def third_of(keys, third):
    """By position in execution order."""
    return [key for position, key in enumerate(keys) if 3 * position // len(keys) == third]


def thirds(parts, whole, prefix=""):
    shares = [percent(part, whole) for part in parts]
    known = [share for share in shares if share is not None]
    stage = "BME"[shares.index(max(known))] if known else None
    return {f"{prefix}beginning_pct": shares[0], f"{prefix}middle_pct": shares[1], f"{prefix}end_pct": shares[2],
            f"{prefix}stage": stage}


def series(question, order, name, values_name):
    """A3 and A4. `order`: gives the keys of rows in execution order."""
    layers = Layers(question, values_name == "latencies")
    need_modules(question, layers.found)
    values_of = getattr(layers, values_name)
    if layers.sum(values_of) is None and values_name == "allocated":
        raise Impossible
    rows = {}
    for key, found in layers.found.items():
        about = describe(key, found)
        presence = layers.run_set.presence(layers.latencies(key))
        rows[key] = {"layer_index": about["layer_index"], "layer_name": about["layer_name"],
                     "partial": presence["partial"], name: layers.run_set.figure(values_of(key))}
    keys = order(rows)
    parts = [layers.sum(values_of, third_of(keys, third)) if third_of(keys, third) else 0 for third in range(3)]
    return rows, thirds(parts, layers.sum(values_of))


def a3(question, order):
    rows, summary = series(question, order, "latency_ms", "latencies")
    layers = Layers(question)
    for key, row in rows.items():
        row |= spread(layers.latencies(key)) | layers.run_set.presence(layers.latencies(key)) | layers.source()
    return rows, summary


def a4(question, order):
    return series(question, order, "alloc_bytes", "allocated")


def by_type(question, name, share_name, values_name):
    """A5 to A7: per type, largest first; shares of the sum over layers."""
    layers = Layers(question, values_name == "latencies")
    need_modules(question, layers.found)
    values_of = {"counts": lambda key: [layer and 1 for layer in layers.found[key]], "latencies": layers.latencies,
                 "allocated": layers.allocated}[values_name]
    whole = layers.sum(values_of)
    if whole is None and values_name == "allocated":
        raise Impossible
    types = {}
    for key, found in layers.found.items():
        types.setdefault(describe(key, found)["layer_type"], []).append(key)
    rows = {}
    for kind, keys in types.items():
        value = layers.sum(values_of, keys)
        rows[kind] = {"layer_type": kind, name: value, share_name: percent(value, whole)}
        if values_name == "latencies":
            sums = layers.sums(values_of, keys)
            rows[kind] |= spread(sums) | layers.run_set.presence(sums, ("present", "occurrence_ms")) | layers.source()
    return layers, rows, whole


def a5(question):
    return by_type(question, "count", "count_pct", "counts")[1], {}


def a6(question):
    layers, rows, whole = by_type(question, "latency_ms", "latency_pct", "latencies")
    keys = [key for key, found in layers.found.items() if CONVOLUTION.search(describe(key, found)["layer_type"] or "")]
    convolutions = layers.sum(layers.latencies, keys) if keys else 0 if set(rows) - {None} else None
    return rows, {"convolution_pct_of_layers": percent(convolutions, whole),
                  "convolution_pct_of_model": percent(convolutions, layers.model_ms())}


def a7(question):
    return by_type(question, "alloc_bytes", "alloc_pct", "allocated")[1], {}
