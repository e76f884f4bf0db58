// SPDX-License-Identifier: Apache-2.0
// Layers told after the inference: what becomes of them in a session. Each case in a child process with one of its own.
#include "frameworks/common/layer_publish.h"

#include "tests/support/ring_reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/expect.h"

static struct session_read result;

// Runs `program` in a child with a session and reads what it left into `result`.
static void in_session(void (*program)(void))
{
  char folder[] = "/tmp/xsp-layer-publish-XXXXXX";
  assert_non_null(mkdtemp(folder));
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    alarm(600);
    if (xsp_attach(folder) != 0)
      _exit(99);
    program();
    _exit(0);
  }
  int status = 0;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  bool is_read = session_read(folder, &result);
  remove_folder(folder);
  assert_true(is_read);
}

static int finish(void **state)
{
  session_read_done(&result);
  memset(&result, 0, sizeof result);
  return 0;
}

// The text of a site's tag, or its number as text; NULL: it has none.
static const char *site_tag(const struct read_record *span, const char *key)
{
  static char number[32];
  const struct catalog_site *site = read_site(&result, span->record.site);
  for (uint32_t id = site->first_tag; id != 0;) {
    const struct catalog_site_tag *tag = (const struct catalog_site_tag *)(result.catalog + (size_t)id * 8);
    if (strcmp(read_text(&result, tag->key), key) == 0) {
      if (tag->value_type == VALUE_STRING)
        return read_text(&result, (uint32_t)tag->value);
      snprintf(number, sizeof number, "%lld", (long long)tag->value);
      return number;
    }
    id = tag->next;
  }
  return NULL;
}

static uint64_t end_of(const struct read_record *span)
{
  return span->record.start + span->record.duration;
}

static uint64_t reference(const struct read_record *span)
{
  return (uint64_t)span->ring << 32 | span->record.id;
}

static void publish(const struct layer_publisher_options *options, const struct layer_report *layers, size_t count,
                    unsigned times, uint64_t model_start_ns)
{
  XSP_SITE_FULL(model_site, XSP_LEVEL_MODEL, "net", NULL, "runner");
  struct layer_publisher *publisher = framework_layer_publisher_create(options);
  for (unsigned i = 0; i < times; i++) {
    struct xsp_span model = xsp_span_start(&model_site);
    struct xsp_context context = xsp_span_context(&model);
    xsp_span_finish(&model);
    if (framework_layer_publish(publisher, layers, count, context, model_start_ns, NULL) != STATUS_OK)
      _exit(98);
  }
  framework_layer_publisher_free(publisher);
}

static void two_inferences(void)
{
  const struct layer_tags fused = {{{"fused", "conv1 relu1", 0}, {"windows", NULL, 7}}, 2};
  const struct layer_report layers[] = {
      {.name = "conv1",
       .type = "Conv2D",
       .category = "compute",
       .shape = "[1,64,7,7]",
       .index = 0,
       .alloc_bytes = 4096,
       .start_ns = 1000,
       .duration_ns = 500,
       .parent = LAYER_PARENT_MODEL,
       .tags = &fused},
      {.type = "Relu", .index = -1, .alloc_bytes = -1, .start_ns = 1500, .duration_ns = 100, .parent = 99},
  };
  publish(&(struct layer_publisher_options){"some", "thread,name", LAYER_TIMES_REALTIME}, layers, 2, 2, 0);
}

static void what_is_told_is_what_is_there(void **state)
{
  in_session(two_inferences);
  const struct read_record *model = find_span(&result, "net"), *conv = find_span(&result, "conv1");
  const struct read_record *relu = find_span(&result, "Relu"); // named after its type
  assert_non_null(conv);
  assert_non_null(relu);
  assert_int_equal(count_spans(&result, "conv1"), 2);
  assert_int_equal(conv->record.start, 1000);
  assert_int_equal(conv->record.duration, 500);
  assert_int_equal(conv->record.kind_clock >> 4, XSP_CLOCK_REALTIME);
  assert_int_not_equal(conv->record.track, 0);
  assert_int_equal(conv->record.track, relu->record.track);
  assert_int_equal(find_about(&result, conv, RECORD_PARENT)->record.start, reference(model));
  assert_int_equal(find_about(&result, relu, RECORD_PARENT)->record.start, reference(model));
  assert_string_equal(site_tag(conv, "layer_index"), "0");
  assert_string_equal(site_tag(conv, "layer_type"), "Conv2D");
  assert_string_equal(site_tag(conv, "layer_shape"), "[1,64,7,7]");
  assert_string_equal(site_tag(conv, "fused"), "conv1 relu1");
  assert_string_equal(site_tag(conv, "windows"), "7");
  assert_string_equal(site_tag(conv, "untold"), "thread,name");
  assert_string_equal(read_text(&result, read_site(&result, conv->record.site)->category), "compute");
  assert_int_equal(find_about(&result, conv, RECORD_TAG_INT)->record.start, 4096);
  assert_null(site_tag(relu, "layer_index")); // nothing that was not told
  assert_null(site_tag(relu, "layer_shape"));
  assert_null(find_about(&result, relu, RECORD_TAG_INT));
}

