// SPDX-License-Identifier: Apache-2.0
// Automatic findings: what is probably wrong, where, and how much time it can cost at most. One file is one rule; rules.c has
// the table of them. docs/findings.md describes each for users.
#ifndef XSP_ANALYZE_FINDINGS_FINDINGS_H
#define XSP_ANALYZE_FINDINGS_FINDINGS_H

#include "analyze/findings/places.h"
#include "base/vector.h"

#define FINDING_THRESHOLDS_MOST 4
#define FINDING_NUMBERS_MOST 12
#define FINDING_SPANS_MOST 16

struct finding_threshold {
  const char *name; // of --threshold: "hotspot-share"
  const char *unit; // "%", "us", "" …
  double usual;     // without the option
  const char *help; // what a finding needs: "share of the time, at least"
};
enum confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };
struct finding {             // texts: static, or of the answer's arena
  const char *title;         // one sentence with figures
  const char *context;       // name of the context, layer or kernel
  int64_t context_id;        // 0: none
  const char *file;          // NULL: unknown
  int64_t line;              // 0: unknown
  double time_ms, share_pct; // per observation (findings_per_observation_ms), and of what a rule compares it with
  double saving_ms;          // an upper bound; NaN: none is known. findings.c cuts it at the observation's latency
  const char *saving_basis;  // one sentence: how the bound was computed
  const char *advice;        // what to try
  enum confidence confidence;
  const struct finding_threshold *threshold; // that it is above, or below
  int64_t run_id;                            // of `spans`; 0: none
  int64_t spans[FINDING_SPANS_MOST];
  size_t span_count;
  uint32_t shown_place, shown_function; // whose first spans these become (spans.c); PLACE_NONE
  struct finding_number {
    const char *key; // with its unit: "mean_us"
    double value;
  } numbers[FINDING_NUMBERS_MOST];
  size_t number_count;
  const struct finding_rule *rule; // set by findings_add
};

struct findings { // one question about one experiment
  struct question *question;
  const struct finding_rule *rule; // that is asked
  const struct view_set *set;      // the deepest of the batch size, without metrics
  double latency_ms;               // of its observations; NaN: unknown, of a folded file
  struct places *places;           // findings_places loads them once
  double *thresholds;              // by rule and threshold
  VECTOR(struct finding) all;
};

struct finding_rule {
  const char *id;                                               // "F1"
  const char *key;                                              // "hotspot"
  const char *title;                                            // "places that take much of the time"
  struct finding_threshold thresholds[FINDING_THRESHOLDS_MOST]; // ends with a name of NULL
  bool takes_folded;                                            // answers without spans: `xsp run --aggregate`
  // Adds findings. STATUS_NO: the file lacks what the rule needs (findings_lack); other rules are asked all the same.
  enum status (*find)(struct findings *findings, struct error *err);
};
extern const struct finding_rule *const finding_rules[]; // rules.c; ends with NULL

// A finding of the rule that is asked, of the lowest confidence and without a bound. Valid until the next is added.
struct finding *findings_add(struct findings *findings);
void finding_number(struct finding *finding, const char *key, double value); // NaN: null
// The value of one of the asked rule's thresholds: the option's, else its usual one.
double findings_threshold(const struct findings *findings, const char *name);
// The same as finding->threshold.
const struct finding_threshold *findings_threshold_of(const struct findings *findings, const char *name);
enum status findings_lack(const struct findings *findings, struct error *err, const char *why); // STATUS_NO
// A question of another analysis about the same experiment and batch size, with a table and notes of its own, for functions
// such as layers_answer. `layer`: as in the request; NULL: the request's.
enum status findings_ask(struct findings *findings, const char *layer, struct question *ret_question,
                         struct error *err) MUST_CHECK;
// The rows of another analysis about the same experiment and batch size (a_list.h). STATUS_NO: the file lacks what it needs.
enum status findings_answer(struct findings *findings, const struct analysis *analysis, struct table *ret_table,
                            struct error *err) MUST_CHECK;
// "1.25 s", "36 µs": a time for titles.
const char *findings_time(struct findings *findings, double ms);
// A name for titles, cut where it is long.
const char *findings_name(struct findings *findings, const char *name);

// ---- where the time goes ---------------------------------------------------------------------------------------------
enum status findings_places(struct findings *findings, const struct places **ret_places, struct error *err) MUST_CHECK;
// Mean per kept observation, of a sum in ns; of a folded file the sum over its runs.
double findings_per_observation_ms(const struct findings *findings, double sum_ns);
const char *findings_per_observation(const struct findings *findings); // "per observation", or "in all"
// Fills context, context_id, file and line with the place, and with where it was called from.
void finding_at_place(struct findings *findings, struct finding *finding, uint32_t place);
// Asks for the first spans of the place, or for the first kernels and operators in the function: findings_fill_spans finds those of
// all findings at once.
void finding_spans_at(struct finding *finding, uint32_t place);
void finding_spans_in_function(struct finding *finding, uint32_t function);
void findings_fill_spans(struct findings *findings);

// ---- thresholds from the command line --------------------------------------------------------------------------------
// STATUS_USE: --only names no rule, or --threshold no threshold or no number.
enum status findings_read_options(const struct analyze_request *request, double *ret_thresholds, bool *ret_is_asked,
                                  struct error *err) MUST_CHECK;
size_t findings_rule_count(void);

#endif
