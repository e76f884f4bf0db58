// SPDX-License-Identifier: Apache-2.0
// F26, dense gradient of a table: the gradient of an embedding is as large as its table, although a batch reads few rows. Clearing
// it, adding to it and the optimizer go over the whole table in each step.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

#define LEAST_FILL 0.4 // less: adding up many rows takes the time, also of a small table

struct rows_of_table {
  double forward_ns, backward_ns; // of embeddings
  double fill_ns;                 // of the backward time, that clears a gradient: long where the table is large
  double optimizer_ns;            // below the optimizer's step
  uint32_t place, step;           // of the forward operator, of the optimizer's step; PLACE_NONE: unknown
};

static bool is_in_optimizer(const struct place *place)
{
  return place->file != NULL && strstr(place->file, "/torch/optim/") != NULL &&
         strstr(place->name, "zero_grad") == NULL;
}

static void sum(struct findings *findings, const struct places *places, struct rows_of_table *table)
{
  enum { NOTHING, FORWARD, BACKWARD, FILL, OPTIMIZER };
  static const char *const forward[] = {"aten::embedding", "aten::embedding_bag", "aten::_embedding_bag"};
  static const char *const backward[] = {"EmbeddingBackward*", "aten::embedding_dense_backward*",
                                         "EmbeddingBagBackward*", "aten::_embedding_bag_backward",
                                         "aten::_embedding_bag_dense_backward"};
  static const char *const fill[] = {"aten::zeros", "aten::new_zeros", "aten::zero_", "aten::fill_"};
  uint8_t *kind = arena_alloc_array(findings->question->scratch, places->count + 1, 1);
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    kind[i] = place->parent != PLACE_NONE ? kind[place->parent] : NOTHING;
    if (findings_name_matches(place->name, backward, sizeof backward / sizeof backward[0]))
      kind[i] = BACKWARD;
    else if (findings_name_matches(place->name, forward, sizeof forward / sizeof forward[0]))
      kind[i] = FORWARD;
    else if (is_in_optimizer(place))
      kind[i] = OPTIMIZER;
    else if (kind[i] == BACKWARD && findings_name_matches(place->name, fill, sizeof fill / sizeof fill[0]))
      kind[i] = FILL;
    double ns = place->own.host_ns + place->own.device_ns;
    table->fill_ns += kind[i] == FILL ? ns : 0;
    *(kind[i] == FORWARD                       ? &table->forward_ns
      : kind[i] == BACKWARD || kind[i] == FILL ? &table->backward_ns
                                               : &table->optimizer_ns) += kind[i] == NOTHING ? 0 : ns;
    if (kind[i] == FORWARD && table->place == PLACE_NONE)
      table->place = i;
    if (kind[i] == OPTIMIZER && ns > 0 && table->step == PLACE_NONE)
      table->step = i;
  }
}

static void add(struct findings *findings, const struct rows_of_table *table)
{
  struct finding *finding = findings_add(findings);
  double backward_ms = findings_per_observation_ms(findings, table->backward_ns),
         forward_ms = findings_per_observation_ms(findings, table->forward_ns),
         optimizer_ms = findings_per_observation_ms(findings, table->optimizer_ns);
  uint32_t place = optimizer_ms > backward_ms && table->step != PLACE_NONE ? table->step : table->place;
  finding_at_place(findings, finding, place);
  finding->context = "the embedding";
  finding->time_ms = backward_ms + optimizer_ms;
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = fmax(finding->time_ms - 2 * forward_ms, 0);
  finding->saving_basis =
      "time of the embedding's backward operators and of the optimizer, as if they took what reading the rows "
      "takes";
  finding->title = arena_format(
      findings->question->arena,
      "the gradient of an embedding is dense: its backward pass takes %.3g times as long as reading its rows, "
      "and the optimizer goes over the whole table (%s)",
      backward_ms / forward_ms, findings_time(findings, optimizer_ms));
  finding->advice = "nn.Embedding or nn.EmbeddingBag(…, sparse=True) with SparseAdam or SGD, or an optimizer of its "
                    "own for the table";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "forward_ms", forward_ms);
  finding_number(finding, "backward_ms", backward_ms);
  finding_number(finding, "optimizer_ms", optimizer_ms);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct rows_of_table table = {.place = PLACE_NONE, .step = PLACE_NONE};
  XSP_TRY(findings_places(findings, &places, err));
  sum(findings, places, &table);
  if (!(table.forward_ns > 0) || !(table.backward_ns > 0))
    return findings_lack(findings, err, "it has no embedding with a backward pass");
  if (table.fill_ns > LEAST_FILL * table.backward_ns &&
      table.backward_ns > findings_threshold(findings, "dense_gradient-times") * table.forward_ns &&
      analyze_share_pct(findings_per_observation_ms(findings, table.backward_ns), findings->loop_ms) >=
          findings_threshold(findings, "dense_gradient-share"))
    add(findings, &table);
  return STATUS_OK;
}

const struct finding_rule finding_f26 = {
    .id = "F26",
    .key = "dense_gradient",
    .title = "dense gradients of tables",
    .thresholds = {{"dense_gradient-times", "", 5,
                    "backward time of embeddings in times of the forward one, more than"},
                   {"dense_gradient-share", "%", 2, "that backward time, of the program's loop, at least"}},
    .counts_backward = true,
    .find = find,
};
