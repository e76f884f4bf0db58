// SPDX-License-Identifier: Apache-2.0
// The JSON of an OCI image layout: index.json, and manifests. Pure; inside this room only; fuzzed.
#ifndef XSP_ISOLATION_LAYOUT_H
#define XSP_ISOLATION_LAYOUT_H

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_TEXT_MOST ((size_t)4 << 20) // bytes of an index or a manifest
#define LAYOUT_LAYERS_MOST 512u
#define LAYOUT_HEX 64

struct layout_blob {
  char hex[LAYOUT_HEX + 1]; // of its SHA-256: blobs/sha256/HEX
  const char *media_type;   // "": not given
  int64_t size_bytes;       // -1: not given
};
// Of an index the manifest (or further index) for this machine: that of `architecture` ("amd64"), else one without any. Of a manifest its
// layers, in order.
struct layout {
  struct layout_blob chosen; // hex "": none
  struct layout_blob *layers;
  size_t layer_count;
};
// NULL, or what is wrong. Texts in `arena`.
const char *isolation_layout_read(const char *text, size_t length, const char *architecture, struct arena *arena,
                                  struct layout *ret_layout);

#endif
