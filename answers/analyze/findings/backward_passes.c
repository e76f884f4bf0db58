// SPDX-License-Identifier: Apache-2.0
// Backward passes of a run, for F65. A parameter's gradient is set where it has none, else added up to. Steps of optimizers are known
// by the operator that each runs once for each parameter.
#include "analyze/findings/backward_passes.h"

#include "analyze/findings/shared.h"
#include "base/saturate.h"
#include "base/slice.h"
#include "base/sorted.h"

#include <string.h>
#include <xsp/call_path.h>

#define GRADIENT "torch::autograd::AccumulateGrad"
#define ENGINE "autograd::engine::evaluate_function: "
#define STEP "Optimizer.step#"

enum event_kind { EVENT_PASS, EVENT_STEP, EVENT_PART, EVENT_UPDATE };
struct event {
  int64_t start_ns;
  uint32_t observation, row;
  uint8_t kind; // enum event_kind
};
struct reading {
  const struct run_columns *columns;
  uint32_t gradient, engine, backward, optimizer, wrapper; // strings
  uint32_t add, mul, addcdiv, zero, foreach_zero;
  bool is_fused;   // some optimizer is, and counts its steps
  bool *was_added; // by row of the engine's, around a gradient
  VECTOR(struct event) events;
};

static uint32_t string_of(struct store *store, const char *text)
{
  uint32_t id;
  return store_find_string(store, text, strlen(text), &id) ? id : UINT32_MAX;
}

static const char *name_of(const struct reading *reading, uint32_t row)
{
  return store_text(reading->columns->store, reading->columns->spans.name[row], NULL);
}

static uint32_t parent_of(const struct reading *reading, uint32_t row)
{
  return run_columns_row(reading->columns, reading->columns->derived.parent_id[row]);
}

// As Optimizer.zero_grad(set_to_none=False) and p.grad.zero_() do, not within another operator. One that takes a list may have any number.
static size_t zeroed(const struct reading *reading, uint32_t row)
{
  bool is_list = reading->columns->spans.name[row] == reading->foreach_zero;
  if (!is_list && reading->columns->spans.name[row] != reading->zero)
    return 0;
  for (uint32_t at = parent_of(reading, row); at != ROW_NONE; at = parent_of(reading, at)) {
    const char *name = name_of(reading, at);
    if (strncmp(name, "aten::", 6) == 0 || findings_is_backward(name))
      return 0;
  }
  return is_list ? UINT32_MAX : 1;
}

static bool is_in_list(const struct reading *reading, uint32_t row)
{
  uint32_t parent = parent_of(reading, row);
  return parent != ROW_NONE && strncmp(name_of(reading, parent), "aten::_foreach_", 15) == 0;
}

static bool is_step(const struct reading *reading, uint32_t row)
{
  return reading->columns->spans.category[row] == reading->optimizer &&
         strncmp(name_of(reading, row), STEP, strlen(STEP)) == 0;
}

static bool is_known_step(const char *name)
{
  return text_is_one_of(name, STEP "SGD.step", STEP "Adam.step", STEP "AdamW.step", STEP "RMSprop.step",
                        STEP "Adagrad.step");
}

// An operator that may update a parameter, by itself or in a list.
static bool may_update(const struct reading *reading, uint32_t row)
{
  uint32_t name = reading->columns->spans.name[row], parent = parent_of(reading, row);
  return (name == reading->add || name == reading->mul || name == reading->addcdiv) &&
         (parent == ROW_NONE || reading->columns->spans.level[parent] != XSP_LEVEL_LAYER || is_in_list(reading, row));
}

// Of the operators that a step runs once for each parameter, 1: Adam and its like addcdiv_, those that are fused add_ to the numbers of
// steps. SGD has one add_, and with momentum a mul_ (-1) and another add_. `step`: a row.
static int updates(const struct reading *reading, uint32_t step, uint32_t row)
{
  uint32_t name = reading->columns->spans.name[row];
  if (strcmp(name_of(reading, step), STEP "SGD.step") == 0)
    return name == reading->add ? 1 : name == reading->mul ? -1 : 0;
  return reading->is_fused ? is_in_list(reading, row) && name == reading->add : name == reading->addcdiv;
}

static void add_event(struct reading *reading, uint32_t observation, uint32_t row, enum event_kind kind)
{
  *vector_add(&reading->events) =
      (struct event){reading->columns->spans.start_ns[row], observation, row, (uint8_t)kind};
}

static void read_row(struct reading *reading, uint32_t row, struct backward_passes *ret)
{
  const struct store_spans *spans = &reading->columns->spans;
  uint32_t observation;
  if (is_step(reading, row) && !is_known_step(name_of(reading, row)))
    ret->are_updates_known = false;
  if (!run_columns_observation(reading->columns, row, &observation))
    return;
  if (spans->level[row] == XSP_LEVEL_APPLICATION && spans->category[row] == reading->backward) {
    ret->passes_of[observation]++;
    add_event(reading, observation, row, EVENT_PASS);
  } else if (is_step(reading, row)) {
    add_event(reading, observation, row, EVENT_STEP);
  } else if (spans->category[row] == reading->wrapper && strncmp(name_of(reading, row), ENGINE, strlen(ENGINE)) == 0) {
    add_event(reading, observation, row, EVENT_PART);
  } else if (spans->level[row] == XSP_LEVEL_LAYER) {
    ret->zeroed[observation] += zeroed(reading, row);
    if (may_update(reading, row))
      add_event(reading, observation, row, EVENT_UPDATE);
  }
}

