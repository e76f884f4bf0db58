// SPDX-License-Identifier: Apache-2.0
// A16, forward and backward by operator (PyTorch): the backward time that each kind of forward operator causes, by names or by
// modules. Layers are the linked operators with their own times (LAYER_AUTOGRAD), so that the engine's step around a backward
// operator adds only what is not in the operator. What activation checkpointing computes again is neither.
#include "analyze/a_list.h"
#include "analyze/layers/layers.h"

#include "base/sorted.h"

#include <math.h>
#include <string.h>

enum part { FORWARD, RECOMPUTED, BACKWARD, ALL, COUNT, PARTS }; // COUNT: of forward operators

struct group {
  uint32_t text;       // string id of its name
  double value[PARTS]; // the statistic over `sums`
  double *sums[PARTS]; // by observation
};
struct groups {
  struct question *question;
  struct layers layers;
  bool by_module;
  struct map at; // by text
  VECTOR(struct group) items;
  struct group all;
};

// ---- sums ------------------------------------------------------------------------------------------------------------
static void start_group(struct groups *groups, struct group *group, uint32_t text)
{
  group->text = text;
  for (size_t part = 0; part < PARTS; part++)
    group->sums[part] = analyze_unknowns(groups->question->scratch, groups->layers.observation_count);
}

static void add(struct group *group, size_t observation, const struct layer_row *item, double latency_ms)
{
  enum part kind = item->is_backward ? BACKWARD : item->recomputed != LAYER_COMPUTED_ONCE ? RECOMPUTED : FORWARD;
  const double values[PARTS] = {[FORWARD] = kind == FORWARD ? latency_ms : NAN,
                                [RECOMPUTED] = kind == RECOMPUTED ? latency_ms : NAN,
                                [BACKWARD] = kind == BACKWARD ? latency_ms : NAN,
                                [ALL] = latency_ms,
                                [COUNT] = kind == FORWARD ? 1 : NAN};
  for (size_t part = 0; part < PARTS; part++) {
    double *sum = &group->sums[part][observation];
    if (!isnan(values[part]))
      *sum = isnan(*sum) ? values[part] : *sum + values[part];
  }
}

static void add_run(struct groups *groups, const struct layers_run *run)
{
  for (size_t i = 0; i < run->rows->count; i++) {
    const struct layer_row *item = &run->rows->items[i];
    uint32_t observation = run->observation_of[item->observation];
    uint32_t text = groups->by_module ? item->module : item->forward;
    const struct layer_device_time *time = run->part->on_device ? &run->rows->device_times[i] : NULL;
    double latency_ms = time != NULL ? ((double)time->executed_ns + (double)time->alone_ns) / 1e6 : item->latency_ms;
    bool is_new;
    uint64_t *at = map_at(&groups->at, map_number(text), &is_new);
    if (is_new) {
      *at = groups->items.count;
      start_group(groups, vector_add(&groups->items), text);
    }
    if (observation == ROW_NONE) // a warm-up
      continue;
    add(&groups->items.items[*at], observation, item, latency_ms);
    add(&groups->all, observation, item, latency_ms);
  }
}

SORTED_BY(compare_groups, struct group, FALLING(value[ALL]) ?: RISING(text))

static void measure(struct groups *groups, struct group *group)
{
  for (size_t part = 0; part < PARTS; part++)
    group->value[part] = question_value(groups->question, groups->layers.set, group->sums[part]);
}

static void load(struct groups *groups)
{
  start_group(groups, &groups->all, 0);
  for (size_t i = 0; i < groups->layers.run_count; i++)
    add_run(groups, &groups->layers.runs[i]);
  for (size_t i = 0; i < groups->items.count; i++)
    measure(groups, &groups->items.items[i]);
  measure(groups, &groups->all);
  vector_sort(&groups->items, compare_groups);
}

// ---- backward operators without a forward one ----------------------------------------------------------------------
enum { HAS_NUMBER = 1, IS_BACKWARD = 2, IS_UNLINKED = HAS_NUMBER | IS_BACKWARD };

static enum status count_unlinked_of(struct question *question, const struct view_run *run, int64_t *count,
                                     struct error *err)
{
  static const char *const names[] = {"sequence", "forward_thread", "Fwd thread id"};
  struct store *store = question->view->store;
  uint32_t keys[3];
  struct store_tag *tags;
  size_t tag_count;
  struct run_columns columns;
  for (size_t i = 0; i < 3; i++)
    if (!store_find_string(store, names[i], strlen(names[i]), &keys[i]))
      keys[i] = 0;
  XSP_TRY(store_load_tags_of(store, run->run->run_id, keys, 3, question->scratch, &tags, &tag_count, err));
  XSP_TRY(run_columns_load(question, run, STORE_BIT(STORE_FORWARD_ID), question->scratch, &columns, err));
  uint8_t *facts = arena_alloc(question->scratch, columns.spans.count + 1);
  for (size_t i = 0; i < tag_count; i++) {
    uint32_t row = run_columns_row(&columns, tags[i].span_id);
    if (row == ROW_NONE || tags[i].type != STORE_INT || columns.spans.level[row] != XSP_LEVEL_LAYER ||
        (columns.derived.forward_id != NULL && columns.derived.forward_id[row] != 0))
      continue;
    if (tags[i].key == keys[0])
      facts[row] |= tags[i].value.integer >= 0 ? HAS_NUMBER : 0;
    else
      facts[row] |= tags[i].key == keys[1] || tags[i].value.integer > 0 ? IS_BACKWARD : 0;
  }
  for (size_t i = 0; i < columns.spans.count; i++)
    *count += facts[i] == IS_UNLINKED;
  return STATUS_OK;
}

