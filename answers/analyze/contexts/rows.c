// SPDX-License-Identifier: Apache-2.0
#include "analyze/contexts/rows.h"

#include "analyze/installed.h"
#include "correlate/correlate.h"

#include <string.h>
#include <xsp/call_path.h>

static const struct view_set *choose(const struct question *question)
{
  const struct view *view = question->view;
  const int64_t only = question->request->batch;
  const struct view_set *best = NULL;
  for (size_t i = 0; i < view->set_count; i++) {
    const struct view_set *set = &view->sets[i];
    if (set->levels.serial || set->levels.metrics || (only != 0 && set->batch_size != only))
      continue;
    if (best == NULL || level_set_count(set->levels) > level_set_count(best->levels))
      best = set;
  }
  return best;
}

enum status analyze_context_rows_load(struct question *question, struct context_rows *ret_rows, struct error *err)
{
  struct store *store = question->view->store;
  struct context_rows *rows = ret_rows;
  *rows = (struct context_rows){.set = choose(question)};
  if (rows->set == NULL)
    return STATUS_OK;
  XSP_TRY(store_call_paths(store, question->scratch, &rows->paths, err));
  rows->runs = arena_alloc_array(question->scratch, rows->set->run_count + 1, sizeof *rows->runs);
  for (size_t i = 0; i < rows->set->run_count; i++)
    XSP_TRY(correlate_context_rows(store, rows->set->runs[i]->run->run_id, &rows->paths, question->scratch,
                                   &rows->runs[i].rows, &rows->runs[i].count, err));
  return STATUS_OK;
}

const struct store_frame *analyze_context_frame(const struct context_rows *rows, size_t context_id)
{
  return &rows->paths.frames[rows->paths.contexts[context_id - 1].frame_id - 1];
}

const char *analyze_context_called_from(const struct context_rows *rows, size_t context_id, struct arena *arena)
{
  const struct store_frame *inner = NULL, *own = NULL;
  for (size_t id = context_id; id != 0 && own == NULL; id = (size_t)rows->paths.contexts[id - 1].parent_id) {
    const struct store_frame *frame = analyze_context_frame(rows, id);
    if (frame->kind != XSP_FRAME_PYTHON || frame->file == NULL || id == context_id)
      continue;
    inner = inner == NULL ? frame : inner;
    if (!analyze_is_installed(frame->file))
      own = frame;
  }
  const struct store_frame *frame = own != NULL ? own : inner;
  if (frame == NULL)
    return NULL;
  const char *file = strrchr(frame->file, '/');
  return arena_format(arena, "%s:%lld %s", file != NULL ? file + 1 : frame->file, (long long)frame->line,
                      frame->name != NULL ? frame->name : "");
}
