// SPDX-License-Identifier: Apache-2.0
// Shapes and memory of the inputs; see inputs.h. Called outside every span.
#include "programs/runner/inputs.h"

#include "base/memory.h"
#include "base/npy.h"
#include "manifests/expect.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define INPUT_BYTES_MAXIMUM ((size_t)1 << 36)

// ---- the batch dimension ---------------------------------------------------------------------------------------------

static bool names_batch(const char *name)
{
  static const char *const names[] = {"N", "B", "bs", "batch"};
  if (name == NULL)
    return false;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcasecmp(name, names[i]) == 0)
      return true;
  return strcasestr(name, "batch") != NULL;
}

// Sizes of one item: a model whose first dimension is its sequence runs one sequence at a time. A number of sequences is a batch.
static bool names_other_size(const char *name)
{
  static const char *const parts[] = {"length", "token", "position", "height", "width"};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (strcasestr(name, parts[i]) != NULL)
      return true;
  bool is_count = strcasestr(name, "num_seq") != NULL || strncasecmp(name, "n_seq", strlen("n_seq")) == 0;
  return !is_count && strcasestr(name, "seq") != NULL;
}

static int named_batch(const struct tensor_info *info)
{
  for (unsigned i = 0; i < info->rank; i++)
    if (info->shape[i] < 0 && names_batch(info->dimension_name[i]))
      return (int)i;
  return -1;
}

// Two names that free first dimensions of inputs have and that may be a batch's; NULL: fewer.
static void first_names(const struct predictor_model *model, const char *ret_names[2])
{
  ret_names[0] = ret_names[1] = NULL;
  for (size_t i = 0; i < model->input_count; i++) {
    const struct tensor_info *info = &model->inputs[i];
    const char *name = info->rank > 0 && info->shape[0] < 0 ? info->dimension_name[0] : NULL;
    if (name == NULL || names_other_size(name))
      continue;
    if (ret_names[0] == NULL)
      ret_names[0] = name;
    else if (strcmp(name, ret_names[0]) != 0)
      ret_names[1] = name;
  }
}

static bool has_named_batch(const struct predictor_model *model)
{
  for (size_t i = 0; i < model->input_count; i++)
    if (named_batch(&model->inputs[i]) >= 0)
      return true;
  return false;
}

// The index of the input's batch dimension: the free one with a batch name. Else the first one, if it is free and no name
// says that it is another size: it has none, or no input names its batch and all names that may be one's are the same. -1:
// none.
static int batch_dimension(const struct predictor_model *model, const struct tensor_info *info)
{
  int named = named_batch(info);
  if (named >= 0 || info->rank == 0 || info->shape[0] >= 0)
    return named;
  if (info->dimension_name[0] == NULL)
    return 0;
  const char *names[2];
  first_names(model, names);
  return has_named_batch(model) || names[1] != NULL || names_other_size(info->dimension_name[0]) ? -1 : 0;
}

static bool is_batch_name(const struct predictor_model *model, const char *name)
{
  for (size_t i = 0; i < model->input_count && name != NULL; i++) {
    int at = batch_dimension(model, &model->inputs[i]);
    const char *batch_name = at >= 0 ? model->inputs[i].dimension_name[at] : NULL;
    if (batch_name != NULL && strcmp(batch_name, name) == 0)
      return true;
  }
  return false;
}

// A size given by --dim: by the dimension's name, or as INPUT.INDEX for one without. -1: not given.
static int64_t given_size(const struct runner_arguments *arguments, const struct tensor_info *info, unsigned dimension)
{
  char place[256];
  snprintf(place, sizeof place, "%s.%u", info->name, dimension);
  const char *name = info->dimension_name[dimension];
  for (size_t i = 0; i < arguments->dim_count; i++)
    if (strcmp(arguments->dims[i].name, place) == 0 || (name != NULL && strcmp(arguments->dims[i].name, name) == 0))
      return arguments->dims[i].size;
  return -1;
}

