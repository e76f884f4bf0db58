// SPDX-License-Identifier: Apache-2.0
// Prints what guest/frameworks/tensorflow/metadata.c reads of a RunMetadata file as JSON lines, for comparison with the
// official protobuf classes.
#include "frameworks/tensorflow/metadata.h"

#include "base/json_write.h"

#include <stdio.h>
#include <stdlib.h>

static void write_step(struct json_writer *json, const struct tensorflow_step *step)
{
  const struct {
    const char *key;
    uint64_t value;
  } numbers[] = {{"start_ns", step->start_ns}, {"duration_ns", step->duration_ns}, {"alloc_bytes", step->alloc_bytes}};
  json_object(json);
  json_key(json, "node");
  json_string_n(json, step->node.data, step->node.length);
  json_key(json, "type");
  json_string_n(json, step->type.data, step->type.length);
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    json_key(json, numbers[i].key);
    json_int(json, (int64_t)numbers[i].value);
  }
  json_key(json, "shape");
  if (step->shape.rank > TENSORFLOW_RANK_MAXIMUM) {
    json_null(json);
  } else {
    json_array(json);
    for (unsigned i = 0; i < step->shape.rank; i++)
      json_int(json, step->shape.size[i]);
    json_array_end(json);
  }
  json_object_end(json);
}

int main(int count, char **values)
{
  FILE *file = count == 2 ? fopen(values[1], "rb") : NULL;
  if (file == NULL || fseek(file, 0, SEEK_END) != 0)
    return 2;
  size_t length = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(length + 1);
  if (bytes == NULL || fread(bytes, 1, length, file) != length)
    return 2;
  struct arena arena = {0};
  struct tensorflow_steps steps;
  const char *problem = NULL;
  if (!tensorflow_steps_read(bytes, length, &arena, &steps, &problem)) {
    fprintf(stderr, "%s\n", problem);
    return 1;
  }
  struct buf out;
  buf_init(&out, BUF_MAXIMUM_DEFAULT);
  struct json_writer json;
  json_start(&json, &out);
  json_array(&json);
  for (size_t i = 0; i < steps.count; i++)
    write_step(&json, &steps.items[i]);
  json_array_end(&json);
  bool is_written = !out.failed && fwrite(out.data, 1, out.length, stdout) == out.length;
  buf_done(&out);
  arena_done(&arena);
  free(bytes);
  fclose(file);
  return is_written ? 0 : 2;
}
