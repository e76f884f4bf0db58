// SPDX-License-Identifier: Apache-2.0
// T10, one framework normalised to another, model by model, as the paper's Table X. One row for each pair of a model in two
// frameworks on one system, from the rows of T8 and T9.
#include "analyze/a_list.h"
#include "analyze/models/survey.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#define FLOPS_DIFFER 0.05 // of the larger: above it two models of one name do not compute the same

enum {
  MODEL,
  SYSTEM,
  FRAMEWORK,
  FRAMEWORK_VERSION,
  BASE_FRAMEWORK,
  BASE_VERSION,
  ONLINE_RATIO,
  OPTIMAL_BATCH,
  BASE_OPTIMAL_BATCH,
  THROUGHPUT_RATIO,
  CONVOLUTION,
  BASE_CONVOLUTION,
  BATCH,
  BASE_BATCH,
  GPU_PCT,
  BASE_GPU_PCT,
  FLOPS,
  FLOPS_FROM,
  BASE_FLOPS,
  BASE_FLOPS_FROM,
  DRAM_READ,
  DRAM_WRITE,
  OCCUPANCY,
  INTENSITY,
  THROUGHPUT,
  BOUND,
  BASE_BOUND,
  ONLINE,
  BASE_ONLINE,
  MAXIMUM,
  BASE_MAXIMUM,
  ONLINE_OTHER,
  BASE_ONLINE_OTHER,
  COLUMN_COUNT
};

static const struct table_column columns[] = {
    COLUMN("model_name", "", "model"),
    COLUMN("system", "", "system"),
    COLUMN("framework", "", "framework"),
    COLUMN("framework_version", "", "version"),
    COLUMN("base_framework", "", "base"),
    COLUMN("base_framework_version", "", "base version"),
    COLUMN("normalized_online_latency", "", "normalised online"),
    COLUMN("optimal_batch", "", "optimal"),
    COLUMN("base_optimal_batch", "", "base's optimal"),
    COLUMN("normalized_maximum_throughput", "", "normalised max"),
    COLUMN("convolution_pct_of_model", "%", "convolution"),
    COLUMN("base_convolution_pct_of_model", "%", "base's conv."),
    COLUMN("batch_size", "", "batch"),
    COLUMN("base_batch_size", "", "base's batch"),
    COLUMN("gpu_pct", "%", "GPU"),
    COLUMN("base_gpu_pct", "%", "base's GPU"),
    COLUMN("flops", "flops", "flops"),
    COLUMN("flops_from", "", "flops from"),
    COLUMN("base_flops", "flops", "base's flops"),
    COLUMN("base_flops_from", "", "base's from"),
    COLUMN("dram_read_bytes", "bytes", "DRAM reads"),
    COLUMN("dram_write_bytes", "bytes", "DRAM writes"),
    COLUMN("achieved_occupancy_pct", "%", "occupancy"),
    COLUMN("arithmetic_intensity", "flops/byte", "intensity"),
    COLUMN("arithmetic_throughput_flops_per_s", "flops/s", "throughput"),
    COLUMN("bound", "", "bound"),
    COLUMN("base_bound", "", "base's bound"),
    COLUMN("online_latency_ms", "ms", "online"),
    COLUMN("base_online_latency_ms", "ms", "base's online"),
    COLUMN("maximum_throughput_per_s", "1/s", "maximum"),
    COLUMN("base_maximum_throughput_per_s", "1/s", "base's max"),
    COLUMN("online_non_gpu_latency_ms", "ms", "non-GPU online"),
    COLUMN("base_online_non_gpu_latency_ms", "ms", "base's non-GPU"),
};
_Static_assert(sizeof columns / sizeof columns[0] == COLUMN_COUNT, "a column and its place in the rows");

// ---- who is compared with whom ---------------------------------------------------------------------------------------
// Names are the same where their letters and digits are, in any case: "ResNet50 v1", "resnet50_v1".
static bool are_same_model(const char *a, const char *b)
{
  for (;;) {
    while (*a != 0 && !isalnum((unsigned char)*a) && (unsigned char)*a < 0x80)
      a++;
    while (*b != 0 && !isalnum((unsigned char)*b) && (unsigned char)*b < 0x80)
      b++;
    if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
      return false;
    if (*a == 0)
      return true;
    a++;
    b++;
  }
}

static const char *framework_of(const struct survey_item *item)
{
  return item->of.experiment->framework;
}

