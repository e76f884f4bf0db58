// SPDX-License-Identifier: Apache-2.0
// xsp publish: a static site of all evaluations. Not to be confused with --publish, which sends spans (publish/).
#include "base/json_write.h"
#include "history/history.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb_history/history_inputs.h"

#include <string.h>

#define MAX_SPANS_MOST 4000000

static const struct option_description options[] = {
    OPTIONS_HISTORY,
    {"without-reports", 0, NULL, NULL, 0, "No report pages of the files."},
    {"max-spans", 0, "N", "100000", 0, "Rectangles that a report page holds, as in xsp report. 0: tables only."},
    {"threshold", 0, "PERCENT", "1", 0, "The smallest difference that counts, as in xsp compare."},
    {"same-within", 0, "PERCENT", "5", 0, "The same, where the whole interval is within this, as in xsp compare."},
    {"json", 0, NULL, NULL, 0, "Print the folder, the number of pages, and the files that were left out, as JSON."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp publish site/ results/", "pages of all files in a folder; open site/index.html"},
    {"xsp publish site/ postgresql://db/results --since 2026-11-01", "of a database, without report pages"},
    {0},
};

struct publishing {
  struct site *site;
  struct history history;
  const struct history_selection *selection;
  int64_t max_spans;
  bool with_reports;
};

// Of files with a record that is published.
static enum status add_report(void *context, struct store *store, struct error *err)
{
  struct publishing *publishing = context;
  bool is_wanted = false;
  for (size_t i = publishing->history.records.count; i-- > 0;) { // the file's are the last ones
    const struct history_record *record = &publishing->history.records.items[i];
    if (record->path == NULL || strcmp(record->path, store_path(store)) != 0)
      break;
    is_wanted |= history_matches(record, publishing->selection);
  }
  if (!is_wanted || !publishing->with_reports)
    return STATUS_OK;
  return history_site_add_report(publishing->site, store, (size_t)publishing->max_spans, err);
}

static enum status print_account(const char *folder, size_t pages, const struct reader_files *files, struct error *err)
{
  struct buf text = {0};
  struct json_writer json;
  json_start(&json, &text);
  json_object(&json);
  json_member_string(&json, "folder", folder);
  json_member_int(&json, "pages", (int64_t)pages);
  json_member_array(&json, "left_out");
  for (size_t i = 0; i < files->left_out.count; i++)
    json_string(&json, files->left_out.items[i]);
  json_array_end(&json);
  json_object_end(&json);
  buf_text(&text, "\n");
  return output_buf(&text, err);
}

static enum status publish(const struct invocation *invocation, struct history_inputs *inputs,
                           struct publishing *publishing, struct error *err)
{
  const char *folder = invocation->arguments[0];
  struct history_request request = {0};
  size_t pages;
  XSP_TRY(history_inputs_open(invocation, 1, inputs, err));
  XSP_TRY(invocation_int64(invocation, "max-spans", 0, MAX_SPANS_MOST, &publishing->max_spans, err));
  XSP_TRY(invocation_percent(invocation, "threshold", 0, 1e6, &request.limits.least_pct, err));
  XSP_TRY(invocation_percent(invocation, "same-within", 0, 1e6, &request.limits.same_within_pct, err));
  publishing->selection = &inputs->selection;
  publishing->with_reports = !invocation_has(invocation, "without-reports");
  request.limit = (size_t)inputs->limit;
  XSP_TRY(history_site_open(folder, &publishing->site, err));
  inputs->in_depth = true;
  XSP_TRY(history_inputs_read(inputs, &publishing->history, add_report, publishing, err));
  XSP_TRY(history_site_publish(publishing->site, &publishing->history, &request, &pages, err));
  output_note("xsp: wrote %zu pages to %s (open index.html in a browser)", pages, folder);
  if (invocation_has(invocation, "json"))
    XSP_TRY(print_account(folder, pages, &inputs->files, err));
  return inputs->files.broken.status; // of files that were left out, and named
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  struct history_inputs inputs SCOPED(history_inputs_close) = {0};
  struct publishing publishing = {0};
  enum status status = publish(invocation, &inputs, &publishing, err);
  history_site_close(publishing.site);
  history_done(&publishing.history);
  return status;
}

const struct verb verb_publish = {
    .name = "publish",
    .summary = "write a static web site of evaluations: tables, plots, report pages",
    .synopsis = "DIR FILE|FOLDER|postgresql://HOST/DATABASE... [OPTION...]",
    .description =
        "Writes index.html, with a table to sort and filter, a page for each model and each system, with plots, and "
        "the report page of "
        "each file. Pages open offline from disk or from any web server; they load nothing from elsewhere.\n\n"
        "A call for the same DIR replaces the pages of the one before when all new ones are complete. Other files in "
        "DIR stay. See "
        "docs/site.md. To send spans to a server instead: --publish of run, profile, export and evaluate.",
    .least_arguments = 2,
    .most_arguments = SIZE_MAX,
    .options = options,
    .examples = examples,
    .see_also = "history, report, serve",
    .run = run,
};
