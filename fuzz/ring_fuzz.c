// SPDX-License-Identifier: Apache-2.0
// A ring file of unknown origin: a ring that passes ring_read_check can be read to its end from any position without harm.
#include "collect/ring_decode.h"
#include "collect/ring_read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum; // so that records are read

static void on_span(void *context, const struct decoded_span *span)
{
  if (span->span_id < 1 || span->kind > XSP_KIND_EXECUTION || span->clock > XSP_CLOCK_FOREIGN)
    abort();
  sum += span->start + span->trace[15];
}

static void on_fact(void *context, int64_t span_id, const struct record *record)
{
  if (span_id < 1)
    abort();
  sum += record->start;
}

static void on_sample(void *context, const struct decoded_sample *sample)
{
  if (sample->span_id < 0 || sample_kind_name(sample->kind) == NULL)
    abort();
  sum += sample->ticks + sample->path;
}

static void on_name(void *context, uint32_t process, uint64_t thread, uint32_t name)
{
  sum += name;
}

static void decode(const struct ring_view *view, struct ring_decoder *decoder)
{
  const struct ring_output output = {NULL, on_span, on_fact, on_name, on_sample};
  struct record record;
  uint64_t positions[] = {0, view->head->tail, view->head->stored, view->head->producer.head - view->record_count};
  for (size_t start = 0; start < sizeof positions / sizeof *positions; start++)
    for (uint64_t i = 0; i < view->record_count; i++) {
      uint64_t position = positions[start] + i;
      if (ring_read(view, position, &record) == RING_SLOT_RECORD)
        ring_decode(decoder, &record, position, &output);
      if (decoder->facts.count > RING_FACTS_MAXIMUM)
        abort();
    }
  for (uint32_t i = 0; i < RING_OPEN_SPANS; i++)
    ring_decode_open(decoder, &view->head->producer.open[i], &output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  size_t room = (size + 63) & ~(size_t)63;
  void *bytes = size && size < 1 << 20 ? aligned_alloc(64, room) : NULL;
  if (!bytes)
    return 0;
  memcpy(bytes, data, size);
  if (size >= sizeof(struct ring_head))
    ((struct ring_head *)bytes)->version = SESSION_VERSION; // corpora outlive versions
  struct ring_view view;
  if (!ring_read_check(bytes, size, 1, &view)) {
    struct ring_decoder decoder;
    ring_decode_start(&decoder, 1, view.head->process, view.head->owner_tid);
    decoder.highest = view.head->highest_id;
    decode(&view, &decoder);
    if (ring_decode_resume(&decoder, 0) != 0 && decoder.facts.count == 0)
      abort();
    ring_decode_done(&decoder);
  }
  free(bytes);
  return 0;
}