static void durations_only(void)
{
  const struct layer_report layers[] = {
      {.name = "a", .index = 0, .alloc_bytes = -1, .duration_ns = 100, .parent = LAYER_PARENT_MODEL},
      {.name = "loop", .index = 1, .alloc_bytes = -1, .duration_ns = 300, .parent = LAYER_PARENT_MODEL},
      {.name = "body", .index = 2, .alloc_bytes = -1, .duration_ns = 50, .parent = 1},
      {.name = "body2", .index = 3, .alloc_bytes = -1, .duration_ns = 50, .parent = 1},
      {.name = "z", .index = 4, .alloc_bytes = -1, .duration_ns = 0, .parent = LAYER_PARENT_MODEL},
  };
  publish(&(struct layer_publisher_options){"some", "start", LAYER_TIMES_LAID_OUT}, layers, 5, 1, 7000);
}

static void durations_are_laid_out_one_after_the_other(void **state)
{
  in_session(durations_only);
  const struct read_record *a = find_span(&result, "a"), *loop = find_span(&result, "loop");
  const struct read_record *body = find_span(&result, "body"), *body2 = find_span(&result, "body2");
  const struct read_record *z = find_span(&result, "z");
  assert_int_equal(a->record.start, 7000);
  assert_int_equal(a->record.kind_clock >> 4, XSP_CLOCK_MONOTONIC);
  assert_int_equal(loop->record.start, end_of(a));
  assert_int_equal(body->record.start, loop->record.start);
  assert_int_equal(body2->record.start, end_of(body));
  assert_int_equal(z->record.start, end_of(loop));
  assert_int_equal(find_about(&result, body2, RECORD_PARENT)->record.start, reference(loop));
  assert_int_equal(z->record.track, body->record.track);
}

static void side_by_side(void)
{
  const struct layer_report layers[] = {
      {.name = "late", .index = 3, .alloc_bytes = -1, .start_ns = 60, .duration_ns = 10, .parent = LAYER_PARENT_MODEL},
      {.name = "left", .index = 0, .alloc_bytes = -1, .start_ns = 10, .duration_ns = 40, .parent = LAYER_PARENT_MODEL},
      {.name = "inner", .index = 2, .alloc_bytes = -1, .start_ns = 12, .duration_ns = 8, .parent = 1},
      {.name = "right", .index = 1, .alloc_bytes = -1, .start_ns = 30, .duration_ns = 40, .parent = LAYER_PARENT_MODEL},
      {.name = "early child", .index = 4, .alloc_bytes = -1, .start_ns = 5, .duration_ns = 1, .parent = 0},
      {.name = "absurd", .index = 5, .alloc_bytes = -1, .start_ns = 90, .duration_ns = UINT64_MAX, .parent = SIZE_MAX},
  };
  publish(&(struct layer_publisher_options){"some", NULL, LAYER_TIMES_MONOTONIC}, layers, 6, 1, 0);
}

static void spans_that_cross_lie_on_tracks_of_their_own(void **state)
{
  in_session(side_by_side);
  const struct read_record *left = find_span(&result, "left"), *right = find_span(&result, "right");
  const struct read_record *inner = find_span(&result, "inner"), *late = find_span(&result, "late");
  const struct read_record *model = find_span(&result, "net"), *child = find_span(&result, "early child");
  assert_int_not_equal(left->record.track, right->record.track);
  assert_int_equal(inner->record.track, left->record.track);
  assert_int_equal(late->record.track, left->record.track);
  assert_int_equal(find_about(&result, inner, RECORD_PARENT)->record.start, reference(left));
  assert_int_equal(find_about(&result, child, RECORD_PARENT)->record.start, reference(model)); // before its parent
  assert_non_null(find_span(&result, "absurd"));
  assert_null(site_tag(left, "untold"));
  assert_int_equal(result.misused, 0);
}

