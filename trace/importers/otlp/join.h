// SPDX-License-Identifier: Apache-2.0
// Joins the runs of a journal that call each other: where a span names a span of another run as its parent, in the same trace,
// both runs become one, the caller's. Needs two passes over the file: a survey of ids and times, then the import. Inside this
// folder only. One thread.
//
// Runs stay apart where that would be wrong: of an experiment whose several runs are in the trace (level sets, batch sizes) only
// the one with most levels is joined; and runs in which one id is two spans are not joined.
#ifndef XSP_IMPORTERS_OTLP_JOIN_H
#define XSP_IMPORTERS_OTLP_JOIN_H

#include "importers/otlp/model.h"

struct otlp_join_span {
  uint64_t number, parent; // as the file has them, without the top bit; parent 0: none
  int64_t start_ns, end_ns;
  uint32_t trace; // of import_otlp_join_trace
  struct slice name;
  bool may_outlive; // it is a consumer: its parent does not wait for its end
};
// `callers` of runs that were joined: ids of parents that are in another run.
struct otlp_join;
struct otlp_join *import_otlp_join_new(void);
uint32_t import_otlp_join_trace(struct otlp_join *join, struct slice text);
void import_otlp_join_span(struct otlp_join *join, const struct otlp_run *run, const struct otlp_join_span *span);
// The survey is over: sets `joined` and `shift` of the model's runs, and what the joined runs have in common. `join` lives as
// long as the runs do, but lets its spans go.
void import_otlp_join_runs(struct otlp_join *join, struct otlp_model *model);
// Whether a span of another run has this id: then it is a parent like those of the run itself.
bool import_otlp_join_is_caller(const struct otlp_join *join, uint64_t number);
// A time of that run on the clock of the run that it joined.
int64_t import_otlp_join_time(const struct otlp_run *run, int64_t time_ns);
void import_otlp_join_free(struct otlp_join *join); // NULL is fine

#endif
