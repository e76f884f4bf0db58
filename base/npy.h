// SPDX-License-Identifier: Apache-2.0
// Reads NumPy's .npy files, versions 1 to 3, C order, little-endian, plain element types. Made for hostile input.
#ifndef XSP_BASE_NPY_H
#define XSP_BASE_NPY_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

#define NPY_MAXIMUM_RANK 16

struct npy {
  char kind;           // NumPy's letter: b bool, i int, u unsigned, f float
  unsigned item_bytes; // 1, 2, 4, 8
  unsigned rank;       // 0: a scalar
  int64_t shape[NPY_MAXIMUM_RANK];
  size_t count;        // elements
  const uint8_t *data; // within the bytes that were parsed
  size_t data_bytes;
  void *owned; // npy_load: to be freed by npy_done
};

// `where` is for errors. Errors: STATUS_INPUT with the reason.
enum status npy_parse(const uint8_t *bytes, size_t size, const char *where, struct npy *ret_npy,
                      struct error *err) MUST_CHECK;
enum status npy_load(const char *path, struct npy *ret_npy, struct error *err) MUST_CHECK;
void npy_done(struct npy *npy);

#endif
