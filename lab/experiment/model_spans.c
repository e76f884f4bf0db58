// SPDX-License-Identifier: Apache-2.0
// Reads a capture of models before it is correlated: xsp's own share of each run; windows of the model's file become tags of
// layers. Called by model_experiment.c.
#include "experiment/model_experiment_private.h"

#include "analyze/analyze.h"
#include "base/vector.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- xsp's own share ---------------------------------------------------------------------------------------------------
struct observed { // one model span
  int64_t duration_ns;
  double own_ns; // NaN: not known
  bool is_warmup;
};

// The run's model spans with their tags.
static enum status load_observed(struct store *store, int64_t run_id, struct arena *arena,
                                 struct observed **ret_observed, size_t *ret_count, struct error *err)
{
  struct store_spans spans;
  struct store_tag *tags = NULL;
  size_t tag_count = 0;
  enum { WARMUP_TAG, OWN_TAG };
  uint32_t keys[2] = {0, 0}, columns = STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_LEVEL);
  store_find_string(store, "warmup", 6, &keys[WARMUP_TAG]);
  store_find_string(store, "own_ns", 6, &keys[OWN_TAG]);
  XSP_TRY(store_load_spans(store, run_id, columns, arena, &spans, err));
  XSP_TRY(store_load_tags_of(store, run_id, keys, 2, arena, &tags, &tag_count, err));
  struct observed *observed = arena_alloc_array(arena, spans.count + 1, sizeof *observed);
  struct map places SCOPED(map_done) = {0}; // by span id
  for (size_t i = 0; i < spans.count; i++)
    if (spans.level[i] == XSP_LEVEL_MODEL) {
      size_t place = places.count;
      observed[place] = (struct observed){spans.duration_ns[i], NAN, false};
      *map_at(&places, map_number((uint64_t)spans.span_id[i]), NULL) = place;
    }
  for (size_t i = 0; i < tag_count; i++) {
    const uint64_t *place = map_find(&places, map_number((uint64_t)tags[i].span_id));
    if (place == NULL || tags[i].type != STORE_INT)
      continue;
    if (tags[i].key == keys[WARMUP_TAG])
      observed[*place].is_warmup |= tags[i].value.integer != 0;
    else
      observed[*place].own_ns = (double)tags[i].value.integer;
  }
  *ret_observed = observed;
  *ret_count = places.count;
  return STATUS_OK;
}

// xsp's own share of a run: what its code inside the counted model spans took, as measured there (tag own_ns). The median
// over observations: the code is timed by the wall clock, and one preemption inside it would else be taken for its cost.
enum status model_spans_own_share(struct store *store, struct store_run *run, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct observed *observed = NULL;
  size_t count = 0, counted = 0, own_known = 0;
  XSP_TRY(load_observed(store, run->run_id, &arena, &observed, &count, err));
  double *shares = arena_alloc_array(&arena, count + 1, sizeof *shares);
  for (size_t i = 0; i < count; i++) {
    if (observed[i].is_warmup)
      continue;
    counted++;
    if (!isnan(observed[i].own_ns) && observed[i].duration_ns > 0)
      shares[own_known++] = 100 * observed[i].own_ns / (double)observed[i].duration_ns;
  }
  if (own_known > 0 && own_known == counted)
    run->own_pct = statistic_named("median", shares, own_known);
  return STATUS_OK;
}

// ---- precision ---------------------------------------------------------------------------------------------------------
static enum status estimate(struct store *store, int64_t run_id, struct arena *arena, double *ret_reach_pct,
                            unsigned *ret_count, struct error *err)
{
  struct observed *observed = NULL;
  size_t count = 0, counted = 0;
  XSP_TRY(load_observed(store, run_id, arena, &observed, &count, err));
  double *values = arena_alloc_array(arena, count + 1, sizeof *values);
  for (size_t i = 0; i < count; i++)
    if (!observed[i].is_warmup)
      values[counted++] = (double)observed[i].duration_ns;
  struct estimate latency = estimate_trimmed(values, counted); // as A1 has it
  *ret_reach_pct = counted > 1 ? 100 * estimate_reach(latency, 0.95) / latency.mean : NAN;
  *ret_count = (unsigned)counted;
  return STATUS_OK;
}

enum status model_spans_reach(struct store *store, int64_t run_id, double *ret_reach_pct, unsigned *ret_count,
                              struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  return estimate(store, run_id, &arena, ret_reach_pct, ret_count, err);
}

// ---- windows -----------------------------------------------------------------------------------------------------------
// By the string id of each name that a layer of `store` may have: the window's number, from 1.
static void map_names(struct store *store, const struct operator_window *windows, size_t count, struct map *map)
{
  for (size_t i = 0; i < 2 * count; i++) {
    const char *name = windows[i / 2].layer_names[i % 2];
    uint32_t id;
    if (name[0] == 0 || !store_find_string(store, name, strlen(name), &id))
      continue;
    uint64_t *number = map_at(map, map_number(id), NULL);
    if (*number == 0)
      *number = i / 2 + 1;
  }
}

