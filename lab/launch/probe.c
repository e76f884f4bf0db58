// SPDX-License-Identifier: Apache-2.0
// The child processes of `xsp check`. If the result does not arrive complete, the child's end is the reason.
#include "launch/probe.h"

#include <xsp/tracer.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

// Probes, sends the result, and leaves without running the exit handlers of whatever was loaded.
static void child_main(int to_parent, probe_fn probe, const void *what, struct probe_result *result)
{
  int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard = 0; standard <= 2; standard++)
    dup2(nowhere, standard);
  probe(what, result);
  ssize_t written = write(to_parent, result, sizeof *result);
  (void)written; // an incomplete result counts as none
  _exit(0);
}

// ---- in xsp ----------------------------------------------------------------------------------------------------------
_Static_assert(sizeof(struct probe_result) <= PIPE_BUF, "crosses the pipe in one piece");

// False: the child ended without a result, or the time was over (*ret_was_late).
static bool receive(int from_child, struct probe_result *ret_result, bool *ret_was_late)
{
  struct pollfd ready = {from_child, POLLIN, 0};
  int count;
  do
    count = poll(&ready, 1, PROBE_TIMEOUT_MS);
  while (count < 0 && errno == EINTR);
  *ret_was_late = count == 0;
  return count > 0 && read(from_child, ret_result, sizeof *ret_result) == (ssize_t)sizeof *ret_result;
}

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
  int pipes[2];
  if (pipe2(pipes, O_CLOEXEC) != 0) {
    refuse(result, STATUS_SYSTEM, strerror(errno));
    return;
  }
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) {
    refuse(result, STATUS_SYSTEM, strerror(errno));
    close(pipes[0]);
    close(pipes[1]);
    return;
  }
  if (child == 0)
    child_main(pipes[1], probe, what, result);
  close(pipes[1]);
  struct probe_result answer = {0};
  bool is_late = false;
  bool is_complete = receive(pipes[0], &answer, &is_late);
  if (is_late)
    kill(child, SIGKILL);
  int wait_status = 0;
  while (waitpid(child, &wait_status, 0) < 0 && errno == EINTR)
    continue;
  close(pipes[0]);
  if (is_complete)
    *result = answer;
  else
    explain_end(wait_status, is_late, result);
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
