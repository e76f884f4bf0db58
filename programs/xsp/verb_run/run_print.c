// SPDX-License-Identifier: Apache-2.0
// What `xsp run` prints to stderr when the program has ended: what was recorded and lost, the tables of `xsp analyze`, and
// where to go on. stdout is the program's.
#include "programs/xsp/verb_run/run_print.h"

#include "base/slice.h"
#include "experiment/experiment.h"
#include "programs/xsp/metric_lines.h"
#include "programs/xsp/output.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb_run/run_lines.h"
#include "programs/xsp/verb_run/run_unseen.h"
#include "report/display.h"
#include "report/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOP_ROWS 8
#define LABEL "%-9s"

// ---- what happened ---------------------------------------------------------------------------------------------------
static void put_count(struct buf *out, const char **joint, uint64_t count, const char *what)
{
  if (count > 0) {
    buf_format(out, "%s%" PRIu64 " %s", *joint, count, what);
    *joint = ", ";
  }
}

static void put_ending(struct buf *out, const struct launch_options *options, const struct launch_result *first)
{
  double seconds = (double)(first->end_ns - first->start_ns) / 1e9;
  buf_format(out, ": %.*f %s", 3, seconds < 1 ? seconds * 1e3 : seconds, seconds < 1 ? "ms" : "s");
  if (WIFSIGNALED(first->wait_status))
    buf_format(out, ", killed by signal %d", WTERMSIG(first->wait_status));
  else if (options->process_id == 0)
    buf_format(out, ", exit status %d", launch_exit_status(first->wait_status));
  else
    buf_text(out, first->goes_on ? " recorded, it goes on" : " recorded, until its end");
  if (first->processes > 1)
    buf_format(out, ", %u processes", first->processes);
  if (first->left_running > 0)
    buf_format(out, ", %u of them still running: what they do from now on is not recorded", first->left_running);
}

static void put_heading(struct buf *out, const struct run_experiment_options *options,
                        const struct run_experiment_result *result)
{
  for (char *const *word = options->run.command; *word != NULL; word++) {
    buf_text(out, word == options->run.command ? "" : " ");
    display_escape(out, *word, strlen(*word));
  }
  put_ending(out, &options->run, &result->first);
  if (result->executions > 1)
    buf_format(out, "; the first of %u executions", result->executions);
  buf_text(out, "\n");
  if (result->was_interrupted)
    buf_text(out, "interrupted: what follows is what was measured until then\n");
}

static void put_kernels(struct buf *out, const struct import_account *account)
{
  if (account->kernels == 0)
    return;
  buf_format(out, LABEL "%" PRIu64, "kernels", account->kernels);
  if (account->unattributed_count == 0) {
    buf_text(out, ", each in a range of the program\n");
    return;
  }
  buf_format(out, ", %" PRIu64 " in no range of the program", account->unattributed_count);
  if (account->kernels_ns > 0)
    buf_format(out, " (%.3g %% of their time)", 100 * (double)account->unattributed_ns / (double)account->kernels_ns);
  const char *joint = ": ";
  for (unsigned reason = 0; reason < UNATTRIBUTED_REASONS; reason++)
    put_count(out, &joint, account->unattributed[reason], unattributed_names[reason]);
  buf_text(out, "\n");
}

// An option that limits recording may be the reason that nothing was recorded.
static void put_why_empty(struct buf *out, const struct launch_options *options, const struct launch_result *ran)
{
  buf_text(out, "none but the program's own");
  if (options->capture_range != NULL) {
    buf_text(out, ": recorded was only inside ranges that match --capture-range '");
    display_escape(out, options->capture_range, strlen(options->capture_range));
    buf_text(out, "'");
  } else if ((double)(ran->end_ns - ran->start_ns) < 1e9 * options->delay_s)
    buf_text(out, ": it ended before --delay was over");
  else if (options->tracers[0] != NULL && options->tracers[1] == NULL && strcmp(options->tracers[0], "auto") != 0) {
    buf_text(out, ": it did nothing that the tracer ");
    display_escape(out, options->tracers[0], strlen(options->tracers[0]));
    buf_text(out, " records");
  }
}

