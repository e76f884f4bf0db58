// SPDX-License-Identifier: Apache-2.0
// Chooses agents, and follows what they measure. Called by the verbs `evaluate` and `profile`. One thread asks all agents in
// turn. An agent is lost when it does not answer and its lease has ended, or when it does not know the evaluation any more.
#include "agent/dispatch.h"

#include "agent/constraint.h"
#include "agent/registry.h"
#include "agent/remote.h"
#include "base/clock.h"
#include "base/debug.h"
#include "base/file_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define ROUND_NS 200000000L
#define PATIENCE_NS                                                                                                    \
  UINT64_C(60000000000) // for an agent that does not answer, where the registry does not answer either
#define NOTES_MOST 1024u

enum run_state { RUN_NOT, RUN_GOING, RUN_DONE, RUN_FAILED };
struct run {
  const struct agent_record *agent;
  const char *output_path;
  struct remote *remote;
  enum run_state state;
  uint64_t silent_ns; // since when it does not answer; 0: it does
  struct answer *answer;
  struct error error; // RUN_FAILED
};
struct dispatching {
  const struct dispatch_options *options;
  struct arena *arena;
  struct dispatch *dispatch;
  struct etcd *etcd;
  struct constraints constraints;
  struct agent_list agents;
  struct run *runs; // of agents.items, in the same places; only those that are tried have a remote
};

// ---- choosing ----------------------------------------------------------------------------------------------------------
// What the agent misses; NULL: nothing.
static const char *missed(const struct dispatching *dispatching, const struct agent_record *agent)
{
  const struct submission *submission = &dispatching->options->submission;
  const char *why = NULL;
  const struct constraint *constraint = constraints_missed(&dispatching->constraints, agent, dispatching->arena, &why);
  if (constraint != NULL)
    return arena_format(dispatching->arena, "%s: %s", constraint->text, why);
  for (size_t i = 0; i < submission->model_count; i++)
    if (constraints_model(&dispatching->constraints, agent, submission->models[i]) == NULL)
      return arena_format(dispatching->arena, "it has no model %s%s", submission->models[i],
                          submission->framework != NULL ? " of the framework" : "");
  return NULL;
}

static double load_of(const struct agent_record *agent)
{
  return (double)agent->busy / (double)(agent->jobs > 0 ? agent->jobs : 1);
}

// The least busy agent that was not tried; of equally busy ones any. NULL: none is left.
static struct run *choose(struct dispatching *dispatching)
{
  size_t count = dispatching->agents.count, first = 0;
  struct run *best = NULL;
  if (getrandom(&first, sizeof first, GRND_NONBLOCK) != (ssize_t)sizeof first)
    first = 0;
  for (size_t i = 0; i < count; i++) {
    struct run *run = &dispatching->runs[(first % count + i) % count];
    if (run->state == RUN_NOT && missed(dispatching, run->agent) == NULL &&
        (best == NULL || load_of(run->agent) < load_of(best->agent)))
      best = run;
  }
  return best;
}

static enum status nobody(const struct dispatching *dispatching, struct error *err)
{
  const struct dispatch_options *options = dispatching->options;
  for (size_t i = 0; i < dispatching->agents.count; i++)
    options->message("xsp: %s: %s", dispatching->agents.items[i].name,
                     missed(dispatching, &dispatching->agents.items[i]));
  return error_set(err, STATUS_SYSTEM, "no agent can measure", options->submission.models[0],
                   "`xsp agent --list --registry URL`, or other constraints", "%s%s",
                   dispatching->agents.count == 0 ? "none is registered with " : "each of them misses something",
                   dispatching->agents.count == 0 ? options->registry : "");
}

// ---- one evaluation ----------------------------------------------------------------------------------------------------
static void fail(struct run *run)
{
  run->state = RUN_FAILED;
  if (run->error.where[0] == 0 || strcmp(run->error.where, run->agent->url) == 0)
    snprintf(run->error.where, sizeof run->error.where, "%s (%s)", run->agent->name, run->agent->url);
}

static enum remote_result begin(struct dispatching *dispatching, struct run *run)
{
  const struct dispatch_options *options = dispatching->options;
  enum remote_result result = REMOTE_REFUSED;
  if (file_place_check(run->output_path, options->force, &run->error) == STATUS_OK && // before minutes of work
      remote_open(run->agent->url, options->authorization, &run->remote, &run->error) == STATUS_OK)
    result = remote_submit(run->remote, &options->submission, &run->error);
  run->state = RUN_GOING;
  DEBUG(agent, "%s, %lld busy of %lld: result %d", run->agent->name, (long long)run->agent->busy,
        (long long)run->agent->jobs, (int)result);
  if (result != REMOTE_OK)
    fail(run);
  return result;
}

