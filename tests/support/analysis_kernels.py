# SPDX-License-Identifier: Apache-2.0
"""A8 to A15 a second time, straight from the definitions (docs/analyses.md): see analysis_rules.py."""
from analysis_layers import (Impossible, Layers, by_key, describe, is_asynchronous, need_modules, serialised_set, thirds,
                             third_of)
from analysis_rules import METRICS, PRECISIONS, difference_ms, over, percent, spread, total

BYTES = ("dram_read_bytes", "dram_write_bytes")
OCCUPANCY = "achieved_occupancy_pct"


def metric_of(span, name):
    """flops is its own counter, else the sum over the precisions."""
    if name == "flops" and "flops" not in span.tags:
        parts = [span.tags[f"flops_{precision}"] for precision in PRECISIONS if f"flops_{precision}" in span.tags]
        return sum(parts) if parts else None
    return span.tags.get(name)


class Kernels:
    """The kernels of the set that answers for their latencies, with the metrics of the metric set."""

    def __init__(self, question, latency_set):
        if latency_set is None:
            raise Impossible
        self.question, self.run_set = question, latency_set
        self.system = question.experiment.system
        self.metric_set = question.metric_set(latency_set)
        # By layer, ordinal and name; where one of both sets has no layers by ordinal in the observation and name.
        has_layers = self.metric_set and latency_set.has_layers and self.metric_set.has_layers
        self.join = (lambda kernel: kernel.key) if has_layers else (lambda kernel: kernel.place)
        self.metrics = {name: self.means(name) for name in METRICS}
        self.measured = [name for name in METRICS if self.metric_set and any(
            metric_of(kernel.span, name) is not None for one in self.metric_set.observations for kernel in one.kernels)]

    def means(self, name):
        """{join key: the mean over the kept observations of the metric set in which it was measured, or over the others}"""
        values, others = {}, {}
        for observed in self.metric_set.observations if self.metric_set else ():
            for kernel in observed.kernels:
                if (value := metric_of(kernel.span, name)) is not None:
                    found = values if observed in self.metric_set.kept else others
                    found.setdefault(self.join(kernel), []).append(value)
        values = {**others, **values}
        by_value = self.run_set.statistic.is_by_value
        return {key: self.run_set.statistic.of(found) if by_value else sum(found) / len(found)
                for key, found in values.items()}

    def value(self, kernel, name):
        return self.metrics[name].get(self.join(kernel))

    def groups(self, belongs):
        return [[kernel for kernel in observed.kernels if belongs(kernel)] for observed in self.run_set.observations]

    def kept(self, groups):
        return [group for one, group in zip(self.run_set.observations, groups) if one in self.run_set.kept]

    # ---- figures of a group: its kernels in each observation; is_there: the group may be empty where it is true
    def latencies(self, groups, is_there=()):
        there = list(is_there) or [bool(group) for group in groups]
        return [sum(kernel.span.ns for kernel in group) / 1e6 if here or group else None
                for group, here in zip(groups, there)]

    def sum_of(self, name, groups, is_there=()):
        """Null where a kernel that is present lacks the metric (--partial-metrics: where all do), or it was never measured."""
        if name not in self.measured:
            return None
        every = [self.value(kernel, name) for group in groups for kernel in group]
        if every and all(value is None for value in every):
            return None
        there = list(is_there) or [bool(group) for group in groups]
        sums = []
        for observed, group, here in zip(self.run_set.observations, groups, there):
            values = [self.value(kernel, name) for kernel in group]
            if None in values and observed in self.run_set.kept and not self.question.is_partial:
                return None
            sums.append(sum(value or 0 for value in values) if here or group else None)
        return self.run_set.figure(sums)

    def weights(self, groups):
        """{kernel key: (a kernel, its latency)} of those that are present."""
        found = {}
        for key in {kernel.key: None for group in self.kept(groups) for kernel in group}:
            mine = [[kernel for kernel in group if kernel.key == key] for group in groups]
            found[key] = (next(kernel for group in mine for kernel in group),
                          self.run_set.figure(self.latencies(mine)))
        return found

    def occupancy(self, groups):
        """Weighted by latency; never filled with 0."""
        pairs = [(self.value(kernel, OCCUPANCY), weight) for kernel, weight in self.weights(groups).values()]
        if self.question.is_partial:
            pairs = [(value, weight) for value, weight in pairs if value is not None]
        if any(value is None for value, _ in pairs):
            return None
        return over(sum(value * weight for value, weight in pairs), sum(weight for _, weight in pairs))

    def coverage(self, groups):
        """Share of kernel time whose kernels have every metric that was measured."""
        if not self.measured:
            return None
        pairs = self.weights(groups).values()
        covered = [weight for kernel, weight in pairs
                   if all(self.value(kernel, name) is not None for name in self.measured)]
        return percent(sum(covered), sum(weight for _, weight in pairs))

    def row(self, groups, is_there=()):
        latencies = self.latencies(groups, is_there)
        row = spread(latencies) | self.run_set.presence(latencies) | {
            "latency_ms": self.run_set.figure(latencies), OCCUPANCY: self.occupancy(groups)}
        row |= {name: self.sum_of(name, groups, is_there) for name in ("flops", *BYTES)}
        if self.metric_set:
            row["metric_coverage_pct"] = self.coverage(groups)
        return row

    def count(self, groups, is_there=()):
        there = list(is_there) or [bool(group) for group in groups]
        return self.run_set.figure([len(group) if here or group else None for group, here in zip(groups, there)])

    # ---- roofs: the random experiments know single precision only
    def under_roof(self, row, latency_ms):
        peak, bandwidth = (self.system.get(key) for key in ("peak_flops_per_s", "memory_bandwidth_bytes_per_s"))
        moved = None if None in (row[BYTES[0]], row[BYTES[1]]) else row[BYTES[0]] + row[BYTES[1]]
        intensity = row.setdefault("arithmetic_intensity", over(row["flops"], moved))
        throughput = over(row["flops"], latency_ms and latency_ms / 1e3)
        row |= {"arithmetic_throughput_flops_per_s": throughput, "bound": None, "above_roof": None,
                "is_latency_bound": None, "precision": "single" if peak and row["flops"] is not None else None}
        if not peak or not bandwidth:
            return row
        if intensity is not None:
            row["bound"] = "memory" if intensity < peak / bandwidth else "compute"
            if throughput is not None:
                row["above_roof"] = throughput > min(peak, intensity * bandwidth) * (1 + 1e-9)
        rate = over(moved, latency_ms and latency_ms / 1e3)
        shares = [over(throughput, peak), over(rate, bandwidth)]
        if any(share is not None and share >= 0.05 for share in shares):
            row["is_latency_bound"] = False
        elif None not in shares:
            row["is_latency_bound"] = True
        return row

    def roofed(self, row, latency_ms):
        """Of partial sums the text leaves open which latency the throughput is over."""
        self.under_roof(row, latency_ms)
        if self.question.is_partial and row.get("metric_coverage_pct") != 100:
            for name in ("arithmetic_throughput_flops_per_s", "above_roof", "is_latency_bound", "arithmetic_intensity",
                         "bound"):
                del row[name]
        return row

    def add_roofs(self, rows):
        peak, bandwidth = (self.system.get(key) for key in ("peak_flops_per_s", "memory_bandwidth_bytes_per_s"))
        for row in rows.values():
            row |= {"peak_flops_per_s": peak, "memory_bandwidth_bytes_per_s": bandwidth,
                    "ideal_arithmetic_intensity": over(peak, bandwidth)}
        return rows

    def need_metrics(self):
        """Of those that rooflines and series show."""
        if not {"flops", *BYTES} & set(self.measured):
            raise Impossible


