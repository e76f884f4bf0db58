// SPDX-License-Identifier: Apache-2.0
// The parent's side of the runner protocol. A framework may abort, hang or be killed in the runner; here that becomes
// an error with the framework's last lines.
#include "launch/runner.h"

#include "base/clock.h"
#include "base/folder.h"
#include "base/slice.h"
#include "format/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUIT_WAIT_MS 5000
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

// The last lines of what the runner wrote, on one line, newest last.
static void output_tail(const struct runner *runner, char *text, size_t size)
{
  text[0] = 0;
  if (runner->output < 0)
    return;
  off_t end = lseek(runner->output, 0, SEEK_END);
  off_t from = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
  ssize_t got = pread(runner->output, text, size - 1, from);
  text[got > 0 ? got : 0] = 0;
  while (got > 0 && (text[got - 1] == '\n' || text[got - 1] == ' '))
    text[--got] = 0;
}

// The keeper of an isolated one kills it, and then has something to remove.
static void kill_process(const struct runner *runner)
{
  kill(runner->process, runner->end != NULL ? SIGTERM : SIGKILL);
}

// Waits for the process to end, at most QUIT_WAIT_MS: a framework's destructors may hang, and it may have closed the socket
// without meaning to. Returns its wait status.
static int reap(struct runner *runner, bool *ret_was_killed)
{
  int64_t deadline = now_ms() + QUIT_WAIT_MS;
  int how = 0;
  *ret_was_killed = false;
  while (waitpid(runner->process, &how, WNOHANG) == 0) {
    if (now_ms() >= deadline) {
      kill_process(runner);
      *ret_was_killed = true;
    }
    poll(NULL, 0, 1);
  }
  runner->process = 0;
  return how;
}

// The runner closed its end, or ended: reaps it; the error is how it died.
static enum status explain_death(struct runner *runner, struct error *err)
{
  bool was_killed = false;
  int how = reap(runner, &was_killed);
  char tail[320];
  output_tail(runner, tail, sizeof tail);
  const char *separator = tail[0] != 0 ? "; it last wrote: " : "";
  if (runner->end != NULL && isolation_explain(runner->isolation, runner->end, tail, err))
    return STATUS_SYSTEM;
  if (was_killed)
    return error_set(err, STATUS_SYSTEM, "the runner does not answer", runner->model_path, NULL,
                     "it closed its connection and went on; it was killed%s%s", separator, tail);
  if (WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL)
    return error_set(
        err, STATUS_SYSTEM, "the runner was killed", runner->model_path,
        "a smaller --batch, more memory (the kernel's log says whether it ran out), or --sequential for variants",
        "signal 9, as the kernel sends when memory runs out%s%s", separator, tail);
  if (WIFSIGNALED(how))
    return error_set(err, STATUS_INPUT, "the framework crashed in the runner", runner->model_path,
                     "the model in the framework's own tools; xsp itself is unharmed", "signal %d (%s)%s%s",
                     WTERMSIG(how), strsignal(WTERMSIG(how)), separator, tail);
  return error_set(err, WEXITSTATUS(how) == 127 ? STATUS_SYSTEM : STATUS_INPUT, "the runner ended by itself",
                   runner->model_path, "xsp check", "exit status %d%s%s", WEXITSTATUS(how), separator, tail);
}

// Ended, though not yet reaped. The socket stays open where a child of the runner holds the other end.
static bool has_ended(const struct runner *runner)
{
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)runner->process, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
}

