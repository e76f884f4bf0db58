// SPDX-License-Identifier: Apache-2.0
// The sink with a hand-driven importer: what goes in comes out of the store, with one thread and with two; a store that
// fails stops the importer; an import that is given up leaves nothing after.
#include "importers/sink_private.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/expect.h"

#define SPANS 50000 // several times what all batches hold

static char folder[] = "/tmp/xsp-sink-test-XXXXXX";
static char path[64], partial[80];

static int make_folder(void **state)
{
  (void)state;
  if (mkdtemp(folder) == NULL)
    return -1;
  snprintf(path, sizeof path, "%s/out.xsp", folder);
  snprintf(partial, sizeof partial, "%s.partial", path);
  return 0;
}

static int clear_folder(void **state)
{
  (void)state;
  unlink(path);
  unlink(partial);
  return 0;
}

static int remove_folder(void **state)
{
  (void)state;
  clear_folder(NULL);
  return rmdir(folder); // fails where a test left something after
}

static const struct importer importer = {.name = "test"};
static const struct import_options no_options;
static const struct import_given nothing_given;

struct bench { // one call of import_files, by hand
  struct store *store;
  struct sink *sink;
  struct arena arena;
  struct input input;
  struct import import;
};

static void bench_start(struct bench *bench, unsigned threads)
{
  *bench = (struct bench){.input.path = "trace.json"};
  bench->import =
      (struct import){.input = &bench->input, .options = &no_options, .given = &nothing_given, .importer = &importer};
  OK(store_create(path, true, &bench->store, err));
  bench->sink = sink_create(bench->store, threads, NULL, &bench->arena);
  sink_begin(bench->sink, &bench->import, "folder/trace.json");
}

static int64_t begin_run(struct bench *bench, struct store_run run)
{
  return import_run(&bench->import, &run);
}

static struct import_file end_file(struct bench *bench)
{
  struct import_file file = {0};
  OK(sink_end(bench->sink, &file, err));
  return file;
}

static void bench_done(struct bench *bench)
{
  sink_free(bench->sink);
  store_discard(bench->store);
  arena_done(&bench->arena);
}

static uint32_t text(struct bench *bench, const char *words)
{
  return import_string(&bench->import, words, strlen(words));
}

// ---- rows ------------------------------------------------------------------------------------------------------------
static void span_name(int64_t i, char name[32])
{
  snprintf(name, 32, "span %" PRId64, i % 7001); // more texts than a batch takes
}

static void fill_rows(struct bench *bench, const int64_t runs[3], const uint32_t tracks[3])
{
  struct import *import = &bench->import;
  uint32_t key_int = text(bench, "int"), key_double = text(bench, "double"), key_text = text(bench, "text");
  for (int64_t i = 1; i <= SPANS; i++) {
    int64_t run_id = runs[i % 1000 < 3 ? i % 3 : 0]; // long stretches, and quick changes
    char name[32];
    uint32_t trace_id = 0;
    span_name(i, name);
    import_use_run(import, run_id);
    if (i % 64 == 0)
      OK(import_trace(import, name, &trace_id, err));
    import_tag_int(import, i, key_int, i); // before its span
    struct store_span span = {.span_id = i,
                              .start_ns = 10 * i,
                              .duration_ns = i % 10,
                              .track_id = tracks[0],
                              .trace_id = trace_id,
                              .name = text(bench, name),
                              .level = XSP_LEVEL_LAYER};
    OK(import_span(import, &span, err));
    import_tag_double(import, i, key_double, (double)i / 2);
    import_tag_text(import, i, key_text, text(bench, name));
    if (i % 512 == 0)
      OK(import_log(import, i, 10 * i, name, strlen(name), err));
  }
}

static void check_tag(struct store *store, const struct store_tag *tag, unsigned which)
{
  static const char *const keys[] = {"int", "double", "text"};
  char name[32];
  span_name(tag->span_id, name);
  assert_string_equal(store_text(store, tag->key, NULL), keys[which]);
  if (which == 0)
    assert_int_equal(tag->value.integer, tag->span_id);
  else if (which == 1)
    assert_true(tag->value.real == (double)tag->span_id / 2);
  else
    assert_string_equal(store_text(store, tag->value.string, NULL), name);
}