static enum status check_batch(const struct predictor_model *model, const struct runner_arguments *arguments,
                               int64_t batch, struct error *err)
{
  int64_t fixed = -1;
  for (size_t i = 0; i < model->input_count; i++) {
    const struct tensor_info *info = &model->inputs[i];
    int batch_at = batch_dimension(model, info);
    int64_t given = info->rank > 0 ? given_size(arguments, info, batch_at >= 0 ? (unsigned)batch_at : 0) : -1;
    if (given == batch || (batch_at >= 0 && given < 0) || (info->rank > 0 && info->shape[0] == batch))
      return STATUS_OK;
    if (info->rank > 0 && fixed < 0)
      fixed = info->shape[0];
  }
  if (batch == 1)
    return STATUS_OK;
  const char *names[2];
  char advice[128];
  first_names(model, names);
  if (names[1] != NULL) {
    snprintf(advice, sizeof advice, "--dim %.48s=%" PRId64 " for the one that is", names[0], batch);
    return error_set(err, STATUS_INPUT, "cannot make inputs", arguments->options.model_path, advice,
                     "batch size %" PRId64 " is asked for, and which is the batch is unknown: \"%s\" or \"%s\"", batch,
                     names[0], names[1]);
  }
  return error_set(err, STATUS_INPUT, "cannot make inputs", arguments->options.model_path,
                   fixed > 0 ? "the batch size the model has" : "--batch 1",
                   "batch size %" PRId64 " is asked for, but the model has no free batch dimension", batch);
}

// ---- shapes ----------------------------------------------------------------------------------------------------------

static const struct named_file *given_file(const struct runner_arguments *arguments, const struct tensor_info *info)
{
  for (size_t i = 0; i < arguments->options.input_count; i++)
    if (strcmp(arguments->options.inputs[i].name, info->name) == 0)
      return &arguments->options.inputs[i];
  return NULL;
}

// Another size for what is by its name the batch would make figures per item wrong.
static enum status check_dim(const struct predictor_model *model, struct named_size *dim, int64_t batch,
                             const char *known, struct error *err)
{
  struct runner_arguments one = {.dims = dim, .dim_count = 1};
  bool fits = false;
  for (size_t i = 0; i < model->input_count; i++)
    for (unsigned d = 0; d < model->inputs[i].rank; d++) {
      const struct tensor_info *info = &model->inputs[i];
      if (info->shape[d] >= 0 || given_size(&one, info, d) < 0)
        continue;
      fits = true;
      char advice[64];
      snprintf(advice, sizeof advice, "--batch %" PRId64, dim->size);
      if (dim->size != batch && (int)d == batch_dimension(model, info) && names_batch(info->dimension_name[d]))
        return error_set(err, STATUS_USE, "cannot make inputs", "--dim", advice,
                         "\"%s\" is the batch dimension of input \"%s\"", dim->name, info->name);
    }
  if (!fits)
    return error_set(err, STATUS_USE, "cannot make inputs", "--dim", "the same without it",
                     "the model has no free dimension \"%s\" in its inputs %s", dim->name, known);
  return STATUS_OK;
}

static enum status check_options(const struct predictor_model *model, const struct runner_arguments *arguments,
                                 int64_t batch, struct error *err)
{
  char known[256] = "";
  size_t used = 0;
  for (size_t i = 0; i < model->input_count && used < sizeof known; i++)
    used += (size_t)snprintf(known + used, sizeof known - used, "%s\"%s\"", i > 0 ? ", " : "", model->inputs[i].name);
  for (size_t i = 0; i < arguments->options.input_count; i++) {
    bool fits = false;
    for (size_t k = 0; k < model->input_count; k++)
      fits = fits || strcmp(model->inputs[k].name, arguments->options.inputs[i].name) == 0;
    if (!fits)
      return error_set(err, STATUS_USE, "cannot make inputs", "--input", NULL,
                       "the model has no input \"%s\"; it has %s", arguments->options.inputs[i].name, known);
  }
  for (size_t i = 0; i < arguments->dim_count; i++)
    XSP_TRY(check_dim(model, &arguments->dims[i], batch, known, err));
  return STATUS_OK;
}

struct missing { // free dimensions without a size, for one error that names them all
  char names[256];
  size_t used;
  char example[64];
};

