# SPDX-License-Identifier: Apache-2.0
"""The findings of the XSP paper's evaluation, each with the rule that decides whether it holds for a folder of profiles.

A finding is a function of Zoo that returns a verdict and a sentence with the figures; its rule is stated beside it, on the
page as well. Nothing here is decided by hand.
"""
import dataclasses
import re
import statistics

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "not measurable here"
ELEMENT_WISE = re.compile(r"(?<!p)add|(?<!mat)mul(?!tihead)|sub(?!graph)|relu|activation|batch_?norm|clip|maximum|minimum|elemwise|eltwise|"
                          r"sigmoid|swish", re.I)
CONVOLUTION = re.compile(r"conv(?!ert|ers)", re.I)
PAPER_LEAST_CONVOLUTION, PAPER_MOST_OF_PEAK, MOST = 36.3, 52, 0.9  # Table VIII; IV-A; "nearly all"
PAIRS_LEAST, MODELS_LEAST = 3, 5  # fewer decide nothing


@dataclasses.dataclass
class Zoo:
    """What `xsp analyze` says of the folder."""
    models: list     # rows of T8
    depth: list      # rows of T9
    pairs: list      # rows of T10, MXNet normalised to TensorFlow
    systems: list    # rows of T11
    layers: dict     # (model, framework, system): rows of A2, A6, L0, A15, A10

    def layers_of(self, row, framework=None):
        return self.layers.get((plain(row["model_name"]), framework or row["framework"], row["system"]))

    def of_task(self, task, rows=None):
        return [row for row in (self.models if rows is None else rows) if row["task"] == task]

    def of_family(self, *words):
        return [row for row in self.pairs if any(word in plain(row["model_name"]) for word in words)]


FINDINGS = []


def finding(section, title, paper, rule):
    def add(function):
        FINDINGS.append((section, title, paper, rule, function))
        return function
    return add


# ---- figures -----------------------------------------------------------------------------------------------------------
def plain(name):
    return re.sub(r"[^a-z0-9]", "", name.lower())


def known(rows, *keys):
    return [row for row in rows if all(row[key] is not None for key in keys)]


def span(values, unit="", digits=1):
    if len(values) == 1:
        return f"{values[0]:.{digits}f}{unit} (n = 1)"
    low, high = min(values), max(values)
    middle = statistics.median(values)
    return f"{low:.{digits}f} to {high:.{digits}f}{unit} (median {middle:.{digits}f}, n = {len(values)})"


def names(rows, most=4):
    found = [f"{row['model_name']} ({row['framework']})" for row in rows]
    return ", ".join(found[:most]) + (f" and {len(found) - most} more" if len(found) > most else "")


def verdict(condition):
    return HOLDS if condition else FAILS


def nearly_all(rows, condition):
    return sum(map(condition, rows)) >= MOST * len(rows)


def ranks(values):
    order = sorted(values)
    return [order.index(value) + (order.count(value) - 1) / 2 for value in values]


def rank_correlation(a, b):
    """Spearman's; None where one of them does not vary."""
    a, b = ranks(a), ranks(b)
    if len(set(a)) < 2 or len(set(b)) < 2:
        return None
    return statistics.correlation(a, b)


def correlated(rows, key, *others):
    """Whether `key` rises with each of the others, of rows that have all."""
    rows = known(rows, key, *others)
    if len(rows) < MODELS_LEAST:
        return UNKNOWN, f"{len(rows)} models have these figures; at least {MODELS_LEAST} are needed"
    found = [rank_correlation([row[key] for row in rows], [row[other] for row in rows]) for other in others]
    if None in found:
        return UNKNOWN, "the figures are the same for all models"
    return verdict(min(found) >= 0.5), f"rank correlations {', '.join(f'{one:.2f}' for one in found)} over {len(rows)} models"


def is_convolutional(row):
    return row["dominant_layer_type"] is not None and CONVOLUTION.search(row["dominant_layer_type"]) is not None


