// SPDX-License-Identifier: Apache-2.0
// xsp analyze: one or several analyses of one or several files, as tables.
#include "base/interner.h"
#include "programs/xsp/analyze_summary.h"
#include "programs/xsp/findings_options.h"
#include "programs/xsp/findings_own.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct question {
  const char **ids;
  size_t id_count;
  const char **paths;
  size_t path_count;
  struct reader_files files;
  struct answers answers;
  struct arena arena; // of the request's texts
};

// "A2", "L0": the form of an analysis' name, and not a file.
static bool looks_like_id(const char *text)
{
  size_t letters = 0;
  while (isalpha((unsigned char)text[letters]))
    letters++;
  size_t digits = strspn(text + letters, "0123456789");
  return letters == 1 && digits >= 1 && digits <= 2 && text[letters + digits] == 0 && access(text, F_OK) != 0;
}

static enum status unknown_analysis(const char *text, struct error *err)
{
  char advice[128];
  size_t used = 0;
  for (size_t i = 0; analyses[i] != NULL; i++) {
    const char *joint = i == 0 ? "" : analyses[i + 1] != NULL ? ", " : " or ";
    used += (size_t)snprintf(advice + used, sizeof advice - used, "%s%s", joint, analyses[i]->id);
  }
  return error_set(err, STATUS_USE, "wrong use", text, advice, "no such analysis");
}

static bool looks_like_file(const char *text)
{
  return access(text, F_OK) == 0 || strpbrk(text, "./") != NULL;
}

// The leading arguments that name analyses, none for a summary, then the files.
static enum status split_arguments(const struct invocation *invocation, struct question *question, struct error *err)
{
  const char **arguments = invocation->arguments;
  size_t count = invocation->argument_count, ids = 0;
  while (ids < count && analyze_find(arguments[ids]) != NULL)
    ids++;
  if (ids < count && (looks_like_id(arguments[ids]) || (ids == 0 && !looks_like_file(arguments[ids]))))
    return unknown_analysis(arguments[ids], err);
  for (size_t i = ids; i < count; i++)
    if (analyze_find(arguments[i]) != NULL && !looks_like_file(arguments[i]))
      return error_set(err, STATUS_USE, "wrong use", arguments[i], "xsp analyze A2 FILE.xsp",
                       "an analysis is named before the files");
  if (ids == count)
    return error_set(err, STATUS_USE, "wrong use", "analyze", "xsp analyze A2 FILE.xsp", "the file is missing");
  question->ids = arguments;
  question->id_count = ids;
  question->paths = arguments + ids;
  question->path_count = count - ids;
  return STATUS_OK;
}

// "a,b" as a list in `arena`.
static enum status read_metrics(const struct invocation *invocation, struct arena *arena,
                                struct analyze_request *request, struct error *err)
{
  const char *given = invocation_value(invocation, "metric");
  if (given == NULL)
    return STATUS_OK;
  const char **names = arena_alloc_array(arena, ANALYZE_METRICS_MOST, sizeof *names);
  char *rest = arena_copy(arena, given, strlen(given));
  for (char *name; (name = strsep(&rest, ",")) != NULL;) {
    if (name[0] == 0 || request->metric_count == ANALYZE_METRICS_MOST)
      return error_set(err, STATUS_USE, "wrong use", "--metric", "--metric l2_read_bytes,power_w",
                       name[0] == 0 ? "a name is empty" : "at most %d metrics", ANALYZE_METRICS_MOST);
    names[request->metric_count++] = name;
  }
  request->metrics = names;
  return STATUS_OK;
}

