// SPDX-License-Identifier: Apache-2.0
// The work of OpenVINO's nodes; see graph.h. Its C interface does not report shapes of nodes, but a compiled model can write
// itself: the graph in what it writes has the operators under the names of the nodes, after all changes but the last
// fusions, which are in the list of profiling information. Called in prepare, outside every span.
#include "frameworks/openvino/graph.h"

#include "base/interner.h"
#include "base/scoped.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT_BYTES_MOST ((rlim_t)1 << 30) // weights are written, too

// ---- the graph in what was written -----------------------------------------------------------------------------------

static const char beginning[] = "<?xml version";

// Versions from 2025 on hide the text under this pattern, from its first byte on.
static const unsigned char veil[] = {0x30, 0x60, 0x70, 0x02, 0x04, 0x08, 0x3f, 0x6f, 0x72, 0x74, 0x78, 0x7f};

static char *find_last(char *bytes, size_t size, const char *wanted, size_t length)
{
  for (size_t end = size; end >= length;) {
    char *at = memrchr(bytes, wanted[0], end - length + 1);
    if (at == NULL)
      return NULL;
    if (memcmp(at, wanted, length) == 0)
      return at;
    end = (size_t)(at - bytes) + length - 1;
  }
  return NULL;
}

const char *openvino_graph_find(char *bytes, size_t size, size_t *ret_length)
{
  char hidden[sizeof beginning - 1];
  for (size_t i = 0; i < sizeof hidden; i++)
    hidden[i] = (char)(beginning[i] ^ veil[i % sizeof veil]);
  char *text = find_last(bytes, size, hidden, sizeof hidden);
  size_t length = text != NULL ? size - (size_t)(text - bytes) : 0;
  for (size_t i = 0; i < length; i++)
    text[i] = (char)(text[i] ^ veil[i % sizeof veil]);
  if (text == NULL && (text = find_last(bytes, size, beginning, sizeof beginning - 1)) != NULL)
    length = size - (size_t)(text - bytes);
  *ret_length = length;
  return text;
}

static bool write_model(const struct openvino_api *api, const struct ov_compiled_model *compiled, int fd)
{
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  struct rlimit before;
  if (getrlimit(RLIMIT_FSIZE, &before) != 0)
    return false;
  struct rlimit bounded = before;
  if (bounded.rlim_cur == RLIM_INFINITY || bounded.rlim_cur > EXPORT_BYTES_MOST)
    bounded.rlim_cur = EXPORT_BYTES_MOST;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  bool is_written = setrlimit(RLIMIT_FSIZE, &bounded) == 0 && api->compiled_model_export_model(compiled, path) == 0;
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, handler);
  return is_written;
}

void openvino_graph_export(const struct openvino_api *api, const struct ov_compiled_model *compiled,
                           struct arena *arena, struct openvino_graph *ret_graph)
{
  *ret_graph = (struct openvino_graph){0};
  struct stat info;
  int fd SCOPED(scoped_close) = memfd_create("xsp-openvino", MFD_CLOEXEC);
  if (fd < 0)
    return;
  bool is_written = write_model(api, compiled, fd) && fstat(fd, &info) == 0 && info.st_size > 0;
  size_t size = is_written ? (size_t)info.st_size : 0;
  void *bytes = is_written ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  if (bytes == MAP_FAILED)
    return;
  size_t length = 0;
  const char *text = openvino_graph_find(bytes, size, &length);
  bool is_read = text == NULL || openvino_graph_read(text, length, arena, ret_graph);
  munmap(bytes, size);
  if (!is_read)
    *ret_graph = (struct openvino_graph){0}; // unknown form: no shapes
}

// ---- the work of nodes -----------------------------------------------------------------------------------------------

struct by_name {
  const struct openvino_graph *graph;
  struct interner names; // an operator's number
};

static const struct openvino_operator *find_operator(struct by_name *operators, const char *name, size_t length)
{
  uint32_t number;
  return interner_find(&operators->names, name, length, &number) ? &operators->graph->items[number] : NULL;
}

// Operators after the first of a Subgraph, then those that were fused into the node. NULL: none.
static const char *fused_of(struct by_name *operators, const struct openvino_node *node, const char *first,
                            struct arena *arena)
{
  const char *joined = first;
  for (const char *at = node->fused; at != NULL && *at != 0;) {
    size_t length = strcspn(at, ",");
    const struct openvino_operator *operation = find_operator(operators, at, length);
    const char *type = operation != NULL ? operation->type : "?"; // which makes the whole unknown
    joined = joined == NULL ? type : arena_format(arena, "%s %s", joined, type);
    at += length + (at[length] == ',');
  }
  return joined;
}

