// SPDX-License-Identifier: Apache-2.0
// itt.so: a collector for the Instrumentation and Tracing Technology API. Every module (shared object or program) that was
// built with it has a static part of its own; at its first call each looks into INTEL_LIBITTNOTIFY64, opens this file
// and calls __itt_api_init with its table of functions. Functions of the API that are not in the list below keep what
// the module does without a collector: mostly nothing, at the cost of a test.
//
// A guest: called under the module's own mutex at first, afterwards from any thread; never fails towards the program.
#include "tracers/itt/itt.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(offsetof(struct itt_global, mutex) == 56 && offsetof(struct itt_slot, group) == 32,
               "the vendor's layout");
_Static_assert(sizeof(struct itt_domain) == 48 && sizeof(struct itt_string) == 40, "the vendor's layout");

XSP_API void __itt_api_init(struct itt_global *global, int groups);
XSP_API void __itt_api_fini(struct itt_global *global);

static uint32_t paused_levels; // atomic: what was on before a pause, with bit 31 set; 0: not paused
#define IS_PAUSED (UINT32_C(1) << 31)

// ---- handles
static struct itt_domain *domain_create(const char *name)
{
  struct itt_name *domain = name == NULL ? NULL : itt_name(ITT_NAME_DOMAIN, name, NULL, 0);
  return domain == NULL ? NULL : &domain->shared.domain;
}

static struct itt_string *string_handle_create(const char *text)
{
  struct itt_name *string = text == NULL ? NULL : itt_name(ITT_NAME_STRING, text, NULL, 0);
  return string == NULL ? NULL : &string->shared.string;
}

// ---- tasks
static const struct itt_id none = {0, 0, 0};

static void task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent, struct itt_string *name)
{
  itt_task_begin_at(domain, 0, &id, &parent, name);
}

static void task_begin_ex(const struct itt_domain *domain, struct itt_clock_domain *clock, itt_stamp stamp,
                          struct itt_id id, struct itt_id parent, struct itt_string *name)
{
  itt_task_begin_at(domain, itt_ticks(clock, stamp), &id, &parent, name);
}

// A task may be named by a function: its symbol where there is one.
static struct itt_string *function_name(void *function)
{
  int saved_errno = errno;
  Dl_info info;
  char address[32];
  const char *name = address;
  if (function != NULL && dladdr(function, &info) != 0 && info.dli_sname != NULL)
    name = info.dli_sname;
  else
    snprintf(address, sizeof address, "%p", function);
  struct itt_string *string = string_handle_create(name);
  errno = saved_errno;
  return string;
}

static void task_begin_fn(const struct itt_domain *domain, struct itt_id id, struct itt_id parent, void *function)
{
  itt_task_begin_at(domain, 0, &id, &parent, function_name(function));
}

static void task_begin_fn_ex(const struct itt_domain *domain, struct itt_clock_domain *clock, itt_stamp stamp,
                             struct itt_id id, struct itt_id parent, void *function)
{
  itt_task_begin_at(domain, itt_ticks(clock, stamp), &id, &parent, function_name(function));
}

static void task_end(const struct itt_domain *domain)
{
  itt_task_end_at(domain, 0);
}

static void task_end_ex(const struct itt_domain *domain, struct itt_clock_domain *clock, itt_stamp stamp)
{
  itt_task_end_at(domain, itt_ticks(clock, stamp));
}

static void task_group(const struct itt_domain *domain, struct itt_id id, struct itt_id parent, struct itt_string *name)
{
  itt_group_begin(id, itt_text_of(name));
}

static void id_destroy(const struct itt_domain *domain, struct itt_id id)
{
  itt_group_end(id);
}

static void id_destroy_ex(const struct itt_domain *domain, struct itt_clock_domain *clock, itt_stamp stamp,
                          struct itt_id id)
{
  itt_group_end(id);
}

// ---- ranges
static void begin_range(enum itt_range_kind kind, const struct itt_domain *domain, uint64_t start, struct itt_id id,
                        struct itt_id parent, struct itt_string *name)
{
  struct itt_use storage;
  const struct itt_use *use = itt_use_of(domain, name, &storage);
  itt_range_begin(kind, domain, id, start, parent, use->annotation, use->text);
}

static void task_begin_overlapped(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                                  struct itt_string *name)
{
  begin_range(ITT_RANGE_TASK, domain, 0, id, parent, name);
}

static void task_begin_overlapped_ex(const struct itt_domain *domain, struct itt_clock_domain *clock, itt_stamp stamp,
                                     struct itt_id id, struct itt_id parent, struct itt_string *name)
{
  begin_range(ITT_RANGE_TASK, domain, itt_ticks(clock, stamp), id, parent, name);
}

static void task_end_overlapped(const struct itt_domain *domain, struct itt_id id)
{
  itt_range_end(ITT_RANGE_TASK, domain, id, 0);
}

