// SPDX-License-Identifier: Apache-2.0
// The program's first call of HIP or HSA loads rocprofiler-sdk, which loads rocm.so (ROCP_TOOL_LIBRARIES) before that call goes on:
// so nothing is missed, and programs without ROCm never load it.
#include "tracers/annotations/annotations.h"
#include "tracers/device/host.h"
#include "tracers/device/worker.h"
#include "tracers/rocm/agents.h"
#include "tracers/rocm/calls.h"
#include "tracers/rocm/events.h"
#include "tracers/rocm/graphs.h"
#include "tracers/rocm/library.h"
#include "tracers/rocm/markers.h"
#include "tracers/rocm/probe.h"
#include "tracers/rocm/reader.h"
#include "tracers/rocm/records.h"
#include "tracers/rocm/samples.h"
#include "tracers/rocm/symbols.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xsp/tracer.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED struct rocm_tool *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority, void *client);

static const struct xsp_host *host;
static struct rocm rocm;
static pid_t recording; // the process that records; 0: none
static bool is_cut;     // exit did not wait long enough

static const struct xsp_tracer_option options[] = {
    {"api", "WORD",
     "calls: some (those that launch, copy, wait, allocate, load code), all, hsa (all, and HSA's), none"},
    {"metrics", "NAME+NAME", "of level sets with metrics: xsp (default), counters of rocprofiler-sdk"},
    {"samples", "WORD", "instructions: none (default), host, stochastic, any (stochastic where the GPU has it)"},
    {"sampling_interval", "N", "of samples: microseconds (host, 100), cycles (stochastic, 2^20)"},
    {"buffer_kb", "N", "size of a buffer of records (1024); there are at most 256"},
    {"exit_wait_ms", "N", "how long exit may wait for records (2000)"},
    {NULL, NULL, NULL},
};

static void say(const char *line)
{
  host_say(host, line);
}

static void lost(uint64_t records)
{
  host_lost(host, records);
}

static void say_not(const char *reason)
{
  char line[512];
  snprintf(line, sizeof line, "nothing is recorded: %s", reason);
  say(line);
}

// ---- what rocprofiler-sdk calls
static bool trace_events(struct rocm_id context, const char *wanted, const uint32_t *operations, size_t count,
                         rocm_event_callback *callback)
{
  const char *name = NULL;
  for (uint32_t kind = 1; rocm.callback_kind_name(kind, &name, NULL) == ROCM_OK; kind++)
    if (name != NULL && strcmp(name, wanted) == 0)
      return rocm.trace_by_callback(context, kind, operations, count, callback, &rocm) == ROCM_OK;
  return false;
}

static void watch_graphs(struct rocm_id context)
{
  uint32_t *operations = NULL;
  size_t count = 0;
  if (rocm_graphs_wanted(&rocm, &operations, &count))
    trace_events(context, ROCM_HIP, operations, count, rocm_graphs_note);
  free(operations);
}

// For clients of <xsp/monitor.h>; else for graphs: a kind of callbacks has one user.
static void report_calls(struct rocm_id context, enum rocm_calls choice)
{
  uint32_t *operations = NULL;
  size_t count = 0;
  if (!rocm_events_wanted(&rocm, choice, &operations, &count)) {
    watch_graphs(context);
    return;
  }
  if (!trace_events(context, ROCM_HIP, operations, count, rocm_events_note))
    say("rocprofiler-sdk does not report calls here: clients of xsp/monitor.h get none");
  free(operations);
}

// At a level set with metrics.
static void measure(struct rocm_id context)
{
  const char *execution = getenv("XSP_METRICS");
  char why[128], line[160];
  if (execution == NULL)
    return;
  struct metrics_wish wish = {host_option(host, "metrics"), strtoul(execution, NULL, 10), say,
                              rocm_records_publish_measured};
  if (rocm_metrics_start(&rocm, context, &wish, why, sizeof why))
    return;
  snprintf(line, sizeof line, "no metrics: %s", why);
  say(line);
}

static void sample(struct rocm_id context, struct rocm_id buffer)
{
  static const char *const words[] = {"none", "host", "stochastic", "any"};
  const char *word = host_option(host, "samples");
  size_t place = 0;
  while (word != NULL && place < 4 && strcmp(word, words[place]) != 0)
    place++;
  if (place == 4)
    say("samples is none, host, stochastic or any; none are taken");
  else if (place > 0 && getenv("XSP_METRICS") != NULL)
    say("instructions are not sampled at a level set with metrics: rocprofiler-sdk does one or the other");
  else if (place > 0)
    rocm_samples_start(&rocm, context, buffer, word, host_number(host, "sampling_interval", 0, INT64_MAX, 0), say);
}

static void note_code(const struct rocm_event *event, void *user_data, void *data)
{
  const struct rocm_event_end *end = rocm_event_end(data, event);
  if (rocm_samples_are_on() && end->phase == ROCM_PHASE_LOAD && end->payload != NULL)
    rocm_samples_note_code(end->operation, end->payload);
  rocm_symbols_note(event, user_data, data);
}

