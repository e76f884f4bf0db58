// SPDX-License-Identifier: Apache-2.0
// The driver loads cuda.so when the program initialises CUDA (CUDA_INJECTION64_PATH): before its first context, so that nothing
// is missed, and not at all in programs without CUDA.
#include "tracers/cuda/batches.h"
#include "tracers/cuda/calls.h"
#include "tracers/cuda/choice.h"
#include "tracers/cuda/events.h"
#include "tracers/cuda/graphs.h"
#include "tracers/cuda/launches.h"
#include "tracers/cuda/library.h"
#include "tracers/cuda/pc_sampling.h"
#include "tracers/cuda/pm_sampling.h"
#include "tracers/cuda/probe.h"
#include "tracers/cuda/records.h"
#include "tracers/cuda/stolen.h"
#include "tracers/cuda/subscriber.h"
#include "tracers/cuda/worker.h"
#include "tracers/device/host.h"
#include "tracers/device/worker.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xsp/tracer.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED int InitializeInjection(void);

static const struct xsp_host *host;
static pid_t recording;              // the process that records; 0: none
static _Thread_local bool is_within; // the thread is in a function of this tracer that calls CUPTI
static bool is_cut;                  // exit did not wait long enough

static const struct xsp_tracer_option options[] = {
    {"buffer_kb", "N", "size of a buffer of records (1024); there are at most 256"},
    {"exit_wait_ms", "N", "how long exit may wait for records (2000)"},
    {"sampling_period", "N", "2^N cycles between samples of instructions, 5 to 31 (CUPTI's choice)"},
    {NULL, NULL, NULL},
};

static void say(const char *line)
{
  host_say(host, line);
}

// ---- start
static void callback(void *cupti, uint32_t domain, uint32_t cbid, const void *details)
{
  if (is_within) // by what CUPTI does for us, and we may hold locks
    return;
  is_within = true;
  cuda_events_callback(domain, cbid, details);
  cuda_graphs_callback(cupti, domain, cbid, details);
  cuda_launches_callback(domain, cbid, details);
  cuda_stolen_callback(domain, cbid, details);
  pm_sampling_callback(domain, cbid, details);
  pc_sampling_callback(domain, cbid, details);
  is_within = false;
}

static void finish_launches(void)
{
  is_within = true;
  cuda_launches_finish();
  is_within = false;
}

static void enable(const struct cupti *cupti, const struct cuda_choice *choice)
{
  static const struct {
    enum cupti_kind kind;
    uint32_t activity; // 0: always
    const char *what;
  } kinds[] = {
      {CUPTI_KERNEL, CUDA_KERNEL, "kernels"},
      {CUPTI_MEMCPY, CUDA_MEMCPY, "copies"},
      {CUPTI_MEMCPY_PEER, CUDA_MEMCPY, "copies between devices"},
      {CUPTI_MEMSET, CUDA_MEMSET, "memsets"},
      {CUPTI_SYNCHRONIZATION, CUDA_SYNC, "waits"},
      {CUPTI_MEMORY, CUDA_MEMORY, "allocations"},
      {CUPTI_MEMORY_POOL, CUDA_MEMORY, "pools of memory"},
      {CUPTI_OVERHEAD, 0, "its own overhead"},
      {CUPTI_DEVICE, CUDA_KERNEL, "what devices hold"},
  };
  char line[256];
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (kinds[i].activity != 0 && (kinds[i].activity & choice->activities) == 0)
      continue;
    uint32_t error = subscriber_enable(cupti, kinds[i].kind);
    if (error == CUPTI_OK)
      continue;
    snprintf(line, sizeof line, "CUPTI does not record %s here: error %u", kinds[i].what, error);
    say(line);
  }
  cuda_calls_enable(cupti, choice->calls);
  struct pc_wish samples = {(enum pc_mode)choice->samples, (uint32_t)host_number(host, "sampling_period", 5, 31, 0),
                            say};
  if (choice->samples != CUDA_SAMPLES_NONE && !pm_sampling_is_on()) // a device samples one or the other
    pc_start(cupti, &samples);
}

