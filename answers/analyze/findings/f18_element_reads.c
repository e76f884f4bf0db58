// SPDX-License-Identifier: Apache-2.0
// F18, element reads: a function of the program reads tensors element by element (.item(), bool(tensor), float(tensor)), each by
// operators of its own and with a wait for their result. One operator over the whole tensor takes the place of all.
#include "analyze/findings/busiest_line.h"
#include "analyze/findings/own_lines.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/flops/flops.h"

#include <xsp/call_path.h>

static bool reads_element(const struct place *place)
{
  static const char *const names[] = {"aten::item", "aten::is_nonzero", "aten::_local_scalar_dense"};
  return findings_name_matches(place->name, names, sizeof names / sizeof names[0]);
}

struct reader { // a function that calls operators itself
  double reads;
  uint32_t most;   // place of its reads with most of them
  double ns;       // of all operators that it calls
  double products; // convolutions and matrix products that it and what it calls run
};

// The function of the program that calls the place; PLACE_NONE: an installed package's is nearest.
static uint32_t caller_of(const struct places *places, uint32_t function)
{
  uint32_t at = places->functions[function].parent;
  while (at != PLACE_NONE && places->functions[at].frame_kind != XSP_FRAME_PYTHON)
    at = places->functions[at].parent;
  return at != PLACE_NONE && place_is_installed(&places->functions[at]) ? PLACE_NONE : at;
}

static enum status add(struct findings *findings, uint32_t caller, const struct reader *reader, struct error *err)
{
  struct finding *finding = findings_add(findings);
  const struct places *places = findings->places;
  double count = reader->reads / places->observations;
  finding_at_place(findings, finding, places->functions[reader->most].function);
  finding->context = places->functions[caller].name;
  finding_spans_in_function(finding, caller);
  finding->time_ms =
      findings_per_observation_ms(findings, reader->ns + places->functions[caller].own.operators.lead_ns);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = finding->time_ms * (1 - 1 / count);
  finding->saving_basis =
      "time of the operators that this function calls, and between them, as if each ran once for all elements";
  finding->title =
      arena_format(findings->question->arena, "%s reads %.0f elements of tensors one by one %s, by .item() or the like",
                   own_lines_function(findings, finding->context), count, findings_per_observation(findings));
  finding->advice =
      "compare or add whole tensors, and read the result once: (a == b).sum().item(); keep sums on tensors, and read "
      "them every so many steps";
  finding->confidence = places->is_folded ? CONFIDENCE_LOW : CONFIDENCE_HIGH; // of the whole run
  finding_number(finding, "count", count);
  return finding_saves_line(findings, finding, 1 - 1 / count, err);
}

static struct reader *load_readers(struct findings *findings)
{
  const struct places *places = findings->places;
  struct reader *readers = arena_alloc_array(findings->question->scratch, places->function_count + 1, sizeof *readers);
  for (uint32_t i = (uint32_t)places->function_count; i-- > 0;) { // functions come after their callers
    const struct place *place = &places->functions[i];
    double count = place->own.operators.count;
    uint32_t caller = count > 0 ? caller_of(places, i) : PLACE_NONE;
    readers[i].products += flops_class(place->name) == FLOPS_PRODUCTS ? count : 0;
    if (place->parent != PLACE_NONE)
      readers[place->parent].products += readers[i].products;
    if (caller == PLACE_NONE)
      continue;
    struct reader *reader = &readers[caller];
    reader->ns += place->own.operators.ns + place->own.operators.lead_ns;
    if (!reads_element(place))
      continue;
    if (reader->reads == 0 || count > places->functions[reader->most].own.operators.count)
      reader->most = i;
    reader->reads += count;
  }
  return readers;
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  XSP_TRY(findings_host_places(findings, &places, err)); // F8 has the waits for devices
  const struct reader *readers = load_readers(findings);
  for (uint32_t i = 0; i < places->function_count; i++) // a model that runs for each read has one result to read
    if (readers[i].reads / places->observations >= findings_threshold(findings, "element_reads-count") &&
        readers[i].products < readers[i].reads)
      XSP_TRY(add(findings, i, &readers[i], err));
  return STATUS_OK;
}

const struct finding_rule finding_f18 = {
    .id = "F18",
    .key = "element_reads",
    .title = "tensors that are read element by element",
    .thresholds = {{"element_reads-count", "", 16, "elements that a function reads per observation, at least"}},
    .takes_folded = true,
    .find = find,
};
