// SPDX-License-Identifier: Apache-2.0
// Reads tab-separated numbers and refusals. Called by fetch.c and client.c.
#include "clickhouse/reply.h"

enum { FIELDS = 5 };

static bool read_unsigned(struct slice text, uint64_t *ret_number)
{
  *ret_number = 0;
  for (size_t i = 0; i < text.length; i++)
    if (text.data[i] < '0' || text.data[i] > '9' || __builtin_mul_overflow(*ret_number, 10, ret_number) ||
        __builtin_add_overflow(*ret_number, (uint64_t)(text.data[i] - '0'), ret_number))
      return false;
  return text.length > 0;
}

static bool read_line(struct slice line, struct reply_run *run)
{
  struct slice field;
  int64_t numbers[FIELDS];
  if (!slice_cut(&line, '\t', &field) || !read_unsigned(field, &run->run))
    return false;
  for (size_t i = 0; i < FIELDS; i++)
    if (!slice_cut(&line, '\t', &field) || !slice_int64(field, &numbers[i]) || numbers[i] < 0)
      return false;
  run->spans = numbers[0];
  run->observations = numbers[1];
  run->foreign = numbers[2];
  run->has_metrics = numbers[3] != 0;
  run->is_repeated = numbers[4] != 0;
  return line.data == NULL;
}

bool clickhouse_reply_read_runs(struct slice text, struct reply_runs *ret_runs)
{
  struct slice line;
  *ret_runs = (struct reply_runs){0};
  while (text.length > 0 && slice_cut(&text, '\n', &line))
    if (!read_line(line, vector_add(&ret_runs->runs))) {
      clickhouse_reply_runs_done(ret_runs);
      return false;
    }
  return true;
}

void clickhouse_reply_runs_done(struct reply_runs *runs)
{
  vector_done(&runs->runs);
}

void clickhouse_reply_problem(struct slice text, char problem[REPLY_PROBLEM_SIZE])
{
  size_t length = 0;
  text = slice_trim(text);
  for (; length < text.length && length < REPLY_PROBLEM_SIZE - 1; length++) {
    if (text.data[length] == '\n' || text.data[length] == 0)
      break;
    problem[length] = text.data[length];
  }
  problem[length] = 0;
}
