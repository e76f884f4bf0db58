// SPDX-License-Identifier: Apache-2.0
// Clocks of a Perfetto trace; see clocks.h. A snapshot has the times of several clocks at one instant: built-in ones, which all packets
// share, and those of its sequence (64 and above), in units of their own, whose packets may have the time since the one before.
#include "importers/perfetto/clocks.h"

enum { CLOCK_REAL = 1, CLOCK_STEADY = 3, CLOCK_BOOT = 6, SHARED_CLOCKS = 128 };
enum { SNAPSHOT_CLOCK = 1, SNAPSHOT_TRACE_CLOCK = 2 };

struct reading { // of one clock
  uint64_t id, time, unit_ns;
  bool is_incremental;
};

static bool read_clock(struct wire message, struct reading *ret_reading)
{
  struct wire_field field;
  *ret_reading = (struct reading){.unit_ns = 1};
  while (wire_next(&message, &field)) {
    if (wire_is(&field, 1, WIRE_VARINT))
      ret_reading->id = field.value;
    else if (wire_is(&field, 2, WIRE_VARINT))
      ret_reading->time = field.value;
    else if (wire_is(&field, 3, WIRE_VARINT))
      ret_reading->is_incremental = field.value != 0;
    else if (wire_is(&field, 4, WIRE_VARINT) && field.value != 0)
      ret_reading->unit_ns = field.value;
  }
  return message.problem == NULL;
}

// Above 127 numbers are of the whole trace.
static struct map_key own_key(uint64_t sequence, uint64_t clock)
{
  return (struct map_key){clock < SHARED_CLOCKS ? sequence : UINT64_MAX, clock};
}

static bool to_ns(uint64_t time, uint64_t unit_ns, int64_t *ret_ns)
{
  return !__builtin_mul_overflow(time, unit_ns, ret_ns);
}

static void relate_own(struct perfetto_clocks *clocks, uint64_t sequence, const struct reading *reading,
                       const int64_t times[PERFETTO_BUILTIN_CLOCKS])
{
  unsigned builtin = times[CLOCK_BOOT] != 0 ? CLOCK_BOOT : times[CLOCK_STEADY] != 0 ? CLOCK_STEADY : 0;
  for (unsigned i = 1; i < PERFETTO_BUILTIN_CLOCKS && builtin == 0; i++)
    builtin = times[i] != 0 ? i : 0;
  struct perfetto_own_clock clock = {
      .unit_ns = reading->unit_ns, .builtin = builtin, .is_incremental = reading->is_incremental};
  if (builtin == 0 || !to_ns(reading->time, reading->unit_ns, &clock.last_ns))
    return;
  clock.to_builtin_ns = times[builtin] - clock.last_ns; // both are at least 0
  uint64_t *place = map_at(&clocks->own, own_key(sequence, reading->id), NULL);
  if (*place == 0) {
    (void)vector_add(&clocks->all);
    *place = clocks->all.count;
  }
  clocks->all.items[*place - 1] = clock;
}

static void relate_builtin(struct perfetto_clocks *clocks, const int64_t times[PERFETTO_BUILTIN_CLOCKS])
{
  uint64_t trace_clock = clocks->trace_clock != 0 ? clocks->trace_clock : CLOCK_BOOT;
  for (unsigned i = 1; i < PERFETTO_BUILTIN_CLOCKS; i++)
    if (!clocks->is_related[i] && times[i] != 0 && times[trace_clock] != 0) {
      clocks->is_related[i] = true;
      clocks->to_trace_ns[i] = times[trace_clock] - times[i];
    }
}

bool perfetto_clocks_snapshot(struct perfetto_clocks *clocks, uint64_t sequence, struct wire snapshot)
{
  int64_t times[PERFETTO_BUILTIN_CLOCKS] = {0}; // 0: it is not there
  struct wire again = snapshot;
  struct wire_field field;
  struct reading reading;
  while (wire_next(&snapshot, &field)) {
    if (wire_is(&field, SNAPSHOT_TRACE_CLOCK, WIRE_VARINT) && clocks->trace_clock == 0 &&
        field.value < PERFETTO_BUILTIN_CLOCKS)
      clocks->trace_clock = field.value;
    if (!wire_is(&field, SNAPSHOT_CLOCK, WIRE_BYTES))
      continue;
    if (!read_clock(wire_inside(&field), &reading))
      return false;
    if (reading.id < PERFETTO_BUILTIN_CLOCKS && reading.time <= INT64_MAX)
      times[reading.id] = (int64_t)reading.time;
  }
  if (snapshot.problem != NULL)
    return false;
  relate_builtin(clocks, times);
  while (wire_find(&again, SNAPSHOT_CLOCK, WIRE_BYTES, &field))
    if (read_clock(wire_inside(&field), &reading) && reading.id >= PERFETTO_BUILTIN_CLOCKS)
      relate_own(clocks, sequence, &reading, times);
  return true;
}

const char *perfetto_clocks_time(struct perfetto_clocks *clocks, uint64_t sequence, uint64_t clock, uint64_t time,
                                 int64_t *ret_ns)
{
  static const char beyond[] = "a time beyond 64 bits";
  struct perfetto_own_clock one = {.unit_ns = 1, .builtin = (unsigned)clock};
  if (clock >= PERFETTO_BUILTIN_CLOCKS) {
    const uint64_t *place = map_find(&clocks->own, own_key(sequence, clock));
    if (place == NULL)
      return "of a clock of its sequence";
    struct perfetto_own_clock *own = &clocks->all.items[*place - 1];
    one = *own;
    if (!to_ns(time, one.unit_ns, ret_ns) ||
        (one.is_incremental && __builtin_add_overflow(*ret_ns, one.last_ns, ret_ns)))
      return beyond;
    own->last_ns = *ret_ns;
  } else if (!to_ns(time, 1, ret_ns)) {
    return beyond;
  }
  if (__builtin_add_overflow(*ret_ns, one.to_builtin_ns, ret_ns) ||
      __builtin_add_overflow(*ret_ns, clocks->to_trace_ns[one.builtin], ret_ns) || *ret_ns < 0)
    return beyond;
  return NULL;
}

bool perfetto_clocks_epoch(const struct perfetto_clocks *clocks, int64_t *ret_ns)
{
  *ret_ns = -clocks->to_trace_ns[CLOCK_REAL];
  return clocks->is_related[CLOCK_REAL] && *ret_ns >= 0;
}

void perfetto_clocks_done(struct perfetto_clocks *clocks)
{
  map_done(&clocks->own);
  vector_done(&clocks->all);
}
