// SPDX-License-Identifier: Apache-2.0
// Decoded spans and facts into the store: times, tracks, names, correlation ids. Called by the capturing verbs between
// observations, or from time to time. Reads each ring once, up to the clock reading taken first; bounded by the rings.
#include "collect/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCH_SPANS 1024u
#define BATCH_TAGS 2048u
#define FUTURE_TICKS_MOST (UINT64_C(1) << 33) // a record further ahead of the clock than seconds is no record in time

struct drain {
  struct collect_session *session;
  struct store *store;
  int64_t run_id;
  struct error *err;
  enum status status; // sticky
  uint32_t key_correlation, key_remote_parent;
  uint32_t trace_id; // of trace_bytes in this run; 0: none yet
  uint8_t trace_bytes[16];
  uint64_t track_key[3]; // the last one found: process, thread, number
  uint32_t track_id;     // 0: none
  bool track_foreign;
  uint32_t span_count, tag_count;
  struct store_span spans[BATCH_SPANS];
  struct store_tag tags[BATCH_TAGS];
};

static bool has_failed(const struct drain *drain)
{
  return drain->status != STATUS_OK;
}

static void flush(struct drain *drain)
{
  if (!has_failed(drain) && drain->span_count)
    drain->status = store_add_spans(drain->store, drain->run_id, drain->spans, drain->span_count, drain->err);
  if (!has_failed(drain) && drain->tag_count)
    drain->status = store_add_tags(drain->store, drain->run_id, drain->tags, drain->tag_count, drain->err);
  drain->span_count = drain->tag_count = 0;
}

static void add_tag(struct drain *drain, struct store_tag tag)
{
  if (drain->tag_count == BATCH_TAGS)
    flush(drain);
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
  if (drain->span_count == BATCH_SPANS)
    flush(drain);
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

static struct track_process describe(const struct collect_session *session, uint32_t process, uint32_t track,
                                     char command[257])
{
  struct track_process described = {0, NULL, 0};
  const struct process_head *head = session_process(session, process);
  if (!head)
    return described;
  memcpy(command, head->command, sizeof head->command);
  command[sizeof head->command] = '\0';
  command[strcspn(command, " ")] = '\0';
  described.pid = head->pid;
  described.command = command;
  if (track > 0 && track <= PROCESS_TRACKS)
    described.catalog_id = __atomic_load_n(&head->track[track - 1], __ATOMIC_ACQUIRE);
  return described;
}

static void publish_track(struct drain *drain, struct track_entry *entry)
{
  char command[257];
  struct track_process process = describe(drain->session, entry->process, entry->number, command);
  if (!has_failed(drain))
    drain->status =
        tracks_publish(&drain->session->tracks, entry, &process, &drain->session->names, drain->run_id, drain->err);
}

static void find_track(struct drain *drain, uint32_t process, uint64_t thread, uint32_t number)
{
  if (drain->track_id && drain->track_key[0] == process && drain->track_key[1] == thread &&
      drain->track_key[2] == number)
    return;
  struct track_entry *entry = tracks_find(&drain->session->tracks, process, thread, number);
  if (!entry) {
    drain->status =
        error_set(drain->err, STATUS_MEMORY, "cannot drain the capture session", NULL, NULL, "out of memory");
    return;
  }
  if (entry->run_id != drain->run_id)
    publish_track(drain, entry);
  drain->track_key[0] = process;
  drain->track_key[1] = thread;
  drain->track_key[2] = number;
  drain->track_id = tracks_id(&drain->session->tracks, entry);
  drain->track_foreign = entry->is_foreign;
}

static void on_thread_name(void *context, uint32_t process, uint64_t thread, uint32_t name)
{
  struct drain *drain = context;
  struct track_entry *entry = tracks_find(&drain->session->tracks, process, thread, 0);
  if (!entry || entry->name == name)
    return;
  entry->name = name;
  tracks_save(&drain->session->tracks, entry);
  if (drain->store && entry->run_id == drain->run_id)
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

// Recorded numbers repeat in every process; the store wants them unique in a run. Numbers that do not fit beside the
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
  size_t low = 0, high = session->known_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (session->known[middle] < span_id)
      low = middle + 1;
    else
      high = middle;
  }
  return low < session->known_count && session->known[low] == span_id;
}

