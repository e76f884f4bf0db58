// SPDX-License-Identifier: Apache-2.0
// Decoded spans and facts as rows of the store. Called by drain.c through struct ring_output, once a record. Fails once
// for all: the first error stays in the drain, and nothing is stored after it.
#include "collect/rows.h"

#include "base/hex.h"
#include "base/sorted.h"

#include <stdio.h>
#include <string.h>

void rows_flush(struct drain *drain)
{
  if (!rows_failed(drain) && drain->span_count)
    drain->status = store_add_spans(drain->store, drain->run_id, drain->spans, drain->span_count, drain->err);
  if (!rows_failed(drain) && drain->tag_count)
    drain->status = store_add_tags(drain->store, drain->run_id, drain->tags, drain->tag_count, drain->err);
  if (!rows_failed(drain) && drain->sample_count)
    drain->status = store_add_samples(drain->store, drain->run_id, drain->samples, drain->sample_count, drain->err);
  drain->span_count = drain->tag_count = drain->sample_count = 0;
}

static void add_tag(struct drain *drain, struct store_tag tag)
{
  if (drain->tag_count == ROWS_BATCH_TAGS)
    rows_flush(drain);
  drain->tags[drain->tag_count++] = tag;
}

static void add_text_tag(struct drain *drain, int64_t span_id, uint32_t key, const char *text)
{
  struct store_tag tag = {.span_id = span_id, .key = key, .type = STORE_TEXT};
  tag.value.string = store_string(drain->store, text, strlen(text));
  add_tag(drain, tag);
}

// Rows of equal intervals lie outermost first: at one level the later in the file is the inner. A thread's finished
// spans arrive innermost first, so an equal predecessor with a higher id (started later) is passed.
static void add_row(struct drain *drain, const struct store_span *row)
{
  if (drain->span_count == ROWS_BATCH_SPANS)
    rows_flush(drain);
  uint32_t place = drain->span_count++;
  while (place > 0 && drain->spans[place - 1].start_ns == row->start_ns &&
         drain->spans[place - 1].duration_ns == row->duration_ns && drain->spans[place - 1].track_id == row->track_id &&
         drain->spans[place - 1].span_id >> 32 == row->span_id >> 32 &&
         drain->spans[place - 1].span_id > row->span_id) {
    drain->spans[place] = drain->spans[place - 1];
    place--;
  }
  drain->spans[place] = *row;
}

// ---- tracks ---------------------------------------------------------------------------------------------------------

// The catalog's id of a track that a process made; 0: none.
static uint32_t made_track(const struct process_head *head, uint32_t number)
{
  bool is_made = head && number > 0 && number <= PROCESS_TRACKS;
  return is_made ? __atomic_load_n(&head->track[number - 1], __ATOMIC_ACQUIRE) : 0;
}

static struct session_rank rank_of(const struct process_head *head)
{
  struct session_rank rank = {.world_size = __atomic_load_n(&head->rank.world_size, __ATOMIC_ACQUIRE)};
  rank.rank = __atomic_load_n(&head->rank.rank, __ATOMIC_RELAXED);
  rank.local_rank = __atomic_load_n(&head->rank.local_rank, __ATOMIC_RELAXED);
  return rank;
}

struct track_process rows_describe(const struct collect_session *session, uint32_t process, uint32_t track,
                                   char command[257])
{
  struct track_process described = {.pid = 0};
  const struct process_head *head = collect_session_process(session, process);
  if (!head)
    return described;
  memcpy(command, head->command, sizeof head->command);
  command[sizeof head->command] = '\0';
  command[strcspn(command, " ")] = '\0';
  described.pid = head->pid;
  described.command = command;
  described.catalog_id = made_track(head, track);
  described.rank = rank_of(head);
  return described;
}

static void publish_track(struct drain *drain, struct track_entry *entry)
{
  char command[257];
  struct track_process process = rows_describe(drain->session, entry->process, entry->number, command);
  if (!rows_failed(drain))
    drain->status =
        tracks_publish(&drain->session->tracks, entry, &process, &drain->session->names, drain->run_id, drain->err);
}

// A process learns its rank when it joins its job, mostly after its first spans.
void rows_ranks(struct drain *drain)
{
  struct tracks *tracks = &drain->session->tracks;
  for (size_t i = 0; i < tracks->entries.count && !rows_failed(drain); i++) {
    struct track_entry *entry = &tracks->entries.items[i];
    const struct process_head *head =
        entry->run_id == drain->run_id ? collect_session_process(drain->session, entry->process) : NULL;
    if (head == NULL)
      continue;
    struct session_rank rank = rank_of(head);
    if (rank.world_size != 0 && (rank.world_size != entry->rank.world_size || rank.rank != entry->rank.rank))
      publish_track(drain, entry);
  }
}

// The thread that a made track stands for; 0: the track is its own.
static uint32_t thread_of(struct drain *drain, uint32_t process, uint32_t number)
{
  const struct process_head *head = number != 0 ? collect_session_process(drain->session, process) : NULL;
  uint32_t id = made_track(head, number);
  struct catalog_track made;
  return id != 0 && names_track(&drain->session->names, id, &made) ? made.thread_id : 0;
}

