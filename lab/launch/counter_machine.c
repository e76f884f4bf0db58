// SPDX-License-Identifier: Apache-2.0
// Counters of a program's control group and of the machine: throttling, memory, steal, frequency, energy. Called by counters.c.
#include "base/cgroup.h"
#include "launch/counters.h"
#include "launch/processors.h"

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
  double steal_ns, busy_ns;
  if (!processors_times("/proc/stat", &steal_ns, &busy_ns))
    return STATUS_OK;
  XSP_TRY(put(counters, COUNTER_STEAL_NS, steal_ns, err));
  return put(counters, COUNTER_BUSY_NS, busy_ns, err);
}

static enum status read_frequency(struct counters *counters, struct error *err)
{
  return put(counters, COUNTER_FREQUENCY_HZ, processors_frequency_hz("/sys/devices/system/cpu"), err);
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
