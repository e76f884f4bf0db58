// SPDX-License-Identifier: Apache-2.0
// F27, elementwise chains: a function of the program computes in many elementwise operators, each of which reads and writes whole
// tensors. One fused operator reads and writes once.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/flops/flops.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

struct chain {             // of a function of the program
  double operators, calls; // per observation: forward operators; those of the one that is called least often
  double ns;               // with backward operators
  uint32_t place;          // the forward operator with most time
  double most_ns;
};

// "PowBackward0" -> "aten::pow"; false: no backward operator.
static bool forward_name(const char *name, char *ret, size_t size)
{
  static const char around[] = "autograd::engine::evaluate_function: ";
  const char *plain = strncmp(name, around, sizeof around - 1) == 0 ? name + sizeof around - 1 : name;
  const char *end = strstr(plain, "Backward");
  size_t length = end != NULL ? (size_t)(end - plain) : 0;
  if (length == 0 || length + 7 > size)
    return false;
  memcpy(ret, "aten::", 6);
  for (size_t i = 0; i < length; i++)
    ret[6 + i] = (char)tolower((unsigned char)plain[i]);
  ret[6 + length] = 0;
  return true;
}

static void add_place(struct chain *chain, const struct places *places, uint32_t place)
{
  const struct place *operator_place = &places->all[place];
  double count = operator_place->own.operators.count / places->observations;
  char forward[64];
  if (count == 0)
    return;
  bool is_backward = forward_name(operator_place->name, forward, sizeof forward);
  if (flops_class(is_backward ? forward : operator_place->name) != FLOPS_ELEMENTWISE)
    return;
  chain->ns += operator_place->own.operators.ns;
  if (is_backward)
    return;
  chain->operators += count;
  chain->calls = chain->calls == 0 || count < chain->calls ? count : chain->calls;
  if (operator_place->own.operators.ns > chain->most_ns) {
    chain->most_ns = operator_place->own.operators.ns;
    chain->place = place;
  }
}

static void add(struct findings *findings, uint32_t function, const struct chain *chain)
{
  const struct places *places = findings->places;
  double length = chain->operators / chain->calls;
  struct finding *finding = findings_add(findings);
  finding_at_place(findings, finding, chain->place);
  finding->context = places->functions[function].name;
  finding_spans_in_function(finding, function);
  finding->time_ms = findings_per_observation_ms(findings, chain->ns);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = finding->time_ms * (1 - 1 / length);
  finding->saving_basis =
      "time of these operators, forward and backward, as if each call read and wrote its tensors once";
  finding->title = arena_format(
      findings->question->arena,
      "%s computes by %.0f elementwise operators a call, each over whole tensors, which one fused operator can do",
      findings_name(findings, finding->context), length);
  finding->advice = "use the framework's own function (gelu, rms_norm, silu, softmax), or fuse it: torch.compile";
  finding->threshold = findings_threshold_of(findings, "elementwise-operators");
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "operators", chain->operators);
  finding_number(finding, "length", length);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  XSP_TRY(findings_host_places(findings, &places, err)); // F2 has kernels
  struct chain *chains = arena_alloc_array(findings->question->scratch, places->function_count + 1, sizeof *chains);
  for (uint32_t i = 0; i < places->count; i++) {
    uint32_t caller = places->all[i].parent;
    if (places->all[i].frame_kind == XSP_FRAME_FRAMEWORK && caller != PLACE_NONE &&
        places->all[caller].frame_kind == XSP_FRAME_PYTHON && !place_is_installed(&places->all[caller]))
      add_place(&chains[places->all[caller].function], places, i);
  }
  for (uint32_t i = 0; i < places->function_count; i++)
    if (chains[i].calls > 0 &&
        chains[i].operators / chains[i].calls >= findings_threshold(findings, "elementwise-operators"))
      add(findings, i, &chains[i]);
  return STATUS_OK;
}

const struct finding_rule finding_f27 = {
    .id = "F27",
    .key = "elementwise",
    .title = "chains of elementwise operators",
    .thresholds = {{"elementwise-operators", "", 4,
                    "elementwise operators that a call of the function runs, at least"}},
    .takes_folded = true,
    .find = find,
};
