// SPDX-License-Identifier: Apache-2.0
// What the files of this folder share: the site that is being written, its pages, tables and plots. Front door: lab/history/history.h.
#ifndef XSP_HISTORY_SITE_SITE_H
#define XSP_HISTORY_SITE_SITE_H

#include "base/html.h"
#include "base/interner.h"
#include "history/history.h"
#include "history/series.h"

#define SITE_TEXT_MOST 120 // bytes of a text of a file, as it is shown

struct site {
  struct arena arena;
  const char *folder, *staging; // staging is in folder, and this process's while `lock` is open
  int lock;
  VECTOR(const char *) pages;        // relative paths of what is staged: "models/NAME.html"
  struct interner reported;          // paths of .xsp files with a report page
  VECTOR(const char *) report_pages; // by number of the path
  const char *head;                  // of every page: policy and style
  const char *script;
};

// ---- folder.c ----------------------------------------------------------------------------------------------
// Makes and locks the staging folder, empty. STATUS_USE: another process publishes there.
enum status history_site_folder_open(struct site *site, struct error *err) MUST_CHECK;
// Where to write the page `name`; it will be moved.
const char *history_site_folder_stage(struct site *site, const char *name);
enum status history_site_folder_write(struct site *site, const char *name, struct buf *page,
                                      struct error *err) MUST_CHECK; // frees
// Moves all that is staged to its place, index.html last, then removes pages of earlier calls that are not there any more.
// STATUS_USE, before anything is changed: a file that no earlier call wrote has the name of a page.
enum status history_site_folder_move(struct site *site, struct error *err) MUST_CHECK;
void history_site_folder_close(struct site *site);

// ---- page.c -----------------------------------------------------------------------------------------------------------
void history_page_prepare(struct site *site);
// "models/resnet-50-0123456789abcdef.html" of folder "models" and text "ResNet 50": letters, digits, '-' and '.' only; the end is a
// checksum of `identity`.
const char *history_page_name(struct site *site, const char *folder, const char *text, const char *identity);
// A page that is `depth` folders below the index.
void history_page_begin(const struct site *site, struct buf *out, const char *title, unsigned depth);
void history_page_end(const struct site *site, struct buf *out);
// Cells of columns `model` and `host` are links to their pages. `reports` (NULL: none): of each row the name of its report's page, or
// NULL.
void history_page_put_table(struct site *site, struct buf *out, const struct table *table, const char *const *reports,
                            bool is_latest_first, unsigned depth);
void history_page_put_number(struct buf *out, double number); // rounded, for people
extern const char history_site_style[];

// ---- plot.c -----------------------------------------------------------------------------------------------------------
enum plot_scale { PLOT_LINEAR, PLOT_LOG, PLOT_TIME };
struct plot_point {
  double x, y;
  const char *name; // of its series
  const char *label;
  double size; // with plot.size_label: its area; NaN: unknown, as small as a circle gets
};
struct plot_roof {
  double slope, height; // of y over x
  const char *host;     // NULL: several, or unknown
  const char *label;
};
struct plot {
  const char *title, *x_label, *y_label;
  const char *size_label; // of what the circles' areas show; NULL: nothing
  enum plot_scale x_scale, y_scale;
  bool has_lines;      // between the points of a series, in their order
  bool has_ticks_at_x; // where points are, if they are few
  struct plot_point *points;
  size_t count;
  struct plot_roof *roofs; // of both logarithmic scales
  size_t roof_count;
};
// An image with axes and a legend, and its numbers as a table. Nothing without points.
void plot_put(const struct plot *plot, struct buf *out);
void plot_put_svg(const struct plot *plot, struct buf *out); // the image alone, as a file

// A file's head, and its end: of what was appended from `first` on, characters that XML lacks become spaces.
void history_svg_begin(struct buf *out, double width, double height, const char *title);
void history_svg_end(struct buf *out, size_t first);

// ---- heat.c -----------------------------------------------------------------------------------------------------------
// How much faster (negative) or slower than the base: each step is half a doubling, at most three.
int history_heat_of(double relative);
void history_heat_put_svg(const struct table *table, struct arena *arena,
                          struct buf *out); // of systems; nothing of one host

// ---- plots.c ----------------------------------------------------------------------------------------------------------
struct plotting {
  const struct history *history;
  const struct all_series *series;
  struct arena *arena;
  bool with_model; // in the names of series
};
void plots_put(const struct plotting *plotting, bool is_part, struct buf *out);

#endif