static void task_end_overlapped_ex(const struct itt_domain *domain, struct itt_clock_domain *clock, itt_stamp stamp,
                                   struct itt_id id)
{
  itt_range_end(ITT_RANGE_TASK, domain, id, itt_ticks(clock, stamp));
}

static void region_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                         struct itt_string *name)
{
  begin_range(ITT_RANGE_REGION, domain, 0, id, parent, name);
}

static void region_end(const struct itt_domain *domain, struct itt_id id)
{
  itt_range_end(ITT_RANGE_REGION, domain, id, 0);
}

static void frame_begin(const struct itt_domain *domain, const struct itt_id *id)
{
  const char *name = domain == NULL || domain->name == NULL ? "(unnamed)" : domain->name;
  itt_range_begin(ITT_RANGE_FRAME, domain, id == NULL ? none : *id, 0, none, itt_frame_annotation(domain), name);
}

static void frame_end(const struct itt_domain *domain, const struct itt_id *id)
{
  itt_range_end(ITT_RANGE_FRAME, domain, id == NULL ? none : *id, 0);
}

static void frame_submit(const struct itt_domain *domain, const struct itt_id *id, itt_stamp begin, itt_stamp end)
{
  itt_frame_emit(itt_frame_annotation(domain), begin, end == ITT_STAMP_NOW ? xsp_clock_ticks() : end);
}

static void relation_add(const struct itt_domain *domain, struct itt_id head, int relation, struct itt_id tail)
{
  bool is_kept = relation == ITT_RELATION_CHILD_OF    ? itt_task_set_parent(head, tail)
                 : relation == ITT_RELATION_PARENT_OF ? itt_task_set_parent(tail, head)
                                                      : false;
  if (!is_kept)
    itt_lose(ITT_LOSS_RELATION);
}

// ---- threads, control
static void thread_set_name(const char *name)
{
  if (name != NULL)
    xsp_thread_name(name);
}

static int thr_name_set(const char *name, int length)
{
  char text[256];
  if (name == NULL || length < 0)
    return 0;
  snprintf(text, sizeof text, "%.*s", length < 255 ? length : 255, name);
  xsp_thread_name(text);
  return 0;
}

