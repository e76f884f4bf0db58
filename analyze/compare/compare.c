// SPDX-License-Identifier: Apache-2.0
// Compares two sides: finds which experiments pair, and in each pair its models, layers and kernels. Called by
// programs/xsp/verb_compare.c.
#include "analyze/compare/compare.h"

#include "base/slice.h"

#include <string.h>

static const struct analysis analysis_compare = {.id = "compare", .title = "comparison"};

void compare_request_init(struct compare_request *request)
{
  *request = (struct compare_request){.least_pct = 1, .same_within_pct = 5};
  analyze_request_init(&request->analyze);
}

// ---- which experiments ----------------------------------------------------------------------------------------------
struct experiments { // of one side
  const struct compare_side *side;
  struct experiment_runs *items;
  size_t count;
};

static bool are_same_text(const char *a, const char *b)
{
  return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

// Of one model in one version of a framework: repetitions of each other.
static bool are_repetitions(const struct experiment_runs *a, const struct experiment_runs *b)
{
  const struct store_experiment *one = a->experiment, *other = b->experiment;
  return are_same_text(one->name, other->name) && are_same_text(one->framework, other->framework) &&
         are_same_text(one->framework_version, other->framework_version);
}

static bool is_named(const struct experiment_runs *of, const char *name)
{
  int64_t id;
  if (slice_int64(slice_of(name), &id))
    return of->experiment->experiment_id == id;
  return are_same_text(of->name, name) || are_same_text(of->experiment->framework, name);
}

static enum status list_experiments(const struct compare_side *side, struct arena *arena, struct experiments *ret,
                                    struct error *err)
{
  size_t kept = 0;
  ret->side = side;
  XSP_TRY(experiments_list(side->stores, side->store_count, arena, &ret->items, &ret->count, NULL, err));
  for (size_t i = 0; i < ret->count && side->experiment != NULL; i++)
    if (is_named(&ret->items[i], side->experiment))
      ret->items[kept++] = ret->items[i];
  if (side->experiment == NULL)
    return STATUS_OK;
  if (kept != 1)
    return error_set(
        err, STATUS_USE, "cannot compare", side->experiment, "xsp info FILE, which lists the ids of its experiments",
        kept == 0 ? "no experiment has this id, name or framework" : "several experiments have this name or framework");
  ret->count = kept;
  return STATUS_OK;
}

// The first of each set of repetitions.
static size_t list_groups(const struct experiments *of, const struct experiment_runs **groups)
{
  size_t count = 0;
  for (size_t i = 0; i < of->count; i++) {
    bool is_new = true;
    for (size_t k = 0; k < count && is_new; k++)
      is_new = !are_repetitions(groups[k], &of->items[i]);
    if (is_new)
      groups[count++] = &of->items[i];
  }
  return count;
}

// The only group of b that is closest to `a`: of its name and framework and version, name and framework, name. NULL: none.
static const struct experiment_runs *find_partner(const struct experiment_runs *a,
                                                  const struct experiment_runs *const *groups, size_t count)
{
  for (int closeness = 3; closeness > 0; closeness--) {
    const struct experiment_runs *found = NULL;
    size_t matches = 0;
    for (size_t i = 0; i < count; i++) {
      const struct store_experiment *one = a->experiment, *other = groups[i]->experiment;
      if (are_same_text(one->name, other->name) && (closeness < 2 || are_same_text(one->framework, other->framework)) &&
          (closeness < 3 || are_same_text(one->framework_version, other->framework_version))) {
        found = groups[i];
        matches++;
      }
    }
    if (matches == 1)
      return found;
  }
  return NULL;
}

// ---- all of them ----------------------------------------------------------------------------------------------------
static enum status start_side(struct comparing *comparing, const struct experiments *of,
                              const struct experiment_runs *group, struct side *side, struct error *err)
{
  *side = (struct side){.experiments = arena_alloc_array(comparing->scratch, of->count, sizeof *side->experiments),
                        .questions = arena_alloc_array(comparing->scratch, of->count, sizeof *side->questions)};
  for (size_t i = 0; i < of->count; i++) {
    const struct experiment_runs *experiment = &of->items[i];
    if (!are_repetitions(group, experiment))
      continue;
    struct view *view = arena_alloc(comparing->scratch, sizeof *view);
    struct question *question = arena_alloc(comparing->scratch, sizeof *question);
    XSP_TRY(view_load(experiment, comparing->asked.cold, comparing->scratch, view, err));
    XSP_TRY(question_start(question, &analysis_compare, &comparing->asked, view, comparing->arena, comparing->scratch,
                           err));
    side->experiments[side->count] = experiment;
    side->questions[side->count++] = question;
  }
  return STATUS_OK;
}

static void list_runs(struct comparing *comparing, const struct side sides[2])
{
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < sides[k].count; i++) {
      const struct experiment_runs *of = sides[k].experiments[i];
      for (size_t run = 0; run < of->run_count; run++)
        if (of->runs[run].experiment_id == of->experiment->experiment_id)
          *vector_add(&comparing->runs[k]) = (struct compare_run){of->store, &of->runs[run]};
    }
}

