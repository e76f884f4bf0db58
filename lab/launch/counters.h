// SPDX-License-Identifier: Apache-2.0
// What a program's processes, their control group and the machine use while the program runs, as counters of a run. Read from
// outside, by xsp's own process: nothing runs in the program. One thread at a time, which owns the store.
#ifndef XSP_LAUNCH_COUNTERS_H
#define XSP_LAUNCH_COUNTERS_H

#include "base/cgroup.h"
#include "base/map.h"
#include "base/nvml.h"
#include "base/vector.h"
#include "launch/energy.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct counters { // begin with the first three set, the rest zero
  struct store *store;
  int64_t run_id;
  pid_t program;
  int64_t begin_ns, next_ns; // monotonic; 0: not yet
  int64_t begin_unix_ns;     // Unix epoch, of begin_ns
  int64_t now_ns, before_ns; // Unix epoch: of this look, and of the one before; 0: there was none
  struct cgroup group;
  struct energy energy;
  bool has_nvml;
  struct nvml nvml;
  unsigned gpu_count;
  VECTOR(struct counter_series) series;
  struct map places; // by what a series is of: its place + 1
};

// Reads all counters if it is time. *ret_wait_ns: how long until the next look, in ns.
enum status counters_look(struct counters *counters, int64_t *ret_wait_ns, struct error *err) MUST_CHECK;
// Reads them once more, after the program's end: those of processes are gone then.
enum status counters_finish(struct counters *counters, struct error *err) MUST_CHECK;
void counters_free(struct counters *counters);

// ---- for the sources ---------------------------------------------------------------------------------------------------
enum counter_name {
  COUNTER_CPU_NS,       // CPU time of a process, or of a thread
  COUNTER_RUN_QUEUE_NS, // that a thread was ready and waited for a processor
  COUNTER_RSS_BYTES,
  COUNTER_CGROUP_BYTES,
  COUNTER_CGROUP_PERIODS,
  COUNTER_CGROUP_THROTTLED_PERIODS,
  COUNTER_CGROUP_THROTTLED_NS,
  COUNTER_STEAL_NS, // that the hypervisor gave to others, all processors
  COUNTER_BUSY_NS,  // that the machine's processors worked, for whomever
  COUNTER_FREQUENCY_HZ,
  COUNTER_ENERGY_J,
  COUNTER_GPU_PCT, // of the time, some kernel ran
  COUNTER_GPU_BYTES,
  COUNTER_GPU_ENERGY_J,
  COUNTER_NAMES
};
struct counter_series {
  enum counter_name name;
  int64_t counter_id;
  double first, last;         // values as they were read
  int64_t last_ns, stored_ns; // Unix epoch: of the last reading, and of the last that is stored
};
struct counter_of { // what a reading is of; ids 0: does not apply
  enum counter_name name;
  pid_t process, thread;
  unsigned source_number; // tells those of one name apart
  const char *source;     // NULL: there is one
};
// Keeps one reading; NaN: there was none.
enum status counters_put(struct counters *counters, const struct counter_of *of, double value,
                         struct error *err) MUST_CHECK;
enum status counters_read_processes(struct counters *counters, struct error *err) MUST_CHECK; // counter_processes.c
void counters_open_gpus(struct counters *counters);                                           // counter_gpus.c
enum status counters_read_gpus(struct counters *counters, struct error *err) MUST_CHECK;
enum status counters_read_machine(struct counters *counters, struct error *err) MUST_CHECK; // counter_machine.c

#endif
