// SPDX-License-Identifier: Apache-2.0
// Training steps of one thread, which tile their loop: each lasts from the end of the one before. Private to tracer_steps.c and
// tracer_loops.c. Times are ticks; 0: none.
#ifndef XSP_FRAMEWORKS_PYTORCH_TRACER_LOOPS_H
#define XSP_FRAMEWORKS_PYTORCH_TRACER_LOOPS_H

#include "frameworks/pytorch/passes.h"
#include "frameworks/pytorch/tracer.h"

#define LOOP_KINDS 8u   // of steps that alternate in one loop, such as a GAN's two
#define LOOP_PASSES 64u // backward passes without an optimizer, until it is certain that none follows

struct loop_step {
  const void *module; // of its first forward call of a model; only to be compared; NULL: none
  uint64_t start;     // of its first activity: loading data, clearing gradients, a forward call, a backward pass
  uint64_t end;
  const char *model, *signature; // of its first forward call of a model; kept; NULL: unknown
  int64_t batch_size;            // of its first forward call that has one; -1: unknown
  int64_t samples;               // of all its passes; 0: unknown
  struct padding padding;        // of its first forward call of a model
};
struct loop {
  struct loop_step step;      // that is open
  struct passes samples;      // since the last optimizer
  bool is_certain;            // a forward or backward pass was part of it, not only loading and clearing
  uint64_t end;               // of the step before; 0: the open step begins a loop
  uint32_t predictions;       // since that end
  bool had_predictions;       // the step before had some
  uint64_t kinds[LOOP_KINDS]; // of its steps
  uint32_t kind_count;
  uint64_t pass_end;                    // of the last backward pass in the open step
  bool has_optimizer;                   // the thread has called an optimizer
  bool has_none;                        // so many backward passes came without one that steps end without
  struct loop_step passes[LOOP_PASSES]; // may be steps, if no optimizer follows
  uint32_t pass_count;
};

void pytorch_loop_init(struct loop *loop);
// Something that a step begins with, or (`is_certain`) that only a step has.
void pytorch_loop_activity(struct loop *loop, uint64_t start, bool is_certain);
void pytorch_loop_forward(struct loop *loop, const struct steps_call *call);
// A part of a step that none begins with where there was something before it.
void pytorch_loop_part(struct loop *loop, uint64_t start, bool is_certain);
void pytorch_loop_backward_ended(struct loop *loop);
void pytorch_loop_prediction(struct loop *loop, uint64_t start);
void pytorch_loop_optimizer_begins(struct loop *loop, uint64_t start);
void pytorch_loop_leave(struct loop *loop); // the next step begins with its own first activity
void pytorch_loop_optimizer_ended(struct loop *loop, const char *optimizer);
void pytorch_loop_finish(struct loop *loop); // nothing follows on this thread

// tracer_steps.c
void pytorch_steps_publish(const struct loop_step *step);

#endif
