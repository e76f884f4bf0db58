// SPDX-License-Identifier: Apache-2.0
// JAX's own profiler, switched on while the program runs. It starts when the program first uses a device and ends when the
// interpreter does; the tracer writes the profile into the session's folder, where xsp finds it. Called by door.c, with the
// interpreter held.
//
// XLA has one profiler a process. Where the program uses it itself, ours ends.
#include "frameworks/jax/tracer.h"

#include "frameworks/jax/pace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct python *py;
static const struct jax_hooks *the_hooks;
static char folder[256];    // the session's
static void *the_session;   // owned; NULL: not recording, or between two parts
static void *the_profiler;  // jaxlib's module, owned
static void *the_class;     // its ProfilerSession, owned
static bool is_before_0_10; // jaxlib
static pid_t owner;         // the process that records: a forked one has the objects, too
static bool is_on;          // parts are recorded, with or without pauses

// A part of the profile is in the program's memory until it is written, which takes about 5 us for each event.
#define FIRST_SECONDS 5.0
#define LIMIT_BYTES (UINT64_C(128) << 20)
#define COST_PERCENT 10.0
#define SHOWN_PAUSES 0.05 // of the time: a note reports more
#define MISSES_MOST 25u   // so often a part's end waits for a call that may compile
static struct pace pace;
static double first_s, began_s, paused_s; // when the first part began, when this one did; pauses in all
static int64_t began_bytes;               // what the process had then

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

// XLA before jaxlib 0.10 imports TensorFlow's profiler when a session begins and ends, or writes to stderr that there is none. For a
// program without TensorFlow there are empty modules meanwhile.
static void put_modules(bool are_there)
{
  static const char *const names[] = {"tensorflow", "tensorflow.python.profiler.trace"};
  static bool are_put;
  void *find_symbol = py->symbol("PyImport_GetModule"), *add_symbol = py->symbol("PyImport_AddModule");
  void *(*find)(void *name), *(*add)(const char *name);
  memcpy(&find, &find_symbol, sizeof find);
  memcpy(&add, &add_symbol, sizeof add);
  void *name = py->new_text(names[0]), *found = find != NULL && name != NULL ? find(name) : NULL;
  void *system = import_module("sys"), *modules = system != NULL ? py->get_attribute(system, "modules") : NULL;
  bool puts = are_there && is_before_0_10 && found == NULL && find != NULL && add != NULL && modules != NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (puts)
      (void)add(names[i]);
    else if (are_put && modules != NULL)
      (void)py->delete_dict_item(modules, names[i]);
  }
  are_put = puts;
  release(modules);
  release(system);
  release(found);
  release(name);
  py->error_clear();
}

static bool has_version_before_0_10(void)
{
  void *package = import_module("jaxlib"), *version = NULL;
  if (package != NULL)
    version = py->get_attribute(package, "__version__");
  const char *text = version != NULL ? py->text(version) : NULL;
  bool is_before = text != NULL && strncmp(text, "0.", 2) == 0 && strtol(text + 2, NULL, 10) < 10;
  release(version);
  release(package);
  py->error_clear();
  return is_before;
}

// ---- recording -------------------------------------------------------------------------------------------------------