NO_KERNELS = (UNKNOWN, "no model was profiled at the kernel level")


def without(task):
    return UNKNOWN, f"no profile of a model for {task} has layers"


# ---- IV-A: models ------------------------------------------------------------------------------------------------------
@finding("IV-A, models", "Convolutions dominate image classification",
         "The convolutions' share of the model latency is 36.3 % to 80.2 % for the image classification models: they still "
         "dominate, but not exclusively.",
         "In at least 90 % of the image classification models convolutions take at least 36.3 % of the model latency: layers whose type, "
         "as the framework names what it executed, says so (LiteRT's XNNPACK calls convolutions of one by one fully connected).")
def convolution_classification(zoo):
    rows = known(zoo.of_task("image classification"), "convolution_pct_of_model")
    if not rows:
        return without("image classification")
    low = [row for row in rows if row["convolution_pct_of_model"] < PAPER_LEAST_CONVOLUTION]
    said = f"{span([row['convolution_pct_of_model'] for row in rows], ' %')}"
    return verdict(len(low) <= (1 - MOST) * len(rows)), said + (f"; below 36.3 %: {names(low)}" if low else "")


@finding("IV-A, models", "They do not dominate object detection",
         "But for Faster RCNN NAS, 0.6 % to 14.9 % of the object detection models' latency is convolutions; their dominating layer "
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
         "But for Mask RCNN Inception v2 convolutions dominate the latency of the instance segmentation models (5.7 % to 42.4 %).",
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


@finding("IV-A, models", "Large batches are worth it",
         "Table VIII: the optimal batch sizes of the image classification models are 8 to 256, those of the models for other tasks 1 to 16.",
         "The median optimal batch size of the image classification models is at least 8.")
def optimal_batches(zoo):
    tasks = {}
    for row in zoo.models:
        if row["optimal_batch"] is not None and row["task"] is not None:
            tasks.setdefault(row["task"], []).append(row["optimal_batch"])
    mine = tasks.get("image classification")
    if not mine:
        return UNKNOWN, "no image classification model reached its optimal batch size"
    not_reached = sum(row["optimal_batch"] is None for row in zoo.of_task("image classification"))
    rest = [f"{task} {min(values)} to {max(values)}" for task, values in sorted(tasks.items()) if task != "image classification"]
    return (verdict(statistics.median(mine) >= 8), f"image classification {span(mine, '', 0)}" +
            (f", {not_reached} not reached" if not_reached else "") + (f"; {', '.join(rest)}" if rest else ""))


@finding("IV-A, models", "The GPU's share goes with the work",
         "The GPU latency percentage varies from 53.68 % to 95.61 % and is roughly proportional to the number of flops and of memory accesses.",
         "Rank correlation of the GPU share with measured flops and with DRAM traffic at least 0.5, over at least 5 models.")
def gpu_share(zoo):
    rows = [dict(row, traffic=row["dram_read_bytes"] + row["dram_write_bytes"])
            for row in known(zoo.depth, "gpu_pct", "dram_read_bytes", "dram_write_bytes") if row["flops_from"] == "measured"]
    if not rows:
        return NO_KERNELS
    decided, said = correlated(rows, "gpu_pct", "flops", "traffic")
    return decided, f"{span([row['gpu_pct'] for row in rows], ' %')}; {said}"


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


def bounds(zoo, task="image classification"):
    """Rows with their bound: measured, else (marked) by analytic intensity under the measured roof."""
    rows = zoo.of_task(task, zoo.depth)
    measured = [dict(row, under=row["bound"]) for row in rows if row["bound"] is not None]
    analytic = [dict(row, under=row["analytic_bound"]) for row in rows if row["analytic_bound"] is not None]
    return (measured, "measured") if measured else (analytic, "analytic")


@finding("IV-A, models", "Half of the models are memory-bound, the light ones",
         "20 of 37 image classification models are memory-bound at their optimal batch sizes: those with low compute and memory requirements.",
         "There are memory-bound models, and their median of flops is below that of the compute-bound ones. Where no kernels were "
         "measured: by intensities that follow from shapes (each tensor moved once) under the measured roof, of models whose flops are known for all layers.")
def memory_bound(zoo):
    rows, source = bounds(zoo)
    rows = [row for row in rows if row["flops"] is not None and not row["layers_without_flops"]]
    if len(rows) < MODELS_LEAST:
        return UNKNOWN, f"{len(rows)} image classification models have an intensity of all of their layers; at least {MODELS_LEAST} are needed"
    light = [row for row in rows if row["under"] == "memory"]
    heavy = [row for row in rows if row["under"] == "compute"]
    said = f"{len(light)} of {len(rows)} are memory-bound ({source})"
    if not light or not heavy:
        return FAILS, said
    medians = [statistics.median(row["flops"] / row["batch_size"] for row in part) / 1e9 for part in (light, heavy)]
    return (verdict(medians[0] < medians[1]),
            said + f"; median work an input {medians[0]:.2f} Gflop of these, {medians[1]:.2f} of the compute-bound ones")


@finding("IV-A, models", "No model comes near the peak",
         "All models achieve at most 52 % of the theoretical peak throughput.",
         "The throughput of every image classification model (flops over kernel latency; without kernels, flops from shapes over model latency) "
         "is at most 52 % of the peak, here the measured one of the machine.")
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
         "For each of them that is known of at least 5 image classification models, no third is that of more than 90 % of the models. "
         "Memory accesses without a kernel level: the bytes that follow from shapes.")
