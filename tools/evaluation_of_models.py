# SPDX-License-Identifier: Apache-2.0
"""The paper's findings on models (IV-A), and in its example (III). See evaluation_findings.py."""
import statistics

from evaluation_findings import (MODELS_LEAST, MOST, NO_KERNELS, PAPER_LEAST_CONVOLUTION, PAPER_MOST_OF_PEAK,
                                 UNKNOWN, bounds, correlated, finding, is_complete, is_convolutional, known, names, nearly_all, plain, span,
                                 verdict, without)


# ---- IV-A: models ------------------------------------------------------------------------------------------------------
@finding("IV-A, models", "Convolutions dominate image classification",
         "The convolutions' share of the model latency is 36.3 % to 80.2 % for the image classification models: they still "
         "dominate, but not exclusively.",
         "In at least 90 % of the image classification models convolutions take at least 36.3 % of the model latency. "
         "A layer counts by its type, or by its operator in the model.")
def convolution_classification(zoo):
    rows = known(zoo.of_task("image classification"), "convolution_pct_of_model")
    if not rows:
        return without("image classification")
    low = [row for row in rows if row["convolution_pct_of_model"] < PAPER_LEAST_CONVOLUTION]
    shares = [row["convolution_pct_of_model"] for row in rows]
    figures = span(shares, " %")
    if max(shares) > 100:
        figures += "; above 100 % where layers run concurrently, or recording slows them down"
    return verdict(len(low) <= (1 - MOST) * len(rows)), figures + (f"; below 36.3 %: {names(low)}" if low else "")


@finding("IV-A, models", "They do not dominate object detection",
         "Except in Faster RCNN NAS, 0.6 % to 14.9 % of the object detection models' latency is convolutions; their dominating layer "
         "type is Where.",
         "In at least 90 % of the object detection models convolutions take at most 14.9 % of the model latency.")
def convolution_detection(zoo):
    rows = known(zoo.of_task("object detection"), "convolution_pct_of_model")
    if not rows:
        return without("object detection")
    types = sorted({row["dominant_layer_type"] or "unknown" for row in rows})
    return (verdict(nearly_all(rows, lambda row: row["convolution_pct_of_model"] <= 14.9)),
            f"{span([row['convolution_pct_of_model'] for row in rows], ' %')}; dominating types: {', '.join(types)}")


def dominated_by_convolutions(zoo, task):
    rows = known(zoo.of_task(task), "convolution_pct_of_model", "dominant_layer_type")
    if not rows:
        return without(task)
    shares = span([row["convolution_pct_of_model"] for row in rows], " %")
    most = sum(map(is_convolutional, rows))
    return verdict(2 * most > len(rows)), f"{shares}; a convolution is the dominating type of {most} of {len(rows)}"


@finding("IV-A, models", "Convolutions dominate instance segmentation",
         "Except in Mask RCNN Inception v2, convolutions dominate the latency of the instance segmentation models (5.7 % to 42.4 %).",
         "A convolution is the dominating layer type of more than half of the models.")
def convolution_instances(zoo):
    return dominated_by_convolutions(zoo, "instance segmentation")


@finding("IV-A, models", "Semantic segmentation is convolutions and memory-bound layers",
         "The latency of the semantic segmentation models is affected by both the convolutions (41.5 % to 49.2 %) and memory-bound "
         "layers such as Transpose, Add and Mul.",
         "In at least 90 % of the models convolutions take between 25 % and 75 % of the model latency.")
def convolution_semantic(zoo):
    rows = known(zoo.of_task("semantic segmentation"), "convolution_pct_of_model")
    if not rows:
        return without("semantic segmentation")
    return (verdict(nearly_all(rows, lambda row: 25 <= row["convolution_pct_of_model"] <= 75)),
            span([row["convolution_pct_of_model"] for row in rows], " %"))


@finding("IV-A, models", "Convolutions dominate super resolution", "SRGAN is dominated by convolutions (62.3 %).",
         "A convolution is the dominating layer type of more than half of the models.")
def convolution_resolution(zoo):
    return dominated_by_convolutions(zoo, "super resolution")


def largest_batch(zoo, row):
    """The largest batch size measured; None: unknown."""
    return max((one["batch_size"] for one in zoo.systems if one["batch_size"] is not None and
                all(one[key] == row[key] for key in ("model_name", "framework", "framework_version", "system"))), default=None)


@finding("IV-A, models", "Large batches are worth it",
         "Table VIII: the optimal batch sizes of the image classification models are 8 to 256, those of the models for other tasks 1 to 16.",
         "The median optimal batch size of the image classification models is at least 8. Where it was not reached, it "
         "counts as at least the largest one measured; not measurable if the verdict depends on its exact value.")