static void mark_added(struct reading *reading)
{
  const struct store_spans *spans = &reading->columns->spans;
  for (uint32_t row = 0; row < spans->count; row++) {
    uint32_t gradient = spans->name[row] == reading->add ? parent_of(reading, row) : ROW_NONE;
    uint32_t engine =
        gradient != ROW_NONE && spans->name[gradient] == reading->gradient ? parent_of(reading, gradient) : ROW_NONE;
    if (engine != ROW_NONE)
      reading->was_added[engine] = true;
  }
}

static void add_part(const struct reading *reading, uint32_t row, const uint32_t *place_of, struct backward_passes *ret)
{
  struct backward_pass *pass = &ret->passes.items[ret->passes.count - 1];
  bool is_gradient = reading->columns->spans.name[row] == reading->engine;
  enum part_kind kind = !is_gradient ? PART_OTHER : reading->was_added[row] ? PART_ADDED : PART_SET;
  *vector_add(&ret->parts) = (struct backward_part){
      .ns = (double)reading->columns->spans.duration_ns[row], .place = place_of[row], .kind = (uint8_t)kind};
  pass->end = ret->parts.count;
  pass->set += kind == PART_SET;
  pass->added += kind == PART_ADDED;
  pass->place = is_gradient ? pass->place : place_of[row];
  if (kind == PART_SET)
    pass->last_set = pass->end;
}

SORTED_BY(by_start, struct event, RISING(observation) ?: RISING(start_ns) ?: RISING(kind) ?: RISING(row))

static void split(struct reading *reading, const uint32_t *place_of, struct backward_passes *ret)
{
  uint32_t step = ROW_NONE; // an optimizer's
  int64_t step_end_ns = 0;
  vector_sort(&reading->events, by_start);
  for (size_t i = 0; i < reading->events.count; i++) {
    const struct event *event = &reading->events.items[i];
    if (event->kind == EVENT_PASS) {
      *vector_add(&ret->passes) = (struct backward_pass){.observation = event->observation,
                                                         .first = ret->parts.count,
                                                         .end = ret->parts.count,
                                                         .last_set = ret->parts.count,
                                                         .place = PLACE_NONE,
                                                         .is_single = ret->passes_of[event->observation] == 1};
    } else if (event->kind == EVENT_STEP) {
      step = event->row;
      step_end_ns = saturate_add(event->start_ns, reading->columns->spans.duration_ns[step]);
    } else if (ret->passes.count > 0 && event->kind == EVENT_PART) {
      add_part(reading, event->row, place_of, ret);
    } else if (ret->passes.count > 0 && step != ROW_NONE && event->start_ns < step_end_ns) {
      ret->passes.items[ret->passes.count - 1].updated += updates(reading, step, event->row);
    }
  }
}

enum status findings_passes_load(struct findings *findings, const struct places *places, size_t run_index,
                                 struct backward_passes *ret, struct error *err)
{
  const uint32_t wanted =
      STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_NAME) | STORE_BIT(STORE_START_NS) | STORE_BIT(STORE_DURATION_NS);
  struct store *store = findings->question->view->store;
  struct arena *scratch = findings->question->scratch;
  const struct view_run *run = findings->set->runs[run_index];
  struct run_columns columns;
  struct reading reading = {.columns = &columns,
                            .gradient = string_of(store, GRADIENT),
                            .engine = string_of(store, ENGINE GRADIENT),
                            .backward = string_of(store, "backward"),
                            .optimizer = run_columns_category(store, "optimizer"),
                            .wrapper = run_columns_category(store, "wrapper"),
                            .add = string_of(store, "aten::add_"),
                            .mul = string_of(store, "aten::mul_"),
                            .addcdiv = string_of(store, "aten::addcdiv_"),
                            .zero = string_of(store, "aten::zero_"),
                            .foreach_zero = string_of(store, "aten::_foreach_zero_")};
  *ret = (struct backward_passes){.run = run};
  if (reading.gradient == UINT32_MAX || reading.engine == UINT32_MAX || reading.backward == UINT32_MAX)
    return findings_lack(findings, err, "it has no backward passes of PyTorch");
  reading.is_fused =
      string_of(store, "aten::_fused_adam_") != UINT32_MAX || string_of(store, "aten::_fused_adamw_") != UINT32_MAX;
  ret->are_updates_known =
      string_of(store, "aten::_fused_sgd_") == UINT32_MAX && string_of(store, "aten::_fused_adagrad_") == UINT32_MAX;
  XSP_TRY(run_columns_load(findings->question, run, wanted, scratch, &columns, err));
  ret->zeroed = arena_alloc_array(scratch, run->observation_count + 1, sizeof *ret->zeroed);
  ret->passes_of = arena_alloc_array(scratch, run->observation_count + 1, sizeof *ret->passes_of);
  reading.was_added = arena_alloc_array(scratch, columns.spans.count + 1, sizeof *reading.was_added);
  mark_added(&reading);
  for (uint32_t row = 0; row < columns.spans.count; row++)
    read_row(&reading, row, ret);
  split(&reading, places->runs[run_index].place_of, ret);
  vector_done(&reading.events);
  return STATUS_OK;
}

void findings_passes_done(struct backward_passes *passes)
{
  vector_done(&passes->parts);
  vector_done(&passes->passes);
}
