// SPDX-License-Identifier: Apache-2.0
// The control group that limits a process: version 2, or the controllers of version 1. Figures that are not shown are NaN.
#ifndef XSP_BASE_CGROUP_H
#define XSP_BASE_CGROUP_H

#include <stddef.h>
#include <sys/types.h>

#define CGROUP_FOLDER_SIZE 512
struct cgroup {
  char cpu[CGROUP_FOLDER_SIZE], memory[CGROUP_FOLDER_SIZE]; // folders with these controllers' files; "": none
};
// Inside a container that shows only its own group, the paths of /proc do not exist: then it is the outermost that is shown.
void cgroup_find(pid_t process, struct cgroup *ret_group);

struct cgroup_throttling {
  double periods;     // in which the group was runnable
  double throttled;   // periods in which it used up its quota
  double throttled_s; // that its threads were held back
};
void cgroup_throttling(const struct cgroup *group, struct cgroup_throttling *ret_reading);
double cgroup_cpu_quota(const struct cgroup *group); // processors; NaN: no limit
double cgroup_memory_bytes(const struct cgroup *group);

// The group's path for a controller, "cpu", in the text of /proc/PROCESS/cgroup; the path of version 2 without such a line.
// Pure. "": there is neither, or it does not fit.
void cgroup_path(const char *text, const char *controller, char *ret_path, size_t size);

#endif
