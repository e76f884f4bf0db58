// SPDX-License-Identifier: Apache-2.0
// With real traced processes: drained while they write, killed at any instant, and their collector killed at any
// instant. Arithmetic throughout: what was finished is stored once, or counted as dropped; nothing else.
#include "base/sorted.h"
#include "collect/collect.h"
#include "format/session.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/expect.h"

#define THREADS 2
#define KILLS 12
#define ALLOWED 64 // words of the progress file, see traced_workload.c
#define STAYS 65

static const char *workload; // path of traced_workload
static char folder[64], session_folder[128], path[128], progress_path[128];
static uint64_t *progress;
static unsigned random_state = 1;

static int setup(void **state)
{
  snprintf(folder, sizeof folder, "/tmp/xsp-live-test-XXXXXX");
  assert_non_null(mkdtemp(folder));
  snprintf(session_folder, sizeof session_folder, "%s/session", folder);
  snprintf(path, sizeof path, "%s/out.xsp", folder);
  snprintf(progress_path, sizeof progress_path, "%s/progress", folder);
  int file = open(progress_path, O_RDWR | O_CREAT, 0600);
  assert_int_equal(posix_fallocate(file, 0, 4096), 0);
  progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  assert_true(progress != MAP_FAILED);
  close(file);
  return 0;
}

static int teardown(void **state)
{
  munmap(progress, 4096);
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static uint64_t finished(void)
{
  uint64_t sum = 0;
  for (int i = 0; i < THREADS; i++)
    sum += __atomic_load_n(&progress[i], __ATOMIC_ACQUIRE);
  return sum;
}

static struct collect_session *create_quiet(uint32_t ring_records, int64_t quiet_ns)
{
  struct error err = {0};
  struct collect_session *session = NULL;
  const struct collect_options options = {.directory = session_folder,
                                          .level_mask = XSP_LEVEL_MASK_ALL,
                                          .ring_records = ring_records,
                                          .quiet_ns = quiet_ns};
  ok(collect_create(&options, &session, &err), &err);
  return session;
}

static struct collect_session *create(uint32_t ring_records)
{
  return create_quiet(ring_records, 0);
}

static bool lives_on; // the workload, after a collector that started it

static pid_t start_workload(uint64_t spans_per_thread)
{
  pid_t pid = fork();
  if (pid != 0)
    return pid;
  prctl(PR_SET_PDEATHSIG, lives_on ? 0 : SIGKILL); // a test that is killed takes along what would not end
  char threads[16], spans[24];
  snprintf(threads, sizeof threads, "%d", THREADS);
  snprintf(spans, sizeof spans, "%llu", (unsigned long long)spans_per_thread);
  setenv("XSP_SESSION", session_folder, 1);
  execl(workload, workload, progress_path, threads, spans, (char *)NULL);
  _exit(127);
}

// A number of spans to wait for: the instant of a kill.
static uint64_t random_up_to(uint64_t most)
{
  return (uint64_t)rand_r(&random_state) * 16807u % most;
}

static void await_finished(uint64_t spans)
{
  struct timespec now, begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do
    clock_gettime(CLOCK_MONOTONIC, &now);
  while (finished() < spans && now.tv_sec - begin.tv_sec < 600);
  assert_true(finished() >= spans);
}

static struct store *make_store(const char *store_path)
{
  struct error err = {0};
  struct store *store = NULL;
  ok(store_create(store_path, true, &store, &err), &err);
  const struct store_experiment experiment = {.experiment_id = 1, .name = "live"};
  ok(store_add_experiment(store, &experiment, &err), &err);
  const struct store_run run = {.run_id = 1, .experiment_id = 1, .levels.mask = XSP_LEVEL_MASK_ALL};
  ok(store_add_run(store, &run, &err), &err);
  ok(store_commit(store, &err), &err);
  return store;
}

static struct store_spans load(struct store *store, struct arena *arena)
{
  struct error err = {0};
  struct store_spans spans = {0};
  ok(store_load_spans(store, 1, STORE_ALL_BASE, arena, &spans, &err), &err);
  return spans;
}

// No span twice; on each track in the order of their ends, as finished.
static void check_spans(const struct store_spans *spans, struct arena *arena)
{
  int64_t *ids = arena_alloc_array(arena, spans->count + 1, sizeof *ids), last_end[16] = {0};
  memcpy(ids, spans->span_id, spans->count * sizeof *ids);
  qsort(ids, spans->count, sizeof *ids, sorted_compare_i64);
  for (size_t i = 1; i < spans->count; i++)
    assert_true(ids[i - 1] != ids[i]);
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->flags[i] & STORE_SPAN_OPEN)
      continue;
    assert_true(spans->duration_ns[i] >= 0 && spans->track_id[i] < 16);
    int64_t end = spans->start_ns[i] + spans->duration_ns[i];
    assert_true(end >= last_end[spans->track_id[i]]);
    last_end[spans->track_id[i]] = end;
  }
}

