# SPDX-License-Identifier: Apache-2.0
"""Random experiments for the analyses: several batch sizes, level sets and runs; warm-ups; nested, lost and extra layers;
executions that outlive their layer; metrics that are missing or belong to another kernel."""
import dataclasses
import random

from analysis_data import Experiment, Span, Track

LEVEL_SETS = ("M", "M/L", "M/K", "M/L/K", "M/L/K+metrics", "M/K+metrics", "A/M/L/Lib/K", "K", "M/L/K@serial",
              "M/L+metrics")
PATTERNS = (("M", "M/L", "M/L/K", "M/L/K+metrics"), ("M", "M/L", "M/L/K", "M/L/K@serial"), ("M/L/K",),
            ("M", "M/K", "M/L/K"), ("M", "M/L", "M/L/K", "M/L/K@serial", "M/L/K+metrics"), ("M/L/K+metrics",), ("M", "M/L"),
            ("M", "M/L/K", "M/K+metrics"), ("M/L", "A/M/L/Lib/K"),
            ("M", "M/L", "M/K", "M/K+metrics", "M/L/K", "M/L/K+metrics"))
TYPES = ("Conv2D", "Relu", "DepthwiseConv2dNative", "ConvertLike", None)


@dataclasses.dataclass
class Work:
    """What one layer launches. `work`: (name, category, ns, stream, metrics)"""
    name: str
    tags: dict
    ns: int
    is_module: bool
    is_rare: bool
    work: list
    nested: list


