# SPDX-License-Identifier: Apache-2.0
"""What the paper found of frameworks (IV-B) and systems (IV-C). See evaluation_findings.py."""
from evaluation_findings import (CONVOLUTION, ELEMENT_WISE, MOST, NO_KERNELS, PAIRS_LEAST, UNKNOWN, bounds, finding, is_complete,
                                 known, nearly_all, plain, span, too_few, verdict)


# ---- IV-B: frameworks --------------------------------------------------------------------------------------------------
@finding("IV-B, frameworks", "The optimal batch sizes match",
         "Except for one model, the optimal batch sizes of the MXNet models match those of the corresponding TensorFlow models.",
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


@finding("IV-B, frameworks", "ResNets are compute-bound, MobileNets memory-bound",
         "At their optimal batch sizes the ResNets are compute-bound, the MobileNets memory-bound, in both frameworks (except "
         "MXNet's MobileNet v1 1.0 224).",
         "At least 90 % of the ResNets are compute-bound and at least 90 % of the MobileNets memory-bound; without "
         "measured kernels, as in IV-A, by intensities from shapes.")
def families_bound(zoo):
    rows, source = bounds(zoo)
    rows = list(filter(is_complete, rows))
    resnets = [row["under"] for row in rows if "resnet" in plain(row["model_name"])]
    mobilenets = [row["under"] for row in rows if "mobilenet" in plain(row["model_name"])]
    if min(len(resnets), len(mobilenets)) < PAIRS_LEAST:
        return UNKNOWN, f"{len(resnets)} ResNets and {len(mobilenets)} MobileNets have an intensity of all of their layers; at least " \
            f"{PAIRS_LEAST} of each are needed"
    return (verdict(resnets.count("compute") >= MOST * len(resnets) and mobilenets.count("memory") >= MOST * len(mobilenets)),
            f"{resnets.count('compute')} of {len(resnets)} ResNets are compute-bound, {mobilenets.count('memory')} of {len(mobilenets)} "
            f"MobileNets memory-bound ({source})")


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


@finding("IV-B, frameworks", "ResNets: MXNet's overhead is fixed",
         "MXNet incurs a fixed overhead for model execution, which is more pronounced for small batch sizes.",
         "In at least 90 % of the ResNet pairs MXNet's time an input over TensorFlow's is at least 2 % higher at batch size 1 than where each "
         "has its maximum throughput.")
def fixed_overhead(zoo):
    rows = known(zoo.of_family("resnet"), "normalized_online_latency", "normalized_maximum_throughput")
    if len(rows) < PAIRS_LEAST:
        return too_few(rows, "ResNets were profiled in both MXNet and TensorFlow on one system")
    at_best = [1 / row["normalized_maximum_throughput"] for row in rows]
    return (verdict(sum(row["normalized_online_latency"] > 1.02 * best for row, best in zip(rows, at_best)) >= MOST * len(rows)),
            f"{span([row['normalized_online_latency'] for row in rows], '', 2)} at batch size 1, {span(at_best, '', 2)} at the best")


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
    if layers is None or not layers["types"] or layers["batch"] is None:
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


@finding("IV-C, systems", "Bandwidth counts besides the peak",
         "Quadro RTX 6000 has a slightly higher peak than V100 and a much lower memory bandwidth: it performs slightly worse.",
         "Of two systems the one with the higher peak and the lower bandwidth has the lower maximum throughput, for at least 90 % of the models "
         "that are on two such systems.")
def bandwidth(zoo):
    throughput = {(row["model_name"], row["framework"], row["system"]): row["maximum_throughput_per_s"] for row in zoo.models}
    found = []
    rows = known(zoo.depth, "peak_flops_per_s", "memory_bandwidth_bytes_per_s")
    for one in rows:
        for other in rows:
            pair = [throughput[row["model_name"], row["framework"], row["system"]] for row in (one, other)]
            if (one["model_name"], one["framework"]) == (other["model_name"], other["framework"]) and None not in pair and \
                    one["system"] != other["system"] and one["peak_flops_per_s"] >= other["peak_flops_per_s"] and \
                    one["memory_bandwidth_bytes_per_s"] < other["memory_bandwidth_bytes_per_s"]:
                found.append(pair[0] / pair[1])
    if not found:
        return UNKNOWN, "no model is on two systems of which one has the higher peak and the other the higher bandwidth"
    return verdict(sum(one < 1 for one in found) >= MOST * len(found)), f"throughput over the other's {span(found, '', 2)}"


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