// The threads write all the time, but never further ahead than a ring is long: nothing may be lost, while each ring goes
// round many times.
static void test_drained_while_it_writes(void **state)
{
  const uint64_t each = 150000, ahead = 3000;
  struct error err = {0};
  struct arena arena = {0};
  struct collect_session *session = create(8192);
  struct store *store = make_store(path);
  progress[ALLOWED] = ahead;
  pid_t pid = start_workload(each);
  int status = 0;
  unsigned drains = 0;
  while (waitpid(pid, &status, WNOHANG) == 0) {
    uint64_t slowest = UINT64_MAX;
    for (int i = 0; i < THREADS; i++) {
      uint64_t now = __atomic_load_n(&progress[i], __ATOMIC_ACQUIRE);
      slowest = now < slowest ? now : slowest;
    }
    ok(collect_drain(session, store, 1, &err), &err);
    ok(collect_commit(session, store, &err), &err);
    __atomic_store_n(&progress[ALLOWED], slowest + ahead, __ATOMIC_RELEASE);
    drains++;
  }
  assert_int_equal(status, 0);
  ok(collect_drain_final(session, store, 1, &err), &err);
  ok(collect_commit(session, store, &err), &err);
  struct collect_counts counts;
  collect_counts(session, &counts);
  struct store_spans spans = load(store, &arena);
  print_message("%u drains, %zu spans, %llu dropped, %llu ns of CPU a span\n", drains, spans.count,
                (unsigned long long)counts.dropped, (unsigned long long)(counts.own_ns / (spans.count + 1)));
  assert_int_equal(spans.count, THREADS * each);
  assert_int_equal(counts.dropped, 0);
  assert_int_equal(counts.torn + counts.open + counts.lost + counts.misused + counts.malformed, 0);
  check_spans(&spans, &arena);
  collect_close(session, true);
  store_discard(store);
  arena_done(&arena);
}

// Programs that come and go: rings of those that are over are read, committed and removed.
static void test_rings_of_the_departed_go(void **state)
{
  struct error err = {0};
  struct arena arena = {0};
  struct collect_session *session = create(4096);
  struct store *store = make_store(path);
  for (int i = 0; i < 10; i++) {
    memset(progress, 0, 4096);
    int status = 0;
    pid_t pid = start_workload(100);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    ok(collect_drain(session, store, 1, &err), &err);
    ok(collect_commit(session, store, &err), &err);
  }
  char pattern[160];
  glob_t files;
  snprintf(pattern, sizeof pattern, "%s/ring-*", session_folder);
  assert_int_equal(glob(pattern, 0, NULL, &files), GLOB_NOMATCH);
  ok(collect_drain_final(session, store, 1, &err), &err);
  ok(collect_commit(session, store, &err), &err);
  assert_int_equal(load(store, &arena).count, 10 * THREADS * 100);
  struct collect_counts counts;
  collect_counts(session, &counts);
  assert_int_equal(counts.dropped + counts.lost + counts.open, 0);
  collect_close(session, true);
  store_discard(store);
  arena_done(&arena);
}

