// SPDX-License-Identifier: Apache-2.0
// Finds kinds of calls by the tags of model spans, and chooses the one that a view is about. Called by view.c.
#include "analyze/view.h"

#include "base/map.h"
#include "base/sorted.h"
#include "base/vector.h"
#include "format/stems.h"

#include <stdlib.h>
#include <string.h>

enum { SIGNATURE, MODEL, BATCH_SIZE, KEYS };

struct call {                // tags of a model span
  uint32_t signature, model; // string ids; 0: none
  uint32_t name;             // id in kinds.names, from 1; 0: not asked for
  int64_t batch_size;        // 0: unknown
};
struct kinds {
  struct view *view;
  struct arena *arena;
  uint32_t keys[KEYS];
  struct map kind_of;    // by model and signature: place in found
  bool is_named;         // a run has several names of observations: all runs' names are looked at
  struct interner names; // of observations: kinds of their own where they have no model
  VECTOR(struct view_kind) found;
  struct call **calls; // by run and observation
  uint32_t **of;       // by run and observation: place in found
  bool is_signed;      // an observation has a signature
};

static enum status load_tags(struct kinds *kinds, const struct view_run *run, const struct map *place_of,
                             struct call *calls, struct error *err)
{
  struct store_tag *tags;
  size_t count;
  XSP_TRY(
      store_load_tags_of(kinds->view->store, run->run->run_id, kinds->keys, KEYS, kinds->arena, &tags, &count, err));
  for (size_t i = 0; i < count; i++) {
    const uint64_t *place = map_find(place_of, map_number((uint64_t)tags[i].span_id));
    if (place == NULL) // of a span that is no observation
      continue;
    if (tags[i].key == kinds->keys[SIGNATURE] && tags[i].type == STORE_TEXT)
      calls[*place].signature = tags[i].value.string;
    else if (tags[i].key == kinds->keys[MODEL] && tags[i].type == STORE_TEXT)
      calls[*place].model = tags[i].value.string;
    else if (tags[i].key == kinds->keys[BATCH_SIZE] && tags[i].type == STORE_INT)
      calls[*place].batch_size = tags[i].value.integer;
  }
  return STATUS_OK;
}

// ---- names of observations that have no model
struct naming {
  struct kinds *kinds;
  const struct map *place_of;
  struct call *calls;
};

static enum status take_names(void *context, size_t first_row, const struct store_spans *part,
                              const struct store_derived *derived, struct error *err)
{
  struct naming *naming = context;
  for (size_t i = 0; i < part->count; i++) {
    const uint64_t *place = map_find(naming->place_of, map_number((uint64_t)part->span_id[i]));
    if (place == NULL || naming->calls[*place].model != 0 || interner_count(&naming->kinds->names) > STEMS_MOST)
      continue;
    size_t length;
    const char *name = store_text(naming->kinds->view->store, part->name[i], &length);
    naming->calls[*place].name = stems_at(&naming->kinds->names, name, length) + 1;
  }
  return STATUS_OK;
}

static const char *name_of(const struct kinds *kinds, uint32_t name)
{
  struct slice text = interner_text(&kinds->names, name - 1);
  return arena_copy(kinds->arena, text.data, text.length);
}

// Notes are of the whole file.
static enum status find_whether_named(struct kinds *kinds, struct error *err)
{
  struct store_note *notes;
  size_t count;
  struct map noted SCOPED(map_done) = {0};
  XSP_TRY(store_notes(kinds->view->store, -1, kinds->arena, &notes, &count, err));
  for (size_t i = 0; i < count; i++)
    if (strcmp(notes[i].key, STORE_NOTE_OBSERVATION_NAMES) == 0)
      (void)map_at(&noted, map_number((uint64_t)notes[i].run_id), NULL);
  for (size_t i = 0; i < kinds->view->run_count && !kinds->is_named; i++)
    kinds->is_named = map_find(&noted, map_number((uint64_t)kinds->view->runs[i].run->run_id)) != NULL;
  return STATUS_OK;
}

static void add_observation(struct kinds *kinds, const struct store_observation *one, const struct call *call,
                            uint32_t *ret_kind)
{
  struct store *store = kinds->view->store;
  bool is_new;
  uint64_t *place =
      map_at(&kinds->kind_of, (struct map_key){(uint64_t)call->name << 32 | call->model, call->signature}, &is_new);
  if (is_new) {
    *place = kinds->found.count;
    *vector_add(&kinds->found) =
        (struct view_kind){.model = call->model != 0  ? store_text(store, call->model, NULL)
                                    : call->name != 0 ? name_of(kinds, call->name)
                                                      : NULL,
                           .signature = call->signature != 0 ? store_text(store, call->signature, NULL) : NULL,
                           .batch_size = call->batch_size,
                           .place = *place};
  }
  struct view_kind *kind = &kinds->found.items[*place];
  kind->batch_size = kind->batch_size == call->batch_size ? kind->batch_size : 0;
  *ret_kind = (uint32_t)*place;
  kinds->is_signed |= call->signature != 0;
  if (one->warmup)
    return;
  kind->observations++;
  kind->total_ms += (double)one->duration_ns / 1e6;
}