// Of this tracer, in all processes of the session. What is on is remembered, so that a resume switches on no more.
static void pause_collection(void)
{
  uint32_t running = 0, now = xsp_tracer_levels(ITT_TRACER) | IS_PAUSED;
  if (__atomic_compare_exchange_n(&paused_levels, &running, now, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    xsp_tracer_set_levels(ITT_TRACER, 0);
}

static void resume_collection(void)
{
  uint32_t before = __atomic_exchange_n(&paused_levels, 0, __ATOMIC_ACQ_REL);
  if (before != 0)
    xsp_tracer_set_levels(ITT_TRACER, before & XSP_LEVEL_MASK_ALL);
}

static void pause_scoped(int scope)
{
  pause_collection();
}

static void resume_scoped(int scope)
{
  resume_collection();
}

static const char *api_version(void)
{
  return "xsp";
}

// ---- the table
static const struct itt_function functions[] = {
    ITT_FUNCTION(api_version),
    ITT_FUNCTION_AS(clock_domain_create, itt_clock_domain_create),
    ITT_FUNCTION_AS(clock_domain_reset, itt_clock_domain_reset),
    ITT_FUNCTION_AS(detach, pause_collection),
    ITT_FUNCTION(domain_create),
    ITT_FUNCTION_AS(frame_begin_v3, frame_begin),
    ITT_FUNCTION_AS(frame_end_v3, frame_end),
    ITT_FUNCTION_AS(frame_submit_v3, frame_submit),
    ITT_FUNCTION_AS(get_timestamp, itt_get_timestamp),
    ITT_FUNCTION(id_destroy),
    ITT_FUNCTION(id_destroy_ex),
    ITT_FUNCTION_AS(pause, pause_collection),
    ITT_FUNCTION(pause_scoped),
    ITT_FUNCTION(region_begin),
    ITT_FUNCTION(region_end),
    ITT_FUNCTION(relation_add),
    ITT_FUNCTION_AS(resume, resume_collection),
    ITT_FUNCTION(resume_scoped),
    ITT_FUNCTION(string_handle_create),
    ITT_FUNCTION(task_begin),
    ITT_FUNCTION(task_begin_ex),
    ITT_FUNCTION(task_begin_fn),
    ITT_FUNCTION(task_begin_fn_ex),
    ITT_FUNCTION(task_begin_overlapped),
    ITT_FUNCTION(task_begin_overlapped_ex),
    ITT_FUNCTION(task_end),
    ITT_FUNCTION(task_end_ex),
    ITT_FUNCTION(task_end_overlapped),
    ITT_FUNCTION(task_end_overlapped_ex),
    ITT_FUNCTION(task_group),
    ITT_FUNCTION(thr_name_set),
    ITT_FUNCTION(thread_set_name),
    {NULL, NULL},
};
#define SLOTS_MOST 4096

// Searched from one end: it is done once a module.
static void *function_of(const char *name)
{
  const struct itt_function *const lists[] = {functions, itt_value_functions};
  for (size_t list = 0; list < sizeof lists / sizeof lists[0]; list++)
    for (const struct itt_function *one = lists[list]; one->name != NULL; one++)
      if (strcmp(one->name, name) == 0)
        return one->function;
  return NULL;
}

static void fill(const struct itt_global *global, bool is_recording)
{
  struct itt_slot *slot = global->slots;
  for (size_t i = 0; slot != NULL && i < SLOTS_MOST && slot->name != NULL; i++, slot++) {
    void *function = is_recording ? function_of(slot->name) : NULL;
    if (slot->function != NULL) // the module's threads may be reading it
      __atomic_store_n(slot->function, function != NULL ? function : slot->absent, __ATOMIC_RELEASE);
  }
}

static void start_parts(void)
{
  annotations_start(ITT_TRACER);
  itt_clock_start();
  itt_tasks_start();
}

// From either entrance, and from the first calls of several modules at once.
static void start_once(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, start_parts);
}

// Without a session the module works as it does without a collector.
void __itt_api_init(struct itt_global *global, int groups)
{
  int saved_errno = errno;
  if (global != NULL && memcmp(global->magic, ITT_MAGIC, sizeof global->magic) == 0 && global->major == 3 &&
      global->build >= ITT_BUILD_OLDEST) {
    bool is_recording = xsp_attach(NULL) == 0;
    if (is_recording) {
      start_once();
      (void)xsp_tracer_join(xsp_tracer_entry(NULL));
    }
    fill(global, is_recording);
  }
  errno = saved_errno;
}

// The module empties its table itself. Its handles may go with it, ours stay.
void __itt_api_fini(struct itt_global *global)
{
}

// ---- as a tracer of xsp
static const char variable[] = "INTEL_LIBITTNOTIFY64";
static const struct xsp_host *started_by;

static bool is_this_file(const char *path)
{
  Dl_info info;
  struct stat here, there;
  void *inside = (void *)(uintptr_t)__itt_api_init;
  return dladdr(inside, &info) != 0 && stat(info.dli_fname, &here) == 0 && stat(path, &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

static int probe(const struct xsp_host *host, char *why, size_t why_size)
{
  const char *path = getenv(variable);
  if (host->size > offsetof(struct xsp_host, found) && host->found != NULL)
    host->found(host, "the API's static part in each program and library", NULL);
  if (path == NULL || *path == '\0' || is_this_file(path))
    return 0;
  snprintf(why, why_size, "%s names another collector: %s", variable, path);
  if (host->size > offsetof(struct xsp_host, advise) && host->advise != NULL)
    host->advise(host, "unset INTEL_LIBITTNOTIFY64");
  return -EBUSY;
}

static int start(const struct xsp_host *host)
{
  started_by = host;
  start_once();
  annotations_host(host);
  const char *path = getenv(variable);
  if (path == NULL || *path == '\0')
    host->say(host, "INTEL_LIBITTNOTIFY64 is not set: programs will not find this collector");
  return 0;
}

static void stop(void)
{
  static const char *const reasons[ITT_LOSSES] = {
      [ITT_LOSS_END] = "ends without a begin",
      [ITT_LOSS_DEEP] = "tasks nested too deeply",
      [ITT_LOSS_RANGE] = "ranges beyond those that may be open at once",
      [ITT_LOSS_TIME] = "intervals whose times cannot be",
      [ITT_LOSS_METADATA] = "metadata of nothing that is open",
      [ITT_LOSS_RELATION] = "relations that name no open parent",
      [ITT_LOSS_NAME] = "names beyond the limit",
  };
  char line[512] = "left out:";
  size_t used = strlen(line), empty = used;
  for (int i = 0; i < ITT_LOSSES; i++) {
    uint64_t count = itt_lost((enum itt_loss)i);
    if (count == 0 || used >= sizeof line)
      continue;
    used += (size_t)snprintf(line + used, sizeof line - used, "%s %" PRIu64 " %s", used == empty ? "" : ",", count,
                             reasons[i]);
  }
  if (used != empty)
    started_by->say(started_by, line);
}

static const struct xsp_tracer tracer = {
    .size = sizeof tracer,
    .level_mask = XSP_LEVEL_MASK(XSP_LEVEL_APPLICATION) | XSP_LEVEL_MASK(XSP_LEVEL_MODEL) |
                  XSP_LEVEL_MASK(XSP_LEVEL_LAYER) | XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY),
    .name = ITT_TRACER,
    .summary = "tasks, frames, regions and counters of programs and libraries that announce them by ITT",
    .probe = probe,
    .start = start,
    .stop = stop,
};

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *host)
{
  return &tracer;
}
