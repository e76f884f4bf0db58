// SPDX-License-Identifier: Apache-2.0
// Sessions, model spans and profiling of inferences, for both ways into ONNX Runtime; see door_runs.h.
//
// Why profiling of single inferences and not of the session: a session keeps up to a million events in memory (1.8 GB),
// then writes a line to stderr, and a file at its end; an inference keeps its own and drops them, and it can be
// switched on and off while the program runs. The file has a name that cannot be opened: the runtime does not look, and
// writes nothing.
//
// The program's options for a run are switched only while no inference uses them, since the runtime reads them at each
// start. Their state is one word: inferences that use them * 256, and flags (profiled, busy, the program profiles
// itself).
//
//   unused --- enters, set as wanted ------------------> used by 1 -- enters --> used by 2, as they are
//      |                                                   ^   |
//      +-- enters, set otherwise --> busy: switch them ----+   +-- leaves --> unused
//                                    (others yield meanwhile)
//
// An inference without options gets xsp's own, made once, where it is profiled. One that ends on another thread is kept
// among 256 pending ones until the runtime calls back; without a free place it is not traced.
#include "frameworks/onnxruntime/door_runs.h"

#include "format/range.h"
#include "frameworks/onnxruntime/hooks.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

#define NOWHERE "/dev/null/xsp"
#define WAITS_MAXIMUM 100000

struct known_table ort_known_sessions, ort_known_options, ort_known_bindings, ort_known_session_options;

// ---- the listener ----------------------------------------------------------------------------------------------------

const char *ort_runs_listener_path(void)
{
  return framework_tracer(&framework_onnxruntime);
}

const struct ort_listener *ort_runs_listener(void)
{
  static const struct ort_listener *the_listener; // atomic
  static uint32_t was_tried;                      // atomic
  const struct ort_listener *listener = __atomic_load_n(&the_listener, __ATOMIC_ACQUIRE);
  if (listener != NULL || __atomic_load_n(&was_tried, __ATOMIC_RELAXED) != 0 || ort_runs_listener_path() == NULL)
    return listener;
  listener = framework_hooks(&framework_onnxruntime, ORT_LISTENER_SYMBOL); // loaded already, for the session
  __atomic_store_n(&the_listener, listener, __ATOMIC_RELEASE);
  __atomic_store_n(&was_tried, 1, __ATOMIC_RELAXED);
  return listener;
}

void ort_runs_say(const char *format, const char *version)
{
  const struct ort_listener *listener = ort_runs_listener();
  char line[256];
  snprintf(line, sizeof line, format, version);
  if (listener != NULL)
    listener->say(line);
}

