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

struct layout {
  struct tally time;         // of devices where they convert, else of the host
  double host_ns, device_ns; // of `time`
  double all_ns;             // also of the host where devices convert
};

// The outermost conversion around each place: its own time and that of what it calls count once, for it.
// What an operator that computes converts for itself on the host is its own business, also on threads of a library.
static uint32_t *conversions_around(const struct findings *findings, const struct places *places, struct arena *arena)
{
  uint32_t *conversion = arena_alloc_array(arena, places->count + 1, sizeof *conversion);
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place *place = &places->all[i];
    conversion[i] = place->parent != PLACE_NONE ? conversion[place->parent] : PLACE_NONE;
    if (conversion[i] == PLACE_NONE && !findings_is_of_pool(places, i) &&
        !findings_is_backward(place->name) && // TransposeBackward0 is of a view
        !(place->parent != PLACE_NONE && findings_computes(findings, place->parent)) &&
        findings_name_matches(place->name, conversions, sizeof conversions / sizeof conversions[0]))
      conversion[i] = i;
  }
  return conversion;
}

// The host only launches what a device converts, so its time there is no conversion, but goes with it.
static void sum(struct findings *findings, const struct places *places, struct layout *layout)
{
  struct arena *scratch = findings->question->scratch;
  const uint32_t *conversion = conversions_around(findings, places, scratch);
  double *host_ns = arena_alloc_array(scratch, places->count + 1, sizeof *host_ns);
  double *device_ns = arena_alloc_array(scratch, places->count + 1, sizeof *device_ns);
  for (uint32_t i = 0; i < places->count; i++) {
    if (conversion[i] == PLACE_NONE)
      continue;
    host_ns[conversion[i]] += places->all[i].own.host_ns;
    device_ns[conversion[i]] += places->all[i].own.device_ns;
  }
  for (uint32_t i = 0; i < places->count; i++) {
    bool is_device = device_ns[i] > 0;
    double ns = is_device ? device_ns[i] : host_ns[i];
    if (ns > 0)
      tally_add(findings, &layout->time, i, ns);
    *(is_device ? &layout->device_ns : &layout->host_ns) += ns;
    layout->all_ns += host_ns[i] + device_ns[i];
  }
}

static void add(struct findings *findings, const struct layout *layout)
{
  struct finding *finding = findings_add(findings);
  tally_fill(findings, &layout->time, finding);
  const char *where = layout->device_ns == 0 ? ""
                      : layout->host_ns == 0 ? " of the device"
                                             : " of the host and the device";
  finding->title = arena_format(findings->question->arena, "layout conversions take %s%s %s, %.3g %% of the time",
                                findings_time(findings, finding->time_ms), where, findings_per_observation(findings),
                                finding->share_pct);
  finding->saving_ms = findings_per_observation_ms(findings, layout->all_ns);
  finding->saving_basis = layout->device_ns > 0
                              ? "time of these operators and kernels, on the host and on the device, as "
                                "if no tensor were converted"
                              : "time of these operators and kernels, as if no tensor were converted";
  finding->advice =
      findings_runs_graphs(findings)
          ? "keep one layout: no Transpose between the model's convolutions, and operators that compute in their layout"
          : "keep one layout: model and input .to(memory_format=torch.channels_last), no .contiguous() between";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "host_ms", findings_per_observation_ms(findings, layout->host_ns));
  finding_number(finding, "device_ms", findings_per_observation_ms(findings, layout->device_ns));
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct layout layout = {0};
  if (findings_is_xlas(findings)) // XLA chooses layouts itself
    return STATUS_OK;
  XSP_TRY(findings_places(findings, &places, err));
  if (places->total.host_ns == 0 && places->total.device_ns == 0)
    return findings_lack(findings, err, "it has neither layers nor kernels");
  sum(findings, places, &layout);
  if (analyze_share_pct(findings_per_observation_ms(findings, layout.time.total_ns), findings->latency_ms) >
      findings_threshold(findings, "layout-share"))
    add(findings, &layout);
  return STATUS_OK;
}

const struct finding_rule finding_f9 = {
    .id = "F9",
    .key = "layout",
    .title = "layout conversions",
    .thresholds = {{"layout-share", "%", 5, "time of conversions, of the observation"}},
    .find = find,
};
