// SPDX-License-Identifier: Apache-2.0
// Keeps prepared pictures; see samples.h. Called by main.c.
#include "programs/runner/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum status samples_add(struct samples *samples, const struct tensor *tensor, size_t count, struct error *err)
{
  size_t item_bytes = tensor->size_bytes / count;
  char *values = samples->item_bytes == 0 || samples->item_bytes == item_bytes
                     ? realloc(samples->values, (samples->count + count) * item_bytes)
                     : NULL;
  if (values == NULL)
    return error_set(err, STATUS_MEMORY, "cannot keep the prepared pictures", NULL, "a smaller --samples",
                     "%zu of %zu bytes each", samples->count + count, item_bytes);
  memcpy(values + samples->count * item_bytes, tensor->data, count * item_bytes);
  *samples = (struct samples){values, samples->count + count, item_bytes};
  return STATUS_OK;
}

enum status samples_take(const struct samples *samples, size_t first, size_t count, struct tensor *tensor,
                         struct error *err)
{
  if (samples->count == 0 || tensor->size_bytes != count * samples->item_bytes)
    return error_set(err, STATUS_USE, "wrong use of xsp-runner", "query", NULL, "no pictures are loaded for it");
  for (size_t i = 0; i < count; i++)
    memcpy((char *)tensor->data + i * samples->item_bytes,
           samples->values + (first + i) % samples->count * samples->item_bytes, samples->item_bytes);
  return STATUS_OK;
}

void samples_done(struct samples *samples)
{
  free(samples->values);
  *samples = (struct samples){0};
}

void samples_wait(uint64_t until_ns)
{
  const struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
    ;
}
