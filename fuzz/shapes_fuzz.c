// SPDX-License-Identifier: Apache-2.0
// Fuzzes answers/analyze/flops/shapes and the analytic counts. Lines of the input: operator, inputs, types or outputs,
// arguments. Decoded shapes must be within bounds; counts are never negative or infinite.
#include "analyze/flops/flops.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_shapes(const struct shapes *shapes)
{
  if (shapes->count > SHAPES_MOST)
    abort();
  for (size_t i = 0; i < shapes->count; i++) {
    const struct shape *shape = &shapes->items[i];
    if (shape->rank < -1 || shape->rank > SHAPE_RANK_MOST)
      abort();
    for (int k = 0; k < shape->rank; k++)
      if (!(shape->dims[k] >= 0 && shape->dims[k] <= 1e15))
        abort();
  }
}

static void check_counts(const struct flop_counts *counts)
{
  double flops = flop_counts_flops(counts);
  if (isnan(flops) != isnan(counts->multiply_adds) || isinf(flops) || flops < 0 || isinf(counts->bytes) ||
      counts->bytes < 0)
    abort();
}

struct line {
  const char *text; // of its exact size, so that ASan sees a read past its end
  size_t length;
};

// The next line, copied; frees nothing.
static struct line next_line(const uint8_t **data, size_t *size)
{
  size_t length = 0;
  while (length < *size && (*data)[length] != '\n')
    length++;
  char *copy = malloc(length + 1);
  if (copy == NULL)
    abort();
  if (length > 0)
    memcpy(copy, *data, length);
  copy[length] = 0; // as in the store
  size_t used = length < *size ? length + 1 : length;
  *data += used;
  *size -= used;
  return (struct line){copy, length};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static struct shapes inputs, outputs;
  static struct values values;
  struct line lines[4];
  for (size_t i = 0; i < 4; i++)
    lines[i] = next_line(&data, &size);
  bool is_aten = strncmp(lines[0].text, "aten::", 6) == 0;
  struct flop_operation operation = {
      .type = lines[0].text, .input_bytes = NAN, .parameter_bytes = NAN, .output_bytes = NAN};
  bool has_inputs = is_aten ? shapes_read_arguments(lines[1].text, lines[1].length, &inputs)
                            : shapes_read(lines[1].text, lines[1].length, &inputs) ||
                                  shapes_read_typed(lines[1].text, lines[1].length, &inputs);
  check_shapes(&inputs);
  if (has_inputs) {
    operation.inputs = &inputs;
    shapes_read_types(lines[2].text, lines[2].length, &inputs);
  }
  if (shapes_read(lines[2].text, lines[2].length, &outputs) ||
      shapes_read_typed(lines[2].text, lines[2].length, &outputs))
    operation.outputs = &outputs;
  check_shapes(&outputs);
  if (shape_values_read(lines[3].text, lines[3].length, &values))
    operation.values = &values;
  struct flop_attribute attributes[] = {{"kernel_shape", shape_value_read(lines[3].text, lines[3].length)},
                                        {"size", shape_value_read(lines[3].text, lines[3].length)}};
  operation.attributes = attributes;
  operation.attribute_count = 2;
  struct flop_counts counts = flops_count(&operation);
  check_counts(&counts);
  for (size_t i = 0; i < 4; i++)
    free((void *)(uintptr_t)lines[i].text);
  return 0;
}
