// SPDX-License-Identifier: Apache-2.0
// Loads what the export to OTLP needs of a run besides its columns, sorted by span. Called by otlp.c for each run.
#include "report/exports/otlp_facts.h"

#include "base/hex.h"
#include "base/sorted.h"
#include "otlp/attributes.h"
#include "report/exports/timeline.h"

#include <stdlib.h>
#include <string.h>

// ---- observations by span --------------------------------------------------------------------------------------------
SORTED_BY(by_observed_span, struct store_observation, RISING(span_id))

static enum status load_observations(struct store *store, struct otlp_facts *facts, struct arena *arena,
                                     struct error *err)
{
  size_t kept = 0;
  XSP_TRY(store_observations(store, facts->run->run_id, arena, &facts->observations, &facts->observation_count, err));
  for (size_t i = 0; i < facts->observation_count; i++)
    if (facts->observations[i].span_id != 0)
      facts->observations[kept++] = facts->observations[i];
  facts->observation_count = kept;
  qsort(facts->observations, kept, sizeof *facts->observations, by_observed_span);
  return STATUS_OK;
}

// ---- which tracks and traces have spans, and whether their ids rise --------------------------------------------------
const struct store_track *otlp_facts_track(const struct otlp_facts *facts, uint32_t track_id)
{
  const struct store_track *tracks = facts->tracks;
  size_t at = sorted_lower_bound_i64(track_id, &tracks->track_id, facts->track_count, sizeof *tracks);
  return at < facts->track_count && tracks[at].track_id == track_id ? &tracks[at] : NULL;
}

struct survey {
  struct otlp_facts *facts;
  uint32_t last_track, first_trace;
  bool has_span;
  int64_t most_id; // of the parts so far
};

struct id_range {
  int64_t least, most;
};

static struct id_range range_of(const struct store_spans *spans)
{
  struct id_range range = {INT64_MAX, INT64_MIN};
  for (size_t row = 0; row < spans->count; row++) {
    int64_t id = spans->span_id[row];
    range.least = id < range.least ? id : range.least;
    range.most = id > range.most ? id : range.most;
  }
  return range;
}

static enum status survey_rows(void *context, size_t first_row, const struct store_spans *spans,
                               const struct store_derived *derived, struct error *err)
{
  struct survey *survey = context;
  struct otlp_facts *facts = survey->facts;
  struct id_range ids = range_of(spans);
  facts->has_all_tags |= survey->has_span && ids.least <= survey->most_id;
  survey->most_id = survey->has_span && survey->most_id > ids.most ? survey->most_id : ids.most;
  for (size_t i = 0; i < spans->count; i++) {
    uint32_t trace = spans->trace_id[i];
    facts->has_own_trace |= trace == 0;
    facts->has_many_traces |= survey->has_span && trace != survey->first_trace;
    survey->first_trace = survey->has_span ? survey->first_trace : trace;
    survey->has_span = true;
    if (spans->track_id[i] == survey->last_track)
      continue;
    survey->last_track = spans->track_id[i];
    const struct store_track *track = otlp_facts_track(facts, survey->last_track);
    if (track != NULL)
      facts->track_is_used[track - facts->tracks] = true;
  }
  return STATUS_OK;
}

