// SPDX-License-Identifier: Apache-2.0
// The front door of processing/: what is done to inputs before a prediction, and to outputs after it.
#ifndef XSP_PROCESSING_PROCESSING_H
#define XSP_PROCESSING_PROCESSING_H

#include "processing/image.h" // pictures: decode, resize, cut, make a tensor
#include "processing/output_form.h" // what a manifest says of an output, as text for the runner; boxes, masks, instances, texts
#include "processing/picture.h" // what a manifest wants of a picture, as text for the runner
#include "processing/ranking.h" // the classes with the highest scores

#endif