static enum status run_case(struct comparing *comparing, const struct experiments of[2],
                            const struct experiment_runs *a, const struct experiment_runs *b, struct error *err)
{
  struct arena scratch = {0};
  struct side sides[2];
  comparing->scratch = &scratch;
  comparing->asked = comparing->request->analyze;
  comparing->asked.computing_only = true;
  comparing->asked.cache = NULL;
  enum status status = start_side(comparing, &of[0], a, &sides[0], err);
  if (status == STATUS_OK)
    status = start_side(comparing, &of[1], b, &sides[1], err);
  if (status == STATUS_OK)
    status = pairs_compare(comparing, sides, err);
  if (status == STATUS_OK)
    list_runs(comparing, sides);
  arena_done(&scratch);
  return status;
}

// Compares every group of a with its partner, where each side has one group these two whatever their names.
static enum status run_cases(struct comparing *comparing, const struct experiments of[2],
                             const struct experiment_runs **first[2], struct error *err)
{
  const struct experiment_runs **groups[2];
  size_t counts[2], cases = 0;
  for (int k = 0; k < 2; k++) {
    groups[k] = arena_alloc_array(comparing->arena, of[k].count + 1, sizeof *groups[k]);
    counts[k] = list_groups(&of[k], groups[k]);
    *first[k] = groups[k][0];
  }
  if (counts[0] == 1 && counts[1] == 1)
    return run_case(comparing, of, groups[0][0], groups[1][0], err);
  for (size_t i = 0; i < counts[0]; i++) {
    const struct experiment_runs *partner = find_partner(groups[0][i], groups[1], counts[1]);
    if (partner == NULL) {
      table_note(&comparing->table, "%s of a has no partner in b", groups[0][i]->name);
      continue;
    }
    comparing->experiment = groups[0][i]->name;
    *first[0] = cases == 0 ? groups[0][i] : *first[0];
    *first[1] = cases == 0 ? partner : *first[1];
    XSP_TRY(run_case(comparing, of, groups[0][i], partner, err));
    cases++;
  }
  if (cases > 0)
    return STATUS_OK;
  return error_set(err, STATUS_USE, "cannot compare", store_path(of[0].items[0].store),
                   "FILE:EXPERIMENT; xsp info FILE lists the ids of its experiments",
                   "no experiment of one side has the name of one of the other");
}

enum status analyze_compare(const struct compare_side *a, const struct compare_side *b,
                            const struct compare_request *request, struct arena *arena, struct compare_answer *ret,
                            struct error *err)
{
  struct comparing comparing = {.request = request, .arena = arena};
  struct experiments of[2];
  const struct experiment_runs *first_a, *first_b, **first[2] = {&first_a, &first_b};
  struct statistic unused;
  *ret = (struct compare_answer){0};
  XSP_TRY(question_statistic_check(&request->analyze, &unused, err));
  XSP_TRY(list_experiments(a, arena, &of[0], err));
  XSP_TRY(list_experiments(b, arena, &of[1], err));
  table_start(&comparing.table, arena);
  enum status status = run_cases(&comparing, of, first, err);
  if (status == STATUS_OK)
    status = systems_answer(first_a, first_b, arena, ret, err);
  if (status == STATUS_OK)
    rows_answer(&comparing, ret);
  interner_done(&comparing.names);
  vector_done(&comparing.rows);
  for (int k = 0; k < 2; k++) {
    ret->run_counts[k] = comparing.runs[k].count;
    ret->runs[k] = arena_alloc_array(arena, comparing.runs[k].count + 1, sizeof *ret->runs[k]);
    for (size_t i = 0; i < comparing.runs[k].count; i++)
      ret->runs[k][i] = comparing.runs[k].items[i];
    vector_done(&comparing.runs[k]);
    vector_done(&comparing.unpaired[k]);
  }
  return status;
}
