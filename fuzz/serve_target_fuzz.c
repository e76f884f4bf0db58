// SPDX-License-Identifier: Apache-2.0
// Fuzzes what the server does with the target of a request: split, decode, match with each route, check the query.
#include "serve/routes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// What handlers rely on: a part is a name that opens nothing outside of the folder.
static void check_parts(const char *pattern, const char *const *parts)
{
  for (size_t i = 0; i < ROUTE_PARTS_MOST && parts[i] != NULL; i++)
    if (parts[i][0] == 0 || parts[i][0] == '.' || parts[i][0] == '-' || strchr(parts[i], '/') != NULL ||
        strlen(parts[i]) > ROUTE_PART_BYTES_MOST || strchr(pattern, '{') == NULL)
      abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *text = malloc(size + 1);
  struct target target;
  if (text == NULL)
    abort();
  if (size > 0)
    memcpy(text, data, size);
  text[size] = 0;
  enum target_result result = target_parse(text, &target);
  for (const struct route *route = serve_routes; result == TARGET_DONE && route->method != NULL; route++) {
    const char *parts[ROUTE_PARTS_MOST] = {NULL}, *name = NULL;
    if (!route_matches(route->path, &target, parts))
      continue;
    check_parts(route->path, parts);
    if (route_check_parameters(route, &target, &name) != NULL && name == NULL)
      abort();
  }
  for (size_t i = 0; result == TARGET_DONE && i < target.parameter_count; i++)
    if (target_value(&target, target.parameters[i].name) != target.parameters[i].value)
      abort(); // names are unique
  if (target.authority != NULL && (target.authority[0] == 0 || strchr(target.authority, '/') != NULL))
    abort();
  target_done(&target);
  free(text);
  return 0;
}
