// SPDX-License-Identifier: Apache-2.0
// Test support: writes small experiments with known answers and reads tables by key. Not part of the library.
#ifndef XSP_ANALYZE_TEST_FIXTURE_H
#define XSP_ANALYZE_TEST_FIXTURE_H

#include "analyze/analyze.h"

struct fixture {
  struct store *store;
  char path[64];
  struct arena arena; // of the answers
  struct error error;
  int64_t run_id, span_id, now_ns, correlation_id;
  int64_t experiment_id;
  int64_t created_ns;  // of further experiments; since 1970
  uint32_t context_id; // call path of further spans; 0: none
  uint32_t track_id;
  uint32_t thread, stream; // tracks of further spans, and of further executions; each run begins with 1 and 2
  struct analyze_request request;
  int64_t parent_id; // that further spans record; 0: none
  struct table *tables;
  size_t table_count;
};
#define UNKNOWN_BYTES INT64_MIN
struct fixture_layer {
  const char *name, *type, *shape; // NULL: no tag
  const char *category;
  int64_t index;       // -1: no tag
  int64_t alloc_bytes; // UNKNOWN_BYTES: no tag
};

void fixture_start(struct fixture *fixture);
void fixture_experiment(struct fixture *fixture, const char *name);
void fixture_experiment_on(struct fixture *fixture, const char *name, const struct store_system_value *system,
                           size_t count);
// The call path of a frame called from `caller` (0: the outermost); kind: enum xsp_frame_kind, file NULL: unknown.
uint32_t fixture_frame(struct fixture *fixture, uint32_t caller, unsigned kind, const char *name, const char *file,
                       int64_t line);
void fixture_run(struct fixture *fixture, const char *levels, int64_t batch_size); // further spans are its
void fixture_run_full(struct fixture *fixture, const struct store_run *run);       // ids are filled in
// Another track of the run. run_id and track_id are filled in; returns the latter.
uint32_t fixture_track(struct fixture *fixture, const struct store_track *track);
int64_t fixture_span(struct fixture *fixture, unsigned level, const char *name, int64_t start_ns, int64_t duration_ns);
int64_t fixture_span_in(struct fixture *fixture, unsigned level, const char *category, const char *name,
                        int64_t start_ns, int64_t duration_ns); // category NULL: none
int64_t fixture_kernel(struct fixture *fixture, int64_t launch_ns, int64_t start_ns, int64_t duration_ns,
                       const char *category);
int64_t fixture_kernel_named(struct fixture *fixture, const char *name, int64_t launch_ns, int64_t start_ns,
                             int64_t duration_ns);
// A sample on fixture->thread, at fixture->context_id; kind: enum sample_kind. A wait ends at `time_ns`.
void fixture_sample(struct fixture *fixture, unsigned kind, int64_t time_ns, int64_t duration_ns);
void fixture_words(struct fixture *fixture, int64_t span_id, const char *key, const char *value); // a text tag
void fixture_real(struct fixture *fixture, int64_t span_id, const char *key, double value);
void fixture_layer(struct fixture *fixture, const struct fixture_layer *layer, int64_t start_ns, int64_t duration_ns);
void fixture_int(struct fixture *fixture, int64_t span_id, const char *key, int64_t value);
// A model span from now on; advances now. `is_warmup` sets its tag.
void fixture_model(struct fixture *fixture, int64_t duration_ns, bool is_warmup);
void fixture_ready(struct fixture *fixture); // correlates and finishes the file
void fixture_done(struct fixture *fixture);

enum status fixture_ask(struct fixture *fixture, const char *id);                  // fills tables
double fixture_number(const struct fixture *fixture, size_t row, const char *key); // NaN: null. Fails on unknown keys
const char *fixture_text(const struct fixture *fixture, size_t row, const char *key); // NULL: null
double fixture_summary(const struct fixture *fixture, const char *key);
const char *fixture_summary_text(const struct fixture *fixture, const char *key);
bool fixture_has_column(const struct fixture *fixture, const char *key);
bool fixture_has_note(const struct fixture *fixture, const char *part);

#define ASSERT_NEAR(a, b) fixture_near(a, b, __FILE__, __LINE__)
void fixture_near(double value, double expected, const char *file, int line); // 1e-9 relative

#endif
