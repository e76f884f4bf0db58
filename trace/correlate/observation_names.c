// SPDX-License-Identifier: Apache-2.0
// Whether a run's observations are of several names, which analyses must not pool: "forward" and "Optimizer.step". Called
// by stored.c. Names that differ by a number alone are one ("ProfilerStep#12"), and very many are none: each call has its own.
#include "correlate/observation_names.h"

#include "format/stems.h"

struct names {
  struct store *store;
  uint8_t *is_item; // a bit a row
  struct interner stems;
};

static enum status visit(void *context, size_t first_row, const struct store_spans *part,
                         const struct store_derived *derived, struct error *err)
{
  struct names *names = context;
  for (size_t i = 0; i < part->count && interner_count(&names->stems) <= STEMS_MOST; i++) {
    size_t row = first_row + i, length;
    if ((names->is_item[row / 8] >> row % 8 & 1) == 0)
      continue;
    const char *name = store_text(names->store, part->name[i], &length);
    (void)stems_at(&names->stems, name, length);
  }
  return STATUS_OK;
}

enum status observation_names_count(struct store *store, int64_t run_id, const struct relation *relation,
                                    const struct leaves *leaves, size_t *ret_count, struct error *err)
{
  *ret_count = 0;
  if (relation->items.count < 2)
    return STATUS_OK;
  struct arena arena SCOPED(arena_done) = {0};
  struct names names = {.store = store, .is_item = arena_alloc(&arena, relation->spans->count / 8 + 1)};
  for (size_t i = 0; i < relation->items.count; i++)
    names.is_item[relation->items.items[i] / 8] |= (uint8_t)(1u << relation->items.items[i] % 8);
  enum status status = leaves->has_any ? visit(&names, 0, &leaves->kept, NULL, err)
                                       : store_walk_spans(store, run_id, STORE_BIT(STORE_NAME), visit, &names, err);
  size_t count = interner_count(&names.stems);
  *ret_count = count > 1 && count <= STEMS_MOST ? count : 0;
  interner_done(&names.stems);
  return status;
}
