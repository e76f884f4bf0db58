// SPDX-License-Identifier: Apache-2.0
// xplane [EVENTS]: imports a profile of XLA on one core, alone and with its parents found, and end to end on two. Half of the
// events are operations of a module, the others their ends, as JAX writes them on CPUs. The floor is a bare walk over all fields
// of the file in memory. Each measurement has a process of its own, for its peak memory.
#include "base/input_file.h"
#include "base/wire.h"
#include "base/wire_write.h"
#include "bench/measure.h"
#include "correlate/correlate.h"
#include "importers/import.h"

#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define OPERATIONS 20u // of a module
#define REPEATS 5
#define TARGET 2.0

enum mode { MODE_WALK, MODE_ALONE, MODE_ONE_CORE, MODE_TWO_CORES, MODES };
static const char *const mode_names[] = {"", "one core, without parents", "one core", "two cores"};
struct outcome {
  double ns, peak_mib;
};
static char trace_file[] = "/dev/shm/xsp-bench-XXXXXX", store_file[sizeof trace_file + 4];
static const char *const stats[] = {"",   "hlo_op", "hlo_module", "program_id", "run_id", "device_ordinal",
                                    "_p", "_c",     "jit_step"};
enum { STAT_OP = 1, STAT_MODULE, STAT_PROGRAM, STAT_RUN, STAT_DEVICE, STAT_PRODUCER, STAT_CONSUMER, STAT_STEP, STATS };
enum { KIND_NUMBER = 3, KIND_REFERENCE = 7 };

// ---- the file --------------------------------------------------------------------------------------------------------
static void put_text(struct buf *out, unsigned field, const char *text)
{
  protobuf_bytes(out, field, text, strlen(text));
}

static void put_name(struct buf *plane, unsigned field, uint64_t key, const char *format, unsigned number)
{
  char name[64];
  snprintf(name, sizeof name, format, number);
  size_t entry = protobuf_begin(plane, field);
  protobuf_varint(plane, 1, key);
  size_t value = protobuf_begin(plane, 2);
  protobuf_varint(plane, 1, key);
  put_text(plane, 2, name);
  protobuf_end(plane, value);
  protobuf_end(plane, entry);
}

static void put_stat(struct buf *event, uint64_t name, unsigned kind, uint64_t value)
{
  size_t stat = protobuf_begin(event, 4);
  protobuf_varint(event, 1, name);
  protobuf_varint(event, kind, value);
  protobuf_end(event, stat);
}

static void put_operation(struct buf *line, unsigned long number)
{
  size_t event = protobuf_begin(line, 4);
  protobuf_varint(line, 1, 1 + number % OPERATIONS);
  protobuf_varint(line, 2, number * 10000000);
  protobuf_varint(line, 3, 9000000);
  put_stat(line, STAT_OP, KIND_REFERENCE, STATS + number % OPERATIONS);
  put_stat(line, STAT_MODULE, KIND_REFERENCE, STAT_STEP);
  put_stat(line, STAT_PROGRAM, KIND_NUMBER, 3);
  put_stat(line, STAT_RUN, KIND_NUMBER, 1 + number / OPERATIONS);
  put_stat(line, STAT_DEVICE, KIND_NUMBER, 0);
  put_stat(line, STAT_PRODUCER, KIND_NUMBER, number + 1);
  protobuf_end(line, event);
  event = protobuf_begin(line, 4);
  protobuf_varint(line, 1, 1 + number % OPERATIONS + OPERATIONS);
  protobuf_varint(line, 2, number * 10000000 + 8000000);
  protobuf_varint(line, 3, 900000);
  put_stat(line, STAT_CONSUMER, KIND_NUMBER, number + 1);
  protobuf_end(line, event);
}

// HloProto {1: module {3: computation {2: instruction {1: name, 2: opcode, 7: {2: operator, 3: file, 4: line}}}}}
static void put_module(struct buf *out)
{
  size_t proto = protobuf_begin(out, 6), module = protobuf_begin(out, 1), computation = protobuf_begin(out, 3);
  for (unsigned i = 0; i < OPERATIONS; i++) {
    char name[64];
    snprintf(name, sizeof name, "fusion.%u", i);
    size_t instruction = protobuf_begin(out, 2);
    put_text(out, 1, name);
    put_text(out, 2, "dot");
    size_t metadata = protobuf_begin(out, 7);
    put_text(out, 2, "jit(step)/dot_general");
    put_text(out, 3, "train.py");
    protobuf_varint(out, 4, 10 + i);
    protobuf_end(out, metadata);
    protobuf_end(out, instruction);
  }
  protobuf_end(out, computation);
  protobuf_end(out, module);
  protobuf_end(out, proto);
}

static void put_planes(struct buf *space, unsigned long events)
{
  size_t plane = protobuf_begin(space, 1), line, entry, value, stat;
  put_text(space, 2, "/host:CPU");
  for (unsigned i = 1; i < STATS; i++)
    put_name(space, 5, i, stats[i], 0);
  for (unsigned i = 0; i < OPERATIONS; i++) {
    put_name(space, 5, STATS + i, "fusion.%u", i);
    put_name(space, 4, 1 + i, "fusion.%u", i);
    put_name(space, 4, 1 + i + OPERATIONS, "end: fusion.%u", i);
  }
  line = protobuf_begin(space, 3);
  protobuf_varint(space, 1, 1);
  for (unsigned long i = 0; i < events / 2; i++)
    put_operation(space, i);
  protobuf_end(space, line);
  protobuf_end(space, plane);
  plane = protobuf_begin(space, 1);
  put_text(space, 2, "/host:metadata");
  put_name(space, 5, 1, "Hlo Proto", 0);
  entry = protobuf_begin(space, 4);
  value = protobuf_begin(space, 2);
  put_text(space, 2, "jit_step(3)");
  stat = protobuf_begin(space, 5);
  protobuf_varint(space, 1, 1);
  put_module(space);
  protobuf_end(space, stat);
  protobuf_end(space, value);
  protobuf_end(space, entry);
  protobuf_end(space, plane);
}

