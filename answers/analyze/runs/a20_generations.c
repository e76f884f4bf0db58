// SPDX-License-Identifier: Apache-2.0
// A20, generations: successive calls of one decoder, the first with the prompt, then one for each further token: with one
// position (a cache has the others), or with one more than before (without a cache). Found by the signatures of model spans.
#include "analyze/a_list.h"
#include "analyze/view.h"
#include "base/map.h"
#include "base/saturate.h"
#include "base/sorted.h"
#include "base/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNATURE, MODEL, KEYS };

struct call { // of a model, with positions of tokens
  uint32_t track_id, model;
  int64_t start_ns, end_ns, batch_size, positions;
};
struct generation {
  const struct call *calls; // successive ones
  size_t count;
  bool is_cached;
};
struct of_run {
  struct question *question;
  const struct view_run *run;
  struct map track_of; // by id, of model spans
  VECTOR(struct call) calls;
};
struct times { // in ms, of all generations
  VECTOR(double) first, each;
  double tokens, total_ms;
};

// Whether the type before `axes` is one of whole numbers: "input_ids=int64", "tensor(int32)".
static bool is_of_integers(const char *signature, const char *axes)
{
  const char *type = axes;
  while (type > signature && type[-1] != '=')
    type--;
  const char *found = strstr(type, "int");
  return found != NULL && found < axes;
}

// "input_ids=int64[1,200], …": of the first tensor. False: it has not two or three axes, or two of other numbers, as those of a model
// with one feature.
static bool read_positions(const char *signature, struct call *call)
{
  const char *axes = strchr(signature, '['), *at = axes;
  int64_t dims[3];
  size_t rank = 0;
  for (char *end; at != NULL && *at != ']' && *at != 0 && rank < 3; at = end) {
    dims[rank] = strtoll(at + 1, &end, 10);
    if (end == at + 1)
      return false;
    rank++;
  }
  if (at == NULL || *at != ']' || rank < 2 || (rank == 2 && !is_of_integers(signature, axes)))
    return false;
  call->batch_size = dims[0];
  call->positions = dims[1];
  return true;
}

static enum status visit(void *context, size_t first_row, const struct store_spans *spans,
                         const struct store_derived *derived, struct error *err)
{
  struct of_run *of = context;
  for (size_t i = 0; i < spans->count; i++)
    if (spans->level[i] == XSP_LEVEL_MODEL)
      *map_at(&of->track_of, map_number((uint64_t)spans->span_id[i]), NULL) = spans->track_id[i];
  return STATUS_OK;
}

SORTED_BY(compare_calls, struct call, RISING(track_id) ?: RISING(start_ns))

static void add_calls(struct of_run *of, const struct store_tag *tags, size_t count, const uint32_t keys[KEYS],
                      struct map *place_of)
{
  for (size_t i = 0; i < of->run->observation_count; i++) {
    const struct store_observation *one = &of->run->observations[i];
    const uint64_t *track_id = map_find(&of->track_of, map_number((uint64_t)one->span_id));
    bool is_other = of->run->is_other_kind != NULL && of->run->is_other_kind[i];
    if (track_id == NULL || (one->warmup && !is_other))
      continue;
    *map_at(place_of, map_number((uint64_t)one->span_id), NULL) = of->calls.count;
    *vector_add(&of->calls) = (struct call){.track_id = (uint32_t)*track_id,
                                            .start_ns = one->start_ns,
                                            .end_ns = saturate_add(one->start_ns, one->duration_ns)};
  }
  for (size_t i = 0; i < count; i++) {
    const uint64_t *place = map_find(place_of, map_number((uint64_t)tags[i].span_id));
    if (place == NULL || tags[i].type != STORE_TEXT)
      continue;
    struct call *call = &of->calls.items[*place];
    if (tags[i].key == keys[MODEL])
      call->model = tags[i].value.string;
    else if (!read_positions(store_text(of->question->view->store, tags[i].value.string, NULL), call))
      call->positions = 0;
  }
  vector_sort(&of->calls, compare_calls);
}

static enum status load_calls(struct of_run *of, struct error *err)
{
  struct store *store = of->question->view->store;
  const int64_t run_id = of->run->run->run_id;
  uint32_t keys[KEYS] = {0};
  struct store_tag *tags;
  size_t count;
  struct map place_of SCOPED(map_done) = {0};
  if (!store_find_string(store, "signature", 9, &keys[SIGNATURE]))
    return STATUS_OK;
  (void)store_find_string(store, "model", 5, &keys[MODEL]);
  const uint32_t columns = STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_TRACK_ID) | STORE_BIT(STORE_LEVEL);
  XSP_TRY(store_walk_spans(store, run_id, columns, visit, of, err));
  XSP_TRY(store_load_tags_of(store, run_id, keys, KEYS, of->question->scratch, &tags, &count, err));
  add_calls(of, tags, count, keys, &place_of);
  return STATUS_OK;
}

