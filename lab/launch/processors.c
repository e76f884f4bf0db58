// SPDX-License-Identifier: Apache-2.0
// Reads the kernel's files; see processors.h. Called by counter_machine.c.
#include "launch/processors.h"

#include "base/small_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FREQUENCIES_MOST 32 // processors that are asked

bool processors_times(const char *path, double *ret_steal_ns, double *ret_busy_ns)
{
  char text[512];
  unsigned long long user, nice, kernel, idle, wait, irq, soft, steal;
  if (small_file_read(path, text, sizeof text) == 0 ||
      sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &kernel, &idle, &wait, &irq, &soft,
             &steal) != 8)
    return false;
  const double tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
  *ret_steal_ns = (double)steal * tick_ns;
  *ret_busy_ns = (double)(user + nice + kernel + irq + soft) * tick_ns;
  return true;
}

double processors_frequency_hz(const char *folder)
{
  double sum = 0;
  unsigned count = 0;
  for (unsigned i = 0; i < FREQUENCIES_MOST; i++) {
    char path[512], text[32];
    snprintf(path, sizeof path, "%s/cpu%u/cpufreq/scaling_cur_freq", folder, i);
    if (!small_file_line(path, text, sizeof text)) // maybe it is offline, as siblings are without SMT
      continue;
    sum += strtod(text, NULL) * 1e3;
    count++;
  }
  return count > 0 ? sum / count : (double)NAN;
}
