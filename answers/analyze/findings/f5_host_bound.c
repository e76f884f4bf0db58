// SPDX-License-Identifier: Apache-2.0
// F5, host time far above device time: the innermost functions, ranges and operators where the host takes several times as long as
// the device works for them, while the device could do more.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <math.h>
#include <xsp/call_path.h>

struct host_bound {
  struct findings *findings;
  const struct places *places;
  struct devices_idle idle;
  double *host_ns, *device_ns; // by function, with all below it
  bool *is_below;              // a function below it is a finding
};

static double gain_ms(const struct host_bound *bound, uint32_t function)
{
  return fmin(findings_per_observation_ms(bound->findings, bound->host_ns[function]), bound->idle.idle_ms);
}

static bool is_slow(const struct host_bound *bound, uint32_t function)
{
  const struct place *place = &bound->places->functions[function];
  bool is_call = place->level == XSP_LEVEL_KERNEL; // waits for the device, mostly
  if (place->frame_kind == XSP_FRAME_DEVICE || is_call || place_is_glue(place) || place->name[0] == 0)
    return false;
  return bound->host_ns[function] >
             findings_threshold(bound->findings, "host_bound-ratio") * bound->device_ns[function] &&
         analyze_share_pct(gain_ms(bound, function), bound->findings->latency_ms) >=
             findings_threshold(bound->findings, "host_bound-share");
}

static void add(struct host_bound *bound, uint32_t function)
{
  struct findings *findings = bound->findings;
  struct finding *finding = findings_add(findings);
  double host_ms = findings_per_observation_ms(findings, bound->host_ns[function]);
  double device_ms = findings_per_observation_ms(findings, bound->device_ns[function]);
  finding_at_place(findings, finding, bound->places->functions[function].function);
  finding_spans_in_function(finding, function);
  finding->time_ms = host_ms;
  finding->share_pct = analyze_share_pct(host_ms, findings->latency_ms);
  finding->saving_ms = gain_ms(bound, function);
  finding->saving_basis =
      arena_format(findings->question->arena, "the host time, at most the time in which the %sdevice does not work",
                   bound->idle.device_count > 1 ? "busiest " : "");
  finding->title = device_ms > 0
                       ? arena_format(findings->question->arena,
                                      "the host takes %s per observation in %s, %.3g times the device time for it",
                                      findings_time(findings, host_ms), findings_name(findings, finding->context),
                                      host_ms / device_ms)
                       : arena_format(findings->question->arena,
                                      "the host takes %s per observation in %s, which gives the device no work",
                                      findings_time(findings, host_ms), findings_name(findings, finding->context));
  finding->advice =
      "let the device work meanwhile: prefetch data in other processes, launch graphs or fused operators, "
      "avoid waits for results";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "host_ms", host_ms);
  finding_number(finding, "device_ms", device_ms);
  finding_number(finding, "device_idle_ms", bound->idle.idle_ms);
}

static enum status find(struct findings *findings, struct error *err)
{
  struct host_bound bound = {.findings = findings};
  struct arena *scratch = findings->question->scratch;
  XSP_TRY(findings_places(findings, &bound.places, err));
  size_t count = bound.places->function_count;
  if (!bound.places->has_devices)
    return findings_lack(findings, err, "nothing was executed on a device");
  XSP_TRY(devices_idle_load(findings, &bound.idle, err));
  bound.host_ns = arena_alloc_array(scratch, count + 1, sizeof(double));
  bound.device_ns = arena_alloc_array(scratch, count + 1, sizeof(double));
  bound.is_below = arena_alloc_array(scratch, count + 1, sizeof(bool));
  for (size_t i = count; i > 0; i--) {
    uint32_t function = (uint32_t)(i - 1), parent = bound.places->functions[function].parent;
    bound.host_ns[function] += bound.places->functions[function].own.host_ns;
    bound.device_ns[function] += bound.places->functions[function].own.device_ns;
    if (!bound.is_below[function] && is_slow(&bound, function)) {
      bound.is_below[function] = true;
      add(&bound, function);
    }
    if (parent == PLACE_NONE)
      continue;
    bound.host_ns[parent] += bound.host_ns[function];
    bound.device_ns[parent] += bound.device_ns[function];
    bound.is_below[parent] |= bound.is_below[function];
  }
  return STATUS_OK;
}

const struct finding_rule finding_f5 = {
    .id = "F5",
    .key = "host_bound",
    .title = "host time far above device time",
    .thresholds = {{"host_bound-ratio", "", 2, "host time in times of the device time, more than"},
                   {"host_bound-share", "%", 5, "what could be gained, of the observation, at least"}},
    .find = find,
};
