// SPDX-License-Identifier: Apache-2.0
// F69, pairwise distances by broadcasting: ((a[:, None] - b[None]) ** 2).sum(-1) writes a difference for each pair and each component.
// A matrix product has the same distances, and writes one number a pair. Which tensor gets a dimension only the source shows.
#include "analyze/findings/called.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/source_line.h"
#include "analyze/findings/statements.h"
#include "base/slice.h"

#include <string.h>
#include <xsp/call_path.h>

// The function's line, also where a method of Python's is between: Tensor.__pow__, torch.norm.
static uint32_t line_of(const struct places *places, const struct called *at)
{
  return place_own_source(places->all, at->place);
}

static bool is_same_line(const struct places *places, uint32_t line, const struct called *at)
{
  uint32_t source = at != NULL ? line_of(places, at) : PLACE_NONE;
  return source != PLACE_NONE && places->all[source].function == places->all[line].function &&
         places->all[source].line == places->all[line].line;
}

static bool has_new_axis(struct slice text)
{
  return slice_contains(text, "None") || slice_contains(text, "unsqueeze") || slice_contains(text, "newaxis");
}

// What an operator has at its right, or at its left.
static struct slice operand(struct slice text, size_t at, int step)
{
  size_t from = at;
  int depth = 0;
  for (size_t i = at + (size_t)step; i < text.length; i += (size_t)step) { // it ends at SIZE_MAX, too
    int change = findings_bracket(text.data[i]) * step;
    if ((depth == 0 && strchr(",=+-*/%<>", text.data[i]) != NULL) || depth + change < 0)
      break;
    depth += change;
    from = i;
  }
  return step > 0 ? (struct slice){text.data + at, from - at + 1} : (struct slice){text.data + from, at - from};
}

// The new dimension is the last one: x[..., None], x[:, :, None], x.unsqueeze(-1). What is added up along it are elements.
static bool has_new_last_axis(struct slice text)
{
  bool is_last = slice_contains(text, "unsqueeze(-1");
  for (size_t i = 0; i < text.length; i++) {
    struct slice rest = slice_after(text, i + 1), part = {NULL, 0};
    bool has_dots = false;
    size_t parts = 0;
    for (; text.data[i] == '[' && findings_next_argument(&rest, &part); parts++)
      has_dots |= slice_is(part, "...");
    is_last |= (slice_is(part, "None") || slice_ends_with(part, "newaxis")) && (has_dots || parts > 2);
  }
  return is_last;
}

// Of a call's arguments, up to its closing bracket: the one that is named so, or has this place.
static struct slice dimension_of(struct slice text, size_t place)
{
  struct slice found = {NULL, 0}, part;
  for (size_t index = 0; findings_next_argument(&text, &part); index++)
    if (slice_starts_with(part, "dim=") || slice_starts_with(part, "axis="))
      found = slice_after(part, part.data[0] == 'd' ? 4 : 5);
    else if (index == place)
      found = part;
  return found;
}

static bool has_one_of_pairs(struct slice first, struct slice second) // a[:, None] with b[None]: three dimensions
{
  return (slice_contains(first, "[:, None") || slice_contains(first, "[:,None") ||
          slice_contains(first, "unsqueeze(1)")) &&
         (slice_contains(second, "[None") || slice_contains(second, "unsqueeze(0)"));
}

static bool has_components(struct slice text) // a[:, None, :]
{
  const char *comma = text.length > 0 ? memchr(text.data, ',', text.length) : NULL;
  return comma != NULL && memchr(comma + 1, ',', (size_t)(text.data + text.length - comma - 1)) != NULL;
}

// Of `function`. The mean of absolute values is mostly that of numbers, unless they are seen to have components.
static bool is_last(struct slice function, struct slice dimension, struct slice left, struct slice right)
{
  return (slice_is(dimension, "-1") &&
          (!slice_ends_with(function, "mean") || has_components(left) || has_components(right))) ||
         (slice_is(dimension, "2") && (has_one_of_pairs(left, right) || has_one_of_pairs(right, left)));
}

static bool adds_up(struct slice function)
{
  return slice_ends_with(function, "sum") || slice_ends_with(function, "mean") || slice_ends_with(function, "norm");
}

// What adds up the difference of the operands, the innermost function or method around, does so along the components alone.
static bool adds_components(struct slice text, struct slice left, struct slice right)
{
  size_t open = (size_t)(left.data - text.data), close = (size_t)(right.data - text.data) + right.length;
  while ((open = findings_bracket_from(text, open - 1, -1)) < text.length && close < text.length) {
    struct slice function = {text.data, open};
    for (size_t is_function = 1;; is_function = 0) {
      size_t place = is_function + slice_ends_with(function, "norm"); // of the dimension among the arguments
      if (adds_up(function))
        return is_last(function, dimension_of(slice_after(text, close), place), left, right);
      close = findings_bracket_from(text, close, 1) + 1;
      if (close >= text.length || text.data[close] != '.')
        break;
      const char *bracket = memchr(text.data + close, '(', text.length - close);
      if (bracket == NULL)
        return false;
      function = (struct slice){text.data + close, (size_t)(bracket - text.data) - close};
      close += function.length + 1;
    }
  }
  return false;
}

static bool are_pairs(struct slice left, struct slice right)
{
  return has_new_axis(left) && has_new_axis(right) && !has_new_last_axis(left) && !has_new_last_axis(right);
}