// The agent's error, "WHAT: WHERE: WHY; try: ADVICE".
static void fail_by_answer(struct run *run, const struct answer *answer)
{
  static const char mark[] = "; try: ";
  const char *why = answer->error != NULL ? answer->error : "it was cancelled", *advice = strstr(why, mark);
  int length = advice != NULL ? (int)(advice - why) : (int)strlen(why);
  error_set(&run->error, STATUS_SYSTEM, "it failed on the agent", NULL, advice != NULL ? advice + strlen(mark) : NULL,
            "%.*s", length, why);
  remote_remove(run->remote);
  fail(run);
}

static bool is_registered(struct dispatching *dispatching, const struct run *run)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct agent_list agents;
  bool is_found = false;
  if (registry_agents(dispatching->etcd, NULL, &arena, &agents, NULL) != STATUS_OK)
    is_found = clock_now_ns(CLOCK_MONOTONIC) - run->silent_ns < PATIENCE_NS;
  for (size_t i = 0; i < agents.count; i++)
    is_found |= strcmp(agents.items[i].name, run->agent->name) == 0;
  return is_found;
}

// True: the agent is gone.
static bool look(struct dispatching *dispatching, struct run *run)
{
  const struct dispatch_options *options = dispatching->options;
  struct arena arena = {0};
  struct answer *answer = arena_alloc(&arena, sizeof *answer);
  enum remote_result result = remote_look(run->remote, &arena, answer, &run->error);
  if (result == REMOTE_OK && answer->state == JOB_DONE) {
    result = remote_fetch(run->remote, run->output_path, options->force, &run->error);
    if (result == REMOTE_OK) { // the same once more, to stay
      run->answer = arena_alloc(dispatching->arena, sizeof *run->answer);
      result = remote_look(run->remote, dispatching->arena, run->answer, &run->error);
    }
    if (result == REMOTE_OK) {
      remote_remove(run->remote);
      run->state = RUN_DONE;
    }
  } else if (result == REMOTE_OK && (answer->state == JOB_FAILED || answer->state == JOB_CANCELLED)) {
    fail_by_answer(run, answer);
  } else if (result == REMOTE_OK && answer->progress != NULL && options->progress != NULL) {
    options->progress(arena_format(&arena, "%s: %s", run->agent->name, answer->progress), false);
  } else if (result == REMOTE_OK && answer->place > 0 && options->progress != NULL) {
    options->progress(
        arena_format(&arena, "%s: waits, place %lld in its queue", run->agent->name, (long long)answer->place), false);
  }
  arena_done(&arena);
  if (result == REMOTE_REFUSED)
    fail(run);
  if (result != REMOTE_LOST) {
    run->silent_ns = 0;
    return false;
  }
  if (run->silent_ns == 0)
    run->silent_ns = clock_now_ns(CLOCK_MONOTONIC);
  bool is_gone = remote_knows_no_more(run->remote) || !is_registered(dispatching, run);
  if (is_gone)
    fail(run);
  return is_gone;
}

// ---- on one ------------------------------------------------------------------------------------------------------------
static void note(struct dispatching *dispatching, const char *text)
{
  struct dispatch *dispatch = dispatching->dispatch;
  if (dispatch->note_count < NOTES_MOST)
    dispatch->notes[dispatch->note_count++] = text;
}

static void nap(void)
{
  const struct timespec time = {0, ROUND_NS};
  nanosleep(&time, NULL); // a signal ends it
}

// Until it is done, failed or lost.
static void follow(struct dispatching *dispatching, struct run *run, bool *ret_is_lost)
{
  *ret_is_lost = false;
  while (run->state == RUN_GOING && !*dispatching->options->interrupted) {
    *ret_is_lost = look(dispatching, run);
    if (run->state == RUN_GOING)
      nap();
  }
}