static size_t check_run(struct bench *bench, int64_t run_id)
{
  struct arena arena = {0};
  struct store_spans spans;
  struct store_tag *tags;
  size_t tag_count = 0;
  OK(store_load_spans(bench->store, run_id, STORE_ALL_BASE, &arena, &spans, err));
  OK(store_load_tags(bench->store, run_id, &arena, &tags, &tag_count, err));
  assert_int_equal(tag_count, 3 * spans.count);
  for (size_t i = 0; i < spans.count; i++) {
    char name[32];
    span_name(spans.span_id[i], name);
    assert_true(i == 0 || spans.span_id[i] > spans.span_id[i - 1]); // the order in which they were handed over
    assert_string_equal(store_text(bench->store, spans.name[i], NULL), name);
    assert_string_equal(store_text(bench->store, spans.tracer[i], NULL), "test");
    assert_int_equal(spans.start_ns[i], 10 * spans.span_id[i]);
    assert_int_equal(spans.trace_id[i] != 0, spans.span_id[i] % 64 == 0);
    for (unsigned which = 0; which < 3; which++)
      check_tag(bench->store, &tags[3 * i + which], which);
  }
  arena_done(&arena);
  return spans.count;
}

static int64_t count_of(struct store *store, const char *sql);

static void rows_with(unsigned threads)
{
  struct bench bench;
  bench_start(&bench, threads);
  int64_t runs[3];
  uint32_t tracks[3];
  for (int i = 0; i < 3; i++) {
    struct store_track track = {
        .name = "worker", .process_id = 7, .thread_id = i, .device_id = STORE_NONE, .stream_id = STORE_NONE};
    runs[i] = begin_run(&bench, (struct store_run){0});
    OK(import_track(&bench.import, &track, &tracks[i], err));
    assert_int_equal(tracks[i], 1); // counted in each run
  }
  fill_rows(&bench, runs, tracks);
  struct import_file file = end_file(&bench);
  assert_int_equal(file.kept, SPANS);
  assert_int_equal(file.run_count, 3);
  size_t sum = 0;
  for (int i = 0; i < 3; i++)
    sum += check_run(&bench, runs[i]);
  assert_int_equal(sum, SPANS);
  assert_int_equal(count_of(bench.store, "select count(*) from log where message like 'span %'"), SPANS / 512);
  bench_done(&bench);
}

static enum status take_count(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)err;
  assert_int_equal(count, 1);
  *(int64_t *)context = cells[0].integer;
  return STATUS_OK;
}

static int64_t count_of(struct store *store, const char *sql)
{
  int64_t count = -1;
  struct store_query_sink sink = {.context = &count, .row = take_count};
  OK(store_query(store, sql, &sink, err));
  return count;
}

static void rows_arrive_with_one_thread(void **state)
{
  (void)state;
  rows_with(1);
}

static void rows_arrive_with_two_threads(void **state)
{
  (void)state;
  rows_with(2);
}

static void texts_are_told_apart_and_kept(void **state)
{
  (void)state;
  struct bench bench;
  bench_start(&bench, 1);
  begin_run(&bench, (struct store_run){0});
  static char long_text[3000];
  memset(long_text, 'x', sizeof long_text);
  assert_int_equal(text(&bench, ""), 0);
  for (size_t length = 1; length < sizeof long_text; length++) { // each a prefix of the next
    uint32_t id = import_string(&bench.import, long_text, length);
    assert_int_equal(import_string(&bench.import, long_text, length), id);
    size_t kept = 0;
    assert_memory_equal(import_text(&bench.import, id, &kept), long_text, length);
    assert_int_equal(kept, length);
  }
  for (uint32_t i = 0, last = 0; i < 400000; i++) { // so many that hashes meet
    uint32_t id = import_string(&bench.import, (const char *)&i, sizeof i);
    assert_true(id > last);
    last = id;
  }
  uint32_t zero = import_string(&bench.import, "a\0b", 3);
  assert_int_not_equal(zero, import_string(&bench.import, "a\0c", 3));
  assert_int_not_equal(zero, text(&bench, "a"));
  bench_done(&bench);
}

// ---- accounts, runs, facts -------------------------------------------------------------------------------------------
static void add_span(struct bench *bench, int64_t span_id, unsigned level)
{
  struct store_span span = {.span_id = span_id, .name = text(bench, "span"), .level = (uint8_t)level};
  OK(import_span(&bench->import, &span, err));
}