static void put_text(struct store *store, struct store_tag *tag, const char *key, const char *text)
{
  tag->key = store_string(store, key, strlen(key));
  tag->type = STORE_TEXT;
  tag->value.string = store_string(store, text, strlen(text));
}

static void put_number(struct store *store, struct store_tag *tag, const char *key, int64_t number)
{
  tag->key = store_string(store, key, strlen(key));
  tag->type = STORE_INT;
  tag->value.integer = number;
}

static size_t make_tags(struct store *store, const struct operator_window *window, const char *layer,
                        struct store_tag tags[5])
{
  size_t count = 0;
  if (window->kernel_rank > 0) {
    char shape[OPERATOR_WINDOW_RANK * 24];
    size_t length = 0;
    for (size_t i = 0; i < window->kernel_rank; i++)
      length +=
          (size_t)snprintf(shape + length, sizeof shape - length, "%c%" PRId64, i == 0 ? '[' : ',', window->kernel[i]);
    snprintf(shape + length, sizeof shape - length, "]");
    put_text(store, &tags[count++], "kernel_shape", shape);
  }
  if (window->group >= 0)
    put_number(store, &tags[count++], "group", window->group);
  if (window->size >= 0)
    put_number(store, &tags[count++], "size", window->size);
  if (window->mode != NULL)
    put_text(store, &tags[count++], "mode", window->mode);
  if (window->sources != NULL && strcmp(window->sources, layer) != 0)
    put_text(store, &tags[count++], "source_layers", window->sources);
  return count;
}

struct named_layer { // that gets tags
  int64_t span_id;
  uint32_t name;
  uint64_t window; // its number, from 1
};
struct look {
  const struct map *names;
  size_t row; // the next one
  VECTOR(struct named_layer) layers;
};

static enum status look_at(void *context, size_t first_row, const struct store_spans *spans,
                           const struct store_derived *derived, struct error *err)
{
  struct look *look = context;
  for (size_t i = look->row > first_row ? look->row - first_row : 0; i < spans->count; i++) {
    const uint64_t *number =
        spans->level[i] == XSP_LEVEL_LAYER ? map_find(look->names, map_number(spans->name[i])) : NULL;
    if (number != NULL)
      *vector_add(&look->layers) = (struct named_layer){spans->span_id[i], spans->name[i], *number};
  }
  look->row = first_row + spans->count;
  return STATUS_OK;
}

static enum status tag_layer(const struct model_windows *windows, struct store *store, int64_t run_id,
                             const struct named_layer *layer, struct error *err)
{
  struct store_tag tags[5];
  size_t count = make_tags(store, &windows->list[layer->window - 1], store_text(store, layer->name, NULL), tags);
  for (size_t i = 0; i < count; i++)
    tags[i].span_id = layer->span_id;
  return count == 0 ? STATUS_OK : store_add_tags(store, run_id, tags, count, err);
}

void model_spans_read_windows(struct model_windows *windows, const struct predictor *predictor, const char *model_path)
{
  if (predictor->windows != NULL) // damage: reported by the framework itself
    (void)predictor->windows(model_path, &windows->arena, &windows->list, &windows->count);
}

enum status model_spans_tag_windows(struct model_windows *windows, struct store *store, int64_t run_id,
                                    struct error *err)
{
  const uint32_t columns = STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_NAME) | STORE_BIT(STORE_LEVEL);
  struct map names SCOPED(map_done) = {0};
  map_names(store, windows->list, windows->count, &names);
  if (names.count == 0)
    return STATUS_OK;
  uint64_t *row = map_at(&windows->looked_at, map_number((uint64_t)run_id), NULL);
  struct look look = {.names = &names, .row = *row};
  enum status status = store_walk_spans_from(store, run_id, columns, look.row, SIZE_MAX, look_at, &look, err);
  for (size_t i = 0; i < look.layers.count && status == STATUS_OK; i++)
    status = tag_layer(windows, store, run_id, &look.layers.items[i], err);
  *row = look.row;
  vector_done(&look.layers);
  return status;
}

enum status model_spans_tag_all(struct model_windows *windows, struct store *store, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_run *runs;
  size_t count = 0;
  XSP_TRY(store_runs(store, &arena, &runs, &count, err));
  for (size_t i = 0; i < count; i++)
    XSP_TRY(model_spans_tag_windows(&windows[runs[i].experiment_id - experiment_id_of(0)], store, runs[i].run_id, err));
  return STATUS_OK;
}

void model_spans_windows_done(struct model_windows *windows)
{
  map_done(&windows->looked_at);
  arena_done(&windows->arena);
}
