// SPDX-License-Identifier: Apache-2.0
// Fuzzes the answers of a predictor program: the first byte chooses the request (o open, d prepare, p a prediction with
// layers, l one whose layers have durations only, m one without layers, k one without layers and with outputs, s one with
// layers in simulated time).
#include "frameworks/program/messages.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_facts(const struct program_facts *facts)
{
  if (facts->version < 1 || facts->version > PROGRAM_VERSION || strlen(facts->framework) > PROGRAM_NAME_MOST ||
      facts->framework_version == NULL || facts->input_count > PROGRAM_INPUTS_MOST)
    abort();
  for (size_t i = 0; i < facts->input_count; i++) {
    const struct tensor_info *info = &facts->inputs[i];
    if (info->name == NULL || info->type == 0 || info->rank > TENSOR_MAXIMUM_RANK)
      abort();
    for (unsigned k = 0; k < info->rank; k++)
      if (info->shape[k] == 0 || info->shape[k] < -1 || info->shape[k] > INT32_MAX)
        abort();
  }
}

static void check_interval(const struct predictor_interval *interval, const struct program_question *question)
{
  if (interval->end_ns < interval->start_ns)
    abort();
  if (interval->end_ns != 0 && (interval->start_ns < question->sent_ns || interval->end_ns > question->received_ns))
    abort();
}

static void check_prediction(const struct program_prediction *prediction, const struct program_question *question)
{
  check_interval(&prediction->model, question);
  check_interval(&prediction->preprocess, question);
  check_interval(&prediction->postprocess, question);
  if (prediction->layer_count > PROGRAM_LAYERS_MOST || (prediction->layer_count > 0 && !question->wants_layers))
    abort();
  for (size_t i = 0; i < prediction->layer_count; i++) {
    const struct layer_report *layer = &prediction->layers[i];
    if (layer->parent != LAYER_PARENT_MODEL && layer->parent >= i)
      abort();
    if (layer->duration_ns > question->received_ns - question->sent_ns || layer->tags->count > PROGRAM_TAGS_MOST + 1)
      abort();
    if ((question->untold & PROGRAM_NO_NAME) == 0 && layer->name[0] == 0)
      abort();
    for (size_t k = 0; k < layer->tags->count; k++)
      if (layer->tags->items[k].key[0] == 0)
        abort();
  }
}

static void check_outputs(const struct program_prediction *prediction, const struct program_question *question)
{
  if (prediction->output_count > PROGRAM_OUTPUTS_MOST || (prediction->output_count > 0 && !question->wants_outputs))
    abort();
  for (size_t i = 0; i < prediction->output_count; i++) {
    const struct program_output *output = &prediction->outputs[i];
    if (output->info.name[0] == 0 || output->info.type == 0 || output->info.rank > TENSOR_MAXIMUM_RANK ||
        output->offset < 0 || output->size_bytes > PROGRAM_OUTPUT_BYTES_MOST)
      abort();
  }
}

static enum status read_one(char kind, const char *line, size_t length, struct arena *arena, struct error *err)
{
  struct program_facts facts;
  struct program_prediction prediction;
  struct program_question question = {.wants_layers = kind != 'm' && kind != 'k',
                                      .wants_outputs = kind == 'k',
                                      .is_simulated = kind == 's',
                                      .sent_ns = 1000,
                                      .received_ns = kind == 's' ? INT64_MAX : 1000000};
  enum status status = STATUS_OK;
  if (kind == 'l')
    question.untold = PROGRAM_NO_START | PROGRAM_NO_THREAD | PROGRAM_NO_NAME;
  if (kind == 'o') {
    status = program_read_open(line, length, "fuzz", arena, &facts, err);
    if (status == STATUS_OK)
      check_facts(&facts);
  } else if (kind == 'd') {
    status = program_read_done(line, length, "prepare", "fuzz", err);
  } else {
    status = program_read_prediction(line, length, "fuzz", &question, arena, &prediction, err);
    if (status == STATUS_OK) {
      check_prediction(&prediction, &question);
      check_outputs(&prediction, &question);
    }
  }
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size == 0)
    return 0;
  char *line = malloc(size); // of its own, so that ASan sees a read past its end
  if (line == NULL)
    return 0;
  memcpy(line, data + 1, size - 1);
  struct arena arena = {0};
  struct error err = {0};
  if (read_one((char)data[0], line, size - 1, &arena, &err) != STATUS_OK && err.why[0] == 0)
    abort(); // an error has a reason
  arena_done(&arena);
  free(line);
  return 0;
}
