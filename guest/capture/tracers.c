// SPDX-License-Identifier: Apache-2.0
// Loads the tracers that XSP_TRACERS names into the traced process, takes in those that their vendors' doors loaded, and
// stops them at its exit. Loading runs while attaching, before the program's main work; joining at any time on any
// thread. Whatever fails becomes a line in the trace and the program goes on.
#include "capture/capture.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <unistd.h>
#include <xsp/tracer.h>

#define TRACERS_MOST 16
#define OPTIONS_MOST 16

_Static_assert(offsetof(struct xsp_host, say) == 16 && offsetof(struct xsp_host, found) == 24, "frozen, version 1");
_Static_assert(sizeof(struct xsp_tracer) == 64 && offsetof(struct xsp_tracer, stop) == 56, "frozen, version 1");
_Static_assert(sizeof(struct xsp_tracer_option) == 24, "frozen, version 1");

struct loaded {
  struct xsp_host host; // first: the address is the tracer's handle
  const struct xsp_tracer *tracer;
  const char *path;
  const char *name[OPTIONS_MOST], *value[OPTIONS_MOST];
  uint32_t option_count;
  bool is_awaited;  // "@PATH": not loaded by us
  uint32_t claimed; // atomic: taken by a tracer that joined
  pid_t started_by; // atomic; 0: not started. A forked child has the tracer's data but not its threads
};
static struct loaded loaded[TRACERS_MOST];
static uint32_t loaded_count; // atomic: slots handed out; may pass TRACERS_MOST
static char list_copy[16384]; // paths and options, cut into strings
static uint32_t said;         // atomic: bytes of process_head.message in use

