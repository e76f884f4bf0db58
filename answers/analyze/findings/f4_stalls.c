// SPDX-License-Identifier: Apache-2.0
// F4, stalls: lines of kernels (or kernels whose lines are unknown) at which many of the sampled warps are, and what most of them
// wait for. The samples are those of A18.
#include "analyze/a_list.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"

#include <math.h>
#include <string.h>

static const struct {
  const char *reason, *advice; // reason: a pattern of names of CUPTI's reasons, of ROCm's
} advices[] = {
    {"*long_scoreboard*",
     "warps wait for global or local memory: make accesses contiguous, reuse data in shared memory, "
     "have more warps"},
    {"*short_scoreboard*",
     "warps wait for shared memory or special functions: avoid bank conflicts, use fewer of them"},
    {"*lg_throttle*", "too many accesses to global or local memory are on their way: use wider or fewer ones"},
    {"*mio_throttle*", "too many accesses to shared memory, or special functions, are on their way: use fewer of them"},
    {"*math*", "a pipe of the arithmetic units is full: use another precision, or tensor cores"},
    {"*barrier*", "warps wait for others at a barrier: give them equal work, synchronise smaller groups"},
    {"*no_inst*", "instructions are not in the cache: shorten the loop, or the kernel"},
    {"wait", "warps wait a fixed time between dependent instructions: interleave independent ones"},
    {"waitcnt", "wavefronts wait for memory: make accesses contiguous, reuse data in the local data share, have more "
                "wavefronts"},
};

static const char *advice_of(const char *stall)
{
  for (size_t i = 0; i < sizeof advices / sizeof *advices; i++)
    if (findings_matches(stall, advices[i].reason, false))
      return advices[i].advice;
  return "look up this reason in the documentation of the profiler";
}

// The scheduler issued for another warp: nothing has to be mended.
static bool is_busy(const char *stall)
{
  return stall != NULL && text_is_one_of(stall, "not_selected", "arbiter_not_win");
}

// Device time per observation of the kernel's executions; NaN: none is known by this name.
static double kernel_ms(const struct findings *findings, const struct places *places, const char *name)
{
  double ns = 0;
  for (size_t i = 0; i < places->count; i++)
    if (places->all[i].own.device_ns > 0 && strcmp(places->all[i].name, name) == 0)
      ns += places->all[i].own.device_ns;
  return ns > 0 ? findings_per_observation_ms(findings, ns) : NAN;
}

// Samples of the kernel at all its lines.
static double kernel_samples(const struct table *table, const char *kernel)
{
  double sum = 0;
  for (size_t row = 0; row < table->row_count; row++) {
    const char *name = table_text_at(table, row, "kernel");
    sum += name != NULL && strcmp(name, kernel) == 0 ? table_double_at(table, row, "samples") : 0;
  }
  return sum;
}

static void add(struct findings *findings, const struct places *places, const struct table *table, size_t row,
                const char *stall, double stall_pct)
{
  const char *kernel = table_text_at(table, row, "kernel");
  double samples = table_double_at(table, row, "samples");
  double line = table_double_at(table, row, "line");
  double time_ms = kernel_ms(findings, places, kernel);
  struct finding *finding = findings_add(findings);
  finding->context = kernel;
  finding->file = table_text_at(table, row, "file");
  finding->line = line > 0 ? (int64_t)line : 0;
  finding->time_ms = time_ms * samples / kernel_samples(table, kernel);
  finding->share_pct = table_double_at(table, row, "samples_pct");
  finding->saving_ms = finding->time_ms * stall_pct / 100;
  finding->saving_basis = "the kernel's time, times the share of its samples that wait here for this";
  finding->title =
      arena_format(findings->question->arena, "%s: %.3g %% of all samples are here, %.3g %% of these wait: %s",
                   findings_name(findings, kernel), finding->share_pct, stall_pct, stall);
  finding->advice = advice_of(stall);
  finding->confidence = samples >= 100 ? CONFIDENCE_HIGH : CONFIDENCE_LOW;
  finding_number(finding, "samples", samples);
  finding_number(finding, "stall_pct", stall_pct);
  finding_number(finding, "not_issued_pct", table_double_at(table, row, "not_issued_pct"));
}

static enum status find(struct findings *findings, struct error *err)
{
  struct table table;
  const struct places *places;
  XSP_TRY(findings_answer(findings, &analysis_a18, &table, err));
  XSP_TRY(findings_places(findings, &places, err));
  for (size_t row = 0; row < table.row_count; row++) {
    bool is_next = is_busy(table_text_at(&table, row, "stall"));
    const char *stall = table_text_at(&table, row, is_next ? "next_stall" : "stall");
    double stall_pct = table_double_at(&table, row, is_next ? "next_stall_pct" : "stall_pct");
    if (stall != NULL && table_text_at(&table, row, "kernel") != NULL &&
        table_double_at(&table, row, "samples_pct") > findings_threshold(findings, "stalls-share") &&
        stall_pct > findings_threshold(findings, "stalls-reason"))
      add(findings, places, &table, row, stall, stall_pct);
  }
  return STATUS_OK;
}

const struct finding_rule finding_f4 = {
    .id = "F4",
    .key = "stalls",
    .title = "stalls of instructions",
    .thresholds = {{"stalls-share", "%", 10, "samples at a line or kernel, of all samples, more than"},
                   {"stalls-reason", "%", 30, "samples there that wait for one thing, more than"}},
    .takes_folded = true,
    .find = find,
};
