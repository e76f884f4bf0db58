// SPDX-License-Identifier: Apache-2.0
// Reads the memory maps of a program and its children. Called by execute.c between its waits.
#include "launch/libraries.h"

#include "base/clock.h"
#include "base/debug.h"
#include "base/proc.h"

#include <stddef.h>

#define SECOND_NS INT64_C(1000000000)
#define LEAST_APART_NS (SECOND_NS / 4)
#define APART_SHARE 8 // of the time so far: a program that runs for hours is looked at rarely
#define PROCESSES_MOST 64

// Beginnings of file names: a framework has one of these libraries in all of its versions.
static const char *const names[] = {"libtorch_cpu.so", "libjax_common.so", "xla_extension.so",
                                    "libtensorflow_framework.so"};
static const enum loaded_framework framework_of[] = {LOADED_PYTORCH, LOADED_JAX, LOADED_JAX, LOADED_TENSORFLOW};
#define NAMES (sizeof names / sizeof names[0])

static uint32_t find(pid_t process)
{
  uint32_t mapped = proc_mapped(process, names, NAMES), found = 0;
  for (size_t i = 0; i < NAMES; i++)
    found |= (mapped >> i & 1) << framework_of[i];
  return found;
}

int64_t libraries_look(struct libraries *of, pid_t program)
{
  int64_t now_ns = (int64_t)clock_now_ns(CLOCK_MONOTONIC);
  if (of->begin_ns == 0) {
    of->begin_ns = now_ns;
    of->next_ns = now_ns + LEAST_APART_NS;
  }
  if (of->found != 0)
    return SECOND_NS * 3600;
  if (now_ns < of->next_ns)
    return of->next_ns - now_ns;
  pid_t processes[PROCESSES_MOST] = {program};
  size_t count = 1;
  for (size_t i = 0; i < count; i++) {
    of->found |= find(processes[i]);
    count += proc_children(processes[i], processes + count, PROCESSES_MOST - count);
  }
  DEBUG(launch, "looked at the libraries of %zu processes: frameworks %#x", count, of->found);
  int64_t apart_ns = (now_ns - of->begin_ns) / APART_SHARE;
  of->next_ns = now_ns + (apart_ns > LEAST_APART_NS ? apart_ns : LEAST_APART_NS);
  return of->next_ns - now_ns;
}
