// SPDX-License-Identifier: Apache-2.0
// openvino.so: a collector for ITT that knows two things only, the nodes that OpenVINO executes and, at library level, oneDNN's
// primitives in them; the predictor points INTEL_LIBITTNOTIFY64 to it. Each module with ITT inside (OpenVINO's, TBB's) opens it
// at its first call and hands over its table of functions. Other events cost a comparison; nodes become layer spans on the
// thread that executes them. guest/tracers/itt is the collector for everything that ITT says.
//
// A guest: names are kept when they are made, before anything runs; a task's begin and end take no lock and no memory.
#include "frameworks/openvino/hooks.h"

#include "base/hash.h"
#include "tracers/itt/abi.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TRACER "openvino"
#define NAMES_MOST (1u << 16) // power of two; half of it is used
#define DEPTH_MOST 16u        // nodes that run graphs, nested
#define PRIMITIVE_DOMAIN "dnnl::primitive::execute"

XSP_API void __itt_api_init(struct itt_global *global, int groups);
XSP_API void __itt_api_fini(struct itt_global *global);

// ---- names: one entry a text, kept for the process's life --------------------------------------------------------------

struct name {
  struct itt_string string; // what the module sees; first
  uint64_t hash;
  struct xsp_site *site; // atomic; NULL: not described and not executed yet
  struct xsp_site *call; // atomic; of the primitive that computes it; NULL: not known
  char text[];
};
static struct name *names[NAMES_MOST]; // atomic, from NULL once
static uint32_t name_count;            // atomic

static struct name *name_find(const char *text, size_t length, uint64_t hash, uint32_t *ret_slot)
{
  for (uint32_t i = 0; i < NAMES_MOST; i++) {
    uint32_t slot = (uint32_t)(hash + i) & (NAMES_MOST - 1);
    struct name *name = __atomic_load_n(&names[slot], __ATOMIC_ACQUIRE);
    *ret_slot = slot;
    if (name == NULL || (name->hash == hash && strlen(name->text) == length && memcmp(name->text, text, length) == 0))
      return name;
  }
  return NULL;
}

// NULL: no room.
static struct name *name_get(const char *text)
{
  size_t length = strlen(text);
  uint64_t hash = hash_text(text, length, 1);
  uint32_t slot = 0;
  struct name *known = name_find(text, length, hash, &slot);
  if (known != NULL || __atomic_load_n(&name_count, __ATOMIC_RELAXED) >= NAMES_MOST / 2)
    return known;
  struct name *fresh = calloc(1, sizeof *fresh + length + 1);
  if (fresh == NULL)
    return NULL;
  fresh->hash = hash;
  memcpy(fresh->text, text, length);
  fresh->string.text = fresh->text;
  for (;;) { // another thread may take the slot: perhaps for the same text
    struct name *none = NULL;
    if (__atomic_compare_exchange_n(&names[slot], &none, fresh, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
      __atomic_add_fetch(&name_count, 1, __ATOMIC_RELAXED);
      return fresh;
    }
    known = name_find(text, length, hash, &slot);
    if (known != NULL) {
      free(fresh);
      return known;
    }
  }
}

// A string that a static part made before it knew us is not in the table; its extra2 is ours.
static struct name *name_of(struct itt_string *string)
{
  if (string == NULL || string->text == NULL)
    return NULL;
  struct name *name = __atomic_load_n(&string->extra2, __ATOMIC_ACQUIRE);
  if (name == NULL && (name = name_get(string->text)) != NULL)
    __atomic_store_n(&string->extra2, name, __ATOMIC_RELEASE);
  return name;
}

// ---- what the predictor asks ------------------------------------------------------------------------------------------

static uint64_t own_total, node_total;           // atomic
static _Alignas(8) struct xsp_context the_model; // atomic: nodes on other threads take it
static const void *the_thread;                   // atomic: that begins inferences

// Of this thread: the nodes that are open, an inner one inside of one that runs a graph.
static __thread struct {
  uint32_t depth;
  struct xsp_span spans[DEPTH_MOST];
  struct xsp_site *calls[DEPTH_MOST]; // of the primitive in each; NULL: unknown, or a primitive itself
} open_nodes __attribute__((tls_model("initial-exec")));

static const char *primitive_of(const struct layer_report *layer)
{
  for (size_t i = 0; layer->tags != NULL && i < layer->tags->count; i++)
    if (strcmp(layer->tags->items[i].key, "primitive") == 0)
      return layer->tags->items[i].text;
  return NULL;
}

static void describe(const struct layer_report *layers, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    struct name *name = name_get(layers[i].name);
    // A name belongs to several nodes where a model was compiled again: other tags, another site.
    uint32_t variant = (uint32_t)framework_layer_hash(&layers[i], 1) | 1;
    struct xsp_site *site =
        name == NULL ? NULL : xsp_site_create_variant(TRACER, XSP_LEVEL_LAYER, layers[i].name, NULL, variant);
    if (site == NULL)
      continue;
    framework_layer_tag_site(&layers[i], site);
    const char *primitive = primitive_of(&layers[i]);
    struct xsp_site *call = primitive == NULL ? NULL : xsp_site_create(TRACER, XSP_LEVEL_LIBRARY, primitive, NULL);
    __atomic_store_n(&name->call, call, __ATOMIC_RELEASE);
    __atomic_store_n(&name->site, site, __ATOMIC_RELEASE);
  }
}

