// SPDX-License-Identifier: Apache-2.0
// F65, frozen layers: the backward pass goes on through layers whose parameters no optimizer updates. Their gradients are never cleared:
// in each step PyTorch adds to them, where it sets those that the optimizer has cleared.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "base/saturate.h"

#include <string.h>
#include <xsp/call_path.h>

#define GRADIENT "torch::autograd::AccumulateGrad"
#define AROUND "autograd::engine::evaluate_function: " GRADIENT
#define MOST_PART 0.8   // of the time, at the line that calls these layers
#define STEADY_PART 0.9 // of the steps with a backward pass, with the same numbers of parameters

struct pass { // the backward pass of an observation
  size_t passes;
  size_t set, added;  // gradients of parameters
  size_t zeroed;      // tensors, in place
  int64_t set_end_ns; // of the last one that is set: what follows is for the others
  int64_t end_ns;
};
struct frozen {
  const struct places *places;
  uint32_t gradient, around, add, zero, foreach_zero, backward, wrapper; // strings
  double *ns;                                                            // by place: after the gradients that are set
  bool *trains;                                            // by function: it also calls layers that are trained
  double all_ns, observations, steps, steady_steps, added; // steps: with a backward pass
  bool is_cleared; // in a later step no gradient was added to, or as many were zeroed
  uint32_t call;   // of backward(), as a place; PLACE_NONE
};

static bool is_added(const struct frozen *frozen, const struct run_columns *columns, uint32_t row)
{
  uint32_t parent =
      columns->spans.name[row] == frozen->add ? run_columns_row(columns, columns->derived.parent_id[row]) : ROW_NONE;
  return parent != ROW_NONE && columns->spans.name[parent] == frozen->gradient;
}

// As Optimizer.zero_grad(set_to_none=False) and p.grad.zero_() do, not within another operator. One that takes a list may have any number.
static size_t zeroed(const struct frozen *frozen, const struct run_columns *columns, uint32_t row)
{
  const struct store_spans *spans = &columns->spans;
  bool is_list = spans->name[row] == frozen->foreach_zero;
  if (!is_list && spans->name[row] != frozen->zero)
    return 0;
  for (uint32_t at = run_columns_row(columns, columns->derived.parent_id[row]); at != ROW_NONE;
       at = run_columns_row(columns, columns->derived.parent_id[at])) {
    const char *name = store_text(columns->store, spans->name[at], NULL);
    if (strncmp(name, "aten::", 6) == 0 || findings_is_backward(name))
      return 0;
  }
  return is_list ? UINT32_MAX : 1;
}

static void count_gradients(const struct frozen *frozen, const struct run_columns *columns, struct pass *passes)
{
  const struct store_spans *spans = &columns->spans;
  uint32_t observation;
  for (uint32_t row = 0; row < spans->count; row++) {
    if (!run_columns_observation(columns, row, &observation))
      continue;
    struct pass *pass = &passes[observation];
    pass->passes += spans->level[row] == XSP_LEVEL_APPLICATION && spans->category[row] == frozen->backward;
    pass->added += is_added(frozen, columns, row);
    pass->set += spans->name[row] == frozen->gradient;
    pass->zeroed += zeroed(frozen, columns, row);
  }
  for (size_t i = 0; i < columns->run->observation_count; i++)
    passes[i].set -= passes[i].added < passes[i].set ? passes[i].added : passes[i].set;
}

// `was_added`: by row of a gradient.
static void find_ends(const struct frozen *frozen, const struct run_columns *columns, const bool *was_added,
                      struct pass *passes)
{
  const struct store_spans *spans = &columns->spans;
  uint32_t observation;
  for (uint32_t row = 0; row < spans->count; row++) {
    if (!run_columns_observation(columns, row, &observation) || spans->name[row] != frozen->gradient || was_added[row])
      continue;
    int64_t end_ns = saturate_add(spans->start_ns[row], spans->duration_ns[row]);
    struct pass *pass = &passes[observation];
    pass->set_end_ns = end_ns > pass->set_end_ns ? end_ns : pass->set_end_ns;
  }
}

static bool is_mixed(const struct pass *pass)
{
  return pass->passes == 1 && pass->set > 0 && pass->added > 0;
}

