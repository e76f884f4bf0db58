// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs in a manifest's format. For the table in manifest.c.
#ifndef XSP_MANIFESTS_TENSORS_H
#define XSP_MANIFESTS_TENSORS_H

#include "manifests/fields.h"

// Lists `inputs` and `outputs` of struct manifest, by the field's key.
enum status field_tensors(const struct fields *fields, const struct field *field, const struct document_node *node,
                          void *target);

#endif
