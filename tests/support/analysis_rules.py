# SPDX-License-Identifier: Apache-2.0
"""The rules that all analyses share, a second time and straight from the definitions (docs/analyses.md): statistics,
observations, which run set answers, how layers and kernels are paired. Slow and plain on purpose.

analysis_layers.py and analysis_kernels.py have A1 to A15. Experiments are those of analysis_data.py."""
import collections
import fractions
import functools
import math
import re

DEPTH = {"A": 0, "M": 1, "L": 2, "Lib": 3, "K": 4}
METRICS = ("flops", "dram_read_bytes", "dram_write_bytes", "achieved_occupancy_pct")
PRECISIONS = ("half", "single", "double", "tensor")


def mean(values):
    return math.fsum(values) / len(values)


def over(part, whole):
    """A zero denominator gives null first."""
    return None if part is None or whole is None or not whole > 0 else part / whole


def percent(part, whole):
    share = over(part, whole)
    return None if share is None else share * 100


def difference_ms(a, b):
    """Between two runs: negative is null; under half a nanosecond it is 0."""
    if a is None or b is None:
        return None
    return 0 if abs(a - b) < 0.5e-6 else a - b if a > b else None


def total(values):
    """Absent and unmeasured add 0; null where there is nothing at all."""
    known = [value for value in values if value is not None]
    return math.fsum(known) if known else None


# ---- statistics --------------------------------------------------------------------------------------------------------
class Statistic:
    """--stat. The default trims observations by 0.2; median, min, max, pNN and trimmed-each:F work value by value."""

    def __init__(self, text="trimmed:0.2"):
        self.name, _, fraction = text.partition(":")
        self.fraction = fractions.Fraction(fraction) if fraction else fractions.Fraction(0)
        self.is_by_value = self.name not in ("trimmed", "mean")

    def cut(self, ordered):
        """n < 3: keep all; n = 3: the middle one; else drop floor(F n) at each end; F = 0 keeps all."""
        if self.fraction == 0 or len(ordered) < 3:
            return ordered
        drop = 1 if len(ordered) == 3 else math.floor(self.fraction * len(ordered))
        return ordered[drop:len(ordered) - drop]

    def keep(self, observations):
        """In order of latency; ties by run, then observation."""
        return self.cut(sorted(observations, key=lambda one: (one.ns, one.run.number, one.number)))

    def of(self, values):
        """Of one value over the observations in which it occurs."""
        values = sorted(values)
        if not values:
            return None
        if self.name == "trimmed-each":
            return mean(self.cut(values))
        ranks = {"min": 0, "median": fractions.Fraction(1, 2), "max": 1}
        part = ranks[self.name] if self.name in ranks else fractions.Fraction(int(self.name[1:]), 100)
        rank = part * (len(values) - 1)
        low = math.floor(rank)
        high = min(low + 1, len(values) - 1)
        return values[low] + (values[high] - values[low]) * float(rank - low)


def spread(values):
    """n, min, max and cv over all observations that are no warm-up in which the value occurs."""
    values = [value for value in values if value is not None]
    cv = None
    if len(values) > 1 and mean(values) > 0:
        middle = mean(values)
        cv = math.sqrt(math.fsum((value - middle)**2 for value in values) / (len(values) - 1)) / middle * 100
    return {"n": len(values), "min_ms": min(values, default=None), "max_ms": max(values, default=None), "cv_pct": cv}


