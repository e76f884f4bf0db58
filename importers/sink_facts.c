// SPDX-License-Identifier: Apache-2.0
// What importers say once or seldom: runs, experiments, tracks, facts of the system, notes, counts of what they skipped.
// Kept in memory until sink_end and sink_finish (sink.c) write it.
#include "importers/sink_private.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- runs and experiments --------------------------------------------------------------------------------------------
struct sink_run *sink_run(const struct sink *sink, int64_t run_id)
{
  bool is_known = run_id >= sink->first_run_id && (uint64_t)(run_id - sink->first_run_id) < sink->run_count;
  return is_known ? sink->runs[run_id - sink->first_run_id] : NULL;
}

static int64_t own_experiment(struct sink *sink)
{
  if (sink->own_experiment_id == 0)
    sink->own_experiment_id = sink->next_experiment_id++;
  return sink->own_experiment_id;
}

// Copies what the caller gave, but for the ids; --layer wins over what the importer says.
static bool set_run(struct import *import, struct sink_run *entry, const struct store_run *run)
{
  struct sink *sink = import->sink;
  int64_t run_id = entry->run.run_id;
  double own_pct = entry->run.own_pct;
  entry->run = *run;
  entry->run.run_id = run_id;
  entry->run.own_pct = own_pct;
  if (run->experiment_id == 0)
    entry->run.experiment_id = own_experiment(sink);
  const char *layer = import->options->layer != NULL ? import->options->layer : run->layer;
  entry->run.layer = layer == NULL ? NULL : arena_copy(&sink->arena, layer, strlen(layer));
  return layer == NULL || entry->run.layer != NULL;
}

enum status import_run(struct import *import, const struct store_run *run, int64_t *ret_run_id, struct error *err)
{
  struct sink *sink = import->sink;
  struct sink_run **runs = sink_grow(sink->runs, sink->run_count, &sink->run_capacity, sizeof *runs);
  if (runs == NULL)
    return import_no_memory(import, err);
  sink->runs = runs;
  struct sink_run *entry = calloc(1, sizeof *entry);
  if (entry == NULL)
    return import_no_memory(import, err);
  entry->run.run_id = sink->next_run_id++;
  entry->run.own_pct = NAN;
  sink->runs[sink->run_count++] = entry;
  *ret_run_id = entry->run.run_id;
  return set_run(import, entry, run) ? STATUS_OK : import_no_memory(import, err);
}

static enum status unknown_run(const struct import *import, int64_t run_id, struct error *err)
{
  return error_set(err, STATUS_INPUT, "cannot import", import->sink->path, NULL,
                   "the importer used run %lld, which it did not begin", (long long)run_id);
}

enum status import_run_set(struct import *import, int64_t run_id, const struct store_run *run, struct error *err)
{
  struct sink_run *entry = sink_run(import->sink, run_id);
  if (entry == NULL)
    return unknown_run(import, run_id, err);
  return set_run(import, entry, run) ? STATUS_OK : import_no_memory(import, err);
}

void import_run_own_pct(struct import *import, int64_t run_id, double own_pct)
{
  struct sink_run *entry = sink_run(import->sink, run_id);
  if (entry != NULL)
    entry->run.own_pct = own_pct;
}

enum status import_run_note(struct import *import, int64_t run_id, const char *key, const char *value,
                            struct error *err)
{
  struct sink *sink = import->sink;
  if (run_id != 0 && sink_run(sink, run_id) == NULL)
    return unknown_run(import, run_id, err);
  struct sink_run_note *notes =
      sink_grow(sink->run_notes, sink->run_note_count, &sink->run_note_capacity, sizeof *notes);
  if (notes == NULL)
    return import_no_memory(import, err);
  sink->run_notes = notes;
  struct sink_run_note note = {run_id, arena_copy(&sink->arena, key, strlen(key)),
                               arena_copy(&sink->arena, value, strlen(value))};
  if (note.key == NULL || note.value == NULL)
    return import_no_memory(import, err);
  notes[sink->run_note_count++] = note;
  return STATUS_OK;
}