def optimal_batches(zoo):
    tasks = {}
    for row in zoo.models:
        if row["optimal_batch"] is not None and row["task"] is not None:
            tasks.setdefault(row["task"], []).append(row["optimal_batch"])
    mine = tasks.pop("image classification", [])
    open_ended = [row for row in zoo.of_task("image classification") if row["optimal_batch"] is None]
    least = mine + [batch for batch in (largest_batch(zoo, row) for row in open_ended) if batch is not None]
    if not least:
        return UNKNOWN, "no image classification model was measured at several batch sizes"
    most = mine + [float("inf")] * (len(least) - len(mine))
    figures = f"image classification {span(mine, '', 0)}" if mine else "image classification"
    if open_ended:
        figures += f", {len(open_ended)} not reached (up to batch size {max(least[len(mine):], default=0)})"
    figures = "; ".join([figures] + [f"{task} {min(values)} to {max(values)}" for task, values in sorted(tasks.items())])
    if statistics.median(least) < 8 <= statistics.median(most):
        return UNKNOWN, figures
    return verdict(statistics.median(least) >= 8), figures


@finding("IV-A, models", "The GPU's share goes with the work",
         "The GPU latency percentage varies from 53.68 % to 95.61 % and is roughly proportional to the number of flops and of memory accesses.",
         "Rank correlation of the GPU share with measured flops and with DRAM traffic at least 0.5, over at least 5 models.")
def gpu_share(zoo):
    rows = [dict(row, traffic=row["dram_read_bytes"] + row["dram_write_bytes"])
            for row in known(zoo.depth, "gpu_pct", "dram_read_bytes", "dram_write_bytes") if row["flops_from"] == "measured"]
    if not rows:
        return NO_KERNELS
    decided, figures = correlated(rows, "gpu_pct", "flops", "traffic")
    return decided, f"{span([row['gpu_pct'] for row in rows], ' %')}; {figures}"


@finding("IV-A, models", "High batch latency, high GPU share",
         "Models with a high batch latency tend to have a high GPU latency percentage.",
         "Rank correlation of the GPU share with the batch latency at least 0.5, over at least 5 models.")
def gpu_share_latency(zoo):
    rows = known(zoo.depth, "gpu_pct", "latency_ms")
    return correlated(rows, "gpu_pct", "latency_ms") if rows else NO_KERNELS


@finding("IV-A, models", "Occupancy rises towards the optimal batch size",
         "As a model's batch size approaches the optimal one, its achieved GPU occupancy increases.",
         "In at least 90 % of the models it is higher at the optimal batch size than at the smallest one, where these differ.")
def occupancy(zoo):
    found = []
    for row in known(zoo.depth, "achieved_occupancy_pct", "optimal_batch"):
        layers = zoo.layers_of(row)
        by_batch = {one["batch_size"]: one["achieved_occupancy_pct"] for one in layers["kernels"]} if layers else {}
        least = min(by_batch, default=None)
        if least is not None and least < row["optimal_batch"] and by_batch[least] is not None:
            found.append(row["achieved_occupancy_pct"] - by_batch[least])
    if not found:
        return UNKNOWN, "no profile has achieved_occupancy_pct at several batch sizes"
    return verdict(sum(one > 0 for one in found) >= MOST * len(found)), f"it rises by {span(found)} percentage points"


@finding("IV-A, models", "The memory-bound models are the light ones",
         "20 of 37 image classification models are memory-bound at their optimal batch sizes: those with low compute and memory requirements.",
         "The median of flops an input of the memory-bound models is below that of the compute-bound ones, where there are both. Their "
         "number depends on the machine's roof and is not judged. Without measured kernels: by intensities from "
         "shapes (each tensor moved once) under the measured roof, for models with the flops of all layers.")
def memory_bound(zoo):
    rows, source = bounds(zoo)
    rows = list(filter(is_complete, rows))
    if len(rows) < MODELS_LEAST:
        return UNKNOWN, f"{len(rows)} image classification models have an intensity of all of their layers; at least {MODELS_LEAST} are needed"
    light = [row for row in rows if row["under"] == "memory"]
    heavy = [row for row in rows if row["under"] == "compute"]
    figures = f"{len(light)} of {len(rows)} are memory-bound ({source})"
    if not light or not heavy:
        return UNKNOWN, figures + ": there are no two groups to compare"
    medians = [statistics.median(row["flops"] / row["batch_size"] for row in part) / 1e9 for part in (light, heavy)]
    return (verdict(medians[0] < medians[1]),
            figures + f"; median work an input {medians[0]:.2f} Gflop of these, {medians[1]:.2f} of the compute-bound ones")


