// SPDX-License-Identifier: Apache-2.0
// Fuzzes the decoders of pictures; the first byte chooses the channels, or numbers of classes. A picture that is decoded has
// all its pixels.
#include "processing/image.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct image image;
  if (size == 0)
    return 0;
  bool is_classes = data[0] % 4 == 3;
  enum image_color color = is_classes ? IMAGE_GRAY : (enum image_color)(data[0] % 4);
  if ((is_classes ? image_decode_classes(data + 1, size - 1, "fuzz", &image, NULL)
                  : image_decode(data + 1, size - 1, color, "fuzz", &image, NULL)) != STATUS_OK) {
    if (image.pixels != NULL)
      abort();
    return 0;
  }
  uint64_t sum = 0, count = (uint64_t)image.width * image.height * image.channels;
  for (uint64_t i = 0; i < count; i++)
    sum += image.pixels[i];
  if (image.channels != (color == IMAGE_GRAY ? 1 : 3) || count == 0 || sum > count * 255)
    abort();
  image_done(&image);
  return 0;
}