static void find_track(struct drain *drain, uint32_t process, uint64_t thread, uint32_t number)
{
  if (drain->track_id && drain->track_key[0] == process && drain->track_key[1] == thread &&
      drain->track_key[2] == number)
    return;
  uint32_t other = thread_of(drain, process, number);
  if (other != 0)
    thread = other, number = 0;
  struct track_entry *entry = tracks_find(&drain->session->tracks, process, thread, number);
  if (entry->run_id != drain->run_id)
    publish_track(drain, entry);
  drain->track_key[0] = process;
  drain->track_key[1] = thread;
  drain->track_key[2] = number;
  drain->track_id = tracks_id(&drain->session->tracks, entry);
  drain->track_foreign = entry->is_foreign;
}

void rows_thread_name(void *context, uint32_t process, uint64_t thread, uint32_t name)
{
  struct drain *drain = context;
  struct track_entry *entry = tracks_find(&drain->session->tracks, process, thread, 0);
  if (entry->name == name)
    return;
  entry->name = name;
  tracks_save(&drain->session->tracks, entry);
  if (entry->run_id == drain->run_id)
    publish_track(drain, entry);
}

// ---- spans ----------------------------------------------------------------------------------------------------------

static int64_t to_ns(const struct collect_session *session, unsigned clock, uint64_t time)
{
  int64_t ns = time > INT64_MAX ? INT64_MAX : (int64_t)time;
  switch (clock) {
  case XSP_CLOCK_TICKS:
    return clock_map_ticks(&session->clock, time);
  case XSP_CLOCK_REALTIME:
    return clock_map_realtime(&session->clock, ns);
  case XSP_CLOCK_MONOTONIC:
    return clock_map_monotonic(&session->clock, ns);
  default:
    return ns;
  }
}

