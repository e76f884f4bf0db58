// SPDX-License-Identifier: Apache-2.0
// Writes the plain rows of a profile's file. Called by model_experiment.c.
#include "experiment/model_rows.h"

#include <time.h>

#define SYSTEM_VALUES_MAXIMUM 32

// Variants run on one machine, but with a library each: each has a system row of its own.
static enum status add_system(struct store *store, const struct profile_options *options,
                              const struct profile_found *found, int64_t *ret_system_id, struct error *err)
{
  struct arena arena = {0};
  struct store_system_value values[SYSTEM_VALUES_MAXIMUM];
  size_t count = system_describe(&arena, values, SYSTEM_VALUES_MAXIMUM - 2 - PEAKS_VALUES);
  values[count++] = (struct store_system_value){.key = "framework_library", .text = found->library};
  if (options->runner.threads != 0)
    values[count++] =
        (struct store_system_value){.key = "threads", .number = options->runner.threads, .is_number = true};
  if (options->peaks != NULL)
    count += peaks_describe(options->peaks, values + count);
  enum status status = store_add_system(store, values, count, ret_system_id, err);
  arena_done(&arena);
  return status;
}

enum status rows_add_experiment(struct store *store, const struct profile_options *options, size_t variant,
                                const struct profile_found *found, struct error *err)
{
  int64_t system_id = 0;
  XSP_TRY(add_system(store, options, found, &system_id, err));
  struct timespec created;
  clock_gettime(CLOCK_REALTIME, &created);
  struct store_experiment row = {
      .experiment_id = experiment_id_of(variant),
      .name = options->name,
      .workload = options->runner.model_path,
      .framework = found->framework,
      .framework_version = found->framework_version,
      .command = options->command,
      .created_ns = (int64_t)created.tv_sec * 1000000000 + created.tv_nsec,
      .system_id = system_id,
      .xsp_version = XSP_VERSION,
  };
  XSP_TRY(store_add_experiment(store, &row, err));
  return store_add_workload(store, row.experiment_id, options->workload, options->workload_count, err);
}

enum status rows_note_run(struct store *store, int64_t run_id, const struct profile_found *found, struct error *err)
{
  XSP_TRY(store_add_note(store, run_id, "layer_source", found->layer_source, err));
  return found->note[0] == 0 ? STATUS_OK : store_add_note(store, run_id, "framework", found->note, err);
}

enum status rows_note_file(struct store *store, const struct profile_options *options,
                           const struct profile_result *result, struct error *err)
{
  struct buf text;
  buf_init(&text, 4096);
  noise_explain(&result->noise, &text);
  enum status status = store_add_note(store, 0, "noise", text.data != NULL ? text.data : "", err);
  buf_done(&text);
  if (status == STATUS_OK)
    status = store_add_note(store, 0, "noise_grade", noise_grade_name(result->noise.grade), err);
  if (status == STATUS_OK && options->variant_count == 1)
    status = rows_note_run(store, 0, &result->found[0], err);
  if (status == STATUS_OK && result->was_interrupted)
    status = store_add_note(store, 0, "interrupted", "the user ended the experiment early", err);
  return status;
}
