// SPDX-License-Identifier: Apache-2.0
// Nodes by number, executables by handle. A node that a program made itself, or in another stream than the others, leaves its
// executable unknown: a range of CUPTI has no name, and to guess it would give a kernel the metrics of another. Called by
// launches.c.
#include "tracers/cuda/captured.h"

#include "tracers/annotations/guest_table.h"

#include <stdlib.h>

#define NODES_MOST (UINT32_C(1) << 24) // of one executable

struct node {
  struct xsp_site *kernel;
  const void *stream;
};

static struct guest_map nodes = {.capacity = UINT32_C(1) << 20};
static struct guest_map executables = {.capacity = UINT32_C(1) << 16};

static const struct node *node_of(uint64_t id)
{
  return guest_map_get(&nodes, (const void *)(uintptr_t)id);
}

void cuda_captured_note(uint64_t id, struct xsp_site *kernel, const void *stream)
{
  struct node *node = malloc(sizeof *node); // kept: numbers are not used again
  if (node == NULL)
    return;
  *node = (struct node){kernel, stream};
  if (!guest_map_put(&nodes, (const void *)(uintptr_t)id, node))
    free(node);
}

void cuda_captured_copy(uint64_t id, uint64_t original_id)
{
  const struct node *original = node_of(original_id);
  if (original != NULL)
    guest_map_put(&nodes, (const void *)(uintptr_t)id, (void *)(uintptr_t)original);
}

void cuda_captured_add(struct captured_nodes *added, uint64_t id)
{
  if (added->count == added->capacity && !added->is_cut) {
    size_t capacity = added->capacity == 0 ? 64 : 2 * added->capacity;
    uint64_t *ids = capacity > NODES_MOST ? NULL : realloc(added->ids, capacity * sizeof *ids);
    added->is_cut = ids == NULL;
    added->ids = ids != NULL ? ids : added->ids;
    added->capacity = ids != NULL ? capacity : added->capacity;
  }
  if (!added->is_cut)
    added->ids[added->count++] = id;
}

void cuda_captured_forget(const void *executable)
{
  free(guest_map_get(&executables, executable));
  if (guest_map_get(&executables, executable) != NULL)
    guest_map_put(&executables, executable, NULL);
}

static struct captured_graph *make(const struct captured_nodes *added)
{
  struct captured_graph *graph = added->is_cut ? NULL : malloc(sizeof *graph + added->count * sizeof graph->kernels[0]);
  const struct node *first = graph == NULL || added->count == 0 ? NULL : node_of(added->ids[0]);
  for (size_t i = 0; graph != NULL && i < added->count; i++) {
    const struct node *node = node_of(added->ids[i]);
    if (node == NULL || node->kernel == NULL || node->stream != first->stream) {
      free(graph);
      return NULL;
    }
    graph->kernels[i] = node->kernel;
  }
  if (graph != NULL)
    graph->kernel_count = added->count;
  return graph;
}

void cuda_captured_end(struct captured_nodes *added, const void *executable)
{
  struct captured_graph *graph = executable == NULL ? NULL : make(added);
  if (executable != NULL)
    cuda_captured_forget(executable); // an earlier one with this handle
  if (graph != NULL && !guest_map_put(&executables, executable, graph))
    free(graph);
  free(added->ids);
  *added = (struct captured_nodes){0};
}

const struct captured_graph *cuda_captured_find(const void *executable)
{
  return guest_map_get(&executables, executable);
}
