// SPDX-License-Identifier: Apache-2.0
// F2, small kernels: a Python function, or a range, that gathers many kernels which take little time each; where nothing was
// recorded at the kernel level, operators. Of nested ones it is the innermost that gathers enough of them.
#include "analyze/findings/own_lines.h"
#include "analyze/findings/row_loop.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/source_line.h"
#include "analyze/flops/flops.h"

#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

#define SEQUENCE_MOST 2 // operators of a call that are no sequence yet; one call in each observation may run one more
#define REPEATED 16     // calls of one operator at one place, per observation: a loop runs them
#define ROWS_LEAST                                                                                                     \
  32 // of each operator that a loop over rows runs; a network may have as many equal layers as REPEATED
#define LOOP_LEAST 10 // in times of `small_kernels-count`: so many make two operators in turn a loop
#define LOOP_MOST 1.8 // as often as the commonest: two in turn, and a few more of one

struct small_kernels {
  struct findings *findings;
  const struct places *places;
  // By function: its figures and those of the functions that it calls, without those that are in a finding already. The last one
  // is of the whole observation.
  struct place_figures *gathered;
  double *most;      // by function, as `gathered`: units of the place that has most of them
  double *most_made; // the same, without views: writing an element, mask[i, j] = 1, makes several at its place
  double *forward;   // the same, added up: units of no backward pass
  double *rows;      // by function, as `most`: operators of a loop whose iterations do not need each other
  bool *is_row;      // by function: such a loop calls it
  double least_count, most_us;
  bool runs_graphs; // of a framework that is no PyTorch
  bool is_xlas;     // which has fused what it could
};

// Is it a place that a person wrote, or marked?
static bool gathers(const struct places *places, const struct place *function)
{
  if (function->frame_kind == XSP_FRAME_KINDS)
    return function->level <= XSP_LEVEL_MODEL || function->is_module;
  if (places->has_python)
    return function->frame_kind == XSP_FRAME_PYTHON && !place_is_glue(function) &&
           (places->has_devices || !place_is_installed(function));
  return function->frame_kind == XSP_FRAME_NATIVE;
}

// Operators of the host that one could take the place of: the program calls them one by one. Those of a graph were chosen by its
// framework, and a module's own by its library. Matrix products and convolutions stay.
static bool is_fusable(const struct small_kernels *small, uint32_t function)
{
  const struct places *places = small->places;
  const struct place *unit = &places->functions[function];
  uint32_t caller = unit->parent;
  if (places->has_devices || unit->frame_kind == XSP_FRAME_PYTHON || unit->frame_kind == XSP_FRAME_NATIVE)
    return true;
  if (small->rows[function] > 0)
    return true;
  if (small->is_xlas || flops_class(unit->name) == FLOPS_PRODUCTS || findings_is_compiled(unit))
    return false;
  if (!places->has_python)
    return !small->runs_graphs;
  while (caller != PLACE_NONE && places->functions[caller].frame_kind != XSP_FRAME_PYTHON)
    caller = places->functions[caller].parent;
  return caller != PLACE_NONE && !place_is_installed(&places->functions[caller]);
}

static const struct place_units *units_of(const struct places *places, const struct place_figures *figures)
{
  return places->has_kernels ? &figures->kernels : &figures->operators;
}

// Operators of a host that is busy otherwise wait for a processor, some of them for long; kernels do not.
static double usual_ns(const struct places *places, const struct place_units *units)
{
  return places->has_kernels ? units->ns : units->usual_ns;
}

// What one unit in place of all saves at most. On the host the operators' usual time and that between them: what the program
// does meanwhile that takes longer, such as a sleep or NumPy's work, stays. On devices the kernels' time, and that between them: the
// device waits for the host in the time between kernels, or, within a graph, for itself, so the longer of this and the host's time
// goes with them, never both.
static double bound_ns(const struct places *places, uint32_t function, const struct place_figures *figures)
{
  bool is_range = function == PLACE_NONE || places->functions[function].frame_kind == XSP_FRAME_KINDS;
  double host_ns = figures->host_ns + (is_range && !places->has_contexts ? 0 : figures->operators.lead_ns);
  return places->has_devices ? figures->kernels.ns + fmax(host_ns, figures->kernels.lead_ns)
                             : usual_ns(places, &figures->operators) + figures->operators.lead_ns;
}

