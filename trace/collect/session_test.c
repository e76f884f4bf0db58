// SPDX-License-Identifier: Apache-2.0
// Session folders: made privately, refused when broken, locked, adopted where a dead collector stopped, removed.
#include "collect/collect.h"

#include "collect/place.h"
#include "format/session_clock.h"
#include "tests/collect/hand_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/expect.h" // needs cmocka.h, which hand_writer.h brings

static char folder[64], path[128];
static struct hand hand;
static struct store *store;
static struct arena arena;

static int setup(void **state)
{
  snprintf(folder, sizeof folder, "/tmp/xsp-session-test-XXXXXX");
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/out.xsp", folder);
  assert_int_equal(setenv("XSP_CLOCK", "monotonic", 1), 0);
  unsetenv("TRACEPARENT");
  return 0;
}

static int teardown(void **state)
{
  store_discard(store);
  store = NULL;
  arena_done(&arena);
  char command[128];
  snprintf(command, sizeof command, "rm -rf %s", folder);
  return system(command);
}

static struct collect_session *create(const char *directory)
{
  struct error err = {0};
  struct collect_session *session = NULL;
  const struct collect_options options = {
      .directory = directory, .level_mask = XSP_LEVEL_MASK(1) | XSP_LEVEL_MASK(2), .ring_records = 300};
  ok(collect_create(&options, &session, &err), &err);
  return session;
}

static struct collect_session *adopt(const char *directory)
{
  struct error err = {0};
  struct collect_session *session = NULL;
  ok(collect_adopt(directory, &session, &err), &err);
  return session;
}

// The reason, in full.
static const char *refused(const char *directory)
{
  static char line[2048];
  struct error err = {0};
  struct collect_session *session = NULL;
  assert_int_not_equal(collect_adopt(directory, &session, &err), STATUS_OK);
  assert_null(session);
  error_line(&err, line, sizeof line);
  return line;
}

static void edit(const char *directory, const char *name, size_t offset, const void *bytes, size_t size)
{
  char file_path[256];
  snprintf(file_path, sizeof file_path, "%s/%s", directory, name);
  int file = open(file_path, O_RDWR);
  assert_true(file >= 0);
  assert_int_equal(pwrite(file, bytes, size, (off_t)offset), (ssize_t)size);
  close(file);
}

static void cut(const char *directory, const char *name, size_t size)
{
  char file_path[256];
  snprintf(file_path, sizeof file_path, "%s/%s", directory, name);
  assert_int_equal(truncate(file_path, (off_t)size), 0);
}

static void test_create(void **state)
{
  setenv("TRACEPARENT", "00-0123456789abcdef0123456789abcdef-fedcba9876543210-01", 1);
  struct collect_session *session = create(NULL);
  char directory[512];
  snprintf(directory, sizeof directory, "%s", collect_directory(session));
  struct stat status;
  assert_int_equal(stat(directory, &status), 0);
  assert_int_equal(status.st_mode & 0777, 0700);
  struct session_head *head = hand_map(directory, "session", 0, SESSION_FILE_SIZE);
  assert_true(head->magic == SESSION_MAGIC);
  assert_int_equal(head->ring_records, 512); // rounded up
  assert_int_equal(head->levels, XSP_LEVEL_MASK(1) | XSP_LEVEL_MASK(2));
  assert_int_equal(head->collector_pid, getpid());
  assert_int_equal(head->tick_clock, SESSION_TICKS_MONOTONIC);
  assert_int_equal(head->calibration[0].sequence, 1);
  assert_int_equal(head->trace_id[15], 0xef);
  assert_int_equal(head->parent_id[0], 0xfe);
  const struct session_control *control = (void *)((char *)head + SESSION_CONTROL_OFFSET);
  assert_string_equal(control->tracer[0].name, "app");
  assert_int_equal(control->levels[63], head->levels);
  collect_set_levels(session, XSP_LEVEL_MASK(2) | XSP_LEVEL_MASK(4)); // 4 was never asked for
  assert_int_equal(control->levels[1], XSP_LEVEL_MASK(2));
  collect_set_levels(session, 0);
  assert_int_equal(control->levels[0] | control->levels[1] | control->levels[63], 0);
  collect_set_levels(session, XSP_LEVEL_MASK(1));
  assert_int_equal(control->levels[1], XSP_LEVEL_MASK(1));
  munmap(head, SESSION_FILE_SIZE);
  collect_close(session, true);
  assert_int_not_equal(stat(directory, &status), 0);
}

