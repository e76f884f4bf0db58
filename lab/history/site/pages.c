// SPDX-License-Identifier: Apache-2.0
// The pages of a site: the index, a page for each model and each host, the report page of each file. Called by the verb publish.
#include "base/time_text.h"
#include "history/site/site.h"
#include "report/report.h"

// ---- the site --------------------------------------------------------------------------------------------------------
enum status history_site_open(const char *folder, struct site **ret_site, struct error *err)
{
  struct site *site = memory_new(1, sizeof *site);
  site->lock = -1;
  site->folder = arena_format(&site->arena, "%s", folder);
  enum status status = history_site_folder_open(site, err);
  history_page_prepare(site);
  *ret_site = site;
  if (status != STATUS_OK) {
    history_site_close(site);
    *ret_site = NULL;
  }
  return status;
}

void history_site_close(struct site *site)
{
  if (site == NULL)
    return;
  history_site_folder_close(site);
  vector_done(&site->pages);
  interner_done(&site->reported);
  vector_done(&site->report_pages);
  arena_done(&site->arena);
  free(site);
}

enum status history_site_add_report(struct site *site, struct store *store, size_t max_spans, struct error *err)
{
  uint32_t unused;
  const char *path = store_path(store), *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
  const struct report_page_file file = {store, name};
  const struct report_page_options options = {.max_spans = max_spans};
  if (interner_find(&site->reported, path, strlen(path), &unused)) // it was given twice
    return STATUS_OK;
  char *whole = realpath(path, NULL); // the same page for the same file, from wherever xsp is called
  const char *page = history_page_name(site, "reports", name, whole != NULL ? whole : path);
  free(whole);
  interner_at(&site->reported, path, strlen(path));
  *vector_add(&site->report_pages) = page;
  return report_page(&file, 1, &options, history_site_folder_stage(site, page), err);
}

// ---- parts of history -------------------------------------------------------------------------------------------------
static const char *text_or(const char *text)
{
  return text != NULL ? text : "unknown";
}

// The records with this value of a fact; they share the texts of `history`. The caller ends with vector_done.
static struct history part_of(const struct history *history, const char *fact, const char *value)
{
  struct history part = {0};
  for (size_t i = 0; i < history->records.count; i++) {
    const char *own = history_fact(&history->records.items[i], fact);
    if (own != NULL && strcmp(own, value) == 0)
      *vector_add(&part.records) = history->records.items[i];
  }
  return part;
}

// ---- pages -----------------------------------------------------------------------------------------------------------
struct publishing {
  struct site *site;
  const struct history_request *request;
};

static const char *const *reports_of(struct site *site, const struct history *history, struct arena *arena)
{
  const char **reports = arena_alloc_array(arena, history->records.count + 1, sizeof *reports);
  for (size_t i = 0; i < history->records.count; i++) {
    const char *path = history->records.items[i].path;
    uint32_t number;
    if (path != NULL && interner_find(&site->reported, path, strlen(path), &number))
      reports[i] = site->report_pages.items[number];
  }
  return site->report_pages.count > 0 ? reports : NULL;
}

static enum status put_kind(const struct publishing *publishing, const struct history *history,
                            enum history_table_kind kind, unsigned depth, struct arena *arena, struct buf *out,
                            struct error *err)
{
  struct table table;
  const char *const *reports = kind == HISTORY_LIST ? reports_of(publishing->site, history, arena) : NULL;
  XSP_TRY(history_table(history, kind, publishing->request, arena, &table, err));
  if (reports != NULL) // of the rows that the list has
    reports += history->records.count - table.row_count;
  history_page_put_table(publishing->site, out, &table, reports, kind == HISTORY_LIST, depth);
  return STATUS_OK;
}

// Plots and tables of some records. `depth` 0: of all.
static enum status put_records(const struct publishing *publishing, const struct history *history, unsigned depth,
                               bool is_of_model, struct arena *arena, struct buf *out, struct error *err)
{
  static const enum history_table_kind kinds[] = {HISTORY_LIST,     HISTORY_MODELS,  HISTORY_DEPTH,
                                                  HISTORY_ACCURACY, HISTORY_LATENCY, HISTORY_FRAMEWORKS,
                                                  HISTORY_SYSTEMS,  HISTORY_SERIES};
  struct all_series series;
  XSP_TRY(history_series_of(history, publishing->request, arena, &series, err));
  const struct plotting plotting = {history, &series, arena, !is_of_model};
  plots_put(&plotting, depth > 0, out);
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    XSP_TRY(put_kind(publishing, history, kinds[i], depth, arena, out, err));
  return STATUS_OK;
}

