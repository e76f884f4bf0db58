// SPDX-License-Identifier: Apache-2.0
// Means of what ranks exchange in their steps. Called by rules about collectives.
#include "analyze/findings/exchanges.h"
#include "analyze/findings/ranks.h"

enum status findings_exchanges(struct findings *findings, struct exchanges *ret, bool *ret_has, struct error *err)
{
  const struct ranks *ranks;
  *ret_has = false;
  XSP_TRY(findings_ranks(findings, &ranks, err));
  if (ranks == NULL || ranks->matched == 0)
    return STATUS_OK;
  const struct exchange_sums *sums = &findings->ranks->exchanges;
  *ret = sums->all;
  double *means[] = {&ret->step_ms,     &ret->compute_ms, &ret->exposed_ms, &ret->transfer_ms,
                     &ret->collectives, &ret->bytes,      &ret->passes,     &ret->after_passes};
  for (size_t i = 0; i < sizeof means / sizeof means[0]; i++)
    *means[i] /= (double)ret->steps;
  ret->repeated_pct = analyze_share_pct(sums->repeated, (double)ret->steps);
  *ret_has = ret->steps > 0 && ret->collectives > 0;
  return STATUS_OK;
}

void finding_at_exchange(struct findings *findings, struct finding *finding, const struct exchanges *of)
{
  finding->context = "collectives";
  finding->file = findings_keep(findings, of->file);
  finding->line = of->line;
  finding->time_ms = of->exposed_ms;
  finding->share_pct = analyze_share_pct(of->exposed_ms, of->step_ms);
  finding_number(finding, "collectives", of->collectives);
  finding_number(finding, "bytes", of->bytes);
  finding_number(finding, "exposed_ms", of->exposed_ms);
  finding_number(finding, "transfer_ms", of->transfer_ms);
}