static enum status read_request(const struct invocation *invocation, struct arena *arena,
                                struct analyze_request *request, struct error *err)
{
  analyze_request_init(request);
  request->layer = invocation_value(invocation, "layer");
  request->statistic = invocation_value(invocation, "stat");
  request->sort = invocation_value(invocation, "sort");
  request->by = invocation_value(invocation, "by");
  if (request->by != NULL &&
      !text_is_one_of(request->by, "layer", "batch", "system", "framework", "experiment", "module"))
    return error_set(err, STATUS_USE, "wrong use", "--by",
                     "--by layer, for L0, --by batch, for A10, or --by module, for A16", "there is no grouping '%s'",
                     request->by);
  request->cold = invocation_has(invocation, "cold");
  request->partial_metrics = invocation_has(invocation, "partial-metrics");
  request->latency_basis = invocation_value(invocation, "latency-basis");
  if (request->latency_basis != NULL && !text_is_one_of(request->latency_basis, "host", "device"))
    return error_set(err, STATUS_USE, "wrong use", "--latency-basis", "--latency-basis host, or device",
                     "there is no basis '%s'", request->latency_basis);
  request->optimal = invocation_value(invocation, "optimal");
  request->base = invocation_value(invocation, "base");
  XSP_TRY(read_metrics(invocation, arena, request, err));
  XSP_TRY(invocation_int64(invocation, "batch", 1, INT64_MAX, &request->batch, err));
  XSP_TRY(invocation_int64(invocation, "top", 1, INT64_MAX, &request->top, err));
  XSP_TRY(invocation_double(invocation, "overhead-threshold", 0, 1e6, &request->small_overhead_pct, err));
  XSP_TRY(invocation_double(invocation, "optimal-threshold", 0, 1e6, &request->optimal_threshold_pct, err));
  XSP_TRY(invocation_double(invocation, "asynchronous-threshold", 0, 100, &request->asynchronous_threshold_pct, err));
  return invocation_double(invocation, "latency-threshold", 0, 100, &request->latency_threshold_pct, err);
}

// Tables over many files are worth having without the one that is broken.
static bool are_all_over_all(const struct question *question, const struct analyze_request *request)
{
  for (size_t i = 0; i < question->id_count; i++)
    if (!analysis_is_over_all(analyze_find(question->ids[i]), request))
      return false;
  return question->id_count > 0;
}

// What all of them can be answered from, where spans come from a database. A summary asks several.
static enum trace_detail find_detail(const struct question *question, const struct analyze_request *request)
{
  enum trace_detail detail = question->id_count == 0 ? TRACE_EVERYTHING : analyze_find(question->ids[0])->detail;
  for (size_t i = 1; i < question->id_count; i++)
    detail = trace_detail_of_both(detail, analyze_find(question->ids[i])->detail);
  return request->metric_count > 0 ? TRACE_EVERYTHING : detail; // metrics are of single kernels
}

// The built-in findings of one file after the other, each with those of the user's folder.
static enum status ask_own(struct question *question, const struct findings_folder *folder,
                           const struct analyze_request *request, struct error *err)
{
  struct answers *answers = &question->answers;
  for (size_t i = 0; i < question->files.stores.count; i++) {
    struct store *store = question->files.stores.items[i];
    size_t first = answers->tables.count;
    XSP_TRY(answers_add(answers, "findings", &store, 1, request, err));
    XSP_TRY(findings_own_add(folder, store, &answers->tables.items[first], answers->tables.count - first,
                             &answers->arena, err));
    if (question->files.stores.count > 1 && answers->tables.items[first].experiment == NULL)
      answers->tables.items[first].experiment = store_path(store);
  }
  return STATUS_OK;
}

// All findings, whatever --top is: --fail-on is about all.
static enum status ask_findings(struct question *question, const struct findings_folder *folder,
                                const struct analyze_request *request, struct error *err)
{
  struct analyze_request all = *request;
  all.top = 0;
  return folder->path != NULL ? ask_own(question, folder, &all, err)
                              : answers_add(&question->answers, "findings", question->files.stores.items,
                                            question->files.stores.count, &all, err);
}

