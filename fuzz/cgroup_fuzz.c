// SPDX-License-Identifier: Apache-2.0
// Random bytes as the text of /proc/PROCESS/cgroup: a path fits, has no newline and is in the text.
#include "base/cgroup.h"
#include "base/small_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char path[64], *text = malloc(size + 1);
  if (text == NULL)
    return 0;
  if (size > 0)
    memcpy(text, data, size);
  text[size] = '\0';
  static const char *const controllers[] = {"cpu", "memory"};
  for (size_t i = 0; i < 2; i++) {
    cgroup_path(text, controllers[i], path, sizeof path);
    if (strlen(path) >= sizeof path || strchr(path, '\n') != NULL || strstr(text, path) == NULL)
      abort();
  }
  (void)small_file_number(text, "throttled_usec");
  free(text);
  return 0;
}
