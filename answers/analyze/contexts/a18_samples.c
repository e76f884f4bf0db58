// SPDX-License-Identifier: Apache-2.0
// A18, samples of instructions: the lines of source that kernels are at, and what they wait for there. An instruction's samples
// count at what calls it in the tree: its line, or its kernel where lines are unknown. Figures are totals of the runs.
#include "analyze/a_list.h"
#include "analyze/contexts/rows.h"
#include "base/map.h"
#include "base/saturate.h"
#include "base/sorted.h"
#include "base/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xsp/call_path.h>

struct reason {
  const char *name;
  int64_t samples; // at one place
};
struct place { // a line, or a kernel
  size_t context, number;
  int64_t samples, not_issued;
};
struct places {
  struct question *question;
  struct context_rows rows;
  VECTOR(struct place) all;
  VECTOR(struct reason) reasons;
  struct map by_frame;  // their places in `all`
  struct map by_reason; // samples by place and reason
  int64_t samples, with_lines;
};

static size_t reason_of(struct places *places, const char *name)
{
  for (size_t i = 0; i < places->reasons.count; i++)
    if (strcmp(places->reasons.items[i].name, name) == 0)
      return i;
  *vector_add(&places->reasons) = (struct reason){name, 0};
  return places->reasons.count - 1;
}

static size_t place_of(struct places *places, size_t context)
{
  int64_t caller = places->rows.paths.contexts[context - 1].parent_id;
  size_t at = caller != 0 ? (size_t)caller : context;
  bool is_new;
  uint64_t *place =
      map_at(&places->by_frame, map_number((uint64_t)places->rows.paths.contexts[at - 1].frame_id), &is_new);
  if (is_new) {
    *place = places->all.count;
    *vector_add(&places->all) = (struct place){at, *place, 0, 0};
  }
  return *place;
}

static void add_row(struct places *places, const struct store_context_metric *row)
{
  static const char samples[] = "samples", suffix[] = "_not_issued";
  if (strncmp(row->metric, samples, sizeof samples - 1) != 0 || row->exclusive_sum == 0)
    return;
  size_t number = place_of(places, (size_t)row->context_id), length = strlen(row->metric);
  struct place *place = &places->all.items[number];
  const char *reason = row->metric + sizeof samples - 1;
  if (*reason == '\0')
    place->samples = saturate_add(place->samples, row->exclusive_sum);
  else if (strcmp(reason, suffix) == 0)
    place->not_issued = saturate_add(place->not_issued, row->exclusive_sum);
  else if (*reason == '_' && strcmp(row->metric + length - (sizeof suffix - 1), suffix) != 0) {
    uint64_t *sum = map_at(&places->by_reason, (struct map_key){number + 1, reason_of(places, reason + 1)}, NULL);
    *sum = (uint64_t)saturate_add((int64_t)*sum, row->exclusive_sum);
  }
}

SORTED_BY(compare_places, struct place, FALLING(samples) ?: RISING(number))

SORTED_BY(by_samples, struct reason, FALLING(samples))

// The reasons of a place, most samples first. `selected` is none: the warp issued.
static const struct reason *stalls_of(struct places *places, size_t number)
{
  size_t count = places->reasons.count;
  struct reason *stalls = arena_alloc_array(places->question->scratch, count + 2, sizeof *stalls);
  memset(stalls, 0, (count + 2) * sizeof *stalls);
  for (size_t i = 0; i < count; i++) {
    const uint64_t *sum = map_find(&places->by_reason, (struct map_key){number + 1, i});
    if (sum != NULL && strcmp(places->reasons.items[i].name, "selected") != 0)
      stalls[i] = (struct reason){places->reasons.items[i].name, (int64_t)*sum};
  }
  qsort(stalls, count, sizeof *stalls, by_samples);
  return stalls;
}

static struct table_cell text(struct places *places, const char *value)
{
  return cell_text(value != NULL ? arena_copy(places->question->arena, value, strlen(value)) : NULL);
}

static struct table_cell share_of(const struct reason *stall, const struct place *place)
{
  return cell_real(stall->name != NULL ? analyze_share_pct((double)stall->samples, (double)place->samples) : NAN);
}

static void put_row(struct places *places, const struct place *place)
{
  struct table_builder *table = &places->question->table;
  const struct store_frame *frame = analyze_context_frame(&places->rows, place->context);
  const struct reason *stalls = stalls_of(places, place->number);
  double samples = (double)place->samples;
  table_row(table);
  table_put(table, "kernel", text(places, frame->name));
  table_put(table, "file", text(places, frame->file));
  table_put(table, "line", cell_int_if(frame->line > 0, frame->line));
  table_put(table, "samples", cell_int(place->samples));
  table_put_share(table, "samples_pct", "all", cell_real(analyze_share_pct(samples, (double)places->samples)));
  table_put(table, "not_issued_pct", cell_real(analyze_share_pct((double)place->not_issued, samples)));
  table_put(table, "stall", text(places, stalls[0].name));
  table_put(table, "stall_pct", share_of(&stalls[0], place));
  table_put(table, "next_stall", text(places, stalls[1].name));
  table_put(table, "next_stall_pct", share_of(&stalls[1], place));
  table_put(table, "called_from",
            cell_text(analyze_context_called_from(&places->rows, place->context, places->question->arena)));
}

static enum status answer_with(struct places *places, struct error *err)
{
  struct question *question = places->question;
  uint32_t samples;
  if (store_is_folded(question->view->store) || store_find_string(question->view->store, "samples", 7, &samples))
    XSP_TRY(analyze_context_rows_load(question, &places->rows, err)); // adds up every span
  for (size_t i = 0; places->rows.set != NULL && i < places->rows.set->run_count; i++)
    for (size_t k = 0; k < places->rows.runs[i].count; k++)
      add_row(places, &places->rows.runs[i].rows[k]);
  if (places->all.count == 0)
    return question_lacks(question, err, "it has no samples of instructions: xsp run --cuda samples=continuous");
  question_uses(question, places->rows.set);
  for (size_t i = 0; i < places->all.count; i++) {
    const struct place *place = &places->all.items[i];
    places->samples = saturate_add(places->samples, place->samples);
    if (analyze_context_frame(&places->rows, place->context)->line > 0)
      places->with_lines = saturate_add(places->with_lines, place->samples);
  }
  vector_sort(&places->all, compare_places);
  for (size_t i = 0; i < places->all.count; i++)
    put_row(places, &places->all.items[i]);
  table_summary(&question->table, "samples", cell_int(places->samples));
  table_summary(&question->table, "with_lines_pct",
                cell_real(analyze_share_pct((double)places->with_lines, (double)places->samples)));
  table_summary(&question->table, "runs", cell_int((int64_t)places->rows.set->run_count));
  return STATUS_OK;
}

static enum status answer(struct question *question, struct error *err)
{
  struct places places = {.question = question};
  enum status status = answer_with(&places, err);
  vector_done(&places.all);
  vector_done(&places.reasons);
  map_done(&places.by_frame);
  map_done(&places.by_reason);
  return status;
}

const struct analysis analysis_a18 = {.id = "A18",
                                      .title = "samples of instructions",
                                      .summary = "samples of instructions by line",
                                      .needs = "instruction samples",
                                      .main_figure = "samples",
                                      .takes_folded = true,
                                      .answer = answer};