static void test_create_refuses_a_used_folder(void **state)
{
  struct collect_session *session = create(folder), *other = NULL;
  struct error err = {0};
  const struct collect_options options = {.directory = folder, .level_mask = 1};
  assert_int_equal(collect_create(&options, &other, &err), STATUS_USE);
  const struct collect_options nowhere = {.directory = "/proc/no/such", .level_mask = 1};
  assert_int_equal(collect_create(&nowhere, &other, &err), STATUS_SYSTEM);
  collect_close(session, false);
  collect_close(adopt(folder), true); // still whole
}

static void *list_until(void *is_over)
{
  while (!__atomic_load_n((bool *)is_over, __ATOMIC_RELAXED)) {
    struct arena own = {0};
    struct collect_found *found;
    size_t count;
    collect_find(&own, &found, &count);
    arena_done(&own);
  }
  return NULL;
}

// A session is listed as in use, and listing takes nothing from who opens one meanwhile.
static void test_list(void **state)
{
  bool is_over = false, is_listed = false;
  struct collect_session *session = create(NULL);
  char directory[512];
  snprintf(directory, sizeof directory, "%s", collect_directory(session));
  struct collect_found *found;
  size_t count;
  collect_find(&arena, &found, &count);
  for (size_t i = 0; i < count; i++)
    if (strcmp(found[i].path, directory) == 0)
      is_listed = found[i].is_in_use;
  assert_true(is_listed);
  collect_close(session, false);
  pthread_t lister;
  assert_int_equal(pthread_create(&lister, NULL, list_until, &is_over), 0);
  for (int i = 0; i < 300; i++)
    collect_close(adopt(directory), false);
  __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
  assert_int_equal(pthread_join(lister, NULL), 0);
  collect_close(adopt(directory), true);
}

// A child of the collector that outlives it keeps no session in use.
static void test_child_outlives_the_collector(void **state)
{
  struct collect_session *session = create(folder);
  int pipes[2];
  assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
  pid_t child = fork();
  if (child == 0) {
    close_range(0, ~0u, 0);
    for (;;)
      pause();
  }
  close(pipes[1]);
  assert_int_equal(read(pipes[0], &(char){0}, 1), 0); // the child has closed its files
  close(pipes[0]);
  collect_close(session, false);
  collect_close(adopt(folder), false);
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, NULL, 0), child);
}

// Some file systems of containers give no leases: then nobody is known to be alone.
static bool gives_leases(void)
{
  char name[128];
  snprintf(name, sizeof name, "%s/lease", folder);
  int file = open(name, O_RDWR | O_CREAT, 0600);
  bool gives = fcntl(file, F_SETLEASE, F_WRLCK) == 0;
  close(file);
  unlink(name);
  return gives;
}

// A mapping counts without a descriptor: a process that was forked from one that joined has no more.
static void test_alone(void **state)
{
  bool gives = gives_leases();
  struct collect_session *session = create(folder);
  char name[128];
  int ready[2], end[2];
  snprintf(name, sizeof name, "%s/session", folder);
  assert_int_equal(collect_is_alone(session), gives);
  assert_int_equal(pipe(ready) | pipe(end), 0);
  pid_t child = fork();
  if (child == 0) {
    int file = open(name, O_RDWR);
    bool is_mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0) != MAP_FAILED;
    close(file);
    close(end[1]);
    (void)!write(ready[1], &is_mapped, 1);
    _exit((int)read(end[0], &is_mapped, 1));
  }
  bool is_mapped = false;
  assert_int_equal(read(ready[0], &is_mapped, 1), 1);
  assert_true(is_mapped);
  assert_false(collect_is_alone(session));
  close(end[1]);
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_int_equal(collect_is_alone(session), gives);
  close(ready[0]);
  close(ready[1]);
  close(end[0]);
  collect_close(session, true);
}

