// SPDX-License-Identifier: Apache-2.0
// The table of analyses; --sort and --top of every answer.
#include "analyze/a_list.h"
#include "analyze/models/survey.h"
#include "analyze/view.h"
#include "base/buf.h"
#include "table/builder.h"

#include <string.h>
#include <strings.h>

#define ADDRESS(name) &analysis_##name,
const struct analysis *const analyses[] = {ANALYSES(ADDRESS) NULL};

const struct analysis *analyze_find(const char *id)
{
  for (size_t i = 0; analyses[i] != NULL; i++)
    if (strcasecmp(analyses[i]->id, id) == 0 || (analyses[i]->name != NULL && strcasecmp(analyses[i]->name, id) == 0))
      return analyses[i];
  return NULL;
}

bool analysis_is_over_all(const struct analysis *analysis, const struct analyze_request *request)
{
  return analysis->answer_all != NULL && (analysis->answer == NULL || request->by != NULL);
}

static enum status sort_table(const struct analysis *analysis, const struct analyze_request *request,
                              struct table *table, struct arena *arena, struct error *err)
{
  const char *key = request->sort != NULL ? request->sort : request->top > 0 ? analysis->main_figure : NULL;
  return key != NULL ? table_sort_by(table, key, arena, err) : STATUS_OK;
}

static void note_left_out(struct table *table, const char *const *left_out, size_t count, struct arena *arena)
{
  for (size_t i = 0; i < count; i++)
    table_append_note(table, arena_format(arena, "left out: %s", left_out[i]), arena);
}

static enum status no_such_analysis(const char *id, struct error *err)
{
  struct buf known SCOPED(buf_done) = {0};
  for (size_t i = 0; analyses[i] != NULL; i++)
    buf_format(&known, "%s%s", i > 0 ? ", " : "", analyses[i]->id);
  return error_set(err, STATUS_USE, "there is no such analysis", id, "xsp help analyze", "known are %s", known.data);
}

enum status analyze_run(const char *id, struct store *const *stores, size_t store_count,
                        const struct analyze_request *request, struct arena *arena, struct table **ret_tables,
                        size_t *ret_count, struct error *err)
{
  const struct analysis *analysis = analyze_find(id);
  if (analysis == NULL)
    return no_such_analysis(id, err);
  XSP_TRY((analysis_is_over_all(analysis, request) ? survey_run : question_each)(analysis, stores, store_count, request,
                                                                                 arena, ret_tables, ret_count, err));
  struct table *first = &(*ret_tables)[0];
  note_left_out(first, request->left_out, request->left_out_count, arena);
  note_left_out(first, first->left_out, first->left_out_count, arena);
  for (size_t i = 0; i < *ret_count; i++) {
    struct table *table = &(*ret_tables)[i];
    if (request->cold)
      table->title = arena_format(arena, "%s, first inferences of fresh processes", table->title);
    XSP_TRY(sort_table(analysis, request, table, arena, err));
    if (request->top > 0 && (size_t)request->top < table->row_count)
      table->row_count = (size_t)request->top;
  }
  return STATUS_OK;
}
