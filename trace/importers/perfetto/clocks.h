// SPDX-License-Identifier: Apache-2.0
// Clocks of a Perfetto trace, which its snapshots relate: times of packets in that of the trace. Private to this folder.
#ifndef XSP_IMPORTERS_PERFETTO_CLOCKS_H
#define XSP_IMPORTERS_PERFETTO_CLOCKS_H

#include "base/map.h"
#include "base/vector.h"
#include "base/wire.h"

#define PERFETTO_BUILTIN_CLOCKS 64u

struct perfetto_own_clock { // of one sequence, by its last snapshot
  uint64_t unit_ns;
  int64_t last_ns,
      to_builtin_ns; // by its own count: of the snapshot or the last packet; what makes it that of `builtin`
  unsigned builtin;
  bool is_incremental; // times count from that of the packet before
};
struct perfetto_clocks { // starts as {0}
  uint64_t trace_clock;  // 0: no snapshot says it, so the boot clock
  bool is_related[PERFETTO_BUILTIN_CLOCKS];
  int64_t to_trace_ns[PERFETTO_BUILTIN_CLOCKS]; // by the first snapshot that has both
  struct map own;                               // (sequence, number) → place in `all` + 1
  VECTOR(struct perfetto_own_clock) all;
};

// False: it is damaged.
bool perfetto_clocks_snapshot(struct perfetto_clocks *clocks, uint64_t sequence, struct wire snapshot);
// A packet's time in that of the trace. Called once for each packet with a time, in order. `clock` 0: it is so already. Else
// why there is none; *ret_ns is at least 0.
const char *perfetto_clocks_time(struct perfetto_clocks *clocks, uint64_t sequence, uint64_t clock, uint64_t time,
                                 int64_t *ret_ns);
// The Unix time at the zero of the trace's clock; false: no snapshot has both.
bool perfetto_clocks_epoch(const struct perfetto_clocks *clocks, int64_t *ret_ns);
void perfetto_clocks_done(struct perfetto_clocks *clocks);

#endif
