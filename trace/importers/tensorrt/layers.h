// SPDX-License-Identifier: Apache-2.0
// TensorRT's layer information, which describes a profile: its items have the names of layers as keys. Private to this folder.
#ifndef XSP_IMPORTERS_TENSORRT_LAYERS_H
#define XSP_IMPORTERS_TENSORRT_LAYERS_H

#include "importers/description.h"

// Reads the description of `import`'s file. STATUS_INPUT: it is damaged, or has no layers.
enum status tensorrt_layers_read(struct import_described *layers, const struct import *import,
                                 struct error *err) MUST_CHECK;

#endif