// A session that a program made by itself grows its rings, before and after it was adopted.
static void test_adopted_while_its_rings_grow(void **state)
{
  struct error err = {0};
  struct arena arena = {0};
  struct collect_session *session = NULL;
  setenv("XSP_RING_RECORDS", "256", 1);
  progress[ALLOWED] = 1000;
  pid_t pid = start_workload(20000);
  unsetenv("XSP_RING_RECORDS");
  await_finished(THREADS * 1000);
  ok(collect_adopt(session_folder, &session, &err), &err);
  struct store *store = make_store(path);
  ok(collect_drain(session, store, 1, &err), &err);
  ok(collect_commit(session, store, &err), &err);
  __atomic_store_n(&progress[ALLOWED], 0, __ATOMIC_RELEASE);
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  ok(collect_drain_final(session, store, 1, &err), &err);
  ok(collect_commit(session, store, &err), &err);
  struct collect_counts counts;
  collect_counts(session, &counts);
  assert_int_equal(counts.dropped, 0);
  struct store_spans spans = load(store, &arena);
  assert_int_equal(spans.count, THREADS * 20000);
  check_spans(&spans, &arena);
  collect_close(session, true);
  store_discard(store);
  arena_done(&arena);
}

// ---- storage that goes back to the session
#define BURST UINT64_C(200000)
#define FOLIO_BYTES                                                                                                    \
  UINT64_C(65536) // kernels that give storage in larger pieces than pages go beyond what was asked for
// Of the ring of the main thread, which sleeps, and of threads that need the least.
#define QUIET_BYTES (ring_bytes(1024) + THREADS * ring_bytes(RING_RECORDS_LEAST))

static uint64_t session_memory(void)
{
  char name[160];
  struct session_head head;
  snprintf(name, sizeof name, "%s/session", session_folder);
  FILE *file = fopen(name, "rb");
  assert_non_null(file);
  assert_int_equal(fread(&head, sizeof head, 1, file), 1);
  fclose(file);
  return head.memory;
}

// Storage of all ring files; `*ret_shrunk`: how often they became smaller, among their last sizes.
static uint64_t ring_storage(uint32_t *ret_shrunk)
{
  uint64_t blocks = 0;
  *ret_shrunk = 0;
  for (uint32_t i = 1; i <= THREADS + 1; i++) {
    char name[160];
    struct ring_head head;
    struct stat facts;
    snprintf(name, sizeof name, "%s/ring-%u", session_folder, i);
    FILE *file = fopen(name, "rb");
    if (file == NULL)
      continue; // killed before
    assert_int_equal(fread(&head, sizeof head, 1, file), 1);
    assert_int_equal(fstat(fileno(file), &facts), 0);
    fclose(file);
    blocks += (uint64_t)facts.st_blocks;
    for (uint32_t back = 1; back < RING_SIZES && back < head.size_count; back++)
      *ret_shrunk += head.size[(head.size_count - back) % RING_SIZES].records <
                     head.size[(head.size_count - back - 1) % RING_SIZES].records;
  }
  return blocks * 512;
}

static void drain_and_look(struct collect_session *session, struct store *store)
{
  struct error err = {0};
  bool is_half_full;
  ok(collect_drain(session, store, 1, &err), &err);
  ok(collect_commit(session, store, &err), &err);
  (void)collect_waiting(session, &is_half_full);
}

