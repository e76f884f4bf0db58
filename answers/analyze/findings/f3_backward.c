// SPDX-License-Identifier: Apache-2.0
// F3, slow backward: operators of PyTorch whose backward operators take more than twice what their gradients cost, of which
// products have two and others one; by the line that called the forward operators, and by name where no line of that name is
// one by itself. Times are those of A16.
#include "analyze/findings/rules.h"
#include "analyze/flops/flops.h"
#include "analyze/layers/layers.h"

#include <string.h>
#include <xsp/call_path.h>

#define VIEW_CALLS_LEAST 4
#define SMALL_MS 0.02

struct group {
  uint32_t name;   // string id
  uint32_t source; // line that called the forward operators: its first place, + 1; 0: unknown, or all
  uint32_t place;  // of the first of them
  double forward_ms, backward_ms;
  double *forward, *backward; // of each observation of the set, summed
  double calls;               // of backward operators, per observation
  int64_t run_id, span_id;    // of the first forward operator
  bool is_found;
};
struct groups {
  VECTOR(struct group) items;
  struct map at; // by name and source
};
struct backward {
  struct findings *findings;
  struct question question;
  struct layers layers;
  const struct places *places;
  const uint32_t *lines; // places_lines
  struct groups sources, names;
  double latency_ms;
};

static struct group *group_at(struct groups *groups, uint32_t name, uint32_t source, uint32_t place)
{
  bool is_new;
  uint64_t *at = map_at(&groups->at, (struct map_key){(uint64_t)name + 1, source}, &is_new);
  if (is_new) {
    *at = groups->items.count;
    *vector_add(&groups->items) = (struct group){.name = name, .source = source, .place = place};
  }
  return &groups->items.items[*at];
}

static enum status add_run(struct backward *backward, const struct layers_run *run, struct arena *arena,
                           struct error *err)
{
  const struct view_set *set = backward->layers.set;
  struct run_columns columns;
  int64_t run_id = run->run->run->run_id;
  XSP_TRY(run_columns_load(&backward->question, run->run, STORE_BIT(STORE_CONTEXT_ID) | STORE_BIT(STORE_FORWARD_ID),
                           arena, &columns, err));
  for (size_t i = 0; i < run->rows->count; i++) {
    const struct layer_row *item = &run->rows->items[i];
    uint32_t observation = run->observation_of[item->observation], row = item->row;
    if (observation == ROW_NONE || !set->is_kept[observation] || item->recomputed == LAYER_RECOMPUTED)
      continue;
    if (item->is_backward)
      row = columns.derived.forward_id != NULL ? run_columns_row(&columns, columns.derived.forward_id[row]) : ROW_NONE;
    const struct layer_device_time *time = run->part->on_device ? &run->rows->device_times[i] : NULL;
    double ms = time != NULL ? (double)time->executed_ns / 1e6 + (double)time->alone_ns / 1e6 : item->latency_ms;
    uint32_t context = row != ROW_NONE && backward->places->has_contexts ? columns.spans.context_id[row] : 0;
    uint32_t place = context != 0 ? context - 1 : PLACE_NONE;
    for (size_t k = 0; k < 2; k++) {
      uint32_t caller = k == 0 && place != PLACE_NONE ? place_in_source(backward->places->all, place) : PLACE_NONE;
      uint32_t source = caller != PLACE_NONE ? backward->lines[caller] + 1 : 0;
      struct group *group = group_at(k == 0 ? &backward->sources : &backward->names, item->forward, source, place);
      *(item->is_backward ? &group->backward_ms : &group->forward_ms) += ms / (double)set->kept_count;
      if (group->forward == NULL) {
        group->forward =
            arena_alloc_array(backward->question.scratch, set->observation_count + 1, sizeof *group->forward);
        group->backward =
            arena_alloc_array(backward->question.scratch, set->observation_count + 1, sizeof *group->backward);
      }
      (item->is_backward ? group->backward : group->forward)[observation] += ms;
      group->calls += item->is_backward ? 1 / (double)set->kept_count : 0;
      if (group->span_id == 0 && row != ROW_NONE) {
        group->run_id = run_id;
        group->span_id = columns.spans.span_id[row];
      }
    }
  }
  return STATUS_OK;
}

// Whether it is slow in most observations: a program that shares its processors has single ones in which it is not its own fault.
static bool is_mostly_slow(const struct backward *backward, const struct group *group, double times)
{
  const struct view_set *set = backward->layers.set;
  size_t slow = 0, count = 0;
  for (size_t i = 0; i < set->observation_count; i++) {
    bool counts = set->is_kept[i] && group->forward[i] > 0;
    count += counts;
    slow += counts && group->backward[i] > times * group->forward[i];
  }
  return 4 * slow >= 3 * count;
}

// A view costs nothing, and its gradient is as large as what it views: that is a fault only in a loop of the program's own code.
static bool is_usual_view(const struct backward *backward, const struct group *group)
{
  const char *name = store_text(backward->question.view->store, group->name, NULL);
  const struct place *all = backward->places->all;
  uint32_t caller = group->place;
  while (caller != PLACE_NONE && all[caller].frame_kind != XSP_FRAME_PYTHON)
    caller = all[caller].parent;
  bool is_librarys = caller != PLACE_NONE && place_is_installed(&all[caller]);
  return flops_class(name) == FLOPS_MOVES && flops_moves_nothing(name) &&
         (is_librarys || group->calls < VIEW_CALLS_LEAST);
}

