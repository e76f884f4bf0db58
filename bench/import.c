// SPDX-License-Identifier: Apache-2.0
// import FILE: imports a Kineto trace end to end (read, intern, store, correlate, finish) on one core and on two; also
// reads its events alone, and loads the stored file again. make_kineto writes FILE; bench/run.py adds the peers, which
// read the same file. Each measurement has a process of its own, for its peak memory.
#include "importers/import.h"
#include "bench/measure.h"
#include "correlate/correlate.h"
#include "importers/trace_events/trace_events.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REPEATS 5
#define LARGE_BYTES 2.9e9      // from here on the design's memory target counts
#define LARGE_LIMIT_MIB 1536.0 // it

struct outcome {
  double ns; // of processor time on one core, of the clock on two
  double events, spans, peak_mib;
};
enum mode { MODE_BYTES, MODE_EVENTS, MODE_ONE_CORE, MODE_TWO_CORES, MODE_RELOAD, MODE_RELOAD_TREE, MODES };

static const char *trace_path;
static char store_file[512];

static double now_ns(clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

// The floor: the file's bytes through one buffer.
static void read_bytes(void)
{
  static char buffer[1 << 20];
  int fd = open(trace_path, O_RDONLY);
  if (fd < 0)
    exit(3);
  while (read(fd, buffer, sizeof buffer) > 0)
    ;
  close(fd);
}

static void read_events(struct outcome *outcome)
{
  struct error err = {0};
  struct input input;
  struct trace_reader reader;
  enum trace_item item = TRACE_EVENT;
  check(input_open(trace_path, UINT64_MAX, &input, &err), &err);
  check(trace_open(&input, &reader, &err), &err);
  while (item != TRACE_END) {
    check(trace_next(&reader, &item, &err), &err);
    outcome->events += item == TRACE_EVENT;
  }
  trace_close(&reader);
  input_close(&input);
}

static void import(struct outcome *outcome, unsigned threads)
{
  struct error err = {0};
  struct arena arena = {0};
  struct store *store;
  struct import_file *file = NULL;
  struct import_options options = {.threads = threads, .limit_bytes = UINT64_MAX};
  check(store_create(store_file, true, &store, &err), &err);
  check(import_files(&trace_path, 1, &options, store, &arena, &file, &err), &err);
  check(correlate_store(store, &err), &err);
  check(store_finish(store, &err), &err);
  store_close(store);
  outcome->events = (double)file->events;
  outcome->spans = (double)file->kept;
  arena_done(&arena);
}

// The start of every analysis: all columns of all spans, optionally the tree.
static void reload(struct outcome *outcome, bool with_tree)
{
  struct error err = {0};
  struct arena arena = {0};
  struct store *store;
  struct store_spans spans;
  struct store_derived derived;
  check(store_open(store_file, &store, &err), &err);
  check(store_load_spans(store, 1, STORE_ALL_BASE, &arena, &spans, &err), &err);
  if (with_tree)
    check(store_load_derived(store, 1, &arena, &derived, &err), &err);
  outcome->spans = (double)spans.count;
  arena_done(&arena);
  store_close(store);
}

static struct outcome measure_here(enum mode mode)
{
  struct outcome outcome = {0};
  if (mode != MODE_TWO_CORES) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(0, &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
  }
  clockid_t clock = mode == MODE_TWO_CORES ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
  double start = now_ns(clock);
  if (mode == MODE_BYTES)
    read_bytes();
  else if (mode == MODE_EVENTS)
    read_events(&outcome);
  else if (mode == MODE_RELOAD || mode == MODE_RELOAD_TREE)
    reload(&outcome, mode == MODE_RELOAD_TREE);
  else
    import(&outcome, mode == MODE_ONE_CORE ? 1 : 0);
  outcome.ns = now_ns(clock) - start;
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  outcome.peak_mib = (double)usage.ru_maxrss / 1024;
  return outcome;
}

static void measure_to(int mode, void *ret_outcome)
{
  *(struct outcome *)ret_outcome = measure_here((enum mode)mode);
}

static struct outcome measure(enum mode mode)
{
  struct outcome outcome = {0};
  if (!measure_apart(measure_to, (int)mode, &outcome, sizeof outcome)) {
    fprintf(stderr, "import: measurement %d failed\n", (int)mode);
    unlink(store_file);
    exit(3);
  }
  return outcome;
}

static void print_line(const char *bench, const char *which, double events, double value, double floor_value)
{
  printf("{\"bench\":\"import/%s\",\"case\":\"%.0f events, %s\",\"value\":%.1f,\"unit\":\"ns/event\",\"floor\":%.1f,"
         "\"ratio\":%.3f,\"target\":null,\"peers\":{}}\n",
         bench, events, which, value, floor_value, value / floor_value);
}

// Compared with the import of the same file on one core.
static void print_reload(const char *which, double events, double value, double import_value, const char *target)
{
  printf("{\"bench\":\"import/reload\",\"case\":\"%.0f events, %s\",\"value\":%.2f,\"unit\":\"ns/event\","
         "\"floor\":%.1f,\"ratio\":%.4f,\"target\":%s,\"peers\":{}}\n",
         events, which, value, import_value, value / import_value, target);
}

int main(int count, char **arguments)
{
  double ns[MODES][REPEATS], peak_mib[MODES] = {0}, events = 0, spans = 0;
  struct stat facts;
  if (count != 2 || stat(arguments[1], &facts) != 0) {
    fputs("usage: import FILE (by make_kineto; bench/run.py does it all)\n", stderr);
    return 2;
  }
  trace_path = arguments[1];
  snprintf(store_file, sizeof store_file, "%s.xsp", trace_path);
  int repeats = (double)facts.st_size < LARGE_BYTES ? REPEATS : 1;
  for (int i = 0; i < repeats; i++) { // in turns, so that noise affects all
    for (enum mode mode = 0; mode < MODES; mode++) {
      struct outcome outcome = measure(mode);
      ns[mode][i] = outcome.ns;
      if (outcome.peak_mib > peak_mib[mode])
        peak_mib[mode] = outcome.peak_mib;
      events = mode == MODE_EVENTS ? outcome.events : events;
      spans = mode == MODE_ONE_CORE ? outcome.spans : spans;
    }
  }
  double each[MODES];
  for (enum mode mode = 0; mode < MODES; mode++)
    each[mode] = median(ns[mode], repeats) / events;
  double stored = stat(store_file, &facts) == 0 ? (double)facts.st_size : 0;
  print_line("events", "one core", events, each[MODE_EVENTS], each[MODE_BYTES]);
  print_line("kineto", "one core", events, each[MODE_ONE_CORE], each[MODE_EVENTS]);
  print_line("kineto", "two cores", events, each[MODE_TWO_CORES], each[MODE_EVENTS]);
  print_reload("spans", events, each[MODE_RELOAD], each[MODE_ONE_CORE], "0.05");
  print_reload("spans and tree", events, each[MODE_RELOAD_TREE], each[MODE_ONE_CORE], "null");
  bool is_large = repeats == 1;
  printf(
      "{\"bench\":\"import/memory\",\"case\":\"%.0f events, two cores\",\"value\":%.0f,\"unit\":\"MiB\",\"floor\":%s,"
      "\"ratio\":%s,\"target\":%s,\"peers\":{}}\n",
      events, peak_mib[MODE_TWO_CORES], is_large ? "1536" : "null",
      is_large ? (peak_mib[MODE_TWO_CORES] <= LARGE_LIMIT_MIB ? "1" : "2") : "null", is_large ? "1" : "null");
  printf("{\"bench\":\"import/size\",\"case\":\"%.0f spans with their tags\",\"value\":%.2f,\"unit\":\"bytes/span\","
         "\"floor\":null,\"ratio\":null,\"target\":null,\"peers\":{}}\n",
         spans, stored / spans);
  unlink(store_file);
  return 0;
}
