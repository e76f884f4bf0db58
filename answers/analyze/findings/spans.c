// SPDX-License-Identifier: Apache-2.0
// The spans that findings show, of places or functions: one pass over all rows for all findings. Called by rules and findings.c.
#include "analyze/findings/findings.h"

#include <string.h>

void finding_spans_at(struct finding *finding, uint32_t place)
{
  finding->shown_place = place;
}

void finding_spans_in_function(struct finding *finding, uint32_t function)
{
  finding->shown_function = function;
}

struct shown { // the first finding of each, + 1; 0: none shows it
  uint32_t *place, *function;
  uint32_t *nearest; // by function: itself or the innermost around it that is shown; PLACE_NONE: none is
};

static void find_shown(const struct findings *findings, struct arena *arena, struct shown *ret_shown)
{
  const struct places *places = findings->places;
  ret_shown->place = arena_alloc_array(arena, places->count + 1, sizeof(uint32_t));
  ret_shown->function = arena_alloc_array(arena, places->function_count + 1, sizeof(uint32_t));
  ret_shown->nearest = arena_alloc_array(arena, places->function_count + 1, sizeof(uint32_t));
  for (size_t i = findings->all.count; i > 0; i--) {
    const struct finding *finding = &findings->all.items[i - 1];
    if (finding->shown_place != PLACE_NONE)
      ret_shown->place[finding->shown_place] = (uint32_t)i;
    if (finding->shown_function != PLACE_NONE)
      ret_shown->function[finding->shown_function] = (uint32_t)i;
  }
  for (uint32_t i = 0; i < places->function_count; i++) {
    uint32_t parent = places->functions[i].parent; // earlier in the array
    uint32_t around = parent != PLACE_NONE ? ret_shown->nearest[parent] : PLACE_NONE;
    ret_shown->nearest[i] = ret_shown->function[i] != 0 ? i : around;
  }
}

// The spans are of the run that has the first of them. False: the finding takes no more of this run.
static bool show(struct finding *finding, const struct places_run *run, size_t row)
{
  if (finding->span_count == 0)
    finding->run_id = run->run_id;
  if (finding->run_id != run->run_id || finding->span_count == FINDING_SPANS_MOST)
    return false;
  finding->spans[finding->span_count++] = run->span_ids[row];
  return true;
}

static void show_row(struct findings *findings, const struct shown *shown, const struct places_run *run, size_t row)
{
  const struct places *places = findings->places;
  struct finding *all = findings->all.items;
  uint32_t place = run->place_of[row];
  if (shown->place[place] != 0)
    (void)show(&all[shown->place[place] - 1], run, row);
  if (run->counts[row] != COUNTS_UNIT)
    return;
  // What a function shows, those around it have shown before: where it takes no more, neither do they.
  uint32_t function = shown->nearest[places->all[place].function];
  while (function != PLACE_NONE && show(&all[shown->function[function] - 1], run, row))
    function = places->functions[function].parent != PLACE_NONE ? shown->nearest[places->functions[function].parent]
                                                                : PLACE_NONE;
}

static void copy_spans(struct finding *to, const struct finding *from)
{
  to->run_id = from->run_id;
  to->span_count = from->span_count;
  memcpy(to->spans, from->spans, sizeof to->spans);
}

void findings_fill_spans(struct findings *findings)
{
  const struct places *places = findings->places;
  struct arena arena SCOPED(arena_done) = {0};
  struct shown shown;
  if (places == NULL || findings->all.count == 0)
    return;
  find_shown(findings, &arena, &shown);
  for (size_t i = 0; i < places->run_count; i++)
    for (size_t row = 0; row < places->runs[i].count; row++)
      if (places->runs[i].counts[row] >= COUNTS_TIME)
        show_row(findings, &shown, &places->runs[i], row);
  for (uint32_t i = 0; i < findings->all.count; i++) {
    struct finding *finding = &findings->all.items[i];
    uint32_t first = finding->shown_place != PLACE_NONE      ? shown.place[finding->shown_place] - 1
                     : finding->shown_function != PLACE_NONE ? shown.function[finding->shown_function] - 1
                                                             : i;
    if (first != i)
      copy_spans(finding, &findings->all.items[first]);
  }
}
