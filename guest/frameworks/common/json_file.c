// SPDX-License-Identifier: Apache-2.0
// See json_file.h. Called by the readers of symbols, signatures and profiles. Never allocates but in the JSON reader.
#include "frameworks/common/json_file.h"

#include <stdio.h>
#include <string.h>

enum status json_file_broken(const struct json_file *file, const char *why, struct error *err)
{
  char where[512];
  snprintf(where, sizeof where, "%s: byte %zu", file->path, file->json.offset);
  return error_set(err, STATUS_INPUT, file->what, where, file->advice, "%s",
                   file->json.event == JSON_ERROR ? file->json.problem : why);
}

enum status json_file_skip(struct json_file *file, struct error *err)
{
  json_next(&file->json);
  return json_skip(&file->json) ? STATUS_OK : json_file_broken(file, "a value is missing", err);
}

enum status json_file_members(struct json_file *file, const struct json_member *members, size_t count,
                              struct error *err)
{
  while (json_next(&file->json) == JSON_KEY) {
    const struct json_member *member = members;
    while (member < members + count && strcmp(file->json.text, member->key) != 0)
      member++;
    XSP_TRY(member < members + count ? member->read(file, member->target, err) : json_file_skip(file, err));
  }
  return file->json.event == JSON_OBJECT_END ? STATUS_OK : json_file_broken(file, "an object ends early", err);
}

enum status json_file_objects(struct json_file *file, json_file_fn *read, void *target, struct error *err)
{
  if (json_next(&file->json) != JSON_ARRAY)
    return json_file_broken(file, "not an array", err);
  while (json_next(&file->json) == JSON_OBJECT)
    XSP_TRY(read(file, target, err));
  return file->json.event == JSON_ARRAY_END ? STATUS_OK : json_file_broken(file, "an array ends early", err);
}

enum status json_file_read(struct json_file *file, const char *text, size_t length, const struct json_member *members,
                           size_t count, struct error *err)
{
  json_read_start(&file->json, text, length);
  enum status status = json_next(&file->json) == JSON_OBJECT ? json_file_members(file, members, count, err)
                                                             : json_file_broken(file, "not an object", err);
  if (status == STATUS_OK && json_next(&file->json) != JSON_END)
    status = json_file_broken(file, "there is text after the object", err);
  json_read_done(&file->json);
  return status;
}