// The calls from `first` on that make one generation; of one call: none.
static struct generation generation_at(const struct call *calls, size_t count, size_t first)
{
  struct generation found = {.calls = &calls[first], .count = 1};
  for (size_t i = first + 1; i < count && calls[first].positions > 0; i++) {
    const struct call *before = &calls[i - 1], *call = &calls[i];
    bool is_cached = call->positions == 1, is_longer = call->positions == before->positions + 1;
    if (call->track_id != before->track_id || call->model != before->model || call->batch_size != before->batch_size ||
        (found.count == 1  ? !is_cached && !is_longer
         : found.is_cached ? !is_cached
                           : !is_longer))
      break;
    found.is_cached = is_cached;
    found.count++;
  }
  return found;
}

static double ms_between(int64_t from_ns, int64_t to_ns)
{
  return (double)saturate_subtract(to_ns, from_ns) / 1e6;
}

static void put_generation(struct question *question, const struct generation *generation, struct times *times)
{
  struct table_builder *table = &question->table;
  const struct call *first = generation->calls, *last = &first[generation->count - 1];
  double *each = arena_alloc_array(question->scratch, generation->count, sizeof *each);
  double inside_ms = ms_between(first->start_ns, first->end_ns), total_ms = ms_between(first->start_ns, last->end_ns);
  double tokens = (double)generation->count * (double)first->batch_size;
  for (size_t i = 1; i < generation->count; i++) {
    each[i - 1] = ms_between(first[i - 1].end_ns, first[i].end_ns);
    *vector_add(&times->each) = each[i - 1];
    inside_ms += ms_between(first[i].start_ns, first[i].end_ns);
  }
  *vector_add(&times->first) = ms_between(first->start_ns, first->end_ns);
  times->tokens += tokens;
  times->total_ms += total_ms;
  table_row(table);
  table_put(table, "request", cell_int((int64_t)table->row_count - 1));
  table_put(table, "prompt_tokens", cell_int(first->positions));
  table_put(table, "new_tokens", cell_int((int64_t)generation->count));
  table_put(table, "batch_size", cell_int(first->batch_size));
  table_put(table, "first_token_ms", cell_real(ms_between(first->start_ns, first->end_ns)));
  table_put(table, "per_token_ms", cell_real(statistic_named("mean", each, generation->count - 1)));
  table_put(table, "per_token_p99_ms", cell_real(statistic_named("p99", each, generation->count - 1)));
  table_put(table, "tokens_per_s", cell_real(total_ms > 0 ? 1000 * tokens / total_ms : NAN));
  table_put(table, "outside_ms", cell_real(total_ms - inside_ms));
  table_put(table, "is_cached", cell_bool(generation->is_cached));
}

static void summarize(struct question *question, struct times *times)
{
  static const char *const names[] = {"mean", "p50", "p90", "p99"};
  struct table_builder *table = &question->table;
  table_summary(table, "requests", cell_int((int64_t)table->row_count));
  table_summary(table, "tokens_per_s", cell_real(times->total_ms > 0 ? 1000 * times->tokens / times->total_ms : NAN));
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    table_summary(table, arena_format(question->arena, "first_token_%s_ms", names[i]),
                  cell_real(statistic_named(names[i], times->first.items, times->first.count)));
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    table_summary(table, arena_format(question->arena, "per_token_%s_ms", names[i]),
                  cell_real(statistic_named(names[i], times->each.items, times->each.count)));
}

static enum status put_set(struct question *question, const struct view_set *set, struct times *times,
                           struct error *err)
{
  enum status status = STATUS_OK;
  for (size_t i = 0; i < set->run_count && status == STATUS_OK; i++) {
    struct of_run of = {.question = question, .run = set->runs[i]};
    status = load_calls(&of, err);
    for (size_t at = 0; at < of.calls.count && status == STATUS_OK;) {
      struct generation generation = generation_at(of.calls.items, of.calls.count, at);
      if (generation.count > 1)
        put_generation(question, &generation, times);
      at += generation.count;
    }
    vector_done(&of.calls);
    map_done(&of.track_of);
  }
  return status;
}

static enum status answer(struct question *question, struct error *err)
{
  const struct view *view = question->view;
  int64_t batch_size = view->kind_count > 0 ? view->kinds[view->kind].batch_size : 0;
  const char *from;
  const struct view_set *set = view_rule(view, batch_size, XSP_LEVEL_MODEL, &from);
  struct times times = {0};
  enum status status = set != NULL ? put_set(question, set, &times, err) : STATUS_OK;
  if (status == STATUS_OK && question->table.row_count == 0)
    status = question_lacks(question, err,
                            "no decoder was called for one token after another: of live PyTorch, a module whose first "
                            "input has its tokens on the second axis");
  if (status == STATUS_OK) {
    question_uses(question, set);
    question_note_from(question, "model", from);
    summarize(question, &times);
  }
  vector_done(&times.first);
  vector_done(&times.each);
  return status;
}

const struct analysis analysis_a20 = {.id = "A20",
                                      .title = "generations",
                                      .needs = "M",
                                      .main_figure = "per_token_ms",
                                      .detail = TRACE_LAYERS,
                                      .answer = answer};
