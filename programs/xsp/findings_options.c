// SPDX-License-Identifier: Apache-2.0
// Reads the options of `xsp analyze findings`, and compares the findings with --fail-on. Called by verb_analyze.c.
#include "programs/xsp/findings_options.h"

#include "base/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LIST_MOST 256

// The values of a repeatable option, each a list with commas.
static enum status read_list(const struct invocation *invocation, const char *option, struct arena *arena,
                             const char *const **ret_items, size_t *ret_count, struct error *err)
{
  const char **items = arena_alloc_array(arena, LIST_MOST, sizeof *items);
  const char *given;
  *ret_items = items;
  *ret_count = 0;
  for (size_t i = 0; (given = invocation_value_at(invocation, option, i)) != NULL; i++) {
    char *rest = arena_copy(arena, given, strlen(given));
    for (char *item; (item = strsep(&rest, ",")) != NULL;) {
      if (item[0] == 0 || *ret_count == LIST_MOST)
        return error_set(err, STATUS_USE, "wrong use", option, "xsp help analyze",
                         item[0] == 0 ? "a part of the list is empty" : "at most %d parts", LIST_MOST);
      items[(*ret_count)++] = item;
    }
  }
  return STATUS_OK;
}

enum status findings_options_read(const struct invocation *invocation, bool are_asked, struct arena *arena,
                                  struct analyze_request *request, struct error *err)
{
  static const char *const options[] = {"only", "threshold", "fail-on", "findings", "findings-timeout"};
  for (size_t i = 0; i < sizeof options / sizeof *options && !are_asked; i++)
    if (invocation_has(invocation, options[i]))
      return error_set(err, STATUS_USE, "wrong use", options[i], "xsp analyze findings FILE",
                       "it is an option of the analysis findings");
  XSP_TRY(read_list(invocation, "only", arena, &request->only, &request->only_count, err));
  return read_list(invocation, "threshold", arena, &request->thresholds, &request->threshold_count, err);
}

// ---- --fail-on -------------------------------------------------------------------------------------------------------
struct limit {
  const char *name; // of findings: "F2", "small_kernels"
  double pct;       // NaN: none may be found
};

// "F2:5%", "F2:5", "F2"
static enum status read_limit(char *text, struct limit *ret_limit, struct error *err)
{
  char *colon = strchr(text, ':');
  *ret_limit = (struct limit){text, NAN};
  bool is_known = true;
  if (colon != NULL) {
    char *end = NULL;
    ret_limit->pct = strtod(colon + 1, &end);
    is_known = end != colon + 1 && (*end == 0 || strcmp(end, "%") == 0) && isfinite(ret_limit->pct);
    *colon = 0;
  }
  if (is_known && text[0] != 0)
    return STATUS_OK;
  return error_set(err, STATUS_USE, "wrong use", "fail-on", "--fail-on F2:5%", "the limit of %s is not a percentage",
                   text);
}

static const char *text_of(const struct table *table, size_t row, const char *key)
{
  const char *text = table_text_at(table, row, key);
  return text != NULL ? text : "";
}

static bool is_above(const struct table *table, size_t row, const struct limit *limit, double *ret_pct)
{
  if (strcasecmp(text_of(table, row, "id"), limit->name) != 0 && strcmp(text_of(table, row, "rule"), limit->name) != 0)
    return false;
  *ret_pct = table_double_at(table, row, "saving_pct");
  if (isnan(*ret_pct))
    *ret_pct = table_double_at(table, row, "share_pct");
  return isnan(limit->pct) || *ret_pct > limit->pct;
}

static enum status check(const struct limit *limit, const struct table *tables, size_t count, struct error *err)
{
  for (size_t i = 0; i < count; i++)
    for (size_t row = 0; row < tables[i].row_count && strcmp(tables[i].id, "findings") == 0; row++) {
      double pct;
      if (!is_above(&tables[i], row, limit, &pct))
        continue;
      const char *title = text_of(&tables[i], row, "title"), *advice = text_of(&tables[i], row, "advice");
      return isnan(pct) || isnan(limit->pct)
                 ? error_set(err, STATUS_NO, "a finding that may not be", limit->name, advice, "%s", title)
                 : error_set(err, STATUS_NO, "a finding above its limit", limit->name, advice,
                             "%s: %.3g %% are above %.3g %%", title, pct, limit->pct);
    }
  return STATUS_OK;
}

enum status findings_options_check(const struct invocation *invocation, const struct table *tables, size_t count,
                                   struct error *err)
{
  struct arena arena = {0};
  const char *const *texts;
  size_t text_count;
  enum status status = read_list(invocation, "fail-on", &arena, &texts, &text_count, err);
  for (size_t i = 0; i < text_count && status == STATUS_OK; i++) {
    struct limit limit;
    status = read_limit(arena_copy(&arena, texts[i], strlen(texts[i])), &limit, err);
    if (status == STATUS_OK && !invocation_has(invocation, "findings") && !analyze_is_finding(limit.name))
      status = error_set(err, STATUS_USE, "there is no such finding", limit.name, "--fail-on F2:5%",
                         "docs/findings.md lists them");
    if (status == STATUS_OK)
      status = check(&limit, tables, count, err);
  }
  arena_done(&arena);
  return status;
}

void findings_options_cut(const struct analyze_request *request, struct table *tables, size_t count)
{
  for (size_t i = 0; i < count && request->top > 0; i++)
    if (strcmp(tables[i].id, "findings") == 0 && (size_t)request->top < tables[i].row_count)
      tables[i].row_count = (size_t)request->top;
}
