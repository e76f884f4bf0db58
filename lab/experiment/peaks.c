// SPDX-License-Identifier: Apache-2.0
// Times the loops of peaks_code.c on all usable CPUs at once and takes the best of a few readings: disturbances only
// slow them down. Called by `xsp profile` before a measurement, and by `xsp check`.
#include "experiment/peaks.h"

#include "base/available_memory.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/small_file.h"
#include "experiment/system.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define READINGS 24 // short ones: between two other programs there is often a quiet millisecond
#define READINGS_LEAST 4
#define PATIENCE_S 0.11    // for one kind of reading: where others take the CPUs, fewer must do
#define ROUNDS 2000u       // of arithmetic between two looks at the clock: some microseconds
#define PART_FLOATS 65536u // of the triad between two looks
#define BUFFER_LEAST ((size_t)48 << 20)
#define BUFFER_MOST ((size_t)2 << 30)
#define CACHE_UNKNOWN ((size_t)32 << 20)

const struct peaks_options peaks_usual = {.window_s = 0.002, .buffer_bytes = 0};
const struct peaks_options peaks_quick = {.window_s = 0.0001, .buffer_bytes = (size_t)3 << 20};

struct team {
  const struct peaks_code *code;
  double window_s, until_s; // until_s, is_over: written by one thread between two barriers
  bool is_over;
  size_t floats; // in each of a worker's three arrays
  unsigned count;
  pthread_mutex_t gate;      // closed until all threads that there will be are there
  pthread_barrier_t barrier; // of so many
};
struct worker {
  struct team *team;
  pthread_t thread;
  size_t cpu;
  double flops_per_s[READINGS], bytes_per_s[READINGS]; // 0: not measured
};

static double now_s(void)
{
  return (double)clock_now_ns(CLOCK_MONOTONIC) / 1e9;
}

// ---- one worker ------------------------------------------------------------------------------------------------------
static void keep(float value)
{
  __asm__ volatile("" : : "m"(value) : "memory");
}

static double time_arithmetic(const struct team *team)
{
  double start = now_s();
  double elapsed = 0;
  double rounds = 0;
  do {
    keep(team->code->arithmetic(ROUNDS, 1));
    rounds += ROUNDS;
    elapsed = now_s() - start;
  } while (elapsed < team->window_s);
  return rounds * team->code->flops_per_round / elapsed;
}

// Three numbers of four bytes move for each element: two are read, one is written.
static double time_triad(const struct team *team, float *arrays, size_t *at)
{
  double start = now_s();
  double elapsed = 0;
  double floats = 0;
  do {
    size_t left = team->floats - *at;
    size_t count = left < PART_FLOATS ? left : PART_FLOATS;
    team->code->triad(arrays + *at, arrays + team->floats + *at, arrays + 2 * team->floats + *at, count, 0.5f);
    *at = *at + count == team->floats ? 0 : *at + count;
    floats += (double)count;
    elapsed = now_s() - start;
  } while (elapsed < team->window_s);
  return floats * 3 * sizeof(float) / elapsed;
}

// Waits for the others. False: there have been readings enough.
static bool begin_reading(struct team *team, int reading)
{
  if (pthread_barrier_wait(&team->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
    if (reading == 0)
      team->until_s = now_s() + PATIENCE_S;
    team->is_over = reading == READINGS || (reading >= READINGS_LEAST && now_s() > team->until_s);
  }
  pthread_barrier_wait(&team->barrier);
  return !team->is_over;
}

static void *work(void *context)
{
  struct worker *worker = context;
  struct team *team = worker->team;
  cpu_set_t own;
  CPU_ZERO(&own);
  CPU_SET(worker->cpu, &own);
  sched_setaffinity(0, sizeof own, &own); // this thread alone; where that fails the scheduler spreads them
  pthread_mutex_lock(&team->gate);
  pthread_mutex_unlock(&team->gate);
  for (int i = 0; begin_reading(team, i); i++)
    worker->flops_per_s[i] = time_arithmetic(team);
  size_t bytes = 3 * team->floats * sizeof(float);
  float *arrays = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (arrays != MAP_FAILED) {
    madvise(arrays, bytes, MADV_HUGEPAGE); // where that is not offered, small pages do
    memset(arrays, 0, bytes);              // by the thread that uses it: memory near its CPU
  }
  size_t at = 0;
  for (int i = 0; begin_reading(team, i); i++)
    if (arrays != MAP_FAILED)
      worker->bytes_per_s[i] = time_triad(team, arrays, &at);
  if (arrays != MAP_FAILED)
    munmap(arrays, bytes);
  return NULL;
}

// ---- the caches ------------------------------------------------------------------------------------------------------
// Bytes of a CPU's last-level cache, and which CPUs share it; 0: unknown.
static size_t cache_of(size_t cpu, char *shared, size_t size)
{
  char path[128];
  char line[64];
  for (int index = 5; index >= 0; index--) {
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%zu/cache/index%d/size", cpu, index);
    if (!small_file_line(path, line, sizeof line))
      continue;
    char *unit;
    size_t bytes = strtoull(line, &unit, 10);
    bytes *= *unit == 'K' ? 1024 : *unit == 'M' ? 1024 * 1024 : 1;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%zu/cache/index%d/shared_cpu_list", cpu, index);
    small_file_line(path, shared, size);
    return bytes;
  }
  return 0;
}

// Of all last-level caches that the CPUs have among them. Neighbours in number share, so comparing with the last is enough
// (counting one twice only makes the arrays larger).
static size_t all_caches(const struct worker *workers, unsigned count)
{
  char last[256] = "";
  size_t sum = 0;
  for (unsigned i = 0; i < count; i++) {
    char shared[256] = "";
    size_t bytes = cache_of(workers[i].cpu, shared, sizeof shared);
    if (i == 0 || strcmp(shared, last) != 0)
      sum += bytes;
    memcpy(last, shared, sizeof last);
  }
  return sum > 0 ? sum : CACHE_UNKNOWN;
}

static size_t buffer_size(size_t caches)
{
  uint64_t share = available_memory_bytes() / 4;
  size_t most = share < BUFFER_MOST ? (size_t)share : BUFFER_MOST;
  size_t bytes = 4 * caches > BUFFER_LEAST ? 4 * caches : BUFFER_LEAST;
  return bytes < most ? bytes : most;
}

// ---- all of them -----------------------------------------------------------------------------------------------------
// The CPUs of the affinity mask, no more than the quota lets run at once. Returns how many.
static unsigned make_team(struct team *team, struct worker **ret_workers)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    CPU_SET(0, &set);
  unsigned most = (unsigned)CPU_COUNT(&set);
  double quota = system_cpu_quota();
  if (quota < most)
    most = quota < 1 ? 1 : (unsigned)quota;
  *ret_workers = memory_new(most, sizeof **ret_workers);
  unsigned count = 0;
  for (size_t cpu = 0; cpu < CPU_SETSIZE && count < most; cpu++)
    if (CPU_ISSET(cpu, &set))
      (*ret_workers)[count++] = (struct worker){.team = team, .cpu = cpu};
  return count;
}

