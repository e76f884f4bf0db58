// SPDX-License-Identifier: Apache-2.0
// The classes with the best scores in an output, sent to xsp. Called by results.c.
#include "format/protocol.h"
#include "programs/runner/control.h"
#include "programs/runner/outputs.h"
#include "programs/runner/results.h"

#include <inttypes.h>
#include <stdio.h>

static enum status check_output(const struct tensor *output, bool is_made, int64_t batch, size_t *ret_classes,
                                struct error *err)
{
  size_t values = output->size_bytes / sizeof(float), items = (size_t)batch;
  if ((output->info->type != TENSOR_FLOAT && !is_made) || items == 0 || values == 0 || values % items != 0)
    return error_set(err, STATUS_INPUT, "cannot read the scores", output->info->name,
                     "type: feature, of another output", "%zu values of type %s are no scores of %" PRId64 " items",
                     values, tensor_type_facts(output->info->type)->name, batch);
  *ret_classes = values / items;
  return STATUS_OK;
}

static void send_best(struct buf *lines, int fd, size_t item, const float *scores, size_t classes)
{
  struct ranked best[PROTOCOL_SCORES];
  size_t count = ranking_top(scores, classes, PROTOCOL_SCORES, best);
  for (size_t i = 0; i < count; i++) {
    char number[24], place[24], value[32];
    snprintf(number, sizeof number, "%zu", item);
    snprintf(place, sizeof place, "%zu", best[i].place);
    snprintf(value, sizeof value, "%.9g", (double)best[i].score);
    control_add(lines, fd, (const char *const[]){"score", number, place, value}, 4);
  }
}

enum status results_send_scores(const struct predictor *predictor, struct predictor_model *model, const char *name,
                                const struct pictures *pictures, struct code *code, int fd, struct buf *lines,
                                struct error *err)
{
  size_t number = 0, classes = 0;
  int64_t batch = (int64_t)pictures->paths.count;
  struct tensor output = {0};
  XSP_TRY(inference_output_find(model, name, &number, err));
  XSP_TRY(predictor->read_output(model, number, &output, err));
  if (code->runs_after)
    XSP_TRY(code_after(code, pictures->names.items, pictures->paths.count, &output, err));
  XSP_TRY(check_output(&output, code->runs_after, batch, &classes, err));
  for (int64_t item = 0; item < batch; item++)
    send_best(lines, fd, (size_t)item, (const float *)output.data + (size_t)item * classes, classes);
  return STATUS_OK;
}
