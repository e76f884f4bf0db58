// SPDX-License-Identifier: Apache-2.0
// Counters of a program's control group and of the machine: throttling, memory, steal, frequency, energy. Called by counters.c.
#include "base/cgroup.h"
#include "base/small_file.h"
#include "launch/counters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FREQUENCIES_MOST 32 // processors that are asked

static enum status put(struct counters *counters, enum counter_name name, double value, struct error *err)
{
  const struct counter_of of = {.name = name};
  return counters_put(counters, &of, value, err);
}

static enum status read_group(struct counters *counters, struct error *err)
{
  struct cgroup_throttling throttling;
  cgroup_throttling(&counters->group, &throttling);
  XSP_TRY(put(counters, COUNTER_CGROUP_PERIODS, throttling.periods, err));
  XSP_TRY(put(counters, COUNTER_CGROUP_THROTTLED_PERIODS, throttling.throttled, err));
  XSP_TRY(put(counters, COUNTER_CGROUP_THROTTLED_NS, throttling.throttled_s * 1e9, err));
  return put(counters, COUNTER_CGROUP_BYTES, cgroup_memory_bytes(&counters->group), err);
}

static enum status read_processors(struct counters *counters, struct error *err)
{
  char text[512];
  unsigned long long user, nice, kernel, idle, wait, irq, soft, steal;
  if (small_file_read("/proc/stat", text, sizeof text) == 0 ||
      sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &kernel, &idle, &wait, &irq, &soft,
             &steal) != 8)
    return STATUS_OK;
  const double tick_ns = 1e9 / (double)sysconf(_SC_CLK_TCK);
  XSP_TRY(put(counters, COUNTER_STEAL_NS, (double)steal * tick_ns, err));
  return put(counters, COUNTER_BUSY_NS, (double)(user + nice + kernel + irq + soft) * tick_ns, err);
}

// The mean of the processors that say it: most virtual machines have none.
static enum status read_frequency(struct counters *counters, struct error *err)
{
  double sum = 0;
  unsigned count = 0;
  for (unsigned i = 0; i < FREQUENCIES_MOST; i++) {
    char path[96], text[32];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", i);
    if (!small_file_line(path, text, sizeof text))
      break;
    sum += strtod(text, NULL) * 1e3;
    count++;
  }
  return put(counters, COUNTER_FREQUENCY_HZ, count > 0 ? sum / count : (double)NAN, err);
}

static enum status read_energy(struct counters *counters, struct error *err)
{
  for (unsigned i = 0; i < counters->energy.count; i++) {
    struct energy_zone *zone = &counters->energy.zones[i];
    const struct counter_of of = {.name = COUNTER_ENERGY_J, .source_number = i, .source = zone->name};
    XSP_TRY(counters_put(counters, &of, energy_read(zone), err));
  }
  return STATUS_OK;
}

enum status counters_read_machine(struct counters *counters, struct error *err)
{
  XSP_TRY(read_group(counters, err));
  XSP_TRY(read_processors(counters, err));
  XSP_TRY(read_frequency(counters, err));
  return read_energy(counters, err);
}
