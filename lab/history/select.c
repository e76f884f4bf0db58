// SPDX-License-Identifier: Apache-2.0
// Which records a question is about, and their order. Called by the verbs history and publish, and by database.c.
#include "history/history.h"

#include "manifests/version.h"

#include "base/sorted.h"

#include <fnmatch.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>

// ---- constraints -----------------------------------------------------------------------------------------------------
static const char *const constraint_advice = "a version, or constraints such as '>=1.20,<2'";

// A plain version stands for itself.
static bool version_matches(const char *version, const char *constraint)
{
  char equal[128];
  if (version_constraint_is_valid(constraint))
    return version != NULL && version_satisfies(version, constraint);
  snprintf(equal, sizeof equal, "==%s", constraint);
  return version != NULL && version_satisfies(version, equal);
}

static bool is_constraint(const char *text)
{
  char equal[128];
  return version_constraint_is_valid(text) ||
         (snprintf(equal, sizeof equal, "==%s", text) < (int)sizeof equal && version_constraint_is_valid(equal));
}

enum status history_selection_check(const struct history_selection *selection, struct error *err)
{
  const char *rest = "";
  if (selection->version != NULL && !is_constraint(selection->version))
    return error_set(err, STATUS_USE, "wrong use", "--model-version", constraint_advice, "'%s' is not a constraint",
                     selection->version);
  if (selection->framework != NULL && (version_split_requirement(selection->framework, &rest) == 0 ||
                                       (rest[0] != 0 && !version_constraint_is_valid(rest))))
    return error_set(err, STATUS_USE, "wrong use", "--framework", "onnxruntime, or 'onnxruntime>=1.20'",
                     "'%s' is not a framework", selection->framework);
  return STATUS_OK;
}

bool history_parse_time(const char *text, bool is_end, int64_t *ret_ns)
{
  static const struct {
    const char *format;
    int64_t seconds; // that the text covers
  } forms[] = {{"%Y-%m-%d", 86400}, {"%Y-%m-%dT%H:%M", 60}, {"%Y-%m-%dT%H:%M:%S", 1}};
  for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
    struct tm parts = {0};
    const char *end = strptime(text, forms[i].format, &parts);
    if (end == NULL || (strcmp(end, "") != 0 && strcmp(end, "Z") != 0))
      continue;
    int64_t seconds = timegm(&parts);
    if (seconds < 0 || seconds > INT64_MAX / 1000000000 - 86400)
      return false;
    *ret_ns = seconds * 1000000000 + (is_end ? forms[i].seconds * 1000000000 - 1 : 0);
    return true;
  }
  return false;
}

// ---- records ---------------------------------------------------------------------------------------------------------
static bool has_text(const char *text, const char *part)
{
  return text != NULL && strcasestr(text, part) != NULL;
}

static bool framework_matches(const struct history_record *record, const char *requirement)
{
  const char *constraint;
  size_t length = version_split_requirement(requirement, &constraint);
  return record->framework != NULL && strlen(record->framework) == length &&
         strncasecmp(record->framework, requirement, length) == 0 &&
         (constraint[0] == 0 || version_matches(record->framework_version, constraint));
}

bool history_matches(const struct history_record *record, const struct history_selection *of)
{
  return (of->model == NULL || (record->model != NULL && fnmatch(of->model, record->model, FNM_CASEFOLD) == 0)) &&
         (of->version == NULL || version_matches(record->model_version, of->version)) &&
         (of->framework == NULL || framework_matches(record, of->framework)) &&
         (of->system == NULL || has_text(record->host, of->system) || has_text(record->cpu, of->system) ||
          has_text(record->gpu, of->system)) &&
         (of->data == NULL || has_text(record->data_set, of->data)) &&
         (of->since_ns == 0 || record->created_ns >= of->since_ns) &&
         (of->until_ns == 0 || (record->created_ns > 0 && record->created_ns <= of->until_ns));
}

// A record of a file comes before the same one of a database.
SORTED_BY(by_time, struct history_record,
          RISING(created_ns) ?: RISING(batch) ?: texts_compare(a->model, b->model)
                             ?: texts_compare(a->framework, b->framework) ?: texts_compare(a->host, b->host)
                             ?: strcmp(a->id, b->id) ?: texts_compare(a->file, b->file)
                             ?: texts_compare(b->path, a->path))

void history_select(struct history *history, const struct history_selection *selection)
{
  struct history_record *records = history->records.items;
  size_t count = 0;
  if (history->records.count > 0)
    qsort(records, history->records.count, sizeof *records, by_time);
  for (size_t i = 0; i < history->records.count; i++)
    if (history_matches(&records[i], selection) && (count == 0 || strcmp(records[count - 1].id, records[i].id) != 0))
      records[count++] = records[i];
  history->records.count = count;
}