static void begin(struct xsp_context model)
{
  __atomic_store(&the_model, &model, __ATOMIC_RELEASE); // eight bytes, aligned
  __atomic_store_n(&the_thread, (const void *)&open_nodes, __ATOMIC_RELEASE);
}

static void end(void)
{
  __atomic_store_n(&the_thread, NULL, __ATOMIC_RELEASE);
}

static uint64_t own_ticks(void)
{
  return __atomic_load_n(&own_total, __ATOMIC_RELAXED);
}

static uint64_t node_count(void)
{
  return __atomic_load_n(&node_total, __ATOMIC_RELAXED);
}

const struct openvino_listener *xsp_openvino_listener(void)
{
  static const struct openvino_listener listener = {sizeof listener, describe, begin, end, own_ticks, node_count};
  return &listener;
}

// ---- ITT's functions --------------------------------------------------------------------------------------------------

static struct itt_domain node_domain = {.flags = 1, .name = OPENVINO_NODE_DOMAIN};
static struct itt_domain primitive_domain = {.name = PRIMITIVE_DOMAIN};   // flags: atomic; see __itt_api_init
static struct itt_domain other_domain = {.flags = 0, .name = "(others)"}; // the module skips calls in it

static struct itt_domain *domain_create(const char *text)
{
  if (text != NULL && strcmp(text, PRIMITIVE_DOMAIN) == 0)
    return &primitive_domain;
  return text != NULL && strcmp(text, OPENVINO_NODE_DOMAIN) == 0 ? &node_domain : &other_domain;
}

static struct itt_string *string_handle_create(const char *text)
{
  int saved_errno = errno;
  struct name *name = text == NULL ? NULL : name_get(text);
  if (name != NULL)
    __atomic_store_n(&name->string.extra2, name, __ATOMIC_RELEASE);
  errno = saved_errno;
  return name == NULL ? NULL : &name->string;
}

// Made before we came: by its name, once.
static bool is_domain(const struct itt_domain *domain, const struct itt_domain *wanted)
{
  if (domain == wanted)
    return true;
  return domain != NULL && domain != &other_domain && domain->name != NULL && strcmp(domain->name, wanted->name) == 0;
}

static bool is_recorded(const struct itt_domain *domain)
{
  return is_domain(domain, &node_domain) ||
         (__atomic_load_n(&primitive_domain.flags, __ATOMIC_RELAXED) != 0 && is_domain(domain, &primitive_domain));
}

static struct xsp_site *site_of(struct itt_string *string)
{
  struct name *name = name_of(string);
  if (name == NULL)
    return xsp_site_create(TRACER, XSP_LEVEL_LAYER, "(further layers)", NULL);
  struct xsp_site *site = __atomic_load_n(&name->site, __ATOMIC_ACQUIRE);
  if (site != NULL)
    return site;
  // Executed and not listed among the model's nodes: its name is all that is known.
  site = xsp_site_create(TRACER, XSP_LEVEL_LAYER, name->text, NULL);
  if (site != NULL)
    __atomic_store_n(&name->site, site, __ATOMIC_RELEASE);
  return site;
}

