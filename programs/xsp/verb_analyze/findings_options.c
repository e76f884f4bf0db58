// SPDX-License-Identifier: Apache-2.0
// Reads the options of `xsp analyze findings`, and compares the findings with --fail-on. Called by verb_analyze.c.
#include "programs/xsp/verb_analyze/findings_options.h"

#include "base/json_read.h"
#include "programs/xsp/output.h"
#include "programs/xsp/verb_analyze/findings_own.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// The values of a repeatable option, each a list with commas.
static enum status read_list(const struct invocation *invocation, const char *option, struct arena *arena,
                             const char *const **ret_items, size_t *ret_count, struct error *err)
{
  const char **items = arena_alloc_array(arena, ANALYZE_LIST_MOST, sizeof *items);
  const char *given;
  *ret_items = items;
  *ret_count = 0;
  for (size_t i = 0; (given = invocation_value_at(invocation, option, i)) != NULL; i++) {
    char *rest = arena_copy(arena, given, strlen(given));
    for (char *item; (item = strsep(&rest, ",")) != NULL;) {
      if (item[0] == 0 || *ret_count == ANALYZE_LIST_MOST)
        return error_set(err, STATUS_USE, "wrong use", option, "xsp help analyze",
                         item[0] == 0 ? "a part of the list is empty" : "at most %d parts", ANALYZE_LIST_MOST);
      items[(*ret_count)++] = item;
    }
  }
  return STATUS_OK;
}

enum status findings_options_refuse(const struct invocation *invocation, bool are_asked, struct error *err)
{
  const char *option = invocation_flagged(invocation, OPTION_OF_FINDINGS);
  if (option != NULL && !are_asked)
    return error_set(err, STATUS_USE, "wrong use", option, "xsp analyze findings FILE",
                     "it is an option of the analysis findings");
  return STATUS_OK;
}

// ---- --fail-on -------------------------------------------------------------------------------------------------------
struct limit {
  const char *name; // of findings: "F2", "small_kernels"
  double pct;       // NaN: none may be found
};
struct limits {
  struct limit *items;
  size_t count;
  const char *const *may_lack; // rules that the file need not be able to answer
  size_t may_lack_count;
};

// "F2:5%", "F2:5", "F2"
static enum status read_limit(char *text, struct limit *ret_limit, struct error *err)
{
  char *colon = strchr(text, ':');
  *ret_limit = (struct limit){.name = text, .pct = NAN};
  bool is_known = true;
  if (colon != NULL) {
    char *end = NULL;
    ret_limit->pct = strtod(colon + 1, &end);
    is_known = end != colon + 1 && (*end == 0 || strcmp(end, "%") == 0) && isfinite(ret_limit->pct);
    *colon = 0;
  }
  if (is_known && text[0] != 0)
    return STATUS_OK;
  return error_set(err, STATUS_USE, "wrong use", "--fail-on", "--fail-on F2:5%", "the limit of %s is not a percentage",
                   text);
}

static const char *text_of(const struct table *table, size_t row, const char *key)
{
  const char *text = table_text_at(table, row, key);
  return text != NULL ? text : "";
}

static bool is_of(const struct table *table, size_t row, const char *name)
{
  return strcasecmp(text_of(table, row, "id"), name) == 0 || strcmp(text_of(table, row, "rule"), name) == 0;
}

// One without figures is above every limit: it may be the one that the limit was meant for.
static bool is_above(const struct table *table, size_t row, const struct limit *limit, double *ret_pct)
{
  if (!is_of(table, row, limit->name))
    return false;
  *ret_pct = table_double_at(table, row, "saving_pct");
  if (isnan(*ret_pct))
    *ret_pct = table_double_at(table, row, "share_pct");
  return isnan(limit->pct) || isnan(*ret_pct) || *ret_pct > limit->pct;
}

static enum status check_findings(const struct limits *limits, const struct limit *limit, const struct table *table,
                                  struct error *err)
{
  for (size_t row = 0; row < table->row_count; row++) {
    double pct;
    if (!is_above(table, row, limit, &pct))
      continue;
    const char *title = text_of(table, row, "title"), *advice = text_of(table, row, "advice");
    return isnan(pct) || isnan(limit->pct)
               ? error_set(err, STATUS_NO, "a finding that may not be", limit->name, advice, "%s", title)
               : error_set(err, STATUS_NO, "a finding above its limit", limit->name, advice,
                           "%s: %.3g %% are above %.3g %%", title, pct, limit->pct);
  }
  return STATUS_OK;
}

struct answer { // of a built-in rule, in the summary of a table
  char id[8], rule[64], lacks[256];
  bool is_asked;
};

static bool is_named(const struct answer *answer, const char *name)
{
  return strcasecmp(answer->id, name) == 0 || strcmp(answer->rule, name) == 0;
}

static void read_member(struct json_reader *reader, struct answer *answer)
{
  const struct {
    const char *key;
    char *text;
    size_t bytes;
  } texts[] = {{"id", answer->id, sizeof answer->id},
               {"rule", answer->rule, sizeof answer->rule},
               {"lacks", answer->lacks, sizeof answer->lacks}};
  size_t at = 0;
  while (at < 3 && strcmp(reader->text, texts[at].key) != 0)
    at++;
  bool is_asked = strcmp(reader->text, "asked") == 0;
  enum json_event event = json_next(reader);
  if (event == JSON_STRING && at < 3)
    (void)snprintf(texts[at].text, texts[at].bytes, "%s", reader->text);
  else if (is_asked)
    answer->is_asked = event == JSON_TRUE;
  else if (event == JSON_OBJECT || event == JSON_ARRAY)
    (void)json_skip(reader);
}

