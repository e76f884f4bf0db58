// SPDX-License-Identifier: Apache-2.0
// Finds where an .onnx file is cut; see onnx_file.h. Two levels deep (model, graph): deep enough to name a node or tensor.
#include "predictors/onnx_file.h"

#include "predictors/onnx_wire.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool graph_damage(struct onnx_walk *walk, char *place, size_t size)
{
  size_t nodes = 0, initializers = 0;
  struct onnx_field field;
  while (onnx_next_field(walk, &field)) {
    if (!onnx_inside(walk, &field)) {
      char part[64];
      if (field.number == ONNX_GRAPH_NODE)
        snprintf(part, sizeof part, "node %zu", nodes);
      else if (field.number == ONNX_GRAPH_INITIALIZER)
        snprintf(part, sizeof part, "initializer %zu", initializers);
      else
        snprintf(part, sizeof part, "field %" PRIu64, field.number);
      snprintf(place, size, "byte %zu (graph, %s): %zu bytes are announced, the file has %zu more", field.start, part,
               field.length, walk->end - walk->at);
      return true;
    }
    nodes += field.number == ONNX_GRAPH_NODE;
    initializers += field.number == ONNX_GRAPH_INITIALIZER;
    walk->at += field.length;
  }
  if (walk->problem != NULL)
    snprintf(place, size, "byte %zu (graph, after node %zu and initializer %zu): %s", walk->problem_at, nodes,
             initializers, walk->problem);
  return walk->problem != NULL;
}

bool onnx_damage(const uint8_t *bytes, size_t size, char *place, size_t place_size)
{
  struct onnx_walk walk = {.bytes = bytes, .end = size};
  if (size == 0) {
    snprintf(place, place_size, "byte 0: the file is empty");
    return true;
  }
  bool has_graph = false;
  struct onnx_field field;
  while (onnx_next_field(&walk, &field)) {
    if (field.number == ONNX_MODEL_GRAPH && field.wire == ONNX_WIRE_BYTES) {
      has_graph = true;
      struct onnx_walk graph = walk;
      graph.end = onnx_inside(&walk, &field) ? walk.at + field.length : walk.end;
      if (graph_damage(&graph, place, place_size))
        return true;
    }
    if (!onnx_inside(&walk, &field)) {
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
