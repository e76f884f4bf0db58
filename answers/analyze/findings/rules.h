// SPDX-License-Identifier: Apache-2.0
// The rules that exist; rules.c lists them in `finding_rules[]`.
#ifndef XSP_ANALYZE_FINDINGS_RULES_H
#define XSP_ANALYZE_FINDINGS_RULES_H

#include "analyze/findings/findings.h"

extern const struct finding_rule finding_f1; // f1_hotspot.c
extern const struct finding_rule finding_f2; // f2_small_kernels.c
extern const struct finding_rule finding_f3; // f3_backward.c
extern const struct finding_rule finding_f4; // f4_stalls.c
extern const struct finding_rule finding_f5; // f5_host_bound.c
extern const struct finding_rule finding_f6; // f6_input_pipeline.c
extern const struct finding_rule finding_f7; // f7_pageable_copies.c
extern const struct finding_rule finding_f8; // f8_waits.c
extern const struct finding_rule finding_f9; // f9_layout.c

extern const struct finding_rule finding_f10; // f10_batch_size.c
extern const struct finding_rule finding_f11; // f11_below_roof.c
extern const struct finding_rule finding_f12; // f12_odd_layer.c
extern const struct finding_rule finding_f13; // f13_memory_growth.c
extern const struct finding_rule finding_f14; // f14_overhead.c
extern const struct finding_rule finding_f15; // f15_idle_gaps.c
extern const struct finding_rule finding_f16; // f16_varying_layer.c
extern const struct finding_rule finding_f17; // f17_kernels_change.c

#endif
