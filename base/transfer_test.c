// SPDX-License-Identifier: Apache-2.0
// Whole blocks move through signals, full pipes and files that end early.
#include "base/transfer.h"

#include "base/scoped.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cmocka.h>

#define BLOCK_BYTES ((size_t)4 << 20) // more than a pipe or a socket takes at once
#define SIGNALS 100

static int signals_seen;

static void see(int number)
{
  (void)number;
  __atomic_add_fetch(&signals_seen, 1, __ATOMIC_RELEASE);
}

struct writer {
  int file;
  bool is_socket, is_written, is_over;
  char *bytes;
};

static void *write_block(void *context)
{
  struct writer *writer = context;
  writer->is_written = writer->is_socket ? transfer_send(writer->file, writer->bytes, BLOCK_BYTES)
                                         : transfer_write(writer->file, writer->bytes, BLOCK_BYTES);
  close(writer->file); // where it failed, the reader ends
  __atomic_store_n(&writer->is_over, true, __ATOMIC_RELEASE);
  return NULL;
}

// Signals end the writer's calls, each after a part; then a reader takes all.
static void move_through_signals(const int ends[2], bool is_socket)
{
  struct sigaction action = {.sa_handler = see}, before; // without SA_RESTART
  struct writer writer = {.file = ends[1], .is_socket = is_socket, .bytes = malloc(BLOCK_BYTES)};
  char *got SCOPED(scoped_free) = malloc(BLOCK_BYTES);
  pthread_t thread;
  for (size_t i = 0; i < BLOCK_BYTES; i++)
    writer.bytes[i] = (char)(i * 2654435761u >> 20);
  assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
  assert_int_equal(pthread_create(&thread, NULL, write_block, &writer), 0);
  for (int i = 0; i < SIGNALS; i++) {
    int seen = __atomic_load_n(&signals_seen, __ATOMIC_ACQUIRE);
    assert_int_equal(pthread_kill(thread, SIGUSR1), 0);
    while (__atomic_load_n(&signals_seen, __ATOMIC_ACQUIRE) == seen &&
           !__atomic_load_n(&writer.is_over, __ATOMIC_ACQUIRE))
      sched_yield();
  }
  assert_int_equal(transfer_read(ends[0], got, BLOCK_BYTES), BLOCK_BYTES);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_true(writer.is_written);
  assert_memory_equal(got, writer.bytes, BLOCK_BYTES);
  assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
  free(writer.bytes);
  close(ends[0]);
}

static void signals_do_not_end_a_block(void **state)
{
  (void)state;
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  move_through_signals(ends, false);
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  move_through_signals(ends, true);
}

static void a_block_that_ends_early_has_its_reason(void **state)
{
  (void)state;
  struct rlimit before, less;
  char path[] = "/tmp/transfer_test_XXXXXX", bytes[100] = "a block", got[100];
  int file SCOPED(scoped_close) = mkstemp(path);
  unlink(path);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  less = (struct rlimit){60, before.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
  bool is_written = transfer_write_at(file, bytes, sizeof bytes, 0);
  int reason = errno;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_false(is_written);
  assert_int_equal(reason, EFBIG);
  assert_int_equal(transfer_read_at(file, got, sizeof got, 0), 60);
  assert_int_equal(errno, 0);
  assert_memory_equal(got, bytes, 60);
  assert_int_equal(transfer_read_at(file, got, 10, 50), 10);
  assert_int_equal(transfer_read(-1, got, sizeof got), 0);
  assert_int_equal(errno, EBADF);
}

static void a_reader_that_left_is_an_error(void **state)
{
  (void)state;
  int ends[2];
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  close(ends[0]);
  assert_false(transfer_send(ends[1], "late", 4));
  assert_int_equal(errno, EPIPE);
  close(ends[1]);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(signals_do_not_end_a_block),
      cmocka_unit_test(a_block_that_ends_early_has_its_reason),
      cmocka_unit_test(a_reader_that_left_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
