// SPDX-License-Identifier: Apache-2.0
// xsp history: evaluations and latencies over time, from files, folders and databases.
#include "history/history.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb_history/history_inputs.h"
#include "table/builder.h"

#include <string.h>

static const struct option_description options[] = {
    OPTIONS_HISTORY,
    {"table", 0, "list|series|models|depth|accuracy|latency|frameworks|systems", "list", 0,
     "list: an evaluation a row. series: their latencies over time, a verdict for each. models: accuracy next to "
     "latency and throughput. depth: at the optimal batch size the GPU's share, flops, traffic, bound, thirds. "
     "accuracy: "
     "models over frameworks. latency: batch sizes over frameworks. frameworks: each relative to one. systems: latency "
     "relative to one host's."},
    {"plot", 0, "accuracy|throughput|roofline|systems|batches|time", NULL, 0,
     "Print a plot as SVG instead. accuracy: against latency, with circles by graph size. throughput: accuracy against "
     "throughput. roofline: models at their optimal batch sizes. systems: latencies relative to one host's as a heat "
     "map. "
     "batches: latency over batch sizes. time: latency over time."},
    {"output", 'o', "OUT", NULL, 0, "The file of --plot to write, in place of stdout."},
    OPTION_FORCE,
    {"sort", 0, "COLUMN", NULL, 0,
     "Sort by this column, named by its key (latency_ms) or its heading (latency): numbers falling, text rising."},
    {"by", 0, "FACT,...", NULL, 0,
     "What a series has in common: model, version, framework, framework_version, host, cpu, gpu, data_set. Default: "
     "model, "
     "version, framework, host and data_set. Kind, batch size and levels always are."},
    {"base", 0, "NAME", NULL, 0,
     "What others are relative to: of --table systems a host, of frameworks a framework. Default: the first host, "
     "the "
     "framework with most models."},
    {"threshold", 0, "PERCENT", "1", 0, "The smallest difference that counts, as in xsp compare."},
    {"same-within", 0, "PERCENT", "5", 0, "The same, where the whole interval is within this, as in xsp compare."},
    {"to", 0, "ADDRESS", NULL, 0,
     "Store the evaluations in a PostgreSQL database instead, a transaction for each file. Those that it has stay."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp history results/", "every evaluation and latency in the folder, each against the one before"},
    {"xsp history results/ --table series --by model,framework", "what became slower, by model and framework"},
    {"xsp history results/ --table accuracy --model 'resnet*'", "accuracy over frameworks, as in the paper's Table 3"},
    {"xsp history results/ --table models --sort accuracy_pct", "models by accuracy, with their latencies"},
    {"xsp history results/ --plot roofline -o roofline.svg", "each model below the roof of its machine"},
    {"xsp history --to postgresql://db/results nightly/*.xsp", "into a database; the same file twice is stored once"},
    {"xsp history postgresql://db/results --framework 'onnxruntime>=1.20' --since 2026-11-01",
     "the same questions to it"},
    {0},
};

static enum status print_plot(const struct invocation *invocation, const struct history *history, const char *name,
                              const struct history_request *request, struct error *err)
{
  const char *path = invocation_value(invocation, "output");
  struct buf svg SCOPED(buf_done) = {0};
  XSP_TRY(history_plot(history, name, request, &svg, err));
  XSP_TRY(output_file(path != NULL ? path : "-", svg.data, svg.length, invocation_has(invocation, "force"), err));
  if (path != NULL && strcmp(path, "-") != 0)
    output_note("xsp: wrote %s", path);
  return STATUS_OK;
}

struct printing {
  struct history_request request;
  enum report_format format;
  const char *plot; // NULL: a table
};

// Before the inputs are read.
static enum status read_printing(const struct invocation *invocation, struct printing *ret, struct error *err)
{
  *ret = (struct printing){.request = {.by = invocation_value(invocation, "by"),
                                       .sort = invocation_value(invocation, "sort"),
                                       .base = invocation_value(invocation, "base")},
                           .plot = invocation_value(invocation, "plot")};
  XSP_TRY(verb_reader_format(invocation, &ret->format, err));
  XSP_TRY(invocation_percent(invocation, "threshold", 0, 1e6, &ret->request.limits.least_pct, err));
  XSP_TRY(invocation_percent(invocation, "same-within", 0, 1e6, &ret->request.limits.same_within_pct, err));
  if (ret->plot == NULL && invocation_has(invocation, "output"))
    return error_set(err, STATUS_USE, "wrong use", "-o", "--plot NAME -o OUT, or > OUT", "it is the file of a plot");
  ret->request.for_programs = ret->format != REPORT_TEXT && ret->format != REPORT_MARKDOWN;
  return history_by_check(ret->request.by, err);
}

static enum status print(const struct invocation *invocation, const struct history *history,
                         const struct printing *printing, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct table table;
  enum history_table_kind kind = HISTORY_LIST;
  if (printing->plot != NULL)
    return print_plot(invocation, history, printing->plot, &printing->request, err);
  (void)history_table_find(invocation_value(invocation, "table"), &kind); // it is a word of the option
  XSP_TRY(history_table(history, kind, &printing->request, &arena, &table, err));
  return output_tables(&table, 1, printing->format, false, err);
}

// ---- into a database -------------------------------------------------------------------------------------------------
struct storing {
  struct history_database *database;
  const struct history_selection *selection;
  struct table_builder table;
};

static enum status store_file(void *context, struct store *store, struct error *err)
{
  struct storing *storing = context;
  struct history history SCOPED(history_done) = {0};
  size_t added = 0;
  enum status status = history_read(&history, store, true, err);
  if (status == STATUS_OK) {
    history_select(&history, storing->selection);
    status = history_database_put(storing->database, &history, &added, err);
    if (status == STATUS_INPUT) // no further file is stored
      status = err->status = STATUS_SYSTEM;
  }
  if (status == STATUS_OK) {
    table_row(&storing->table);
    table_put(&storing->table, "file", cell_text(arena_format(storing->table.arena, "%s", store_path(store))));
    table_put(&storing->table, "evaluations", cell_int((int64_t)history.records.count));
    table_put(&storing->table, "new", cell_int((int64_t)added));
  }
  return status;
}

static enum status store_files(const struct invocation *invocation, const char *address, struct error *err)
{
  struct history_inputs inputs;
  struct storing storing = {.selection = &inputs.selection};
  struct arena arena SCOPED(arena_done) = {0};
  struct table table = {.id = "stored", .title = "evaluations in the database"};
  enum report_format format;
  XSP_TRY(verb_reader_format(invocation, &format, err));
  XSP_TRY(history_inputs_open(invocation, 0, &inputs, err));
  table_start(&storing.table, &arena);
  enum status status = history_database_open(address, true, &storing.database, err);
  if (status == STATUS_OK)
    status = verb_reader_files_visit(inputs.paths, inputs.count, store_file, &storing, &inputs.files, err);
  table_answer(&storing.table, &table);
  if (table.row_count > 0 && output_tables(&table, 1, format, false, NULL) != STATUS_OK && status == STATUS_OK)
    status = STATUS_SYSTEM;
  if (status == STATUS_OK)
    status = inputs.files.broken.status;
  history_inputs_close(&inputs);
  history_database_close(storing.database);
  return status;
}

// ---- the verb --------------------------------------------------------------------------------------------------------
static enum status check_address(const char *address, struct error *err)
{
  if (history_is_address(address))
    return STATUS_OK;
  return error_set(err, STATUS_USE, "wrong use", "--to", "postgresql://HOST/DATABASE",
                   "'%s' is not the address of a database", address);
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  const char *address = invocation_value(invocation, "to");
  if (address != NULL) {
    XSP_TRY(check_address(address, err));
    return store_files(invocation, address, err);
  }
  struct history_inputs inputs;
  struct history history SCOPED(history_done) = {0};
  struct printing printing;
  XSP_TRY(read_printing(invocation, &printing, err));
  enum status status = history_inputs_open(invocation, 0, &inputs, err);
  printing.request.limit = (size_t)inputs.limit;
  inputs.in_depth = printing.plot != NULL
                        ? strcmp(printing.plot, "roofline") == 0
                        : text_is_one_of(invocation_value(invocation, "table"), "depth", "frameworks");
  if (status == STATUS_OK)
    status = history_inputs_read(&inputs, &history, NULL, NULL, err);
  if (status == STATUS_OK)
    status = print(invocation, &history, &printing, err);
  if (status == STATUS_OK)
    status = inputs.files.broken.status; // of files that were left out, and named
  history_inputs_close(&inputs);
  return status;
}

const struct verb verb_history = {
    .name = "history",
    .summary = "list evaluations and latencies of many files over time, with verdicts",
    .synopsis = "FILE|FOLDER|postgresql://HOST/DATABASE... [OPTION...]",
    .description = "Prints what xsp evaluate measured, and the latencies of all other experiments, in order of time. "
                   "Each latency has a verdict "
                   "against the one before it in its series, by the intervals of xsp compare.\n\n"
                   "Constraints choose evaluations: by model, framework, machine, data and time. The same questions "
                   "have the same answers from a "
                   "folder of files and from the database that these were stored in. See docs/history.md.",
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .options = options,
    .is_reader = true,
    .examples = examples,
    .see_also = "evaluate, compare, publish",
    .run = run,
};