static void put_facts(struct buf *out, const struct run_facts *facts, const struct launch_options *options,
                      const struct launch_result *ran)
{
  const struct import_account *account = &facts->account;
  const char *joint = "";
  uint64_t spans = 0;
  char levels[LEVEL_SET_TEXT_SIZE];
  level_set_format(facts->levels, levels);
  for (unsigned level = 0; level < XSP_LEVEL_COUNT; level++)
    spans += account->spans_by_level[level];
  buf_format(out, LABEL, "spans");
  if (spans <= 1)
    put_why_empty(out, options, ran);
  for (unsigned level = 0; level < XSP_LEVEL_COUNT && spans > 1; level++)
    put_count(out, &joint, account->spans_by_level[level], level_name(level));
  if (facts->set_count > 1)
    buf_format(out, " (an execution at %s)", levels);
  buf_text(out, "\n");
  if (spans > 1) {
    joint = "";
    buf_format(out, LABEL, "parents");
    for (unsigned i = 1; i <= BASIS_COUNT; i++) // BASIS_NONE, which is 0, comes last
      put_count(out, &joint, account->parents[i % BASIS_COUNT], basis_name(i % BASIS_COUNT));
    buf_text(out, "\n");
  }
  put_kernels(out, account);
  if (facts->dropped + facts->misused + account->open > 0) {
    joint = "";
    buf_format(out, LABEL, "lost");
    put_count(out, &joint, facts->dropped,
              "dropped: no room for them, see --memory-limit and what the tracers say (all executions)");
    put_count(out, &joint, account->open, "never finished");
    put_count(out, &joint, facts->misused, "finished on another thread or twice");
    buf_text(out, "\n");
  }
}

struct observed { // spans that are observations, by name
  struct buf *out;
  const char *joint;
};

static enum status put_observed(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct observed *observed = context;
  buf_format(observed->out, "%s%" PRId64 " of ", observed->joint, cells[1].integer);
  display_escape(observed->out, cells[0].text, cells[0].length);
  observed->joint = ", ";
  return STATUS_OK;
}

// A line with the names of `from`, a clause of SQL, and their counts, if there are `least` to nine.
static enum status put_models_of(struct buf *out, struct store *store, const char *from, int least, const char *advice,
                                 struct error *err)
{
  char sql[640];
  struct buf names SCOPED(buf_done) = {0};
  struct observed observed = {&names, ""};
  const struct store_query_sink sink = {.context = &observed, .row = put_observed};
  snprintf(sql, sizeof sql,
           "select s.name, count(*) %s group by 1 having (select count(distinct s.name) %s) between %d and 9 "
           "order by 2 desc, 1",
           from, from, least);
  XSP_TRY(store_query(store, sql, &sink, err));
  if (names.length > 0)
    buf_format(out, LABEL "%s; %s\n", "models", names.data, advice);
  return STATUS_OK;
}

// Inferences of several models pool in the tables below. Where there are training steps, inferences are in no table.
static enum status put_models(struct buf *out, struct store *store, const struct run_facts *facts, struct error *err)
{
  char from[160];
  if (!facts->has_steps)
    return STATUS_OK;
  snprintf(from, sizeof from, "from observation o join span s using (run_id, span_id) where o.run_id = %" PRId64,
           facts->run_id);
  XSP_TRY(put_models_of(out, store, from, 2, "the tables have all together, --model-range NAME one", err));
  snprintf(from, sizeof from,
           "from span s where s.run_id = %" PRId64 " and s.level = 'model' and s.observation is null", facts->run_id);
  return put_models_of(out, store, from, 1, "in no step, so in no table: --model-range NAME has one", err);
}

