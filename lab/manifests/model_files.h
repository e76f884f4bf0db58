// SPDX-License-Identifier: Apache-2.0
// The files that a model consists of: their size in all, and one checksum over them.
#ifndef XSP_MANIFESTS_MODEL_FILES_H
#define XSP_MANIFESTS_MODEL_FILES_H

#include "assets/assets.h"
#include "base/arena.h"
#include "base/error.h"

#include <stdint.h>

struct model_files {
  const char *folder;  // that the names are relative to
  const char *weights; // path of the one file that may be elsewhere; NULL: there is none
  const char **names;  // sorted; each once
  size_t count;
  int64_t bytes; // of all
};

// A folder's files, all of them; else the file and what belongs to it: `weights` if given, else the weights next to an ONNX model, an
// IR of OpenVINO, a symbol of MXNet. Missing ones are left out: the framework reports them.
enum status model_files_find(const char *path, const char *weights, struct arena *arena, struct model_files *ret_files,
                             struct error *err) MUST_CHECK;
// Of one file its own; of several that of their list as `sha256sum` prints it, sorted by name.
enum status model_files_checksum(const struct model_files *files, char hex[CHECKSUM_TEXT_SIZE],
                                 struct error *err) MUST_CHECK;

#endif
