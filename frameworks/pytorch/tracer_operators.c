// SPDX-License-Identifier: Apache-2.0
// Operators as layers: PyTorch calls these functions at the start and end of each, on the thread that runs it, mostly
// without Python's lock. They take no lock and allocate only when a thread runs its first operator.
#include "base/hash.h"
#include "frameworks/common/sites.h"
#include "frameworks/pytorch/tracer.h"

#include <stdlib.h>
#include <string.h>

// at::RecordScope
enum scope { SCOPE_FUNCTION = 0, SCOPE_BACKWARD = 1, SCOPE_USER = 7, SCOPES = 10 };

#define DEPTH_MAXIMUM 64u // of nested operators; deeper ones are not recorded
#define SLOTS 65536u

struct open_operator {
  const void *record; // the at::RecordFunction
  struct xsp_span span;
};
struct thread {
  uint32_t depth;
  struct open_operator open[DEPTH_MAXIMUM];
};

static const struct pytorch_functions *torch;
static __thread struct thread *own_thread; // NULL: none yet
static struct site_slot slots[SLOTS];
static struct site_table sites = {.slots = slots, .slot_count = SLOTS};

static struct thread *thread_get(void)
{
  if (own_thread == NULL)
    own_thread = calloc(1, sizeof *own_thread);
  return own_thread;
}

// ---- sites -----------------------------------------------------------------------------------------------------------

static struct xsp_site *make_site(const char *name, const char *category, uint64_t key)
{
  struct xsp_site *site = xsp_site_create_variant("pytorch", XSP_LEVEL_LAYER, name, category, (uint32_t)key);
  if (site != NULL)
    xsp_site_tag_string(site, "layer_type", name);
  return site;
}

static struct xsp_site *site_of(const char *name, enum scope scope)
{
  uint64_t key = hash_text(name, strlen(name), (uint64_t)scope) | 1;
  struct xsp_site *site = sites_find(&sites, key);
  if (site == NULL && sites_have_room(&sites) &&
      (site = make_site(name, scope == SCOPE_BACKWARD ? "backward" : NULL, key)) != NULL)
    site = sites_add(&sites, key, site);
  return site;
}

// ---- PyTorch's calls -------------------------------------------------------------------------------------------------

static void begin(const void *record, enum scope scope)
{
  struct thread *thread = thread_get();
  if (thread == NULL || thread->depth >= DEPTH_MAXIMUM)
    return;
  struct open_operator *operator= & thread->open[thread->depth++];
  operator->record = record;
  operator->span = xsp_span_start(site_of(torch->name(record), scope));
  int64_t sequence = layout_sequence(record, scope == SCOPE_BACKWARD);
  if (sequence >= 0)
    xsp_span_tag_int(&operator->span, "sequence", sequence);
}

// An operator that ends on another thread, or was too deep, is not listed here. Above one that is, such ones are stale.
static void end(const void *record)
{
  struct thread *thread = own_thread;
  uint32_t depth = thread != NULL ? thread->depth : 0;
  while (depth > 0 && thread->open[depth - 1].record != record)
    depth--;
  if (depth == 0)
    return;
  thread->depth = depth - 1;
  xsp_span_finish(&thread->open[depth - 1].span);
}

// The result is a std::unique_ptr: empty, in memory of the caller.
#if defined(__aarch64__) // whose address is in x8, which C cannot read
#define EXPORT_START(scope_name)                                                                                       \
  __attribute__((used)) static void begin_##scope_name(const void *record);                                            \
  void start_##scope_name(void);                                                                                       \
  __asm__(".text\n.type start_" #scope_name ", %function\nstart_" #scope_name ":\n"                                    \
          "  str xzr, [x8]\n  b begin_" #scope_name "\n");                                                             \
  static void begin_##scope_name(const void *record)                                                                   \
  {                                                                                                                    \
    begin(record, scope_name);                                                                                         \
  }
#else
#define EXPORT_START(scope_name)                                                                                       \
  static void *start_##scope_name(void **result, const void *record)                                                   \
  {                                                                                                                    \
    *result = NULL;                                                                                                    \
    begin(record, scope_name);                                                                                         \
    return result;                                                                                                     \
  }
#endif
EXPORT_START(SCOPE_FUNCTION)
EXPORT_START(SCOPE_BACKWARD)

static void ended(const void *record, void *context)
{
  end(record);
}

static void add(enum scope scope, void *start)
{
  struct pytorch_callback callback = {.start = start, .end = (void *)ended, .probability = 1.0};
  callback.scopes[scope] = true;
  (void)torch->add_callback(callback);
}

void operators_start(const struct pytorch_functions *functions)
{
  torch = functions;
  if ((xsp_session_levels() & XSP_LEVEL_MASK(XSP_LEVEL_LAYER)) == 0)
    return;
  layout_find(functions);
  add(SCOPE_FUNCTION, (void *)start_SCOPE_FUNCTION);
  add(SCOPE_BACKWARD, (void *)start_SCOPE_BACKWARD);
}
