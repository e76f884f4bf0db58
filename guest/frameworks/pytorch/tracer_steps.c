// SPDX-License-Identifier: Apache-2.0
// The model level: an inference is an outermost module call without autograd; a training step ends with the optimiser's step
// and begins with the first activity after the one before: loading data, clearing gradients, a forward call. Its parts are
// spans of the application, by category: forward, backward, optimizer, data. Called on the thread that is concerned.
#include "base/hash.h"
#include "format/range.h"
#include "frameworks/common/sites.h"
#include "frameworks/pytorch/tracer.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 4096u
#define STEP "training step" // where there are any, inferences between them are no observations
#define UNDECIDED_MAXIMUM 8u // forward calls of modules in evaluation, until a backward pass shows what they were

struct undecided {
  struct steps_call call;
  uint64_t end;
};
struct steps {         // of a thread
  uint64_t step_start; // ticks; 0: no activity since the last step
  bool is_certain;     // a forward or backward pass was part of it, not only loading and clearing
  int64_t batch_size;  // of its first forward call; -1: unknown
  uint32_t data_depth, optimizer_depth, backward_depth; // open ranges
  uint32_t undecided_count;
  struct undecided undecided[UNDECIDED_MAXIMUM];
};

static const char *the_model_range;
static struct site_slot slots[SLOTS];
static struct site_table sites = {.slots = slots, .slot_count = SLOTS};

static struct steps *steps_of(struct pytorch_thread *thread)
{
  if (thread->steps == NULL && (thread->steps = calloc(1, sizeof *thread->steps)) != NULL)
    thread->steps->batch_size = -1;
  return thread->steps;
}

// ---- sites -----------------------------------------------------------------------------------------------------------

static struct xsp_site *site_of(enum xsp_level level, const char *name, const char *category, bool is_step)
{
  size_t category_length = category != NULL ? strlen(category) : 0;
  uint64_t kind = hash_pair(level, is_step, UINT64_C(0x8cb92ba72f3d8dd7));
  uint64_t key = hash_text(name, strlen(name), hash_text(category, category_length, kind)) | 1;
  struct xsp_site *site = framework_sites_find(&sites, key);
  if (site == NULL && framework_sites_have_room(&sites) &&
      (site = xsp_site_create_variant(TRACER, level, name, category, is_step)) != NULL) {
    if (is_step)
      xsp_site_tag_int(site, "step", 1);
    site = framework_sites_add(&sites, key, site);
  }
  return site;
}

static void publish(struct xsp_site *site, uint64_t start, uint64_t end, int64_t batch_size)
{
  const struct xsp_interval interval = {.size = sizeof interval, .start = start, .end = end};
  struct xsp_span span = xsp_span_emit(site, &interval);
  if (batch_size >= 0)
    xsp_span_tag_int(&span, "batch_size", batch_size);
}

// ---- forward calls ---------------------------------------------------------------------------------------------------

static void note_activity(struct steps *steps, uint64_t start, bool is_certain)
{
  if (steps->step_start == 0 || start < steps->step_start)
    steps->step_start = start;
  steps->is_certain = steps->is_certain || is_certain;
}

static void publish_inference(struct steps *steps, const struct steps_call *call, uint64_t end)
{
  if (!steps->is_certain) // what was loaded before was for this
    steps->step_start = 0;
  if (call->is_model)
    publish(site_of(XSP_LEVEL_MODEL, call->name, NULL, range_matches(the_model_range, call->name, strlen(call->name))),
            call->start, end, call->batch_size);
}

static void publish_forward(struct steps *steps, const struct steps_call *call, uint64_t end)
{
  note_activity(steps, call->start, true);
  if (steps->batch_size < 0)
    steps->batch_size = call->batch_size;
  publish(site_of(XSP_LEVEL_APPLICATION, call->name, "forward", false), call->start, end, -1);
}

// The first `count`.
static void decide(struct steps *steps, uint32_t count, bool was_training)
{
  for (uint32_t i = 0; i < count; i++) {
    const struct undecided *item = &steps->undecided[i];
    (was_training ? publish_forward : publish_inference)(steps, &item->call, item->end);
  }
  steps->undecided_count -= count;
  memmove(steps->undecided, steps->undecided + count, steps->undecided_count * sizeof steps->undecided[0]);
}

