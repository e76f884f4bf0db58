// SPDX-License-Identifier: Apache-2.0
// Hand-made rings: what a slot may hold, positions and ids that go round, facts before and after their span.
#include "collect/ring_decode.h"
#include "collect/ring_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT 256u

struct got {
  struct decoded_span spans[1024];
  size_t span_count;
  struct record facts[4096];
  int64_t fact_span[4096];
  size_t fact_count;
  uint32_t name, name_process;
  uint64_t name_thread;
  struct decoded_sample samples[16];
  size_t sample_count;
};

static void got_span(void *context, const struct decoded_span *span)
{
  struct got *got = context;
  assert_true(got->span_count < 1024);
  got->spans[got->span_count++] = *span;
}

static void got_fact(void *context, int64_t span_id, const struct record *record)
{
  struct got *got = context;
  assert_true(got->fact_count < 4096);
  got->fact_span[got->fact_count] = span_id;
  got->facts[got->fact_count++] = *record;
}

static void got_name(void *context, uint32_t process, uint64_t thread, uint32_t name)
{
  struct got *got = context;
  got->name = name;
  got->name_process = process;
  got->name_thread = thread;
}

static void got_sample(void *context, const struct decoded_sample *sample)
{
  struct got *got = context;
  assert_true(got->sample_count < 16);
  got->samples[got->sample_count++] = *sample;
}

static struct got got;
static const struct ring_output output = {&got, got_span, got_fact, got_name, got_sample};

static int reset(void **state)
{
  memset(&got, 0, sizeof got);
  return 0;
}

static struct record span_record(uint32_t id, uint64_t start, uint64_t duration)
{
  return (struct record){.start = start, .duration = duration, .site = 8, .id = id, .type = RECORD_SPAN};
}

static struct record fact_record(uint8_t type, uint32_t id, uint32_t key, uint64_t value)
{
  return (struct record){.start = value, .site = key, .id = id, .type = type};
}

static void *make_ring(size_t *ret_size)
{
  *ret_size = RING_HEAD_SIZE + COUNT * sizeof(struct record);
  char *bytes = aligned_alloc(64, *ret_size);
  assert_non_null(bytes);
  memset(bytes, 0, *ret_size);
  struct ring_head *head = (void *)bytes;
  head->magic = RING_MAGIC;
  head->version = SESSION_VERSION;
  head->head_size = sizeof *head;
  head->number = 7;
  ring_set_size(head, 0, 0, COUNT);
  return bytes;
}

static void put(void *bytes, uint64_t position, struct record record)
{
  record.commit = (uint32_t)(position + 1);
  struct record *records = (void *)((char *)bytes + RING_HEAD_SIZE);
  records[position % COUNT] = record;
}

static void test_check_refuses(void **state)
{
  size_t size;
  struct ring_head *head = make_ring(&size);
  struct ring_view view;
  assert_null(ring_read_check(head, size, 7, &view));
  assert_int_equal(view.record_count, COUNT);
  assert_non_null(ring_read_check(head, RING_HEAD_SIZE - 1, 7, &view));
  assert_non_null(ring_read_check(head, size - 1, 7, &view));
  assert_non_null(ring_read_check(head, size, 8, &view));
  head->size[0].records = COUNT - 1;
  assert_non_null(ring_read_check(head, size, 7, &view));
  head->size[0].records = COUNT * 2;
  assert_non_null(ring_read_check(head, size, 7, &view));
  head->size[0].records = UINT32_C(1) << 31;
  assert_non_null(ring_read_check(head, size, 7, &view));
  head->size[0].records = 0;
  assert_non_null(ring_read_check(head, size, 7, &view));
  head->size[0].records = COUNT;
  head->version = SESSION_VERSION + 1;
  assert_non_null(ring_read_check(head, size, 7, &view));
  head->version = SESSION_VERSION;
  head->head_size = 10;
  assert_non_null(ring_read_check(head, size, 7, &view));
  head->magic ^= 1;
  assert_non_null(ring_read_check(head, size, 7, &view));
  free(head);
}

