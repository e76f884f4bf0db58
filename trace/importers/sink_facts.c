// SPDX-License-Identifier: Apache-2.0
// What importers say once or seldom: runs, tracks, notes, counts of what they skipped. Kept in memory until sink_end
// (sink.c) writes it.
#include "importers/sink_private.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- runs ------------------------------------------------------------------------------------------------------------
// Copies what the caller gave, but for the ids; --layer wins over what the importer says.
static void set_run(struct import *import, struct sink_run *entry, const struct store_run *run)
{
  struct sink *sink = import->sink;
  int64_t run_id = entry->run.run_id;
  double own_pct = entry->run.own_pct;
  entry->run = *run;
  entry->run.run_id = run_id;
  entry->run.own_pct = own_pct;
  const char *layer = import->options->layer != NULL ? import->options->layer : run->layer;
  entry->run.layer = layer == NULL ? NULL : arena_copy(&sink->arena, layer, strlen(layer));
}

int64_t import_run(struct import *import, const struct store_run *run)
{
  struct sink *sink = import->sink;
  struct sink_run *entry = memory_new(1, sizeof *entry);
  entry->run.run_id = sink->place != NULL ? sink->place->run_id : sink->next_run_id++;
  entry->run.own_pct = NAN;
  *vector_add(&sink->runs) = sink->run = entry;
  set_run(import, entry, run);
  return entry->run.run_id;
}

void import_use_run(struct import *import, int64_t run_id)
{
  struct sink *sink = import->sink;
  sink->run = sink->runs.items[run_id - sink->runs.items[0]->run.run_id];
}

void import_run_set(struct import *import, const struct store_run *run)
{
  set_run(import, import->sink->run, run);
}

void import_run_own_pct(struct import *import, double own_pct)
{
  import->sink->run->run.own_pct = own_pct;
}

void import_run_note(struct import *import, int64_t run_id, const char *key, const char *value)
{
  struct sink *sink = import->sink;
  *vector_add(&sink->run_notes) = (struct sink_run_note){run_id, arena_copy(&sink->arena, key, strlen(key)),
                                                         arena_copy(&sink->arena, value, strlen(value))};
}

void import_run_resolution(struct import *import, int64_t resolution_ns)
{
  const char *text = arena_format(&import->sink->arena, "%lld", (long long)resolution_ns);
  import_run_note(import, import->sink->run->run.run_id, STORE_NOTE_RESOLUTION, text);
  if (resolution_ns > 1)
    import_note(import, "times are rounded: a span may end %s ns after its parent", text);
}

void import_run_shift(struct import *import, int64_t offset_ns)
{
  import->sink->run->shift_ns = offset_ns;
}

// ---- tracks ----------------------------------------------------------------------------------------------------------
// Names that many tracks share are stored once, cut between two characters where they are too long.
static void copy_text(struct sink *sink, const char **text)
{
  if (*text == NULL)
    return;
  size_t length = strnlen(*text, SINK_TRACK_TEXT_MOST + 1);
  if (length > SINK_TRACK_TEXT_MOST)
    for (length = SINK_TRACK_TEXT_MOST; length > 0 && ((*text)[length] & 0xc0) == 0x80;)
      length--;
  *text = interner_text(&sink->track_texts, interner_at(&sink->track_texts, *text, length)).data;
}

enum status import_numbered_track(struct import *import, const struct store_track *track, struct error *err)
{
  struct sink_run *run = import->sink->run;
  if (import->sink->track_count == SINK_TRACKS_MOST)
    return error_set(err, STATUS_INPUT, "cannot import", import->sink->path, "importing parts of it",
                     "it has more than %u threads, streams and groups of asynchronous spans", SINK_TRACKS_MOST);
  struct store_track *row = vector_add(&run->tracks);
  *row = *track;
  row->run_id = run->run.run_id;
  row->track_id += import->sink->place != NULL ? import->sink->place->track_base : 0;
  copy_text(import->sink, &row->name);
  if (import->sink->place != NULL)
    row->host = NULL; // of a profile within a run, whose own tracks have the machine
  copy_text(import->sink, &row->host);
  copy_text(import->sink, &row->clock);
  import->sink->track_count++;
  return STATUS_OK;
}

enum status import_track(struct import *import, const struct store_track *track, uint32_t *ret_track_id,
                         struct error *err)
{
  struct store_track numbered = *track;
  numbered.track_id = (int64_t)import->sink->run->tracks.count + 1;
  *ret_track_id = (uint32_t)numbered.track_id;
  return import_numbered_track(import, &numbered, err);
}

void import_track_name(struct import *import, uint32_t track_id, const char *name)
{
  struct store_track *track = &import->sink->run->tracks.items[track_id - 1];
  track->name = name;
  copy_text(import->sink, &track->name);
}

void import_track_process(struct import *import, uint32_t track_id, const char *host, int64_t process_id)
{
  struct store_track *track = &import->sink->run->tracks.items[track_id - 1];
  track->process_id = process_id;
  track->host = host;
  copy_text(import->sink, &track->host);
}

void import_track_rank(struct import *import, uint32_t track_id, const struct store_rank *rank)
{
  import->sink->run->tracks.items[track_id - 1].rank = *rank;
}

// ---- notes -----------------------------------------------------------------------------------------------------------
void import_version(struct import *import, const char *format_version)
{
  import->sink->version = arena_copy(import->sink->results, format_version, strlen(format_version));
}

void import_note(struct import *import, const char *format, ...)
{
  struct sink *sink = import->sink;
  if (sink->note_count == SINK_NOTES_MOST) {
    sink->notes_left_out++;
    return;
  }
  char text[1024];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  sink->notes[sink->note_count++] = arena_copy(sink->results, text, strlen(text));
}

// ---- accounts --------------------------------------------------------------------------------------------------------
void import_skip_many(struct import *import, const char *reason, uint64_t count)
{
  struct sink *sink = import->sink;
  size_t at = sink->last_skipped;
  if (count == 0)
    return;
  if (at >= sink->skipped.count || sink->skipped.items[at].reason != reason)
    for (at = 0; at < sink->skipped.count && strcmp(sink->skipped.items[at].reason, reason) != 0;)
      at++;
  if (at == sink->skipped.count)
    vector_add(&sink->skipped)->reason = reason;
  sink->skipped.items[at].count += count;
  sink->last_skipped = at;
  sink->events += count;
}

void import_skip(struct import *import, const char *reason)
{
  import_skip_many(import, reason, 1);
}

void import_joined(struct import *import)
{
  import->sink->kept++;
  import->sink->events++;
}

enum status import_broken(const struct import *import, struct error *err, uint64_t offset, const char *format, ...)
{
  char why[sizeof err->why], where[sizeof err->where];
  va_list values;
  va_start(values, format);
  vsnprintf(why, sizeof why, format, values);
  va_end(values);
  snprintf(where, sizeof where, "%s, byte %llu", import->input->path, (unsigned long long)offset);
  return error_set(err, STATUS_INPUT, "cannot import", where, NULL, "%s", why);
}