static const char *advice_of(const struct small_kernels *small, uint32_t function)
{
  size_t at = function == PLACE_NONE ? small->places->function_count : function;
  if (small->places->has_devices)
    return "fuse them: torch.compile or the framework's fused operator; or launch them as one graph (CUDA graphs)";
  if (small->rows[at] > 0)
    return "in place of a loop over rows, heads or items, compute the whole batch at once (bmm, broadcasting, padding)";
  return small->most[at] / small->places->observations >= REPEATED
             ? "fuse them: torch.compile, or the framework's fused operator; where a loop's iterations do not need "
               "each "
               "other, compute the whole batch at once (bmm, broadcasting, padding)"
             : "fuse them: torch.compile, or the framework's fused operator";
}

static void add(struct small_kernels *small, uint32_t function, const struct place_figures *figures)
{
  struct findings *findings = small->findings;
  const struct places *places = small->places;
  const struct place_units *units = units_of(places, figures);
  struct finding *finding = findings_add(findings);
  double count = units->count / places->observations, mean_us = usual_ns(places, units) / units->count / 1e3;
  finding->context = "the whole observation";
  if (function != PLACE_NONE) {
    finding_at_place(findings, finding, places->functions[function].function);
    finding_spans_in_function(finding, function);
    finding->context = own_lines_function(findings, finding->context); // of a comprehension
  }
  finding->time_ms = findings_per_observation_ms(findings, units->ns);
  finding->share_pct =
      analyze_share_pct(units->ns, places->has_devices ? places->total.device_ns : places->total.host_ns);
  finding->saving_ms =
      findings_per_observation_ms(findings, bound_ns(places, function, figures) * fmax(1 - 1 / count, 0));
  finding->saving_basis = places->has_devices
                              ? "time of these kernels on the device, and of their operators on the host or between "
                                "the kernels, whichever is longer, as if one took the place of all"
                              : "usual time of these operators, and up to 100 µs before each, as if one "
                                "took the place of all";
  finding->title = arena_format(
      findings->question->arena, "%s runs %.0f small %s %s, of %s %s", findings_name(findings, finding->context), count,
      places->has_kernels ? "kernels" : "operators", findings_per_observation(findings),
      findings_time(findings, mean_us / 1e3), places->has_kernels ? "on average" : "typically");
  finding->advice = advice_of(small, function);
  finding->threshold =
      findings_threshold_of(findings, places->has_kernels ? "small_kernels-mean" : "small_kernels-operator");
  finding->confidence = places->is_folded ? CONFIDENCE_LOW : places->has_kernels ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
  finding_number(finding, "count", count);
  finding_number(finding, "mean_us", mean_us);
}

// Also what the engine runs around backward operators, and adds gradients up by.
static bool is_of_backward_pass(const struct place *unit)
{
  return strncmp(unit->name, "autograd::", 10) == 0 || strncmp(unit->name, "torch::autograd::", 17) == 0 ||
         findings_is_backward(unit->name);
}

// On the host one call runs several operators, which one could take the place of; calls of one operator by itself are none. Two in
// turn are some where a loop runs them, such as one over parameters.
static bool is_sequence(const struct small_kernels *small, uint32_t function, const struct place_units *units)
{
  size_t at = function == PLACE_NONE ? small->places->function_count : function;
  double most = small->most[at], made = small->most_made[at];
  if (small->rows[at] >= ROWS_LEAST * small->places->observations)
    return true;
  bool is_loop = units->count / small->places->observations >= LOOP_LEAST * small->least_count;
  if (!small->places->has_devices && small->forward[at] / small->places->observations < small->least_count)
    return false; // a loss of a few operators has as many backward ones
  return small->places->has_devices || !small->places->has_python ||
         units->count - small->places->observations > SEQUENCE_MOST * most ||
         (is_loop && (units->count >= LOOP_MOST * most || (made > 0 && units->count > SEQUENCE_MOST * made)));
}

static bool is_comprehension(const struct place *function)
{
  static const char *const names[] = {"*<listcomp>", "*<genexpr>"}; // a function of its own until Python 3.11
  return findings_name_matches(function->name, names, sizeof names / sizeof names[0]);
}