static uint32_t trace_of(struct drain *drain, const struct decoded_span *span)
{
  if (!span->has_trace)
    return drain->session->run_trace;
  if (drain->trace_id && memcmp(drain->trace_bytes, span->trace, sizeof span->trace) == 0)
    return drain->trace_id;
  char text[33];
  for (size_t i = 0; i < sizeof span->trace; i++)
    snprintf(text + 2 * i, 3, "%02x", span->trace[i]);
  memcpy(drain->trace_bytes, span->trace, sizeof span->trace);
  if (!has_failed(drain))
    drain->status = store_add_trace(drain->store, drain->run_id, text, &drain->trace_id, drain->err);
  return drain->trace_id;
}

static int64_t parent_of(const struct collect_session *session, const struct decoded_span *span)
{
  if (!span->has_parent || span->parent.id == 0 || span->parent.ring > RING_NUMBER_MAXIMUM)
    return 0;
  const struct ring_file *ring = span->parent.ring < session->ring_count ? &session->rings[span->parent.ring] : NULL;
  uint64_t reference = ring && ring->state == FILE_MAPPED ? ring->decoder.highest : 0;
  return ring_span_id(span->parent.ring, ring_unwrap(reference, span->parent.id));
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
    for (size_t i = 0; i < sizeof span->remote_parent; i++)
      snprintf(text + 2 * i, 3, "%02x", span->remote_parent[i]);
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

static void on_span(void *context, const struct decoded_span *span)
{
  struct drain *drain = context;
  struct collect_session *session = drain->session;
  if (has_failed(drain))
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
                           .level = site->level,
                           .kind = span->kind,
                           .flags = span->open ? STORE_SPAN_OPEN : 0};
  if (!span->open && __builtin_sub_overflow(to_ns(session, span->clock, end), row.start_ns, &row.duration_ns))
    row.duration_ns = INT64_MAX;
  if (span->correlation)
    row.correlation_id = correlation_id(span->process, span->correlation);
  add_row(drain, &row);
  add_span_tags(drain, span, site);
  session->counts.spans++;
}

// ---- facts ----------------------------------------------------------------------------------------------------------

static void add_log(struct drain *drain, int64_t span_id, const struct record *record)
{
  char text[8192]; // what is longer is cut
  if (has_failed(drain) || !names_text(&drain->session->names, record->site, text, sizeof text))
    return;
  drain->status = store_add_log(drain->store, drain->run_id, span_id,
                                clock_map_ticks(&drain->session->clock, record->start), text, strlen(text), drain->err);
}

static void on_fact(void *context, int64_t span_id, const struct record *record)
{
  struct drain *drain = context;
  struct names *names = &drain->session->names;
  if (drain->session->known_count && is_known(drain->session, span_id))
    return;
  struct store_tag tag = {.span_id = span_id, .type = STORE_INT};
  switch (record->type) {
  case RECORD_LOG:
    add_log(drain, span_id, record);
    return;
  case RECORD_TAG_INT:
    tag.value.integer = (int64_t)record->start;
    break;
  case RECORD_TAG_DOUBLE:
    tag.type = STORE_DOUBLE;
    memcpy(&tag.value.real, &record->start, sizeof record->start);
    break;
  case RECORD_TAG_STRING:
    tag.type = STORE_TEXT;
    tag.value.string = record->start > UINT32_MAX ? 0 : names_string(names, (uint32_t)record->start);
    break;
  case RECORD_CORRELATION: // too late for the span's row: kept as a tag
    tag.key = drain->key_correlation;
    tag.value.integer = (int64_t)record->start;
    add_tag(drain, tag);
    return;
  default:
    drain->session->counts.orphans++;
    return;
  }
  tag.key = names_string(names, record->site);
  if (tag.key)
    add_tag(drain, tag);
  else
    drain->session->counts.malformed++;
}

// ---- rings ----------------------------------------------------------------------------------------------------------

