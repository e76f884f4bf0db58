# SPDX-License-Identifier: Apache-2.0
"""The tables of the XSP paper that have numbers (II to VI: ResNet50 v1.5, TensorFlow, Tesla V100), as OTLP JSON.

    tests/run.py tests/analyze/paper_tables.py > tables.jsonl

Three experiments, since the paper's tables were not taken from one run (the four calls of one kernel name sum to more
in Table IV than Table III leaves room for): the layers and kernels of batch size 256 (Tables II, III, V), the kernels by
name (IV), the model over batch sizes (VI). Each has runs at M, M/L, M/L/K (or M/K) and a metric run, every level slower
than the one before and the metric run slowest, so that an analysis that takes a time from the wrong run shows.
Observations scatter around the printed value in a way that the default statistic takes away again.

Printed megabytes of allocated memory are 10^6 bytes, those of DRAM 2^20.
"""
import sys

import otlp

MODEL_MS = {1: 6.21, 2: 6.83, 4: 8.51, 8: 12.80, 16: 21.90, 32: 40.03, 64: 74.03, 128: 142.89, 256: 275.05}

# layer index: name, shape, latency ms, allocated MB. All are Conv2D.
TABLE_II = {
    208: ("conv2d_48/Conv2D", "[256,512,7,7]", 7.59, 25.7),
    221: ("conv2d_51/Conv2D", "[256,512,7,7]", 7.57, 25.7),
    195: ("conv2d_45/Conv2D", "[256,512,7,7]", 5.67, 25.7),
    3: ("conv2d/Conv2D", "[256,64,112,112]", 5.08, 822.1),
    113: ("conv2d_26/Conv2D", "[256,256,14,14]", 4.67, 51.4),
}
LAYERS, LAYERS_UNDER_1MS = 234, 143

# kernel name, layer, latency ms, Gflop, DRAM reads MB, DRAM writes MB, occupancy %; intensity, Tflop/s, memory-bound
TABLE_III = [
    ("volta_cgemm_32x32_tn", 221, 6.04, 77.42, 40.33, 43.86, 12.18, 876.97, 12.82, False),
    ("volta_cgemm_32x32_tn", 208, 6.03, 77.42, 43.93, 43.81, 12.19, 841.59, 12.83, False),
    ("volta_scudnn_128x128_relu_interior_nn_v1", 195, 5.48, 59.20, 27.71, 8.40, 15.49, 1563.30, 10.80, False),
    ("volta_scudnn_128x64_relu_interior_nn_v1", 3, 4.91, 62.89, 11.55, 283.05, 13.20, 203.58, 12.81, False),
    ("volta_scudnn_128x128_relu_interior_nn_v1", 57, 4.56, 59.24, 34.83, 37.64, 15.15, 779.55, 12.99, False),
]
KERNELS, KERNELS_UNDER_1MS, KERNEL_NAMES = 375, 284, 30

# kernel name, calls, latency ms, % of the model, Gflop, reads, writes, occupancy; intensity, Tflop/s, memory-bound
TABLE_IV = [
    ("volta_scudnn_128x64_relu_interior_nn_v1", 34, 84.95, 30.87, 1053.63, 4429.64, 5494.22, 22.58, 101.25, 12.40, False),
    ("Eigen::TensorCwiseBinaryOp<scalar_product_op>", 52, 28.43, 10.33, 2.85, 4181.23, 6371.12, 49.72, 0.26, 0.10, True),
    ("Eigen::TensorCwiseBinaryOp<scalar_sum_op>", 51, 26.38, 9.59, 2.64, 4063.49, 6052.22, 49.69, 0.25, 0.10, True),
    ("Eigen::TensorCwiseBinaryOp<scalar_max_op>", 48, 24.71, 8.98, 0, 3773.84, 5699.95, 98.39, 0, 0, True),
    ("volta_scudnn_128x128_relu_interior_nn_v1", 4, 23.02, 8.37, 276.64, 671.68, 335.01, 15.96, 262.08, 12.02, False),
]

