// SPDX-License-Identifier: Apache-2.0
// What each step of a rank goes to: compute, communication, waiting for others, input. All are unions of intervals of the rank's tracks, so
// that nothing counts twice. Called by load.c, once the collectives are matched.
#include "analyze/layers/busy.h"
#include "analyze/ranks/ranks.h"

#include "base/saturate.h"
#include "base/sorted.h"
#include "format/range.h"

#include <stdlib.h>
#include <string.h>

// HELD: communication that the program may stand still for. STALLED: waiting for others in it. BUBBLE: for what they send.
enum part { COMPUTE, COMMUNICATION, WAITING, INPUT, STARTS, RECEIVES, HELD, STALLED, BUBBLE, PARTS };
typedef VECTOR(struct busy_interval) interval_list;
struct rank_parts {                             // of a rank in a run
  interval_list of[PARTS], with_compute[PARTS]; // with_compute: of a part and of compute
  struct busy busy[PARTS], busy_with_compute[PARTS];
  bool has_devices; // compute is what they do
  bool has_waits;   // the program's own waits for collectives are recorded
};
struct parts_loading {
  struct ranks *ranks;
  struct store *store;
  const struct rank_run *its;
  struct map kind_of;       // of operators and collectives, by string id of the name: enum operator_kind
  struct rank_parts *parts; // by rank
  struct map around;        // rows of operators in which collectives run that are operators: XLA's loops
  uint32_t input, data, wrapper, collective;
};
enum operator_kind { OPERATOR_COMPUTES = 1, OPERATOR_WRAPS, OPERATOR_COMMUNICATES, OPERATOR_WAITS, OPERATOR_RECEIVES };

// Work.wait() of the tracer of PyTorch, wait_tensor of functional collectives, and those of MPI.
static bool is_wait(const char *name)
{
  const char *colons = strstr(name, "::");
  return (colons != NULL && strncmp(colons, "::wait", 6) == 0) || strncmp(name, "MPI_Wait", 8) == 0 ||
         strncmp(name, "MPI_Test", 8) == 0;
}

static bool is_receive(const char *name)
{
  return strstr(name, ":recv") != NULL || strcmp(name, "MPI_Recv") == 0 || strcmp(name, "MPI_Irecv") == 0;
}

static bool is_blocking(const char *name) // returns when it is done: a call of MPI
{
  return strncmp(name, "MPI_", 4) == 0 && name[4] != 'I';
}

static enum operator_kind kind_of(struct parts_loading *of, uint32_t name)
{
  bool is_new;
  uint64_t *kind = map_at(&of->kind_of, map_number(name), &is_new);
  if (is_new) {
    size_t length;
    const char *text = store_text(of->store, name, &length);
    bool communicates = ranks_starts_collective(text) || ranks_is_collective_kernel(text);
    *kind = communicates && is_wait(text)    ? OPERATOR_WAITS
            : is_receive(text)               ? OPERATOR_RECEIVES
            : communicates                   ? OPERATOR_COMMUNICATES
            : range_is_wrapper(text, length) ? OPERATOR_WRAPS
                                             : OPERATOR_COMPUTES;
  }
  return (enum operator_kind) * kind;
}

static void add_to(interval_list *list, int64_t start_ns, int64_t end_ns)
{
  if (end_ns > start_ns)
    *vector_add(list) = (struct busy_interval){.start_ns = start_ns, .end_ns = end_ns};
}

// Where a rank has devices, only their kernels compute and communicate, whatever the host does meanwhile.
static void find_devices(struct parts_loading *of)
{
  const struct store_spans *spans = &of->its->columns.spans;
  for (size_t row = 0; row < spans->count; row++) {
    const uint64_t *rank = map_find(&of->its->rank_of, map_number(spans->track_id[row]));
    if (rank != NULL && *rank != RANK_NONE && spans->kind[row] == XSP_KIND_EXECUTION &&
        spans->category[row] == of->its->columns.kernel)
      of->parts[*rank].has_devices = true;
  }
}

static void find_around(struct parts_loading *of)
{
  const struct store_spans *spans = &of->its->columns.spans;
  for (uint32_t row = 0; row < spans->count; row++) {
    uint32_t around = row;
    while (spans->category[row] == of->collective && around != ROW_NONE && spans->level[around] == XSP_LEVEL_LAYER) {
      *map_at(&of->around, map_number(around), NULL) = 1;
      around = run_columns_row(&of->its->columns, of->its->columns.derived.parent_id[around]);
    }
  }
}