// Recorded numbers repeat in every process; the store wants them unique in a run. Numbers that do not fit next to the
// process's number are spread by a hash, in a half of the range of their own.
static int64_t correlation_id(uint32_t process, uint64_t recorded)
{
  if (recorded < UINT64_C(1) << 40 && process < UINT32_C(1) << 22)
    return (int64_t)((uint64_t)process << 40 | recorded);
  uint64_t mixed = (recorded ^ recorded >> 31) * UINT64_C(0x9e3779b97f4a7c15) + process;
  mixed = (mixed ^ mixed >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
  return (int64_t)(UINT64_C(1) << 62 | mixed >> 2);
}

static bool is_known(const struct collect_session *session, int64_t span_id)
{
  size_t at = sorted_lower_bound_i64(span_id, session->known, session->known_count, sizeof span_id);
  return at < session->known_count && session->known[at] == span_id;
}

static uint32_t trace_of(struct drain *drain, const struct decoded_span *span)
{
  if (!span->has_trace)
    return drain->session->run_trace;
  if (drain->trace_id && memcmp(drain->trace_bytes, span->trace, sizeof span->trace) == 0)
    return drain->trace_id;
  char text[33];
  *hex_encode(text, span->trace, sizeof span->trace) = '\0';
  memcpy(drain->trace_bytes, span->trace, sizeof span->trace);
  if (!rows_failed(drain))
    drain->status = store_add_trace(drain->store, drain->run_id, text, &drain->trace_id, drain->err);
  return drain->trace_id;
}

static int64_t parent_of(const struct collect_session *session, const struct decoded_span *span)
{
  if (!span->has_parent || span->parent.id == 0 || span->parent.ring > RING_NUMBER_MAXIMUM)
    return 0;
  const struct ring_file *ring =
      span->parent.ring < session->rings.count ? &session->rings.items[span->parent.ring] : NULL;
  uint64_t reference = ring && ring->state == FILE_MAPPED ? ring->decoder.highest : 0;
  return ring_decode_span_id(span->parent.ring, ring_decode_unwrap(reference, span->parent.id));
}

static void add_span_tags(struct drain *drain, const struct decoded_span *span, const struct names_site *site)
{
  for (uint32_t i = 0; i < site->tag_count; i++) {
    struct store_tag tag = site->tags[i];
    tag.span_id = span->span_id;
    add_tag(drain, tag);
  }
  if (span->correlation) {
    struct store_tag tag = {.span_id = span->span_id, .key = drain->key_correlation, .type = STORE_INT};
    tag.value.integer = (int64_t)span->correlation;
    if (span->correlation <= INT64_MAX) {
      add_tag(drain, tag);
    } else {
      char text[24];
      snprintf(text, sizeof text, "%llu", (unsigned long long)span->correlation);
      add_text_tag(drain, span->span_id, drain->key_correlation, text);
    }
  }
  if (span->has_remote_parent) {
    char text[17];
    *hex_encode(text, span->remote_parent, sizeof span->remote_parent) = '\0';
    add_text_tag(drain, span->span_id, drain->key_remote_parent, text);
  }
}

// Where a span lies: its own track, or the thread's. False where its clock and its track contradict each other.
static bool place_span(struct drain *drain, const struct decoded_span *span)
{
  bool is_foreign = span->clock == XSP_CLOCK_FOREIGN;
  find_track(drain, span->process, span->thread, span->track);
  if (span->track && !is_foreign && drain->track_foreign) // wall time has no place there: it happened on the thread
    find_track(drain, span->process, span->thread, 0);
  return is_foreign == drain->track_foreign;
}

void rows_span(void *context, const struct decoded_span *span)
{
  struct drain *drain = context;
  struct collect_session *session = drain->session;
  if (rows_failed(drain))
    return;
  if (session->known_count && is_known(session, span->span_id)) {
    session->counts.repeated++;
    return;
  }
  const struct names_site *site = names_site(&session->names, span->site);
  if (!site || (span->clock != XSP_CLOCK_TICKS && (span->start > INT64_MAX || span->duration > INT64_MAX))) {
    session->counts.malformed++;
    return;
  }
  if (!place_span(drain, span)) {
    session->counts.misused++;
    return;
  }
  uint64_t end = span->start + span->duration;
  if (end < span->start)
    end = UINT64_MAX;
  struct store_span row = {.span_id = span->span_id,
                           .recorded_parent_id = parent_of(session, span),
                           .start_ns = to_ns(session, span->clock, span->start),
                           .trace_id = trace_of(drain, span),
                           .track_id = drain->track_id,
                           .name = site->name,
                           .category = site->category,
                           .tracer = site->tracer,
                           .context_id = site->context_id,
                           .level = site->level,
                           .kind = span->kind,
                           .flags =
                               (uint8_t)((span->open ? STORE_SPAN_OPEN : 0) | (site->is_step ? STORE_SPAN_STEP : 0))};
  if (!span->open && __builtin_sub_overflow(to_ns(session, span->clock, end), row.start_ns, &row.duration_ns))
    row.duration_ns = INT64_MAX;
  if (span->has_remote_parent && row.recorded_parent_id == 0)
    row.flags |= STORE_FLAG_BASIS(BASIS_EXPLICIT); // it is in no table
  if (span->path != 0)
    row.context_id = names_context(&session->names, span->path);
  if (span->correlation)
    row.correlation_id = correlation_id(span->process, span->correlation);
  add_row(drain, &row);
  add_span_tags(drain, span, site);
  session->counts.spans++;
}

// ---- samples --------------------------------------------------------------------------------------------------------

void rows_sample(void *context, const struct decoded_sample *sample)
{
  struct drain *drain = context;
  struct collect_session *session = drain->session;
  if (rows_failed(drain))
    return;
  if (sample->duration_ns > INT64_MAX) {
    session->counts.malformed++;
    return;
  }
  find_track(drain, sample->process, sample->thread, sample->track);
  if (drain->track_foreign) { // its clock is not the samples'
    session->counts.misused++;
    return;
  }
  if (drain->sample_count == ROWS_BATCH_SAMPLES)
    rows_flush(drain);
  drain->samples[drain->sample_count++] =
      (struct store_sample){.time_ns = clock_map_ticks(&session->clock, sample->ticks),
                            .duration_ns = (int64_t)sample->duration_ns,
                            .span_id = sample->span_id,
                            .track_id = drain->track_id,
                            .context_id = names_context(&session->names, sample->path),
                            .kind = sample->kind};
  session->counts.samples++;
}

// ---- facts ----------------------------------------------------------------------------------------------------------

static void add_log(struct drain *drain, int64_t span_id, const struct record *record)
{
  char text[8192]; // what is longer is cut
  if (rows_failed(drain) || !names_text(&drain->session->names, record->site, text, sizeof text))
    return;
  drain->status = store_add_log(drain->store, drain->run_id, span_id,
                                clock_map_ticks(&drain->session->clock, record->start), text, strlen(text), drain->err);
}

void rows_fact(void *context, int64_t span_id, const struct record *record)
{
  struct drain *drain = context;
  struct names *names = &drain->session->names;
  if (drain->session->known_count && is_known(drain->session, span_id))
    return;
  struct store_tag tag = {.key = drain->key_correlation, .type = STORE_INT, .value.integer = (int64_t)record->start};
  bool is_known_tag = true;
  switch (record->type) {
  case RECORD_LOG:
    add_log(drain, span_id, record);
    return;
  case RECORD_TAG_INT:
    is_known_tag = names_tag(names, record->site, VALUE_INT, record->start, &tag);
    break;
  case RECORD_TAG_DOUBLE:
    is_known_tag = names_tag(names, record->site, VALUE_DOUBLE, record->start, &tag);
    break;
  case RECORD_TAG_STRING:
    is_known_tag = names_tag(names, record->site, VALUE_STRING, record->start, &tag);
    break;
  case RECORD_CORRELATION: // too late for the span's row: kept as a tag
    break;
  default:
    drain->session->counts.orphans++;
    return;
  }
  tag.span_id = span_id;
  if (is_known_tag)
    add_tag(drain, tag);
  else
    drain->session->counts.malformed++;
}