# ---- intervals ---------------------------------------------------------------------------------------------------------
def merge(intervals):
    """Disjoint, in order."""
    merged = []
    for start, end in sorted(pair for pair in intervals if pair[0] < pair[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def length(intervals):
    return sum(end - start for start, end in merge(intervals))


def within(intervals, outer):
    return [(max(start, first), min(end, last)) for start, end in merge(intervals) for first, last in merge(outer)
            if max(start, first) < min(end, last)]


def without(intervals, taken):
    """|intervals \\ taken|, ns."""
    return length(intervals) - length(within(intervals, taken))


# ---- observations ------------------------------------------------------------------------------------------------------
class Observation:
    """One outermost model span; in a run without any, all of its spans. `spans`: what belongs to it."""

    def __init__(self, run, number, start, end, span=None):
        self.run, self.number, self.start, self.end, self.span = run, number, start, end, span
        self.is_warmup = bool(span and span.tags.get("warmup"))
        self.ns, self.ms = end - start, (end - start) / 1e6
        self.spans = []


def observations_of(run):
    if run.recorded is not None:
        found = [Observation(run, number, start, end, span) for number, start, end, span in run.recorded]
        return give_spans(run, found) if found and found[0].span else with_everything(run, found)
    models = [span for span in run.spans if span.level == "model"
              and all(above is span or above.level != "model" for above in span.ancestors())]
    if not run.spans:
        return []
    if not models:
        start, end = min(span.start for span in run.spans), max(span.end for span in run.spans)
        return with_everything(run, [Observation(run, 0, start, end)])
    models.sort(key=lambda span: (span.start, span.row))
    return give_spans(run, [Observation(run, number, span.start, span.end, span) for number, span in enumerate(models)])


def with_everything(run, found):
    for one in found:
        one.spans = run.spans
    return found


def give_spans(run, found):
    for span in run.spans:
        if (mine := observation_of(span, found)) is not None:
            mine.spans.append(span)
    return found


def observation_of(span, found):
    """That of its nearest ancestor; an execution without one: that of its launch; else the latest that it starts in."""
    for above in span.ancestors():
        for observation in found:
            if observation.span is above:
                return observation
    if span.launch is not None:
        return observation_of(span.launch, found)
    inside = [one for one in found if one.start <= span.start < one.end]
    return max(inside, key=lambda one: one.start, default=None)


# ---- layers and kernels of one observation -----------------------------------------------------------------------------
def in_order(spans):
    """Execution order: by start, longer first, then file order."""
    return sorted(spans, key=lambda span: (span.start, -span.ns, span.row))


WRAPPER = re.compile(r"autograd::engine::evaluate_function: |nn\.Module: |Torch-Compiled Region|TorchDynamo Cache Lookup")


@functools.cache
def wrappers(run):
    """Layers that only wrap others: by name, where there are layers in them."""
    around = [next((above for above in span.ancestors() if above is not span and above.level == "layer"), None)
              for span in run.spans if span.level == "layer"]
    return {span for span in around if span is not None and WRAPPER.match(span.name)}


def layer_of(run, span, mode):
    """What a span's time belongs to: the topmost layer above it that is no wrapper, the nearest, or the nearest module; itself
    included."""
    layers = [above for above in span.ancestors() if above.level == "layer"]
    if mode == "module":
        layers = [above for above in layers if above.category == "module"]
    elif mode == "outermost":
        layers = [above for above in layers if above not in wrappers(run)]
    return None if not layers else layers[-1] if mode == "outermost" else layers[0]


def is_device_work(span):
    return span.level == "kernel" and span.kind != "launch" and span.category in ("kernel", "memcpy", "memset")


Layer = collections.namedtuple("Layer", "key position span host_ns device_ns rest_ns gpu_ns executed")
Kernel = collections.namedtuple("Kernel", "key place layer span")


class Observed:
    """Layers and kernels of an observation by the keys that pair them with those of other observations."""

    def __init__(self, observation, mode, has_layers):
        self.run, self.number, self.ns, self.ms = (observation.run, observation.number, observation.ns, observation.ms)
        self.start, self.end, self.mode = observation.start, observation.end, mode
        self.layers, self.kernels, self.work = [], [], work_by_layer(observation.run, mode)
        keys, seen = {}, collections.Counter()
        for position, span in enumerate(in_order([span for span in observation.spans if span.level == "layer"])):
            if layer_of(self.run, span, mode) is not span:
                continue
            # (index, name); without an index the name; equal ones are told apart by occurrence.
            pair = (span.tags.get("layer_index"), span.name)
            keys[span] = (*pair, seen[pair])
            seen[pair] += 1
            self.layers.append(self.layer(keys[span], position, span))
        self.executions = [(layer.span, layer.executed) for layer in self.layers]
        ordinals = collections.Counter()
        work = in_order([span for span in observation.spans if is_device_work(span)])
        self.device_ns = length(times(work))
        for span in work:
            if span.category == "kernel":
                layer = keys.get(layer_of(self.run, span, mode)) if has_layers else None
                self.kernels.append(Kernel((layer, ordinals[layer], span.name), (ordinals["all"], span.name), layer,
                                           span))
                ordinals[layer] += 1
                ordinals["all"] += 1

    def layer(self, key, position, span):
        host = host_intervals(self.run, span, self.mode)
        mine = self.work.get(span, [])
        executed = [one for one in mine if one.kind == "execution"]
        # Executions of all layers of its process in the run, also of other observations.
        busy = [(one.start, one.end) for layer, work in self.work.items() for one in work
                if one.kind == "execution" and layer is not None and layer.track.process == span.track.process]
        return Layer(key, position, span, length(host), length(times(executed)), without(host, busy),
                     length(times(mine)), executed)


def times(spans):
    return [(span.start, span.end) for span in spans]


@functools.cache
def work_by_layer(run, mode):
    found = collections.defaultdict(list)
    for span in run.spans:
        if is_device_work(span):
            found[layer_of(run, span, mode)].append(span)
    return found


def busy_intervals(run, mode):
    """Of all layers of a run, in an observation or not: their time on the host, and their executions."""
    layers = [span for span in run.spans if span.level == "layer" and layer_of(run, span, mode) is span]
    return times(layers + [one for layer, work in work_by_layer(run, mode).items() for one in work
                           if layer is not None and one.kind == "execution"])


def host_intervals(run, span, mode):
    """Its interval; innermost and module: without the layers nested in it on its track, in an observation or not."""
    nested = []
    if mode != "outermost":
        nested = [(other.start, other.end) for other in run.spans if other.level == "layer" and other is not span
                  and layer_of(run, other, mode) is other and span in other.ancestors() and other.track == span.track]
    pieces, at = [], span.start
    for start, end in merge(nested):
        pieces.append((at, min(start, span.end)))
        at = max(at, end)
    return merge(pieces + [(at, span.end)])


# ---- which run set answers ---------------------------------------------------------------------------------------------
def names_of(levels):
    return levels.removesuffix("+metrics").removesuffix("@serial").split("/")


class RunSet:
    """Runs of one configuration: their observations that are no warm-up, and which of them the statistic keeps."""

    def __init__(self, levels, runs, mode, statistic):
        self.levels, self.runs, self.mode, self.statistic = levels, runs, mode, statistic
        self.has_layers = "L" in names_of(levels)
        self.observations = [Observed(one, mode, self.has_layers) for run in runs for one in observations_of(run)
                             if not one.is_warmup]
        self.kept = statistic.keep(self.observations)
        if statistic.is_by_value:
            self.kept = self.observations

    def figure(self, values):
        """Of a value per observation, None where it does not occur. By default the mean over what is kept, absent = 0."""
        if self.statistic.is_by_value:
            return self.statistic.of([value for value in values if value is not None])
        if all(value is None for value in values):
            return None
        return mean([value or 0 for one, value in zip(self.observations, values) if one in self.kept])

    def presence(self, values, wanted=("present", "occurrence_ms", "partial")):
        """`present` counts kept observations in which it occurs; a row that is not in every observation is partial."""
        there = [value for one, value in zip(self.observations, values) if one in self.kept and value is not None]
        found = {"present": len(there), "occurrence_ms": mean(there) if there else None,
                 "partial": any(value is None for value in values)}
        return {key: found[key] for key in wanted}

    def model_ms(self):
        has_model = "M" in names_of(self.levels)
        return self.figure([one.ms for one in self.observations]) if has_model else None


def rank(levels, named):
    """The level rule: without metrics, the shallowest, the named sets in their order, the fewest levels."""
    plain = levels.removesuffix("+metrics")
    names = names_of(levels)
    return (levels.endswith("+metrics"), max(DEPTH[name] for name in names),
            named.index(plain) if plain in named else len(named), len(names))


class Question:
    """One batch size of an experiment under the options of `xsp analyze`; remembers the sets it made."""

    def __init__(self, experiment, batch, mode="outermost", stat="trimmed:0.2", basis=None, threshold=5, is_partial=False):
        self.experiment, self.batch, self.mode, self.statistic = experiment, batch, mode, Statistic(stat)
        self.basis, self.threshold, self.is_partial, self.made = basis, threshold, is_partial, {}

    def levels(self):
        """Level sets of this batch size that have an observation."""
        return {run.levels for run in self.experiment.runs if run.batch == self.batch
                and any(not one.is_warmup for one in observations_of(run))}

    def make(self, levels):
        if levels is not None and levels not in self.made:
            runs = [run for run in self.experiment.runs if run.batch == self.batch and run.levels == levels]
            self.made[levels] = RunSet(levels, runs, self.mode, self.statistic)
        return self.made.get(levels)

    def answering(self, needed, named, rank=rank):
        """The set whose times answer. Serialised sets are not part of the rule."""
        fitting = [levels for levels in self.levels() if set(needed) <= set(names_of(levels)) and "@" not in levels]
        return self.make(min(fitting, key=lambda levels: rank(levels, named), default=None))

    def model_kernel_set(self):
        """A15's: one with a model level, if there is any without metrics."""
        def with_models_first(levels, named):
            first, *rest = rank(levels, named)
            return (first, "M" not in names_of(levels), *rest)
        return self.answering(["K"], ["M/K", "M/L/K"], with_models_first)

    def model_set(self):
        return self.answering(["M"], ["M"])

    def model_ms(self):
        found = self.model_set()
        return found and found.model_ms()

    def kernel_set(self):
        return self.answering(["K"], ["M/L/K", "M/K"])

    def layer_kernel_set(self):
        return self.answering(["L", "K"], ["M/L/K"])

    def metric_set(self, latency_set):
        """The one with the latency set's levels, else M/L/K before M/K."""
        wanted = latency_set.levels.removesuffix("+metrics")
        found = [levels for levels in self.levels() if levels.endswith("+metrics") and "K" in names_of(levels)
                 and ("@" not in levels or levels == wanted + "+metrics")]
        return self.make(min(found, key=lambda levels: rank(levels, [wanted, "M/L/K", "M/K"]), default=None))
