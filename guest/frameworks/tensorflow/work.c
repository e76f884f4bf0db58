// SPDX-License-Identifier: Apache-2.0
// See work.h. Called by layers.c, outside every span.
#include "frameworks/tensorflow/work.h"

#include <string.h>

static size_t element_bytes(uint32_t type) // DataType of TensorFlow; 0: texts, resources
{
  static const uint8_t bytes[] = {
      [1] = 4,  [2] = 8,  [3] = 4,  [4] = 1,  [5] = 2,  [6] = 1,  [8] = 8,   [9] = 8,  [10] = 1, [11] = 1,
      [12] = 1, [13] = 4, [14] = 2, [15] = 2, [16] = 2, [17] = 2, [18] = 16, [19] = 2, [22] = 4, [23] = 8};
  return type < sizeof bytes ? bytes[type] : 0;
}

static void add_text(struct layer_tags *tags, const char *key, const char *text, struct arena *arena)
{
  layer_tags_add_text(tags, key, text != NULL ? arena_copy(arena, text, strlen(text)) : NULL);
}

void tensorflow_work_tags(const struct tensorflow_node *node, struct arena *arena, struct layer_tags *tags)
{
  bool has_activation = node->activation != NULL && strcmp(node->activation, "Identity") != 0;
  const char *fused = node->fused_ops;
  if (strstr(node->op, "BatchNormEx") != NULL && has_activation) // with another input added before, if it has one
    fused = node->has_side_input ? arena_format(arena, "Add %s", node->activation) : node->activation;
  add_text(tags, "kernel_shape", node->window, arena);
  add_text(tags, "fused_ops", fused, arena);
  layer_tags_add_text(tags, "operator", node->is_training ? "FusedBatchNormTraining" : NULL);
}

static void add(struct layer_work *work, enum layer_tensor kind, const struct tensorflow_output *output)
{
  bool is_known = output != NULL && output->shape.rank <= TENSORFLOW_RANK_MAXIMUM;
  layer_work_add(work, kind, is_known ? output->shape.size : NULL, is_known ? output->shape.rank : LAYER_RANK_UNKNOWN,
                 is_known ? element_bytes(output->type) : 0);
}

void tensorflow_work_read(const struct tensorflow_step *step, const struct tensorflow_wire *inputs, size_t input_count,
                          const struct tensorflow_step *const *steps, struct layer_work *ret_work)
{
  *ret_work = (struct layer_work){0};
  struct tensorflow_output output;
  for (size_t i = 0; i < input_count; i++) {
    const struct tensorflow_step *from = inputs[i].from != TENSORFLOW_NO_LAYER ? steps[inputs[i].from] : NULL;
    struct wire outputs = wire_over(from != NULL ? from->message : NULL, from != NULL ? from->message_length : 0);
    bool is_found = false;
    while (!is_found && tensorflow_output_next(&outputs, &output))
      is_found = output.slot == inputs[i].slot;
    add(ret_work, inputs[i].is_parameter ? LAYER_PARAMETER : LAYER_ACTIVATION, is_found ? &output : NULL);
  }
  struct wire outputs = wire_over(step->message, step->message_length);
  while (tensorflow_output_next(&outputs, &output))
    add(ret_work, LAYER_OUTPUT, &output);
}
