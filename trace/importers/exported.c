// SPDX-License-Identifier: Apache-2.0
// Arguments of spans that xsp exported; see exported.h. Called by the importers of Perfetto's and Chrome's traces.
#include "importers/exported.h"

#include "format/level.h"

void import_exported_make(struct import *import, struct import_exported *ret_keys)
{
  *ret_keys = (struct import_exported){.kind = import_word(import, "kind"),
                                       .correlation = import_word(import, "correlation_id"),
                                       .tracer = import_word(import, "tracer"),
                                       .run = import_word(import, "run_id"),
                                       .basis = import_word(import, "basis")};
}

bool import_exported_take(const struct import *import, const struct import_exported *keys, bool is_first,
                          const struct store_tag *tag, struct store_span *span)
{
  size_t length;
  unsigned kind;
  const char *text = tag->type == STORE_TEXT ? import_text(import, tag->value.string, &length) : NULL;
  if (tag->key == keys->kind && text != NULL && kind_from_name(text, length, &kind))
    span->kind = (uint8_t)kind;
  else if (tag->key == keys->correlation && tag->type == STORE_INT && tag->value.integer > 0)
    span->correlation_id = tag->value.integer;
  else if (tag->key == keys->tracer && text != NULL)
    span->tracer = tag->value.string;
  else if (tag->key == keys->category && text != NULL)
    span->category = tag->value.string;
  else
    return (is_first && tag->key == keys->run) || tag->key == keys->basis;
  return true;
}
