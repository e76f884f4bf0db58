// SPDX-License-Identifier: Apache-2.0
// Numbers of a vocabulary's tokens in a model's output. No function keeps state; any thread may call them.
#ifndef XSP_PROCESSING_TEXT_H
#define XSP_PROCESSING_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_TOKENS_MOST 4096 // of an item, before decoding

struct text_form {
  bool is_ctc; // equal neighbours are one, and `blank` is nothing
  size_t blank;
  int64_t stop; // ends the text, if not is_ctc; -1: none
};

// The best class of each step: the first of equals; NaN is below all.
void text_best(const float *values, size_t steps, size_t classes, size_t *ret_tokens);
// In place; returns how many are kept.
size_t text_decode(const struct text_form *form, size_t *tokens, size_t count);

#endif
