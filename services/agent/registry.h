// SPDX-License-Identifier: Apache-2.0
// The agents that a registry has, for who looks for one.
#ifndef XSP_AGENT_REGISTRY_H
#define XSP_AGENT_REGISTRY_H

#include "agent/etcd.h"
#include "agent/record.h"
#include "base/message.h"

struct agent_list {
  struct agent_record *items; // by name
  size_t count;
};
// In `arena`. Records that are not an agent's are reported and left out. `message` may be NULL. STATUS_SYSTEM: the registry
// does not answer.
enum status registry_agents(struct etcd *etcd, message_fn message, struct arena *arena, struct agent_list *ret_agents,
                            struct error *err) MUST_CHECK;

#endif
