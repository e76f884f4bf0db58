// SPDX-License-Identifier: Apache-2.0
// Draws a plot as SVG, in a page or as a file: points, lines, roofs, axes, a legend; in a page all numbers below it. Colours are classes
// of the style. Called by plots.c.
#include "base/interner.h"
#include "history/site/site.h"

#include <math.h>
#include <time.h>

#define WIDTH 640.0
#define HEIGHT 300.0
#define LEFT 80.0 // room for labels such as 0.00025, next to the title of the axis
#define RIGHT 14.0
#define TOP 12.0
#define BOTTOM 44.0
#define COLOURS 8u // classes c0 to c7; further series share the last one
#define TICKS_MOST 8u
#define LINE 18.0 // of a legend in a file
#define RADIUS 4.0
#define RADIUS_MOST 18.0

// ---- axes ------------------------------------------------------------------------------------------------------------
struct axis {
  enum plot_scale scale;
  double low, high; // of the values; of their logarithms
  double ticks[TICKS_MOST];
  size_t tick_count;
};

static double on_scale(const struct axis *axis, double value)
{
  return axis->scale == PLOT_LOG ? log10(value) : value;
}

static double place_on(const struct axis *axis, double value) // 0 to 1
{
  return (on_scale(axis, value) - axis->low) / (axis->high - axis->low);
}

static void add_tick(struct axis *axis, double value)
{
  double place = place_on(axis, value);
  for (size_t i = 0; i < axis->tick_count; i++)
    if (axis->ticks[i] == value)
      return;
  if (axis->tick_count < TICKS_MOST && place > -1e-9 && place < 1 + 1e-9)
    axis->ticks[axis->tick_count++] = value;
}

// 1, 2, 5, 10, …: the smallest step with few enough ticks.
static void add_linear_ticks(struct axis *axis, double low, double high)
{
  double step = pow(10, floor(log10((high - low) / 5)));
  while ((high - low) / step > 6)
    step *= (high - low) / step > 12 ? 5 : 2;
  axis->tick_count = 0;
  for (double at = ceil(low / step); at * step <= high + step * 1e-9 && axis->tick_count < TICKS_MOST; at++)
    add_tick(axis, at * step);
}

static void add_log_ticks(struct axis *axis)
{
  static const double parts[] = {1, 2, 5};
  size_t per_decade = axis->high - axis->low > 2 ? 1 : 3;
  double decades = ceil((axis->high - axis->low) / (TICKS_MOST - 1));
  for (double at = floor(axis->low); at <= axis->high; at += per_decade == 1 ? decades : 1)
    for (size_t i = 0; i < per_decade; i++)
      add_tick(axis, parts[i] * pow(10, at));
  if (axis->tick_count < 3)
    add_linear_ticks(axis, pow(10, axis->low), pow(10, axis->high));
}

// False: there are too many.
static bool add_ticks_at_points(const struct plot *plot, struct axis *axis)
{
  for (size_t i = 0; i < plot->count && axis->tick_count < TICKS_MOST; i++)
    add_tick(axis, plot->points[i].x);
  if (axis->tick_count < TICKS_MOST)
    return true;
  axis->tick_count = 0;
  return false;
}

static struct axis axis_of(const struct plot *plot, bool is_x)
{
  struct axis axis = {.scale = is_x ? plot->x_scale : plot->y_scale, .low = INFINITY, .high = -INFINITY};
  for (size_t i = 0; i < plot->count; i++) {
    double value = on_scale(&axis, is_x ? plot->points[i].x : plot->points[i].y);
    axis.low = fmin(axis.low, value);
    axis.high = fmax(axis.high, value);
  }
  for (size_t i = 0; i < plot->roof_count; i++) { // with the roof's corner
    double value = on_scale(&axis, is_x ? plot->roofs[i].height / plot->roofs[i].slope : plot->roofs[i].height);
    axis.low = fmin(axis.low, value);
    axis.high = fmax(axis.high, value);
  }
  double margin = axis.high > axis.low     ? (axis.high - axis.low) * 0.05
                  : axis.scale == PLOT_LOG ? 0.3
                                           : fmax(fabs(axis.high) * 0.1, 1e-9);
  if (axis.scale == PLOT_TIME) // labels, which are of whole seconds, differ
    margin = fmax(margin, 3);
  axis.low -= margin;
  axis.high += margin;
  if (is_x && plot->has_ticks_at_x && add_ticks_at_points(plot, &axis))
    return axis;
  if (axis.scale == PLOT_LOG)
    add_log_ticks(&axis);
  else if (axis.scale == PLOT_LINEAR)
    add_linear_ticks(&axis, axis.low, axis.high);
  else
    for (size_t i = 0; i < 4; i++)
      add_tick(&axis, axis.low + (axis.high - axis.low) * (0.1 + 0.8 * (double)i / 3));
  return axis;
}

