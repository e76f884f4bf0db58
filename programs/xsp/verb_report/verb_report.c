// SPDX-License-Identifier: Apache-2.0
// xsp report: one HTML file to look at, mail and keep.
#include "base/child.h"
#include "base/json_write.h"
#include "base/memory.h"
#include "base/slice.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb_report/report_range.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SPANS_MOST 4000000

// Runs of --run; NULL: none.
static enum status read_runs(const struct invocation *invocation, int64_t **ret_runs, size_t *ret_count,
                             struct error *err)
{
  const char *text = NULL;
  for (size_t i = 0; (text = invocation_value_at(invocation, "run", i)) != NULL; i++) {
    int64_t *more = NULL;
    size_t count = 0;
    XSP_TRY(option_int64_list("run", text, INT64_MAX, &more, &count, err));
    int64_t *all = memory_resize(*ret_runs, *ret_count + count, sizeof *all);
    memcpy(all + *ret_count, more, count * sizeof *all);
    free(more);
    *ret_runs = all;
    *ret_count += count;
  }
  return STATUS_OK;
}

// ---- the output ------------------------------------------------------------------------------------------------------
// Bytes of a file's name without its extension, and without that of its compression: "trace" of trace.json.gz.
static int stem_length(const char *name)
{
  size_t length = strlen(name);
  for (size_t i = 0; i < 2; i++) {
    const char *dot = memrchr(name, '.', length);
    if (i == 0 && !text_ends_with(name, ".gz") && !text_ends_with(name, ".zst"))
      continue;
    if (dot != NULL && dot > name)
      length = (size_t)(dot - name);
  }
  return (int)length;
}

// -o, or NAME.html in the current folder, of the first FILE's name without folder and extension.
static enum status output_path(const struct invocation *invocation, char path[PATH_MAX], struct error *err)
{
  const char *given = invocation_value(invocation, "output"), *name = basename(invocation->arguments[0]);
  int length = given != NULL ? snprintf(path, PATH_MAX, "%s", given)
                             : snprintf(path, PATH_MAX, "%.*s.html", stem_length(name), name);
  if (length >= PATH_MAX)
    return error_set(err, STATUS_USE, "cannot write", given, "-o OUT.html", "the name is too long");
  if (strcmp(path, "-") == 0 && invocation_has(invocation, "open"))
    return error_set(err, STATUS_USE, "wrong use", "--open", "-o OUT.html", "stdout cannot be opened in a browser");
  if (strcmp(path, "-") == 0 && invocation_has(invocation, "json"))
    return error_set(err, STATUS_USE, "wrong use", "--json", "-o OUT.html", "stdout has the page already");
  return STATUS_OK;
}

// The desktop's browser, as xdg-open knows it.
static enum status open_page(const char *path, struct error *err)
{
  char whole[PATH_MAX]; // begins with a slash, so that it is no option
  if (realpath(path, whole) == NULL)
    return error_set_errno(err, STATUS_SYSTEM, "cannot open the page", path, "opening it in a browser");
  struct child child;
  const struct child_command command = {.arguments = (const char *const[]){"xdg-open", whole, NULL}};
  int failure = child_start(&command, &child);
  if (failure != 0)
    return error_set(err, STATUS_SYSTEM, "cannot open the page", path,
                     "opening it in a browser, or installing xdg-open (package xdg-utils)", "xdg-open: %s",
                     strerror(failure));
  (void)child_wait(&child, -1, NULL);
  if (child_end(&child, 0) != 0)
    return error_set(err, STATUS_SYSTEM, "cannot open the page", path, "opening it in a browser", "xdg-open failed");
  return STATUS_OK;
}

static enum status write_page(const struct invocation *invocation, const char *path,
                              const struct report_page_options *options, struct error *err)
{
  size_t count = 0;
  struct report_page_file *files SCOPED(scoped_free) = memory_new(invocation->argument_count, sizeof *files);
  enum status status = STATUS_OK;
  for (; status == STATUS_OK && count < invocation->argument_count; count++) {
    files[count].name = basename(invocation->arguments[count]);
    status = verb_reader_open(invocation->arguments[count], &files[count].store, err);
  }
  if (status == STATUS_OK)
    status = report_page_write(files, count, options, path, invocation_has(invocation, "force"), err);
  for (size_t i = 0; i < count; i++)
    store_close(files[i].store);
  return status;
}