// Waits until there are bytes in `received`.
static enum status receive(struct runner *runner, int64_t deadline, struct error *err)
{
  for (;;) {
    int64_t now = now_ms(), left = deadline > now + LOOK_EVERY_MS ? LOOK_EVERY_MS : deadline - now;
    struct pollfd wait = {.fd = runner->control, .events = POLLIN};
    int ready = left <= 0 ? 0 : poll(&wait, 1, (int)left);
    if (runner->interrupted != NULL && *runner->interrupted > 1) {
      kill_process(runner);
      return error_set(err, STATUS_SYSTEM, "interrupted", runner->model_path, NULL, "the runner was killed unanswered");
    }
    if (ready < 0 && errno == EINTR)
      continue;
    trim_output(runner);
    if (ready == 0 && left > 0 && !has_ended(runner))
      continue;
    if (ready == 0 && left > 0)
      return explain_death(runner, err);
    if (ready <= 0) {
      kill_process(runner);
      return error_set(err, STATUS_SYSTEM, "the runner does not answer", runner->model_path, "a larger --timeout",
                       "no answer within %u s; it was killed", runner->timeout_s);
    }
    ssize_t got = recv(runner->control, runner->received, sizeof runner->received, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return explain_death(runner, err);
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
static enum status read_answer(struct runner *runner, char *line, char *fields[PROTOCOL_FIELDS], size_t *ret_count,
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

static enum status send_request(struct runner *runner, const char *const *fields, size_t count, struct error *err)
{
  struct buf line;
  buf_init(&line, PROTOCOL_LINE_MAXIMUM);
  protocol_format(&line, fields, count);
  size_t sent = 0;
  while (sent < line.length) {
    ssize_t put = send(runner->control, line.data + sent, line.length - sent, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      break;
    sent += (size_t)put;
  }
  bool whole = sent == line.length && !line.failed;
  buf_done(&line);
  return whole ? STATUS_OK : explain_death(runner, err);
}

static enum status something_else(const struct runner *runner, const char *answer, const char *request,
                                  struct error *err)
{
  return error_set(err, STATUS_SYSTEM, "the runner answered something else", runner->model_path, NULL, "'%s' to '%s'",
                   answer, request);
}

static enum status wait_done(struct runner *runner, const char *request, struct error *err)
{
  char answer[PROTOCOL_LINE_MAXIMUM];
  char *fields[PROTOCOL_FIELDS];
  size_t count = 0;
  XSP_TRY(read_answer(runner, answer, fields, &count, err));
  return strcmp(fields[0], "done") == 0 ? STATUS_OK : something_else(runner, fields[0], request, err);
}

static enum status ask(struct runner *runner, const char *const *fields, size_t count, struct error *err)
{
  XSP_TRY(send_request(runner, fields, count, err));
  return wait_done(runner, fields[0], err);
}

enum status runner_describe(struct runner *runner, runner_visit_fn visit, void *context, struct error *err)
{
  XSP_TRY(send_request(runner, (const char *const[]){"describe"}, 1, err));
  for (;;) {
    char answer[PROTOCOL_LINE_MAXIMUM];
    char *fields[PROTOCOL_FIELDS];
    size_t count = 0;
    XSP_TRY(read_answer(runner, answer, fields, &count, err));
    if (strcmp(fields[0], "done") == 0)
      return STATUS_OK;
    if (count != 4 || !text_is_one_of(fields[0], "input", "output", "layer"))
      return something_else(runner, fields[0], "describe", err);
    visit(context, fields[0], fields[1], (enum tensor_type)strtol(fields[2], NULL, 10), fields[3]);
  }
}

enum status runner_wait_ready(struct runner *runner, struct error *err)
{
  char line[PROTOCOL_LINE_MAXIMUM];
  char *fields[PROTOCOL_FIELDS];
  size_t count = 0;
  XSP_TRY(read_answer(runner, line, fields, &count, err));
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

enum status runner_prepare(struct runner *runner, int64_t batch, struct error *err)
{
  char number[24];
  snprintf(number, sizeof number, "%" PRId64, batch);
  return ask(runner, (const char *const[]){"prepare", number}, 2, err);
}

enum status runner_predict(struct runner *runner, int64_t batch, enum runner_inference kind, struct error *err)
{
  static const char *const kinds[] = {[INFERENCE_COUNTED] = "0", [INFERENCE_WARMUP] = "1", [INFERENCE_COLD] = "cold"};
  char number[24];
  snprintf(number, sizeof number, "%" PRId64, batch);
  return ask(runner, (const char *const[]){"predict", number, kinds[kind]}, 3, err);
}

static enum status send_pictures(struct runner *runner, const struct runner_picture *pictures, size_t count,
                                 struct error *err)
{
  for (size_t i = 0; i < count; i++) {
    const struct runner_picture *picture = &pictures[i];
    const uint64_t values[] = {picture->offset, picture->size, picture->crc32};
    char numbers[3][24];
    for (size_t k = 0; k < 3; k++)
      snprintf(numbers[k], sizeof numbers[k], "%" PRIu64, values[k]);
    const char *label = picture->label != NULL ? picture->label : "";
    const char *request[] = {"picture", picture->path, label, picture->name, numbers[0], numbers[1], numbers[2]};
    XSP_TRY(ask(runner, request, picture->name != NULL ? 7 : picture->label != NULL ? 3 : 2, err));
  }
  return STATUS_OK;
}

enum status runner_load(struct runner *runner, const struct runner_picture *pictures, size_t count, struct error *err)
{
  XSP_TRY(send_pictures(runner, pictures, count, err));
  return ask(runner, (const char *const[]){"load"}, 1, err);
}

enum status runner_query(struct runner *runner, size_t first, size_t count, uint64_t arrival_ns,
                         enum runner_inference kind, struct error *err)
{
  char arrival[24], place[24], number[24];
  snprintf(arrival, sizeof arrival, "%" PRIu64, arrival_ns);
  snprintf(place, sizeof place, "%zu", first);
  snprintf(number, sizeof number, "%zu", count);
  return ask(runner, (const char *const[]){"query", kind == INFERENCE_WARMUP ? "1" : "0", arrival, place, number}, 5,
             err);
}

enum status runner_infer(struct runner *runner, const struct runner_picture *pictures, size_t count,
                         enum runner_inference kind, const char *output, runner_found_fn visit, void *context,
                         struct error *err)
{
  XSP_TRY(send_pictures(runner, pictures, count, err));
  const char *request[] = {"infer", kind == INFERENCE_WARMUP ? "1" : "0", output};
  XSP_TRY(send_request(runner, request, output != NULL ? 3 : 2, err));
  for (;;) {
    char answer[PROTOCOL_LINE_MAXIMUM];
    char *fields[PROTOCOL_FIELDS];
    size_t field_count = 0;
    XSP_TRY(read_answer(runner, answer, fields, &field_count, err));
    if (strcmp(fields[0], "done") == 0)
      return STATUS_OK;
    if (output == NULL || !visit(context, fields, field_count))
      return something_else(runner, fields[0], "infer", err);
  }
}

// "1,3,224,224"; "": of a scalar. Returns how many bytes the values take; 0 where the fields make no sense, too.
static size_t read_kind(const char *type, const char *shape, struct runner_tensor *tensor)
{
  long number = strtol(type, NULL, 10);
  tensor->type = number > 0 && number < TENSOR_TYPES ? (enum tensor_type)number : 0;
  size_t bytes = tensor_type_facts(tensor->type)->bytes;
  for (const char *at = shape; *at != 0 && tensor->rank < TENSOR_MAXIMUM_RANK;) {
    char *end = NULL;
    long long size = strtoll(at, &end, 10);
    if (end == at || size < 0 || (*end != 0 && *end != ',') || __builtin_mul_overflow(bytes, (size_t)size, &bytes))
      return 0;
    tensor->shape[tensor->rank++] = size;
    at = end + (*end == ',');
  }
  return bytes;
}

static enum status read_values(struct runner *runner, struct runner_tensor *tensor, struct error *err)
{
  free(runner->data);
  runner->data = malloc(tensor->size_bytes + 1); // never NULL by chance
  if (runner->data == NULL)
    return error_set(err, STATUS_MEMORY, "cannot read a tensor", runner->model_path, "a smaller --batch",
                     "%zu bytes cannot be had", tensor->size_bytes);
  tensor->data = runner->data;
  for (size_t done = 0; done < tensor->size_bytes;) {
    ssize_t got = pread(runner->values, (char *)runner->data + done, tensor->size_bytes - done, (off_t)done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return error_set(err, STATUS_SYSTEM, "cannot read a tensor", runner->model_path, NULL,
                       "the runner wrote %zu bytes of %zu", done, tensor->size_bytes);
    done += (size_t)got;
  }
  return STATUS_OK;
}

enum status runner_read(struct runner *runner, const char *kind, const char *name, struct runner_tensor *ret_tensor,
                        struct error *err)
{
  *ret_tensor = (struct runner_tensor){0};
  XSP_TRY(send_request(runner, (const char *const[]){"read", kind, name}, 3, err));
  char answer[PROTOCOL_LINE_MAXIMUM];
  char *fields[PROTOCOL_FIELDS];
  size_t count = 0;
  XSP_TRY(read_answer(runner, answer, fields, &count, err));
  if (count == 2 && strcmp(fields[0], "unread") == 0) {
    snprintf(ret_tensor->problem, sizeof ret_tensor->problem, "%s", fields[1]);
  } else {
    if (count != 4 || strcmp(fields[0], "tensor") != 0)
      return something_else(runner, fields[0], "read", err);
    ret_tensor->size_bytes = read_kind(fields[1], fields[2], ret_tensor);
    if (ret_tensor->type == 0 || strtoull(fields[3], NULL, 10) != ret_tensor->size_bytes)
      return something_else(runner, fields[2], "read", err);
    XSP_TRY(read_values(runner, ret_tensor, err));
  }
  return wait_done(runner, "read", err);
}

enum status runner_flush(struct runner *runner, struct error *err)
{
  return ask(runner, (const char *const[]){"flush"}, 1, err);
}

void runner_close(struct runner *runner)
{
  if (runner->process > 0) {
    send(runner->control, "quit\n", 5, MSG_NOSIGNAL);
    bool was_killed;
    (void)reap(runner, &was_killed);
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
    folder_remove_flat(runner->work_directory);
  *runner = (struct runner){.control = -1, .output = -1, .values = -1};
}
