// SPDX-License-Identifier: Apache-2.0
// correlate_store and correlate_ensure: from a store's runs to the pure core and back into the store, column by column: a
// run of 10^7 spans has 46 bytes of them a span, and what is found out about it another 45.
#include "base/debug.h"
#include "base/sorted.h"
#include "correlate/execution_contexts.h"
#include "correlate/forward.h"
#include "correlate/launch_facts.h"
#include "correlate/layer_index.h"
#include "correlate/leaves.h"
#include "correlate/observation_names.h"
#include "correlate/pools.h"
#include "correlate/relation.h"
#include "format/stems.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_FOR_TWO 1000000u // fewer rows take a few milliseconds
#define STEP_NAME "ProfilerStep#"
#define COLUMNS                                                                                                        \
  (STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_TRACK_ID) |   \
   STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_KIND) | STORE_KIND_AS_STORED | STORE_BIT(STORE_FLAGS) | STORE_LEAN)
#define TREE_COLUMNS (STORE_ALL_DERIVED & ~STORE_BIT(STORE_SELF_NS) & ~STORE_OPTIONAL)

// ---- what names and tags say -----------------------------------------------------------------------------------------
// "ProfilerStep#12": a framework's step, also where the importer did not flag it.
static bool is_step_name(const char *name)
{
  size_t prefix = sizeof STEP_NAME - 1;
  return strncmp(name, STEP_NAME, prefix) == 0 && name[prefix] != 0 &&
         name[prefix + strspn(name + prefix, "0123456789")] == 0;
}

struct steps {
  struct store *store;
  struct arena *arena;
  struct store_spans *spans;
};

static enum status flag_steps(void *context, size_t first_row, const struct store_spans *part,
                              const struct store_derived *derived, struct error *err)
{
  struct steps *steps = context;
  for (size_t i = 0; i < part->count; i++) {
    if (part->level[i] != XSP_LEVEL_MODEL || !is_step_name(store_text(steps->store, part->name[i], NULL)))
      continue;
    if (steps->spans->flags == NULL)
      steps->spans->flags = arena_alloc_array(steps->arena, steps->spans->count, sizeof *steps->spans->flags);
    steps->spans->flags[first_row + i] |= STORE_SPAN_STEP;
  }
  return STATUS_OK;
}

// Asked once for all runs: a file may have thousands of them and millions of strings.
static bool has_step_names(struct store *store)
{
  for (uint32_t id = 1; id < store_string_count(store); id++)
    if (is_step_name(store_text(store, id, NULL)))
      return true;
  return false;
}

static enum status find_steps(struct store *store, int64_t run_id, struct arena *arena, struct store_spans *spans,
                              struct error *err)
{
  struct steps steps = {store, arena, spans};
  return store_walk_spans(store, run_id, STORE_BIT(STORE_NAME) | STORE_BIT(STORE_LEVEL), flag_steps, &steps, err);
}

struct ids {
  int64_t *id; // sorted
  size_t count;
};

static enum status find_warmups(struct store *store, int64_t run_id, struct arena *arena, struct ids *ret_warmups,
                                struct error *err)
{
  struct store_tag *tags;
  size_t count;
  uint32_t key;
  *ret_warmups = (struct ids){0};
  if (!store_find_string(store, "warmup", 6, &key))
    return STATUS_OK;
  XSP_TRY(store_load_tags_of(store, run_id, &key, 1, arena, &tags, &count, err));
  ret_warmups->id = arena_alloc_array(arena, count + 1, sizeof *ret_warmups->id);
  for (size_t i = 0; i < count; i++)
    if (tags[i].type == STORE_INT && tags[i].value.integer != 0)
      ret_warmups->id[ret_warmups->count++] = tags[i].span_id;
  qsort(ret_warmups->id, ret_warmups->count, sizeof *ret_warmups->id, sorted_compare_i64);
  return STATUS_OK;
}

