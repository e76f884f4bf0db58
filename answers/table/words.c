// SPDX-License-Identifier: Apache-2.0
// The table of words, and labels and units from keys. Called by builder.c and by outputs of summaries. Pure.
#include "table/words.h"

#include "base/slice.h"

#include <ctype.h>
#include <string.h>

// clang-format off
const struct table_word table_words[] = {
    {"a_n", .label = "a's n", .traits = TABLE_ONCE},
    {"achieved_occupancy_pct", .label = "occupancy", .rank = 270, .traits = TABLE_NO_SHARE},
    {"adds", .unit = "ops", .rank = 390},
    {"advice", .label = "try"},
    {"agreement_pct", .label = "agrees"},
    {"alloc_bytes", .label = "allocated"},
    {"alloc_from", .label = "allocated from", .traits = TABLE_ORIGIN},
    {"analytic_bytes", .label = "analytic bytes", .rank = 210},
    {"analytic_intensity", .rank = 200},
    {"analytic_multiply_adds", .label = "analytic multiply-adds"},
    {"analytic_precision", .rank = 430, .traits = TABLE_ONCE},
    {"analytic_throughput_flops_per_s", .rank = 190},
    {"analytic_traffic_stage", .label = "analytic traffic in", .rank = 500},
    {"analytic_unknown_pct", .label = "their share of time"},
    {"ap50_pct", .label = "AP50"},
    {"ap75_pct", .label = "AP75"},
    {"ap_pct", .label = "AP"},
    {"arithmetic_intensity", .label = "intensity", .rank = 240},
    {"arithmetic_throughput_flops_per_s", .label = "throughput", .rank = 250},
    {"asynchronous_pct", .traits = TABLE_IF_MEASURED},
    {"b_n", .label = "b's n", .traits = TABLE_ONCE},
    {"b_name", .label = "in b"},
    {"backward_ratio", .label = "backward / forward"},
    {"base_batch_size", .rank = 550},
    {"base_convolution_pct_of_model", .rank = 20},
    {"base_flops", .rank = 560},
    {"base_flops_from", .rank = 570},
    {"base_framework", .rank = 30},
    {"base_framework_version", .rank = 180},
    {"base_maximum_throughput_per_s", .rank = 520},
    {"base_online_latency_ms", .rank = 510},
    {"base_online_non_gpu_latency_ms", .rank = 540},
    {"base_optimal_batch", .rank = 10},
    {"batch_size", .label = "batch"},
    {"break_source", .label = "break at", .rank = 570},
    {"busy_pct", .label = "GPU busy"},
    {"bytes", .label = "size", .unit = "bytes"},
    {"cer_pct", .label = "CER"},
    {"cold_batch", .traits = TABLE_IF_MEASURED},
    {"cold_count", .traits = TABLE_IF_MEASURED},
    {"cold_max_ms", .traits = TABLE_IF_MEASURED},
    {"cold_median_ms", .traits = TABLE_IF_MEASURED},
    {"cold_min_ms", .traits = TABLE_IF_MEASURED},
    {"cold_start_median_ms", .traits = TABLE_IF_MEASURED},
    {"compares", .unit = "ops", .rank = 400},
    {"compile_count", .label = "compilations", .traits = TABLE_IF_MEASURED},
    {"compile_total_ms", .label = "compiling in all", .traits = TABLE_IF_MEASURED},
    {"convolution_pct_of_layers", .label = "convolutions of layers", .unit = "%"},
    {"convolution_pct_of_model", .label = "convolutions of model", .unit = "%"},
    {"cosine_similarity", .label = "cosine"},
    {"count", .rank = 80},
    {"covered_ms", .label = "covered by layers"},
    {"covered_pct", .label = "covered by observations", .traits = TABLE_IF_MEASURED | TABLE_NO_SHARE},
    {"cpu_model", .label = "CPU"},
    {"cv_pct", .label = "cv", .rank = 340, .traits = TABLE_SPREAD | TABLE_NO_SHARE},
    {"data_checksum", .label = "checksum"},
    {"data_set", .label = "data"},
    {"deeper_latency_ms", .label = "with kernels"},
    {"dominant_layer_pct", .rank = 60},
    {"dominant_layer_type", .label = "dominant type", .rank = 50},
    {"dram_read_bytes", .rank = 280},
    {"dram_read_stage", .traits = TABLE_TWICE},
    {"dram_stage", .traits = TABLE_TWICE},
    {"dram_write_bytes", .rank = 290},
    {"dram_write_stage", .traits = TABLE_TWICE},
    {"dropped", .rank = 220},
    {"error_ms", .label = "error (95 %)", .rank = 240},
    {"flops", .unit = "flops", .rank = 90},
    {"flops_from", .rank = 110},
    {"flops_stage", .label = "flops in"},
    {"framework", .traits = TABLE_ONCE},
    {"framework_version", .label = "version", .rank = 170},
    {"function_file", .rank = 600},
    {"function_line", .rank = 590},
    {"gpu_model", .label = "GPU"},
    {"gpu_pct", .label = "GPU"},
    {"gpu_sum_ms", .label = "sum of GPU"},
    {"graph_break", .rank = 580},
    {"graph_bytes", .label = "graph size", .rank = 150},
    {"hottest", .label = "calls most", .rank = 235},
    {"ideal_arithmetic_intensity", .label = "ideal intensity", .rank = 120, .traits = TABLE_ONCE | TABLE_ROOF},
    {"interval_from", .rank = 440, .traits = TABLE_ONCE | TABLE_FIXED_WORDS},
    {"iou_pct", .label = "IoU"},
    {"is_latency_bound", .label = "latency-bound", .rank = 260},
    {"joules_per_input", .label = "energy per input", .unit = "J"},
    {"js_largest_nats", .label = "largest JS"},
    {"js_nats", .label = "JS"},
    {"kernel_latency_from", .label = "kernels from"},
    {"kernels_pct", .rank = 350},
    {"kernels_without_layer_ms", .label = "their latency"},
    {"key", .label = "fact"},
    {"kind_count", .label = "kinds of calls", .traits = TABLE_IF_MEASURED},
    {"kinds", .traits = TABLE_IF_MEASURED},
    {"kl_infinite", .label = "infinite KL"},
    {"kl_largest_nats", .label = "largest KL"},
    {"kl_nats", .label = "KL"},
    {"largest_difference", .label = "largest"},
    {"largest_item", .label = "of input"},
    {"latency_basis", .label = "basis", .traits = TABLE_ORIGIN},
    {"latency_from", .label = "from", .rank = 450, .traits = TABLE_ORIGIN},
    {"latency_ratio", .label = "of the first"},
    {"latency_stage", .label = "latency in"},
    {"layer_index", .label = "index"},
    {"layer_latency_from", .label = "layers from", .traits = TABLE_ORIGIN},
    {"layer_shape", .label = "shape", .rank = 370},
    {"layer_sum_ms", .label = "sum of layers"},
    {"layer_type", .label = "type"},
    {"layers_without_flops", .label = "layers without", .unit = "", .rank = 100},
    {"levels", .traits = TABLE_FIXED_WORDS},
    {"load_median_ms", .traits = TABLE_IF_MEASURED},
    {"load_ms", .traits = TABLE_IF_MEASURED},
    {"map_pct", .label = "mAP"},
    {"mask_ap50_pct", .label = "mask AP50"},
    {"mask_ap75_pct", .label = "mask AP75"},
    {"mask_ap_pct", .label = "mask AP"},
    {"mask_map_pct", .label = "mask mAP"},
    {"matched_by", .traits = TABLE_ONCE},
    {"max_ms", .rank = 330, .traits = TABLE_SPREAD},
    {"maximum_throughput_batch", .rank = 40},
    {"mean_difference", .label = "mean"},
    {"memory_bandwidth_bytes_per_s", .label = "bandwidth", .rank = 140, .traits = TABLE_ONCE | TABLE_ROOF},
    {"memory_stage", .label = "memory in", .rank = 70},
    {"metric_coverage_pct", .label = "metrics cover", .rank = 300},
    {"min_ms", .rank = 320, .traits = TABLE_SPREAD},
    {"miou_pct", .label = "mIoU"},
    {"model_latency_from", .label = "model from", .traits = TABLE_ORIGIN},
    {"model_sha256", .label = "checksum"},
    {"multiply_adds", .label = "multiply-adds", .unit = "ops", .rank = 380},
    {"n", .rank = 490, .traits = TABLE_SPREAD},
    {"needs", .label = "needs levels"},
    {"next_stall", .label = "next"},
    {"next_stall_pct", .label = "next"},
    {"non_gpu_sum_ms", .label = "sum of non-GPU"},
    {"normalized_maximum_throughput", .label = "normalised maximum"},
    {"normalized_online_latency", .label = "normalised online"},
    {"normalized_throughput", .label = "of the first"},
    {"observations", .label = "observed"},
    {"observations_needed", .label = "needed"},
    {"occurrence_ms", .label = "where present", .rank = 310, .traits = TABLE_PRESENCE},
    {"online_non_gpu_latency_ms", .rank = 530},
    {"other_name", .label = "in the second"},
    {"other_waiting_ms", .label = "other threads waiting"},
    {"outside", .label = "outside of them", .traits = TABLE_IF_MEASURED},
    {"over", .traits = TABLE_FIXED_WORDS},
    {"overhead_high_ms", .label = "high"},
    {"overhead_low_ms", .label = "low"},
    {"overhead_pct", .traits = TABLE_NO_SHARE},
    {"own_pct", .label = "xsp's own", .rank = 360, .traits = TABLE_NO_SHARE},
    {"p999_ms", .label = "p99.9"},
    {"paired_high", .label = "to"},
    {"paired_low", .label = "from"},
    {"paired_ratio", .label = "paired"},
    {"peak_flops_per_s", .rank = 130, .traits = TABLE_ONCE | TABLE_ROOF},
    {"pixel_pct", .label = "pixels"},
    {"precision", .rank = 420, .traits = TABLE_ONCE},
    {"preprocess_per", .label = "per"},
    {"present", .rank = 480, .traits = TABLE_PRESENCE},
    {"problem", .label = "not compared"},
    {"qps", .label = "offered", .unit = "1/s"},
    {"qps_upper", .label = "surely too many", .unit = "1/s"},
    {"rate_hz", .label = "rate", .unit = "Hz"},
    {"recompile_count", .label = "of them again", .traits = TABLE_IF_MEASURED},
    {"relative_difference", .label = "relative"},
    {"rows_sum_ms", .label = "sum of rows"},
    {"run_id", .label = "run"},
    {"saving_basis", .label = "bound"},
    {"saving_ms", .label = "at most"},
    {"saving_pct", .label = "at most"},
    {"segment_ms", .label = "mean of it"},
    {"signature", .rank = 60},
    {"slowest_pct_of_steps", .label = "slowest in steps", .unit = "%"},
    {"spans", .rank = 230},
    {"specials", .unit = "ops", .rank = 410},
    {"system", .traits = TABLE_ONCE},
    {"task", .rank = 160},
    {"top1_pct", .label = "top 1"},
    {"top5_pct", .label = "top 5"},
    {"total_ms", .label = "together"},
    {"traffic_stage", .label = "traffic in"},
    {"verdict", .traits = TABLE_FIXED_WORDS},
    {"wait_ms", .label = "waits"},
    {"wanted_place", .label = "wanted"},
    {"warmup_observations", .label = "warm-up", .rank = 470},
    {"without_parent", .label = "roots", .rank = 460},
    {0},
};
// clang-format on

