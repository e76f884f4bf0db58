// SPDX-License-Identifier: Apache-2.0
// The calling context tree's figures; see context_metrics.h. A caller's id is lower than those of the paths it is in, so one
// pass from the last context to the first has everything below a context before the context itself.
#include "correlate/context_metrics.h"

#include "base/memory.h"
#include "base/saturate.h"

#include <stdlib.h>
#include <string.h>
#include <xsp/span.h>

#define SAMPLED_MOST 256u // a file may be hostile

static const char *const names[CONTEXT_METRICS] = {
    "host_ns",   "device_ns",  "launches",  "bytes",        "flops",           "range_ns",
    "grid_size", "block_size", "registers", "shared_bytes", "parallelism_ppm", "alloc_own_bytes",
    "cpu_ns",    "wait_ns",    "sleep_ns",  "lock_ns",      "io_ns",           "child_ns"};
// Of the metrics that are samples of a tag; the others have none.
static const char *const keys[CONTEXT_METRICS] = {[CONTEXT_BYTES] = "bytes",
                                                  [CONTEXT_FLOPS] = "flops",
                                                  [CONTEXT_GRID_SIZE] = "grid",
                                                  [CONTEXT_BLOCK_SIZE] = "block",
                                                  [CONTEXT_REGISTERS] = "registers",
                                                  [CONTEXT_SHARED_BYTES] = "shared_bytes",
                                                  [CONTEXT_PARALLELISM_PPM] = "parallelism_ppm",
                                                  [CONTEXT_OWN_BYTES] = "alloc_own_bytes"};

static enum context_metric metric_count(const struct context_metrics *metrics)
{
  return CONTEXT_METRICS + (enum context_metric)metrics->sampled.count;
}

static const char *name_of(const struct context_metrics *metrics, enum context_metric metric)
{
  return metric < CONTEXT_METRICS ? names[metric] : metrics->sampled.items[metric - CONTEXT_METRICS];
}

static enum context_metric sampled_metric(struct context_metrics *metrics, const char *name)
{
  for (enum context_metric metric = CONTEXT_METRICS; metric < metric_count(metrics); metric++)
    if (strcmp(name_of(metrics, metric), name) == 0)
      return metric;
  bool is_sampled = strcmp(name, "samples") == 0 || strncmp(name, "samples_", 8) == 0;
  if (!is_sampled || metrics->sampled.count == SAMPLED_MOST)
    return CONTEXT_METRIC_NONE;
  *vector_add(&metrics->sampled) = memory_text(name);
  return metric_count(metrics) - 1;
}

enum context_metric context_metrics_of_tag(struct context_metrics *metrics, const char *key)
{
  for (enum context_metric metric = 0; metric < CONTEXT_METRICS; metric++)
    if (keys[metric] != NULL && strcmp(keys[metric], key) == 0)
      return metric;
  return sampled_metric(metrics, key);
}

static bool contains_below(enum context_metric metric) // an own sample contains those of the contexts below
{
  return metric == CONTEXT_HOST_NS || metric == CONTEXT_FLOPS || metric == CONTEXT_RANGE_NS;
}

static struct map_key key_of(uint32_t context_id, enum context_metric metric)
{
  return (struct map_key){context_id, metric};
}

static void merge(struct context_samples *into, const struct context_samples *from)
{
  if (from->count == 0)
    return;
  into->minimum = into->count == 0 || from->minimum < into->minimum ? from->minimum : into->minimum;
  into->maximum = into->count == 0 || from->maximum > into->maximum ? from->maximum : into->maximum;
  into->count += from->count;
  into->sum = saturate_add(into->sum, from->sum);
  if (__builtin_add_overflow(into->squares, from->squares, &into->squares))
    into->squares = ~(context_squares)0;
}

static struct context_samples *samples_of(struct context_metrics *metrics, uint32_t context_id,
                                          enum context_metric metric)
{
  bool is_new;
  uint64_t *place = map_at(&metrics->places, key_of(context_id, metric), &is_new);
  if (is_new) {
    *place = metrics->samples.count;
    *vector_add(&metrics->samples) = (struct context_samples){0};
  }
  return &metrics->samples.items[*place];
}

void context_metrics_add(struct context_metrics *metrics, uint32_t context_id, enum context_metric metric,
                         int64_t value)
{
  const struct context_samples sample = {1, value, value, value, (context_squares)value * (context_squares)value};
  merge(samples_of(metrics, context_id, metric), &sample);
}