// How the rule `name` was answered; false: it is none of the built-in ones.
static bool find_answer(const struct table *table, const char *name, struct answer *ret_answer)
{
  struct json_reader reader SCOPED(json_read_done);
  const char *rules = "[]";
  bool is_found = false;
  for (size_t i = 0; i < table->summary_count; i++)
    if (strcmp(table->summary[i].key, "rules") == 0)
      rules = table->summary[i].value.value.text;
  json_read_start(&reader, rules, strlen(rules));
  (void)json_next(&reader);
  while (!is_found && json_next(&reader) == JSON_OBJECT) {
    *ret_answer = (struct answer){0};
    while (json_next(&reader) == JSON_KEY)
      read_member(&reader, ret_answer);
    is_found = is_named(ret_answer, name);
  }
  return is_found;
}

// A rule that was not answered found nothing, which is no reason to pass.
static enum status check_answer(const struct limits *limits, const struct limit *limit, const struct table *table,
                                struct error *err)
{
  struct answer answer;
  if (table->lacking != NULL)
    return error_set(err, STATUS_INPUT, "cannot answer --fail-on", limit->name, "the other experiments alone", "%s",
                     table->lacking);
  if (!find_answer(table, limit->name, &answer))
    return STATUS_OK;
  if (!answer.is_asked)
    return error_set(err, STATUS_USE, "wrong use", "--fail-on", "--only with it, or no --only",
                     "--only leaves out %s, which --fail-on names", limit->name);
  for (size_t i = 0; i < limits->may_lack_count; i++)
    if (is_named(&answer, limits->may_lack[i]))
      return STATUS_OK;
  if (answer.lacks[0] == 0)
    return STATUS_OK;
  return error_set(err, STATUS_INPUT, "cannot answer a finding of --fail-on", limit->name,
                   "a file that has it, or --may-lack with its id where it need not apply", "%s", answer.lacks);
}

static enum status read_limits(const struct invocation *invocation, struct arena *arena, struct limits *ret_limits,
                               struct error *err)
{
  const char *const *texts;
  XSP_TRY(read_list(invocation, "fail-on", arena, &texts, &ret_limits->count, err));
  XSP_TRY(read_list(invocation, "may-lack", arena, &ret_limits->may_lack, &ret_limits->may_lack_count, err));
  for (size_t i = 0; i < ret_limits->may_lack_count; i++)
    if (!analyze_is_finding(ret_limits->may_lack[i]))
      return analyze_no_such_finding(ret_limits->may_lack[i], "--may-lack", err);
  ret_limits->items = arena_alloc_array(arena, ret_limits->count + 1, sizeof *ret_limits->items);
  for (size_t i = 0; i < ret_limits->count; i++) {
    struct limit *limit = &ret_limits->items[i];
    XSP_TRY(read_limit(arena_copy(arena, texts[i], strlen(texts[i])), limit, err));
    if (!invocation_has(invocation, "findings") && !analyze_is_finding(limit->name))
      return analyze_no_such_finding(limit->name, "--fail-on", err);
  }
  return STATUS_OK;
}

// A name of --findings may be one that only a finding has, so it is no mistake if there is none of it; a misspelt one is.
static void warn_of_names(const struct invocation *invocation, const struct limits *limits, const struct table *tables,
                          size_t count)
{
  const char *folder = invocation_value(invocation, "findings");
  for (size_t i = 0; i < limits->count && folder != NULL; i++) {
    const char *name = limits->items[i].name;
    bool is_known = analyze_is_finding(name) || findings_own_has(folder, name);
    for (size_t k = 0; k < count && !is_known; k++)
      for (size_t row = 0; row < tables[k].row_count && !is_known; row++)
        is_known = is_of(&tables[k], row, name);
    if (!is_known)
      output_message("xsp: --fail-on %s: no built-in rule, no file of %s and no finding has this name", name, folder);
  }
}

enum status findings_options_check(const struct invocation *invocation, const struct table *tables, size_t count,
                                   struct error *err)
{
  typedef enum status check(const struct limits *, const struct limit *, const struct table *, struct error *);
  static check *const checks[] = {check_findings, check_answer};
  struct arena arena SCOPED(arena_done) = {0};
  struct limits limits = {0};
  XSP_TRY(read_limits(invocation, &arena, &limits, err));
  for (size_t pass = 0; pass < sizeof checks / sizeof *checks; pass++)
    for (size_t i = 0; i < limits.count * count; i++)
      if (strcmp(tables[i % count].id, "findings") == 0)
        XSP_TRY(checks[pass](&limits, &limits.items[i / count], &tables[i % count], err));
  warn_of_names(invocation, &limits, tables, count);
  return STATUS_OK;
}

void findings_options_cut(const struct analyze_request *request, struct table *tables, size_t count)
{
  for (size_t i = 0; i < count && request->top > 0; i++)
    if (strcmp(tables[i].id, "findings") == 0 && (size_t)request->top < tables[i].row_count)
      tables[i].row_count = (size_t)request->top;
}
