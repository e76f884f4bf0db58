// SPDX-License-Identifier: Apache-2.0
// Test support for the analyses' tests; see test_fixture.h.
#include "analyze/test_fixture.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void must(struct fixture *fixture, enum status status)
{
  if (status != STATUS_OK)
    fail_msg("%s: %s", fixture->error.what, fixture->error.why);
}

void fixture_start(struct fixture *fixture)
{
  *fixture = (struct fixture){0};
  strcpy(fixture->path, "/tmp/xsp-analyze-XXXXXX");
  assert_non_null(mkdtemp(fixture->path));
  strcat(fixture->path, "/test.xsp");
  analyze_request_init(&fixture->request);
  must(fixture, store_create(fixture->path, false, &fixture->store, &fixture->error));
  fixture_experiment(fixture, "first");
}

void fixture_experiment(struct fixture *fixture, const char *name)
{
  fixture_experiment_on(fixture, name, NULL, 0);
}

void fixture_experiment_on(struct fixture *fixture, const char *name, const struct store_system_value *system,
                           size_t count)
{
  struct store_experiment experiment = {
      .experiment_id = ++fixture->experiment_id, .name = name, .created_ns = fixture->created_ns};
  must(fixture, store_add_system(fixture->store, system, count, &experiment.system_id, &fixture->error));
  must(fixture, store_add_experiment(fixture->store, &experiment, &fixture->error));
}

void fixture_run_full(struct fixture *fixture, const struct store_run *given)
{
  struct store_run run = *given;
  run.run_id = ++fixture->run_id;
  run.experiment_id = fixture->experiment_id;
  fixture->span_id = 0;
  must(fixture, store_add_run(fixture->store, &run, &fixture->error));
  fixture->track_id = 0;
  fixture->thread = fixture_track(
      fixture,
      &(struct store_track){.process_id = 10, .thread_id = 10, .device_id = STORE_NONE, .stream_id = STORE_NONE});
  fixture->stream = fixture_track(
      fixture, &(struct store_track){.process_id = 10, .thread_id = STORE_NONE, .device_id = 0, .stream_id = 7});
}

uint32_t fixture_track(struct fixture *fixture, const struct store_track *given)
{
  struct store_track track = *given;
  track.run_id = fixture->run_id;
  track.track_id = ++fixture->track_id;
  must(fixture, store_add_track(fixture->store, &track, &fixture->error));
  return fixture->track_id;
}

void fixture_run(struct fixture *fixture, const char *levels, int64_t batch_size)
{
  struct store_run run = {.batch_size = batch_size, .epoch_is_unix = true, .own_pct = NAN};
  assert_true(level_set_parse(levels, strlen(levels), &run.levels));
  fixture_run_full(fixture, &run);
}

uint32_t fixture_frame(struct fixture *fixture, uint32_t caller, unsigned kind, const char *name, const char *file,
                       int64_t line)
{
  const struct store_frame frame = {.kind = kind, .name = name, .file = file, .line = line};
  return store_context_id(fixture->store, caller, store_frame_id(fixture->store, &frame));
}

static int64_t add(struct fixture *fixture, struct store_span span, const char *name, const char *category)
{
  span.context_id = fixture->context_id;
  span.span_id = ++fixture->span_id;
  span.recorded_parent_id = fixture->parent_id;
  span.name = store_string(fixture->store, name, strlen(name));
  span.category = category == NULL ? 0 : store_string(fixture->store, category, strlen(category));
  must(fixture, store_add_spans(fixture->store, fixture->run_id, &span, 1, &fixture->error));
  return span.span_id;
}

int64_t fixture_span_in(struct fixture *fixture, unsigned level, const char *category, const char *name,
                        int64_t start_ns, int64_t duration_ns)
{
  return add(
      fixture,
      (struct store_span){
          .start_ns = start_ns, .duration_ns = duration_ns, .track_id = fixture->thread, .level = (uint8_t)level},
      name, category);
}

int64_t fixture_span(struct fixture *fixture, unsigned level, const char *name, int64_t start_ns, int64_t duration_ns)
{
  return fixture_span_in(fixture, level, NULL, name, start_ns, duration_ns);
}

static int64_t launch(struct fixture *fixture, const char *name, int64_t launch_ns, int64_t start_ns,
                      int64_t duration_ns, const char *category)
{
  int64_t correlation = ++fixture->correlation_id;
  add(fixture,
      (struct store_span){.start_ns = launch_ns,
                          .duration_ns = 10,
                          .correlation_id = correlation,
                          .track_id = fixture->thread,
                          .level = XSP_LEVEL_KERNEL,
                          .kind = XSP_KIND_LAUNCH},
      "launch", "api");
  return add(fixture,
             (struct store_span){.start_ns = start_ns,
                                 .duration_ns = duration_ns,
                                 .correlation_id = correlation,
                                 .track_id = fixture->stream,
                                 .level = XSP_LEVEL_KERNEL,
                                 .kind = XSP_KIND_EXECUTION},
             name, category);
}

int64_t fixture_kernel(struct fixture *fixture, int64_t launch_ns, int64_t start_ns, int64_t duration_ns,
                       const char *category)
{
  return launch(fixture, "gemm", launch_ns, start_ns, duration_ns, category);
}

int64_t fixture_kernel_named(struct fixture *fixture, const char *name, int64_t launch_ns, int64_t start_ns,
                             int64_t duration_ns)
{
  return launch(fixture, name, launch_ns, start_ns, duration_ns, "kernel");
}

void fixture_sample(struct fixture *fixture, unsigned kind, int64_t time_ns, int64_t duration_ns)
{
  const struct store_sample sample = {.time_ns = time_ns,
                                      .duration_ns = duration_ns,
                                      .track_id = fixture->thread,
                                      .context_id = fixture->context_id,
                                      .kind = (uint8_t)kind};
  must(fixture, store_add_samples(fixture->store, fixture->run_id, &sample, 1, &fixture->error));
}