// The model's own nodes that became the node and what was fused into it: where their names are not all the node's own. NULL: not known.
static const char *sources_of(struct by_name *operators, const struct openvino_node *node,
                              const struct openvino_operator *operation, struct arena *arena)
{
  const char *joined = operation->sources;
  for (const char *at = node->fused; at != NULL && *at != 0 && joined != NULL;) {
    size_t length = strcspn(at, ",");
    const struct openvino_operator *fused = find_operator(operators, at, length);
    joined = fused != NULL && fused->sources != NULL ? arena_format(arena, "%s, %s", joined, fused->sources) : joined;
    at += length + (at[length] == ',');
  }
  return joined != NULL && strcmp(joined, node->name) != 0 ? joined : NULL;
}

static void add_tensor(struct layer_work *work, enum layer_tensor kind, const struct openvino_tensor *tensor,
                       bool is_narrow)
{
  layer_work_add(work, kind, tensor->sizes, tensor->rank,
                 tensor->is_float32 && is_narrow ? tensor->element_bytes / 2u : tensor->element_bytes);
}

// Floats of a node that computes in 16 bits are stored in 16 bits, whatever type the graph has.
static bool is_narrow(const struct openvino_node *node)
{
  const char *suffix = strrchr(node->primitive, '_');
  return suffix != NULL && (strcmp(suffix, "_bf16") == 0 || strcmp(suffix, "_f16") == 0);
}

static void read_operator(struct by_name *operators, const struct openvino_node *node, struct arena *arena,
                          struct layer_report *layer, struct layer_tags *tags)
{
  const struct openvino_operator *operation = find_operator(operators, node->name, strlen(node->name));
  if (operation == NULL)
    return;
  struct layer_work tensors = {0};
  for (size_t i = 0; i < operation->input_count; i++)
    add_tensor(&tensors, operation->inputs[i].is_constant ? LAYER_PARAMETER : LAYER_ACTIVATION, &operation->inputs[i],
               is_narrow(node));
  for (size_t i = 0; i < operation->output_count; i++)
    add_tensor(&tensors, LAYER_OUTPUT, &operation->outputs[i], is_narrow(node));
  layer_work_tags(&tensors, arena, tags);
  if (operation->output_count > 0 && operation->outputs[0].rank != LAYER_RANK_UNKNOWN)
    layer->shape = layer_work_shape(arena, operation->outputs[0].sizes, operation->outputs[0].rank);
  const char *type = operation->type, *first = NULL;
  if (operation->inner != NULL) { // "Multiply Add": the first is the operator, the others work on its result
    size_t length = strcspn(operation->inner, " ");
    type = arena_copy(arena, operation->inner, length);
    first = operation->inner[length] != 0 ? operation->inner + length + 1 : NULL;
  }
  layer_tags_add_text(tags, "source_layers", sources_of(operators, node, operation, arena));
  layer_tags_add_text(tags, "operator", type);
  layer_tags_add_text(tags, "fused_ops", fused_of(operators, node, first, arena));
  layer_tags_add_text(tags, "kernel_shape", operation->kernel);
  layer_tags_add_text(tags, "mode", operation->mode);
}

struct layer_report *openvino_layers_read(const struct openvino_graph *graph, const struct openvino_nodes *nodes,
                                          struct arena *arena)
{
  struct layer_report *layers = arena_alloc_array(arena, nodes->count + 1, sizeof *layers);
  struct layer_tags *tags = arena_alloc_array(arena, nodes->count + 1, sizeof *tags);
  struct by_name operators = {.graph = graph};
  for (size_t i = 0; i < graph->count; i++)
    interner_append(&operators.names, graph->items[i].name, strlen(graph->items[i].name));
  for (size_t i = 0; i < nodes->count; i++) {
    const struct openvino_node *node = &nodes->nodes[i];
    layers[i] = (struct layer_report){.name = node->name,
                                      .type = node->type,
                                      .index = node->index,
                                      .alloc_bytes = -1,
                                      .parent = LAYER_PARENT_MODEL,
                                      .tags = &tags[i]};
    layer_tags_add_text(&tags[i], "primitive", node->primitive);
    layer_tags_add_text(&tags[i], "fused", node->fused);
    read_operator(&operators, node, arena, &layers[i], &tags[i]);
  }
  interner_done(&operators.names);
  return layers;
}
