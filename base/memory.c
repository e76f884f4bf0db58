// SPDX-License-Identifier: Apache-2.0
// The end of a process that has no memory left; see memory.h. Does not allocate after the first failure.
#include "base/memory.h"

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void (*cleanup_function)(void); // atomic
static void (*escape_function)(void);  // atomic
static bool is_ending;                 // atomic

void memory_on_exhausted(void (*cleanup)(void))
{
  __atomic_store_n(&cleanup_function, cleanup, __ATOMIC_RELEASE);
}

void memory_set_escape(void (*escape)(void))
{
  __atomic_store_n(&escape_function, escape, __ATOMIC_RELEASE);
}

void memory_exhausted(void)
{
  void (*escape)(void) = __atomic_load_n(&escape_function, __ATOMIC_ACQUIRE);
  if (escape != NULL)
    escape();
  static const struct error error = {.status = STATUS_MEMORY,
                                     .what = "out of memory",
                                     .advice = "a smaller input, or more memory (ulimit -v, the container's limit)"};
  while (__atomic_exchange_n(&is_ending, true, __ATOMIC_ACQ_REL))
    pause(); // another thread ends the process
  void (*cleanup)(void) = __atomic_load_n(&cleanup_function, __ATOMIC_ACQUIRE);
  if (cleanup != NULL)
    cleanup();
  char line[sizeof error];
  size_t length = error_line(&error, line, sizeof line - 1);
  line[length++] = '\n';
  if (write(STDERR_FILENO, line, length) < 0) {
    // nowhere left to report to
  }
  _exit(status_exit_code(STATUS_MEMORY));
}

void *memory_new(size_t count, size_t size_bytes)
{
  void *block = calloc(count > 0 ? count : 1, size_bytes > 0 ? size_bytes : 1);
  if (block == NULL)
    memory_exhausted();
  return block;
}

void *memory_resize(void *block, size_t count, size_t size_bytes)
{
  size_t total = 0;
  if (__builtin_mul_overflow(count, size_bytes, &total))
    memory_exhausted();
  void *resized = realloc(block, total > 0 ? total : 1);
  if (resized == NULL)
    memory_exhausted();
  return resized;
}

char *memory_text(const char *text)
{
  return memory_text_of(text, strlen(text));
}

char *memory_text_of(const char *text, size_t length)
{
  if (length == SIZE_MAX)
    memory_exhausted();
  char *copy = memory_resize(NULL, length + 1, 1);
  if (length > 0)
    memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}
