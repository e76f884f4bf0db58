// SPDX-License-Identifier: Apache-2.0
// What a manifest says of a model's inputs and outputs, against what the framework says: as one text each, from xsp to the
// runner. Where the framework leaves a dimension free, the manifest's size or name for it holds.
#ifndef XSP_PROGRAMS_RUNNER_EXPECT_H
#define XSP_PROGRAMS_RUNNER_EXPECT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "frameworks/common/predictor.h"
#include "programs/runner/fill.h"

#include <stdbool.h>

struct expectation {
  bool is_output;
  const char *where;       // for errors: "models/x.yml:12"
  struct tensor_info info; // type 0: any
  bool has_shape;
  struct fill_rule fill;
};

#define EXPECTATION_SHAPE_SIZE 512
// "N,3,224,224"; "?" for a free dimension without a name.
void expectation_shape(const struct tensor_info *info, char *text, size_t size);
// xsp: appends the text that stands behind --expect.
void expectation_format(const struct expectation *expectation, struct buf *out);
// Runner: strings live in `arena`. False where the text is malformed.
bool expectation_parse(const char *text, struct arena *arena, struct expectation *ret_expectation);
// Compares, and fills in what the framework leaves open. Errors: STATUS_INPUT, with the manifest's line.
enum status expectations_apply(struct predictor_model *model, const struct expectation *expectations, size_t count,
                               struct error *err) MUST_CHECK;

#endif
