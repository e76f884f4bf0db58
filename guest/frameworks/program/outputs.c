// SPDX-License-Identifier: Apache-2.0
// Outputs of a program's prediction: what its answer says of them, and their values, which it wrote into a file in memory. The
// answer is checked as in messages.h; the program could cut the file at any time, so that it is read, not mapped.
#include "base/transfer.h"
#include "frameworks/program/messages_private.h"
#include "frameworks/program/requests.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- what the answer says --------------------------------------------------------------------------------------------
static bool read_size(struct program_reader *reader, void *target, size_t at)
{
  struct tensor_info *info = target;
  info->rank = (unsigned)at + 1;
  return program_read_number(reader, 0, PROGRAM_OUTPUT_BYTES_MOST, &info->shape[at]);
}

static bool read_shape(struct program_reader *reader, void *target)
{
  return program_read_array(reader, TENSOR_MAXIMUM_RANK, read_size, target);
}

static bool count_bytes(struct program_reader *reader, struct program_output *output)
{
  output->size_bytes = tensor_type_facts(output->info.type)->bytes;
  for (unsigned i = 0; i < output->info.rank; i++)
    if (__builtin_mul_overflow(output->size_bytes, (size_t)output->info.shape[i], &output->size_bytes) ||
        output->size_bytes > PROGRAM_OUTPUT_BYTES_MOST)
      return program_wrong(reader, "has more than %" PRId64 " bytes", PROGRAM_OUTPUT_BYTES_MOST);
  return true;
}

struct output_list {
  struct program_prediction *prediction;
  size_t capacity;
};

static bool read_output(struct program_reader *reader, void *target, size_t at)
{
  struct output_list *list = target;
  struct program_prediction *prediction = list->prediction;
  prediction->outputs = program_grow(reader, prediction->outputs, at, &list->capacity, sizeof *prediction->outputs);
  struct program_output *output = &prediction->outputs[at];
  struct program_field fields[] = {
      {.name = "name", .read = program_read_name, .target = &output->info.name, .is_required = true},
      {.name = "type", .read = program_read_type, .target = &output->info.type, .is_required = true},
      {.name = "shape", .read = read_shape, .target = &output->info, .is_required = true},
      {.name = "offset", .read = program_read_count, .target = &output->offset, .is_required = true},
      {.name = "layer_type", .read = program_read_name, .target = &output->layer_type},
  };
  prediction->output_count = at + 1;
  if (!program_read_object(reader, fields, sizeof fields / sizeof fields[0]) || !count_bytes(reader, output))
    return false;
  return output->layer_type != NULL || at == 0 || prediction->outputs[at - 1].layer_type == NULL ||
         program_wrong(reader, "is an output of the model after those between layers");
}

bool program_read_outputs(struct program_reader *reader, void *target)
{
  if (!reader->question->wants_outputs)
    return program_wrong(reader, "is told, though the request did not ask for outputs");
  struct output_list list = {.prediction = target};
  return program_read_array(reader, PROGRAM_OUTPUTS_MOST, read_output, &list);
}

// ---- values ----------------------------------------------------------------------------------------------------------
void program_announce_outputs(struct predictor_model *model)
{
  struct program_state *state = model->state;
  const struct program_prediction *prediction = &state->prediction;
  size_t count = prediction->output_count;
  model->outputs = arena_alloc_array(&state->arena, count + 1, sizeof *model->outputs);
  model->layer_types = arena_alloc_array(&state->arena, count + 1, sizeof *model->layer_types);
  model->output_count = model->layer_output_count = 0;
  for (size_t i = 0; i < count; i++) {
    model->outputs[i] = prediction->outputs[i].info;
    if (prediction->outputs[i].layer_type == NULL)
      model->output_count++;
    else
      model->layer_types[model->layer_output_count++] = prediction->outputs[i].layer_type;
  }
}

enum status program_read_output(struct predictor_model *model, size_t number, struct tensor *ret_output,
                                struct error *err)
{
  const char *what = "cannot read an output";
  struct program_state *state = model->state;
  const struct program_output *output = &state->prediction.outputs[number];
  struct stat file;
  *ret_output = (struct tensor){.info = &model->outputs[number], .size_bytes = output->size_bytes};
  memcpy(ret_output->shape, output->info.shape, sizeof ret_output->shape);
  if (fstat(state->program.outputs, &file) != 0)
    return error_set_errno(err, STATUS_SYSTEM, what, output->info.name, NULL);
  if (output->offset > file.st_size || output->size_bytes > (size_t)(file.st_size - output->offset))
    return error_set(err, STATUS_INPUT, what, output->info.name, "docs/predictor_protocol.md",
                     "the program wrote %lld bytes of outputs, this one ends after them", (long long)file.st_size);
  free(state->output);
  ret_output->data = state->output = malloc(output->size_bytes + 1);
  if (state->output == NULL)
    return error_set(err, STATUS_MEMORY, what, output->info.name, "a smaller batch", "%zu bytes cannot be had",
                     output->size_bytes);
  size_t bytes = output->size_bytes;
  if (transfer_read_at(state->program.outputs, state->output, bytes, (uint64_t)output->offset) != bytes)
    return error_set(err, STATUS_INPUT, what, output->info.name, NULL, "the program cut its file of outputs");
  return STATUS_OK;
}