static enum status load_run(struct kinds *kinds, size_t number, struct error *err)
{
  const struct view_run *run = &kinds->view->runs[number];
  struct map place_of SCOPED(map_done) = {0};
  for (size_t i = 0; i < run->observation_count; i++)
    *map_at(&place_of, map_number((uint64_t)run->observations[i].span_id), NULL) = i;
  struct call *calls = arena_alloc_array(kinds->arena, run->observation_count + 1, sizeof *calls);
  struct naming naming = {kinds, &place_of, calls};
  enum status status = load_tags(kinds, run, &place_of, calls, err);
  if (status == STATUS_OK && kinds->is_named)
    status = store_walk_spans(kinds->view->store, run->run->run_id, STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_NAME),
                              take_names, &naming, err);
  kinds->calls[number] = calls;
  return status;
}

static void add_run(struct kinds *kinds, size_t number)
{
  const struct view_run *run = &kinds->view->runs[number];
  bool has_too_many = interner_count(&kinds->names) > STEMS_MOST; // each call has its own
  kinds->of[number] = arena_alloc_array(kinds->arena, run->observation_count + 1, sizeof **kinds->of);
  for (size_t i = 0; i < run->observation_count; i++) {
    struct call *call = &kinds->calls[number][i];
    call->name = has_too_many ? 0 : call->name;
    add_observation(kinds, &run->observations[i], call, &kinds->of[number][i]);
  }
}

SORTED_BY(by_time, struct view_kind, FALLING(total_ms) ?: RISING(place))

static bool is_chosen(const struct view_kind *kind, size_t number, const struct view_choice *choice)
{
  char *end;
  if (choice->signature == NULL)
    return choice->batch == 0 || kind->batch_size == choice->batch;
  unsigned long wanted = strtoul(choice->signature, &end, 10);
  if (end != choice->signature && *end == 0)
    return wanted == number + 1;
  return kind->signature != NULL && strstr(kind->signature, choice->signature) != NULL;
}

static enum status choose(struct view *view, const struct view_choice *choice, struct error *err)
{
  for (view->kind = 0; view->kind < view->kind_count; view->kind++)
    if (is_chosen(&view->kinds[view->kind], view->kind, choice))
      return STATUS_OK;
  view->kind = 0; // of no such batch size: the question reports that
  if (choice->signature == NULL)
    return STATUS_OK;
  return error_set(err, STATUS_USE, "no call has this signature", choice->signature, "xsp analyze A1 FILE lists them",
                   "it is neither a part of one nor a number from 1 to %zu", view->kind_count);
}

static void leave_out_others(struct kinds *kinds)
{
  struct view *view = kinds->view;
  for (size_t i = 0; i < view->run_count; i++) {
    struct view_run *run = &view->runs[i];
    struct store_observation *mine = arena_alloc_array(kinds->arena, run->observation_count + 1, sizeof *mine);
    bool *is_other = arena_alloc_array(kinds->arena, run->observation_count + 1, sizeof *is_other);
    for (size_t k = 0; k < run->observation_count; k++) {
      mine[k] = run->observations[k];
      is_other[k] = kinds->of[i][k] != view->kinds[view->kind].place;
      mine[k].warmup |= is_other[k];
    }
    run->observations = mine;
    run->is_other_kind = is_other;
  }
}

static enum status find(struct kinds *kinds, const struct view_choice *choice, struct error *err)
{
  struct view *view = kinds->view;
  kinds->of = arena_alloc_array(kinds->arena, view->run_count + 1, sizeof *kinds->of);
  kinds->calls = arena_alloc_array(kinds->arena, view->run_count + 1, sizeof *kinds->calls);
  for (size_t i = 0; i < view->run_count; i++)
    XSP_TRY(load_run(kinds, i, err));
  for (size_t i = 0; i < view->run_count; i++)
    add_run(kinds, i);
  if (!kinds->is_signed && kinds->found.count < 2) // without signatures, kinds differ by model
    return STATUS_OK;
  view->kind_count = kinds->found.count;
  view->kinds = arena_alloc_array(kinds->arena, view->kind_count + 1, sizeof *view->kinds);
  memcpy(view->kinds, kinds->found.items, view->kind_count * sizeof *view->kinds);
  qsort(view->kinds, view->kind_count, sizeof *view->kinds, by_time);
  view->kind = view->kind_count;
  bool is_of_all = choice->signature != NULL && strcmp(choice->signature, VIEW_ALL_KINDS) == 0;
  if (!is_of_all)
    XSP_TRY(choose(view, choice, err));
  if (view->kind_count > 1 && !is_of_all)
    leave_out_others(kinds);
  return STATUS_OK;
}

enum status view_kinds_load(struct view *view, const struct view_choice *choice, struct arena *arena, struct error *err)
{
  struct kinds kinds = {.view = view, .arena = arena};
  XSP_TRY(find_whether_named(&kinds, err));
  bool has_signatures = store_find_string(view->store, "signature", 9, &kinds.keys[SIGNATURE]);
  bool has_models = store_find_string(view->store, "model", 5, &kinds.keys[MODEL]);
  (void)store_find_string(view->store, "batch_size", 10, &kinds.keys[BATCH_SIZE]);
  enum status status = STATUS_OK;
  if (has_signatures || has_models || kinds.is_named)
    status = find(&kinds, choice, err);
  interner_done(&kinds.names);
  map_done(&kinds.kind_of);
  vector_done(&kinds.found);
  return status;
}
