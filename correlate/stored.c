// SPDX-License-Identifier: Apache-2.0
// correlate_store and correlate_ensure: from a store's runs to the pure core and back into the store.
#include "correlate/correlate.h"

#include <string.h>

#define STEP_NAME "ProfilerStep#"
#define COLUMNS                                                                                                        \
  (STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_RECORDED_PARENT_ID) | STORE_BIT(STORE_START_NS) |                        \
   STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_CORRELATION_ID) | STORE_BIT(STORE_TRACK_ID) |                        \
   STORE_BIT(STORE_NAME) | STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_KIND) | STORE_KIND_AS_STORED |                     \
   STORE_BIT(STORE_FLAGS))

struct ids {
  int64_t *id;
  size_t count;
};

// Model-level spans named by a framework as its steps: "ProfilerStep#12".
static bool is_step_name(const char *name)
{
  size_t prefix = sizeof STEP_NAME - 1;
  return strncmp(name, STEP_NAME, prefix) == 0 && name[prefix] != 0 &&
         name[prefix + strspn(name + prefix, "0123456789")] == 0;
}

static bool find_steps(struct store *store, const struct store_spans *spans, struct arena *arena, struct ids *ret_steps)
{
  *ret_steps = (struct ids){0};
  for (int pass = 0; pass < 2; pass++) {
    size_t count = 0;
    for (size_t i = 0; i < spans->count; i++)
      if (spans->level[i] == XSP_LEVEL_MODEL && is_step_name(store_text(store, spans->name[i], NULL))) {
        if (pass == 1)
          ret_steps->id[count] = spans->span_id[i];
        count++;
      }
    ret_steps->count = count;
    if (pass == 0) {
      ret_steps->id = arena_alloc_array(arena, count + 1, sizeof *ret_steps->id);
      if (ret_steps->id == NULL)
        return false;
    }
  }
  return true;
}

static enum status find_warmups(struct store *store, int64_t run_id, struct arena *arena, struct ids *ret_warmups,
                                struct error *err)
{
  struct store_tag *tags;
  size_t count;
  uint32_t key;
  *ret_warmups = (struct ids){0};
  if (!store_find_string(store, "warmup", 6, &key))
    return STATUS_OK;
  XSP_TRY(store_load_tags_of(store, run_id, &key, 1, arena, &tags, &count, err));
  ret_warmups->id = arena_alloc_array(arena, count + 1, sizeof *ret_warmups->id);
  if (ret_warmups->id == NULL)
    return error_set(err, STATUS_MEMORY, "cannot relate spans", NULL, NULL, "out of memory");
  for (size_t i = 0; i < count; i++)
    if (tags[i].type == STORE_INT && tags[i].value.integer != 0)
      ret_warmups->id[ret_warmups->count++] = tags[i].span_id;
  return STATUS_OK;
}

static enum status correlate_run(struct store *store, int64_t run_id, bool is_overlay, struct arena *arena,
                                 struct error *err)
{
  struct store_spans spans;
  struct store_track *tracks;
  size_t track_count;
  struct ids steps;
  struct ids warmups;
  XSP_TRY(store_load_spans(store, run_id, COLUMNS, arena, &spans, err));
  XSP_TRY(store_tracks(store, run_id, arena, &tracks, &track_count, err));
  if (!find_steps(store, &spans, arena, &steps))
    return error_set(err, STATUS_MEMORY, "cannot relate spans", NULL, NULL, "out of memory");
  XSP_TRY(find_warmups(store, run_id, arena, &warmups, err));
  struct store_derived derived;
  struct store_observation *observations;
  size_t observation_count;
  struct correlate_counts counts;
  XSP_TRY(correlate_spans(&spans, tracks, track_count, warmups.id, warmups.count, steps.id, steps.count, arena,
                          &derived, &observations, &observation_count, &counts, err));
  if (is_overlay)
    return store_overlay_derived(store, run_id, &derived, observations, observation_count, err);
  return store_put_derived(store, run_id, &derived, observations, observation_count, err);
}

static enum status correlate_runs(struct store *store, bool is_overlay, struct error *err)
{
  struct arena arena = {0};
  struct store_run *runs;
  size_t count;
  enum status status = store_runs(store, &arena, &runs, &count, err);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    if (is_overlay && store_has_derived(store, runs[i].run_id))
      continue;
    struct arena run_arena = {0};
    status = correlate_run(store, runs[i].run_id, is_overlay, &run_arena, err);
    arena_done(&run_arena);
  }
  arena_done(&arena);
  return status;
}

enum status correlate_store(struct store *store, struct error *err)
{
  return correlate_runs(store, false, err);
}

enum status correlate_ensure(struct store *store, struct error *err)
{
  return correlate_runs(store, true, err);
}