static void test_slots(void **state)
{
  size_t size;
  struct ring_head *head = make_ring(&size);
  struct ring_view view;
  assert_null(ring_read_check(head, size, 7, &view));
  struct record record;
  put(head, 0, span_record(1, 10, 5));
  put(head, 2, span_record(3, 30, 5)); // slot 1: handed out, never committed
  assert_int_equal(ring_read(&view, 0, &record), RING_SLOT_RECORD);
  assert_int_equal(record.start, 10);
  assert_int_equal(ring_read(&view, 1, &record), RING_SLOT_EMPTY);
  assert_int_equal(ring_read(&view, 2, &record), RING_SLOT_RECORD);
  put(head, COUNT, span_record(4, 40, 5)); // one round later, over position 0
  assert_int_equal(ring_read(&view, 0, &record), RING_SLOT_OVERWRITTEN);
  assert_int_equal(ring_read(&view, COUNT, &record), RING_SLOT_RECORD);
  assert_int_equal(ring_read(&view, COUNT + 2, &record), RING_SLOT_EMPTY); // holds the round before
  // Positions beyond 2^32: `commit` has gone round, to 0 at one place.
  uint64_t far = (UINT64_C(1) << 32) - 1;
  put(head, far, span_record(5, 50, 5));
  assert_int_equal(ring_read(&view, far, &record), RING_SLOT_RECORD);
  assert_int_equal(record.id, 5);
  put(head, far + 3, span_record(6, 60, 5));
  assert_int_equal(ring_read(&view, far + 3, &record), RING_SLOT_RECORD);
  assert_int_equal(ring_read(&view, far + 3 - COUNT, &record), RING_SLOT_OVERWRITTEN);
  assert_int_equal(ring_read(&view, far + 3 + COUNT, &record), RING_SLOT_EMPTY);
  free(head);
}

static void put_at(struct ring_head *head, uint64_t position, uint64_t slots)
{
  struct record *records = (void *)((char *)head + RING_HEAD_SIZE);
  records[position & (slots - 1)] = (struct record){.type = RECORD_SPAN, .commit = (uint32_t)(position + 1)};
}

