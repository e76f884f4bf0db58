// SPDX-License-Identifier: Apache-2.0
// Writes the list of files as HTML. Called through services/serve/routes.c. All texts of files are escaped; the policy allows
// the style sheet only.
#include "serve/api/list_page.h"

#include "base/html.h"
#include "base/slice.h"
#include "http/exchange.h"
#include "serve/api/catalogue.h"
#include "serve/server.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define ROWS_MOST 1000u
#define LEVELS_MOST 4u // of a file: more are counted
#define TEXT_BYTES_MOST 120u
#define POLICY "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

__asm__(".pushsection .rodata\n"
        ".global serve_list_style\n"
        "serve_list_style:\n"
        ".incbin \"" XSP_COLORS "\"\n"
        ".incbin \"" XSP_LIST_STYLE "\"\n"
        ".byte 0\n"
        ".popsection\n");
extern const char serve_list_style[];

const struct route_parameter list_page_parameters[] = {
    {"q", ROUTE_TEXT, "Only files whose name, workload or framework has this text, in any case"}, {0}};

// ---- texts -----------------------------------------------------------------------------------------------------------
static void put_bytes(struct buf *out, uint64_t bytes)
{
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
  double size = (double)bytes;
  size_t unit = 0;
  for (; size >= 999.5 && unit + 1 < sizeof units / sizeof units[0]; unit++)
    size /= 1e3;
  buf_format(out, "%.*f %s", unit > 0 && size < 10 ? 1 : 0, size, units[unit]);
}

static void put_count(struct buf *out, int64_t count)
{
  char digits[32];
  int length = snprintf(digits, sizeof digits, "%" PRId64, count);
  for (int i = 0; i < length; i++)
    buf_format(out, "%s%c", i > 0 && (length - i) % 3 == 0 ? "," : "", digits[i]);
}

static void put_time(struct buf *out, int64_t time_ns)
{
  time_t seconds = (time_t)(time_ns / 1000000000);
  struct tm parts;
  char text[64] = "";
  if (gmtime_r(&seconds, &parts) != NULL)
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  buf_text(out, text);
}

// ---- rows ------------------------------------------------------------------------------------------------------------
static void begin_cell(struct buf *out, const char *label, const char *class)
{
  buf_format(out, "<td data-label=\"%s\"%s%s%s>", label, class != NULL ? " class=\"" : "", class != NULL ? class : "",
             class != NULL ? "\"" : "");
}

// The workload, else the experiment's name. A command's words have no folders up to its first option, whose text may have any slash.
static void put_name(struct buf *out, const struct catalogue_experiment *experiment)
{
  struct buf name SCOPED(buf_done) = {0};
  const char *workload = experiment->workload, *words = workload,
             *option = workload != NULL ? strstr(workload, " -") : NULL;
  const char *end = option != NULL ? option : words != NULL ? words + strlen(words) : NULL;
  while (words < end) {
    size_t length = strcspn(words, " ");
    const char *slash = memrchr(words, '/', length),
               *from = slash != NULL && slash + 1 < words + length ? slash + 1 : words;
    length += words[length] == ' ';
    buf_put(&name, from, (size_t)(words + length - from));
    words += length;
  }
  buf_text(&name, words != NULL ? words : experiment->name != NULL ? experiment->name : "");
  html_put_short(out, name.data, TEXT_BYTES_MOST);
}

// What the first experiment has, and how many others there are.
static void put_experiments(struct buf *out, const struct catalogue_file *file)
{
  const struct catalogue_experiment *first = file->experiments;
  begin_cell(out, "Workload", file->problem != NULL ? "long problem" : "long");
  if (file->problem != NULL)
    html_put_short(out, file->problem, TEXT_BYTES_MOST);
  else if (file->experiment_count > 0)
    put_name(out, first);
  if (file->experiment_count > 1)
    buf_format(out, " <span class=\"quiet\">and %zu more</span>", file->experiment_count - 1);
  buf_text(out, "</td>");
  begin_cell(out, "Framework", "long");
  if (file->experiment_count > 0 && first->framework != NULL) {
    html_put_short(out, first->framework, TEXT_BYTES_MOST);
    buf_text(out, " ");
    html_put_short(out, first->framework_version != NULL ? first->framework_version : "", TEXT_BYTES_MOST);
  }
  buf_text(out, "</td>");
}

static void put_levels(struct buf *out, const struct catalogue_file *file)
{
  size_t shown = 0, others = 0;
  begin_cell(out, "Levels", NULL);
  for (size_t i = 0; i < file->run_count; i++) {
    size_t k = 0;
    while (k < i && strcmp(file->runs[k].levels, file->runs[i].levels) != 0)
      k++;
    if (k < i || file->runs[i].levels[0] == 0)
      continue;
    if (shown++ < LEVELS_MOST) {
      buf_text(out, shown > 1 ? ", " : "");
      html_put_short(out, file->runs[i].levels, TEXT_BYTES_MOST);
    } else {
      others++;
    }
    if (others > ROWS_MOST) // files of strangers
      break;
  }
  if (others > 0)
    buf_format(out, " <span class=\"quiet\">and %zu more</span>", others);
  buf_text(out, "</td>");
}

