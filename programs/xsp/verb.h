// SPDX-License-Identifier: Apache-2.0
// What a verb of the command line is: one static descriptor, one file verb_NAME.c, one line in verbs[] (verbs.c).
// The descriptor's texts are the only source of `xsp help`, the man pages and the shell completion.
//
// A verb's run() gets parsed options and plain arguments. It writes data with output.h (stdout), messages to stderr, and
// returns a status; main turns that into the exit status and prints *err as one line where err->what is not empty.
#ifndef XSP_PROGRAMS_XSP_VERB_H
#define XSP_PROGRAMS_XSP_VERB_H

#include "base/buf.h"
#include "base/error.h"
#include "format/level.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_flag {
  OPTION_REPEATABLE = 1,  // else the last one given counts
  OPTION_AT_START = 2,    // xsp run: acts on a program's start
  OPTION_BY_SPAN = 4,     // xsp run: needs spans, or executions to compare
  OPTION_OF_FINDINGS = 8, // xsp analyze: of the analysis findings
};
// One long option. Options may be anywhere before `--`; `--name=value` and `--name value` are the same.
struct option_description {
  const char *name;       // "batch"; NULL ends a table
  char letter;            // 'o' for -o; 0: none
  const char *value_name; // "N,N,..."; NULL: a flag without value; "light|full", in small letters: one of these words
  const char *default_value; // what invocation_value gives where the option is absent; NULL: NULL
  unsigned flags;            // bits of enum option_flag
  const char *help;          // sentences, one paragraph; wrapped by the renderers
};

#define OPTION_FORCE                                                                                                   \
  {                                                                                                                    \
    "force", 'f', NULL, NULL, 0, "Replace an existing file."                                                           \
  }

struct verb_example {
  const char *command; // "xsp analyze A2 out.xsp --top 10"; NULL ends a table
  const char *meaning; // "the ten slowest layers"
};

struct invocation;

#define VERB_LIST "  %list" // a paragraph of a description: what a table has, from the table
struct verb {
  const char *name;
  const char *summary;  // one line, no full stop
  const char *synopsis; // after `xsp NAME`: "FILE \"select ...\" [OPTION...]"
  const char
      *description; // paragraphs, separated by an empty line; a line that starts with two spaces is kept as it is
  void (*put_list)(struct buf *out);        // what VERB_LIST in the description stands for; NULL: nothing
  size_t least_arguments, most_arguments;   // plain arguments; SIZE_MAX: any number
  const struct option_description *options; // own ones; NULL: none. Every verb also has --help and --quiet
  bool is_reader;                           // also has --format and --json (reader.h)
  bool takes_command;                       // the first plain argument ends the options: it begins a command
  int wrong_use_status;                     // exit status of wrong use; 0: the one of all verbs
  const struct verb_example *examples;      // NULL: none
  const char *see_also;                     // "info, sql"; NULL: none
  enum status (*run)(const struct invocation *invocation, struct error *err);
};

extern const struct verb *const verbs[]; // in the order of help; ends with NULL
// STATUS_USE with the nearest verb's name after `command` ("xsp help") as advice.
enum status verb_find(const char *name, const char *command, const struct verb **ret_verb,
                      struct error *err) MUST_CHECK;

// ---- what was given --------------------------------------------------------------------------------------------------
struct invocation_option {
  const struct option_description *description;
  const char *value;     // NULL for a flag; borrowed from argv
  size_t argument_count; // plain arguments before it
};
struct invocation {
  const struct verb *verb;
  const char **arguments; // plain ones, in order
  size_t argument_count;
  struct invocation_option *options; // in order
  size_t option_count;
};

bool invocation_has(const struct invocation *invocation, const char *name); // was it given?
// STATUS_USE where the output is one of the plain arguments, even with --force: nobody means to lose the trace that is being read.
enum status invocation_refuse_input(const struct invocation *invocation, const char *output,
                                    struct error *err) MUST_CHECK;
// The last value given, else the option's default, else NULL.
const char *invocation_value(const struct invocation *invocation, const char *name);
// The `index`-th value of a repeatable option, NULL after the last (defaults do not count).
const char *invocation_value_at(const struct invocation *invocation, const char *name, size_t index);
// The VALUE of a text NAME=VALUE; NULL: the text is not of this name.
const char *option_value_of(const char *text, const char *name);
// The PATH of the last --library NAME=PATH for this name; NULL: none.
const char *invocation_library(const struct invocation *invocation, const char *name);
// A whole number, least <= n <= most. *ret_value stays as it is where the option has neither value nor default.
enum status invocation_int64(const struct invocation *invocation, const char *name, int64_t least, int64_t most,
                             int64_t *ret_value, struct error *err) MUST_CHECK;