# ---- A8, A9, A10, A15 --------------------------------------------------------------------------------------------------
def a8(question):
    kernels = Kernels(question, question.kernel_set())
    rows = {}
    for key in {kernel.key: None for observed in kernels.run_set.observations for kernel in observed.kernels}:
        groups = kernels.groups(lambda kernel: kernel.key == key)
        layer = describe(key[0], [layer for observed in kernels.run_set.observations for layer in observed.layers
                                  if layer.key == key[0]]) if key[0] else {"layer_index": None, "layer_name": None}
        row = kernels.row(groups) | {"kernel_name": key[2], "layer_index": layer["layer_index"],
                                     "layer_name": layer["layer_name"]}
        places = {kernels.join(kernel): kernel for group in groups for kernel in group}
        if len(places) == 1:  # intensity, bound and occupancy come from the kernel's unscaled values
            unscaled = {name: kernels.metrics[name].get(*places) for name in METRICS}
            row |= {name: None for name in METRICS if unscaled[name] is None} | {OCCUPANCY: unscaled[OCCUPANCY]}
            moved = None if None in (unscaled[BYTES[0]], unscaled[BYTES[1]]) else unscaled[BYTES[0]] + unscaled[BYTES[1]]
            row["arithmetic_intensity"] = over(unscaled["flops"], moved)
        rows[key] = kernels.roofed(row, row["latency_ms"])
    return rows, {"kernels": len(rows), "kernels_under_1ms": sum(row["latency_ms"] < 1 for row in rows.values()),
                  "distinct_names": len({key[2] for key in rows})}


