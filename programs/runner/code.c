// SPDX-License-Identifier: Apache-2.0
// Starts, asks and ends the interpreter of a manifest's code; see code.h. Its side is code.py. Called by main.c, pictures.c and
// scores.c.
#include "programs/runner/code.h"

#include "base/json_write.h"
#include "base/memory.h"
#include "base/python.h"
#include "base/transfer.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <xsp/tracer.h>

#define WHAT "cannot run the manifest's code"
#define REPLY_BYTES 1024

XSP_SITE_FULL(before_site, XSP_LEVEL_APPLICATION, "preprocess code", "preprocess", "runner");
XSP_SITE_FULL(after_site, XSP_LEVEL_APPLICATION, "postprocess code", "postprocess", "runner");

// ---- the interpreter -------------------------------------------------------------------------------------------------
static enum status start(struct code *code, const struct runner_arguments *arguments, struct error *err)
{
  char python[PATH_MAX], script[PATH_MAX], socket_text[16], memory_text[16];
  const char *list[] = {python, script, socket_text, memory_text, NULL, NULL, NULL, NULL, NULL};
  static const char *const variables[] = {"XSP_SESSION", NULL}; // what it does is not recorded
  const char *folder = arguments->options.tracer_directory;
  const struct {
    const char *step, *code;
  } steps[] = {{"preprocess", arguments->preprocess}, {"postprocess", arguments->postprocess}};
  int ends[2];
  python_program(python, sizeof python);
  snprintf(script, sizeof script, "%s/../manifest_code.py", folder);
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return error_set_errno(err, STATUS_SYSTEM, WHAT, python, NULL);
  code->socket = ends[0];
  code->memory = memfd_create("xsp values", MFD_CLOEXEC);
  snprintf(socket_text, sizeof socket_text, "%d", ends[1]);
  snprintf(memory_text, sizeof memory_text, "%d", code->memory);
  for (size_t i = 0, count = 4; i < sizeof steps / sizeof steps[0]; i++)
    if (steps[i].code != NULL) {
      list[count++] = steps[i].step;
      list[count++] = steps[i].code;
    }
  const struct child_command command = {.arguments = list,
                                        .variables = variables,
                                        .output = STDERR_FILENO,
                                        .kept = {ends[1], code->memory},
                                        .death_signal = SIGKILL,
                                        .has_group = true};
  int failure = code->memory >= 0 ? child_start(&command, &code->child) : errno;
  close(ends[1]);
  if (failure == 0)
    return STATUS_OK;
  errno = failure;
  return error_set_errno(err, STATUS_SYSTEM, WHAT, python, "a python3 in PATH, or an active environment");
}

void code_stop(struct code *code)
{
  free(code->scores);
  if (code->child.process > 0) {
    close(code->socket);
    close(code->memory);
    (void)child_end(&code->child, 0);
  }
  *code = (struct code){0};
}

// ---- a request -------------------------------------------------------------------------------------------------------
// A line without its end. False: the interpreter has ended, or wrote more than one line.
static bool read_reply(struct code *code, char reply[REPLY_BYTES])
{
  for (size_t length = 0; length + 1 < REPLY_BYTES;) {
    ssize_t got = TEMP_FAILURE_RETRY(read(code->socket, reply + length, REPLY_BYTES - 1 - length));
    if (got <= 0)
      return false;
    length += (size_t)got;
    reply[length] = 0;
    char *end = strchr(reply, '\n');
    if (end != NULL) {
      *end = 0;
      return end == reply + length - 1;
    }
  }
  return false;
}

static enum status take_reply(struct code *code, const char *step, char reply[REPLY_BYTES], struct error *err)
{
  if (!read_reply(code, reply))
    return error_set(err, STATUS_INPUT, WHAT, step, "its messages above", "the interpreter ended");
  if (strncmp(reply, "ok", 2) == 0)
    return STATUS_OK;
  bool lacks_numpy = strstr(reply, "NumPy is not installed") != NULL;
  return error_set(err, lacks_numpy ? STATUS_SYSTEM : STATUS_INPUT, WHAT, step,
                   lacks_numpy ? "pip install numpy, in the active environment" : "another preprocess or postprocess",
                   "%s", reply + (strncmp(reply, "error ", 6) == 0 ? 6 : 0));
}

// That of the tensor; where the framework does not report an output's, a row for each file.
static void write_shape(struct json_writer *json, const struct tensor *tensor, size_t file_count)
{
  size_t values = tensor->size_bytes / tensor_type_facts(tensor->info->type)->bytes, product = 1;
  for (unsigned i = 0; i < tensor->info->rank; i++)
    product *= (size_t)tensor->shape[i];
  json_member_array(json, "shape");
  for (unsigned i = 0; product == values && i < tensor->info->rank; i++)
    json_int(json, tensor->shape[i]);
  if (product != values && values % file_count == 0)
    json_int(json, (int64_t)file_count);
  if (product != values)
    json_int(json, (int64_t)(values % file_count == 0 ? values / file_count : values));
  json_array_end(json);
}

