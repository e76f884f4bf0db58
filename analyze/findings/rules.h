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

#endif
