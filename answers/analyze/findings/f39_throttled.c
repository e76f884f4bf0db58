// SPDX-License-Identifier: Apache-2.0
// F39, throttled: the CPU quota of a container stopped the program, or the hypervisor gave its processors to others, by the notes that
// `xsp run` makes of the machine's own counters.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// NaN: there is no such note.
static enum status load_note(struct findings *findings, const char *key, double *ret_number, struct error *err)
{
  struct store_note *notes;
  size_t count;
  *ret_number = NAN;
  XSP_TRY(store_notes(findings->question->view->store, 0, findings->question->scratch, &notes, &count, err));
  for (size_t i = 0; i < count; i++)
    if (strcmp(notes[i].key, key) == 0 && notes[i].value != NULL)
      *ret_number = strtod(notes[i].value, NULL);
  return STATUS_OK;
}

static void add_throttled(struct findings *findings, double share_pct, double quota)
{
  struct arena *arena = findings->question->arena;
  struct finding *finding = findings_add(findings);
  finding->context = "CPU quota";
  finding->share_pct = share_pct;
  finding->time_ms = finding->saving_ms = share_pct / 100 * findings->loop_ms;
  finding->saving_basis = "time in which the quota stopped the program, as if there were none";
  const char *of = isnan(quota) ? "" : arena_format(arena, " of %.3g processors", quota);
  finding->title =
      arena_format(arena, "the container's CPU quota%s stopped the program for %.3g %% of the time", of, share_pct);
  finding->advice = "raise the quota (CPU limit), or use no more threads than it has processors: OMP_NUM_THREADS, "
                    "torch.set_num_threads(), fewer workers";
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "quota_cpus", quota);
}

// There is no bound: no change of the program gains it.
static void add_stolen(struct findings *findings, double pct)
{
  struct finding *finding = findings_add(findings);
  finding->context = "hypervisor";
  finding->title = arena_format(findings->question->arena,
                                "the hypervisor gave %.3g %% of the processors' time to other machines", pct);
  finding->advice = "compare no times of this run with others; measure on a machine with processors of its own";
  finding->threshold = findings_threshold_of(findings, "throttled-steal");
  finding->confidence = CONFIDENCE_HIGH;
}

static enum status find(struct findings *findings, struct error *err)
{
  double throttled_pct, steal_pct, quota, processors;
  XSP_TRY(load_note(findings, "throttled_pct", &throttled_pct, err));
  XSP_TRY(load_note(findings, "steal_pct", &steal_pct, err));
  XSP_TRY(findings_system(findings, "cpu_quota", &quota, err));
  XSP_TRY(findings_system(findings, "cpus_allowed", &processors, err));
  // The note is of wall time, of all processors added up, of which each may have been stopped.
  double share_pct = throttled_pct / (processors >= 1 ? processors : 1);
  if (share_pct >= findings_threshold(findings, "throttled-quota"))
    add_throttled(findings, fmin(share_pct, 100), quota);
  if (steal_pct >= findings_threshold(findings, "throttled-steal"))
    add_stolen(findings, steal_pct);
  return STATUS_OK;
}

const struct finding_rule finding_f39 = {
    .id = "F39",
    .key = "throttled",
    .title = "processors that others take",
    .thresholds = {{"throttled-quota", "%", 5, "time in which the CPU quota stopped the program, at least"},
                   {"throttled-steal", "%", 10, "the processors' time that the hypervisor gave to others, at least"}},
    .find = find,
};