// Twice larger: first with a gap, because records waited in both halves of a round of the larger ring, then without one.
// Then a quarter: the waiting records lie in the low slots.
static void test_sizes_are_followed(void **state)
{
  size_t size = RING_HEAD_SIZE + 4 * COUNT * sizeof(struct record), unused;
  struct ring_head *small = make_ring(&unused), *head = aligned_alloc(64, size);
  memset(head, 0, size);
  memcpy(head, small, unused);
  free(small);
  ring_set_size(head, 300, 3 * COUNT, 2 * COUNT); // slot COUNT of 2 * COUNT
  ring_set_size(head, 5 * COUNT + 10, 5 * COUNT + 10, 4 * COUNT);
  for (uint64_t position = 100; position < 300; position++)
    put_at(head, position, COUNT);
  for (uint64_t position = 3 * COUNT; position < 5 * COUNT + 10; position++)
    put_at(head, position, 2 * COUNT);
  for (uint64_t position = 5 * COUNT + 10; position < 6 * COUNT; position++)
    put_at(head, position, 4 * COUNT);
  struct ring_view view;
  struct record record;
  assert_null(ring_read_check(head, size, 7, &view));
  assert_int_equal(view.record_count, 4 * COUNT);
  uint64_t read = 0, last = 0;
  for (uint64_t position = 5 * COUNT - 50;; position++, read++) {
    last = position = position >= view.until ? ring_seek(&view, position) : position;
    if (ring_read(&view, position, &record) != RING_SLOT_RECORD)
      break;
  }
  assert_int_equal(read, COUNT + 50);
  assert_int_equal(last, 6 * COUNT);
  // A successor may begin anywhere, also in a gap.
  assert_int_equal(ring_seek(&view, 299), 299);
  assert_int_equal(view.slots, COUNT);
  assert_int_equal(view.until, 300);
  assert_int_equal(ring_seek(&view, 300), 3 * COUNT);
  assert_int_equal(view.slots, 2 * COUNT);
  assert_int_equal(ring_seek(&view, 400), 3 * COUNT);
  // Slots that are not mapped yet are empty.
  assert_int_equal(ring_seek(&view, 6 * COUNT - 1), 6 * COUNT - 1);
  assert_int_equal(ring_read(&view, 6 * COUNT - 1, &record), RING_SLOT_RECORD);
  view.record_count = COUNT;
  assert_int_equal(ring_read(&view, 6 * COUNT - 1, &record), RING_SLOT_EMPTY);
  // A smaller ring: what waits from before has low slots, and is read by a successor that maps only those.
  put_at(head, 8 * COUNT + 3, 4 * COUNT);
  ring_set_size(head, 8 * COUNT + 4, 8 * COUNT + 4, COUNT);
  put_at(head, 8 * COUNT + 4, COUNT);
  assert_null(ring_read_check(head, size, 7, &view));
  assert_int_equal(view.record_count, COUNT);
  for (uint64_t position = 8 * COUNT + 3; position < 8 * COUNT + 5; position++) {
    assert_int_equal(ring_seek(&view, position), position);
    assert_int_equal(ring_read(&view, position, &record), RING_SLOT_RECORD);
  }
  // More changes than the table has places: the last ones hold.
  for (uint64_t i = 1; i <= RING_SIZES; i++)
    ring_set_size(head, (8 + i) * COUNT, (8 + i) * COUNT, i % 2 == 0 ? COUNT : 2 * COUNT);
  assert_int_equal(ring_seek(&view, 9 * COUNT), 9 * COUNT);
  assert_int_equal(view.slots, 2 * COUNT);
  assert_int_equal(view.until, 10 * COUNT);
  // Nonsense.
  head->size[(head->size_count - 1) % RING_SIZES].records = 8 * COUNT; // more than the file has
  assert_non_null(ring_read_check(head, size, 7, &view));
  head->size_count = 0;
  assert_int_equal(ring_seek(&view, 5), 5);
  free(head);
}

static void feed(struct ring_decoder *decoder, uint64_t position, struct record record)
{
  ring_decode(decoder, &record, position, &output);
}

static void test_facts_wait_for_their_span(void **state)
{
  struct ring_decoder decoder;
  ring_decode_start(&decoder, 7, 2, 99);
  feed(&decoder, 0, fact_record(RECORD_TAG_INT, 1, 80, 11));
  feed(&decoder, 1, fact_record(RECORD_TAG_STRING, 2, 88, 96));
  struct record correlation = fact_record(RECORD_CORRELATION, 2, 0, 4242);
  correlation.kind_clock = XSP_KIND_LAUNCH;
  feed(&decoder, 2, correlation);
  feed(&decoder, 3, fact_record(RECORD_PARENT, 2, 0, UINT64_C(5) << 32 | 17));
  assert_int_equal(ring_decode_resume(&decoder, 4), 0);
  feed(&decoder, 4, span_record(2, 20, 5));
  assert_int_equal(got.span_count, 1);
  const struct decoded_span *span = &got.spans[0];
  assert_int_equal(span->span_id, INT64_C(7) << 32 | 2);
  assert_int_equal(span->correlation, 4242);
  assert_int_equal(span->kind, XSP_KIND_LAUNCH);
  assert_true(span->has_parent);
  assert_int_equal(span->parent.ring, 5);
  assert_int_equal(span->parent.id, 17);
  assert_int_equal(span->process, 2);
  assert_int_equal(span->thread, 99);
  assert_int_equal(got.fact_count, 1);
  assert_int_equal(got.facts[0].site, 88);
  feed(&decoder, 5, fact_record(RECORD_TAG_INT, 2, 104, 1)); // behind its span: at once
  assert_int_equal(got.fact_count, 2);
  assert_int_equal(got.fact_span[1], span->span_id);
  feed(&decoder, 6, span_record(1, 10, 50));
  assert_int_equal(got.span_count, 2);
  assert_int_equal(got.spans[1].correlation, 0);
  assert_false(got.spans[1].has_parent);
  assert_int_equal(got.fact_count, 3);
  assert_int_equal(got.fact_span[2], INT64_C(7) << 32 | 1);
  assert_int_equal(ring_decode_resume(&decoder, 7), 7);
  ring_decode_done(&decoder);
}

