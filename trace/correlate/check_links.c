// SPDX-License-Identifier: Apache-2.0
// Relates every run's spans anew, blind to the links that its source recorded, and compares. Called by `xsp check --links`. One
// run's columns are held at a time.
#include "correlate/check_links.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS                                                                                                        \
  (STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_RECORDED_PARENT_ID) | STORE_BIT(STORE_START_NS) |                        \
   STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_CORRELATION_ID) | STORE_BIT(STORE_TRACK_ID) |                        \
   STORE_BIT(STORE_NAME) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_KIND) |                \
   STORE_KIND_AS_STORED | STORE_BIT(STORE_FLAGS) | STORE_LEAN)

const char *const link_kind_names[LINK_KINDS] = {"parents", "operators"};
const char *const link_outcome_keys[LINK_OUTCOMES] = {"agree", "disagree", "only_recorded", "only_ours", "absent"};

struct keyed { // a number that names a row: a span's id, an operator's external id
  int64_t key;
  uint32_t row;
};
struct work {
  struct store *store;
  struct arena arena; // of one run
  int64_t run_id;
  struct store_spans spans;
  struct store_derived found; // without what was recorded
  struct keyed *ids;          // sorted; NULL: ids count up
};

SORTED_BY(compare_keyed, struct keyed, RISING(key) ?: RISING(row))

// The first of `count` with this key and row or a larger one.
static size_t lower_bound(const struct keyed *keyed, size_t count, int64_t key, uint32_t row)
{
  return sorted_lower_bound(&(struct keyed){key, row}, keyed, count, sizeof *keyed, compare_keyed);
}

// ---- the run, related blindly ----------------------------------------------------------------------------------------
static bool has_recorded(const struct store_spans *spans)
{
  bool has = spans->recorded_parent_id != NULL; // else 0 in every row
  for (size_t i = 0; i < spans->count && spans->flags != NULL && !has; i++)
    has = STORE_BASIS_OF_FLAGS(spans->flags[i]) >= 0;
  return has;
}

static enum status relate_blindly(struct work *work, struct error *err)
{
  struct store_spans blind = work->spans;
  struct correlate_question question = {
      .spans = &blind, .column_mask = STORE_BIT(STORE_PARENT_ID) | STORE_BIT(STORE_LAYER_ID) | STORE_BIT(STORE_BASIS)};
  struct correlate_answer answer;
  struct store_track *tracks;
  blind.recorded_parent_id = NULL;
  if (blind.flags != NULL) {
    blind.flags = arena_alloc_array(&work->arena, blind.count + 1, sizeof *blind.flags);
    for (size_t i = 0; i < blind.count; i++)
      blind.flags[i] = work->spans.flags[i] & (STORE_FLAG_BASIS(0) - 1);
  }
  XSP_TRY(store_tracks(work->store, work->run_id, &work->arena, &tracks, &question.track_count, err));
  question.tracks = tracks;
  XSP_TRY(correlate_spans(&question, &work->arena, &answer, err));
  work->found = answer.derived;
  return STATUS_OK;
}

static void index_ids(struct work *work)
{
  const struct store_spans *spans = &work->spans;
  if (spans->span_id == NULL)
    return;
  work->ids = arena_alloc_array(&work->arena, spans->count + 1, sizeof *work->ids);
  for (size_t i = 0; i < spans->count; i++)
    work->ids[i] = (struct keyed){spans->span_id[i], (uint32_t)i};
  qsort(work->ids, spans->count, sizeof *work->ids, compare_keyed);
}

static bool find_row(const struct work *work, int64_t span_id, size_t *ret_row)
{
  size_t count = work->spans.count;
  if (work->ids == NULL) {
    *ret_row = (size_t)((uint64_t)span_id - (uint64_t)work->spans.first_id);
    return span_id >= work->spans.first_id && *ret_row < count;
  }
  size_t at = lower_bound(work->ids, count, span_id, 0);
  *ret_row = at < count ? work->ids[at].row : 0;
  return at < count && work->ids[at].key == span_id;
}

static int64_t id_of(const struct work *work, size_t row)
{
  return work->spans.span_id != NULL ? work->spans.span_id[row] : work->spans.first_id + (int64_t)row;
}

static uint32_t name_of(const struct work *work, int64_t span_id)
{
  size_t row;
  return find_row(work, span_id, &row) ? work->spans.name[row] : 0;
}