// Is the record later than the clock reading that this drain converts by? Then it waits for the next drain, so that
// every time is converted between two readings, for good.
static bool is_later(const struct record *record, uint64_t horizon)
{
  uint64_t ticks;
  if (record->type == RECORD_SPAN && record->kind_clock >> 4 == XSP_CLOCK_TICKS)
    ticks = record->start + record->duration;
  else if (record->type == RECORD_LOG || record->type == RECORD_OPEN)
    ticks = record->start;
  else
    return false;
  return ticks > horizon && ticks - horizon < FUTURE_TICKS_MOST;
}

// What a predecessor stored already, or what is thrown away: threads get their names, nothing else happens.
static void skip_span(void *context, const struct decoded_span *span)
{
}

static void skip_fact(void *context, int64_t span_id, const struct record *record)
{
}

static void decode(struct drain *drain, struct ring_file *ring, const struct record *record,
                   const struct ring_output *output)
{
  const struct ring_output quiet = {drain, skip_span, skip_fact, on_thread_name};
  bool is_replay = ring->position < ring->replay_end;
  drain->session->counts.records += !is_replay;
  ring_decode(&ring->decoder, record, ring->position, is_replay ? &quiet : output);
}

static void end_replay(struct ring_file *ring)
{
  if (ring->owner_known || ring->position < ring->replay_end)
    return;
  ring->owner_known = true;
  if (ring->replay_end == 0)
    return; // never drained before
  ring->decoder.thread = ring->view.head->stored_thread;
  ring->decoder.process = ring->view.head->stored_process;
}

// Up to the first slot that is not complete.
static void drain_ring(struct drain *drain, struct ring_file *ring, const struct ring_output *output, bool is_final)
{
  uint64_t horizon = is_final ? UINT64_MAX : clock_map_horizon(&drain->session->clock);
  uint64_t end = ring->position + ring->view.record_count;
  struct record record;
  while (ring->position < end && !has_failed(drain)) {
    end_replay(ring);
    enum ring_slot slot = ring_read(&ring->view, ring->position, &record);
    if (slot == RING_SLOT_OVERWRITTEN) { // a hostile writer, or a limit that was not kept: the rest is still good
      drain->session->counts.overwritten++;
    } else if (slot == RING_SLOT_EMPTY || is_later(&record, horizon)) {
      break;
    } else {
      decode(drain, ring, &record, output);
    }
    ring->position++;
  }
  end_replay(ring);
}

// Behind incomplete slots too, up to all that was handed out. The writers are gone, or are being left.
static void drain_rest(struct drain *drain, struct ring_file *ring, const struct ring_output *output)
{
  struct ring_head *head = ring->view.head;
  uint64_t first = __atomic_load_n(&head->producer.head, __ATOMIC_ACQUIRE), count = ring->view.record_count;
  if (drain->session->flight_recorder && first > ring->position + count) {
    drain->session->counts.overwritten += first - count - ring->position;
    ring->position = first - count;
  }
  uint64_t end = first - ring->position <= count ? first : ring->position + count;
  struct record record;
  for (; ring->position < end && first >= ring->position && !has_failed(drain); ring->position++) {
    end_replay(ring);
    enum ring_slot slot = ring_read(&ring->view, ring->position, &record);
    // A flight recorder that still writes: a slot handed out again may hold half of a new record under the old mark.
    if (drain->session->flight_recorder &&
        __atomic_load_n(&head->producer.head, __ATOMIC_ACQUIRE) > ring->position + count)
      slot = RING_SLOT_OVERWRITTEN;
    if (slot == RING_SLOT_RECORD)
      decode(drain, ring, &record, output);
    else if (slot == RING_SLOT_EMPTY)
      drain->session->counts.torn++;
    else
      drain->session->counts.overwritten++;
  }
  end_replay(ring);
  for (uint32_t i = 0; i < RING_OPEN_SPANS && !has_failed(drain); i++) {
    const struct open_span *place = &head->producer.open[i];
    struct open_span open = {.start = __atomic_load_n(&place->start, __ATOMIC_ACQUIRE)};
    open.site = place->site;
    open.id = place->id;
    ring_decode_open(&ring->decoder, &open, output);
  }
}

