// SPDX-License-Identifier: Apache-2.0
// Made-up pictures for tests and measurements: stripes whose direction and colour are those of a class, with noise. Pure; any thread.
#ifndef XSP_DATA_SYNTHETIC_H
#define XSP_DATA_SYNTHETIC_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct synthetic {
  unsigned width, height; // a size that processing/ decodes
  unsigned classes;       // at least 1
  uint64_t seed;
  bool is_jpeg; // else PNG
};
// Picture `number`, of class number % classes, as a file. The same on every machine, as far as the compressor is the same version.
// False: out of memory.
bool synthetic_picture(const struct synthetic *how, uint64_t number, struct buf *ret_file);

#endif
