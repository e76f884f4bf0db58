// SPDX-License-Identifier: Apache-2.0
// rocpd, the SQLite database of rocprofv3: what its rows refer to by number. Private to this folder.
#ifndef XSP_IMPORTERS_ROCPROF_ROCPD_H
#define XSP_IMPORTERS_ROCPROF_ROCPD_H

#include "base/map.h"
#include "importers/importer.h"
#include "importers/sqlite_database.h"

enum rocpd_class { // of a region, by its category
  ROCPD_NONE,
  ROCPD_CALL,
  ROCPD_LIBRARY,
  ROCPD_RANGE,
  ROCPD_KFD, // of the kernel's driver
};
enum rocpd_lookup {
  ROCPD_STRINGS,
  ROCPD_SYMBOLS,
  ROCPD_PROCESSES,
  ROCPD_THREADS,
  ROCPD_PLACES,
  ROCPD_TIMES,
  ROCPD_EVENTS,
  ROCPD_LOOKUPS
};

struct rocpd { // a part of the file: the tables whose names end in `suffix`
  struct import *import;
  struct import_database *database;
  const char *suffix;
  struct import_scan lookups[ROCPD_LOOKUPS];
  struct map strings, symbols; // number → id of import_string + 1
  struct map devices;          // an agent's number → its number among the GPUs + 2; 1: a CPU
  int64_t gpu_count;
};
struct rocpd_place { // numbers of rows; STORE_NONE: not known
  int64_t process, thread, agent, queue, stream;
};
struct rocpd_event {
  enum rocpd_class class;
  int64_t correlation;
  uint32_t message; // of a range; 0: none
};

const char *rocpd_table(struct rocpd *rocpd, const char *base); // in the arena
enum status rocpd_open(struct rocpd *rocpd, struct error *err) MUST_CHECK;
void rocpd_close(struct rocpd *rocpd); // after an error, too
// 0: there is none.
enum status rocpd_string(struct rocpd *rocpd, int64_t number, uint32_t *ret_string, struct error *err) MUST_CHECK;
enum status rocpd_kernel_name(struct rocpd *rocpd, int64_t number, uint32_t *ret_string, struct error *err) MUST_CHECK;
// The system's number of a process or thread (ROCPD_PROCESSES, ROCPD_THREADS) by that of its row.
enum status rocpd_system_id(struct rocpd *rocpd, enum rocpd_lookup which, int64_t row, int64_t *ret_id,
                            struct error *err) MUST_CHECK;
enum status rocpd_place_of(struct rocpd *rocpd, int64_t track, struct rocpd_place *ret_place,
                           struct error *err) MUST_CHECK;
enum status rocpd_time(struct rocpd *rocpd, int64_t number, int64_t *ret_ns, bool *ret_has_time,
                       struct error *err) MUST_CHECK;
enum status rocpd_event_of(struct rocpd *rocpd, int64_t number, struct rocpd_event *ret_event,
                           struct error *err) MUST_CHECK;
int64_t rocpd_gpu(const struct rocpd *rocpd, int64_t agent); // ROCPROF_NO_GPU: a CPU, or not known

#endif