// ---- traces ----------------------------------------------------------------------------------------------------------
static uint64_t mix(uint64_t hash, uint64_t word)
{
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

// Bytes that stand for a text: not random, so that a file is exported alike each time.
static void hash_text(const char *text, size_t length, int64_t salt, uint8_t ret_bytes[16])
{
  uint64_t words[2] = {mix(UINT64_C(0x585350), (uint64_t)salt), mix(UINT64_C(0x4f544c50), length)};
  for (size_t i = 0; i < length; i++)
    for (int j = 0; j < 2; j++)
      words[j] = mix(words[j], (unsigned char)text[i]);
  words[0] |= 1; // never all zero: that is no trace id
  memcpy(ret_bytes, words, sizeof words);
}

// A trace id as profilers write it: 32 lower-case hex digits, not all 0.
static bool read_hex(const char *text, uint8_t ret_bytes[16])
{
  static const uint8_t zero[16];
  return strlen(text) == 32 && strpbrk(text, "ABCDEF") == NULL && hex_decode(text, ret_bytes, 16) &&
         memcmp(ret_bytes, zero, sizeof zero) != 0;
}

void otlp_facts_span_id(const struct otlp_facts *facts, int64_t span_id, uint8_t ret_bytes[8])
{
  const uint64_t id = (facts->span_base + (uint64_t)span_id) & INT64_MAX;
  for (size_t i = 0; i < 8; i++)
    ret_bytes[i] = (uint8_t)(id >> (56 - 8 * i));
}

void otlp_facts_trace(const struct otlp_facts *facts, uint32_t trace_id, uint8_t ret_bytes[16], const char **ret_text)
{
  *ret_text = NULL;
  if (trace_id == 0) {
    memcpy(ret_bytes, facts->own_trace, sizeof facts->own_trace);
    return;
  }
  const struct store_trace *traces = facts->traces;
  size_t at = sorted_lower_bound_i64(trace_id, &traces->trace_id, facts->trace_count, sizeof *traces);
  bool is_known = at < facts->trace_count && traces[at].trace_id == trace_id;
  const char *text = is_known ? traces[at].text : "";
  if (read_hex(text, ret_bytes))
    return;
  hash_text(text, strlen(text), trace_id, ret_bytes);
  *ret_text = is_known ? text : NULL;
}

// ---- parents outside the file ----------------------------------------------------------------------------------------
static bool read_span_id(const char *text, size_t length, uint8_t ret_bytes[8])
{
  return length == 16 && hex_decode(text, ret_bytes, 8);
}

bool otlp_facts_remote_parent(struct store *store, const struct otlp_facts *facts, int64_t span_id,
                              uint8_t ret_bytes[8])
{
  uint32_t key;
  size_t length;
  bool has_key = store_find_string(store, "remote_parent", 13, &key);
  for (size_t i = otlp_facts_first_tag(facts, span_id);
       has_key && i < facts->tag_count && facts->tags[i].span_id == span_id; i++)
    if (facts->tags[i].key == key && facts->tags[i].type == STORE_TEXT) {
      const char *text = store_text(store, facts->tags[i].value.string, &length);
      return read_span_id(text, length, ret_bytes);
    }
  return facts->caller != NULL && read_span_id(facts->caller, strlen(facts->caller), ret_bytes);
}

// What the run's notes say about its place in a trace.
static void take_note(struct otlp_facts *facts, const struct store_note *note)
{
  if (note->run_id != facts->run->run_id || note->value == NULL)
    return;
  if (strcmp(note->key, "remote_parent") == 0)
    facts->caller = note->value;
  else if (strcmp(note->key, OTLP_NOTE_SPAN_BASE) == 0)
    facts->span_base = strtoull(note->value, NULL, 16) & INT64_MAX;
}

// ---- all of it -------------------------------------------------------------------------------------------------------
static enum status load_run(struct store *store, struct otlp_facts *facts, struct arena *arena, struct error *err)
{
  int64_t run_id = facts->run->run_id;
  if (facts->experiment != NULL) {
    XSP_TRY(store_system(store, facts->experiment->system_id, arena, &facts->system, &facts->system_count, err));
    XSP_TRY(
        store_workload(store, facts->experiment->experiment_id, arena, &facts->workload, &facts->workload_count, err));
  }
  XSP_TRY(store_traces(store, run_id, arena, &facts->traces, &facts->trace_count, err));
  XSP_TRY(store_notes(store, run_id, arena, &facts->notes, &facts->note_count, err));
  for (size_t i = 0; i < facts->note_count; i++)
    take_note(facts, &facts->notes[i]);
  XSP_TRY(store_tracks(store, run_id, arena, &facts->tracks, &facts->track_count, err));
  facts->track_is_used = arena_alloc_array(arena, facts->track_count, sizeof *facts->track_is_used);
  const char *name = facts->experiment != NULL && facts->experiment->name != NULL ? facts->experiment->name : "";
  int64_t salt = run_id ^ (facts->experiment != NULL ? facts->experiment->created_ns : 0);
  hash_text(name, strlen(name), salt, facts->own_trace);
  return STATUS_OK;
}

enum status otlp_facts_load_part(struct store *store, struct otlp_facts *facts, const struct store_place *from,
                                 const struct store_place *to, struct arena *arena, struct error *err)
{
  int64_t run_id = facts->run->run_id;
  XSP_TRY(load_run(store, facts, arena, err));
  XSP_TRY(store_logs_from(store, run_id, from->logs, to->logs, arena, &facts->logs, &facts->log_count, err));
  XSP_TRY(store_load_tags_from(store, run_id, from->tags, to->tags, arena, &facts->tags, &facts->tag_count, err));
  timeline_sort_tags(facts->tags, facts->tag_count);
  facts->run_goes_on = facts->has_own_trace = facts->has_many_traces = true;
  return STATUS_OK;
}

enum status otlp_facts_load(struct store *store, struct otlp_facts *facts, struct arena *arena, struct error *err)
{
  const uint32_t mask = STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_TRACE_ID) | STORE_BIT(STORE_TRACK_ID);
  struct survey survey = {.facts = facts};
  int64_t run_id = facts->run->run_id;
  XSP_TRY(load_run(store, facts, arena, err));
  XSP_TRY(store_logs(store, run_id, arena, &facts->logs, &facts->log_count, err));
  XSP_TRY(load_observations(store, facts, arena, err));
  XSP_TRY(store_walk_spans(store, run_id, mask, survey_rows, &survey, err));
  if (!facts->has_all_tags)
    return STATUS_OK;
  XSP_TRY(store_load_tags(store, run_id, arena, &facts->tags, &facts->tag_count, err));
  timeline_sort_tags(facts->tags, facts->tag_count);
  return STATUS_OK;
}

enum status otlp_facts_load_tags(struct store *store, struct otlp_facts *facts, const struct store_spans *spans,
                                 struct arena *arena, struct error *err)
{
  struct id_range ids = range_of(spans);
  if (facts->run_goes_on || facts->has_all_tags)
    return STATUS_OK;
  XSP_TRY(store_load_tags_between(store, facts->run->run_id, ids.least, ids.most, arena, &facts->tags,
                                  &facts->tag_count, err));
  timeline_sort_tags(facts->tags, facts->tag_count);
  return STATUS_OK;
}

size_t otlp_facts_first_tag(const struct otlp_facts *facts, int64_t span_id)
{
  return timeline_first_tag(facts->tags, facts->tag_count, span_id);
}

size_t otlp_facts_first_message(const struct otlp_facts *facts, int64_t span_id)
{
  return sorted_lower_bound_i64(span_id, &facts->logs->span_id, facts->log_count, sizeof *facts->logs);
}

int64_t otlp_facts_observation(const struct otlp_facts *facts, int64_t span_id)
{
  const struct store_observation wanted = {.span_id = span_id};
  const struct store_observation *found =
      sorted_find(&wanted, facts->observations, facts->observation_count, sizeof wanted, by_observed_span);
  return found != NULL ? found->observation : -1;
}
