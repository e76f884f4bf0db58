// SPDX-License-Identifier: Apache-2.0
// Where the time of the kept observations goes, as a tree: calling contexts where the spans have call paths, else chains of
// span names. Figures are sums over the observations that the statistic keeps; of a file of `xsp run --aggregate`, over its runs.
#ifndef XSP_ANALYZE_FINDINGS_PLACES_H
#define XSP_ANALYZE_FINDINGS_PLACES_H

#include "analyze/view.h"

#define PLACE_NONE UINT32_MAX
#define PLACES_MOST 1000000u // further chains of names count in the place around them

struct place_units { // kernels, or operators that Python or a range called
  double count, ns;
  double log_ns;   // of a place: their logarithms added up
  double usual_ns; // as if each took the geometric mean at its place: one that waits for a processor hardly counts
  double
      lead_ns; // of functions, the time between two units of the same function or of functions below it: since the one
               // before on the track ended, or, where it is around, began; of operators pauses up to 100 us
};
struct place_figures { // each span in one place only: its own time
  double host_ns;      // of spans of the host, without those in them
  double device_ns;    // of executions that are no waits
  struct place_units kernels, operators;
};
struct place_lead { // the time between two units, in that order, on one track
  uint32_t before, after;
  bool is_kernel;
  double ns;
};
struct place {
  uint32_t parent;         // earlier in the array; PLACE_NONE: at the top
  uint32_t function;       // in `functions`: this place, and others of the same parent and function at other lines
  uint8_t frame_kind;      // enum xsp_frame_kind; XSP_FRAME_KINDS: a span without a call path
  uint8_t level;           // the highest of its spans; 0: unknown
  bool is_module;          // such a span is of category module
  const char *name, *file; // of the store; file NULL: unknown
  int64_t line;            // 0: unknown
  struct place_figures own;
};
enum place_counts { // of a row
  COUNTS_NOT,       // in no kept observation
  COUNTS_TIME,
  COUNTS_UNIT, // also as a kernel or an operator of struct place_units
};
struct places_run {
  int64_t run_id;
  const int64_t *span_ids;
  const uint32_t *place_of; // by row: an index into `all`; PLACE_NONE: the span counts nowhere
  const uint8_t *counts;    // by row, enum place_counts
  size_t count;
};
struct places {
  struct place *all; // calling contexts by id - 1, then places of spans without a call path
  size_t count;
  struct place
      *functions; // places of one function together: line and figures as of `all`, the line of the one with most time
  size_t function_count;
  struct places_run *runs; // none of a folded file
  size_t run_count;
  struct place_figures total, top; // top: leads between units that have no function in common
  double observations;             // kept; 1 of a folded file
  bool has_contexts, has_python, has_devices, has_kernels, is_folded;
};

enum status finding_places_load(struct question *question, const struct view_set *set, struct places *ret_places,
                                struct error *err) MUST_CHECK;
// Fills `functions` and `total`; called by finding_places_load.
void places_group(struct places *places, struct arena *arena);
void places_add_leads(struct places *places, const struct place_lead *leads, size_t count);
void place_units_add(struct place_units *to, const struct place_units *from); // all but log_ns
void place_figures_add(struct place_figures *to, const struct place_figures *from);
// The context that people look for: the place itself, or the innermost around it, that is Python code of no installed package;
// else the innermost that has a file. PLACE_NONE: none has.
uint32_t place_in_source(const struct place *all, uint32_t place);
// Python code of the program's own; the innermost such context, the place itself or around it. PLACE_NONE: there is none.
bool place_is_own(const struct place *place);
uint32_t place_own_source(const struct place *all, uint32_t place);
// By place: the first one of its function and line, whichever functions call them.
const uint32_t *places_lines(const struct places *places, struct arena *arena);
// Of an installed package, or generated: no code of the program's own.
bool place_is_installed(const struct place *place);
// Python functions of frameworks that only hand on to what is called: no one wrote a model in them.
bool place_is_glue(const struct place *place);

#endif
