// SPDX-License-Identifier: Apache-2.0
// What the export to OTLP needs of a run besides its spans, found by span, track or trace. Inside this room only.
#ifndef XSP_REPORT_EXPORTS_OTLP_FACTS_H
#define XSP_REPORT_EXPORTS_OTLP_FACTS_H

#include "analyze/analyze.h"
#include "otlp/encode.h"

struct otlp_facts {
  const struct store_run *run;
  const struct store_experiment *experiment;
  struct store_system_value *system;
  size_t system_count;
  struct store_system_value *workload; // of the experiment's model
  size_t workload_count;
  struct store_track *tracks; // by id
  bool *track_is_used;        // by place in `tracks`
  size_t track_count;
  struct store_tag *tags; // by span, then file order
  size_t tag_count;
  struct store_observation *observations; // by span; those that are spans
  size_t observation_count;
  struct store_trace *traces; // by id
  size_t trace_count;
  struct store_log *logs; // by span, then file order
  size_t log_count;
  struct store_note *notes; // of the run and of the file
  size_t note_count;
  uint64_t span_base;   // span_id_base of the run's notes, added to ids; 0: none
  const char *caller;   // remote_parent of the run's notes: the parent of topmost spans; NULL: none
  bool has_own_trace;   // spans without a trace
  bool has_many_traces; // two spans have different ones, or one has none and one does
  bool has_all_tags;    // ids of parts overlap, as those of several rings do: each part would read nearly all tags
  bool run_goes_on;     // what is known only at its end is missing
  bool has_levels;      // of one that goes on: those of its row stay
  uint8_t own_trace[16];
};

// Into `arena`, without tags unless has_all_tags. The caller sets run and experiment.
enum status otlp_facts_load(struct store *store, struct otlp_facts *facts, struct arena *arena,
                            struct error *err) MUST_CHECK;
// The same of a run that goes on, with the tags and logs of its spans between two places.
enum status otlp_facts_load_part(struct store *store, struct otlp_facts *facts, const struct store_place *from,
                                 const struct store_place *to, struct arena *arena, struct error *err) MUST_CHECK;
// Tags of spans that store_walk_spans hands over, instead of those before; nothing where they are loaded.
enum status otlp_facts_load_tags(struct store *store, struct otlp_facts *facts, const struct store_spans *spans,
                                 struct arena *arena, struct error *err) MUST_CHECK;
const struct store_track *otlp_facts_track(const struct otlp_facts *facts, uint32_t track_id); // NULL: not known
// The position of a span's first tag or message; where it has none, of the next span's.
size_t otlp_facts_first_tag(const struct otlp_facts *facts, int64_t span_id);
size_t otlp_facts_first_message(const struct otlp_facts *facts, int64_t span_id);
// Which observation a span is; -1: none.
int64_t otlp_facts_observation(const struct otlp_facts *facts, int64_t span_id);
// The parent of a span that is outside the file, in a trace that it continues; false: none is recorded.
bool otlp_facts_remote_parent(struct store *store, const struct otlp_facts *facts, int64_t span_id,
                              uint8_t ret_bytes[8]);
void otlp_facts_span_id(const struct otlp_facts *facts, int64_t span_id,
                        uint8_t ret_bytes[8]); // in the file that is written
// A trace as 16 bytes. *ret_text: its text, where it is not their hex form; else NULL.
void otlp_facts_trace(const struct otlp_facts *facts, uint32_t trace_id, uint8_t ret_bytes[16], const char **ret_text);

// otlp_resource.c: all attributes of the resource. is_first: in the first request of the run; with_file_notes: in that of
// the file.
void otlp_facts_put_resource(struct otlp_out *out, const struct otlp_facts *facts, bool is_first, bool with_file_notes);

static inline void otlp_put_text(struct otlp_out *out, enum otlp_field_id list, const char *key, const char *text)
{
  if (text != NULL)
    otlp_out_attribute(out, list, "", slice_of(key), otlp_value_of_text(slice_of(text)));
}

static inline void otlp_put_int(struct otlp_out *out, enum otlp_field_id list, const char *key, int64_t number)
{
  if (number != STORE_NONE)
    otlp_out_attribute(out, list, "", slice_of(key), otlp_value_of_int(number));
}

#endif
