// SPDX-License-Identifier: Apache-2.0
// Process groups of torch.distributed: which threads work for one, this process's rank, and the program's waits for what they do. They come
// from the function of torch.distributed that makes groups, and from its class of waits. Called by tracer_collectives.c and, with the
// interpreter held, by tracer_modules.c.
#include "frameworks/pytorch/tracer.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xsp/call_path.h>

#define WAIT "c10d::wait"
#define GROUPS 64u
#define THREADS_MOST 4096u // of the process
#define WORKERS_MOST 1024u // threads that groups were made with

static struct process_group groups[GROUPS]; // the first: of threads whose group is not known
static uint32_t group_count = 1;            // atomic
static struct worker {
  int32_t thread; // gettid; atomic, written last; 0: free
  uint32_t group;
} workers[WORKERS_MOST];
static uint32_t worker_count; // with the interpreter held

struct process_group *pytorch_group_unknown(void)
{
  return &groups[0];
}

struct process_group *pytorch_group_of_thread(void)
{
  static __thread struct process_group *own __attribute__((tls_model("initial-exec")));
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
static void add_group(const char *name, int64_t size, const struct threads *before, const struct threads *after)
{
  uint32_t group = __atomic_load_n(&group_count, __ATOMIC_RELAXED);
  const char *kept = name != NULL && group < GROUPS ? pytorch_names_keep(name) : NULL;
  if (kept == NULL)
    return;
  groups[group].name = kept;
  groups[group].number = group;
  groups[group].size = size > 0 && size <= INT32_MAX ? (uint32_t)size : 0;
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
  int64_t size = number_of_method(process_group, "size");
  if (after != NULL)
    add_group(text, size, before, after);
  free(after);
  pytorch_release(py, name);
  python_size count = ranks != NULL ? py->sequence_size(ranks) : -1;
  py->error_clear();
  int64_t rank = count == 0 ? number_of_method(process_group, "rank") : -1;
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
  bool is_tuple = result != NULL && py->tuple_size(result) > 0; // older versions of PyTorch return the group alone
  py->error_clear();
  if (result != NULL)
    note_group(is_tuple ? py->tuple_item(result, 0) : result, ranks, before);
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

bool pytorch_groups_python(const struct python *python, void *module)
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
