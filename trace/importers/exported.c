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
                                       .basis = import_word(import, "basis"),
                                       .span = import_word(import, "xsp.span_id"),
                                       .parent = import_word(import, "xsp.parent_id"),
                                       .step = import_word(import, "xsp.step")};
}

static uint64_t *find_id(struct import_exported *keys, int64_t number)
{
  uint64_t *id = map_at(&keys->ids, map_number((uint64_t)number), NULL);
  if (*id == 0)
    *id = (uint64_t)++keys->last_span_id << 1;
  return id;
}

int64_t import_exported_id(struct import_exported *keys, int64_t number)
{
  uint64_t *id = number > 0 ? find_id(keys, number) : NULL;
  if (id == NULL || (*id & 1) != 0) // no file of ours has a number twice
    return ++keys->last_span_id;
  *id |= 1;
  uint64_t *missing = map_find(&keys->missing, map_number(*id >> 1));
  if (missing != NULL)
    *missing = 0;
  return (int64_t)(*id >> 1);
}

static int64_t name_parent(struct import_exported *keys, int64_t number)
{
  uint64_t id = *find_id(keys, number);
  if ((id & 1) == 0)
    *map_at(&keys->missing, map_number(id >> 1), NULL) = 1;
  return (int64_t)(id >> 1);
}

static bool is_missing(const struct import_exported *keys, int64_t parent_id)
{
  const uint64_t *missing = parent_id != 0 ? map_find(&keys->missing, map_number((uint64_t)parent_id)) : NULL;
  return missing != NULL && *missing != 0;
}

void import_exported_put(struct import_exported *keys, const struct store_span *span)
{
  if (keys->held_from == keys->held.count)
    keys->held_from = keys->held.count = 0;
  *vector_add(&keys->held) = *span;
}

bool import_exported_next(struct import_exported *keys, bool is_end, struct store_span *ret_span)
{
  if (keys->held_from == keys->held.count)
    return false;
  *ret_span = keys->held.items[keys->held_from];
  if (is_missing(keys, ret_span->recorded_parent_id)) {
    if (!is_end)
      return false;
    ret_span->recorded_parent_id = 0;
    ret_span->flags &= (uint8_t)(STORE_FLAG_BASIS(0) - 1);
  }
  keys->held_from++;
  return true;
}

void import_exported_done(struct import_exported *keys)
{
  map_done(&keys->ids);
  map_done(&keys->missing);
  vector_done(&keys->held);
}

bool import_exported_take(const struct import *import, struct import_exported *keys, bool is_first,
                          const struct store_tag *tag, struct store_span *span)
{
  size_t length;
  unsigned kind, basis;
  const char *text = tag->type == STORE_TEXT ? import_text(import, tag->value.string, &length) : NULL;
  if (tag->key == keys->kind && text != NULL && kind_from_name(text, length, &kind))
    span->kind = (uint8_t)kind;
  else if (tag->key == keys->correlation && tag->type == STORE_INT && tag->value.integer > 0)
    span->correlation_id = tag->value.integer;
  else if (tag->key == keys->tracer && text != NULL)
    span->tracer = tag->value.string;
  else if (tag->key == keys->category && text != NULL)
    span->category = tag->value.string;
  else if (tag->key == keys->parent && tag->type == STORE_INT && tag->value.integer > 0)
    span->recorded_parent_id = name_parent(keys, tag->value.integer);
  else if (tag->key == keys->basis && text != NULL && basis_from_name(text, length, &basis) &&
           STORE_BASIS_OF_FLAGS(span->flags) < 0) // former exports have it alone where nesting gives the parent
    span->flags |= basis == BASIS_AMBIGUOUS && span->recorded_parent_id == 0 ? 0 : STORE_FLAG_BASIS(basis);
  else if (tag->key == keys->step)
    span->flags |= STORE_SPAN_STEP;
  else
    return (is_first && tag->key == keys->run) || tag->key == keys->span;
  return true;
}
