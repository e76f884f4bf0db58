// SPDX-License-Identifier: Apache-2.0
// Measures load and first inference in fresh processes, one at a time, after all other runners have ended. Called by
// model_experiment.c. The model's file and the library are then in the page cache, for all repetitions alike.
#include "experiment/model_experiment_private.h"

#include "base/clock.h"
#include "base/memory.h"
#include "experiment/lane.h"
#include "experiment/matrix.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Without layers a process publishes a few spans here: loading, its stages, one inference.
#define RING_RECORDS_WITHOUT_LAYERS 1024u
#define COMMIT_EVERY_S 1.0

// A variant at a level set and a batch size. All of its processes share a session, so that their spans have ids of their
// own.
struct cell {
  size_t variant;
  struct level_set levels;
  int64_t batch_size;
  struct lane lane;
  struct store_run run; // run_id 0: not begun
};

struct cold {
  const struct profile_options *options;
  struct store *store;
  struct progress *progress;
  struct cell *cells;
  size_t cell_count;
  int64_t first_run_id;
  double committed_s;
};

// Kernels are left out: their tracers would be part of what a start takes.
static size_t cold_sets(const struct profile_options *options, struct level_set sets[PROFILE_SETS_MAXIMUM])
{
  size_t count = 0;
  for (size_t i = 0; i < options->set_count; i++)
    if (level_set_deepest(options->sets[i]) <= XSP_LEVEL_LAYER && !level_set_is_twin(options->sets[i]))
      sets[count++] = options->sets[i];
  if (count == 0)
    sets[count++] = (struct level_set){.mask = XSP_LEVEL_MASK(XSP_LEVEL_MODEL)};
  return count;
}

size_t cold_starts(const struct profile_options *options)
{
  struct level_set sets[PROFILE_SETS_MAXIMUM];
  return options->variant_count * cold_sets(options, sets) * options->batch_count * options->cold;
}

// The runner publishes its stages at application level, which it records at any level set.
static enum status begin(struct cold *cold, struct cell *cell, int64_t run_id, struct error *err)
{
  bool has_layers = (cell->levels.mask & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0;
  struct collect_options session = {.level_mask = cell->levels.mask | XSP_LEVEL_MASK(XSP_LEVEL_APPLICATION),
                                    .ring_records = has_layers ? 0 : RING_RECORDS_WITHOUT_LAYERS};
  cell->run = (struct store_run){.run_id = run_id,
                                 .experiment_id = experiment_id_of(cell->variant),
                                 .levels = cell->levels,
                                 .batch_size = cell->batch_size,
                                 .epoch_is_unix = true,
                                 .own_pct = NAN};
  XSP_TRY(collect_create(&session, &cell->lane.session, err));
  XSP_TRY(store_add_run(cold->store, &cell->run, err));
  return store_add_note(cold->store, run_id, "cold",
                        "first inferences, each in a process of its own; files were in the page cache", err);
}

// The whole of it, as whoever started the process would time it, is a span around what the runner publishes.
static enum status observe(struct cold *cold, struct cell *cell, struct error *err)
{
  struct lane *lane = &cell->lane;
  struct runner_options runner = cold->options->runner;
  runner.predictor = cold->options->variants[cell->variant].predictor;
  runner.library = cold->options->variants[cell->variant].library;
  struct collect_outside_span whole = {.start_ns = (int64_t)clock_now_ns(CLOCK_REALTIME),
                                       .level = XSP_LEVEL_APPLICATION,
                                       .name = "cold start",
                                       .category = "cold",
                                       .tracer = "xsp"};
  XSP_TRY(lane_start(lane, &runner, cell->run.levels, NULL, err));
  whole.process_id = lane->runner.child.process;
  XSP_TRY(runner_prepare(&lane->runner, cell->run.batch_size, err));
  XSP_TRY(runner_predict(&lane->runner, cell->run.batch_size, INFERENCE_COLD, err));
  whole.end_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
  XSP_TRY(runner_flush(&lane->runner, err)); // layers that the framework holds back until the end of a profile
  runner_close(&lane->runner);
  XSP_TRY(lane_drain(lane, cold->store, &cell->run, err));
  return collect_add_span(lane->session, cold->store, cell->run.run_id, &whole, NULL, err);
}

static enum status repeat(void *context, size_t number, size_t batch_unused, unsigned repetition, struct error *err)
{
  struct cold *cold = context;
  const struct profile_options *options = cold->options;
  struct cell *cell = &cold->cells[number];
  bool is_first = cell->run.run_id == 0;
  if (is_first)
    XSP_TRY(begin(cold, cell, cold->first_run_id + (int64_t)number, err));
  enum status status = observe(cold, cell, err);
  if (status != STATUS_OK) {
    char prefix[64];
    snprintf(prefix, sizeof prefix, "cold repetition %u of %u: ", repetition + 1, options->cold);
    error_prefix(err, prefix);
  }
  XSP_TRY(variant_blame(options->variants, options->variant_count, cell->variant, status, err));
  char what[sizeof "cold " + LEVEL_SET_TEXT_SIZE] = "cold ";
  level_set_format(cell->levels, what + strlen(what));
  progress_step(cold->progress, options->variant_count > 1 ? options->variants[cell->variant].predictor : NULL,
                cell->batch_size, what);
  // Once its first spans are committed, `xsp recover` finds the file that a session belongs to.
  if (!is_first && progress_now_s() - cold->committed_s < COMMIT_EVERY_S)
    return STATUS_OK;
  cold->committed_s = progress_now_s();
  return collect_commit(cell->lane.session, cold->store, err);
}

static bool is_over(const void *context)
{
  const struct cold *cold = context;
  return *cold->options->interrupted != 0;
}

static enum status finish(struct cold *cold, struct error *err)
{
  for (size_t i = 0; i < cold->cell_count; i++) {
    struct cell *cell = &cold->cells[i];
    if (cell->run.run_id == 0)
      continue;
    XSP_TRY(lane_drain_final(&cell->lane, cold->store, &cell->run, err));
    XSP_TRY(store_add_run(cold->store, &cell->run, err));
  }
  return store_commit(cold->store, err);
}

enum status cold_measure(const struct profile_options *options, struct store *store, int64_t first_run_id,
                         struct progress *progress, struct error *err)
{
  struct cold cold = {.options = options, .store = store, .progress = progress, .first_run_id = first_run_id};
  cold.committed_s = progress_now_s();
  struct level_set sets[PROFILE_SETS_MAXIMUM];
  size_t set_count = cold_sets(options, sets);
  cold.cell_count = options->variant_count * set_count * options->batch_count;
  cold.cells = memory_new(cold.cell_count, sizeof *cold.cells);
  for (size_t i = 0; i < cold.cell_count; i++) {
    size_t lane = i / options->batch_count; // as in model_experiment.c
    cold.cells[i].variant = lane / set_count;
    cold.cells[i].levels = sets[lane % set_count];
    cold.cells[i].batch_size = options->batches[i % options->batch_count];
  }
  const struct matrix matrix = {.lane_count = cold.cell_count, .batch_count = 1, .repetitions = options->cold};
  const struct matrix_source source = {.observe = repeat, .is_over = is_over};
  enum status status = matrix_measure(&matrix, &source, &cold, NULL, err);
  if (status == STATUS_OK)
    status = finish(&cold, err);
  for (size_t i = 0; i < cold.cell_count; i++)
    lane_close(&cold.cells[i].lane);
  free(cold.cells);
  return status;
}
