// SPDX-License-Identifier: Apache-2.0
// Values of a manifest's document, checked: the format itself is a few tables over these (manifest.c). Every refusal names
// the line, the reason, and what to write instead.
#ifndef XSP_MANIFESTS_MANIFEST_PRIVATE_H
#define XSP_MANIFESTS_MANIFEST_PRIVATE_H

#include "manifests/document.h"
#include "manifests/manifest.h"

struct fields {
  struct manifest *manifest; // being filled
  struct arena *arena;
  struct error *err;
};

struct field;
typedef enum status field_read_fn(const struct fields *fields, const struct field *field,
                                  const struct document_node *node, void *target);
struct field { // a key of a map
  const char *key;
  bool is_required;
  field_read_fn *read;
  size_t offset;       // in the target, of what `read` fills
  const char *pattern; // field_word: what it must look like, as a regular expression of POSIX and of JSON schema
  const char *example; // a value that would do, for advice
};

// Reads each entry of the map by the table (ends with a NULL key): known keys only, and all that are required.
enum status fields_read(const struct fields *fields, const struct field *table, const struct document_node *map,
                        const char *what, void *target) MUST_CHECK;
__attribute__((format(printf, 4, 5))) enum status fields_wrong(const struct fields *fields,
                                                               const struct document_node *node, const char *advice,
                                                               const char *why_format, ...);
enum status fields_kind(const struct fields *fields, const struct field *field, const struct document_node *node,
                        enum document_kind kind) MUST_CHECK;
// For tables.
field_read_fn field_text, field_word;                            // const char * at the offset
field_read_fn field_plain;                                       // the same; also a number, as it is written
field_read_fn field_model;                                       // where struct manifest's model comes from (origin.c)
field_read_fn field_container, field_accuracy, field_attributes; // lists of struct manifest (extras.c)
field_read_fn field_permissions;                                 // viewers and users of struct manifest (extras.c)
field_read_fn field_code;        // const char * at the offset: a Python function (extras.c)
field_read_fn field_tensor_type; // enum tensor_type at the offset (tensors.c)
field_read_fn field_texts;       // struct manifest_texts at the offset: a list of texts, not empty
field_read_fn field_tensors;     // lists `inputs` and `outputs` of struct manifest, by the field's key (tensors.c)
// After all keys: types of inputs that have none (tensors.c).
enum status manifest_tensors_complete(const struct fields *fields) MUST_CHECK;
// A whole number in decimal; a number of any kind.
enum status fields_integer(const struct fields *fields, const struct document_node *node, const char *what,
                           int64_t least, int64_t most, int64_t *ret_value) MUST_CHECK;
enum status fields_number(const struct fields *fields, const struct document_node *node, const char *what,
                          double *ret_value) MUST_CHECK;
// The same within single precision.
enum status fields_float(const struct fields *fields, const struct document_node *node, const char *what,
                         float *ret_value) MUST_CHECK;
// An array with room for the node's entries, of which there are 1 to MANIFEST_LIST_MAXIMUM.
enum status fields_room(const struct fields *fields, const struct field *field, const struct document_node *node,
                        enum document_kind kind, size_t item_bytes, void **ret_items) MUST_CHECK;
// Index of the word; words ends with NULL.
enum status fields_choice(const struct fields *fields, const struct field *field, const struct document_node *node,
                          const char *const *words, size_t *ret_index) MUST_CHECK;

#endif
