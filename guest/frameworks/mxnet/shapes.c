// SPDX-License-Identifier: Apache-2.0
// Shapes of the inputs of MXNet models; see shapes.h. Called by the predictor when a model is opened, on files that
// are not trusted.
#include "frameworks/mxnet/shapes.h"

#include "base/slice.h"

#include "frameworks/common/json_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FOLLOW_MOST 16u // operators that keep the shape, between an input and one that determines it

// ---- shapes of inputs ------------------------------------------------------------------------------------------------

bool mxnet_read_shape(const char *text, struct tensor_info *info)
{
  unsigned rank = 0;
  const char *at = text;
  while (isspace((unsigned char)*at))
    at++;
  char close = *at == '(' ? ')' : ']';
  if (*at != '(' && *at != '[')
    return false;
  at++;
  for (;;) {
    while (isspace((unsigned char)*at))
      at++;
    if (*at == close)
      break;
    char *end = NULL;
    long size = strtol(at, &end, 10);
    if (end == at || rank == TENSOR_MAXIMUM_RANK)
      return false;
    info->shape[rank++] = size > 0 && size <= INT32_MAX ? size : -1;
    at = end;
    while (isspace((unsigned char)*at))
      at++;
    if (*at == ',')
      at++;
    else if (*at != close)
      return false;
  }
  info->rank = rank;
  return rank > 0;
}

static const struct mxnet_parameter *parameter_of(const struct mxnet_symbol *symbol, size_t node,
                                                  const struct mxnet_parameter *parameters, size_t count)
{
  for (size_t i = 0; i < count && node < symbol->count; i++)
    if (strcmp(parameters[i].name, symbol->nodes[node].name) == 0)
      return &parameters[i];
  return NULL;
}

static bool keeps_shape(const char *op)
{
  return text_is_one_of(op, "Activation", "BatchNorm", "Cast", "cast", "_copy", "identity", "Dropout", "relu", "clip",
                        "_plus_scalar", "_minus_scalar", "_mul_scalar", "_div_scalar");
}