static double best(const struct worker *workers, unsigned count, bool of_bytes)
{
  double most = 0;
  for (int i = 0; i < READINGS; i++) {
    double sum = 0;
    for (unsigned k = 0; k < count; k++)
      sum += of_bytes ? workers[k].bytes_per_s[i] : workers[k].flops_per_s[i];
    most = sum > most ? sum : most;
  }
  for (unsigned k = 0; of_bytes && k < count; k++)
    if (workers[k].bytes_per_s[0] == 0) // no memory for one of them
      return NAN;
  return most;
}

// As many threads as can be had; false: none.
static bool run_team(struct team *team, struct worker *workers)
{
  unsigned started = 0;
  pthread_mutex_init(&team->gate, NULL);
  pthread_mutex_lock(&team->gate);
  while (started < team->count && pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
    started++;
  team->count = started;
  if (started > 0)
    pthread_barrier_init(&team->barrier, NULL, started);
  pthread_mutex_unlock(&team->gate);
  for (unsigned i = 0; i < started; i++)
    pthread_join(workers[i].thread, NULL);
  if (started > 0)
    pthread_barrier_destroy(&team->barrier);
  pthread_mutex_destroy(&team->gate);
  return started > 0;
}

void peaks_measure(const struct peaks_options *options, struct peaks *ret_peaks)
{
  struct team team = {.code = peaks_code(), .window_s = options->window_s};
  struct worker *workers;
  double start = now_s();
  *ret_peaks = (struct peaks){.flops_per_s = NAN, .bandwidth_bytes_per_s = NAN, .instructions = team.code->name};
  team.count = make_team(&team, &workers);
  size_t caches = all_caches(workers, team.count);
  size_t bytes = options->buffer_bytes != 0 ? options->buffer_bytes : buffer_size(caches);
  team.floats = bytes / team.count / (3 * sizeof(float)) / PART_FLOATS * PART_FLOATS;
  team.floats = team.floats == 0 ? PART_FLOATS : team.floats;
  if (run_team(&team, workers)) {
    ret_peaks->flops_per_s = best(workers, team.count, false);
    ret_peaks->bandwidth_bytes_per_s = best(workers, team.count, true);
  }
  free(workers);
  ret_peaks->threads = team.count;
  ret_peaks->buffer_bytes = team.floats * 3 * sizeof(float) * team.count;
  ret_peaks->is_beyond_cache = ret_peaks->buffer_bytes > caches;
  ret_peaks->seconds = now_s() - start;
}

bool peaks_wanted(struct peaks_options *ret_options)
{
  const char *wish = getenv("XSP_PEAKS");
  *ret_options = wish != NULL && strcmp(wish, "quick") == 0 ? peaks_quick : peaks_usual;
  return wish == NULL || strcmp(wish, "skip") != 0;
}

size_t peaks_describe(const struct peaks *peaks, struct store_system_value values[PEAKS_VALUES])
{
  size_t count = 0;
  if (!isnan(peaks->flops_per_s))
    values[count++] = system_number("peak_flops_per_s", peaks->flops_per_s);
  if (!isnan(peaks->bandwidth_bytes_per_s) && peaks->is_beyond_cache)
    values[count++] = system_number("memory_bandwidth_bytes_per_s", peaks->bandwidth_bytes_per_s);
  if (count == 0)
    return 0;
  values[count++] = (struct store_system_value){.key = "peak_source", .text = "measured"};
  values[count++] = system_number("peak_threads", peaks->threads);
  values[count++] = (struct store_system_value){.key = "peak_instructions", .text = peaks->instructions};
  return count;
}
