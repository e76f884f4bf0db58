// SPDX-License-Identifier: Apache-2.0
// The progress line of `xsp profile`. Called after each observation; shows itself a few times a second at most.
#include "programs/xsp/profile_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TERMINAL_EVERY_S 0.2
#define FILE_EVERY_S 5.0

double progress_now_s(void)
{
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void progress_step(struct progress *progress, const char *variant, int64_t batch, const char *what)
{
  double now = progress_now_s();
  bool is_terminal = isatty(STDERR_FILENO) == 1;
  bool is_last = ++progress->done == progress->total;
  if (progress->quiet || (now - progress->shown_s < (is_terminal ? TERMINAL_EVERY_S : FILE_EVERY_S) && !is_last))
    return;
  progress->shown_s = now;
  double left = (now - progress->started_s) / progress->done * (progress->total - progress->done);
  fprintf(stderr, "%s%s: %s%sbatch %" PRId64 ", %s, observation %u of %u, about %.0f s left",
          is_terminal ? "\r\033[K" : "", progress->name, variant != NULL ? variant : "", variant != NULL ? ", " : "",
          batch, what, progress->done, progress->total, left);
  fputs(is_terminal && !is_last ? "" : "\n", stderr);
}
