// SPDX-License-Identifier: Apache-2.0
// A table from what pairs a kernel (layer, ordinal, name) to a number. Private to kernels.c.
#ifndef XSP_ANALYZE_KERNELS_KEYS_H
#define XSP_ANALYZE_KERNELS_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_key {
  uint32_t layer, ordinal, name;
};
struct kernel_keys {
  struct kernel_slot *slots;
  size_t mask, count;
};

// The number of `key`, which is `number` from now on where it had none; UINT32_MAX: out of memory.
uint32_t kernel_keys_add(struct kernel_keys *keys, struct kernel_key key, uint32_t number);
bool kernel_keys_find(const struct kernel_keys *keys, struct kernel_key key, uint32_t *ret_number);
void kernel_keys_done(struct kernel_keys *keys);

#endif