# layer: layer ms, kernels ms, Gflop, reads, writes, occupancy; intensity, Tflop/s, memory-bound
TABLE_V = {
    208: (7.59, 7.45, 79.74, 362.67, 548.50, 19.43, 83.46, 10.70, False),
    221: (7.57, 7.43, 79.74, 368.11, 551.70, 19.43, 82.68, 10.73, False),
    195: (5.67, 5.55, 59.20, 36.51, 17.99, 15.80, 1036.10, 10.67, False),
    3: (5.08, 4.91, 62.89, 11.55, 284.21, 13.23, 202.78, 12.80, False),
    113: (4.67, 4.57, 59.22, 76.65, 21.36, 15.31, 576.17, 12.94, False),
}

# batch size: kernels ms, Gflop, reads, writes, occupancy, memory-bound
TABLE_VI = {
    1: (5.01, 7.94, 192.49, 194.16, 22.65, False),
    2: (5.93, 16.08, 290.41, 354.54, 22.47, False),
    4: (7.68, 30.95, 659.11, 720.15, 26.39, False),
    8: (11.60, 60.66, 1676.07, 1496.81, 31.97, False),
    16: (20.14, 118.04, 3969.19, 3024.09, 35.58, True),
    32: (37.14, 232.78, 7711.50, 5823.97, 38.76, True),
    64: (67.72, 429.08, 10932.22, 9268.27, 43.18, False),
    128: (131.79, 873.63, 16071.32, 16105.40, 44.48, False),
    256: (254.25, 1742.39, 23185.11, 31095.45, 43.15, False),
}

PEAK_FLOPS, BANDWIDTH = 15.7e12, 900e9
# A value of several observations: sorted, one at each end of five goes, the mean of the rest is the value. The first
# observation is a warm-up.
SCATTER = (1.0, 0.9, 1.02, 1.4, 0.98)
DEEP_SCATTER = (1.0, 0.95, 1.5)  # of three: the median
WARMUP = 3.0
HOST, STREAM = 1, 2


def ms(value):
    return round(value * 1e6)


class Run:
    """The spans of one run, laid out in time one after the other."""

    def __init__(self, experiment, number, levels, batch):
        self.resource = {"xsp.experiment": experiment, "xsp.run": number, "xsp.levels": levels, "xsp.batch_size": batch,
                         "xsp.workload": "MLPerf_ResNet50_v1.5", "xsp.framework": "TensorFlow",
                         "xsp.framework_version": "1.13.1", "xsp.system.name": "Tesla_V100",
                         "xsp.system.peak_flops_per_s": PEAK_FLOPS, "xsp.system.memory_bandwidth_bytes_per_s": BANDWIDTH}
        self.batch, self.now, self.spans, self.correlation = batch, 0, [], 0

    def put(self, name, level, start, duration, track=HOST, **tags):
        number = len(self.spans) + 1
        where = {"xsp.track": track, "xsp.process_id": 7, **({"xsp.thread_id": 7} if track == HOST else
                                                              {"xsp.device_id": 0, "xsp.stream_id": 13})}
        more = {f"xsp.{key}": value for key, value in tags.items()}
        self.spans.append(otlp.span(number, name, start, start + duration, level=level, thread=None, more={**where, **more}))

    def kernel(self, start, name, duration, metrics):
        """The call on the host, and on the device what it started; returns when that ends."""
        self.correlation += 1
        call = min(1000, duration)
        self.put("cudaLaunchKernel", "kernel", start, call, kind="launch", category="api", correlation_id=self.correlation)
        self.put(name, "kernel", start, duration, STREAM, kind="execution", category="kernel",
                 correlation_id=self.correlation, **metrics)
        return start + duration

    def observation(self, duration, parts, warmup=False):
        """A prediction. parts(run, start) puts what lies within and returns its end."""
        start = self.now
        model = len(self.spans)
        self.put("predict", "model", start, 0, batch_size=self.batch, **({"warmup": True} if warmup else {}))
        end = max(parts(self, start + 10), start + duration)
        self.spans[model]["endTimeUnixNano"] = str(otlp.START + end)
        self.now = end + 1_000_000

    def request(self):
        return otlp.request(self.spans, self.resource, "paper")


def nothing(_, start):
    return start


def model_run(experiment, number, batch):
    run = Run(experiment, number, "M", batch)
    run.observation(ms(MODEL_MS[batch] * WARMUP), nothing, warmup=True)
    for factor in SCATTER:
        run.observation(ms(MODEL_MS[batch] * factor), nothing)
    return run


