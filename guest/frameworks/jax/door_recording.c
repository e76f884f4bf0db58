// SPDX-License-Identifier: Apache-2.0
// JAX's own profiler, switched on while the program runs. It starts when the program first uses a device and ends when the
// interpreter does; the tracer writes the profile into the session's folder, where xsp finds it. Called by door.c, with the
// interpreter held.
//
// XLA has one profiler a process. Where the program uses it itself, ours ends.
#include "frameworks/jax/tracer.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct python *py;
static const struct jax_hooks *the_hooks;
static char folder[256];   // the session's
static void *the_session;  // owned; NULL: not recording
static void *the_profiler; // jaxlib's module, owned
static void *the_class;    // its ProfilerSession, owned
static pid_t owner;        // the process that records: a forked one has the objects, too

// A part of the profile is in the program's memory until it is written. Parts are as long as gives a size between these.
#define PART_SECONDS 5.0
#define PART_SECONDS_LEAST 2.0
#define PART_SECONDS_MOST 240.0
#define PART_BYTES_LEAST (UINT64_C(8) << 20)
#define PART_BYTES_MOST (UINT64_C(32) << 20)
#define LIMIT_BYTES (UINT64_C(128) << 20)
static double part_seconds;
static uint64_t written_bytes;

// ---- objects ---------------------------------------------------------------------------------------------------------

static void release(void *object)
{
  if (object != NULL)
    py->decref(object);
}

// function(argument), new; NULL: it failed, and no error is left set.
static void *call_with(void *method, void *argument)
{
  void *arguments = method != NULL ? py->new_tuple(argument != NULL) : NULL;
  void *result = NULL;
  if (arguments != NULL && argument != NULL) {
    py->incref(argument);
    (void)py->set_tuple_item(arguments, 0, argument);
  }
  if (arguments != NULL)
    result = py->call_object(method, arguments);
  release(arguments);
  py->error_clear();
  return result;
}

static void *call_method(void *object, const char *name, void *argument)
{
  void *method = object != NULL ? py->get_attribute(object, name) : NULL;
  void *result = call_with(method, argument);
  release(method);
  return result;
}

static void *import_module(const char *name)
{
  void *symbol = py->symbol("PyImport_ImportModule");
  void *(*import)(const char *name);
  memcpy(&import, &symbol, sizeof import);
  void *module = import != NULL ? import(name) : NULL;
  py->error_clear();
  return module;
}

static bool bytes_of(void *object, char **ret_bytes, intptr_t *ret_length)
{
  void *symbol = py->symbol("PyBytes_AsStringAndSize");
  int (*read)(void *object, char **bytes, intptr_t *length);
  memcpy(&read, &symbol, sizeof read);
  bool is_read = object != NULL && read != NULL && read(object, ret_bytes, ret_length) == 0;
  py->error_clear();
  return is_read;
}

// ---- recording -------------------------------------------------------------------------------------------------------

static bool is_ours(void)
{
  return the_session != NULL && owner == getpid();
}

// False: not recording, or no room.
static bool stop_recording(void)
{
  if (!is_ours())
    return false;
  void *session = the_session;
  the_session = NULL; // "stop" lets other threads run
  void *profile = call_method(session, "stop", NULL);
  char *bytes;
  intptr_t length;
  uint64_t written = 0;
  if (!bytes_of(profile, &bytes, &length))
    the_hooks->report("JAX's profiler returned no profile");
  else if ((written = the_hooks->write(folder, bytes, (size_t)length)) == 0)
    the_hooks->report("there is no room for JAX's profile in the session's folder: what ran last is left out");
  written_bytes = written > 0 ? written : written_bytes;
  release(profile);
  release(session);
  return written > 0;
}

static void start_recording(void)
{
  void *options = call_method(the_profiler, "ProfileOptions", NULL);
  void *level = py->new_int(0);
  if (options != NULL && level != NULL) // Python's frames are the samples' part
    (void)py->set_attribute(options, "python_tracer_level", level);
  release(level);
  py->error_clear();
  the_session = call_with(the_class, options);
  release(options);
  owner = getpid();
  if (the_session == NULL)
    the_hooks->report("JAX's profiler could not be started: JAX's modules and operations are not recorded");
}

