// SPDX-License-Identifier: Apache-2.0
// The parent's side of the runner protocol. A framework may abort, hang or be killed in the runner; here that becomes
// an error with the framework's last lines.
#include "launch/runner_private.h"

#include "base/clock.h"
#include "base/folder.h"
#include "base/slice.h"
#include "base/transfer.h"
#include "format/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_EVERY_MS 500           // while an answer is awaited
#define OUTPUT_BYTES_MOST (4 << 20) // of what the runner wrote, kept in memory
#define OUTPUT_BYTES_KEPT (64 << 10)

static int64_t now_ms(void)
{
  return (int64_t)(clock_now_ns(CLOCK_MONOTONIC) / 1000000);
}

// A framework may write without end; only the end of it is ever shown.
static void trim_output(const struct runner *runner)
{
  struct stat status;
  if (runner->output >= 0 && fstat(runner->output, &status) == 0 && status.st_blocks > OUTPUT_BYTES_MOST / 512 &&
      status.st_size > OUTPUT_BYTES_KEPT)
    (void)fallocate(runner->output, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, status.st_size - OUTPUT_BYTES_KEPT);
}

// Waits until there are bytes in `received`.
static enum status receive(struct runner *runner, int64_t deadline, struct error *err)
{
  for (;;) {
    int64_t now = now_ms(), left = deadline > now + LOOK_EVERY_MS ? LOOK_EVERY_MS : deadline - now;
    struct pollfd wait = {.fd = runner->control, .events = POLLIN};
    int ready = left <= 0 ? 0 : poll(&wait, 1, (int)left);
    if (runner->interrupted != NULL && *runner->interrupted > 1) {
      runner_kill(runner);
      return error_set(err, STATUS_SYSTEM, "interrupted", runner->model_path, NULL, "the runner was killed unanswered");
    }
    if (ready < 0 && errno == EINTR)
      continue;
    trim_output(runner);
    if (ready == 0 && left > 0 && !child_has_ended(&runner->child))
      continue;
    if (ready == 0 && left > 0)
      return runner_explain_end(runner, err);
    if (ready <= 0) {
      runner_kill(runner);
      return error_set(err, STATUS_SYSTEM, "the runner does not answer", runner->model_path, "a larger --timeout",
                       "no answer within %u s; it was killed", runner->timeout_s);
    }
    ssize_t got = TEMP_FAILURE_RETRY(recv(runner->control, runner->received, sizeof runner->received, 0));
    if (got <= 0)
      return runner_explain_end(runner, err);
    runner->received_bytes = (size_t)got;
    runner->taken = 0;
    return STATUS_OK;
  }
}

static enum status read_line(struct runner *runner, char *line, size_t size, struct error *err)
{
  int64_t deadline = runner->timeout_s == 0 ? INT64_MAX : now_ms() + (int64_t)runner->timeout_s * 1000;
  for (size_t used = 0; used < size; used++) {
    if (runner->taken == runner->received_bytes)
      XSP_TRY(receive(runner, deadline, err));
    line[used] = runner->received[runner->taken++];
    if (line[used] == '\n') {
      line[used] = 0;
      return STATUS_OK;
    }
  }
  return error_set(err, STATUS_SYSTEM, "the runner's answer is too long", runner->model_path, NULL,
                   "more than %zu bytes in a line", size);
}

// Reads one answer; an `error` line becomes *err.
enum status runner_answer(struct runner *runner, char *line, char *fields[PROTOCOL_FIELDS], size_t *ret_count,
                          struct error *err)
{
  XSP_TRY(read_line(runner, line, PROTOCOL_LINE_MAXIMUM, err));
  size_t count = protocol_parse(line, fields);
  if (count == 6 && strcmp(fields[0], "error") == 0) {
    if (runner->end != NULL && isolation_explain(runner->isolation, runner->end, fields[4], err)) // of what it started
      return STATUS_SYSTEM;
    long number = strtol(fields[1], NULL, 10);
    bool known = number > STATUS_OK && number <= STATUS_MEMORY;
    return error_set(err, known ? (enum status)number : STATUS_SYSTEM, fields[2], fields[3], fields[5], "%s",
                     fields[4]);
  }
  *ret_count = count;
  return count > 0 ? STATUS_OK
                   : error_set(err, STATUS_SYSTEM, "the runner's answer is malformed", runner->model_path, NULL,
                               "xsp and xsp-runner are of different versions?");
}

enum status runner_send(struct runner *runner, const char *const *fields, size_t count, struct error *err)
{
  struct buf line SCOPED(buf_done);
  buf_init(&line, PROTOCOL_LINE_MAXIMUM);
  protocol_format(&line, fields, count);
  bool is_sent = transfer_send(runner->control, line.data, line.length) && !line.failed;
  return is_sent ? STATUS_OK : runner_explain_end(runner, err);
}

enum status runner_unexpected(const struct runner *runner, const char *answer, const char *request, struct error *err)
{
  return error_set(err, STATUS_SYSTEM, "the runner answered something else", runner->model_path, NULL, "'%s' to '%s'",
                   answer, request);
}

enum status runner_wait_done(struct runner *runner, const char *request, struct error *err)
{
  char answer[PROTOCOL_LINE_MAXIMUM];
  char *fields[PROTOCOL_FIELDS];
  size_t count = 0;
  XSP_TRY(runner_answer(runner, answer, fields, &count, err));
  return strcmp(fields[0], "done") == 0 ? STATUS_OK : runner_unexpected(runner, fields[0], request, err);
}

enum status runner_ask(struct runner *runner, const char *const *fields, size_t count, struct error *err)
{
  XSP_TRY(runner_send(runner, fields, count, err));
  return runner_wait_done(runner, fields[0], err);
}

enum status runner_wait_ready(struct runner *runner, struct error *err)
{
  char line[PROTOCOL_LINE_MAXIMUM];
  char *fields[PROTOCOL_FIELDS];
  size_t count = 0;
  XSP_TRY(runner_answer(runner, line, fields, &count, err));
  if (count != 9 || strcmp(fields[0], "ready") != 0)
    return error_set(err, STATUS_SYSTEM, "the runner's greeting is malformed", runner->model_path, NULL,
                     "xsp and xsp-runner are of different versions?");
  struct profile_found *found = &runner->found;
  snprintf(found->framework, sizeof found->framework, "%s", fields[1]);
  snprintf(found->framework_version, sizeof found->framework_version, "%s", fields[2]);
  snprintf(found->library, sizeof found->library, "%s", fields[3]);
  snprintf(found->layer_source, sizeof found->layer_source, "%s", fields[4]);
  snprintf(found->note, sizeof found->note, "%s", fields[5]);
  snprintf(found->device, sizeof found->device, "%s", fields[6]);
  found->device_class = (enum predictor_on)strtol(fields[7], NULL, 10);
  found->cudnn_version = strtol(fields[8], NULL, 10);
  return STATUS_OK;
}

void runner_close(struct runner *runner)
{
  if (runner->child.process > 0) {
    send(runner->control, "quit\n", 5, MSG_NOSIGNAL);
    bool was_killed;
    (void)runner_reap(runner, &was_killed);
  }
  if (runner->control > 0)
    close(runner->control);
  if (runner->output > 0)
    close(runner->output);
  if (runner->values > 0)
    close(runner->values);
  free(runner->data);
  isolation_end_free(runner->end);
  if (runner->work_directory[0] != 0)
    folder_remove_tree(runner->work_directory);
  if (runner->work_lock > 0)
    close(runner->work_lock);
  *runner = (struct runner){.control = -1, .output = -1, .values = -1, .work_lock = -1};
}
