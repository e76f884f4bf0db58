// SPDX-License-Identifier: Apache-2.0
// The layers of A14 and their analytic work, for T9 as well.
#ifndef XSP_ANALYZE_KERNELS_A14_LAYER_ROOFLINE_H
#define XSP_ANALYZE_KERNELS_A14_LAYER_ROOFLINE_H

#include "analyze/flops/layers.h"
#include "analyze/kernels/kernels.h"

struct layer_rooflines {
  bool has_kernels;
  struct kernels kernels; // if has_kernels
  struct layers layers;   // else
  struct roofs roofs;
  struct layers_work work;
  size_t count; // layers
};

// From runs with kernels where there are any. STATUS_NO where neither kernels nor shapes of layers were recorded.
enum status layer_rooflines_load(struct question *question, struct layer_rooflines *ret, struct error *err) MUST_CHECK;
// The roof of the type that the layer computed in, as far as recorded, else of its tensors'; NaN where it is not known.
const struct roof *roof_analytic(const struct roofs *roofs, const struct flop_counts *counts);

#endif
