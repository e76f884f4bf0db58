// SPDX-License-Identifier: Apache-2.0
// The tables of a finished profile, by the same analyses and renderers as `xsp analyze`. With several variants the tables
// of each, and their latencies compared.
#include "programs/xsp/metric_lines.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb_profile/profile.h"

#include <math.h>
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
#define QUESTIONS (sizeof questions / sizeof questions[0])

static bool has_layers(const struct profile_options *options)
{
  for (size_t i = 0; i < options->set_count; i++)
    if (options->sets[i].mask & XSP_LEVEL_MASK(XSP_LEVEL_LAYER))
      return true;
  return false;
}

// The source of the framework's layers, and its note about itself.
static void put_found(const struct profile_options *options, const struct profile_result *result, size_t variant,
                      struct buf *out)
{
  const struct profile_found *found = &result->found[variant];
  if (strcmp(found->layer_source, "none") != 0 && has_layers(options))
    buf_format(out, "; layers by the framework's own profiling (%s)", found->layer_source);
  if (options->runner.device != NULL && found->device[0] != 0)
    buf_format(out, "; on %s", found->device);
  if (options->runner.pin_algorithms)
    buf_format(out, "; algorithms pinned by: %s", variant_pinned_by(&options->variants[variant]));
  if (found->note[0] != 0)
    buf_format(out, "; %s", found->note);
}

static void put_variants(const struct profile_options *options, const struct profile_result *result, struct buf *out)
{
  char label[PROFILE_LABEL_SIZE];
  for (size_t i = 0; i < options->variant_count; i++) {
    if (result->found[i].framework[0] == 0)
      continue;
    variant_label(result->found, options->variant_count, i, label, sizeof label);
    buf_format(out, "  experiment %zu: %s", i + 1, label);
    put_found(options, result, i, out);
    buf_text(out, "\n");
  }
}

static void put_precision(const struct profile_options *options, const struct profile_result *result, struct buf *out)
{
  buf_format(out, ", %u", result->runs_least);
  if (result->runs_most != result->runs_least)
    buf_format(out, " to %u", result->runs_most);
  if (isnan(result->reach_pct))
    buf_text(out, " runs, too few to know how precise each latency is");
  else
    buf_format(out, " runs for latencies within %.2g %%", result->reach_pct);
  if (!result->was_interrupted && !(result->reach_pct <= options->precision_pct))
    buf_format(out, " (--max-runs ended before %.3g %%)", options->precision_pct);
}

static void heading(const struct profile_options *options, const struct profile_result *result, struct buf *out)
{
  if (options->variant_count == 1)
    buf_format(out, "%s in %s %s", options->name, result->found[0].framework, result->found[0].framework_version);
  else
    buf_format(out, "%s in %zu variants%s", options->name, options->variant_count,
               options->sequential ? ", one after the other" : ", interleaved");
  if (options->runner.threads != 0)
    buf_format(out, ", %u thread%s", options->runner.threads, options->runner.threads == 1 ? "" : "s");
  if (options->precision_pct > 0)
    put_precision(options, result, out);
  else
    buf_format(out, ", %s%u runs", result->was_interrupted ? "up to " : "", options->runs);
  buf_format(out, " after %u warm-up", options->warmups);
  if (options->cold > 0)
    buf_format(out, ", %u cold", options->cold);
  buf_format(out, ", %.0f s", result->seconds);
  if (options->variant_count == 1)
    put_found(options, result, 0, out);
  buf_text(out, "\n");
  if (options->variant_count > 1)
    put_variants(options, result, out);
  if (result->was_interrupted)
    buf_format(out,
               "Interrupted after %u of %u observations, warm-ups among them: what follows is what was measured.\n",
               result->observations, result->planned);
}

// T10 relates other frameworks to the first one; versions of that one need --base.
static void put_next_for_variants(const struct profile_options *options, const struct profile_result *result)
{
  const struct profile_found *first = &result->found[0];
  bool has_other_framework = false, has_other_version = false;
  for (size_t i = 1; i < options->variant_count; i++) {
    bool is_same = strcmp(result->found[i].framework, first->framework) == 0;
    has_other_framework = has_other_framework || !is_same;
    has_other_version =
        has_other_version || (is_same && strcmp(result->found[i].framework_version, first->framework_version) != 0);
  }
  if (has_other_version)
    fprintf(stderr, "         xsp analyze T10 %s --base %s==%s   (the others against this version)\n",
            options->output_path, first->framework, first->framework_version);
  else if (has_other_framework)
    fprintf(stderr, "         xsp analyze T10 %s           (one framework against the other)\n", options->output_path);
}

static void put_next(const struct profile_options *options, const struct profile_result *result)
{
  fprintf(stderr,
          "\nwritten: %s\nnext:    xsp analyze A2 %s            (every layer)\n"
          "         xsp report %s                (one page for the browser)\n"
          "         xsp export %s --to perfetto -o %s.pftrace   (then open it in ui.perfetto.dev)\n",
          options->output_path, options->output_path, options->output_path, options->output_path, options->name);
  if (options->cold > 0 && has_layers(options))
    fprintf(stderr, "         xsp analyze A2 --cold %s     (every layer of the first inferences)\n",
            options->output_path);
  put_next_for_variants(options, result);
}

enum status profile_print(const struct profile_options *options, const struct profile_result *result,
                          enum report_format format, bool has_next, struct error *err)
{
  struct answers answers SCOPED(answers_done) = {0};
  enum status status = STATUS_OK;
  for (size_t i = 0; i < QUESTIONS && status == STATUS_OK; i++) // an interrupted experiment may lack what one needs
    if (has_layers(options) || !questions[i].needs_layers)
      status = answers_add_top(&answers, questions[i].id, result->store, questions[i].sort, questions[i].top, err);
  vector_reserve(&answers.tables, 1);
  if (status == STATUS_OK && options->variant_count > 1)
    status = experiment_compare(options, result, answers.tables.items, &answers.tables.count, &answers.arena, err);
  if (status == STATUS_OK) {
    struct buf out = {0};
    if (format == REPORT_TEXT || format == REPORT_MARKDOWN) {
      heading(options, result, &out);
      status = answers_put_causes(&answers, result->store, &out, err);
      if (status == STATUS_OK)
        status = metric_lines(result->store, 0, &out, err);
      noise_explain(&result->noise, &out);
      buf_text(&out, "\n");
    }
    report_tables(answers.tables.items, answers.tables.count, format, true, output_width(), &out);
    if (status == STATUS_OK)
      status = output_buf(&out, err);
    else
      buf_done(&out);
  }
  if (status == STATUS_OK && has_next)
    put_next(options, result);
  return status;
}
