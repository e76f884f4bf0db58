// SPDX-License-Identifier: Apache-2.0
// Runs the traced programs of tests/capture/guest.c, each in a session folder of its own, and reads what they left: the API,
// order, threads, signals, processes.
#include "tests/capture/guests.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <xsp/span.h>

#include <cmocka.h>

static uint64_t about(const struct read_record *span, unsigned type)
{
  const struct read_record *record = find_about(&result, span, type);
  assert_non_null(record);
  return record->record.start;
}

// The site's only tag.
static const struct catalog_site_tag *site_tag(const struct catalog_site *site)
{
  const struct catalog_site_tag *tag = (const struct catalog_site_tag *)(result.catalog + (size_t)site->first_tag * 8);
  assert_int_not_equal(site->first_tag, 0);
  assert_int_equal(tag->entry.type, CATALOG_SITE_TAG);
  assert_int_equal(tag->next, 0);
  return tag;
}

static void test_annotations(void **state)
{
  (void)state;
  assert_int_equal(RUN("annotate"), 0);
  read_result();
  assert_int_equal(result.misused, 5);
  assert_int_equal(result.dropped + result.lost, 0);
  assert_int_equal(result.ended, 1);
  const struct read_record *outer = find_span(&result, "outer"), *inner = find_span(&result, "inner");
  assert_non_null(outer);
  assert_non_null(inner);
  assert_true(inner->record.start >= outer->record.start);
  assert_true(inner->record.start + inner->record.duration <= outer->record.start + outer->record.duration);
  assert_true((int64_t)about(inner, RECORD_TAG_INT) == -8);
  uint64_t bits = about(inner, RECORD_TAG_DOUBLE);
  double value;
  memcpy(&value, &bits, sizeof value);
  assert_true(value == 1.5);
  assert_string_equal(read_text(&result, (uint32_t)about(inner, RECORD_TAG_STRING)), "cpu");
  assert_string_equal(read_text(&result, find_about(&result, inner, RECORD_TAG_STRING)->record.site), "provider");
  assert_string_equal(read_text(&result, find_about(&result, inner, RECORD_LOG)->record.site), "hello");
  assert_int_equal(about(inner, RECORD_CORRELATION), 99);
  assert_int_equal(find_about(&result, inner, RECORD_CORRELATION)->record.kind_clock, XSP_KIND_LAUNCH);
  assert_int_equal(about(inner, RECORD_PARENT), (uint64_t)outer->ring << 32 | outer->record.id);
  const struct read_record *variant = find_span(&result, "made kernel"), *cycle = find_span(&result, "cycle");
  assert_int_equal(count_spans(&result, "made kernel") + count_spans(&result, "cycle"), 3);
  const struct read_record *kernel = variant + 1;
  while (kernel < result.records + result.count && kernel->record.type != RECORD_SPAN)
    kernel++;
  assert_int_not_equal(kernel->record.site, variant->record.site); // same name, another site
  assert_int_equal(read_site(&result, kernel->record.site)->name, read_site(&result, variant->record.site)->name);
  assert_int_equal(read_site(&result, kernel->record.site)->first_tag, 0);
  const struct catalog_site_tag *shape = site_tag(read_site(&result, variant->record.site));
  assert_string_equal(read_text(&result, (uint32_t)shape->value), "8x8");
  assert_int_equal(kernel->record.start, 100);
  assert_int_equal(kernel->record.duration, 250);
  assert_int_equal(kernel->record.track, 1);
  assert_int_equal(kernel->record.kind_clock, XSP_KIND_EXECUTION | XSP_CLOCK_MONOTONIC << 4);
  assert_int_equal(about(kernel, RECORD_CORRELATION), 99);
  assert_int_equal(about(kernel, RECORD_PARENT), (uint64_t)outer->ring << 32 | outer->record.id);
  assert_string_equal(read_text(&result, (uint32_t)about(kernel, RECORD_TAG_STRING)), "1x2x3");
  assert_int_equal(cycle->record.kind_clock, XSP_KIND_SYNC | XSP_CLOCK_FOREIGN << 4);
  assert_int_equal(result.process[1].track_count, 2);
  assert_int_equal(result.records[0].record.type, RECORD_THREAD); // from the joining on; the name came later
  assert_int_equal(result.records[1].record.type, RECORD_THREAD_NAME);
  assert_string_equal(read_text(&result, result.records[1].record.site), "the main thread");
  const struct catalog_site *site = read_site(&result, inner->record.site);
  assert_int_equal(site->level, XSP_LEVEL_MODEL);
  assert_string_equal(read_text(&result, site_tag(site)->key), "layer_index");
  assert_int_equal(site_tag(site)->value, 7);
  assert_string_equal(result.control.tracer[read_site(&result, kernel->record.site)->tracer].name, "made");
  assert_string_equal(read_text(&result, read_site(&result, kernel->record.site)->category), "kernel");
  assert_true(result.head.calibration_count >= 2);
  assert_int_equal(result.head.calibration[0].sequence, 1);
}

