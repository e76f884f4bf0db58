// SPDX-License-Identifier: Apache-2.0
// Reads /proc for process.c and execution.c. Races are the callers' business: a process may end at any time.
#include "launch/proc.h"

#include "base/clock.h"
#include "base/small_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)

static bool read_proc(pid_t process, const char *name, char *text, size_t size)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/%ld/%s", (long)process, name);
  return small_file_read(path, text, size) > 0;
}

char proc_state(pid_t process, unsigned long long *ret_start_ticks)
{
  char text[1024];
  if (!read_proc(process, "stat", text, sizeof text))
    return 0;
  const char *end = strrchr(text, ')'); // the command may hold anything
  char state = 0;
  unsigned long long start = 0;
  if (end == NULL || sscanf(end + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
                            &state, &start) < 2)
    return 0;
  if (ret_start_ticks != NULL)
    *ret_start_ticks = start;
  return state;
}

bool proc_lives(pid_t process, int64_t start_ns)
{
  unsigned long long ticks = 0;
  char state = proc_state(process, &ticks);
  if (state == 0 || state == 'Z' || state == 'X')
    return false;
  long per_second = sysconf(_SC_CLK_TCK);
  int64_t boot_ns = (int64_t)(clock_now_ns(CLOCK_REALTIME) - clock_now_ns(CLOCK_BOOTTIME));
  int64_t began_ns = boot_ns + (int64_t)(ticks * (unsigned long long)(SECOND_NS / (per_second > 0 ? per_second : 100)));
  return began_ns <= start_ns + SECOND_NS; // else the number was given to another process
}

// Not by who joined: a process that was only forked joins with its first span.
bool proc_any_in(const char *session)
{
  char wanted[PATH_MAX + 16], path[64];
  char *variable = NULL;
  size_t room = 0;
  bool is_found = false;
  const struct dirent *entry;
  DIR *all = opendir("/proc");
  snprintf(wanted, sizeof wanted, "XSP_SESSION=%s", session);
  while (all != NULL && !is_found && (entry = readdir(all)) != NULL) {
    snprintf(path, sizeof path, "/proc/%ld/environ", strtol(entry->d_name, NULL, 10)); // 0: not a process
    FILE *environment = fopen(path, "re");                                             // not those of other users
    while (environment != NULL && !is_found && getdelim(&variable, &room, 0, environment) > 0)
      is_found = strcmp(variable, wanted) == 0;
    if (environment != NULL)
      fclose(environment);
  }
  if (all != NULL)
    closedir(all);
  free(variable);
  return is_found;
}

// The number after "NAME:" in /proc/PROCESS/status.
static uint64_t status_number(const char *text, const char *name, int base)
{
  const char *line = strstr(text, name);
  return line != NULL ? strtoull(line + strlen(name), NULL, base) : 0;
}

uint64_t proc_pending(pid_t process)
{
  char text[4096];
  return read_proc(process, "status", text, sizeof text) ? status_number(text, "\nShdPnd:", 16) : 0;
}

uint64_t proc_stop(pid_t process)
{
  char text[4096];
  bool is_stopped = read_proc(process, "status", text, sizeof text) && strstr(text, "\nState:\tT") != NULL;
  return is_stopped ? status_number(text, "\nvoluntary_ctxt_switches:", 10) : 0;
}
