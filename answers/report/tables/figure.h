// SPDX-License-Identifier: Apache-2.0
// Figures for people: one unit and one number of decimals for a whole column, chosen from its largest value.
#ifndef XSP_REPORT_TABLES_FIGURE_H
#define XSP_REPORT_TABLES_FIGURE_H

#include "analyze/analyze.h"
#include "base/arena.h"
#include "base/buf.h"

struct figure_style {
  double factor;     // shown = value * factor
  const char *unit;  // as shown: "µs"; "" for none. Static text
  int decimals;      // for reals, and for integers that are scaled; FIGURE_AS_IT_IS: of reals all
  bool keeps_digits; // small figures have further decimals, so that three digits of each are seen
};
#define FIGURE_AS_IT_IS (-1) // of unlike things in one column, as values of tags: no scale fits all
// `unit` as in struct table_column; `largest` is the largest absolute value to be shown.
struct figure_style report_figure_style(const char *unit, double largest, bool only_integers);
// Adds decimals where `largest`, of the figures in this style, is far below the value that the unit was chosen for.
void report_figure_style_refine(struct figure_style *style, double largest);
// Appends the cell's text: numbers in style, "yes" for true, nothing for false, "-" for null.
void report_figure_put(struct buf *out, const struct table_cell *cell, const struct figure_style *style);

#endif