def thirds(zoo):
    rows = zoo.of_task("image classification", zoo.depth)
    said, decided = [], []
    for name, keys in (("latency", ("latency_stage",)), ("memory", ("memory_stage",)), ("flops", ("flops_stage",)),
                       ("accesses", ("traffic_stage", "analytic_traffic_stage"))):
        found = [next((row[key] for key in keys if row[key] is not None), None) for row in rows]
        found = [one for one in found if one is not None]
        if len(found) < MODELS_LEAST:
            continue
        counts = {stage: found.count(stage) for stage in "BME"}
        decided.append(max(counts.values()) <= MOST * len(found))
        said.append(f"{name} B {counts['B']}, M {counts['M']}, E {counts['E']}")
    if not decided:
        return UNKNOWN, f"fewer than {MODELS_LEAST} image classification models have layers"
    return verdict(all(decided)), "; ".join(said)


# ---- IV-B: frameworks --------------------------------------------------------------------------------------------------
def too_few(rows, what):
    return UNKNOWN, f"{len(rows) or 'no'} {what}; at least {PAIRS_LEAST} are needed"


@finding("IV-B, frameworks", "The optimal batch sizes match",
         "But for one model, the optimal batch sizes of the MXNet models match those of the corresponding TensorFlow models.",
         "In at least 90 % of the pairs where both reached it, the optimal batch sizes are the same.")
def same_optimal(zoo):
    rows = known(zoo.pairs, "optimal_batch", "base_optimal_batch")
    if len(rows) < PAIRS_LEAST:
        return too_few(rows, "models reached their optimal batch size in both MXNet and TensorFlow")
    same = [row for row in rows if row["optimal_batch"] == row["base_optimal_batch"]]
    return verdict(len(same) >= MOST * len(rows)), f"{len(same)} of {len(rows)} pairs"


def ratios(rows, key, condition):
    rows = known(rows, key)
    if len(rows) < PAIRS_LEAST:
        return too_few(rows, "such models were profiled in both MXNet and TensorFlow on one system")
    return verdict(nearly_all(rows, lambda row: condition(row[key]))), span([row[key] for row in rows], "", 2)