def a9(question):
    kernels = Kernels(question, question.kernel_set())
    kernels.need_metrics()
    rows, summary = a8(question)
    return kernels.add_roofs(rows), summary


def a10(question):
    kernels = Kernels(question, question.kernel_set())
    model_ms = question.model_ms() if question.model_set() else None
    rows = {}
    for name in {kernel.span.name for observed in kernels.run_set.observations for kernel in observed.kernels}:
        groups = kernels.groups(lambda kernel: kernel.span.name == name)
        row = kernels.row(groups) | {"kernel_name": name, "count": kernels.count(groups)}
        row["latency_pct"] = percent(row["latency_ms"], model_ms)
        rows[name] = kernels.roofed(row, row["latency_ms"])
    return rows, {"model_latency_ms": model_ms}


def a15_row(question):
    kernels = Kernels(question, question.model_kernel_set() if question.model_set() else question.kernel_set())
    model_ms = question.model_ms() if question.model_set() else None
    everywhere = [True] * len(kernels.run_set.observations)
    groups = kernels.groups(lambda kernel: True)
    row = kernels.row(groups, everywhere)
    gpu_ms = kernels.run_set.figure([one.device_ns / 1e6 for one in kernels.run_set.observations])
    row |= {"batch_size": question.batch, "model_latency_ms": model_ms, "kernel_latency_ms": row.pop("latency_ms"),
            "gpu_latency_ms": gpu_ms, "non_gpu_latency_ms": difference_ms(model_ms, gpu_ms),
            "count": kernels.count(groups, everywhere)}
    row["gpu_pct"] = percent(row["kernel_latency_ms"], model_ms)
    return kernels.roofed(row, row["kernel_latency_ms"])


# ---- A11 to A14 --------------------------------------------------------------------------------------------------------
class LayersOfKernels:
    """Layers of both sets: that of the kernels (L/K) and that of the layers' latencies. What one lacks is null."""

    def __init__(self, question):
        self.question = question
        self.kernels = Kernels(question, question.layer_kernel_set())
        self.run_set = self.kernels.run_set
        self.layers = Layers(question)
        self.found = by_key(self.run_set)
        self.keys = list(self.found) + [key for key in self.layers.found if key not in self.found]
        need_modules(question, self.keys)

    def groups(self, key):
        return self.kernels.groups(lambda kernel: kernel.layer == key)

    def is_there(self, key):
        return [layer is not None for layer in self.found[key]]

    def about(self, key):
        about = describe(key, self.found.get(key, []) + self.layers.found.get(key, []))
        del about["layer_shape"]
        values = self.layers.latencies(key) if key in self.layers.found else []
        about["layer_latency_ms"] = self.layers.run_set.figure(values) if values else None
        return about

    def outside(self):
        groups = self.kernels.groups(lambda kernel: kernel.layer is None)
        everywhere = [True] * len(groups)
        return {"kernels_without_layer": self.kernels.count(groups, everywhere),
                "kernels_without_layer_ms": self.run_set.figure(self.kernels.latencies(groups, everywhere))}