// After a burst the collector sees rings that stay empty. Their threads return storage at their next spans, or it does
// itself after their ends. The next burst has all of its spans again.
static void check_returns(bool have_ended)
{
  struct error err = {0};
  struct arena arena = {0};
  uint32_t shrunk;
  struct collect_session *session = create_quiet(0, 1);
  struct store *store = make_store(path);
  progress[ALLOWED] = have_ended ? 0 : BURST;
  progress[STAYS] = have_ended;
  pid_t pid = start_workload(have_ended ? BURST : 2 * BURST);
  await_finished(THREADS * BURST);
  assert_true(session_memory() >= THREADS * BURST * sizeof(struct record));
  assert_true(ring_storage(&shrunk) >= THREADS * BURST * sizeof(struct record));
  struct timespec now, begin;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    drain_and_look(session, store);
    if (!have_ended) {
      __atomic_fetch_add(&progress[ALLOWED], 2, __ATOMIC_RELEASE);
      await_finished(THREADS * progress[ALLOWED]);
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (session_memory() != QUIET_BYTES && now.tv_sec - begin.tv_sec < 600);
  assert_int_equal(session_memory(), QUIET_BYTES);
  assert_true(ring_storage(&shrunk) <= QUIET_BYTES + (THREADS + 1) * FOLIO_BYTES);
  progress[have_ended ? STAYS : ALLOWED] = have_ended ? 2 : 0;
  await_finished(2 * THREADS * BURST);
  assert_true(session_memory() >= THREADS * BURST / 2 * sizeof(struct record));
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  ok(collect_drain_final(session, store, 1, &err), &err);
  ok(collect_commit(session, store, &err), &err);
  struct collect_counts counts;
  collect_counts(session, &counts);
  assert_int_equal(counts.dropped + counts.lost, 0);
  struct store_spans spans = load(store, &arena);
  assert_int_equal(spans.count, 2 * THREADS * BURST);
  collect_close(session, true);
  store_discard(store);
  arena_done(&arena);
}

static void test_storage_returns(void **state)
{
  check_returns(false);
}

static void test_storage_of_ended_threads_returns(void **state)
{
  check_returns(true);
}

// ---- kills. Bursts of random lengths, so that rings grow and become smaller all the time.
static void allow_burst(void)
{
  if (finished() >= THREADS * progress[ALLOWED])
    __atomic_fetch_add(&progress[ALLOWED], 1 + random_up_to(4000), __ATOMIC_RELEASE);
}

static void test_traced_process_killed(void **state)
{
  uint64_t open = 0, shrunk_sum = 0;
  for (int round = 0; round < KILLS; round++) {
    struct error err = {0};
    struct arena arena = {0};
    memset(progress, 0, 4096);
    struct collect_session *session = create_quiet(0, 1);
    struct store *store = make_store(path);
    allow_burst();
    pid_t pid = start_workload(0);
    uint64_t instant = 1 + random_up_to(100000);
    while (finished() < instant) {
      drain_and_look(session, store);
      allow_burst();
    }
    __atomic_store_n(&progress[ALLOWED], 0, __ATOMIC_RELEASE);
    await_finished(finished() + 1000); // it is busy when it is killed
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    uint32_t shrunk;
    ring_storage(&shrunk);
    shrunk_sum += shrunk;
    ok(collect_drain_final(session, store, 1, &err), &err);
    ok(collect_commit(session, store, &err), &err);
    struct collect_counts counts;
    collect_counts(session, &counts);
    struct store_spans spans = load(store, &arena);
    // A thread was killed between a finish and its count at most once.
    uint64_t kept = spans.count - counts.open + counts.dropped;
    if (kept < finished() || kept > finished() + THREADS)
      print_error("round %d: %zu spans, %zu open, %zu dropped, %zu lost, %zu misused, %zu torn, %zu overwritten, %zu "
                  "malformed; %zu finished\n",
                  round, spans.count, (size_t)counts.open, (size_t)counts.dropped, (size_t)counts.lost,
                  (size_t)counts.misused, (size_t)counts.torn, (size_t)counts.overwritten, (size_t)counts.malformed,
                  (size_t)finished());
    assert_true(kept >= finished() && kept <= finished() + THREADS);
    assert_true(counts.torn <= THREADS && counts.open <= 2 * THREADS);
    check_spans(&spans, &arena);
    open += counts.open;
    collect_close(session, true);
    store_discard(store);
    arena_done(&arena);
  }
  assert_true(open > 0); // killed inside a span at least once
  assert_true(shrunk_sum > 0);
}

// Drains and commits until it is killed.
static void collect_forever(void)
{
  struct collect_session *session = create_quiet(0, 1);
  struct store *store = make_store(path);
  bool is_half_full;
  lives_on = true;
  allow_burst();
  if (start_workload(60000) < 0)
    _exit(1);
  for (unsigned i = 0;; i++) {
    if (collect_drain(session, store, 1, NULL) != STATUS_OK)
      _exit(1);
    if (i % 3 == 0 && collect_commit(session, store, NULL) != STATUS_OK)
      _exit(1);
    (void)collect_waiting(session, &is_half_full);
    allow_burst();
  }
}

static size_t committed(struct arena *arena, int64_t **ret_ids)
{
  char partial[160];
  struct error err = {0};
  struct store *store = NULL;
  snprintf(partial, sizeof partial, "%s.partial", path);
  ok(store_open(partial, &store, &err), &err);
  struct store_spans spans = load(store, arena);
  *ret_ids = arena_alloc_array(arena, spans.count + 1, sizeof **ret_ids);
  memcpy(*ret_ids, spans.span_id, spans.count * sizeof **ret_ids);
  qsort(*ret_ids, spans.count, sizeof **ret_ids, sorted_compare_i64);
  store_close(store);
  return spans.count;
}

static void test_collector_killed(void **state)
{
  size_t committed_sum = 0, repeated = 0;
  for (int round = 0; round < KILLS; round++) {
    struct error err = {0};
    struct arena arena = {0};
    memset(progress, 0, 4096);
    int ends[2];
    assert_int_equal(pipe(ends), 0); // the reader sees the end when the collector and the traced program are gone
    pid_t pid = fork();
    if (pid == 0)
      collect_forever();
    close(ends[1]);
    await_finished(1 + random_up_to(100000));
    kill(pid, SIGKILL);
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    __atomic_store_n(&progress[ALLOWED], 0, __ATOMIC_RELEASE);
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    assert_int_equal(finished(), THREADS * 60000);

    int64_t *known = NULL;
    size_t known_count = committed(&arena, &known);
    struct collect_session *session = NULL;
    ok(collect_adopt(session_folder, &session, &err), &err);
    collect_set_known(session, known, known_count);
    char rest_path[160];
    snprintf(rest_path, sizeof rest_path, "%s/rest.xsp", folder);
    struct store *store = make_store(rest_path);
    ok(collect_drain_final(session, store, 1, &err), &err);
    ok(collect_commit(session, store, &err), &err);
    struct collect_counts counts;
    collect_counts(session, &counts);
    struct store_spans rest = load(store, &arena);
    check_spans(&rest, &arena);
    for (size_t i = 0; i < rest.count; i++)
      assert_null(bsearch(&rest.span_id[i], known, known_count, sizeof *known, sorted_compare_i64));
    assert_int_equal(known_count + rest.count + counts.dropped, THREADS * 60000);
    committed_sum += known_count;
    repeated += counts.repeated;
    collect_close(session, true);
    store_discard(store);
    arena_done(&arena);
  }
  print_message("%zu spans were committed, %zu would have been stored twice\n", committed_sum, repeated);
}

int main(void)
{
  const char *build = getenv("XSP_BUILD");
  static char program[4096];
  if (build == NULL ||
      snprintf(program, sizeof program, "%s/test-programs/collect-traced-workload", build) >= (int)sizeof program) {
    fprintf(stderr, "XSP_BUILD must name the build folder\n");
    return 2;
  }
  workload = program;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_drained_while_it_writes, setup, teardown),
      cmocka_unit_test_setup_teardown(test_rings_of_the_departed_go, setup, teardown),
      cmocka_unit_test_setup_teardown(test_adopted_while_its_rings_grow, setup, teardown),
      cmocka_unit_test_setup_teardown(test_storage_returns, setup, teardown),
      cmocka_unit_test_setup_teardown(test_storage_of_ended_threads_returns, setup, teardown),
      cmocka_unit_test_setup_teardown(test_traced_process_killed, setup, teardown),
      cmocka_unit_test_setup_teardown(test_collector_killed, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
