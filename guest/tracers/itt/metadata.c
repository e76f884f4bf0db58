// SPDX-License-Identifier: Apache-2.0
// Metadata values as tags: one value keeps its type, several become a text "[1,2,3]". Pure but for errno; called on
// memory of the traced program.
#include "tracers/annotations/value.h"
#include "tracers/itt/itt.h"

bool itt_metadata_read(struct annotation_tags *tags, const char *key, int type, size_t count, const void *data)
{
  static const struct annotation_value_type types[] = {
      [ITT_TYPE_U64] = {VALUE_UNSIGNED, 8}, [ITT_TYPE_S64] = {VALUE_SIGNED, 8},   [ITT_TYPE_U32] = {VALUE_UNSIGNED, 4},
      [ITT_TYPE_S32] = {VALUE_SIGNED, 4},   [ITT_TYPE_U16] = {VALUE_UNSIGNED, 2}, [ITT_TYPE_S16] = {VALUE_SIGNED, 2},
      [ITT_TYPE_FLOAT] = {VALUE_REAL, 4},   [ITT_TYPE_DOUBLE] = {VALUE_REAL, 8},
  };
  static const struct value_list_form form = {",", UINT64_MAX, 256};
  if (type <= ITT_TYPE_UNKNOWN || type > ITT_TYPE_DOUBLE || data == NULL)
    return false;
  if (count > 1) {
    annotation_value_list(types[type], count, data, &form, key, tags);
  } else if (count == 1) {
    struct annotation_value value;
    annotation_value_read(types[type], data, &value);
    annotation_value_tag(&value, key, tags);
  }
  return true;
}