static double gradients_ms(const struct backward *backward, const struct group *group)
{
  return flops_gradients(store_text(backward->question.view->store, group->name, NULL)) * group->forward_ms;
}

// One that takes less than its backward operator takes to be called at all: F2 is about such.
static bool is_small(const struct backward *backward, const struct group *group)
{
  const char *name = store_text(backward->question.view->store, group->name, NULL);
  return !backward->places->has_devices && flops_class(name) == FLOPS_ELEMENTWISE &&
         group->forward_ms < SMALL_MS * group->calls;
}

// Operators that libraries share among threads: on a host that is busy otherwise each waits for the slowest, and the backward pass,
// on a thread of its own, for a second pool.
static double allowance(const struct backward *backward, const struct group *group)
{
  enum flop_class class = flops_class(store_text(backward->question.view->store, group->name, NULL));
  return !backward->places->has_devices && (class == FLOPS_PRODUCTS || class == FLOPS_ELEMENTWISE) ? 2 : 1;
}

static bool is_slow(const struct backward *backward, const struct group *group)
{
  const struct findings *findings = backward->findings;
  const char *name = store_text(backward->question.view->store, group->name, NULL);
  if (!(group->forward_ms > 0) || is_usual_view(backward, group) || is_small(backward, group) ||
      strcmp(name, "CompiledFunction") == 0) // a wrapper around kernels
    return false;
  double most_ms =
      findings_threshold(findings, "slow_backward-ratio") * gradients_ms(backward, group) * allowance(backward, group);
  return group->backward_ms > most_ms && is_mostly_slow(backward, group, most_ms / group->forward_ms) &&
         analyze_share_pct(group->backward_ms, backward->latency_ms) >=
             findings_threshold(findings, "slow_backward-share");
}

static void add(struct backward *backward, const struct group *group)
{
  struct findings *findings = backward->findings;
  const char *name = store_text(backward->question.view->store, group->name, NULL);
  struct finding *finding = findings_add(findings);
  if (group->source != 0)
    finding_at_place(findings, finding, group->place);
  finding->context = arena_format(findings->question->arena, "%s", name);
  finding->run_id = group->run_id;
  finding->spans[0] = group->span_id;
  finding->span_count = group->span_id != 0;
  finding->time_ms = group->backward_ms;
  finding->share_pct = analyze_share_pct(group->backward_ms, backward->latency_ms);
  finding->saving_ms = group->backward_ms - gradients_ms(backward, group);
  finding->saving_basis =
      "the time of the backward operators above what the gradients cost: as much as the operator itself, "
      "of convolutions and matrix products twice as much";
  finding->title = arena_format(findings->question->arena,
                                "the backward pass of %s takes %s per observation, %.3g times its forward pass",
                                findings_name(findings, name), findings_time(findings, group->backward_ms),
                                group->backward_ms / group->forward_ms);
  finding->advice = "compute the same with another operator, such as index_select on a flat tensor for indexing, or "
                    "gradients for less "
                    "of it";
  finding->confidence = group->source != 0 ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
  finding_number(finding, "forward_ms", group->forward_ms);
  finding_number(finding, "backward_ms", group->backward_ms);
  finding_number(finding, "ratio", group->backward_ms / group->forward_ms);
}

static enum status find_groups(struct backward *backward, struct error *err)
{
  static const char why[] = "it has no backward operators that are linked to forward operators (A16)";
  struct layers *layers = &backward->layers;
  uint32_t sequence;
  const char *from;
  if (!store_find_string(backward->question.view->store, "sequence", 8, &sequence)) // cheap
    return findings_lack(backward->findings, err, why);
  XSP_TRY(findings_places(backward->findings, &backward->places, err));
  backward->lines = places_lines(backward->places, backward->question.scratch);
  XSP_TRY(layers_answer(&backward->question, LAYERS_FOR_LATENCY, layers, err));
  if (layers->count == 0)
    return findings_lack(backward->findings, err, why);
  backward->latency_ms =
      question_model_latency(&backward->question, layers_model_set(&backward->question, layers, &from));
  for (size_t i = 0; i < layers->run_count; i++) {
    struct arena arena SCOPED(arena_done) = {0};
    XSP_TRY(add_run(backward, &layers->runs[i], &arena, err));
  }
  for (size_t i = 0; i < backward->sources.items.count; i++) {
    const struct group *group = &backward->sources.items.items[i];
    if (group->source == 0 || !is_slow(backward, group))
      continue;
    group_at(&backward->names, group->name, 0, PLACE_NONE)->is_found = true;
    add(backward, group);
  }
  for (size_t i = 0; i < backward->names.items.count; i++) {
    const struct group *group = &backward->names.items.items[i];
    if (!group->is_found && is_slow(backward, group))
      add(backward, group);
  }
  return STATUS_OK;
}

static enum status find(struct findings *findings, struct error *err)
{
  struct backward backward = {.findings = findings};
  enum status status = findings_ask(findings, LAYER_AUTOGRAD_NAME, &backward.question, err);
  if (status == STATUS_OK)
    status = find_groups(&backward, err);
  vector_done(&backward.sources.items);
  vector_done(&backward.names.items);
  map_done(&backward.sources.at);
  map_done(&backward.names.at);
  return status;
}

const struct finding_rule finding_f3 = {
    .id = "F3",
    .key = "slow_backward",
    .title = "slow backward operators",
    .thresholds = {{"slow_backward-ratio", "", 2, "backward time in times of what the gradients cost, more than"},
                   {"slow_backward-share", "%", 1, "backward time, of the observation, at least"}},
    .counts_backward = true,
    .find = find,
};