static void add_missing(struct missing *missing, const struct tensor_info *info, unsigned dimension)
{
  char name[128];
  if (info->dimension_name[dimension] != NULL)
    snprintf(name, sizeof name, "%s", info->dimension_name[dimension]);
  else
    snprintf(name, sizeof name, "%s.%u", info->name, dimension);
  char quoted[160];
  int length = snprintf(quoted, sizeof quoted, "\"%s\"", name);
  if (missing->used == 0)
    snprintf(missing->example, sizeof missing->example, strpbrk(name, " \t*?") ? "--dim '%.40s=N'" : "--dim %.40s=N",
             name);
  else if (strstr(missing->names, quoted) != NULL)
    return;
  if (missing->used + (size_t)length + 3 > sizeof missing->names)
    return;
  missing->used += (size_t)snprintf(missing->names + missing->used, sizeof missing->names - missing->used, "%s%s",
                                    missing->used > 0 ? ", " : "", quoted);
}

static void set_shape(struct tensor *tensor, const struct predictor_model *model,
                      const struct runner_arguments *arguments, int64_t batch, struct missing *missing)
{
  const struct tensor_info *info = tensor->info;
  int batch_at = batch_dimension(model, info);
  for (unsigned i = 0; i < info->rank; i++) {
    tensor->shape[i] = info->shape[i];
    if (info->shape[i] >= 0)
      continue;
    tensor->shape[i] = given_size(arguments, info, i);
    if (tensor->shape[i] < 0 && ((int)i == batch_at || is_batch_name(model, info->dimension_name[i])))
      tensor->shape[i] = batch;
    if (tensor->shape[i] < 0)
      add_missing(missing, info, i);
  }
}

static enum status allocate(struct tensor *tensor, struct error *err)
{
  const struct tensor_info *info = tensor->info;
  size_t bytes = tensor_type_facts(info->type)->bytes;
  if (bytes == 0)
    return error_set(err, STATUS_INPUT, "cannot make inputs", info->name, NULL, "elements of type %d are not supported",
                     (int)info->type);
  for (unsigned i = 0; i < info->rank; i++)
    if (__builtin_mul_overflow(bytes, (size_t)tensor->shape[i], &bytes) || bytes > INPUT_BYTES_MAXIMUM)
      return error_set(err, STATUS_INPUT, "cannot make inputs", info->name, "a smaller batch or --dim",
                       "it would need more than %zu bytes", INPUT_BYTES_MAXIMUM);
  tensor->size_bytes = bytes;
  // Aligned as frameworks allocate theirs; never empty, so that a pointer exists.
  if (posix_memalign(&tensor->data, 64, bytes > 0 ? bytes : 1) != 0) {
    tensor->data = NULL;
    return error_set(err, STATUS_MEMORY, "cannot make inputs", info->name, "a smaller batch", "%zu bytes cannot be had",
                     bytes);
  }
  return STATUS_OK;
}

// ---- values from a file ----------------------------------------------------------------------------------------------

static enum status check_file(const struct predictor_model *model, const struct tensor *tensor, const struct npy *npy,
                              const char *path, struct error *err)
{
  const struct tensor_info *info = tensor->info;
  const struct tensor_type_facts *type = tensor_type_facts(info->type);
  if (npy->kind != type->kind || npy->item_bytes != type->bytes)
    return error_set(err, STATUS_INPUT, "cannot use array as input", path, "numpy's astype changes the type",
                     "input \"%s\" takes %s, the file has elements %c%u", info->name, type->name, npy->kind,
                     npy->item_bytes);
  if (npy->rank != info->rank)
    return error_set(err, STATUS_INPUT, "cannot use array as input", path, NULL,
                     "input \"%s\" has %u dimensions, the file %u", info->name, info->rank, npy->rank);
  int batch_at = batch_dimension(model, info);
  for (unsigned i = 0; i < info->rank; i++) {
    bool may_repeat = i == 0 && batch_at == 0 && npy->shape[0] > 0;
    bool is_free = info->shape[i] < 0 && tensor->shape[i] < 0; // taken from the file
    if (!may_repeat && !is_free && npy->shape[i] != tensor->shape[i])
      return error_set(err, STATUS_INPUT, "cannot use array as input", path, NULL,
                       "dimension %u of input \"%s\" is %" PRId64 ", the file's is %" PRId64, i, info->name,
                       tensor->shape[i], npy->shape[i]);
  }
  return STATUS_OK;
}

