// SPDX-License-Identifier: Apache-2.0
// Reads the ranks of a job, their steps and collectives, run by run. A run is a job that xsp recorded, or the file of one rank. Called by
// the analyses and findings about ranks, and by figures.c.
#include "analyze/ranks/ranks.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <stdio.h>
#include <string.h>

#define COLUMNS                                                                                                        \
  (STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_TRACK_ID) | STORE_BIT(STORE_NAME) |      \
   STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_KIND) | STORE_BIT(STORE_FLAGS) | STORE_BIT(STORE_CONTEXT_ID))

// The last four: of NCCL's kernels in PyTorch's profiles, and of XLA's operations.
enum {
  TAG_GROUP,
  TAG_SEQUENCE,
  TAG_BYTES,
  TAG_MODULE,
  TAG_PARAMETERS,
  TAG_BATCH_SIZE,
  TAG_SAMPLES,
  TAG_SIGNATURE,
  TAG_TOTAL_BYTES,
  TAG_GROUP_NAME,
  TAG_ELEMENTS,
  TAG_TYPE,
  TAG_COLLECTIVE,
  KEYS
};
static const char *const keys[KEYS] = {"group",       "sequence",           "bytes",         "module",
                                       "parameters",  "batch_size",         "step_samples",  "signature",
                                       "total_bytes", "Process Group Name", "In msg nelems", "dtype",
                                       "collective"};

struct loading {
  struct ranks *ranks;
  struct store *store;
  uint32_t run; // place in ranks->runs
  struct rank_run *its;
  uint32_t collective;     // string id of the category; ROW_NONE: no span has it
  struct map kernel_kinds; // of kernels, by string id of the name: 1: a collective's, 2: another
};

// ---- steps ---------------------------------------------------------------------------------------------------------------
static uint32_t rank_of_row(const struct loading *loading, size_t row)
{
  const uint64_t *rank = map_find(&loading->its->rank_of, map_number(loading->its->columns.spans.track_id[row]));
  return rank != NULL ? (uint32_t)*rank : RANK_NONE;
}

static void add_steps(struct loading *loading)
{
  struct ranks *ranks = loading->ranks;
  const struct view_run *run = ranks->runs[loading->run];
  for (size_t i = 0; i < run->observation_count; i++) {
    const struct store_observation *one = &run->observations[i];
    uint32_t row = run_columns_row(&loading->its->columns, one->span_id);
    uint32_t rank = row != ROW_NONE ? rank_of_row(loading, row) : RANK_NONE;
    if (rank == RANK_NONE)
      continue;
    *vector_add(&ranks->steps) = (struct rank_step){.rank = rank,
                                                    .job = ranks->jobs[loading->run],
                                                    .run = loading->run,
                                                    .index = (uint32_t)i,
                                                    .start_ns = one->start_ns,
                                                    .end_ns = saturate_add(one->start_ns, one->duration_ns),
                                                    .is_warmup = one->warmup};
    ranks->items.items[rank].steps += !one->warmup;
  }
}

SORTED_BY(compare_steps, struct rank_step, RISING(job) ?: RISING(rank) ?: RISING(start_ns) ?: RISING(index))

static void number_steps(struct ranks *ranks)
{
  vector_sort(&ranks->steps, compare_steps);
  for (size_t i = 1; i < ranks->steps.count; i++) {
    struct rank_step *step = &ranks->steps.items[i];
    step->number = step->job == step[-1].job && step->rank == step[-1].rank ? step[-1].number + 1 : 0;
  }
}

static void list_steps(struct ranks *ranks)
{
  ranks->by_rank = arena_alloc_array(ranks->question->scratch, ranks->steps.count + 1, sizeof *ranks->by_rank);
  for (size_t i = 0; i < ranks->steps.count; i++)
    ranks->items.items[ranks->steps.items[i].rank].end_step++;
  for (size_t i = 0, first = 0; i < ranks->items.count; i++) {
    struct rank *rank = &ranks->items.items[i];
    size_t count = rank->end_step;
    rank->first_step = rank->end_step = first;
    first += count;
  }
  for (size_t i = 0; i < ranks->steps.count; i++)
    ranks->by_rank[ranks->items.items[ranks->steps.items[i].rank].end_step++] = &ranks->steps.items[i];
}

// ---- collectives -----------------------------------------------------------------------------------------------------------
bool ranks_starts_collective(const char *name)
{
  static const char *const prefixes[] = {"c10d::", "_c10d_functional::", "c10d_functional::", "record_param_comms",
                                         "MPI_"};
  for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
    if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
      return true;
  return false;
}

