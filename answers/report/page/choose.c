// SPDX-License-Identifier: Apache-2.0
// Divides the page's room among runs: each is sure of an equal part; what runs do not need of theirs goes to those of
// the most levels first. Called by page.c before anything is written.
#include "report/page/page.h"

static bool is_asked_for(const struct page *page, const struct store_run *run)
{
  for (size_t i = 0; i < page->options->run_count; i++)
    if (page->options->run_ids[i] == run->run_id)
      return true;
  return page->options->run_count == 0;
}

// Counts the spans that a range keeps; loads no more than that needs.
static enum status count_range(struct page *page, struct page_run *run, struct error *err)
{
  struct timeline *timeline = page_timeline(page, run);
  int64_t run_id = timeline->runs[run->index].run_id;
  struct arena arena SCOPED(arena_done) = {0};
  struct timeline_run loaded = {.run = &timeline->runs[run->index]};
  const uint32_t columns =
      STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_FLAGS);
  enum status status = store_load_spans(timeline->store, run_id, columns, &arena, &loaded.spans, err);
  if (status == STATUS_OK)
    status =
        store_load_derived_columns(timeline->store, run_id, STORE_BIT(STORE_PARENT_ID), &arena, &loaded.derived, err);
  if (status == STATUS_OK)
    page_range_keep(&loaded, timeline->run_facts[run->index].first_ns, page->options->range, &arena, &run->wanted);
  return status;
}

static int depth_of(const struct page *page, const struct page_run *run)
{
  struct level_set levels = page_timeline(page, run)->runs[run->index].levels;
  return levels.mask == 0 ? -1 : (int)level_set_deepest(levels);
}

static void share(struct page *page)
{
  size_t equal = page->run_count == 0 ? 0 : page->options->max_spans / page->run_count, sure = 0, merged = 0;
  for (size_t i = 0; i < page->run_count; i++)
    sure += page->runs[i].wanted < equal ? page->runs[i].wanted : equal;
  size_t more = page->options->max_spans - sure; // beyond what each is sure of
  for (int depth = XSP_LEVEL_COUNT - 1; depth >= -1; depth--)
    for (size_t i = 0; i < page->run_count; i++) {
      struct page_run *run = &page->runs[i];
      if (depth_of(page, run) != depth)
        continue;
      size_t lacking = run->wanted > equal ? run->wanted - equal : 0;
      bool is_whole = lacking <= more;
      run->room = is_whole ? run->wanted : equal;
      more -= is_whole ? lacking : 0;
      merged += !is_whole;
    }
  for (size_t i = 0; i < page->run_count; i++)
    if (page->runs[i].room < page->runs[i].wanted)
      page->runs[i].room += more / merged;
}

enum status page_choose(struct page *page, struct error *err)
{
  size_t asked_for = 0;
  for (size_t i = 0; i < page->run_count; i++) {
    struct page_run *run = &page->runs[i];
    struct timeline *timeline = page_timeline(page, run);
    if (!is_asked_for(page, &timeline->runs[run->index]))
      continue;
    asked_for++;
    run->wanted = timeline->run_facts[run->index].span_count;
    if (page->options->range != NULL)
      XSP_TRY(count_range(page, run, err));
  }
  if (asked_for == 0 && page->options->run_count > 0)
    return error_set(err, STATUS_USE, "there is no such run", page->files[0].name, "xsp info FILE lists its runs",
                     "run %lld is not in it", (long long)page->options->run_ids[0]);
  share(page);
  return STATUS_OK;
}
