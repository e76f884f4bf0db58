// SPDX-License-Identifier: Apache-2.0
// F65, frozen layers: the backward pass goes on through layers whose parameters no optimizer updates afterwards. Either their gradients
// are never cleared, so that in each step PyTorch adds to them, where it sets those that the optimizer has cleared; or they are cleared
// before the step that would use them, as a generator's are after a discriminator's pass; or the optimizer updates fewer parameters than
// have gradients.
#include "analyze/findings/backward_passes.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

#define MOST_PART 0.8   // of the time, at the line that calls these layers
#define STEADY_PART 0.9 // of the steps with a backward pass, with the same numbers of parameters
#define PASSED_PART 0.5 // of the time of layers below which others are trained: they also pass gradients on
#define SURPLUS_LEAST 2 // parameters with gradients, more than are updated

enum reason { NEVER_CLEARED, CLEARED_BEFORE, NOT_UPDATED, REASONS };
struct wasted {         // for one reason
  double *ns;           // by place
  struct map trains;    // by key_of(): calls of functions that also call layers that are trained
  double all_ns;        // also of gradients, which have the place of backward()
  double parameters;    // whose gradients are for nothing, in a pass
  double steps, steady; // that have a backward pass; that are like most of them
  bool is_used;         // some step uses these gradients after all
  uint32_t call;        // of backward(), as a place; PLACE_NONE
  uint32_t before;      // CLEARED_BEFORE: the last place that a step needs; PLACE_NONE
};
struct frozen {
  const struct places *places;
  struct wasted wasted[REASONS];
  double observations;
  uint32_t *visited; // by function: the last group of passes that did
  uint32_t group;
};

// A function as one line calls it.
static struct map_key key_of(const struct place *place)
{
  return (struct map_key){(uint64_t)place->parent + 1, (uint64_t)place->function + 1};
}

static void add_time(struct wasted *wasted, const struct backward_part *part, double share)
{
  wasted->all_ns += share * part->ns;
  if (part->place == PLACE_NONE)
    return;
  if (part->kind != PART_OTHER)
    wasted->call = part->place;
  else
    wasted->ns[part->place] += share * part->ns;
}

static void add_times(struct wasted *wasted, const struct backward_passes *passes, size_t first, size_t end,
                      double share)
{
  for (size_t i = first; i < end; i++)
    add_time(wasted, &passes->parts.items[i], share);
}

static void mark_trained(const struct frozen *frozen, struct wasted *wasted, const struct backward_passes *passes,
                         size_t first, size_t end)
{
  const struct place *all = frozen->places->all;
  for (size_t i = first; i < end; i++)
    for (uint32_t at = passes->parts.items[i].place; at != PLACE_NONE && passes->parts.items[i].kind == PART_OTHER;
         at = all[at].parent)
      *map_at(&wasted->trains, key_of(&all[at]), NULL) = true;
}

// ---- gradients that are never cleared ---------------------------------------------------------------------------------------
static bool is_mixed(const struct backward_pass *pass)
{
  return pass->is_single && pass->set > 0 && pass->added > 0;
}

// Those of a generator and a discriminator may have equal numbers.
static bool are_alike(const struct backward_pass *a, const struct backward_pass *b)
{
  return a->set == b->set && a->added == b->added && a->place == b->place;
}

// The one that most steps are like, of which `counts` is true; any, where no kind has most. NULL: there is none.
static const struct backward_pass *usual_pass(const struct backward_passes *passes,
                                              bool (*counts)(const struct backward_pass *))
{
  const struct backward_pass *usual = NULL;
  size_t votes = 0;
  for (size_t i = 0; i < passes->passes.count; i++) {
    const struct backward_pass *pass = &passes->passes.items[i];
    if (pass->observation == 0 || !counts(pass)) // in the first one all are set
      continue;
    usual = votes == 0 ? pass : usual;
    votes = votes == 0 || are_alike(pass, usual) ? votes + 1 : votes - 1;
  }
  return usual;
}

