// SPDX-License-Identifier: Apache-2.0
// Fuzzes reports of jobs and wanted levels, as clients of xsp serve send them.
#include "serve/jobs.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct job job;
  uint32_t mask;
  char *body = malloc(size > 0 ? size : 1); // of its own, so that ASan sees a read past its end
  if (body == NULL)
    return 0;
  if (size > 0)
    memcpy(body, data, size);
  const struct slice text = {body, size};
  if (job_read_report(text, &job) == NULL && (job.level_mask & ~job.possible_mask) != 0)
    abort();
  if (memchr(job.name, 0, sizeof job.name) == NULL || memchr(job.host, 0, sizeof job.host) == NULL)
    abort();
  (void)job_read_levels(text, &mask);
  free(body);
  return 0;
}
