// SPDX-License-Identifier: Apache-2.0
// Finds what surrounds the predictions of a set, or is part of its training steps, run by run, and gives each span of it to one
// observation. Called by a1_model.c. A file in which no text is "preprocess" and the like is not looked through.
#include "analyze/runs/a1_stages.h"

#include "analyze/runs/a1_places.h"
#include "base/saturate.h"
#include "base/sorted.h"
#include "base/vector.h"

#include <math.h>
#include <string.h>

enum stage { LOAD, PREPROCESS, POSTPROCESS, FORWARD, BACKWARD, OPTIMIZER, DATA, COMPILE, COLLECTIVE, STAGE_COUNT };
static const char *const categories[STAGE_COUNT] = {"load",      "preprocess", "postprocess", "forward",   "backward",
                                                    "optimizer", "data",       "compile",     "collective"};
// PyTorch's own ranges, which torch.profiler records among models or layers.
static const struct {
  const char *prefix;
  enum stage stage;
} ranges[] = {{"Optimizer.step#", OPTIMIZER}, {"Optimizer.zero_grad#", OPTIMIZER}, {"enumerate(DataLoader)#", DATA}};

struct stage_span {
  int64_t span_id, start_ns, end_ns;
  int64_t nested_ns; // in it, of stages of its track that count by themselves
  uint32_t track_id;
  uint8_t stage;
};

struct run_stages {
  struct question *question;
  const struct view_run *run;
  const struct map *stage_of; // by string id: of categories, and of names above
  VECTOR(struct stage_span) found;
  struct map track_of; // by id, of model spans
  struct map once;     // ids of spans with the tag `once`
  struct stage_places places;
};

enum { ONCE = STAGE_COUNT, OTHER, VALUES_COUNT };
struct values { // of the set, in ms: load and once per process of a run, the others per observation
  VECTOR(double) of[VALUES_COUNT];
  struct stages_compile compile;
};

// ---- reading --------------------------------------------------------------------------------------------------------
#define NAMES UINT64_C(1) // second half of the key of a name; of a category: 0

static void find_words(struct store *store, struct map *stage_of)
{
  uint32_t id;
  for (unsigned stage = 0; stage < STAGE_COUNT; stage++)
    if (store_find_string(store, categories[stage], strlen(categories[stage]), &id))
      *map_at(stage_of, (struct map_key){id, 0}, NULL) = stage;
  for (id = 1; id < store_string_count(store); id++)
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
      if (strncmp(store_text(store, id, NULL), ranges[i].prefix, strlen(ranges[i].prefix)) == 0)
        *map_at(stage_of, (struct map_key){id, NAMES}, NULL) = ranges[i].stage;
}

static const uint64_t *stage_of(const struct run_stages *stages, const struct store_spans *spans, size_t row)
{
  const uint64_t *by_category = map_find(stages->stage_of, (struct map_key){spans->category[row], 0});
  bool is_call = spans->level[row] == XSP_LEVEL_LAYER || spans->level[row] == XSP_LEVEL_LIBRARY;
  if (spans->level[row] == XSP_LEVEL_APPLICATION || (is_call && by_category != NULL && *by_category == COLLECTIVE))
    return by_category;
  bool may_be_range = spans->level[row] == XSP_LEVEL_MODEL || spans->level[row] == XSP_LEVEL_LAYER;
  return may_be_range ? map_find(stages->stage_of, (struct map_key){spans->name[row], NAMES}) : NULL;
}

static enum status visit(void *context, size_t first_row, const struct store_spans *spans,
                         const struct store_derived *derived, struct error *err)
{
  struct run_stages *stages = context;
  for (size_t i = 0; i < spans->count; i++) {
    if (spans->level[i] == XSP_LEVEL_MODEL)
      *map_at(&stages->track_of, map_number((uint64_t)spans->span_id[i]), NULL) = spans->track_id[i];
    const uint64_t *stage = (spans->flags[i] & STORE_SPAN_OPEN) == 0 ? stage_of(stages, spans, i) : NULL;
    if (stage != NULL)
      *vector_add(&stages->found) =
          (struct stage_span){.span_id = spans->span_id[i],
                              .start_ns = spans->start_ns[i],
                              .end_ns = saturate_add(spans->start_ns[i], spans->duration_ns[i]),
                              .track_id = spans->track_id[i],
                              .stage = (uint8_t)*stage};
  }
  return STATUS_OK;
}

