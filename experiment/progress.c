// SPDX-License-Identifier: Apache-2.0
// The progress line of an experiment. Called after each observation; makes a line a few times a second at most.
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
  if (progress->show == NULL || progress->total < 2 || (now - progress->shown_s < SHOW_EVERY_S && !is_last))
    return;
  progress->shown_s = now;
  double left = (now - progress->started_s) / progress->done * (progress->total - progress->done);
  char text[512], of_batch[32] = "";
  if (batch > 0)
    snprintf(of_batch, sizeof of_batch, "batch %" PRId64 ", ", batch);
  snprintf(text, sizeof text, "%s: %s%s%s%s, observation %u of %u, about %.0f s left", progress->name,
           variant != NULL ? variant : "", variant != NULL ? ", " : "", of_batch, what, progress->done, progress->total,
           left);
  progress->show(text, is_last);
}

void progress_clear(const struct progress *progress)
{
  if (progress->show != NULL && progress->done < progress->total)
    progress->show(NULL, true);
}
