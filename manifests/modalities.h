// SPDX-License-Identifier: Apache-2.0
// Entries of `inputs` and `outputs` that are of a modality. For tensors.c.
#ifndef XSP_MANIFESTS_MODALITIES_H
#define XSP_MANIFESTS_MODALITIES_H

#include "manifests/fields.h"

// The keys of an entry with `type: image` or `type: feature`; NULL: it is a plain tensor. Their target is a struct manifest_tensor.
const struct field *modality_keys(const struct document_node *entry, bool is_input);

// After all keys: the type of an input of pictures that has none, and whether its parameters are possible. `at` is the line of the
// manifest's own element_type.
enum status picture_complete(const struct fields *fields, const struct document_node *at,
                             struct manifest_tensor *tensor) MUST_CHECK;

#endif
