// SPDX-License-Identifier: Apache-2.0
// Shared by the benches of the offline rooms: medians, a repeatable random sequence, errors that end the bench.
#ifndef XSP_BENCH_MEASURE_H
#define XSP_BENCH_MEASURE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t random_state = 88172645463325252u;
__attribute__((unused)) static uint64_t next_random(void)
{
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static int compare_doubles(const void *left, const void *right)
{
  double a = *(const double *)left;
  double b = *(const double *)right;
  return a < b ? -1 : a > b;
}

__attribute__((unused)) static double median(double *values, int count)
{
  qsort(values, (size_t)count, sizeof *values, compare_doubles);
  return values[count / 2];
}

__attribute__((unused)) static void check(enum status status, const struct error *err)
{
  char line[2048];
  if (status == STATUS_OK)
    return;
  error_line(err, line, sizeof line);
  fprintf(stderr, "%s\n", line);
  exit(3);
}

// Has `measure` fill ret_outcome in a process of its own, whose peak memory is then that of the measurement. False: it failed.
__attribute__((unused)) static bool measure_apart(void (*measure)(int mode, void *ret_outcome), int mode,
                                                  void *ret_outcome, size_t size)
{
  int ends[2], status = 0;
  if (pipe(ends) != 0)
    return false;
  pid_t child = fork();
  if (child == 0) {
    measure(mode, ret_outcome);
    _exit(write(ends[1], ret_outcome, size) == (ssize_t)size ? 0 : 3);
  }
  close(ends[1]); // else a child that ends early would never end the read
  bool is_complete = child > 0 && read(ends[0], ret_outcome, size) == (ssize_t)size;
  close(ends[0]);
  return child > 0 && waitpid(child, &status, 0) == child && status == 0 && is_complete;
}

#endif
