// SPDX-License-Identifier: Apache-2.0
// SQL over column chunks: count and sum, group by name, and the join of kernels with their layers. The floor of each is
// the same answer from a plain C loop over decoded columns. Prints one JSON object per line.
#include "bench/measure.h"
#include "store/store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REPEATS 5
#define NAMES 400u

// Processor time: one thread that does not wait; other programs' load must not count.
static double now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

// ---- a trace: a model, layers in it, for each layer two API calls, each with a kernel -----------------------------------
struct tables {
  struct store_span *spans;
  struct store_derived derived;
};

static struct tables make_spans(struct store *store, size_t count)
{
  struct arena *arena = calloc(1, sizeof *arena); // lives as long as the program
  struct tables tables = {.spans = arena_alloc_array(arena, count, sizeof *tables.spans)};
  struct store_derived *derived = &tables.derived;
  uint32_t names[NAMES];
  for (unsigned i = 0; i < NAMES; i++) {
    char name[40];
    int length = snprintf(name, sizeof name, "%s_operator_%u", i % 2 ? "volta_sgemm" : "aten::conv2d", i);
    names[i] = store_string(store, name, (size_t)length);
  }
  uint32_t kernel = store_string(store, "kernel", 6), api = store_string(store, "api", 3);
  derived->count = count;
  derived->parent_id = arena_alloc_array(arena, count, sizeof(int64_t));
  derived->model_id = arena_alloc_array(arena, count, sizeof(int64_t));
  derived->layer_id = arena_alloc_array(arena, count, sizeof(int64_t));
  derived->self_ns = arena_alloc_array(arena, count, sizeof(int64_t));
  derived->observation = arena_alloc_array(arena, count, sizeof(int32_t));
  derived->depth = arena_alloc_array(arena, count, sizeof(uint32_t));
  derived->basis = arena_alloc_array(arena, count, 1);
  if (tables.spans == NULL || derived->basis == NULL)
    exit(3);
  int64_t time = INT64_C(1700000000000000000);
  int64_t layer = 0;
  for (size_t i = 0; i < count; i++) {
    unsigned role = (unsigned)(i % 5); // layer, api, kernel, api, kernel
    bool is_kernel = role == 2 || role == 4;
    time += 300 + (int64_t)(next_random() % 700);
    layer = role == 0 ? (int64_t)i + 1 : layer;
    tables.spans[i] = (struct store_span){
        .span_id = (int64_t)i + 1,
        .start_ns = time,
        .duration_ns = 500 + (int64_t)(next_random() % 20000),
        .correlation_id = role == 0 ? 0 : (int64_t)(i / 5 * 2 + (role > 2)) + 1,
        .track_id = is_kernel ? 2 : 1,
        .name = names[role == 0 ? i / 5 % 150 : 150 + next_random() % 250],
        .category = is_kernel   ? kernel
                    : role == 0 ? 0
                                : api,
        .level = role == 0 ? XSP_LEVEL_LAYER : XSP_LEVEL_KERNEL,
        .kind = is_kernel   ? XSP_KIND_EXECUTION
                : role == 0 ? XSP_KIND_SYNC
                            : XSP_KIND_LAUNCH,
    };
    derived->parent_id[i] = role == 0 ? 0 : layer;
    derived->layer_id[i] = layer;
    derived->self_ns[i] = tables.spans[i].duration_ns;
    derived->depth[i] = role != 0;
    derived->basis[i] = role == 0 ? BASIS_NONE : is_kernel ? BASIS_CORRELATION : BASIS_CONTAINMENT;
  }
  return tables;
}

static void write_file(const char *path, size_t count)
{
  struct error err = {0};
  struct store *store;
  check(store_create(path, true, &store, &err), &err);
  struct tables tables = make_spans(store, count);
  check(store_add_spans(store, 1, tables.spans, count, &err), &err);
  check(store_put_derived(store, 1, &tables.derived, NULL, 0, &err), &err);
  check(store_finish(store, &err), &err);
  store_close(store);
}

// ---- queries ---------------------------------------------------------------------------------------------------------
static enum status add_up(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  (void)err;
  *(int64_t *)context += cells[count - 1].integer;
  return STATUS_OK;
}

static double time_query(struct store *store, const char *sql, int64_t expected)
{
  struct error err = {0};
  int64_t total = 0;
  struct store_query_sink sink = {.context = &total, .row = add_up};
  double start = now_ms();
  check(store_query(store, sql, &sink, &err), &err);
  double elapsed = now_ms() - start;
  if (total != expected) {
    fprintf(stderr, "%s: %lld instead of %lld\n", sql, (long long)total, (long long)expected);
    exit(3);
  }
  return elapsed;
}

