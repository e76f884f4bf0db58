// SPDX-License-Identifier: Apache-2.0
// What kind of input a block of rows is, before anything is computed with it. Private to correlate.
#ifndef XSP_CORRELATE_SURVEY_H
#define XSP_CORRELATE_SURVEY_H

#include "correlate/rows.h"

struct parents_survey {
  uint64_t is_bad, ids_rise; // in the sign bit
  bool has_named;            // recorded parents
  bool has_executions, has_calls, has_steps, has_open;
  bool has_bases;              // recorded with their basis
  bool needs_marks, has_marks; // some row of the last block does; of any block
};

// Bits of a row's basis while parents are searched for.
#define MARK_NO_CONTAINMENT 0x80u // takes no parent by containment
#define MARK_FINAL 0x40u          // nor by correlation: the source named the parent, or said that there is none
#define MARK_CLOSED 0x20u         // a host API call: nobody's parent
#define MARKS 0xe0u

// Adds rows [first, end) to the survey. Blocks come last first, the survey starts as {.ids_rise = UINT64_MAX}.
void parents_survey_block(const struct store_spans *spans, size_t first, size_t end, struct parents_survey *survey);
// Says what is wrong with the first of the spans that parents_survey_block found fault with.
enum status parents_survey_refuse(const struct store_spans *spans, struct error *err);
enum status parents_survey_bad_span(struct error *err, const struct store_spans *spans, size_t row, const char *why);
// Marks and bases of rows [first, end) whose block needs marks; `basis` is that of row 0.
void parents_survey_mark(const struct store_spans *spans, size_t first, size_t end, uint8_t *basis);

#endif
