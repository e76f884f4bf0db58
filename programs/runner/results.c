// SPDX-License-Identifier: Apache-2.0
// What was found in pictures, sent to xsp; see results.h. Texts are read here. Called by main.c after an inference.
#include "programs/runner/results.h"

#include "programs/runner/control.h"
#include "programs/runner/output_values.h"
#include <xsp/tracer.h>

#include <stdio.h>

XSP_SITE_FULL(postprocess_site, XSP_LEVEL_APPLICATION, "postprocess", "postprocess", "runner");
XSP_SITE_FULL(decode_text_site, XSP_LEVEL_APPLICATION, "decode text", "postprocess", "runner");
XSP_SITE_FULL(ctc_site, XSP_LEVEL_APPLICATION, "ctc", "postprocess", "runner");

// ---- texts -----------------------------------------------------------------------------------------------------------
static void send_text_of_item(const struct sending *sending, const struct output_values *values, size_t classes,
                              size_t steps, size_t item)
{
  static size_t tokens[TEXT_TOKENS_MOST];
  const struct text_form *form = &sending->expectation->form.text;
  const float *numbers = values->numbers + item * values->item_count;
  size_t count = 0;
  struct xsp_span span = xsp_span_start(form->is_ctc ? &ctc_site : &decode_text_site);
  if (output_values_are_integers(values)) {
    for (size_t i = 0; i < steps; i++)
      if (numbers[i] >= 0 && numbers[i] < 0x1p31f) // padding may be negative
        tokens[count++] = (size_t)numbers[i];
  } else {
    text_best(numbers, steps, classes, tokens);
    count = steps;
  }
  count = text_decode(form, tokens, count);
  xsp_span_finish(&span);
  for (size_t i = 0; i < count; i++) {
    char number[24], token[24];
    snprintf(number, sizeof number, "%zu", item);
    snprintf(token, sizeof token, "%zu", tokens[i]);
    control_add(sending->lines, sending->fd, (const char *const[]){"token", number, token}, 3);
  }
}

static enum status results_send_texts(const struct sending *sending, struct error *err)
{
  struct output_values values SCOPED(output_values_done) = {0};
  XSP_TRY(output_values_read(sending, sending->expectation->info.name, false, &values, err));
  size_t classes = output_values_are_integers(&values) ? 1 : output_values_dimension(&values, 0),
         steps = classes > 0 ? values.item_count / classes : 0;
  if (classes == 0 || steps > TEXT_TOKENS_MOST)
    XSP_TRY(output_values_wrong(&values, "a text of [N, tokens], or of [N, tokens, vocabulary]", err,
                                "an item has no values, or more than 4096 tokens"));
  for (size_t item = 0; item < sending->pictures->paths.count; item++)
    send_text_of_item(sending, &values, classes, steps, item);
  return STATUS_OK;
}

// ---- all -------------------------------------------------------------------------------------------------------------
enum status results_send(const struct predictor *predictor, struct predictor_model *model,
                         const struct runner_arguments *arguments, const struct pictures *pictures, struct code *code,
                         const char *name, struct error *err)
{
  struct buf lines SCOPED(buf_done) = {0};
  struct sending sending = {.predictor = predictor,
                            .model = model,
                            .pictures = pictures,
                            .code = code,
                            .fd = arguments->control_fd,
                            .lines = &lines};
  enum output_kind kind = OUTPUT_SCORES;
  for (size_t i = 0; i < arguments->expectation_count; i++) {
    const struct expectation *expectation = &arguments->expectations[i];
    if (expectation->is_image)
      sending.input = &expectation->picture;
    if (expectation->is_output && expectation->form.kind > OUTPUT_SCORES) {
      sending.expectation = expectation;
      kind = expectation->form.kind;
    }
  }
  struct xsp_span span = xsp_span_start(&postprocess_site);
  enum status status = output_form_has_boxes(kind) ? results_send_boxes(&sending, err)
                       : kind == OUTPUT_MASK       ? results_send_masks(&sending, err)
                       : kind == OUTPUT_TEXT       ? results_send_texts(&sending, err)
                                                   : results_send_scores(predictor, model, name, pictures, code,
                                                                         arguments->control_fd, &lines, err);
  xsp_span_finish(&span);
  control_flush(&lines, sending.fd); // not in the span: xsp's reading is no work on the output
  return status;
}