static double time_sum(const struct store_spans *spans, int64_t *ret_sum)
{
  double start = now_ms();
  int64_t sum = 0;
  for (size_t i = 0; i < spans->count; i++)
    sum += spans->duration_ns[i];
  *ret_sum = sum;
  return now_ms() - start;
}

static double time_groups(const struct store_spans *spans, int64_t *ret_sum)
{
  double start = now_ms();
  int64_t sums[NAMES + 8] = {0};
  for (size_t i = 0; i < spans->count; i++)
    sums[spans->name[i]] += spans->duration_ns[i];
  *ret_sum = 0;
  for (size_t i = 0; i < NAMES + 8; i++)
    *ret_sum += sums[i];
  return now_ms() - start;
}

static double time_join(struct store *store, const struct store_spans *spans, const int64_t *layer_id, int64_t *ret_sum)
{
  uint32_t kernel = 0;
  store_find_string(store, "kernel", 6, &kernel);
  double start = now_ms();
  int64_t sums[NAMES + 8] = {0};
  for (size_t i = 0; i < spans->count; i++)
    if (spans->kind[i] == XSP_KIND_EXECUTION && spans->category[i] == kernel && layer_id[i] != 0)
      sums[spans->name[layer_id[i] - spans->span_id[0]]] += spans->duration_ns[i];
  *ret_sum = 0;
  for (size_t i = 0; i < NAMES + 8; i++)
    *ret_sum += sums[i];
  return now_ms() - start;
}

static void report(const char *bench, size_t count, const char *state, double *values, int repeats, double floor_ms,
                   double target_ms)
{
  double value = median(values, repeats);
  printf("{\"bench\":\"%s\",\"case\":\"%zu spans, %s\",\"value\":%.1f,\"unit\":\"ms\",\"floor\":%.2f,\"ratio\":%.2f,"
         "\"target\":null,\"peers\":{},\"design_ms\":%.0f}\n",
         bench, count, state, value, floor_ms, value / floor_ms, target_ms);
  fflush(stdout);
}

static void measure(const char *path, const char *bench, const char *sql, size_t count, double target_ms)
{
  struct error err = {0};
  struct arena arena = {0};
  struct store *store;
  struct store_spans spans;
  struct store_derived derived;
  double cold[REPEATS], warm[REPEATS], floors[REPEATS];
  check(store_open(path, &store, &err), &err);
  check(store_load_spans(store, 1, STORE_ALL_BASE, &arena, &spans, &err), &err);
  check(store_load_derived(store, 1, &arena, &derived, &err), &err);
  int repeats = count > 2000000 ? 3 : REPEATS;
  int64_t sum = 0;
  for (int i = 0; i < repeats; i++)
    floors[i] = strstr(bench, "join") != NULL    ? time_join(store, &spans, derived.layer_id, &sum)
                : strstr(bench, "group") != NULL ? time_groups(&spans, &sum)
                                                 : time_sum(&spans, &sum);
  double floor_ms = median(floors, repeats);
  arena_done(&arena);
  for (int i = 0; i < repeats; i++) {
    store_close(store);
    check(store_open(path, &store, &err), &err);
    cold[i] = time_query(store, sql, sum); // decodes what it touches
    warm[i] = time_query(store, sql, sum); // finds it in the cache
  }
  store_close(store);
  report(bench, count, "first query", cold, repeats, floor_ms, target_ms);
  report(bench, count, "again", warm, repeats, floor_ms, target_ms);
}

int main(int argc, char **argv)
{
  size_t small = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
  size_t large = argc > 2 ? strtoull(argv[2], NULL, 10) : 10000000;
  const char *folder = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
  char path[512];
  snprintf(path, sizeof path, "%s/xsp-bench-sql-%d.xsp", folder, (int)getpid());
  write_file(path, small);
  measure(path, "sql/count and sum", "select count(*), sum(duration_ns) from span", small, 55);
  measure(path, "sql/group by name", "select name, count(*), sum(duration_ns) from span group by name", small, 98);
  write_file(path, large);
  measure(path, "sql/join kernel layer",
          "select l.name, sum(e.duration_ns) from span e join span l on l.run_id = e.run_id and l.span_id = e.layer_id"
          " where e.kind = 'execution' and e.category = 'kernel' group by 1 order by 2 desc",
          large, 2500);
  unlink(path);
  return 0;
}