static void test_traces_and_remote_parents(void **state)
{
  struct ring_decoder decoder;
  ring_decode_start(&decoder, 1, 1, 1);
  struct record trace = fact_record(RECORD_TRACE, 1, 0, 0);
  memcpy(&trace.start, "abcdefgh", 8);
  memcpy(&trace.duration, "ijklmnop", 8);
  feed(&decoder, 0, trace);
  struct record remote = fact_record(RECORD_REMOTE_PARENT, 1, 0, 0);
  memcpy(&remote.start, "qrstuvwx", 8);
  feed(&decoder, 1, remote);
  feed(&decoder, 2, span_record(1, 1, 1));
  assert_true(got.spans[0].has_trace && got.spans[0].has_remote_parent);
  assert_memory_equal(got.spans[0].trace, "abcdefghijklmnop", 16);
  assert_memory_equal(got.spans[0].remote_parent, "qrstuvwx", 8);
  ring_decode_done(&decoder);
}

static void test_ids_go_round(void **state)
{
  assert_int_equal(ring_decode_unwrap(0, 1), 1);
  assert_int_equal(ring_decode_unwrap(0, UINT32_MAX), UINT32_MAX);
  assert_int_equal(ring_decode_unwrap(UINT32_MAX, 2), (UINT64_C(1) << 32) + 2);
  assert_int_equal(ring_decode_unwrap((UINT64_C(1) << 32) + 2, UINT32_MAX), UINT32_MAX);
  assert_int_equal(ring_decode_unwrap(100, 40), 40);
  struct ring_decoder decoder;
  ring_decode_start(&decoder, 3, 1, 1);
  for (uint32_t i = 0; i < 4; i++)
    feed(&decoder, i, span_record(UINT32_C(0x40000000) * i + 1, i, 1));
  feed(&decoder, 4, span_record(UINT32_MAX, 4, 1));
  feed(&decoder, 5, span_record(2, 5, 1));
  feed(&decoder, 6, span_record(UINT32_MAX - 1, 6, 1)); // an outer span that began before the turn
  assert_int_equal(got.spans[4].span_id, INT64_C(3) << 32 | UINT32_MAX);
  assert_int_equal(got.spans[5].span_id, INT64_C(1) << 56 | INT64_C(3) << 32 | 2);
  assert_int_equal(got.spans[6].span_id, INT64_C(3) << 32 | (UINT32_MAX - 1));
  ring_decode_done(&decoder);
}

static void test_second_finish_is_refused(void **state)
{
  struct ring_decoder decoder;
  ring_decode_start(&decoder, 3, 1, 1);
  feed(&decoder, 0, span_record(5, 1, 1));
  feed(&decoder, 1, span_record(4, 1, 2));
  feed(&decoder, 2, span_record(5, 1, 9));
  assert_int_equal(got.span_count, 2);
  assert_int_equal(decoder.repeated, 1);
  // The same bit one window later is another span.
  feed(&decoder, 3, span_record(5 + RING_SEEN_WINDOW, 1, 1));
  feed(&decoder, 4, span_record(4 + RING_SEEN_WINDOW, 1, 1));
  assert_int_equal(got.span_count, 4);
  feed(&decoder, 5, span_record(4 + RING_SEEN_WINDOW, 1, 1));
  assert_int_equal(decoder.repeated, 2);
  ring_decode_done(&decoder);
}

