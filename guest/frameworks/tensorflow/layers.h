// SPDX-License-Identifier: Apache-2.0
// From RunMetadata to layers: which names, places and tags a model's nodes have, kept over its inferences. One thread.
#ifndef XSP_FRAMEWORKS_TENSORFLOW_LAYERS_H
#define XSP_FRAMEWORKS_TENSORFLOW_LAYERS_H

#include "base/error.h"
#include "frameworks/tensorflow/graph.h"
#include <xsp/span.h>

#include <stdbool.h>
#include <stddef.h>

// What TensorFlow does not report of a node's execution: thread_id is always 0.
#define TENSORFLOW_UNTOLD "thread"

struct tensorflow_layers;
// `model` is the graph as the file has it, for what fused layers were made of; it must live as long.
struct tensorflow_layers *tensorflow_layers_create(const struct tensorflow_graph *model, const char *model_path);
void tensorflow_layers_free(struct tensorflow_layers *layers); // NULL is legal

bool tensorflow_layers_has_graph(const struct tensorflow_layers *layers); // the executed graph was read
// Publishes one inference, whose model span was `span`. `metadata` is RunMetadata as bytes.
enum status tensorflow_layers_publish(struct tensorflow_layers *layers, const void *metadata, size_t length,
                                      struct xsp_context span, struct error *err) MUST_CHECK;

#endif
