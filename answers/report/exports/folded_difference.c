// SPDX-License-Identifier: Apache-2.0
// Folded stacks of two sides, one line a context: "model;layer;kernel NANOSECONDS_A NANOSECONDS_B", as difffolded.pl writes
// them. Names have no folders and lines, so that a line that moved does not part the sides. Runs of equal levels and batch size
// add up; where there are several of these, they are the outermost names.
#include "base/interner.h"
#include "report/exports/exports.h"
#include "report/exports/stacks.h"

#include <inttypes.h>

struct line { // by the interner's number of its stack
  double own_ns[2];
};
struct configuration { // of runs whose times add up
  struct level_set levels;
  int64_t batch_size;
  double observations[2]; // warm-up included, whose spans are in the stacks
};
struct difference {
  const struct compare_answer *answer;
  VECTOR(struct configuration) configurations;
  struct interner stacks;
  VECTOR(struct line) lines;
};

static struct configuration *configuration_of(struct difference *difference, const struct store_run *run)
{
  for (size_t i = 0; i < difference->configurations.count; i++) {
    struct configuration *one = &difference->configurations.items[i];
    if (level_set_equal(one->levels, run->levels) && one->batch_size == run->batch_size)
      return one;
  }
  struct configuration *one = vector_add(&difference->configurations);
  *one = (struct configuration){.levels = run->levels, .batch_size = run->batch_size};
  return one;
}

static enum status count_observations(struct difference *difference, struct error *err)
{
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < difference->answer->run_counts[side]; i++) {
      const struct compare_run *run = &difference->answer->runs[side][i];
      struct arena arena SCOPED(arena_done) = {0};
      struct store_observation *observations;
      size_t count = 0;
      XSP_TRY(store_observations(run->store, run->run->run_id, &arena, &observations, &count, err));
      configuration_of(difference, run->run)->observations[side] += (double)count;
    }
  return STATUS_OK;
}

static void add_contexts(struct difference *difference, int side, const struct store_run *run,
                         const struct stacks *stacks, const struct contexts *contexts)
{
  const struct configuration *configuration = configuration_of(difference, run);
  const double *observations = configuration->observations;
  double scale = side == 1 && observations[0] > 0 && observations[1] > 0 ? observations[0] / observations[1] : 1;
  struct buf text SCOPED(buf_done) = {0};
  for (uint32_t i = 0; i < contexts->all.count; i++) {
    if (contexts->all.items[i].self_ns == 0)
      continue;
    buf_clear(&text);
    if (difference->configurations.count > 1) {
      stacks_put_run(run, &text);
      buf_text(&text, ";");
    }
    stacks_put_folded(stacks, contexts, i, &text);
    uint32_t number = interner_at(&difference->stacks, text.data, text.length);
    if (number == difference->lines.count)
      (void)vector_add(&difference->lines);
    difference->lines.items[number].own_ns[side] += scale * (double)contexts->all.items[i].self_ns;
  }
}

static bool is_wanted(const struct compare_answer *answer, int side, const struct store *store,
                      const struct store_run *run)
{
  for (size_t i = 0; i < answer->run_counts[side]; i++)
    if (answer->runs[side][i].store == store && answer->runs[side][i].run->run_id == run->run_id)
      return true;
  return false;
}

static enum status add_runs(struct difference *difference, int side, struct store *store, const struct stacks *stacks,
                            struct timeline *timeline, struct error *err)
{
  for (size_t i = 0; i < timeline->run_count; i++) {
    struct arena arena SCOPED(arena_done) = {0};
    struct timeline_run run;
    struct contexts contexts SCOPED(contexts_done) = {.most = STACKS_CONTEXTS_MOST};
    XSP_TRY(timeline_load(timeline, i, STACKS_COLUMNS, &arena, &run, err));
    if (is_wanted(difference->answer, side, store, run.run)) {
      stacks_add(stacks, &run, &contexts, NULL);
      add_contexts(difference, side, run.run, stacks, &contexts);
    }
  }
  return STATUS_OK;
}

static enum status add_store(struct difference *difference, int side, struct store *store, struct error *err)
{
  struct stacks stacks SCOPED(stacks_done);
  struct timeline timeline SCOPED(timeline_done) = {0};
  XSP_TRY(stacks_open(store, &stacks, err));
  stacks.is_placeless = true;
  XSP_TRY(timeline_open(store, &timeline, err));
  return add_runs(difference, side, store, &stacks, &timeline, err);
}

static enum status write_lines(const struct difference *difference, const char *path, struct error *err)
{
  struct export_file file;
  enum status status = export_file_open(path, &file, err);
  for (uint32_t i = 0; i < difference->lines.count && status == STATUS_OK; i++) {
    struct slice stack = interner_text(&difference->stacks, i);
    const double *own_ns = difference->lines.items[i].own_ns;
    buf_put(&file.out, stack.data, stack.length);
    buf_format(&file.out, " %.0f %.0f\n", own_ns[0], own_ns[1]);
    export_file_flush(&file);
  }
  return export_file_close(&file, status);
}

static bool is_first_of_store(const struct compare_answer *answer, int side, size_t run)
{
  size_t first = 0;
  while (answer->runs[side][first].store != answer->runs[side][run].store)
    first++;
  return first == run;
}

enum status folded_difference_write(const struct compare_answer *answer, const char *path, struct error *err)
{
  struct difference difference = {.answer = answer};
  enum status status = count_observations(&difference, err);
  for (int side = 0; side < 2; side++)
    for (size_t i = 0; i < answer->run_counts[side] && status == STATUS_OK; i++)
      if (is_first_of_store(answer, side, i))
        status = add_store(&difference, side, answer->runs[side][i].store, err);
  if (status == STATUS_OK)
    status = write_lines(&difference, path, err);
  interner_done(&difference.stacks);
  vector_done(&difference.configurations);
  vector_done(&difference.lines);
  return status;
}