static void test_open_spans(void **state)
{
  struct ring_decoder decoder;
  ring_decode_start(&decoder, 3, 1, 1);
  feed(&decoder, 0, fact_record(RECORD_TAG_INT, 1, 80, 1));
  feed(&decoder, 1, span_record(2, 20, 1));
  ring_decode_open(&decoder, &(struct open_span){20, 8, 2}, &output); // finished, but still in the list
  ring_decode_open(&decoder, &(struct open_span){0, 8, 3}, &output);
  assert_int_equal(got.span_count, 1);
  ring_decode_open(&decoder, &(struct open_span){10, 8, 1}, &output);
  ring_decode_open(&decoder, &(struct open_span){10, 8, 1}, &output);
  feed(&decoder, 2, (struct record){.type = RECORD_OPEN, .start = 30, .site = 8, .id = 9});
  assert_int_equal(got.span_count, 3);
  assert_true(got.spans[1].open);
  assert_int_equal(got.spans[1].start, 10);
  assert_int_equal(got.spans[1].duration, 0);
  assert_int_equal(got.fact_count, 1);
  assert_true(got.spans[2].open);
  assert_int_equal(decoder.open, 2);
  ring_decode_done(&decoder);
}

static void test_threads_take_over(void **state)
{
  struct ring_decoder decoder;
  ring_decode_start(&decoder, 3, 1, 100);
  feed(&decoder, 0, span_record(1, 1, 1));
  feed(&decoder, 1, (struct record){.type = RECORD_THREAD, .start = 200, .duration = 4, .site = 64});
  feed(&decoder, 2, span_record(2, 1, 1));
  assert_int_equal(got.spans[0].thread, 100);
  assert_int_equal(got.spans[1].thread, 200);
  assert_int_equal(got.spans[1].process, 4);
  assert_int_equal(got.name, 64);
  feed(&decoder, 3, (struct record){.type = RECORD_THREAD_NAME, .site = 72});
  assert_int_equal(got.name, 72);
  assert_int_equal(got.name_process, 4);
  assert_int_equal(got.name_thread, 200);
  ring_decode_done(&decoder);
}

static void test_memory_is_bounded(void **state)
{
  struct ring_decoder decoder;
  ring_decode_start(&decoder, 3, 1, 1);
  for (uint32_t i = 0; i < RING_FACTS_MAXIMUM + 1; i++)
    feed(&decoder, i, fact_record(RECORD_TAG_INT, 1 + i, 80, i)); // their spans never come
  assert_int_equal(decoder.facts.count, 1);
  assert_int_equal(got.fact_count, RING_FACTS_MAXIMUM); // passed on with their span's id
  assert_int_equal(got.fact_span[9], INT64_C(3) << 32 | 10);
  for (uint32_t i = 0; i < 10 * RING_FACTS_MAXIMUM; i++)
    feed(&decoder, i, fact_record(RECORD_CORRELATION, 1 + i, 0, i));
  assert_true(decoder.facts.count <= RING_FACTS_MAXIMUM);
  assert_true(decoder.orphans > 0);
  ring_decode_done(&decoder);
}

static void test_replay_is_silent_and_exact(void **state)
{
  const struct record records[] = {fact_record(RECORD_TAG_INT, 1, 80, 7), fact_record(RECORD_TAG_INT, 2, 88, 8),
                                   span_record(2, 20, 5), span_record(3, 30, 5), span_record(1, 10, 50)};
  struct ring_decoder decoder;
  ring_decode_start(&decoder, 3, 1, 1);
  for (size_t i = 0; i < 4; i++)
    ring_decode(&decoder, &records[i], i, &(struct ring_output){0});
  assert_int_equal(got.span_count + got.fact_count, 0);
  feed(&decoder, 4, records[4]);
  assert_int_equal(got.span_count, 1);
  assert_int_equal(got.fact_count, 1);
  assert_int_equal(got.facts[0].start, 7);
  ring_decode_done(&decoder);
}