static void put_tick_label(struct buf *out, const struct axis *axis, double value)
{
  char text[32];
  time_t seconds = (time_t)value;
  struct tm parts;
  double range_s = axis->high - axis->low;
  const char *form = range_s < 600 ? "%m-%d %H:%M:%S" : range_s < 3 * 86400 ? "%m-%d %H:%M" : "%Y-%m-%d";
  if (axis->scale != PLOT_TIME)
    buf_format(out, "%.6g", value);
  else if (gmtime_r(&seconds, &parts) != NULL && strftime(text, sizeof text, form, &parts) > 0)
    buf_text(out, text);
}

static double x_of(const struct axis *axis, double value)
{
  return LEFT + place_on(axis, value) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct axis *axis, double value)
{
  return HEIGHT - BOTTOM - place_on(axis, value) * (HEIGHT - TOP - BOTTOM);
}

static void put_axes(const struct plot *plot, const struct axis *x, const struct axis *y, struct buf *out)
{
  for (size_t i = 0; i < x->tick_count; i++) {
    double at = x_of(x, x->ticks[i]);
    buf_format(out,
               "<line class=\"rule\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
               "text-anchor=\"middle\">",
               at, TOP, at, HEIGHT - BOTTOM, at, HEIGHT - BOTTOM + 16);
    put_tick_label(out, x, x->ticks[i]);
    buf_text(out, "</text>\n");
  }
  for (size_t i = 0; i < y->tick_count; i++) {
    double at = y_of(y, y->ticks[i]);
    buf_format(out,
               "<line class=\"rule\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/><text x=\"%.1f\" y=\"%.1f\" "
               "text-anchor=\"end\">",
               LEFT, at, WIDTH - RIGHT, at, LEFT - 6, at + 4);
    put_tick_label(out, y, y->ticks[i]);
    buf_text(out, "</text>\n");
  }
  buf_format(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", (LEFT + WIDTH - RIGHT) / 2,
             HEIGHT - 8, plot->x_label);
  buf_format(out, "<text transform=\"translate(12 %.1f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n",
             (TOP + HEIGHT - BOTTOM) / 2, plot->y_label);
}

// ---- points ----------------------------------------------------------------------------------------------------------
struct drawing {
  const struct plot *plot;
  struct axis x, y;
  struct interner names; // of series
  size_t *series_of;     // of each point
};

static unsigned colour_of(size_t series)
{
  return series < COLOURS ? (unsigned)series : COLOURS - 1;
}

static void put_line(const struct plot *plot, const struct axis *x, const struct axis *y, const size_t *series_of,
                     size_t series, struct buf *out)
{
  buf_format(out, "<polyline class=\"line c%u\" points=\"", colour_of(series));
  for (size_t i = 0; i < plot->count; i++)
    if (series_of[i] == series)
      buf_format(out, "%.1f,%.1f ", x_of(x, plot->points[i].x), y_of(y, plot->points[i].y));
  buf_text(out, "\"/>\n");
}

