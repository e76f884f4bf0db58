// SPDX-License-Identifier: Apache-2.0
// itt.so: a collector for the Instrumentation and Tracing Technology API. Every module (shared object or program) that was
// built with it has a static part of its own; at its first call each looks into INTEL_LIBITTNOTIFY64, opens this file
// and calls __itt_api_init with its table of functions. Functions of the API that stand not in the list below keep what
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
  itt_range_emit(itt_frame_annotation(domain), begin, end == ITT_STAMP_NOW ? xsp_clock_ticks() : end);
}

// ---- metadata
// Said of the current task where there is none (as OpenMP's runtime does, of the process), it is an instant.
static void add_tags(const struct itt_domain *domain, const struct itt_id *id, const struct itt_string *key,
                     const struct annotation_tags *tags)
{
  bool is_of_current = id == NULL || (id->d1 | id->d2 | id->d3) == 0;
  if (itt_task_tag(domain, id, tags))
    return;
  if (is_of_current) {
    struct xsp_span span = itt_instant(itt_text_of(key), domain == NULL ? NULL : domain->name, 0);
    annotation_tags_put(tags, &span);
  } else if (!itt_range_tag(domain, *id, tags)) {
    itt_lose(ITT_LOSS_METADATA);
  }
}

static void add_values(const struct itt_domain *domain, const struct itt_id *id, const struct itt_string *key, int type,
                       size_t count, const void *data)
{
  struct annotation_tags tags;
  annotation_tags_clear(&tags);
  if (count == 0)
    return;
  if (itt_metadata_read(&tags, itt_text_of(key), type, count, data))
    add_tags(domain, id, key, &tags);
  else
    itt_lose(ITT_LOSS_METADATA);
}

static void add_text(const struct itt_domain *domain, const struct itt_id *id, const struct itt_string *key,
                     const char *text, size_t length)
{
  struct annotation_tags tags;
  annotation_tags_clear(&tags);
  if (text == NULL) {
    itt_lose(ITT_LOSS_METADATA);
    return;
  }
  annotation_tags_text(&tags, itt_text_of(key), text, strnlen(text, length < 65535 ? length : 65535)); // -1: to its NUL
  add_tags(domain, id, key, &tags);
}

static void metadata_add(const struct itt_domain *domain, struct itt_id id, struct itt_string *key, int type,
                         size_t count, void *data)
{
  add_values(domain, &id, key, type, count, data);
}

static void metadata_str_add(const struct itt_domain *domain, struct itt_id id, struct itt_string *key,
                             const char *text, size_t length)
{
  add_text(domain, &id, key, text, length);
}

// Of scopes, only that of the current task is something that is recorded.
static void metadata_add_with_scope(const struct itt_domain *domain, int scope, struct itt_string *key, int type,
                                    size_t count, void *data)
{
  if (scope == ITT_SCOPE_TASK)
    add_values(domain, NULL, key, type, count, data);
  else
    itt_lose(ITT_LOSS_METADATA);
}

static void metadata_str_add_with_scope(const struct itt_domain *domain, int scope, struct itt_string *key,
                                        const char *text, size_t length)
{
  if (scope == ITT_SCOPE_TASK)
    add_text(domain, NULL, key, text, length);
  else
    itt_lose(ITT_LOSS_METADATA);
}

static void relation_add(const struct itt_domain *domain, struct itt_id head, int relation, struct itt_id tail)
{
  bool is_kept = relation == ITT_RELATION_CHILD_OF    ? itt_task_set_parent(head, tail)
                 : relation == ITT_RELATION_PARENT_OF ? itt_task_set_parent(tail, head)
                                                      : false;
  if (!is_kept)
    itt_lose(ITT_LOSS_RELATION);
}

// ---- counters, markers, events
static struct itt_counter *counter_create_typed(const char *name, const char *domain, int type)
{
  struct itt_name *counter = name == NULL ? NULL : itt_name(ITT_NAME_COUNTER, name, domain, type);
  return counter == NULL ? NULL : &counter->shared.counter;
}

static struct itt_counter *counter_create(const char *name, const char *domain)
{
  return counter_create_typed(name, domain, ITT_TYPE_U64);
}