static int compare_starts(const struct stage_span *a, const struct stage_span *b) // of equal ones the longer first
{
  return RISING(start_ns) ?: FALLING(end_ns);
}

// On one track and of one stage.
SORTED_BY(compare_spans, struct stage_span, RISING(track_id) ?: RISING(stage) ?: compare_starts(a, b))

SORTED_BY(compare_on_track, struct stage_span, RISING(track_id) ?: compare_starts(a, b))

// Of spans inside another of the same stage only the outer one counts.
static void keep_outermost(struct run_stages *stages)
{
  size_t kept = 0;
  vector_sort(&stages->found, compare_spans);
  for (size_t i = 0; i < stages->found.count; i++) {
    const struct stage_span *span = &stages->found.items[i], *outer = kept > 0 ? &stages->found.items[kept - 1] : NULL;
    if (outer == NULL || outer->track_id != span->track_id || outer->stage != span->stage ||
        span->end_ns > outer->end_ns)
      stages->found.items[kept++] = *span;
  }
  stages->found.count = kept;
}

// A compilation in a forward call, a forward call in an optimizer's step: each instant counts in the innermost stage.
static void take_nested_off(struct run_stages *stages)
{
  struct stage_span **open = arena_alloc_array(stages->question->scratch, stages->found.count + 1, sizeof *open);
  size_t depth = 0;
  vector_sort(&stages->found, compare_on_track);
  for (size_t i = 0; i < stages->found.count; i++) {
    struct stage_span *span = &stages->found.items[i];
    if (span->stage < FORWARD)
      continue;
    while (depth > 0 && (open[depth - 1]->track_id != span->track_id || open[depth - 1]->end_ns <= span->start_ns))
      depth--;
    if (depth > 0) {
      struct stage_span *outer = open[depth - 1];
      outer->nested_ns += (span->end_ns < outer->end_ns ? span->end_ns : outer->end_ns) - span->start_ns;
    }
    open[depth++] = span;
  }
}

static enum status find_compilations(struct run_stages *stages, struct stages_compile *compile, struct error *err)
{
  struct store *store = stages->question->view->store;
  uint32_t key = 0;
  struct store_tag *tags = NULL;
  size_t count = 0;
  struct map counted SCOPED(map_done) = {0}; // ids of spans
  for (size_t i = 0; i < stages->found.count; i++)
    if (stages->found.items[i].stage == COMPILE) {
      (void)map_at(&counted, map_number((uint64_t)stages->found.items[i].span_id), NULL);
      compile->total_ms += (double)(stages->found.items[i].end_ns - stages->found.items[i].start_ns) / 1e6;
    }
  compile->count += counted.count;
  if (counted.count == 0 || !store_find_string(store, "compile_id", 10, &key))
    return STATUS_OK;
  XSP_TRY(store_load_tags_of(store, stages->run->run->run_id, &key, 1, stages->question->scratch, &tags, &count, err));
  for (size_t i = 0; i < count; i++) { // "2/0": the first compilation of the third function
    const char *text = tags[i].type == STORE_TEXT ? store_text(store, tags[i].value.string, NULL) : "";
    const char *slash = strchr(text, '/');
    bool is_again = slash != NULL && slash[1] >= '1' && slash[1] <= '9';
    compile->again_count += is_again && map_find(&counted, map_number((uint64_t)tags[i].span_id)) != NULL;
  }
  return STATUS_OK;
}

static enum status find_once(struct run_stages *stages, struct error *err)
{
  struct store *store = stages->question->view->store;
  uint32_t key = 0;
  struct store_tag *tags = NULL;
  size_t count = 0;
  if (!store_find_string(store, "once", 4, &key))
    return STATUS_OK;
  XSP_TRY(store_load_tags_of(store, stages->run->run->run_id, &key, 1, stages->question->scratch, &tags, &count, err));
  for (size_t i = 0; i < count; i++)
    if (tags[i].type == STORE_INT && tags[i].value.integer == 1)
      (void)map_at(&stages->once, map_number((uint64_t)tags[i].span_id), NULL);
  return STATUS_OK;
}

// ---- the figures ----------------------------------------------------------------------------------------------------

static void add_to(double *sums, size_t at, int64_t duration_ns)
{
  sums[at] = (isnan(sums[at]) ? 0 : sums[at]) + (double)duration_ns / 1e6;
}

