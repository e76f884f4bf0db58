// SPDX-License-Identifier: Apache-2.0
// How much of a program's time its observations cover, and what the rest is: unions of spans by what they are, each joined to those
// before it. Called by a1_model.c.
#include "analyze/runs/a1_coverage.h"

#include "analyze/layers/busy.h"
#include "base/saturate.h"
#include "base/vector.h"

#include <math.h>
#include <string.h>

#define LISTED 4u // parts in the summary

static const char *const part_names[COVERAGE_PARTS] = {
    "start and imports", "end",       "compilation", "input",   "loading models",
    "predictions",       "operators", "ranges",      "unknown",
};

struct of_run {
  struct store *store;
  const struct view_run *run;
  uint32_t program, words[COVERAGE_PARTS]; // string ids of categories; UINT32_MAX: no span has it
  uint32_t data;                           // of category `data`, which is input, too
  int64_t start_ns, end_ns;                // of the program
  int64_t first_ns, last_ns;               // when the first of the other spans begins, and the last ends
  VECTOR(struct busy_interval) intervals[COVERAGE_PARTS];
};

static uint32_t find_word(struct store *store, const char *word)
{
  uint32_t id;
  return store_find_string(store, word, strlen(word), &id) ? id : UINT32_MAX;
}

static enum coverage_part part_of(const struct of_run *of, unsigned level, uint32_t category)
{
  if (category != 0 && category == of->words[COVERAGE_COMPILE])
    return COVERAGE_COMPILE;
  if (category != 0 && (category == of->words[COVERAGE_INPUT] || category == of->data))
    return COVERAGE_INPUT;
  if (category != 0 && category == of->words[COVERAGE_LOAD])
    return COVERAGE_LOAD;
  return level == XSP_LEVEL_MODEL   ? COVERAGE_PREDICTIONS
         : level == XSP_LEVEL_LAYER ? COVERAGE_OPERATORS
                                    : COVERAGE_RANGES;
}

static void add(struct of_run *of, enum coverage_part part, int64_t start_ns, int64_t end_ns)
{
  const struct busy_interval next = {start_ns, end_ns, 0};
  of->intervals[part].count = busy_leave_nested(of->intervals[part].items, of->intervals[part].count, &next);
  *vector_add(&of->intervals[part]) = next;
}

static enum status visit(void *context, size_t first_row, const struct store_spans *spans,
                         const struct store_derived *derived, struct error *err)
{
  struct of_run *of = context;
  for (size_t i = 0; i < spans->count; i++) {
    int64_t start_ns = spans->start_ns[i], end_ns = saturate_add(start_ns, spans->duration_ns[i]);
    if (spans->level[i] == XSP_LEVEL_APPLICATION && spans->category[i] == of->program) {
      if (of->end_ns <= of->start_ns) { // the first one is xsp's own: of the process that it started
        of->start_ns = start_ns;
        of->end_ns = end_ns;
      }
      continue;
    }
    of->first_ns = start_ns < of->first_ns ? start_ns : of->first_ns;
    of->last_ns = end_ns > of->last_ns ? end_ns : of->last_ns;
    bool may_nest = spans->level[i] == XSP_LEVEL_LIBRARY || spans->level[i] == XSP_LEVEL_KERNEL;
    if ((spans->flags[i] & STORE_SPAN_OPEN) == 0 && !may_nest)
      add(of, part_of(of, spans->level[i], spans->category[i]), start_ns, end_ns);
  }
  return STATUS_OK;
}

// Joins each part to the union of those before it: what it adds is its own.
static void measure(struct of_run *of, struct arena *scratch, struct coverage *coverage)
{
  size_t most = of->run->observation_count, count = 0;
  for (size_t part = 0; part < COVERAGE_PARTS; part++)
    most += of->intervals[part].count;
  struct busy_interval *all = arena_alloc_array(scratch, most + 1, sizeof *all);
  for (size_t i = 0; i < of->run->observation_count; i++) {
    const struct store_observation *one = &of->run->observations[i];
    all[count++] = (struct busy_interval){one->start_ns, saturate_add(one->start_ns, one->duration_ns), 0};
  }
  struct busy busy = busy_of(all, count);
  int64_t before_ns = busy_within_ns(&busy, of->start_ns, of->end_ns);
  coverage->covered_ms += (double)before_ns / 1e6;
  for (size_t part = 0; part < COVERAGE_PARTS; part++) {
    if (of->intervals[part].count > 0)
      memcpy(all + busy.count, of->intervals[part].items, of->intervals[part].count * sizeof *all);
    busy = busy_of(all, busy.count + of->intervals[part].count);
    int64_t now_ns = busy_within_ns(&busy, of->start_ns, of->end_ns);
    coverage->outside_ms[part] += (double)(now_ns - before_ns) / 1e6;
    before_ns = now_ns;
  }
}

