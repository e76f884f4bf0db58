// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs that a manifest expects, to be compared with the framework's: one text each, from xsp to the
// runner. Where the framework leaves a dimension free, the manifest's size or name for it holds.
#ifndef XSP_MANIFESTS_EXPECT_H
#define XSP_MANIFESTS_EXPECT_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "frameworks/frameworks.h"
#include "processing/processing.h"

#include <stdbool.h>

// How the values of an input are made.
enum fill_kind { RULE_DEFAULT, RULE_CONSTANT, RULE_UNIFORM, RULE_INTEGERS };
struct fill_rule {
  enum fill_kind kind;
  double low, high; // uniform: low up to high, exclusive; integers: both inclusive; constant: low
};

struct expectation {
  bool is_output;
  const char *where;       // for errors: "models/x.yml:12"
  struct tensor_info info; // type 0: any; name "": the model's only one
  bool has_shape;
  struct fill_rule fill;
  bool is_image; // its values are made of pictures, where there are some
  struct picture picture;
  struct output_form form; // of an output
};

#define EXPECTATION_SHAPE_SIZE 512
// "N,3,224,224"; "?" for a free dimension without a name.
void expectation_shape(const struct tensor_info *info, char *text, size_t size);
// xsp: appends the value of --expect.
void expectation_format(const struct expectation *expectation, struct buf *out);
// Runner: strings live in `arena`. False where the text is malformed.
bool expectation_parse(const char *text, struct arena *arena, struct expectation *ret_expectation);

#endif
