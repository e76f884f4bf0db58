# SPDX-License-Identifier: Apache-2.0
"""A folder of small experiments with known answers: models of several frameworks on several systems, as `xsp profile`
would leave them. What the tables over them must say is worked out here, from the descriptions alone."""
import dataclasses
import pathlib
import re

from analysis_rules import Statistic, mean
from scripted import UNIX_START, Script

SCATTER = (1.0, 0.9, 1.02, 1.4, 0.98)  # of the model's latency: without the least and the largest, the value itself
LAYER_SCATTER = (1.0, 0.8, 1.5)        # of three: the median
WARMUP = 3.0
IDLE = ("constant", "variable", "input", "output", "control")
STAGES = "BME"


def trimmed(values):
    """Of observations that differ by one factor, whose values are therefore in one order."""
    return mean(Statistic().cut(sorted(values)))


@dataclasses.dataclass
class Layer:
    """Times and amounts at one input; they grow with the batch size."""
    name: str
    type: str
    ms: float
    alloc: int | None = None
    category: str | None = None
    matrix: tuple | None = None  # (inner, outer) of a product whose flops follow from its shapes
    flops: int = 0               # of its kernel, as metrics
    reads: int = 0
    writes: int = 0


@dataclasses.dataclass
class Model:
    name: str
    framework: str
    latency: dict                # batch size: ms
    layers: list = dataclasses.field(default_factory=list)
    version: str = "1.0"
    system: dict = dataclasses.field(default_factory=lambda: {"cpu_model": "Small CPU"})
    workload: dict = dataclasses.field(default_factory=dict)
    has_kernels: bool = False
    has_metrics: bool = False
    layer_batches: tuple | None = None  # None: all

    def write(self, folder, file_name=None):
        script, state = Script(), [0, UNIX_START]
        script.system(**self.system)
        script.experiment(self.name, workload=f"/models/{self.name}.onnx", framework=self.framework, version=self.version)
        script.workload(**{"model_name": self.name, **self.workload})
        for batch, latency in self.latency.items():
            self._run(script, state, "M", batch, [latency * factor for factor in SCATTER], None)
            if not self.layers or (self.layer_batches is not None and batch not in self.layer_batches):
                continue
            deep = [latency * factor + 5 for factor in LAYER_SCATTER]
            self._run(script, state, "M/L", batch, deep, LAYER_SCATTER)
            if self.has_kernels:
                self._run(script, state, "M/L/K", batch, [2 * ms + 50 for ms in deep], LAYER_SCATTER, kernels=True)
            if self.has_metrics:
                self._run(script, state, "M/L/K+metrics", batch, [9 * ms + 90 for ms in deep], LAYER_SCATTER, True, True)
        return script.write(pathlib.Path(folder) / (file_name or f"{self.framework}-{self.name}.xsp"))

    def _run(self, script, state, levels, batch, latencies, factors, kernels=False, metrics=False):
        state[0] += 1
        run = state[0]
        script.run(run, levels, batch)
        script.track(1, "main", run_id=run)
        if kernels:
            script.track(2, "stream", device=0, stream=1, thread=None, run_id=run)
        for number, latency in enumerate([latencies[0] * WARMUP, *latencies]):
            start, duration = state[1], round(latency * 1e6)
            script.span(self.name, start, duration, run_id=run, tags={"batch_size": batch, **({"warmup": 1} if number == 0 else {})})
            at = start + 10
            for index, layer in enumerate(self.layers if factors else ()):
                length = round(layer.ms * batch * (factors[number - 1] if number else WARMUP) * 1e6)
                tags = {"layer_index": index, "layer_type": layer.type}
                if layer.alloc is not None:
                    tags["alloc_bytes"] = layer.alloc * batch
                if layer.matrix:
                    inner, outer = layer.matrix
                    tags |= {"input_shape": f"[{batch},{inner}] [{inner},{outer}]",
                             "layer_shape": f"[{batch},{outer}]"}
                script.span(layer.name, at, length, "layer", run_id=run, category=layer.category, tags=tags)
                if kernels and layer.flops:
                    script.span(f"{layer.type} kernel", at + 1, round(length * 0.75), "kernel", run_id=run, category="kernel",
                                tags=self._metrics(layer, batch) if metrics else {})
                at += length + 10
            state[1] = max(at, start + duration) + 1000

    @staticmethod
    def _metrics(layer, batch):
        return {"flops": layer.flops * batch, "dram_read_bytes": layer.reads * batch,
                "dram_write_bytes": layer.writes * batch, "achieved_occupancy_pct": 40.0}

    # ---- what must come out --------------------------------------------------------------------------------------------
    def model_ms(self, batch):
        return trimmed([round(self.latency[batch] * factor * 1e6) / 1e6 for factor in SCATTER])

    def throughput(self, batch):
        return 1000 * batch / self.model_ms(batch)

    def maximum_batch(self):
        return max(self.latency, key=self.throughput)

    def optimal_batch(self):
        for batch in sorted(self.latency):
            if 2 * batch in self.latency and self.throughput(2 * batch) <= 1.05 * self.throughput(batch):
                return batch
        return None

    def layer_batch(self):
        """The batch size that the analyses of layers take."""
        wanted = self.optimal_batch() or self.maximum_batch()
        if self.layer_batches is None or wanted in self.layer_batches:
            return wanted
        return max(self.layer_batches, key=self.throughput)

    def layer_ms(self, batch, chosen=lambda layer: True):
        sums = [sum(round(layer.ms * batch * factor * 1e6) for layer in self.layers if chosen(layer)) / 1e6
                for factor in LAYER_SCATTER]
        return trimmed(sums)

    def convolution_pct(self, batch):
        return 100 * self.layer_ms(batch, lambda layer: re.search("conv(?!ert|ers)", layer.type, re.I)) / self.model_ms(batch)

    def dominant_type(self, batch):
        types = {layer.type: self.layer_ms(batch, lambda other, kind=layer.type: other.type == kind) for layer in self.layers}
        name = max(types, key=types.get)
        return name, 100 * types[name] / self.layer_ms(batch)

    def stage(self, amount):
        """The third with most of it, over the layers that compute."""
        layers = [layer for layer in self.layers if layer.category not in IDLE]
        thirds = [0, 0, 0]
        for position, layer in enumerate(layers):
            thirds[3 * position // len(layers)] += amount(layer)
        return STAGES[thirds.index(max(thirds))] if sum(thirds) > 0 else None

    def computing(self):
        return [layer for layer in self.layers if layer.category not in IDLE]

    def kernel_ms(self, batch):
        """Kernels take three quarters of their layers, in the runs at M/L/K."""
        return 0.75 * self.layer_ms(batch, lambda layer: layer.flops)

    def metric(self, name, batch):
        return sum(getattr(layer, name) * batch for layer in self.layers if layer.flops)

    def analytic_flops(self, batch):
        """Of the layers whose shapes are known: products of matrices."""
        return sum(2 * batch * layer.matrix[0] * layer.matrix[1] for layer in self.layers if layer.matrix)