// Runs all; of several analyses those that the files cannot answer are named on stderr and make the status "no".
static enum status ask(struct question *question, const struct analyze_request *request,
                       const struct findings_folder *folder, struct error *err)
{
  enum status result = STATUS_OK;
  for (size_t i = 0; i < question->id_count; i++) {
    enum status status = strcasecmp(question->ids[i], "findings") == 0
                             ? ask_findings(question, folder, request, err)
                             : answers_add(&question->answers, question->ids[i], question->files.stores.items,
                                           question->files.stores.count, request, err);
    if (status == STATUS_NO && question->id_count > 1) {
      output_error(err);
      *err = (struct error){0};
      result = STATUS_NO;
      continue;
    }
    XSP_TRY(status);
  }
  return result;
}

// Names files that opened but failed while a table was made, each once. False: there are none.
static bool report_left_out(const struct answers *answers)
{
  struct interner reported = {0};
  for (size_t i = 0; i < answers->tables.count; i++)
    for (size_t k = 0; k < answers->tables.items[i].left_out_count; k++) {
      const char *text = answers->tables.items[i].left_out[k];
      uint32_t id = interner_count(&reported);
      if (interner_at(&reported, text, strlen(text)) == id)
        output_message("xsp: cannot read trace: %s; left out", text);
    }
  bool any = interner_count(&reported) > 0;
  interner_done(&reported);
  return any;
}

static bool asks_findings(const struct question *question)
{
  for (size_t i = 0; i < question->id_count; i++)
    if (strcasecmp(question->ids[i], "findings") == 0)
      return true;
  return false;
}

// What was not measured is no finding: --fail-on has another status for it.
static enum status unanswered(const struct invocation *invocation, enum status status)
{
  return status == STATUS_NO && invocation_has(invocation, "fail-on") ? STATUS_INPUT : status;
}

// `status`: of the questions.
static enum status print(const struct invocation *invocation, struct question *question,
                         const struct analyze_request *request, enum report_format format, enum status status,
                         struct error *err)
{
  struct table *tables = question->answers.tables.items;
  size_t count = question->answers.tables.count;
  struct error verdict_error = {0};
  enum status verdict = findings_options_check(invocation, tables, count, &verdict_error);
  if (verdict != STATUS_USE) {
    findings_options_cut(request, tables, count);
    XSP_TRY(output_tables(tables, count, format, question->id_count > 1, err));
  }
  if (verdict != STATUS_OK)
    *err = verdict_error;
  return verdict != STATUS_OK ? verdict : unanswered(invocation, status);
}

static enum status answer(const struct invocation *invocation, struct question *question, struct error *err)
{
  struct analyze_request request;
  enum report_format format;
  XSP_TRY(reader_format(invocation, &format, err));
  XSP_TRY(read_request(invocation, &question->arena, &request, err));
  XSP_TRY(split_arguments(invocation, question, err));
  XSP_TRY(findings_options_read(invocation, asks_findings(question), &question->arena, &request, err));
  struct findings_folder own = {.path = invocation_value(invocation, "findings")};
  XSP_TRY(invocation_unsigned(invocation, "findings-timeout", 0, 86400, &own.timeout_s, err));
  const struct reader_detail detail = {find_detail(question, &request), request.layer};
  enum status status = reader_files_open(question->paths, question->path_count, are_all_over_all(question, &request),
                                         &detail, &question->files, err);
  request.left_out = question->files.left_out.items;
  request.left_out_count = question->files.left_out.count;
  if (status == STATUS_OK && question->id_count == 0)
    return analyze_summary(question->files.stores.items, question->files.stores.count, &request, format,
                           question->paths[0], err);
  if (status == STATUS_OK)
    status = ask(question, &request, &own, err);
  if (status == STATUS_OK || (status == STATUS_NO && question->id_count > 1))
    status = print(invocation, question, &request, format, status, err);
  else
    status = unanswered(invocation, status);
  bool broke = report_left_out(&question->answers);
  if (status == STATUS_OK &&
      (broke || question->files.broken.status != STATUS_OK)) // reported on stderr and in the notes
    status = STATUS_INPUT;
  return status;
}

