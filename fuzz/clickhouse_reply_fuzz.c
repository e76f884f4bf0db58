// SPDX-License-Identifier: Apache-2.0
// Fuzzes a database's list of runs and its refusals. A list that is not understood leaves nothing.
#include "clickhouse/reply.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *text = malloc(size > 0 ? size : 1); // of its own, so that ASan sees a read past its end
  if (text == NULL)
    return 0;
  if (size > 0)
    memcpy(text, data, size);
  struct slice reply = {text, size};
  struct reply_runs runs;
  char problem[REPLY_PROBLEM_SIZE];
  bool is_read = clickhouse_reply_read_runs(reply, &runs);
  for (size_t i = 0; i < runs.runs.count; i++)
    if (runs.runs.items[i].spans < 0 || runs.runs.items[i].observations < 0 || runs.runs.items[i].foreign < 0)
      abort();
  if (!is_read && runs.runs.items != NULL)
    abort();
  clickhouse_reply_runs_done(&runs);
  clickhouse_reply_problem(reply, problem);
  if (strlen(problem) >= REPLY_PROBLEM_SIZE || strchr(problem, '\n') != NULL)
    abort();
  free(text);
  return 0;
}
