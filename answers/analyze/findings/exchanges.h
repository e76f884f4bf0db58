// SPDX-License-Identifier: Apache-2.0
// What the ranks of a job exchange in their steps, for rules: collectives in which all wait for each other, and the backward passes that
// they begin in.
#ifndef XSP_ANALYZE_FINDINGS_EXCHANGES_H
#define XSP_ANALYZE_FINDINGS_EXCHANGES_H

#include "analyze/findings/exchange_sums.h"
#include "analyze/findings/findings.h"

// `*ret_has` false: the file has no ranks, or they exchange nothing in steps.
enum status findings_exchanges(struct findings *findings, struct exchanges *ret, bool *ret_has,
                               struct error *err) MUST_CHECK;
// Fills what all findings about exchanges have in common; texts and the bound are the rule's.
void finding_at_exchange(struct findings *findings, struct finding *finding, const struct exchanges *of);

#endif
