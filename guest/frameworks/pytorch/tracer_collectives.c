// SPDX-License-Identifier: Apache-2.0
// Collectives of torch.distributed. An operator c10d::… on the program's thread starts one; a range such as gloo:all_reduce, on a thread of
// the backend, is its run: a span of category "collective". The run has the operator as its parent, and the call path of the line that
// started it. Which process group a thread works for, and this process's rank, come from the function of torch.distributed that makes
// groups. Called by tracer_operators.c and, with the interpreter held, by tracer_modules.c.
#include "base/hash.h"
#include "frameworks/common/sites.h"
#include "frameworks/pytorch/tracer.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xsp/call_path.h>

#define OPERATOR "c10d::"
#define WAIT "c10d::wait"
#define KIND_SIZE 32u

// "c10d::allreduce_" and "gloo:all_reduce" are "allreduce".
static void put_kind(char kind[KIND_SIZE], const char *name)
{
  size_t length = 0;
  for (; *name != 0 && length + 1 < KIND_SIZE; name++)
    if (*name != '_')
      kind[length++] = *name;
  memset(kind + length, 0, KIND_SIZE - length);
}

// Several operators have the same run: allgather, _allgather_base.
static bool is_run_of(const char *started, const char *run)
{
  static const char *const endings[] = {"", "base", "coalesced", "intotensorcoalesced", "tensorcoalesced"};
  size_t length = strlen(run);
  for (size_t i = 0; i < sizeof endings / sizeof endings[0] && strncmp(started, run, length) == 0; i++)
    if (strcmp(started + length, endings[i]) == 0)
      return true;
  return false;
}

static const char *run_name(const char *name) // "all_reduce"; NULL: the range is no run of a collective
{
  static const char *const backends[] = {
      "gloo:", "mpi:", "ucc:"}; // NCCL's ranges are its starts; its kernels are the runs
  for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
    if (strncmp(name, backends[i], strlen(backends[i])) == 0)
      return name + strlen(backends[i]);
  return NULL;
}

// ---- collectives that were started and do not run yet -------------------------------------------------------------------
#define STARTED_MOST 64u // older ones are forgotten

static struct started {
  uint64_t number; // atomic, in order of start; 0: none, or being written
  struct xsp_context span;
  uint32_t path;
  char kind[KIND_SIZE];
} started[STARTED_MOST];
static uint64_t last_number; // atomic

bool pytorch_collectives_starts(const char *name)
{
  return strncmp(name, OPERATOR, sizeof OPERATOR - 1) == 0;
}

void pytorch_collectives_started(const struct open_operator *opened, const char *name, uint32_t path)
{
  uint64_t number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED);
  struct started *place = &started[number % STARTED_MOST];
  __atomic_store_n(&place->number, 0, __ATOMIC_RELEASE);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  place->span = xsp_span_context(&opened->span);
  place->path = path;
  put_kind(place->kind, name + sizeof OPERATOR - 1);
  __atomic_store_n(&place->number, number, __ATOMIC_RELEASE);
}

