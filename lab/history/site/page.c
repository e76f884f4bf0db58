// SPDX-License-Identifier: Apache-2.0
// The frame of a page and its tables. Every text of a file is escaped; the policy allows the page's own style and script, nothing else.
// Called by pages.c.
#include "assets/checksum.h"
#include "base/base64.h"
#include "base/hex.h"
#include "history/site/site.h"

#include <math.h>

#define NAME_MOST 40 // characters of a page's name that are of its text

__asm__(".pushsection .rodata\n"
        ".global history_site_style\n"
        "history_site_style:\n"
        ".incbin \"" XSP_COLORS "\"\n"
        ".incbin \"" XSP_SITE_STYLE "\"\n"
        ".byte 0\n"
        ".global history_site_script\n"
        "history_site_script:\n"
        ".incbin \"" XSP_SITE_SCRIPT "\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char history_site_script[];

// ---- the frame -------------------------------------------------------------------------------------------------------
static void put_hash(struct buf *out, const char *text)
{
  char hex[CHECKSUM_TEXT_SIZE], digest[(CHECKSUM_TEXT_SIZE - 1) / 2];
  struct checksum *checksum = checksum_start();
  checksum_add(checksum, text, strlen(text));
  checksum_finish(checksum, hex);
  (void)hex_decode(hex, digest, sizeof digest); // it is ours
  buf_text(out, "'sha256-");
  base64_put(out, digest, sizeof digest);
  buf_text(out, "'");
}

void history_page_prepare(struct site *site)
{
  struct buf head SCOPED(buf_done) = {0};
  site->script = history_site_script;
  buf_text(&head, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ");
  put_hash(&head, history_site_script);
  buf_text(&head, "; style-src ");
  put_hash(&head, history_site_style);
  buf_format(&head, "; base-uri 'none'; form-action 'none'\">\n<style>%s</style>\n", history_site_style);
  site->head = arena_copy(&site->arena, head.data, head.length);
}

const char *history_page_name(struct site *site, const char *folder, const char *text, const char *identity)
{
  char name[NAME_MOST + 1], hex[CHECKSUM_TEXT_SIZE];
  size_t length = 0;
  struct checksum *checksum = checksum_start();
  checksum_add(checksum, identity, strlen(identity));
  checksum_finish(checksum, hex);
  for (; text[length] != 0 && length < NAME_MOST; length++) {
    char at = text[length];
    bool is_plain = (at >= 'a' && at <= 'z') || (at >= '0' && at <= '9') || (at == '.' && length > 0);
    name[length] = at >= 'A' && at <= 'Z' ? (char)(at - 'A' + 'a') : is_plain ? at : '-';
  }
  name[length] = 0;
  return arena_format(&site->arena, "%s/%s-%.16s.html", folder, name, hex);
}

void history_page_begin(const struct site *site, struct buf *out, const char *title, unsigned depth)
{
  buf_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
  buf_text(out, site->head);
  buf_text(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
  html_put_short(out, title, SITE_TEXT_MOST);
  buf_text(out, "</title>\n</head>\n<body>\n");
  if (depth > 0)
    buf_text(out, "<nav aria-label=\"Site\"><a href=\"../index.html\">All evaluations</a></nav>\n");
  buf_text(out, "<main>\n<h1>");
  html_put_short(out, title, SITE_TEXT_MOST);
  buf_text(out, "</h1>\n");
}

void history_page_end(const struct site *site, struct buf *out)
{
  buf_format(out, "</main>\n<script>%s</script>\n</body>\n</html>\n", site->script);
}

// ---- tables ----------------------------------------------------------------------------------------------------------
void history_page_put_number(struct buf *out, double number)
{
  double size = fabs(number);
  if (number == floor(number) && size < 1e15)
    buf_format(out, "%.0f", number);
  else if (size < 0.1 || size >= 1e9)
    buf_format(out, "%.3g", number);
  else
    buf_format(out, "%.*f", size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3, number);
}

static void put_link(struct buf *out, const char *page, unsigned depth, const char *text)
{
  buf_format(out, "<a href=\"%s%s\">", depth > 0 ? "../" : "", page);
  html_put_short(out, text, SITE_TEXT_MOST);
  buf_text(out, "</a>");
}

static void put_text_cell(struct site *site, struct buf *out, const char *key, const char *text, unsigned depth)
{
  const char *folder = strcmp(key, "model") == 0 ? "models" : strcmp(key, "host") == 0 ? "systems" : NULL;
  const char *kind = strcmp(text, "slower") == 0 ? "bad" : strcmp(text, "faster") == 0 ? "good" : "quiet";
  buf_text(out, "<td>");
  if (folder != NULL)
    put_link(out, history_page_name(site, folder, text, text), depth, text);
  else if (text_is_one_of(key, "created", "first", "last"))
    buf_format(out, "<time datetime=\"%s\">%.10s %.5s</time>", text, text, text + 11);
  else if (strcmp(key, "verdict") == 0)
    buf_format(out, "<span class=\"%s\">%s</span>", kind, text);
  else
    html_put_short(out, text, SITE_TEXT_MOST);
  buf_text(out, "</td>");
}

static const bool *numeric_columns(struct site *site, const struct table *table)
{
  bool *are_numeric = arena_alloc_array(&site->arena, table->column_count + 1, sizeof *are_numeric);
  for (size_t i = 0; i < table->row_count * table->column_count; i++)
    are_numeric[i % table->column_count] |= !isnan(cell_double(&table->rows[i]));
  return are_numeric;
}

static void put_cell(struct site *site, struct buf *out, const struct table_column *column,
                     const struct table_cell *cell, bool is_numeric, unsigned depth)
{
  double number = cell_double(cell);
  if (cell->type == CELL_TEXT) {
    put_text_cell(site, out, column->key, cell->value.text, depth);
  } else if (!isnan(number)) {
    int heat = text_ends_with(column->key, "_relative") ? history_heat_of(number) : 0;
    buf_text(out, "<td class=\"number");
    if (heat != 0)
      buf_format(out, " %s%d", heat < 0 ? "faster" : "slower", abs(heat));
    buf_format(out, "\" data-value=\"%.17g\">", number);
    history_page_put_number(out, number);
    buf_text(out, "</td>");
  } else {
    buf_format(out, "<td class=\"%squiet\">–</td>", is_numeric ? "number " : "");
  }
}

static void put_head(struct buf *out, const struct table *table, const bool *are_numeric, bool has_reports)
{
  buf_format(out, "<thead><tr>%s", has_reports ? "<th scope=\"col\">report</th>" : "");
  for (size_t i = 0; i < table->column_count; i++) {
    buf_format(out, "<th scope=\"col\"%s>", are_numeric[i] ? " class=\"number\"" : "");
    html_put_short(out, table->columns[i].label, SITE_TEXT_MOST);
    if (table->columns[i].unit[0] != 0)
      buf_format(out, " <small>%s</small>", table->columns[i].unit);
    buf_text(out, "</th>");
  }
  buf_text(out, "</tr></thead>\n");
}

static void put_row(struct site *site, struct buf *out, const struct table *table, const bool *are_numeric, size_t row,
                    const char *const *reports, unsigned depth)
{
  buf_text(out, "<tr>");
  if (reports != NULL && reports[row] != NULL) {
    buf_text(out, "<td>");
    put_link(out, reports[row], depth, "open");
    buf_text(out, "</td>");
  } else if (reports != NULL) {
    buf_text(out, "<td class=\"quiet\">–</td>");
  }
  for (size_t i = 0; i < table->column_count; i++)
    put_cell(site, out, &table->columns[i], &table->rows[row * table->column_count + i], are_numeric[i], depth);
  buf_text(out, "</tr>\n");
}

void history_page_put_table(struct site *site, struct buf *out, const struct table *table, const char *const *reports,
                            bool is_latest_first, unsigned depth)
{
  if (table->row_count == 0)
    return;
  buf_format(out,
             "<section>\n<h2>%s</h2>\n<div class=\"box\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n<table "
             "data-table=\"%s\">\n",
             table->title, table->title, table->id);
  const bool *are_numeric = numeric_columns(site, table);
  put_head(out, table, are_numeric, reports != NULL);
  buf_text(out, "<tbody>\n");
  for (size_t i = 0; i < table->row_count; i++)
    put_row(site, out, table, are_numeric, is_latest_first ? table->row_count - 1 - i : i, reports, depth);
  buf_text(out, "</tbody>\n</table>\n</div>\n");
  for (size_t i = 0; i < table->note_count; i++) {
    buf_text(out, "<p class=\"quiet\">");
    html_put(out, table->notes[i]);
    buf_text(out, "</p>\n");
  }
  buf_text(out, "</section>\n");
}
