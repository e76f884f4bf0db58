// SPDX-License-Identifier: Apache-2.0
// Looks for levels without spans; see absent_levels.h. Called once all spans are in the file, by the experiments with models and
// with programs, and by evaluations.
#include "experiment/absent_levels.h"

#include "base/buf.h"

// What makes a level appear.
static const char *const advice[XSP_LEVEL_COUNT] = {
    [XSP_LEVEL_APPLICATION] = "annotate the program (docs/span-api.md)",
    [XSP_LEVEL_LAYER] = "`xsp check` shows which frameworks are recorded",
    [XSP_LEVEL_LIBRARY] =
        "no library announced its calls; `--functions FILE` of `xsp run` records those that a list names",
    [XSP_LEVEL_KERNEL] = "`xsp check` shows which devices are recorded",
};

static enum status add_levels(void *context, size_t first_row, const struct store_spans *part,
                              const struct store_derived *derived, struct error *err)
{
  uint32_t mask = 0;
  for (size_t i = 0; i < part->count; i++)
    mask |= part->level[i] < XSP_LEVEL_COUNT ? XSP_LEVEL_MASK(part->level[i]) : 0;
  *(uint32_t *)context |= mask;
  return STATUS_OK;
}

static enum status say(struct store *store, struct level_set levels, uint32_t absent_mask, message_fn message,
                       struct error *err)
{
  struct buf text SCOPED(buf_done) = {0};
  char set[LEVEL_SET_TEXT_SIZE];
  level_set_format(levels, set);
  buf_format(&text, "at %s nothing was published at ", set);
  const char *joint = "";
  for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++)
    if (absent_mask & XSP_LEVEL_MASK(level)) {
      buf_format(&text, "%slevel %s: %s", joint, level_name(level), advice[level]);
      joint = "; and at ";
    }
  if (message != NULL)
    message("xsp: %s", text.data);
  return store_add_note(store, 0, "absent_levels", text.data, err);
}

enum status absent_levels_say(struct store *store, message_fn message, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_run *runs = NULL;
  size_t count = 0;
  if (store_is_folded(store))
    return STATUS_OK;
  XSP_TRY(store_runs(store, &arena, &runs, &count, err));
  uint32_t *masks = arena_alloc_array(&arena, count + 1, sizeof *masks);
  for (size_t i = 0; i < count; i++) // not by SQL: it would take as long as half of a run's draining
    XSP_TRY(store_walk_spans(store, runs[i].run_id, STORE_BIT(STORE_LEVEL), add_levels, &masks[i], err));
  for (size_t i = 0; i < count; i++) {
    bool is_first = true;
    for (size_t k = 0; k < count; k++)
      if (level_set_equal(runs[k].levels, runs[i].levels)) {
        is_first &= k >= i;
        masks[i] |= masks[k];
      }
    const uint32_t absent_mask = runs[i].levels.mask & ~masks[i] & ~XSP_LEVEL_MASK(XSP_LEVEL_MODEL);
    if (is_first && absent_mask != 0)
      XSP_TRY(say(store, runs[i].levels, absent_mask, message, err));
  }
  return STATUS_OK;
}
