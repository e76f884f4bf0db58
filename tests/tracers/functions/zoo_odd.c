// SPDX-License-Identifier: Apache-2.0
// The guest's odd ways of calling: jumps out of a call, ends of threads inside one, signals, stacks of its own, forks,
// libraries that come and go. Each prints what came out.
#include "tests/tracers/functions/zoo.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

void zoo_odd(const char *mode, unsigned count);

static jmp_buf out;

static void jump(void *data)
{
  longjmp(out, 1);
}

static void jumps(unsigned count)
{
  volatile unsigned jumped = 0;
  for (volatile unsigned i = 0; i < count; i++) {
    if (setjmp(out) == 0)
      zoo_call(jump, NULL);
    else
      jumped++;
    if (zoo_deep(0, 7, 1) != 7)
      exit(9);
  }
  printf("jumped %u times\n", jumped);
}

// ---- threads that end in a call
static void leave(void *data)
{
  pthread_exit(data);
}
static void wait_for_end(void *data)
{
  for (;;)
    pause(); // a cancellation point
}
static void *leaving(void *data)
{
  zoo_call(leave, data);
  return NULL;
}
static void *waiting(void *data)
{
  zoo_call(wait_for_end, NULL);
  return NULL;
}
static void ends(unsigned count)
{
  uintptr_t sum = 0, cancelled = 0;
  for (unsigned i = 0; i < count; i++) {
    pthread_t thread;
    void *result;
    if (pthread_create(&thread, NULL, leaving, (void *)(uintptr_t)(i + 1)) != 0 || pthread_join(thread, &result) != 0)
      exit(9);
    sum += (uintptr_t)result;
    if (pthread_create(&thread, NULL, waiting, NULL) != 0 || pthread_cancel(thread) != 0 ||
        pthread_join(thread, &result) != 0)
      exit(9);
    cancelled += result == PTHREAD_CANCELED;
  }
  printf("left with %lu, cancelled %lu\n", (unsigned long)sum, (unsigned long)cancelled);
}

// ---- handlers
static volatile sig_atomic_t handled, wrong;

static void handle(int number)
{
  wrong |= zoo_ints(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14) !=
           direct_ints(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
  handled++;
}

static void signals(unsigned count)
{
  static char other_stack[65536];
  stack_t alternate = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK | SA_RESTART};
  struct itimerval interval = {{0, 200}, {0, 200}};
  sigaltstack(&alternate, NULL);
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &interval, NULL);
  while (handled < (int)count)
    wrong |=
        zoo_doubles(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) != direct_doubles(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
  memset(&interval, 0, sizeof interval);
  setitimer(ITIMER_REAL, &interval, NULL);
  printf("handled, wrong: %d\n", (int)wrong);
}

// ---- a stack whose last page ends in nothing
static ucontext_t here, there;
static int64_t other_result;

static void on_other_stack(void)
{
  other_result = zoo_ints(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14) + zoo_deep(3, 4, 5);
}

static void stacks(unsigned count)
{
  const size_t size = 65536;
  char *memory = mmap(NULL, size + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || mprotect(memory + size, 4096, PROT_NONE) != 0)
    exit(9);
  int64_t sum = 0;
  for (unsigned i = 0; i < count; i++) {
    getcontext(&there);
    there.uc_stack.ss_sp = memory;
    there.uc_stack.ss_size = size - 16 * i;
    there.uc_link = &here;
    makecontext(&there, on_other_stack, 0);
    swapcontext(&here, &there);
    sum += other_result;
  }
  printf("other stacks: %ld\n", (long)sum);
}

// ---- libraries that come and go
typedef int64_t (*deep_fn)(int, int64_t, double);

static void libraries(unsigned count, const char *path)
{
  void *blocks[64] = {NULL};
  int64_t sum = 0;
  for (unsigned i = 0; i < count; i++) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
      exit(9);
    void *symbol = dlsym(library, "zoo_deep");
    deep_fn deep;
    memcpy(&deep, &symbol, sizeof deep);
    sum += deep(2, 3, 4);
    if (dlclose(library) != 0)
      exit(9);
    if (i < 64) // the next one finds another place
      blocks[i] = mmap(NULL, (i + 1) * 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  printf("libraries: %ld %d\n", (long)sum, blocks[0] != NULL);
}

// ---- children
static void forks(unsigned count)
{
  int64_t sum = 0;
  for (unsigned i = 0; i < count; i++) {
    errno = 0;
    munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096); // what a child's fresh start calls
    pid_t child = fork();
    if (child == 0) {
      int64_t result = zoo_deep(3, 1, 2) + errno;
      _exit(result == direct_deep(3, 1, 2) ? 3 : 4);
    }
    int status = 0;
    waitpid(child, &status, 0);
    sum += WEXITSTATUS(status) + zoo_deep(0, 1, 1);
  }
  printf("forks: %ld\n", (long)sum);
}

void zoo_odd(const char *mode, unsigned count)
{
  if (strcmp(mode, "jumps") == 0)
    jumps(count);
  else if (strcmp(mode, "ends") == 0)
    ends(count);
  else if (strcmp(mode, "signals") == 0)
    signals(count);
  else if (strcmp(mode, "stacks") == 0)
    stacks(count);
  else if (strcmp(mode, "forks") == 0)
    forks(count);
  else
    libraries(count, mode);
}
