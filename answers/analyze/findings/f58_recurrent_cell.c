// SPDX-License-Identifier: Apache-2.0
// F58, recurrent cells: a line of the program calls an LSTM's or GRU's cell for each position, or nn.LSTM and its like for one position
// at a time. Each call runs a dozen small operators, forward and backward; nn.LSTM takes the whole sequence.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "base/slice.h"

#include <string.h>

#define CELLS_PART (5. / 6) // of the time of cells, at most: nn.LSTM and its like take about a sixth
#define FEEDBACK 0.5        // operators that choose or look up an input, per cell: the function feeds its output back

struct cells {      // by source place: a line of the program's, and its callers
  double count, ns; // of cells; of what they run, with their backward operators
  const char *name;
};

static bool is_layer(const char *name)
{
  return text_is_one_of(name, "aten::lstm", "aten::gru", "aten::rnn_tanh", "aten::rnn_relu");
}

static bool is_cell(const char *name)
{
  return is_layer(name) ||
         text_is_one_of(name, "aten::lstm_cell", "aten::gru_cell", "aten::rnn_tanh_cell", "aten::rnn_relu_cell");
}

static bool is_module(const char *name)
{
  return strstr(name, "Cell.forward") != NULL || text_is_one_of(name, "LSTM.forward", "GRU.forward", "RNN.forward");
}

// Operators of decoders and models of worlds, which choose each position's input by the output of the one before, or look by it at
// something else.
static bool is_feedback(const char *name)
{
  static const char *const names[] = {"aten::multinomial", "aten::argmax",  "aten::topk",
                                      "aten::embedding",   "aten::softmax", "aten::bmm",
                                      "*attention*",       "aten::normal*", "aten::rand*"};
  return findings_name_matches(name, names, sizeof names / sizeof names[0]);
}

// A cell, or below one, or below its module, where its backward operators are.
static bool is_in_cell(const struct places *places, uint32_t place, uint32_t source)
{
  for (; place != PLACE_NONE && place != source; place = places->all[place].parent)
    if (is_cell(places->all[place].name) || is_module(places->all[place].name))
      return true;
  return false;
}

// `feedbacks`: by function of the program, with what it calls.
static void sum(const struct places *places, struct cells *ret, double *feedbacks)
{
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    uint32_t source = place_in_source(places->all, i);
    if (source == PLACE_NONE || place_is_installed(&places->all[source]))
      continue;
    for (uint32_t at = source; is_feedback(place->name) && at != PLACE_NONE; at = places->all[at].parent)
      feedbacks[places->all[at].function] += place->own.operators.count;
    if (is_in_cell(places, i, source))
      ret[source].ns += place->own.host_ns + place->own.device_ns;
    if (is_cell(place->name)) {
      ret[source].count += place->own.operators.count;
      ret[source].name = place->name;
    }
  }
}

// The function itself, or the one that calls it for each position.
static bool is_fed_back(const struct places *places, uint32_t source, const double *feedbacks, double count)
{
  uint32_t parent = places->all[source].parent;
  uint32_t caller = parent != PLACE_NONE ? place_in_source(places->all, parent) : PLACE_NONE;
  return feedbacks[places->all[source].function] >= FEEDBACK * count ||
         (caller != PLACE_NONE && feedbacks[places->all[caller].function] >= FEEDBACK * count);
}

// To the first place of a line what others of it have, but for those that are fed back.
static void join(struct findings *findings, const struct places *places, struct cells *cells, const double *feedbacks)
{
  const uint32_t *lines = places_lines(places, findings->question->scratch);
  for (uint32_t i = 0; i < places->count; i++) {
    const struct cells at = cells[i];
    cells[i] = (struct cells){.count = 0};
    if (at.count == 0 || is_fed_back(places, i, feedbacks, at.count))
      continue;
    cells[lines[i]].count += at.count;
    cells[lines[i]].ns += at.ns;
    cells[lines[i]].name = at.name;
  }
}

static void add(struct findings *findings, uint32_t source, const struct cells *cells, double count)
{
  struct finding *finding = findings_add(findings);
  finding_at_place(findings, finding, source);
  finding->time_ms = findings_per_observation_ms(findings, cells->ns);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = finding->time_ms * CELLS_PART;
  finding->saving_basis =
      "five sixths of the time of the cells, forward and backward, as if one operator took all positions";
  finding->title = arena_format(findings->question->arena, "%s calls a recurrent %s (%s) %.0f times %s, %s",
                                findings_name(findings, finding->context), is_layer(cells->name) ? "layer" : "cell",
                                cells->name, count, findings_per_observation(findings),
                                is_layer(cells->name) ? "for a piece of the sequence each" : "position by position");
  finding->advice =
      "nn.LSTM, nn.GRU or nn.RNN over the whole sequence, unless a position needs the output of the one before: one "
      "operator, whose products take all positions at once where they can; or torch.compile the loop";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "calls", count);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  XSP_TRY(findings_places(findings, &places, err));
  if (!places->has_contexts)
    return findings_lack(findings, err, "it has no call paths");
  struct cells *lines = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *lines);
  double *feedbacks = arena_alloc_array(findings->question->scratch, places->function_count + 1, sizeof *feedbacks);
  sum(places, lines, feedbacks);
  join(findings, places, lines, feedbacks);
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
    .thresholds = {{"recurrent_cell-calls", "", 32,
                    "calls of a recurrent cell or layer at a line per observation, at least"}},
    .find = find,
};
