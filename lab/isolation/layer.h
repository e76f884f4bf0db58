// SPDX-License-Identifier: Apache-2.0
// Unpacks a layer of an image over those before it. Inside this room only.
#ifndef XSP_ISOLATION_LAYER_H
#define XSP_ISOLATION_LAYER_H

#include "base/error.h"

// `archive` is a file, whose place in it changes, `root` a folder; both stay open. Whiteouts of the layer remove what earlier layers
// have. Whatever the archive and earlier layers contain, nothing outside of the folder is touched. Errors: STATUS_INPUT (the archive),
// STATUS_SYSTEM (no room).
enum status isolation_layer_unpack(int archive, const char *archive_name, int root, struct error *err) MUST_CHECK;

#endif