static void put_facts(const struct history_record *record, bool is_of_model, struct buf *out)
{
  const struct {
    const char *label, *text;
  } facts[] = {{"version", is_of_model ? record->model_version : NULL},
               {"SHA-256", is_of_model ? record->model_sha256 : NULL},
               {"CPU", is_of_model ? NULL : record->cpu},
               {"GPU", is_of_model ? NULL : record->gpu}};
  buf_text(out, "<p>");
  for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
    if (facts[i].text != NULL) {
      buf_format(out, "%s: ", facts[i].label);
      html_put_short(out, facts[i].text, SITE_TEXT_MOST);
      buf_text(out, ". ");
    }
  buf_text(out, "</p>\n");
}

static enum status write_part(const struct publishing *publishing, const struct history *history, bool is_of_model,
                              const char *value, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct buf out SCOPED(buf_done) = {0};
  struct history part = part_of(history, is_of_model ? "model" : "host", value);
  history_page_begin(publishing->site, &out, value, 1);
  put_facts(&part.records.items[part.records.count - 1], is_of_model, &out);
  enum status status = put_records(publishing, &part, 1, is_of_model, &arena, &out, err);
  history_page_end(publishing->site, &out);
  if (status == STATUS_OK)
    status = history_site_folder_write(
        publishing->site, history_page_name(publishing->site, is_of_model ? "models" : "systems", value, value), &out,
        err);
  vector_done(&part.records);
  return status;
}

static void put_list(const struct publishing *publishing, const struct interner *names, bool is_of_model,
                     struct buf *out)
{
  buf_format(out, "<h2>%u %s%s</h2>\n<ul class=\"names\">\n", interner_count(names), is_of_model ? "model" : "system",
             interner_count(names) == 1 ? "" : "s");
  for (uint32_t i = 0; i < interner_count(names); i++) {
    const char *name = interner_text(names, i).data;
    buf_format(out, "<li><a href=\"%s\">",
               history_page_name(publishing->site, is_of_model ? "models" : "systems", name, name));
    html_put_short(out, name, SITE_TEXT_MOST);
    buf_text(out, "</a></li>\n");
  }
  buf_text(out, "</ul>\n");
}

static enum status write_index(const struct publishing *publishing, const struct history *history,
                               const struct interner *models, const struct interner *hosts, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct buf out SCOPED(buf_done) = {0};
  const struct history_record *records = history->records.items;
  history_page_begin(publishing->site, &out, "Evaluations", 0);
  buf_format(&out, "<p>Evaluations and latencies: %zu, %s to %s.</p>\n", history->records.count,
             text_or(time_text(records[0].created_ns, &arena)),
             text_or(time_text(records[history->records.count - 1].created_ns, &arena)));
  enum status status = put_records(publishing, history, 0, false, &arena, &out, err);
  put_list(publishing, models, true, &out);
  put_list(publishing, hosts, false, &out);
  history_page_end(publishing->site, &out);
  if (status == STATUS_OK)
    status = history_site_folder_write(publishing->site, "index.html", &out, err);
  return status;
}

enum status history_site_publish(struct site *site, const struct history *history,
                                 const struct history_request *request, size_t *ret_pages, struct error *err)
{
  const struct publishing publishing = {site, request};
  struct interner names[2] = {0}; // hosts, models
  for (size_t i = 0; i < history->records.count; i++) {
    const struct history_record *record = &history->records.items[i];
    if (record->host != NULL)
      interner_at(&names[0], record->host, strlen(record->host));
    if (record->model != NULL)
      interner_at(&names[1], record->model, strlen(record->model));
  }
  enum status status = STATUS_OK;
  for (size_t which = 0; which < 2; which++)
    for (uint32_t i = 0; status == STATUS_OK && i < interner_count(&names[which]); i++)
      status = write_part(&publishing, history, which == 1, interner_text(&names[which], i).data, err);
  if (status == STATUS_OK)
    status = write_index(&publishing, history, &names[1], &names[0], err);
  if (status == STATUS_OK)
    status = history_site_folder_move(site, err);
  *ret_pages = site->pages.count;
  interner_done(&names[0]);
  interner_done(&names[1]);
  return status;
}
