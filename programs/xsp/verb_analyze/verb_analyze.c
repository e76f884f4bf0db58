// SPDX-License-Identifier: Apache-2.0
// xsp analyze: one or several analyses of one or several files, as tables.
#include "base/interner.h"
#include "base/nearest.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb_analyze/analyze_summary.h"
#include "programs/xsp/verb_analyze/findings_options.h"
#include "programs/xsp/verb_analyze/findings_own.h"

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
  struct nearest nearest;
  nearest_start(&nearest, text);
  nearest_offer(&nearest, "summary");
  for (size_t i = 0; analyses[i] != NULL; i++) {
    nearest_offer(&nearest, analyses[i]->id);
    if (analyses[i]->name != NULL)
      nearest_offer(&nearest, analyses[i]->name);
  }
  char advice[96];
  nearest_advice(&nearest, "", "`xsp help analyze`, which lists them", advice, sizeof advice);
  return error_set(err, STATUS_USE, "wrong use", text, advice, "no such analysis");
}

static bool looks_like_file(const char *text)
{
  return access(text, F_OK) == 0 || strpbrk(text, "./") != NULL;
}

// The leading arguments that name analyses, none or the word for a summary, then the files.
static enum status split_arguments(const struct invocation *invocation, struct question *question, struct error *err)
{
  const char **arguments = invocation->arguments;
  size_t count = invocation->argument_count, ids = 0;
  if (strcmp(arguments[0], "summary") == 0 && !looks_like_file(arguments[0])) {
    arguments++;
    count--;
  }
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
  if (ids > 0 && arguments > invocation->arguments)
    return error_set(err, STATUS_USE, "wrong use", arguments[0], "xsp analyze summary FILE.xsp",
                     "a summary has its own analyses");
  question->ids = arguments;
  question->id_count = ids;
  question->paths = arguments + ids;
  question->path_count = count - ids;
  return STATUS_OK;
}

static enum status read_request(const struct invocation *invocation, struct arena *arena,
                                struct analyze_request *request, struct error *err)
{
  static const char *const names[] = {
#define X(name, ...) name,
      ANALYZE_OPTIONS(X)
#undef X
  };
  analyze_request_init(request);
  for (size_t i = 0; i < invocation->option_count; i++) {
    const struct invocation_option *given = &invocation->options[i];
    const char *value = given->value != NULL ? given->value : "";
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
      if (strcmp(given->description->name, names[k]) == 0)
        XSP_TRY(analyze_option_read(names[k], value, arena, request, err));
  }
  return STATUS_OK;
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
  all.run_watcher.step = NULL; // rules are watched
  all.top = 0;
  all.only_has_own = folder->path != NULL;
  struct findings_folder own = {folder->path, folder->timeout_s, all.only, 0};
  for (size_t i = 0; folder->path != NULL && i < all.only_count; i++) {
    if (findings_own_has(folder->path, all.only[i]))
      own.only_count = all.only_count;
    else if (!analyze_is_finding(all.only[i]))
      return error_set(err, STATUS_USE, "there is no such finding", all.only[i], "--only F1,F2", "%s has no such file",
                       folder->path);
  }
  return folder->path != NULL ? ask_own(question, &own, &all, err)
                              : answers_add(&question->answers, "findings", question->files.stores.items,
                                            question->files.stores.count, &all, err);
}

