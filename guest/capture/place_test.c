// SPDX-License-Identifier: Apache-2.0
// Traced programs in hard places: rings that are drained while they are written, full memory, read-only folders, limits.
#include "tests/capture/guests.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xsp/span.h>

#include <cmocka.h>

// ---- with a collector: rings are given back while they are written, and wrap many times
struct drain {
  struct ring_head *ring[32];
  uint64_t spans, others, wrong;
  uint32_t keep_records; // asked of all rings all the time; 0: not
  uint32_t sizes;        // how often they had another size
  const char *limit;     // of the session's memory, as a variable; NULL: the usual one
  bool waits_for_drops;  // nothing is drained before
  bool waits_for_growth; // nothing is drained before the ring that dropped has grown with more memory
  bool has_part;         // a ring has storage for a part of its next size
};

static void *map_file(const char *name, size_t *ret_size)
{
  char path[512];
  struct stat status;
  snprintf(path, sizeof path, "%s/%s", session, name);
  int file = open(path, O_RDWR | O_CLOEXEC);
  void *memory = MAP_FAILED;
  if (file >= 0 && fstat(file, &status) == 0 && status.st_size > 0)
    memory = mmap(NULL, *ret_size = (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0)
    close(file);
  return memory == MAP_FAILED ? NULL : memory;
}

static struct ring_head *map_ring(struct drain *drain, uint32_t number)
{
  char name[32];
  size_t size = 0;
  snprintf(name, sizeof name, "ring-%u", number);
  struct ring_head **place = &drain->ring[number - 1], *ring = *place != NULL ? *place : map_file(name, &size);
  bool is_made = *place != NULL || (size >= RING_HEAD_SIZE && __atomic_load_n(&ring->magic, __ATOMIC_ACQUIRE) != 0);
  return is_made ? *place = ring : NULL;
}

static void raise_limit(void)
{
  size_t size = 0;
  struct session_head *head = map_file("session", &size);
  assert_non_null(head);
  __atomic_store_n(&head->memory_limit, UINT64_C(1) << 30, __ATOMIC_RELAXED);
  munmap(head, size);
}

static bool is_waiting(struct drain *drain)
{
  for (uint32_t i = 0; i < 32; i++) {
    const struct ring_head *ring = map_ring(drain, i + 1);
    if (ring == NULL || __atomic_load_n(&ring->producer.dropped, __ATOMIC_RELAXED) == 0)
      continue;
    if (drain->waits_for_growth)
      raise_limit();
    drain->waits_for_drops = false;
    drain->waits_for_growth = drain->waits_for_growth && __atomic_load_n(&ring->size_count, __ATOMIC_RELAXED) == 1;
  }
  return drain->waits_for_drops || drain->waits_for_growth;
}

static void drain_once(struct drain *drain)
{
  for (uint32_t i = 0; i < 32 && !is_waiting(drain); i++) {
    struct ring_head *ring = map_ring(drain, i + 1);
    if (ring == NULL)
      continue;
    const struct record *records = (const struct record *)((char *)ring + RING_HEAD_SIZE);
    uint64_t tail = ring->tail;
    for (;; tail++) {
      tail = not_skipped(ring, tail);
      const struct record *record = &records[tail & (slots_at(ring, tail) - 1)];
      if (__atomic_load_n(&record->commit, __ATOMIC_ACQUIRE) != (uint32_t)(tail + 1))
        break;
      bool is_span = record->type == RECORD_SPAN,
           is_known = record->type >= RECORD_TAG_INT && record->type <= RECORD_OPEN;
      drain->spans += is_span;
      drain->others += is_known && record->type != RECORD_THREAD;
      drain->wrong += (!is_span && !is_known) || (is_span && (record->id == 0 || record->duration > UINT64_C(1) << 40));
    }
    __atomic_store_n(&ring->tail, tail, __ATOMIC_RELEASE);
    if (drain->keep_records == 0)
      continue;
    __atomic_store_n(&ring->keep_records, drain->keep_records, __ATOMIC_RELAXED);
    uint64_t limit = __atomic_load_n(&ring->producer.limit, __ATOMIC_RELAXED);
    if (limit > tail && __atomic_load_n(&ring->producer.head, __ATOMIC_RELAXED) == tail)
      __atomic_compare_exchange_n(&ring->producer.limit, &limit, tail, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
}

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif
#define PATIENCE_NS INT64_C(600000000000)
#define ENOUGH_SPANS (UINT64_C(20) * 1024 * 3) // each ring has wrapped often

static int64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// Drains the guest's rings until it ends, or kills it when enough spans were seen. Returns what it dropped.
static uint64_t drain_guest(const struct guest_run *run, bool endless, struct drain *drain)
{
  const struct guest_run make = {
      .arguments = {"attach", session}, .environment = {"XSP_RING_RECORDS=1024", drain->limit}, .folder = ""};
  assert_int_equal(run_guest(&make), 0); // makes the session and one span
  size_t size = 0;
  struct session_head *head = map_file("session", &size);
  assert_non_null(head);
  head->collector_pid = (uint32_t)getpid();
  munmap(head, size);
  int ends[2], status;
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  pid_t child = fork();
  if (child == 0)
    run_child(run, ends[1]);
  close(ends[1]);
  int64_t late = now_ns() + PATIENCE_NS;
  while (waitpid(child, &status, WNOHANG) == 0) {
    drain_once(drain);
    if ((endless && drain->spans > ENOUGH_SPANS) || now_ns() > late)
      kill(child, SIGKILL);
  }
  assert_int_equal(status, endless ? SIGKILL : 0);
  drain_once(drain);
  ssize_t got = read(ends[0], output, sizeof output - 1);
  output[got > 0 ? got : 0] = '\0';
  close(ends[0]);
  uint64_t dropped = 0;
  for (uint32_t i = 0; i < 32; i++)
    if (drain->ring[i] != NULL) {
      dropped += drain->ring[i]->producer.dropped;
      drain->sizes += drain->ring[i]->size_count;
      drain->has_part |= drain->ring[i]->backed > drain->ring[i]->producer.mask + 1;
      munmap(drain->ring[i], ring_bytes(drain->ring[i]->most_records));
    }
  return dropped;
}

// Threads that span until they are killed: what they finished is there, or counted as dropped.
static void drain_endless(const char *threads, struct drain *drain)
{
  char path[300];
  snprintf(path, sizeof path, "%s-counters", session);
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert_int_equal(ftruncate(file, 4096), 0);
  const uint64_t *finished = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0); // one per 64 bytes
  close(file);
  assert_true(finished != MAP_FAILED);
  uint64_t dropped = drain_guest(&(struct guest_run){.arguments = {"endless", path, threads}}, true, drain);
  uint64_t sum = 1 + finished[0] + finished[8] + finished[16]; // 1: of the guest that made the session
  unlink(path);
  assert_int_equal(drain->wrong, 0);
  assert_true(drain->spans > ENOUGH_SPANS);
  assert_true(drain->spans + dropped >= sum && drain->spans + dropped <= sum + 3); // killed before it was counted
}

static void test_drained_threads(void **state)
{
  (void)state;
  struct drain drain = {.keep_records = 128};
  drain_endless("3", &drain);
}

// The limit leaves two rings, one of them of the guest that made the session, and no growth.
static void test_drained_without_growth(void **state)
{
  (void)state;
  struct drain drain = {.limit = "XSP_SESSION_LIMIT_BYTES=80000", .waits_for_drops = true};
  drain_endless("1", &drain);
  assert_int_equal(drain.sizes, 2);
}

static void test_growth_is_tried_again(void **state)
{
  (void)state;
  struct drain drain = {.limit = "XSP_SESSION_LIMIT_BYTES=80000", .waits_for_drops = true, .waits_for_growth = true};
  drain_endless("1", &drain);
}

static void test_drained_storm(void **state)
{
  (void)state;
  struct drain drain = {.keep_records = 128};
  long outer, inner, handled;
  uint64_t dropped = drain_guest(&(struct guest_run){.arguments = {"storm", "300"}}, false, &drain);
  assert_int_equal(sscanf(output, "%ld %ld %ld", &outer, &inner, &handled), 3);
  assert_int_equal(drain.wrong, 0);
  assert_true(handled > 100);
  assert_int_equal(drain.spans + drain.others + dropped, (uint64_t)(1 + outer + inner + 3 * handled));
}

// ---- places where nothing can be written: the program runs as if xsp were not there
static void test_no_place(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"parallel", "2", "10"}, .folder = "/proc/no/such"}), 0);
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"parallel", "2", "10"}, .folder = "/dev/null"}), 0);
  assert_string_equal(output, "");
}

