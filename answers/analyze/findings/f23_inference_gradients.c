// SPDX-License-Identifier: Apache-2.0
// F23, gradients in inference: predictions record a graph for gradients that nobody asks for, or run in training mode with dropout.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct recording {
  double operators, with_graph; // in kept observations: outermost operators; those that autograd recorded
  bool has_backward;
};

// An operator that autograd records has a sequence number.
static enum status count_operators(struct findings *findings, const struct places_run *places,
                                   const struct view_run *run, struct recording *ret, struct error *err)
{
  struct store *store = findings->question->view->store;
  struct run_columns columns;
  struct arena arena SCOPED(arena_done) = {0};
  struct store_tag *tags;
  size_t tag_count = 0;
  uint32_t sequence, backward = 0;
  bool may_have_graph = store_find_string(store, "sequence", 8, &sequence);
  bool may_have_backward = store_find_string(store, "backward", 8, &backward);
  XSP_TRY(run_columns_load(findings->question, run, STORE_BIT(STORE_CATEGORY), &arena, &columns, err));
  if (may_have_graph)
    XSP_TRY(store_load_tags_of(store, run->run->run_id, &sequence, 1, &arena, &tags, &tag_count, err));
  for (size_t row = 0; row < columns.spans.count; row++) {
    ret->has_backward |= may_have_backward && columns.spans.category[row] == backward;
    ret->operators += places->counts[row] == COUNTS_UNIT;
  }
  for (size_t i = 0; i < tag_count; i++) {
    uint32_t row = run_columns_row(&columns, tags[i].span_id);
    ret->with_graph += row != ROW_NONE && places->counts[row] == COUNTS_UNIT;
  }
  return STATUS_OK;
}

// Time of dropout that drops: outside of training mode it runs nothing.
static double dropout_ns(const struct places *places)
{
  static const char *const names[] = {"aten::native_dropout", "aten::bernoulli_", "aten::bernoulli"};
  double ns = 0;
  bool *is_dropout SCOPED(scoped_free) = memory_new(places->count + 1, sizeof *is_dropout);
  bool has_any = false;
  for (size_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    is_dropout[i] =
        strcmp(place->name, "aten::dropout") == 0 || (place->parent != PLACE_NONE && is_dropout[place->parent]);
    ns += is_dropout[i] ? place->own.host_ns + place->own.device_ns : 0;
    has_any |= place->own.host_ns > 0 && findings_name_matches(place->name, names, sizeof names / sizeof names[0]);
  }
  return has_any ? ns : 0;
}

// The finding at the line that calls the model; `ms` is what its change saves at most.
static struct finding *add(struct findings *findings, double ms, double dropout_ms, const char *threshold)
{
  struct finding *finding = findings_add(findings);
  uint32_t place = findings_busiest_call(findings);
  if (place != PLACE_NONE)
    finding_at_place(findings, finding, place);
  finding->context = "inference";
  finding->time_ms = finding->saving_ms = ms;
  finding->share_pct = analyze_share_pct(ms, findings->loop_ms);
  finding->threshold = findings_threshold_of(findings, threshold);
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "dropout_ms", dropout_ms);
  return finding;
}

static void add_gradients(struct findings *findings, const struct recording *recording, double dropout_ms)
{
  const struct places *places = findings->places;
  double outside_ms = fmax(findings->latency_ms - findings_per_observation_ms(findings, places->total.operators.ns), 0);
  struct finding *finding = add(findings, dropout_ms + outside_ms, dropout_ms, "inference_gradients-share");
  finding->saving_basis =
      "time of dropout, and of predictions outside of operators, where the graph is recorded; faster operators for "
      "inference, and memory that is reused, gain more";
  finding->title = arena_format(
      findings->question->arena,
      "inference records gradients (no torch.no_grad())%s: %.0f of %.0f operators keep a graph, and nothing "
      "runs backward",
      dropout_ms > 0 ? " and runs in training mode, with dropout" : "", recording->with_graph / places->observations,
      recording->operators / places->observations);
  finding->advice = "call model.eval() once, and the model within torch.inference_mode() or torch.no_grad()";
}

static void add_dropout(struct findings *findings, double dropout_ms)
{
  struct finding *finding = add(findings, dropout_ms, dropout_ms, "inference_gradients-dropout");
  finding->saving_basis = "time of dropout";
  finding->title =
      arena_format(findings->question->arena, "inference runs in training mode: dropout takes %s per observation",
                   findings_time(findings, dropout_ms));
  finding->advice = "call model.eval() once, before the loop";
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct view_set *set = findings->set;
  const struct places *places;
  struct recording recording = {0};
  uint32_t signature;
  if (!store_find_string(findings->question->view->store, "signature", 9, &signature))
    return findings_lack(findings, err, "it has no predictions of PyTorch");
  XSP_TRY(findings_places(findings, &places, err));
  for (size_t i = 0; i < set->run_count; i++)
    XSP_TRY(count_operators(findings, &places->runs[i], set->runs[i], &recording, err));
  if (recording.has_backward || !(recording.operators > 0))
    return STATUS_OK;
  double dropout_ms = findings_per_observation_ms(findings, dropout_ns(places));
  if (analyze_share_pct(recording.with_graph, recording.operators) >=
      findings_threshold(findings, "inference_gradients-share"))
    add_gradients(findings, &recording, dropout_ms);
  else if (analyze_share_pct(dropout_ms, findings->loop_ms) >=
           findings_threshold(findings, "inference_gradients-dropout"))
    add_dropout(findings, dropout_ms);
  return STATUS_OK;
}

const struct finding_rule finding_f23 = {
    .id = "F23",
    .key = "inference_gradients",
    .title = "gradients in inference",
    .thresholds = {{"inference_gradients-share", "%", 20,
                    "operators that record a graph, of those in predictions, at least; or"},
                   {"inference_gradients-dropout", "%", 5, "time of dropout, of the program's loop, at least"}},
    .find = find,
};