// Runs all; of several analyses those that the files cannot answer are named on stderr and make the status "no".
static enum status ask(struct question *question, const struct analyze_request *request,
                       const struct findings_folder *folder, struct error *err)
{
  enum status result = STATUS_OK;
  for (size_t i = 0; i < question->id_count; i++) {
    headway_tell(&request->watcher, i, question->id_count);
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
  struct interner reported SCOPED(interner_done) = {0};
  for (size_t i = 0; i < answers->tables.count; i++)
    for (size_t k = 0; k < answers->tables.items[i].left_out_count; k++) {
      const char *text = answers->tables.items[i].left_out[k];
      uint32_t id = interner_count(&reported);
      if (interner_at(&reported, text, strlen(text)) == id)
        output_message("xsp: cannot read trace: %s; left out", text);
    }
  return interner_count(&reported) > 0;
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
  XSP_TRY(verb_reader_format(invocation, &format, err));
  XSP_TRY(read_request(invocation, &question->arena, &request, err));
  request.reads_source = !invocation_has(invocation, "no-source");
  XSP_TRY(split_arguments(invocation, question, err));
  XSP_TRY(findings_options_refuse(invocation, asks_findings(question), err));
  struct findings_folder own = {.path = invocation_value(invocation, "findings")};
  XSP_TRY(invocation_unsigned(invocation, "findings-timeout", 0, 86400, &own.timeout_s, err));
  const struct reader_detail detail = {find_detail(question, &request), request.layer};
  enum status status = verb_reader_files_open(question->paths, question->path_count,
                                              are_all_over_all(question, &request), &detail, &question->files, err);
  struct output_steps steps = {.path = question->paths[0]};
  request.watcher = (struct headway_watcher){output_headway_step, &steps};
  struct output_steps runs = {.path = question->paths[0], .units = "runs"};
  request.run_watcher = (struct headway_watcher){output_headway_step, &runs};
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
  verb_reader_files_close(&question.files);
  answers_done(&question.answers);
  arena_done(&question.arena);
  return status;
}

#define REPEATABLE_COUNT 0
#define REPEATABLE_TEXT 0
#define REPEATABLE_PERCENT 0
#define REPEATABLE_FLAG 0
#define REPEATABLE_LIST OPTION_REPEATABLE
// Of the letters of xsp those that analyses have, too; folded by the compiler.
#define LETTER_OF(name) (__builtin_strcmp(name, "batch") == 0 ? 'b' : __builtin_strcmp(name, "top") == 0 ? 'n' : 0)
static const struct option_description options[] = {
#define X(name, form, member, count, most, value_name, default_value, of, help)                                        \
  {name,                                                                                                               \
   LETTER_OF(name),                                                                                                    \
   value_name,                                                                                                         \
   default_value,                                                                                                      \
   REPEATABLE_##form | (of == ANALYZE_OF_FINDINGS ? OPTION_OF_FINDINGS : 0),                                           \
   help},
    ANALYZE_OPTIONS(X)
#undef X
        {"findings", 0, "DIR", NULL, OPTION_OF_FINDINGS,
         "findings: your own, too: each query DIR/*.sql and each Python program DIR/*.py runs like a built-in one "
         "(docs/findings.md)."},
    {"findings-timeout", 0, "SECONDS", "600", OPTION_OF_FINDINGS,
     "findings: end a query or program of DIR that runs for longer, with all that it started; 0: wait for ever."},
    {"fail-on", 0, "ID[:PERCENT],...", NULL, OPTION_REPEATABLE | OPTION_OF_FINDINGS,
     "findings: exit status 1 where one of this id could save more than PERCENT of the time (where no bound is known: "
     "takes more); without PERCENT, where there is one. Status 2 where the file cannot answer one of them."},
    {"may-lack", 0, "ID,...", NULL, OPTION_REPEATABLE | OPTION_OF_FINDINGS,
     "findings: rules of --fail-on that the file need not be able to answer."},
    {"no-source", 0, NULL, NULL, 0,
     "Never read a line of the program's source, on the machine where it ran, for the cause or for a finding's title."},
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

static void put_analyses(struct buf *out)
{
  for (const struct analysis *const *analysis = analyses; *analysis != NULL; analysis++)
    buf_format(out, "%s  %-8s  %s", analysis == analyses ? "" : "\n", (*analysis)->id,
               (*analysis)->summary != NULL ? (*analysis)->summary : (*analysis)->title);
}

const struct verb verb_analyze = {
    .name = "analyze",
    .summary = "answer questions about a file: model, layers, kernels, overhead",
    .synopsis = "[ID...] FILE|FOLDER... [OPTION...]",
    .description =
        "Runs the analyses named by ID over the files and prints a table for each. Without an ID, or with the word "
        "summary: the cause in one sentence, the lines with most time, A1, the first five rows of A2, A10 and ranges, "
        "as far as the file has them, the list of analyses, and the first three findings.\n\n" VERB_LIST "\n\n"
        "T8 to T11 have one table over all experiments of all files. "
        "For these a folder means the .xsp files in it, by name, and unreadable files are named and left out.\n\n"
        "Where a file lacks what an analysis needs, the status is 1; of several analyses the possible ones are "
        "printed. FILE may also be a trace of another profiler that `xsp import` takes, or clickhouse://HOST/DATABASE: "
        "spans in a database, which are added up there (docs/clickhouse.md). Several files' experiments are answered "
        "one by one. Figures are statistics over the observations that are no warm-up, and every latency comes with "
        "its number of observations, its extremes and its coefficient of variation.",
    .put_list = put_analyses,
    .least_arguments = 1,
    .most_arguments = SIZE_MAX,
    .options = options,
    .is_reader = true,
    .examples = examples,
    .see_also = "profile, info, sql",
    .run = run,
};
