// SPDX-License-Identifier: Apache-2.0
// Writes the plain rows of a profile's file. Called by model_experiment.c.
#include "experiment/model_rows.h"

#include "experiment/record.h"

// Variants run on one machine, but with a library each: each has a system row of its own.
enum status rows_add_experiment(struct store *store, const struct profile_options *options, size_t variant,
                                const struct profile_found *found, struct error *err)
{
  struct store_system_value values[2 + PEAKS_VALUES] = {{.key = "framework_library", .text = found->library}};
  size_t count = 1;
  if (options->runner.threads != 0)
    values[count++] =
        (struct store_system_value){.key = "threads", .number = options->runner.threads, .is_number = true};
  if (options->peaks != NULL)
    count += peaks_describe(options->peaks, values + count);
  struct store_experiment row = {
      .experiment_id = experiment_id_of(variant),
      .name = options->name,
      .workload = options->runner.model_path,
      .framework = found->framework,
      .framework_version = found->framework_version,
      .command = options->command,
  };
  XSP_TRY(record_experiment(store, &row, values, count, err));
  return store_add_workload(store, row.experiment_id, options->workload, options->workload_count, err);
}

enum status rows_note_run(struct store *store, int64_t run_id, const struct profile_found *found, struct error *err)
{
  XSP_TRY(store_add_note(store, run_id, "layer_source", found->layer_source, err));
  return found->note[0] == 0 ? STATUS_OK : store_add_note(store, run_id, "framework", found->note, err);
}
