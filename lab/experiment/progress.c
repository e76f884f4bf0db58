// SPDX-License-Identifier: Apache-2.0
// The progress line of an experiment. Called after each observation, or execution of a program.
#include "experiment/progress.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>

#define SHOW_EVERY_S 0.2

double progress_now_s(void)
{
  return (double)clock_now_ns(CLOCK_MONOTONIC) / 1e9;
}

void progress_step(struct progress *progress, const char *variant, int64_t batch, const char *what)
{
  double now = progress_now_s();
  bool is_last = ++progress->done == progress->total;
  if (progress->started_s == 0)
    progress->started_s = now;
  bool is_soon = !progress->shows_each && now - progress->shown_s < SHOW_EVERY_S;
  if (progress->show == NULL || progress->total < 2 || (is_soon && !is_last))
    return;
  progress->shown_s = now;
  char text[512], of_batch[32] = "";
  if (batch > 0)
    snprintf(of_batch, sizeof of_batch, "batch %" PRId64 ", ", batch);
  snprintf(text, sizeof text, "%s: %s%s%s%s, %s %u of %u, about %.0f s left", progress->name,
           variant != NULL ? variant : "", variant != NULL ? ", " : "", of_batch, what, progress->unit, progress->done,
           progress->total, progress_left_s(progress, now));
  progress->show(text, is_last);
}

double progress_left_s(const struct progress *progress, double now_s)
{
  return (now_s - progress->started_s) / progress->done * (progress->total - progress->done);
}

void progress_clear(const struct progress *progress)
{
  if (progress->show != NULL && progress->done < progress->total)
    progress->show(NULL, true);
}