static struct itt_counter *counter_create_v3(const struct itt_domain *domain, const char *name, int type)
{
  return counter_create_typed(name, domain == NULL ? NULL : domain->name, type);
}

static void counter_inc(struct itt_counter *counter)
{
  itt_counter_add(counter, 1);
}

static void counter_dec(struct itt_counter *counter)
{
  itt_counter_add(counter, -1);
}

static void counter_inc_delta(struct itt_counter *counter, unsigned long long delta)
{
  itt_counter_add(counter, (int64_t)delta);
}

static void counter_dec_delta(struct itt_counter *counter, unsigned long long delta)
{
  itt_counter_add(counter, (int64_t)(0 - delta));
}

static void add_by_handle(const struct itt_domain *domain, const struct itt_string *name, int64_t delta)
{
  struct itt_name *counter = itt_counter_by_handle(domain, name);
  itt_counter_add(counter == NULL ? NULL : &counter->shared.counter, delta);
}

static void counter_inc_v3(const struct itt_domain *domain, struct itt_string *name)
{
  add_by_handle(domain, name, 1);
}

static void counter_dec_v3(const struct itt_domain *domain, struct itt_string *name)
{
  add_by_handle(domain, name, -1);
}

static void counter_inc_delta_v3(const struct itt_domain *domain, struct itt_string *name, unsigned long long delta)
{
  add_by_handle(domain, name, (int64_t)delta);
}

static void counter_dec_delta_v3(const struct itt_domain *domain, struct itt_string *name, unsigned long long delta)
{
  add_by_handle(domain, name, (int64_t)(0 - delta));
}

static void counter_set_value(struct itt_counter *counter, void *value)
{
  itt_counter_set(counter, 0, value);
}

static void counter_set_value_ex(struct itt_counter *counter, struct itt_clock_domain *clock, itt_stamp stamp,
                                 void *value)
{
  itt_counter_set(counter, itt_ticks(clock, stamp), value);
}

static void marker_ex(const struct itt_domain *domain, struct itt_clock_domain *clock, itt_stamp stamp,
                      struct itt_id id, struct itt_string *name, int scope)
{
  static const char *const scopes[] = {NULL, "global", "process", "thread", "task", "marker"};
  bool is_known = scope > ITT_SCOPE_UNKNOWN && scope <= ITT_SCOPE_MARKER;
  struct xsp_span span = itt_instant(itt_text_of(name), domain == NULL ? NULL : domain->name, itt_ticks(clock, stamp));
  if (is_known)
    xsp_span_tag_string(&span, "scope", scopes[scope]);
}

static void marker(const struct itt_domain *domain, struct itt_id id, struct itt_string *name, int scope)
{
  marker_ex(domain, NULL, 0, id, name, scope);
}

static int mark_create(const char *name)
{
  struct itt_name *mark = name == NULL ? NULL : itt_name(ITT_NAME_MARK, name, NULL, 0);
  return mark == NULL ? 0 : (int)__atomic_load_n(&mark->number, __ATOMIC_ACQUIRE);
}

static int mark(int number, const char *parameter)
{
  const struct itt_name *known = itt_name_of_number(ITT_NAME_MARK, number);
  struct xsp_span span = {0, 0, 0};
  if (known != NULL)
    span = itt_instant(known->text, NULL, 0);
  if (parameter != NULL)
    xsp_span_tag_string(&span, "parameter", parameter);
  return 0;
}

static int event_create(const char *name, int length)
{
  char text[256];
  if (name == NULL)
    return 0;
  size_t most = length < 0 || (size_t)length >= sizeof text ? sizeof text - 1 : (size_t)length;
  snprintf(text, sizeof text, "%.*s", (int)most, name);
  struct itt_name *event = itt_name(ITT_NAME_EVENT, text, NULL, 0);
  return event == NULL ? 0 : (int)__atomic_load_n(&event->number, __ATOMIC_ACQUIRE);
}

static int event_start(int number)
{
  const struct itt_name *event = itt_name_of_number(ITT_NAME_EVENT, number);
  if (event != NULL)
    itt_event_start_now(event);
  return 0;
}

