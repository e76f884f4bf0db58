// SPDX-License-Identifier: Apache-2.0
// Loads what the export to OTLP says of spans beside their columns, sorted by span. Called by export_otlp.c, run by run.
#include "report/exports/otlp_facts.h"

#include "base/hex.h"
#include "base/memory.h"
#include "base/sorted.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- rows of plain tables --------------------------------------------------------------------------------------------
struct rows { // of one query; `count` first, then again to keep them
  struct arena *arena;
  struct otlp_facts *facts;
  size_t count;
  bool is_keeping;
};

static const char *copy_text(struct arena *arena, const struct store_cell *cell)
{
  return cell->type == STORE_TEXT ? arena_copy(arena, cell->text, cell->length) : arena_copy(arena, "", 0);
}

static enum status keep_trace(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct rows *rows = context;
  (void)count;
  if (rows->is_keeping) {
    struct otlp_trace *trace = &rows->facts->traces[rows->count];
    *trace = (struct otlp_trace){cells[0].integer, copy_text(rows->arena, &cells[1])};
  }
  rows->count++;
  return STATUS_OK;
}

static enum status keep_message(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct rows *rows = context;
  (void)count;
  if (rows->is_keeping) {
    struct otlp_log *message = &rows->facts->messages[rows->count];
    *message = (struct otlp_log){cells[0].type == STORE_INT ? cells[0].integer : 0, cells[1].integer,
                                 copy_text(rows->arena, &cells[2]), cells[2].type == STORE_TEXT ? cells[2].length : 0};
  }
  rows->count++;
  return STATUS_OK;
}

static enum status keep_note(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct rows *rows = context;
  (void)count;
  if (rows->is_keeping) {
    struct otlp_note *note = &rows->facts->notes[rows->count];
    *note = (struct otlp_note){cells[0].integer, copy_text(rows->arena, &cells[1]), copy_text(rows->arena, &cells[2])};
  }
  rows->count++;
  return STATUS_OK;
}

typedef enum status row_keeper(void *context, const struct store_cell *cells, size_t count, struct error *err);

static enum status ask(struct store *store, struct rows *rows, const char *sql, row_keeper *keep, struct error *err)
{
  const struct store_query_sink sink = {.context = rows, .row = keep};
  rows->count = 0;
  return store_query(store, sql, &sink, err);
}

// Each question is put twice: an array is as large as it must be, and the arena holds nothing twice.
static enum status load_tables(struct store *store, struct otlp_facts *facts, struct arena *arena, struct error *err)
{
  char traces[128], messages[128], notes[128];
  struct rows rows = {arena, facts, 0, false};
  int64_t run_id = facts->run->run_id;
  snprintf(traces, sizeof traces, "select trace_id, text from trace where run_id = %" PRId64 " order by 1", run_id);
  snprintf(messages, sizeof messages,
           "select span_id, time_ns, message from log where run_id = %" PRId64 " order by coalesce(span_id, 0), rowid",
           run_id);
  snprintf(notes, sizeof notes, "select run_id, key, value from note where run_id in (0, %" PRId64 ") order by rowid",
           run_id);
  XSP_TRY(ask(store, &rows, traces, keep_trace, err));
  facts->trace_count = rows.count;
  XSP_TRY(ask(store, &rows, messages, keep_message, err));
  facts->message_count = rows.count;
  XSP_TRY(ask(store, &rows, notes, keep_note, err));
  facts->note_count = rows.count;
  facts->traces = arena_alloc_array(arena, facts->trace_count + 1, sizeof *facts->traces);
  facts->messages = arena_alloc_array(arena, facts->message_count + 1, sizeof *facts->messages);
  facts->notes = arena_alloc_array(arena, facts->note_count + 1, sizeof *facts->notes);
  rows.is_keeping = true;
  XSP_TRY(ask(store, &rows, traces, keep_trace, err));
  XSP_TRY(ask(store, &rows, messages, keep_message, err));
  return ask(store, &rows, notes, keep_note, err);
}

// ---- tags and observations by span -----------------------------------------------------------------------------------
struct tag_at {
  struct store_tag tag;
  size_t at; // in the file
};

static int by_span(const void *a, const void *b)
{
  const struct tag_at *left = a, *right = b;
  if (left->tag.span_id != right->tag.span_id)
    return left->tag.span_id < right->tag.span_id ? -1 : 1;
  return (left->at > right->at) - (left->at < right->at);
}

static enum status load_tags(struct store *store, struct otlp_facts *facts, struct arena *arena, struct error *err)
{
  XSP_TRY(store_load_tags(store, facts->run->run_id, arena, &facts->tags, &facts->tag_count, err));
  bool is_sorted = true;
  for (size_t i = 1; i < facts->tag_count; i++)
    is_sorted &= facts->tags[i - 1].span_id <= facts->tags[i].span_id;
  if (is_sorted)
    return STATUS_OK;
  struct tag_at *sorted = memory_new(facts->tag_count, sizeof *sorted);
  for (size_t i = 0; i < facts->tag_count; i++)
    sorted[i] = (struct tag_at){facts->tags[i], i};
  qsort(sorted, facts->tag_count, sizeof *sorted, by_span);
  for (size_t i = 0; i < facts->tag_count; i++)
    facts->tags[i] = sorted[i].tag;
  free(sorted);
  return STATUS_OK;
}

