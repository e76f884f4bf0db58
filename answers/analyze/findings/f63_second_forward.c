// SPDX-License-Identifier: Apache-2.0
// F63, a second forward pass: a training step calls a model of the same class again, records a graph for gradients, and no backward
// pass uses it. For example, a metric calls the model on the batch that the loss was computed of.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "base/interner.h"

#include <string.h>
#include <xsp/call_path.h>

struct call {             // of a model at a line of the program, by place
  uint32_t model;         // its class' function, in the order in which they were met
  double ns;              // of forward operators below
  bool is_used, is_graph; // a backward operator is of one of them; one of them was recorded
};
struct calls {
  struct call *of;   // by place, and one for models of installed packages: their class does not tell them apart
  uint32_t *call_at; // by place: the call that it is in; PLACE_NONE
  bool *is_backward; // by place
};

// The outermost module's function that runs below the line: "Net.forward".
static void find_calls(struct findings *findings, const struct places *places, struct calls *calls)
{
  struct interner names SCOPED(interner_done) = {0};
  calls->of = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *calls->of);
  calls->call_at = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *calls->call_at);
  calls->is_backward = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *calls->is_backward);
  for (uint32_t i = 0; i < places->count; i++) { // callers come before what they call
    const struct place *place = &places->all[i];
    bool is_top = place->parent == PLACE_NONE;
    calls->call_at[i] = is_top ? PLACE_NONE : calls->call_at[place->parent];
    if (is_top || calls->call_at[i] != PLACE_NONE || place_is_glue(place) ||
        !place_is_glue(&places->all[place->parent]))
      continue;
    uint32_t source = place_in_source(places->all, place->parent);
    if (source == PLACE_NONE || place_is_installed(&places->all[source]))
      continue;
    calls->of[source].model = interner_at(&names, place->name, strlen(place->name));
    calls->call_at[i] = place_is_installed(place) ? (uint32_t)places->count : source;
  }
}

static void add_times(const struct places *places, struct calls *calls)
{
  bool *backward = calls->is_backward;
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    backward[i] = strstr(place->name, "Backward") != NULL || (place->parent != PLACE_NONE && backward[place->parent]);
    if (calls->call_at[i] == PLACE_NONE)
      continue;
    struct call *call = &calls->of[calls->call_at[i]];
    call->is_used |= backward[i];
    call->ns += backward[i] ? 0 : place->own.host_ns + place->own.device_ns;
  }
}

// Operators have the number of the next node of a graph: it rises where they record nodes. Those of frozen weights share one.
static enum status mark_graphs(struct findings *findings, const struct places_run *places, const struct view_run *run,
                               uint32_t sequence, struct calls *calls, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct run_columns columns;
  struct store_tag *tags;
  size_t count;
  uint32_t before = PLACE_NONE; // the call of the operator before
  int64_t number = 0;
  XSP_TRY(run_columns_load(findings->question, run, 0, &arena, &columns, err));
  XSP_TRY(
      store_load_tags_of(findings->question->view->store, run->run->run_id, &sequence, 1, &arena, &tags, &count, err));
  for (size_t i = 0; i < count; i++) {
    uint32_t row = run_columns_row(&columns, tags[i].span_id);
    uint32_t place = row != ROW_NONE ? places->place_of[row] : PLACE_NONE;
    if (place != PLACE_NONE && calls->is_backward[place])
      continue;
    uint32_t call = place != PLACE_NONE ? calls->call_at[place] : PLACE_NONE;
    if (call != PLACE_NONE && call == before)
      calls->of[call].is_graph |= tags[i].value.integer > number;
    before = call;
    number = tags[i].value.integer;
  }
  return STATUS_OK;
}

static void add(struct findings *findings, uint32_t place, double ms)
{
  struct finding *finding = findings_add(findings);
  finding_at_place(findings, finding, place);
  finding->time_ms = ms;
  finding->share_pct = analyze_share_pct(ms, findings->loop_ms);
  finding->title = arena_format(findings->question->arena,
                                "%s calls a model of this class a second time in the step, and no backward pass uses "
                                "the graph "
                                "that it records: %s %s",
                                findings_name(findings, finding->context), findings_time(findings, ms),
                                findings_per_observation(findings));
  finding->advice = "call it within torch.no_grad(); where its inputs are those that the loss is computed of, use the "
                    "outputs of that pass";
  finding->threshold = findings_threshold_of(findings, "second_forward-share");
  finding->confidence = CONFIDENCE_LOW; // the inputs may be others: then the pass itself stays
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct calls calls;
  uint32_t sequence;
  if (!store_find_string(findings->question->view->store, "sequence", 8, &sequence))
    return findings_lack(findings, err, "it has no operators of PyTorch with gradients");
  XSP_TRY(findings_places(findings, &places, err));
  if (!places->has_contexts)
    return findings_lack(findings, err, "it has no call paths");
  find_calls(findings, places, &calls);
  add_times(places, &calls);
  for (size_t i = 0; i < places->run_count; i++)
    XSP_TRY(mark_graphs(findings, &places->runs[i], findings->set->runs[i], sequence, &calls, err));
  for (uint32_t i = 0; i < places->count; i++) {
    const struct call *call = &calls.of[i];
    double ms = findings_per_observation_ms(findings, call->ns);
    bool has_other = false;
    for (uint32_t k = 0; k < places->count && call->is_graph && !call->is_used; k++)
      has_other |= calls.of[k].is_used && calls.of[k].model == call->model;
    if (has_other && analyze_share_pct(ms, findings->loop_ms) >= findings_threshold(findings, "second_forward-share"))
      add(findings, i, ms);
  }
  return STATUS_OK;
}

const struct finding_rule finding_f63 = {
    .id = "F63",
    .key = "second_forward",
    .title = "second forward passes",
    .thresholds = {{"second_forward-share", "%", 10, "their time, of the program's loop, at least"}},
    .find = find,
};