@finding("IV-B, frameworks", "ResNets: MXNet is slower online",
         "The online latency of the MXNet ResNets is 1.32 to 1.76 times TensorFlow's.",
         "In at least 90 % of the ResNet pairs the normalised online latency is above 1.")
def resnet_online(zoo):
    return ratios(zoo.of_family("resnet"), "normalized_online_latency", lambda ratio: ratio > 1)


@finding("IV-B, frameworks", "ResNets: it is the time outside the GPU",
         "Total GPU kernel latencies are about the same; MXNet's non-GPU latency is much higher (ResNet v1 50: 4.44 ms of the online "
         "latency, TensorFlow's 2.18), and its share falls as the batch size grows.",
         "In at least 90 % of the ResNet pairs the non-GPU latency at batch size 1 is higher in MXNet.")
def resnet_outside(zoo):
    rows = known(zoo.of_family("resnet"), "online_non_gpu_latency_ms", "base_online_non_gpu_latency_ms")
    if not rows:
        return NO_KERNELS
    return (verdict(nearly_all(rows, lambda row: row["online_non_gpu_latency_ms"] > row["base_online_non_gpu_latency_ms"])),
            "MXNet over TensorFlow " + span([row["online_non_gpu_latency_ms"] / row["base_online_non_gpu_latency_ms"]
                                             for row in rows if row["base_online_non_gpu_latency_ms"] > 0], "", 2))


@finding("IV-B, frameworks", "ResNets: about the same maximum throughput",
         "MXNet's ResNets achieve 0.90 to 1.03 of TensorFlow's maximum throughput.",
         "In at least 90 % of the ResNet pairs the normalised maximum throughput is between 0.9 and 1.1.")
def resnet_throughput(zoo):
    return ratios(zoo.of_family("resnet"), "normalized_maximum_throughput", lambda ratio: 0.9 <= ratio <= 1.1)


@finding("IV-B, frameworks", "ResNets: the same work",
         "At the optimal batch size the two frameworks' ResNets have comparable flops (Tables IX and X: 0.91 to 1.11 of TensorFlow's), "
         "memory accesses, occupancy and rooflines.",
         "In at least 90 % of the ResNet pairs, flops an input within 12 % of each other, both from the same source and complete. "
         "Accesses, occupancy and rooflines need kernel metrics.")
def resnet_work(zoo):
    partial = {(row["model_name"], row["framework"]) for row in zoo.depth if row["layers_without_flops"]}
    rows = [row for row in known(zoo.of_family("resnet"), "flops", "base_flops", "batch_size", "base_batch_size")
            if row["flops_from"] == row["base_flops_from"] and (row["model_name"], row["framework"]) not in partial and
            not any(plain(name) == plain(row["model_name"]) and framework == row["base_framework"] for name, framework in partial)]
    if len(rows) < PAIRS_LEAST:
        return too_few(rows, "ResNet pairs have the flops of all layers on both sides")
    found = [row["flops"] / row["batch_size"] / (row["base_flops"] / row["base_batch_size"]) for row in rows]
    return verdict(sum(abs(one - 1) <= 0.12 for one in found) >= MOST * len(found)), \
        f"flops over TensorFlow's {span(found, '', 3)} ({rows[0]['flops_from']})"


@finding("IV-B, frameworks", "MobileNets: the same online latency",
         "MXNet's MobileNets have 0.87 to 1.00 of TensorFlow's online latency.",
         "In at least 90 % of the MobileNet pairs the normalised online latency is between 0.85 and 1.15.")
def mobilenet_online(zoo):
    return ratios(zoo.of_family("mobilenet"), "normalized_online_latency", lambda ratio: 0.85 <= ratio <= 1.15)


@finding("IV-B, frameworks", "MobileNets: MXNet has more throughput",
         "MXNet's MobileNets achieve 35 % to 74 % more throughput at their optimal batch sizes.",
         "In at least 90 % of the MobileNet pairs the normalised maximum throughput is at least 1.1.")
