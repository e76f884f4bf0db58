// SPDX-License-Identifier: Apache-2.0
// Automatic findings: what is probably wrong, where, and how much time it can cost at most. One file is one rule; rules.c has
// the table of them. docs/findings.md describes each for users.
#ifndef XSP_ANALYZE_FINDINGS_FINDINGS_H
#define XSP_ANALYZE_FINDINGS_FINDINGS_H

#include "analyze/findings/first_sentence.h"
#include "analyze/findings/places.h"
#include "base/map.h"
#include "base/vector.h"

#define FINDING_THRESHOLDS_MOST 6
#define FINDING_NUMBERS_MOST 12
#define FINDING_SPANS_MOST 16

struct finding_threshold {
  const char *name; // of --threshold: "hotspot-share"
  const char *unit; // "%", "us", "" …
  double usual;     // without the option
  const char *help; // what is compared with it, and how: "own time of a context, at least"
};
enum confidence { CONFIDENCE_LOW, CONFIDENCE_MEDIUM, CONFIDENCE_HIGH };
struct finding {             // texts: static, or of the answer's arena; findings.c keeps `context` and `file`
  const char *title;         // one sentence with figures
  const char *context;       // name of the function, layer or kernel that it is about
  int64_t context_id;        // 0: none
  const char *file;          // NULL: unknown
  int64_t line;              // 0: unknown
  double time_ms, share_pct; // what the place takes per observation, and its share of what the rule compares it with
  double saving_ms;          // what can be gained at most; NaN: unknown. findings.c lowers it to loop_ms
  const char *saving_basis;  // one sentence: how the bound was computed
  const char *advice;        // what to try
  enum confidence confidence;
  const struct finding_threshold *threshold; // the one that it passed: the rule's first, or what the rule says
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
  const struct finding_rule *rule; // the one that is asked now
  const struct view_set *set;      // the runs of the batch size with the most levels and without metrics
  double latency_ms;               // of an observation of `set`; NaN: unknown, in a folded file
  double loop_ms;                  // findings_loop_ms
  struct map *classes;             // flops_class by the address of the name
  const struct layers *layers;     // NULL until a rule calls findings_layers
  struct places *places;           // NULL until a rule calls findings_places
  struct rank_facts *ranks;        // NULL: not asked for yet (findings_ranks), or the file has not several
  bool ranks_are_loaded;
  struct server *server;                     // NULL until a rule calls findings_server
  const struct sampled_lines *sampled_lines; // NULL until a function of busiest_line.h is called
  double *thresholds;                        // values by rule and threshold
  struct table_cell rules;                   // what each was asked for and lacked, as JSON
  VECTOR(struct finding) all;
  bool batch_is_noted; // the table has notes on why it is this batch size
};

struct finding_rule {
  const char *id;                                               // "F1"
  const char *key;                                              // "hotspot"
  const char *title;                                            // "places that take much of the time"
  struct finding_threshold thresholds[FINDING_THRESHOLDS_MOST]; // ends with a name of NULL
  bool is_general;        // it yields where another rule has a finding at its line
  bool counts_backward;   // its bound has backward operators: it yields to a rule with `explains_backward`
  bool explains_backward; // it finds why steps run more and more backward operators
  bool takes_folded;      // it needs no spans, so it answers files of `xsp run --aggregate`
  // Adds findings. STATUS_NO (findings_lack): the file lacks what the rule needs. This does not end the question: the next rule is
  // asked.
  enum status (*find)(struct findings *findings, struct error *err);
};
extern const struct finding_rule *const finding_rules[]; // rules.c; ends with NULL