// The one that most steps are like; any, where no kind has most.
static const struct pass *usual_pass(const struct pass *passes, size_t count)
{
  const struct pass *usual = passes;
  size_t votes = 0;
  for (size_t i = 1; i < count; i++) {
    bool is_like = passes[i].set == usual->set && passes[i].added == usual->added;
    if (!is_mixed(&passes[i]))
      continue;
    usual = votes == 0 ? &passes[i] : usual;
    votes = votes == 0 || is_like ? votes + 1 : votes - 1;
  }
  return usual;
}

static void count_steps(struct frozen *frozen, const struct pass *passes, size_t count)
{
  const struct pass *usual = usual_pass(passes, count);
  for (size_t i = 1; i < count; i++) { // in the first one all are set
    bool is_steady = is_mixed(&passes[i]) && passes[i].set == usual->set && passes[i].added == usual->added;
    frozen->observations++;
    frozen->steps += passes[i].passes > 0;
    frozen->steady_steps += is_steady;
    frozen->added = is_steady ? (double)passes[i].added : frozen->added;
    frozen->is_cleared |= passes[i].zeroed >= usual->added || (passes[i].passes > 0 && passes[i].added == 0);
  }
}

static void add_times(struct frozen *frozen, const struct run_columns *columns, const struct pass *passes,
                      const uint32_t *place_of)
{
  const struct store_spans *spans = &columns->spans;
  const struct place *all = frozen->places->all;
  uint32_t observation;
  for (uint32_t row = 0; row < spans->count; row++) {
    if (spans->category[row] != frozen->wrapper || place_of[row] == PLACE_NONE ||
        !run_columns_observation(columns, row, &observation) || !is_mixed(&passes[observation]))
      continue;
    bool is_gradient = spans->name[row] == frozen->around; // at the line of backward()
    if (is_gradient)
      frozen->call = place_of[row];
    for (uint32_t at = place_of[row];
         at != PLACE_NONE && !is_gradient && spans->start_ns[row] < passes[observation].set_end_ns; at = all[at].parent)
      frozen->trains[all[at].function] = true;
    if (spans->start_ns[row] < passes[observation].set_end_ns)
      continue;
    frozen->all_ns += (double)spans->duration_ns[row];
    frozen->ns[place_of[row]] += is_gradient ? 0 : (double)spans->duration_ns[row];
  }
}

static enum status add_run(struct findings *findings, size_t run_index, struct frozen *frozen, struct error *err)
{
  const uint32_t wanted =
      STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_NAME) | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS);
  struct arena arena SCOPED(arena_done) = {0};
  const struct view_run *run = findings->set->runs[run_index];
  struct run_columns columns;
  XSP_TRY(run_columns_load(findings->question, run, wanted, &arena, &columns, err));
  const struct store_spans *spans = &columns.spans;
  struct pass *passes = arena_alloc_array(&arena, run->observation_count + 1, sizeof *passes);
  bool *was_added = arena_alloc_array(&arena, spans->count + 1, sizeof *was_added);
  for (uint32_t row = 0; row < spans->count; row++)
    if (is_added(frozen, &columns, row))
      was_added[run_columns_row(&columns, columns.derived.parent_id[row])] = true;
  count_gradients(frozen, &columns, passes);
  find_ends(frozen, &columns, was_added, passes);
  count_steps(frozen, passes, run->observation_count);
  add_times(frozen, &columns, passes, frozen->places->runs[run_index].place_of);
  return STATUS_OK;
}

// The innermost line of the program that has most of the time, in a function that calls what is trained, too; else in any.
static uint32_t line_of(const struct frozen *frozen, struct arena *scratch)
{
  const struct place *all = frozen->places->all;
  double *ns = arena_alloc_array(scratch, frozen->places->count + 1, sizeof *ns);
  uint32_t found = PLACE_NONE, any = PLACE_NONE;
  memcpy(ns, frozen->ns, frozen->places->count * sizeof *ns);
  for (uint32_t i = (uint32_t)frozen->places->count; i-- > 0;) { // what is called comes after its callers
    if (all[i].parent != PLACE_NONE)
      ns[all[i].parent] += ns[i];
    bool is_own = all[i].frame_kind == XSP_FRAME_PYTHON && !place_is_installed(&all[i]);
    if (!is_own || ns[i] < MOST_PART * frozen->all_ns)
      continue;
    any = any == PLACE_NONE ? i : any;
    found = found == PLACE_NONE && frozen->trains[all[i].function] ? i : found;
  }
  return found != PLACE_NONE ? found : any;
}

