// SPDX-License-Identifier: Apache-2.0
// Writing and reloading spans, against SQLite's prepared bulk insert of the same ten columns. Prints one JSON object
// per line.
#include "store/store.h"
#include "bench/measure.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REPEATS 3

// Processor time: one thread that does not wait, without other programs' load.
static double now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void check_sqlite(sqlite3 *db, int code)
{
  if (code == SQLITE_OK || code == SQLITE_DONE)
    return;
  fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(db));
  exit(3);
}

static double size_of(const char *path)
{
  struct stat facts;
  return stat(path, &facts) == 0 ? (double)facts.st_size : 0;
}

// Ten columns that vary: times, durations and parents without much regularity, a few hundred names.
static struct store_span *make_spans(size_t count)
{
  struct store_span *spans = calloc(count, sizeof *spans);
  int64_t time = INT64_C(1700000000000000000);
  if (spans == NULL)
    exit(3);
  for (size_t i = 0; i < count; i++) {
    time += 800 + (int64_t)(next_random() % 2000);
    spans[i] = (struct store_span){
        .span_id = (int64_t)i + 1,
        .recorded_parent_id = i > 8 ? (int64_t)(i - (next_random() & 7)) : 0,
        .start_ns = time,
        .duration_ns = 2000 + (int64_t)(next_random() % 40000),
        .correlation_id = i % 4 == 0 ? (int64_t)i / 4 : 0,
        .trace_id = 1 + (uint32_t)(next_random() % 1000),
        .track_id = 100 + (uint32_t)(next_random() % 4),
        .name = 1 + (uint32_t)(next_random() % 200),
        .level = (uint8_t)(next_random() % XSP_LEVEL_COUNT),
        .kind = (uint8_t)(next_random() % 3),
    };
  }
  return spans;
}

static double write_store(const char *path, const struct store_span *spans, size_t count)
{
  struct error err = {0};
  struct store *store;
  double start = now_ns();
  check(store_create(path, true, &store, &err), &err);
  for (int i = 1; i <= 200; i++) {
    char name[32];
    int length = snprintf(name, sizeof name, "operator %d", i);
    store_string(store, name, (size_t)length);
  }
  for (size_t at = 0; at < count; at += 4096)
    check(store_add_spans(store, 1, spans + at, count - at < 4096 ? count - at : 4096, &err), &err);
  check(store_commit(store, &err), &err); // as durable as SQLite's commit with synchronous=OFF: a kill cannot undo it
  double elapsed = now_ns() - start;
  check(store_finish(store, &err), &err);
  store_close(store);
  return elapsed / (double)count;
}

static double write_sqlite(const char *path, const struct store_span *spans, size_t count)
{
  sqlite3 *db;
  sqlite3_stmt *insert;
  unlink(path);
  double start = now_ns();
  check_sqlite(NULL, sqlite3_open(path, &db));
  check_sqlite(db, sqlite3_exec(db,
                                "PRAGMA page_size=8192; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
                                "PRAGMA cache_size=-262144; PRAGMA locking_mode=EXCLUSIVE; BEGIN;"
                                "CREATE TABLE span(id INTEGER PRIMARY KEY, parent INTEGER, start INTEGER,"
                                " duration INTEGER, correlation INTEGER, trace INTEGER, track INTEGER, name INTEGER,"
                                " level INTEGER, kind INTEGER)",
                                NULL, NULL, NULL));
  check_sqlite(db, sqlite3_prepare_v2(db, "INSERT INTO span VALUES(?,?,?,?,?,?,?,?,?,?)", -1, &insert, NULL));
  for (size_t i = 0; i < count; i++) {
    const struct store_span *span = &spans[i];
    sqlite3_bind_int64(insert, 1, span->span_id);
    sqlite3_bind_int64(insert, 2, span->recorded_parent_id);
    sqlite3_bind_int64(insert, 3, span->start_ns);
    sqlite3_bind_int64(insert, 4, span->duration_ns);
    sqlite3_bind_int64(insert, 5, span->correlation_id);
    sqlite3_bind_int64(insert, 6, span->trace_id);
    sqlite3_bind_int64(insert, 7, span->track_id);
    sqlite3_bind_int64(insert, 8, span->name);
    sqlite3_bind_int64(insert, 9, span->level);
    sqlite3_bind_int64(insert, 10, span->kind);
    check_sqlite(db, sqlite3_step(insert));
    sqlite3_reset(insert);
  }
  sqlite3_finalize(insert);
  check_sqlite(db, sqlite3_exec(db, "COMMIT", NULL, NULL, NULL));
  double elapsed = now_ns() - start;
  sqlite3_close(db);
  return elapsed / (double)count;
}