static void events_are_kept_and_skipped(void **state)
{
  (void)state;
  struct bench bench;
  bench_start(&bench, 2);
  int64_t run_id = begin_run(&bench, (struct store_run){0});
  add_span(&bench, 1, XSP_LEVEL_MODEL);
  add_span(&bench, 2, XSP_LEVEL_MODEL);
  import_joined(&bench.import); // an event that became a part of a span
  char reason[] = "flow";       // equal by content, not by address
  import_skip(&bench.import, "flow");
  import_skip_many(&bench.import, "instant", 3);
  import_skip(&bench.import, reason);
  import_skip_many(&bench.import, "never", 0);
  import_version(&bench.import, "7");
  import_note(&bench.import, "%d kernels", 3);
  struct import_file file = end_file(&bench);
  assert_string_equal(file.path, "folder/trace.json");
  assert_string_equal(file.format, "test");
  assert_string_equal(file.version, "7");
  assert_int_equal(file.events, 8);
  assert_int_equal(file.kept, 3);
  assert_int_equal(file.skipped_count, 2);
  assert_string_equal(file.skipped[0].reason, "flow");
  assert_int_equal(file.skipped[0].count, 2);
  assert_int_equal(file.skipped[1].count, 3);
  assert_int_equal(file.note_count, 1);
  assert_string_equal(file.notes[0], "3 kernels");
  assert_int_equal(file.run_ids[0], run_id);
  bench_done(&bench);
}

static void a_flood_of_notes_is_cut(void **state)
{
  (void)state;
  struct bench bench;
  bench_start(&bench, 1);
  for (int i = 0; i < 1000; i++)
    import_note(&bench.import, "note %d", i);
  struct import_file file = end_file(&bench);
  assert_true(file.note_count < 100);
  assert_non_null(strstr(file.notes[file.note_count - 1], "more notes"));
  bench_done(&bench);
}

// A file that is added to a run: tracks get the rank that their process has, and keep theirs where its devices have several.
static void tracks_of_an_added_file_have_a_rank(void **state)
{
  (void)state;
  struct bench bench;
  uint32_t track;
  static const struct import_place place = {.run_id = 1, .track_base = 10, .tracer = "jax"};
  static const struct store_track known[] = {{.process_id = 1, .rank = {.world_size = 2, .rank = 0}},
                                             {.process_id = 1, .rank = {.world_size = 2, .rank = 1}},
                                             {.process_id = 2, .rank = {.world_size = 3, .rank = 2}},
                                             {.process_id = 2}};
  bench_start(&bench, 1);
  begin_run(&bench, (struct store_run){0});
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    OK(import_track(&bench.import, &known[i], &track, err));
  end_file(&bench);
  sink_free(bench.sink);
  bench.sink = sink_create(bench.store, 1, &place, &bench.arena);
  sink_begin(bench.sink, &bench.import, "folder/second.pb");
  begin_run(&bench, (struct store_run){0});
  for (int64_t process = 1; process <= 2; process++)
    OK(import_track(&bench.import, &(struct store_track){.process_id = process, .rank = {.world_size = 2, .rank = 0}},
                    &track, err));
  end_file(&bench);
  assert_int_equal(count_of(bench.store, "select rank from track where track_id = 11"), 0);
  assert_int_equal(count_of(bench.store, "select rank from track where track_id = 12"), 2);
  bench_done(&bench);
}

// One name may be that of a million tracks: it is cut, between characters, and kept once.
static void names_of_tracks_are_cut(void **state)
{
  (void)state;
  struct bench bench;
  char name[3002], host[1026];
  uint32_t track = 0;
  memset(host, 'h', sizeof host);
  host[1024] = 0; // as long as may be
  for (size_t i = 0; i < sizeof name - 2; i += 3)
    memcpy(name + i, "\xe2\x82\xac", 3);
  name[sizeof name - 2] = 0;
  bench_start(&bench, 1);
  begin_run(&bench, (struct store_run){0});
  struct store_track row = {.name = name, .host = host};
  OK(import_track(&bench.import, &row, &track, err));
  size_t before = bench.sink->track_texts.arena.used_bytes;
  for (int i = 0; i < 1000; i++)
    OK(import_track(&bench.import, &row, &track, err));
  import_track_name(&bench.import, 1, "\xe2\x82\xac");
  assert_in_range(bench.sink->track_texts.arena.used_bytes - before, 1, 64);
  end_file(&bench);
  assert_int_equal(count_of(bench.store, "select count(*) from track where length(name) = 341 and length(host) = 1024"),
                   1000);
  assert_int_equal(count_of(bench.store, "select count(*) from track where name = char(8364) and track_id = 1"), 1);
  bench_done(&bench);
}