// The oldest whose run has this name; each once. False: there is none.
static bool take_started(const char *run, struct started *ret_started)
{
  char kind[KIND_SIZE];
  put_kind(kind, run);
  for (uint32_t tries = 0; tries < STARTED_MOST; tries++) {
    struct started *oldest = NULL;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < STARTED_MOST; i++) {
      uint64_t number = __atomic_load_n(&started[i].number, __ATOMIC_ACQUIRE);
      if (number == 0 || number >= least) // mostly: few have not begun yet
        continue;
      struct started copy = started[i];
      copy.kind[KIND_SIZE - 1] = 0;
      if (!is_run_of(copy.kind, kind))
        continue;
      least = number;
      oldest = &started[i];
      *ret_started = copy;
    }
    if (oldest == NULL)
      return false;
    if (__atomic_compare_exchange_n(&oldest->number, &least, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return true; // nobody changed it since it was copied
  }
  return false;
}

// ---- process groups -----------------------------------------------------------------------------------------------------
#define GROUPS 64u
#define THREADS_MOST 4096u // of the process
#define WORKERS_MOST 1024u // threads that groups were made with

static struct group {
  const char *name;              // kept
  uint32_t sequence;             // atomic; of the last collective that began
} groups[GROUPS];                // the first: of threads whose group is not known
static uint32_t group_count = 1; // atomic
static struct worker {
  int32_t thread; // gettid; atomic, written last; 0: free
  uint32_t group;
} workers[WORKERS_MOST];
static uint32_t worker_count; // with the interpreter held

static struct group *group_of_thread(void)
{
  static __thread struct group *own __attribute__((tls_model("initial-exec")));
  if (own != NULL)
    return own;
  int32_t thread = (int32_t)syscall(SYS_gettid), known;
  for (uint32_t i = 0; i < WORKERS_MOST && (known = __atomic_load_n(&workers[i].thread, __ATOMIC_ACQUIRE)) != 0; i++)
    if (known == thread)
      own = &groups[workers[i].group];
  return own != NULL ? own : &groups[0];
}

struct threads {
  size_t count;
  int32_t all[THREADS_MOST];
};

static struct threads *list_threads(void) // freed with free; NULL: no memory
{
  struct threads *threads = malloc(sizeof *threads);
  DIR *folder = threads != NULL ? opendir("/proc/self/task") : NULL;
  if (threads != NULL)
    threads->count = 0;
  for (struct dirent *entry; folder != NULL && threads->count < THREADS_MOST && (entry = readdir(folder)) != NULL;)
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
      threads->all[threads->count++] = (int32_t)strtol(entry->d_name, NULL, 10);
  if (folder != NULL)
    closedir(folder);
  return threads;
}

static bool has_thread(const struct threads *threads, int32_t thread)
{
  size_t i = 0;
  while (i < threads->count && threads->all[i] != thread)
    i++;
  return i < threads->count;
}

// The threads that came with the group are its.
static void add_group(const char *name, const struct threads *before, const struct threads *after)
{
  uint32_t group = __atomic_load_n(&group_count, __ATOMIC_RELAXED);
  const char *kept = name != NULL && group < GROUPS ? pytorch_names_keep(name) : NULL;
  if (kept == NULL)
    return;
  groups[group].name = kept;
  __atomic_store_n(&group_count, group + 1, __ATOMIC_RELEASE);
  for (size_t i = 0; i < after->count && worker_count < WORKERS_MOST; i++) {
    if (has_thread(before, after->all[i]))
      continue;
    workers[worker_count].group = group;
    __atomic_store_n(&workers[worker_count++].thread, after->all[i], __ATOMIC_RELEASE);
  }
}

static const struct python *py;

static int64_t number_of_method(void *object, const char *name) // -1: unknown
{
  void *method = pytorch_attribute(py, object, name);
  void *value = method != NULL ? py->call_object(method, NULL) : NULL;
  int64_t number = value != NULL ? py->int_value(value) : -1;
  py->error_clear();
  pytorch_release(py, value);
  pytorch_release(py, method);
  return number;
}

// `ranks`: of the group, in the job; empty for the group of all.
static void note_group(void *process_group, void *ranks, const struct threads *before)
{
  struct threads *after = before != NULL ? list_threads() : NULL;
  void *name = pytorch_attribute(py, process_group, "group_name");
  const char *text = name != NULL ? py->text(name) : NULL;
  py->error_clear();
  if (after != NULL)
    add_group(text, before, after);
  free(after);
  pytorch_release(py, name);
  python_size count = ranks != NULL ? py->sequence_size(ranks) : -1;
  py->error_clear();
  int64_t rank = count == 0 ? number_of_method(process_group, "rank") : -1;
  int64_t size = rank >= 0 ? number_of_method(process_group, "size") : -1;
  if (rank >= 0 && size > rank && size <= INT32_MAX)
    xsp_process_rank((uint32_t)rank, -1, (uint32_t)size);
}

static void *make_group(void *original, void *arguments, void *keywords)
{
  struct threads *before = list_threads();
  void *ranks = py->tuple_size(arguments) > 2 ? py->tuple_item(arguments, 2) : NULL;
  void *result = py->call(original, arguments, keywords); // the arguments live as long
  void *type, *value, *traceback;
  py->error_fetch(&type, &value, &traceback);
  if (result != NULL && py->tuple_size(result) > 0)
    note_group(py->tuple_item(result, 0), ranks, before);
  py->error_restore(type, value, traceback);
  free(before);
  return result;
}

// Work.wait() of Python. PyTorch's own waits, such as those of DistributedDataParallel, do not come here.
static void *wait_for_work(void *original, void *arguments, void *keywords)
{
  static struct xsp_site *site;
  struct pytorch_thread *thread = thread_get();
  if (thread == NULL || compile_is_running(thread))
    return py->call(original, arguments, keywords);
  if (site == NULL) // with the interpreter held
    site = xsp_site_create(TRACER, XSP_LEVEL_LAYER, WAIT, "");
  struct xsp_span span = xsp_span_start(site);
  if (span.start != 0)
    xsp_span_call_path(&span, pytorch_operators_path(thread, WAIT));
  void *result = py->call(original, arguments, keywords);
  xsp_span_finish(&span);
  return result;
}

bool pytorch_collectives_python(const struct python *python, void *module)
{
  static struct python_definition definition = {"_new_process_group_helper", (void *)make_group, 3,
                                                NULL}, // arguments and keywords
      wait = {"wait", (void *)wait_for_work, 3, NULL};
  py = python;
  void *last = pytorch_attribute(py, module, "new_subgroups_by_enumeration"); // defined after it
  if (last == NULL)
    return false;
  pytorch_release(py, last);
  (void)pytorch_compile_replace(py, module, &definition, false);
  void *work = pytorch_attribute(py, module, "Work");
  if (work != NULL)
    (void)pytorch_compile_replace(py, work, &wait, true);
  pytorch_release(py, work);
  return true;
}

// ---- runs ---------------------------------------------------------------------------------------------------------------
#define SLOTS 1024u
static struct site_slot slots[SLOTS];
static struct site_table sites = {.slots = slots, .slot_count = SLOTS};

static struct xsp_site *site_of(const char *name, const struct group *group)
{
  uint64_t key = hash_text(name, strlen(name), (uint64_t)(group - groups) + 1) | 1;
  struct xsp_site *site = framework_sites_find(&sites, key);
  if (site == NULL && framework_sites_have_room(&sites) &&
      (site = xsp_site_create_variant(TRACER, XSP_LEVEL_LIBRARY, name, "collective", (uint32_t)(group - groups))) !=
          NULL) {
    if (group->name != NULL)
      xsp_site_tag_string(site, "group", group->name);
    site = framework_sites_add(&sites, key, site);
  }
  return site;
}

struct run {
  struct xsp_site *site;
  struct xsp_context parent;
  uint32_t path;
  int64_t bytes; // -1: unknown
};

static struct run run_of(const void *record, const char *name, const struct group *group)
{
  struct started started_by = {0};
  struct run run = {.site = site_of(name, group)};
  if (!pytorch_shapes_bytes(record, &run.bytes))
    run.bytes = -1;
  if (!take_started(run_name(name), &started_by))
    return run;
  const struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_FRAMEWORK, .name = name};
  run.parent = started_by.span;
  run.path = started_by.path != 0 ? xsp_call_path(started_by.path, &frame) : 0;
  return run;
}

