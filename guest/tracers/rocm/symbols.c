// SPDX-License-Identifier: Apache-2.0
// Called while code is loaded. What is noted stays: a kernel's execution may be published after its code was unloaded.
#include "tracers/rocm/symbols.h"

#include "tracers/annotations/guest_table.h"

#include <stdlib.h>
#include <string.h>

static struct guest_map symbols = {.capacity = UINT32_C(1) << 20}; // by kernel id, which no second kernel gets

void rocm_symbols_note(const struct rocm_event *event, void *user_data, void *rocm)
{
  const struct rocm_event_end *end = rocm_event_end(rocm, event);
  const struct rocm_symbol *symbol = end->payload;
  if (end->operation != ROCM_CODE_KERNEL || end->phase != ROCM_PHASE_LOAD || symbol == NULL ||
      symbol->size < sizeof *symbol || symbol->name == NULL)
    return;
  size_t length = strlen(symbol->name);
  if (length >= 3 && strcmp(symbol->name + length - 3, ".kd") == 0)
    length -= 3;
  struct rocm_kernel_symbol *kept = malloc(sizeof *kept + length + 1);
  if (kept == NULL)
    return;
  kept->vector_registers = symbol->vector_registers + symbol->accumulation_registers;
  kept->scalar_registers = symbol->scalar_registers;
  memcpy(kept->name, symbol->name, length);
  kept->name[length] = '\0';
  if (!guest_map_put(&symbols, (const void *)(uintptr_t)symbol->kernel_id, kept))
    free(kept);
}

const struct rocm_kernel_symbol *rocm_symbol_of(uint64_t kernel_id)
{
  return guest_map_get(&symbols, (const void *)(uintptr_t)kernel_id);
}
