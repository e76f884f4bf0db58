// SPDX-License-Identifier: Apache-2.0
// Fuzzes what clients send to an agent, and what an agent answers.
#include "agent/answer.h"
#include "agent/submission.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena = {0};
  struct submission submission, again;
  struct answer *answer = arena_alloc(&arena, sizeof *answer);
  struct json_writer json;
  struct buf written = {0};
  char problem[40];
  const struct slice body = {(const char *)data, size};
  if (submission_read(body, &arena, &submission) == NULL) { // it can be written, and is the same when it is read again
    json_start(&json, &written);
    submission_write(&submission, &json);
    if (submission_read((struct slice){written.data, written.length}, &arena, &again) != NULL ||
        again.model_count != submission.model_count || strcmp(again.data, submission.data) != 0)
      abort();
  }
  if (agent_answer_read(body, &arena, answer))
    for (size_t i = 0; i < answer->table_count; i++)
      if (answer->tables[i].row_count > 0)
        (void)table_double_at(&answer->tables[i], answer->tables[i].row_count - 1, answer->tables[i].columns[0].key);
  agent_answer_problem(body, problem, sizeof problem);
  if (memchr(problem, 0, sizeof problem) == NULL)
    abort();
  buf_done(&written);
  arena_done(&arena);
  return 0;
}