// The text stays: names of metrics are in it.
static const struct cuda_choice *read_choice(void)
{
  static struct cuda_choice choice;
  const char *given = getenv("XSP_CUDA");
  char line[256];
  if (!cuda_choice_parse(given == NULL ? NULL : strdup(given), &choice, line, sizeof line)) {
    say(line);
    cuda_choice_parse(NULL, &choice, line, sizeof line);
  }
  return &choice;
}

// Each line once: most are the same for several contexts, and for several executions in one process. Any thread.
static void say_once(const char *line)
{
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static char *said[32];
  size_t i = 0;
  pthread_mutex_lock(&lock);
  while (i < 32 && said[i] != NULL && strcmp(said[i], line) != 0)
    i++;
  bool is_new = i < 32 && said[i] == NULL;
  if (is_new)
    said[i] = strdup(line);
  pthread_mutex_unlock(&lock);
  if (is_new)
    say(line);
}

// At a level set with metrics. False: there are none, or they are sampled, and kernels are recorded as ever.
static bool measure(const struct cupti *cupti, const char *file, const struct cuda_choice *choice)
{
  static struct cupti_profiler profiler;
  const char *execution = getenv("XSP_METRICS");
  char why[256] = "this libcupti has no callbacks", line[300];
  if (execution == NULL)
    return false;
  if (cupti->enable_callback == NULL || !host_profiler_load(file, &profiler, why, sizeof why)) {
    snprintf(line, sizeof line, "no metrics: %s", why);
    say(line);
    return false;
  }
  if (choice->collect == CUDA_COLLECT_SAMPLING) {
    pm_sampling_start(cupti, &(struct pm_wish){&profiler, choice, say_once});
    return false;
  }
  struct ranges_wish wish = {&profiler, choice, strtoul(execution, NULL, 10), say_once};
  cuda_launches_start(cupti, &wish);
  return true;
}

static void lost(uint64_t records)
{
  host_lost(host, records);
}

static void at_exit(void)
{
  if (recording == getpid())
    is_cut = !cuda_worker_finish();
}

static void record(void)
{
  static struct cupti cupti;
  const char *file = "libcupti";
  char why[256] = "", line[512];
  const struct cuda_choice *choice = read_choice();
  bool may_share = getenv("XSP_METRICS") == NULL && choice->samples == CUDA_SAMPLES_NONE;
  struct worker_options wishes = {host_number(host, "buffer_kb", 64, 65536, 1024) * 1024,
                                  host_number(host, "exit_wait_ms", 0, 600000, 2000) * 1000000,
                                  pm_sampling_period_ns(choice), lost, finish_launches};
  if (!cuda_library_find(&cupti, &file, why, sizeof why) ||
      !cuda_subscriber_start(&cupti, callback, may_share, why, sizeof why) ||
      !cuda_worker_start(&cupti, &wishes, why, sizeof why)) {
    snprintf(line, sizeof line, "kernels are not recorded: %s: %s", file, why);
    say(line);
    return;
  }
  recording = getpid();
  cuda_graphs_start(&cupti);
  if (may_share) // callbacks of launches serve metrics and samples there
    cuda_events_start(&cupti);
  if (!measure(&cupti, file, choice)) {
    enable(&cupti, choice);
    if ((choice->activities & CUDA_KERNEL) != 0 && !cupti.is_one_of_several)
      cuda_stolen_start(&cupti);
  }
  atexit(at_exit); // before CUPTI's own, which were registered earlier
}

// Of a process that loads this file at its start, as a model's does: the driver is told about it now. Where the driver has
// loaded it, the variable is there.
static int start(const struct xsp_host *started_by)
{
  Dl_info own;
  host = started_by;
  if (dladdr((void *)(uintptr_t)InitializeInjection, &own) != 0 && own.dli_fname != NULL)
    setenv("CUDA_INJECTION64_PATH", own.dli_fname, 0);
  return 0;
}

static void flush(void)
{
  if (recording == getpid()) {
    finish_launches();
    pc_ask();
    device_worker_flush();
  }
}

// The driver waits for this; whatever happens here, the program goes on.
int InitializeInjection(void)
{
  static uint32_t calls;
  if (__atomic_fetch_add(&calls, 1, __ATOMIC_ACQ_REL) != 0)
    return 1;
  xsp_attach(NULL);
  (void)xsp_tracer_join(xsp_tracer_entry(NULL));
  if ((xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_KERNEL)) != 0)
    record();
  return 1;
}