// The floor of writing: the same ten columns as plain arrays into a file.
static double write_raw(const char *path, const struct store_span *spans, size_t count)
{
  double start = now_ns();
  FILE *file = fopen(path, "wb");
  if (file == NULL)
    exit(3);
  for (size_t i = 0; i < count; i++) {
    const struct store_span *span = &spans[i];
    int64_t wide[5] = {span->span_id, span->recorded_parent_id, span->start_ns, span->duration_ns,
                       span->correlation_id};
    uint32_t narrow[3] = {span->trace_id, span->track_id, span->name};
    uint8_t bytes[2] = {span->level, span->kind};
    fwrite(wide, sizeof wide, 1, file);
    fwrite(narrow, sizeof narrow, 1, file);
    fwrite(bytes, sizeof bytes, 1, file);
  }
  fclose(file);
  return (now_ns() - start) / (double)count;
}

static double reload(const char *path, size_t count)
{
  struct error err = {0};
  struct arena arena = {0};
  struct store *store;
  struct store_spans loaded;
  double start = now_ns();
  check(store_open(path, &store, &err), &err);
  check(store_load_spans(store, 1, STORE_ALL_BASE, &arena, &loaded, &err), &err);
  double elapsed = now_ns() - start;
  if (loaded.count != count)
    exit(3);
  arena_done(&arena);
  store_close(store);
  return elapsed / (double)count;
}

int main(int argc, char **argv)
{
  size_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 5000000;
  const char *folder = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
  char path[512], other[520], raw[520];
  snprintf(path, sizeof path, "%s/xsp-bench-%d.xsp", folder, (int)getpid());
  snprintf(other, sizeof other, "%s.db", path);
  snprintf(raw, sizeof raw, "%s.raw", path);
  struct store_span *spans = make_spans(count);
  double ours[REPEATS], sqlite[REPEATS], floor_ns[REPEATS], back[REPEATS];
  for (int i = 0; i < REPEATS; i++) { // in turns, so that noise affects all
    ours[i] = write_store(path, spans, count);
    sqlite[i] = write_sqlite(other, spans, count);
    floor_ns[i] = write_raw(raw, spans, count);
    back[i] = reload(path, count);
  }
  double bytes = size_of(path) / (double)count;
  double value = median(ours, REPEATS), peer = median(sqlite, REPEATS), raw_ns = median(floor_ns, REPEATS);
  printf("{\"bench\":\"store/write\",\"case\":\"%zu rows x 10\",\"value\":%.1f,\"unit\":\"ns/row\",\"floor\":%.1f,"
         "\"ratio\":%.4f,\"target\":0.1111,\"peers\":{\"sqlite\":%.1f}}\n",
         count, value, raw_ns, value / peer, peer);
  printf("{\"bench\":\"store/size\",\"case\":\"%zu rows x 10\",\"value\":%.2f,\"unit\":\"bytes/span\",\"floor\":10,"
         "\"ratio\":%.3f,\"target\":1,\"peers\":{\"sqlite\":%.2f}}\n",
         count, bytes, bytes / 10, size_of(other) / (double)count);
  printf("{\"bench\":\"store/reload\",\"case\":\"%zu rows, all columns\",\"value\":%.1f,\"unit\":\"ns/row\","
         "\"floor\":%.1f,\"ratio\":%.3f,\"target\":null,\"peers\":{}}\n",
         count, median(back, REPEATS), value, median(back, REPEATS) / value);
  unlink(path);
  unlink(other);
  unlink(raw);
  free(spans);
  return 0;
}
