// SPDX-License-Identifier: Apache-2.0
// A JSON file that a framework or a user wrote, read by tables of members, and errors about it. Runs in traced processes,
// too.
#ifndef XSP_FRAMEWORKS_COMMON_JSON_FILE_H
#define XSP_FRAMEWORKS_COMMON_JSON_FILE_H

#include "base/error.h"
#include "base/json_read.h"

struct json_file {
  struct json_reader json;
  const char *path, *what, *advice; // for errors
};

// Reads a value. The reader is at its key or, in an array, after its JSON_OBJECT.
typedef enum status json_file_fn(struct json_file *file, void *target, struct error *err);
struct json_member {
  const char *key;
  json_file_fn *read;
  void *target;
};

// STATUS_INPUT with the offset; `why` counts where the JSON itself is sound.
enum status json_file_broken(const struct json_file *file, const char *why, struct error *err) MUST_CHECK;
// After a key: goes over its value.
enum status json_file_skip(struct json_file *file, struct error *err) MUST_CHECK;
// After JSON_OBJECT: reads its members up to its end. Others are skipped.
enum status json_file_members(struct json_file *file, const struct json_member *members, size_t count,
                              struct error *err) MUST_CHECK;
// After a key: an array of objects. `read` is called in each.
enum status json_file_objects(struct json_file *file, json_file_fn *read, void *target, struct error *err) MUST_CHECK;
// A whole text: one object of these members.
enum status json_file_read(struct json_file *file, const char *text, size_t length, const struct json_member *members,
                           size_t count, struct error *err) MUST_CHECK;

#endif