static void write_trace(unsigned long events)
{
  struct buf space = {0};
  put_planes(&space, events);
  int fd = mkstemp(trace_file);
  FILE *file = fd >= 0 && !space.failed ? fdopen(fd, "w") : NULL;
  if (file == NULL || fwrite(space.data, 1, space.length, file) != space.length || fclose(file) != 0)
    exit(3);
  snprintf(store_file, sizeof store_file, "%s.xsp", trace_file);
  buf_done(&space);
}

// ---- what is measured ------------------------------------------------------------------------------------------------
// All fields of a message; field[depth] is the one that has messages in it: planes, lines, events, values.
static uint64_t walk(struct wire wire, unsigned depth)
{
  static const unsigned inner[] = {1, 3, 4, 4};
  struct wire_field field;
  uint64_t sum = 0;
  while (wire_next(&wire, &field)) {
    if (depth < 4 && field.number == inner[depth] && field.type == WIRE_BYTES)
      sum += walk(wire_inside(&field), depth + 1);
    else
      sum += field.number + (field.type == WIRE_VARINT ? field.value : field.length);
  }
  return sum;
}

static void import(unsigned threads, bool has_parents)
{
  struct error err = {0};
  struct arena arena = {0};
  struct store *store;
  struct import_file *file = NULL;
  const char *path = trace_file;
  struct import_options options = {.threads = threads, .limit_bytes = UINT64_MAX};
  check(store_create(store_file, true, &store, &err), &err);
  check(import_files(&path, 1, &options, store, &arena, &file, &err), &err);
  if (has_parents)
    check(correlate_store(store, &err), &err);
  check(store_finish(store, &err), &err);
  store_close(store);
  arena_done(&arena);
}

static double now_ns(clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static struct outcome measure_here(enum mode mode)
{
  struct buf bytes = {0};
  struct error err = {0};
  struct rusage usage;
  clockid_t clock = mode == MODE_TWO_CORES ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
  if (mode == MODE_WALK)
    check(input_file_read(trace_file, "trace", &bytes, &err), &err);
  double start = now_ns(clock);
  if (mode != MODE_WALK)
    import(mode == MODE_TWO_CORES ? 0 : 1, mode != MODE_ALONE);
  else if (walk(wire_over(bytes.data, bytes.length), 0) == 0)
    exit(3);
  double ns = now_ns(clock) - start;
  getrusage(RUSAGE_SELF, &usage);
  buf_done(&bytes);
  return (struct outcome){ns, (double)usage.ru_maxrss / 1024};
}

static void measure_to(int mode, void *ret_outcome)
{
  *(struct outcome *)ret_outcome = measure_here((enum mode)mode);
}

static struct outcome measure(enum mode mode)
{
  struct outcome outcome = {0};
  if (!measure_apart(measure_to, (int)mode, &outcome, sizeof outcome)) {
    fprintf(stderr, "xplane: measurement %d failed\n", (int)mode);
    exit(3);
  }
  return outcome;
}

int main(int count, char **arguments)
{
  unsigned long events = count > 1 ? strtoul(arguments[1], NULL, 10) : 1000000;
  double ns[MODES][REPEATS], each[MODES], peak_mib[MODES] = {0};
  int repeats = events <= 1000000 ? REPEATS : 1;
  write_trace(events);
  for (int i = 0; i < repeats; i++) // in turns, so that noise affects all
    for (enum mode mode = 0; mode < MODES; mode++) {
      struct outcome outcome = measure(mode);
      ns[mode][i] = outcome.ns;
      peak_mib[mode] = outcome.peak_mib > peak_mib[mode] ? outcome.peak_mib : peak_mib[mode];
    }
  for (enum mode mode = 0; mode < MODES; mode++)
    each[mode] = median(ns[mode], repeats) / (double)events;
  for (enum mode mode = MODE_ALONE; mode < MODES; mode++)
    printf(
        "{\"bench\":\"import/xplane\",\"case\":\"%lu events, %s\",\"value\":%.1f,\"unit\":\"ns/event\",\"floor\":%.1f,"
        "\"ratio\":%.3f,\"target\":%.0f,\"peers\":{}}\n",
        events, mode_names[mode], each[mode], each[MODE_WALK], each[mode] / each[MODE_WALK], TARGET);
  for (enum mode mode = MODE_ALONE; mode < MODES; mode++)
    printf("{\"bench\":\"import/xplane memory\",\"case\":\"%lu events, %s\",\"value\":%.0f,\"unit\":\"MiB\","
           "\"floor\":null,\"ratio\":null,\"target\":null,\"peers\":{}}\n",
           events, mode_names[mode], peak_mib[mode]);
  unlink(trace_file);
  unlink(store_file);
  return 0;
}
