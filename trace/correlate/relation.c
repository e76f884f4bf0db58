// SPDX-License-Identifier: Apache-2.0
// From rows to the columns of the store. Called through correlate_spans and correlate_store.
#include "correlate/relation.h"

#include <string.h>

void relation_forget_tree(struct relation *relation)
{
  relation->nearest = NULL;
  relation->held = RELATION_HOLDS_NONE;
  relation->observation = NULL;
  relation->is_plane_free = relation->plane != NULL;
}

void relation_done(struct relation *relation)
{
  parents_done(&relation->parents);
  arena_done(&relation->tree_arena);
  arena_done(&relation->self_arena);
  vector_done(&relation->items);
  vector_done(&relation->wide);
  *relation = (struct relation){0};
}

// ---- parents that the source named ------------------------------------------------------------------------------------

bool relation_keep_named(struct relation *relation, struct arena *arena)
{
  const struct store_spans *spans = relation->spans;
  for (size_t i = 0; i < spans->count; i++)
    if (rows_recorded_parent(spans, i) != 0 && relation->parents.row[i] == ROW_NONE)
      return false;
  relation->is_named = arena_alloc_array(arena, spans->count / 8 + 1, 1);
  for (size_t i = 0; i < spans->count; i++)
    relation->is_named[i / 8] |= (uint8_t)((rows_recorded_parent(spans, i) != 0) << i % 8);
  return true;
}

// ---- parents that are not there --------------------------------------------------------------------------------------
static bool is_recorded(const struct relation *relation, uint32_t row) // with its basis
{
  return relation->parents.has_bases && STORE_BASIS_OF_FLAGS(relation->spans->flags[row]) >= 0;
}

// The parent that the source named for a row and that is not in this run; 0: none such.
static int64_t absent_parent(const struct relation *relation, uint32_t row)
{
  const struct parents *parents = &relation->parents;
  int64_t named = rows_recorded_parent(relation->spans, row);
  bool is_named = parents->basis[row] == BASIS_EXPLICIT;
  if (is_recorded(relation, row)) // with any basis; one that was lost to break a circle is present
    is_named = parents_row_of(parents, relation->spans, named) == ROW_NONE;
  return is_named && parents->row[row] == ROW_NONE ? named : 0;
}

// Parents that are named but absent stay named; an execution takes over its launch's.
static int64_t id_of_no_parent(struct relation *relation, uint32_t row)
{
  struct parents *parents = &relation->parents;
  uint32_t from = row;
  if (parents->basis[row] == BASIS_CORRELATION && !is_recorded(relation, row))
    from = launches_of(&parents->launches, relation->spans, row);
  return absent_parent(relation, from);
}

static void fill_parents(struct relation *relation, size_t first, size_t count, int64_t *ids)
{
  const struct parents *parents = &relation->parents;
  for (size_t i = 0; i < count; i++) {
    uint32_t parent = parents->row[first + i];
    if (parent != ROW_NONE)
      ids[i] = rows_id(relation->spans, parent);
    else
      ids[i] = parents->has_links ? id_of_no_parent(relation, (uint32_t)(first + i)) : 0;
  }
}

static void fill_ids(const struct relation *relation, const uint32_t *rows, size_t count, int64_t *ids)
{
  for (size_t i = 0; i < count; i++)
    ids[i] = rows[i] == ROW_NONE ? 0 : rows_id(relation->spans, rows[i]);
}

void relation_fill(void *context, enum store_column column, size_t first_row, size_t count, void *ret_values)
{
  struct relation *relation = context;
  int64_t *wide = ret_values;
  relation_hold(relation, column);
  switch (column) {
  case STORE_PARENT_ID:
    fill_parents(relation, first_row, count, wide);
    break;
  case STORE_MODEL_ID:
  case STORE_LAYER_ID:
    fill_ids(relation, relation->nearest + first_row, count, wide);
    break;
  case STORE_SELF_NS:
    for (size_t i = 0; i < count; i++)
      wide[i] = relation_self_of(relation, first_row + i);
    break;
  case STORE_OBSERVATION:
    for (size_t i = 0; i < count; i++)
      wide[i] = relation->observation[first_row + i];
    break;
  case STORE_DEPTH:
    memcpy(ret_values, relation->nearest + first_row, count * sizeof *relation->nearest);
    break;
  case STORE_DERIVED_KIND:
    launches_kinds(&relation->parents.launches, relation->spans, first_row, count, ret_values);
    break;
  default:
    memcpy(ret_values, relation->parents.basis + first_row, count);
  }
}
