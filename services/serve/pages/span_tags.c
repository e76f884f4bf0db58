// SPDX-License-Identifier: Apache-2.0
// Tags of a span, from the file itself. Called by page_routes.c on the threads of connections.
#include "serve/pages/span_tags.h"

#include "base/arena.h"
#include "base/json_write.h"
#include "store/store.h"

#include <inttypes.h>
#include <stdio.h>

#define QUERY_S 10
#define EXACT_MOST (INT64_C(1) << 53) // beyond, JavaScript has no integers: they are written as texts

static enum status put_tag(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct json_writer *json = context;
  const struct store_cell *value = &cells[1];
  char digits[32];
  json_array(json);
  json_string_n(json, cells[0].text, cells[0].length);
  if (value->type == STORE_INT && value->integer >= -EXACT_MOST && value->integer <= EXACT_MOST) {
    json_int(json, value->integer);
  } else if (value->type == STORE_INT) {
    snprintf(digits, sizeof digits, "%" PRId64, value->integer);
    json_string(json, digits);
  } else if (value->type == STORE_DOUBLE) {
    json_double(json, value->real);
  } else if (value->type == STORE_TEXT) {
    json_string_n(json, value->text, value->length);
  } else {
    json_null(json);
  }
  json_array_end(json);
  return STATUS_OK;
}

enum status span_tags(const char *folder, const char *name, int64_t run_id, int64_t span_id, struct buf *out,
                      struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct json_writer json;
  struct store *store = NULL;
  const struct store_query_sink sink = {.context = &json, .row = put_tag, .timeout_s = QUERY_S};
  const char *query = arena_format(
      &arena, "SELECT key, value FROM tag WHERE run_id = %" PRId64 " AND span_id = %" PRId64, run_id, span_id);
  enum status status = store_open(arena_format(&arena, "%s/%s", folder, name), &store, err);
  json_start(&json, out);
  json_array(&json);
  if (status == STATUS_OK)
    status = store_query(store, query, &sink, err);
  json_array_end(&json);
  if (store != NULL)
    store_close(store);
  return status;
}
