// SPDX-License-Identifier: Apache-2.0
// Shapes and bytes of a layer's tensors as tags; see layer_work.h.
#include "frameworks/common/layer_work.h"

#include <string.h>

static int64_t bytes_of(const int64_t *shape, size_t rank, size_t element_bytes)
{
  int64_t bytes = (int64_t)element_bytes;
  for (size_t i = 0; i < rank; i++)
    if (shape[i] < 0 || __builtin_mul_overflow(bytes, shape[i], &bytes))
      return -1;
  return element_bytes > 0 ? bytes : -1;
}

static void add_shape(struct layer_work *work, const int64_t *shape, size_t rank)
{
  char text[256] = "[-1]";
  if (rank != LAYER_RANK_UNKNOWN)
    framework_layer_shape_text(shape, rank, text, sizeof text);
  size_t length = strlen(text);
  work->is_cut = work->is_cut || text[length - 1] != ']' || work->input_length + length + 2 > sizeof work->inputs;
  if (work->is_cut)
    return;
  if (work->input_length > 0)
    work->inputs[work->input_length++] = ' ';
  memcpy(work->inputs + work->input_length, text, length + 1);
  work->input_length += length;
}

void layer_work_add(struct layer_work *work, enum layer_tensor kind, const int64_t *shape, size_t rank,
                    size_t element_bytes)
{
  int64_t bytes = rank == LAYER_RANK_UNKNOWN ? -1 : bytes_of(shape, rank, element_bytes);
  int64_t *sum = &work->bytes[kind];
  if (bytes < 0 || *sum < 0 || __builtin_add_overflow(*sum, bytes, sum))
    *sum = -1;
  if (kind == LAYER_OUTPUT)
    work->has_outputs = true;
  else
    add_shape(work, shape, rank);
}

void layer_work_tags(const struct layer_work *work, struct arena *arena, struct layer_tags *tags)
{
  if (work->input_length > 0)
    layer_tags_add_text(tags, "input_shape", arena_copy(arena, work->inputs, work->input_length));
  static const char *const keys[] = {"activation_bytes", "parameter_bytes", "output_bytes"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
    if (work->bytes[i] >= 0 && (i < LAYER_OUTPUT || work->has_outputs))
      layer_tags_add(tags, (struct layer_tag){.key = keys[i], .number = work->bytes[i]});
}

const char *layer_work_shape(struct arena *arena, const int64_t *shape, size_t rank)
{
  char text[256];
  framework_layer_shape_text(shape, rank, text, sizeof text);
  return arena_copy(arena, text, strlen(text));
}