void import_run_shift(struct import *import, int64_t run_id, int64_t offset_ns)
{
  struct sink_run *entry = sink_run(import->sink, run_id);
  if (entry != NULL)
    entry->shift_ns = offset_ns;
}

static bool same_text(const char *a, const char *b)
{
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_system(const struct sink_experiment *known, const struct store_system_value *system, size_t count)
{
  bool is_same = known->system_count == count;
  for (size_t i = 0; i < count && is_same; i++) {
    const struct store_system_value *value = &known->system[i];
    is_same = same_text(value->key, system[i].key) && value->is_number == system[i].is_number &&
              (value->is_number ? value->number == system[i].number : same_text(value->text, system[i].text));
  }
  return is_same;
}

static bool same_experiment(const struct store_experiment *a, const struct store_experiment *b)
{
  return same_text(a->name, b->name) && same_text(a->workload, b->workload) && same_text(a->framework, b->framework) &&
         same_text(a->framework_version, b->framework_version) && same_text(a->command, b->command);
}

static const char *lasting(struct sink *sink, const char *text, bool *ret_ok)
{
  char *copy = text == NULL ? NULL : arena_copy(&sink->lasting, text, strlen(text));
  *ret_ok = *ret_ok && (text == NULL || copy != NULL);
  return copy;
}

static struct store_system_value *copy_values(struct sink *sink, const struct store_system_value *values, size_t count)
{
  bool ok = true;
  struct store_system_value *copies = arena_alloc_array(&sink->lasting, count + 1, sizeof *copies);
  for (size_t i = 0; i < count && copies != NULL; i++) {
    copies[i] = values[i];
    copies[i].key = lasting(sink, values[i].key, &ok);
    copies[i].text = lasting(sink, values[i].text, &ok);
  }
  return ok ? copies : NULL;
}

static bool copy_experiment(struct sink *sink, struct sink_experiment *entry, const struct store_experiment *experiment,
                            const struct store_system_value *system, size_t system_count)
{
  bool ok = true;
  entry->row = *experiment;
  entry->row.experiment_id = sink->next_experiment_id++;
  entry->row.name = lasting(sink, experiment->name, &ok);
  entry->row.workload = lasting(sink, experiment->workload, &ok);
  entry->row.framework = lasting(sink, experiment->framework, &ok);
  entry->row.framework_version = lasting(sink, experiment->framework_version, &ok);
  entry->row.command = lasting(sink, experiment->command, &ok);
  entry->row.xsp_version = lasting(sink, experiment->xsp_version, &ok);
  entry->system = copy_values(sink, system, system_count);
  entry->system_count = system_count;
  return ok && entry->system != NULL;
}

// Rows are written by sink_finish. One that an earlier file of the call described alike is the same experiment; within
// one file the importer knows which are the same.
enum status import_experiment(struct import *import, const struct store_experiment *experiment,
                              const struct store_system_value *system, size_t system_count, int64_t *ret_experiment_id,
                              struct error *err)
{
  struct sink *sink = import->sink;
  for (size_t i = 0; i < sink->experiment_count; i++) {
    struct sink_experiment *known = &sink->experiments[i];
    if (known->file != sink->file && same_experiment(&known->row, experiment) &&
        same_system(known, system, system_count)) {
      known->file = sink->file;
      *ret_experiment_id = known->row.experiment_id;
      return STATUS_OK;
    }
  }
  struct sink_experiment *experiments =
      sink_grow(sink->experiments, sink->experiment_count, &sink->experiment_capacity, sizeof *experiments);
  if (experiments == NULL)
    return import_no_memory(import, err);
  sink->experiments = experiments;
  struct sink_experiment *entry = &experiments[sink->experiment_count++];
  *entry = (struct sink_experiment){.file = sink->file};
  if (!copy_experiment(sink, entry, experiment, system, system_count))
    return import_no_memory(import, err);
  *ret_experiment_id = entry->row.experiment_id;
  return STATUS_OK;
}

enum status import_experiment_model(struct import *import, int64_t experiment_id,
                                    const struct store_system_value *workload, size_t count, struct error *err)
{
  struct sink *sink = import->sink;
  for (size_t i = 0; i < sink->experiment_count; i++) {
    struct sink_experiment *entry = &sink->experiments[i];
    if (entry->row.experiment_id != experiment_id || entry->workload_count > 0 || count == 0)
      continue;
    entry->workload = copy_values(sink, workload, count);
    if (entry->workload == NULL)
      return import_no_memory(import, err);
    entry->workload_count = count;
  }
  return STATUS_OK;
}

// ---- tracks ----------------------------------------------------------------------------------------------------------
// What many tracks are called is kept once, and cut where nobody reads on: between two characters.
static bool copy_text(struct sink *sink, const char **text)
{
  struct texts *texts = &sink->track_texts;
  uint32_t id;
  if (*text == NULL)
    return true;
  size_t length = strnlen(*text, SINK_TRACK_TEXT_MOST + 1);
  if (length > SINK_TRACK_TEXT_MOST)
    for (length = SINK_TRACK_TEXT_MOST; length > 0 && ((*text)[length] & 0xc0) == 0x80;)
      length--;
  if (!texts_intern(texts, *text, length, &id))
    return false;
  *text = id == 0 ? "" : texts->entries[id].text;
  return true;
}

static enum status add_track(struct import *import, struct sink_run *run, const struct store_track *track,
                             int64_t track_id, struct error *err)
{
  if (import->sink->track_count == SINK_TRACKS_MOST)
    return error_set(err, STATUS_INPUT, "cannot import", import->sink->path, "importing parts of it",
                     "it has more than %u threads, streams and groups of asynchronous spans", SINK_TRACKS_MOST);
  struct store_track *tracks = sink_grow(run->tracks, run->track_count, &run->track_capacity, sizeof *tracks);
  if (tracks == NULL)
    return import_no_memory(import, err);
  run->tracks = tracks;
  struct store_track *row = &tracks[run->track_count];
  *row = *track;
  row->run_id = run->run.run_id;
  row->track_id = track_id;
  if (!copy_text(import->sink, &row->name) || !copy_text(import->sink, &row->host) ||
      !copy_text(import->sink, &row->clock))
    return import_no_memory(import, err);
  run->track_count++;
  import->sink->track_count++;
  return STATUS_OK;
}

enum status import_track(struct import *import, int64_t run_id, const struct store_track *track, uint32_t *ret_track_id,
                         struct error *err)
{
  struct sink_run *run = sink_run(import->sink, run_id);
  *ret_track_id = 0;
  if (run == NULL)
    return unknown_run(import, run_id, err);
  XSP_TRY(add_track(import, run, track, (int64_t)run->track_count + 1, err));
  *ret_track_id = (uint32_t)run->track_count;
  return STATUS_OK;
}

enum status import_numbered_track(struct import *import, int64_t run_id, const struct store_track *track,
                                  struct error *err)
{
  struct sink_run *run = sink_run(import->sink, run_id);
  return run != NULL ? add_track(import, run, track, track->track_id, err) : unknown_run(import, run_id, err);
}

enum status import_track_name(struct import *import, int64_t run_id, uint32_t track_id, const char *name,
                              struct error *err)
{
  struct sink_run *run = sink_run(import->sink, run_id);
  if (run == NULL || track_id == 0 || track_id > run->track_count)
    return unknown_run(import, run_id, err);
  run->tracks[track_id - 1].name = name;
  return copy_text(import->sink, &run->tracks[track_id - 1].name) ? STATUS_OK : import_no_memory(import, err);
}

// ---- facts -----------------------------------------------------------------------------------------------------------
static void believe_first(struct import *import, const char *key, const char **known, unsigned *file, const char *text)
{
  struct sink *sink = import->sink;
  bool ok = true;
  if (text == NULL || text[0] == 0)
    return;
  if (*known == NULL) {
    *known = lasting(sink, text, &ok);
    *file = sink->file;
  } else if (strcmp(*known, text) != 0 && *file != sink->file) {
    import_note(import, "its %s is %s; that of an earlier file, %s, stands for all", key, text, *known);
  }
  if (!ok)
    sink_fail_memory(import);
}

void import_framework(struct import *import, const char *name, const char *version)
{
  believe_first(import, "framework", &import->sink->framework, &import->sink->framework_file, name);
  believe_first(import, "framework's version", &import->sink->framework_version, &import->sink->version_file, version);
}

static void believe_system(struct import *import, const struct store_system_value *value)
{
  struct sink *sink = import->sink;
  for (size_t i = 0; i < sink->fact_count; i++) {
    struct sink_fact *known = &sink->facts[i];
    if (strcmp(known->value.key, value->key) != 0)
      continue;
    bool is_same =
        known->value.is_number == value->is_number &&
        (value->is_number ? known->value.number == value->number : same_text(known->value.text, value->text));
    if (!is_same && known->file != sink->file && known->said_by != sink->file) {
      known->said_by = sink->file;
      import_note(import, "it comes from another system: %s differs from that of an earlier file, which stands for all",
                  value->key);
    }
    return;
  }
  if (sink->fact_count == SINK_FACTS_MOST) {
    import_note(import, "more than %u facts about the system: \"%.40s\" is left out", SINK_FACTS_MOST, value->key);
    return;
  }
  struct sink_fact *facts = sink_grow(sink->facts, sink->fact_count, &sink->fact_capacity, sizeof *facts);
  if (facts == NULL) {
    sink_fail_memory(import);
    return;
  }
  sink->facts = facts;
  bool ok = true;
  struct sink_fact *fact = &facts[sink->fact_count++];
  *fact = (struct sink_fact){.value = *value, .file = sink->file};
  fact->value.key = lasting(sink, value->key, &ok);
  fact->value.text = lasting(sink, value->text, &ok);
  if (!ok) {
    sink->fact_count--;
    sink_fail_memory(import);
  }
}

void import_system_text(struct import *import, const char *key, const char *text)
{
  if (text != NULL)
    believe_system(import, &(struct store_system_value){.key = key, .text = text});
}

void import_system_number(struct import *import, const char *key, double number)
{
  believe_system(import, &(struct store_system_value){.key = key, .number = number, .is_number = true});
}

void import_version(struct import *import, const char *format_version)
{
  import->sink->version = arena_copy(&import->sink->arena, format_version, strlen(format_version));
  if (import->sink->version == NULL)
    sink_fail_memory(import);
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
  sink->notes[sink->note_count] = arena_copy(&sink->arena, text, strlen(text));
  if (sink->notes[sink->note_count] != NULL)
    sink->note_count++;
  else
    sink_fail_memory(import);
}

// ---- accounts --------------------------------------------------------------------------------------------------------
void import_skip_many(struct import *import, const char *reason, uint64_t count)
{
  struct sink *sink = import->sink;
  size_t at = sink->last_skipped;
  if (count == 0)
    return;
  if (at >= sink->skipped_count || sink->skipped[at].reason != reason)
    for (at = 0; at < sink->skipped_count && strcmp(sink->skipped[at].reason, reason) != 0;)
      at++;
  if (at == sink->skipped_count) {
    struct import_count *skipped =
        sink_grow(sink->skipped, sink->skipped_count, &sink->skipped_capacity, sizeof *skipped);
    if (skipped == NULL) {
      sink_fail_memory(import);
      return;
    }
    sink->skipped = skipped;
    sink->skipped[sink->skipped_count++] = (struct import_count){reason, 0};
  }
  sink->skipped[at].count += count;
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

void import_not_an_event(struct import *import)
{
  import->sink->kept--;
  import->sink->events--;
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
