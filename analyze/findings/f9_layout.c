// SPDX-License-Identifier: Apache-2.0
// F9, layout conversions: operators and kernels that only reorder a tensor in memory, by their names.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

static const char *const conversions[] = {
    "aten::contiguous", "aten::to_mkldnn", "aten::mkldnn_reorder*", "aten::to_dense", // PyTorch
    "*nchwToNhwc*",     "*nhwcToNchw*",    "*nchw2nhwc*",           "*nhwc2nchw*",    // cuDNN, MIOpen
    "*nchw_to_nhwc*",   "*nhwc_to_nchw*",  "*ConvertLayout*",                         // others' kernels
    "Reorder*",         "Transpose*",                                                 // ONNX Runtime, OpenVINO, oneDNN
};

// Its own time and that of what it calls count once, for the outermost conversion.
static void sum(struct findings *findings, const struct places *places, struct tally *tally)
{
  uint32_t *conversion = arena_alloc_array(findings->question->scratch, places->count + 1, sizeof *conversion);
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    conversion[i] = place->parent != PLACE_NONE ? conversion[place->parent] : PLACE_NONE;
    if (conversion[i] == PLACE_NONE &&
        findings_name_matches(place->name, conversions, sizeof conversions / sizeof conversions[0]))
      conversion[i] = i;
    double ns = places->has_devices ? place->own.device_ns : place->own.host_ns;
    if (conversion[i] != PLACE_NONE && ns > 0)
      tally_add(findings, tally, conversion[i], ns);
  }
}

static void add(struct findings *findings, const struct places *places, const struct tally *tally)
{
  struct finding *finding = findings_add(findings);
  tally_fill(findings, tally, finding);
  finding->title = arena_format(findings->question->arena, "layout conversions take %s%s %s, %.3g %% of the time",
                                findings_time(findings, finding->time_ms), places->has_devices ? " of the device" : "",
                                findings_per_observation(findings), finding->share_pct);
  finding->saving_ms = finding->time_ms;
  finding->saving_basis = "time of these operators and kernels, as if no tensor were converted";
  finding->advice = "keep one layout: model and input .to(memory_format=torch.channels_last), no .contiguous() between";
  finding->threshold = findings_threshold_of(findings, "layout-share");
  finding->confidence = CONFIDENCE_MEDIUM;
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct tally tally = {0};
  XSP_TRY(findings_places(findings, &places, err));
  if (places->total.host_ns == 0 && places->total.device_ns == 0)
    return findings_lack(findings, err, "it has neither layers nor kernels");
  sum(findings, places, &tally);
  if (share_pct(findings_per_observation_ms(findings, tally.total_ns), findings->latency_ms) >
      findings_threshold(findings, "layout-share"))
    add(findings, places, &tally);
  return STATUS_OK;
}

const struct finding_rule finding_f9 = {
    .id = "F9",
    .key = "layout",
    .title = "layout conversions",
    .thresholds = {{"layout-share", "%", 5, "time of conversions, of the observation"}},
    .find = find,
};