void pytorch_steps_call_begins(struct pytorch_thread *thread, struct steps_call *call)
{
  call->has_gradient = torch->has_gradient == NULL || torch->has_gradient();
  call->start = xsp_clock_ticks();
}

void pytorch_steps_call_ended(struct pytorch_thread *thread, const struct steps_call *call)
{
  uint64_t end = xsp_clock_ticks();
  struct steps *steps = steps_of(thread);
  if (steps == NULL || steps->data_depth > 0 || steps->backward_depth > 0) // a part of these
    return;
  if (!call->has_gradient || (!call->has_graph && !call->is_training)) {
    publish_inference(steps, call, end);
  } else if (call->is_training) {
    publish_forward(steps, call, end);
  } else {
    if (steps->undecided_count == UNDECIDED_MAXIMUM)
      decide(steps, 1, false);
    steps->undecided[steps->undecided_count++] = (struct undecided){*call, end};
  }
}

void pytorch_steps_end(struct steps *steps)
{
  if (steps != NULL)
    decide(steps, steps->undecided_count, false);
}

// ---- backward passes -------------------------------------------------------------------------------------------------

void pytorch_steps_backward_begins(struct pytorch_thread *thread, struct xsp_span *ret_span)
{
  uint64_t start = xsp_clock_ticks(); // of a step that begins with the pass: not after the pass itself
  *ret_span = xsp_span_start(site_of(XSP_LEVEL_APPLICATION, "backward", "backward", false));
  struct steps *steps = steps_of(thread);
  if (steps == NULL || steps->backward_depth++ > 0)
    return;
  decide(steps, steps->undecided_count, true);
  note_activity(steps, start, true);
}

void pytorch_steps_backward_ended(struct pytorch_thread *thread, struct xsp_span *span)
{
  xsp_span_finish(span);
  if (thread->steps != NULL)
    thread->steps->backward_depth--;
}

// ---- ranges ----------------------------------------------------------------------------------------------------------

enum range_kind { RANGE_OTHER, RANGE_DATA, RANGE_CLEAR, RANGE_OPTIMIZER, RANGE_PROFILER_STEP };

static enum range_kind range_kind(const char *name)
{
  static const struct {
    const char *begin;
    enum range_kind kind;
  } kinds[] = {{"enumerate(DataLoader)#", RANGE_DATA},
               {"Optimizer.zero_grad#", RANGE_CLEAR},
               {"Optimizer.step#", RANGE_OPTIMIZER},
               {"ProfilerStep#", RANGE_PROFILER_STEP}};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    if (strncmp(name, kinds[i].begin, strlen(kinds[i].begin)) == 0)
      return kinds[i].kind;
  return RANGE_OTHER;
}

struct xsp_site *pytorch_steps_range_begins(struct pytorch_thread *thread, const char *name)
{
  enum range_kind kind = range_kind(name);
  struct steps *steps = steps_of(thread);
  if (kind == RANGE_PROFILER_STEP || range_matches(the_model_range, name, strlen(name)))
    return site_of(XSP_LEVEL_MODEL, name, NULL, true);
  if (kind == RANGE_OTHER || steps == NULL)
    return site_of(XSP_LEVEL_APPLICATION, name, NULL, false);
  note_activity(steps, xsp_clock_ticks(), false);
  steps->data_depth += kind == RANGE_DATA;
  steps->optimizer_depth += kind == RANGE_OPTIMIZER;
  return site_of(XSP_LEVEL_APPLICATION, name, kind == RANGE_DATA ? "data" : "optimizer", false);
}

void pytorch_steps_range_ended(struct pytorch_thread *thread, const char *name)
{
  enum range_kind kind = range_kind(name);
  struct steps *steps = thread->steps;
  if (steps == NULL)
    return;
  if (kind == RANGE_DATA && steps->data_depth > 0)
    steps->data_depth--;
  if (kind != RANGE_OPTIMIZER || steps->optimizer_depth == 0 || --steps->optimizer_depth > 0)
    return;
  decide(steps, steps->undecided_count, false);
  bool is_observation = the_model_range == NULL || range_matches(the_model_range, STEP, strlen(STEP));
  publish(site_of(XSP_LEVEL_MODEL, STEP, NULL, is_observation), steps->step_start, xsp_clock_ticks(),
          steps->batch_size);
  steps->step_start = 0;
  steps->is_certain = false;
  steps->batch_size = -1;
}

void pytorch_steps_start(const char *model_range)
{
  the_model_range = model_range;
}