bool ort_runs_layers_possible(void)
{
  return (xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0;
}

static bool layers_are_on(void)
{
  return (xsp_tracer_levels(framework_onnxruntime.name) & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) != 0;
}

bool ort_runs_load(struct ort_runtime *ret_runtime, const struct ort_api_base *base)
{
  uint32_t version = ort_api_version(base->version_string());
  const void *table = version < 1 ? NULL : base->get_api(version);
  if (table == NULL)
    return false;
  ret_runtime->base = base;
  ret_runtime->version = version;
  ort_api_load(table, version, &ret_runtime->api);
  return true;
}

// ---- names -----------------------------------------------------------------------------------------------------------

// Of several models in one program --model-range picks those that are the observations, as it does with ranges.
struct xsp_site *ort_runs_site_of_name(const char *name)
{
  if (name == NULL || *name == 0)
    name = "model";
  struct xsp_site *site = xsp_site_create(framework_onnxruntime.name, XSP_LEVEL_MODEL, name, NULL);
  if (site != NULL)
    xsp_site_tag_string(site, "model", name);
  if (site != NULL && range_matches(framework_model_range(), name, strlen(name)))
    xsp_site_tag_int(site, "step", 1);
  return site;
}

struct xsp_site *ort_runs_site_of_file(const char *path)
{
  char name[256];
  const char *slash = strrchr(path, '/');
  const char *base = slash != NULL ? slash + 1 : path;
  const char *dot = strrchr(base, '.');
  size_t length = dot != NULL && dot != base ? (size_t)(dot - base) : strlen(base);
  if (length >= sizeof name)
    length = sizeof name - 1;
  memcpy(name, base, length);
  name[length] = 0;
  return ort_runs_site_of_name(name);
}

// ---- options of a run ------------------------------------------------------------------------------------------------

// known.state of options: how many inferences use them now, and what they are set to. They are changed only while none
// uses them: the runtime reads them at the start of each.
#define OPTIONS_PROFILE 1u
#define OPTIONS_BUSY 2u    // being changed
#define OPTIONS_PROGRAM 4u // the program profiles by itself
#define OPTIONS_USER 256u  // one inference

static void drop(const struct ort_runtime *runtime, struct ort_status *status)
{
  if (status != NULL)
    runtime->api.release_status(status);
}

static const struct ort_run_options *profiled_options(struct ort_runtime *runtime)
{
  struct ort_run_options *options = __atomic_load_n(&runtime->profiled, __ATOMIC_ACQUIRE);
  if (options != NULL)
    return options;
  struct ort_run_options *made = NULL;
  struct ort_status *status = runtime->api.create_run_options(&made);
  if (status == NULL)
    status = runtime->api.enable_run_profiling(made, NOWHERE);
  if (status != NULL) {
    drop(runtime, status);
    if (made != NULL)
      runtime->api.release_run_options(made);
    return NULL;
  }
  if (__atomic_compare_exchange_n(&runtime->profiled, &options, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return made;
  runtime->api.release_run_options(made);
  return options;
}

bool ort_runs_profile(struct ort_runtime *runtime, struct ort_run_options *options)
{
  struct ort_status *status = runtime->api.enable_run_profiling(options, NOWHERE);
  drop(runtime, status);
  if (status == NULL)
    __atomic_store_n(&runtime->profiled, options, __ATOMIC_RELEASE);
  return status == NULL;
}

static void change(const struct ort_runtime *runtime, struct known *known, const struct ort_run_options *options,
                   bool profile, uint32_t state)
{
  struct ort_run_options *own = (struct ort_run_options *)(uintptr_t)options;
  struct ort_status *status =
      profile ? runtime->api.enable_run_profiling(own, NOWHERE) : runtime->api.disable_run_profiling(own);
  if (status == NULL)
    state = profile ? state | OPTIONS_PROFILE : state & ~OPTIONS_PROFILE;
  drop(runtime, status);
  __atomic_store_n(&known->state, state + OPTIONS_USER, __ATOMIC_RELEASE);
}

// Options under which an inference is to be profiled or not; NULL in, none needed: NULL out. `ret_known` to ort_options_leave.
static const struct ort_run_options *ort_options_enter(struct ort_runtime *runtime, const struct known *session,
                                                       const struct ort_run_options *options, struct known **ret_known)
{
  *ret_known = NULL;
  uint32_t kind = __atomic_load_n(&session->state, __ATOMIC_RELAXED);
  if (!(kind & SESSION_LISTENS) || runtime->api.enable_run_profiling == NULL)
    return options;
  // Where the session is profiled, the listener hears of it anyway; asked for both, the runtime prints a warning.
  bool profile = !(kind & SESSION_PROFILES_ITSELF) && layers_are_on();
  if (options == NULL)
    return profile ? profiled_options(runtime) : NULL;
  struct known *known = ort_known_find(&ort_known_options, options);
  if (known == NULL && profile)
    known = ort_known_get(&ort_known_options, options);
  if (known == NULL)
    return options;
  for (int waits = 0; waits < WAITS_MAXIMUM; waits++) { // for ever only where the process forked in between
    uint32_t state = __atomic_load_n(&known->state, __ATOMIC_ACQUIRE);
    if (state & OPTIONS_BUSY) {
      sched_yield();
      continue;
    }
    bool as_wanted = (state & OPTIONS_PROGRAM) || profile == ((state & OPTIONS_PROFILE) != 0);
    bool stays = as_wanted || state >= OPTIONS_USER;
    uint32_t next = stays ? state + OPTIONS_USER : state | OPTIONS_BUSY;
    if (!__atomic_compare_exchange_n(&known->state, &state, next, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      continue;
    if (!stays)
      change(runtime, known, options, profile, state);
    *ret_known = known;
    return options;
  }
  return options;
}

static void ort_options_leave(struct known *known)
{
  if (known != NULL)
    __atomic_fetch_sub(&known->state, OPTIONS_USER, __ATOMIC_RELEASE);
}

void ort_options_taken(const struct ort_run_options *options, bool by_program)
{
  struct known *known = ort_known_find(&ort_known_options, options);
  if (known == NULL && by_program)
    known = ort_known_get(&ort_known_options, options);
  if (known == NULL)
    return;
  __atomic_fetch_and(&known->state, ~(OPTIONS_PROFILE | OPTIONS_PROGRAM), __ATOMIC_ACQ_REL);
  if (by_program)
    __atomic_fetch_or(&known->state, OPTIONS_PROGRAM, __ATOMIC_ACQ_REL);
}

// ---- one inference ---------------------------------------------------------------------------------------------------

static void tell_listener(struct xsp_context model)
{
  const struct ort_listener *listener = ort_runs_listener();
  if (listener != NULL)
    listener->set_model(model);
}

struct run ort_run_begin(struct ort_runtime *runtime, const struct known *session,
                         const struct ort_run_options *options, int64_t batch)
{
  struct run run = {.span = xsp_span_start(session->site)};
  if (batch >= 0)
    xsp_span_tag_int(&run.span, "batch_size", batch);
  run.given = ort_options_enter(runtime, session, options, &run.options);
  if (session->state & SESSION_LISTENS)
    tell_listener(xsp_span_context(&run.span));
  return run;
}

void ort_run_end(struct run *run)
{
  ort_options_leave(run->options);
  xsp_span_finish(&run->span);
}

// ---- inferences that end elsewhere -----------------------------------------------------------------------------------

static struct ort_pending pendings[256];

struct ort_pending *ort_pending_begin(struct ort_runtime *runtime, const struct known *session,
                                      const struct ort_run_options *options, int64_t batch)
{
  for (size_t i = 0; i < sizeof pendings / sizeof pendings[0]; i++) {
    struct ort_pending *pending = &pendings[i];
    uint32_t free_now = 0;
    if (!__atomic_compare_exchange_n(&pending->in_use, &free_now, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      continue;
    pending->site = session->site;
    pending->batch = batch;
    pending->given = ort_options_enter(runtime, session, options, &pending->options);
    pending->asked = xsp_clock_ticks();
    return pending;
  }
  return NULL;
}

// It began when it was asked for, or when the thread that computed it had ended its last one.
void ort_pending_end(struct ort_pending *pending)
{
  static __thread uint64_t thread_free_at;
  uint64_t now = xsp_clock_ticks();
  struct xsp_interval interval = {
      .size = sizeof interval,
      .start = pending->asked > thread_free_at ? pending->asked : thread_free_at,
      .end = now,
  };
  thread_free_at = now;
  struct xsp_span span = xsp_span_emit(pending->site, &interval);
  if (pending->batch >= 0)
    xsp_span_tag_int(&span, "batch_size", pending->batch);
  ort_pending_cancel(pending);
}

void ort_pending_cancel(struct ort_pending *pending)
{
  ort_options_leave(pending->options);
  __atomic_store_n(&pending->in_use, 0, __ATOMIC_RELEASE);
}

void ort_binding_note(const void *binding, const char *input_name, int64_t batch)
{
  uint32_t input = 1;
  for (const char *at = input_name; at != NULL && *at != 0; at++)
    input = (input ^ (unsigned char)*at) * 16777619u | 1;
  struct known *known = ort_known_get(&ort_known_bindings, binding);
  if (known == NULL || (known->state != 0 && known->state != input))
    return;
  known->state = input;
  known->batch = batch;
}