def deep_run(experiment, number, levels, batch, overhead_ms, parts):
    """parts(run, start, factor) with the factor of each observation."""
    run = Run(experiment, number, levels, batch)
    run.observation(ms(MODEL_MS[batch] * WARMUP + overhead_ms), lambda run, at: parts(run, at, WARMUP), warmup=True)
    for factor in DEEP_SCATTER:
        run.observation(ms(MODEL_MS[batch] * factor + overhead_ms), lambda run, at, f=factor: parts(run, at, f))
    return run


# ---- Tables II, III, V -----------------------------------------------------------------------------------------------
def rest_of_layer(layer):
    """What Table V has for a layer beyond its kernel in Table III: ms, Gflop, reads, writes, occupancy."""
    _, total_ms, flops, reads, writes, occupancy = TABLE_V[layer][:6]
    main = next((row for row in TABLE_III if row[1] == layer), None)
    if main is None:
        return None
    rest_ms = max(total_ms - main[2], 0.004)  # layer 3's rest is lost in rounding
    rest_occupancy = (occupancy * (main[2] + rest_ms) - main[6] * main[2]) / rest_ms
    return rest_ms, max(flops - main[3], 0), reads - main[4], writes - main[5], min(max(rest_occupancy, 0), 100)


def layer_kernels(layer, is_long):
    """The kernels of a layer: (name, ms, Gflop, reads, writes, occupancy)."""
    main = next(((row[0], *row[2:7]) for row in TABLE_III if row[1] == layer), None)
    if layer == 113:
        return [("volta_scudnn_128x64_relu_interior_nn_v1", *TABLE_V[113][1:6])]
    if main is not None and layer in TABLE_V:
        return [main, ("cudnn::gemm::computeOffsetsKernel", *rest_of_layer(layer))]
    if main is not None:
        return [main]
    name = f"kernel_{layer % (KERNEL_NAMES - 4)}"
    return [(name, 1.25 if is_long else 0.2, 0.5, 20.0, 30.0, 40.0)]


def make_layers():
    """The kernels of all layers: 234 layers, 91 of at least 1 ms; 375 kernels, 91 of at least 1 ms."""
    named = set(TABLE_II) | {57}
    others = [layer for layer in range(LAYERS) if layer not in named]
    long_layers = set(others[:LAYERS - LAYERS_UNDER_1MS - len(named)])
    layers = {layer: layer_kernels(layer, layer in long_layers) for layer in range(LAYERS)}
    long_kernels = sum(kernel[1] >= 1 for kernels in layers.values() for kernel in kernels)
    split = sorted(long_layers)
    while long_kernels > KERNELS - KERNELS_UNDER_1MS:  # a long layer of two short kernels
        layer = split.pop()
        layers[layer] = [("kernel_0", 0.6, 0.1, 5.0, 5.0, 30.0), ("kernel_1", 0.7, 0.1, 5.0, 5.0, 30.0)]
        long_kernels -= 1
    count = sum(len(kernels) for kernels in layers.values())
    short = [layer for layer in others if layer not in long_layers]
    for number in range(KERNELS - count):
        layers[short[number % len(short)]].append(("kernel_2", 0.05, 0.0, 1.0, 1.0, 20.0))
    assert sum(len(kernels) for kernels in layers.values()) == KERNELS
    return layers


def metrics_of(kernel):
    _, _, flops, reads, writes, occupancy = kernel
    return {"flops": round(flops * 1e9), "dram_read_bytes": round(reads * 2**20), "dram_write_bytes": round(writes * 2**20),
            "achieved_occupancy_pct": round(occupancy, 6)}


def layer_ms(layer, kernels):
    if layer in TABLE_II:
        return TABLE_II[layer][2]
    return round(sum(kernel[1] for kernel in kernels) * 1.02 + 0.01, 6)