// A flight recorder's oldest retained slots may lie before the RECORD_THREAD that named their owner. Where no later one
// changes it, the present owner is theirs too.
static void guess_owner(struct ring_file *ring)
{
  const struct ring_head *head = ring->view.head;
  uint64_t first = __atomic_load_n(&head->producer.head, __ATOMIC_ACQUIRE), count = ring->view.record_count;
  if (first <= count)
    return;
  struct record record;
  for (uint64_t position = first - count; position < first; position++)
    if (ring_read(&ring->view, position, &record) == RING_SLOT_RECORD && record.type == RECORD_THREAD)
      return;
  ring->decoder.thread = __atomic_load_n(&head->owner_tid, __ATOMIC_RELAXED);
}

// ---- the front door ---------------------------------------------------------------------------------------------------

static uint64_t own_clock(void)
{
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

// Strings, trace and track rows belong to one run of one store.
static void begin_run(struct drain *drain)
{
  struct collect_session *session = drain->session;
  names_use(&session->names, drain->store);
  drain->key_correlation = store_string(drain->store, "recorded_correlation", 20);
  drain->key_remote_parent = store_string(drain->store, "remote_parent", 13);
  if (session->store == drain->store && session->run_id == drain->run_id)
    return;
  if (session->store != drain->store)
    for (uint32_t i = 0; i < session->tracks.count; i++)
      session->tracks.entries[i].run_id = 0;
  session->store = drain->store;
  session->run_id = drain->run_id;
  drain->status = store_add_trace(drain->store, drain->run_id, session->trace_text, &session->run_trace, drain->err);
  session_write_origin(session);
}

static bool is_half_full(const struct collect_session *session)
{
  for (uint32_t i = 0; i < session->ring_count; i++) {
    const struct ring_file *ring = &session->rings[i];
    if (ring->state == FILE_MAPPED && ring->position - ring->resume > ring->view.record_count / 2)
      return true;
  }
  return false;
}

static void drain_rings(struct drain *drain, const struct ring_output *output, bool is_final)
{
  struct collect_session *session = drain->session;
  if (session->flight_recorder && !is_final)
    return;
  for (uint32_t i = 0; i < session->ring_count && !has_failed(drain); i++) {
    struct ring_file *ring = &session->rings[i];
    if (ring->state != FILE_MAPPED)
      continue;
    if (session->flight_recorder)
      guess_owner(ring);
    else
      drain_ring(drain, ring, output, is_final);
    if (is_final)
      drain_rest(drain, ring, output);
  }
}

static enum status run_drain(struct collect_session *session, struct store *store, int64_t run_id, bool is_final,
                             struct error *err)
{
  uint64_t begin = own_clock();
  struct drain *drain = malloc(sizeof *drain);
  if (!drain)
    return error_set(err, STATUS_MEMORY, "cannot drain the capture session", session->directory, NULL, "out of memory");
  memset(drain, 0, offsetof(struct drain, spans));
  drain->session = session;
  drain->store = store;
  drain->run_id = run_id;
  drain->err = err;
  const struct ring_output output = {drain, store ? on_span : skip_span, store ? on_fact : skip_fact, on_thread_name};
  session_find_files(session, is_final);
  session_calibrate(session, is_final);
  (void)names_refresh(&session->names);
  if (store)
    begin_run(drain);
  drain_rings(drain, &output, is_final);
  flush(drain);
  enum status status = drain->status;
  free(drain);
  if (status != STATUS_OK)
    session->has_failed = true;
  else if (store && !is_final && is_half_full(session)) // nobody waits for space at the end
    status = collect_commit(session, store, err);
  session->counts.own_ns += own_clock() - begin;
  return status;
}

enum status collect_drain(struct collect_session *session, struct store *store, int64_t run_id, struct error *err)
{
  return run_drain(session, store, run_id, false, err);
}

enum status collect_drain_final(struct collect_session *session, struct store *store, int64_t run_id, struct error *err)
{
  return run_drain(session, store, run_id, true, err);
}

enum status collect_skip(struct collect_session *session, struct error *err)
{
  XSP_TRY(run_drain(session, NULL, 0, false, err));
  for (uint32_t i = 0; session->flight_recorder && i < session->ring_count; i++) {
    struct ring_file *ring = &session->rings[i];
    if (ring->state == FILE_MAPPED)
      ring->position = __atomic_load_n(&ring->view.head->producer.head, __ATOMIC_ACQUIRE);
  }
  session_give_back(session);
  return STATUS_OK;
}