// The same of one option's value.
enum status option_int64(const char *name, const char *text, int64_t least, int64_t most, int64_t *ret_value,
                         struct error *err) MUST_CHECK;
enum status invocation_double(const struct invocation *invocation, const char *name, double least, double most,
                              double *ret_value, struct error *err) MUST_CHECK;
// The same, with or without a % at its end.
enum status invocation_percent(const struct invocation *invocation, const char *name, double least, double most,
                               double *ret_value, struct error *err) MUST_CHECK;
enum status invocation_unsigned(const struct invocation *invocation, const char *name, unsigned least, unsigned most,
                                unsigned *ret_value, struct error *err) MUST_CHECK;
// "4294967296", "4096M", "4G": bytes, by binary multiples up to T.
enum status invocation_bytes(const struct invocation *invocation, const char *name, uint64_t least, uint64_t most,
                             uint64_t *ret_bytes, struct error *err) MUST_CHECK;
// A comma-separated list of whole numbers from 1 into a malloc'ed array that the caller frees. `text` is the option's value.
enum status option_int64_list(const char *name, const char *text, int64_t most, int64_t **ret_values, size_t *ret_count,
                              struct error *err) MUST_CHECK;

// The first given one with a flag; NULL: none.
const char *invocation_flagged(const struct invocation *invocation, enum option_flag flag);

// The value of --levels: different level sets, separated by commas. `sets` has room for `most`.
enum status option_level_sets(const char *text, struct level_set *sets, size_t most, size_t *ret_count,
                              struct error *err) MUST_CHECK;

// --call-paths, which xsp run and xsp profile share.
#define OPTION_CALL_PATHS                                                                                              \
  {                                                                                                                    \
    "call-paths", 0, "light|full|none", NULL, 0,                                                                       \
        "How far a layer's callers are recorded. light: the Python functions and operators around it. full: also the " \
        "native "                                                                                                      \
        "functions between, which costs more. none: nothing. Default: light, by tracers of frameworks that have "      \
        "Python "                                                                                                      \
        "callers."                                                                                                     \
  }
#define OPTION_COUNTERS                                                                                                \
  {                                                                                                                    \
    "counters", 0, "NAME,...", NULL, OPTION_AT_START | OPTION_BY_SPAN,                                                 \
        "Count within each span that begins and ends on one thread, as its tags: cpu_ns, page_faults, "                \
        "context_switches, system_calls, or os, which is all four of them; of hardware, where the machine gives it "   \
        "to programs, instructions, cycles, cache_references, cache_misses, branches, branch_misses, or PAPI's "       \
        "PAPI_TOT_INS, PAPI_TOT_CYC, PAPI_BR_INS, PAPI_BR_MSP."                                                        \
  }
#define OPTION_CUDA_TEXT                                                                                               \
  "What the tracer of CUDA records: api=some|all|none (calls); activities= of kernel, memcpy, memset, sync, memory "   \
  "with + between them; metrics=xsp, or names of CUPTI's metrics with + between them, in runs of their own "           \
  "(M/L/K+metrics); collect=kernel|application|sampling (how); samples=continuous|serialized (of instructions). "      \
  "Default: some calls, all activities, no metrics, no samples."

// --serialize: adds the serialised twin of the deepest of these sets.
enum status option_add_serial_set(struct level_set *sets, size_t most, size_t *count, struct error *err) MUST_CHECK;

// --cuda, where its text is wrong; with metrics= and without a set `+metrics`: adds the twin with metrics of the deepest set with
// kernels. `has_tracer`: one of those chosen collects metrics.
enum status option_metric_sets(const char *cuda, bool has_tracer, struct level_set *sets, size_t most, size_t *count,
                               struct error *err) MUST_CHECK;

// Whether its value is one of the words of `value_name`.
bool option_has_words(const struct option_description *option);
// STATUS_USE about --name, or --name=value where there is one.
enum status option_refused(const char *name, const char *value, const char *advice, const char *why,
                           struct error *err) MUST_CHECK;
// Parses argv[2..]; STATUS_USE with a line that names the nearest option. invocation_done frees, also after an error.
enum status invocation_parse(const struct verb *verb, int count, char **texts, struct invocation *ret_invocation,
                             struct error *err) MUST_CHECK;
void invocation_done(struct invocation *invocation);

// The options a verb really has, shared ones included: walks its own table, then the shared ones. NULL after the last.
const struct option_description *verb_option_at(const struct verb *verb, size_t index);

#endif