static void count_link(const struct work *work, struct run_links *links, size_t row, enum link_outcome outcome,
                       int64_t recorded_id, int64_t our_id)
{
  unsigned level = work->spans.level[row];
  unsigned basis = work->found.basis[row];
  links->count[level][basis][outcome]++;
  if (outcome == LINK_DISAGREES && links->example_count < LINK_EXAMPLES)
    links->example[links->example_count++] = (struct link_example){.span_id = id_of(work, row),
                                                                   .recorded_id = recorded_id,
                                                                   .our_id = our_id,
                                                                   .name = work->spans.name[row],
                                                                   .recorded_name = name_of(work, recorded_id),
                                                                   .our_name = name_of(work, our_id),
                                                                   .level = level,
                                                                   .basis = basis};
}

// ---- parents ---------------------------------------------------------------------------------------------------------
static void compare_parents(const struct work *work, struct run_links *links)
{
  const struct store_spans *spans = &work->spans;
  for (size_t i = 0; i < spans->count; i++) {
    int64_t recorded = spans->recorded_parent_id != NULL ? spans->recorded_parent_id[i] : 0;
    int64_t ours = work->found.parent_id[i];
    bool says_none = recorded == 0 && spans->flags != NULL && STORE_BASIS_OF_FLAGS(spans->flags[i]) >= 0;
    size_t row;
    if (recorded == 0 && ours == 0 && !says_none)
      continue; // nobody says anything
    enum link_outcome outcome = recorded == ours                  ? LINK_AGREES
                                : recorded == 0                   ? LINK_ONLY_OURS
                                : !find_row(work, recorded, &row) ? LINK_ABSENT
                                : ours == 0                       ? LINK_ONLY_RECORDED
                                                                  : LINK_DISAGREES;
    count_link(work, links, i, outcome, recorded, ours);
  }
}

// ---- operators -------------------------------------------------------------------------------------------------------
struct numbers {           // tags of one run
  struct keyed *operators; // external ids of layers, sorted
  size_t operator_count;
  int64_t *external, *correlation; // by row; 0: none
};

static void keep_numbers(struct work *work, const uint32_t keys[2], const struct store_tag *tags, size_t count,
                         struct numbers *numbers)
{
  const struct store_spans *spans = &work->spans;
  numbers->operators = arena_alloc_array(&work->arena, count, sizeof *numbers->operators);
  numbers->external = arena_alloc_array(&work->arena, spans->count, sizeof *numbers->external);
  numbers->correlation = arena_alloc_array(&work->arena, spans->count, sizeof *numbers->correlation);
  for (size_t i = 0; i < count; i++) {
    size_t row;
    if (tags[i].type != STORE_INT || !find_row(work, tags[i].span_id, &row))
      continue;
    if (tags[i].key == keys[1])
      numbers->correlation[row] = tags[i].value.integer;
    else
      numbers->external[row] = tags[i].value.integer;
    if (tags[i].key == keys[0] && spans->level[row] == XSP_LEVEL_LAYER && tags[i].value.integer != 0)
      numbers->operators[numbers->operator_count++] = (struct keyed){tags[i].value.integer, (uint32_t)row};
  }
  qsort(numbers->operators, numbers->operator_count, sizeof *numbers->operators, compare_keyed);
}

static enum status read_numbers(struct work *work, struct numbers *numbers, struct error *err)
{
  uint32_t keys[2] = {0, 0};
  struct store_tag *tags;
  struct arena arena SCOPED(arena_done) = {0}; // of the tags
  size_t count;
  *numbers = (struct numbers){0};
  if (!store_find_string(work->store, "external_id", 11, &keys[0]))
    return STATUS_OK;
  if (!store_find_string(work->store, "recorded_correlation", 20, &keys[1]))
    keys[1] = 0;
  XSP_TRY(store_load_tags_of(work->store, work->run_id, keys, 2, &arena, &tags, &count, err));
  if (count > 0)
    keep_numbers(work, keys, tags, count, numbers);
  return STATUS_OK;
}

// Of several operators with one external id ours is taken where it is among them. 0: none has it.
static int64_t recorded_operator(const struct work *work, const struct numbers *numbers, int64_t external, int64_t ours)
{
  const struct keyed *operators = numbers->operators;
  size_t count = numbers->operator_count, our_row;
  size_t first = external != 0 ? lower_bound(operators, count, external, 0) : count;
  if (first == count || operators[first].key != external)
    return 0;
  if (ours != 0 && find_row(work, ours, &our_row)) {
    size_t at = lower_bound(operators, count, external, (uint32_t)our_row);
    if (at < count && operators[at].key == external && operators[at].row == our_row)
      return ours;
  }
  return id_of(work, operators[first].row);
}