static void put_roof(const struct plot_roof *roof, const struct axis *x, const struct axis *y, struct buf *out)
{
  double first = fmax(pow(10, x->low), pow(10, y->low) / roof->slope), corner = roof->height / roof->slope;
  buf_format(out, "<polyline class=\"line roof\" points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\"><title>", x_of(x, first),
             y_of(y, first * roof->slope), x_of(x, corner), y_of(y, roof->height), x_of(x, pow(10, x->high)),
             y_of(y, roof->height));
  html_put_short(out, roof->label, SITE_TEXT_MOST);
  buf_text(out, "</title></polyline>\n");
}

static double radius_of(const struct plot *plot, const struct plot_point *point)
{
  double largest = 0;
  for (size_t i = 0; plot->size_label != NULL && i < plot->count; i++)
    largest = fmax(largest, plot->points[i].size);
  return largest > 0 && point->size > 0 ? fmax(RADIUS_MOST * sqrt(point->size / largest), RADIUS) : RADIUS;
}

static void put_point(const struct plot *plot, const struct plot_point *point, const struct axis *x,
                      const struct axis *y, size_t series, struct buf *out)
{
  buf_format(out, "<circle class=\"c%u\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.3g\"%s><title>", colour_of(series),
             x_of(x, point->x), y_of(y, point->y), radius_of(plot, point),
             plot->size_label != NULL ? " fill-opacity=\"0.7\"" : "");
  html_put_short(out, point->name, SITE_TEXT_MOST);
  buf_text(out, ": ");
  html_put_short(out, point->label, SITE_TEXT_MOST);
  buf_text(out, "</title></circle>\n");
}

// Of the series in one colour.
static void put_series_name(const struct interner *names, uint32_t series, struct buf *out)
{
  if (series == COLOURS - 1 && interner_count(names) > COLOURS)
    buf_format(out, "%u others", interner_count(names) - series);
  else
    html_put_short(out, interner_text(names, series).data, SITE_TEXT_MOST);
}

static void put_legend(const struct drawing *drawing, struct buf *out)
{
  buf_text(out, "<ul class=\"legend\">\n");
  for (uint32_t i = 0; i < interner_count(&drawing->names) && i < COLOURS; i++) {
    buf_format(
        out,
        "<li><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><circle class=\"c%u\" cx=\"5\" cy=\"5\" r=\"4\"/></svg> ",
        i);
    put_series_name(&drawing->names, i, out);
    buf_text(out, "</li>\n");
  }
  for (size_t i = 0; i < drawing->plot->roof_count; i++) {
    buf_text(out, "<li>— ");
    html_put_short(out, drawing->plot->roofs[i].label, SITE_TEXT_MOST);
    buf_text(out, "</li>\n");
  }
  buf_text(out, "</ul>\n");
}

static void put_x(const struct plot *plot, double value, struct buf *out)
{
  const struct axis precise = {.scale = PLOT_TIME};
  if (plot->x_scale == PLOT_TIME)
    put_tick_label(out, &precise, value);
  else
    history_page_put_number(out, value);
}

static void put_numbers(const struct plot *plot, struct buf *out)
{
  buf_format(
      out,
      "<details><summary>Numbers</summary><div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"numbers of "
      "%s\"><table><thead>"
      "<tr><th scope=\"col\">series</th><th scope=\"col\">%s</th><th scope=\"col\">%s</th>",
      plot->title, plot->x_label, plot->y_label);
  if (plot->size_label != NULL)
    buf_format(out, "<th scope=\"col\">%s</th>", plot->size_label);
  buf_text(out, "</tr></thead><tbody>\n");
  for (size_t i = 0; i < plot->count; i++) {
    buf_text(out, "<tr><td>");
    html_put_short(out, plot->points[i].name, SITE_TEXT_MOST);
    buf_text(out, "</td><td class=\"number\">");
    put_x(plot, plot->points[i].x, out);
    buf_text(out, "</td><td class=\"number\">");
    history_page_put_number(out, plot->points[i].y);
    if (plot->size_label != NULL)
      buf_text(out, "</td><td class=\"number\">");
    if (plot->size_label != NULL && !isnan(plot->points[i].size))
      history_page_put_number(out, plot->points[i].size);
    buf_text(out, "</td></tr>\n");
  }
  buf_text(out, "</tbody></table></div></details>\n");
}