static int by_observed_span(const void *a, const void *b)
{
  const struct store_observation *left = a, *right = b;
  return (left->span_id > right->span_id) - (left->span_id < right->span_id);
}

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

// ---- which tracks and traces have spans ------------------------------------------------------------------------------
static size_t find_track(const struct otlp_facts *facts, uint32_t track_id)
{
  size_t at = facts->track_count == 0 ? 0
                                      : sorted_lower_bound_i64(track_id, &facts->tracks[0].track_id, facts->track_count,
                                                               sizeof facts->tracks[0]);
  return at < facts->track_count && facts->tracks[at].track_id == track_id ? at : SIZE_MAX;
}

struct survey {
  struct otlp_facts *facts;
  uint32_t last_track, first_trace;
  bool has_span;
};

static enum status survey_rows(void *context, size_t first_row, const struct store_spans *spans,
                               const struct store_derived *derived, struct error *err)
{
  struct survey *survey = context;
  struct otlp_facts *facts = survey->facts;
  (void)first_row;
  (void)derived;
  (void)err;
  for (size_t i = 0; i < spans->count; i++) {
    uint32_t trace = spans->trace_id[i];
    facts->has_own_trace |= trace == 0;
    facts->has_many_traces |= survey->has_span && trace != survey->first_trace;
    survey->first_trace = survey->has_span ? survey->first_trace : trace;
    survey->has_span = true;
    if (spans->track_id[i] == survey->last_track)
      continue;
    survey->last_track = spans->track_id[i];
    size_t track = find_track(facts, survey->last_track);
    if (track != SIZE_MAX)
      facts->track_is_used[track] = true;
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

// False: no lower-case hex digits of 16 bytes that are not all zero.
static bool read_hex(const char *text, uint8_t ret_bytes[16])
{
  static const uint8_t zero[16];
  return strlen(text) == 32 && strpbrk(text, "ABCDEF") == NULL && hex_decode(text, ret_bytes, 16) &&
         memcmp(ret_bytes, zero, sizeof zero) != 0;
}

void otlp_facts_trace(const struct otlp_facts *facts, uint32_t trace_id, uint8_t ret_bytes[16], const char **ret_text)
{
  *ret_text = NULL;
  if (trace_id == 0) {
    memcpy(ret_bytes, facts->own_trace, sizeof facts->own_trace);
    return;
  }
  const struct otlp_trace *traces = facts->traces;
  size_t at = facts->trace_count == 0
                  ? 0
                  : sorted_lower_bound_i64(trace_id, &traces[0].trace_id, facts->trace_count, sizeof traces[0]);
  bool is_known = at < facts->trace_count && traces[at].trace_id == trace_id;
  const char *text = is_known ? traces[at].text : "";
  if (read_hex(text, ret_bytes))
    return;
  hash_text(text, strlen(text), trace_id, ret_bytes);
  *ret_text = is_known ? text : NULL;
}

// ---- all of it -------------------------------------------------------------------------------------------------------
enum status otlp_facts_load(struct store *store, struct otlp_facts *facts, struct arena *arena, struct error *err)
{
  const uint32_t mask = STORE_BIT(STORE_TRACE_ID) | STORE_BIT(STORE_TRACK_ID);
  struct survey survey = {.facts = facts};
  XSP_TRY(load_tables(store, facts, arena, err));
  XSP_TRY(load_tags(store, facts, arena, err));
  XSP_TRY(load_observations(store, facts, arena, err));
  XSP_TRY(store_tracks(store, facts->run->run_id, arena, &facts->tracks, &facts->track_count, err));
  facts->track_is_used = arena_alloc_array(arena, facts->track_count + 1, sizeof *facts->track_is_used);
  const char *name = facts->experiment != NULL && facts->experiment->name != NULL ? facts->experiment->name : "";
  int64_t salt = facts->run->run_id ^ (facts->experiment != NULL ? facts->experiment->created_ns : 0);
  hash_text(name, strlen(name), salt, facts->own_trace);
  return store_walk_spans(store, facts->run->run_id, mask, survey_rows, &survey, err);
}

const struct store_track *otlp_facts_track(const struct otlp_facts *facts, uint32_t track_id)
{
  size_t track = find_track(facts, track_id);
  return track != SIZE_MAX ? &facts->tracks[track] : NULL;
}

size_t otlp_facts_first_tag(const struct otlp_facts *facts, int64_t span_id)
{
  return facts->tag_count == 0
             ? 0
             : sorted_lower_bound_i64(span_id, &facts->tags[0].span_id, facts->tag_count, sizeof facts->tags[0]);
}

size_t otlp_facts_first_message(const struct otlp_facts *facts, int64_t span_id)
{
  return facts->message_count == 0 ? 0
                                   : sorted_lower_bound_i64(span_id, &facts->messages[0].span_id, facts->message_count,
                                                            sizeof facts->messages[0]);
}

int64_t otlp_facts_observation(const struct otlp_facts *facts, int64_t span_id)
{
  const struct store_observation wanted = {.span_id = span_id};
  const struct store_observation *found = NULL;
  if (facts->observation_count > 0)
    found = bsearch(&wanted, facts->observations, facts->observation_count, sizeof wanted, by_observed_span);
  return found != NULL ? found->observation : -1;
}
