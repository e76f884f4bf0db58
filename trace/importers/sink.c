// SPDX-License-Identifier: Apache-2.0
// The sink's life: a call begins, files begin and end. Called by import_files.c. What belongs to a file is forgotten with it;
// runs and tracks go to the store here, while its other side is idle.
#include "importers/sink_private.h"

#include <stdlib.h>
#include <string.h>

// ---- life ------------------------------------------------------------------------------------------------------------
struct sink *sink_create(struct store *store, unsigned threads, const struct import_place *place, struct arena *results)
{
  struct sink *sink = memory_new(1, sizeof *sink);
  sink->store = store;
  sink->place = place;
  sink->results = results;
  sink->next_run_id = 1;
  sink->next_experiment_id = 1;
  sink->batches = import_batches_create(store, threads);
  return sink;
}

static void forget_file(struct sink *sink)
{
  for (size_t i = 0; i < sink->runs.count; i++) {
    vector_done(&sink->runs.items[i]->tracks);
    vector_done(&sink->runs.items[i]->paths);
    vector_done(&sink->runs.items[i]->samples);
    free(sink->runs.items[i]);
  }
  sink->runs.count = sink->run_notes.count = 0;
  sink->run = NULL;
  interner_done(&sink->texts);
  interner_done(&sink->track_texts);
  sink->track_count = 0;
  map_done(&sink->traces);
  vector_done(&sink->paths);
  map_done(&sink->path_of);
  arena_done(&sink->arena);
  sink->events = sink->kept = 0;
  sink->late_count = 0;
  sink->skipped.count = sink->last_skipped = 0;
  sink->note_count = sink->notes_left_out = 0;
  sink->version = NULL;
  vector_done(&sink->file_facts.system);
  sink->file_facts = (struct sink_facts){0};
}

void sink_free(struct sink *sink)
{
  if (sink == NULL)
    return;
  import_batches_free(sink->batches);
  forget_file(sink);
  vector_done(&sink->runs);
  vector_done(&sink->run_notes);
  vector_done(&sink->skipped);
  for (size_t i = 0; i < sink->own.count; i++)
    vector_done(&sink->own.items[i].facts.system);
  vector_done(&sink->own);
  vector_done(&sink->experiments);
  arena_done(&sink->lasting);
  free(sink);
}

void sink_begin(struct sink *sink, struct import *import, const char *path)
{
  sink->import = import;
  sink->path = path;
  sink->file++;
  import->sink = sink;
  import->arena = &sink->arena;
  sink->default_tracer = import_word(import, sink->place != NULL ? sink->place->tracer : import->importer->name);
}

// ---- the end ---------------------------------------------------------------------------------------------------------
// NULL: none is known, or several, as of a process's devices.
static const struct store_rank *rank_of_process(const struct store_track *tracks, size_t count, int64_t process_id)
{
  const struct store_rank *rank = NULL;
  for (size_t i = 0; i < count && process_id != STORE_NONE; i++) {
    if (tracks[i].process_id != process_id || tracks[i].rank.world_size < 1)
      continue;
    if (rank != NULL && rank->rank != tracks[i].rank.rank)
      return NULL;
    rank = &tracks[i].rank;
  }
  return rank;
}

// Tracks only: the run itself is there. They are of the ranks that the run's processes have.
static enum status write_place(struct sink *sink, struct error *err)
{
  struct store_track *known;
  size_t count;
  XSP_TRY(store_tracks(sink->store, sink->place->run_id, &sink->arena, &known, &count, err));
  for (size_t i = 0; i < sink->runs.count; i++)
    for (uint32_t j = 0; j < sink->runs.items[i]->tracks.count; j++) {
      struct store_track *track = &sink->runs.items[i]->tracks.items[j];
      const struct store_rank *rank = rank_of_process(known, count, track->process_id);
      track->rank = rank != NULL ? *rank : track->rank;
      XSP_TRY(store_add_track(sink->store, track, err));
    }
  return STATUS_OK;
}

static enum status write_runs(struct sink *sink, struct error *err)
{
  for (size_t i = 0; i < sink->runs.count; i++) {
    struct sink_run *entry = sink->runs.items[i];
    XSP_TRY(given_apply(sink->import, &entry->run, entry->level_mask, err));
    if (entry->run.levels.mask == 0)
      entry->run.levels.mask = entry->level_mask;
    XSP_TRY(store_add_run(sink->store, &entry->run, err));
    for (uint32_t j = 0; j < entry->tracks.count; j++)
      XSP_TRY(store_add_track(sink->store, &entry->tracks.items[j], err));
    XSP_TRY(store_shift_run(sink->store, entry->run.run_id, entry->shift_ns, err));
  }
  for (size_t i = 0; i < sink->run_notes.count; i++) {
    const struct sink_run_note *note = &sink->run_notes.items[i];
    XSP_TRY(store_add_note(sink->store, note->run_id, note->key, note->value, err));
  }
  return STATUS_OK;
}

// Into the caller's arena, where the version and the notes already are.
static void report(struct sink *sink, struct import_file *file)
{
  struct arena *arena = sink->results;
  *file = (struct import_file){.path = arena_copy(arena, sink->path, strlen(sink->path)),
                               .format = sink->import->importer->name,
                               .version = sink->version,
                               .events = sink->events,
                               .kept = sink->kept,
                               .skipped_count = sink->skipped.count,
                               .run_count = sink->runs.count};
  struct import_count *skipped = arena_alloc_array(arena, sink->skipped.count + 1, sizeof *skipped);
  const char **notes = arena_alloc_array(arena, sink->note_count + 2, sizeof *notes);
  int64_t *run_ids = arena_alloc_array(arena, sink->runs.count + 1, sizeof *run_ids);
  for (size_t i = 0; i < sink->skipped.count; i++)
    skipped[i] = sink->skipped.items[i];
  memcpy(notes, sink->notes, sink->note_count * sizeof *notes);
  for (size_t i = 0; i < sink->runs.count; i++)
    run_ids[i] = sink->runs.items[i]->run.run_id;
  file->note_count = sink->note_count;
  if (sink->notes_left_out > 0)
    notes[file->note_count++] = arena_format(arena, "%zu more notes like these", sink->notes_left_out);
  file->skipped = skipped;
  file->notes = notes;
  file->run_ids = run_ids;
}

enum status sink_end(struct sink *sink, struct import_file *ret_file, struct error *err)
{
  sink_resolve(sink);
  enum status status = import_batches_wait(sink->batches, err);
  sink->batch = NULL;
  XSP_TRY(status);
  XSP_TRY(sink_check(sink, err));
  if (sink->place == NULL)
    sink_take_facts(sink);
  XSP_TRY(sink->place != NULL ? write_place(sink, err) : write_runs(sink, err));
  XSP_TRY(sink_write_paths(sink, err));
  report(sink, ret_file);
  forget_file(sink);
  return STATUS_OK;
}
