// SPDX-License-Identifier: Apache-2.0
// The model level: an inference is an outermost module call that no backward pass follows; a training step is what
// tracer_loops.c makes of the calls, passes and ranges here. Its parts are spans of the application, by category: forward, backward,
// optimizer, data. Called on the thread that is concerned.
#include "base/hash.h"
#include "format/range.h"
#include "frameworks/common/sites.h"
#include "frameworks/pytorch/tracer_loops.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 4096u
#define STEP "training step"  // where there are any, inferences between them are no observations
#define UNDECIDED_MAXIMUM 32u // forward calls with gradients, until a backward pass shows what they were

struct undecided {
  struct steps_call call;
  uint64_t end;
};
struct steps { // of a thread
  struct loop loop;
  bool has_trained;                         // a backward pass began
  uint32_t optimizer_depth, backward_depth; // open ranges
  uint32_t undecided_count;
  struct undecided undecided[UNDECIDED_MAXIMUM];
};

static const char *the_model_range;
static struct site_slot slots[SLOTS];
static struct site_table sites = {.slots = slots, .slot_count = SLOTS};

static struct steps *steps_of(struct pytorch_thread *thread)
{
  if (thread->steps == NULL && (thread->steps = calloc(1, sizeof *thread->steps)) != NULL)
    pytorch_loop_init(&thread->steps->loop);
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

struct inputs {
  int64_t batch_size;            // -1: unknown
  const char *model, *signature; // NULL: unknown
  struct padding padding;
};

static struct xsp_span publish(struct xsp_site *site, uint64_t start, uint64_t end, const struct inputs *inputs)
{
  const struct xsp_interval interval = {.size = sizeof interval, .start = start, .end = end};
  struct xsp_span span = xsp_span_emit(site, &interval);
  if (inputs->batch_size >= 0)
    xsp_span_tag_int(&span, "batch_size", inputs->batch_size);
  if (inputs->model != NULL)
    xsp_span_tag_string(&span, "model", inputs->model);
  if (inputs->signature != NULL)
    xsp_span_tag_string(&span, "signature", inputs->signature);
  padding_tag(&span, &inputs->padding);
  return span;
}

void pytorch_steps_publish(const struct loop_step *step)
{
  bool is_observation = the_model_range == NULL || range_matches(the_model_range, STEP, strlen(STEP));
  struct xsp_span span = publish(site_of(XSP_LEVEL_MODEL, STEP, NULL, is_observation), step->start, step->end,
                                 &(struct inputs){step->batch_size, step->model, step->signature, step->padding});
  if (step->batch_size > 0 && step->samples > step->batch_size) // gradients were accumulated
    xsp_span_tag_int(&span, "step_samples", step->samples);
  pytorch_tensors_tag(&span);
}

// ---- forward calls ---------------------------------------------------------------------------------------------------

static void publish_inference(struct steps *steps, const struct steps_call *call, uint64_t end)
{
  if (!call->is_model)
    return;
  pytorch_loop_prediction(&steps->loop, call->start);
  bool is_observation = range_matches(the_model_range, call->name, strlen(call->name));
  struct xsp_span span = publish(site_of(XSP_LEVEL_MODEL, call->name, NULL, is_observation), call->start, end,
                                 &(struct inputs){call->batch_size, call->name, call->signature, call->padding});
  pytorch_tensors_tag(&span);
}

static void publish_forward(struct steps *steps, const struct steps_call *call, uint64_t end)
{
  pytorch_loop_forward(&steps->loop, call);
  (void)publish(site_of(XSP_LEVEL_APPLICATION, call->name, "forward", false), call->start, end,
                &(struct inputs){.batch_size = -1});
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
  if (steps == NULL || thread->input_depth > 0 || steps->backward_depth > 0) // a part of these
    return;
  if (!call->has_gradient || (!call->has_graph && !call->is_training)) {
    publish_inference(steps, call, end);
  } else if (call->is_training && steps->has_trained) {
    publish_forward(steps, call, end);
  } else {
    if (steps->undecided_count == UNDECIDED_MAXIMUM)
      decide(steps, 1, false);
    steps->undecided[steps->undecided_count++] = (struct undecided){*call, end};
  }
}

void pytorch_steps_end(struct steps *steps)
{
  if (steps == NULL)
    return;
  decide(steps, steps->undecided_count, false);
  pytorch_loop_finish(&steps->loop);
}

// ---- backward passes -------------------------------------------------------------------------------------------------

void pytorch_steps_backward_begins(struct pytorch_thread *thread, struct xsp_span *ret_span)
{
  uint64_t start = xsp_clock_ticks(); // of a step that begins with the pass: not after the pass itself
  *ret_span = xsp_span_start(site_of(XSP_LEVEL_APPLICATION, "backward", "backward", false));
  struct steps *steps = steps_of(thread);
  if (steps == NULL || steps->backward_depth++ > 0)
    return;
  steps->has_trained = true;
  decide(steps, steps->undecided_count, true);
  pytorch_loop_part(&steps->loop, start, true);
}

void pytorch_steps_backward_ended(struct pytorch_thread *thread, struct xsp_span *span)
{
  xsp_span_finish(span);
  if (thread->steps != NULL && --thread->steps->backward_depth == 0)
    pytorch_loop_backward_ended(&thread->steps->loop);
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
  if (kind == RANGE_PROFILER_STEP || range_matches(the_model_range, name, strlen(name))) {
    if (steps != NULL) // the program's own step: steps here are parts of it
      pytorch_loop_leave(&steps->loop);
    return site_of(XSP_LEVEL_MODEL, name, NULL, true);
  }
  if (kind == RANGE_OTHER || steps == NULL)
    return site_of(XSP_LEVEL_APPLICATION, name, NULL, false);
  if (kind == RANGE_OPTIMIZER)
    pytorch_loop_optimizer_begins(&steps->loop, xsp_clock_ticks());
  else
    pytorch_loop_activity(&steps->loop, xsp_clock_ticks(), false);
  thread->input_depth += kind == RANGE_DATA;
  steps->optimizer_depth += kind == RANGE_OPTIMIZER;
  return site_of(XSP_LEVEL_APPLICATION, name, kind == RANGE_DATA ? "data" : "optimizer", false);
}

void pytorch_steps_range_ended(struct pytorch_thread *thread, const char *name)
{
  enum range_kind kind = range_kind(name);
  struct steps *steps = thread->steps;
  if (steps == NULL)
    return;
  if (kind == RANGE_DATA && thread->input_depth > 0)
    thread->input_depth--;
  if (kind != RANGE_OPTIMIZER || steps->optimizer_depth == 0 || --steps->optimizer_depth > 0)
    return;
  decide(steps, steps->undecided_count, false);
  pytorch_loop_optimizer_ended(&steps->loop, name);
  if (the_model_range != NULL) // ranges of the program are the steps: these must not cross them
    pytorch_loop_leave(&steps->loop);
}

void pytorch_steps_start(const char *model_range)
{
  the_model_range = model_range;
}
