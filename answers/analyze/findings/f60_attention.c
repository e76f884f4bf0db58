// SPDX-License-Identifier: Apache-2.0
// F60, attention by hand: a function of the program multiplies batches of queries and keys, takes softmax, and multiplies with the values. Each
// operator between the products reads and writes all scores, forward and backward; one operator of PyTorch never stores them. So does
// nn.MultiheadAttention that returns its weights.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/flops/flops.h"
#include "base/slice.h"

#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

struct attention {                // by function of the program
  int64_t before, softmax, after; // lines: of the last product before softmax, of it, of the first one after; 0: none
  bool before_is_batched, after_is_batched;
};

static bool is_softmax(const char *name)
{
  return text_is_one_of(name, "aten::softmax", "aten::_softmax");
}

static bool is_batched(const char *name)
{
  return text_is_one_of(name, "aten::bmm", "aten::baddbmm");
}

// Below an operator or a function of a library that computes attention itself.
static bool is_in_attention(const struct places *places, uint32_t place, uint32_t source)
{
  for (; place != PLACE_NONE && place != source; place = places->all[place].parent)
    if (strstr(places->all[place].name, "attention") != NULL)
      return true;
  return false;
}

// The function's own place that calls the product, not by way of a module; PLACE_NONE: it is none of a forward pass.
static uint32_t product_source(const struct places *places, uint32_t place)
{
  const struct place *all = places->all;
  if (flops_class(all[place].name) != FLOPS_PRODUCTS)
    return PLACE_NONE;
  uint32_t outer = place;
  for (; all[outer].parent != PLACE_NONE && all[all[outer].parent].frame_kind == XSP_FRAME_FRAMEWORK;
       outer = all[outer].parent)
    if (findings_is_backward(all[outer].name))
      return PLACE_NONE;
  uint32_t source = all[outer].parent;
  return source != PLACE_NONE && place_is_own(&all[source]) && all[outer].own.operators.count > 0 &&
                 !findings_is_backward(all[outer].name) && !is_in_attention(places, place, source)
             ? source
             : PLACE_NONE;
}

static void find_softmax(const struct places *places, struct attention *ret)
{
  for (uint32_t i = 0; i < places->count; i++) {
    uint32_t source = is_softmax(places->all[i].name) ? place_in_source(places->all, i) : PLACE_NONE;
    if (source != PLACE_NONE && !place_is_installed(&places->all[source]) && !is_in_attention(places, i, source))
      ret[places->all[source].function].softmax = places->all[source].line;
  }
}

static void find_products(const struct places *places, struct attention *ret)
{
  for (uint32_t i = 0; i < places->count; i++) {
    uint32_t source = product_source(places, i);
    if (source == PLACE_NONE)
      continue;
    int64_t line = places->all[source].line;
    struct attention *at = &ret[places->all[source].function];
    bool is_before = line < at->softmax;
    int64_t *nearest = is_before ? &at->before : &at->after;
    bool *batched = is_before ? &at->before_is_batched : &at->after_is_batched;
    if (*nearest == 0 || (is_before ? line > *nearest : line < *nearest)) {
      *nearest = line;
      *batched = false;
    }
    *batched |= line == *nearest && is_batched(places->all[i].name);
  }
}

static bool is_attention(const struct attention *at)
{
  return at->softmax != 0 && at->before_is_batched && at->after_is_batched;
}

// What is between the products, with backward operators: all but products, and what is in them. By function; the place is that of
// softmax.
static void sum(struct findings *findings, const struct places *places, const struct attention *attentions,
                double *ret_ns, uint32_t *ret_place)
{
  bool *is_product = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *is_product);
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    is_product[i] = findings_is_product(place->name) || (place->parent != PLACE_NONE && is_product[place->parent]);
    uint32_t source = place_in_source(places->all, i);
    if (source == PLACE_NONE || is_product[i])
      continue;
    uint32_t function = places->all[source].function;
    int64_t line = places->all[source].line;
    const struct attention *at = &attentions[function];
    if (!is_attention(at) || line < at->before || line > at->after || (line == at->after && line != at->softmax))
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

