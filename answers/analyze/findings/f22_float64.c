// SPDX-License-Identifier: Apache-2.0
// F22, double precision: a model is called with tensors of float64, so that it computes in double precision: half as fast, with
// twice the memory traffic.
#include "analyze/findings/busiest_line.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <math.h>
#include <string.h>

static bool is_double(const char *signature) // of PyTorch and ONNX Runtime; of XLA
{
  static const char *const types[] = {"float64[", "complex128[", "f64[", "c128["};
  for (size_t i = 0; i < sizeof types / sizeof types[0] && signature != NULL; i++)
    if (strstr(signature, types[i]) != NULL)
      return true;
  return false;
}

static enum status add(struct findings *findings, double times, struct error *err)
{
  const struct places *places = findings->places;
  struct finding *finding = findings_add(findings);
  double ns = places->has_devices ? places->total.device_ns : places->total.host_ns;
  XSP_TRY(finding_at_call(findings, finding, err));
  finding->context = "the model";
  finding->time_ms = findings_per_observation_ms(findings, ns);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = fmin(finding->time_ms, findings->latency_ms) / 2;
  finding->saving_basis =
      "half of the operators' time: single precision moves half the bytes and computes twice as fast";
  finding->title = arena_format(findings->question->arena,
                                "the model computes in float64 (double precision) in %.0f of %zu observations", times,
                                findings->set->observation_count);
  finding->advice = "use float32: no .double() or jax_enable_x64, and .float() or dtype=torch.float32 where data come "
                    "from NumPy, whose default is float64";
  finding->confidence = CONFIDENCE_MEDIUM;
  return STATUS_OK;
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct observed_text *calls;
  size_t count, doubles = 0;
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(findings_signatures(findings, &calls, &count, err));
  if (count == 0)
    return findings_lack(findings, err, "its observations have no signatures");
  for (size_t i = 0; i < count; i++)
    doubles += is_double(calls[i].text);
  if (analyze_share_pct((double)doubles, (double)count) >= findings_threshold(findings, "float64-share"))
    return add(findings, (double)doubles, err);
  return STATUS_OK;
}

const struct finding_rule finding_f22 = {
    .id = "F22",
    .key = "float64",
    .title = "double precision",
    .thresholds = {{"float64-share", "%", 50, "of the observations that are called with tensors of float64, at least"}},
    .find = find,
};