enum context_span context_metrics_span_of(const struct context_words *words, unsigned kind, uint32_t category,
                                          uint32_t name)
{
  if (words->samples != 0 && category == words->samples)
    return CONTEXT_SAMPLES;
  if (words->memory != 0 && category == words->memory && words->allocate != 0 && name == words->allocate)
    return CONTEXT_ALLOCATION;
  if (kind != XSP_KIND_EXECUTION)
    return CONTEXT_OTHER;
  return words->sync != 0 && category == words->sync ? CONTEXT_WAIT : CONTEXT_WORK;
}

void context_metrics_add_span(struct context_metrics *metrics, uint32_t context_id, enum context_span span,
                              unsigned kind, int64_t duration_ns)
{
  if (span == CONTEXT_WAIT || span == CONTEXT_SAMPLES)
    return;
  context_metrics_add(metrics, context_id, kind == XSP_KIND_EXECUTION ? CONTEXT_DEVICE_NS : CONTEXT_HOST_NS,
                      duration_ns);
  if (kind == XSP_KIND_LAUNCH)
    context_metrics_add(metrics, context_id, CONTEXT_LAUNCHES, 1);
}

void context_metrics_add_sample(struct context_metrics *metrics, uint32_t context_id, unsigned kind,
                                int64_t duration_ns)
{
  if (kind == SAMPLE_CPU) {
    context_metrics_add(metrics, context_id, CONTEXT_CPU_NS, duration_ns);
    return;
  }
  context_metrics_add(metrics, context_id, CONTEXT_WAIT_NS, duration_ns);
  context_metrics_add(metrics, context_id, CONTEXT_SLEEP_NS + (enum context_metric)(kind - SAMPLE_SLEEP), duration_ns);
}

static bool has_metric(enum context_span span, enum context_metric metric)
{
  if (metric >= CONTEXT_METRICS)
    return span == CONTEXT_SAMPLES;
  if (metric == CONTEXT_OWN_BYTES)
    return span == CONTEXT_OTHER;
  return metric == CONTEXT_FLOPS || span == (metric == CONTEXT_BYTES ? CONTEXT_ALLOCATION : CONTEXT_WORK);
}

// Of "[64,2,1]": 128; -1: not such a text, or more than a number holds.
static int64_t product(const char *text)
{
  int64_t all = 1;
  char *end = NULL;
  do {
    long long factor = text[0] == '[' || text[0] == ',' ? strtoll(text + 1, &end, 10) : -1;
    if (factor < 0 || end == text + 1 || __builtin_mul_overflow(all, factor, &all))
      return -1;
    text = end;
  } while (*text == ',');
  return strcmp(text, "]") == 0 ? all : -1;
}

void context_metrics_add_tag(struct context_metrics *metrics, uint32_t context_id, enum context_span span,
                             enum context_metric metric, const struct store_tag *tag, const char *text)
{
  if (!has_metric(span, metric))
    return;
  if (metric == CONTEXT_OWN_BYTES)
    metric = CONTEXT_BYTES;
  if (metric == CONTEXT_GRID_SIZE || metric == CONTEXT_BLOCK_SIZE) {
    int64_t all = tag->type == STORE_TEXT ? product(text) : -1;
    if (all >= 0)
      context_metrics_add(metrics, context_id, metric, all);
  } else if (tag->type == STORE_INT && tag->value.integer >= 0)
    context_metrics_add(metrics, context_id, metric, tag->value.integer);
  else if (tag->type == STORE_DOUBLE && tag->value.real >= 0 && tag->value.real < 9.2e18)
    context_metrics_add(metrics, context_id, metric, (int64_t)tag->value.real);
}

// ---- own samples in a file -------------------------------------------------------------------------------------------
void context_metrics_samples(const struct context_metrics *metrics, int64_t run_id, struct arena *arena,
                             struct store_context_sample **ret_rows, size_t *ret_count)
{
  struct store_context_sample *rows = arena_alloc_array(arena, metrics->samples.count + 1, sizeof *rows);
  for (size_t i = 0; i < metrics->places.slot_count; i++) {
    const struct map_slot *slot = &metrics->places.slots[i];
    if (slot->key.a == 0) // free: no context has that number
      continue;
    const struct context_samples *own = &metrics->samples.items[slot->value];
    rows[slot->value] = (struct store_context_sample){.run_id = run_id,
                                                      .context_id = (int64_t)slot->key.a,
                                                      .metric = name_of(metrics, (enum context_metric)slot->key.b),
                                                      .count = own->count,
                                                      .sum = own->sum,
                                                      .minimum = own->minimum,
                                                      .maximum = own->maximum,
                                                      .squares_high = (int64_t)(own->squares >> 64),
                                                      .squares_low = (int64_t)(uint64_t)own->squares};
  }
  *ret_rows = rows;
  *ret_count = metrics->samples.count;
}