// Appends whole lines; what does not fit is left out.
static void say_line(const char *who, const char *what, const char *more)
{
  struct process_head *process = session_process();
  if (process == NULL)
    return;
  const char *parts[] = {who, ": ", what, more == NULL ? "" : ": ", more == NULL ? "" : more, "\n"};
  size_t length = 0;
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    length += strlen(parts[i]);
  uint32_t at = __atomic_load_n(&said, __ATOMIC_RELAXED);
  do
    if (at + length >= sizeof process->message)
      return;
  while (!__atomic_compare_exchange_n(&said, &at, at + (uint32_t)length, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  char *to = process->message + at + length;
  for (size_t i = sizeof parts / sizeof parts[0]; i-- > 0;) { // last part first: a reader stops at the first NUL
    to -= strlen(parts[i]);
    memcpy(to, parts[i], strlen(parts[i]));
  }
}

static void tracer_say(const struct xsp_host *host, const char *message)
{
  const struct loaded *tracer = (const struct loaded *)host;
  if (message != NULL)
    say_line(tracer->tracer != NULL ? tracer->tracer->name : tracer->path, message, NULL);
}

static const char *tracer_option(const struct xsp_host *host, const char *name)
{
  const struct loaded *tracer = (const struct loaded *)host;
  for (uint32_t i = 0; name != NULL && i < tracer->option_count; i++)
    if (strcmp(tracer->name[i], name) == 0)
      return tracer->value[i];
  return NULL;
}

static void tracer_lost(const struct xsp_host *host, uint64_t events)
{
  ring_lost(events);
}

static void ignore_found(const struct xsp_host *host, const char *library, const char *version)
{
}

static void ignore_advice(const struct xsp_host *host, const char *advice)
{
}

// "PATH:option=value:option2=value" in place. A ':' begins an option only where name and '=' follow.
static void parse_options(struct loaded *tracer, char *text)
{
  tracer->path = text;
  char *at = strchr(text, ':');
  while (at != NULL) {
    *at++ = '\0';
    char *next = strchr(at, ':'), *equals = strchr(at, '=');
    while (next != NULL) { // "a=x:y" is one value: the next option has a name and '='
      size_t name = strcspn(next + 1, ":=/");
      if (name > 0 && next[1 + name] == '=')
        break;
      next = strchr(next + 1, ':');
    }
    if (equals != NULL && tracer->option_count < OPTIONS_MOST) {
      *equals = '\0';
      tracer->name[tracer->option_count] = at;
      tracer->value[tracer->option_count++] = equals + 1;
    }
    at = next;
  }
}

static bool knows_options(const struct loaded *tracer)
{
  for (uint32_t i = 0; i < tracer->option_count; i++) {
    const struct xsp_tracer_option *option = tracer->tracer->options;
    while (option != NULL && option->name != NULL && strcmp(option->name, tracer->name[i]) != 0)
      option++;
    if (option == NULL || option->name == NULL) {
      say_line(tracer->tracer->name, "not started, unknown option", tracer->name[i]);
      return false;
    }
  }
  return true;
}

static int start_one(struct loaded *tracer)
{
  int error = tracer->tracer->start(&tracer->host);
  if (error != 0)
    say_line(tracer->tracer->name, "failed to start", NULL);
  else
    __atomic_store_n(&tracer->started_by, getpid(), __ATOMIC_RELEASE);
  return error;
}

static bool is_usable(const struct xsp_tracer *descriptor)
{
  return descriptor != NULL && descriptor->size >= sizeof(struct xsp_tracer) && descriptor->name != NULL &&
         descriptor->start != NULL;
}

static void load_one(struct loaded *tracer)
{
  void *library = dlopen(tracer->path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    const char *why = dlerror();
    say_line(tracer->path, "not loaded", why);
    return;
  }
  void *symbol = dlsym(library, XSP_TRACER_ENTRY);
  xsp_tracer_entry_fn entry;
  memcpy(&entry, &symbol, sizeof entry);
  const struct xsp_tracer *descriptor = symbol == NULL ? NULL : entry(&tracer->host);
  if (!is_usable(descriptor)) {
    say_line(tracer->path, "not started",
             symbol == NULL ? "exports no " XSP_TRACER_ENTRY : "gives no usable descriptor");
    return;
  }
  tracer->tracer = descriptor;
  if (!knows_options(tracer))
    return;
  char why[512] = "";
  if (descriptor->probe != NULL && descriptor->probe(&tracer->host, why, sizeof why) != 0) {
    why[sizeof why - 1] = '\0';
    say_line(descriptor->name, "not usable here", why);
    return;
  }
  start_one(tracer);
}

// A slot with its host in place; NULL: too many.
static struct loaded *take_slot(void)
{
  uint32_t slot = __atomic_fetch_add(&loaded_count, 1, __ATOMIC_RELAXED);
  if (slot >= TRACERS_MOST) {
    __atomic_store_n(&loaded_count, TRACERS_MOST, __ATOMIC_RELAXED);
    return NULL;
  }
  loaded[slot].host = (struct xsp_host){
      sizeof loaded[slot].host, XSP_ABI_VERSION, tracer_option, tracer_say, ignore_found, ignore_advice, tracer_lost};
  return &loaded[slot];
}

bool tracers_are_awaited(const char *list)
{
  size_t count = 1;
  for (const char *item = list; *item != '\0'; item++, count++) {
    if (*item != '@')
      return false;
    item += strcspn(item, ",");
    if (*item == '\0')
      break;
  }
  return count <= TRACERS_MOST && strlen(list) < sizeof list_copy;
}

void tracers_load(const char *list)
{
  if (strlen(list) >= sizeof list_copy) {
    say_line("XSP_TRACERS", "not loaded", "the list is too long");
    return;
  }
  memcpy(list_copy, list, strlen(list) + 1);
  for (char *rest = list_copy, *item; (item = strsep(&rest, ",")) != NULL;) {
    if (*item == '\0')
      continue;
    struct loaded *tracer = take_slot();
    if (tracer == NULL) {
      say_line(item, "not loaded", "too many tracers");
      continue;
    }
    tracer->is_awaited = *item == '@';
    parse_options(tracer, tracer->is_awaited ? item + 1 : item);
    if (!tracer->is_awaited)
      load_one(tracer);
  }
}

// "/path/opencl.so" waits for the tracer "opencl".
static bool is_name_of(const char *path, const char *name)
{
  const char *slash = strrchr(path, '/');
  const char *file = slash != NULL ? slash + 1 : path;
  size_t length = strlen(name);
  return strncmp(file, name, length) == 0 && strcmp(file + length, ".so") == 0;
}

// Its vendor may unload it before exit, when `stop` is to be called.
static bool keep_loaded(const struct xsp_tracer *descriptor)
{
  Dl_info info;
  struct link_map *map = NULL;
  if (dladdr1(descriptor, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL)
    return false;
  return map->l_name[0] == '\0' || // the program itself
         dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
}

int xsp_tracer_join(const struct xsp_tracer *descriptor)
{
  if (!is_usable(descriptor))
    return -EINVAL;
  session_attach_if_asked();
  if (!capture_attached())
    return -ENOENT;
  uint32_t count = __atomic_load_n(&loaded_count, __ATOMIC_RELAXED);
  struct loaded *tracer = NULL;
  for (uint32_t i = 0; i < count && i < TRACERS_MOST; i++) {
    uint32_t unclaimed = 0;
    if (__atomic_load_n(&loaded[i].tracer, __ATOMIC_ACQUIRE) == descriptor)
      return 0;
    if (!loaded[i].is_awaited || !is_name_of(loaded[i].path, descriptor->name))
      continue;
    if (!__atomic_compare_exchange_n(&loaded[i].claimed, &unclaimed, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      return 0; // another thread is about to start it
    tracer = &loaded[i];
    break;
  }
  if (!keep_loaded(descriptor) || (tracer == NULL && (tracer = take_slot()) == NULL)) {
    say_line(descriptor->name, "not started", "it cannot be kept loaded, or there are too many tracers");
    return -ENOSPC;
  }
  __atomic_store_n(&tracer->tracer, descriptor, __ATOMIC_RELEASE);
  if (!knows_options(tracer))
    return -EINVAL;
  return start_one(tracer);
}

static void each_started(void (*what)(const struct xsp_tracer *tracer))
{
  uint32_t count = __atomic_load_n(&loaded_count, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < count && i < TRACERS_MOST; i++)
    if (__atomic_load_n(&loaded[i].started_by, __ATOMIC_ACQUIRE) == getpid())
      what(loaded[i].tracer);
}

static void flush(const struct xsp_tracer *tracer)
{
  if (tracer->flush != NULL)
    tracer->flush();
}

static void stop(const struct xsp_tracer *tracer)
{
  flush(tracer);
  if (tracer->stop != NULL)
    tracer->stop();
}

void xsp_tracers_flush(void)
{
  each_started(flush);
}

void tracers_stop(void)
{
  each_started(stop);
}