static double now_s(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// False: there is no room.
static bool stop_recording(void)
{
  void *session = the_session;
  double end_s = now_s();
  int64_t end_bytes = jax_process_bytes();
  the_session = NULL; // "stop" lets other threads run
  put_modules(true);
  void *profile = call_method(session, "stop", NULL);
  put_modules(false);
  char *bytes;
  intptr_t length;
  uint64_t written = 0;
  if (!bytes_of(profile, &bytes, &length))
    the_hooks->report("JAX's profiler returned no profile");
  else if ((written = the_hooks->write(folder, bytes, (size_t)length)) == 0)
    the_hooks->report("there is no room for JAX's profile in the session's folder: what ran last is left out");
  release(profile);
  release(session);
  if (written > 0)
    jax_pace_wrote(&pace, &(struct pace_part){.recorded_seconds = end_s - began_s,
                                              .write_seconds = now_s() - end_s,
                                              .bytes = (double)written - pace.written_bytes,
                                              .growth_bytes = end_bytes - began_bytes});
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
  put_modules(true);
  the_session = call_with(the_class, options);
  put_modules(false);
  release(options);
  owner = getpid();
  began_s = now_s();
  began_bytes = jax_process_bytes();
  is_on = the_session != NULL;
  if (!is_on)
    the_hooks->report("JAX's profiler could not be started: JAX's modules and operations are not recorded");
}

static double number_option(const char *name, double otherwise)
{
  return jax_pace_number(the_hooks->option(name), otherwise);
}

// ---- parts -----------------------------------------------------------------------------------------------------------

enum call { CALL_OTHER, CALL_MISSES, CALL_COMPILES };

// Of functions of JAX 0.4 to 0.10. cache_miss runs calls that are not compiled yet, and those that its C++ cannot run.
static enum call kind_of(const char *function)
{
  static const char *const compile[] = {"trace_to_jaxpr_dynamic", "lower_sharding_computation", "from_hlo",
                                        "compile_or_get_cached"};
  for (size_t i = 0; i < sizeof compile / sizeof compile[0]; i++)
    if (strcmp(function, compile[i]) == 0)
      return CALL_COMPILES;
  return strcmp(function, "cache_miss") == 0 ? CALL_MISSES : CALL_OTHER;
}

// What the interpreter is within.
static enum call call_around(void)
{
  void *symbol = py->symbol("PyEval_GetFrame");
  void *(*current)(void);
  memcpy(&current, &symbol, sizeof current);
  void *frame = current != NULL ? current() : NULL;
  enum call found = CALL_OTHER;
  if (frame != NULL)
    py->incref(frame);
  while (frame != NULL && frame != py->none && found != CALL_COMPILES) {
    void *code = py->get_attribute(frame, "f_code"), *name = code != NULL ? py->get_attribute(code, "co_name") : NULL;
    const char *text = name != NULL ? py->text(name) : NULL;
    enum call kind = text != NULL ? kind_of(text) : CALL_OTHER;
    found = kind > found ? kind : found;
    void *outer = py->get_attribute(frame, "f_back");
    release(name);
    release(code);
    release(frame);
    frame = outer;
  }
  release(frame);
  py->error_clear();
  return found;
}

// The event of a call that compiles would be in no part if one ended within it.
static bool is_compiling(void)
{
  static unsigned misses;
  enum call call = call_around();
  misses = call == CALL_MISSES ? misses + 1 : 0;
  if (call == CALL_COMPILES)
    began_bytes = jax_process_bytes(); // the rest is the compiler's
  return call == CALL_COMPILES || (call == CALL_MISSES && misses < MISSES_MOST);
}

static void begin_part(void)
{
  start_recording();
  if (is_on)
    jax_parts_next(pace.part_seconds, began_bytes + pace.growth_bytes);
}

static void end_part(void)
{
  bool is_written = stop_recording(); // other threads ran meanwhile
  is_on = is_on && is_written && pace.written_bytes < pace.limit_bytes;
  if (pace.written_bytes >= pace.limit_bytes)
    the_hooks->report("JAX's profile reached its limit: what ran from then on is not in it; "
                      "to record more: -t auto,jax:limit=BYTES");
  if (is_on && pace.pause_seconds > 0) {
    began_s = now_s();
    jax_parts_next(pace.pause_seconds, 0);
  } else if (is_on) {
    begin_part();
  }
}

// A part is over, or a pause.
static void next_part(void)
{
  if (!is_on || owner != getpid())
    return;
  if (the_session == NULL) {
    paused_s += now_s() - began_s;
    begin_part();
  } else if (is_compiling()) {
    jax_parts_next(PACE_PART_LEAST, 0);
  } else {
    end_part();
  }
}

// False: there is no recording of ours.
static bool end_recording(void)
{
  static char text[256];
  if (!is_on || owner != getpid())
    return false;
  is_on = false;
  jax_parts_end();
  bool is_pausing = the_session == NULL;
  if (is_pausing)
    paused_s += now_s() - began_s;
  else
    (void)stop_recording();
  double all_s = now_s() - first_s;
  if (is_pausing || paused_s > SHOWN_PAUSES * all_s) {
    snprintf(text, sizeof text,
             "JAX's profile has %.1f of %.1f s (parts: %u): the program would wait too long for all of it; "
             "to record more: -t auto,jax:cost=PERCENT:limit=BYTES",
             pace.recorded_seconds, all_s, pace.parts);
    the_hooks->report(text);
  }
  return true;
}

// ---- what the program does -------------------------------------------------------------------------------------------

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
    jax_rank(py);
    the_profiler = import_module("jaxlib._profiler");
    is_before_0_10 = has_version_before_0_10();
    if (the_profiler == NULL) { // up to jaxlib 0.5
      void *extension = import_module("jaxlib.xla_extension");
      the_profiler = extension != NULL ? py->get_attribute(extension, "profiler") : NULL;
      py->error_clear();
      release(extension);
    }
    the_class = the_profiler != NULL ? py->get_attribute(the_profiler, "ProfilerSession") : NULL;
    py->error_clear();
    if (the_class != NULL) {
      pace = (struct pace){.cost = number_option("cost", COST_PERCENT) / 100,
                           .limit_bytes = number_option("limit", (double)LIMIT_BYTES),
                           .part_seconds = number_option("part", FIRST_SECONDS),
                           .growth_bytes = PACE_GROWTH_BYTES};
      first_s = now_s();
      start_recording();
      watch(the_profiler);
      if (is_on && !jax_parts_begin(py, next_part))
        the_hooks->report("no thread could be had: JAX's profile is in memory until the program ends");
      else if (is_on)
        jax_parts_next(pace.part_seconds, began_bytes + pace.growth_bytes);
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