static const char *letter_name(char letter)
{
  static const struct {
    char letter;
    const char *name;
  } names[] = {{'N', "N"}, {'C', "C"}, {'D', "D"}, {'H', "H"}, {'W', "W"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (names[i].letter == letter)
      return names[i].name;
  return NULL;
}

// A convolution: as many dimensions as its weights have, the channels known, the batch and the places free.
static bool convolution_shape(const struct mxnet_node *node, const struct mxnet_parameter *weights,
                              struct tensor_info *info)
{
  static const char *const usual[] = {[3] = "NCW", [4] = "NCHW", [5] = "NCDHW"};
  if (weights->rank < 3 || weights->rank > 5)
    return false;
  const char *layout =
      node->layout != NULL && strlen(node->layout) == weights->rank ? node->layout : usual[weights->rank];
  const char *channels = strchr(layout, 'C');
  if (channels == NULL || layout[0] != 'N')
    return false;
  bool is_transposed = strcmp(node->op, "Deconvolution") == 0;
  long groups = node->groups != NULL ? strtol(node->groups, NULL, 10) : 1;
  uint64_t inside = is_transposed ? weights->shape[0] : weights->shape[channels - layout];
  if (!is_transposed)
    inside *= groups > 0 && groups <= INT32_MAX ? (uint64_t)groups : 1;
  if (inside == 0 || inside > INT32_MAX)
    return false;
  info->rank = weights->rank;
  for (unsigned i = 0; i < info->rank; i++) {
    bool is_channels = layout + i == channels;
    info->shape[i] = is_channels ? (int64_t)inside : -1;
    info->dimension_name[i] = is_channels ? NULL : letter_name(layout[i]);
  }
  return true;
}

static bool consumer_shape(const struct mxnet_node *node, const struct mxnet_parameter *weights,
                           struct tensor_info *info)
{
  if (strcmp(node->op, "Convolution") == 0 || strcmp(node->op, "Deconvolution") == 0)
    return convolution_shape(node, weights, info);
  if (strcmp(node->op, "FullyConnected") == 0 && weights->rank == 2) {
    info->rank = 2;
    info->shape[0] = -1;
    info->shape[1] = weights->shape[1];
    info->dimension_name[0] = "N";
    return true;
  }
  if (strcmp(node->op, "Embedding") == 0) {
    info->rank = 2;
    info->shape[0] = info->shape[1] = -1;
    info->dimension_name[0] = "N";
    return true;
  }
  return false;
}

bool mxnet_input_shape(const struct mxnet_symbol *symbol, size_t variable, const struct mxnet_parameter *parameters,
                       size_t parameter_count, struct tensor_info *info)
{
  if (symbol->nodes[variable].shape != NULL && mxnet_read_shape(symbol->nodes[variable].shape, info))
    return true;
  size_t source = variable;
  for (unsigned step = 0; step < FOLLOW_MOST; step++) {
    size_t next = MXNET_NO_NODE;
    for (size_t i = 0; i < symbol->count; i++) {
      const struct mxnet_node *node = &symbol->nodes[i];
      if (node->inputs[0] != source || mxnet_is_variable(node))
        continue;
      const struct mxnet_parameter *weights = parameter_of(symbol, node->inputs[1], parameters, parameter_count);
      if (weights != NULL && consumer_shape(node, weights, info))
        return true;
      if (next == MXNET_NO_NODE && keeps_shape(node->op))
        next = i;
    }
    if (next == MXNET_NO_NODE)
      return false;
    source = next;
  }
  return false;
}

// ---- signatures ------------------------------------------------------------------------------------------------------

struct signature { // what is looked for, and found
  const char *name;
  struct tensor_info *info;
  bool is_found;
};
struct signature_input { // one of the file's
  const char *wanted;
  struct tensor_info info;
  bool is_wanted;
};

static enum status read_signature_shape(struct json_file *file, void *target, struct error *err)
{
  struct json_reader *json = &file->json;
  struct tensor_info *info = target;
  if (json_next(json) != JSON_ARRAY)
    return json_file_broken(file, "a shape is not an array", err);
  for (info->rank = 0; json_next(json) == JSON_NUMBER; info->rank++) {
    int64_t size = 0;
    if (!json_int64(json, &size) || info->rank == TENSOR_MAXIMUM_RANK)
      return json_file_broken(file, "a shape has no such dimension", err);
    info->shape[info->rank] = size > 0 && size <= INT32_MAX ? size : -1;
  }
  return json->event == JSON_ARRAY_END ? STATUS_OK : json_file_broken(file, "a shape ends early", err);
}

static enum status read_name(struct json_file *file, void *target, struct error *err)
{
  struct signature_input *input = target;
  if (json_next(&file->json) != JSON_STRING)
    return json_skip(&file->json) ? STATUS_OK : json_file_broken(file, "no text", err);
  input->is_wanted = strcmp(file->json.text, input->wanted) == 0;
  return STATUS_OK;
}

static enum status read_signature_input(struct json_file *file, void *target, struct error *err)
{
  struct signature *signature = target;
  struct signature_input input = {.wanted = signature->name};
  const struct json_member members[] = {{"data_name", read_name, &input},
                                        {"data_shape", read_signature_shape, &input.info}};
  XSP_TRY(json_file_members(file, members, 2, err));
  if (input.is_wanted && input.info.rank > 0) {
    signature->info->rank = input.info.rank;
    memcpy(signature->info->shape, input.info.shape, sizeof input.info.shape);
    signature->is_found = true;
  }
  return STATUS_OK;
}

static enum status read_signature_inputs(struct json_file *file, void *target, struct error *err)
{
  return json_file_objects(file, read_signature_input, target, err);
}

enum status mxnet_signature_read(const char *text, size_t length, const char *path, const char *name,
                                 struct tensor_info *info, bool *ret_found, struct error *err)
{
  struct signature signature = {.name = name, .info = info};
  struct json_file file = {
      .path = path, .what = "cannot read the model's signature", .advice = "export the model again"};
  const struct json_member members[] = {{"inputs", read_signature_inputs, &signature}};
  enum status status = json_file_read(&file, text, length, members, 1, err);
  *ret_found = signature.is_found;
  return status;
}