static void add_spans(struct parts_loading *of)
{
  const struct store_spans *spans = &of->its->columns.spans;
  for (size_t row = 0; row < spans->count; row++) {
    const uint64_t *rank = map_find(&of->its->rank_of, map_number(spans->track_id[row]));
    if (rank == NULL || *rank == RANK_NONE || (spans->flags[row] & STORE_SPAN_OPEN) != 0)
      continue;
    struct rank_parts *parts = &of->parts[*rank];
    uint32_t category = spans->category[row];
    int64_t start_ns = spans->start_ns[row], end_ns = saturate_add(start_ns, spans->duration_ns[row]);
    if (spans->level[row] == XSP_LEVEL_APPLICATION && category != 0 && category == of->data)
      add_to(&parts->of[INPUT], start_ns, end_ns);
    else if (spans->kind[row] == XSP_KIND_EXECUTION && category == of->its->columns.kernel) {
      if (kind_of(of, spans->name[row]) == OPERATOR_COMPUTES)
        add_to(&parts->of[COMPUTE], start_ns, end_ns);
    } else if (spans->level[row] == XSP_LEVEL_LAYER && !parts->has_devices && category != of->input &&
               category != of->wrapper && category != of->its->columns.module &&
               spans->kind[row] != XSP_KIND_EXECUTION && map_find(&of->around, map_number(row)) == NULL) {
      enum operator_kind kind = kind_of(of, spans->name[row]);
      parts->has_waits |= kind == OPERATOR_WAITS;
      if (kind == OPERATOR_COMMUNICATES || kind == OPERATOR_WAITS)
        add_to(&parts->of[STARTS], start_ns, end_ns);
      else if (kind == OPERATOR_COMPUTES)
        add_to(&parts->of[COMPUTE], start_ns, end_ns);
    } else if (spans->level[row] == XSP_LEVEL_LIBRARY && category != of->collective &&
               kind_of(of, spans->name[row]) == OPERATOR_WAITS) {
      parts->has_waits = true;
      add_to(&parts->of[STARTS], start_ns, end_ns);
    }
  }
}

static void add_collectives(struct parts_loading *of)
{
  for (size_t i = 0; i < of->ranks->collectives.count; i++) {
    const struct collective *one = &of->ranks->collectives.items[i];
    struct rank_parts *parts = &of->parts[one->rank];
    int64_t waited_ns = saturate_add(one->arrival_ns, one->waiting_ns);
    add_to(&parts->of[COMMUNICATION], one->start_ns, one->end_ns);
    if (kind_of(of, one->name) == OPERATOR_RECEIVES)
      add_to(&parts->of[RECEIVES], one->start_ns, one->end_ns);
    add_to(&parts->of[WAITING], one->arrival_ns, waited_ns);
    if (is_blocking(store_text(of->store, one->name, NULL)))
      add_to(&parts->of[STARTS], one->start_ns, one->end_ns);
    if (parts->has_devices || !parts->has_waits || one->is_of_gradient) {
      add_to(&parts->of[HELD], one->start_ns, one->end_ns);
      add_to(&parts->of[STALLED], one->arrival_ns, waited_ns);
    }
  }
}

static void append(interval_list *to, const struct busy *from)
{
  for (size_t i = 0; i < from->count; i++)
    add_to(to, from->items[i].start_ns, from->items[i].end_ns);
}

// What is in `of` and not in `without`, between starts and ends of both.
static void subtract(interval_list *of, const struct busy *without)
{
  struct busy whole = busy_of(of->items, of->count);
  interval_list rest = {0};
  size_t k = 0;
  for (size_t i = 0; i < whole.count; i++) {
    int64_t from_ns = whole.items[i].start_ns, end_ns = whole.items[i].end_ns;
    while (k < without->count && without->items[k].end_ns <= from_ns)
      k++;
    for (size_t n = k; n < without->count && without->items[n].start_ns < end_ns; n++) {
      add_to(&rest, from_ns, without->items[n].start_ns);
      from_ns = without->items[n].end_ns > from_ns ? without->items[n].end_ns : from_ns;
    }
    add_to(&rest, from_ns, end_ns);
  }
  vector_done(of);
  of->items = rest.items;
  of->count = rest.count;
  of->capacity = rest.capacity;
}

