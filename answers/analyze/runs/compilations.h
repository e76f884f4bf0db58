// SPDX-License-Identifier: Apache-2.0
// Compilations of models (spans of category "compile"): what was compiled, why, and from which line. For A25 and rules.
#ifndef XSP_ANALYZE_RUNS_COMPILATIONS_H
#define XSP_ANALYZE_RUNS_COMPILATIONS_H

#include "analyze/view.h"

enum compilation_kind {
  COMPILATION_FIRST,    // of a function
  COMPILATION_BACKWARD, // of its gradients
  COMPILATION_BREAK,    // of what follows a graph break
  COMPILATION_SHAPE,    // again: tensors of other shapes or types
  COMPILATION_FUNCTION, // again: another function object with the same code
  COMPILATION_GUARD,    // again: another value, or an unknown reason
  COMPILATION_SESSION,  // another session of a model
  COMPILATION_KINDS
};
struct compilation { // texts: NULL where unknown
  const char *function, *file;
  int64_t line; // where the function begins; 0: unknown
  enum compilation_kind kind;
  bool is_tf_function; // a tracing
  bool is_first;       // known to be the first of its function, gradients and what follows a break too
  const char *reason;  // why it is compiled again
  const char *graph_break, *break_source; // its first graph break; "net.py:12"
  uint32_t context_id;                    // of its call path; 0: none
  int64_t start_ns, duration_ns;
  int32_t observation; // an index into the run's, -1: none
  size_t row;          // of the run's spans
};
struct compilations { // of a run, by start
  struct compilation *items;
  size_t count;
};

// Texts and items are in the question's scratch.
enum status compilations_load(struct question *question, const struct view_run *run, struct compilations *ret,
                              struct error *err) MUST_CHECK;
// The last one that begins before a time, if it is not over; SIZE_MAX. Where compilations are nested, that is the inner one.
size_t compilations_at(const struct compilations *compilations, int64_t time_ns);
// Calls `visit` for each sample of a program's main thread that lies in a compilation without a call path.
typedef void compilations_sampled_fn(void *context, size_t compilation, uint32_t context_id, double ns);
enum status compilations_samples(struct question *question, const struct view_run *run,
                                 const struct compilations *compilations, compilations_sampled_fn *visit, void *context,
                                 struct error *err) MUST_CHECK;
static inline bool compilation_is_again(const struct compilation *compilation)
{
  return compilation->kind >= COMPILATION_SHAPE;
}
// Whether they have one kind and one reason, but for the values that it compares.
bool compilation_is_alike(const struct compilation *a, const struct compilation *b);
bool compilation_is_of_one(const struct compilation *a, const struct compilation *b); // function
const char *compilation_kind_name(enum compilation_kind kind);

#endif
