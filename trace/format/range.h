// SPDX-License-Identifier: Apache-2.0
// What an annotation (NVTX, ITT, a generic Chrome event) is: which level, which name. Pure; no allocation.
#ifndef XSP_FORMAT_RANGE_H
#define XSP_FORMAT_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANGE_NO_NUMBER INT64_MIN

struct range {      // what was read out of a range's text
  unsigned level;   // XSP_LEVEL_…
  bool is_step;     // matches the model range: its occurrences are the observations
  const char *name; // into the text: "aten::mm" of "aten::mm, seq = 3, op_id = 12"
  size_t name_length;
  int64_t sequence, op_id; // RANGE_NO_NUMBER: not recorded
  const char *sizes;       // "[[64, 3], [64]]" of ", sizes = …"; NULL
  size_t sizes_length;
};
// `domain` "" or NULL: the default one. `model_range`: a shell glob over the whole text or its name part; NULL: none.
// Operators ("aten::…", "name, seq = …, op_id = …", OpenCV's forwardLayer, OpenVINO's nodes) are layers; ranges in the domains of NCCL,
// cuDNN, cuBLAS, cuSPARSE, cuSOLVER, cuFFT, oneDNN are library level; matches of the model range are model level;
// all else is application level.
void range_read(const char *domain, const char *text, size_t length, const char *model_range, struct range *ret_range);
// An operator that only calls others, which are the layers: a compiled region of PyTorch, a step of its autograd engine.
bool range_is_wrapper(const char *name, size_t length);
// `name` without numbers that stand alone, which count calls: "step" of "step 12", "ProfilerStep#" of "ProfilerStep#3";
// "resnet50" and "v1.5" stay. Cut to `size`. Returns the length; there is no NUL.
size_t range_stem(const char *name, size_t length, char *ret_stem, size_t size);
bool range_matches(const char *model_range, const char *text, size_t length); // false for NULL

#endif