static void add_common(interval_list *to, const struct busy *a, const struct busy *b)
{
  for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
    const struct busy_interval *one = &a->items[i], *other = &b->items[k];
    add_to(to, one->start_ns > other->start_ns ? one->start_ns : other->start_ns,
           one->end_ns < other->end_ns ? one->end_ns : other->end_ns);
    if (one->end_ns < other->end_ns)
      i++;
    else
      k++;
  }
}

static void unite_with_compute(struct rank_parts *parts, enum part part)
{
  parts->busy[part] = busy_of(parts->of[part].items, parts->of[part].count);
  append(&parts->with_compute[part], &parts->busy[part]);
  append(&parts->with_compute[part], &parts->busy[COMPUTE]);
  parts->busy_with_compute[part] = busy_of(parts->with_compute[part].items, parts->with_compute[part].count);
}

// An operator that starts a collective or waits for one, and blocks or hands it on, computes nothing, whatever operator is around it.
static void unite(struct rank_parts *parts)
{
  const struct busy starts = {parts->of[STARTS].items, parts->of[STARTS].count};
  append(&parts->of[COMMUNICATION], &starts);
  append(&parts->of[HELD], &starts);
  parts->busy[STARTS] = busy_of(parts->of[STARTS].items, parts->of[STARTS].count);
  if (!parts->has_devices)
    subtract(&parts->of[COMPUTE], &parts->busy[STARTS]);
  parts->busy[COMPUTE] = busy_of(parts->of[COMPUTE].items, parts->of[COMPUTE].count);
  for (enum part part = COMMUNICATION; part <= RECEIVES; part++)
    parts->busy[part] = busy_of(parts->of[part].items, parts->of[part].count);
  unite_with_compute(parts, HELD);
  add_common(&parts->of[BUBBLE], &parts->busy[RECEIVES], &parts->busy[STARTS]);
  unite_with_compute(parts, BUBBLE);
  append(&parts->of[STALLED], &parts->busy[BUBBLE]);
  add_common(&parts->of[STALLED], &parts->busy[WAITING], &parts->busy[STARTS]);
  unite_with_compute(parts, STALLED);
}

// Of the part, what lies in no compute: with compute less compute.
static int64_t bare_ns(const struct rank_parts *parts, enum part part, int64_t from_ns, int64_t to_ns)
{
  return busy_within_ns(&parts->busy_with_compute[part], from_ns, to_ns) -
         busy_within_ns(&parts->busy[COMPUTE], from_ns, to_ns);
}

// In which the rank started the collective; NULL: in none.
static struct rank_step *step_of(const struct ranks *ranks, const struct collective *one)
{
  struct rank_step *const *steps = ranks->by_rank; // each rank's are by job and start
  size_t first = ranks->items.items[one->rank].first_step;
  size_t end =
      PARTITION_POINT(i, first, ranks->items.items[one->rank].end_step,
                      steps[i]->job < one->job || (steps[i]->job == one->job && steps[i]->start_ns <= one->arrival_ns));
  struct rank_step *step = end > first ? steps[end - 1] : NULL;
  return step != NULL && step->job == one->job && one->arrival_ns < step->end_ns ? step : NULL;
}

static void fill(struct parts_loading *of)
{
  struct ranks *ranks = of->ranks;
  const uint32_t run = of->its->run;
  for (size_t i = 0; i < ranks->items.count; i++) {
    unite(&of->parts[i]);
    ranks->has_compute |= of->parts[i].busy[COMPUTE].count > 0;
    ranks->has_input |= of->parts[i].busy[INPUT].count > 0;
    ranks->has_receives |= of->parts[i].busy[RECEIVES].count > 0;
  }
  for (size_t i = ranks->first_of_run[run]; i < ranks->first_of_run[run + 1]; i++) {
    struct rank_step *step = &ranks->steps.items[ranks->by_run[i]];
    const struct rank_parts *parts = &of->parts[step->rank];
    step->compute_ns = busy_within_ns(&parts->busy[COMPUTE], step->start_ns, step->end_ns);
    step->communication_ns = busy_within_ns(&parts->busy[COMMUNICATION], step->start_ns, step->end_ns);
    step->waiting_ns = busy_within_ns(&parts->busy[WAITING], step->start_ns, step->end_ns);
    step->input_ns = busy_within_ns(&parts->busy[INPUT], step->start_ns, step->end_ns);
    step->exposed_ns = bare_ns(parts, HELD, step->start_ns, step->end_ns);
    step->bubble_ns = bare_ns(parts, BUBBLE, step->start_ns, step->end_ns);
    step->stalled_ns = bare_ns(parts, STALLED, step->start_ns, step->end_ns);
  }
  for (size_t i = 0; i < ranks->collectives.count; i++) {
    struct collective *one = &ranks->collectives.items[i];
    one->overlapped_ns = busy_within_ns(&of->parts[one->rank].busy[COMPUTE], one->start_ns, one->end_ns);
    struct rank_step *step = step_of(ranks, one);
    if (step != NULL && one->bytes > 0 && kind_of(of, one->name) != OPERATOR_RECEIVES)
      step->given_bytes = saturate_add(step->given_bytes, one->bytes);
  }
}

