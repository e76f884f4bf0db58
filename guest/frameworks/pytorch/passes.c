// SPDX-License-Identifier: Apache-2.0
#include "frameworks/pytorch/passes.h"

#include "base/saturate.h"

#include <string.h>

void passes_forward(struct passes *passes, const void *module, int64_t batch_size)
{
  if (passes->pass.module == NULL)
    passes->pass.module = module;
  if (passes->module == NULL)
    passes->module = module;
  bool is_alike = passes->pass.module == passes->module &&
                  (passes->sum == 0 || passes->is_after_prediction || !passes->pass.is_after_prediction);
  if (batch_size <= 0 || passes->pass.is_counted || !is_alike)
    return;
  if (passes->sum == 0) // a validation may lie between it and the step before
    passes->is_after_prediction = passes->pass.is_after_prediction;
  passes->sum = saturate_add(passes->sum, batch_size);
  passes->pass.is_counted = true;
}

void passes_prediction(struct passes *passes)
{
  passes->pass.is_after_prediction = true;
}

void passes_backward_ended(struct passes *passes)
{
  if (!passes->is_in_optimizer || !passes->pass.is_counted)
    memset(&passes->pass, 0, sizeof passes->pass);
}

void passes_optimizer_begins(struct passes *passes)
{
  passes->is_in_optimizer = true;
}
