# SPDX-License-Identifier: Apache-2.0
"""A8, A10, A11, A13 and A15 a second time, straight from the definitions (docs/analyses.md), over the rows of `xsp sql`.
Slow and plain on purpose: linear searches where the C code sorts and hashes."""
import collections
import json
import math
import subprocess

METRICS = ("flops", "dram_read_bytes", "dram_write_bytes", "achieved_occupancy_pct")
PRECISIONS = ("half", "single", "double", "tensor")


# ---- statistics --------------------------------------------------------------------------------------------------------
def statistic(values, name):
    values = sorted(values)
    if not values:
        return None
    mean = lambda part: math.fsum(part) / len(part)
    if name == "mean":
        return mean(values)
    if name == "median":
        return mean(values[(len(values) - 1) // 2:len(values) // 2 + 1])
    if name in ("min", "max"):
        return values[0] if name == "min" else values[-1]
    if name.startswith("p"):
        rank = int(name[1:]) / 100 * (len(values) - 1)
        low = math.floor(rank)
        high = min(low + 1, len(values) - 1)
        return values[low] + (values[high] - values[low]) * (rank - low)
    cut = len(values) * 2 // 10
    return values[1] if len(values) == 3 else mean(values if len(values) < 3 else values[cut:len(values) - cut])


def spread(values):
    mean = math.fsum(values) / len(values) if values else None
    cv = None
    if len(values) > 1 and mean:
        cv = math.sqrt(math.fsum((value - mean)**2 for value in values) / (len(values) - 1)) / mean * 100
    return {"n": len(values), "min_ms": min(values, default=None), "max_ms": max(values, default=None), "cv_pct": cv}


def over(part, whole):
    return None if part is None or whole is None or not whole > 0 else part / whole


def difference(a, b):
    if a is None or b is None:
        return None
    return 0 if abs(a - b) < 0.5e-6 else a - b if a > b else None


# ---- what a file holds -------------------------------------------------------------------------------------------------
class File:
    def __init__(self, xsp, path, experiment_id=1):
        def sql(query):
            return json.loads(subprocess.run([xsp, "sql", path, query, "--json"], check=True, capture_output=True,
                                             timeout=60).stdout)
        self.runs = sql(f"select * from run where experiment_id = {experiment_id} order by run_id")
        self.system = {row["key"]: row["value"] for row in sql(
            f"select key, value from system join experiment using (system_id) where experiment_id = {experiment_id}")}
        spans = collections.defaultdict(list)
        for row in sql("select * from span"):
            spans[row["run_id"]].append(row)
        observations = collections.defaultdict(list)
        for row in sql("select * from observation order by run_id, observation"):
            observations[row["run_id"]].append(row)
        tags = collections.defaultdict(dict)
        for row in sql("select * from tag"):
            tags[row["run_id"], row["span_id"]][row["key"]] = row["value"]
        for run in self.runs:
            run["spans"], run["observations"] = spans[run["run_id"]], observations[run["run_id"]]
            run["by_id"] = {span["span_id"]: span for span in run["spans"]}
            for row, span in enumerate(run["spans"]):
                span["row"], span["tags"] = row, tags[run["run_id"], span["span_id"]]
            if run["batch_size"] is None and run["observations"]:
                first = run["by_id"].get(run["observations"][0]["span_id"])
                run["batch_size"] = first and first["tags"].get("batch_size")

    def sets(self, batch, level, without_metrics=False):
        """Configurations of a batch size that have the level and an observation."""
        found = collections.defaultdict(list)
        for run in self.runs:
            levels, metrics = run["levels"].removesuffix("+metrics"), run["levels"].endswith("+metrics")
            if run["batch_size"] == batch and set(level) <= set(levels.split("/")) and not (metrics and without_metrics):
                found[run["levels"]].append(run)
        return {levels: runs for levels, runs in found.items()
                if any(not row["warmup"] for run in runs for row in run["observations"])}

    def batches(self):
        return sorted({run["batch_size"] for run in self.runs}, key=lambda batch: batch or 0)


DEPTH = {"A": 0, "M": 1, "L": 2, "Lib": 3, "K": 4}


def choose(sets, order):
    """The set that answers: without metrics, the shallowest, the first of `order`, the fewest levels."""
    def rank(levels):
        names = levels.removesuffix("+metrics").split("/")
        plain = "/".join(names)
        return (levels.endswith("+metrics"), max(DEPTH[name] for name in names),
                order.index(plain) if plain in order else len(order), len(names))
    return min(sets, key=rank, default=None)


# ---- one observation ---------------------------------------------------------------------------------------------------
def in_order(spans):
    return sorted(spans, key=lambda span: (span["start_ns"], -(span["duration_ns"] or 0), span["row"]))


def union_ns(intervals):
    total, reach = 0, -math.inf
    for start, end in sorted(intervals):
        total += max(0, end - max(start, reach))
        reach = max(reach, end)
    return total


def observe(run, number, mode, has_layers):
    """The layers and kernels of one observation: [(key, layer)], [(key, kernel)], in order of start."""
    by_id = run["by_id"]
    here = [span for span in run["spans"] if span["observation"] == number and not span["is_open"]]
    above = lambda span: by_id.get(by_id[span["parent_id"]]["layer_id"]) if span["parent_id"] else None

    def counts(span):
        return {"outermost": above(span) is None, "innermost": True, "module": span["category"] == "module"}[mode]

    def counted(span):  # what a layer counts as
        while span is not None and not counts(span):
            span = above(span)
        return span

    layers, seen = {}, collections.Counter()
    for position, span in enumerate(in_order([span for span in here if span["level"] == "layer"])):
        if not counts(span):
            continue
        index = span["tags"].get("layer_index")
        key = ("named", span["name"]) if index is None else ("indexed", index, span["name"])
        layers[span["span_id"]] = {"key": (*key, seen[key]), "span": span, "name": span["name"],
                                   "index": position if index is None else index,
                                   "type": span["tags"].get("layer_type"), "latency_ms": span["duration_ns"] / 1e6}
        seen[key] += 1
    if mode != "outermost":
        for span_id, layer in layers.items():
            span = layer["span"]
            end = span["start_ns"] + span["duration_ns"]
            nested = [(max(inner["span"]["start_ns"], span["start_ns"]),
                       min(inner["span"]["start_ns"] + inner["span"]["duration_ns"], end))
                      for inner in layers.values() if inner is not layer and above(inner["span"]) is not None
                      and counted(above(inner["span"])) is span and inner["span"]["track_id"] == span["track_id"]]
            layer["latency_ms"] = (span["duration_ns"] - union_ns([pair for pair in nested if pair[0] < pair[1]])) / 1e6
    device, kernels, ordinals = [], [], collections.Counter()
    for span in in_order([span for span in here if span["level"] == "kernel" and span["kind"] != "launch" and
                          span["category"] in ("kernel", "memcpy", "memset")]):
        layer = by_id.get(span["layer_id"])
        layer = layer and counted(layer)
        layer = layer and layers.get(layer["span_id"])
        device.append((layer and layer["key"], span["start_ns"], span["end_ns"]))
        if span["category"] == "kernel":
            place = layer and layer["key"]
            group = place if has_layers else None
            kernels.append({"key": (group, ordinals[group], span["name"]), "place": (ordinals["all"], span["name"]),
                            "name": span["name"], "layer": place, "ns": span["duration_ns"],
                            "tags": span["tags"]})
            ordinals[group] += 1
            ordinals["all"] += 1
    return {"layers": list(layers.values()), "kernels": kernels, "device": device}


def observe_set(runs, mode, has_layers):
    return [observe(run, row["observation"], mode, has_layers) for run in runs for row in run["observations"]
            if not row["warmup"]]


def order_of(observations, what):
    """Execution order: that of the observation with most of them; others come after their predecessors."""
    order = []
    fullest = max(observations, key=lambda observation: len(observation[what]), default=None)
    for observation in ([fullest] if fullest else []) + [other for other in observations if other is not fullest]:
        at = 0
        for item in observation[what]:
            if item["key"] not in order:
                order.insert(at, item["key"])
            at = order.index(item["key"]) + 1
    return order


def metric(tags, name):
    value = tags.get(name)
    if name == "flops" and not isinstance(value, (int, float)):
        parts = [tags[f"flops_{precision}"] for precision in PRECISIONS if f"flops_{precision}" in tags]
        return sum(parts) if parts else None
    return value if isinstance(value, (int, float)) else None


# ---- the analyses ------------------------------------------------------------------------------------------------------
class Kernels:
    """All that is known of one batch size."""

    def __init__(self, file, batch, use, mode="outermost", stat="trimmed:0.2"):
        self.file, self.batch, self.stat = file, batch, stat
        sets = file.sets(batch, ["L", "K"] if use == "layer" else ["K"])
        order = ["M/K", "M/L/K"] if use == "model" else ["M/L/K", "M/K"]
        if use == "model" and not any(plain in sets for plain in order):
            order += sorted(levels.removesuffix("+metrics") for levels in sets if "M" in levels.split("/"))
        self.levels = choose(sets, order)
        metric_sets = {levels: runs for levels, runs in file.sets(batch, ["K"]).items() if levels.endswith("+metrics")}
        self.metric_levels = choose(metric_sets, [self.levels.removesuffix("+metrics"), *order])
        has_layers = "L" in self.levels.split("/")
        self.observations = observe_set(sets[self.levels], mode, has_layers)
        self.metric_observations = []
        if self.metric_levels:
            metric_has = "L" in self.metric_levels.removesuffix("+metrics").split("/")
            self.metric_observations = observe_set(metric_sets[self.metric_levels], mode, has_layers and metric_has)
            if has_layers and not metric_has:
                self.join_by_place()
        self.layer_levels = choose(file.sets(batch, ["L"]), ["M/L"]) if use == "layer" else None
        self.layer_observations = observe_set(file.sets(batch, ["L"])[self.layer_levels], mode, False) \
            if self.layer_levels else []
        models = file.sets(batch, ["M"])
        self.model_levels = choose(models, ["M"])
        self.model_ms = self.reduce([row["duration_ns"] / 1e6 for run in models.get(self.model_levels, ())
                                     for row in run["observations"] if not row["warmup"]])
        self.measured = {name for observation in self.metric_observations for kernel in observation["kernels"]
                         for name in METRICS if metric(kernel["tags"], name) is not None}
        self.kernel_ms = {key: self.reduce([kernel["ns"] / 1e6 for observation in self.observations
                                            for kernel in observation["kernels"] if kernel["key"] == key])
                          for key in order_of(self.observations, "kernels")}

    def join_by_place(self):
        fullest = max(self.observations, key=lambda observation: len(observation["kernels"]))
        places = {kernel["place"]: kernel for kernel in fullest["kernels"]}
        for observation in self.metric_observations:
            for kernel in observation["kernels"]:
                partner = places.get(kernel["place"])
                kernel["layer"] = partner["layer"] if partner else None
                kernel["key"] = partner["key"] if partner else ("place", *kernel["place"])

    def reduce(self, values):
        return statistic([value for value in values if value is not None], self.stat)

    def group(self, belongs, is_there=None, metric_is_there=None, weighed=True):
        """count, latency and metrics of the kernels for which `belongs`; is_there: a group that may be empty."""
        sums, calls = [], []
        for observation in self.observations:
            mine = [kernel for kernel in observation["kernels"] if belongs(kernel)]
            if mine or (is_there and is_there(observation)):
                sums.append(sum(kernel["ns"] for kernel in mine) / 1e6)
                calls.append(len(mine))
        found = {"count": self.reduce(calls), "latency_ms": self.reduce(sums), **spread(sums)}
        for name in METRICS:
            values = []
            for observation in self.metric_observations:
                mine = [kernel for kernel in observation["kernels"] if belongs(kernel)]
                there = mine or (metric_is_there or is_there or (lambda _: False))(observation)
                figures = [metric(kernel["tags"], name) for kernel in mine]
                if not there or None in figures or len(mine) < min(calls, default=0) or name not in self.measured:
                    continue
                if name == "achieved_occupancy_pct" and (weighed or not mine):
                    weights = [self.kernel_ms.get(kernel["key"]) for kernel in mine]
                    pairs = [(figure, weight) for figure, weight in zip(figures, weights) if weight is not None]
                    values.append(over(math.fsum(figure * weight for figure, weight in pairs),
                                       math.fsum(weight for _, weight in pairs)))
                else:
                    values.append(math.fsum(figures))
            found[name] = self.reduce(values)
        return found

    def under_roof(self, row, latency_ms):
        peak, bandwidth = (self.file.system.get(key) for key in ("peak_flops_per_s", "memory_bandwidth_bytes_per_s"))
        read, written = row["dram_read_bytes"], row["dram_write_bytes"]
        moved = None if read is None or written is None else read + written
        row["arithmetic_intensity"] = over(row["flops"], moved)
        row["arithmetic_throughput_flops_per_s"] = over(row["flops"], latency_ms and latency_ms / 1e3)
        row["bound"] = None
        if row["arithmetic_intensity"] is not None and peak and bandwidth:
            row["bound"] = "memory" if row["arithmetic_intensity"] < peak / bandwidth else "compute"
        return row

    def outside(self):
        groups = [[kernel["ns"] for kernel in observation["kernels"] if kernel["layer"] is None]
                  for observation in self.observations]
        return {"kernels_without_layer": self.reduce([len(group) for group in groups]),
                "kernels_without_layer_ms": self.reduce([sum(group) / 1e6 for group in groups])}

    def gpu_ms(self, layer=None):
        found = []
        for observation in self.observations:
            if layer is None or any(item["key"] == layer for item in observation["layers"]):
                found.append(union_ns([(start, end) for place, start, end in observation["device"]
                                       if layer is None or place == layer]) / 1e6)
        return self.reduce(found)

    def layers(self):
        """The layers of the kernels' set in execution order, each as it was seen first."""
        everywhere = [*self.observations]
        every = self.observations + [other for other in (self.metric_observations + self.layer_observations)]
        for key in order_of(everywhere, "layers"):
            seen = [layer for observation in every for layer in observation["layers"] if layer["key"] == key]
            fullest = max(self.observations, key=lambda observation: len(observation["layers"]))
            first = next((layer for layer in fullest["layers"] if layer["key"] == key), seen[0])
            types = [layer["type"] for layer in ([first] + seen) if layer["type"] is not None]
            latency = self.reduce([layer["latency_ms"] for observation in self.layer_observations
                                   for layer in observation["layers"] if layer["key"] == key])
            yield key, {"layer_index": first["index"], "layer_name": first["name"],
                        "layer_type": types[0] if types else None, "layer_latency_ms": latency}

    # ---- rows ----------------------------------------------------------------------------------------------------------
    def a8(self):
        layers = {layer["key"]: layer for observation in reversed(self.observations) for layer in observation["layers"]}
        fullest = max(self.observations, key=lambda observation: len(observation["layers"]), default=None)
        layers.update({layer["key"]: layer for layer in (fullest["layers"] if fullest else ())})
        rows = []
        for key in order_of(self.observations, "kernels"):
            kernel = next(kernel for observation in self.observations for kernel in observation["kernels"]
                          if kernel["key"] == key)
            layer = layers.get(kernel["layer"]) if kernel["layer"] else None
            row = self.group(lambda other: other["key"] == key, weighed=False)
            row |= {"kernel_name": kernel["name"], "layer_index": layer and layer["index"],
                    "layer_name": layer and layer["name"]}
            del row["count"]
            rows.append(self.under_roof(row, row["latency_ms"]))
        return rows, {"kernels": len(rows), "kernels_under_1ms": sum(row["latency_ms"] < 1 for row in rows),
                      "distinct_names": len({row["kernel_name"] for row in rows})}

    def a10(self):
        rows = []
        for name in {kernel["name"] for observation in self.observations for kernel in observation["kernels"]}:
            row = self.group(lambda kernel: kernel["name"] == name)
            row |= {"kernel_name": name, "latency_pct": None}
            share = over(row["latency_ms"], self.model_ms)
            row["latency_pct"] = None if share is None else share * 100
            rows.append(self.under_roof(row, row["latency_ms"]))
        rows.sort(key=lambda row: (-row["latency_ms"], row["kernel_name"].encode()))
        return rows, {"model_latency_ms": self.model_ms}

    def has(self, key):
        return lambda observation: any(layer["key"] == key for layer in observation["layers"])

    def a11(self):
        rows = []
        metric_has = "L" in (self.metric_levels or "").removesuffix("+metrics").split("/")
        for key, layer in self.layers():
            row = self.group(lambda kernel: kernel["layer"] == key, self.has(key),
                             None if metric_has else lambda _: True)
            row["kernel_latency_ms"] = row.pop("latency_ms")
            rows.append(self.under_roof(row | layer, row["kernel_latency_ms"]))
        return rows, self.outside()

    def a13(self):
        rows = []
        for key, layer in self.layers():
            row = self.group(lambda kernel: kernel["layer"] == key, self.has(key))
            gpu_ms = self.gpu_ms(key)
            share = over(gpu_ms, layer["layer_latency_ms"])
            rows.append(layer | spread([]) | {
                "kernel_latency_ms": row["latency_ms"], "gpu_latency_ms": gpu_ms,
                "non_gpu_latency_ms": difference(layer["layer_latency_ms"], gpu_ms),
                "gpu_pct": None if share is None else share * 100,
                **{name: row[name] for name in ("n", "min_ms", "max_ms", "cv_pct")}})
        return rows, self.outside()

    def a15_row(self):
        row = self.group(lambda kernel: True, lambda observation: True)
        row["kernel_latency_ms"] = row.pop("latency_ms")
        share = over(row["kernel_latency_ms"], self.model_ms)
        row |= {"batch_size": self.batch, "model_latency_ms": self.model_ms, "gpu_latency_ms": self.gpu_ms(),
                "non_gpu_latency_ms": difference(self.model_ms, self.gpu_ms()),
                "gpu_pct": None if share is None else share * 100}
        return self.under_roof(row, row["kernel_latency_ms"])


def answer(file, analysis, batch, mode="outermost", stat="trimmed:0.2"):
    """Rows and summary that `xsp analyze` must give for this batch size."""
    if analysis == "A15":
        return [Kernels(file, each, "model", mode, stat).a15_row() for each in file.batches()
                if file.sets(each, ["K"])], {}
    use = "layer" if analysis in ("A11", "A13") else "alone"
    return getattr(Kernels(file, batch, use, mode, stat), analysis.lower())()