static void put_messages(struct buf *out, const char *messages)
{
  struct slice rest = slice_of(messages), line;
  while (slice_cut(&rest, '\n', &line))
    if (line.length > 0) {
      buf_format(out, LABEL, line.data == messages ? "tracers" : "");
      display_escape(out, line.data, line.length);
      buf_text(out, "\n");
    }
}

// ---- tables ----------------------------------------------------------------------------------------------------------
struct question {
  const char *id;
  const char *sort;
  int64_t top;
  bool (*is_asked)(const struct run_facts *facts); // NULL: always
  size_t least_rows;                               // an answer of fewer is not shown
};

static bool has_sets(const struct run_facts *facts)
{
  return facts->set_count > 1;
}
static bool has_steps(const struct run_facts *facts)
{
  return facts->has_steps && facts->set_count < 2; // else L0 has the same figures
}
static bool has_layers(const struct run_facts *facts)
{
  return facts->account.spans_by_level[XSP_LEVEL_LAYER] > 0;
}
static bool has_kernels(const struct run_facts *facts)
{
  return facts->account.kernels > 0;
}

static const struct question questions[] = {
    {"A1", NULL, TOP_ROWS, has_steps, 0},
    {"A21", NULL, 0, has_steps, 0}, // of a job of several ranks
    {"L0", NULL, 0, has_sets, 0},
    {"A2", "latency_ms", TOP_ROWS, has_layers, 0},
    {"A6", NULL, TOP_ROWS, has_layers, 2}, // one row: the layers have no types
    {"A10", "latency_ms", TOP_ROWS, has_kernels, 0},
    {"ranges", "total_ms", TOP_ROWS, NULL, 0},
};
#define QUESTIONS (sizeof questions / sizeof questions[0])

// Columns of stderr's terminal: stdout is the program's. Without a terminal, names of functions are cut all the same.
static unsigned message_width(void)
{
  struct winsize size;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 120;
}

static enum status put_tables(struct buf *out, struct store *store, struct analyze_cache *cache,
                              const struct run_facts *facts, struct error *err)
{
  struct answers answers SCOPED(answers_done) = {.cache = cache};
  for (size_t i = 0; i < QUESTIONS; i++) {
    size_t before = answers.tables.count;
    if (questions[i].is_asked == NULL || questions[i].is_asked(facts))
      XSP_TRY(answers_add_top(&answers, questions[i].id, store, questions[i].sort, questions[i].top, err));
    if (answers.tables.count > before && answers.tables.items[before].row_count < questions[i].least_rows)
      answers.tables.count = before;
  }
  if (answers.tables.count > 0) {
    buf_text(out, "\n");
    report_tables(answers.tables.items, answers.tables.count, REPORT_TEXT, true, message_width(), out);
  }
  return STATUS_OK;
}

// *ret_is_unrecorded: of much of the program nothing was recorded.
static enum status put_causes(struct buf *out, struct store *store, struct analyze_cache *cache,
                              bool *ret_is_unrecorded, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct analyze_request request;
  struct cause *causes;
  size_t count;
  analyze_request_init(&request);
  request.cache = cache;
  request.reads_source = true;
  enum status status = analyze_causes(&store, 1, &request, &arena, &causes, &count, err);
  bool is_bold = status == STATUS_OK && count > 0 && output_has_colors();
  if (is_bold)
    buf_text(out, "\033[1m");
  if (status == STATUS_OK)
    report_causes(causes, count, out);
  if (is_bold)
    buf_text(out, "\033[0m");
  *ret_is_unrecorded = status == STATUS_OK && count > 0 && strcmp(causes[0].rule, "unrecorded") == 0;
  return status;
}

static enum status put_lines(struct buf *out, struct store *store, struct analyze_cache *cache, struct error *err)
{
  struct run_lines lines SCOPED(run_lines_done);
  XSP_TRY(run_lines_load(store, cache, &lines, err));
  run_lines_put(&lines, out);
  return STATUS_OK;
}

