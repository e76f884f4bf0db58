// SPDX-License-Identifier: Apache-2.0
// F60, attention by hand: a function of the program multiplies queries and keys, takes softmax, and multiplies with the values. Each
// operator between the products reads and writes all scores, forward and backward; one operator of PyTorch never stores them.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/flops/flops.h"

#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

struct attention {              // by function of the program
  int64_t first, softmax, last; // lines: of the first product and of the last, of softmax; 0: none
};

// An operator that the function itself calls, not one of a module's.
static bool is_direct(const struct places *places, const struct place *place)
{
  const struct place *caller = place->parent != PLACE_NONE ? &places->all[place->parent] : NULL;
  return caller != NULL && caller->frame_kind == XSP_FRAME_PYTHON && !place_is_installed(caller);
}

static bool is_softmax(const char *name)
{
  return strcmp(name, "aten::softmax") == 0 || strcmp(name, "aten::_softmax") == 0;
}

static void find_lines(const struct places *places, struct attention *ret)
{
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    bool is_product = is_direct(places, place) && flops_class(place->name) == FLOPS_PRODUCTS &&
                      strstr(place->name, "attention") == NULL && place->own.operators.count > 0;
    uint32_t source = is_product || is_softmax(place->name) ? place_in_source(places->all, i) : PLACE_NONE;
    if (source == PLACE_NONE || place_is_installed(&places->all[source]))
      continue;
    int64_t line = places->all[source].line;
    struct attention *at = &ret[places->all[source].function];
    if (!is_product) {
      at->softmax = line;
    } else {
      at->first = at->first == 0 || line < at->first ? line : at->first;
      at->last = line > at->last ? line : at->last;
    }
  }
}

static bool is_attention(const struct attention *at)
{
  return at->first != 0 && at->first < at->softmax && at->softmax <= at->last && at->first < at->last;
}

// What is between the products, with backward operators: all but products, and what is in them. `ret_ns`: by function. The place is
// that of softmax, or the one there with most time.
static void sum(struct findings *findings, const struct places *places, const struct attention *attentions,
                double *ret_ns, uint32_t *ret_place)
{
  bool *is_product = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *is_product);
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    bool is_products = flops_class(place->name) == FLOPS_PRODUCTS || strstr(place->name, "mmBackward") != NULL;
    is_product[i] = is_products || (place->parent != PLACE_NONE && is_product[place->parent]);
    uint32_t source = place_in_source(places->all, i);
    if (source == PLACE_NONE || is_product[i])
      continue;
    uint32_t function = places->all[source].function;
    int64_t line = places->all[source].line;
    const struct attention *at = &attentions[function];
    if (!is_attention(at) || line < at->first || line > at->last)
      continue;
    ret_ns[function] += place->own.host_ns + place->own.device_ns;
    if (line == at->softmax)
      ret_place[function] = source;
  }
}

static void add(struct findings *findings, uint32_t place, double ms)
{
  struct finding *finding = findings_add(findings);
  finding_at_place(findings, finding, place);
  finding->time_ms = ms;
  finding->share_pct = analyze_share_pct(ms, findings->loop_ms);
  finding->saving_ms = ms;
  finding->saving_basis = "time of the operators between the products, forward and backward, as if they took none";
  finding->title = arena_format(
      findings->question->arena,
      "%s computes attention by hand: mask, softmax and what else is between its two products "
      "take %s %s, over all scores",
      findings_name(findings, finding->context), findings_time(findings, ms), findings_per_observation(findings));
  finding->advice = "torch.nn.functional.scaled_dot_product_attention, with is_causal=True in place of a causal mask";
  finding->threshold = findings_threshold_of(findings, "attention-share");
  finding->confidence = CONFIDENCE_MEDIUM;
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct arena *scratch = findings->question->scratch;
  XSP_TRY(findings_places(findings, &places, err));
  if (!places->has_contexts)
    return findings_lack(findings, err, "it has no call paths");
  struct attention *attentions = arena_alloc_array(scratch, places->function_count + 1, sizeof *attentions);
  double *ns = arena_alloc_array(scratch, places->function_count + 1, sizeof *ns);
  uint32_t *place = arena_alloc_array(scratch, places->function_count + 1, sizeof *place);
  find_lines(places, attentions);
  sum(findings, places, attentions, ns, place);
  for (uint32_t i = 0; i < places->function_count; i++) {
    double ms = findings_per_observation_ms(findings, ns[i]);
    if (is_attention(&attentions[i]) &&
        analyze_share_pct(ms, findings->loop_ms) >= findings_threshold(findings, "attention-share"))
      add(findings, place[i], ms);
  }
  return STATUS_OK;
}

const struct finding_rule finding_f60 = {
    .id = "F60",
    .key = "attention",
    .title = "attention by hand",
    .thresholds = {{"attention-share", "%", 10, "time between the products, of the program's loop, at least"}},
    .find = find,
};
