// SPDX-License-Identifier: Apache-2.0
// Entries of `inputs` and `outputs` that are of a modality. For tensors.c.
#ifndef XSP_MANIFESTS_MODALITIES_H
#define XSP_MANIFESTS_MODALITIES_H

#include "manifests/manifest_private.h"

// The keys of an entry with `type: image`, or of an output that is no plain tensor; NULL: it is one. Their target is a struct
// manifest_tensor; of an output `tensor` gets its kind.
const struct field *modality_keys(const struct document_node *entry, bool is_input, struct manifest_tensor *tensor);
// Of an output with this `type` (output_forms.c), which has become `tensor`'s kind, with the parameters' defaults; NULL: it is none of
// these.
const struct field *manifest_output_form_keys(const char *type, struct manifest_tensor *tensor);
field_read_fn field_modality; // for their key `type`

// After all keys: the type of an input of pictures that has none, and whether its parameters are possible. `at` is the line of the
// manifest's own element_type.
enum status manifest_picture_complete(const struct fields *fields, const struct document_node *at,
                                      struct manifest_tensor *tensor) MUST_CHECK;

#endif
