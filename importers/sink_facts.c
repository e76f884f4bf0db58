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
// Copies what the caller gave, but for the ids; --layer wins over what the importer says.
static void set_run(struct import *import, struct sink_run *entry, const struct store_run *run)
{
  struct sink *sink = import->sink;
  int64_t run_id = entry->run.run_id;
  double own_pct = entry->run.own_pct;
  entry->run = *run;
  entry->run.run_id = run_id;
  entry->run.own_pct = own_pct;
  if (run->experiment_id == 0 && sink->own_experiment_id == 0)
    sink->own_experiment_id = sink->next_experiment_id++;
  if (run->experiment_id == 0)
    entry->run.experiment_id = sink->own_experiment_id;
  const char *layer = import->options->layer != NULL ? import->options->layer : run->layer;
  entry->run.layer = layer == NULL ? NULL : arena_copy(&sink->arena, layer, strlen(layer));
}

int64_t import_run(struct import *import, const struct store_run *run)
{
  struct sink *sink = import->sink;
  struct sink_run *entry = memory_new(1, sizeof *entry);
  entry->run.run_id = sink->next_run_id++;
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

void import_run_shift(struct import *import, int64_t offset_ns)
{
  import->sink->run->shift_ns = offset_ns;
}

static bool same_text(const char *a, const char *b)
{
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_value(const struct store_system_value *a, const struct store_system_value *b)
{
  return a->is_number == b->is_number && (a->is_number ? a->number == b->number : same_text(a->text, b->text));
}

static bool same_system(const struct sink_experiment *known, const struct store_system_value *system, size_t count)
{
  bool is_same = known->system_count == count;
  for (size_t i = 0; i < count && is_same; i++)
    is_same = same_text(known->system[i].key, system[i].key) && same_value(&known->system[i], &system[i]);
  return is_same;
}

static bool same_experiment(const struct store_experiment *a, const struct store_experiment *b)
{
  return same_text(a->name, b->name) && same_text(a->workload, b->workload) && same_text(a->framework, b->framework) &&
         same_text(a->framework_version, b->framework_version) && same_text(a->command, b->command);
}

static const char *lasting(struct sink *sink, const char *text)
{
  return text == NULL ? NULL : arena_copy(&sink->lasting, text, strlen(text));
}

static struct store_system_value *copy_values(struct sink *sink, const struct store_system_value *values, size_t count)
{
  struct store_system_value *copies = arena_alloc_array(&sink->lasting, count + 1, sizeof *copies);
  for (size_t i = 0; i < count; i++) {
    copies[i] = values[i];
    copies[i].key = lasting(sink, values[i].key);
    copies[i].text = lasting(sink, values[i].text);
  }
  return copies;
}

// Rows are written by sink_finish. One that an earlier file of the call described alike is the same experiment; within
// one file the importer knows which are the same.
int64_t import_experiment(struct import *import, const struct store_experiment *experiment,
                          const struct store_system_value *system, size_t system_count)
{
  struct sink *sink = import->sink;
  for (size_t i = 0; i < sink->experiments.count; i++) {
    struct sink_experiment *known = &sink->experiments.items[i];
    if (known->file != sink->file && same_experiment(&known->row, experiment) &&
        same_system(known, system, system_count)) {
      known->file = sink->file;
      return known->row.experiment_id;
    }
  }
  struct sink_experiment *entry = vector_add(&sink->experiments);
  *entry = (struct sink_experiment){.row = *experiment,
                                    .system = copy_values(sink, system, system_count),
                                    .system_count = system_count,
                                    .file = sink->file};
  struct store_experiment *row = &entry->row;
  row->experiment_id = sink->next_experiment_id++;
  const char **texts[] = {&row->name,    &row->workload,   &row->framework, &row->framework_version,
                          &row->command, &row->xsp_version};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    *texts[i] = lasting(sink, *texts[i]);
  return row->experiment_id;
}

void import_experiment_model(struct import *import, int64_t experiment_id, const struct store_system_value *workload,
                             size_t count)
{
  struct sink *sink = import->sink;
  for (size_t i = 0; i < sink->experiments.count; i++) {
    struct sink_experiment *entry = &sink->experiments.items[i];
    if (entry->row.experiment_id != experiment_id || entry->workload_count > 0)
      continue;
    entry->workload = copy_values(sink, workload, count);
    entry->workload_count = count;
  }
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
  copy_text(import->sink, &row->name);
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

// ---- facts -----------------------------------------------------------------------------------------------------------
static void believe_first(struct import *import, const char *key, const char **known, unsigned *file, const char *text)
{
  struct sink *sink = import->sink;
  if (text == NULL || text[0] == 0)
    return;
  if (*known == NULL) {
    *known = lasting(sink, text);
    *file = sink->file;
  } else if (strcmp(*known, text) != 0 && *file != sink->file) {
    import_note(import, "its %s is %s; that of an earlier file, %s, is used for all", key, text, *known);
  }
}

void import_framework(struct import *import, const char *name, const char *version)
{
  believe_first(import, "framework", &import->sink->framework, &import->sink->framework_file, name);
  believe_first(import, "framework's version", &import->sink->framework_version, &import->sink->version_file, version);
}

static void believe_system(struct import *import, const struct store_system_value *value)
{
  struct sink *sink = import->sink;
  for (size_t i = 0; i < sink->facts.count; i++) {
    struct sink_fact *known = &sink->facts.items[i];
    if (strcmp(known->value.key, value->key) != 0)
      continue;
    if (!same_value(&known->value, value) && known->file != sink->file && known->said_by != sink->file) {
      known->said_by = sink->file;
      import_note(import,
                  "it comes from another system: %s differs from that of an earlier file, which is used for all",
                  value->key);
    }
    return;
  }
  if (sink->facts.count == SINK_FACTS_MOST) {
    import_note(import, "more than %u facts about the system: \"%.40s\" is left out", SINK_FACTS_MOST, value->key);
    return;
  }
  struct sink_fact *fact = vector_add(&sink->facts);
  *fact = (struct sink_fact){.value = *value, .file = sink->file};
  fact->value.key = lasting(sink, value->key);
  fact->value.text = lasting(sink, value->text);
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