static int event_end(int number)
{
  const struct itt_name *event = itt_name_of_number(ITT_NAME_EVENT, number);
  if (event == NULL || !itt_event_end_now(event))
    itt_lose(ITT_LOSS_END);
  return 0;
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
#define SLOT(name)                                                                                                     \
  {                                                                                                                    \
    "__itt_" #name, (void *)(uintptr_t)(name)                                                                          \
  }
#define SLOT_AS(api_name, name)                                                                                        \
  {                                                                                                                    \
    "__itt_" #api_name, (void *)(uintptr_t)(name)                                                                      \
  }
static const struct {
  const char *name;
  void *function;
} functions[] = {
    SLOT(api_version),
    SLOT_AS(clock_domain_create, itt_clock_domain_create),
    SLOT_AS(clock_domain_reset, itt_clock_domain_reset),
    SLOT(counter_create),
    SLOT(counter_create_typed),
    SLOT(counter_create_v3),
    SLOT(counter_dec),
    SLOT(counter_dec_delta),
    SLOT(counter_dec_delta_v3),
    SLOT(counter_dec_v3),
    SLOT(counter_inc),
    SLOT(counter_inc_delta),
    SLOT(counter_inc_delta_v3),
    SLOT(counter_inc_v3),
    SLOT(counter_set_value),
    SLOT(counter_set_value_ex),
    SLOT_AS(counter_set_value_v3, counter_set_value),
    SLOT_AS(detach, pause_collection),
    SLOT(domain_create),
    SLOT(event_create),
    SLOT(event_end),
    SLOT(event_start),
    SLOT_AS(frame_begin_v3, frame_begin),
    SLOT_AS(frame_end_v3, frame_end),
    SLOT_AS(frame_submit_v3, frame_submit),
    SLOT_AS(get_timestamp, itt_get_timestamp),
    SLOT(id_destroy),
    SLOT(id_destroy_ex),
    SLOT(mark),
    SLOT(mark_create),
    SLOT_AS(mark_global, mark),
    SLOT(marker),
    SLOT(marker_ex),
    SLOT(metadata_add),
    SLOT(metadata_add_with_scope),
    SLOT(metadata_str_add),
    SLOT(metadata_str_add_with_scope),
    SLOT_AS(pause, pause_collection),
    SLOT(pause_scoped),
    SLOT(region_begin),
    SLOT(region_end),
    SLOT(relation_add),
    SLOT_AS(resume, resume_collection),
    SLOT(resume_scoped),
    SLOT(string_handle_create),
    SLOT(task_begin),
    SLOT(task_begin_ex),
    SLOT(task_begin_fn),
    SLOT(task_begin_fn_ex),
    SLOT(task_begin_overlapped),
    SLOT(task_begin_overlapped_ex),
    SLOT(task_end),
    SLOT(task_end_ex),
    SLOT(task_end_overlapped),
    SLOT(task_end_overlapped_ex),
    SLOT(task_group),
    SLOT(thr_name_set),
    SLOT(thread_set_name),
};
#define FUNCTIONS (sizeof functions / sizeof functions[0])
#define SLOTS_MOST 4096

// Wrong order would lose functions without a word, so the list is searched from one end: it is done once a module.
static void *function_of(const char *name)
{
  for (size_t i = 0; i < FUNCTIONS; i++)
    if (strcmp(functions[i].name, name) == 0)
      return functions[i].function;
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

static void start_once(void)
{
  annotations_start(ITT_TRACER);
  itt_clock_start();
  itt_tasks_start();
}

// Without a session the module works as it does without a collector.
void __itt_api_init(struct itt_global *global, int groups)
{
  int saved_errno = errno;
  if (global != NULL && memcmp(global->magic, ITT_MAGIC, sizeof global->magic) == 0 && global->major == 3 &&
      global->build >= ITT_BUILD_OLDEST) {
    bool is_recording = xsp_attach(NULL) == 0;
    if (is_recording)
      start_once();
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
static const struct xsp_host *told;

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
  told = host;
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
    told->say(told, line);
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