static enum status run_on_one(struct dispatching *dispatching, struct error *err)
{
  struct run *run = choose(dispatching), *last = NULL, *busy = NULL;
  bool is_lost = false;
  if (run == NULL)
    return nobody(dispatching, err);
  for (; run != NULL && !*dispatching->options->interrupted; run = choose(dispatching)) {
    if (is_lost)
      note(dispatching, arena_format(dispatching->arena, "the agent %s was lost; its work moved to %s",
                                     last->agent->name, run->agent->name));
    last = run;
    run->output_path = dispatching->options->output_path;
    enum remote_result result = begin(dispatching, run);
    is_lost = result == REMOTE_LOST;
    if (result == REMOTE_BUSY)
      busy = run;
    if (result == REMOTE_OK)
      follow(dispatching, run, &is_lost);
    if (run->state != RUN_FAILED || !(is_lost || result == REMOTE_BUSY || result == REMOTE_FORBIDDEN))
      break;
  }
  if (last == NULL || last->state != RUN_FAILED)
    return STATUS_OK;
  *err = (busy != NULL ? busy : last)->error; // it may have room later
  return err->status;
}

// ---- on all ------------------------------------------------------------------------------------------------------------
static const char *path_for(const struct dispatching *dispatching, const char *agent)
{
  const char *path = dispatching->options->output_path;
  size_t length = strlen(path) - (text_ends_with(path, ".xsp") ? strlen(".xsp") : 0);
  return arena_format(dispatching->arena, "%.*s-%s.xsp", (int)length, path, agent);
}

static enum status run_on_all(struct dispatching *dispatching, struct error *err)
{
  size_t going = 0;
  struct run *run;
  for (; (run = choose(dispatching)) != NULL; going++) {
    run->output_path = path_for(dispatching, run->agent->name);
    (void)begin(dispatching, run);
  }
  if (going == 0)
    return nobody(dispatching, err);
  while (going > 0 && !*dispatching->options->interrupted) {
    going = 0;
    for (size_t i = 0; i < dispatching->agents.count; i++) {
      run = &dispatching->runs[i];
      if (run->state == RUN_GOING && look(dispatching, run))
        note(dispatching, arena_format(dispatching->arena, "the agent %s was lost", run->agent->name));
      going += run->state == RUN_GOING;
    }
    if (going > 0)
      nap();
  }
  for (size_t i = 0; i < dispatching->agents.count; i++)
    if (dispatching->runs[i].state == RUN_FAILED) {
      *err = dispatching->runs[i].error;
      return err->status;
    }
  return STATUS_OK;
}

// ---- all of it ---------------------------------------------------------------------------------------------------------
static enum status prepare(struct dispatching *dispatching, struct error *err)
{
  const struct dispatch_options *options = dispatching->options;
  XSP_TRY(constraints_parse(options->constraints, dispatching->arena, &dispatching->constraints, err));
  XSP_TRY(etcd_open(options->registry, &dispatching->etcd, err));
  XSP_TRY(registry_agents(dispatching->etcd, options->message, dispatching->arena, &dispatching->agents, err));
  dispatching->runs = arena_alloc_array(dispatching->arena, dispatching->agents.count + 1, sizeof *dispatching->runs);
  for (size_t i = 0; i < dispatching->agents.count; i++)
    dispatching->runs[i].agent = &dispatching->agents.items[i];
  return STATUS_OK;
}

static void finish(struct dispatching *dispatching)
{
  struct dispatch *dispatch = dispatching->dispatch;
  dispatch->parts = arena_alloc_array(dispatching->arena, dispatching->agents.count + 1, sizeof *dispatch->parts);
  for (size_t i = 0; dispatching->runs != NULL && i < dispatching->agents.count; i++) {
    struct run *run = &dispatching->runs[i];
    if (run->state == RUN_GOING) // interrupted
      remote_remove(run->remote);
    if (run->state == RUN_DONE)
      dispatch->parts[dispatch->count++] = (struct dispatched){run->agent->name, run->output_path, run->answer};
    remote_close(run->remote);
  }
  etcd_close(dispatching->etcd);
  if (dispatching->options->progress != NULL)
    dispatching->options->progress(NULL, true);
}

enum status dispatch_run(const struct dispatch_options *options, struct arena *arena, struct dispatch *ret_dispatch,
                         struct error *err)
{
  struct dispatching dispatching = {.options = options, .arena = arena, .dispatch = ret_dispatch};
  *ret_dispatch = (struct dispatch){.notes = arena_alloc_array(arena, NOTES_MOST, sizeof(const char *))};
  enum status status = prepare(&dispatching, err);
  if (status == STATUS_OK)
    status = options->on_all ? run_on_all(&dispatching, err) : run_on_one(&dispatching, err);
  finish(&dispatching);
  return status;
}