def mobilenet_throughput(zoo):
    return ratios(zoo.of_family("mobilenet"), "normalized_maximum_throughput", lambda ratio: ratio >= 1.1)


def element_wise_ms(zoo, row, framework):
    layers = zoo.layers_of(row, framework)
    if layers is None or not layers["types"]:
        return None
    return sum(row["latency_ms"] or 0 for row in layers["types"]
               if row["layer_type"] and ELEMENT_WISE.search(row["layer_type"]) and not CONVOLUTION.search(row["layer_type"])) / layers["batch"]


@finding("IV-B, frameworks", "MobileNets: element-wise layers cost TensorFlow more",
         "TensorFlow's element-wise layers (Eigen) incur excessive DRAM traffic, which limits its memory-bound MobileNets.",
         "In at least 90 % of the MobileNet pairs TensorFlow spends more time an input in element-wise layers (additions, products, "
         "activations, normalisations by themselves) than MXNet. Traffic itself needs kernel metrics.")
def element_wise(zoo):
    found = []
    for row in zoo.of_family("mobilenet"):
        mine, base = (element_wise_ms(zoo, row, framework) for framework in (row["framework"], row["base_framework"]))
        if mine is not None and base is not None:
            found.append((mine, base))
    if len(found) < PAIRS_LEAST:
        return too_few(found, "MobileNet pairs have layers on both sides")
    return (verdict(nearly_all(found, lambda pair: pair[1] > pair[0])),
            f"TensorFlow {span([base for _, base in found], ' ms', 3)}, MXNet {span([mine for mine, _ in found], ' ms', 3)} an input")


# ---- IV-C: systems -----------------------------------------------------------------------------------------------------
@finding("IV-C, systems", "Performance differs across systems at each batch size",
         "The performance of ResNet50 v1.5 at each batch size differs across the five systems, and scales differently with it.",
         "For at least 90 % of the (model, batch size) on two systems the throughputs differ by more than 5 %.")
def systems_differ(zoo):
    rows = known(zoo.systems, "normalized_throughput")
    if not rows:
        return UNKNOWN, "all profiles are of one system, or no model is on two"
    return (verdict(nearly_all(rows, lambda row: abs(row["normalized_throughput"] - 1) > 0.05)),
            "throughput over the first system's " + span([row["normalized_throughput"] for row in rows], "", 2))


@finding("IV-C, systems", "Kernels depend on the system",
         "The GPU kernels that are invoked depend on the system, even with the same batch size and software.",
         "The names of the kernels (A10) differ in at least one model that was profiled with kernels on two systems.")
def systems_kernels(zoo):
    names_of = {}
    for (model, framework, _), layers in zoo.layers.items():
        if layers["names"]:
            names_of.setdefault((model, framework), []).append(layers["names"])
    several = [names for names in names_of.values() if len(names) > 1]
    if not several:
        return UNKNOWN, "no model was profiled with kernels on two systems"
    differ = sum(any(one != names[0] for one in names) for names in several)
    return verdict(differ > 0), f"they differ in {differ} of {len(several)} models"


# ---- III-D: what the paper sees in its example -------------------------------------------------------------------------
def of_example(zoo, rows):
    """ResNet50 v1.5, in TensorFlow where it is there."""
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
         "Recording layers adds 157 ms to the 275.1 ms of ResNet50 v1.5 (57 %): so that latencies must come from runs without deeper levels.",
         "The model latency with layers recorded is more than 5 % above the one without in at least one model in four.")
def overhead(zoo):
    found = [row["overhead_pct"] for layers in zoo.layers.values() for row in layers["levels"]
             if row["levels"] == "M/L" and row["batch_size"] == layers["batch"] and row["overhead_pct"] is not None]
    if not found:
        return UNKNOWN, "no model was profiled at both M and M/L, or all differences are within the noise"
    return verdict(sum(one > 5 for one in found) >= len(found) / 4), span(found, " %")
