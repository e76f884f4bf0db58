// SPDX-License-Identifier: Apache-2.0
// Arriving in the session of an `xsp run` (session.c's constructor): of the thousands of short processes in a build or a shell
// script hardly one records anything. Each appends an entry to DIR/arrivals and maps the session, without touching it; files
// of its own come with its first use of the session. Not for processes whose joining cannot wait.
#include "capture/capture.h"

#include "base/clock.h"
#include "base/scoped.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#define SONAME "libxsp.so.0"
// Preloaded with us; they use us only once they have found a framework, or a thread has used a CPU for a while.
static const char *const preloaded[] = {"/tracers/frameworks.so", "/tracers/cpu.so"};

// ---- who cannot wait -------------------------------------------------------------------------------------------------
static const char *strings_of(const struct dl_phdr_info *info, const ElfW(Dyn) * entry)
{
  for (; entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == DT_STRTAB) // the loader has added the base on most machines
      return (const char *)(entry->d_un.d_ptr >= info->dlpi_addr ? entry->d_un.d_ptr
                                                                 : info->dlpi_addr + entry->d_un.d_ptr);
  return NULL;
}

static bool is_preloaded(const char *path)
{
  size_t length = strlen(path);
  for (size_t i = 0; i < sizeof preloaded / sizeof *preloaded; i++) {
    size_t ending = strlen(preloaded[i]);
    if (length >= ending && strcmp(path + length - ending, preloaded[i]) == 0)
      return true;
  }
  return false;
}

// 1: linked with libxsp.so.
static int look_at_object(struct dl_phdr_info *info, size_t size, void *unused)
{
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
      continue;
    const ElfW(Dyn) *first = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    const char *strings = NULL;
    for (const ElfW(Dyn) *entry = first; entry->d_tag != DT_NULL; entry++)
      if (entry->d_tag == DT_NEEDED && (strings != NULL || (strings = strings_of(info, first)) != NULL) &&
          strcmp(strings + entry->d_un.d_val, SONAME) == 0)
        return !is_preloaded(info->dlpi_name);
  }
  return 0;
}

// A program with spans of its own may begin its first one in a signal handler, or after it gave up the right to open files;
// so may one with tracers that are loaded at its start. Where files are limited, an entry could end the program.
static bool can_wait(void)
{
  const char *tracers = secure_getenv("XSP_TRACERS");
  struct rlimit limit;
  return secure_getenv("XSP_SESSION_JOIN") != NULL && (tracers == NULL || tracers_are_awaited(tracers)) &&
         getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY &&
         dl_iterate_phdr(look_at_object, NULL) == 0;
}

// ---- arriving --------------------------------------------------------------------------------------------------------
static void put_command(char *command, size_t size, int count, char **arguments)
{
  size_t used = 0;
  for (int i = 0; i < count && arguments[i] != NULL && used + 1 < size; i++) {
    if (i > 0)
      command[used++] = ' ';
    size_t length = strnlen(arguments[i], size - 1 - used);
    memcpy(command + used, arguments[i], length);
    used += length;
  }
}

static bool append_entry(int argument_count, char **arguments)
{
  struct session_arrival entry = {.magic = ARRIVAL_MAGIC,
                                  .pid = (uint32_t)getpid(),
                                  .parent_pid = (uint32_t)getppid(),
                                  .start_realtime_ns = (int64_t)clock_now_ns(CLOCK_REALTIME)};
  (void)prctl(PR_GET_NAME, entry.name);
  put_command(entry.command, sizeof entry.command, argument_count, arguments);
  char path[PATH_MAX];
  capture_file_path(path, "arrivals");
  int file SCOPED(scoped_close) = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW); // made by xsp
  const struct iovec whole = {&entry, sizeof entry};
  return file >= 0 && writev(file, &whole, 1) == (ssize_t)sizeof entry;
}

bool arrive(const char *directory, int argument_count, char **arguments)
{
  int saved_errno = errno;
  char *memory = NULL;
  bool is_in = can_wait() && session_set_directory(directory, false) == 0;
  if (is_in) {
    char path[PATH_MAX];
    capture_file_path(path, "session");
    memory = capture_file_map(path, SESSION_FILE_SIZE);
    is_in = memory != NULL && append_entry(argument_count, arguments);
  }
  if (is_in) {
    const char *tracers = secure_getenv("XSP_TRACERS");
    if (tracers != NULL)
      tracers_load(tracers); // now: the program may change its environment
    __atomic_store_n(&capture.arrived, memory, __ATOMIC_RELAXED);
    __atomic_store_n(&capture.asked, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&capture.state, CAPTURE_ARRIVED, __ATOMIC_RELEASE);
    session_note_directory();
  } else if (memory != NULL) {
    munmap(memory, SESSION_FILE_SIZE);
  }
  errno = saved_errno;
  return is_in;
}
