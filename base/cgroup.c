// SPDX-License-Identifier: Apache-2.0
// Finds a process's control group and reads its figures; see cgroup.h. Called by launch/ and experiment/.
#include "base/cgroup.h"

#include "base/small_file.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOUNT "/sys/fs/cgroup"

// Whether a list "cpu,cpuacct" of `length` bytes has the controller.
static bool has_controller(const char *list, size_t length, const char *controller)
{
  size_t wanted = strlen(controller);
  for (const char *at = list; at < list + length;) {
    size_t left = (size_t)(list + length - at);
    const char *comma = memchr(at, ',', left);
    size_t name = comma != NULL ? (size_t)(comma - at) : left;
    if (name == wanted && memcmp(at, controller, wanted) == 0)
      return true;
    at += name + 1;
  }
  return false;
}

// Lines are NUMBER:CONTROLLERS:PATH; those of version 2 have no controllers. A path may hold colons.
void cgroup_path(const char *text, const char *controller, char *ret_path, size_t size)
{
  ret_path[0] = '\0';
  for (const char *line = text; line[0] != '\0';) {
    size_t length = strcspn(line, "\n");
    const char *list = memchr(line, ':', length);
    const char *path = list != NULL ? memchr(list + 1, ':', (size_t)(line + length - list - 1)) : NULL;
    if (path != NULL) {
      bool is_named = has_controller(list + 1, (size_t)(path - list - 1), controller);
      size_t path_length = (size_t)(line + length - path - 1);
      if ((is_named || path == list + 1) && path_length < size) {
        memcpy(ret_path, path + 1, path_length);
        ret_path[path_length] = '\0';
      }
      if (is_named)
        return;
    }
    line += length + (line[length] == '\n');
  }
}

static bool has_file(const char *folder, const char *name)
{
  char path[CGROUP_FOLDER_SIZE + 32];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, R_OK) == 0;
}

// The first of the places where a controller may be mounted that has the file, in the group's folder or at its top.
static void find_folder(const char *text, const char *controller, const char *file, char ret_folder[CGROUP_FOLDER_SIZE])
{
  char path[CGROUP_FOLDER_SIZE / 2], mounts[3][64];
  cgroup_path(text, controller, path, sizeof path);
  snprintf(mounts[0], sizeof mounts[0], MOUNT "/%s", controller);
  snprintf(mounts[1], sizeof mounts[1], MOUNT "/unified");
  snprintf(mounts[2], sizeof mounts[2], MOUNT);
  for (size_t i = 0; i < 3; i++)
    for (int is_top = 0; is_top < 2; is_top++) {
      snprintf(ret_folder, CGROUP_FOLDER_SIZE, "%s%s", mounts[i], is_top || strcmp(path, "/") == 0 ? "" : path);
      if (has_file(ret_folder, file))
        return;
    }
  ret_folder[0] = '\0';
}

void cgroup_find(pid_t process, struct cgroup *ret_group)
{
  char file[64], text[4096];
  snprintf(file, sizeof file, "/proc/%ld/cgroup", (long)process);
  (void)small_file_read(file, text, sizeof text);
  find_folder(text, "cpu", "cpu.stat", ret_group->cpu);
  find_folder(text, "memory", "memory.current", ret_group->memory);
  if (ret_group->memory[0] == '\0')
    find_folder(text, "memory", "memory.usage_in_bytes", ret_group->memory);
}

static size_t read_file(const char *folder, const char *name, char *text, size_t size)
{
  char path[CGROUP_FOLDER_SIZE + 32];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  text[0] = '\0';
  return folder[0] != '\0' ? small_file_read(path, text, size) : 0;
}

void cgroup_throttling(const struct cgroup *group, struct cgroup_throttling *ret_reading)
{
  char text[2048];
  (void)read_file(group->cpu, "cpu.stat", text, sizeof text);
  double seconds = small_file_number(text, "throttled_usec") / 1e6;
  *ret_reading = (struct cgroup_throttling){
      .periods = small_file_number(text, "nr_periods"),
      .throttled = small_file_number(text, "nr_throttled"),
      .throttled_s = isnan(seconds) ? small_file_number(text, "throttled_time") / 1e9 : seconds,
  };
}

double cgroup_cpu_quota(const struct cgroup *group)
{
  char text[128], period_text[128];
  double quota = NAN, period = NAN;
  if (read_file(group->cpu, "cpu.max", text, sizeof text)) {
    if (sscanf(text, "%lf %lf", &quota, &period) != 2)
      return NAN;
  } else if (read_file(group->cpu, "cpu.cfs_quota_us", text, sizeof text) &&
             read_file(group->cpu, "cpu.cfs_period_us", period_text, sizeof period_text)) {
    quota = strtod(text, NULL);
    period = strtod(period_text, NULL);
  }
  return quota > 0 && period > 0 ? quota / period : NAN;
}

double cgroup_memory_bytes(const struct cgroup *group)
{
  char text[64];
  if (!read_file(group->memory, "memory.current", text, sizeof text) &&
      !read_file(group->memory, "memory.usage_in_bytes", text, sizeof text))
    return NAN;
  return strtod(text, NULL);
}