// What leads to gradients that are added up to. Below those that are set nothing needs it.
static void add_never_cleared(const struct frozen *frozen, struct wasted *wasted, const struct backward_passes *passes,
                              const struct backward_pass *pass)
{
  size_t first = pass->first;
  for (size_t i = pass->first; i < pass->last_set; i++) {
    uint8_t kind = passes->parts.items[i].kind;
    if (kind == PART_ADDED)
      add_times(wasted, passes, first, i + 1, PASSED_PART);
    else if (kind == PART_SET)
      mark_trained(frozen, wasted, passes, first, i);
    first = kind != PART_OTHER ? i + 1 : first;
  }
  add_times(wasted, passes, pass->last_set, pass->end, 1);
}

static void judge_clearing(const struct frozen *frozen, struct wasted *wasted, const struct backward_passes *passes)
{
  const struct backward_pass *usual = usual_pass(passes, is_mixed);
  for (size_t i = 1; i < passes->run->observation_count && usual != NULL; i++) {
    wasted->steps += passes->passes_of[i] > 0;
    wasted->is_used |= passes->zeroed[i] >= usual->added;
  }
  for (size_t i = 0; i < passes->passes.count && usual != NULL; i++) {
    const struct backward_pass *pass = &passes->passes.items[i];
    if (pass->observation == 0)
      continue;
    bool is_steady = is_mixed(pass) && are_alike(pass, usual);
    wasted->steady += is_steady;
    wasted->parameters = is_steady ? (double)pass->added : wasted->parameters;
    wasted->is_used |= pass->is_single && pass->added == 0;
    if (is_mixed(pass))
      add_never_cleared(frozen, wasted, passes, pass);
  }
}

// ---- gradients that are cleared before a step would use them ------------------------------------------------------------------
static bool is_visited(const struct frozen *frozen, const struct backward_part *part)
{
  return part->kind == PART_OTHER && part->place != PLACE_NONE &&
         frozen->visited[frozen->places->all[part->place].function] == frozen->group;
}

// The part after the last one that gradients of the step need. A later pass that goes through functions of an earlier one needs no more
// than these, and what they set.
static size_t needed_of(const struct frozen *frozen, const struct backward_passes *passes,
                        const struct backward_pass *pass)
{
  size_t needed = pass->last_set;
  for (size_t k = needed; k < pass->end; k++)
    needed = is_visited(frozen, &passes->parts.items[k]) ? k + 1 : needed;
  while (needed < pass->end && passes->parts.items[needed].kind != PART_OTHER)
    needed++;
  return needed;
}

static size_t gradients_of(const struct backward_passes *passes, size_t first, size_t end)
{
  size_t count = 0;
  for (size_t i = first; i < end; i++)
    count += passes->parts.items[i].kind != PART_OTHER;
  return count;
}

// Passes between two steps.
static void add_group(struct frozen *frozen, struct wasted *wasted, const struct backward_passes *passes, size_t first,
                      size_t end)
{
  const struct place *all = frozen->places->all;
  frozen->group++;
  for (size_t i = first; i < end; i++) {
    const struct backward_pass *pass = &passes->passes.items[i];
    size_t needed = needed_of(frozen, passes, pass), count = gradients_of(passes, needed, pass->end);
    uint32_t before = PLACE_NONE;
    for (size_t k = pass->first; k < needed; k++) {
      const struct backward_part *part = &passes->parts.items[k];
      before = part->kind == PART_OTHER ? part->place : before;
      if (part->kind == PART_OTHER && part->place != PLACE_NONE)
        frozen->visited[all[part->place].function] = frozen->group;
    }
    if (count == 0)
      continue;
    wasted->before = before;
    wasted->parameters = fmax(wasted->parameters, (double)count);
    mark_trained(frozen, wasted, passes, pass->first, needed);
    add_times(wasted, passes, needed, pass->end, 1);
  }
}

static void judge_updates(struct frozen *frozen, struct wasted *wasted, const struct backward_passes *passes)
{
  size_t first = 0, set = 0;
  for (size_t i = 0; i < passes->passes.count; i++) {
    const struct backward_pass *pass = &passes->passes.items[i];
    set += pass->set;
    if (!(pass->updated > 0))
      continue;
    bool is_counted = passes->passes.items[first].observation > 0;
    wasted->steps += is_counted;
    if (is_counted && (double)set == pass->updated) {
      wasted->steady++;
      add_group(frozen, wasted, passes, first, i + 1);
    }
    first = i + 1;
    set = 0;
  }
}