// Rows of the file are repeated in turn until the batch is full.
static void copy_file(struct tensor *tensor, const struct npy *npy)
{
  for (size_t done = 0; done < tensor->size_bytes;) {
    size_t part = tensor->size_bytes - done < npy->data_bytes ? tensor->size_bytes - done : npy->data_bytes;
    memcpy((char *)tensor->data + done, npy->data, part);
    done += part;
  }
}

static enum status fill_from_file(const struct predictor_model *model, struct tensor *tensor, const char *path,
                                  struct error *err)
{
  struct npy npy;
  XSP_TRY(npy_load(path, &npy, err));
  enum status status = check_file(model, tensor, &npy, path, err);
  for (unsigned i = 0; status == STATUS_OK && i < tensor->info->rank; i++)
    if (tensor->shape[i] < 0)
      tensor->shape[i] = npy.shape[i];
  if (status == STATUS_OK)
    status = allocate(tensor, err);
  if (status == STATUS_OK)
    copy_file(tensor, &npy);
  tensor->is_given = status == STATUS_OK;
  npy_done(&npy);
  return status;
}

static struct fill_rule fill_rule_of(const struct runner_arguments *arguments, const struct tensor_info *info)
{
  for (size_t i = 0; i < arguments->expectation_count; i++)
    if (!arguments->expectations[i].is_output && strcmp(arguments->expectations[i].info.name, info->name) == 0)
      return arguments->expectations[i].fill;
  return (struct fill_rule){.kind = RULE_DEFAULT};
}

// ---- all together ----------------------------------------------------------------------------------------------------

static enum status prepare(struct inputs *inputs, const struct predictor_model *model,
                           const struct runner_arguments *arguments, int64_t batch, struct error *err)
{
  XSP_TRY(check_options(model, arguments, batch, err));
  XSP_TRY(check_batch(model, arguments, batch, err));
  struct missing missing = {0};
  for (size_t i = 0; i < inputs->count; i++) {
    struct tensor *tensor = &inputs->tensors[i];
    struct missing from_file = {0}; // sizes that the file gives
    tensor->info = &model->inputs[i];
    const struct named_file *file = given_file(arguments, tensor->info);
    set_shape(tensor, model, arguments, batch, file != NULL ? &from_file : &missing);
  }
  if (missing.used > 0)
    return error_set(err, STATUS_INPUT, "cannot make inputs", arguments->options.model_path, missing.example,
                     "free dimensions without a size: %s", missing.names);
  for (size_t i = 0; i < inputs->count; i++) {
    struct tensor *tensor = &inputs->tensors[i];
    const struct named_file *file = given_file(arguments, tensor->info);
    if (file != NULL) {
      XSP_TRY(fill_from_file(model, tensor, file->path, err));
    } else {
      XSP_TRY(allocate(tensor, err));
      struct fill_rule rule = fill_rule_of(arguments, tensor->info);
      fill_tensor(tensor, &rule, arguments->seed);
    }
  }
  inputs->batch = batch;
  return STATUS_OK;
}

enum status inference_inputs_prepare(struct inputs *inputs, const struct predictor_model *model,
                                     const struct runner_arguments *arguments, int64_t batch, struct error *err)
{
  inference_inputs_done(inputs);
  inputs->tensors = memory_new(model->input_count + 1, sizeof *inputs->tensors);
  inputs->count = model->input_count;
  enum status status = prepare(inputs, model, arguments, batch, err);
  if (status != STATUS_OK)
    inference_inputs_done(inputs);
  return status;
}

void inference_inputs_done(struct inputs *inputs)
{
  for (size_t i = 0; i < inputs->count; i++)
    free(inputs->tensors[i].data);
  free(inputs->tensors);
  *inputs = (struct inputs){0};
}
