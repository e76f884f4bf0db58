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

// Of one model in one version of a framework: repetitions of each other.
static bool are_repetitions(const struct experiment_runs *a, const struct experiment_runs *b)
{
  const struct store_experiment *one = a->experiment, *other = b->experiment;
  return texts_equal(one->name, other->name) && texts_equal(one->framework, other->framework) &&
         texts_equal(one->framework_version, other->framework_version);
}

struct group { // repetitions
  const struct experiment_runs *first;
  const struct group *partner; // on the other side; NULL
};
struct groups {
  struct group *items;
  size_t count;
};

static struct groups list_groups(const struct experiments *of, struct arena *arena)
{
  struct groups groups = {arena_alloc_array(arena, of->count + 1, sizeof *groups.items), 0};
  for (size_t i = 0; i < of->count; i++) {
    bool is_new = true;
    for (size_t k = 0; k < groups.count && is_new; k++)
      is_new = !are_repetitions(groups.items[k].first, &of->items[i]);
    if (is_new)
      groups.items[groups.count++] = (struct group){&of->items[i], NULL};
  }
  return groups;
}

// ---- FILE:EXPERIMENT ------------------------------------------------------------------------------------------------
static bool has_id(const struct experiment_runs *of, const char *text)
{
  int64_t id;
  return slice_int64(slice_of(text), &id) && of->experiment->experiment_id == id;
}

static bool is_named(const struct experiment_runs *of, const char *name)
{
  const struct store_experiment *experiment = of->experiment;
  return texts_equal(of->name, name) || texts_equal(experiment->name, name) || texts_equal(experiment->framework, name);
}

static size_t keep(struct experiments *experiments, const char *text,
                   bool (*is_meant)(const struct experiment_runs *of, const char *text))
{
  size_t kept = 0;
  for (size_t i = 0; i < experiments->count; i++)
    if (is_meant(&experiments->items[i], text))
      experiments->items[kept++] = experiments->items[i];
  return kept;
}

static enum status list_experiments(const struct compare_side *side, struct arena *arena, struct experiments *ret,
                                    struct error *err)
{
  const char *wanted = side->experiment;
  XSP_TRY(experiments_list(side->stores, side->store_count, arena, &ret->items, &ret->count, NULL, err));
  if (wanted == NULL)
    return STATUS_OK;
  size_t kept = keep(ret, wanted, has_id);
  if (kept == 0)
    kept = keep(ret, wanted, is_named);
  ret->count = kept;
  if (kept > 0 && list_groups(ret, arena).count == 1)
    return STATUS_OK;
  return error_set(err, STATUS_USE, "cannot compare", wanted, "xsp info FILE, which lists the ids of its experiments",
                   kept == 0 ? "no experiment has this id, name or framework"
                             : "several experiments have this name or framework");
}

// ---- partners -------------------------------------------------------------------------------------------------------
enum closeness { OF_NAME = 1, OF_FRAMEWORK, OF_VERSION }; // each with those before it

// The only group without a partner that is as close; NULL: none, or several.
static struct group *find_only(const struct group *of, const struct groups *among, enum closeness closeness)
{
  struct group *found = NULL;
  for (size_t i = 0; i < among->count; i++) {
    const struct store_experiment *one = of->first->experiment, *other = among->items[i].first->experiment;
    if (among->items[i].partner != NULL || !texts_equal(one->name, other->name) ||
        (closeness >= OF_FRAMEWORK && !texts_equal(one->framework, other->framework)) ||
        (closeness >= OF_VERSION && !texts_equal(one->framework_version, other->framework_version)))
      continue;
    if (found != NULL)
      return NULL;
    found = &among->items[i];
  }
  return found;
}

// The closest first, so that what is left over pairs with nothing that has a better partner.
static void pair_groups(struct groups *a, struct groups *b)
{
  for (enum closeness closeness = OF_VERSION; closeness >= OF_NAME; closeness--)
    for (size_t i = 0; i < a->count; i++) {
      struct group *one = &a->items[i], *other = one->partner == NULL ? find_only(one, b, closeness) : NULL;
      if (other == NULL || find_only(other, a, closeness) != one)
        continue;
      one->partner = other;
      other->partner = one;
    }
  if (a->count == 1 && b->count == 1)
    a->items[0].partner = &b->items[0];
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
    const struct view_choice choice = view_choice_of(&comparing->asked);
    XSP_TRY(view_load(experiment, &choice, comparing->scratch, view, err));
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
  struct arena scratch SCOPED(arena_done) = {0};
  struct side sides[2];
  comparing->scratch = &scratch;
  comparing->asked = comparing->request->analyze;
  comparing->asked.computing_only = true;
  comparing->asked.cache = NULL;
  XSP_TRY(start_side(comparing, &of[0], a, &sides[0], err));
  XSP_TRY(start_side(comparing, &of[1], b, &sides[1], err));
  XSP_TRY(compare_pairs_of_sides(comparing, sides, err));
  XSP_TRY(compare_scaling(comparing, sides, err));
  list_runs(comparing, sides);
  return STATUS_OK;
}

static void note_alone(struct comparing *comparing, const struct groups *groups, const char *side, const char *other)
{
  for (size_t i = 0; i < groups->count; i++)
    if (groups->items[i].partner == NULL)
      table_note(&comparing->table, "%s of %s has no partner in %s", groups->items[i].first->name, side, other);
}

// Compares every group of a with its partner, where each side has one group these two whatever their names.
static enum status run_cases(struct comparing *comparing, const struct experiments of[2], struct error *err)
{
  struct groups a = list_groups(&of[0], comparing->arena), b = list_groups(&of[1], comparing->arena);
  size_t cases = 0;
  pair_groups(&a, &b);
  for (size_t i = 0; i < a.count; i++) {
    const struct experiment_runs *one = a.items[i].first;
    const struct group *partner = a.items[i].partner;
    if (partner == NULL)
      continue;
    comparing->experiment = a.count > 1 || b.count > 1 ? one->name : NULL;
    XSP_TRY(run_case(comparing, of, one, partner->first, err));
    cases++;
  }
  note_alone(comparing, &a, "a", "b");
  note_alone(comparing, &b, "b", "a");
  if (cases > 0)
    return STATUS_OK;
  return error_set(err, STATUS_USE, "cannot compare", store_path(of[0].items[0].store),
                   "FILE:EXPERIMENT; xsp info FILE lists the ids of its experiments",
                   "no experiment of one side pairs with one of the other by name");
}

enum status analyze_compare(const struct compare_side *a, const struct compare_side *b,
                            const struct compare_request *request, struct arena *arena, struct compare_answer *ret,
                            struct error *err)
{
  struct comparing comparing = {.request = request, .arena = arena};
  struct experiments of[2];
  struct statistic unused;
  *ret = (struct compare_answer){0};
  XSP_TRY(question_statistic_check(&request->analyze, &unused, err));
  XSP_TRY(list_experiments(a, arena, &of[0], err));
  XSP_TRY(list_experiments(b, arena, &of[1], err));
  table_start(&comparing.table, arena);
  table_start(&comparing.scaling, arena);
  enum status status = run_cases(&comparing, of, err);
  if (status == STATUS_OK)
    status = analyze_systems_answer(of, arena, ret, err);
  if (status == STATUS_OK)
    compare_rows_answer(&comparing, ret);
  ret->scaling = (struct table){.id = "scaling", .title = "where the ranks of b lose time against those of a"};
  table_answer(&comparing.scaling, &ret->scaling);
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
