// SPDX-License-Identifier: Apache-2.0
// MXNet's events become layers; see layers.h. Called after the inference, outside every span.
#include "frameworks/mxnet/layers.h"

#include "base/slice.h"

#include <string.h>

bool mxnet_is_housekeeping(const char *type)
{
  return text_is_one_of(type, "DeleteVariable", "DeleteOperator", "WaitForVar", "CopyCPU2CPU", "CopyCPU2GPU",
                        "CopyGPU2CPU", "CopyGPU2GPU", "ImperativeBulk", "ResourceParallelRandomSetSeed");
}

size_t mxnet_operators(const struct mxnet_symbol *graph, struct mxnet_node *ret_operators)
{
  size_t count = 0;
  for (size_t i = 0; i < graph->count; i++)
    if (!mxnet_is_variable(&graph->nodes[i]))
      ret_operators[count++] = graph->nodes[i];
  return count;
}

// Whose event each operator's is; false: not all of them are there.
static bool match(const struct mxnet_event *events, size_t count, const struct mxnet_node *operators,
                  size_t operator_count, const struct mxnet_node **ret_by_event)
{
  size_t next = 0;
  for (size_t i = 0; i < count; i++) {
    bool is_next = next < operator_count && strcmp(events[i].name, operators[next].op) == 0;
    ret_by_event[i] = is_next ? &operators[next++] : NULL;
  }
  return next == operator_count && next > 0;
}

#define LAYERS_BYTES_MAXIMUM ((size_t)1 << 30)

// The operator's name and tags, in addition to the profile's.
static void describe_operator(const struct mxnet_node *node, const struct mxnet_work *work, struct layer_tags *tags,
                              struct layer_report *report)
{
  if (work != NULL) {
    *tags = work->tags;
    report->shape = work->shape;
  }
  layer_tags_add_text(tags, "name_by", "position in the graph");
  layer_tags_add_text(tags, "fused", node->fused);
  report->name = node->name;
  report->tags = tags;
}

// MXNet cuts times off to whole microseconds: the difference is the best figure for how long an operator took. Where calls
// below layers are recorded, too, the layer has all of its last microsecond, so that each call of the operator is inside it.
// Where the next layer of the thread begins in that microsecond, the two cross: a call inside it is then ambiguous, one that
// reaches out of it has the right layer. Level sets without calls have the plain difference, and give the layers' figures.
static uint64_t duration_of(const struct mxnet_event *event, bool has_calls)
{
  return (uint64_t)(event->end_us - event->start_us) * 1000 + (has_calls ? 999 : 0);
}

enum status mxnet_layers_publish(struct layer_publisher *publisher, const struct mxnet_event *events, size_t count,
                                 const struct thread_table *threads, const struct mxnet_node *operators,
                                 const struct mxnet_work *work, size_t operator_count, struct xsp_context model,
                                 struct error *err)
{
  struct pool pool = {.maximum_bytes = LAYERS_BYTES_MAXIMUM};
  struct layer_report *reports = framework_pool_alloc(&pool, count + 1, sizeof *reports);
  struct layer_tags *tags = framework_pool_alloc(&pool, count + 1, sizeof *tags);
  const struct mxnet_node **nodes = framework_pool_alloc(&pool, count + 1, sizeof *nodes);
  enum status status = STATUS_OK;
  if (reports == NULL || tags == NULL || nodes == NULL) {
    status = error_set(err, STATUS_MEMORY, "cannot publish layers", "mxnet", NULL, "out of memory");
    goto done;
  }
  const uint32_t calls = XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY) | XSP_LEVEL_MASK(XSP_LEVEL_KERNEL);
  bool has_calls = (xsp_tracer_levels("*") & calls) != 0;
  bool has_names = match(events, count, operators, operator_count, nodes);
  for (size_t i = 0; i < count; i++) {
    const struct mxnet_event *event = &events[i];
    reports[i] = (struct layer_report){.type = event->name,
                                       .index = (int64_t)i,
                                       .alloc_bytes = -1,
                                       .start_ns = (uint64_t)event->start_us * 1000,
                                       .duration_ns = duration_of(event, has_calls),
                                       .thread_id = framework_threads_find(threads, event->thread),
                                       .parent = LAYER_PARENT_MODEL};
    if (!has_names)
      continue;
    reports[i].index = nodes[i] != NULL ? nodes[i] - operators : -1; // the same where other operators run concurrently
    if (nodes[i] == NULL)
      continue;
    describe_operator(nodes[i], work != NULL ? &work[nodes[i] - operators] : NULL, &tags[i], &reports[i]);
  }
  status = framework_layer_publish(publisher, reports, count, model, 0, err);
done:
  framework_pool_done(&pool);
  return status;
}
