// SPDX-License-Identifier: Apache-2.0
// One decoder per format, behind image_decode. Inside this room only.
#ifndef XSP_PROCESSING_DECODE_H
#define XSP_PROCESSING_DECODE_H

#include "processing/image.h"

// What a decoder leaves: 3 channels are red, green, blue. Where it fails: why, and no pixels.
struct decoded {
  struct image image;
  char why[200];
};
// Allocates the pixels, once sides and channels are known. False: there are too many; `why` has the reason.
bool decoded_make_room(struct decoded *decoded, uint64_t width, uint64_t height, unsigned channels);

// With the picture's own channels.
bool decode_jpeg(const uint8_t *bytes, size_t size, struct decoded *ret_decoded);
bool decode_png(const uint8_t *bytes, size_t size, struct decoded *ret_decoded);
bool decode_png_classes(const uint8_t *bytes, size_t size, struct decoded *ret_decoded); // one channel, as it is stored

#endif
