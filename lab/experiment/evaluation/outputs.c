// SPDX-License-Identifier: Apache-2.0
// Takes the outputs of each inference of an evaluation; see outputs.h. Memory is that of one inference's output. Called by
// evaluation.c.
#include "experiment/evaluation/outputs.h"

#include "base/memory.h"
#include "base/transfer.h"
#include "experiment/evaluation/tensor_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char what[] = "cannot keep the outputs";

// ---- the first model's, for a while ----------------------------------------------------------------------------------
static enum status open_file(struct outputs *outputs, struct error *err)
{
  const char *folder = getenv("TMPDIR");
  char path[4096];
  snprintf(path, sizeof path, "%s/xsp-outputs-XXXXXX", folder != NULL && folder[0] != 0 ? folder : "/tmp");
  int file = mkstemp(path);
  if (file < 0)
    return error_set_errno(err, STATUS_SYSTEM, what, path, "set TMPDIR to a writable folder");
  unlink(path);
  outputs->file = file;
  return STATUS_OK;
}

static uint64_t end_of_items(const struct outputs *outputs, size_t count)
{
  return count > 0 ? outputs->ends.items[count - 1] : 0;
}

// Of the next item.
static enum status put(struct outputs *outputs, const char *values, size_t bytes, struct error *err)
{
  uint64_t end = end_of_items(outputs, outputs->ends.count);
  if (outputs->file == 0)
    XSP_TRY(open_file(outputs, err));
  if (!transfer_write_at(outputs->file, values, bytes, end))
    return error_set_errno(err, STATUS_SYSTEM, what, "TMPDIR", "room for the first model's outputs");
  *vector_add(&outputs->ends) = end + bytes;
  return STATUS_OK;
}

static enum status get(const struct outputs *outputs, size_t item, char *values, size_t bytes, struct error *err)
{
  if (transfer_read_at(outputs->file, values, bytes, end_of_items(outputs, item)) != bytes)
    return error_set_errno(err, STATUS_SYSTEM, "cannot read the first model's outputs", "TMPDIR", NULL);
  return STATUS_OK;
}

static void make_room(double **values, size_t *have, size_t count)
{
  if (*have < count || *values == NULL) {
    free(*values);
    *values = memory_new(count + 1, sizeof **values);
  }
  *have = count;
}

static enum status compare(struct outputs *outputs, size_t item, const struct runner_tensor *tensor, const char *values,
                           size_t item_bytes, struct divergence *divergence, struct error *err)
{
  size_t first_bytes = (size_t)(outputs->ends.items[item] - end_of_items(outputs, item));
  size_t first_count = first_bytes / tensor_type_facts(outputs->type)->bytes;
  size_t other_count = item_bytes / tensor_type_facts(tensor->type)->bytes;
  char *bytes SCOPED(scoped_free) = memory_new(first_bytes + 1, 1);
  XSP_TRY(get(outputs, item, bytes, first_bytes, err));
  make_room(&outputs->first, &outputs->first_count, first_count);
  make_room(&outputs->other, &outputs->other_count, other_count);
  (void)tensor_values(outputs->type, bytes, first_count, outputs->first);
  (void)tensor_values(tensor->type, values, other_count, outputs->other);
  divergence_add(divergence, item, outputs->first, first_count, outputs->other, other_count);
  return STATUS_OK;
}

// ---- kept ------------------------------------------------------------------------------------------------------------
// "7" of [batch, 7].
static void item_shape(const struct runner_tensor *tensor, size_t batch, char *text, size_t size)
{
  size_t used = 0;
  unsigned at = tensor->rank > 0 && (size_t)tensor->shape[0] == batch ? 1 : 0;
  text[0] = 0;
  for (; at < tensor->rank && used < size; at++)
    used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, used > 0 ? "," : "", tensor->shape[at]);
}

static enum status keep(const struct outputs_batch *batch, size_t item, const struct runner_tensor *tensor,
                        const char *values, size_t item_bytes, struct store *store, struct error *err)
{
  char shape[TENSOR_MAXIMUM_RANK * 21 + 1];
  item_shape(tensor, batch->batch, shape, sizeof shape);
  const struct store_output row = {.item = (int64_t)item,
                                   .file = data_item_name(&batch->items[item]),
                                   .type = tensor_type_facts(tensor->type)->name,
                                   .shape = shape,
                                   .data = {values, item_bytes}};
  return store_add_output(store, (int64_t)batch->model + 1, &row, err);
}

// At a model's first inference, not after hours.
static enum status take_room(struct outputs *outputs, const struct outputs_batch *batch, size_t item_bytes,
                             struct error *err)
{
  int64_t more = 0;
  if (!outputs->is_kept || batch->model < outputs->model_count)
    return STATUS_OK;
  if (__builtin_mul_overflow(item_bytes, batch->item_count, &more) || more > OUTPUTS_BYTES_MOST - outputs->kept_bytes)
    return error_set(err, STATUS_INPUT, what, batch->output, "--limit N, or an evaluation without --keep-outputs",
                     "%zu items with %zu bytes each are more than the %" PRId64 " bytes that are kept",
                     batch->item_count, item_bytes, OUTPUTS_BYTES_MOST);
  outputs->kept_bytes += more;
  outputs->model_count = batch->model + 1;
  return STATUS_OK;
}

enum status evaluation_outputs_take(struct outputs *outputs, struct runner *runner, const struct outputs_batch *batch,
                                    struct store *store, struct divergence *divergence, struct error *err)
{
  struct runner_tensor tensor;
  if (!outputs->is_kept && !outputs->is_compared)
    return STATUS_OK;
  XSP_TRY(runner_read(runner, "output", batch->output, &tensor, err));
  if (tensor.problem[0] != 0 || tensor.size_bytes % batch->batch != 0)
    return error_set(err, STATUS_INPUT, what, batch->output, "another output of the model", "%s",
                     tensor.problem[0] != 0 ? tensor.problem : "its values are not a number of values for each item");
  size_t item_bytes = tensor.size_bytes / batch->batch;
  if (batch->model == 0)
    outputs->type = tensor.type;
  XSP_TRY(take_room(outputs, batch, item_bytes, err));
  for (size_t i = 0; i < batch->count; i++) {
    const char *values = (const char *)tensor.data + i * item_bytes;
    size_t item = batch->first_item + i;
    if (outputs->is_compared && batch->model == 0)
      XSP_TRY(put(outputs, values, item_bytes, err));
    else if (outputs->is_compared)
      XSP_TRY(compare(outputs, item, &tensor, values, item_bytes, divergence, err));
    if (outputs->is_kept)
      XSP_TRY(keep(batch, item, &tensor, values, item_bytes, store, err));
  }
  return STATUS_OK;
}

void evaluation_outputs_done(struct outputs *outputs)
{
  if (outputs->file != 0)
    close(outputs->file);
  vector_done(&outputs->ends);
  free(outputs->first);
  free(outputs->other);
  *outputs = (struct outputs){0};
}