bool ranks_is_collective_kernel(const char *name)
{
  return strncmp(name, "nccl", 4) == 0 || strncmp(name, "rccl", 4) == 0;
}

static bool is_collective(struct loading *loading, size_t row)
{
  const struct store_spans *spans = &loading->its->columns.spans;
  if ((spans->flags[row] & STORE_SPAN_OPEN) != 0)
    return false;
  if (spans->level[row] != XSP_LEVEL_KERNEL || spans->category[row] != loading->its->columns.kernel)
    return spans->category[row] == loading->collective;
  uint64_t *kind = map_at(&loading->kernel_kinds, map_number(spans->name[row]), NULL);
  if (*kind == 0)
    *kind = ranks_is_collective_kernel(store_text(loading->store, spans->name[row], NULL)) ? 1 : 2;
  return *kind == 1;
}

// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(…)" is an "AllReduce".
static const char *kernel_kind(const struct ranks *ranks, const char *name)
{
  const char *first = strchr(name, '_');
  size_t length = first != NULL ? strcspn(first + 1, "_(<") : 0;
  return length > 0 ? arena_copy(ranks->question->arena, first + 1, length) : name;
}

const char *ranks_collective_kind(const struct ranks *ranks, const struct collective *of)
{
  const char *text = store_text(ranks->question->view->store, of->name, NULL), *colon = strchr(text, ':');
  if (of->is_scattered)
    return "reduce_scatter";
  if (of->kind != 0)
    return store_text(ranks->question->view->store, of->kind, NULL);
  if (ranks_is_collective_kernel(text))
    return kernel_kind(ranks, text);
  return colon != NULL && colon[1] != 0 && colon[1] != ':' ? colon + 1 : text;
}

// On a device when its kernel begins: what the host started may wait for kernels in front of it.
static int64_t arrival_of(const struct loading *loading, size_t row)
{
  const struct store_spans *spans = &loading->its->columns.spans;
  uint32_t parent = run_columns_row(&loading->its->columns, loading->its->columns.derived.parent_id[row]);
  bool is_start = parent != ROW_NONE && spans->level[row] != XSP_LEVEL_KERNEL &&
                  spans->start_ns[parent] <= spans->start_ns[row] &&
                  ranks_starts_collective(store_text(loading->store, spans->name[parent], NULL));
  return spans->start_ns[is_start ? parent : row];
}

// Hooks of DistributedDataParallel run in the operator that adds up a parameter's gradient.
static bool is_of_gradient(const struct loading *loading, size_t row)
{
  uint32_t parent = run_columns_row(&loading->its->columns, loading->its->columns.derived.parent_id[row]);
  uint32_t around = parent != ROW_NONE
                        ? run_columns_row(&loading->its->columns, loading->its->columns.derived.parent_id[parent])
                        : ROW_NONE;
  return around != ROW_NONE &&
         strstr(store_text(loading->store, loading->its->columns.spans.name[around], NULL), "AccumulateGrad") != NULL;
}

// Gloo reduces and scatters by an all-reduce.
static bool is_scattered(const struct loading *loading, size_t row)
{
  const struct store_spans *spans = &loading->its->columns.spans;
  uint32_t parent = run_columns_row(&loading->its->columns, loading->its->columns.derived.parent_id[row]);
  return parent != ROW_NONE && strstr(store_text(loading->store, spans->name[row], NULL), ":all_reduce") != NULL &&
         strstr(store_text(loading->store, spans->name[parent], NULL), "reduce_scatter") != NULL;
}

static void add_collectives(struct loading *loading, struct map *ret_places)
{
  struct ranks *ranks = loading->ranks;
  const struct store_spans *spans = &loading->its->columns.spans;
  for (size_t row = 0; row < spans->count; row++) {
    uint32_t rank = rank_of_row(loading, row);
    if (rank == RANK_NONE)
      continue;
    int64_t end_ns = saturate_add(spans->start_ns[row], spans->duration_ns[row]);
    struct rank *of = &ranks->items.items[rank];
    of->last_ns = end_ns > of->last_ns ? end_ns : of->last_ns;
    if (!is_collective(loading, row))
      continue;
    *map_at(ret_places, map_number((uint64_t)spans->span_id[row]), NULL) = ranks->collectives.count;
    *vector_add(&ranks->collectives) = (struct collective){.rank = rank,
                                                           .job = ranks->jobs[loading->run],
                                                           .run = loading->run,
                                                           .name = spans->name[row],
                                                           .context_id = spans->context_id[row],
                                                           .match = RANK_NONE,
                                                           .sequence = -1,
                                                           .bytes = -1,
                                                           .parameters = -1,
                                                           .arrival_ns = arrival_of(loading, row),
                                                           .start_ns = spans->start_ns[row],
                                                           .end_ns = end_ns,
                                                           .is_scattered = is_scattered(loading, row),
                                                           .is_of_gradient = is_of_gradient(loading, row)};
  }
}

