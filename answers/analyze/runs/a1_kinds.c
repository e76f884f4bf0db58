// SPDX-License-Identifier: Apache-2.0
// Columns and summary of kinds of calls, and questions about those that the view is not about. Called by a1_model.c.
#include "analyze/runs/a1_kinds.h"

#include "base/json_write.h"

#include <string.h>

static double all_ms(const struct view *view)
{
  double ms = 0;
  for (size_t i = 0; i < view->kind_count; i++)
    ms += view->kinds[i].total_ms;
  return ms;
}

static const char *kept(const char *text, struct arena *arena) // answers outlive the store
{
  return text != NULL ? arena_copy(arena, text, strlen(text)) : NULL;
}

void analyze_put_kind(struct table_builder *table, const struct view *view, const struct view_kind *kind)
{
  static const struct view_kind none;
  const struct view_kind *of = kind != NULL ? kind : &none;
  table_put_optional(table, "model", cell_text(kept(of->model, table->arena)));
  table_put_optional(table, "signature", cell_text(kept(of->signature, table->arena)));
  table_put_optional(table, "observations", cell_int_if(kind != NULL, (int64_t)of->observations));
  table_put_optional(table, "share_pct", cell_real(analyze_share_pct(of->total_ms, all_ms(view))));
}

static const char *kinds_json(const struct view *view, struct arena *arena)
{
  struct buf text SCOPED(buf_done) = {0};
  struct json_writer json;
  json_start(&json, &text);
  json_array(&json);
  for (size_t i = 0; i < view->kind_count; i++) {
    const struct view_kind *kind = &view->kinds[i];
    json_object(&json);
    json_member_string(&json, "model", kind->model);
    json_member_string(&json, "signature", kind->signature);
    json_member_int_or_null(&json, "batch_size", kind->batch_size);
    json_member_int(&json, "observations", (int64_t)kind->observations);
    json_member_double(&json, "share_pct", analyze_share_pct(kind->total_ms, all_ms(view)));
    json_object_end(&json);
  }
  json_array_end(&json);
  return arena_copy(arena, text.data, text.length);
}

void analyze_summarize_kinds(struct question *question)
{
  const struct view *view = question->view;
  bool has_any = view->kind_count > 0;
  table_summary(&question->table, "kind_count", cell_int_if(has_any, (int64_t)view->kind_count));
  table_summary(&question->table, "kinds",
                has_any ? cell_json(kinds_json(view, question->arena)) : (struct table_cell){0});
}

enum status analyze_question_of_kind(struct question *question, size_t kind, struct question *ret_question,
                                     struct error *err)
{
  struct arena *arena = question->arena; // texts of the view are in the answer
  struct analyze_request *request = arena_alloc(arena, sizeof *request);
  struct view *view = arena_alloc(arena, sizeof *view);
  *request = *question->request;
  request->signature = arena_format(arena, "%zu", kind + 1);
  request->batch = 0;
  request->cache = NULL;
  const struct view_choice choice = view_choice_of(request);
  XSP_TRY(view_load(&question->view->of, &choice, arena, view, err));
  XSP_TRY(question_start(ret_question, question->analysis, request, view, arena, question->scratch, err));
  ret_question->shared = question->shared;
  return STATUS_OK;
}
