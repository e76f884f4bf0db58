// SPDX-License-Identifier: Apache-2.0
// Loads one experiment's runs and observations, pools them into sets, and applies the level rule. No spans are loaded
// here (layers.c does that for the set that answers). Called through question.c.
#include "analyze/view.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

SORTED_BY(compare_sets, struct view_set,
          RISING(batch_size) ?: RISING(levels.metrics) ?: ORDER(level_set_count(a->levels), level_set_count(b->levels))
                             ?: RISING(levels.mask) ?: RISING(levels.serial))

// Imported runs and traced programs have the batch size as a tag of the model spans. A run with different ones has none: a
// latency pooled over batch sizes gives no throughput.
static enum status batch_from_tags(struct store *store, struct view_run *run, struct arena *arena, struct error *err)
{
  uint32_t key;
  struct store_tag *tags;
  size_t count;
  if (run->batch_size != 0 || run->observation_count == 0 || !store_find_string(store, "batch_size", 10, &key))
    return STATUS_OK;
  XSP_TRY(store_load_tags_of(store, run->run->run_id, &key, 1, arena, &tags, &count, err));
  int64_t *spans = arena_alloc_array(arena, run->observation_count, sizeof *spans), found = 0;
  size_t of_kind = 0;
  for (size_t i = 0; i < run->observation_count; i++)
    if (run->is_other_kind == NULL || !run->is_other_kind[i])
      spans[of_kind++] = run->observations[i].span_id;
  if (of_kind == 0)
    return STATUS_OK;
  int64_t first = spans[0];
  qsort(spans, of_kind, sizeof *spans, sorted_compare_i64);
  for (size_t i = 0; i < count; i++) {
    int64_t value = tags[i].value.integer;
    if (tags[i].type != STORE_INT || value <= 0 ||
        bsearch(&tags[i].span_id, spans, of_kind, sizeof *spans, sorted_compare_i64) == NULL)
      continue;
    run->has_several_batches = run->has_several_batches || (found != 0 && value != found);
    found = value;
    if (tags[i].span_id == first)
      run->batch_size = value;
  }
  if (run->has_several_batches)
    run->batch_size = 0;
  return STATUS_OK;
}

// Training steps that accumulate gradients have more samples than a batch, and the last of an epoch perhaps fewer.
static enum status add_accumulated(struct store *store, struct view_run *run, struct arena *arena, struct error *err)
{
  uint32_t key;
  struct store_tag *tags;
  size_t count;
  if (run->batch_size == 0 || !store_find_string(store, "step_samples", 12, &key))
    return STATUS_OK;
  XSP_TRY(store_load_tags_of(store, run->run->run_id, &key, 1, arena, &tags, &count, err));
  int64_t *spans = arena_alloc_array(arena, run->observation_count + 1, sizeof *spans);
  size_t counted = 0;
  for (size_t i = 0; i < run->observation_count; i++)
    if (!run->observations[i].warmup)
      spans[counted++] = run->observations[i].span_id;
  qsort(spans, counted, sizeof *spans, sorted_compare_i64);
  for (size_t i = 0; i < count; i++)
    if (tags[i].type == STORE_INT && tags[i].value.integer > run->batch_size &&
        bsearch(&tags[i].span_id, spans, counted, sizeof *spans, sorted_compare_i64) != NULL)
      run->accumulated = saturate_add(run->accumulated, tags[i].value.integer - run->batch_size);
  return STATUS_OK;
}

// Never pool cold runs (first inferences of fresh processes) with warm ones.
static enum status find_cold(struct store *store, struct view_run *run, struct arena *arena, struct error *err)
{
  uint32_t key;
  struct store_tag *tags;
  size_t count;
  for (size_t i = 0; i < run->observation_count; i++)
    if (!run->observations[i].warmup)
      return STATUS_OK;
  if (run->observation_count == 0 || !store_find_string(store, "cold", 4, &key))
    return STATUS_OK;
  XSP_TRY(store_load_tags_of(store, run->run->run_id, &key, 1, arena, &tags, &count, err));
  run->is_cold = count > 0;
  return STATUS_OK;
}

static struct view_set *set_of(struct view *view, const struct view_run *run)
{
  for (size_t i = 0; i < view->set_count; i++)
    if (level_set_equal(view->sets[i].levels, run->run->levels) && view->sets[i].batch_size == run->batch_size)
      return &view->sets[i];
  view->sets[view->set_count] = (struct view_set){.levels = run->run->levels, .batch_size = run->batch_size};
  return &view->sets[view->set_count++];
}