static void test_order(void **state)
{
  (void)state;
  assert_int_equal(RUN("order"), 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_int_equal(count_spans(&result, "inner"), 201);
  assert_int_equal(count_spans(&result, "third"), 2001);
  assert_int_equal(result.misused, 1);
  assert_int_equal(result.open_count, 1);
  assert_string_equal(read_text(&result, read_site(&result, result.open[0].span.site)->name), "outer");
}

static void test_misuse(void **state)
{
  (void)state;
  assert_int_equal(RUN("misuse"), 0);
  read_result();
  assert_int_equal(result.misused, 2);
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_null(find_about(&result, find_span(&result, "inner"), RECORD_TAG_INT));
  size_t left_open = 0; // by the thread that ended: noted as a record, its ring is free for others
  for (size_t i = 0; i < result.count; i++)
    left_open += result.records[i].record.type == RECORD_OPEN;
  assert_int_equal(left_open, 1);
  assert_int_equal(result.open_count, 0);
}

static void test_levels(void **state)
{
  (void)state;
  assert_int_equal(RUN("levels"), 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_int_equal(count_spans(&result, "inner"), 3);
  assert_int_equal(count_spans(&result, "handler"), 1);
  assert_int_equal(result.misused, 0);
}

static void test_session_levels(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"parallel", "1", "1"}, .environment = {"XSP_LEVELS=M"}}),
                   0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 0);
  assert_int_equal(count_spans(&result, "inner"), 1);
  assert_int_equal(result.head.levels, XSP_LEVEL_MASK(XSP_LEVEL_MODEL));
}

static void test_churn(void **state)
{
  (void)state;
  assert_int_equal(RUN("churn", "10000"), 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 10000);
  assert_int_equal(result.dropped + result.lost, 0);
  assert_true(result.rings <= 16); // eight at a time
  uint32_t threads = 0;
  for (size_t i = 0; i < result.count; i++) // every thread's one span comes behind its own name
    if (result.records[i].record.type == RECORD_THREAD && result.records[i].tid != result.process[1].pid) {
      threads++;
      assert_true(i + 1 < result.count && result.records[i + 1].ring == result.records[i].ring);
      assert_int_equal(result.records[i + 1].record.type, RECORD_SPAN);
    }
  assert_int_equal(threads, 10000);
}

static void test_thread_without_end(void **state)
{
  (void)state;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  skip(); // sanitizers do not survive threads that end so
#endif
  assert_int_equal(RUN("raw-exit", "200"), 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 200);
  assert_int_equal(result.dropped + result.lost + result.misused, 0);
  assert_true(result.rings <= 16);
}

static void test_parallel(void **state)
{
  (void)state;
  assert_int_equal(RUN("parallel", "8", "20000"), 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 160000);
  assert_int_equal(count_spans(&result, "inner"), 160000);
  assert_int_equal(result.dropped + result.lost + result.misused, 0);
}

static void test_ring_limit(void **state)
{
  (void)state;
  const char *small[] = {"XSP_RING_RECORDS=256", "XSP_SESSION_LIMIT_BYTES=200000"};
  assert_int_equal(
      run_guest(&(struct guest_run){.arguments = {"parallel", "1", "20000"}, .environment = {small[0], small[1]}}), 0);
  read_result();
  size_t kept = count_spans(&result, "outer") + count_spans(&result, "inner");
  assert_true(kept > 1000); // it grew
  assert_true(result.dropped > 0);
  assert_int_equal(result.count + result.dropped, 40000 + 1250 + 2); // spans, tags, two threads: none unaccounted for
}

