// SPDX-License-Identifier: Apache-2.0
// Fuzzes what an agent kept of an evaluation: what is read is complete, and the same when it is written and read again.
#include "agent/job_record.h"

#include "agent/submission.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_same(const char *a, const char *b)
{
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena = {0};
  struct job_record record, again;
  struct submission submission;
  struct buf written = {0};
  if (job_record_read((struct slice){(const char *)data, size}, &arena, &record) == NULL) {
    if (submission_read(slice_of(record.request), &arena, &submission) != NULL || record.number == 0)
      abort();
    job_record_write(&record, &written);
    if (job_record_read((struct slice){written.data, written.length}, &arena, &again) != NULL ||
        again.number != record.number || again.state != record.state || again.starts != record.starts ||
        !is_same(again.user, record.user) || !is_same(again.error, record.error) ||
        !is_same(again.request, record.request))
      abort();
  }
  buf_done(&written);
  arena_done(&arena);
  return 0;
}