def joins_by_place(sets):
    """Whether kernels of a set with layers may take the metrics of one without, or the other way round."""
    deep = {levels.removesuffix("+metrics") for levels in sets if "K" in levels}
    return any(levels.endswith("+metrics") for levels in sets) and len({"L" in levels.split("@")[0].replace("Lib", "")
                                                                         for levels in deep}) > 1


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        chance = self.chance
        self.experiment = Experiment()
        if chance(0.7):
            self.experiment.system = {"peak_flops_per_s": 15.7e12, "memory_bandwidth_bytes_per_s": 900e9}
        self.noise = self.random.choice((0, 0.02, 0.3, 1))
        self.loss = self.random.choice((0, 0, 0.1, 0.3))
        self.lateness = self.random.choice((0, 0, 0.3, 1))  # how often executions outlive their layer
        self.has_indices = chance(0.6)
        self.has_modules = chance(0.5)
        self.measured = self.random.choice((1, 1, 0.97, 0.5))  # share of metrics that are measured
        self.renamed = self.random.choice((0, 0, 0.1))  # share of kernels with another name in metric runs
        self.overlaps = chance(0.15)  # predictions at M overlap
        self.processes = self.random.choice((1, 1, 1, 2))
        self.names_parents = chance(0.6)
        self.lacks = self.random.choice(((), (), ("flops",), ("achieved_occupancy_pct",)))
        shared, batches = self.random.choice(PATTERNS), self.random.choice(((1,), (1, 2), (1, 2, 4), (2, 4, 8)))
        sets_of = {batch: shared if chance(0.7) else self.random.sample(LEVEL_SETS, self.random.randint(1, 5))
                   for batch in batches}
        # A kernel's place in the observation joins sets with and without layers: it must be the same in all of them.
        self.is_regular = any(joins_by_place(sets) for sets in sets_of.values())
        if self.is_regular:
            self.loss = 0
        for batch, sets in sets_of.items():
            model = [self.layer(f"b{position}/", 0, position) for position in range(self.random.randint(1, 6))]
            outside = [self.kernel() for _ in range(self.random.choice((0, 0, 1, 2)))]
            for levels in sets:
                for _ in range(self.random.choice((1, 1, 1, 2, 3))):
                    OneRun(self, levels, batch, model, outside)

    def chance(self, share):
        return self.random.random() < share

    # ---- what every observation does
    def kernel(self):
        category = self.random.choice(("kernel",) * 8 + ("memcpy", "memset", "other"))
        metrics = {"flops": self.random.choice((0, self.random.randint(1, 10**9))),
                   "dram_read_bytes": self.random.randint(0, 10**6), "dram_write_bytes": self.random.uniform(0, 1e6),
                   "achieved_occupancy_pct": self.random.uniform(1, 100)}
        if self.chance(0.1):
            metrics |= {"flops_single": metrics.pop("flops") // 2, "flops_half": self.random.randint(0, 1000)}
        metrics = {key: value for key, value in metrics.items() if key.split("_")[0] not in self.lacks
                   and key not in self.lacks and self.chance(self.measured)}
        name = f"void kernel<{self.random.randint(0, 4)}>(float)" if category == "kernel" else category
        stream = 7 if self.is_regular else self.random.choice((7, 7, 7, 8))
        return (name, category, self.random.randint(1_000, 900_000), stream, metrics)

    def layer(self, prefix, depth, position):
        tags = {"layer_shape": f"shape {position}"} if self.chance(0.5) else {}  # of which no flops follow
        if self.has_indices:
            tags["layer_index"] = position if self.chance(0.95) else 0
        if (kind := self.random.choice(TYPES)) is not None:
            tags["layer_type"] = kind
        if self.chance(0.7):
            tags["alloc_bytes"] = self.random.randint(0, 10**7)
        nested = []
        if depth < 2 and self.chance(0.35):
            nested = [self.layer(f"{prefix}{inner}/", depth + 1, position * 10 + inner + 100)
                      for inner in range(self.random.randint(1, 3))]
        name = f"{prefix}layer"
        if self.chance(0.2):  # told apart by occurrence, which a lost one shifts: type and shape are those of all of them
            name, tags = "same", {key: value for key, value in tags.items() if key in ("layer_index", "alloc_bytes")}
        return Work(name, tags, self.random.randint(2_000, 1_500_000),
                    self.has_modules and self.chance(0.5), not self.is_regular and self.chance(0.1),
                    [self.kernel() for _ in range(self.random.choice((0, 1, 1, 2, 3)))], nested)


class OneRun:
    """One run of a model: `now` is the host's time, `busy` the end of what each stream was given."""

    def __init__(self, generator, levels, batch, model, outside):
        self.generator, self.random, self.chance = generator, generator.random, generator.chance
        self.run = generator.experiment.add(levels, batch, names_parents=generator.names_parents)
        self.levels = levels.removesuffix("+metrics").removesuffix("@serial").split("/")
        self.is_metric_run, self.is_serial = levels.endswith("+metrics"), "@serial" in levels
        self.now, self.busy = 1_000 * self.run.number, {}
        has_warmup = self.chance(0.3)
        for number in range(self.random.choice((1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 12)) if "M" in self.levels else 1):
            self.process = 1 + number % generator.processes
            thread = 1
            if generator.overlaps and levels == "M" and self.chance(0.7):
                thread = 1 + number
                self.now -= self.random.randint(0, 200_000)
            self.host = Track(self.process * 1000 + thread, self.process, self.process * 1000 + thread)
            self.observation(model, outside, {"warmup": 1} if has_warmup and number == 0 else {})
            self.now += self.random.randint(0, 2_000_000)

    def time(self, ns):
        noise = self.generator.noise
        return max(1, round(ns * (1 + noise * self.random.random()) * (1.2 if self.is_metric_run else 1)))

    def observation(self, model, outside, tags):
        start, top = self.now, None
        if "A" in self.levels:
            top = self.run.add("application", "main", start, start, self.host)
        if "M" in self.levels:
            top = self.run.add("model", "net", start, start, self.host, top, tags={"batch_size": self.run.batch, **tags})
        self.now += self.random.randint(10, 3_000)
        if "L" in self.levels:
            for layer in model:
                self.layer(layer, top)
        elif "K" in self.levels:
            for layer in model:
                self.kernels_below(layer, top)
        else:
            self.now += self.time(500_000 + 200_000 * self.run.batch)
        for kernel in outside if "K" in self.levels else ():
            self.kernel(kernel, top)
        if self.chance(0.5):  # the program waits for the device
            self.now = max([self.now, *self.busy.values()])
        self.now += self.random.randint(1, 1_000)
        if "K" in self.levels and not self.generator.is_regular and self.chance(0.05):  # nothing launched it
            self.run.add("kernel", "stray", self.now - 1, self.now + 500, self.stream(9), None, "execution", "kernel")
        for span in top.ancestors() if top else ():
            span.end = self.now
        if "K" in self.levels and self.chance(0.02) and not self.run.unfinished:
            self.run.unfinished.append(Span("kernel", "never done", start, start, self.stream(7), None, "execution", "kernel"))

    def kernels_below(self, layer, top):
        for nested in layer.nested:
            self.kernels_below(nested, top)
        for kernel in layer.work:
            self.kernel(kernel, top)
        self.now += 10

    def layer(self, layer, parent):
        if self.chance(0.8 if layer.is_rare else self.generator.loss):
            return
        span = self.run.add("layer", layer.name, self.now, self.now, self.host, parent, tags=dict(layer.tags),
                            category="module" if layer.is_module else "operator")
        if "alloc_bytes" in span.tags and self.chance(0.1):
            del span.tags["alloc_bytes"]
        self.now += self.random.randint(1, 1_000)
        for nested in layer.nested:
            self.layer(nested, span)
        ends = [self.kernel(kernel, span) for kernel in layer.work] if "K" in self.levels else []
        self.now += self.time(layer.ns)
        if self.is_serial or not self.chance(self.generator.lateness):
            self.now = max([self.now, *ends])
        span.end = self.now
        self.now += self.random.randint(0, 1_000)

    def stream(self, number):
        return Track(self.process * 1000 + 900 + number, self.process, None, number)

    def kernel(self, kernel, parent):
        """Returns the time at which it ended."""
        name, category, ns, stream, metrics = kernel
        if self.chance(self.generator.loss / 3):
            return self.now
        tags = {}
        if category == "kernel" and self.is_metric_run:
            tags = {key: self.time(value) if isinstance(value, int) else value for key, value in metrics.items()
                    if self.chance(max(self.generator.measured, 0.9))}
            if self.chance(self.generator.renamed):
                name = "void implicit_gemm(float)"
        if "Lib" in self.levels and parent is not None and parent.level == "layer" and self.chance(0.7):
            parent = self.run.add("library", "cudnnForward", self.now, self.now + 40, self.host, parent)
            self.now += 3
        if category == "kernel" and not self.generator.is_regular and self.chance(0.05):  # a primitive on the CPU
            ns = self.time(ns)
            self.run.add("kernel", name, self.now, self.now + ns, self.host, None if parent is None else parent
                         if parent.level != "library" else parent.parent, "sync", category, tags=tags)
            self.now += ns + 50
            return self.now
        launch = self.run.add("kernel", "launch", self.now, self.now + 20, self.host, parent, "launch", "api")
        start = max(self.now + self.random.randint(0, 30_000), self.busy.get((self.process, stream), 0))
        end = start + self.time(ns)
        self.busy[self.process, stream] = end
        self.run.add("kernel", name, start, end, self.stream(stream), parent, "execution", category, launch, tags)
        self.now += 50
        return end
