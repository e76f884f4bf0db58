// SPDX-License-Identifier: Apache-2.0
// Whole files: any bytes as an .xsp file, opened, read in all ways, correlated, read again, and made a tree.
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];

static void remove_file(void)
{
  unlink(path);
}

static enum status add_up(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)err;
  for (size_t i = 0; i < count; i++) {
    for (size_t k = 0; k < cells[i].length; k++) // touches every byte
      *(uint64_t *)context += (unsigned char)cells[i].text[k];
    *(uint64_t *)context += (uint64_t)cells[i].integer;
  }
  return ++((uint64_t *)context)[1] > 20000 ? STATUS_NO : STATUS_OK;
}

static void check(enum status status, const struct error *err)
{
  if (status != STATUS_OK && (err->what[0] == 0 || err->why[0] == 0))
    abort(); // an error without words
}

static enum status touch(void *context, size_t first_row, const struct store_spans *spans,
                         const struct store_derived *derived, struct error *err)
{
  (void)err;
  for (size_t i = 0; i < spans->count; i++)
    *(uint64_t *)context += first_row + (uint64_t)spans->start_ns[i] + spans->name[i] + spans->kind[i];
  for (size_t i = 0; i < derived->count && derived->parent_id != NULL; i++)
    *(uint64_t *)context += (uint64_t)derived->parent_id[i] + (uint64_t)derived->observation[i];
  return STATUS_OK;
}

static void read_parts(struct store *store, int64_t run_id, struct arena *arena)
{
  static const uint32_t keys[] = {1, 2, 0};
  const uint32_t base = STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_NAME) | STORE_BIT(STORE_KIND);
  struct error err = {0};
  struct store_spans spans;
  struct store_derived derived;
  struct store_tag *tags;
  size_t count;
  uint64_t sum = 0;
  check(store_load_spans(store, run_id, STORE_ALL_BASE | STORE_LEAN | STORE_KIND_AS_STORED, arena, &spans, &err), &err);
  check(store_load_tags_of(store, run_id, keys, 3, arena, &tags, &count, &err), &err);
  check(store_load_derived_columns(store, run_id, STORE_BIT(STORE_DERIVED_KIND), arena, &derived, &err), &err);
  check(store_walk_spans(store, run_id, base, touch, &sum, &err), &err);
  check(store_walk_spans(store, run_id, base | STORE_ALL_DERIVED, touch, &sum, &err), &err);
}

static void read_all(struct store *store)
{
  static const char *const questions[] = {
      "select * from span",
      "select * from tag",
      "select * from sample s left join track t using (run_id, track_id)",
      "select kind, count(*), sum(duration_ns) from sample where span_id > 1 group by kind",
      "select name, kind, count(*) from span group by name, kind",
      "select count(*) from span s join span p on p.run_id = s.run_id and p.span_id = s.layer_id",
      "select * from span where category = 'kernel' and duration_ns > 5",
      "select * from experiment, system",
      "select * from run",
      "select * from track, log",
      "select * from note, trace",
      "select * from span s left join context c using (context_id) left join frame f using (frame_id)"};
  struct error err = {0};
  struct arena arena = {0};
  struct store_run *runs;
  size_t run_count = 0;
  struct store_call_paths paths;
  check(store_call_paths(store, &arena, &paths, &err), &err);
  enum status status = store_runs(store, &arena, &runs, &run_count, &err);
  check(status, &err);
  for (size_t i = 0; status == STATUS_OK && i < run_count && i < 4; i++) {
    struct store_spans spans;
    struct store_derived derived;
    struct store_tag *tags;
    struct store_samples samples;
    struct store_track *tracks;
    struct store_observation *observations;
    size_t count;
    check(store_load_spans(store, runs[i].run_id, STORE_ALL_BASE, &arena, &spans, &err), &err);
    check(store_load_tags(store, runs[i].run_id, &arena, &tags, &count, &err), &err);
    check(store_load_samples(store, runs[i].run_id, &arena, &samples, &err), &err);
    check(store_tracks(store, runs[i].run_id, &arena, &tracks, &count, &err), &err);
    check(store_observations(store, runs[i].run_id, &arena, &observations, &count, &err), &err);
    check(store_load_derived(store, runs[i].run_id, &arena, &derived, &err), &err);
    read_parts(store, runs[i].run_id, &arena);
  }
  for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
    uint64_t sums[2] = {0};
    struct store_query_sink sink = {.context = sums, .row = add_up};
    enum status answer = store_query(store, questions[i], &sink, &err);
    if (answer != STATUS_NO)
      check(answer, &err);
  }
  arena_done(&arena);
}

static void make_trees(struct store *store)
{
  struct error err = {0};
  struct arena arena = {0};
  struct store_run *runs;
  struct table table;
  size_t count = 0;
  if (store_runs(store, &arena, &runs, &count, &err) != STATUS_OK)
    count = 0;
  for (size_t i = 0; i < count && i < 4; i++)
    check(report_tree(store, runs[i].run_id, &arena, &table, &err), &err);
  arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (path[0] == 0) {
    snprintf(path, sizeof path, "/tmp/xsp-store-fuzz-%d.xsp", (int)getpid());
    atexit(remove_file);
  }
  FILE *file = fopen(path, "wb");
  if (file == NULL || (size > 0 && fwrite(data, 1, size, file) != size))
    exit(2);
  fclose(file);
  struct store *store;
  struct error err = {0};
  enum status status = store_open(path, &store, &err);
  check(status, &err);
  if (status == STATUS_OK) {
    read_all(store);
    check(correlate_ensure(store, &err), &err);
    read_all(store);
    make_trees(store);
    store_close(store);
  }
  return 0;
}