// ---- weights that nothing learns from --------------------------------------------------------------------------------
struct weights { // that nn.MultiheadAttention returns, by function of the program
  double ns;     // of what is between its products, forward and backward
  uint32_t place;
  bool has_softmax, has_backward, has_mean, has_mean_backward; // mean: of the weights, over the heads
};

// need_weights=True, the default, keeps all scores. Their mean has a backward pass where a loss depends on it; of weights of each head
// (average_attn_weights=False) nothing shows that.
static void sum_weights(struct findings *findings, const struct places *places, struct weights *ret)
{
  bool *is_within = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *is_within),
       *is_product = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *is_product);
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    bool has_parent = place->parent != PLACE_NONE;
    uint32_t source = place_in_source(places->all, i);
    is_within[i] = strcmp(place->name, "multi_head_attention_forward") == 0 || (has_parent && is_within[place->parent]);
    is_product[i] = findings_is_product(place->name) || (has_parent && is_product[place->parent]);
    if (!is_within[i] || is_product[i] || source == PLACE_NONE || place_is_installed(&places->all[source]))
      continue;
    struct weights *at = &ret[places->all[source].function];
    at->ns += place->own.host_ns + place->own.device_ns;
    at->has_softmax |= is_softmax(place->name);
    at->has_backward |= strstr(place->name, "SoftmaxBackward") != NULL;
    at->has_mean |= strcmp(place->name, "aten::mean") == 0;
    at->has_mean_backward |= strstr(place->name, "MeanBackward") != NULL;
    at->place = is_softmax(place->name) ? source : at->place;
  }
}

static void add_weights(struct findings *findings, const struct weights *weights, double ms)
{
  struct finding *finding = findings_add(findings);
  finding_at_place(findings, finding, weights->place);
  finding->time_ms = finding->saving_ms = ms;
  finding->share_pct = analyze_share_pct(ms, findings->loop_ms);
  finding->saving_basis = "time of what attention computes between its products, forward and backward, as if it took "
                          "none";
  finding->title = arena_format(findings->question->arena,
                                "%s has nn.MultiheadAttention return its weights, which no loss depends on: softmax "
                                "over all scores takes %s %s",
                                findings_name(findings, finding->context), findings_time(findings, ms),
                                findings_per_observation(findings));
  finding->advice =
      "pass need_weights=False, unless the program uses them otherwise (drawing, choosing tokens): it then "
      "calls torch.nn.functional.scaled_dot_product_attention, which never stores the scores";
  finding->threshold = findings_threshold_of(findings, "attention-share");
  finding->confidence = CONFIDENCE_MEDIUM;
}

static void find_weights(struct findings *findings, const struct places *places)
{
  struct weights *weights = arena_alloc_array(findings->question->scratch, places->function_count + 1, sizeof *weights);
  sum_weights(findings, places, weights);
  for (uint32_t i = 0; i < places->function_count; i++) {
    double ms = findings_per_observation_ms(findings, weights[i].ns);
    if (weights[i].has_softmax && weights[i].has_backward && weights[i].has_mean && !weights[i].has_mean_backward &&
        analyze_share_pct(ms, findings->loop_ms) >= findings_threshold(findings, "attention-share"))
      add_weights(findings, &weights[i], ms);
  }
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
  find_softmax(places, attentions);
  find_products(places, attentions);
  sum(findings, places, attentions, ns, place);
  for (uint32_t i = 0; i < places->function_count; i++) {
    double ms = findings_per_observation_ms(findings, ns[i]);
    if (is_attention(&attentions[i]) &&
        analyze_share_pct(ms, findings->loop_ms) >= findings_threshold(findings, "attention-share"))
      add(findings, place[i], ms);
  }
  find_weights(findings, places);
  return STATUS_OK;
}

const struct finding_rule finding_f60 = {
    .id = "F60",
    .key = "attention",
    .title = "attention by hand",
    .thresholds = {{"attention-share", "%", 20, "time between the products, of the program's loop, at least"}},
    .find = find,
};
