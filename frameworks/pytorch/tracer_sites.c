// SPDX-License-Identifier: Apache-2.0
// A site for each operator in each module and call path: what is the same for all calls of a line costs nothing per call.
// Open addressing; an entry is claimed by its key and stays. Called by tracer_operators.c for each operator.
#include "base/hash.h"
#include "frameworks/pytorch/tracer.h"

#include <string.h>
#include <xsp/call_path.h>

#define SLOTS 131072u // a power of two; pages without entries are never touched
#define PROBES 64u

static struct slot {
  uint64_t key;          // atomic; 0: free
  struct xsp_site *site; // atomic, written last; NULL: about to be written
  uint32_t path;
} slots[SLOTS];
static uint32_t used;    // atomic
static uint32_t variant; // atomic: sites with equal names are told apart by it

static struct operator_site make(const char *name, enum scope scope, const struct module_name *module, uint32_t caller)
{
  struct operator_site made = {
      .site = xsp_site_create_variant(TRACER, XSP_LEVEL_LAYER, name, scope == SCOPE_BACKWARD ? "backward" : NULL,
                                      __atomic_add_fetch(&variant, 1, __ATOMIC_RELAXED))};
  if (made.site == NULL)
    return made;
  const struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_FRAMEWORK, .name = name};
  made.path = xsp_call_path(caller, &frame);
  xsp_site_call_path(made.site, made.path);
  xsp_site_tag_string(made.site, "layer_type", name);
  if (module != NULL)
    xsp_site_tag_string(made.site, "module", module->text);
  return made;
}

struct operator_site site_of_operator(const char *name, enum scope scope, const struct module_name *module,
                                      uint32_t caller)
{
  uint64_t seed = hash_pair((module != NULL ? module->hash : 0) + (uint64_t)scope, caller, UINT64_C(0xb5297a4d3f84d5b5));
  uint64_t key = hash_text(name, strlen(name), seed) | 1;
  for (uint32_t i = 0; i < PROBES; i++) {
    struct slot *slot = &slots[(key / 2 + i) % SLOTS];
    uint64_t found = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
    if (found == 0 && (__atomic_load_n(&used, __ATOMIC_RELAXED) < SLOTS / 2 || (module == NULL && caller == 0))) {
      struct operator_site made = make(name, scope, module, caller);
      if (made.site == NULL || !__atomic_compare_exchange_n(&slot->key, &found, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made; // another thread has taken the slot
      slot->path = made.path;
      __atomic_store_n(&slot->site, made.site, __ATOMIC_RELEASE);
      __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
      return made;
    }
    if (found == 0)
      break;
    struct xsp_site *site = found == key ? __atomic_load_n(&slot->site, __ATOMIC_ACQUIRE) : NULL;
    if (site != NULL)
      return (struct operator_site){site, slot->path};
  }
  // Too many: the operator alone, without where it was called.
  return module != NULL || caller != 0 ? site_of_operator(name, scope, NULL, 0) : (struct operator_site){NULL, 0};
}
