// SPDX-License-Identifier: Apache-2.0
// Groups records into series and judges each latency against the one before, with the intervals and limits of `xsp compare`; of long
// series the changes, as its histories have them. Called by tables.c and the site.
#include "history/series.h"

#include "base/interner.h"

#include <inttypes.h>
#include <math.h>

#define CONFIDENCE 0.95
#define CHANGES_LEAST 4 // records of a series in which changes are looked for
#define FACTS_MOST 12
#define DEGREES_MOST 1e9
#define BY_DEFAULT "model,model_version,framework,host,data_set"

// ---- which series ----------------------------------------------------------------------------------------------------
static bool is_fact(const char *name)
{
  static const char *const names[] = {
#define X(fact) #fact,
      HISTORY_FACTS(X)
#undef X
          NULL};
  return text_is_in(name, names);
}

static enum status parse_facts(const char *by, struct arena *arena, struct all_series *series, struct error *err)
{
  size_t count = 0;
  for (const char *at = by; *at != 0; at += strspn(at, ",")) {
    size_t length = strcspn(at, ",");
    const char *name = arena_copy(arena, at, length);
    name = strcmp(name, "version") == 0 ? "model_version" : name;
    if (count == FACTS_MOST)
      return error_set(err, STATUS_USE, "wrong use", "--by", NULL, "more than %d facts", FACTS_MOST);
    if (!is_fact(name))
      return error_set(err, STATUS_USE, "wrong use", "--by",
                       "model, version, framework, framework_version, host, cpu, gpu, data_set, joined by commas",
                       "evaluations have no '%s'", name);
    series->facts[count++] = name;
    at += length;
  }
  return STATUS_OK;
}

enum status history_by_check(const char *by, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct all_series unused = {0};
  return by != NULL ? parse_facts(by, &arena, &unused, err) : STATUS_OK;
}

// Equal where records belong to one series; latencies of other kinds, batch sizes and levels never do.
static void put_key(const struct all_series *series, const struct history_record *record, struct buf *key)
{
  buf_format(key, "%s\n%" PRId64 "\n%s", record->kind, record->batch, record->levels != NULL ? record->levels : "");
  for (size_t i = 0; series->facts[i] != NULL; i++) {
    const char *fact = history_fact(record, series->facts[i]);
    buf_format(key, "\n%s", fact != NULL ? fact : "");
  }
}

static void group(const struct history *history, struct arena *arena, struct all_series *series)
{
  struct interner keys SCOPED(interner_done) = {0};
  struct buf key SCOPED(buf_done) = {0};
  size_t count = history->records.count, *series_of_record = arena_alloc_array(arena, count + 1, sizeof(size_t));
  size_t *places = arena_alloc_array(arena, count + 1, sizeof *places);
  for (size_t i = 0; i < count; i++) {
    const struct history_record *record = &history->records.items[i];
    buf_clear(&key);
    put_key(series, record, &key);
    series_of_record[i] =
        history_number(record, "latency_ms") > 0 ? interner_at(&keys, key.data, key.length) : SIZE_MAX;
  }
  series->count = interner_count(&keys);
  series->items = arena_alloc_array(arena, series->count + 1, sizeof *series->items);
  for (size_t i = 0; i < count; i++)
    if (series_of_record[i] != SIZE_MAX)
      series->items[series_of_record[i]].count++;
  for (size_t i = 0; i < series->count; i++) { // then they are filled anew
    series->items[i].records = places;
    places += series->items[i].count;
    series->items[i].count = 0;
  }
  for (size_t i = 0; i < count; i++)
    if (series_of_record[i] != SIZE_MAX) {
      struct history_series *of = &series->items[series_of_record[i]];
      of->records[of->count++] = i;
    }
}

// ---- verdicts --------------------------------------------------------------------------------------------------------
static struct estimate estimate_of(const struct history_record *record)
{
  double error = history_number(record, "latency_error_ms"), degrees = history_number(record, "latency_degrees");
  bool is_known = error >= 0 && degrees >= 1 && degrees < DEGREES_MOST; // a file may say anything
  return (struct estimate){history_number(record, "latency_ms"), is_known ? error * error : NAN, degrees};
}

static struct judged judge_record(const struct history_record *before, const struct history_record *record,
                                  const struct series_limits *request)
{
  struct estimate a = estimate_of(before), b = estimate_of(record), difference = estimate_difference(b, a);
  double reach = estimate_reach(difference, CONFIDENCE);
  double least_ms = a.mean * request->least_pct / 100, same_ms = a.mean * request->same_within_pct / 100;
  const struct interval interval = {difference.mean - reach, difference.mean + reach, INTERVAL_OBSERVATIONS};
  const struct verdict_limits limits = {least_ms, -same_ms, same_ms};
  bool has_drift = history_number(before, "has_drift") > 0 || history_number(record, "has_drift") > 0;
  struct judged judged = {.verdict = has_drift ? VERDICT_NOT_DECIDED : verdict_of(&interval, &limits),
                          .has_verdict = true,
                          .difference_pct = difference.mean / a.mean * 100,
                          .low_pct = interval.low / a.mean * 100,
                          .high_pct = interval.high / a.mean * 100};
  if (judged.verdict == VERDICT_NOT_DECIDED)
    judged.reason = has_drift ? "drift" : isnan(reach) ? "too few values" : "noise";
  return judged;
}

static void judge_changes(const struct history *history, const struct history_request *request, struct arena *arena,
                          struct history_series *series)
{
  struct series_point *points = arena_alloc_array(arena, series->count, sizeof *points);
  for (size_t i = 0; i < series->count; i++)
    points[i].value = history_number(&history->records.items[series->records[i]], "latency_ms");
  series_find_changes(points, series->count, &request->limits);
  struct series_verdict verdict = series_judge(points, series->count, &request->limits);
  series->segments = 1;
  for (size_t i = 0; i < series->count; i++)
    series->segments += points[i].is_change;
  series->latency_ms = points[series->count - 1].segment;
  series->judged = (struct judged){.verdict = verdict.verdict,
                                   .reason = verdict.reason,
                                   .has_verdict = true,
                                   .difference_pct = verdict.difference_pct,
                                   .low_pct = verdict.low_pct,
                                   .high_pct = verdict.high_pct};
}

static void judge(const struct history *history, const struct history_request *request, struct arena *arena,
                  struct all_series *all)
{
  const struct judged none = {.difference_pct = NAN, .low_pct = NAN, .high_pct = NAN};
  all->judged = arena_alloc_array(arena, history->records.count + 1, sizeof *all->judged);
  for (size_t i = 0; i < history->records.count; i++)
    all->judged[i] = none;
  for (size_t i = 0; i < all->count; i++) {
    struct history_series *series = &all->items[i];
    const struct history_record *records = history->records.items;
    for (size_t k = 1; k < series->count; k++)
      all->judged[series->records[k]] =
          judge_record(&records[series->records[k - 1]], &records[series->records[k]], &request->limits);
    size_t last = series->records[series->count - 1];
    series->latency_ms = history_number(&records[last], "latency_ms");
    series->judged = all->judged[last];
    if (series->count >= CHANGES_LEAST)
      judge_changes(history, request, arena, series);
  }
}

enum status history_series_of(const struct history *history, const struct history_request *request, struct arena *arena,
                              struct all_series *ret_series, struct error *err)
{
  *ret_series = (struct all_series){0};
  XSP_TRY(parse_facts(request->by != NULL ? request->by : BY_DEFAULT, arena, ret_series, err));
  group(history, arena, ret_series);
  judge(history, request, arena, ret_series);
  return STATUS_OK;
}
