// SPDX-License-Identifier: Apache-2.0
// Looks up what hlo.c read: modules by name and program, their operations by name, which operations run others. Called in the
// second and third pass.
#include "importers/xplane/xplane.h"

#include "base/sorted.h"

#include <stdlib.h>

// Modules run one operation after the other: the last module of a name is mostly the next one's.
const struct xplane_instruction *xplane_instruction_find(struct xplane *x, const struct xplane_run *run,
                                                         uint32_t operation)
{
  if (run->module == 0)
    return NULL;
  if (operation < x->known.count && x->known.items[operation].a == run->module)
    return &x->instructions.items[x->known.items[operation].b];
  const uint64_t *place = map_find(&x->instruction_at, (struct map_key){run->module, operation});
  if (place == NULL)
    return NULL;
  while (x->known.count <= operation)
    (void)vector_add(&x->known);
  x->known.items[operation] = (struct map_key){run->module, *place - 1};
  return &x->instructions.items[*place - 1];
}

// ---- names of loops, branches and calls ------------------------------------------------------------------------------

SORTED_BY(compare_names, uint32_t, ORDER(*a, *b))

ROWS_SORTED_BY(compare_modules, uint32_t, struct xplane_module,
               ORDER(of[a].name, of[b].name) ?: ORDER(of[a].program_id, of[b].program_id))

size_t xplane_modules_named(const struct xplane *x, uint32_t name)
{
  return PARTITION_POINT(i, 0, x->module_order.count, x->modules.items[x->module_order.items[i]].name < name);
}

// What comes from JAX's cache of compiled modules runs under the number that it had in the process which compiled it, and is
// described under another one. Then the only module of that name is meant.
const struct xplane_module *xplane_module_find(const struct xplane *x, uint32_t name, int64_t program_id)
{
  const uint64_t *place = map_find(&x->module_at, (struct map_key){(uint64_t)name + 1, (uint64_t)program_id});
  if (place != NULL)
    return &x->modules.items[*place - 1];
  size_t first = xplane_modules_named(x, name), end = xplane_modules_named(x, name + 1);
  return end - first == 1 ? &x->modules.items[x->module_order.items[first]] : NULL;
}

void xplane_modules_end(struct xplane *x)
{
  for (size_t i = 0; i < x->modules.count; i++)
    *vector_add(&x->module_order) = (uint32_t)i;
  if (x->modules.count > 0)
    qsort_r(x->module_order.items, x->modules.count, sizeof *x->module_order.items, compare_modules, x->modules.items);

  vector_sort(&x->control_names, compare_names);
}

bool xplane_is_control(const struct xplane *x, uint32_t operation)
{
  return sorted_find(&operation, x->control_names.items, x->control_names.count, sizeof *x->control_names.items,
                     compare_names) != NULL;
}
