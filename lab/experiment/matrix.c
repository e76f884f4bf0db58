// SPDX-License-Identifier: Apache-2.0
// The loop that all experiments share: models (model_experiment.c), first inferences (cold.c), programs
// (program_experiment.c).
#include "experiment/matrix.h"

#include "base/debug.h"

static enum status visit(const struct matrix *matrix, void *context, size_t batch, struct error *err,
                         enum status (*step)(void *context, size_t lane, size_t batch, struct error *err))
{
  for (size_t i = 0; i < matrix->lane_count && step != NULL; i++)
    XSP_TRY(step(context, matrix->first_lane + i, batch, err));
  return STATUS_OK;
}

static enum status measure_batch(const struct matrix *matrix, const struct matrix_source *source, void *context,
                                 size_t batch, struct error *err)
{
  XSP_TRY(visit(matrix, context, batch, err, source->begin));
  bool is_enough = false;
  for (unsigned repetition = 0; repetition < matrix->repetitions && !is_enough; repetition++) {
    for (size_t i = 0; i < matrix->lane_count; i++) {
      if (source->is_over(context))
        return STATUS_OK;
      DEBUG(experiment, "batch size %zu of %zu, repetition %u of %u, turn %zu of %zu", batch + 1, matrix->batch_count,
            repetition + 1, matrix->repetitions, i + 1, matrix->lane_count);
      size_t lane = matrix->first_lane + (i + repetition) % matrix->lane_count;
      XSP_TRY(source->observe(context, lane, batch, repetition, err));
    }
    if (source->is_enough != NULL)
      XSP_TRY(source->is_enough(context, batch, repetition, &is_enough, err));
  }
  return visit(matrix, context, batch, err, source->end);
}

enum status matrix_measure(const struct matrix *matrix, const struct matrix_source *source, void *context,
                           size_t *ret_batches, struct error *err)
{
  size_t begun = 0;
  enum status status = STATUS_OK;
  while (status == STATUS_OK && begun < matrix->batch_count && (begun == 0 || !source->is_over(context)))
    status = measure_batch(matrix, source, context, begun++, err);
  if (ret_batches != NULL)
    *ret_batches = begun;
  return status;
}