struct view_choice view_choice_of(const struct analyze_request *request)
{
  const bool of_library_calls = request->kernel_level != NULL && strcmp(request->kernel_level, "library") == 0;
  return (struct view_choice){.of_cold_runs = request->cold,
                              .signature = request->signature,
                              .of_library_calls = of_library_calls,
                              .batch = request->batch};
}

// Library calls take the kernels' level, and kernels theirs, where nothing looks for them.
static void take_library_calls(struct view_run *run, struct arena *arena)
{
  const uint32_t library = XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY), kernel = XSP_LEVEL_MASK(XSP_LEVEL_KERNEL);
  const uint32_t mask = run->run->levels.mask;
  struct store_run *copy = arena_alloc(arena, sizeof *copy);
  *copy = *run->run;
  copy->levels.mask = (mask & ~(library | kernel)) | (mask & library ? kernel : 0);
  run->run = copy;
  run->calls_are_kernels = (mask & library) != 0;
}

enum status view_load(const struct experiment_runs *of, const struct view_choice *choice, struct arena *arena,
                      struct view *view, struct error *err)
{
  struct store *store = of->store;
  const struct store_run *runs = of->runs;
  size_t run_count = of->run_count;
  *view = (struct view){.of = *of, .store = store, .experiment = of->experiment};
  view->runs = arena_alloc_array(arena, run_count + 1, sizeof *view->runs);
  view->sets = arena_alloc_array(arena, run_count + 1, sizeof *view->sets);
  for (size_t i = 0; i < run_count; i++) {
    if (runs[i].experiment_id != of->experiment->experiment_id)
      continue;
    struct view_run *run = &view->runs[view->run_count++];
    struct store_observation *observations;
    XSP_TRY(store_observations(store, runs[i].run_id, arena, &observations, &run->observation_count, err));
    run->run = &runs[i];
    run->recorded = runs[i].levels;
    if (choice->of_library_calls)
      take_library_calls(run, arena);
    run->observations = observations;
    run->batch_size = runs[i].batch_size;
    XSP_TRY(find_cold(store, run, arena, err));
    run->is_in_set = run->is_cold == choice->of_cold_runs;
    for (size_t k = 0; k < run->observation_count && run->is_cold && choice->of_cold_runs; k++)
      observations[k].warmup = false; // here they are what is asked for
  }
  XSP_TRY(view_kinds_load(view, choice, arena, err));
  for (size_t i = 0; i < view->run_count; i++) {
    XSP_TRY(batch_from_tags(store, &view->runs[i], arena, err));
    XSP_TRY(add_accumulated(store, &view->runs[i], arena, err));
    if (view->runs[i].is_in_set)
      set_of(view, &view->runs[i]);
  }
  XSP_TRY(view_fill_sets(view, arena, err));
  qsort(view->sets, view->set_count, sizeof *view->sets, compare_sets);
  return STATUS_OK;
}

// ---- the level rule -------------------------------------------------------------------------------------------------
#define MODEL_MASK XSP_LEVEL_MASK(XSP_LEVEL_MODEL)
#define LAYER_MASK XSP_LEVEL_MASK(XSP_LEVEL_LAYER)
#define KERNEL_MASK XSP_LEVEL_MASK(XSP_LEVEL_KERNEL)

// 0 for the sets that the definitions name (M, M/L, M/L/K), more for the others. M/K serves kernels second, else as well.
static unsigned name_rank(uint32_t mask, unsigned level)
{
  if (mask == MODEL_MASK || mask == (MODEL_MASK | LAYER_MASK) || mask == (MODEL_MASK | LAYER_MASK | KERNEL_MASK))
    return 0;
  if (mask == (MODEL_MASK | KERNEL_MASK))
    return level == XSP_LEVEL_KERNEL ? 1 : 0;
  return 2;
}

static bool is_better(const struct view_set *a, const struct view_set *b, unsigned level)
{
  if (a->levels.metrics != b->levels.metrics)
    return !a->levels.metrics;
  unsigned deepest_a = level_set_deepest(a->levels);
  unsigned deepest_b = level_set_deepest(b->levels);
  if (deepest_a != deepest_b)
    return deepest_a < deepest_b;
  unsigned rank_a = name_rank(a->levels.mask, level);
  unsigned rank_b = name_rank(b->levels.mask, level);
  if (rank_a != rank_b)
    return rank_a < rank_b;
  return level_set_count(a->levels) < level_set_count(b->levels);
}

