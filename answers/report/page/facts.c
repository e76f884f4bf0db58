// SPDX-License-Identifier: Apache-2.0
// Experiments and notes of all files, as the page shows them. Called by page.c.
#include "report/display.h"
#include "report/page/page.h"

static enum status put_system(struct json_writer *json, struct store *store, int64_t system_id, struct arena *arena,
                              struct error *err)
{
  struct store_system_value *values = NULL;
  struct buf list SCOPED(buf_done) = {0};
  size_t count = 0;
  XSP_TRY(store_system(store, system_id, arena, &values, &count, err));
  json_member_object(json, "system");
  for (size_t i = 0; i < count; i++) {
    if (values[i].is_number) {
      json_member_double(json, values[i].key, values[i].number);
    } else if (values[i].text != NULL && text_ends_with(values[i].key, "_packages")) { // hundreds; xsp compare has them
      buf_clear(&list);
      display_list(&list, values[i].text);
      json_member_string(json, values[i].key, list.data);
    } else {
      json_member_string(json, values[i].key, values[i].text);
    }
  }
  json_object_end(json);
  return STATUS_OK;
}

// A sentence; null where the figures show no cause.
static void put_cause(struct json_writer *json, const struct cause *causes, size_t count, int64_t experiment_id)
{
  struct buf text SCOPED(buf_done) = {0};
  for (size_t i = 0; i < count; i++)
    if (causes[i].experiment_id == experiment_id)
      report_cause(&causes[i], &text);
  json_member_string(json, "cause", text.length > 0 ? text.data : NULL);
}

static enum status put_experiments(struct page *page, size_t file, struct json_writer *json, struct error *err)
{
  const struct timeline *timeline = &page->files[file].timeline;
  struct arena arena SCOPED(arena_done) = {0};
  struct cause *causes;
  size_t cause_count;
  struct analyze_request request;
  analyze_request_init(&request);
  request.cache = &page->files[file].cache;
  request.reads_source = page_reads_source(page);
  enum status status =
      analyze_causes(&page->files[file].timeline.store, 1, &request, &arena, &causes, &cause_count, err);
  for (size_t i = 0; i < timeline->experiment_count && status == STATUS_OK; i++) {
    const struct store_experiment *experiment = &timeline->experiments[i];
    const char *const texts[][2] = {
        {"name", experiment->name},           {"workload", experiment->workload},
        {"framework", experiment->framework}, {"framework_version", experiment->framework_version},
        {"command", experiment->command},     {"xsp_version", experiment->xsp_version}};
    json_object(json);
    json_member_int(json, "file", (int64_t)file);
    json_member_int(json, "experiment_id", experiment->experiment_id);
    for (size_t j = 0; j < sizeof texts / sizeof texts[0]; j++)
      json_member_string(json, texts[j][0], texts[j][1]);
    json_member_int(json, "created_ms", experiment->created_ns / 1000000);
    put_cause(json, causes, cause_count, experiment->experiment_id);
    status = put_system(json, timeline->store, experiment->system_id, &arena, err);
    json_object_end(json);
  }
  if (page->file_count > 1) // those of all files together would not be bounded; texts of the causes are in it
    analyze_cache_done(request.cache);
  return status;
}

static enum status put_notes(struct page *page, size_t file, struct json_writer *json, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_note *notes = NULL;
  size_t count = 0;
  XSP_TRY(store_notes(page->files[file].timeline.store, -1, &arena, &notes, &count, err));
  for (size_t i = 0; i < count; i++) {
    json_object(json);
    json_member_int(json, "file", (int64_t)file);
    json_member_int(json, "run_id", notes[i].run_id);
    json_member_string(json, "key", notes[i].key);
    json_member_string(json, "value", notes[i].value);
    json_object_end(json);
  }
  return STATUS_OK;
}

enum status page_put_facts(struct page *page, struct json_writer *json, struct error *err)
{
  json_member_array(json, "experiments");
  for (size_t file = 0; file < page->file_count; file++)
    XSP_TRY(put_experiments(page, file, json, err));
  json_array_end(json);
  json_member_array(json, "notes");
  for (size_t file = 0; file < page->file_count; file++)
    XSP_TRY(put_notes(page, file, json, err));
  json_array_end(json);
  return STATUS_OK;
}