static bool trace_records(struct rocm_id context, char *why, size_t why_size)
{
  static const uint32_t code[] = {ROCM_CODE_KERNEL, ROCM_CODE_LOADED};
  struct rocm_id buffer = {0};
  enum rocm_calls choice;
  struct reader_options wishes = {host_number(host, "buffer_kb", 64, 65536, 1024) * 1024,
                                  host_number(host, "exit_wait_ms", 0, 600000, 2000) * 1000000, lost};
  if (!rocm_calls_choice(host_option(host, "api"), &choice))
    say("api is some, all, hsa or none; some is taken");
  rocm_agents_find(&rocm);
  if (!rocm_reader_start(&rocm, context, &wishes, &buffer, why, why_size))
    return false;
  sample(context, buffer);
  if (!trace_events(context, "CODE_OBJECT", code, rocm_samples_are_on() ? 2 : 1, note_code))
    say("rocprofiler-sdk does not report loaded code: kernels have no names");
  report_calls(context, choice);
  measure(context);
  rocm_records_enable(&rocm, context, buffer, choice, say);
  recording = getpid();
  return true;
}

static int initialize(rocm_finalize_client *finalize, void *data)
{
  struct rocm_id context = {0};
  char why[256] = "rocprofiler_create_context refuses";
  bool has_kernels = (xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_KERNEL)) != 0;
  if (rocm.create_context(&context) != ROCM_OK || (has_kernels && !trace_records(context, why, sizeof why))) {
    say_not(why);
    return -1;
  }
  if (!trace_events(context, "MARKER_CORE_API", NULL, 0, rocm_markers_note))
    say("rocprofiler-sdk does not report ROCTx here");
  int error = rocm.start_context(context);
  if (error == ROCM_OK)
    return 0;
  snprintf(why, sizeof why, "rocprofiler_start_context: error %d", error);
  say_not(why);
  recording = 0;
  return -1;
}

// At exit, after the device has ended all its work.
static void finalize(void *data)
{
  if (recording == getpid())
    is_cut = !device_worker_finish();
}

static bool find_caller(void *caller, uint32_t version, char *why, size_t why_size)
{
  Dl_info info;
  void *library = dladdr(caller, &info) != 0 ? dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD) : NULL;
  snprintf(why, why_size, "rocprofiler_configure was not called by a library");
  return library != NULL && rocm_library_find(library, version, &rocm, why, why_size);
}

// By the process's rocprofiler-sdk, once. NULL: nothing is recorded.
struct rocm_tool *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority, void *client)
{
  static uint32_t calls;
  static struct rocm_tool tool = {sizeof tool, initialize, finalize, NULL};
  char why[256];
  if (__atomic_fetch_add(&calls, 1, __ATOMIC_ACQ_REL) != 0)
    return NULL;
  xsp_attach(NULL);
  annotations_start(ROCM_TRACER);
  (void)xsp_tracer_join(xsp_tracer_entry(NULL));
  if (xsp_session_levels() == 0)
    return NULL;
  if (find_caller(__builtin_return_address(0), version, why, sizeof why))
    return &tool;
  say_not(why);
  return NULL;
}

// ---- what xsp calls
// A process that loads this file at its start, as a model's does, may use ROCm later: so the variable is set now. The list ends
// with ':', since rocprofiler-sdk leaves out what follows the last one.
static int start(const struct xsp_host *started_by)
{
  Dl_info own;
  const char *others = getenv("ROCP_TOOL_LIBRARIES");
  char list[2 * PATH_MAX];
  host = started_by;
  annotations_start(ROCM_TRACER);
  annotations_host(host);
  if (dladdr((void *)(uintptr_t)rocprofiler_configure, &own) == 0 || own.dli_fname == NULL ||
      (others != NULL && strstr(others, own.dli_fname) != NULL))
    return 0;
  if (snprintf(list, sizeof list, "%s:%s%s", own.dli_fname, others != NULL ? others : "",
               others != NULL && *others != '\0' ? ":" : "") < (int)sizeof list)
    setenv("ROCP_TOOL_LIBRARIES", list, 1);
  return 0;
}

static void flush(void)
{
  if (recording == getpid()) {
    rocm_samples_ask();
    device_worker_flush();
    rocm_metrics_next();
  }
}

// Other threads count on where exit did not wait for them.
static void say_count(const uint64_t *count, const char *what)
{
  host_say_count(host, __atomic_load_n(count, __ATOMIC_RELAXED), what);
}

static void stop(void)
{
  say_count(&rocm_markers_lost, "ranges of ROCTx were not recorded: too many were open");
  if (recording != getpid())
    return;
  if (is_cut)
    say("exit did not wait longer for records of the device: the last are missing (option exit_wait_ms)");
  say_count(&rocm_reader_counts.dropped, "records were dropped by rocprofiler-sdk");
  say_count(&rocm_reader_counts.without_room,
            "records were dropped: the program launches faster than they are read (buffer_kb)");
  say_count(&rocm_samples_lost, "samples of instructions had no room, or are of no kernel that is known");
  say_count(&rocm_record_counts.without_times, "records without times: they have a launch and no execution");
  say_count(&rocm_record_counts.unreadable, "records could not be read");
}

static const struct xsp_tracer tracer = {
    .size = sizeof tracer,
    .level_mask = XSP_LEVEL_MASK_ALL,
    .name = ROCM_TRACER,
    .summary = "kernels, copies, calls and ranges of ROCm, by AMD's rocprofiler-sdk",
    .options = options,
    .probe = rocm_probe,
    .start = start,
    .flush = flush,
    .stop = stop,
};

EXPORTED const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *loaded_by)
{
  return &tracer;
}
