// SPDX-License-Identifier: Apache-2.0
// Options of an analysis; see options.h. The verb's own table (programs/xsp/verb_analyze.c) has their help.
#include "read/options.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define LIST_MOST 256 // of findings; of metrics ANALYZE_METRICS_MOST

enum form { FORM_TEXT, FORM_COUNT, FORM_REAL, FORM_FLAG, FORM_LIST };
static const struct option {
  const char *name;
  enum form form;
  size_t offset;       // into the request
  double most;         // of FORM_REAL and FORM_LIST
  size_t count_offset; // of FORM_LIST
} known[] = {
    {"batch", FORM_COUNT, offsetof(struct analyze_request, batch), 0, 0},
    {"top", FORM_COUNT, offsetof(struct analyze_request, top), 0, 0},
    {"layer", FORM_TEXT, offsetof(struct analyze_request, layer), 0, 0},
    {"stat", FORM_TEXT, offsetof(struct analyze_request, statistic), 0, 0},
    {"sort", FORM_TEXT, offsetof(struct analyze_request, sort), 0, 0},
    {"by", FORM_TEXT, offsetof(struct analyze_request, by), 0, 0},
    {"latency-basis", FORM_TEXT, offsetof(struct analyze_request, latency_basis), 0, 0},
    {"optimal", FORM_TEXT, offsetof(struct analyze_request, optimal), 0, 0},
    {"base", FORM_TEXT, offsetof(struct analyze_request, base), 0, 0},
    {"cold", FORM_FLAG, offsetof(struct analyze_request, cold), 0, 0},
    {"partial-metrics", FORM_FLAG, offsetof(struct analyze_request, partial_metrics), 0, 0},
    {"metric", FORM_LIST, offsetof(struct analyze_request, metrics), ANALYZE_METRICS_MOST,
     offsetof(struct analyze_request, metric_count)},
    {"only", FORM_LIST, offsetof(struct analyze_request, only), LIST_MOST,
     offsetof(struct analyze_request, only_count)},
    {"threshold", FORM_LIST, offsetof(struct analyze_request, thresholds), LIST_MOST,
     offsetof(struct analyze_request, threshold_count)},
    {"overhead-threshold", FORM_REAL, offsetof(struct analyze_request, small_overhead_pct), 1e6, 0},
    {"optimal-threshold", FORM_REAL, offsetof(struct analyze_request, optimal_threshold_pct), 1e6, 0},
    {"asynchronous-threshold", FORM_REAL, offsetof(struct analyze_request, asynchronous_threshold_pct), 100, 0},
    {"latency-threshold", FORM_REAL, offsetof(struct analyze_request, latency_threshold_pct), 100, 0},
};

static enum status refuse(const char *name, const char *why, struct error *err)
{
  return error_set(err, STATUS_USE, "wrong use", name, "xsp help analyze", "%s", why);
}

// "a,b" as a list in `arena`.
static enum status read_list(const struct option *option, const char *text, struct arena *arena,
                             struct analyze_request *request, struct error *err)
{
  size_t count = 0, most = (size_t)option->most;
  const char **items = arena_alloc_array(arena, most, sizeof *items);
  char *rest = arena_copy(arena, text, strlen(text));
  for (char *item; (item = strsep(&rest, ",")) != NULL;) {
    if (item[0] == 0 || count == most)
      return refuse(option->name, item[0] == 0 ? "a part of the list is empty" : "the list is too long", err);
    items[count++] = item;
  }
  memcpy((char *)request + option->offset, &items, sizeof items);
  memcpy((char *)request + option->count_offset, &count, sizeof count);
  return STATUS_OK;
}

static enum status read_option(const struct option *option, const char *value, struct arena *arena,
                               struct analyze_request *request, struct error *err)
{
  char *place = (char *)request + option->offset, *end = NULL;
  errno = 0;
  if (option->form == FORM_LIST)
    return read_list(option, value, arena, request, err);
  if (option->form == FORM_TEXT) {
    memcpy(place, &value, sizeof value);
  } else if (option->form == FORM_FLAG) {
    memcpy(place, &(bool){true}, sizeof(bool));
  } else if (option->form == FORM_COUNT) {
    int64_t number = strtoll(value, &end, 10);
    if (end == value || *end != 0 || errno != 0 || number < 1)
      return refuse(option->name, "its value is not a whole number from 1", err);
    memcpy(place, &number, sizeof number);
  } else {
    double number = strtod(value, &end);
    if (end == value || *end != 0 || !(number >= 0 && number <= option->most))
      return refuse(option->name, "its value is not a number in its range", err);
    memcpy(place, &number, sizeof number);
  }
  return STATUS_OK;
}

enum status options_read(const char *const *options, struct arena *arena, struct analyze_request *ret_request,
                         struct error *err)
{
  analyze_request_init(ret_request);
  for (; options != NULL && options[0] != NULL; options += 2) {
    const struct option *option = NULL;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
      if (strcmp(known[i].name, options[0]) == 0)
        option = &known[i];
    if (option == NULL || options[1] == NULL)
      return refuse(options[0], option == NULL ? "no such option" : "its value is missing", err);
    XSP_TRY(read_option(option, options[1], arena, ret_request, err));
  }
  return STATUS_OK;
}