static void figure_run(struct ranks *ranks, const struct rank_run *run)
{
  struct store *store = ranks->question->view->store;
  struct parts_loading of = {.ranks = ranks,
                             .store = store,
                             .its = run,
                             .parts = memory_new(ranks->items.count, sizeof *of.parts),
                             .input = run_columns_category(store, "input"),
                             .data = run_columns_category(store, "data"),
                             .wrapper = run_columns_category(store, "wrapper"),
                             .collective = run_columns_category(store, "collective")};
  find_devices(&of);
  find_around(&of);
  add_spans(&of);
  add_collectives(&of);
  fill(&of);
  for (size_t i = 0; i < ranks->items.count; i++)
    for (enum part part = 0; part < PARTS; part++) {
      vector_done(&of.parts[i].of[part]);
      vector_done(&of.parts[i].with_compute[part]);
    }
  free(of.parts);
  map_done(&of.kind_of);
  map_done(&of.around);
}

// The question's statistic chooses among the steps of each rank by itself: else it would leave out those of the slow one.
static int64_t length_of(const struct rank_step *step)
{
  return saturate_subtract(step->end_ns, step->start_ns);
}

SORTED_BY(compare_lengths, struct rank_step *const, ORDER(length_of(*a), length_of(*b)) ?: ORDER(*a, *b))

static void keep_steps(struct ranks *ranks)
{
  struct question *question = ranks->question;
  VECTOR(struct rank_step *) steps SCOPED(vector_end) = {0}; // of one rank
  for (size_t rank = 0; rank < ranks->items.count; rank++) {
    steps.count = 0;
    for (size_t i = ranks->items.items[rank].first_step; i < ranks->items.items[rank].end_step; i++)
      if (!ranks->by_rank[i]->is_warmup)
        *vector_add(&steps) = ranks->by_rank[i];
    vector_sort(&steps, compare_lengths);
    size_t cut = question_is_by_value(question) ? 0 : statistic_cut(&question->statistic, steps.count);
    for (size_t i = cut; i < steps.count - cut; i++)
      steps.items[i]->is_kept = true;
  }
}

static void list_by_run(struct ranks *ranks)
{
  struct arena *arena = ranks->question->scratch;
  const size_t count = ranks->steps.count;
  size_t *first = ranks->first_of_run = arena_alloc_array(arena, ranks->run_count + 2, sizeof *first);
  ranks->by_run = arena_alloc_array(arena, count + 1, sizeof *ranks->by_run);
  for (size_t i = 0; i < count; i++)
    first[ranks->steps.items[i].run + 2]++;
  for (size_t i = 2; i < ranks->run_count + 2; i++)
    first[i] += first[i - 1];
  for (size_t i = 0; i < count; i++)
    ranks->by_run[first[ranks->steps.items[i].run + 1]++] = (uint32_t)i;
}

enum status ranks_figures(struct ranks *ranks, ranks_visit *visit, void *context, struct error *err)
{
  enum status status = STATUS_OK;
  list_by_run(ranks);
  for (uint32_t i = 0; i < ranks->run_count && status == STATUS_OK; i++) {
    struct rank_run run;
    status = ranks_read_run(ranks, i, false, &run, err);
    if (status == STATUS_OK) {
      ranks_put_matches(ranks);
      figure_run(ranks, &run);
      if (visit != NULL)
        visit(ranks, &run, context);
    }
    rank_run_done(&run);
  }
  if (status == STATUS_OK)
    keep_steps(ranks);
  return status;
}