// Whether what is iterated is a tensor, by what runs at the loop's own line, `first`, or its elements, up to the product's line: rows of
// one shape. Parameters of a model, adapters, and experts, whose rows a mask chooses, have different ones.
static bool has_rows(const struct places *places, const struct place *line, int64_t first)
{
  const struct place *caller =
      is_comprehension(line) && line->parent != PLACE_NONE ? &places->all[line->parent] : line; // where its loop begins
  bool has = false;
  for (uint32_t i = 0; i < places->count; i++) {
    if (places->all[i].frame_kind != XSP_FRAME_FRAMEWORK)
      continue;
    uint32_t source = place_in_source(places->all, i);
    const struct place *at = source != PLACE_NONE ? &places->all[source] : NULL;
    if (at == NULL)
      continue;
    bool is_head = at->function == caller->function && at->line == first;
    if (!is_head && (at->function != line->function || at->line < first || at->line > line->line))
      continue;
    const char *name = places->all[i].name;
    if (text_is_one_of(name, "aten::index", "aten::index_put_", "aten::nonzero", "aten::masked_select"))
      return false;
    has |= is_head ? strcmp(name, "aten::unbind") == 0 : strcmp(name, "aten::select") == 0;
  }
  return has;
}

// By file and line in `known`, 0: its loop's iterations need each other, or nothing is known of it.
static bool is_free_line(struct small_kernels *small, struct map *known, const struct place *line)
{
  bool is_new;
  uint64_t *is_free = map_at(known, (struct map_key){(uintptr_t)line->file, (uint64_t)line->line + 1}, &is_new);
  if (is_new) {
    struct buf text SCOPED(buf_done) = {0};
    int64_t first = line->line;
    bool has_source = findings_source(small->findings, line->file, &text);
    struct slice source = {text.data, text.length};
    *is_free = has_source &&
               (is_comprehension(line) ? findings_comprehension_is_independent(source, line->line)
                                       : findings_loop_is_independent(source, line->line, &first)) &&
               has_rows(small->places, line, first);
  }
  return *is_free != 0;
}

struct row_place {      // by place
  double least;         // calls of the operator that is called least often there, with what it calls; 0: there is none
  bool has_product;     // among these
  bool is_below_model;  // a model calls it, or is in training: then it is in an observation
  bool is_loop, is_row; // a line that runs rows; below one
};

static void sum_rows(const struct places *places, struct row_place *rows)
{
  bool trains = false;
  for (uint32_t i = 0; i < places->count; i++)
    trains |= findings_is_backward(places->all[i].name) && places->all[i].own.operators.count > 0;
  for (uint32_t i = 0; i < places->count; i++) {
    uint32_t parent = places->all[i].parent;
    rows[i].is_below_model =
        trains || (parent != PLACE_NONE && (rows[parent].is_below_model || place_is_glue(&places->all[parent])));
  }
  for (uint32_t i = (uint32_t)places->count; i-- > 0;) { // what is called comes after its callers
    const struct place *place = &places->all[i];
    double count = is_of_backward_pass(place) ? 0 : place->own.operators.count;
    if (count > 0) {
      rows[i].least = rows[i].least > 0 ? fmin(rows[i].least, count) : count;
      rows[i].has_product |= flops_class(place->name) == FLOPS_PRODUCTS;
    }
    if (place->parent == PLACE_NONE || rows[i].least == 0)
      continue;
    struct row_place *parent = &rows[place->parent];
    parent->least = parent->least > 0 ? fmin(parent->least, rows[i].least) : rows[i].least;
    parent->has_product |= rows[i].has_product;
  }
}

// Operators, with products, that a line of the model runs for one row, head or item after the other, though none needs the one before: a
// batch can take their place, as the source shows. All of them run for each row: what runs less often is around another loop.
static void find_rows(struct small_kernels *small)
{
  const struct places *places = small->places;
  struct map known SCOPED(map_done) = {0};
  struct row_place *rows = arena_alloc_array(small->findings->question->scratch, places->count + 1, sizeof *rows);
  sum_rows(places, rows);
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    const struct row_place *parent = place->parent != PLACE_NONE ? &rows[place->parent] : NULL;
    rows[i].is_row = parent != NULL && (parent->is_row || parent->is_loop);
    bool is_own = place_is_own(place);
    if (rows[i].is_row && is_own)
      small->is_row[place->function] = true;
    else if (rows[i].is_row)
      small->rows[place->function] += is_of_backward_pass(place) ? 0 : place->own.operators.count;
    else
      rows[i].is_loop = is_own && rows[i].has_product && rows[i].is_below_model &&
                        rows[i].least >= ROWS_LEAST * places->observations && is_free_line(small, &known, place);
  }
}