static void format_request(const char *step, const char *const *files, size_t file_count, const struct tensor *tensor,
                           struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  json_object(&json);
  json_member_string(&json, "step", step);
  json_member_string(&json, "type", tensor_type_facts(tensor->info->type)->name);
  write_shape(&json, tensor, file_count);
  json_member_array(&json, "files");
  for (size_t i = 0; i < file_count; i++)
    json_string(&json, files[i]);
  json_array_end(&json);
  json_object_end(&json);
  buf_text(out, "\n");
}

// Values of the tensor to the code, and the shape of its result back: a text such as "16 3 224 224".
static enum status ask(struct code *code, const char *step, const char *const *files, size_t file_count,
                       const struct tensor *tensor, char reply[REPLY_BYTES], const char **ret_shape, struct error *err)
{
  struct buf line = {0};
  format_request(step, files, file_count, tensor, &line);
  bool is_sent = ftruncate(code->memory, 0) == 0 &&
                 transfer_write_at(code->memory, tensor->data, tensor->size_bytes, 0) &&
                 transfer_send(code->socket, line.data, line.length);
  buf_done(&line);
  if (!is_sent)
    return error_set(err, STATUS_SYSTEM, WHAT, step, "its messages above", "the values cannot be handed over: %s",
                     strerror(errno));
  XSP_TRY(take_reply(code, step, reply, err));
  *ret_shape = reply[2] == ' ' ? reply + 3 : "";
  return STATUS_OK;
}

enum status code_start(struct code *code, const struct runner_arguments *arguments, struct error *err)
{
  char reply[REPLY_BYTES];
  code->runs_before = arguments->preprocess != NULL;
  code->runs_after = arguments->postprocess != NULL;
  if (!code->runs_before && !code->runs_after)
    return STATUS_OK;
  XSP_TRY(start(code, arguments, err));
  return take_reply(code, code->runs_before ? "preprocess" : "postprocess", reply, err);
}

// ---- both steps ------------------------------------------------------------------------------------------------------
enum status code_before(struct code *code, const char *const *files, size_t file_count, struct tensor *tensor,
                        struct error *err)
{
  char reply[REPLY_BYTES], wanted[256] = "";
  const char *shape = "";
  for (unsigned i = 0, used = 0; i < tensor->info->rank; i++)
    used += (unsigned)snprintf(wanted + used, sizeof wanted - used, "%s%" PRId64, i > 0 ? " " : "", tensor->shape[i]);
  struct xsp_span span = xsp_span_start(&before_site);
  enum status status = ask(code, "preprocess", files, file_count, tensor, reply, &shape, err);
  if (status == STATUS_OK && strcmp(shape, wanted) != 0)
    status = error_set(err, STATUS_INPUT, WHAT, "preprocess", "an array of the shape that it gets",
                       "its result has the shape [%s], the input has [%s]", shape, wanted);
  if (status == STATUS_OK && transfer_read_at(code->memory, tensor->data, tensor->size_bytes, 0) != tensor->size_bytes)
    status = error_set_errno(err, STATUS_SYSTEM, WHAT, "preprocess", NULL);
  xsp_span_finish(&span);
  return status;
}

static unsigned read_shape(const char *text, int64_t shape[TENSOR_MAXIMUM_RANK])
{
  unsigned rank = 0;
  for (char *end = NULL; rank < TENSOR_MAXIMUM_RANK; text = end, rank++) {
    shape[rank] = strtoll(text, &end, 10);
    if (end == text)
      break;
  }
  return rank;
}

enum status code_after(struct code *code, const char *const *files, size_t file_count, struct tensor *output,
                       struct error *err)
{
  char reply[REPLY_BYTES];
  const char *shape = "";
  struct xsp_span span = xsp_span_start(&after_site);
  enum status status = ask(code, "postprocess", files, file_count, output, reply, &shape, err);
  off_t bytes = status == STATUS_OK ? lseek(code->memory, 0, SEEK_END) : 0;
  if (status == STATUS_OK && (strtoull(shape, NULL, 10) != file_count || bytes <= 0))
    status = error_set(err, STATUS_INPUT, WHAT, "postprocess", "an array with a row for each input",
                       "its result has the shape [%s], for %zu inputs", shape, file_count);
  if (status == STATUS_OK) {
    free(code->scores);
    code->scores = memory_new((size_t)bytes, 1);
    if (transfer_read_at(code->memory, code->scores, (size_t)bytes, 0) != (size_t)bytes)
      status = error_set_errno(err, STATUS_SYSTEM, WHAT, "postprocess", NULL);
    output->data = code->scores;
    output->size_bytes = (size_t)bytes;
    code->rank = read_shape(shape, output->shape);
  }
  xsp_span_finish(&span);
  return status;
}
