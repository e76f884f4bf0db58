// SPDX-License-Identifier: Apache-2.0
// Call paths of executions: sources record paths on the host, what runs on a device is known by its launch and its parent.
// Called by stored.c once parents are known; runs without call paths cost a look at the parts' extremes.
#include "correlate/execution_contexts.h"

#include "base/vector.h"
#include "correlate/rows.h"

#include <string.h>
#include <xsp/call_path.h>

static uint32_t context_of(struct store *store, uint32_t caller, uint32_t name)
{
  const struct store_frame frame = {.kind = XSP_FRAME_DEVICE, .name = store_text(store, name, NULL)};
  uint32_t frame_id = name == 0 ? 0 : store_frame_id(store, &frame);
  return frame_id == 0 ? 0 : store_context_id(store, caller, frame_id);
}

// ---- samples of instructions -----------------------------------------------------------------------------------------
struct joining {
  struct store *store;
  struct store_call_paths paths;
  struct map of_kernel; // the only call path of a kernel's executions by name; 0: they have several, or none
  struct map joined;    // paths of samples
  VECTOR(int64_t) frames;
};

static void note_execution(struct joining *joining, uint32_t name, uint32_t context)
{
  bool is_new;
  uint64_t *only = map_at(&joining->of_kernel, map_number(name), &is_new);
  *only = is_new || *only == context ? context : 0;
}

// The path `id` below the call path of its kernel's executions; `id` itself where they have no such path.
static uint32_t join(struct joining *joining, uint32_t id)
{
  const struct store_call_paths *paths = &joining->paths;
  joining->frames.count = 0;
  for (int64_t at = id; at != 0; at = paths->contexts[at - 1].parent_id)
    *vector_add(&joining->frames) = paths->contexts[at - 1].frame_id;
  int64_t outermost = joining->frames.items[joining->frames.count - 1];
  const struct store_frame *kernel = &paths->frames[outermost - 1];
  uint32_t name;
  if (kernel->kind != XSP_FRAME_DEVICE || kernel->name == NULL ||
      !store_find_string(joining->store, kernel->name, strlen(kernel->name), &name))
    return id;
  const uint64_t *only = map_find(&joining->of_kernel, map_number(name));
  if (only == NULL || *only == 0)
    return id;
  uint32_t joined = (uint32_t)*only;
  size_t left = joining->frames.count - (paths->contexts[joined - 1].frame_id == outermost);
  while (left > 0 && joined != 0)
    joined = store_context_id(joining->store, joined, (uint32_t)joining->frames.items[--left]);
  return joined != 0 ? joined : id;
}

static enum status join_samples(struct store *store, const struct store_spans *spans, const struct store_spans *loaded,
                                uint32_t samples, struct error *err)
{
  struct joining joining = {.store = store};
  struct arena arena SCOPED(arena_done) = {0};
  for (size_t i = 0; i < spans->count; i++)
    if (spans->kind[i] == XSP_KIND_EXECUTION)
      note_execution(&joining, loaded->name[i], loaded->context_id[i]);
  enum status status = store_call_paths(store, &arena, &joining.paths, err);
  for (size_t i = 0; i < spans->count && status == STATUS_OK; i++) {
    bool is_new;
    if (loaded->category[i] != samples || loaded->context_id[i] == 0)
      continue;
    uint64_t *joined = map_at(&joining.joined, map_number(loaded->context_id[i]), &is_new);
    if (is_new)
      *joined = join(&joining, loaded->context_id[i]);
    loaded->context_id[i] = (uint32_t)*joined;
  }
  map_done(&joining.of_kernel);
  map_done(&joining.joined);
  vector_done(&joining.frames);
  return status;
}

// ---- executions ------------------------------------------------------------------------------------------------------
// The path `id` of a call without the call itself, which is called `name`.
static uint32_t caller_of(struct store *store, const struct store_call_paths *paths, uint32_t id, uint32_t name)
{
  const struct store_context *own = &paths->contexts[id - 1];
  const char *frame = paths->frames[own->frame_id - 1].name;
  return frame != NULL && strcmp(frame, store_text(store, name, NULL)) == 0 ? (uint32_t)own->parent_id : id;
}

static enum status call_executions(struct store *store, const struct store_spans *spans, struct parents *parents,
                                   const struct store_spans *loaded, bool *ret_has_any, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct map known SCOPED(map_done) = {0}; // by the caller's path and the name
  struct store_call_paths paths;
  uint32_t *contexts = loaded->context_id;
  XSP_TRY(store_call_paths(store, &arena, &paths, err));
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->kind[i] != XSP_KIND_EXECUTION || contexts[i] != 0)
      continue;
    uint32_t launch = launches_of(&parents->launches, spans, (uint32_t)i), parent = parents->row[i], caller = 0;
    if (launch < spans->count && contexts[launch] != 0 && spans->kind[launch] != XSP_KIND_EXECUTION)
      caller = caller_of(store, &paths, contexts[launch], loaded->name[launch]);
    if (caller == 0 && parent != ROW_NONE)
      caller = contexts[parent];
    if (caller == 0)
      continue;
    bool is_new;
    uint64_t *context = map_at(&known, (struct map_key){caller, loaded->name[i]}, &is_new);
    if (is_new)
      *context = context_of(store, caller, loaded->name[i]);
    contexts[i] = (uint32_t)*context;
    *ret_has_any = true;
  }
  return STATUS_OK;
}

enum status execution_contexts_put(struct store *store, int64_t run_id, const struct store_spans *spans,
                                   struct parents *parents, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_spans loaded;
  uint32_t samples;
  bool has_samples = store_find_string(store, "samples", 7, &samples), has_any = has_samples;
  uint32_t mask = STORE_BIT(STORE_CONTEXT_ID) | STORE_LEAN;
  XSP_TRY(store_load_spans(store, run_id, mask, &arena, &loaded, err));
  uint32_t *contexts = loaded.context_id;
  if (contexts != NULL)
    XSP_TRY(store_load_spans(store, run_id, STORE_BIT(STORE_NAME) | (has_samples ? STORE_BIT(STORE_CATEGORY) : 0),
                             &arena, &loaded, err));
  loaded.context_id = contexts;
  if (contexts != NULL)
    XSP_TRY(call_executions(store, spans, parents, &loaded, &has_any, err));
  if (contexts != NULL && has_samples)
    XSP_TRY(join_samples(store, spans, &loaded, samples, err));
  if (contexts != NULL && has_any)
    XSP_TRY(store_put_contexts(store, run_id, contexts, spans->count, err));
  return STATUS_OK;
}