static enum status run(const struct invocation *invocation, struct error *err)
{
  struct question question = {0};
  enum status status = answer(invocation, &question, err);
  reader_files_close(&question.files);
  answers_done(&question.answers);
  arena_done(&question.arena);
  return status;
}

static const struct option_description options[] = {
    {"batch", 0, "N", NULL, false,
     "The batch size to look at. Without it: the optimal one, where there is none the one of maximum throughput; the "
     "answer says which."},
    {"layer", 0, "MODE", NULL, false,
     "What counts as a layer where layers are nested: outermost; innermost or all, every layer with its own time; or "
     "module. Without it: as the file says, else outermost."},
    {"stat", 0, "STATISTIC", NULL, false,
     "Over the observations: trimmed:F leaves out the fraction F of them at each end, by their latency, and mean none: "
     "rows then add up to their sums. Value by value: median, min, max, pNN (p95), trimmed-each:F. Without it: "
     "trimmed:0.2."},
    {"cold", 0, NULL, NULL, false,
     "The first inferences of fresh processes (xsp profile --cold), in place of all other runs: A2 has their layers."},
    {"sort", 0, "COLUMN", NULL, false,
     "Sort by this column, named by its key (latency_ms) or its heading (latency): numbers falling, text rising."},
    {"top", 0, "N", NULL, false,
     "Only the first N rows. Without --sort: the longest layers and kernels, the largest memory and flops; batch "
     "sizes, level sets and models in their order."},
    {"by", 0, "WHAT", NULL, false,
     "L0: `layer` gives the overhead by layer. A10: `batch`, `system`, `framework` or `experiment` gives counts and "
     "times of the experiments of all files in one table; `batch` at every batch size. A5 to A7 and A16: `module` "
     "gives sums by torch.nn.Module."},
    {"overhead-threshold", 0, "PERCENT", "5", false,
     "L0: no overhead is found where its interval ends below this share of the latency before; a drift of more than "
     "this leaves the verdict open."},
    {"base", 0, "FRAMEWORK", NULL, false,
     "T10: the framework that the others are normalised to; of one version: NAME==VERSION. Without it: the one with "
     "most models."},
    {"optimal", 0, "LIMIT", NULL, false,
     "Take as optimal the batch size with the highest throughput within this limit: \"latency<=10ms\"."},
    {"optimal-threshold", 0, "PERCENT", "5", false,
     "The optimal batch size is the smallest whose doubling raises the throughput by at most this."},
    {"latency-threshold", 0, "PERCENT", "5", false,
     "A kernel is bound by latency where it reaches less than this of both the peak arithmetic throughput and the "
     "memory bandwidth."},
    {"latency-basis", 0, "BASIS", NULL, false,
     "Of layers: host, the spans' own time, or device, the time of their work on devices and on the host without it. "
     "Without it: device where launches return before the work is done."},
    {"asynchronous-threshold", 0, "PERCENT", "5", false,
     "Layer latencies are on the device basis where more than this of the device time in layers comes after they "
     "returned."},
    {"metric", 0, "NAME,...", NULL, false,
     "Further metrics of kernels, named as their tags are, in A8, A9, A11, A12, A14 and A15."},
    {"partial-metrics", 0, NULL, NULL, false,
     "Give sums of metrics over those kernels that have them, also where others lack them. Such rows are marked."},
    {"only", 0, "ID,...", NULL, true, "findings: only these, by id (F1) or rule (hotspot)."},
    {"threshold", 0, "NAME=VALUE,...", NULL, true,
     "findings: another threshold than the usual one, for example hotspot-share=20 (per cent). docs/findings.md lists "
     "them; a wrong name prints all."},
    {"findings", 0, "DIR", NULL, false,
     "findings: your own, too: each query DIR/*.sql and each Python program DIR/*.py runs like a built-in one "
     "(docs/findings.md)."},
    {"findings-timeout", 0, "SECONDS", "600", false,
     "findings: end a query or program of DIR that runs for longer, with all that it started; 0: wait for ever."},
    {"fail-on", 0, "ID[:PERCENT],...", NULL, true,
     "findings: exit status 1 where one of this id could save more than PERCENT of the time (where no bound is known: "
     "takes more); without PERCENT, where there is one. Status 2 where the file cannot answer one of them."},
    {"may-lack", 0, "ID,...", NULL, true, "findings: rules of --fail-on that the file need not be able to answer."},
    {0},
};
static const struct verb_example examples[] = {
    {"xsp analyze resnet50.xsp", "a summary, and what else can be asked"},
    {"xsp analyze A1 resnet50.xsp", "latency and throughput by batch size"},
    {"xsp analyze A2 resnet50.xsp --batch 4 --top 10", "the ten slowest layers at batch size 4"},
    {"xsp analyze A10 train.xsp --top 20", "the kernels that take most time"},
    {"xsp analyze A11 train.xsp --layer innermost --top 20", "the operators whose kernels take most time"},
    {"xsp analyze L0 resnet50.xsp", "what each level of tracing cost"},
    {"xsp analyze T8 zoo/ --sort task", "all models of a folder in one table, by what they are for"},
    {"xsp analyze findings train.xsp", "what is probably wrong, where, and what it can cost at most"},
    {"xsp analyze findings train.xsp --fail-on F2:5%", "status 1 where small kernels cost more than 5 %"},
    {"xsp analyze A10 clickhouse://db.example/otel", "kernels by name, of spans in a database"},
    {"xsp analyze A5 A6 A7 resnet50.xsp --json", "three analyses as one JSON array"},
    {0},
};

