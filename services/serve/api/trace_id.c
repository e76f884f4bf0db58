// SPDX-License-Identifier: Apache-2.0
// Looks a trace id up in a file. Called by runs.c and search.c, in their turn (services/serve/turn.h): each call opens the file.
#include "serve/api/trace_id.h"

#include "store/store.h"

#include <ctype.h>

#define DIGITS 32u
#define QUERY_S 10

bool trace_id_is(const char *text)
{
  return strlen(text) == DIGITS && strspn(text, "0123456789abcdefABCDEF") == DIGITS;
}

struct found {
  VECTOR(int64_t) runs;
};

static enum status take(void *context, const struct store_cell *cells, size_t count, struct error *err)
{
  struct found *found = context;
  *vector_add(&found->runs) = cells[0].integer;
  return STATUS_OK;
}

enum status trace_id_runs(const struct catalogue_file *file, const char *folder, const char *trace_id,
                          struct arena *arena, int64_t **ret_runs, size_t *ret_count, struct error *err)
{
  struct store *store = NULL;
  struct found found = {0};
  const struct store_query_sink sink = {.context = &found, .row = take, .timeout_s = QUERY_S};
  char lower[DIGITS + 1] = "";
  for (size_t i = 0; i < DIGITS; i++)
    lower[i] = (char)tolower((unsigned char)trace_id[i]);
  const char *sql = arena_format(arena, "SELECT DISTINCT run_id FROM trace WHERE text = '%s'", lower);
  XSP_TRY(store_open(arena_format(arena, "%s/%s", folder, file->file.name), &store, err));
  enum status status = store_query(store, sql, &sink, err);
  store_close(store);
  *ret_count = found.runs.count;
  *ret_runs = arena_alloc_array(arena, found.runs.count + 1, sizeof **ret_runs);
  if (found.runs.count > 0)
    memcpy(*ret_runs, found.runs.items, found.runs.count * sizeof **ret_runs);
  vector_done(&found.runs);
  return status;
}