@finding("IV-A, models", "No model comes near the peak",
         "All models achieve at most 52 % of the theoretical peak throughput.",
         "The throughput of every image classification model (flops over kernel latency; without kernels, flops from shapes over model latency) "
         "is at most 52 % of the peak, here the one measured on the machine in single precision; a framework that "
         "computes in a narrower format (OpenVINO: bf16) can exceed it.")
def of_peak(zoo):
    rows = known(zoo.of_task("image classification", zoo.depth), "peak_flops_per_s")
    found = []
    for row in rows:
        rate = row["arithmetic_throughput_flops_per_s"] or row["analytic_throughput_flops_per_s"]
        if rate is not None:
            found.append((100 * rate / row["peak_flops_per_s"], row))
    if not found:
        return UNKNOWN, "no model has both flops and a peak of its machine"
    most, row = max(found, key=lambda one: one[0])
    return (verdict(most <= PAPER_MOST_OF_PEAK),
            f"{span([share for share, _ in found], ' %')}; the most: {names([row])}")


@finding("IV-A, models", "The demanding thirds vary",
         "Which third of a model has most of the latency, of the allocated memory, of the flops and of the memory accesses varies across "
         "models (Table IX).",
         "For each of these that at least 5 image classification models have, no third is the most demanding in more than 90 % of the models. "
         "Memory accesses without a kernel level: bytes from shapes.")
def thirds(zoo):
    rows = zoo.of_task("image classification", zoo.depth)
    figures, decided = [], []
    for name, keys in (("latency", ("latency_stage",)), ("memory", ("memory_stage",)), ("flops", ("flops_stage",)),
                       ("accesses", ("traffic_stage", "analytic_traffic_stage"))):
        found = [next((row[key] for key in keys if row[key] is not None), None) for row in rows]
        found = [one for one in found if one is not None]
        if len(found) < MODELS_LEAST:
            continue
        counts = {stage: found.count(stage) for stage in "BME"}
        decided.append(max(counts.values()) <= MOST * len(found))
        figures.append(f"{name} B {counts['B']}, M {counts['M']}, E {counts['E']}")
    if not decided:
        return UNKNOWN, f"fewer than {MODELS_LEAST} image classification models have layers"
    return verdict(all(decided)), "; ".join(figures)


# ---- III-D: the paper's example ----------------------------------------------------------------------------------------
def of_example(zoo, rows):
    """ResNet50 v1.5, TensorFlow's first."""
    rows = [row for row in rows if "resnet50v15" in plain(row["model_name"]) or "resnet15" in plain(row["model_name"])]
    return sorted(rows, key=lambda row: row["framework"] != "tensorflow")


@finding("III-D, the example", "Early layers have most of the latency and memory",
         "The latency of ResNet50 v1.5 can be mostly attributed to the early executed layers, and memory allocation is high in the early stage.",
         "The first third of ResNet50 v1.5 (in TensorFlow where profiled) has most of the latency and of the allocated memory.")
def early(zoo):
    rows = known(of_example(zoo, zoo.depth), "latency_stage")
    if not rows:
        return UNKNOWN, "ResNet50 v1.5 was not profiled with layers"
    row = rows[0]
    return (verdict(row["latency_stage"] == "B" and row["memory_stage"] in ("B", None)),
            f"{names([row])} at batch size {row['batch_size']}: latency {row['latency_stage']}, memory {row['memory_stage'] or 'unknown'}")


@finding("III-D, the example", "A few layers take much of the time",
         "The five longest of ResNet50 v1.5's 234 layers take 11 % of the latency (Table II).",
         "In at least 90 % of the image classification models the five longest layers take at least 11 % of the layers' time.")
def few_layers(zoo):
    found = []
    for row in zoo.of_task("image classification"):
        layers = zoo.layers_of(row)
        times = sorted((one["latency_ms"] for one in layers["layers"] if one["latency_ms"]), reverse=True) if layers else []
        if len(times) > 5:
            found.append(100 * sum(times[:5]) / sum(times))
    if not found:
        return without("image classification")
    return verdict(sum(one >= 11 for one in found) >= MOST * len(found)), f"the five longest take {span(found, ' %')}"


@finding("III-C, levels", "Recording layers has a price",
         "Recording layers adds 157 ms to the 275.1 ms of ResNet50 v1.5 (57 %). So latencies must come from runs without deeper levels.",
         "The model latency with layers recorded is more than 5 % above the one without in at least one model in four.")
def overhead(zoo):
    found = [row["overhead_pct"] for layers in zoo.layers.values() for row in layers["levels"]
             if row["levels"] == "M/L" and row["batch_size"] == layers["batch"] and row["overhead_pct"] is not None]
    if not found:
        return UNKNOWN, "no model was profiled at both M and M/L"
    return verdict(sum(one > 5 for one in found) >= len(found) / 4), span(found, " %")
