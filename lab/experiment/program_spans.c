// SPDX-License-Identifier: Apache-2.0
// Walks over the spans of an execution that was just drained, without holding a run in memory. Called by
// program_experiment.c.
#include "experiment/program_experiment_private.h"

#include "base/vector.h"

struct walk {
  int64_t program_id;
  struct run_spans found;
  uint32_t key; // of the tag
  VECTOR(struct store_tag) tags;
};

static enum status visit_levels(void *context, size_t first_row, const struct store_spans *spans,
                                const struct store_derived *derived, struct error *err)
{
  struct walk *walk = context;
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->span_id[i] != walk->program_id)
      walk->found.level_mask |= XSP_LEVEL_MASK(spans->level[i]);
    walk->found.has_steps |= (spans->flags[i] & STORE_SPAN_STEP) != 0;
  }
  return STATUS_OK;
}

enum status run_spans_look(struct store *store, int64_t run_id, int64_t program_id, struct run_spans *ret_spans,
                           struct error *err)
{
  struct walk walk = {.program_id = program_id};
  uint32_t columns = STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_FLAGS);
  XSP_TRY(store_walk_spans(store, run_id, columns, visit_levels, &walk, err));
  *ret_spans = walk.found;
  return STATUS_OK;
}

static enum status visit_warmups(void *context, size_t first_row, const struct store_spans *spans,
                                 const struct store_derived *derived, struct error *err)
{
  struct walk *walk = context;
  for (size_t i = 0; i < spans->count; i++) {
    bool is_step = (spans->flags[i] & STORE_SPAN_STEP) != 0;
    if (spans->level[i] != XSP_LEVEL_MODEL && !is_step && spans->span_id[i] != walk->program_id)
      continue;
    const struct store_tag tag = {
        .span_id = spans->span_id[i], .key = walk->key, .type = STORE_INT, .value.integer = 1};
    *vector_add(&walk->tags) = tag;
  }
  return STATUS_OK;
}

enum status run_spans_mark_warmup(struct store *store, int64_t run_id, int64_t program_id, struct error *err)
{
  struct walk walk = {.program_id = program_id, .key = store_string(store, "warmup", 6)};
  uint32_t columns = STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_FLAGS);
  enum status status = store_walk_spans(store, run_id, columns, visit_warmups, &walk, err);
  if (status == STATUS_OK && walk.tags.count > 0)
    status = store_add_tags(store, run_id, walk.tags.items, walk.tags.count, err);
  vector_done(&walk.tags);
  return status;
}