// ---- one run ---------------------------------------------------------------------------------------------------------
struct run {
  struct store *store;
  int64_t run_id;
  bool may_have_steps, may_start_thread;
  struct store_spans spans;
  struct leaves leaves;     // where it has any, spans are the others
  struct arena arena;       // columns, tracks, observations
  struct arena links_arena; // the correlation ids
  struct arena named_arena; // the parents that the source named
  struct store_track *tracks;
  size_t track_count;
  struct ids warmups;
  bool has_caller;       // note remote_parent
  int64_t resolution_ns; // note time_resolution_ns
};

static enum status find_notes(struct run *run, struct error *err)
{
  struct store_note *notes;
  size_t count;
  XSP_TRY(store_notes(run->store, run->run_id, &run->arena, &notes, &count, err));
  for (size_t i = 0; i < count; i++) {
    if (notes[i].run_id != run->run_id || notes[i].value == NULL)
      continue;
    run->has_caller |= strcmp(notes[i].key, "remote_parent") == 0;
    if (strcmp(notes[i].key, STORE_NOTE_RESOLUTION) == 0)
      run->resolution_ns = strtol(notes[i].value, NULL, 10);
  }
  if (run->resolution_ns < 0 || run->resolution_ns > STORE_RESOLUTION_MOST_NS) // no importer wrote that
    run->resolution_ns = 0;
  return STATUS_OK;
}

static enum status load_columns(struct run *run, struct error *err)
{
  struct store_spans named, links;
  if (run->leaves.has_any) {
    run->spans = run->leaves.kept;
    run->spans.name = NULL;
    return STATUS_OK;
  }
  XSP_TRY(store_load_spans(run->store, run->run_id, COLUMNS, &run->arena, &run->spans, err));
  XSP_TRY(store_load_spans(run->store, run->run_id, STORE_BIT(STORE_RECORDED_PARENT_ID) | STORE_LEAN, &run->named_arena,
                           &named, err));
  run->spans.recorded_parent_id = named.recorded_parent_id;
  XSP_TRY(store_load_spans(run->store, run->run_id, STORE_BIT(STORE_CORRELATION_ID) | STORE_LEAN, &run->links_arena,
                           &links, err));
  run->spans.correlation_id = links.correlation_id;
  return run->may_have_steps ? find_steps(run->store, run->run_id, &run->arena, &run->spans, err) : STATUS_OK;
}

static enum status load(struct run *run, bool is_overlay, struct error *err)
{
  XSP_TRY(find_notes(run, err));
  XSP_TRY(store_tracks(run->store, run->run_id, &run->arena, &run->tracks, &run->track_count, err));
  XSP_TRY(find_warmups(run->store, run->run_id, &run->arena, &run->warmups, err));
  if (!is_overlay && !run->may_have_steps && run->resolution_ns == 0 && !forward_may_be(run->store))
    XSP_TRY(leaves_find(run->store, run->run_id, run->tracks, run->track_count, &run->leaves, err));
  return load_columns(run, err);
}

static enum status find_forward(struct run *run, const struct parents *parents, struct arena *arena,
                                struct forward_links *ret_links, struct error *err)
{
  const struct forward_source source = {run->store, run->run_id, &run->spans, parents, run->tracks, run->track_count};
  return forward_find(&source, arena, ret_links, err);
}

// The run may have been correlated before, with fewer spans.
static enum status note_count(struct run *run, const char *key, size_t count, struct error *err)
{
  const char *value = count > 0 ? arena_format(&run->arena, "%zu", count) : NULL;
  return store_put_note(run->store, run->run_id, key, value, err);
}

static enum status write_forward(struct run *run, const struct parents *parents, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct forward_links links;
  XSP_TRY(find_forward(run, parents, &arena, &links, err));
  struct store_derived_source source = {run->spans.count, STORE_BIT(STORE_FORWARD_ID), &links, false, forward_fill};
  if (links.count > 0)
    XSP_TRY(store_put_derived_columns(run->store, run->run_id, &source, err));
  return note_count(run, "forward_threads_unknown", links.unknown_count, err);
}

