// SPDX-License-Identifier: Apache-2.0
// Call paths of executions: sources record paths on the host, what runs on a device is known by its parent. Called by
// stored.c once parents are known; runs without call paths cost a look at the parts' extremes.
#include "correlate/execution_contexts.h"

#include "correlate/rows.h"

#include <string.h>
#include <xsp/call_path.h>

static uint32_t context_of(struct store *store, uint32_t caller, uint32_t name)
{
  const struct store_frame frame = {.kind = XSP_FRAME_DEVICE, .name = store_text(store, name, NULL)};
  uint32_t frame_id = name == 0 ? 0 : store_frame_id(store, &frame);
  return frame_id == 0 ? 0 : store_context_id(store, caller, frame_id);
}

enum status execution_contexts_put(struct store *store, int64_t run_id, const struct store_spans *spans,
                                   const struct parents *parents, struct error *err)
{
  struct arena arena = {0};
  struct map known = {0}; // by the parent's path and the name
  struct store_spans loaded;
  bool has_any = false;
  uint32_t mask = STORE_BIT(STORE_CONTEXT_ID) | STORE_LEAN;
  enum status status = store_load_spans(store, run_id, mask, &arena, &loaded, err);
  uint32_t *contexts = loaded.context_id;
  if (status == STATUS_OK && contexts != NULL)
    status = store_load_spans(store, run_id, STORE_BIT(STORE_NAME), &arena, &loaded, err);
  for (size_t i = 0; status == STATUS_OK && contexts != NULL && i < spans->count; i++) {
    uint32_t parent = parents->row[i];
    if (spans->kind[i] != XSP_KIND_EXECUTION || contexts[i] != 0 || parent == ROW_NONE || contexts[parent] == 0)
      continue;
    bool is_new;
    uint64_t *context = map_at(&known, (struct map_key){contexts[parent], loaded.name[i]}, &is_new);
    if (is_new)
      *context = context_of(store, contexts[parent], loaded.name[i]);
    contexts[i] = (uint32_t)*context;
    has_any = true;
  }
  if (status == STATUS_OK && has_any)
    status = store_put_contexts(store, run_id, contexts, spans->count, err);
  map_done(&known);
  arena_done(&arena);
  return status;
}
