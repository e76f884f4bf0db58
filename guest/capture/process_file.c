// SPDX-License-Identifier: Apache-2.0
// The process's own file in its session: made when the process joins, in a forked child with the first span. Counts what was
// lost where no ring could be had.
#include "capture/capture.h"

#include "base/clock.h"
#include "base/small_file.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void fill_process(struct process_head *process, uint32_t number)
{
  process->version = SESSION_VERSION;
  process->head_size = sizeof *process;
  process->number = number;
  process->pid = (uint32_t)getpid();
  process->parent_pid = (uint32_t)getppid();
  process->start_realtime_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
  session_rank_of_process(&process->rank);
  small_file_read("/proc/self/cmdline", process->command, sizeof process->command);
  for (size_t i = 0; i + 1 < sizeof process->command; i++) // arguments end with NUL bytes
    if (process->command[i] == '\0' && process->command[i + 1] != '\0')
      process->command[i] = ' ';
  if (capture.parent != NULL) { // a forked child goes on using its parent's tracks
    memcpy(process->track, capture.parent->track, capture.parent_tracks * sizeof process->track[0]);
    process->track_count = capture.parent_tracks;
  }
}

struct process_head *session_process(void)
{
  struct process_head *process = __atomic_load_n(&capture.process, __ATOMIC_ACQUIRE);
  if (process != NULL || !capture_attached())
    return process;
  char path[PATH_MAX];
  uint32_t number = __atomic_fetch_add(&capture.session->next_process, 1, __ATOMIC_RELAXED);
  capture_file_path_number(path, "process-", number);
  struct signals_held before;
  signals_hold(&before);
  struct process_head *made = capture_file_create(path, sizeof *made, 0);
  if (made != NULL)
    fill_process(made, number);
  signals_release(&before);
  if (made == NULL) {
    capture_file_number_return(&capture.session->next_process, number);
    return NULL;
  }
  __atomic_store_n(&made->magic, PROCESS_MAGIC, __ATOMIC_RELEASE);
  if (__atomic_compare_exchange_n(&capture.process, &process, made, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
    return made;
  unlink(path); // another thread was faster
  munmap(made, sizeof *made);
  capture_file_number_return(&capture.session->next_process, number);
  return process;
}

void session_count_lost(uint64_t records)
{
  struct process_head *process = __atomic_load_n(&capture.process, __ATOMIC_ACQUIRE);
  if (process != NULL)
    __atomic_add_fetch(&process->lost, records, __ATOMIC_RELAXED);
  else if (capture_attached())
    __atomic_add_fetch(&capture.session->lost, records, __ATOMIC_RELAXED);
}

void session_count_misused(void)
{
  struct process_head *process = session_process();
  if (process != NULL)
    __atomic_add_fetch(&process->misused, 1, __ATOMIC_RELAXED);
}