// Adds up the children before their parents: functions come after their callers.
static void hand_up(struct small_kernels *small, uint32_t function, const struct place_figures *figures)
{
  const struct places *places = small->places;
  const struct place_units *units = units_of(places, figures);
  bool is_top = function == PLACE_NONE;
  if ((is_top || (gathers(places, &places->functions[function]) && !small->is_row[function])) &&
      is_sequence(small, function, units) && units->count / places->observations >= small->least_count &&
      usual_ns(places, units) / units->count < small->most_us * 1e3)
    add(small, function, figures);
  else if (!is_top) {
    uint32_t parent = places->functions[function].parent;
    uint32_t at = parent == PLACE_NONE ? (uint32_t)places->function_count : parent;
    place_figures_add(&small->gathered[at], figures);
    small->most[at] = fmax(small->most[at], small->most[function]);
    small->rows[at] += small->rows[function];
    small->forward[at] += small->forward[function];
    small->most_made[at] = fmax(small->most_made[at], small->most_made[function]);
  }
}

static enum status find(struct findings *findings, struct error *err)
{
  struct small_kernels small = {.findings = findings};
  XSP_TRY(findings_places(findings, &small.places, err));
  const struct places *places = small.places;
  if (units_of(places, &places->total)->count == 0)
    return findings_lack(findings, err, "it has neither kernels nor layers");
  small.runs_graphs = findings_runs_graphs(findings);
  small.is_xlas = findings_is_xlas(findings);
  small.least_count = findings_threshold(findings, "small_kernels-count");
  small.most_us = findings_threshold(findings, places->has_kernels ? "small_kernels-mean" : "small_kernels-operator");
  struct arena *scratch = findings->question->scratch;
  size_t count = places->function_count + 1;
  small.gathered = arena_alloc_array(scratch, count, sizeof *small.gathered);
  small.most = arena_alloc_array(scratch, count, sizeof *small.most);
  small.most_made = arena_alloc_array(scratch, count, sizeof *small.most_made);
  small.forward = arena_alloc_array(scratch, count, sizeof *small.forward);
  small.rows = arena_alloc_array(scratch, count, sizeof *small.rows);
  small.is_row = arena_alloc_array(scratch, count, sizeof *small.is_row);
  if (!places->has_devices &&
      findings->set->observation_count > 1) // a program that is one observation has loops over its requests
    find_rows(&small);
  small.gathered[places->function_count] = places->top;
  for (size_t i = places->function_count; i > 0; i--) {
    if (is_fusable(&small, (uint32_t)(i - 1))) {
      place_figures_add(&small.gathered[i - 1], &places->functions[i - 1].own);
      double units = units_of(places, &places->functions[i - 1].own)->count;
      small.most[i - 1] = fmax(small.most[i - 1], units);
      small.forward[i - 1] += is_of_backward_pass(&places->functions[i - 1]) ? 0 : units;
      if (!flops_moves_nothing(places->functions[i - 1].name))
        small.most_made[i - 1] = fmax(small.most_made[i - 1], units);
    }
    hand_up(&small, (uint32_t)(i - 1), &small.gathered[i - 1]);
  }
  hand_up(&small, PLACE_NONE, &small.gathered[places->function_count]);
  return STATUS_OK;
}

const struct finding_rule finding_f2 = {
    .id = "F2",
    .key = "small_kernels",
    .title = "many small kernels",
    .thresholds = {{"small_kernels-count", "", 10, "kernels or operators per observation, at least"},
                   {"small_kernels-mean", "us", 10, "mean time of the kernels, less than"},
                   {"small_kernels-operator", "us", 20,
                    "mean time of the operators, less than; instead of kernels, where none were recorded"}},
    .takes_folded = true,
    .is_general = true,
    .find = find,
};