const struct verb verb_analyze = {
    .name = "analyze",
    .summary = "answer questions about a file: model, layers, kernels, overhead",
    .synopsis = "[ID...] FILE|FOLDER... [OPTION...]",
    .description =
        "Runs the analyses named by ID over the files and prints a table for each. Without an ID: a summary (the cause "
        "in one sentence, A1, and the first five rows of A2 and A10, where the files have them) and the list of "
        "analyses.\n\n"
        "  L0  what each level of tracing cost       A1  latency and throughput by batch size\n"
        "  A2  layers in execution order             A3  latency of the layers, by thirds\n"
        "  A4  memory of the layers, by thirds       A5  layers by type: count\n"
        "  A6  layers by type: latency               A7  layers by type: memory\n"
        "  A8  kernels in execution order            A9  the same under the machine's roofs\n"
        "  A10 kernels by name                       A11 kernels by layer\n"
        "  A12 flops and memory traffic by layer     A13 GPU and non-GPU time by layer\n"
        "  A14 layers under the machine's roofs      A15 kernels by batch size\n"
        "  A16 forward and backward by operator      A17 time by calling context\n"
        "  A18 samples of instructions by line       findings: what is probably wrong, by rules\n\n"
        "Over all experiments of all files, in one table:\n\n"
        "  T8  models: task, size, latency, throughput, optimal batch size, share of convolutions\n"
        "  T9  models at their optimal batch sizes: GPU share, flops, traffic, bound, demanding thirds\n"
        "  T10 framework against framework, model by model\n"
        "  T11 system against system: throughput and GPU latency by batch size\n\n"
        "For these a folder means the .xsp files in it, by name, and unreadable files are named and left out.\n\n"
        "Where a file lacks what an analysis needs, the status is 1; of several analyses the possible ones are "
        "printed. FILE may also be a trace of another profiler that `xsp import` takes, or clickhouse://HOST/DATABASE: "
        "spans in a database, which are added up there (docs/clickhouse.md). Several files' experiments are answered "
        "one by one. Figures are statistics over the observations that are no warm-up, and every latency comes with "
        "its number of observations, its extremes and its coefficient of variation.",
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .options = options,
    .is_reader = true,
    .examples = examples,
    .see_also = "profile, info, sql",
    .run = run,
};
