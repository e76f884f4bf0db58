// SPDX-License-Identifier: Apache-2.0
// That exports report how many spans they have written, of how many.
#include "report/exports/exports.h"

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

static struct store *make_store(const char *path)
{
  struct store *store;
  struct error err;
  struct store_span *spans = calloc(SPANS, sizeof *spans);
  assert_non_null(spans);
  assert_int_equal(store_create(path, false, &store, &err), STATUS_OK);
  const struct store_experiment experiment = {.experiment_id = 1, .name = "many"};
  const struct store_run run = {
      .run_id = 1, .experiment_id = 1, .levels = {.mask = 1U << XSP_LEVEL_MODEL}, .batch_size = 1};
  const struct store_track track = {1, 1, "main", NULL, NULL, 1, 1, STORE_NONE, STORE_NONE, {0, 0, 0}};
  assert_int_equal(store_add_experiment(store, &experiment, &err), STATUS_OK);
  assert_int_equal(store_add_run(store, &run, &err), STATUS_OK);
  assert_int_equal(store_add_track(store, &track, &err), STATUS_OK);
  for (int i = 0; i < SPANS; i++)
    spans[i] = (struct store_span){.span_id = i + 1,
                                   .start_ns = i * 10,
                                   .duration_ns = 5,
                                   .track_id = 1,
                                   .level = XSP_LEVEL_MODEL,
                                   .name = store_string(store, "one", 3)};
  assert_int_equal(store_add_spans(store, 1, spans, SPANS, &err), STATUS_OK);
  assert_int_equal(correlate_store(store, &err), STATUS_OK);
  assert_int_equal(store_finish(store, &err), STATUS_OK);
  free(spans);
  return store;
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
  struct store *store = make_store(path);
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

int main(void)
{
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_exports_of_spans_report_them)};
  if (mkdtemp(folder) == NULL)
    return 1;
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  rmdir(folder);
  return failures;
}
