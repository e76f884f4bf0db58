// SPDX-License-Identifier: Apache-2.0
// A program that is not linked with libxsp.so, with a thread that is held within its join, when it opens the catalog, while
// the main thread publishes. Its functions `open` and `syscall` hide libc's from libxsp.so.
//
//   waits   the joining thread goes on once the main thread waits for it, which then waits without a bound
//   slow    it goes on when the main thread has given up waiting twice
//   closed  without standard input, output and error, on one thread: ends with 1 where a file of the session has their place
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct span {
  uint64_t start;
  uint32_t site, id;
};

static sem_t is_joining, may_go_on;
static bool is_unbounded, is_closed, has_low_place;
static unsigned waits; // of the main thread

__attribute__((visibility("default"))) long syscall(long number, ...)
{
  long (*next)(long, ...) = (long (*)(long, ...))(uintptr_t)dlsym(RTLD_NEXT, "syscall");
  long a[6];
  va_list rest;
  va_start(rest, number);
  for (int i = 0; i < 6; i++)
    a[i] = va_arg(rest, long);
  va_end(rest);
  long command = a[1] & FUTEX_CMD_MASK;
  if (number == SYS_futex && (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET)) {
    waits++;
    if (is_unbounded) {
      sem_post(&may_go_on);
      a[3] = 0;
    }
  }
  return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
  static bool was_held;
  va_list rest;
  va_start(rest, flags);
  int mode = (flags & O_CREAT) != 0 ? va_arg(rest, int) : 0;
  va_end(rest);
  const char *name = strrchr(path, '/');
  if (!is_closed && !was_held && name != NULL && strcmp(name, "/catalog") == 0) {
    was_held = true;
    sem_post(&is_joining);
    sem_wait(&may_go_on);
  }
  int file = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  has_low_place |= file >= 0 && file <= STDERR_FILENO && (flags & O_ACCMODE) == O_RDWR;
  return file;
}

static bool publish(const char *name)
{
  void *(*create)(const char *, int, const char *, const char *) =
      (void *(*)(const char *, int, const char *, const char *))(uintptr_t)dlsym(RTLD_DEFAULT, "xsp_site_create");
  struct span (*start)(void *) = (struct span(*)(void *))(uintptr_t)dlsym(RTLD_DEFAULT, "xsp_span_start_call");
  void (*finish)(struct span *) = (void (*)(struct span *))(uintptr_t)dlsym(RTLD_DEFAULT, "xsp_span_finish_call");
  void *site = create("app", 0, name, NULL);
  if (site == NULL)
    return false;
  struct span span = start(site);
  finish(&span);
  return span.start != 0;
}

static void *join(void *unused)
{
  return publish("first") ? &is_joining : NULL;
}

int main(int count, char **arguments)
{
  pthread_t thread;
  void *is_published;
  is_closed = count == 2 && strcmp(arguments[1], "closed") == 0;
  if (is_closed)
    return close(0) != 0 || close(1) != 0 || close(2) != 0 || !publish("closed") || has_low_place;
  is_unbounded = count == 2 && strcmp(arguments[1], "waits") == 0;
  if (sem_init(&is_joining, 0, 0) != 0 || sem_init(&may_go_on, 0, 0) != 0 ||
      pthread_create(&thread, NULL, join, NULL) != 0)
    return 1;
  while (sem_wait(&is_joining) != 0)
    ;
  bool once = publish("second");
  unsigned first_waits = waits;
  bool twice = publish("second");
  bool waited_again = waits > first_waits;
  sem_post(&may_go_on);
  if (pthread_join(thread, &is_published) != 0)
    return 1;
  printf("%d %d %d %d %d %d\n", once, first_waits > 0, twice, waited_again, is_published != NULL, publish("second"));
  return 0;
}