static enum status count_unlinked(struct question *question, const struct view_set *set, int64_t *ret_count,
                                  struct error *err)
{
  *ret_count = 0;
  for (size_t i = 0; i < set->run_count; i++)
    XSP_TRY(count_unlinked_of(question, set->runs[i], ret_count, err));
  return STATUS_OK;
}

// ---- the answer ------------------------------------------------------------------------------------------------------
static void put_row(struct groups *groups, const struct group *group, double model_ms)
{
  struct question *question = groups->question;
  struct table_builder *table = &question->table;
  const char *text = store_text(question->view->store, group->text, NULL);
  const char *name = arena_copy(question->arena, text, strlen(text)); // answers outlive the store
  struct figure all = question_figure(question, groups->layers.set, group->sums[ALL]);
  table_row(table);
  if (groups->by_module)
    table_put(table, "module", cell_text(name));
  else
    table_put(table, "operator", cell_text(name));
  table_put(table, "count", cell_number(group->value[COUNT]));
  table_put(table, "forward_ms", cell_real(group->value[FORWARD]));
  table_put(table, "recompute_ms", cell_real(group->value[RECOMPUTED]));
  table_put(table, "backward_ms", cell_real(group->value[BACKWARD]));
  table_put(table, "backward_ratio", cell_real(group->value[BACKWARD] / group->value[FORWARD]));
  table_put_share(table, "model_pct", "model", cell_real(analyze_share_pct(all.value, model_ms)));
  analyze_put_spread(table, &all);
  analyze_put_partial(table, all.count < groups->layers.observation_count);
  analyze_put_from(table, "latency_from", groups->layers.source.from);
  layer_put_basis(table, &groups->layers.source);
}

static enum status summarize(struct groups *groups, double model_ms, const char *model_from, struct error *err)
{
  struct question *question = groups->question;
  struct table_builder *table = &question->table;
  double rows_sum_ms = 0;
  int64_t unlinked;
  for (size_t i = 0; i < groups->items.count; i++)
    rows_sum_ms += groups->items.items[i].value[ALL];
  XSP_TRY(count_unlinked(question, groups->layers.set, &unlinked, err));
  table_summary(table, "forward_ms", cell_real(groups->all.value[FORWARD]));
  table_summary(table, "recompute_ms", cell_real(groups->all.value[RECOMPUTED]));
  table_summary(table, "backward_ms", cell_real(groups->all.value[BACKWARD]));
  table_summary(table, "backward_ratio", cell_real(groups->all.value[BACKWARD] / groups->all.value[FORWARD]));
  table_summary(table, "without_forward", cell_int(unlinked));
  analyze_summarize_sums(question, groups->all.value[ALL], rows_sum_ms);
  table_summary(table, "model_latency_ms", cell_real(model_ms));
  table_summary(table, "model_latency_from", cell_text(model_from));
  if (groups->all.value[RECOMPUTED] > 0)
    table_note(&question->table, "recompute_ms is of forward operators that ran again in the backward pass (activation "
                                 "checkpointing): neither forward nor backward");
  question_note_from(question, "model", model_from);
  layer_source_summarize(question, &groups->layers.source);
  return STATUS_OK;
}

static enum status lacks_numbers(struct question *question, struct error *err)
{
  return question_lacks(question, err,
                        "its operators have no sequence numbers, which link backward to forward operators: PyTorch's "
                        "have them, traced by xsp or by torch.profiler");
}

static enum status lacks_links(struct question *question, const struct layers *layers, struct error *err)
{
  static const char *const sequence[] = {"sequence"};
  int64_t unlinked;
  if (!view_has_tag(question->view, layers->set, sequence, 1))
    return lacks_numbers(question, err);
  XSP_TRY(count_unlinked(question, layers->set, &unlinked, err));
  if (unlinked > 0)
    return question_lacks(question, err,
                          "none of its %lld backward operators is linked to a forward operator: a file of an earlier "
                          "version has to be imported or recorded again",
                          (long long)unlinked);
  if (layers->outside > 0)
    return question_lacks(question, err, "its backward operators, if it has any, are in no step: mark the steps (A1)");
  return question_lacks(question, err, "it has no backward operators");
}

static enum status answer_groups(struct groups *groups, struct error *err)
{
  struct question *question = groups->question;
  const char *model_from;
  uint32_t sequence;
  if (!store_find_string(question->view->store, "sequence", 8, &sequence)) // cheap: the page asks it of every file
    return lacks_numbers(question, err);
  XSP_TRY(layers_answer(question, LAYERS_FOR_LATENCY, &groups->layers, err));
  if (groups->layers.count == 0)
    return lacks_links(question, &groups->layers, err);
  load(groups);
  if (groups->by_module && groups->items.count == 1 && groups->items.items[0].text == 0)
    return question_lacks(question, err, "its operators have no tag `module`");
  double model_ms = question_model_latency(question, layers_model_set(question, &groups->layers, &model_from));
  for (size_t i = 0; i < groups->items.count; i++)
    put_row(groups, &groups->items.items[i], model_ms);
  return summarize(groups, model_ms, model_from, err);
}

static enum status answer(struct question *question, struct error *err)
{
  const struct analyze_request *asked = question->request;
  struct analyze_request request = *asked;
  struct groups groups = {.question = question, .by_module = asked->by != NULL && strcmp(asked->by, "module") == 0};
  request.layer = LAYER_AUTOGRAD_NAME;
  question->request = &request;
  enum status status = answer_groups(&groups, err);
  question->request = asked;
  map_done(&groups.at);
  vector_done(&groups.items);
  return status;
}

const struct analysis analysis_a16 = {.id = "A16",
                                      .title = "forward and backward by operator",
                                      .needs = "L",
                                      .main_figure = "model_pct",
                                      .answer = answer};
