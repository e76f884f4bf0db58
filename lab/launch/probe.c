// SPDX-License-Identifier: Apache-2.0
// The child processes of `xsp check`. Where a child did not complete its result, its end is the reason.
#include "launch/probe.h"

#include "base/child.h"

#include <xsp/tracer.h>

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

// ---- in the child ----------------------------------------------------------------------------------------------------
typedef void (*probe_fn)(const void *what, struct probe_result *ret_result);

struct predictor_probe {
  const struct predictor *predictor;
  const char *library_path;
};

static void in_child_predictor(const void *what, struct probe_result *ret_result)
{
  const struct predictor_probe *probe = what;
  struct error err = {0};
  ret_result->status =
      predictor_probe(probe->predictor, probe->library_path, ret_result->library, sizeof ret_result->library,
                      ret_result->version, sizeof ret_result->version, &err);
  ret_result->is_usable = ret_result->status == STATUS_OK;
  snprintf(ret_result->untold, sizeof ret_result->untold, "%s",
           probe->predictor->untold != NULL ? probe->predictor->untold : "");
  if (ret_result->is_usable)
    return;
  snprintf(ret_result->reason, sizeof ret_result->reason, "%s%s%s%s%s", err.what, err.where[0] != 0 ? ": " : "",
           err.where, err.why[0] != 0 ? ": " : "", err.why);
  snprintf(ret_result->advice, sizeof ret_result->advice, "%s", err.advice);
}

static const char *no_option(const struct xsp_host *host, const char *name)
{
  return NULL;
}

static void ignore_message(const struct xsp_host *host, const char *message)
{
}

// The host of a probe: the tracer's reports go into the result.
struct probe_host {
  struct xsp_host host; // first: the address is the tracer's handle
  struct probe_result *result;
};

static void note_found(const struct xsp_host *host, const char *library, const char *version)
{
  struct probe_result *result = ((const struct probe_host *)host)->result;
  if (library != NULL)
    snprintf(result->library, sizeof result->library, "%s", library);
  if (version != NULL)
    snprintf(result->version, sizeof result->version, "%s", version);
}

static void note_advice(const struct xsp_host *host, const char *advice)
{
  struct probe_result *result = ((const struct probe_host *)host)->result;
  if (advice != NULL)
    snprintf(result->advice, sizeof result->advice, "%s", advice);
}

static void ignore_lost(const struct xsp_host *host, uint64_t events)
{
}

static void refuse(struct probe_result *result, enum status status, const char *reason)
{
  result->status = status;
  snprintf(result->reason, sizeof result->reason, "%s", reason);
}

static void in_child_tracer(const void *what, struct probe_result *ret_result)
{
  void *handle = dlopen(what, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    refuse(ret_result, STATUS_SYSTEM, dlerror());
    return;
  }
  void *symbol = dlsym(handle, XSP_TRACER_ENTRY);
  if (symbol == NULL) {
    refuse(ret_result, STATUS_INPUT, "not a tracer: the function " XSP_TRACER_ENTRY " is missing");
    return;
  }
  xsp_tracer_entry_fn entry;
  memcpy(&entry, &symbol, sizeof entry);
  const struct probe_host host = {
      {sizeof host.host, XSP_ABI_VERSION, no_option, ignore_message, note_found, note_advice, ignore_lost}, ret_result};
  const struct xsp_tracer *tracer = entry(&host.host);
  if (tracer == NULL || tracer->name == NULL) {
    refuse(ret_result, STATUS_NO, "it refused this version of xsp");
    return;
  }
  snprintf(ret_result->name, sizeof ret_result->name, "%s", tracer->name);
  char why[sizeof ret_result->reason] = "";
  if (tracer->probe == NULL || tracer->probe(&host.host, why, sizeof why) == 0)
    ret_result->is_usable = true;
  else // still its own path: it found no library that opens
    refuse(ret_result, strcmp(ret_result->library, what) == 0 ? STATUS_SYSTEM : STATUS_NO,
           why[0] != 0 ? why : "its probe failed without a reason");
}

// Shared with the child, which leaves without running the exit handlers of whatever was loaded.
struct probe_task {
  probe_fn probe;
  const void *what;
  struct probe_result result;
  bool is_complete;
};

static void in_child(const void *context)
{
  struct probe_task *task = (struct probe_task *)(uintptr_t)context;
  task->probe(task->what, &task->result);
  task->is_complete = true;
}

// ---- in xsp ----------------------------------------------------------------------------------------------------------
static void explain_end(int wait_status, bool was_killed, struct probe_result *result)
{
  result->is_usable = false;
  result->status = STATUS_SYSTEM;
  if (was_killed)
    snprintf(result->reason, sizeof result->reason, "it did not answer within %d s", PROBE_TIMEOUT_MS / 1000);
  else if (WIFSIGNALED(wait_status))
    snprintf(result->reason, sizeof result->reason, "loading it crashed: signal %d (%s)", WTERMSIG(wait_status),
             strsignal(WTERMSIG(wait_status)));
  else
    snprintf(result->reason, sizeof result->reason, "loading it ended the process with status %d",
             WEXITSTATUS(wait_status));
  snprintf(result->advice, sizeof result->advice, "another version of it");
}

static void run_child(probe_fn probe, const void *what, struct probe_result *result)
{
  struct child child;
  struct probe_task *task = mmap(NULL, sizeof *task, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (task == MAP_FAILED) {
    refuse(result, STATUS_SYSTEM, strerror(errno));
    return;
  }
  *task = (struct probe_task){.probe = probe, .what = what, .result = *result};
  const struct child_command command = {.function = in_child,
                                        .context = task,
                                        .input = CHILD_NULL,
                                        .output = CHILD_NULL,
                                        .errors = CHILD_NULL,
                                        .death_signal = SIGKILL,
                                        .has_group = true};
  fflush(NULL);
  int failure = child_start(&command, &child);
  if (failure != 0) {
    refuse(result, STATUS_SYSTEM, strerror(failure));
  } else {
    bool is_late = child_wait(&child, PROBE_TIMEOUT_MS, NULL) == CHILD_LATE;
    int status = child_end(&child, 0);
    if (task->is_complete)
      *result = task->result;
    else
      explain_end(status, is_late, result);
  }
  munmap(task, sizeof *task);
}

void probe_predictor(const struct predictor *predictor, const char *library_path, struct probe_result *ret_result)
{
  *ret_result = (struct probe_result){0};
  snprintf(ret_result->name, sizeof ret_result->name, "%s", predictor->name);
  const struct predictor_probe probe = {predictor, library_path};
  run_child(in_child_predictor, &probe, ret_result);
}

void probe_tracer(const char *path, struct probe_result *ret_result)
{
  *ret_result = (struct probe_result){0};
  snprintf(ret_result->name, sizeof ret_result->name, "%s", basename(path));
  char *dot = strrchr(ret_result->name, '.');
  if (dot != NULL)
    *dot = 0;
  snprintf(ret_result->library, sizeof ret_result->library, "%s", path);
  run_child(in_child_tracer, path, ret_result);
}