static void on_threads(void)
{
  const struct layer_report layers[] = {
      {.name = "left", .index = 0, .start_ns = 10, .duration_ns = 40, .thread_id = 71, .parent = LAYER_PARENT_MODEL},
      {.name = "right", .index = 1, .start_ns = 20, .duration_ns = 40, .thread_id = 72, .parent = LAYER_PARENT_MODEL},
      {.name = "inner", .index = 2, .start_ns = 20, .duration_ns = 5, .thread_id = 71, .parent = 0},
      {.name = "unknown", .index = 3, .start_ns = 15, .duration_ns = 5, .parent = LAYER_PARENT_MODEL},
  };
  publish(&(struct layer_publisher_options){"some", NULL, LAYER_TIMES_REALTIME}, layers, 4, 2, 0);
}

// The entry in the catalog of the track that a span is on.
static const struct catalog_track *track_of(const struct read_record *span)
{
  uint32_t id = result.process[span->process].track[span->record.track - 1];
  return (const struct catalog_track *)(result.catalog + (size_t)id * 8);
}

static void layers_are_on_their_threads(void **state)
{
  in_session(on_threads);
  const struct read_record *left = find_span(&result, "left"), *right = find_span(&result, "right");
  const struct read_record *inner = find_span(&result, "inner"), *unknown = find_span(&result, "unknown");
  assert_int_equal(track_of(left)->thread_id, 71);
  assert_int_equal(track_of(right)->thread_id, 72);
  assert_int_equal(inner->record.track, left->record.track);
  assert_int_equal(find_about(&result, inner, RECORD_PARENT)->record.start, reference(left));
  assert_int_equal(track_of(unknown)->thread_id, 0);
  assert_string_equal(read_text(&result, track_of(unknown)->name), "some layers");
  assert_int_equal(result.process[left->process].track_count, 3); // for both inferences
}

// More different layers than sites are kept for: the rest share one, none is lost.
static void endless_shapes(void)
{
  struct layer_publisher *publisher =
      framework_layer_publisher_create(&(struct layer_publisher_options){"some", NULL, LAYER_TIMES_REALTIME});
  for (int64_t i = 0; i < 70000; i++) {
    char shape[32];
    const struct layer_report layer = {.name = "grows",
                                       .shape = framework_layer_shape_text(&i, 1, shape, sizeof shape),
                                       .index = 0,
                                       .alloc_bytes = -1,
                                       .start_ns = (uint64_t)i,
                                       .parent = LAYER_PARENT_MODEL};
    if (framework_layer_publish(publisher, &layer, 1, (struct xsp_context){0}, 0, NULL) != STATUS_OK)
      _exit(98);
  }
  framework_layer_publisher_free(publisher);
}

static void sites_are_bounded(void **state)
{
  in_session(endless_shapes);
  assert_true(count_spans(&result, "(further layers)") > 0);
}

static void without_a_session_nothing_happens(void **state)
{
  const struct layer_publisher_options options = {"some", NULL, LAYER_TIMES_REALTIME};
  struct layer_publisher *publisher = framework_layer_publisher_create(&options);
  const struct layer_report layer = {.name = "a"};
  OK(framework_layer_publish(publisher, &layer, 1, (struct xsp_context){0}, 0, err));
  framework_layer_publisher_free(publisher);
  framework_layer_publisher_free(NULL);
  char text[16];
  assert_string_equal(framework_layer_shape_text((const int64_t[]){1, -1}, 2, text, sizeof text), "[1,-1]");
  assert_string_equal(framework_layer_shape_text(NULL, 0, text, sizeof text), "[]");
  assert_string_equal(framework_layer_shape_text((const int64_t[]){123456, 7}, 2, text, 6), "[1234");
}

int main(void)
{
  unsetenv("XSP_SESSION");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_a_session_nothing_happens),
      cmocka_unit_test_teardown(what_is_told_is_what_is_there, finish),
      cmocka_unit_test_teardown(durations_are_laid_out_one_after_the_other, finish),
      cmocka_unit_test_teardown(spans_that_cross_lie_on_tracks_of_their_own, finish),
      cmocka_unit_test_teardown(layers_are_on_their_threads, finish),
      cmocka_unit_test_teardown(sites_are_bounded, finish),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
