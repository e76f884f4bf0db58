// SPDX-License-Identifier: Apache-2.0
// Fuzzes constraints of --on: the first line, compared with the record in the rest.
#include "agent/constraint.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena = {0};
  struct constraints constraints;
  struct agent_record record;
  struct slice rest = {(const char *)data, size}, line;
  const char *why = NULL;
  if (size == 0 || !slice_cut(&rest, '\n', &line) || memchr(line.data, 0, line.length) != NULL)
    return 0;
  const char *text = arena_copy(&arena, line.data, line.length);
  enum status status = constraints_parse(text, &arena, &constraints, NULL);
  if (status == STATUS_OK && agent_record_read(rest, &arena, &record)) {
    if (constraints_missed(&constraints, &record, &arena, &why) != NULL && why == NULL)
      abort();
    (void)constraints_model(&constraints, &record, text);
  }
  arena_done(&arena);
  return 0;
}