static void compare_operators(const struct work *work, const struct numbers *numbers, struct run_links *links)
{
  const struct store_spans *spans = &work->spans;
  uint32_t kernel;
  bool has_kernels = store_find_string(work->store, "kernel", 6, &kernel);
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->kind[i] != XSP_KIND_EXECUTION || spans->level[i] != XSP_LEVEL_KERNEL)
      continue;
    int64_t ours = work->found.layer_id[i];
    int64_t recorded = recorded_operator(work, numbers, numbers->external[i], ours);
    if (has_kernels && spans->category[i] == kernel) {
      links->kernel_ns = saturate_add(links->kernel_ns, spans->duration_ns[i]);
      links->recorded_ns = saturate_add(links->recorded_ns, recorded != 0 ? spans->duration_ns[i] : 0);
      links->our_ns = saturate_add(links->our_ns, ours != 0 ? spans->duration_ns[i] : 0);
    }
    bool has_both = numbers->external[i] != 0 && numbers->correlation[i] != 0;
    links->with_both += has_both;
    links->same_number += has_both && numbers->external[i] == numbers->correlation[i];
    if (numbers->external[i] == 0 && ours == 0)
      continue;
    enum link_outcome outcome = numbers->external[i] == 0 ? LINK_ONLY_OURS
                                : recorded == 0           ? LINK_ABSENT
                                : recorded == ours        ? LINK_AGREES
                                : ours == 0               ? LINK_ONLY_RECORDED
                                                          : LINK_DISAGREES;
    count_link(work, links, i, outcome, recorded, ours);
  }
  // Numbers of one sequence hit numbers of another by accident: few agree.
  links->is_trap = links->with_both > 0 && links->same_number >= links->with_both - links->with_both / 10 &&
                   link_check_sum(links, LINK_AGREES) < links->with_both / 2 + 1;
}

// ---- all runs --------------------------------------------------------------------------------------------------------
size_t link_check_sum(const struct run_links *links, enum link_outcome outcome)
{
  size_t sum = 0;
  for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++)
    for (unsigned basis = 0; basis < BASIS_COUNT; basis++)
      sum += links->count[level][basis][outcome];
  return sum;
}

static enum status compare_run(struct work *work, struct check_links *links, struct error *err)
{
  struct numbers numbers;
  XSP_TRY(store_load_spans(work->store, work->run_id, COLUMNS, &work->arena, &work->spans, err));
  index_ids(work);
  XSP_TRY(read_numbers(work, &numbers, err));
  bool has_parents = has_recorded(&work->spans);
  if (!has_parents && numbers.operator_count == 0 && numbers.external == NULL)
    return STATUS_OK;
  XSP_TRY(relate_blindly(work, err));
  if (has_parents) {
    struct run_links *parents = &links->links[links->count++];
    *parents = (struct run_links){.run_id = work->run_id, .kind = LINK_PARENT};
    compare_parents(work, parents);
  }
  if (numbers.external != NULL) {
    struct run_links *operators = &links->links[links->count++];
    *operators = (struct run_links){.run_id = work->run_id, .kind = LINK_OPERATOR};
    compare_operators(work, &numbers, operators);
  }
  return STATUS_OK;
}

enum status link_check_compare(struct store *store, struct arena *arena, struct check_links *ret_links,
                               struct error *err)
{
  struct store_run *runs;
  size_t count;
  *ret_links = (struct check_links){0};
  XSP_TRY(store_runs(store, arena, &runs, &count, err));
  ret_links->links = arena_alloc_array(arena, count * LINK_KINDS + 1, sizeof *ret_links->links);
  for (size_t i = 0; i < count; i++) {
    struct work work = {.store = store, .run_id = runs[i].run_id};
    enum status status = compare_run(&work, ret_links, err);
    arena_done(&work.arena);
    XSP_TRY(status);
  }
  for (size_t i = 0; i < ret_links->count; i++)
    for (int outcome = 0; outcome < LINK_OUTCOMES && !ret_links->links[i].is_trap; outcome++)
      ret_links->total[outcome] += link_check_sum(&ret_links->links[i], (enum link_outcome)outcome);
  return STATUS_OK;
}
