// SPDX-License-Identifier: Apache-2.0
// Finds runc.
#include "isolation/isolation.h"

#include "base/slice.h"

#include <stdlib.h>
#include <unistd.h>

enum status isolation_find_runtime(struct arena *arena, const char **ret_path, struct error *err)
{
  const char *path = getenv("PATH");
  // Where system programs are is often not in PATH.
  struct slice rest = slice_of(arena_format(arena, "%s:/usr/sbin:/usr/local/sbin:/sbin", path != NULL ? path : "")),
               folder;
  if (geteuid() != 0)
    return error_set(err, STATUS_SYSTEM, "cannot isolate the runner", NULL, "sudo, or without --isolate",
                     "namespaces and limits need root");
  while (slice_cut(&rest, ':', &folder)) {
    const char *candidate = arena_format(arena, "%.*s/runc", (int)folder.length, folder.data);
    if (candidate[0] == '/' && folder.length > 0 && access(candidate, X_OK) == 0) {
      *ret_path = candidate;
      return STATUS_OK;
    }
  }
  return error_set(err, STATUS_SYSTEM, "cannot isolate the runner", "runc", "apt-get install runc",
                   "it is neither in PATH nor in /usr/sbin");
}