// Who opens a session in the instant in which its collector asks whether it is alone gets it then: here the one lasts until the other.
static void test_open_meanwhile(void **state)
{
  int ready[2];
  char given = false;
  struct stat facts;
  sigset_t opened;
  sigemptyset(&opened);
  sigaddset(&opened, SIGURG);
  assert_int_equal(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    char name[128];
    snprintf(name, sizeof name, "%s/session", folder);
    int file = open(name, O_RDWR | O_CREAT, 0600);
    sigprocmask(SIG_BLOCK, &opened, NULL);
    given = fcntl(file, F_SETSIG, SIGURG) == 0 && fcntl(file, F_SETLEASE, F_WRLCK) == 0;
    (void)!write(ready[1], &given, 1);
    if (given)
      sigwaitinfo(&opened, NULL);
    _exit(given && fcntl(file, F_SETLEASE, F_UNLCK) != 0);
  }
  assert_int_equal(read(ready[0], &given, 1), 1);
  int place = open(folder, O_RDONLY | O_DIRECTORY), status = -1;
  int file = collect_place_file(place, "session", O_RDONLY, &facts);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_true(file >= 0);
  close(file);
  close(place);
  close(ready[0]);
  close(ready[1]);
}

static void test_adopt_refuses(void **state)
{
  assert_non_null(strstr(refused("/no/such/folder"), "No such file"));
  assert_non_null(strstr(refused(folder), "no session folder"));
  struct collect_session *session = create(folder);
  assert_non_null(strstr(refused(folder), "another xsp drains it"));
  collect_close(session, false);
  collect_close(adopt(folder), false);
  uint32_t version = 9;
  edit(folder, "session", offsetof(struct session_head, version), &version, 4);
  assert_non_null(strstr(refused(folder), "version 9"));
  version = SESSION_VERSION;
  edit(folder, "session", offsetof(struct session_head, version), &version, 4);
  uint32_t clock = 77;
  edit(folder, "session", offsetof(struct session_head, tick_clock), &clock, 4);
  assert_non_null(strstr(refused(folder), "broken"));
  clock = SESSION_TICKS_TSC;
  edit(folder, "session", offsetof(struct session_head, tick_clock), &clock, 4);
  uint8_t boot_id[16] = "another machine";
  edit(folder, "session", offsetof(struct session_head, boot_id), boot_id, 16);
  struct session_calibration none[SESSION_CALIBRATIONS - 1] = {0};
  edit(folder, "session", offsetof(struct session_head, calibration[1]), none, sizeof none);
  assert_non_null(strstr(refused(folder), "fewer than two clock readings"));
  cut(folder, "catalog", 8);
  assert_non_null(strstr(refused(folder), "cut short"));
  cut(folder, "session", SESSION_FILE_SIZE - 1);
  assert_non_null(strstr(refused(folder), "cut short"));
}

static struct store_spans spans(void)
{
  struct error err = {0};
  struct store_spans loaded = {0};
  ok(store_commit(store, &err), &err);
  ok(store_load_spans(store, 1, STORE_ALL_BASE, &arena, &loaded, &err), &err);
  return loaded;
}

static size_t tag_count(void)
{
  struct error err = {0};
  struct store_tag *tags = NULL;
  size_t count = 0;
  ok(store_load_tags(store, 1, &arena, &tags, &count, &err), &err);
  return count;
}

