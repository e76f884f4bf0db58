// SPDX-License-Identifier: Apache-2.0
// Joins a ring's records into spans. Called by drain.c for each record in the ring's order. Allocates a bounded amount
// per ring and never fails: where memory is out, facts are counted as orphans and repeated finishes are not noticed.
#include "collect/ring_decode.h"

#include <stdlib.h>
#include <string.h>

void ring_decode_start(struct ring_decoder *decoder, uint32_t number, uint32_t process, uint64_t thread)
{
  memset(decoder, 0, sizeof *decoder);
  decoder->number = number;
  decoder->process = process;
  decoder->thread = thread;
}

void ring_decode_done(struct ring_decoder *decoder)
{
  vector_done(&decoder->facts);
  free(decoder->seen);
  decoder->seen = NULL;
}

uint64_t ring_decode_unwrap(uint64_t reference, uint32_t id)
{
  int64_t distance = (int32_t)(id - (uint32_t)reference);
  if (distance < 0 && (uint64_t)-distance >= reference)
    return id; // nothing lies before the first id
  return reference + (uint64_t)distance;
}

int64_t ring_decode_span_id(uint32_t ring, uint64_t unwrapped)
{
  uint64_t round = (unwrapped >> 32) & 0x7f;
  return (int64_t)(round << 56 | (uint64_t)(ring & 0xffffff) << 32 | (uint32_t)unwrapped);
}

static bool is_seen(const struct ring_decoder *decoder, uint64_t id)
{
  if (!decoder->seen || id > decoder->highest || decoder->highest - id >= RING_SEEN_WINDOW)
    return false;
  uint64_t bit = id % RING_SEEN_WINDOW;
  return decoder->seen[bit / 64] >> (bit % 64) & 1;
}

// Moves the window's end to `id`: the bits of the ids that come in belonged to ids that went out.
static void move_window(struct ring_decoder *decoder, uint64_t id)
{
  if (id <= decoder->highest)
    return;
  uint64_t step = id - decoder->highest;
  if (decoder->seen && step >= RING_SEEN_WINDOW)
    memset(decoder->seen, 0, RING_SEEN_WINDOW / 8);
  else if (decoder->seen)
    for (uint64_t i = decoder->highest + 1; i <= id; i++)
      decoder->seen[i % RING_SEEN_WINDOW / 64] &= ~(UINT64_C(1) << (i % 64));
  decoder->highest = id;
}

static void mark_seen(struct ring_decoder *decoder, uint64_t id)
{
  if (!decoder->seen)
    decoder->seen = memory_new(RING_SEEN_WINDOW / 64, sizeof *decoder->seen);
  if (decoder->highest - id < RING_SEEN_WINDOW)
    decoder->seen[id % RING_SEEN_WINDOW / 64] |= UINT64_C(1) << (id % 64);
}

static bool is_tag_or_log(unsigned type)
{
  return type == RECORD_TAG_INT || type == RECORD_TAG_DOUBLE || type == RECORD_TAG_STRING || type == RECORD_LOG;
}

// Too many facts wait (their spans were dropped, or a program says a lot): what carries its span's id goes out now.
static void release_facts(struct ring_decoder *decoder, const struct ring_output *output)
{
  size_t kept = 0;
  for (size_t i = 0; i < decoder->facts.count; i++) {
    const struct ring_fact *fact = &decoder->facts.items[i];
    if (is_tag_or_log(fact->record.type)) {
      if (output->fact != NULL)
        output->fact(output->context, ring_decode_span_id(decoder->number, fact->id), &fact->record);
    } else {
      decoder->facts.items[kept++] = *fact;
    }
  }
  decoder->facts.count = kept;
  if (kept < RING_FACTS_MAXIMUM / 2)
    return;
  // The older half waits in vain, or its span nests absurdly deep.
  size_t dropped = kept / 2;
  decoder->orphans += dropped;
  memmove(decoder->facts.items, decoder->facts.items + dropped, (kept - dropped) * sizeof *decoder->facts.items);
  decoder->facts.count = kept - dropped;
}

static void keep_fact(struct ring_decoder *decoder, const struct record *record, uint64_t id, uint64_t position,
                      const struct ring_output *output)
{
  if (decoder->facts.count == RING_FACTS_MAXIMUM)
    release_facts(decoder, output);
  *vector_add(&decoder->facts) = (struct ring_fact){*record, id, position};
}

static void join_fact(struct decoded_span *span, const struct record *record)
{
  switch (record->type) {
  case RECORD_CORRELATION:
    span->correlation = record->start;
    span->kind = record->kind_clock & 0x0f;
    break;
  case RECORD_PARENT:
    span->has_parent = true;
    span->parent = (struct xsp_context){(uint32_t)(record->start >> 32), (uint32_t)record->start};
    break;
  case RECORD_TRACE:
    span->has_trace = true;
    memcpy(span->trace, &record->start, 8);
    memcpy(span->trace + 8, &record->duration, 8);
    break;
  case RECORD_PATH:
    span->path = (uint32_t)record->start;
    break;
  case RECORD_REMOTE_PARENT:
    span->has_remote_parent = true;
    memcpy(span->remote_parent, &record->start, 8);
    break;
  default: // tags and logs are passed on after the span
    break;
  }
}