static void tag(struct fixture *fixture, struct store_tag tag, const char *key)
{
  tag.key = store_string(fixture->store, key, strlen(key));
  must(fixture, store_add_tags(fixture->store, fixture->run_id, &tag, 1, &fixture->error));
}

void fixture_int(struct fixture *fixture, int64_t span_id, const char *key, int64_t value)
{
  tag(fixture, (struct store_tag){.span_id = span_id, .type = STORE_INT, .value.integer = value}, key);
}

void fixture_real(struct fixture *fixture, int64_t span_id, const char *key, double value)
{
  tag(fixture, (struct store_tag){.span_id = span_id, .type = STORE_DOUBLE, .value.real = value}, key);
}

static void tag_text(struct fixture *fixture, int64_t span_id, const char *key, const char *value)
{
  if (value != NULL)
    tag(fixture,
        (struct store_tag){
            .span_id = span_id, .type = STORE_TEXT, .value.string = store_string(fixture->store, value, strlen(value))},
        key);
}

void fixture_words(struct fixture *fixture, int64_t span_id, const char *key, const char *value)
{
  tag_text(fixture, span_id, key, value);
}

void fixture_layer(struct fixture *fixture, const struct fixture_layer *layer, int64_t start_ns, int64_t duration_ns)
{
  int64_t id = fixture_span_in(fixture, XSP_LEVEL_LAYER, layer->category, layer->name, start_ns, duration_ns);
  tag_text(fixture, id, "layer_type", layer->type);
  tag_text(fixture, id, "layer_shape", layer->shape);
  if (layer->index >= 0)
    fixture_int(fixture, id, "layer_index", layer->index);
  if (layer->alloc_bytes != UNKNOWN_BYTES)
    fixture_int(fixture, id, "alloc_bytes", layer->alloc_bytes);
}

void fixture_model(struct fixture *fixture, int64_t duration_ns, bool is_warmup)
{
  int64_t id = fixture_span(fixture, XSP_LEVEL_MODEL, "predict", fixture->now_ns, duration_ns);
  if (is_warmup)
    fixture_int(fixture, id, "warmup", 1);
  fixture->now_ns += duration_ns + 1000;
}

void fixture_ready(struct fixture *fixture)
{
  must(fixture, store_commit(fixture->store, &fixture->error));
  must(fixture, correlate_store(fixture->store, &fixture->error));
  must(fixture, store_finish(fixture->store, &fixture->error));
}

void fixture_done(struct fixture *fixture)
{
  store_close(fixture->store);
  arena_done(&fixture->arena);
  unlink(fixture->path);
  strcat(fixture->path, ".partial"); // of a test that did not finish the file
  unlink(fixture->path);
  *strrchr(fixture->path, '/') = 0;
  rmdir(fixture->path);
}

enum status fixture_ask(struct fixture *fixture, const char *id)
{
  fixture->error = (struct error){0};
  return analyze_run(id, &fixture->store, 1, &fixture->request, &fixture->arena, &fixture->tables,
                     &fixture->table_count, &fixture->error);
}

static const struct table_cell *find(const struct fixture *fixture, size_t row, const char *key)
{
  const struct table *table = &fixture->tables[0];
  assert_true(row < table->row_count);
  for (size_t i = 0; i < table->column_count; i++)
    if (strcmp(table->columns[i].key, key) == 0)
      return &table->rows[row * table->column_count + i];
  fail_msg("no column %s", key);
  return NULL;
}

static double number(const struct table_cell *cell)
{
  switch (cell->type) {
  case CELL_INT:
    return (double)cell->value.integer;
  case CELL_REAL:
    return cell->value.real;
  case CELL_BOOL:
    return cell->value.truth;
  default:
    return NAN;
  }
}

double fixture_number(const struct fixture *fixture, size_t row, const char *key)
{
  return number(find(fixture, row, key));
}

const char *fixture_text(const struct fixture *fixture, size_t row, const char *key)
{
  const struct table_cell *cell = find(fixture, row, key);
  return cell->type == CELL_TEXT ? cell->value.text : NULL;
}

static const struct table_cell *find_summary(const struct fixture *fixture, const char *key)
{
  for (size_t i = 0; i < fixture->tables[0].summary_count; i++)
    if (strcmp(fixture->tables[0].summary[i].key, key) == 0)
      return &fixture->tables[0].summary[i].value;
  fail_msg("no summary %s", key);
  return NULL;
}

double fixture_summary(const struct fixture *fixture, const char *key)
{
  return number(find_summary(fixture, key));
}

const char *fixture_summary_text(const struct fixture *fixture, const char *key)
{
  const struct table_cell *cell = find_summary(fixture, key);
  return cell->type == CELL_TEXT || cell->type == CELL_JSON ? cell->value.text : NULL;
}

bool fixture_has_column(const struct fixture *fixture, const char *key)
{
  for (size_t i = 0; i < fixture->tables[0].column_count; i++)
    if (strcmp(fixture->tables[0].columns[i].key, key) == 0)
      return true;
  return false;
}

bool fixture_has_note(const struct fixture *fixture, const char *part)
{
  for (size_t i = 0; i < fixture->tables[0].note_count; i++)
    if (strstr(fixture->tables[0].notes[i], part) != NULL)
      return true;
  return false;
}

void fixture_near(double value, double expected, const char *file, int line)
{
  if (!(fabs(value - expected) <= 1e-9 * fabs(expected)) && !(isnan(value) && isnan(expected))) {
    print_error("%.17g instead of %.17g\n", value, expected);
    _fail(file, line);
  }
}