// ---- fewer updates than gradients --------------------------------------------------------------------------------------------
static bool has_surplus(const struct backward_pass *pass)
{
  return pass->is_single && pass->added == 0 && pass->updated > 0 && (double)pass->set >= pass->updated + SURPLUS_LEAST;
}

// Gradients are there in the order of the layers, from the last one on: those of a head come first.
static void judge_surplus(const struct frozen *frozen, struct wasted *wasted, const struct backward_passes *passes)
{
  const struct backward_pass *usual = usual_pass(passes, has_surplus);
  for (size_t i = 0; i < passes->passes.count && usual != NULL; i++) {
    const struct backward_pass *pass = &passes->passes.items[i];
    bool is_steady = has_surplus(pass) && are_alike(pass, usual) && pass->updated == usual->updated;
    wasted->steps += pass->observation > 0;
    wasted->is_used |= pass->updated > usual->updated;
    if (!is_steady || pass->observation == 0)
      continue;
    wasted->steady++;
    wasted->parameters = (double)pass->set - pass->updated;
    size_t needed = pass->first;
    for (size_t set = 0; needed < pass->end && (double)set < pass->updated; needed++)
      set += passes->parts.items[needed].kind == PART_SET;
    mark_trained(frozen, wasted, passes, pass->first, needed);
    add_times(wasted, passes, needed, pass->end, 1);
  }
}

// ---- what it says ------------------------------------------------------------------------------------------------------------
// The innermost line of the program that has most of the time, in a call of a function that also calls what is trained; else in any.
static uint32_t line_of(const struct frozen *frozen, const struct wasted *wasted, struct arena *scratch,
                        uint32_t *ret_inner)
{
  const struct place *all = frozen->places->all;
  double *ns = arena_alloc_array(scratch, frozen->places->count + 1, sizeof *ns);
  uint32_t found = PLACE_NONE, any = PLACE_NONE;
  memcpy(ns, wasted->ns, frozen->places->count * sizeof *ns);
  for (uint32_t i = (uint32_t)frozen->places->count; i-- > 0;) { // what is called comes after its callers
    if (all[i].parent != PLACE_NONE)
      ns[all[i].parent] += ns[i];
    if (!place_is_own(&all[i]) || ns[i] < MOST_PART * wasted->all_ns)
      continue;
    any = any == PLACE_NONE ? i : any;
    found = found == PLACE_NONE && map_find(&wasted->trains, key_of(&all[i])) != NULL ? i : found;
  }
  *ret_inner = PLACE_NONE;
  for (uint32_t i = any + 1; any != PLACE_NONE && any == found && i < frozen->places->count; i++) {
    uint32_t caller = all[i].parent != PLACE_NONE ? place_in_source(all, all[i].parent) : PLACE_NONE;
    if (place_is_own(&all[i]) && caller == found && (*ret_inner == PLACE_NONE || ns[i] > ns[*ret_inner]))
      *ret_inner = i; // several lines of a function that it calls
  }
  return found != PLACE_NONE ? found : any;
}

// The line that hands on to what is not needed, such as D(fake), in the function that also calls that.
static uint32_t line_before(const struct frozen *frozen, const struct wasted *wasted, uint32_t line)
{
  const struct place *all = frozen->places->all;
  uint32_t at = line != PLACE_NONE ? wasted->before : PLACE_NONE;
  while (at != PLACE_NONE && all[at].function != all[line].function)
    at = all[at].parent;
  return at;
}

static void add_line(struct findings *findings, struct finding *finding, const char *what, uint32_t place)
{
  const struct place *at = place != PLACE_NONE ? &findings->places->all[place] : NULL;
  if (at != NULL && at->file != NULL)
    finding->title = arena_format(findings->question->arena, "%s (%s %s:%lld)", finding->title, what,
                                  findings_base_name(at->file), (long long)at->line);
}

static const char *title_of(enum reason reason)
{
  switch (reason) {
  case CLEARED_BEFORE:
    return "a backward pass goes on through layers that the optimizer's step does not update (no detach()), for %s %s: "
           "gradients of %.0f parameters are cleared before they are used";
  case NOT_UPDATED:
    return "the backward pass goes on through layers that no optimizer updates, for %s %s: gradients of %.0f "
           "parameters are never used";
  default:
    return "the backward pass goes on through layers that no optimizer updates, for %s %s: gradients of %.0f "
           "parameters are never cleared";
  }
}

