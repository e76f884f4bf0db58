// SPDX-License-Identifier: Apache-2.0
// Loads the tracers that XSP_TRACERS names into the traced process and stops them at its exit. Runs while attaching,
// before the program's main work; whatever fails becomes a line in the trace and the program goes on.
#include "capture/capture.h"

#include <dlfcn.h>
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
  bool started;
};
static struct loaded loaded[TRACERS_MOST];
static uint32_t loaded_count;
static pid_t loaded_by;
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

static void host_say(const struct xsp_host *host, const char *message)
{
  const struct loaded *tracer = (const struct loaded *)host;
  if (message != NULL)
    say_line(tracer->tracer != NULL ? tracer->tracer->name : tracer->path, message, NULL);
}

static const char *host_option(const struct xsp_host *host, const char *name)
{
  const struct loaded *tracer = (const struct loaded *)host;
  for (uint32_t i = 0; name != NULL && i < tracer->option_count; i++)
    if (strcmp(tracer->name[i], name) == 0)
      return tracer->value[i];
  return NULL;
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
  if (descriptor == NULL || descriptor->size < sizeof(struct xsp_tracer) || descriptor->name == NULL ||
      descriptor->start == NULL) {
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
  if (descriptor->start(&tracer->host) != 0)
    say_line(descriptor->name, "failed to start", NULL);
  else
    __atomic_store_n(&tracer->started, true, __ATOMIC_RELEASE);
}

void tracers_load(const char *list)
{
  loaded_by = getpid();
  if (strlen(list) >= sizeof list_copy) {
    say_line("XSP_TRACERS", "not loaded", "the list is too long");
    return;
  }
  memcpy(list_copy, list, strlen(list) + 1);
  for (char *rest = list_copy, *item; (item = strsep(&rest, ",")) != NULL;) {
    if (*item == '\0')
      continue;
    if (loaded_count == TRACERS_MOST) {
      say_line(item, "not loaded", "too many tracers");
      continue;
    }
    struct loaded *tracer = &loaded[loaded_count++];
    tracer->host = (struct xsp_host){sizeof tracer->host, XSP_ABI_VERSION, host_option,
                                     host_say,            ignore_found,    ignore_advice};
    parse_options(tracer, item);
    load_one(tracer);
  }
}

// Only in the image that started them: a forked child has the tracer's data but not its threads.
void tracers_stop(void)
{
  if (getpid() != loaded_by)
    return;
  for (uint32_t i = 0; i < loaded_count; i++) {
    if (!__atomic_load_n(&loaded[i].started, __ATOMIC_ACQUIRE))
      continue;
    if (loaded[i].tracer->flush != NULL)
      loaded[i].tracer->flush();
    if (loaded[i].tracer->stop != NULL)
      loaded[i].tracer->stop();
  }
}