static int64_t type_bytes(const char *type) // of PyTorch's names; 0: unknown
{
  static const struct {
    const char *name;
    int64_t bytes;
  } types[] = {{"Float", 4}, {"Half", 2},  {"BFloat16", 2}, {"Double", 8}, {"Int", 4},
               {"Long", 8},  {"Short", 2}, {"Byte", 1},     {"Char", 1},   {"Bool", 1}};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (strcmp(type, types[i].name) == 0)
      return types[i].bytes;
  return strncmp(type, "Float8", 6) == 0 ? 1 : 0;
}

struct elements { // of a kernel's message, by place of the collective
  int64_t count, bytes_each;
};

// Positions of a sequence where the first input is of token ids, "int64[8,512]"; 0: it is not.
static int64_t positions_of(const char *signature)
{
  long long sequences, positions;
  int length = 0;
  bool is_of_ids = sscanf(signature, "int%*2[0-9][%lld,%lld]%n", &sequences, &positions, &length) == 2 && length > 0;
  return is_of_ids && positions > 0 && positions < INT32_MAX ? positions : 0;
}

// A tag of a collective.
static void take_tag(struct loading *loading, const uint32_t ids[KEYS], const struct store_tag *tag,
                     struct collective *of, struct elements *elements)
{
  int64_t number = tag->type == STORE_INT ? tag->value.integer : -1;
  bool is_text = tag->type == STORE_TEXT;
  if ((tag->key == ids[TAG_GROUP] || tag->key == ids[TAG_GROUP_NAME]) && is_text)
    of->group = tag->value.string;
  else if (tag->key == ids[TAG_SEQUENCE])
    of->sequence = number;
  else if (tag->key == ids[TAG_BYTES])
    of->bytes = number;
  else if (tag->key == ids[TAG_COLLECTIVE] && is_text)
    of->kind = tag->value.string;
  else if (tag->key == ids[TAG_MODULE] && is_text)
    of->module = tag->value.string;
  else if (tag->key == ids[TAG_PARAMETERS])
    of->parameters = number;
  else if (tag->key == ids[TAG_ELEMENTS])
    elements->count = number;
  else if (tag->key == ids[TAG_TYPE] && is_text)
    elements->bytes_each = type_bytes(store_text(loading->store, tag->value.string, NULL));
  if (elements->count >= 0 && elements->bytes_each > 0 && elements->count < INT64_MAX / 8)
    of->bytes = elements->count * elements->bytes_each;
}

static enum status add_tags(struct loading *loading, const struct map *collectives, size_t first_step,
                            struct error *err)
{
  struct ranks *ranks = loading->ranks;
  const struct view_run *run = ranks->runs[loading->run];
  uint32_t ids[KEYS] = {0};
  struct map steps SCOPED(map_done) = {0};
  struct store_tag *tags;
  size_t count;
  for (size_t i = 0; i < KEYS; i++)
    (void)store_find_string(loading->store, keys[i], strlen(keys[i]), &ids[i]);
  XSP_TRY(
      store_load_tags_of(loading->store, run->run->run_id, ids, KEYS, loading->its->columns.arena, &tags, &count, err));
  for (size_t i = first_step; i < ranks->steps.count; i++)
    *map_at(&steps, map_number((uint64_t)run->observations[ranks->steps.items[i].index].span_id), NULL) = i;
  struct elements *elements = arena_alloc_array(loading->its->columns.arena, collectives->count + 1, sizeof *elements);
  for (size_t i = 0; i < collectives->count; i++)
    elements[i].count = -1;
  for (size_t i = 0; i < count; i++) {
    const struct store_tag *tag = &tags[i];
    const uint64_t *place = map_find(collectives, map_number((uint64_t)tag->span_id));
    int64_t number = tag->type == STORE_INT ? tag->value.integer : -1;
    if (place != NULL)
      take_tag(loading, ids, tag, &ranks->collectives.items[*place], &elements[*place]);
    else if ((tag->key == ids[TAG_BATCH_SIZE] || tag->key == ids[TAG_SAMPLES]) &&
             (place = map_find(&steps, map_number((uint64_t)tag->span_id))) != NULL) {
      int64_t *samples = &ranks->steps.items[*place].samples; // a step of several micro-batches has both
      *samples = number > *samples ? number : *samples;
    } else if (tag->key == ids[TAG_SIGNATURE] && tag->type == STORE_TEXT &&
               (place = map_find(&steps, map_number((uint64_t)tag->span_id))) != NULL) {
      ranks->steps.items[*place].tokens = positions_of(store_text(loading->store, tag->value.string, NULL));
    } else if (tag->key == ids[TAG_TOTAL_BYTES] && number >= 0) {
      uint32_t row = run_columns_row(&loading->its->columns, tag->span_id);
      uint32_t rank = row != ROW_NONE ? rank_of_row(loading, row) : RANK_NONE;
      if (rank != RANK_NONE && number > ranks->items.items[rank].peak_bytes)
        ranks->items.items[rank].peak_bytes = number;
    }
  }
  for (size_t i = first_step; i < ranks->steps.count; i++)
    if (__builtin_mul_overflow(ranks->steps.items[i].tokens, ranks->steps.items[i].samples,
                               &ranks->steps.items[i].tokens))
      ranks->steps.items[i].tokens = 0;
  return STATUS_OK;
}

