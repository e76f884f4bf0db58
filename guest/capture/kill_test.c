// SPDX-License-Identifier: Apache-2.0
// Kills a traced program at random instants: what it had finished must be in the rings, none twice, and what was open
// must be listed as open. First argument: the guest; second: how often.
#include "tests/support/ring_reader.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define THREADS 3
#define PATIENCE_NS INT64_C(600000000000)

struct counter { // as in tests/capture/guest.c
  _Atomic uint64_t finished;
  _Atomic uint32_t tid;
  char line[52];
};

static const char *guest;
static int rounds = 50;
static char session[256], counters_path[300];
static uint64_t random_state;

static uint64_t next_random(void) // xorshift
{
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

static int64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void check_thread(const struct session_read *read, const struct counter *counter)
{
  uint64_t spans = 0, finished = counter->finished;
  for (size_t i = 0; i < read->count; i++)
    spans += read->records[i].tid == counter->tid && read->records[i].record.type == RECORD_SPAN;
  // At most one finish had written its record and not yet been counted.
  if (spans < finished || spans > finished + 1)
    print_error("thread %u finished %lu spans, its rings hold %lu\n", counter->tid, (unsigned long)finished,
                (unsigned long)spans);
  assert_true(spans >= finished && spans <= finished + 1);
}

static void one_round(void)
{
  remove_folder(session);
  int file = open(counters_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert_int_equal(ftruncate(file, 4096), 0);
  struct counter *counters = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  assert_true(counters != MAP_FAILED);
  pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); // a test that is killed takes its guest along
    setenv("XSP_SESSION", session, 1);
    setenv("XSP_RING_RECORDS", "512", 1); // so that growing is among what is interrupted
    setenv("XSP_SESSION_LIMIT_BYTES", "1073741824", 1);
    execl(guest, guest, "endless", counters_path, "3", "4000000", (char *)NULL);
    _exit(126);
  }
  // Not a span counted is waited for in a third of the rounds: then the kill may fall into the attaching.
  uint64_t wanted = next_random() % 3 == 0 ? 0 : next_random() % 60000;
  int64_t late = now_ns() + PATIENCE_NS, delay = (int64_t)(next_random() % 3000000), begin = now_ns();
  while ((atomic_load(&counters[THREADS - 1].finished) < wanted || (wanted == 0 && now_ns() - begin < delay)) &&
         now_ns() < late)
    ;
  for (uint64_t spin = next_random() % 2000; spin > 0; spin--)
    __asm__ volatile("" ::: "memory");
  kill(child, SIGKILL);
  int status;
  waitpid(child, &status, 0);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  uint64_t finished = 0;
  for (int i = 0; i < THREADS; i++)
    finished += counters[i].finished;
  assert_true(wanted == 0 || finished > 0);
  struct session_read read;
  if (finished > 0) {
    assert_true(session_read(session, &read));
    assert_int_equal(read.dropped + read.lost + read.misused, 0);
    assert_true(read.incomplete <= THREADS);
    assert_true(ids_are_unique(&read));
    assert_true(read.open_count <= 2 * THREADS);
    for (int i = 0; i < THREADS; i++)
      check_thread(&read, &counters[i]);
    session_read_done(&read);
  }
  munmap(counters, 4096);
}

static void test_kill(void **state)
{
  (void)state;
  snprintf(session, sizeof session, "/dev/shm/xsp-kill-%d", (int)getpid());
  snprintf(counters_path, sizeof counters_path, "%s-counters", session);
  random_state = (uint64_t)now_ns() | 1;
  print_message("seed %lu\n", (unsigned long)random_state);
  for (int i = 0; i < rounds; i++)
    one_round();
  unlink(counters_path);
  remove_folder(session);
}

int main(int count, char **arguments)
{
  if (count < 2)
    return 64;
  guest = arguments[1];
  if (count > 2)
    rounds = atoi(arguments[2]);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kill)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