static void test_read_only_home(void **state)
{
  (void)state;
  char home[300], folder[320], variable[320];
  snprintf(home, sizeof home, "%s-home", session);
  snprintf(folder, sizeof folder, "%s/session", home);
  snprintf(variable, sizeof variable, "HOME=%s", home);
  mkdir(home, 0700);
  if (mount("xsp-test", home, "tmpfs", MS_RDONLY, "size=64k") != 0) {
    rmdir(home);
    print_message("mounting is not permitted here\n");
    skip();
  }
  int inside = run_guest(&(struct guest_run){.arguments = {"parallel", "2", "10"}, .folder = folder});
  int beside = run_guest(&(struct guest_run){.arguments = {"annotate"}, .environment = {variable}});
  umount(home);
  rmdir(home);
  assert_int_equal(inside, 0);
  assert_int_equal(beside, 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 1);
}

static void check_full_memory(const char *size, bool expect_spans)
{
  remove_folder(session);
  mkdir(session, 0700);
  if (mount("xsp-test", session, "tmpfs", 0, size) != 0) {
    print_message("mounting is not permitted here\n");
    skip();
  }
  int status = run_guest(&(struct guest_run){.arguments = {"parallel", "4", "20000"}});
  bool is_read = session_read(session, &result);
  assert_int_equal(umount2(session, MNT_DETACH), 0); // a process that was killed may not be gone yet
  assert_int_equal(status, 0);                       // no SIGBUS above all
  if (!expect_spans)
    return;
  assert_true(is_read);
  size_t kept = count_spans(&result, "outer") + count_spans(&result, "inner");
  assert_true(kept > 0 && kept < 160000);
  size_t tags = 0;
  for (size_t i = 0; i < result.count; i++)
    tags += result.records[i].record.type == RECORD_TAG_STRING;
  // Lost spans took their tags with them, so the sum lies between spans alone and all records.
  assert_true(kept + tags + result.dropped + result.lost >= 160000);
  assert_true(kept + tags + result.dropped + result.lost <= 160000 + 5000);
  session_read_done(&result);
}