static void put_row(struct buf *out, const struct catalogue_file *file)
{
  const char *name = file->file.name; // of letters that need no escape
  int64_t spans = 0;
  for (size_t i = 0; i < file->run_count; i++)
    spans += file->runs[i].spans;
  buf_format(out, "<tr><th scope=\"row\"><a href=\"files/%s/page\">%s</a></th>", name, name);
  put_experiments(out, file);
  put_levels(out, file);
  begin_cell(out, "Spans", "figure");
  put_count(out, spans);
  buf_text(out, "</td>");
  begin_cell(out, "Size", "figure");
  put_bytes(out, file->file.bytes);
  buf_text(out, "</td>");
  begin_cell(out, "Changed (UTC)", "figure");
  put_time(out, file->file.changed_ns);
  buf_text(out, "</td>");
  begin_cell(out, "State", NULL);
  buf_format(out, "%s</td>", file->file.is_growing ? "<b class=\"growing\">growing</b>" : "complete");
  begin_cell(out, "Download", NULL);
  buf_format(out, "<a href=\"api/v1/files/%s\" aria-label=\"Download %s\">.xsp</a></td></tr>\n", name, name);
}

static bool fits(const struct catalogue_file *file, const char *wanted)
{
  bool found = wanted[0] == 0 || strcasestr(file->file.name, wanted) != NULL;
  for (size_t i = 0; i < file->experiment_count && !found; i++) {
    const struct catalogue_experiment *experiment = &file->experiments[i];
    const char *const texts[] = {experiment->name, experiment->workload, experiment->framework};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
      found |= texts[k] != NULL && strcasestr(texts[k], wanted) != NULL;
  }
  return found;
}

// ---- the page --------------------------------------------------------------------------------------------------------
static void put_head(struct buf *out, const char *wanted)
{
  buf_text(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>xsp: traces</title>\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<link rel=\"stylesheet\" href=\"list.css\">\n</head>\n<body>\n<header>\n<h1>Traces</h1>\n"
                "<a href=\"live\">Newest spans, live</a>\n"
                "<form action=\"./\" role=\"search\"><input type=\"search\" name=\"q\" "
                "aria-label=\"Name, workload or framework\" placeholder=\"Name, workload or framework\" value=\"");
  html_put(out, wanted);
  buf_text(out, "\"> <button>Find</button></form>\n</header>\n<main>\n");
}

static void put_nothing(struct buf *out, const struct serve *serve, bool is_filtered)
{
  if (is_filtered) {
    buf_text(out, "<p>No trace has this text. <a href=\"./\">Show all</a></p>\n");
    return;
  }
  buf_format(out,
             "<p>No traces yet. Any program with an OpenTelemetry SDK can send:</p>\n"
             "<pre>OTEL_EXPORTER_OTLP_ENDPOINT=%s OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf …</pre>\n"
             "<p>Files of xsp can be uploaded:</p>\n<pre>curl -T out.xsp %s/api/v1/files/</pre>\n",
             serve_url(serve), serve_url(serve));
}

static void put_table(struct buf *out, const struct serve *serve, const struct catalogue_list *list, const char *wanted)
{
  static const char *const labels[] = {"File", "Workload",      "Framework", "Levels",  "Spans",
                                       "Size", "Changed (UTC)", "State",     "Download"};
  size_t rows = 0;
  for (size_t i = 0; i < list->files.count; i++) {
    if (!fits(list->files.items[i], wanted) || rows++ >= ROWS_MOST)
      continue;
    for (size_t k = 0; rows == 1 && k < sizeof labels / sizeof labels[0]; k++)
      buf_format(out, "%s<th scope=\"col\"%s>%s</th>%s", k == 0 ? "<table>\n<thead><tr>" : "",
                 k >= 4 && k <= 6 ? " class=\"figure\"" : "", labels[k],
                 k + 1 == sizeof labels / sizeof labels[0] ? "</tr></thead>\n<tbody>\n" : "");
    put_row(out, list->files.items[i]);
  }
  if (rows > 0)
    buf_text(out, "</tbody>\n</table>\n");
  else
    put_nothing(out, serve, wanted[0] != 0);
  if (rows > ROWS_MOST)
    buf_format(out, "<p>%zu older files are not shown: search for them.</p>\n", rows - ROWS_MOST);
}

void list_page_answer(struct exchange *exchange)
{
  struct serve *serve = serve_of(exchange);
  struct catalogue_list list;
  struct error error = {0};
  const char *wanted = exchange_parameter(exchange, "q");
  wanted = wanted != NULL ? wanted : "";
  if (catalogue_take(&serve->catalogue, serve->folder, serve->options.folder, &list, &error) != STATUS_OK) {
    exchange_refuse_error(exchange, 500, &error);
    return;
  }
  struct buf *out = exchange_reply(exchange, 200, "text/html; charset=utf-8");
  exchange_add_header(exchange, "Content-Security-Policy", "%s", POLICY);
  put_head(out, wanted);
  put_table(out, serve, &list, wanted);
  buf_text(out, "</main>\n</body>\n</html>\n");
  catalogue_release(&list);
}

void list_page_style(struct exchange *exchange)
{
  buf_text(exchange_reply(exchange, 200, "text/css; charset=utf-8"), serve_list_style);
}
