// SPDX-License-Identifier: Apache-2.0
// Fuzzes programs/runner/results.c: outputs of any type, shape and values are read in any form, or refused. The input: the
// length of the form's text and that text; the batch; of each of two outputs the type, the rank and the dimensions; values.
#include "programs/runner/results.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_MOST ((size_t)1 << 18)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct tensor tensors[2];
static const uint8_t *at, *end;

static uint8_t next(void)
{
  return at < end ? *at++ : 0;
}

static enum status read_output(struct predictor_model *model, size_t number, struct tensor *ret_output,
                               struct error *err)
{
  (void)model, (void)err;
  *ret_output = tensors[number];
  return STATUS_OK;
}

// False: too large.
static bool make_tensor(struct tensor_info *info, struct tensor *tensor)
{
  size_t bytes;
  *tensor = (struct tensor){.info = info};
  info->type = (enum tensor_type)(next() % TENSOR_TYPES);
  info->rank = next() % (TENSOR_MAXIMUM_RANK + 1);
  bytes = tensor_type_facts(info->type)->bytes;
  for (unsigned i = 0; i < info->rank; i++) {
    tensor->shape[i] = info->shape[i] = next();
    bytes *= (size_t)tensor->shape[i];
    if (bytes > BYTES_MOST)
      return false;
  }
  tensor->size_bytes = bytes;
  tensor->data = calloc(bytes + 1, 1);
  return true;
}

static void fill(struct tensor *tensor)
{
  size_t left = (size_t)(end - at);
  for (size_t done = 0; left > 0 && done < tensor->size_bytes; done += left) // again and again
    memcpy((char *)tensor->data + done, at, left < tensor->size_bytes - done ? left : tensor->size_bytes - done);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  at = data;
  end = data + size;
  size_t length = next();
  if ((size_t)(end - at) < length)
    return 0;
  char *text = calloc(length + 1, 1);
  if (length > 0)
    memcpy(text, at, length);
  at += length;
  struct expectation expectations[] = {
      {.is_image = true, .picture = {.width = 40, .height = 30}},
      {.is_output = true, .info = {.name = "first"}},
  };
  struct tensor_info infos[] = {{.name = "first"}, {.name = "second"}};
  struct predictor_model model = {.outputs = infos, .output_count = 2};
  const struct predictor predictor = {.read_output = read_output};
  const struct runner_arguments arguments = {.control_fd = -1, .expectations = expectations, .expectation_count = 2};
  struct pictures pictures = {0};
  struct code code = {0};
  size_t batch = 1 + next() % 4;
  for (size_t i = 0; i < batch; i++) {
    char name[] = "fuzz.png";
    if (inference_pictures_add(&pictures, (char *[]){name}, 1, NULL) != STATUS_OK)
      abort();
    pictures.items.items[i].place = (struct picture_place){80, 60, 40, 30, 0, 0};
  }
  if (output_form_parse(text, &expectations[1].form) && make_tensor(&infos[0], &tensors[0]) &&
      make_tensor(&infos[1], &tensors[1])) {
    struct error err = {0};
    fill(&tensors[0]);
    fill(&tensors[1]);
    enum status status = results_send(&predictor, &model, &arguments, &pictures, &code, "", &err);
    if (status != STATUS_OK && (status != STATUS_INPUT || err.why[0] == 0))
      abort();
  }
  for (size_t i = 0; i < 2; i++) {
    free(tensors[i].data);
    tensors[i] = (struct tensor){0};
  }
  inference_pictures_clear(&pictures);
  free(text);
  return 0;
}