enum status ranks_read_run(struct ranks *ranks, uint32_t run, bool adds_steps, struct rank_run *ret_run,
                           struct error *err)
{
  struct map collectives SCOPED(map_done) = {0};
  struct loading loading = {.ranks = ranks, .store = ranks->question->view->store, .run = run, .its = ret_run};
  loading.collective = run_columns_category(loading.store, "collective");
  size_t first_step = ranks->steps.count;
  ranks->collectives.count = 0;
  *ret_run = (struct rank_run){.run = run};
  enum status status = ranks_of_tracks(ranks, ranks->runs[run], &ret_run->arena, &ret_run->rank_of, err);
  if (status == STATUS_OK)
    status = ranks_load_columns(ranks, run, COLUMNS, &ret_run->arena, &ret_run->columns, err);
  if (status == STATUS_OK) {
    if (adds_steps)
      add_steps(&loading);
    add_collectives(&loading, &collectives);
    status = add_tags(&loading, &collectives, first_step, err);
  }
  map_done(&loading.kernel_kinds);
  return status;
}

void rank_run_done(struct rank_run *run)
{
  map_done(&run->rank_of);
  arena_done(&run->arena);
}

static enum status add_run(struct ranks *ranks, uint32_t number, struct error *err)
{
  struct rank_run run SCOPED(rank_run_done);
  const size_t steps = ranks->steps.count;
  XSP_TRY(ranks_read_run(ranks, number, true, &run, err));
  if (ranks->steps.count == steps)
    ranks_keep_ends(ranks);
  ranks_add_to_matches(ranks);
  return STATUS_OK;
}

enum status ranks_load(struct question *question, size_t least, ranks_visit *visit, void *context,
                       struct ranks *ret_ranks, struct error *err)
{
  struct ranks *ranks = ret_ranks;
  *ranks = (struct ranks){.question = question};
  ranks_choose_runs(ranks);
  bool *has_first_rank = arena_alloc_array(question->scratch, ranks->run_count + 1, sizeof *has_first_rank);
  XSP_TRY(ranks_find(ranks, has_first_rank, err));
  for (int first = 1; first >= 0; first--) // others are compared with it
    for (uint32_t i = 0; i < ranks->run_count && ranks->items.count >= least; i++)
      if (has_first_rank[i] == first)
        XSP_TRY(add_run(ranks, i, err));
  ranks_steps_of_collectives(ranks);
  size_t active = 0;
  for (size_t i = 0; i < ranks->items.count; i++)
    active += ranks->items.items[i].steps > 0;
  if (active < least)
    return question_lacks(question, err,
                          "it has no steps of several ranks: processes of a job have ranks by RANK and WORLD_SIZE, "
                          "torch.distributed or MPI");
  number_steps(ranks);
  list_steps(ranks);
  ranks_match(ranks);
  XSP_TRY(ranks_figures(ranks, visit, context, err));
  ranks_compare_times(ranks);
  vector_done(&ranks->collectives);
  return STATUS_OK;
}

void ranks_done(struct ranks *ranks)
{
  vector_done(&ranks->items);
  vector_done(&ranks->steps);
  vector_done(&ranks->collectives);
  vector_done(&ranks->ends);
  vector_done(&ranks->matches);
  vector_done(&ranks->matching.kinds);
  vector_done(&ranks->matching.arrivals);
  map_done(&ranks->matching.places);
  map_done(&ranks->matching.matches);
  map_done(&ranks->matching.times);
  map_done(&ranks->matching.ahead_ns);
}