static void put_next(struct buf *out, const char *path, const struct run_facts *facts, bool has_samples)
{
  struct buf file SCOPED(buf_done) = {0};
  display_escape(&file, path, strlen(path));
  int stem = (int)(file.length - (text_ends_with(file.data, ".xsp") ? strlen(".xsp") : 0));
  const char *id = facts->folded != NULL  ? "A17"
                   : has_kernels(facts)   ? has_layers(facts) ? "A11" : "A8"
                   : has_layers(facts)    ? "A2"
                   : facts->set_count > 1 ? "L0"
                                          : NULL;
  buf_format(out, "\nwritten: %s\nnext:    xsp info %s\n", file.data, file.data);
  if (id != NULL)
    buf_format(out, "         xsp analyze %s %s\n", id, file.data);
  if (has_samples)
    buf_format(out, "         xsp analyze lines %s    (time by line of the program's own code)\n", file.data);
  buf_format(out, "         xsp report %s           (one page for the browser)\n", file.data);
  buf_format(out, "         xsp export %s --to perfetto -o %.*s.pftrace   (then open it in ui.perfetto.dev)\n",
             file.data, stem, file.data);
}

// Of a run whose spans were folded: what the tables of the others need is not there.
static enum status put_folded(struct buf *out, struct store *store, const char *folded, struct error *err)
{
  struct answers answers SCOPED(answers_done) = {0};
  if (strcmp(folded, "none") == 0) {
    buf_format(out, LABEL "none: no spans came, only samples are in the calling context tree\n", "folded");
    return STATUS_OK;
  }
  buf_format(out, LABEL "%s: in the calling context tree\n", "folded", folded);
  XSP_TRY(answers_add_top(&answers, "A17", store, NULL, TOP_ROWS, err));
  buf_text(out, "\n");
  report_tables(answers.tables.items, answers.tables.count, REPORT_TEXT, true, message_width(), out);
  return STATUS_OK;
}

static enum status put_spans(struct buf *out, const struct run_experiment_options *options,
                             const struct run_experiment_result *result, const struct run_facts *facts,
                             struct error *err)
{
  bool is_unrecorded;
  struct analyze_cache cache SCOPED(analyze_cache_done) = {.bytes_most = ANSWERS_CACHE_BYTES};
  enum status status = put_causes(out, result->store, &cache, &is_unrecorded, err);
  if (status == STATUS_OK)
    status = put_lines(out, result->store, &cache, err);
  put_facts(out, facts, &options->run, &result->first);
  put_messages(out, result->first.messages);
  if (status == STATUS_OK)
    status = metric_lines(result->store, 1, out, err); // the first run's are shown already
  run_unseen(options, result, facts, is_unrecorded, out);
  if (result->has_noise)
    noise_explain(&result->noise, out);
  if (status == STATUS_OK && options->run.model_range == NULL) // else its matches are the observations
    status = put_models(out, result->store, facts, err);
  if (status == STATUS_OK)
    status = put_tables(out, result->store, &cache, facts, err);
  return status;
}

enum status run_print_summary(const struct run_experiment_options *options, const struct run_experiment_result *result,
                              struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct buf out SCOPED(buf_done) = {0};
  struct run_facts facts;
  XSP_TRY(run_facts(result->store, &arena, &facts, err));
  buf_text(&out, "\nxsp: ");
  put_heading(&out, options, result);
  if (facts.folded != NULL)
    put_messages(&out, result->first.messages);
  XSP_TRY(facts.folded != NULL ? put_folded(&out, result->store, facts.folded, err)
                               : put_spans(&out, options, result, &facts, err));
  if (out.failed)
    return error_set(err, STATUS_MEMORY, "cannot print the summary", NULL, NULL, "out of memory");
  size_t samples = 0;
  XSP_TRY(store_count_samples(result->store, facts.run_id, &samples, err));
  put_next(&out, options->output_path, &facts, samples > 0);
  fputs(out.data, stderr);
  return STATUS_OK;
}