bool pytorch_collectives_begins(const void *record, const char *name, struct xsp_span *ret_span)
{
  if (run_name(name) == NULL)
    return false;
  struct group *group = group_of_thread();
  *ret_span = xsp_span_start(site_of(name, group));
  if (ret_span->start == 0)
    return true;
  const struct run run = run_of(record, name, group);
  xsp_span_tag_int(ret_span, "sequence", __atomic_add_fetch(&group->sequence, 1, __ATOMIC_RELAXED));
  if (run.bytes >= 0)
    xsp_span_tag_int(ret_span, "bytes", run.bytes);
  if (run.parent.id != 0)
    xsp_span_set_parent(ret_span, run.parent);
  if (run.path != 0)
    xsp_span_call_path(ret_span, run.path);
  return true;
}

// ---- between two ranks --------------------------------------------------------------------------------------------------
// The range of a send or receive begins in the operator that posts it and ends in the program's wait for it, which may be on another
// thread. In between the thread does other work, so it is on no thread's stack, and published when it ends.
#define EXCHANGES 256u // at a time; more are not recorded

static struct exchange {
  const void *record; // atomic, written last; NULL: free
  uint64_t start;
  struct run run;
} exchanges[EXCHANGES];
static uint32_t open_exchanges; // atomic

bool pytorch_exchange_begins(const void *record, const char *name)
{
  static const char taken;
  const char *run = run_name(name);
  if (run == NULL || (strncmp(run, "send", 4) != 0 && strncmp(run, "recv", 4) != 0))
    return false;
  for (uint32_t i = 0; i < EXCHANGES; i++) {
    const void *none = NULL;
    if (!__atomic_compare_exchange_n(&exchanges[i].record, &none, &taken, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      continue;
    exchanges[i].run = run_of(record, name, &groups[0]);
    exchanges[i].start = xsp_clock_ticks();
    __atomic_add_fetch(&open_exchanges, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&exchanges[i].record, record, __ATOMIC_RELEASE);
    break;
  }
  return true;
}

// Exchanges overlap each other and what the program does meanwhile.
static uint16_t track_of_exchanges(void)
{
  static uint16_t kept; // atomic; 0: not made yet
  uint16_t track = __atomic_load_n(&kept, __ATOMIC_RELAXED), none = 0;
  if (track != 0)
    return track;
  const struct xsp_track_options options = {
      .size = sizeof options, .name = "send and receive", .device_id = -1, .stream_id = -1};
  track = xsp_track_create(&options);
  if (!__atomic_compare_exchange_n(&kept, &none, track, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    return none; // another thread was faster
  return track;
}

void pytorch_exchange_ended(const void *record)
{
  if (__atomic_load_n(&open_exchanges, __ATOMIC_RELAXED) == 0)
    return;
  for (uint32_t i = 0; i < EXCHANGES; i++) {
    if (__atomic_load_n(&exchanges[i].record, __ATOMIC_ACQUIRE) != record)
      continue;
    const struct exchange ended = exchanges[i];
    __atomic_sub_fetch(&open_exchanges, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&exchanges[i].record, NULL, __ATOMIC_RELEASE);
    const struct xsp_interval interval = {.size = sizeof interval,
                                          .track = track_of_exchanges(),
                                          .start = ended.start,
                                          .end = xsp_clock_ticks(),
                                          .parent = ended.run.parent,
                                          .call_path = ended.run.path};
    const struct xsp_span span = xsp_span_emit(ended.run.site, &interval);
    if (ended.run.bytes >= 0)
      xsp_span_tag_int(&span, "bytes", ended.run.bytes);
    return;
  }
}
