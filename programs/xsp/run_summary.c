// SPDX-License-Identifier: Apache-2.0
// What `xsp run` says on stderr when the program has ended: the tables of `xsp analyze`, and what is not in them.
#include "programs/xsp/run_experiment.h"

#include "programs/xsp/output.h"
#include "report/report.h"

#include <stdio.h>
#include <string.h>

#define TOP_ROWS 10

struct question {
  const char *id;
  const char *sort;
  int64_t top;
};
static const struct question questions[] = {
    {"L0", NULL, 0},
    {"A2", "latency_ms", TOP_ROWS},
    {"A10", "latency_ms", TOP_ROWS},
};
#define QUESTIONS (sizeof questions / sizeof questions[0])

enum status run_summary(const struct run_experiment_options *options, const struct run_experiment_result *result,
                        struct error *err)
{
  if (options->run.quiet)
    return STATUS_OK;
  struct arena arena = {0};
  struct buf out;
  buf_init(&out, BUF_MAXIMUM_DEFAULT);
  struct analyze_table all[QUESTIONS];
  size_t count = 0;
  enum status status = STATUS_OK;
  for (size_t i = 0; i < QUESTIONS && status == STATUS_OK; i++) {
    struct analyze_request request;
    analyze_request_init(&request);
    request.sort = questions[i].sort;
    request.top = questions[i].top;
    struct analyze_table *tables = NULL;
    size_t table_count = 0;
    struct store *store = result->store;
    struct error why = {0};
    status = analyze_run(questions[i].id, &store, 1, &request, &arena, &tables, &table_count, &why);
    if (status == STATUS_NO) { // the file lacks what this analysis needs
      status = STATUS_OK;
      continue;
    }
    if (status != STATUS_OK && err != NULL)
      *err = why;
    if (status == STATUS_OK && table_count > 0)
      all[count++] = tables[0];
  }
  if (status == STATUS_OK) {
    report_tables(all, count, REPORT_TEXT, true, 0, &out);
    fprintf(stderr, "\n%s\nwritten: %s\n", out.data != NULL ? out.data : "", options->output_path);
  }
  buf_done(&out);
  arena_done(&arena);
  return status;
}