static void a_flood_of_facts_is_cut(void **state)
{
  (void)state;
  struct bench bench;
  bench_start(&bench, 1);
  begin_run(&bench, (struct store_run){0});
  for (int i = 0; i < 1030; i++) {
    char key[32];
    snprintf(key, sizeof key, "fact %d", i);
    import_system_number(&bench.import, key, i);
    import_system_text(&bench.import, "fact 7", "7");
  }
  struct import_file file = end_file(&bench);
  assert_int_equal(file.note_count, 6);
  assert_non_null(strstr(file.notes[0], "\"fact 1024\" is left out"));
  OK(sink_finish(bench.sink, err));
  assert_int_equal(count_of(bench.store, "select count(*) from system"), 1024);
  bench_done(&bench);
}

static void runs_say_the_levels_that_they_have(void **state)
{
  (void)state;
  struct bench bench;
  bench_start(&bench, 2);
  const struct import_options options = {.layer = "innermost"};
  int64_t found = begin_run(&bench, (struct store_run){.layer = "module"});
  int64_t given =
      begin_run(&bench, (struct store_run){.levels = {.mask = XSP_LEVEL_MASK(XSP_LEVEL_KERNEL), .metrics = true}});
  bench.import.options = &options;
  int64_t chosen = begin_run(&bench, (struct store_run){.layer = "module", .batch_size = 3});
  import_use_run(&bench.import, found);
  add_span(&bench, 1, XSP_LEVEL_MODEL);
  add_span(&bench, 2, XSP_LEVEL_KERNEL);
  import_use_run(&bench.import, given);
  add_span(&bench, 1, XSP_LEVEL_MODEL);
  import_use_run(&bench.import, chosen);
  import_run_set(&bench.import, &(struct store_run){.batch_size = 4, .epoch_is_unix = true});
  end_file(&bench);
  struct store_run *runs;
  size_t count = 0;
  OK(store_runs(bench.store, &bench.arena, &runs, &count, err));
  assert_int_equal(count, 3);
  assert_int_equal(runs[0].run_id, found);
  assert_int_equal(runs[0].levels.mask, XSP_LEVEL_MASK(XSP_LEVEL_MODEL) | XSP_LEVEL_MASK(XSP_LEVEL_KERNEL));
  assert_string_equal(runs[0].layer, "module");
  assert_true(isnan(runs[0].own_pct)); // never 0: nobody measured it
  assert_int_equal(runs[1].levels.mask, XSP_LEVEL_MASK(XSP_LEVEL_KERNEL));
  assert_true(runs[1].levels.metrics);
  assert_string_equal(runs[2].layer, "innermost");
  assert_int_equal(runs[2].batch_size, 4);
  assert_true(runs[2].epoch_is_unix);
  bench_done(&bench);
}

static void next_file(struct bench *bench, const char *file_path, const char *gpu)
{
  sink_begin(bench->sink, &bench->import, file_path);
  begin_run(bench, (struct store_run){0});
  import_system_text(&bench->import, "gpu", gpu);
}

static void the_first_file_is_believed(void **state)
{
  (void)state;
  struct bench bench;
  bench_start(&bench, 2);
  begin_run(&bench, (struct store_run){0});
  import_framework(&bench.import, "pytorch", NULL);
  import_system_text(&bench.import, "gpu", "V100");
  import_system_text(&bench.import, "gpu", "A100"); // a second device: the first is kept
  import_system_number(&bench.import, "gpus", 2);
  struct import_file first = end_file(&bench);
  assert_int_equal(first.note_count, 0);
  next_file(&bench, "second.json", "V100");
  import_framework(&bench.import, "tensorflow", "2.1");
  import_system_number(&bench.import, "gpus", 3);
  import_system_number(&bench.import, "gpus", 4);
  struct import_file second = end_file(&bench);
  assert_int_equal(second.note_count, 2); // the framework's name, and the number of GPUs once
  assert_non_null(strstr(second.notes[0], "tensorflow"));
  assert_non_null(strstr(second.notes[1], "gpus"));
  OK(sink_finish(bench.sink, err));
  struct store_experiment *experiments;
  struct store_system_value *system;
  size_t count = 0;
  OK(store_experiments(bench.store, &bench.arena, &experiments, &count, err));
  assert_int_equal(count, 1);
  assert_string_equal(experiments[0].name, "trace.json");
  assert_string_equal(experiments[0].framework, "pytorch");
  assert_string_equal(experiments[0].framework_version, "2.1");
  assert_null(experiments[0].command);
  assert_true(experiments[0].created_ns > INT64_C(1600000000000000000));
  OK(store_system(bench.store, experiments[0].system_id, &bench.arena, &system, &count, err));
  assert_int_equal(count, 2);
  assert_string_equal(system[0].text, "V100");
  bench_done(&bench);
}