const struct table_word *table_word(const char *key)
{
  static const struct table_word none = {0};
  for (const struct table_word *word = table_words; word->key != NULL; word++)
    if (strcmp(word->key, key) == 0)
      return word;
  return &none;
}

// Longer ones before those that they end with.
const struct table_ending table_endings[] = {
    {"_flops_per_s", "flops/s", 0},
    {"_bytes_per_s", "bytes/s", 0},
    {"_per_s", "1/s", 0},
    {"_ms", "ms", 0},
    {"_ns", "ns", 0},
    {"_s", "s", 0},
    {"_bytes", "bytes", 0},
    {"_flops", "flops", sizeof "_flops" - 1},
    {"_pct", "%", 0},
    {"_intensity", "flops/byte", sizeof "_intensity" - 1},
    {"_name", "", 0},
    {"_multiply_adds", "ops", sizeof "_multiply_adds" - 1},
    {0},
};

static const struct table_ending *find_ending(const char *key)
{
  for (const struct table_ending *ending = table_endings; ending->text != NULL; ending++)
    if (strlen(key) > strlen(ending->text) && text_ends_with(key, ending->text))
      return ending;
  return NULL;
}

const char *table_unit(const char *key)
{
  const struct table_word *word = table_word(key);
  const struct table_ending *ending = find_ending(key);
  if (word->unit != NULL)
    return word->unit;
  if (strncmp(key, "base_", strlen("base_")) == 0)
    return table_unit(key + strlen("base_"));
  return ending != NULL ? ending->unit : "";
}