// What is written is given up before the next phase needs room.
static enum status write_relation(struct run *run, struct relation *relation, struct error *err)
{
  struct store_observation *observations;
  size_t observation_count, outside;
  struct leaves *leaves = &run->leaves;
  struct store_derived_source source = {run->spans.count, TREE_COLUMNS, relation, false, relation_fill};
  if (relation->parents.launches.carried != NULL)
    source.column_mask |= STORE_BIT(STORE_DERIVED_KIND);
  relation_climb(relation);
  if (leaves->has_any) {
    source = (struct store_derived_source){leaves->row_count, TREE_COLUMNS, leaves, true, leaves_fill};
    leaves_climbed(leaves, relation);
  }
  relation_observe(relation, run->warmups.id, run->warmups.count, &run->arena, &observations, &observation_count,
                   &outside);
  XSP_TRY(store_drop_derived(run->store, run->run_id, err));
  XSP_TRY(store_put_derived_columns(run->store, run->run_id, &source, err));
  XSP_TRY(store_put_observations(run->store, run->run_id, observations, observation_count, err));
  if (leaves->has_any) // and no executions
    XSP_TRY(leaves_number(run->store, run->run_id, leaves, observation_count, err));
  else
    XSP_TRY(execution_contexts_put(run->store, run->run_id, &run->spans, &relation->parents, err));
  parents_forget_links(&relation->parents);
  arena_done(&run->links_arena);
  run->spans.correlation_id = NULL;
  XSP_TRY(note_count(run, "ends_after_parent", relation->parents.nested_count, err));
  size_t name_count;
  XSP_TRY(observation_names_count(run->store, run->run_id, relation, leaves, &name_count, err));
  XSP_TRY(note_count(run, STORE_NOTE_OBSERVATION_NAMES, name_count, err));
  if (!leaves->has_any) {
    XSP_TRY(write_forward(run, &relation->parents, err));
    XSP_TRY(layer_index_fill(run->store, run->run_id, relation, observation_count, err));
  }
  relation_forget_tree(relation);
  relation_self(relation);
  source.column_mask = STORE_BIT(STORE_SELF_NS);
  return store_put_derived_columns(run->store, run->run_id, &source, err);
}

static bool needs_thread(const struct run *run)
{
  cpu_set_t set;
  return run->may_start_thread && run->spans.count >= ROWS_FOR_TWO && sched_getaffinity(0, sizeof set, &set) == 0 &&
         CPU_COUNT(&set) > 1;
}

static enum status find_parents(struct run *run, struct parents *parents, struct error *err)
{
  const struct correlate_question question = {.spans = &run->spans,
                                              .tracks = run->tracks,
                                              .track_count = run->track_count,
                                              .resolution_ns = run->resolution_ns};
  struct launch_facts_source source = {run->store, run->run_id, &run->spans, run->tracks, run->track_count};
  XSP_TRY(parents_find(&question, needs_thread(run), parents, err));
  XSP_TRY(parents_learn(&run->spans, launch_facts_load, &source, parents, err));
  const struct pools_source pools = {run->store, run->run_id, &run->spans, run->tracks, run->track_count};
  if (!run->leaves.has_any) // which have no calls of libraries beside them
    XSP_TRY(pools_find(&pools, parents, err));
  if (run->has_caller)
    parents_name_caller(&run->spans, parents);
  return STATUS_OK;
}

static enum status overlay_relation(struct run *run, struct relation *relation, struct error *err)
{
  const struct correlate_question question = {.spans = &run->spans,
                                              .warmup_span_ids = run->warmups.id,
                                              .warmup_count = run->warmups.count,
                                              .column_mask = STORE_ALL_DERIVED};
  struct correlate_answer answer = {0};
  struct forward_links links;
  relation_answer(relation, &question, &run->arena, &answer);
  XSP_TRY(find_forward(run, &relation->parents, &run->arena, &links, err));
  if (links.count > 0) {
    answer.derived.forward_id = arena_alloc_array(&run->arena, run->spans.count, sizeof *answer.derived.forward_id);
    forward_fill(&links, STORE_FORWARD_ID, 0, run->spans.count, answer.derived.forward_id);
  }
  return store_overlay_derived(run->store, run->run_id, &answer.derived, answer.observations, answer.observation_count,
                               err);
}