static void add(struct findings *findings, const struct frozen *frozen, enum reason reason, double ms)
{
  const struct wasted *wasted = &frozen->wasted[reason];
  const struct place *all = frozen->places->all;
  struct finding *finding = findings_add(findings);
  uint32_t inner, line = line_of(frozen, wasted, findings->question->scratch, &inner);
  uint32_t call = wasted->call != PLACE_NONE ? place_in_source(all, wasted->call) : PLACE_NONE;
  uint32_t before = line_before(frozen, wasted, line);
  if (line != PLACE_NONE)
    finding_at_place(findings, finding, before != PLACE_NONE ? before : line);
  finding->context = "the backward pass";
  finding->time_ms = finding->saving_ms = ms;
  finding->share_pct = analyze_share_pct(ms, findings->loop_ms);
  finding->saving_basis =
      "time of the backward pass after the last gradient that a step uses; and half of it for layers "
      "that are not trained, but pass gradients on";
  finding->title = arena_format(findings->question->arena, title_of(reason), findings_time(findings, ms),
                                findings_per_observation(findings), wasted->parameters);
  add_line(findings, finding, "they are called at", before != PLACE_NONE ? line : inner);
  add_line(findings, finding, "backward() at", call);
  finding->advice = reason == CLEARED_BEFORE
                        ? "detach() what these layers hand on, such as a generator's pictures for its discriminator's "
                          "step, or call them within torch.no_grad() there"
                        : "freeze these layers: requires_grad_(False) for their parameters, or call them within "
                          "torch.no_grad(); if they should learn, give them to the optimizer";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "parameters", wasted->parameters);
}

static enum status judge_run(struct findings *findings, size_t run_index, struct frozen *frozen, struct error *err)
{
  struct backward_passes passes;
  XSP_TRY(findings_passes_load(findings, frozen->places, run_index, &passes, err));
  judge_clearing(frozen, &frozen->wasted[NEVER_CLEARED], &passes);
  if (passes.are_updates_known) {
    judge_updates(frozen, &frozen->wasted[CLEARED_BEFORE], &passes);
    judge_surplus(frozen, &frozen->wasted[NOT_UPDATED], &passes);
  }
  frozen->observations += (double)passes.run->observation_count - 1;
  findings_passes_done(&passes);
  return STATUS_OK;
}

static enum status find_reasons(struct findings *findings, struct frozen *frozen, struct error *err)
{
  struct arena *scratch = findings->question->scratch;
  XSP_TRY(findings_places(findings, &frozen->places, err));
  if (frozen->places->is_folded || frozen->places->has_devices)
    return STATUS_OK;
  for (size_t i = 0; i < REASONS; i++) {
    struct wasted *wasted = &frozen->wasted[i];
    wasted->call = wasted->before = PLACE_NONE;
    wasted->ns = arena_alloc_array(scratch, frozen->places->count + 1, sizeof *wasted->ns);
  }
  frozen->visited = arena_alloc_array(scratch, frozen->places->function_count + 1, sizeof *frozen->visited);
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(judge_run(findings, i, frozen, err));
  for (int reason = 0; reason < REASONS; reason++) {
    const struct wasted *wasted = &frozen->wasted[reason];
    double ms = wasted->steady > 0 ? wasted->all_ns / 1e6 / frozen->observations : 0;
    if (wasted->is_used || wasted->steady < STEADY_PART * wasted->steps ||
        !(analyze_share_pct(ms, findings->loop_ms) >= findings_threshold(findings, "frozen-share")))
      continue;
    add(findings, frozen, (enum reason)reason, ms);
    break;
  }
  return STATUS_OK;
}

static enum status find(struct findings *findings, struct error *err)
{
  struct frozen frozen = {.group = 0};
  enum status status = find_reasons(findings, &frozen, err);
  for (size_t i = 0; i < REASONS; i++)
    map_done(&frozen.wasted[i].trains);
  return status;
}

const struct finding_rule finding_f65 = {
    .id = "F65",
    .key = "frozen",
    .title = "backward passes through layers that are not trained",
    .thresholds = {{"frozen-share", "%", 5,
                    "time of the backward pass for layers that no optimizer updates, of the program's loop, at least"}},
    .find = find,
};
