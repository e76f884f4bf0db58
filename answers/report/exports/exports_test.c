// SPDX-License-Identifier: Apache-2.0
// That exports report how many spans they have written, of how many; that spans have their own tags; how rows are sorted.
#include "report/exports/exports.h"
#include "report/exports/otlp_facts.h"
#include "report/exports/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SPANS 10000

static char folder[] = "/tmp/exports_test.XXXXXX";

static struct store *open_store(const char *path)
{
  struct store *store;
  struct error err;
  assert_int_equal(store_create(path, false, &store, &err), STATUS_OK);
  const struct store_experiment experiment = {.experiment_id = 1, .name = "many"};
  const struct store_run run = {
      .run_id = 1, .experiment_id = 1, .levels = {.mask = 1U << XSP_LEVEL_MODEL}, .batch_size = 1};
  const struct store_track track = {1, 1, "main", NULL, NULL, 1, 1, STORE_NONE, STORE_NONE, {0, 0, 0}};
  assert_int_equal(store_add_experiment(store, &experiment, &err), STATUS_OK);
  assert_int_equal(store_add_run(store, &run, &err), STATUS_OK);
  assert_int_equal(store_add_track(store, &track, &err), STATUS_OK);
  return store;
}

// Spans with numbers from 0 on; their ids rise, or are those of `rings` rings that took turns.
static void add_spans(struct store *store, int count, int rings)
{
  struct error err;
  struct store_span *spans = calloc((size_t)count, sizeof *spans);
  assert_non_null(spans);
  for (int i = 0; i < count; i++)
    spans[i] = (struct store_span){.span_id = (int64_t)(i % rings) << 32 | (i + 1),
                                   .start_ns = i * 10,
                                   .duration_ns = 5,
                                   .track_id = 1,
                                   .level = XSP_LEVEL_MODEL,
                                   .name = store_string(store, "one", 3)};
  assert_int_equal(store_add_spans(store, 1, spans, (size_t)count, &err), STATUS_OK);
  free(spans);
}

static void add_tag(struct store *store, int64_t span_id, int64_t value)
{
  struct error err;
  const struct store_tag tag = {
      .span_id = span_id, .key = store_string(store, "n", 1), .type = STORE_INT, .value.integer = value};
  assert_int_equal(store_add_tags(store, 1, &tag, 1, &err), STATUS_OK);
}

static void finish(struct store *store)
{
  struct error err;
  assert_int_equal(correlate_store(store, &err), STATUS_OK);
  assert_int_equal(store_finish(store, &err), STATUS_OK);
}

struct heard {
  uint64_t done, total;
};

static void hear(void *context, uint64_t done, uint64_t total)
{
  struct heard *heard = context;
  assert_true(done > heard->done);
  *heard = (struct heard){done, total};
}

// Folded, pprof and OpenTelemetry's profiles have contexts, which are few.
static void test_exports_of_spans_report_them(void **state)
{
  (void)state;
  static const char *const formats[] = {"perfetto", "chrome", "otlp", "otlp-proto", "sqlite", "csv", "speedscope"};
  char path[64];
  snprintf(path, sizeof path, "%s/many.xsp", folder);
  struct store *store = open_store(path);
  add_spans(store, SPANS, 1);
  finish(store);
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
    struct heard heard = {0};
    struct error err;
    char output[64];
    const struct report_export_options options = {.watcher = {hear, &heard}};
    snprintf(output, sizeof output, "%s/many.%s", folder, formats[i]);
    enum status status = report_export_file(store, formats[i], output, &options, &err);
    if (status != STATUS_OK)
      fail_msg("%s: %s %s %s", formats[i], err.what, err.where, err.why);
    assert_int_equal(heard.total, SPANS);
    assert_true(heard.done > SPANS / 2 && heard.done <= SPANS);
    unlink(output);
  }
  store_close(store);
  unlink(path);
}

#define SPANS_OF_PARTS 140000 // more than two parts

// Moves `*at` behind the next `text`, and reads the number there. A whole request is no string for the sanitizer, which would measure the
// rest of it each time.
static int64_t number_after(const char **at, const char *end, const char *text)
{
  char number[24] = "";
  const char *found = memmem(*at, (size_t)(end - *at), text, strlen(text));
  assert_non_null(found);
  *at = found + strlen(text);
  memcpy(number, *at, (size_t)(end - *at) < sizeof number ? (size_t)(end - *at) : sizeof number - 1);
  return strtoll(number, NULL, 10);
}

// Each span has its number as a tag.
static enum status check_request(void *context, struct buf *request, size_t spans, struct error *err)
{
  static const char start[] = "\"startTimeUnixNano\":\"", tag[] = "\"key\":\"n\",\"value\":{\"intValue\":\"";
  size_t *seen = context;
  const char *at = request->data;
  for (size_t i = 0; i < spans; i++) {
    assert_int_equal(number_after(&at, request->data + request->length, start), 10 * *seen);
    assert_int_equal(number_after(&at, request->data + request->length, tag), *seen);
    ++*seen;
  }
  return STATUS_OK;
}

