// SPDX-License-Identifier: Apache-2.0
// Two sides that are jobs of other numbers of ranks: how efficiently the ranks of b work, relative to those of a, and where the time
// of a step goes that is lost. Called by compare.c.
#include "analyze/compare/compare.h"
#include "analyze/ranks/ranks.h"

#include <math.h>

static double compute_ms(const struct rank_step *step)
{
  return (double)step->compute_ns / 1e6;
}
static double communication_ms(const struct rank_step *step) // that does not wait for other ranks
{
  return (double)(step->exposed_ns - step->stalled_ns) / 1e6;
}
static double waiting_ms(const struct rank_step *step)
{
  return (double)step->stalled_ns / 1e6;
}
static double input_ms(const struct rank_step *step)
{
  return (double)step->input_ns / 1e6;
}
static double other_ms(const struct rank_step *step)
{
  return (double)(rank_step_ns(step) - step->compute_ns - step->exposed_ns - step->input_ns) / 1e6;
}
static double step_ms(const struct rank_step *step)
{
  return (double)rank_step_ns(step) / 1e6;
}

static const struct {
  const char *name;
  double (*of)(const struct rank_step *step);
} parts[] = {{"compute", compute_ms}, {"communication", communication_ms},
             {"waiting", waiting_ms}, // they add up
             {"input", input_ms},     {"other", other_ms},
             {"step", step_ms}}; // to the step
#define PARTS (sizeof parts / sizeof parts[0])

struct job { // of one side
  int64_t ranks;
  double steps, known;   // kept ones; those whose samples are known
  double samples;        // the mean of these
  double part_ms[PARTS]; // means
};

static enum status add_job(struct question *question, struct job *job, struct error *err)
{
  struct ranks ranks;
  struct error why = {0};
  enum status status = ranks_load(question, 1, NULL, NULL, &ranks, &why);
  for (size_t i = 0; status == STATUS_OK && i < ranks.items.count; i++)
    job->ranks = ranks.items.items[i].world_size > job->ranks ? ranks.items.items[i].world_size : job->ranks;
  for (size_t i = 0; status == STATUS_OK && i < ranks.steps.count; i++) {
    const struct rank_step *step = &ranks.steps.items[i];
    if (!step->is_kept)
      continue;
    job->steps++;
    job->known += step->samples > 0;
    job->samples += ((double)step->samples - job->samples) / fmax(job->known, 1) * (step->samples > 0);
    for (size_t part = 0; part < PARTS; part++)
      job->part_ms[part] += (parts[part].of(step) - job->part_ms[part]) / job->steps;
  }
  ranks_done(&ranks);
  if (status == STATUS_OK || status == STATUS_NO) // without ranks it is no job
    return STATUS_OK;
  if (err != NULL)
    *err = why;
  return status;
}

static void put_rows(struct comparing *comparing, const struct job of[2], double work)
{
  struct table_builder *table = &comparing->scaling;
  for (size_t part = 0; part < PARTS; part++) {
    double lost_ms = of[1].part_ms[part] - of[0].part_ms[part] * work;
    table_row(table);
    table_put_optional(table, "experiment", cell_text(comparing->experiment));
    table_put(table, "part", cell_text(parts[part].name));
    table_put(table, "a_ms", cell_real(of[0].part_ms[part]));
    table_put(table, "b_ms", cell_real(of[1].part_ms[part]));
    table_put(table, "lost_ms", cell_real(lost_ms));
    table_put_share(table, "lost_pct", "step", cell_real(analyze_share_pct(lost_ms, of[1].part_ms[PARTS - 1])));
  }
  table_summary(table, "a_ranks", cell_int(of[0].ranks));
  table_summary(table, "b_ranks", cell_int(of[1].ranks));
  table_summary(table, "efficiency_pct",
                cell_real(analyze_share_pct(of[0].part_ms[PARTS - 1] * work, of[1].part_ms[PARTS - 1])));
}

enum status compare_scaling(struct comparing *comparing, const struct side sides[2], struct error *err)
{
  struct job of[2] = {{.ranks = 0}, {.ranks = 0}};
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < sides[k].count; i++)
      XSP_TRY(add_job(sides[k].questions[i], &of[k], err));
  if (of[0].steps == 0 || of[1].steps == 0 || of[0].ranks == of[1].ranks)
    return STATUS_OK;
  bool is_known = of[0].samples > 0 && of[1].samples > 0;
  put_rows(comparing, of, is_known ? of[1].samples / of[0].samples : 1);
  if (!is_known)
    table_note(&comparing->table,
               "scaling: batch sizes are not recorded; a rank has the same work in a step of a and b");
  return STATUS_OK;
}
