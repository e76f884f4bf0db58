// SPDX-License-Identifier: Apache-2.0
// TensorRT's layer information, joined to a profile's layers by name. Private to this folder. One thread at a time.
#ifndef XSP_IMPORTERS_TENSORRT_LAYERS_H
#define XSP_IMPORTERS_TENSORRT_LAYERS_H

#include "base/map.h"
#include "base/vector.h"
#include "importers/importer.h"

struct tensorrt_layers {     // starts as {0}
  struct map by_name;        // name → the number of its next layer, from 1; 0: none is left
  VECTOR(uint32_t) names;    // of the layers
  VECTOR(size_t) first_tags; // where a layer's tags begin; they end where those of the next do
  VECTOR(size_t) same;       // the next layer of the same name, from 1; 0: none
  VECTOR(struct store_tag) tags;
};

// Reads the description of `import`'s file. STATUS_INPUT: it is damaged, or has no layers.
enum status tensorrt_layers_read(struct tensorrt_layers *layers, const struct import *import,
                                 struct error *err) MUST_CHECK;
// Tags a span with what is known of the layer of this name; each layer is taken once. False: there is none (left).
bool tensorrt_layers_tag(struct tensorrt_layers *layers, struct import *import, uint32_t name, int64_t span_id);
void tensorrt_layers_done(struct tensorrt_layers *layers);

#endif