static void test_malformed(void **state)
{
  struct ring_decoder decoder;
  ring_decode_start(&decoder, 3, 1, 1);
  feed(&decoder, 0, span_record(0, 1, 1));
  feed(&decoder, 1, (struct record){.type = 0, .id = 1});
  feed(&decoder, 2, (struct record){.type = 255, .id = 1});
  feed(&decoder, 3, fact_record(RECORD_LOG, 0, 80, 7));
  struct record clock = span_record(1, 1, 1);
  clock.kind_clock = 0xf0;
  feed(&decoder, 4, clock);
  assert_int_equal(decoder.malformed, 5);
  struct record kind = span_record(2, 1, 1);
  kind.kind_clock = 0x0f;
  feed(&decoder, 5, kind);
  assert_int_equal(got.spans[0].kind, XSP_KIND_SYNC);
  ring_decode_done(&decoder);
}

// A sample is of the thread that owns the ring at its place, within a span whose id may have gone round.
static void test_samples(void **state)
{
  struct ring_decoder decoder;
  ring_decode_start(&decoder, 7, 2, 1000);
  decoder.highest = UINT64_C(0x1fffffff0);
  struct record sample = {
      .type = RECORD_SAMPLE, .start = 50, .duration = 9, .site = 88, .track = 3, .kind_clock = SAMPLE_IO};
  ring_decode(&decoder, &sample, 0, &output);
  ring_decode(&decoder, &(struct record){.type = RECORD_THREAD, .start = 1001, .duration = 4}, 1, &output);
  sample.id = 5; // of the next round
  sample.kind_clock = SAMPLE_CPU;
  ring_decode(&decoder, &sample, 2, &output);
  assert_int_equal(got.sample_count, 2);
  const struct decoded_sample *first = &got.samples[0], *second = &got.samples[1];
  assert_int_equal(first->span_id, 0);
  assert_int_equal(first->ticks, 50);
  assert_int_equal(first->duration_ns, 9);
  assert_int_equal(first->path, 88);
  assert_int_equal(first->track, 3);
  assert_int_equal(first->kind, SAMPLE_IO);
  assert_int_equal(first->thread, 1000);
  assert_int_equal(first->process, 2);
  assert_int_equal(second->span_id, ring_decode_span_id(7, UINT64_C(0x200000005)));
  assert_int_equal(second->kind, SAMPLE_CPU);
  assert_int_equal(second->thread, 1001);
  assert_int_equal(second->process, 4);
  static const uint8_t no_kinds[] = {0, SAMPLE_CHILD + 1, UINT8_MAX};
  for (size_t i = 0; i < sizeof no_kinds; i++) {
    sample.kind_clock = no_kinds[i];
    ring_decode(&decoder, &sample, 3 + i, &output);
  }
  assert_int_equal(decoder.malformed, 3);
  assert_int_equal(got.sample_count, 2);
  ring_decode_done(&decoder);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_check_refuses, reset),
      cmocka_unit_test_setup(test_slots, reset),
      cmocka_unit_test_setup(test_sizes_are_followed, reset),
      cmocka_unit_test_setup(test_facts_wait_for_their_span, reset),
      cmocka_unit_test_setup(test_traces_and_remote_parents, reset),
      cmocka_unit_test_setup(test_ids_go_round, reset),
      cmocka_unit_test_setup(test_second_finish_is_refused, reset),
      cmocka_unit_test_setup(test_open_spans, reset),
      cmocka_unit_test_setup(test_threads_take_over, reset),
      cmocka_unit_test_setup(test_memory_is_bounded, reset),
      cmocka_unit_test_setup(test_replay_is_silent_and_exact, reset),
      cmocka_unit_test_setup(test_malformed, reset),
      cmocka_unit_test_setup(test_samples, reset),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
