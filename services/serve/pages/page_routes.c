// SPDX-License-Identifier: Apache-2.0
// Answers the questions of pages: the page without data, its parts, spans of a range of time, the next match, tags.
// answers/web/src/parts.ts, windows.ts and live.ts ask.
#include "serve/pages/page_routes.h"

#include "base/slice.h"
#include "serve/pages/live.h"
#include "serve/pages/page_cache.h"
#include "serve/pages/span_tags.h"
#include "serve/server.h"

#include <stdlib.h>
#include <string.h>

#define WINDOW_SPANS 40000 // rectangles of an answer, if the page does not ask for less
#define WINDOW_SPANS_MOST 1000000
#define NAMES_BYTES_MOST ((size_t)4 << 20) // more than the names of any page
static const char json_type[] = "application/json";

const struct route_parameter serve_page_window_parameters[] = {
    {"run", ROUTE_COUNT, "the run's place in the page's document"},
    {"from", ROUTE_INTEGER, "nanoseconds from the run's first start"},
    {"to", ROUTE_INTEGER, "the same"},
    {"most", ROUTE_COUNT, "with more spans in the range, they become at most so many rectangles (40000)"},
    {0}};
const struct route_parameter serve_page_find_parameters[] = {
    {"run", ROUTE_COUNT, "the run's place in the page's document"},
    {"names", ROUTE_TEXT, "numbers of names in the document, rising: 3-7,9"},
    {"at", ROUTE_INTEGER, "nanoseconds from the run's first start: from here on"},
    {"place", ROUTE_INTEGER, "of the span that was found before, which starts there"},
    {"back", ROUTE_FLAG, "the one before instead of the next one"},
    {"from", ROUTE_INTEGER, "only spans that overlap this range"},
    {"to", ROUTE_INTEGER, "the same"},
    {0}};
const struct route_parameter serve_page_tag_parameters[] = {
    {"run_id", ROUTE_COUNT, "as in the file"}, {"span_id", ROUTE_INTEGER, "as in the file"}, {0}};
const struct route_parameter serve_page_live_parameters[] = {
    {"after", ROUTE_COUNT, "wait for a later version than this one"}, {"version", ROUTE_COUNT, "this one"}, {0}};

static int64_t number_of(const struct exchange *exchange, const char *name, int64_t otherwise)
{
  const char *text = exchange_parameter(exchange, name); // the table of routes has checked it
  return text != NULL ? strtoll(text, NULL, 10) : otherwise;
}

// ---- the page itself -----------------------------------------------------------------------------------------------------
static void show(struct exchange *exchange, const char *about)
{
  // The page's own policy has the rest: both count.
  exchange_add_header(exchange, "Content-Security-Policy", "frame-ancestors 'none'");
  report_page_served(about, exchange_reply(exchange, 200, "text/html; charset=utf-8"));
}

void serve_page_show(struct exchange *exchange)
{
  if (page_cache_has(serve_of(exchange)->pages, exchange->parts[0]))
    show(exchange, "");
  else
    exchange_refuse(exchange, 404, "there is no file %s", exchange->parts[0]);
}

void live_show(struct exchange *exchange)
{
  show(exchange, "live");
}

// ---- its questions ---------------------------------------------------------------------------------------------------------
static void put_part(struct exchange *exchange, const struct report_parts *parts, const char *id)
{
  struct slice bytes;
  if (report_parts_get(parts, id, &bytes))
    buf_put(exchange_reply(exchange, 200, "application/octet-stream"), bytes.data, bytes.length);
  else
    exchange_refuse(exchange, 404, "the page has no part %s", id);
}

static void put_window(struct exchange *exchange, const struct report_parts *parts)
{
  int64_t most = number_of(exchange, "most", WINDOW_SPANS);
  if (most < 1 || most > WINDOW_SPANS_MOST) {
    exchange_refuse(exchange, 400, "most must be 1 to %d", WINDOW_SPANS_MOST);
    return;
  }
  const struct report_window window = {
      .run = (size_t)number_of(exchange, "run", 0),
      .from_ns = number_of(exchange, "from", 0),
      .to_ns = number_of(exchange, "to", INT64_MAX),
      .most = (size_t)most,
  };
  if (!report_parts_window(parts, &window, exchange_reply(exchange, 200, json_type)))
    exchange_refuse(exchange, 404, "there is no such run, or the page has all its spans");
}

static void put_match(struct exchange *exchange, const struct report_parts *parts)
{
  // Of a POST the body: thousands of names are longer than an address may be.
  const char *names =
      exchange->route->body != ROUTE_NO_BODY ? exchange->body.data : exchange_parameter(exchange, "names");
  const char *back = exchange_parameter(exchange, "back");
  if (exchange->body.length > NAMES_BYTES_MOST) {
    exchange_refuse(exchange, 413, "names has more than %zu bytes", NAMES_BYTES_MOST);
    return;
  }
  const struct report_find find = {
      .run = (size_t)number_of(exchange, "run", 0),
      .names = names != NULL ? names : "",
      .at_ns = number_of(exchange, "at", 0),
      .place = number_of(exchange, "place", -1),
      .backwards = back != NULL && strcmp(back, "true") == 0,
      .from_ns = number_of(exchange, "from", INT64_MIN),
      .to_ns = number_of(exchange, "to", INT64_MAX),
  };
  if (!report_parts_find(parts, &find, exchange_reply(exchange, 200, json_type)))
    exchange_refuse(exchange, 404, "there is no such run, the page has all its spans, or names is malformed");
}

// Calls `put` with the parts of the file.
static void with_parts(struct exchange *exchange, void (*put)(struct exchange *, const struct report_parts *))
{
  const struct report_parts *parts = page_cache_take(serve_of(exchange)->pages, exchange, exchange->parts[0]);
  if (parts == NULL)
    return;
  put(exchange, parts);
  page_cache_release(serve_of(exchange)->pages, parts);
}

static void put_asked_part(struct exchange *exchange, const struct report_parts *parts)
{
  put_part(exchange, parts, exchange->parts[1]);
}

void serve_page_part(struct exchange *exchange)
{
  with_parts(exchange, put_asked_part);
}

void serve_page_spans(struct exchange *exchange)
{
  with_parts(exchange, put_window);
}

void serve_page_find(struct exchange *exchange)
{
  with_parts(exchange, put_match);
}

void serve_page_tags(struct exchange *exchange)
{
  struct error error = {0};
  struct serve *serve = serve_of(exchange);
  const char *name = exchange->parts[0];
  int64_t run_id = number_of(exchange, "run_id", 0), span_id = number_of(exchange, "span_id", 0);
  if (!page_cache_has(serve->pages, name))
    exchange_refuse(exchange, 404, "there is no file %s", name);
  else if (span_tags(serve->options.folder, name, run_id, span_id, exchange_reply(exchange, 200, json_type), &error) !=
           STATUS_OK)
    exchange_refuse_error(exchange, 500, &error);
}

void live_part(struct exchange *exchange)
{
  struct live *live = serve_of(exchange)->live;
  int64_t after = number_of(exchange, "after", -1);
  struct live_version *version =
      after >= 0 ? live_next(live, (uint64_t)after) : live_take(live, (uint64_t)number_of(exchange, "version", 0));
  if (version != NULL) {
    exchange_add_header(exchange, "ETag", "\"%llu\"", (unsigned long long)version->number);
    put_part(exchange, version->parts, exchange->parts[0]);
    live_release(live, version);
  } else if (after >= 0) {
    (void)exchange_reply(exchange, 204, "application/octet-stream"); // nothing new
  } else {
    exchange_refuse(exchange, 404, "this version is gone");
  }
}