// A collector that dies after its commit, with a span half told; its successor takes exactly the rest.
static void test_adopt_goes_on(void **state)
{
  struct error err = {0};
  char session_folder[128];
  snprintf(session_folder, sizeof session_folder, "%s/session", folder);
  struct collect_session *session = create(session_folder);
  hand_join(&hand, collect_directory(session));
  uint32_t site = hand_site(&hand, XSP_LEVEL_LAYER, "layer", NULL), key = hand_string(&hand, "key");
  uint64_t begin = session_clock_read(SESSION_TICKS_MONOTONIC).ticks;
  hand_span(&hand, site, 10, begin, 1); // on the first track; what follows is on the second
  hand_put(&hand, (struct record){.type = RECORD_THREAD, .start = 4321, .duration = 1});
  hand_span(&hand, site, 1, begin, 1);
  hand_fact(&hand, RECORD_TAG_INT, 2, key, 7); // about a span that is still open
  hand_span(&hand, site, 3, begin + 1, 1);
  ok(store_create(path, false, &store, &err), &err);
  ok(collect_drain(session, store, 1, &err), &err);
  ok(collect_commit(session, store, &err), &err);
  assert_int_equal(spans().count, 3);
  assert_int_equal(tag_count(), 0);
  uint32_t second_track = spans().track_id[1];
  hand_span(&hand, site, 4, begin + 3, 1); // drained, but never committed
  ok(collect_drain(session, store, 1, &err), &err);
  collect_close(session, false);
  store_discard(store);
  ok(store_create(path, false, &store, &err), &err);
  hand_span(&hand, site, 2, begin, 9);
  hand.ring->owner_tid = 9999; // handed on meanwhile; what is read still belongs to 4321

  session = adopt(session_folder);
  struct collect_origin origin = collect_origin(session, &arena);
  assert_string_equal(origin.path, path);
  assert_int_equal(origin.run_id, 1);
  assert_int_equal(origin.run_count, 1);
  assert_int_equal(collect_levels(session), XSP_LEVEL_MASK(1) | XSP_LEVEL_MASK(2));
  ok(collect_drain_final(session, store, 1, &err), &err);
  struct store_spans got = spans();
  assert_int_equal(got.count, 2);
  assert_int_equal(got.span_id[0], INT64_C(1) << 32 | 4);
  assert_int_equal(got.span_id[1], INT64_C(1) << 32 | 2);
  assert_int_equal(got.track_id[0], second_track);
  assert_int_equal(got.track_id[1], second_track);
  assert_int_equal(tag_count(), 1);
  hand_leave(&hand);
  collect_close(session, true);
}

// Where the collector died between its commit and the note of it, the ids that are stored already are left out.
static void test_known_spans_are_left_out(void **state)
{
  struct error err = {0};
  struct collect_session *session = create(folder);
  hand_join(&hand, collect_directory(session));
  uint32_t site = hand_site(&hand, XSP_LEVEL_LAYER, "layer", NULL), key = hand_string(&hand, "key");
  uint64_t begin = session_clock_read(SESSION_TICKS_MONOTONIC).ticks;
  for (uint32_t i = 1; i <= 5; i++) {
    hand_fact(&hand, RECORD_TAG_INT, i, key, i);
    hand_span(&hand, site, i, begin + i, 1);
  }
  const int64_t known[] = {INT64_C(1) << 32 | 1, INT64_C(1) << 32 | 2, INT64_C(1) << 32 | 4};
  collect_set_known(session, known, 3);
  ok(store_create(path, false, &store, &err), &err);
  ok(collect_drain_final(session, store, 1, &err), &err);
  struct store_spans got = spans();
  assert_int_equal(got.count, 2);
  assert_int_equal(got.span_id[0], INT64_C(1) << 32 | 3);
  assert_int_equal(got.span_id[1], INT64_C(1) << 32 | 5);
  assert_int_equal(tag_count(), 2);
  struct collect_counts counts;
  collect_counts(session, &counts);
  assert_int_equal(counts.repeated, 3);
  hand_leave(&hand);
  collect_close(session, true);
}

static void take_headway(void *context, uint64_t done, uint64_t total)
{
  uint64_t *last = context;
  assert_true(done >= last[0]);
  last[0] = done;
  last[1] = total;
  last[2]++;
}

static void test_final_drains_are_watched(void **state)
{
  struct error err = {0};
  uint64_t last[3] = {0};
  struct collect_session *session = create(folder);
  hand_join(&hand, collect_directory(session));
  uint32_t site = hand_site(&hand, XSP_LEVEL_LAYER, "layer", NULL);
  uint64_t begin = session_clock_read(SESSION_TICKS_MONOTONIC).ticks, position = hand.ring->producer.head;
  for (uint32_t i = 1; i <= 5; i++)
    hand_span(&hand, site, i, begin + i, 1);
  collect_set_watcher(session, (struct headway_watcher){take_headway, last});
  ok(store_create(path, false, &store, &err), &err);
  ok(collect_drain_final(session, store, 1, &err), &err);
  assert_int_equal(last[1], hand.ring->producer.head - hand.ring->tail);
  assert_true(last[1] >= 5 && hand.ring->producer.head - position == 5);
  assert_int_equal(last[0], last[1]);
  hand_leave(&hand);
  collect_close(session, true);
}

