// SPDX-License-Identifier: Apache-2.0
// A JSON file that a framework or a user wrote, and errors about it. Runs in traced processes, too.
#ifndef XSP_FRAMEWORKS_COMMON_JSON_FILE_H
#define XSP_FRAMEWORKS_COMMON_JSON_FILE_H

#include "base/error.h"
#include "base/json_read.h"

#include <stdio.h>

struct json_file {
  struct json_reader json;
  const char *path, *what, *advice; // for errors
};

// STATUS_INPUT with the offset; `why` counts where the JSON itself is sound.
static inline enum status json_file_broken(const struct json_file *file, const char *why, struct error *err)
{
  char where[512];
  snprintf(where, sizeof where, "%s: byte %zu", file->path, file->json.offset);
  return error_set(err, STATUS_INPUT, file->what, where, file->advice, "%s",
                   file->json.event == JSON_ERROR ? file->json.problem : why);
}

// After a key: goes over its value.
static inline enum status json_file_skip(struct json_file *file, struct error *err)
{
  json_next(&file->json);
  return json_skip(&file->json) ? STATUS_OK : json_file_broken(file, "a value is missing", err);
}

#endif