static enum status cover_run(struct of_run *of, struct arena *scratch, struct coverage *coverage, struct error *err)
{
  const uint32_t columns = STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_CATEGORY) |
                           STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_FLAGS);
  XSP_TRY(store_walk_spans(of->store, of->run->run->run_id, columns, visit, of, err));
  if (of->end_ns <= of->start_ns)
    return STATUS_OK;
  if (of->first_ns < of->last_ns) {
    add(of, COVERAGE_START, of->start_ns, of->first_ns);
    add(of, COVERAGE_END, of->last_ns, of->end_ns);
  }
  add(of, COVERAGE_UNKNOWN, of->start_ns, of->end_ns);
  coverage->program_ms += (double)(of->end_ns - of->start_ns) / 1e6;
  measure(of, scratch, coverage);
  return STATUS_OK;
}

enum status analyze_coverage(struct question *question, const struct view_set *set, struct coverage *ret_coverage,
                             struct error *err)
{
  struct store *store = question->view->store;
  enum status status = STATUS_OK;
  *ret_coverage = (struct coverage){0};
  uint32_t program = find_word(store, "program");
  for (size_t i = 0; i < set->run_count && status == STATUS_OK && program != UINT32_MAX; i++) {
    struct of_run of = {.store = store,
                        .run = set->runs[i],
                        .program = program,
                        .words = {[COVERAGE_COMPILE] = find_word(store, "compile"),
                                  [COVERAGE_INPUT] = find_word(store, "input"),
                                  [COVERAGE_LOAD] = find_word(store, "load")},
                        .data = find_word(store, "data"),
                        .first_ns = INT64_MAX,
                        .last_ns = INT64_MIN};
    status = cover_run(&of, question->scratch, ret_coverage, err);
    for (size_t part = 0; part < COVERAGE_PARTS; part++)
      vector_done(&of.intervals[part]);
  }
  return status;
}

// "start and imports 5.1 s (40 %), unknown 0.2 s (1.5 %)", largest first; NULL: nothing of a hundredth of a per cent.
static const char *describe(const struct coverage *coverage, struct arena *arena)
{
  bool is_listed[COVERAGE_PARTS] = {false};
  const char *text = NULL;
  for (size_t n = 0; n < LISTED; n++) {
    size_t largest = COVERAGE_PARTS;
    for (size_t part = 0; part < COVERAGE_PARTS; part++)
      if (!is_listed[part] && coverage->outside_ms[part] > coverage->program_ms / 1e4 &&
          (largest == COVERAGE_PARTS || coverage->outside_ms[part] > coverage->outside_ms[largest]))
        largest = part;
    if (largest == COVERAGE_PARTS)
      break;
    is_listed[largest] = true;
    text = arena_format(arena, "%s%s%s %.3g s (%.3g %%)", text != NULL ? text : "", text != NULL ? ", " : "",
                        part_names[largest], coverage->outside_ms[largest] / 1e3,
                        100 * coverage->outside_ms[largest] / coverage->program_ms);
  }
  return text;
}

enum status analyze_coverage_summarize(struct question *question, const struct view_set *set, struct error *err)
{
  struct coverage coverage;
  XSP_TRY(analyze_coverage(question, set, &coverage, err));
  bool is_known = coverage.program_ms > 0;
  table_summary(&question->table, "covered_pct",
                cell_real(is_known ? analyze_share_pct(coverage.covered_ms, coverage.program_ms) : NAN));
  table_summary(&question->table, "outside", cell_text(is_known ? describe(&coverage, question->arena) : NULL));
  return STATUS_OK;
}