// Where a span that is still open keeps them in the ring.
static void test_replayed_records_are_not_watched(void **state)
{
  struct error err = {0};
  uint64_t last[3] = {0};
  char session_folder[128];
  snprintf(session_folder, sizeof session_folder, "%s/session", folder);
  struct collect_session *session = create(session_folder);
  hand_join(&hand, collect_directory(session));
  uint32_t site = hand_site(&hand, XSP_LEVEL_LAYER, "layer", NULL), key = hand_string(&hand, "key");
  uint64_t begin = session_clock_read(SESSION_TICKS_MONOTONIC).ticks;
  hand_fact(&hand, RECORD_TAG_INT, 1, key, 7); // of the open span
  for (uint32_t i = 2; i <= 5; i++)
    hand_span(&hand, site, i, begin + i, 1);
  ok(store_create(path, false, &store, &err), &err);
  ok(collect_drain(session, store, 1, &err), &err);
  ok(collect_commit(session, store, &err), &err);
  collect_close(session, false);
  assert_int_equal(hand.ring->stored, hand.ring->producer.head);
  assert_true(hand.ring->tail + 5 <= hand.ring->stored);
  hand_span(&hand, site, 6, begin + 6, 1);
  hand_span(&hand, site, 7, begin + 7, 1);

  session = adopt(session_folder);
  collect_set_watcher(session, (struct headway_watcher){take_headway, last});
  ok(collect_drain_final(session, store, 1, &err), &err);
  assert_int_equal(last[1], 2);
  assert_int_equal(last[0], 2);
  assert_int_equal(last[2], 1); // at the end
  hand_leave(&hand);
  collect_close(session, true);
}

static void test_absurd_positions(void **state)
{
  struct error err = {0};
  struct collect_session *session = create(folder);
  hand_join(&hand, collect_directory(session));
  uint32_t site = hand_site(&hand, XSP_LEVEL_LAYER, "layer", NULL);
  hand_span(&hand, site, 1, session_clock_read(SESSION_TICKS_MONOTONIC).ticks, 1);
  hand.ring->tail = UINT64_MAX - 5; // all of these are words of other processes
  hand.ring->stored = 3;
  hand.ring->producer.head = UINT64_MAX;
  hand.ring->highest_id = UINT64_MAX;
  ok(store_create(path, false, &store, &err), &err);
  ok(collect_drain(session, store, 1, &err), &err);
  ok(collect_drain_final(session, store, 1, &err), &err);
  ok(collect_commit(session, store, &err), &err);
  hand_leave(&hand);
  collect_close(session, true);
}

static void test_removing_spares_what_is_not_ours(void **state)
{
  struct collect_session *session = create(folder);
  char mine[256];
  snprintf(mine, sizeof mine, "%s/ring-notes", folder);
  int file = open(mine, O_CREAT | O_WRONLY, 0600);
  assert_true(file >= 0);
  close(file);
  collect_close(session, true);
  assert_int_equal(access(mine, F_OK), 0);
  DIR *listing = opendir(folder);
  size_t count = 0;
  while (readdir(listing))
    count++;
  closedir(listing);
  assert_int_equal(count, 3); // ".", ".." and the notes
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_create, setup, teardown),
      cmocka_unit_test_setup_teardown(test_create_refuses_a_used_folder, setup, teardown),
      cmocka_unit_test_setup_teardown(test_list, setup, teardown),
      cmocka_unit_test_setup_teardown(test_child_outlives_the_collector, setup, teardown),
      cmocka_unit_test_setup_teardown(test_alone, setup, teardown),
      cmocka_unit_test_setup_teardown(test_open_meanwhile, setup, teardown),
      cmocka_unit_test_setup_teardown(test_adopt_refuses, setup, teardown),
      cmocka_unit_test_setup_teardown(test_adopt_goes_on, setup, teardown),
      cmocka_unit_test_setup_teardown(test_known_spans_are_left_out, setup, teardown),
      cmocka_unit_test_setup_teardown(test_final_drains_are_watched, setup, teardown),
      cmocka_unit_test_setup_teardown(test_replayed_records_are_not_watched, setup, teardown),
      cmocka_unit_test_setup_teardown(test_absurd_positions, setup, teardown),
      cmocka_unit_test_setup_teardown(test_removing_spares_what_is_not_ours, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
