// SPDX-License-Identifier: Apache-2.0
// Splits and decodes targets of requests, in a copy. Called by request.c.
#include "http/target.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int digit_of(char byte)
{
  if (byte >= '0' && byte <= '9')
    return byte - '0';
  byte = (char)(byte | 0x20);
  return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

// In place: it gets no longer.
static bool decode(char *text, bool is_parameter)
{
  char *to = text;
  for (const char *from = text; *from != 0; from++, to++) {
    *to = *from == '+' && is_parameter ? ' ' : *from;
    if (*from == '%') {
      int high = digit_of(from[1]), low = high < 0 ? -1 : digit_of(from[2]);
      if (low < 0)
        return false;
      *to = (char)(high << 4 | low);
      from += 2;
    }
    if ((unsigned char)*to < 0x20 || *to == 0x7f)
      return false;
  }
  *to = 0;
  return utf8_is_valid(text, (size_t)(to - text));
}

static enum target_result split_path(char *path, struct target *target)
{
  if (*path++ != '/')
    return TARGET_BROKEN;
  for (char *segment; (segment = strsep(&path, "/")) != NULL;) {
    if (target->segment_count == TARGET_SEGMENTS_MOST)
      return TARGET_TOO_LONG;
    if (!decode(segment, false))
      return TARGET_BROKEN;
    target->segments[target->segment_count++] = segment;
  }
  return TARGET_DONE;
}

static enum target_result split_query(char *query, struct target *target)
{
  for (char *part; (part = strsep(&query, "&")) != NULL;) {
    char *name = strsep(&part, "=");
    if (name[0] == 0 && part == NULL)
      continue;
    if (target->parameter_count == TARGET_PARAMETERS_MOST)
      return TARGET_TOO_LONG;
    if (!decode(name, true) || (part != NULL && !decode(part, true)) || target_value(target, name) != NULL)
      return TARGET_BROKEN;
    target->parameters[target->parameter_count++] = (struct target_parameter){name, part != NULL ? part : ""};
  }
  return TARGET_DONE;
}

// *path, which begins with a scheme, becomes what follows the authority. It has room for the zero byte after the authority and
// for the slash of an empty path: the authority moves over the slashes before it.
static enum target_result cut_authority(char **path, struct target *target)
{
  char *authority = strstr(*path, "://") + 3;
  size_t length = strcspn(authority, "/");
  if (length == 0)
    return TARGET_BROKEN;
  *path = authority + length;
  target->authority = memmove(authority - 2, authority, length);
  authority[length - 2] = 0;
  if (**path == 0)
    *--*path = '/';
  return TARGET_DONE;
}

enum target_result target_parse(const char *text, struct target *ret_target)
{
  *ret_target = (struct target){0};
  if (strnlen(text, TARGET_BYTES_MOST + 1) > TARGET_BYTES_MOST)
    return TARGET_TOO_LONG;
  char *query = ret_target->text = memory_text(text);
  char *path = strsep(&query, "?");
  enum target_result result = TARGET_DONE;
  if (strncasecmp(path, "http://", 7) == 0 || strncasecmp(path, "https://", 8) == 0)
    result = cut_authority(&path, ret_target);
  if (result == TARGET_DONE)
    result = split_path(path, ret_target);
  return result == TARGET_DONE ? split_query(query, ret_target) : result;
}

const char *target_value(const struct target *target, const char *name)
{
  for (size_t i = 0; i < target->parameter_count; i++)
    if (strcmp(target->parameters[i].name, name) == 0)
      return target->parameters[i].value;
  return NULL;
}

void target_done(struct target *target)
{
  free(target->text);
  *target = (struct target){0};
}