def a11(question):
    both = LayersOfKernels(question)
    rows = {}
    for key in both.keys:
        rows[key] = both.about(key)
        if key in both.found:
            groups, there = both.groups(key), both.is_there(key)
            row = both.kernels.row(groups, there) | {"count": both.kernels.count(groups, there)}
            rows[key] |= both.kernels.roofed(row, row["latency_ms"])
            rows[key]["kernel_latency_ms"] = rows[key].pop("latency_ms")
        else:
            rows[key] |= dict.fromkeys(("kernel_latency_ms", *METRICS, "arithmetic_intensity", "bound",
                                        "arithmetic_throughput_flops_per_s"))
    return rows, both.outside()


def a14(question):
    both = LayersOfKernels(question)
    both.kernels.need_metrics()
    rows, summary = a11(question)
    return both.kernels.add_roofs(rows), summary


SERIES = {"flops": ("flops",), "dram_read_bytes": BYTES[:1], "dram_write_bytes": BYTES[1:], "dram_bytes": BYTES}


def a12(question, order):
    both = LayersOfKernels(question)
    both.kernels.need_metrics()

    def figure(names, keys):
        """Of some layers that the L/K set has."""
        groups = both.kernels.groups(lambda kernel: kernel.layer in keys)
        there = [any(pair) for pair in zip(*(both.is_there(key) for key in keys))]
        parts = [both.kernels.sum_of(name, groups, there) for name in names]
        return None if None in parts else sum(parts)

    rows = {}
    for key in both.keys:
        rows[key] = both.about(key)
        del rows[key]["layer_latency_ms"]
        rows[key] |= {name: figure(names, [key]) if key in both.found else None for name, names in SERIES.items()}
    keys, summary = order(rows), {}
    for name, names in SERIES.items():
        thirds_of = [[key for key in third_of(keys, third) if key in both.found] for third in range(3)]
        parts = [figure(names, third) if third else 0 for third in thirds_of]
        summary |= thirds(parts, figure(names, list(both.found)), f"{name}_")
    return rows, summary | both.outside()


def a13(question):
    deep, serial = question.layer_kernel_set(), serialised_set(question)
    layers = Layers(question)
    if serial and (deep is None or is_asynchronous(question, deep)):
        deep = serial  # a serialised set answers for all of A13
    kernels = Kernels(question, deep)
    found = by_key(deep)
    need_modules(question, found | layers.found)
    rows = {}
    for key in list(found) + [key for key in layers.found if key not in found]:
        latencies = layers.latencies(key) if key in layers.found else []
        layer_ms = layers.run_set.figure(latencies) if latencies else None
        here = found.get(key, [])
        there = [layer is not None for layer in here]
        gpu_ms = deep.figure([layer and (layer.device_ns if layers.basis == "device" else layer.gpu_ns) / 1e6
                              for layer in here]) if here else None
        if layers.basis == "device":
            rest_ms = deep.figure([layer and layer.rest_ns / 1e6 for layer in here])
        else:
            rest_ms = difference_ms(layer_ms, gpu_ms)
        groups = kernels.groups(lambda kernel: kernel.layer == key)
        about = describe(key, here + layers.found.get(key, []))
        del about["layer_shape"]
        rows[key] = about | {
            "layer_latency_ms": layer_ms, "gpu_latency_ms": gpu_ms, "non_gpu_latency_ms": rest_ms,
            "gpu_pct": percent(gpu_ms, layer_ms),
            "kernel_latency_ms": deep.figure(kernels.latencies(groups, there)) if here else None}
        if latencies:
            rows[key] |= spread(latencies)
    groups = kernels.groups(lambda kernel: kernel.layer is None)
    everywhere = [True] * len(groups)
    layer_sum, gpu_sum = layers.sum(layers.latencies), deep.figure(gpu_sums(layers, found))
    rest_sum = difference_ms(layer_sum, gpu_sum)
    if layers.basis == "device":
        rest_sum = deep.figure([total(layer and layer.rest_ns / 1e6 for layer in column) for column in zip(*found.values())])
    return rows, {"layer_sum_ms": layer_sum, "gpu_sum_ms": gpu_sum, "non_gpu_sum_ms": rest_sum,
                  "kernels_without_layer": kernels.count(groups, everywhere),
                  "kernels_without_layer_ms": deep.figure(kernels.latencies(groups, everywhere))}


def gpu_sums(layers, found):
    return [total(layer and (layer.device_ns if layers.basis == "device" else layer.gpu_ns) / 1e6 for layer in column)
            for column in zip(*found.values())]


