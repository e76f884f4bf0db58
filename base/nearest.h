// SPDX-License-Identifier: Apache-2.0
// "Did you mean": which known word is nearest to a mistyped one.
#ifndef XSP_BASE_NEAREST_H
#define XSP_BASE_NEAREST_H

#include <stddef.h>

struct nearest {
  const char *word; // as typed
  const char *best; // NULL while nothing is near enough
  size_t distance;
};
void nearest_start(struct nearest *nearest, const char *word);
void nearest_offer(struct nearest *nearest, const char *candidate); // candidate must outlive the search
// For an error's advice: "BEST, or OTHERWISE", or OTHERWISE alone. `prefix` precedes BEST.
void nearest_advice(const struct nearest *nearest, const char *prefix, const char *otherwise, char *ret_text,
                    size_t size);

#endif