// Where ids of parts overlap, each part's tags would be looked for among nearly all.
static void test_spans_of_parts_have_their_tags(void **state)
{
  (void)state;
  for (int rings = 1; rings <= 4; rings += 3) {
    struct arena arena = {0};
    struct error err;
    struct store_run *runs;
    size_t run_count, seen = 0;
    char path[64];
    snprintf(path, sizeof path, "%s/rings.xsp", folder);
    struct store *store = open_store(path);
    add_spans(store, SPANS_OF_PARTS, rings);
    for (int i = 0; i < SPANS_OF_PARTS; i++)
      add_tag(store, (int64_t)(i % rings) << 32 | (i + 1), i);
    finish(store);

    assert_int_equal(store_runs(store, &arena, &runs, &run_count, &err), STATUS_OK);
    struct otlp_facts facts = {.run = &runs[0]};
    assert_int_equal(otlp_facts_load(store, &facts, &arena, &err), STATUS_OK);
    assert_int_equal(facts.tag_count, rings > 1 ? SPANS_OF_PARTS : 0);

    const struct report_otlp_sink sink = {.context = &seen, .put = check_request};
    assert_int_equal(report_otlp_requests(store, true, &sink, &err), STATUS_OK);
    assert_int_equal(seen, SPANS_OF_PARTS);
    arena_done(&arena);
    store_close(store);
    unlink(path);
  }
}

static void load_with_tags(struct store *store, struct timeline *timeline, struct arena *arena,
                           struct timeline_run *run)
{
  struct error err;
  assert_int_equal(timeline_open(store, timeline, &err), STATUS_OK);
  assert_int_equal(timeline_load(timeline, 0, TIMELINE_COLUMNS, arena, run, &err), STATUS_OK);
  assert_int_equal(timeline_load_tags(timeline, arena, run, &err), STATUS_OK);
}

static void test_the_last_span_has_its_own_tags(void **state)
{
  (void)state;
  struct arena arena = {0};
  struct timeline timeline;
  struct timeline_run run;
  char path[64];
  snprintf(path, sizeof path, "%s/tags.xsp", folder);
  struct store *store = open_store(path);
  add_spans(store, 5, 1);
  add_tag(store, 4, 4);
  add_tag(store, 5, 5);
  add_tag(store, 12, 12); // of a span that is not there
  finish(store);
  load_with_tags(store, &timeline, &arena, &run);
  assert_non_null(run.tag_starts);
  for (int64_t id = 1; id <= 5; id++) {
    struct timeline_range tags = timeline_tags(&run, id);
    assert_int_equal(tags.end - tags.first, id >= 4);
    for (size_t at = tags.first; at < tags.end; at++)
      assert_int_equal(run.tags[at].span_id, id);
  }
  timeline_done(&timeline);
  arena_done(&arena);
  store_close(store);
  unlink(path);
}

static void test_tags_of_a_run_without_spans(void **state)
{
  (void)state;
  struct arena arena = {0};
  struct timeline timeline;
  struct timeline_run run;
  char path[64];
  snprintf(path, sizeof path, "%s/alone.xsp", folder);
  struct store *store = open_store(path);
  add_tag(store, 12, 12);
  finish(store);
  load_with_tags(store, &timeline, &arena, &run);
  assert_null(run.tag_starts); // which rows of spans refer to
  timeline_done(&timeline);
  arena_done(&arena);
  store_close(store);
  unlink(path);
}

static int by_number(const void *a, const void *b, void *context)
{
  const uint32_t *numbers = context, first = numbers[*(const uint32_t *)a], second = numbers[*(const uint32_t *)b];
  return first < second ? -1 : first > second;
}

static void test_rows_far_from_their_place_are_sorted(void **state)
{
  (void)state;
  enum { ROWS = 5000, STEP = 1237 }; // without a common divisor: each number once
  static uint32_t rows[ROWS], numbers[ROWS];
  for (uint32_t i = 0; i < ROWS; i++) {
    rows[i] = i;
    numbers[i] = i * STEP % ROWS;
  }
  timeline_sort_rows(rows, ROWS, by_number, numbers);
  for (uint32_t i = 0; i < ROWS; i++)
    assert_int_equal(numbers[rows[i]], i);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_exports_of_spans_report_them), cmocka_unit_test(test_spans_of_parts_have_their_tags),
      cmocka_unit_test(test_the_last_span_has_its_own_tags), cmocka_unit_test(test_tags_of_a_run_without_spans),
      cmocka_unit_test(test_rows_far_from_their_place_are_sorted)};
  if (mkdtemp(folder) == NULL)
    return 1;
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  rmdir(folder);
  return failures;
}