// Hands out a span with the facts that waited for it.
static void complete(struct ring_decoder *decoder, struct decoded_span *span, uint64_t id,
                     const struct ring_output *output)
{
  bool has_facts = false;
  for (size_t i = 0; i < decoder->facts.count; i++)
    if (decoder->facts.items[i].id == id) {
      has_facts = true;
      join_fact(span, &decoder->facts.items[i].record);
    }
  if (span->kind > XSP_KIND_EXECUTION)
    span->kind = XSP_KIND_SYNC;
  if (output->span != NULL)
    output->span(output->context, span);
  if (!has_facts)
    return;
  size_t kept = 0;
  for (size_t i = 0; i < decoder->facts.count; i++) {
    const struct ring_fact *fact = &decoder->facts.items[i];
    if (fact->id != id)
      decoder->facts.items[kept++] = *fact;
    else if (output->fact != NULL && is_tag_or_log(fact->record.type))
      output->fact(output->context, span->span_id, &fact->record);
  }
  decoder->facts.count = kept;
}

static void decode_span(struct ring_decoder *decoder, const struct record *record, const struct ring_output *output)
{
  uint64_t id = ring_decode_unwrap(decoder->highest, record->id);
  if (is_seen(decoder, id)) {
    decoder->repeated++;
    return;
  }
  move_window(decoder, id);
  mark_seen(decoder, id);
  struct decoded_span span = {.span_id = ring_decode_span_id(decoder->number, id),
                              .start = record->start,
                              .duration = record->duration,
                              .thread = decoder->thread,
                              .process = decoder->process,
                              .site = record->site,
                              .track = record->track,
                              .kind = record->kind_clock & 0x0f,
                              .clock = record->kind_clock >> 4};
  complete(decoder, &span, id, output);
}

static void put_thread_name(const struct ring_decoder *decoder, uint32_t name, const struct ring_output *output)
{
  if (output->thread_name != NULL)
    output->thread_name(output->context, decoder->process, decoder->thread, name);
}

static void decode_sample(struct ring_decoder *decoder, const struct record *record, const struct ring_output *output)
{
  if (sample_kind_name(record->kind_clock) == NULL) {
    decoder->malformed++;
    return;
  }
  uint64_t id = record->id == 0 ? 0 : ring_decode_unwrap(decoder->highest, record->id);
  const struct decoded_sample sample = {.span_id = id == 0 ? 0 : ring_decode_span_id(decoder->number, id),
                                        .ticks = record->start,
                                        .duration_ns = record->duration,
                                        .thread = decoder->thread,
                                        .process = decoder->process,
                                        .path = record->site,
                                        .track = record->track,
                                        .kind = record->kind_clock};
  if (output->sample != NULL)
    output->sample(output->context, &sample);
}

void ring_decode(struct ring_decoder *decoder, const struct record *record, uint64_t position,
                 const struct ring_output *output)
{
  switch (record->type) {
  case RECORD_SPAN:
    if (record->id == 0 || record->kind_clock >> 4 > XSP_CLOCK_FOREIGN)
      decoder->malformed++;
    else
      decode_span(decoder, record, output);
    return;
  case RECORD_TAG_INT:
  case RECORD_TAG_DOUBLE:
  case RECORD_TAG_STRING:
  case RECORD_LOG:
  case RECORD_CORRELATION:
  case RECORD_PARENT:
  case RECORD_TRACE:
  case RECORD_REMOTE_PARENT:
  case RECORD_PATH:
    if (record->id == 0) {
      decoder->malformed++;
      return;
    }
    uint64_t id = ring_decode_unwrap(decoder->highest, record->id);
    if (!is_seen(decoder, id))
      keep_fact(decoder, record, id, position, output);
    else if (output->fact != NULL)
      output->fact(output->context, ring_decode_span_id(decoder->number, id), record);
    return;
  case RECORD_THREAD:
    decoder->thread = record->start;
    decoder->process = record->duration > UINT32_MAX ? 0 : (uint32_t)record->duration;
    if (record->site)
      put_thread_name(decoder, record->site, output);
    return;
  case RECORD_SAMPLE:
    decode_sample(decoder, record, output);
    return;
  case RECORD_OPEN:
    ring_decode_open(decoder, &(struct open_span){record->start, record->site, record->id}, output);
    return;
  case RECORD_THREAD_NAME:
    put_thread_name(decoder, record->site, output);
    return;
  default:
    decoder->malformed++;
  }
}

void ring_decode_open(struct ring_decoder *decoder, const struct open_span *open, const struct ring_output *output)
{
  if (open->start == 0 || open->id == 0)
    return;
  uint64_t id = ring_decode_unwrap(decoder->highest, open->id);
  if (is_seen(decoder, id))
    return; // killed between the record's commit and the removal from the list
  move_window(decoder, id);
  mark_seen(decoder, id);
  decoder->open++;
  struct decoded_span span = {.span_id = ring_decode_span_id(decoder->number, id),
                              .start = open->start,
                              .thread = decoder->thread,
                              .process = decoder->process,
                              .site = open->site,
                              .clock = XSP_CLOCK_TICKS,
                              .open = true};
  complete(decoder, &span, id, output);
}

uint64_t ring_decode_resume(const struct ring_decoder *decoder, uint64_t position)
{
  return decoder->facts.count ? decoder->facts.items[0].position : position;
}