// "NAME", or "NAME==VERSION".
static bool is_base(const struct survey_item *item, const char *base)
{
  const char *framework = framework_of(item), *version = strstr(base, "==");
  size_t length = version != NULL ? (size_t)(version - base) : strlen(base);
  if (framework == NULL || strlen(framework) != length || strncasecmp(framework, base, length) != 0)
    return false;
  const char *own = item->of.experiment->framework_version;
  return version == NULL || (own != NULL && strcmp(own, version + 2) == 0);
}

static size_t count_models(const struct survey *survey, const char *framework)
{
  size_t models = 0;
  for (size_t i = 0; i < survey->count; i++) {
    bool is_new = is_base(&survey->items[i], framework);
    for (size_t k = 0; k < i && is_new; k++)
      is_new = !is_base(&survey->items[k], framework) ||
               !are_same_model(survey->items[k].model_name, survey->items[i].model_name);
    models += is_new;
  }
  return models;
}

// The request's, else the framework with most models, of equals the first.
static enum status choose_base(const struct survey *survey, const char **ret_base, struct error *err)
{
  size_t most = 0;
  *ret_base = survey->request->base;
  for (size_t i = 0; i < survey->count; i++) {
    const char *framework = framework_of(&survey->items[i]);
    if (survey->request->base != NULL && is_base(&survey->items[i], survey->request->base))
      return STATUS_OK;
    size_t models = survey->request->base != NULL || framework == NULL ? 0 : count_models(survey, framework);
    if (models > most) {
      most = models;
      *ret_base = framework;
    }
  }
  if (survey->request->base != NULL)
    return error_set(err, STATUS_USE, "cannot normalise to this framework", survey->request->base,
                     "--base NAME or --base NAME==VERSION; xsp analyze T8 shows which there are",
                     "no experiment is of it");
  if (*ret_base == NULL)
    return survey_lacks(survey, err, "no experiment says which framework it is of");
  return STATUS_OK;
}

static const struct survey_item *find_pair(const struct survey *survey, const struct survey_item *item,
                                           const char *base)
{
  for (size_t i = 0; i < survey->count; i++) {
    const struct survey_item *other = &survey->items[i];
    if (is_base(other, base) && other->system_number == item->system_number &&
        are_same_model(other->model_name, item->model_name))
      return other;
  }
  return NULL;
}

// ---- one pair --------------------------------------------------------------------------------------------------------
struct sides { // rows of T8 and T9 by item
  struct table models, depth;
};

static double ratio(const struct table_cell *over, const struct table_cell *under)
{
  double denominator = cell_double(under);
  return denominator > 0 ? cell_double(over) / denominator : NAN;
}

// What is not the GPU's of the latency of one input.
static enum status non_gpu_online(struct survey *survey, const struct survey_item *item, struct table_cell *ret_cell,
                                  struct error *err)
{
  struct table table;
  bool has;
  XSP_TRY(survey_ask(survey, item, &analysis_a15, 1, false, &table, &has, err));
  *ret_cell = has ? survey_cell(survey, &table, 0, "non_gpu_latency_ms") : (struct table_cell){0};
  survey_next(survey);
  return STATUS_OK;
}

static void take_side(struct survey *survey, const struct sides *sides, size_t index, bool is_base_side,
                      struct table_cell *row)
{
  static const struct {
    size_t column, base_column; // COLUMN_COUNT: not told of this side
    const char *key;
    bool in_depth;
  } taken[] = {
      {OPTIMAL_BATCH, BASE_OPTIMAL_BATCH, "optimal_batch", false},
      {CONVOLUTION, BASE_CONVOLUTION, "convolution_pct_of_model", false},
      {ONLINE, BASE_ONLINE, "online_latency_ms", false},
      {MAXIMUM, BASE_MAXIMUM, "maximum_throughput_per_s", false},
      {BATCH, BASE_BATCH, "batch_size", true},
      {GPU_PCT, BASE_GPU_PCT, "gpu_pct", true},
      {FLOPS, BASE_FLOPS, "flops", true},
      {FLOPS_FROM, BASE_FLOPS_FROM, "flops_from", true},
      {DRAM_READ, COLUMN_COUNT, "dram_read_bytes", true},
      {DRAM_WRITE, COLUMN_COUNT, "dram_write_bytes", true},
      {OCCUPANCY, COLUMN_COUNT, "achieved_occupancy_pct", true},
      {INTENSITY, COLUMN_COUNT, "arithmetic_intensity", true},
      {THROUGHPUT, COLUMN_COUNT, "arithmetic_throughput_flops_per_s", true},
      {BOUND, BASE_BOUND, "bound", true},
  };
  for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
    size_t column = is_base_side ? taken[i].base_column : taken[i].column;
    if (column < COLUMN_COUNT)
      row[column] = survey_cell(survey, taken[i].in_depth ? &sides->depth : &sides->models, index, taken[i].key);
  }
}

