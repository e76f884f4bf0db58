// SPDX-License-Identifier: Apache-2.0
// F40 to F42, servers: threads that take turns at a lock, too few threads that wait, and requests that one thread computes one row
// at a time. All are about threads that run predictions, by samples.
#include "analyze/findings/busiest_line.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/server.h"
#include "analyze/findings/shared.h"

#include <math.h>

#define LEAST_LOCKS 10
#define MOST_IDLE 0.1 // of the threads' time: requests wait for them

static double time_ns(const struct server *server)
{
  return server->computes_ns + server->waits_ns + server->locked_ns + server->idle_ns;
}

// The share of the loop that remains: what they compute now, on all processors.
static enum status load_least(struct findings *findings, const struct server *server, double *ret_share,
                              struct error *err)
{
  double processors;
  XSP_TRY(findings_system(findings, "cpus_allowed", &processors, err));
  *ret_share = server->computes_ns / server->window_ns / (processors >= 1 ? processors : 1);
  return STATUS_OK;
}

static struct finding *add(struct findings *findings, double saving, double share_pct, const char *threshold)
{
  struct finding *finding = findings_add(findings);
  finding->share_pct = fmin(share_pct, 100);
  finding->time_ms = finding->share_pct / 100 * findings->loop_ms;
  finding->saving_ms = saving * findings->loop_ms;
  finding->threshold = findings_threshold_of(findings, threshold);
  finding->confidence = CONFIDENCE_MEDIUM;
  return finding;
}

// A server whose samples are known. False: it is none.
static enum status load(struct findings *findings, const struct server **ret_server, bool *ret_is_one,
                        struct error *err)
{
  XSP_TRY(findings_server(findings, ret_server, err));
  *ret_is_one = (*ret_server)->threads > 0 && (*ret_server)->window_ns > 0 && time_ns(*ret_server) > 0;
  return STATUS_OK;
}

// ---- F40 -------------------------------------------------------------------------------------------------------------
static enum status find_turns(struct findings *findings, struct error *err)
{
  const struct server *server;
  bool is_one;
  double least;
  XSP_TRY(load(findings, &server, &is_one, err));
  double pct = is_one ? analyze_share_pct(server->locked_ns, time_ns(server)) : 0;
  if (!is_one || !server_takes_turns(server) || server->locks < LEAST_LOCKS || server->locks_line == NULL ||
      pct < findings_threshold(findings, "turns-share"))
    return STATUS_OK;
  XSP_TRY(load_least(findings, server, &least, err));
  double waiting = server->locked_ns / server->window_ns;
  double remains = fmin(fmax(1 / (1 + waiting), least), 1);
  struct finding *finding = add(findings, 1 - remains, pct, "turns-share");
  finding_at_own_line(findings, finding, &server->lines, server->locks_line);
  finding->title = arena_format(findings->question->arena,
                                "%zu threads take turns at the model: %s waits for a lock, %.1f threads at a time",
                                server->threads, findings_name(findings, finding->context), waiting);
  finding->saving_basis = "the time in which threads wait for the lock, as if they worked meanwhile on all processors";
  finding->advice = "hold the lock for less: read, log and answer outside of it; PyTorch and ONNX Runtime let several "
                    "threads call one model; or let one thread take all that wait as one batch";
  finding_number(finding, "waiting_threads", waiting);
  return STATUS_OK;
}

const struct finding_rule finding_f40 = {
    .id = "F40",
    .key = "turns",
    .title = "threads of a server that take turns",
    .thresholds = {{"turns-share", "%", 20,
                    "waits for locks of threads that run predictions, of their time, at least"}},
    .find = find_turns,
};

// ---- F41 -------------------------------------------------------------------------------------------------------------
// An event loop that waits is F29's.
static enum status find_few(struct findings *findings, struct error *err)
{
  const struct server *server;
  bool is_one;
  double processors, least;
  XSP_TRY(load(findings, &server, &is_one, err));
  XSP_TRY(findings_system(findings, "cpus_allowed", &processors, err));
  double pct = is_one ? analyze_share_pct(server->waits_ns, time_ns(server)) : 0;
  if (!is_one || (double)server->threads > fmax(processors, 1) || server->waits_line == NULL ||
      server->in_loop_ns > time_ns(server) / 2 || server->idle_ns > MOST_IDLE * time_ns(server) ||
      pct < findings_threshold(findings, "few_threads-share"))
    return STATUS_OK;
  XSP_TRY(load_least(findings, server, &least, err));
  struct finding *finding = add(findings, 1 - fmin(fmax(least, 1 - pct / 100), 1), pct, "few_threads-share");
  finding_at_own_line(findings, finding, &server->lines, server->waits_line);
  finding->title = arena_format(findings->question->arena,
                                "%zu %s all requests, and %s waits (sleep, input or output) for %.0f %% of the time",
                                server->threads, server->threads == 1 ? "thread serves" : "threads serve",
                                findings_name(findings, finding->context), pct);
  finding->saving_basis = "the time in which the threads wait, as if other requests were served meanwhile";
  finding->advice = "use more threads (max_workers): others serve while one waits; or fetch what it waits for before, "
                    "for several requests at once";
  finding_number(finding, "threads", (double)server->threads);
  return STATUS_OK;
}

const struct finding_rule finding_f41 = {
    .id = "F41",
    .key = "few_threads",
    .title = "few threads of a server, which wait",
    .thresholds = {{"few_threads-share", "%", 30, "waits of threads that run predictions, of their time, at least"}},
    .find = find_few,
};

// ---- F42 -------------------------------------------------------------------------------------------------------------
static enum status find_single(struct findings *findings, struct error *err)
{
  const struct server *server;
  const struct places *places;
  bool is_one;
  XSP_TRY(load(findings, &server, &is_one, err));
  double waiting = is_one ? server->others_ns / server->window_ns : 0;
  double share = is_one ? fmin(server->model_ns / server->window_ns, 1) : 0;
  if (!is_one || server->threads != 1 || findings->set->batch_size != 1 ||
      (double)findings->set->observation_count < findings_threshold(findings, "single_rows-count") ||
      waiting < findings_threshold(findings, "single_rows-waiting") || share < 0.5)
    return STATUS_OK;
  XSP_TRY(findings_places(findings, &places, err));
  struct finding *finding = add(findings, share * (1 - 1 / waiting), 100 * share, "single_rows-waiting");
  XSP_TRY(finding_at_busiest(findings, finding, err));
  finding->title =
      arena_format(findings->question->arena,
                   "one thread computes %zu requests one row at a time, while %.1f threads wait for theirs",
                   findings->set->observation_count, waiting);
  finding->saving_basis = "the model's time, as if all rows that wait were computed in the time of one";
  finding->advice = "take all requests that wait from the queue, and compute them as one batch";
  finding_number(finding, "waiting_threads", waiting);
  return STATUS_OK;
}

const struct finding_rule finding_f42 = {
    .id = "F42",
    .key = "single_rows",
    .title = "requests that one thread computes one by one",
    .thresholds = {{"single_rows-count", "", 50, "predictions of one row, at least"},
                   {"single_rows-waiting", "", 2, "threads that wait for others meanwhile, on average, at least"}},
    .find = find_single,
};