// Files of V100, unknown, A100, V100, A100.
static void systems_are_experiments_of_their_own(void **state)
{
  (void)state;
  struct bench bench;
  bench_start(&bench, 2);
  begin_run(&bench, (struct store_run){0});
  import_system_text(&bench.import, "gpu", "V100");
  assert_int_equal(end_file(&bench).note_count, 0);
  static const char *const gpus[] = {NULL, "A100", "V100", "A100"};
  for (size_t i = 0; i < 4; i++) {
    next_file(&bench, i == 1 ? "folder/other.json" : "more.json", gpus[i]);
    struct import_file file = end_file(&bench);
    assert_int_equal(file.note_count, i == 1); // it is kept apart
    assert_true(i != 1 || strstr(file.notes[0], "gpu is A100") != NULL);
  }
  OK(sink_finish(bench.sink, err));
  struct store_experiment *experiments;
  struct store_system_value *system;
  struct store_run *runs;
  size_t count = 0;
  OK(store_experiments(bench.store, &bench.arena, &experiments, &count, err));
  assert_int_equal(count, 2);
  assert_string_equal(experiments[0].name, "trace.json");
  assert_string_equal(experiments[1].name, "other.json");
  for (size_t i = 0; i < 2; i++) {
    OK(store_system(bench.store, experiments[i].system_id, &bench.arena, &system, &count, err));
    assert_int_equal(count, 1);
    assert_string_equal(system[0].text, i == 0 ? "V100" : "A100");
  }
  OK(store_runs(bench.store, &bench.arena, &runs, &count, err));
  assert_int_equal(count, 5);
  for (size_t i = 0; i < 5; i++)
    assert_int_equal(runs[i].experiment_id, experiments[i == 2 || i == 4].experiment_id);
  bench_done(&bench);
}

static void importers_bring_experiments(void **state)
{
  (void)state;
  struct bench bench;
  bench_start(&bench, 2);
  const struct store_experiment same = {.name = "sweep", .framework = "onnxruntime"};
  const struct store_system_value cores[] = {{.key = "cores", .number = 2, .is_number = true}};
  const struct store_system_value more[] = {{.key = "cores", .number = 4, .is_number = true}};
  int64_t ids[3];
  ids[0] = import_experiment(&bench.import, &same, cores, 1);
  ids[1] = import_experiment(&bench.import, &same, more, 1); // another system: another experiment
  begin_run(&bench, (struct store_run){.experiment_id = ids[0]});
  end_file(&bench);
  sink_begin(bench.sink, &bench.import, "second.json");
  ids[2] = import_experiment(&bench.import, &same, cores, 1);
  end_file(&bench);
  OK(sink_finish(bench.sink, err));
  assert_int_equal(ids[2], ids[0]);
  assert_int_not_equal(ids[1], ids[0]);
  struct store_experiment *experiments;
  size_t count = 0;
  OK(store_experiments(bench.store, &bench.arena, &experiments, &count, err));
  assert_int_equal(count, 2); // none of the call's own: no run belongs to it
  assert_string_equal(experiments[0].name, "sweep");
  bench_done(&bench);
}

static void each_file_has_texts_of_its_own(void **state)
{
  (void)state;
  struct bench bench;
  bench_start(&bench, 2);
  static const char *const names[] = {"first", "second", "third"};
  for (int i = 0; i < 3; i++) {
    if (i > 0)
      sink_begin(bench.sink, &bench.import, names[i]);
    int64_t run_id = begin_run(&bench, (struct store_run){0});
    struct store_span span = {.span_id = 1, .name = text(&bench, names[i]), .category = text(&bench, "shared")};
    OK(import_span(&bench.import, &span, err));
    end_file(&bench);
    struct store_spans spans;
    OK(store_load_spans(bench.store, run_id, STORE_ALL_BASE, &bench.arena, &spans, err));
    assert_string_equal(store_text(bench.store, spans.name[0], NULL), names[i]);
    assert_string_equal(store_text(bench.store, spans.category[0], NULL), "shared");
  }
  bench_done(&bench);
}