// The ring's last growth fails on the way, in a file system of 2 MiB; it goes on as it is.
static void test_growth_fails_on_the_way(void **state)
{
  (void)state;
  mkdir(session, 0700);
  if (mount("xsp-test", session, "tmpfs", 0, "size=2m,mode=0700") != 0) {
    print_message("mounting is not permitted here\n");
    skip();
  }
  struct drain drain = {.limit = "XSP_SESSION_LIMIT_BYTES=1000000000", .waits_for_drops = true};
  drain_endless("1", &drain);
  assert_int_equal(umount2(session, MNT_DETACH), 0); // a process that was killed may not be gone yet
  assert_true(drain.has_part);
}

static void test_full_memory(void **state)
{
  (void)state;
  check_full_memory("size=1m,mode=0700", true);
  check_full_memory("size=352k,mode=0700", true); // hardly a ring
  check_full_memory("size=64k,mode=0700", false); // no session
  check_full_memory("nr_inodes=4,size=16m,mode=0700", false);
}

static void test_file_size_limit(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"parallel", "2", "20000"}, .file_bytes_most = 300000}),
                   0);
  read_result();
  assert_true(result.dropped > 0 && count_spans(&result, "inner") > 1000);
}

static void test_address_space_limit(void **state)
{
  (void)state;
#if XSP_TEST_SANITIZER
  skip(); // sanitizers need far more
#endif
  for (uint64_t bytes = UINT64_C(1) << 29; bytes <= UINT64_C(1) << 31; bytes *= 2) {
    int status = run_guest(&(struct guest_run){.arguments = {"address-space"}, .address_bytes_most = bytes});
    assert_int_equal(status, 0);
  }
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 3);
}

// A thread that finds no room tries again and again, and uses up no numbers by it.
static void test_numbers_without_room(void **state)
{
  (void)state;
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"parallel", "20", "20000"},
                                                 .environment = {"XSP_SESSION_LIMIT_BYTES=100000"}}),
                   0);
  read_result();
  assert_true(result.lost > 100000);
  size_t size = 0;
  struct session_head *head = map_file("session", &size);
  assert_non_null(head);
  assert_true(head->next_ring < 64);
  munmap(head, size);
}

