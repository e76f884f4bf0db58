// SPDX-License-Identifier: Apache-2.0
// A day of `xsp run --aggregate` with samples, in simulated time: memory and file after 10^8 samples, over those after the first
// minute of them. Samples come through a ring, and each 20 simulated seconds the tree is written (--snapshot). Prints JSON lines for
// bench/run.py.
#include "collect/collect.h"
#include "correlate/correlate.h"
#include "measure.h"

#include <sys/stat.h>
#include <time.h>
#include <xsp/call_path.h>
#include <xsp/tracer.h>

#define SAMPLES 100000000L
#define DRAINS 17280L // one each five seconds
#define DRAINS_A_SNAPSHOT 4L
#define DRAINS_A_MINUTE 12L
#define PATHS 2000u
#define DEPTH 20u
#define RUN 1
#define RING_RECORDS (UINT32_C(1) << 16) // fewer than a minute has: all of it has been touched by then

static uint32_t paths[PATHS];

// Trees of 20 frames each, of which every function is called from one line.
static void make_paths(void)
{
  char name[32];
  for (uint32_t i = 0; i < PATHS; i++) {
    snprintf(name, sizeof name, "function_%u", i);
    const struct xsp_frame frame = {
        .size = sizeof frame, .kind = XSP_FRAME_PYTHON, .name = name, .file = "/home/me/train.py", .line = 1 + i};
    paths[i] = xsp_call_path(i % DEPTH == 0 ? 0 : paths[i - 1], &frame);
  }
}

// Each path has CPU time, and every tenth waits, too.
static void take_samples(long count)
{
  for (long i = 0; i < count; i++) {
    const uint64_t random = next_random();
    const uint32_t path = (uint32_t)(random >> 32) % PATHS;
    const bool is_wait = path % 10 == 0 && random % 4 == 0;
    if (!xsp_sample(is_wait ? XSP_SAMPLE_IO : XSP_SAMPLE_CPU, paths[path], 1000000 + random % 4096)) {
      fprintf(stderr, "aggregate bench: a sample was lost\n");
      exit(3);
    }
  }
}

static double resident_mib(void)
{
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%*u %lu", &pages) != 1)
    exit(3);
  fclose(file);
  return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static double file_mib(const char *path)
{
  struct stat status;
  return stat(path, &status) == 0 ? (double)status.st_size / (1 << 20) : 0;
}

static double cpu_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

// The file grows by the digits of its sums: it has no target.
static void print(const char *bench, double value, double floor, const char *target)
{
  printf("{\"bench\":\"%s\",\"case\":\"--aggregate, a day of %ld samples over its first minute, %u call paths\","
         "\"value\":%.2f,\"unit\":\"MiB\",\"floor\":%.2f,\"ratio\":%.4f,\"target\":%s,\"peers\":{}}\n",
         bench, SAMPLES, PATHS, value, floor, value / floor, target);
}

int main(void)
{
  char folder[] = "/dev/shm/xsp-bench-aggregate-XXXXXX", path[64], partial[80];
  struct error err;
  struct collect_session *session;
  struct store *store;
  double first_mib = 0, first_file_mib = 0;
  const struct collect_options options = {.level_mask = XSP_LEVEL_MASK_ALL, .ring_records = RING_RECORDS};
  if (mkdtemp(folder) == NULL)
    return 3;
  snprintf(path, sizeof path, "%s/day.xsp", folder);
  snprintf(partial, sizeof partial, "%s.partial", path);
  check(collect_create(&options, &session, &err), &err);
  check(store_create(path, true, &store, &err), &err);
  struct correlate_fold *fold = correlate_fold_begin(store);
  xsp_attach(collect_directory(session));
  make_paths();
  const double begin_ns = cpu_ns();
  for (long i = 0; i < DRAINS; i++) {
    take_samples(SAMPLES / DRAINS + (i < SAMPLES % DRAINS));
    check(collect_drain(session, store, RUN, &err), &err);
    if ((i + 1) % DRAINS_A_SNAPSHOT == 0)
      check(collect_commit(session, store, &err), &err);
    if (i + 1 != DRAINS_A_MINUTE)
      continue;
    first_mib = resident_mib();
    first_file_mib = file_mib(partial);
  }
  const double ns = (cpu_ns() - begin_ns) / SAMPLES;
  struct collect_counts counts;
  collect_counts(session, &counts);
  if (counts.samples < SAMPLES * 0.999999 || counts.lost + counts.dropped > 0) {
    fprintf(stderr, "aggregate bench: %llu samples arrived\n", (unsigned long long)counts.samples);
    return 3;
  }
  print("aggregate/memory", resident_mib(), first_mib, "1.05");
  print("aggregate/file", file_mib(partial), first_file_mib, "null");
  printf("{\"bench\":\"aggregate/sample\",\"case\":\"written, drained and added up, CPU "
         "time\",\"value\":%.1f,\"unit\":\"ns\","
         "\"floor\":null,\"ratio\":null,\"target\":null,\"peers\":{}}\n",
         ns);
  correlate_fold_end(fold);
  store_discard(store);
  collect_close(session, true);
  return rmdir(folder) == 0 ? 0 : 3;
}