static double number_option(const char *name, double otherwise)
{
  const char *text = the_hooks->option(name);
  double number = text != NULL ? strtod(text, NULL) : 0;
  return number > 0 ? number : otherwise;
}

// What was recorded is written, and recording goes on. 0: it is over.
static double next_part(void)
{
  uint64_t before = written_bytes;
  if (!stop_recording())
    return 0;
  if ((double)written_bytes >= number_option("limit", (double)LIMIT_BYTES)) {
    the_hooks->report("JAX's profile reached its limit: what ran from then on is not in it; "
                      "to record more: -t auto,jax:limit=BYTES");
    return 0;
  }
  start_recording();
  if (written_bytes - before < PART_BYTES_LEAST && 2 * part_seconds <= PART_SECONDS_MOST)
    part_seconds *= 2;
  else if (written_bytes - before > PART_BYTES_MOST && part_seconds / 2 >= PART_SECONDS_LEAST)
    part_seconds /= 2;
  return part_seconds;
}

// ---- what the program does -------------------------------------------------------------------------------------------

static bool end_recording(void)
{
  jax_parts_end();
  return stop_recording();
}

static void *at_exit(void *self, void *arguments)
{
  (void)end_recording();
  py->incref(py->none);
  return py->none;
}

static void *leaves(void *original, void *arguments, void *keywords) // os._exit: no handlers run
{
  (void)end_recording();
  return py->call(original, arguments, keywords);
}

// The program profiles itself: there is one profiler only.
static void *profiles(void *original, void *arguments, void *keywords)
{
  if (end_recording())
    the_hooks->report("the program started JAX's profiler itself: what ran from then on is in its own profile only");
  return py->call(original, arguments, keywords);
}

static void watch(void *module)
{
  static struct python_definition exit_definition = {"xsp_jax_exit", NULL, 4 /* METH_NOARGS */, NULL};
  void *(*function)(void *self, void *arguments) = at_exit;
  memcpy(&exit_definition.function, &function, sizeof function);
  void *handler = py->new_function(&exit_definition, NULL, NULL), *exits = import_module("atexit"),
       *system = import_module("os");
  release(handler != NULL ? call_method(exits, "register", handler) : NULL);
  if (system != NULL)
    (void)framework_python_wrap(py, system, "_exit", false, leaves);
  (void)framework_python_wrap(py, the_profiler, "ProfilerSession", false, profiles);
  (void)framework_python_wrap(py, the_profiler, "start_server", false, profiles);
  release(handler);
  release(exits);
  release(system);
}

// Before the first client: so the profile has all that runs on a device, and jax is imported.
static void *makes_client(void *original, void *arguments, void *keywords)
{
  static bool has_begun;
  if (!has_begun) {
    has_begun = true;
    the_profiler = import_module("jaxlib._profiler");
    if (the_profiler == NULL) { // up to jaxlib 0.6
      void *extension = import_module("jaxlib.xla_extension");
      the_profiler = extension != NULL ? py->get_attribute(extension, "profiler") : NULL;
      py->error_clear();
      release(extension);
    }
    the_class = the_profiler != NULL ? py->get_attribute(the_profiler, "ProfilerSession") : NULL;
    py->error_clear();
    if (the_class != NULL) {
      start_recording();
      watch(the_profiler);
      part_seconds = number_option("part", PART_SECONDS);
      if (the_session != NULL && !jax_parts_begin(py, part_seconds, next_part))
        the_hooks->report("no thread could be had: JAX's profile is in memory until the program ends");
    }
  }
  return py->call(original, arguments, keywords);
}

void jax_record(const struct python *python, void *module, const struct jax_hooks *hooks, const char *session)
{
  static const char *const makers[] = {"get_tfrt_cpu_client", "get_c_api_client", "get_gpu_client"};
  if (py != NULL || strlen(session) >= sizeof folder)
    return;
  py = python;
  the_hooks = hooks;
  memcpy(folder, session, strlen(session) + 1);
  for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
    (void)framework_python_wrap(python, module, makers[i], false, makes_client);
}
