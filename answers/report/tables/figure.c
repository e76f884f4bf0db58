// SPDX-License-Identifier: Apache-2.0
// Scales and formats figures for text and Markdown. CSV and JSON are exact and do not come here. Pure.
#include "report/tables/figure.h"

#include "base/json_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct scale {
  const char *unit; // of the value
  double below;     // used while the largest value is below this
  double factor;
  const char *shown;
};

static const struct scale scales[] = {
    {"ns", 1e4, 1, "ns"},
    {"ns", 1e7, 1e-3, "µs"},
    {"ns", 1e10, 1e-6, "ms"},
    {"ns", INFINITY, 1e-9, "s"},
    {"ms", 1e-3, 1e6, "ns"},
    {"ms", 1, 1e3, "µs"},
    {"ms", 1e4, 1, "ms"},
    {"ms", INFINITY, 1e-3, "s"},
    {"bytes", 1e4, 1, "B"},
    {"bytes", 1e6, 1e-3, "kB"},
    {"bytes", 1e9, 1e-6, "MB"},
    {"bytes", 1e12, 1e-9, "GB"},
    {"bytes", INFINITY, 1e-12, "TB"},
    {"bytes/s", 1e6, 1e-3, "kB/s"},
    {"bytes/s", 1e9, 1e-6, "MB/s"},
    {"bytes/s", INFINITY, 1e-9, "GB/s"},
    {"flops", 1e4, 1, "flop"},
    {"flops", 1e6, 1e-3, "kflop"},
    {"flops", 1e9, 1e-6, "Mflop"},
    {"flops", 1e12, 1e-9, "Gflop"},
    {"flops", INFINITY, 1e-12, "Tflop"},
    {"flops/s", 1e9, 1e-6, "Mflop/s"},
    {"flops/s", 1e12, 1e-9, "Gflop/s"},
    {"flops/s", INFINITY, 1e-12, "Tflop/s"},
    {"flops/byte", INFINITY, 1, "flop/B"},
    {"ops", 1e4, 1, "op"},
    {"ops", 1e6, 1e-3, "kop"},
    {"ops", 1e9, 1e-6, "Mop"},
    {"ops", 1e12, 1e-9, "Gop"},
    {"ops", INFINITY, 1e-12, "Top"},
    {"1/s", INFINITY, 1, "/s"},
    {"%", INFINITY, 1, "%"},
};

static bool is_time(const char *unit)
{
  return strcmp(unit, "ms") == 0 || strcmp(unit, "s") == 0 || strcmp(unit, "µs") == 0;
}

struct figure_style report_figure_style(const char *unit, double largest, bool only_integers)
{
  struct figure_style style = {.factor = 1, .unit = unit != NULL ? unit : ""};
  for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++)
    if (strcmp(scales[i].unit, style.unit) == 0 && largest < scales[i].below &&
        (largest > 0 || scales[i].factor <= 1)) {
      style.factor = scales[i].factor;
      style.unit = scales[i].shown;
      break;
    }
  double shown = largest * style.factor;
  if (only_integers && style.factor >= 1)
    style.decimals = 0;
  else if (strcmp(style.unit, "%") == 0)
    style.decimals = shown < 1000 ? 2 : 1;
  else if (style.unit[0] == 0 && shown > 0 && shown < 0.1) // a plain number: four digits
    style.decimals = shown < 1e-9 ? 12 : 3 - (int)floor(log10(shown));
  else if (is_time(style.unit) && shown < 1000) // short times stay readable next to the largest
    style.decimals = 3;
  else
    style.decimals = shown < 100 ? 3 : shown < 1000 ? 2 : shown < 10000 ? 1 : 0;
  if (strcmp(style.unit, "flop/B") == 0 && style.decimals < 2) // a column may have both tiny and large ones
    style.decimals = 2;
  return style;
}

void report_figure_style_refine(struct figure_style *style, double largest)
{
  double shown = largest * style->factor;
  if (style->unit[0] == 0 || strcmp(style->unit, "%") == 0 || !(shown > 0) || shown >= 0.1)
    return;
  int decimals = shown < 1e-9 ? 12 : 3 - (int)floor(log10(shown)) - 1;
  style->decimals = decimals > style->decimals ? decimals : style->decimals;
}

static int decimals_of(double shown, const struct figure_style *style)
{
  bool is_small = style->keeps_digits && shown != 0 && fabs(shown) < 100 && strcmp(style->unit, "%") != 0;
  int decimals = !is_small ? 0 : fabs(shown) < 1e-9 ? 12 : 2 - (int)floor(log10(fabs(shown)));
  return decimals > style->decimals ? decimals : style->decimals;
}

void report_figure_put(struct buf *out, const struct table_cell *cell, const struct figure_style *style)
{
  switch (cell->type) {
  case CELL_TEXT:
    buf_text(out, cell->value.text);
    return;
  case CELL_BOOL:
    buf_text(out, cell->value.truth ? "yes" : "");
    return;
  case CELL_JSON:
    return;
  case CELL_INT:
    if (style->factor >= 1) {
      buf_format(out, "%" PRId64, cell->value.integer);
      return;
    }
    break;
  case CELL_REAL:
    if (isfinite(cell->value.real))
      break;
    buf_text(out, "-");
    return;
  case CELL_NULL:
    buf_text(out, "-");
    return;
  }
  char text[400];
  if (style->decimals == FIGURE_AS_IT_IS) {
    json_shortest(cell_double(cell), text);
    buf_text(out, text);
    return;
  }
  double shown = cell_double(cell) * style->factor;
  snprintf(text, sizeof text, "%.*f", decimals_of(shown, style), shown);
  bool is_rounded_to_0 = strspn(text, "-0.") == strlen(text);
  if (is_rounded_to_0 && shown != 0) // a small value is not shown as 0
    buf_format(out, "%s%.*f", shown > 0 ? "<" : ">-", style->decimals, pow(10, -style->decimals));
  else if (is_rounded_to_0)
    buf_text(out, text + (text[0] == '-')); // no "-0.000"
  else
    buf_text(out, text);
}