static void test_flight_recorder(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"parallel", "1", "20000"},
                                                 .environment = {"XSP_RING_RECORDS=1024", "XSP_FLIGHT_RECORDER=1"}}),
                   0);
  read_result();
  assert_int_equal(result.dropped, 0);
  assert_int_equal(result.count, 1 + 1024); // the main thread, which has no span; the newest, without a gap
  uint64_t last = 0;
  for (size_t i = 0; i < result.count; i++)
    last = result.records[i].position > last ? result.records[i].position : last;
  assert_int_equal(last, 40000 + 1250);
}

static void test_storm(void **state)
{
  (void)state;
  long outer, inner, handled;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"storm", "300"}}), 0);
  assert_int_equal(sscanf(output, "%ld %ld %ld", &outer, &inner, &handled), 3);
  read_result();
  assert_true(handled > 100);
  assert_int_equal(result.misused, 0);
  assert_int_equal(result.open_count, 0);
  size_t spans = 0, tags = 0, threads = 0;
  for (size_t i = 0; i < result.count; i++) { // nothing torn: each record is one that the guest wrote
    const struct record *record = &result.records[i].record;
    spans +=
        record->type == RECORD_SPAN && read_site(&result, record->site) != NULL && record->duration < UINT64_C(1) << 40;
    tags += record->type == RECORD_TAG_INT && record->start == 1;
    threads += record->type == RECORD_THREAD;
  }
  assert_int_equal(spans + tags + threads, result.count);
  assert_int_equal(result.count + result.dropped, (size_t)(outer + inner + 3 * handled) + 1);
  if (result.dropped == 0) {
    assert_int_equal(count_spans(&result, "outer"), outer);
    assert_int_equal(count_spans(&result, "inner"), inner);
    assert_int_equal(count_spans(&result, "handler"), handled);
    assert_int_equal(count_spans(&result, "third"), handled);
  }
}

static void test_fork(void **state)
{
  (void)state;
  assert_int_equal(RUN("fork"), 0);
  read_result();
  assert_int_equal(result.processes, 7);
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_int_equal(count_spans(&result, "inner"), 6);
  assert_int_equal(count_spans(&result, "third"), 3); // on the parent's track, from each child
  assert_int_equal(result.misused, 3);
  assert_int_equal(result.ended, 7);
  assert_int_equal(result.open_count, 0);
  for (size_t i = 0; i < result.count; i++)
    assert_int_equal(result.process[result.records[i].process].pid, result.records[i].tid); // one thread each
}

static void test_fork_in_handler(void **state)
{
  (void)state;
#if XSP_TEST_THREAD_SANITIZER
  skip(); // the sanitizer's own fork handlers allocate
#endif
  long count;
  assert_int_equal(
      run_guest(&(struct guest_run){.arguments = {"fork-handler"}, .environment = {"XSP_RING_RECORDS=1024"}}), 0);
  assert_int_equal(sscanf(output, "%ld", &count), 1);
  read_result();
  size_t in_parent = 0;
  for (size_t i = 0; i < result.count; i++)
    in_parent += result.records[i].process == 1 && result.records[i].record.type == RECORD_SPAN;
  assert_int_equal(count_spans(&result, "third"), 20);
  assert_int_equal(in_parent + result.dropped, count);
}

static void test_vfork(void **state)
{
  (void)state;
  assert_int_equal(RUN("vfork"), 0);
  read_result();
  assert_int_equal(result.processes, 2);
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_int_equal(count_spans(&result, "third"), 1);
  assert_int_not_equal(find_span(&result, "outer")->process, find_span(&result, "third")->process);
}

static void test_daemon(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"daemon"}, .environment = {"XSP_RING_RECORDS=1024"}}),
                   0);
  assert_string_equal(output, "done\n");
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_int_equal(count_spans(&result, "inner"), 20000);
  assert_int_equal(result.dropped + result.lost, 0);
  assert_true(result.catalog_size > 512 << 10); // it grew, by name, although every descriptor was taken away
}

