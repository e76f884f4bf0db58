// SPDX-License-Identifier: Apache-2.0
// F30, too many threads: far more threads of a process compute, by samples, than there are processors. They take turns, and wait for
// each other at the end of each operator.
#include "analyze/findings/busiest_line.h"
#include "analyze/findings/computing_threads.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/server.h"
#include "analyze/findings/shared.h"

// At most, in times of those that run predictions: these, their clients in the program, and pools of both.
#define THREADS_OF_SERVERS 3

static enum status add(struct findings *findings, const struct computing_threads *most, uint32_t place,
                       struct error *err)
{
  struct finding *finding = findings_add(findings);
  if (place != PLACE_NONE)
    finding_at_place(findings, finding, place);
  else
    XSP_TRY(finding_at_busiest(findings, finding, err));
  finding->context = "threads";
  finding->time_ms = findings_per_observation_ms(findings, findings->places->total.operators.ns);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = finding->time_ms * (1 - most->processors / (double)most->threads);
  finding->saving_basis = "time of the operators, as if they took turns at no cost";
  finding->title = arena_format(findings->question->arena, "%zu threads of the program compute on %.0f processors",
                                most->threads, most->processors);
  finding->advice = "as many threads as processors that the program may use: torch.set_num_threads(), OMP_NUM_THREADS, "
                    "intra_op_num_threads; in containers libraries count the host's processors";
  finding->confidence = CONFIDENCE_HIGH;
  finding_number(finding, "threads", (double)most->threads);
  finding_number(finding, "processors", most->processors);
  return STATUS_OK;
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct computing_threads most;
  uint32_t place;
  bool is_asked;
  const struct server *server;
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(computing_threads_count(findings, &most, err));
  XSP_TRY(computing_threads_place(findings, &place, &is_asked, err));
  XSP_TRY(findings_server(findings, &server, err));
  if (places->total.operators.ns > 0 && !findings_is_xlas(findings) &&
      (double)most.threads > THREADS_OF_SERVERS * (double)server->threads &&
      (double)most.threads > findings_threshold(findings, "threads-times") * most.processors)
    return add(findings, &most, place, err);
  return STATUS_OK;
}

const struct finding_rule finding_f30 = {
    .id = "F30",
    .key = "threads",
    .title = "more threads than processors",
    .thresholds = {{"threads-times", "", 2, "threads that compute, in times of the processors, more than"}},
    .find = find,
};
