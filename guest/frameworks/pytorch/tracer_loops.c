// SPDX-License-Identifier: Apache-2.0
// Where training steps begin and end. A step ends with the optimizer's, or, where the thread never calls one, at the first
// activity after its backward pass. It begins where the step before in its loop ended, so that what lies between (metrics, logging,
// saving) counts, and the first of a loop with its first activity. A loop ends when steps of another kind (optimizer or
// module) come, and with predictions, unless each step has some. Called by tracer_steps.c, on the thread concerned.
#include "frameworks/pytorch/tracer_loops.h"

#include "base/hash.h"

#include <string.h>

void pytorch_loop_init(struct loop *loop)
{
  *loop = (struct loop){.step.batch_size = -1};
}

static void open_step(struct loop *loop, uint64_t start)
{
  loop->step = (struct loop_step){.start = start, .batch_size = -1};
  loop->is_certain = false;
  loop->pass_end = 0;
}

static void publish_passes(struct loop *loop)
{
  for (uint32_t i = 0; i < loop->pass_count; i++)
    pytorch_steps_publish(&loop->passes[i]);
  loop->pass_count = 0;
}

// The open step ends without an optimizer: for certain, or as long as none follows.
static void end_pass(struct loop *loop, uint64_t end)
{
  loop->step.end = end;
  loop->passes[loop->pass_count++] = loop->step;
  loop->has_none = loop->has_none || loop->pass_count == LOOP_PASSES;
  if (loop->has_none) {
    publish_passes(loop);
    loop->samples = (struct passes){0};
  }
  open_step(loop, end);
}

static bool may_end(const struct loop *loop)
{
  return loop->pass_end != 0 && !loop->has_optimizer;
}

void pytorch_loop_part(struct loop *loop, uint64_t start, bool is_certain)
{
  if (loop->step.start == 0 || start < loop->step.start)
    loop->step.start = start;
  loop->is_certain = loop->is_certain || is_certain;
}

void pytorch_loop_activity(struct loop *loop, uint64_t start, bool is_certain)
{
  if (may_end(loop))
    end_pass(loop, start);
  pytorch_loop_part(loop, start, is_certain);
}

void pytorch_loop_forward(struct loop *loop, const struct steps_call *call)
{
  pytorch_loop_activity(loop, call->start, true);
  passes_forward(&loop->samples, call->is_model ? call->module : NULL, call->batch_size);
  if (loop->step.batch_size < 0)
    loop->step.batch_size = call->batch_size;
  if (loop->step.model != NULL || !call->is_model)
    return;
  loop->step.model = call->name;
  loop->step.signature = call->signature;
  loop->step.padding = call->padding;
  loop->step.module = call->module;
}

void pytorch_loop_backward_ended(struct loop *loop)
{
  loop->pass_end = xsp_clock_ticks();
  passes_backward_ended(&loop->samples);
}

void pytorch_loop_prediction(struct loop *loop, uint64_t start)
{
  if (may_end(loop))
    end_pass(loop, start);
  passes_prediction(&loop->samples);
  loop->predictions++;
  if (!loop->is_certain) // what was loaded before was for this
    loop->step.start = 0;
}

void pytorch_loop_optimizer_begins(struct loop *loop, uint64_t start)
{
  pytorch_loop_part(loop, start, false);
  passes_optimizer_begins(&loop->samples);
}

void pytorch_loop_leave(struct loop *loop)
{
  loop->end = 0;
}

static bool is_known(const struct loop *loop, uint64_t kind)
{
  for (uint32_t i = 0; i < loop->kind_count; i++)
    if (loop->kinds[i] == kind)
      return true;
  return false;
}

static void add_kind(struct loop *loop, uint64_t kind)
{
  if (loop->kind_count == LOOP_KINDS)
    loop->kind_count = 0;
  loop->kinds[loop->kind_count++] = kind;
}

void pytorch_loop_optimizer_ended(struct loop *loop, const char *optimizer)
{
  if (loop->pass_count > 0) // they accumulated gradients for this
    loop->step = loop->passes[0];
  uint64_t kind = hash_text(optimizer, strlen(optimizer), (uintptr_t)loop->step.module);
  bool is_new = !is_known(loop, kind), has_predictions = loop->predictions > 0;
  loop->pass_count = 0;
  loop->has_optimizer = true;
  if (loop->end != 0 && !is_new && (!has_predictions || loop->had_predictions))
    loop->step.start = loop->end;
  loop->step.end = xsp_clock_ticks();
  loop->step.samples = loop->samples.sum;
  loop->samples = (struct passes){0};
  pytorch_steps_publish(&loop->step);
  if (is_new)
    add_kind(loop, kind);
  loop->end = loop->step.end;
  loop->had_predictions = has_predictions;
  loop->predictions = 0;
  open_step(loop, 0);
}

void pytorch_loop_finish(struct loop *loop)
{
  if (may_end(loop))
    end_pass(loop, loop->pass_end);
  publish_passes(loop);
}