void context_metrics_add_stored(struct context_metrics *metrics, const struct store_context_sample *row)
{
  const struct context_samples samples = {row->count, row->sum, row->minimum, row->maximum,
                                          (context_squares)(uint64_t)row->squares_high << 64 |
                                              (uint64_t)row->squares_low};
  enum context_metric metric = 0;
  while (metric < CONTEXT_METRICS && strcmp(names[metric], row->metric) != 0)
    metric++;
  if (metric == CONTEXT_METRICS)
    metric = sampled_metric(metrics, row->metric);
  if (metric != CONTEXT_METRIC_NONE)
    merge(samples_of(metrics, (uint32_t)row->context_id, metric), &samples);
}

struct node {
  struct context_samples set;
  int64_t sum, sum_below;
};

// Of the context `context_id`, after all contexts below have handed on what they have.
static void finish_node(const struct context_metrics *metrics, uint32_t context_id, enum context_metric metric,
                        struct node *node)
{
  const uint64_t *place = map_find(&metrics->places, key_of(context_id, metric));
  const struct context_samples *own = place != NULL ? &metrics->samples.items[*place] : NULL;
  node->sum = node->sum_below;
  if (own != NULL && contains_below(metric)) {
    node->set = *own;
    node->sum = own->sum > node->sum_below ? own->sum : node->sum_below;
  } else if (own != NULL) {
    merge(&node->set, own);
    node->sum = saturate_add(own->sum, node->sum_below);
  }
}

static void hand_on(const struct node *node, struct node *caller)
{
  merge(&caller->set, &node->set);
  caller->sum_below = saturate_add(caller->sum_below, node->sum);
}

static struct store_context_metric row_of(const struct node *node)
{
  long double count = (long double)node->set.count, mean = (long double)node->set.sum / count;
  long double variance = (long double)node->set.squares / count - mean * mean; // of all, not of a sample of them
  return (struct store_context_metric){.count = node->set.count,
                                       .sum = node->sum,
                                       .minimum = node->set.minimum,
                                       .maximum = node->set.maximum,
                                       .mean = (double)mean,
                                       .variance = variance > 0 ? (double)variance : 0,
                                       .exclusive_sum = saturate_subtract(node->sum, node->sum_below)};
}

void context_metrics_rows(const struct context_metrics *metrics, int64_t run_id, const struct store_call_paths *paths,
                          struct arena *arena, struct store_context_metric **ret_rows, size_t *ret_count)
{
  size_t contexts = paths->context_count;
  struct node *nodes SCOPED(scoped_free) = memory_new(contexts + 1, sizeof *nodes); // by id; 0: above all roots
  VECTOR(struct store_context_metric) rows SCOPED(vector_end) = {0};
  for (enum context_metric metric = 0; metric < metric_count(metrics); metric++) {
    memset(nodes, 0, (contexts + 1) * sizeof *nodes);
    for (size_t id = contexts; id > 0; id--) {
      finish_node(metrics, (uint32_t)id, metric, &nodes[id]);
      hand_on(&nodes[id], &nodes[paths->contexts[id - 1].parent_id]);
    }
    for (size_t id = 1; id <= contexts; id++)
      if (nodes[id].set.count > 0) {
        struct store_context_metric row = row_of(&nodes[id]);
        row.run_id = run_id;
        row.context_id = (int64_t)id;
        row.metric = arena_copy(arena, name_of(metrics, metric), strlen(name_of(metrics, metric)));
        *vector_add(&rows) = row;
      }
  }
  *ret_count = rows.count;
  *ret_rows = arena_alloc_array(arena, rows.count + 1, sizeof **ret_rows);
  if (rows.count > 0)
    memcpy(*ret_rows, rows.items, rows.count * sizeof *rows.items);
}

void context_metrics_done(struct context_metrics *metrics)
{
  for (size_t i = 0; i < metrics->sampled.count; i++)
    free(metrics->sampled.items[i]);
  vector_done(&metrics->sampled);
  vector_done(&metrics->samples);
  map_done(&metrics->places);
}
