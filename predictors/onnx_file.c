// SPDX-License-Identifier: Apache-2.0
// A walk over protobuf lengths; see onnx_file.h. Two levels deep (model, graph): deep enough to name a node or tensor.
#include "predictors/onnx_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODEL_GRAPH = 7, GRAPH_NODE = 1, GRAPH_INITIALIZER = 5 };
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct walk {
  const uint8_t *bytes;
  size_t at, end;
  const char *problem; // NULL: none so far
  size_t problem_at;
};

struct field {
  uint64_t number;
  unsigned wire;
  size_t start;  // of its tag
  size_t length; // of its payload, at walk.at
};

static bool fail(struct walk *walk, size_t at, const char *problem)
{
  walk->problem = problem;
  walk->problem_at = at;
  return false;
}

static bool read_varint(struct walk *walk, uint64_t *ret_value)
{
  size_t start = walk->at;
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (walk->at == walk->end)
      return fail(walk, start, "the file ends inside a number");
    uint8_t byte = walk->bytes[walk->at++];
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *ret_value = value;
      return true;
    }
  }
  return fail(walk, start, "a number is too long");
}

// Reads a tag and the payload's length; walk.at is then at the payload. False at the end or on damage.
static bool next_field(struct walk *walk, struct field *ret_field)
{
  if (walk->at == walk->end)
    return false;
  ret_field->start = walk->at;
  uint64_t tag = 0, length = 0;
  if (!read_varint(walk, &tag))
    return false;
  ret_field->number = tag >> 3;
  ret_field->wire = tag & 7;
  if (ret_field->number == 0)
    return fail(walk, ret_field->start, "no ONNX model: a field without a number");
  size_t payload = walk->at;
  switch (ret_field->wire) {
  case WIRE_VARINT:
    if (!read_varint(walk, &length))
      return false;
    length = walk->at - payload;
    walk->at = payload;
    break;
  case WIRE_64:
    length = 8;
    break;
  case WIRE_32:
    length = 4;
    break;
  case WIRE_BYTES:
    if (!read_varint(walk, &length))
      return false;
    break;
  default:
    return fail(walk, ret_field->start, "no ONNX model: an unknown kind of field");
  }
  if (length > SIZE_MAX / 2)
    return fail(walk, ret_field->start, "a length is absurd");
  ret_field->length = (size_t)length;
  return true;
}

static bool inside(const struct walk *walk, const struct field *field)
{
  return field->length <= walk->end - walk->at;
}

static bool graph_damage(struct walk *walk, char *place, size_t size)
{
  size_t nodes = 0, initializers = 0;
  struct field field;
  while (next_field(walk, &field)) {
    if (!inside(walk, &field)) {
      char part[64];
      if (field.number == GRAPH_NODE)
        snprintf(part, sizeof part, "node %zu", nodes);
      else if (field.number == GRAPH_INITIALIZER)
        snprintf(part, sizeof part, "initializer %zu", initializers);
      else
        snprintf(part, sizeof part, "field %" PRIu64, field.number);
      snprintf(place, size, "byte %zu (graph, %s): %zu bytes are announced, the file has %zu more", field.start, part,
               field.length, walk->end - walk->at);
      return true;
    }
    nodes += field.number == GRAPH_NODE;
    initializers += field.number == GRAPH_INITIALIZER;
    walk->at += field.length;
  }
  if (walk->problem != NULL)
    snprintf(place, size, "byte %zu (graph, after node %zu and initializer %zu): %s", walk->problem_at, nodes,
             initializers, walk->problem);
  return walk->problem != NULL;
}

bool onnx_damage(const uint8_t *bytes, size_t size, char *place, size_t place_size)
{
  struct walk walk = {.bytes = bytes, .end = size};
  if (size == 0) {
    snprintf(place, place_size, "byte 0: the file is empty");
    return true;
  }
  bool has_graph = false;
  struct field field;
  while (next_field(&walk, &field)) {
    if (field.number == MODEL_GRAPH && field.wire == WIRE_BYTES) {
      has_graph = true;
      struct walk graph = walk;
      graph.end = inside(&walk, &field) ? walk.at + field.length : walk.end;
      if (graph_damage(&graph, place, place_size))
        return true;
    }
    if (!inside(&walk, &field)) {
      snprintf(place, place_size, "byte %zu (field %" PRIu64 "): %zu bytes are announced, the file has %zu more",
               field.start, field.number, field.length, walk.end - walk.at);
      return true;
    }
    walk.at += field.length;
  }
  if (walk.problem != NULL)
    snprintf(place, place_size, "byte %zu: %s", walk.problem_at, walk.problem);
  else if (!has_graph)
    snprintf(place, place_size, "byte %zu: the file ends without a graph", size);
  return walk.problem != NULL || !has_graph;
}

bool onnx_file_damage(const char *path, char *place, size_t place_size)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd < 0)
    return false;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return false;
  }
  if (info.st_size == 0) {
    close(fd);
    return onnx_damage((const uint8_t *)"", 0, place, place_size);
  }
  void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (bytes == MAP_FAILED)
    return false;
  bool damaged = onnx_damage(bytes, (size_t)info.st_size, place, place_size);
  munmap(bytes, (size_t)info.st_size);
  return damaged;
}