// Storage of the session's files whose names begin so.
static uint64_t stored_bytes(const char *prefix)
{
  uint64_t blocks = 0;
  DIR *folder = opendir(session);
  assert_non_null(folder);
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    struct stat status;
    if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && fstatat(dirfd(folder), entry->d_name, &status, 0) == 0)
      blocks += (uint64_t)status.st_blocks;
  }
  closedir(folder);
  return blocks * 512;
}

static void test_crowd(void **state)
{
  (void)state;
#if XSP_TEST_SANITIZER
  const char *number = "500";
#else
  const char *number = "10000";
#endif
  uint64_t threads = (uint64_t)atoi(number);
  assert_int_equal(RUN("crowd", number), 0);
  read_result();
  assert_int_equal(count_spans(&result, "outer"), 10 * threads);
  assert_int_equal(result.dropped + result.lost, 0);
  assert_int_equal(result.rings, threads + 1);
  assert_true(stored_bytes("ring-") <= threads * 8192 + 36864);
  assert_int_equal(result.head.memory, threads * 8192 + 36864);
}

static void test_handler_stack(void **state)
{
  (void)state;
#if XSP_TEST_SANITIZER
  skip(); // their frames are larger than the stack
#endif
  if (getauxval(AT_MINSIGSTKSZ) > 3400) {
    print_message("this processor's registers leave too little of such a stack\n");
    skip();
  }
  // Without lazy binding: the loader's resolver takes as much stack again.
  assert_int_equal(run_guest(&(struct guest_run){.arguments = {"handler-stack"}, .environment = {"LD_BIND_NOW=1"}}), 0);
  read_result();
  assert_int_equal(count_spans(&result, "inner"), 3000);
}

static void test_sandbox(void **state)
{
  (void)state;
#if XSP_TEST_SANITIZER
  skip(); // they make system calls of their own
#endif
  assert_int_equal(RUN("sandbox", "20000"), 0);
  assert_string_equal(output, "done\n");
  read_result();
  assert_int_equal(count_spans(&result, "inner"), 20000);
}

// The addresses of a ring that may grow to a gigabyte are the parent's alone.
static void test_fork_takes_no_addresses(void **state)
{
  (void)state;
  assert_int_equal(RUN("fork-addresses", "50000"), 0);
  read_result();
  assert_int_equal(count_spans(&result, "inner"), 50000);
  assert_int_equal(count_spans(&result, "third"), 1);
}

// A program that locks all of its memory, now and later, does not fill its rings' files by it.
static void test_locked_memory(void **state)
{
  (void)state;
#if XSP_TEST_SANITIZER
  skip(); // theirs is too large
#endif
  int status = RUN("locked", "50000");
  if (status == 77) {
    print_message("locking is not permitted here\n");
    skip();
  }
  assert_int_equal(status, 0);
  read_result();
  assert_int_equal(count_spans(&result, "inner"), 50000);
  assert_int_equal(count_spans(&result, "outer"), 1);
  assert_true(stored_bytes("ring-") < UINT64_C(16) << 20); // 65,536 records, and as many for the next growth: 4 MiB
}

static void test_joining_together(void **state)
{
  (void)state;
  pid_t children[6];
  for (int i = 0; i < 6; i++)
    if ((children[i] = fork()) == 0)
      run_child(&(struct guest_run){.arguments = {"parallel", "2", "100"}}, 2);
  for (int i = 0; i < 6; i++) {
    int status;
    waitpid(children[i], &status, 0);
    assert_int_equal(status, 0);
  }
  read_result();
  assert_int_equal(result.processes, 6);
  assert_int_equal(count_spans(&result, "outer"), 1200);
  assert_int_equal(count_spans(&result, "inner"), 1200);
}

int main(int count, char **arguments)
{
  if (!run_arguments(count, arguments))
    return 64;
  const struct CMUnitTest tests[] = {
      RUN_TEST(drained_threads),
      RUN_TEST(drained_storm),
      RUN_TEST(drained_without_growth),
      RUN_TEST(growth_is_tried_again),
      RUN_TEST(growth_fails_on_the_way),
      RUN_TEST(fork_takes_no_addresses),
      RUN_TEST(locked_memory),
      RUN_TEST(no_place),
      RUN_TEST(read_only_home),
      RUN_TEST(full_memory),
      RUN_TEST(file_size_limit),
      RUN_TEST(joining_together),
      RUN_TEST(address_space_limit),
      RUN_TEST(numbers_without_room),
      RUN_TEST(crowd),
      RUN_TEST(handler_stack),
      RUN_TEST(sandbox),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