// A new finding of the rule that is asked, with the lowest confidence and no bound. The pointer is valid until the next call.
struct finding *findings_add(struct findings *findings);
void finding_number(struct finding *finding, const char *key, double value); // NaN: null
// A threshold of the rule that is asked: its value, by the option or else the usual one; its description, for finding->threshold.
double findings_threshold(const struct findings *findings, const char *name);
const struct finding_threshold *findings_threshold_of(const struct findings *findings, const char *name);
// What an observation takes, of a program with its share of the time between observations, without steps that of its own functions;
// else latency_ms, NaN in a folded file. Known before all rules.
enum status findings_loop_ms(struct findings *findings, double *ret_ms, struct error *err) MUST_CHECK;
enum status findings_lack(const struct findings *findings, struct error *err, const char *why); // STATUS_NO
// Starts a question about the same experiment and batch size, for functions of other analyses such as layers_answer. It has its own
// table and notes. `layer`: what counts as a layer, as in a request; NULL: as in this one.
enum status findings_ask(struct findings *findings, const char *layer, struct question *ret_question,
                         struct error *err) MUST_CHECK;
// The rows of another analysis about the same experiment and batch size (a_list.h). STATUS_NO: the file lacks what it needs.
enum status findings_answer(struct findings *findings, const struct analysis *analysis, struct table *ret_table,
                            struct error *err) MUST_CHECK;
// "1.25 s", "36 µs": a time for titles.
const char *findings_time(struct findings *findings, double ms);
// A copy that lasts as long as the answer; NULL of NULL.
const char *findings_keep(struct findings *findings, const char *text);
// A name for titles, cut where it is long.
const char *findings_name(struct findings *findings, const char *name);

// ---- where the time goes ---------------------------------------------------------------------------------------------
enum status findings_places(struct findings *findings, const struct places **ret_places, struct error *err) MUST_CHECK;
// Lacking where no Python called operators, or devices do their work.
enum status findings_host_places(struct findings *findings, const struct places **ret_places,
                                 struct error *err) MUST_CHECK;
// From a sum in ns over all kept observations: the mean per observation. In a folded file: the sum itself.
double findings_per_observation_ms(const struct findings *findings, double sum_ns);
const char *findings_per_observation(const struct findings *findings); // "per observation", or "in all"
// Fills context and context_id with the place, file and line with the line of Python around it (place_in_source).
void finding_at_place(struct findings *findings, struct finding *finding, uint32_t place);
// Asks for the first spans of the place, or for the first kernels and operators in the function: findings_fill_spans finds those of
// all findings at once.
void finding_spans_at(struct finding *finding, uint32_t place);
void finding_spans_in_function(struct finding *finding, uint32_t function);
void findings_fill_spans(struct findings *findings);

// ---- the whole answer (findings.c), for kept.c ----------------------------------------------------------------------
// Asks all rules and fills the question's table. `ret_first`: as findings_say_first.
enum status findings_answer_anew(struct question *question, struct first_sentence *ret_first, bool *ret_batch_is_noted,
                                 struct error *err) MUST_CHECK;
// Asks all rules for the first sentence alone.
enum status findings_say_anew(struct question *question, struct first_sentence *ret_sentence,
                              struct error *err) MUST_CHECK;

// ---- the first sentence (sentence.c) ---------------------------------------------------------------------------
double findings_saving_pct(const struct findings *findings, const struct finding *finding); // of the loop
// Of a program that `xsp run` recorded; else the text is NULL, as where devices work and nothing is found.
enum status findings_say_first(struct findings *findings, struct first_sentence *ret_sentence,
                               struct error *err) MUST_CHECK;
// Where that has none: the top finding, else what the time goes to, of any file but a folded one. NULL: it has no times.
enum status findings_say_any(struct findings *findings, struct first_sentence *ret_sentence,
                             struct error *err) MUST_CHECK;
// The share of the program that its observations cover, by A1; NaN: unknown.
enum status findings_covered_pct(struct findings *findings, double *ret_pct, struct error *err) MUST_CHECK;

// ---- thresholds from the command line --------------------------------------------------------------------------------
// STATUS_USE: --only names no rule, or --threshold no threshold or no number.
enum status findings_read_options(const struct analyze_request *request, double *ret_thresholds, bool *ret_is_asked,
                                  struct error *err) MUST_CHECK;
size_t findings_rule_count(void);

#endif
