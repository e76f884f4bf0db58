// SPDX-License-Identifier: Apache-2.0
// What the caller says of a file's runs: batch size, levels, warm-ups. Called by the sink for the rows of runs, and by the
// verb for warm-ups, since observations are known only after correlate. A contradiction with the file is an error.
#include "importers/sink_private.h"

#include <inttypes.h>

// ---- batch size and levels -------------------------------------------------------------------------------------------
static enum status check_levels(struct import *import, struct level_set given, uint32_t level_mask, struct error *err)
{
  // Spans at application level are in traces of any depth: a session's events, a program's own ranges.
  uint32_t application = XSP_LEVEL_MASK(XSP_LEVEL_APPLICATION);
  uint32_t absent = given.mask & ~level_mask & ~application;
  char given_text[LEVEL_SET_TEXT_SIZE], text[LEVEL_SET_TEXT_SIZE];
  level_set_format(given, given_text);
  if ((level_mask & ~given.mask & ~application) != 0) {
    level_set_format((struct level_set){.mask = level_mask}, text);
    return error_set(err, STATUS_USE, "wrong use", "--levels", "all levels that the file has",
                     "%s, but %s has spans at levels %s", given_text, import->input->path, text);
  }
  level_set_format((struct level_set){.mask = absent}, text);
  if (absent != 0)
    import_note(import, "levels %s are given, but no span is at %s", given_text, text);
  return STATUS_OK;
}

enum status given_apply(struct import *import, struct store_run *run, uint32_t level_mask, struct error *err)
{
  const struct import_given *given = import->given;
  if (given->batch_size != 0 && run->batch_size != 0 && given->batch_size != run->batch_size)
    return error_set(err, STATUS_USE, "wrong use", "--batch", "no --batch for this file",
                     "%" PRId64 ", but %s says %" PRId64, given->batch_size, import->input->path, run->batch_size);
  if (given->batch_size != 0)
    run->batch_size = given->batch_size;
  if (given->levels.mask == 0)
    return STATUS_OK;
  run->levels = given->levels;
  return check_levels(import, given->levels, level_mask, err);
}

// ---- warm-ups --------------------------------------------------------------------------------------------------------
static enum status mark_run(struct store *store, int64_t run_id, const struct import_file *file, unsigned warmups,
                            struct arena *arena, struct error *err)
{
  struct store_observation *observations;
  size_t count;
  XSP_TRY(store_observations(store, run_id, arena, &observations, &count, err));
  bool is_any_left = false;
  for (size_t i = warmups; i < count; i++)
    is_any_left |= !observations[i].warmup;
  if (!is_any_left)
    return error_set(err, STATUS_USE, "wrong use", "--warmup", "fewer warm-ups",
                     "%u, but %s has %zu observation%s: none would be left", warmups, file->path, count,
                     count == 1 ? "" : "s");
  for (size_t i = 0; i < warmups; i++) {
    if (!observations[i].warmup) // the tag is what an export takes along
      XSP_TRY(store_add_tags(store, run_id,
                             &(struct store_tag){.span_id = observations[i].span_id,
                                                 .key = store_string(store, "warmup", 6),
                                                 .type = STORE_INT,
                                                 .value.integer = 1},
                             1, err));
    observations[i].warmup = true;
  }
  return store_put_observations(store, run_id, observations, count, err);
}

enum status import_mark_warmups(struct store *store, const struct import_file *files, size_t count,
                                const struct import_options *options, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  enum status status = STATUS_OK;
  for (size_t i = 0; options->given != NULL && i < count; i++)
    for (size_t j = 0; options->given[i].warmups > 0 && j < files[i].run_count && status == STATUS_OK; j++)
      status = mark_run(store, files[i].run_ids[j], &files[i], options->given[i].warmups, &arena, err);
  return status;
}
