// SPDX-License-Identifier: Apache-2.0
// Reads /proc; see proc.h. Called by launch/ and collect/. Races are the callers' business: a process may end at any time.
#include "base/proc.h"

#include "base/clock.h"
#include "base/scoped.h"
#include "base/small_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS INT64_C(1000000000)
#define PARENTS_MOST 256 // threads whose children are looked for

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

// Whether a file of the process has a piece between separators that ends with `wanted`. Not those of other users.
static bool has_piece(pid_t process, const char *name, int separator, const char *wanted)
{
  char path[64], buffer[1 << 16]; // one read gets an environment: every process of the machine is read
  char *piece SCOPED(scoped_free) = NULL;
  size_t room = 0, length = strlen(wanted);
  bool is_found = false;
  snprintf(path, sizeof path, "/proc/%ld/%s", (long)process, name);
  FILE *file SCOPED(scoped_fclose) = fopen(path, "re");
  if (file != NULL)
    setvbuf(file, buffer, _IOFBF, sizeof buffer);
  for (ssize_t got; file != NULL && !is_found && (got = getdelim(&piece, &room, separator, file)) > 0;) {
    size_t size = (size_t)got - (piece[got - 1] == separator);
    is_found = size >= length && memcmp(piece + size - length, wanted, length) == 0;
  }
  return is_found;
}

uint64_t proc_namespace(void)
{
  struct stat facts;
  return stat("/proc/self/ns/pid", &facts) == 0 ? (uint64_t)facts.st_ino : 0;
}

// Not by who has a process file: a process that was only forked makes one with its first span.
size_t proc_in(const char *session, unsigned by, pid_t *ret_numbers, size_t most)
{
  char variable[PATH_MAX + 16], file[PATH_MAX + 16];
  size_t count = 0;
  const struct dirent *entry;
  DIR *all SCOPED(scoped_closedir) = opendir("/proc");
  snprintf(variable, sizeof variable, "XSP_SESSION=%s", session);
  snprintf(file, sizeof file, "%s/session", session);
  while (all != NULL && count < most && (entry = readdir(all)) != NULL) {
    pid_t process = (pid_t)strtol(entry->d_name, NULL, 10); // 0: not a process
    if (process > 0 && (!(by & PROC_GIVEN) || has_piece(process, "environ", '\0', variable)) &&
        (!(by & PROC_MAPPED) || has_piece(process, "maps", '\n', file)))
      ret_numbers[count++] = process;
  }
  return count;
}

uint32_t proc_mapped(pid_t process, const char *const *names, size_t count)
{
  char path[64], *line SCOPED(scoped_free) = NULL;
  size_t room = 0;
  uint32_t mapped = 0;
  snprintf(path, sizeof path, "/proc/%ld/maps", (long)process);
  FILE *file SCOPED(scoped_fclose) = fopen(path, "re");
  while (file != NULL && getline(&line, &room, file) > 0) {
    const char *slash = strrchr(line, '/');
    for (size_t i = 0; slash != NULL && i < count; i++)
      mapped |= (uint32_t)(strncmp(slash + 1, names[i], strlen(names[i])) == 0) << i;
  }
  return mapped;
}

size_t proc_threads(pid_t process, pid_t *ret_threads, size_t most)
{
  char path[64];
  size_t count = 0;
  const struct dirent *entry;
  snprintf(path, sizeof path, "/proc/%ld/task", (long)process);
  DIR *all SCOPED(scoped_closedir) = opendir(path);
  while (all != NULL && count < most && (entry = readdir(all)) != NULL) {
    pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10); // 0: "." and ".."
    if (thread > 0)
      ret_threads[count++] = thread;
  }
  return count;
}

size_t proc_children(pid_t process, pid_t *ret_children, size_t most)
{
  pid_t threads[PARENTS_MOST];
  const size_t thread_count = proc_threads(process, threads, PARENTS_MOST);
  char name[40], text[1024];
  size_t count = 0;
  for (size_t i = 0; i < thread_count; i++) {
    snprintf(name, sizeof name, "task/%ld/children", (long)threads[i]);
    if (!read_proc(process, name, text, sizeof text))
      continue;
    for (char *at = text, *end; count < most; at = end) {
      long child = strtol(at, &end, 10);
      if (end == at)
        break;
      ret_children[count++] = (pid_t)child;
    }
  }
  return count;
}

bool proc_thread_time(pid_t process, pid_t thread, struct proc_time *ret_time)
{
  char name[40], text[64];
  unsigned long long cpu_ns, waited_ns;
  snprintf(name, sizeof name, "task/%ld/schedstat", (long)thread);
  if (!read_proc(process, name, text, sizeof text) || sscanf(text, "%llu %llu", &cpu_ns, &waited_ns) != 2)
    return false;
  *ret_time = (struct proc_time){cpu_ns, waited_ns};
  return true;
}

uint64_t proc_cpu_ns(pid_t process)
{
  clockid_t clock;
  struct timespec time;
  if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0)
    return 0;
  return (uint64_t)time.tv_sec * (uint64_t)SECOND_NS + (uint64_t)time.tv_nsec;
}

uint64_t proc_rss_bytes(pid_t process)
{
  char text[128];
  unsigned long long pages = 0;
  if (!read_proc(process, "statm", text, sizeof text) || sscanf(text, "%*s %llu", &pages) != 1)
    return 0;
  return pages * (unsigned long long)sysconf(_SC_PAGESIZE);
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

uint64_t proc_seccomp(pid_t process)
{
  char text[4096];
  if (!read_proc(process, "status", text, sizeof text))
    return 0;
  return (status_number(text, "\nSeccomp:", 10) != 0 ? 1000u : 0u) + status_number(text, "\nSeccomp_filters:", 10);
}

uint64_t proc_stop(pid_t process)
{
  char text[4096];
  bool is_stopped = read_proc(process, "status", text, sizeof text) && strstr(text, "\nState:\tT") != NULL;
  return is_stopped ? status_number(text, "\nvoluntary_ctxt_switches:", 10) : 0;
}
