// SPDX-License-Identifier: Apache-2.0
// What several rules need: time at many places that is one finding, layers, and when devices had nothing to do.
#ifndef XSP_ANALYZE_FINDINGS_SHARED_H
#define XSP_ANALYZE_FINDINGS_SHARED_H

#include "analyze/findings/findings.h"
#include "analyze/layers/layers.h"

// ---- time at several places that is one finding, at the place with most -----------------------------------------------
struct tally {
  double *ns;      // by place; NULL: nothing was added
  double total_ns; // also of what is at no place
};
void tally_add(struct findings *findings, struct tally *tally, uint32_t place, double ns); // PLACE_NONE: no place
// Fills the place, the spans, the time, the share of the observation's latency, and the number `places`.
void tally_fill(struct findings *findings, const struct tally *tally, struct finding *finding);
bool findings_name_matches(const char *name, const char *const *patterns, size_t count); // in any case

// The layers whose latencies the level rule gives. STATUS_NO: there are none.
enum status findings_layers(struct findings *findings, struct layers *ret_layers, struct error *err) MUST_CHECK;
// Rising latencies of a layer in the kept observations that have it; returns how many. `room`: one per observation.
size_t findings_layer_values(const struct layers *layers, const struct layer *layer, double *room);
double findings_quantile(const double *rising, size_t count, double part); // linear between ranks; NaN without any
// Context of a finding about a layer: "layer4.0.conv1 (aten::conv2d)".
const char *findings_layer_name(struct findings *findings, const struct layer *layer);

// ---- devices without work, in the kept observations (gaps.c) ----------------------------------------------------------
struct device_gaps {
  // Until work that was launched after the devices had run out of it: after a call of the host that waited for them, by that
  // call; else by the launch.
  struct tally waited, late;
  double waiting_ns;  // in these calls
  double executed_ns; // while any device worked
};
enum status device_gaps_load(struct findings *findings, struct device_gaps *ret_gaps, struct error *err) MUST_CHECK;

#endif