static bool has_difference(struct slice text)
{
  for (size_t i = 0; i < text.length; i++)
    if (text.data[i] == '-') {
      struct slice left = operand(text, i, -1), right = operand(text, i, 1);
      if (are_pairs(left, right) && adds_components(text, left, right))
        return true;
    }
  return false;
}

static bool has_cosines(struct slice text)
{
  static const char name[] = "cosine_similarity(";
  const char *found = text.length > 0 ? memmem(text.data, text.length, name, sizeof name - 1) : NULL;
  if (found == NULL)
    return false;
  size_t at = (size_t)(found - text.data) + sizeof name - 2; // its bracket
  struct slice first = operand(text, at, 1);
  if (at + first.length >= text.length)
    return false;
  struct slice second = operand(text, at + first.length, 1);
  struct slice function = {found, sizeof name - 2};
  return are_pairs(first, second) && is_last(function, dimension_of(slice_after(text, at + 1), 2), first, second);
}

// |a - b| or its square, then a sum or norm over the components, all at one line: the differences have no other use.
static bool is_reduced(const struct places *places, const struct called *difference, const struct called *end,
                       uint32_t line)
{
  const struct called *next = called_next(difference, end);
  if (!is_same_line(places, line, next))
    return false;
  bool is_power = text_is_one_of(places->all[next->place].name, "aten::pow", "aten::square", "aten::abs");
  const struct called *sum = is_power ? called_next(next, end) : next;
  return is_same_line(places, line, sum) &&
         (text_is_one_of(places->all[sum->place].name, "aten::linalg_vector_norm", "aten::norm", "aten::linalg_norm") ||
          (is_power && text_is_one_of(places->all[sum->place].name, "aten::sum", "aten::mean")));
}

static bool is_pairwise(const struct places *places, const struct called *at, const struct called *end)
{
  const char *name = places->all[at->place].name;
  uint32_t line = line_of(places, at);
  return line != PLACE_NONE && (strcmp(name, "aten::cosine_similarity") == 0 ||
                                (strcmp(name, "aten::sub") == 0 && is_reduced(places, at, end, line)));
}

// `is_found`: by place in `lines`.
static enum status find_lines(struct findings *findings, size_t run_index, const uint32_t *lines, bool *is_found,
                              struct error *err)
{
  called_vector called SCOPED(vector_end) = {0};
  XSP_TRY(findings_called(findings, run_index, &called, err));
  for (const struct called *at = called.items, *end = called.items + called.count; at < end; at++)
    if (is_pairwise(findings->places, at, end))
      is_found[lines[line_of(findings->places, at)]] = true;
  return STATUS_OK;
}

static bool source_is_pairwise(struct findings *findings, const struct place *line)
{
  struct buf source SCOPED(buf_done) = {0};
  if (!findings_source(findings, line->file, &source))
    return false;
  struct statement at;
  return findings_statement_at((struct slice){source.data, source.length}, line->line, &at) &&
         (has_difference(at.text) || has_cosines(at.text));
}

static void add(struct findings *findings, uint32_t line, double ms)
{
  struct finding *finding = findings_add(findings);
  finding_at_place(findings, finding, line);
  finding->time_ms = finding->saving_ms = ms;
  finding->share_pct = analyze_share_pct(ms, findings->loop_ms);
  finding->saving_basis = "time of the line's operators, forward and backward, as if they took none";
  finding->title = arena_format(
      findings->question->arena,
      "%s computes distances of all pairs by broadcasting, a difference for each component: %s %s",
      findings_name(findings, finding->context), findings_time(findings, ms), findings_per_observation(findings));
  finding->advice =
      "torch.cdist, or a matrix product: |a|² - 2 a·b + |b|²; cosines as F.normalize(a) @ F.normalize(b).T";
  finding->confidence = CONFIDENCE_MEDIUM;
}

static bool takes_enough(const struct findings *findings, double ns)
{
  return analyze_share_pct(findings_per_observation_ms(findings, ns), findings->loop_ms) >=
         findings_threshold(findings, "pairwise-share");
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  uint32_t name;
  bool has_any = false;
  if (!store_find_string(findings->question->view->store, "aten::unsqueeze", 15, &name)) // None of an index
    return STATUS_OK;
  XSP_TRY(findings_host_places(findings, &places, err));
  bool *is_found = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *is_found);
  double *ns = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *ns);
  const uint32_t *lines = places_lines(places, findings->question->scratch);
  for (uint32_t i = 0; i < places->count; i++) {
    uint32_t source = places->all[i].frame_kind != XSP_FRAME_PYTHON ? place_in_source(places->all, i) : PLACE_NONE;
    if (source != PLACE_NONE)
      has_any |= takes_enough(findings, ns[lines[source]] += places->all[i].own.host_ns);
  }
  for (size_t i = 0; i < findings->set->run_count && has_any && !places->is_folded; i++)
    XSP_TRY(find_lines(findings, i, lines, is_found, err));
  for (uint32_t i = 0; i < places->count; i++)
    if (is_found[i] && takes_enough(findings, ns[i]) && source_is_pairwise(findings, &places->all[i]))
      add(findings, i, findings_per_observation_ms(findings, ns[i]));
  return STATUS_OK;
}

const struct finding_rule finding_f69 = {
    .id = "F69",
    .key = "pairwise",
    .title = "distances of all pairs by broadcasting",
    .thresholds = {{"pairwise-share", "%", 20, "time of the line's operators, of the program's loop, at least"}},
    .find = find,
};
