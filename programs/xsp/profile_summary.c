// SPDX-License-Identifier: Apache-2.0
// The tables of a finished profile, by the same analyses and renderers as `xsp analyze`.
#include "programs/xsp/profile_summary.h"

#include "programs/xsp/output.h"

#include <stdio.h>
#include <string.h>

#define TOP_LAYERS 10
#define TOP_TYPES 8

struct question {
  const char *id;
  const char *sort;
  int64_t top;
  bool needs_layers;
};

static const struct question questions[] = {
    {"A1", NULL, 0, false},
    {"L0", NULL, 0, false},
    {"A2", "latency_ms", TOP_LAYERS, true},
    {"A6", NULL, TOP_TYPES, true},
};

static bool has_layers(const struct profile_options *options)
{
  for (size_t i = 0; i < options->set_count; i++)
    if (options->sets[i].mask & XSP_LEVEL_MASK(XSP_LEVEL_LAYER))
      return true;
  return false;
}

static void heading(const struct profile_options *options, const struct profile_result *result, struct buf *out)
{
  buf_format(out, "%s in %s %s", options->name, result->framework, result->framework_version);
  if (options->runner.threads != 0)
    buf_format(out, ", %u thread%s", options->runner.threads, options->runner.threads == 1 ? "" : "s");
  buf_format(out, ", %u runs after %u warm-up, %.0f s", options->runs, options->warmups, result->seconds);
  if (strcmp(result->layer_source, "none") != 0 && has_layers(options))
    buf_format(out, "; layers by the framework's own profiling (%s)", result->layer_source);
  if (result->note[0] != 0)
    buf_format(out, "; %s", result->note);
  buf_text(out, "\n");
  if (result->was_interrupted)
    buf_text(out, "Interrupted: what follows is what was measured until then.\n");
  noise_explain(&result->noise, out);
  buf_text(out, "\n");
}

enum status profile_summary(const struct profile_options *options, const struct profile_result *result,
                            enum report_format format, struct error *err)
{
  struct arena arena = {0};
  struct buf out;
  buf_init(&out, BUF_MAXIMUM_DEFAULT);
  struct analyze_table all[sizeof questions / sizeof questions[0]];
  size_t count = 0;
  enum status status = STATUS_OK;
  for (size_t i = 0; i < sizeof questions / sizeof questions[0] && status == STATUS_OK; i++) {
    if (questions[i].needs_layers && !has_layers(options))
      continue;
    struct analyze_request request;
    analyze_request_init(&request);
    request.sort = questions[i].sort;
    request.top = questions[i].top;
    struct analyze_table *tables = NULL;
    size_t table_count = 0;
    struct store *store = result->store;
    struct error why = {0};
    status = analyze_run(questions[i].id, &store, 1, &request, &arena, &tables, &table_count, &why);
    if (status == STATUS_NO) { // an interrupted experiment may lack what this analysis needs
      status = STATUS_OK;
      continue;
    }
    if (status != STATUS_OK && err != NULL)
      *err = why;
    if (status == STATUS_OK && table_count > 0)
      all[count++] = tables[0];
  }
  if (status == STATUS_OK) {
    if (format == REPORT_TEXT || format == REPORT_MARKDOWN)
      heading(options, result, &out);
    report_tables(all, count, format, true, output_width(), &out);
    status = output_buf(&out, err);
  }
  if (status == STATUS_OK && !options->quiet)
    fprintf(stderr,
            "\nwritten: %s\nnext:    xsp analyze A2 %s            (every layer)\n"
            "         xsp export %s --to perfetto -o %s.pftrace   (then open it in ui.perfetto.dev)\n",
            options->output_path, options->output_path, options->output_path, options->name);
  buf_done(&out);
  arena_done(&arena);
  return status;
}