def put_layers(layers, has_kernels, has_metrics, slower):
    def parts(run, at, factor):
        for layer in range(LAYERS):
            name, shape, _, alloc = TABLE_II.get(layer, (f"layer_{layer}", "[256,64,56,56]", 0, 1.5))
            kind = "Conv2D" if layer in TABLE_II or layer == 57 else ("Mul", "Add", "Relu")[layer % 3]
            start = len(run.spans)
            duration = ms(layer_ms(layer, layers[layer]) * factor * slower)
            run.put(name, "layer", at, duration, layer_index=layer, layer_type=kind, layer_shape=shape,
                    alloc_bytes=round(alloc * 1e6))
            end = at
            for kernel in layers[layer] if has_kernels else ():
                # The metric run's kernels are slower; its times must not be used.
                length = max(ms(kernel[1] * factor * (1.7 if has_metrics else 1)), 1)
                end = run.kernel(end, kernel[0], length, metrics_of(kernel) if has_metrics else {})
            end = max(end, at + duration)
            run.spans[start]["endTimeUnixNano"] = str(otlp.START + end)
            at = end + 100
        return at
    return parts


def layers_and_kernels():
    name, layers = "Tables II, III, V", make_layers()
    yield model_run(name, 1, 256)
    yield deep_run(name, 2, "M/L", 256, 157, put_layers(layers, False, False, 1))
    yield deep_run(name, 3, "M/L/K", 256, 215, put_layers(layers, True, False, 1.3))
    yield deep_run(name, 4, "M/L/K+metrics", 256, 900, put_layers(layers, True, True, 1.6))


# ---- Table IV -------------------------------------------------------------------------------------------------------
def kernels_by_name():
    def kernels(has_metrics):
        def parts(run, at, factor):
            for name, calls, total_ms, _, flops, reads, writes, occupancy in (row[:8] for row in TABLE_IV):
                left, sums = ms(total_ms * factor * (1.7 if has_metrics else 1)), [round(flops * 1e9), round(reads * 2**20),
                                                                                  round(writes * 2**20)]
                for call in range(calls):
                    # Integer shares that sum to the printed value; longer and shorter calls in turn.
                    share = left // (calls - call)
                    length = share + (share // 3 if call % 2 == 0 and call < calls - 2 else 0)
                    left -= length
                    parts_of = [value // (calls - call) for value in sums]
                    sums = [value - part for value, part in zip(sums, parts_of)]
                    metrics = dict(zip(("flops", "dram_read_bytes", "dram_write_bytes"), parts_of),
                                   achieved_occupancy_pct=occupancy)
                    at = run.kernel(at, name, length, metrics if has_metrics else {})
            return at
        return parts
    name = "Table IV"
    yield model_run(name, 1, 256)
    yield deep_run(name, 2, "M/L/K", 256, 215, kernels(False))
    yield deep_run(name, 3, "M/L/K+metrics", 256, 900, kernels(True))


# ---- Table VI --------------------------------------------------------------------------------------------------------
def batches():
    def kernels(batch, has_metrics, slower=1.0):
        total_ms, flops, reads, writes, occupancy = TABLE_VI[batch][:5]

        def parts(run, at, factor):
            total = ms(total_ms * factor * slower * (1.7 if has_metrics else 1))
            # Three kernels of 1/2, 1/4, 1/4 of the time, whose weighted occupancy is the printed one.
            for name, share, difference in (("conv", 2, -4.0), ("mul", 1, 8.0), ("add", 1, 0.0)):
                metrics = {"flops": round(flops * 1e9) * share // 4, "dram_read_bytes": round(reads * 2**20) * share // 4,
                           "dram_write_bytes": round(writes * 2**20) * share // 4,
                           "achieved_occupancy_pct": occupancy + difference}
                at = run.kernel(at, name, total * share // 4, metrics if has_metrics else {})
            return at
        return parts
    name, number = "Table VI", 0
    for batch in MODEL_MS:
        runs = [lambda n, b=batch: model_run(name, n, b),
                lambda n, b=batch: deep_run(name, n, "M/K", b, 40, kernels(b, False)),
                lambda n, b=batch: deep_run(name, n, "M/L/K", b, 90, kernels(b, False, 1.2)),  # not the set that A15 wants
                lambda n, b=batch: deep_run(name, n, "M/K+metrics", b, 300, kernels(b, True))]
        for run in runs:
            number += 1
            yield run(number)


def requests():
    for experiment in (layers_and_kernels, kernels_by_name, batches):
        for run in experiment():
            yield run.request()


if __name__ == "__main__":
    for one in requests():
        sys.stdout.write(otlp.lines(one))
