// SPDX-License-Identifier: Apache-2.0
// A ring of samples. Each remembers the one execution that touches it, or that there are several.
#include "tracers/cuda/pm_samples.h"

#include "base/sorted.h"

#include <stdlib.h>
#include <string.h>

struct pm_sample {
  uint64_t start, end;
  uint64_t owner_start, owner_end; // the first execution that was noted; 0: none
  bool is_shared;                  // others touch it, too
  bool is_given;                   // it is in the metrics of its owner
};

bool pm_samples_open(struct pm_samples *samples, size_t value_count, size_t capacity)
{
  *samples = (struct pm_samples){.value_count = value_count, .capacity = capacity};
  samples->samples = calloc(capacity, sizeof *samples->samples);
  samples->values = calloc(capacity * value_count, sizeof *samples->values);
  if (samples->samples != NULL && samples->values != NULL)
    return true;
  pm_samples_close(samples);
  return false;
}

void pm_samples_close(struct pm_samples *samples)
{
  free(samples->samples);
  free(samples->values);
  *samples = (struct pm_samples){0};
}

static struct pm_sample *at(const struct pm_samples *samples, uint64_t place)
{
  return &samples->samples[place & (samples->capacity - 1)];
}

static double *values_at(const struct pm_samples *samples, uint64_t place)
{
  return samples->values + (place & (samples->capacity - 1)) * samples->value_count;
}

void pm_samples_add(struct pm_samples *samples, uint64_t start, uint64_t end, const double *values)
{
  *at(samples, samples->added) = (struct pm_sample){.start = start, .end = end};
  memcpy(values_at(samples, samples->added), values, samples->value_count * sizeof *values);
  samples->added++;
}

// The first sample that ends after the time.
static uint64_t first_after(const struct pm_samples *samples, uint64_t time)
{
  uint64_t first = samples->added > samples->capacity ? samples->added - samples->capacity : 0;
  return PARTITION_POINT(i, first, samples->added, at(samples, i)->end <= time);
}

void pm_samples_note(struct pm_samples *samples, uint64_t start, uint64_t end)
{
  for (uint64_t i = first_after(samples, start); i < samples->added && at(samples, i)->start < end; i++) {
    struct pm_sample *sample = at(samples, i);
    samples->late += sample->is_given;
    sample->is_given = false;
    sample->is_shared = sample->owner_end != 0;
    if (!sample->is_shared) {
      sample->owner_start = start;
      sample->owner_end = end;
    }
  }
}

struct pm_share pm_samples_of(struct pm_samples *samples, uint64_t start, uint64_t end, double *ret_sums)
{
  struct pm_share share = {0};
  memset(ret_sums, 0, samples->value_count * sizeof *ret_sums);
  for (uint64_t i = first_after(samples, start); i < samples->added && at(samples, i)->end <= end; i++) {
    struct pm_sample *sample = at(samples, i);
    if (sample->start < start || sample->is_shared || sample->owner_start != start || sample->owner_end != end)
      continue;
    sample->is_given = true;
    share.count++;
    share.covered_ns += sample->end - sample->start;
    for (size_t v = 0; v < samples->value_count; v++)
      ret_sums[v] += values_at(samples, i)[v];
  }
  return share;
}
