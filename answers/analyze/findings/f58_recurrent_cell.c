// SPDX-License-Identifier: Apache-2.0
// F58, recurrent cells: a line of the program calls an LSTM's or GRU's cell for each position. Each call runs a dozen small operators,
// forward and backward; nn.LSTM and its like take the whole sequence.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <string.h>

struct cells {      // by line of the program: source place
  double count, ns; // of cells; of all operators at the line, with their backward operators
  const char *name;
};

static bool is_cell(const char *name)
{
  static const char *const names[] = {"aten::lstm_cell", "aten::gru_cell", "aten::rnn_tanh_cell",
                                      "aten::rnn_relu_cell"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcmp(name, names[i]) == 0)
      return true;
  return false;
}

static void sum(const struct places *places, struct cells *ret)
{
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    uint32_t source = place_in_source(places->all, i);
    if (source == PLACE_NONE || place_is_installed(&places->all[source]))
      continue;
    ret[source].ns += place->own.host_ns + place->own.device_ns;
    if (is_cell(place->name)) {
      ret[source].count += place->own.operators.count;
      ret[source].name = place->name;
    }
  }
}

static void add(struct findings *findings, uint32_t source, const struct cells *cells, double count)
{
  struct finding *finding = findings_add(findings);
  finding_at_place(findings, finding, source);
  finding->time_ms = findings_per_observation_ms(findings, cells->ns);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = finding->time_ms * (1 - 1 / count);
  finding->saving_basis =
      "time of the operators at the line, forward and backward, as if one call took the place of all";
  finding->title =
      arena_format(findings->question->arena, "%s calls a recurrent cell (%s) %.0f times %s, position by position",
                   findings_name(findings, finding->context), cells->name, count, findings_per_observation(findings));
  finding->advice =
      "nn.LSTM, nn.GRU or nn.RNN over the whole sequence: one operator, whose products take all positions at "
      "once where they can; or torch.compile the loop";
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "calls", count);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  XSP_TRY(findings_places(findings, &places, err));
  if (!places->has_contexts)
    return findings_lack(findings, err, "it has no call paths");
  struct cells *lines = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *lines);
  sum(places, lines);
  for (uint32_t i = 0; i < places->count; i++) {
    double count = lines[i].count / places->observations;
    if (count >= findings_threshold(findings, "recurrent_cell-calls"))
      add(findings, i, &lines[i], count);
  }
  return STATUS_OK;
}

const struct finding_rule finding_f58 = {
    .id = "F58",
    .key = "recurrent_cell",
    .title = "recurrent cells called position by position",
    .thresholds = {{"recurrent_cell-calls", "", 16, "calls of a recurrent cell at a line per observation, at least"}},
    .find = find,
};
