// SPDX-License-Identifier: Apache-2.0
// Lists agents. Called by dispatch.c and by the verb `agent --list`.
#include "agent/registry.h"

#include "agent/registration.h"

#include <string.h>

enum status registry_agents(struct etcd *etcd, message_fn message, struct arena *arena, struct agent_list *ret_agents,
                            struct error *err)
{
  struct etcd_entries entries;
  *ret_agents = (struct agent_list){0};
  XSP_TRY(etcd_list(etcd, REGISTRY_PREFIX, arena, &entries, err));
  ret_agents->items = arena_alloc_array(arena, entries.count + 1, sizeof *ret_agents->items);
  for (size_t i = 0; i < entries.count; i++) {
    struct agent_record *record = &ret_agents->items[ret_agents->count];
    const struct slice key = entries.items[i].key;
    bool is_record = agent_record_read(entries.items[i].value, arena, record) && key.length > strlen(REGISTRY_PREFIX) &&
                     slice_is(slice_after(key, strlen(REGISTRY_PREFIX)), record->name);
    if (is_record)
      ret_agents->count++;
    else if (message != NULL)
      message("xsp: %.*s in the registry is not an agent's record; it is left out", (int)key.length, key.data);
  }
  return STATUS_OK;
}
