// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime by default pins its workers to all CPUs but one and leaves the calling thread free, so that it settles on
// the remaining one. That holds while inferences follow each other without a pause; a thread that is woken for each
// observation is often put on a worker's CPU, and the two then share a CPU for a whole inference (SqueezeNet on two CPUs: 7
// ms instead of 1.8 in about half of the observations). So the runner does what the framework counts on.
#include "programs/runner/process.h"

#include "base/scoped.h"

#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

int placement_keep_clear(void)
{
  cpu_set_t own, pinned, rest;
  DIR *tasks SCOPED(scoped_closedir) = opendir("/proc/self/task");
  if (tasks == NULL)
    return 0;
  CPU_ZERO(&pinned);
  bool is_known = sched_getaffinity(0, sizeof own, &own) == 0;
  struct dirent *entry;
  while (is_known && (entry = readdir(tasks)) != NULL) {
    pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
    cpu_set_t theirs;
    if (thread <= 0 || thread == gettid() || sched_getaffinity(thread, sizeof theirs, &theirs) != 0)
      continue;
    if (CPU_COUNT(&theirs) < CPU_COUNT(&own))
      CPU_OR(&pinned, &pinned, &theirs);
  }
  if (!is_known || CPU_COUNT(&pinned) == 0)
    return 0;
  CPU_XOR(&rest, &own, &pinned); // pinned may reach beyond own: take only what is in own
  CPU_AND(&rest, &rest, &own);
  if (CPU_COUNT(&rest) == 0 || sched_setaffinity(0, sizeof rest, &rest) != 0)
    return 0;
  return CPU_COUNT(&own) - CPU_COUNT(&rest);
}
