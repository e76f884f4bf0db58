// SPDX-License-Identifier: Apache-2.0
// The layers that were seen so far: one site for each node and output shape, carrying the tags that are the same for
// all its spans. Shared by the listener (this folder) and by the predictor's profile-file route, so that both routes
// publish the same layers. Any thread; lock-free; never allocates.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_LAYERS_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_LAYERS_H

#include <xsp/span.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What tells one layer from another. Text as ONNX Runtime writes it; NULL counts as empty.
struct layer_key {
  const char *name;       // node name, with or without ORT_NODE_NAME_SUFFIX
  const char *node_index; // "12"
  const char *outputs;    // [{"float":[1,64,112,112]}]
};

// The rest, wanted only where the layer is new. NULL: not known, no tag.
struct layer_facts {
  const char *operator_type; // tag layer_type
  const char *provider;
  const char *inputs;                                                          // as layer_key.outputs
  const char *parameter_bytes, *activation_bytes, *output_bytes, *alloc_bytes; // decimal
};

// The site of a layer that was added before; NULL: it is new, or layers are full.
struct xsp_site *ort_layers_find(const struct layer_key *key);
// Adds it with its tags: layer_index, layer_type, layer_shape, provider, alloc_bytes, input_shape, parameter_bytes,
// activation_bytes, output_bytes. The first to add a layer decides its tags. When no more layers can be kept (64 Ki)
// one common site without tags is returned.
struct xsp_site *ort_layers_add(const struct layer_key *key, const struct layer_facts *facts);

// [{"float":[1,64,112,112]},{"int64":[1]}] → "[1,64,112,112]" (first only) or "[1,64,112,112] [1]" (all): xsp's form of
// shapes, in all layer tags. Cut to `size`. False where there is no shape in it.
bool ort_layer_shape(const char *type_shape, bool first_only, char *text, size_t size);

#endif
