// SPDX-License-Identifier: Apache-2.0
// Finds the route of a request and checks the request's parts. Called by request.c. Opens nothing.
#include "http/route.h"

#include "base/slice.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

// ---- paths -----------------------------------------------------------------------------------------------------------
static bool is_part(const char *text)
{
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
  size_t length = strlen(text);
  return length > 0 && length <= ROUTE_PART_BYTES_MOST && strspn(text, letters) == length && text[0] != '.' &&
         text[0] != '-';
}

bool route_is_file_name(const char *text)
{
  return is_part(text) && text_ends_with(text, ".xsp") && strlen(text) > strlen(".xsp");
}

bool route_matches(const char *pattern, const struct target *path, const char **ret_parts)
{
  struct slice rest = slice_of(pattern + 1), wanted; // without the slash at the beginning
  size_t count = 0, parts = 0;
  for (; slice_cut(&rest, '/', &wanted); count++) {
    if (count == path->segment_count)
      return false;
    const char *segment = path->segments[count];
    bool is_any = wanted.length > 0 && wanted.data[0] == '{';
    if (slice_is(wanted, "{file}") ? !route_is_file_name(segment)
        : is_any                   ? !is_part(segment)
                                   : !slice_is(wanted, segment))
      return false;
    if (is_any && parts < ROUTE_PARTS_MOST)
      ret_parts[parts++] = segment;
  }
  return count == path->segment_count;
}

static void add_method(struct buf *methods, const char *method)
{
  buf_format(methods, "%s%s", methods->length > 0 ? ", " : "", method);
  if (strcmp(method, "GET") == 0)
    buf_text(methods, ", HEAD");
}

const struct route *route_find(const struct route *routes, const char *method, const struct target *path,
                               const char **ret_parts, struct buf *methods)
{
  const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
  for (const struct route *route = routes; route->method != NULL; route++) {
    if (!route_matches(route->path, path, ret_parts))
      continue;
    if (strcmp(route->method, wanted) == 0)
      return route;
    add_method(methods, route->method);
  }
  return NULL;
}

// ---- parameters ------------------------------------------------------------------------------------------------------
static bool is_of_type(unsigned type, const char *value)
{
  int64_t integer;
  char *end = NULL;
  switch (type & ~ROUTE_REQUIRED) {
  case ROUTE_TEXT:
    return true;
  case ROUTE_INTEGER:
    return slice_int64(slice_of(value), &integer);
  case ROUTE_COUNT:
    return slice_int64(slice_of(value), &integer) && integer >= 0;
  case ROUTE_NUMBER:
    return !isspace((unsigned char)value[0]) && isfinite(strtod(value, &end)) && end != value && *end == 0;
  case ROUTE_FLAG:
    return text_is_one_of(value, "true", "false");
  }
  return false;
}

const char *route_check_parameters(const struct route *route, const struct target *target, const char **ret_name)
{
  static const char *const problems[] = {NULL, "must be an integer of 64 bits",
                                         "must be an integer of at least 0, of 64 bits", "must be a number",
                                         "must be true or false"};
  for (size_t i = 0; i < target->parameter_count; i++) {
    const struct route_parameter *known = route->parameters;
    *ret_name = target->parameters[i].name;
    while (known != NULL && known->name != NULL && strcmp(known->name, *ret_name) != 0)
      known++;
    if (known == NULL || known->name == NULL)
      return "is no parameter of this path";
    if (!is_of_type(known->type, target->parameters[i].value))
      return problems[known->type & ~ROUTE_REQUIRED];
  }
  for (const struct route_parameter *known = route->parameters; known != NULL && known->name != NULL; known++)
    if ((known->type & ROUTE_REQUIRED) != 0 && target_value(target, *ret_name = known->name) == NULL)
      return "is missing";
  return NULL;
}
