// SPDX-License-Identifier: Apache-2.0
// F32, idle processors: the operators are large enough for several threads, the program may use several processors, and a single thread
// computes. With two or three, programs leave the others to their input on purpose.
#include "analyze/findings/computing_threads.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#define LARGE_NS 1e6       // mean of an operator that libraries share among threads
#define LARGE_ASKED_NS 1e5 // where the program asks for the number of threads

// The part of the operators' time that is in large ones which compute.
static double large_part(const struct findings *findings, bool is_asked)
{
  const struct places *places = findings->places;
  double large_ns = 0;
  for (uint32_t i = 0; i < places->count; i++) {
    const struct place_units *operators = &places->all[i].own.operators;
    if (operators->count > 0 && operators->ns >= (is_asked ? LARGE_ASKED_NS : LARGE_NS) * operators->count &&
        findings_computes(findings, i))
      large_ns += operators->ns;
  }
  return places->total.operators.ns > 0 ? large_ns / places->total.operators.ns : 0;
}

static void add(struct findings *findings, double processors, double part, uint32_t place, bool is_asked)
{
  struct finding *finding = findings_add(findings);
  if (place != PLACE_NONE)
    finding_at_place(findings, finding, place);
  finding->context = "threads";
  finding->time_ms = part * findings_per_observation_ms(findings, findings->places->total.operators.ns);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = finding->time_ms * (1 - 1 / processors);
  finding->saving_basis = "time of the large operators, as if all processors shared them evenly";
  finding->title = arena_format(findings->question->arena, "one thread computes on %.0f processors%s", processors,
                                is_asked ? ": the program sets the number of threads (torch.set_num_threads)" : "");
  finding->advice =
      "let libraries choose the number of threads, or ask for as many as processors: torch.set_num_threads(), "
      "OMP_NUM_THREADS, MKL_NUM_THREADS, intra_op_num_threads";
  finding->threshold = findings_threshold_of(findings, "idle_processors-share");
  finding->confidence = is_asked ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
  finding_number(finding, "processors", processors);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct computing_threads threads;
  uint32_t place;
  bool is_asked;
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(computing_threads_count(findings, &threads, err));
  XSP_TRY(computing_threads_place(findings, &place, &is_asked, err));
  double part = large_part(findings, is_asked);
  double large_ms = part * findings_per_observation_ms(findings, places->total.operators.ns);
  if (threads.of_all == 1 && threads.processors >= findings_threshold(findings, "idle_processors-count") &&
      !places->has_devices &&
      analyze_share_pct(large_ms, findings->loop_ms) >= findings_threshold(findings, "idle_processors-share"))
    add(findings, threads.processors, part, place, is_asked);
  return STATUS_OK;
}

const struct finding_rule finding_f32 = {
    .id = "F32",
    .key = "idle_processors",
    .title = "processors without work",
    .thresholds = {{"idle_processors-count", "", 4, "processors that the program may use, at least"},
                   {"idle_processors-share", "%", 30, "time of large operators, of the program's loop, at least"}},
    .find = find,
};