// A name says little: networks of one name may differ in more than the framework.
static void note_flops(struct survey *survey, const struct survey_item *item, const struct table_cell *row)
{
  if (row[FLOPS_FROM].type != CELL_TEXT || row[BASE_FLOPS_FROM].type != CELL_TEXT)
    return;
  double own = ratio(&row[FLOPS], &row[BATCH]), base = ratio(&row[BASE_FLOPS], &row[BASE_BATCH]);
  if (strcmp(row[FLOPS_FROM].value.text, row[BASE_FLOPS_FROM].value.text) != 0)
    survey_note(survey, item,
                "flops of the two do not compare: one side's are measured, the other's follow from shapes");
  else if (fabs(own - base) > FLOPS_DIFFER * fmax(own, base))
    survey_note(survey, item,
                "flops an input of the two differ by more than 5 %: another network, or one side's are partial");
}

static enum status add_pair(struct survey *survey, const struct sides *sides, const struct survey_item *item,
                            const struct survey_item *base, struct error *err)
{
  struct table_cell *row = table_row(&survey->table);
  row[MODEL] = cell_text(item->model_name);
  row[SYSTEM] = cell_text(item->system_name);
  row[FRAMEWORK] = cell_text(framework_of(item));
  row[FRAMEWORK_VERSION] = cell_text(item->of.experiment->framework_version);
  row[BASE_FRAMEWORK] = cell_text(framework_of(base));
  row[BASE_VERSION] = cell_text(base->of.experiment->framework_version);
  take_side(survey, sides, (size_t)(item - survey->items), false, row);
  take_side(survey, sides, (size_t)(base - survey->items), true, row);
  row[ONLINE_RATIO] = cell_real(ratio(&row[ONLINE], &row[BASE_ONLINE]));
  row[THROUGHPUT_RATIO] = cell_real(ratio(&row[MAXIMUM], &row[BASE_MAXIMUM]));
  XSP_TRY(non_gpu_online(survey, item, &row[ONLINE_OTHER], err));
  XSP_TRY(non_gpu_online(survey, base, &row[BASE_ONLINE_OTHER], err));
  if (row[ONLINE_RATIO].type == CELL_NULL)
    survey_note(survey, item, "one of the two was not measured at batch size 1: no normalised online latency");
  if (row[THROUGHPUT_RATIO].type == CELL_NULL)
    survey_note(survey, item, "one of the two has no throughput: not normalised");
  note_flops(survey, item, row);
  return STATUS_OK;
}

// ---- the answer ------------------------------------------------------------------------------------------------------
static void note_unpaired_base(struct survey *survey, const char *base, const bool *is_paired)
{
  for (size_t i = 0; i < survey->count; i++) {
    const struct survey_item *item = &survey->items[i];
    if (!is_base(item, base) || is_paired[i])
      continue;
    survey_note(survey, item,
                find_pair(survey, item, base) != item
                    ? "the same model again in the framework that is normalised to, left out"
                    : "not paired, in no other framework on this system");
  }
}

static enum status answer_all(struct survey *survey, struct error *err)
{
  const char *base;
  struct sides sides;
  bool *is_paired = arena_alloc_array(survey->arena, survey->count, sizeof *is_paired);
  if (is_paired == NULL)
    return question_no_memory(err);
  XSP_TRY(choose_base(survey, &base, err));
  XSP_TRY(survey_table(survey, &analysis_t8, &sides.models, err));
  XSP_TRY(survey_table(survey, &analysis_t9, &sides.depth, err));
  table_columns(&survey->table, columns, COLUMN_COUNT);
  for (size_t i = 0; i < survey->count; i++) {
    const struct survey_item *item = &survey->items[i], *other = NULL;
    if (is_base(item, base))
      continue;
    other = find_pair(survey, item, base);
    if (other == NULL) {
      survey_note(survey, item, "not paired, not in the framework that is normalised to on this system");
      continue;
    }
    is_paired[other - survey->items] = true;
    XSP_TRY(add_pair(survey, &sides, item, other, err));
  }
  if (survey->table.row_count == 0)
    return survey_lacks(
        survey, err,
        "no model is there in two frameworks on one system (in two versions of one: --base NAME==VERSION)");
  survey->observations = sides.models.observations;
  note_unpaired_base(survey, base, is_paired);
  table_note(&survey->table,
             "normalised to %s: above 1 is slower for the online latency, faster for the maximum throughput", base);
  return STATUS_OK;
}

const struct analysis analysis_t10 = {
    .id = "T10", .title = "framework against framework", .needs = "M, L, K", .answer_all = answer_all};