// "gpu_memory": "GPU memory"; "dram_read_bytes_stage": "DRAM read stage"; "non_gpu": "non-GPU".
static const char *label_of_parts(struct slice key, struct arena *arena)
{
  static const char *const abbreviations[] = {"cpu", "cpus", "gpu", "gpus", "dram"};
  char *label = arena_alloc_array(arena, key.length + 1, 1), *end = label;
  const char *joint = "";
  for (struct slice part; slice_cut(&key, '_', &part);) {
    bool is_abbreviation = false;
    for (size_t i = 0; i < sizeof abbreviations / sizeof abbreviations[0]; i++)
      is_abbreviation |= slice_is(part, abbreviations[i]);
    if (end > label && slice_is(part, "bytes"))
      continue;
    end = stpcpy(end, joint);
    for (size_t i = 0; i < part.length; i++)
      *end++ = is_abbreviation && part.data[i] != 's' ? (char)toupper((unsigned char)part.data[i]) : part.data[i];
    joint = slice_is(part, "non") ? "-" : " ";
  }
  *end = 0;
  return label;
}

static const char *label_of_key(const char *key, struct arena *arena)
{
  const struct table_word *word = table_word(key);
  if (word->label != NULL)
    return word->label;
  if (strncmp(key, "base_", strlen("base_")) == 0)
    return arena_format(arena, "base's %s", label_of_key(key + strlen("base_"), arena));
  if (strncmp(key, "is_", strlen("is_")) == 0)
    return label_of_key(key + strlen("is_"), arena);
  const struct table_ending *ending = find_ending(key);
  size_t length = strlen(key) - (ending != NULL ? strlen(ending->text) - ending->stays : 0);
  return label_of_parts((struct slice){key, length}, arena);
}

const char *table_label(const char *key, const char *of, struct arena *arena)
{
  const char *label = table_word(key)->label;
  if (of == NULL)
    return label_of_key(key, arena);
  return label != NULL ? arena_format(arena, "%s of %s", label, of) : arena_format(arena, "of %s", of);
}