// `of_observation`: by stage; NULL: none has any.
static void add_observations(const struct view_run *run, double *const *of_observation, struct values *values)
{
  for (size_t i = 0; i < run->observation_count; i++)
    for (unsigned stage = PREPROCESS; stage < STAGE_COUNT && !run->observations[i].warmup; stage++)
      *vector_add(&values->of[stage]) = of_observation == NULL ? NAN : of_observation[stage][i];
}

// The observation of its thread, else of its process, that the span begins in; NULL: none.
static const struct stage_place *place_around(const struct run_stages *stages, const struct stage_span *span)
{
  uint32_t process = stage_places_process(&stages->places, span->track_id);
  const struct stage_place *place = stage_places_before(&stages->places, span->track_id, process, span->start_ns);
  return place != NULL && span->start_ns < place->end_ns ? place : NULL;
}

// Data are loaded within a training step, and before a prediction.
static bool has_data_within(const struct run_stages *stages)
{
  bool has = false;
  for (size_t i = 0; i < stages->found.count && !has; i++)
    has = stages->found.items[i].stage == DATA && place_around(stages, &stages->found.items[i]) != NULL;
  return has;
}

static bool is_on_track_of(const struct run_stages *stages, const struct stage_span *span, size_t observation)
{
  const uint64_t *track =
      map_find(&stages->track_of, map_number((uint64_t)stages->run->observations[observation].span_id));
  return track == NULL || *track == span->track_id;
}

// The run's observation that a stage's span counts in; SIZE_MAX: none.
static size_t observation_of(const struct run_stages *stages, const struct stage_span *span, bool data_are_before)
{
  uint32_t process = stage_places_process(&stages->places, span->track_id);
  const struct stage_place *place;
  if (span->stage == PREPROCESS || (span->stage == DATA && data_are_before))
    place = stage_places_after(&stages->places, span->track_id, process, span->start_ns);
  else if (span->stage == POSTPROCESS)
    place = stage_places_before(&stages->places, span->track_id, process, span->start_ns);
  else
    place = place_around(stages, span);
  // On another thread a collective runs beside the other stages: A21 has what of it is not hidden by them.
  if (place != NULL && span->stage == COLLECTIVE && !is_on_track_of(stages, span, place->observation))
    return SIZE_MAX;
  return place != NULL ? place->observation : SIZE_MAX;
}

// Of a part of a training step, without the parts in it, and only within the step: so that they add up.
static int64_t duration_in(const struct run_stages *stages, const struct stage_span *span, size_t observation,
                           bool data_are_before)
{
  const struct store_observation *step = &stages->run->observations[observation];
  int64_t own_ns = span->end_ns - span->start_ns - span->nested_ns;
  if (span->stage < FORWARD || (span->stage == DATA && data_are_before))
    return own_ns;
  int64_t within_ns = saturate_subtract(saturate_add(step->start_ns, step->duration_ns), span->start_ns);
  return within_ns < own_ns ? within_ns : own_ns;
}

// What the stages of each training step leave. Stages of several threads may leave less than nothing: then it is unknown.
static void add_others(const struct run_stages *stages, double *const *of_observation, bool data_are_before,
                       struct values *values)
{
  const struct view_run *run = stages->run;
  for (size_t i = 0; i < run->observation_count; i++) {
    double rest_ms = (double)run->observations[i].duration_ns / 1e6;
    for (unsigned stage = FORWARD; stage < STAGE_COUNT && of_observation != NULL; stage++)
      if (!isnan(of_observation[stage][i]) && !(stage == DATA && data_are_before))
        rest_ms -= of_observation[stage][i];
    bool is_step =
        of_observation != NULL && (!isnan(of_observation[FORWARD][i]) || !isnan(of_observation[BACKWARD][i]));
    if (!run->observations[i].warmup)
      *vector_add(&values->of[OTHER]) = is_step && rest_ms > -1e-6 ? (rest_ms > 0 ? rest_ms : 0) : NAN;
  }
}

