// SPDX-License-Identifier: Apache-2.0
// What the export to OTLP needs of a run besides its spans, found by span, track or trace. Inside this room only.
#ifndef XSP_REPORT_EXPORTS_OTLP_FACTS_H
#define XSP_REPORT_EXPORTS_OTLP_FACTS_H

#include "analyze/analyze.h"
#include "base/vector.h"

struct otlp_log {           // a row of table log
  int64_t span_id, time_ns; // 0: of no span
  const char *text;
  size_t length;
};
struct otlp_trace { // a row of table trace
  int64_t trace_id;
  const char *text;
};

struct otlp_facts {
  const struct store_run *run;
  const struct store_experiment *experiment;
  const struct store_system_value *system;
  size_t system_count;
  const struct store_system_value *workload; // of the experiment's model
  size_t workload_count;
  struct store_track *tracks; // by id
  bool *track_is_used;        // by place in `tracks`
  size_t track_count;
  struct store_tag *tags; // by span, then file order
  size_t tag_count;
  struct store_observation *observations; // by span; those that are spans
  size_t observation_count;
  VECTOR(struct otlp_trace) traces; // by id
  VECTOR(struct otlp_log) messages; // by span, then file order
  struct store_note *notes;         // of the run and of the file
  size_t note_count;
  bool has_own_trace;   // spans without a trace
  bool has_many_traces; // two spans have different ones, or one has none and one does
  uint8_t own_trace[16];
};

// The caller sets run, experiment, system and workload, and frees with otlp_facts_done, after an error too; texts are
// in `arena`.
enum status otlp_facts_load(struct store *store, struct otlp_facts *facts, struct arena *arena,
                            struct error *err) MUST_CHECK;
void otlp_facts_done(struct otlp_facts *facts);
const struct store_track *otlp_facts_track(const struct otlp_facts *facts, uint32_t track_id); // NULL: not known
// The position of a span's first tag or message; where it has none, of the next span's.
size_t otlp_facts_first_tag(const struct otlp_facts *facts, int64_t span_id);
size_t otlp_facts_first_message(const struct otlp_facts *facts, int64_t span_id);
// Which observation a span is; -1: none.
int64_t otlp_facts_observation(const struct otlp_facts *facts, int64_t span_id);
// A trace as 16 bytes. *ret_text: its text, where it is not their hex form; else NULL.
void otlp_facts_trace(const struct otlp_facts *facts, uint32_t trace_id, uint8_t ret_bytes[16], const char **ret_text);

#endif
