// SPDX-License-Identifier: Apache-2.0
// Reads /proc/meminfo and the container's files in /sys/fs/cgroup. Called where a share of the memory is taken.
#include "base/available_memory.h"

#include "base/small_file.h"

#include <stdlib.h>
#include <string.h>

static uint64_t of_machine(void)
{
  static const char key[] = "MemAvailable:";
  char text[256]; // the third line
  small_file_read("/proc/meminfo", text, sizeof text);
  const char *line = strstr(text, key);
  return line == NULL ? UINT64_MAX : strtoull(line + sizeof key - 1, NULL, 10) * 1024;
}

// Also in programs of others, where nothing formats texts.
static void read_in(const char *folder, const char *name, char *text, size_t size)
{
  char path[512];
  size_t length = strlen(folder), name_length = strlen(name);
  text[0] = 0;
  if (length + name_length + 2 > sizeof path)
    return;
  memcpy(path, folder, length);
  path[length] = '/';
  memcpy(path + length + 1, name, name_length + 1);
  small_file_read(path, text, size);
}

// 0 where the file has no number: there is no limit.
static uint64_t file_number(const char *folder, const char *name)
{
  char text[32];
  read_in(folder, name, text, sizeof text);
  return strtoull(text, NULL, 10);
}

uint64_t available_memory_in_group(const char *folder)
{
  char text[4096];
  read_in(folder, "memory.stat", text, sizeof text);
  double cached = small_file_number(text, "inactive_file"); // the kernel gives it up first; NaN: not known
  uint64_t limit = file_number(folder, "memory.max"), used = file_number(folder, "memory.current");
  if (cached > 0)
    used -= cached < (double)used ? (uint64_t)cached : used;
  return limit == 0 ? UINT64_MAX : used < limit ? limit - used : 0;
}

uint64_t available_memory_bytes(void)
{
  uint64_t machine = of_machine(), container = available_memory_in_group("/sys/fs/cgroup");
  return machine < container ? machine : container;
}
