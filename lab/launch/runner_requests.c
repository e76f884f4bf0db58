// SPDX-License-Identifier: Apache-2.0
// What a runner is asked for once it is ready (trace/format/protocol.h); see runner.h. The exchange itself is in runner.c.
#include "launch/runner_private.h"

#include "base/slice.h"
#include "base/transfer.h"
#include "format/protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum status runner_describe(struct runner *runner, runner_visit_fn visit, void *context, struct error *err)
{
  XSP_TRY(runner_send(runner, (const char *const[]){"describe"}, 1, err));
  for (;;) {
    char answer[PROTOCOL_LINE_MAXIMUM];
    char *fields[PROTOCOL_FIELDS];
    size_t count = 0;
    XSP_TRY(runner_answer(runner, answer, fields, &count, err));
    if (strcmp(fields[0], "done") == 0)
      return STATUS_OK;
    if (count != 4 || !text_is_one_of(fields[0], "input", "output", "layer"))
      return runner_unexpected(runner, fields[0], "describe", err);
    visit(context, fields[0], fields[1], (enum tensor_type)strtol(fields[2], NULL, 10), fields[3]);
  }
}

enum status runner_prepare(struct runner *runner, int64_t batch, struct error *err)
{
  char number[24];
  snprintf(number, sizeof number, "%" PRId64, batch);
  return runner_ask(runner, (const char *const[]){"prepare", number}, 2, err);
}

enum status runner_predict(struct runner *runner, int64_t batch, enum runner_inference kind, struct error *err)
{
  static const char *const kinds[] = {[INFERENCE_COUNTED] = "0", [INFERENCE_WARMUP] = "1", [INFERENCE_COLD] = "cold"};
  char number[24];
  snprintf(number, sizeof number, "%" PRId64, batch);
  return runner_ask(runner, (const char *const[]){"predict", number, kinds[kind]}, 3, err);
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
    XSP_TRY(runner_ask(runner, request, picture->name != NULL ? 7 : picture->label != NULL ? 3 : 2, err));
  }
  return STATUS_OK;
}

enum status runner_load(struct runner *runner, const struct runner_picture *pictures, size_t count, struct error *err)
{
  XSP_TRY(send_pictures(runner, pictures, count, err));
  return runner_ask(runner, (const char *const[]){"load"}, 1, err);
}

enum status runner_query(struct runner *runner, size_t first, size_t count, uint64_t arrival_ns,
                         enum runner_inference kind, struct error *err)
{
  char arrival[24], place[24], number[24];
  snprintf(arrival, sizeof arrival, "%" PRIu64, arrival_ns);
  snprintf(place, sizeof place, "%zu", first);
  snprintf(number, sizeof number, "%zu", count);
  return runner_ask(
      runner, (const char *const[]){"query", kind == INFERENCE_WARMUP ? "1" : "0", arrival, place, number}, 5, err);
}

enum status runner_infer(struct runner *runner, const struct runner_picture *pictures, size_t count,
                         enum runner_inference kind, const char *output, runner_found_fn visit, void *context,
                         size_t *ret_unreadable, struct error *err)
{
  if (ret_unreadable != NULL)
    *ret_unreadable = SIZE_MAX;
  XSP_TRY(send_pictures(runner, pictures, count, err));
  const char *request[] = {"infer", kind == INFERENCE_WARMUP ? "1" : "0", output};
  XSP_TRY(runner_send(runner, request, output != NULL ? 3 : 2, err));
  for (;;) {
    char answer[PROTOCOL_LINE_MAXIMUM];
    char *fields[PROTOCOL_FIELDS];
    size_t field_count = 0;
    XSP_TRY(runner_answer(runner, answer, fields, &field_count, err));
    if (strcmp(fields[0], "done") == 0)
      return STATUS_OK;
    if (field_count == 6 && strcmp(fields[0], "unreadable") == 0) {
      XSP_TRY(runner_wait_done(runner, "infer", err));
      if (ret_unreadable != NULL)
        *ret_unreadable = strtoul(fields[1], NULL, 10);
      return error_set(err, STATUS_INPUT, fields[2], fields[3], fields[5], "%s", fields[4]);
    }
    if (output == NULL || !visit(context, fields, field_count))
      return runner_unexpected(runner, fields[0], "infer", err);
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
  size_t got = transfer_read_at(runner->values, runner->data, tensor->size_bytes, 0);
  if (got < tensor->size_bytes)
    return error_set(err, STATUS_SYSTEM, "cannot read a tensor", runner->model_path, NULL,
                     "the runner wrote %zu bytes of %zu", got, tensor->size_bytes);
  return STATUS_OK;
}

enum status runner_read(struct runner *runner, const char *kind, const char *name, struct runner_tensor *ret_tensor,
                        struct error *err)
{
  *ret_tensor = (struct runner_tensor){0};
  XSP_TRY(runner_send(runner, (const char *const[]){"read", kind, name}, 3, err));
  char answer[PROTOCOL_LINE_MAXIMUM];
  char *fields[PROTOCOL_FIELDS];
  size_t count = 0;
  XSP_TRY(runner_answer(runner, answer, fields, &count, err));
  if (count == 2 && strcmp(fields[0], "unread") == 0) {
    snprintf(ret_tensor->problem, sizeof ret_tensor->problem, "%s", fields[1]);
  } else {
    if (count != 4 || strcmp(fields[0], "tensor") != 0)
      return runner_unexpected(runner, fields[0], "read", err);
    ret_tensor->size_bytes = read_kind(fields[1], fields[2], ret_tensor);
    if (ret_tensor->type == 0 || strtoull(fields[3], NULL, 10) != ret_tensor->size_bytes)
      return runner_unexpected(runner, fields[2], "read", err);
    XSP_TRY(read_values(runner, ret_tensor, err));
  }
  return runner_wait_done(runner, "read", err);
}

enum status runner_flush(struct runner *runner, struct error *err)
{
  return runner_ask(runner, (const char *const[]){"flush"}, 1, err);
}