// A node's primitive has the name that OpenVINO lists: for pooling, products and softmax its oneDNN announces the kind of another one
// (2026.4.1). Threads that compute a part of it announce it, too: these have no node open.
static struct xsp_site *primitive_site(uint32_t depth)
{
  return depth > 0 ? open_nodes.calls[depth - 1] : NULL;
}

static void task_begin(const struct itt_domain *domain, struct itt_id id, struct itt_id parent,
                       struct itt_string *string)
{
  if (!is_recorded(domain))
    return;
  uint64_t entered = xsp_clock_ticks();
  bool is_node = is_domain(domain, &node_domain);
  __atomic_add_fetch(&node_total, is_node, __ATOMIC_RELAXED);
  uint32_t depth = open_nodes.depth++;
  if (depth >= DEPTH_MOST)
    return;
  const void *thread = __atomic_load_n(&the_thread, __ATOMIC_ACQUIRE);
  struct xsp_span span = {0, 0, 0};
  const struct name *name = is_node ? name_of(string) : NULL;
  struct xsp_site *site = thread == NULL ? NULL : is_node ? site_of(string) : primitive_site(depth);
  open_nodes.calls[depth] = name != NULL ? __atomic_load_n(&name->call, __ATOMIC_ACQUIRE) : NULL;
  if (site != NULL)
    span = xsp_span_start(site);
  if (is_node && thread != NULL && thread != &open_nodes && depth == 0) {
    struct xsp_context model;
    __atomic_load(&the_model, &model, __ATOMIC_ACQUIRE);
    xsp_span_set_parent(&span, model);
  }
  open_nodes.spans[depth] = span;
  if (span.start != 0)
    __atomic_fetch_add(&own_total, span.start - entered, __ATOMIC_RELAXED);
}

static void task_end(const struct itt_domain *domain)
{
  if (!is_recorded(domain) || open_nodes.depth == 0)
    return;
  uint32_t depth = --open_nodes.depth;
  if (depth >= DEPTH_MOST)
    return;
  uint64_t entered = xsp_clock_ticks();
  xsp_span_finish(&open_nodes.spans[depth]);
  __atomic_fetch_add(&own_total, xsp_clock_ticks() - entered, __ATOMIC_RELAXED);
}

static void *function_of(const char *name)
{
  static const struct {
    const char *name;
    void *function;
  } functions[] = {{"__itt_domain_create", (void *)(uintptr_t)domain_create},
                   {"__itt_string_handle_create", (void *)(uintptr_t)string_handle_create},
                   {"__itt_task_begin", (void *)(uintptr_t)task_begin},
                   {"__itt_task_end", (void *)(uintptr_t)task_end}};
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
    if (strcmp(functions[i].name, name) == 0)
      return functions[i].function;
  return NULL;
}

#define SLOTS_MOST 4096u

// Without a session the module works as it does without a collector.
void __itt_api_init(struct itt_global *global, int groups)
{
  int saved_errno = errno;
  bool is_ours = global != NULL && memcmp(global->magic, ITT_MAGIC, sizeof global->magic) == 0 && global->major == 3 &&
                 global->build >= ITT_BUILD_OLDEST;
  bool is_recording = is_ours && xsp_attach(NULL) == 0;
  // All modules share it: one that is not recorded leaves it on, so that what has begun also ends.
  if (is_recording && (xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_LIBRARY)) != 0)
    __atomic_store_n(&primitive_domain.flags, 1, __ATOMIC_RELAXED);
  struct itt_slot *slot = is_ours ? global->slots : NULL;
  for (size_t i = 0; slot != NULL && i < SLOTS_MOST && slot->name != NULL; i++, slot++) {
    void *function = is_recording ? function_of(slot->name) : NULL;
    if (slot->function != NULL) // the module's threads may be reading it
      __atomic_store_n(slot->function, function != NULL ? function : slot->absent, __ATOMIC_RELEASE);
  }
  errno = saved_errno;
}

// The module empties its table itself. Its handles may go with it, ours stay.
void __itt_api_fini(struct itt_global *global)
{
}
