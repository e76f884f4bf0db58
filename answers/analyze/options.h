// SPDX-License-Identifier: Apache-2.0
// The options of analyses: `xsp analyze`, its help, man page and completion, libxsp_read and the server's API have them from this
// table. Part of the front door, analyze.h.
#ifndef XSP_ANALYZE_OPTIONS_H
#define XSP_ANALYZE_OPTIONS_H

#define ANALYZE_METRICS_MOST 8
#define ANALYZE_LIST_MOST 256

enum analyze_form {
  ANALYZE_TEXT,    // of these words, where the value's name has them: "host|device"
  ANALYZE_COUNT,   // a whole number from 1
  ANALYZE_PERCENT, // from 0 to `most`
  ANALYZE_FLAG,
  ANALYZE_LIST, // with commas, and may be given several times; at most `most` parts
};
enum analyze_of { ANALYZE_OF_ALL, ANALYZE_OF_FINDINGS };

// X(name, form, member of struct analyze_request, its count, most, value's name, default, of, help). The count is of a list; else
// the member again.
// clang-format off
#define ANALYZE_OPTIONS(X) \
  X("batch", COUNT, batch, batch, 0, "N", NULL, ANALYZE_OF_ALL, \
    "The batch size to look at. Default: the optimal one, where there is none the one of maximum " \
    "throughput; the answer says which.") \
  X("signature", TEXT, signature, signature, 0, "TEXT", NULL, ANALYZE_OF_ALL, \
    "The kind of calls to look at, where a model is called with inputs of different types and shapes: its " \
    "number in A1's kinds, by time, a part of its signature, or all, together. Default: the one with the " \
    "most time; of findings all.") \
  X("layer", TEXT, layer, layer, 0, "outermost|innermost|all|module", NULL, ANALYZE_OF_ALL, \
    "What counts as a layer where layers are nested: outermost; innermost or all, every layer with its " \
    "own time; or module. Default: as the file says, else outermost.") \
  X("stat", TEXT, statistic, statistic, 0, "STATISTIC", NULL, ANALYZE_OF_ALL, \
    "Over the observations: trimmed:F leaves out the fraction F of them at each end, by their latency, " \
    "and mean none: rows then add up to their sums. Value by value: median, min, max, pNN (p95), " \
    "trimmed-each:F. Default: trimmed:0.2.") \
  X("cold", FLAG, cold, cold, 0, NULL, NULL, ANALYZE_OF_ALL, \
    "The first inferences of fresh processes (xsp profile --cold), in place of all other runs: A2 has " \
    "their layers.") \
  X("sort", TEXT, sort, sort, 0, "COLUMN", NULL, ANALYZE_OF_ALL, \
    "Sort by this column, named by its key (latency_ms) or its heading (latency): numbers falling, text " \
    "rising.") \
  X("top", COUNT, top, top, 0, "N", NULL, ANALYZE_OF_ALL, \
    "Only the first N rows. Without --sort: the longest layers and kernels, the largest memory and flops; " \
    "batch sizes, level sets and models in their order.") \
  X("by", TEXT, by, by, 0, "layer|batch|system|framework|experiment|device|module|source|line|function|file|thread|process", NULL, ANALYZE_OF_ALL, \
    "L0: `layer` gives the overhead by layer. A10: `batch`, `system`, `framework`, `experiment` or `device` gives " \
    "counts and times of the experiments of all files in one table; `batch` at every batch size, `device` those of each GPU. A5 to A7 " \
    "and A16: `module` gives sums by torch.nn.Module. A2: `source` lists what each layer was made of, with " \
    "lines, and turns of loops. A22: time by `line`, `function`, `file`, `thread` or `process`.") \
  X("overhead-threshold", PERCENT, small_overhead_pct, small_overhead_pct, 1e6, "PERCENT", "5", ANALYZE_OF_ALL, \
    "L0: no overhead is found where its interval ends below this share of the latency before; a drift of " \
    "more than this leaves the verdict open.") \
  X("base", TEXT, base, base, 0, "FRAMEWORK", NULL, ANALYZE_OF_ALL, \
    "T10: the framework that the others are normalised to; of one version: NAME==VERSION. Default: the " \
    "one with most models.") \
  X("optimal", TEXT, optimal, optimal, 0, "LIMIT", NULL, ANALYZE_OF_ALL, \
    "Take as optimal the batch size with the highest throughput within this limit: \"latency<=10ms\".") \
  X("optimal-threshold", PERCENT, optimal_threshold_pct, optimal_threshold_pct, 1e6, "PERCENT", "5", ANALYZE_OF_ALL, \
    "The optimal batch size is the smallest whose doubling raises the throughput by at most this.") \
  X("latency-threshold", PERCENT, latency_threshold_pct, latency_threshold_pct, 100, "PERCENT", "5", ANALYZE_OF_ALL, \
    "A kernel is bound by latency where it reaches less than this of both the peak arithmetic throughput " \
    "and the memory bandwidth.") \
  X("latency-basis", TEXT, latency_basis, latency_basis, 0, "host|device", NULL, ANALYZE_OF_ALL, \
    "Of layers: host, the spans' own time, or device, the time of their work on devices and on the host " \
    "without it. Default: device where launches return before the work is done.") \
  X("asynchronous-threshold", PERCENT, asynchronous_threshold_pct, asynchronous_threshold_pct, 100, "PERCENT", "5", ANALYZE_OF_ALL, \
    "Layer latencies are on the device basis where more than this of the device time in layers comes " \
    "after they returned.") \
  X("kernel-level", TEXT, kernel_level, kernel_level, 0, "kernel|library", NULL, ANALYZE_OF_ALL, \
    "What kernels are: spans of the kernel level, or the calls of the library level, such as oneDNN's " \
    "primitives, which are the kernels of a model on CPUs. Default: kernel.") \
  X("metric", LIST, metrics, metric_count, ANALYZE_METRICS_MOST, "NAME,...", NULL, ANALYZE_OF_ALL, \
    "Further metrics of kernels, named as their tags are, in A8, A9, A11, A12, A14 and A15.") \
  X("partial-metrics", FLAG, partial_metrics, partial_metrics, 0, NULL, NULL, ANALYZE_OF_ALL, \
    "Give sums of metrics over those kernels that have them, also where others lack them. Such rows are " \
    "marked.") \
  X("only", LIST, only, only_count, ANALYZE_LIST_MOST, "ID,...", NULL, ANALYZE_OF_FINDINGS, \
    "findings: only these, by id (F1), rule (hotspot) or file of --findings, without its ending.") \
  X("min-gain", PERCENT, least_gain_pct, least_gain_pct, 100, "PERCENT", "2", ANALYZE_OF_FINDINGS, \
    "findings: only those that could gain at least this share of the program's time.") \
  X("threshold", LIST, thresholds, threshold_count, ANALYZE_LIST_MOST, "NAME=VALUE,...", NULL, ANALYZE_OF_FINDINGS, \
    "findings: another threshold than the usual one, for example hotspot-share=20 (per cent). " \
    "docs/findings.md lists them.")
// clang-format on

#endif
