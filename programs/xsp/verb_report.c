// SPDX-License-Identifier: Apache-2.0
// xsp report: one HTML file to look at, mail and keep.
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_SPANS_MOST 4000000

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  const char *path = invocation_value(invocation, "output");
  if (path == NULL)
    return error_set(err, STATUS_USE, "wrong use", "report", "-o OUT.html", "the output's name is missing");
  int64_t max_spans = 0;
  XSP_TRY(invocation_int64(invocation, "max-spans", 0, MAX_SPANS_MOST, &max_spans, err));
  struct store *store = NULL;
  XSP_TRY(reader_open(invocation->arguments[0], &store, err));
  const struct report_page_options options = {base_name(invocation->arguments[0]), (size_t)max_spans};
  enum status status = report_page_file(store, &options, path, invocation_has(invocation, "force"), err);
  store_close(store);
  if (status == STATUS_OK)
    output_talk("xsp: wrote %s (open it in a browser)", path);
  return status;
}

static const struct option_description options[] = {
    {.name = "output",
     .letter = 'o',
     .value_name = "OUT",
     .help = "The file to write. It appears when it is complete."},
    {.name = "max-spans",
     .value_name = "N",
     .default_value = "1000000",
     .help = "Spans that the page holds. Runs beyond are there as tables only."},
    {.name = "force", .help = "Replace an existing file."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp report out.xsp -o out.html", "the page of a profile"},
    {0},
};

const struct verb verb_report = {
    .name = "report",
    .summary = "write one HTML page: timeline, flame graph, layers, kernels, rooflines, runs",
    .synopsis = "FILE -o OUT.html [OPTION...]",
    .description =
        "Writes one file that opens offline in any browser and can be mailed: nothing is loaded from "
        "elsewhere, and nothing leaves it. Pages: overview, timeline, flame graph, layers, kernels, rooflines, "
        "batch sizes, memory, runs; the key ? explains the others.",
    .least_arguments = 1,
    .most_arguments = 1,
    .options = options,
    .examples = examples,
    .see_also = "analyze, export",
    .run = run,
};