static void test_unloaded_plugin(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.program = plugin_host, .arguments = {plugin}}), 0);
  read_result();
  assert_int_equal(count_spans(&result, "plugin"), 3);
  assert_int_equal(result.processes, 1);
}

static void test_exit_from_thread(void **state)
{
  (void)state;
  assert_int_equal(
      run_guest(&(struct guest_run){.arguments = {"exit-thread"}, .environment = {"XSP_SESSION_LIMIT_BYTES=8388608"}}),
      3);
  assert_true(session_read(session, &result));
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_int_equal(result.ended, 1);
  assert_true(ids_are_unique(&result));
}

static void test_explicit_attach(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"attach", session}, .folder = ""}), 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 1);
}

static void test_trace_context(void **state)
{
  (void)state;
  assert_int_equal(RUN("trace-context"), 0);
  read_result();
  const struct read_record *outer = find_span(&result, "outer"), *inner = find_span(&result, "inner");
  static const uint8_t trace[16] = {0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd,
                                    0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c};
  static const uint8_t parent[8] = {0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31};
  assert_memory_equal(&find_about(&result, outer, RECORD_TRACE)->record.start, trace, 16);
  assert_memory_equal(&find_about(&result, outer, RECORD_REMOTE_PARENT)->record.start, parent, 8);
  char expected[64];
  uint64_t id = session_public_id(result.head.span_base, (uint64_t)inner->ring << 32 | inner->record.id);
  snprintf(expected, sizeof expected, "-%016" PRIx64 "-01", id);
  assert_non_null(strstr(output, expected));    // what other services will name as their parent
  assert_non_null(strstr(output, "no parent")); // outside of spans, without a launcher and a caller
  assert_int_equal(result.misused, 0);
}

static void expect_ranks(struct guest_run run, uint32_t world_size, uint32_t rank, int32_t local_rank)
{
  run.arguments[0] = "rank";
  assert_int_equal(run_guest(&run), 0);
  read_result();
  uint32_t found = 0; // the program and its child
  for (size_t i = 0; i < sizeof result.process / sizeof result.process[0]; i++) {
    const struct process_head *process = &result.process[i];
    if (process->pid == 0)
      continue;
    found++;
    assert_int_equal(process->rank.world_size, world_size);
    assert_int_equal(process->rank.rank, rank);
    assert_int_equal(process->rank.local_rank, local_rank);
  }
  assert_int_equal(found, 2);
}

static void test_rank_unknown(void **state)
{
  (void)state;
  expect_ranks((struct guest_run){.environment = {"RANK=4", "WORLD_SIZE=4", "PMI_RANK=0"}}, 0, 0, -1);
}

static void test_rank_of_launcher(void **state)
{
  (void)state;
  expect_ranks((struct guest_run){.environment = {"PMI_RANK=2", "PMI_SIZE=4", "MPI_LOCALRANKID=1"}}, 4, 2, 1);
}

static void test_rank_of_program(void **state)
{
  (void)state;
  struct guest_run run = {.arguments = {"", "8"}, .environment = {"RANK=0", "WORLD_SIZE=3", "LOCAL_RANK=0"}};
  expect_ranks(run, 8, 7, -1);
}

int main(int count, char **arguments)
{
  if (!run_arguments(count, arguments))
    return 64;
  const struct CMUnitTest tests[] = {
      RUN_TEST(annotations),
      RUN_TEST(order),
      RUN_TEST(misuse),
      RUN_TEST(levels),
      RUN_TEST(session_levels),
      RUN_TEST(churn),
      RUN_TEST(thread_without_end),
      RUN_TEST(parallel),
      RUN_TEST(ring_limit),
      RUN_TEST(flight_recorder),
      RUN_TEST(storm),
      RUN_TEST(fork),
      RUN_TEST(fork_in_handler),
      RUN_TEST(vfork),
      RUN_TEST(daemon),
      RUN_TEST(unloaded_plugin),
      RUN_TEST(exit_from_thread),
      RUN_TEST(explicit_attach),
      RUN_TEST(trace_context),
      RUN_TEST(rank_unknown),
      RUN_TEST(rank_of_launcher),
      RUN_TEST(rank_of_program),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