static bool start(const struct plot *plot, struct drawing *ret)
{
  *ret = (struct drawing){.plot = plot};
  if (plot->count < (plot->has_lines ? 2 : 1))
    return false;
  ret->x = axis_of(plot, true);
  ret->y = axis_of(plot, false);
  ret->series_of = memory_new(plot->count, sizeof *ret->series_of);
  for (size_t i = 0; i < plot->count; i++)
    ret->series_of[i] = interner_at(&ret->names, plot->points[i].name, strlen(plot->points[i].name));
  return true;
}

static void end(struct drawing *drawing)
{
  free(drawing->series_of);
  interner_done(&drawing->names);
}

static void put_shapes(const struct drawing *drawing, struct buf *out)
{
  const struct plot *plot = drawing->plot;
  put_axes(plot, &drawing->x, &drawing->y, out);
  for (size_t i = 0; i < plot->roof_count; i++)
    put_roof(&plot->roofs[i], &drawing->x, &drawing->y, out);
  for (size_t i = 0; plot->has_lines && i < interner_count(&drawing->names); i++)
    put_line(plot, &drawing->x, &drawing->y, drawing->series_of, i, out);
  for (size_t i = 0; i < plot->count; i++)
    put_point(plot, &plot->points[i], &drawing->x, &drawing->y, drawing->series_of[i], out);
}

void plot_put(const struct plot *plot, struct buf *out)
{
  struct drawing drawing;
  if (!start(plot, &drawing))
    return;
  buf_format(out,
             "<figure>\n<figcaption>%s</figcaption>\n<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">\n",
             plot->title, WIDTH, HEIGHT, plot->title);
  put_shapes(&drawing, out);
  buf_text(out, "</svg>\n");
  put_legend(&drawing, out);
  put_numbers(plot, out);
  buf_text(out, "</figure>\n");
  end(&drawing);
}

static void put_svg_legend(const struct drawing *drawing, struct buf *out)
{
  double at = HEIGHT + LINE;
  for (uint32_t i = 0; i < interner_count(&drawing->names) && i < COLOURS; i++, at += LINE) {
    buf_format(out, "<circle class=\"c%u\" cx=\"%.0f\" cy=\"%.0f\" r=\"4\"/><text x=\"%.0f\" y=\"%.0f\">", i, LEFT,
               at - 4, LEFT + 10, at);
    put_series_name(&drawing->names, i, out);
    buf_text(out, "</text>\n");
  }
  for (size_t i = 0; i < drawing->plot->roof_count; i++, at += LINE) {
    buf_format(out, "<text x=\"%.0f\" y=\"%.0f\">— ", LEFT - 4, at);
    html_put_short(out, drawing->plot->roofs[i].label, SITE_TEXT_MOST);
    buf_text(out, "</text>\n");
  }
}

void history_svg_begin(struct buf *out, double width, double height, const char *title)
{
  buf_format(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\">\n"
             "<title>%s</title>\n<style><![CDATA[\n%s]]></style>\n"
             "<rect width=\"100%%\" height=\"100%%\" style=\"fill: var(--raised)\"/>\n",
             width, height, width, height, title, history_site_style);
}

void history_svg_end(struct buf *out, size_t first)
{
  buf_text(out, "</svg>\n");
  for (size_t i = first; i < out->length; i++)
    if ((unsigned char)out->data[i] < ' ' && out->data[i] != '\n')
      out->data[i] = ' ';
}

void plot_put_svg(const struct plot *plot, struct buf *out)
{
  struct drawing drawing;
  size_t first = out->length;
  if (!start(plot, &drawing))
    return;
  size_t series = interner_count(&drawing.names) < COLOURS ? interner_count(&drawing.names) : COLOURS;
  history_svg_begin(out, WIDTH, HEIGHT + LINE * (double)(series + plot->roof_count + 1), plot->title);
  put_shapes(&drawing, out);
  put_svg_legend(&drawing, out);
  history_svg_end(out, first);
  end(&drawing);
}
