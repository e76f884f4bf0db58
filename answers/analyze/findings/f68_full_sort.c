// SPDX-License-Identifier: Apache-2.0
// F68, sorted for a few: a line of the program sorts whole tensors, and only a part of the result is used. Choosing the largest ones
// does not order the rest. What compares or adds up sorted values needs all of them. That no line uses the rest only the source shows.
#include "analyze/findings/called.h"
#include "analyze/findings/part_of_sort.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/source_line.h"
#include "analyze/flops/flops.h"
#include "base/slice.h"

#define MOST_PART 0.9 // of the sorts at a line

struct sorts { // by line: its first place
  double ns, count, few;
  uint32_t place; // of an operator
};

static bool is_own_sort(const struct places *places, uint32_t place)
{
  return text_is_one_of(places->all[place].name, "aten::sort", "aten::argsort", "aten::msort") &&
         findings_called_by(places, place) != PLACE_NONE;
}

// Differences of neighbours, means without outliers. Comparisons mostly have one of the elements as a limit.
static bool uses_order(const struct places *places, const struct called *sort, const struct called *next)
{
  const char *name = places->all[next->place].name;
  enum flop_class class = flops_class(name);
  uint32_t source = place_in_source(places->all, next->place);
  return source != PLACE_NONE &&
         places->all[source].function == places->all[findings_called_by(places, sort->place)].function &&
         (class == FLOPS_ELEMENTWISE || class == FLOPS_OTHERS) &&
         !text_is_one_of(name, "aten::index", "aten::index_select", "aten::gather", "aten::take_along_dim",
                         "aten::embedding", "aten::lt", "aten::le", "aten::gt", "aten::ge");
}

// The operators that follow only take a part, before something else is computed.
static bool takes_few(const struct places *places, const struct called *sort, const struct called *end)
{
  bool takes = false;
  for (const struct called *at = called_next(sort, end); at != NULL; at = called_next(at, end)) {
    const char *name = places->all[at->place].name;
    if (text_is_one_of(name, "aten::slice", "aten::select", "aten::narrow"))
      takes = true;
    else if (!flops_moves_nothing(name))
      return takes && !uses_order(places, sort, at);
  }
  return takes;
}

static enum status add_run(struct findings *findings, size_t run_index, const uint32_t *lines, struct sorts *sorts,
                           struct error *err)
{
  called_vector called SCOPED(vector_end) = {0};
  XSP_TRY(findings_called(findings, run_index, &called, err));
  for (size_t i = 0; i < called.count; i++) {
    const struct called *at = &called.items[i];
    if (!is_own_sort(findings->places, at->place))
      continue;
    struct sorts *line = &sorts[lines[findings_called_by(findings->places, at->place)]];
    line->ns += at->ns;
    line->count++;
    line->few += takes_few(findings->places, at, called.items + called.count);
    line->place = at->place;
  }
  return STATUS_OK;
}

static bool takes_enough(const struct findings *findings, double ns)
{
  return analyze_share_pct(findings_per_observation_ms(findings, ns), findings->loop_ms) >=
         findings_threshold(findings, "full_sort-share");
}

static bool source_takes_part(struct findings *findings, uint32_t place)
{
  struct buf source SCOPED(buf_done) = {0};
  const struct place *line = &findings->places->all[findings_called_by(findings->places, place)];
  return findings_source(findings, line->file, &source) &&
         findings_takes_part((struct slice){source.data, source.length}, line->line);
}

static void add(struct findings *findings, uint32_t place, double ms)
{
  struct finding *finding = findings_add(findings);
  finding_at_place(findings, finding, findings_called_by(findings->places, place));
  finding->time_ms = finding->saving_ms = ms;
  finding->share_pct = analyze_share_pct(ms, findings->loop_ms);
  finding->saving_basis = "time of the sort, as if choosing took none";
  finding->title =
      arena_format(findings->question->arena, "%s sorts whole tensors (%s), and takes a part of them: %s %s",
                   findings_name(findings, finding->context), findings->places->all[place].name,
                   findings_time(findings, ms), findings_per_observation(findings));
  finding->advice = "torch.topk(k) for the largest or smallest ones, kthvalue() or median() for a single one: they do "
                    "not sort the rest";
  finding->confidence = CONFIDENCE_MEDIUM;
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  uint32_t name;
  double all_ns = 0;
  if (!store_find_string(findings->question->view->store, "aten::sort", 10, &name)) // the others call it
    return findings_lack(findings, err, "it has no sorts of PyTorch");
  XSP_TRY(findings_host_places(findings, &places, err));
  for (uint32_t i = 0; i < places->count; i++)
    all_ns += is_own_sort(places, i) ? places->all[i].own.operators.ns : 0;
  if (!takes_enough(findings, all_ns) || places->is_folded)
    return STATUS_OK;
  struct sorts *sorts = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *sorts);
  const uint32_t *lines = places_lines(places, findings->question->scratch);
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(add_run(findings, i, lines, sorts, err));
  for (uint32_t i = 0; i < places->count; i++)
    if (sorts[i].few > 0 && sorts[i].few >= MOST_PART * sorts[i].count && takes_enough(findings, sorts[i].ns) &&
        source_takes_part(findings, sorts[i].place))
      add(findings, sorts[i].place, findings_per_observation_ms(findings, sorts[i].ns));
  return STATUS_OK;
}

const struct finding_rule finding_f68 = {
    .id = "F68",
    .key = "full_sort",
    .title = "sorts of which a part is used",
    .thresholds = {{"full_sort-share", "%", 10, "time of the sort, of the program's loop, at least"}},
    .find = find,
};
