// SPDX-License-Identifier: Apache-2.0
// The machine, and what disturbed it during a measurement: figures from /proc, /sys and the cgroup, never guessed.
#ifndef XSP_EXPERIMENT_SYSTEM_H
#define XSP_EXPERIMENT_SYSTEM_H

#include "base/arena.h"
#include "store/store.h"

// One reading of everything that can disturb. NaN: not readable here.
struct disturbance {
  double wall_s;      // CLOCK_MONOTONIC
  double steal_s;     // time the hypervisor gave to others, all CPUs (/proc/stat)
  double throttled_s; // time the cgroup's CPU quota held us back (cpu.stat)
  double busy_s;      // non-idle CPU time of the whole machine
  double own_s;       // CPU time of this process and its finished children
};
void disturbance_read(struct disturbance *ret_reading);

// CPUs the cgroup's quota allows, NaN where there is no quota.
double system_cpu_quota(void);
// The scaling governor of CPU 0 in `text`, "" where the kernel shows none (as in most virtual machines).
void system_governor(char *text, size_t size);
// PRETTY_NAME of /etc/os-release in `root` (base/root.h), in `arena`. NULL: unknown.
const char *system_os_name(int root, struct arena *arena);
unsigned system_cpus_allowed(void);
double system_load_1min(void);

static inline struct store_system_value system_number(const char *key, double number)
{
  return (struct store_system_value){.key = key, .number = number, .is_number = true};
}

// Key/value facts for store_add_system; strings in `arena`. Errors: gpus_read's.
enum status system_describe(struct arena *arena, struct store_system_value *values, size_t maximum, size_t *ret_count,
                            struct error *err) MUST_CHECK;

#endif