static enum status print_account(const char *path, struct error *err)
{
  struct buf text = {0};
  struct json_writer json;
  struct stat facts;
  json_start(&json, &text);
  json_object(&json);
  json_member_string(&json, "output", path);
  json_member_int(&json, "bytes", stat(path, &facts) == 0 ? (int64_t)facts.st_size : 0);
  json_object_end(&json);
  buf_text(&text, "\n");
  return output_buf(&text, err);
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  char path[PATH_MAX];
  const char *range_text = invocation_value(invocation, "range");
  XSP_TRY(output_path(invocation, path, err));
  struct page_range range;
  int64_t max_spans = 0, *runs = NULL;
  size_t run_count = 0;
  XSP_TRY(invocation_int64(invocation, "max-spans", 0, MAX_SPANS_MOST, &max_spans, err));
  if (range_text != NULL)
    XSP_TRY(report_range_parse(range_text, &range, err));
  struct output_steps steps = {.path = path};
  enum status status = read_runs(invocation, &runs, &run_count, err);
  if (status == STATUS_OK) {
    const struct report_page_options options = {
        .max_spans = (size_t)max_spans,
        .run_ids = runs,
        .run_count = run_count,
        .range = range_text != NULL ? &range : NULL,
        .has_source = !invocation_has(invocation, "no-source"),
        .is_of_server = invocation_has(invocation, "parts"),
        .watcher = {output_headway_step, &steps},
    };
    status = write_page(invocation, path, &options, err);
    output_headway_end(&steps.headway);
  }
  free(runs);
  output_note_reader(path, status, err);
  if (status == STATUS_OK && strcmp(path, "-") != 0)
    output_note("xsp: wrote %s (open it in a browser)", path);
  if (status == STATUS_OK && invocation_has(invocation, "json"))
    status = print_account(path, err);
  if (status == STATUS_OK && invocation_has(invocation, "open"))
    status = open_page(path, err);
  return status;
}

static const struct option_description options[] = {
    {"output", 'o', "OUT", NULL, 0,
     "The file to write. It appears when it is complete. -: stdout. Default: NAME.html in the current folder, NAME "
     "being the first FILE's without its extension."},
    {"open", 0, NULL, NULL, 0, "Open the page in the desktop's browser (xdg-open)."},
    {"max-spans", 0, "N", "1000000", 0,
     "Rectangles that the page holds. Runs of more spans are there as an overview: spans too close to be told apart "
     "are merged and counted. 0: tables only."},
    {"run", 0, "ID,...", NULL, OPTION_REPEATABLE, "Holds the spans of these runs only."},
    {"range", 0, "FROM-TO", NULL, 0,
     "Holds the spans that overlap this range only, and what is above them: 1.2s-1.5s, 300ms-, -40us; times count from "
     "each run's first start. Tables stay those of the whole file."},
    {"no-source", 0, NULL, NULL, 0,
     "Leave out the source files that hot lines and findings are in, and their lines in titles. Without this option "
     "the page has those that are on this machine, where the trace was recorded too."},
    {"parts", 0, NULL, NULL, 0,
     "Write a file of the page's parts instead of the page, as xsp serve keeps it: runs of more than --max-spans have "
     "all spans there, by time."},
    OPTION_FORCE,
    {"json", 0, NULL, NULL, 0, "Print the page's name and bytes as JSON."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp report out.xsp --open", "the page of a profile, out.html, opened in a browser"},
    {"xsp report trace.json.gz --open", "a trace of another profiler"},
    {"xsp report before.xsp after.xsp -o both.html", "two files on one page"},
    {"xsp report out.xsp --run 3 --range 1.2s-1.5s -o part.html", "each span of a part that an overview merges"},
    {0},
};

const struct verb verb_report = {
    .name = "report",
    .summary = "write one HTML page: timeline, flame graph, lines, layers, kernels, rooflines, runs",
    .synopsis = "FILE... [-o OUT.html] [OPTION...]",
    .description = "Writes one file that opens offline in any browser and can be mailed: nothing is loaded from "
                   "elsewhere, and nothing leaves it. Pages: overview, timeline, flame graph, lines, layers, kernels, "
                   "rooflines, batch sizes, memory, runs; the key ? explains the others, docs/report.md all of it.\n\n"
                   "FILE may also be a trace of another profiler that `xsp import` takes, such as trace.json.gz of "
                   "torch.profiler.",
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .options = options,
    .examples = examples,
    .see_also = "analyze, export",
    .run = run,
};