// ---- the report at the end
static void say_overhead(void)
{
  static const char *const names[OVERHEADS] = {"in the driver's compiler and other work",
                                               "giving buffers back",
                                               "instrumenting kernels",
                                               "in its resources",
                                               "loading modules at first use",
                                               "loading functions at first use",
                                               "waiting for room in the device's commands",
                                               "asking for buffers",
                                               "beginning to record managed memory"};
  char line[200];
  for (uint32_t i = 0; i < OVERHEADS; i++)
    if (cuda_record_counts.overhead_ns[i] != 0) {
      snprintf(line, sizeof line, "CUPTI reports %.3f ms %s", (double)cuda_record_counts.overhead_ns[i] / 1e6,
               names[i]);
      say(line);
    }
}

static void say_samples(void)
{
  char line[200];
  if (pm_counts.kernels != 0) {
    snprintf(line, sizeof line, "%llu of %llu kernels have metrics%s", (unsigned long long)pm_counts.sampled,
             (unsigned long long)pm_counts.kernels,
             pm_counts.sampled == pm_counts.kernels
                 ? ""
                 : ": during the others there was no sample in which nothing else ran (--cuda interval_us)");
    say(line);
  }
  host_say_count(host, pm_counts.doubted,
                 "kernels have no metrics: records were lost, so what ran beside them is not known");
  host_say_count(host, pm_counts.overflows,
                 "times samples were lost: the device's buffer for them was full (--cuda interval_us)");
  host_say_count(host, pm_counts.lost,
                 "samples were lost: more came at a time than there is room for (--cuda interval_us)");
  host_say_count(host, pm_counts.foreign, "samples were not used: their times are not of this run");
  host_say_count(host, pm_counts.late,
                 "samples are in metrics of a kernel though another ran beside it, whose end came later");
}

static void stop(void)
{
  if (recording != getpid())
    return;
  if (is_cut)
    say("exit did not wait longer for records of the device: the last are missing (option exit_wait_ms)");
  if (cuda_records_are_stolen())
    host_say(host,
             pm_sampling_is_on()
                 ? "kernels are missing: CUPTI gave no records while it sampled counters, or another tool took them"
                 : "another tool took CUPTI's records while the program ran (torch.profiler?): kernels are "
                   "missing from then on");
  host_say_count(host, cuda_worker_counts.dropped,
                 "records were dropped by CUPTI: the program launches faster than they are read");
  host_say_count(host, cuda_worker_counts.refused_buffers, "times no buffer was free (option buffer_kb)");
  host_say_count(host, cuda_record_counts.without_times,
                 "records without times: the device's buffers were full; they have a launch and no execution");
  host_say_count(host, cuda_record_counts.unreadable, "records could not be read");
  host_say_count(host, cuda_record_counts.buffers_in_part,
                 "buffers were read in part: CUPTI does not know one of its own records");
  host_say_count(host, cuda_batch_counts.unmatched,
                 "kernels have no metrics: CUPTI measured other ranges than were launched");
  host_say_count(host, cuda_batch_counts.failed, "kernels have no metrics: CUPTI could not compute them");
  host_say_count(host, cuda_launch_counts.cooperating, "kernels have no metrics: they wait for others (NCCL, NVSHMEM)");
  host_say_count(host, cuda_launch_counts.unknown_graphs,
                 "launches of graphs have no metrics: which kernels they run, or in which order, is not known");
  host_say_count(host, cuda_launch_counts.in_capture, "kernels have no metrics: they ran while a stream was captured");
  say_samples();
  pc_sampling_say(host);
  say_overhead();
}

static const struct xsp_tracer tracer = {
    .size = sizeof tracer,
    .level_mask = XSP_LEVEL_MASK(XSP_LEVEL_KERNEL) | XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY),
    .name = CUDA_TRACER,
    .summary = "kernels, copies, waits and calls of CUDA, by NVIDIA's CUPTI",
    .options = options,
    .probe = cuda_probe,
    .start = start,
    .flush = flush,
    .stop = stop,
};

EXPORTED const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *loaded_by)
{
  return &tracer;
}