static void add_up(struct run_stages *stages, struct values *values)
{
  const struct view_run *run = stages->run;
  struct arena *scratch = stages->question->scratch;
  double *of_process[2] = {analyze_unknowns(scratch, stages->places.process_count),
                           analyze_unknowns(scratch, stages->places.process_count)};
  double *of_observation[STAGE_COUNT] = {NULL};
  const bool data_are_before = !has_data_within(stages);
  for (unsigned stage = PREPROCESS; stage < STAGE_COUNT; stage++)
    of_observation[stage] = analyze_unknowns(scratch, run->observation_count);
  for (size_t i = 0; i < stages->found.count; i++) {
    const struct stage_span *span = &stages->found.items[i];
    uint32_t process = stage_places_process(&stages->places, span->track_id);
    if (process == PLACE_NONE)
      continue;
    if (span->stage == LOAD || map_find(&stages->once, map_number((uint64_t)span->span_id)) != NULL) {
      add_to(of_process[span->stage != LOAD], process, span->end_ns - span->start_ns);
      continue;
    }
    size_t observation = observation_of(stages, span, data_are_before);
    if (observation < run->observation_count && !run->observations[observation].warmup)
      add_to(of_observation[span->stage], observation, duration_in(stages, span, observation, data_are_before));
  }
  for (size_t i = 0; i < stages->places.process_count; i++) {
    *vector_add(&values->of[LOAD]) = of_process[0][i];
    *vector_add(&values->of[ONCE]) = of_process[1][i];
  }
  add_observations(run, of_observation, values);
  add_others(stages, of_observation, data_are_before, values);
}

static enum status read_run(struct run_stages *stages, struct values *values, struct error *err)
{
  const uint32_t columns = STORE_BIT(STORE_SPAN_ID) | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS) |
                           STORE_BIT(STORE_TRACK_ID) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_NAME) |
                           STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_FLAGS);
  XSP_TRY(store_walk_spans(stages->question->view->store, stages->run->run->run_id, columns, visit, stages, err));
  if (stages->found.count == 0) {
    add_observations(stages->run, NULL, values);
    add_others(stages, NULL, false, values);
    return STATUS_OK;
  }
  keep_outermost(stages);
  take_nested_off(stages);
  XSP_TRY(find_compilations(stages, &values->compile, err));
  XSP_TRY(find_once(stages, err));
  XSP_TRY(stage_places_load(stages->question, stages->run, &stages->track_of, &stages->places, err));
  add_up(stages, values);
  return STATUS_OK;
}

static enum status read_set(struct question *question, const struct view_set *set, const struct map *stage_of,
                            struct values *values, struct error *err)
{
  enum status status = STATUS_OK;
  for (size_t i = 0; i < set->run_count && status == STATUS_OK; i++) {
    struct run_stages stages = {.question = question, .run = set->runs[i], .stage_of = stage_of};
    status = read_run(&stages, values, err);
    vector_done(&stages.found);
    map_done(&stages.track_of);
    map_done(&stages.once);
    stage_places_done(&stages.places);
  }
  return status;
}

enum status stages_load(struct question *question, const struct view_set *set, struct stages *ret_stages,
                        struct error *err)
{
  struct values values = {0};
  struct map stage_of = {0};
  double ms[VALUES_COUNT];
  enum status status = STATUS_OK;
  for (size_t i = 0; i < VALUES_COUNT; i++)
    ms[i] = NAN;
  find_words(question->view->store, &stage_of);
  if (stage_of.count > 0)
    status = read_set(question, set, &stage_of, &values, err);
  for (size_t i = 0; i < VALUES_COUNT && status == STATUS_OK && stage_of.count > 0; i++)
    ms[i] = i == LOAD || i == ONCE ? question_statistic(question, values.of[i].items, values.of[i].count)
                                   : question_value(question, set, values.of[i].items);
  for (size_t i = 0; i < VALUES_COUNT; i++)
    vector_done(&values.of[i]);
  map_done(&stage_of);
  bool is_once = isnan(ms[PREPROCESS]) && !isnan(ms[ONCE]);
  *ret_stages = (struct stages){.load_ms = ms[LOAD],
                                .preprocess_ms = is_once ? ms[ONCE] : ms[PREPROCESS],
                                .postprocess_ms = ms[POSTPROCESS],
                                .forward_ms = ms[FORWARD],
                                .backward_ms = ms[BACKWARD],
                                .optimizer_ms = ms[OPTIMIZER],
                                .data_ms = ms[DATA],
                                .compile_ms = ms[COMPILE],
                                .collective_ms = ms[COLLECTIVE],
                                .other_ms = ms[OTHER],
                                .compile = values.compile,
                                .is_once = is_once};
  return status;
}
