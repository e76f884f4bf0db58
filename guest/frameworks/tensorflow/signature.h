// SPDX-License-Identifier: Apache-2.0
// Signatures of tf.function as its tracings have them, "(x: TensorSpec(shape=(2, 3), dtype=tf.float32, name=None), rate: Literal[0.5])",
// and what differs between two.
#ifndef XSP_FRAMEWORKS_TENSORFLOW_SIGNATURE_H
#define XSP_FRAMEWORKS_TENSORFLOW_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNATURE_SIZE 1024u

struct tensorflow_signature {
  uint64_t hash; // of the whole text
  char text[SIGNATURE_SIZE];
};

void tensorflow_signature_take(struct tensorflow_signature *signature, const char *text);
// Names the first parameter that differs, with its types. Of its values there are only numbers, True, False and None. False: none
// differs.
bool tensorflow_signature_explain(const struct tensorflow_signature *before, const struct tensorflow_signature *now,
                                  char *reason, size_t size);

#endif