// Names decide between observations on no thread only. "request 7" and "request 12" count as one.
static enum status load_names(struct run *run, const struct parents *parents, struct error *err)
{
  bool has_threadless = false;
  for (size_t i = 0; i < parents->track_count; i++)
    has_threadless |= parents->track[i].is_threadless;
  if (!has_threadless)
    return STATUS_OK;
  struct store_spans names = run->leaves.kept;
  if (run->leaves.has_any)
    names.name = arena_alloc_array(&run->arena, names.count, sizeof *names.name);
  else
    XSP_TRY(store_load_spans(run->store, run->run_id, STORE_BIT(STORE_NAME), &run->arena, &names, err));
  const uint32_t *name_of = run->leaves.has_any ? run->leaves.kept.name : names.name;
  struct interner stems = {0};
  for (size_t i = 0; i < names.count; i++) {
    bool is_model = run->spans.level[i] == XSP_LEVEL_MODEL;
    size_t length;
    const char *name = is_model ? store_text(run->store, name_of[i], &length) : NULL;
    names.name[i] = is_model ? stems_at(&stems, name, length) + 1 : 0;
  }
  interner_done(&stems);
  run->spans.name = names.name;
  return STATUS_OK;
}

static enum status correlate_run(struct run *run, bool is_overlay, struct error *err)
{
  struct relation relation SCOPED(relation_done) = {.spans = &run->spans};
  XSP_TRY(find_parents(run, &relation.parents, err));
  XSP_TRY(load_names(run, &relation.parents, err));
  if (relation_keep_named(&relation, &run->arena)) {
    arena_done(&run->named_arena);
    run->spans.recorded_parent_id = NULL;
  }
  return is_overlay ? overlay_relation(run, &relation, err) : write_relation(run, &relation, err);
}

static enum status correlate_runs(struct store *store, bool is_overlay, bool may_start_thread, struct error *err)
{
  struct arena arena SCOPED(arena_done) = {0};
  struct store_run *runs;
  size_t count;
  enum status status = store_runs(store, &arena, &runs, &count, err);
  bool may_have_steps = status == STATUS_OK && has_step_names(store);
  for (size_t i = 0; i < count && status == STATUS_OK; i++) {
    if (is_overlay && store_has_derived(store, runs[i].run_id))
      continue;
    struct run run = {.store = store,
                      .run_id = runs[i].run_id,
                      .may_have_steps = may_have_steps,
                      .may_start_thread = may_start_thread};
    status = load(&run, is_overlay, err);
    DEBUG(correlate, "run %lld: %zu spans%s, %zu tracks%s%s", (long long)run.run_id, run.spans.count,
          run.leaves.has_any ? " beside leaves" : "", run.track_count, needs_thread(&run) ? ", by two threads" : "",
          is_overlay ? ", in memory only" : "");
    if (status == STATUS_OK)
      status = correlate_run(&run, is_overlay, err);
    leaves_done(&run.leaves);
    arena_done(&run.named_arena);
    arena_done(&run.links_arena);
    arena_done(&run.arena);
  }
  return status;
}

enum status correlate_store(struct store *store, struct error *err)
{
  return correlate_runs(store, false, true, err);
}

enum status correlate_store_alone(struct store *store, struct error *err)
{
  return correlate_runs(store, false, false, err);
}

// Its caller may be a library in somebody's process, which has a way out of exhausted memory on its thread alone.
enum status correlate_ensure(struct store *store, struct error *err)
{
  return correlate_runs(store, true, false, err);
}