static void add(struct findings *findings, const struct frozen *frozen, double ms)
{
  struct finding *finding = findings_add(findings);
  uint32_t line = line_of(frozen, findings->question->scratch);
  uint32_t call = frozen->call != PLACE_NONE ? place_in_source(frozen->places->all, frozen->call) : PLACE_NONE;
  if (line != PLACE_NONE)
    finding_at_place(findings, finding, line);
  finding->context = "the backward pass";
  finding->time_ms = finding->saving_ms = ms;
  finding->share_pct = analyze_share_pct(ms, findings->loop_ms);
  finding->saving_basis = "time of the backward pass after the last gradient that is cleared in each step";
  finding->title = arena_format(findings->question->arena,
                                "the backward pass goes on through layers that no optimizer updates, for %s %s: "
                                "gradients of %.0f parameters are never cleared",
                                findings_time(findings, ms), findings_per_observation(findings), frozen->added);
  if (call != PLACE_NONE && frozen->places->all[call].file != NULL) {
    const char *slash = strrchr(frozen->places->all[call].file, '/');
    finding->title = arena_format(findings->question->arena, "%s (backward() at %s:%lld)", finding->title,
                                  slash != NULL ? slash + 1 : frozen->places->all[call].file,
                                  (long long)frozen->places->all[call].line);
  }
  finding->advice = "freeze these layers: requires_grad_(False) for their parameters, or call them within "
                    "torch.no_grad(); if they should learn, give them to the optimizer";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "parameters", frozen->added);
}

static enum status find(struct findings *findings, struct error *err)
{
  struct store *store = findings->question->view->store;
  struct frozen frozen = {.call = PLACE_NONE};
  if (!store_find_string(store, GRADIENT, strlen(GRADIENT), &frozen.gradient) ||
      !store_find_string(store, AROUND, strlen(AROUND), &frozen.around) ||
      !store_find_string(store, "backward", 8, &frozen.backward))
    return findings_lack(findings, err, "it has no backward passes of PyTorch");
  if (!store_find_string(store, "aten::add_", 10, &frozen.add))
    return STATUS_OK;
  if (!store_find_string(store, "aten::zero_", 11, &frozen.zero))
    frozen.zero = UINT32_MAX;
  if (!store_find_string(store, "aten::_foreach_zero_", 20, &frozen.foreach_zero))
    frozen.foreach_zero = UINT32_MAX;
  frozen.wrapper = run_columns_category(store, "wrapper");
  XSP_TRY(findings_places(findings, &frozen.places, err));
  if (frozen.places->is_folded || frozen.places->has_devices)
    return STATUS_OK;
  frozen.ns = arena_alloc_array(findings->question->scratch, frozen.places->count + 1, sizeof *frozen.ns);
  frozen.trains =
      arena_alloc_array(findings->question->scratch, frozen.places->function_count + 1, sizeof *frozen.trains);
  for (size_t i = 0; i < findings->set->run_count; i++)
    XSP_TRY(add_run(findings, i, &frozen, err));
  double ms = frozen.steady_steps > 0 ? frozen.all_ns / 1e6 / frozen.observations : 0;
  if (!frozen.is_cleared && frozen.steady_steps >= STEADY_PART * frozen.steps &&
      analyze_share_pct(ms, findings->loop_ms) >= findings_threshold(findings, "frozen-share"))
    add(findings, &frozen, ms);
  return STATUS_OK;
}

const struct finding_rule finding_f65 = {
    .id = "F65",
    .key = "frozen",
    .title = "backward passes through layers that are not trained",
    .thresholds = {{"frozen-share", "%", 5,
                    "time of the backward pass for layers that no optimizer updates, of the program's loop, at least"}},
    .find = find,
};