const struct view_set *view_rule(const struct view *view, int64_t batch_size, unsigned level, const char **ret_from)
{
  const struct view_set *best = NULL;
  for (size_t i = 0; i < view->set_count; i++) {
    const struct view_set *set = &view->sets[i];
    if (set->batch_size == batch_size && set->observation_count > 0 && !set->levels.serial &&
        (set->levels.mask & XSP_LEVEL_MASK(level)) && (best == NULL || is_better(set, best, level)))
      best = set;
  }
  bool is_right = best == NULL || (!best->levels.metrics && level_set_deepest(best->levels) == level);
  if (ret_from != NULL)
    *ret_from = is_right ? NULL : best->levels_text;
  return best;
}

const struct view_set *view_find(const struct view *view, int64_t batch_size, struct level_set levels)
{
  for (size_t i = 0; i < view->set_count; i++)
    if (view->sets[i].batch_size == batch_size && level_set_equal(view->sets[i].levels, levels) &&
        view->sets[i].observation_count > 0)
      return &view->sets[i];
  return NULL;
}

const struct view_set *view_deepest(const struct view *view)
{
  const struct view_set *deepest = NULL;
  for (size_t i = 0; i < view->set_count; i++)
    if (deepest == NULL || level_set_count(view->sets[i].levels) > level_set_count(deepest->levels))
      deepest = &view->sets[i];
  return deepest;
}

bool view_has_layers(const struct view *view, int64_t batch_size)
{
  return view_rule(view, batch_size, XSP_LEVEL_LAYER, NULL) != NULL;
}

// ---- the same for kernels -------------------------------------------------------------------------------------------
// 0 for the set that the definitions name first.
static unsigned kernel_rank(uint32_t mask, bool is_for_model)
{
  if (mask == (MODEL_MASK | LAYER_MASK | KERNEL_MASK))
    return is_for_model ? 1 : 0;
  if (mask == (MODEL_MASK | KERNEL_MASK))
    return is_for_model ? 0 : 1;
  return is_for_model && !(mask & MODEL_MASK) ? 3 : 2;
}

static bool is_better_for_kernels(const struct view_set *a, const struct view_set *b, const struct kernel_rule *rule)
{
  const struct view_set *like = rule->like;
  if (a->levels.metrics != b->levels.metrics)
    return !a->levels.metrics;
  if (like != NULL && (a->levels.mask == like->levels.mask) != (b->levels.mask == like->levels.mask))
    return a->levels.mask == like->levels.mask;
  unsigned rank_a = kernel_rank(a->levels.mask, rule->for_model);
  unsigned rank_b = kernel_rank(b->levels.mask, rule->for_model);
  if (rank_a != rank_b)
    return rank_a < rank_b;
  return level_set_count(a->levels) < level_set_count(b->levels);
}

const struct view_set *view_rule_kernels(const struct view *view, int64_t batch_size, const struct kernel_rule *rule)
{
  const struct view_set *best = NULL;
  for (size_t i = 0; i < view->set_count; i++) {
    const struct view_set *set = &view->sets[i];
    if (set->batch_size == batch_size && set->observation_count > 0 && set->levels.serial == rule->is_serial &&
        (set->levels.mask & rule->mask) == rule->mask && (set->levels.metrics || !rule->with_metrics) &&
        (best == NULL || is_better_for_kernels(set, best, rule)))
      best = set;
  }
  return best;
}

const struct view_set *view_rule_by_layer(const struct view *view, int64_t batch_size, bool is_serial)
{
  const struct kernel_rule rule = {.mask = LAYER_MASK | KERNEL_MASK, .is_serial = is_serial};
  return view_rule_kernels(view, batch_size, &rule);
}

static enum status visit_first(void *context, const struct store_tag *tags, size_t count, struct error *err)
{
  return STATUS_NO; // one is enough
}

bool view_has_tag(const struct view *view, const struct view_set *set, const char *const *names, size_t count)
{
  uint32_t keys[VIEW_TAGS_MOST];
  bool has_any = false;
  for (size_t i = 0; i < count; i++) {
    keys[i] = 0;
    has_any |= store_find_string(view->store, names[i], strlen(names[i]), &keys[i]);
  }
  bool is_found = false;
  for (size_t i = 0; has_any && set != NULL && i < set->run_count && !is_found; i++) {
    // who reads them next reports what is broken
    is_found =
        store_walk_tags_of(view->store, set->runs[i]->run->run_id, keys, count, visit_first, NULL, NULL) != STATUS_OK;
  }
  return is_found;
}
