// SPDX-License-Identifier: Apache-2.0
// A site for each operator in each module and call path: what is the same for all calls of a line costs nothing per call.
// A program repeats itself: a site is mostly followed by the one that followed it last time. Else it is found by its key.
// Called by tracer_operators.c for each operator.
#include "base/hash.h"
#include "format/range.h"
#include "frameworks/pytorch/tracer.h"
#include "tracers/frames/mode.h"

#include <string.h>
#include <xsp/call_path.h>

#define SITES 65536u
#define SITES_PLACED (SITES - SITES / 8) // the rest is for operators without a place
#define PLACES (2 * SITES)
#define PROBES 64u

static struct entry {                // a cache line
  _Alignas(64) struct xsp_site site; // a copy: a registered site may be copied
  uint64_t key;                      // atomic, written last; 0: about to be written
  uint32_t path;
  uint32_t next;                // atomic; the entry that followed last time
} entries[SITES];               // pages without entries are never touched
static uint32_t places[PLACES]; // atomic; by key: number of the entry + 1; 0: free
static uint32_t used;           // atomic; entries
_Static_assert(sizeof(struct entry) == 64, "one cache line");

static bool make(struct entry *entry, const char *name, enum scope scope, const struct operator_place *place,
                 const struct operator_shapes *shapes, uint32_t variant)
{
  const char *category = place->is_input                        ? "input"
                         : place->kernel != NULL                ? "fused"
                         : scope == SCOPE_BACKWARD              ? "backward"
                         : range_is_wrapper(name, strlen(name)) ? "wrapper"
                                                                : NULL;
  struct xsp_site *site = xsp_site_create_variant(TRACER, XSP_LEVEL_LAYER, name, category, variant);
  if (site == NULL)
    return false;
  if (call_paths_mode() != CALL_PATHS_NONE) {
    const struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_FRAMEWORK, .name = name};
    entry->path = xsp_call_path(place->caller, &frame);
    xsp_site_call_path(site, entry->path);
  }
  xsp_site_tag_string(site, "layer_type", name);
  if (place->module != NULL)
    xsp_site_tag_string(site, "module", place->module->text);
  if (place->forward_thread != 0)
    xsp_site_tag_int(site, "forward_thread", place->forward_thread);
  if (place->kernel != NULL)
    pytorch_fused_tag(site, place->kernel);
  if (shapes != NULL) {
    xsp_site_tag_string(site, "Input Dims", shapes->dims);
    xsp_site_tag_string(site, "Input Strides", shapes->strides);
    xsp_site_tag_string(site, "Input type", shapes->types);
    xsp_site_tag_string(site, "Concrete Inputs", shapes->values);
  }
  entry->site = *site;
  return true;
}

static struct entry *find(uint64_t key, uint32_t **ret_place)
{
  *ret_place = NULL;
  for (uint32_t i = 0; i < PROBES; i++) {
    uint32_t *place = &places[(key / 2 + i) % PLACES], number = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (number == 0) {
      *ret_place = place;
      return NULL;
    }
    if (__atomic_load_n(&entries[number - 1].key, __ATOMIC_ACQUIRE) == key)
      return &entries[number - 1];
  }
  return NULL;
}

// NULL: no room.
static struct entry *add(uint32_t *free_place, uint64_t key, const char *name, enum scope scope,
                         const struct operator_place *place, const struct operator_shapes *shapes, uint32_t most)
{
  uint32_t number = __atomic_load_n(&used, __ATOMIC_RELAXED);
  if (number >= most || (number = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED)) >= SITES)
    return NULL;
  struct entry *entry = &entries[number];
  if (!make(entry, name, scope, place, shapes, number + 1))
    return NULL;
  __atomic_store_n(&entry->key, key, __ATOMIC_RELEASE);
  uint32_t none = 0; // a thread that came first has the place: its entry is used from now on
  (void)__atomic_compare_exchange_n(free_place, &none, number + 1, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  return entry;
}

struct operator_site pytorch_site_of_operator(uint32_t *last, const char *name, enum scope scope,
                                              const struct operator_place *place, const struct operator_shapes *shapes)
{
  const struct operator_place nowhere = {.is_input = place->is_input};
  uint64_t where = (uint64_t)place->forward_thread << 32 | place->caller;
  uint64_t what = (uint64_t)place->is_input << 32;
  what += (place->module != NULL ? place->module->hash : 0) + (uintptr_t)place->kernel + (uint64_t)scope;
  uint64_t seed = hash_pair(what, where, UINT64_C(0xb5297a4d3f84d5b5));
  uint64_t key = hash_text(name, strlen(name), shapes != NULL ? hash_number(shapes->hash, seed) : seed) | 1;
  struct entry *entry = last != NULL ? &entries[__atomic_load_n(&entries[*last].next, __ATOMIC_RELAXED)] : NULL;
  if (entry == NULL || __atomic_load_n(&entry->key, __ATOMIC_ACQUIRE) != key) {
    uint32_t *free_place;
    bool is_bare = place->module == NULL && place->kernel == NULL && where == 0 && shapes == NULL;
    entry = find(key, &free_place);
    if (entry == NULL && free_place != NULL)
      entry = add(free_place, key, name, scope, place, shapes, is_bare ? SITES : SITES_PLACED);
    if (entry == NULL) // too many: the operator alone, without where it was called
      return is_bare ? (struct operator_site){0} : pytorch_site_of_operator(last, name, scope, &nowhere, NULL);
    if (last != NULL)
      __atomic_store_n(&entries[*last].next, (uint32_t)(entry - entries), __ATOMIC_RELAXED);
  }
  if (last != NULL)
    *last = (uint32_t)(entry - entries);
  return (struct operator_site){&entry->site, entry->path};
}