// ---- failing ---------------------------------------------------------------------------------------------------------
// Hands over spans until one is refused.
static enum status flood(struct bench *bench, struct error *err)
{
  for (int64_t i = 1; i < 20 * (int64_t)BATCH_SPANS; i++) {
    struct store_span span = {.span_id = i, .name = text(bench, "span")};
    XSP_TRY(import_span(&bench->import, &span, err));
  }
  return STATUS_OK;
}

static void failing_store_with(unsigned threads)
{
  struct bench bench;
  bench_start(&bench, threads);
  begin_run(&bench, (struct store_run){0});
  OK(store_finish(bench.store, err)); // from now on it refuses
  struct error error = {0};
  assert_int_equal(flood(&bench, &error), STATUS_USE);
  assert_non_null(strstr(error.why, "open for reading"));
  struct store_span span = {.span_id = 1};
  assert_int_equal(import_span(&bench.import, &span, &error), STATUS_USE); // and for ever
  import_tag_int(&bench.import, 1, 1, 1);
  struct import_file file;
  assert_int_equal(sink_end(bench.sink, &file, &error), STATUS_USE);
  assert_non_null(strstr(error.why, "open for reading"));
  sink_free(bench.sink);
  store_close(bench.store);
  arena_done(&bench.arena);
}

static void a_failing_store_stops_the_importer(void **state)
{
  (void)state;
  failing_store_with(1);
  failing_store_with(2);
}

static void an_error_in_the_last_rows_is_not_lost(void **state)
{
  (void)state;
  struct bench bench;
  bench_start(&bench, 2);
  begin_run(&bench, (struct store_run){0});
  add_span(&bench, 0, XSP_LEVEL_MODEL); // an id that the store refuses, handed over with success
  struct import_file file;
  struct error error = {0};
  assert_int_equal(sink_end(bench.sink, &file, &error), STATUS_INPUT);
  bench_done(&bench);
}

static void an_import_may_be_given_up_at_any_time(void **state)
{
  (void)state;
  for (int64_t spans = 1; spans < 12 * (int64_t)BATCH_SPANS; spans *= 3) {
    struct bench bench;
    bench_start(&bench, 2);
    begin_run(&bench, (struct store_run){0});
    for (int64_t i = 1; i <= spans; i++)
      add_span(&bench, i, XSP_LEVEL_LAYER);
    OK(import_log(&bench.import, 1, 1, "message", 7, err));
    bench_done(&bench); // without sink_end
    assert_int_not_equal(access(partial, F_OK), 0);
  }
}

static void what_is_broken_names_file_and_byte(void **state)
{
  (void)state;
  struct bench bench;
  bench_start(&bench, 1);
  struct error error = {0};
  assert_int_equal(import_broken(&bench.import, &error, 4711, "row %d", 3), STATUS_INPUT);
  assert_string_equal(error.where, "trace.json, byte 4711");
  assert_string_equal(error.why, "row 3");
  bench_done(&bench);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(rows_arrive_with_one_thread, clear_folder),
      cmocka_unit_test_teardown(rows_arrive_with_two_threads, clear_folder),
      cmocka_unit_test_teardown(texts_are_told_apart_and_kept, clear_folder),
      cmocka_unit_test_teardown(events_are_kept_and_skipped, clear_folder),
      cmocka_unit_test_teardown(a_flood_of_notes_is_cut, clear_folder),
      cmocka_unit_test_teardown(tracks_of_an_added_file_have_a_rank, clear_folder),
      cmocka_unit_test_teardown(names_of_tracks_are_cut, clear_folder),
      cmocka_unit_test_teardown(a_flood_of_facts_is_cut, clear_folder),
      cmocka_unit_test_teardown(runs_say_the_levels_that_they_have, clear_folder),
      cmocka_unit_test_teardown(the_first_file_is_believed, clear_folder),
      cmocka_unit_test_teardown(systems_are_experiments_of_their_own, clear_folder),
      cmocka_unit_test_teardown(importers_bring_experiments, clear_folder),
      cmocka_unit_test_teardown(each_file_has_texts_of_its_own, clear_folder),
      cmocka_unit_test_teardown(a_failing_store_stops_the_importer, clear_folder),
      cmocka_unit_test_teardown(an_error_in_the_last_rows_is_not_lost, clear_folder),
      cmocka_unit_test_teardown(an_import_may_be_given_up_at_any_time, clear_folder),
      cmocka_unit_test_teardown(what_is_broken_names_file_and_byte, clear_folder),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
