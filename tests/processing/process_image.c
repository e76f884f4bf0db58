// SPDX-License-Identifier: Apache-2.0
// Steps of processing/ for tests: process_image FILE COLOR [STEP ARGUMENTS…]… writes "WIDTH HEIGHT CHANNELS\n" and the values.
//   resize WIDTH HEIGHT FILTER   shorter SIDE FILTER   letterbox WIDTH HEIGHT FILTER PAD   crop WIDTH HEIGHT
//   bytes chw|hwc   floats chw|hwc MEAN SCALE (of three channels, joined by commas), as the last one
#include "processing/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char **next;

static const char *argument(void)
{
  if (*next == NULL) {
    fprintf(stderr, "process_image: an argument is missing\n");
    exit(2);
  }
  return *next++;
}

static unsigned number(void)
{
  return (unsigned)strtoul(argument(), NULL, 10);
}

static unsigned word(const char *const *words)
{
  const char *text = argument();
  for (unsigned i = 0; words[i] != NULL; i++)
    if (strcmp(words[i], text) == 0)
      return i;
  fprintf(stderr, "process_image: %s\n", text);
  exit(2);
}

static void three(float values[3])
{
  char *rest = strdup(argument()), *text = rest;
  for (int i = 0; i < 3; i++)
    values[i] = strtof(strsep(&rest, ","), NULL);
  free(text);
}

static void resize_shorter(struct image *image)
{
  uint64_t width, height;
  image_size_of_shorter_side(image, number(), &width, &height);
  image_resize(image, (unsigned)width, (unsigned)height, word(image_filter_names));
}

static void put_in_letterbox(struct image *image)
{
  unsigned width = number(), height = number(), filter = word(image_filter_names), fitted_width, fitted_height;
  image_size_within(image, width, height, &fitted_width, &fitted_height);
  image_resize(image, fitted_width, fitted_height, filter);
  image_crop_center(image, width, height, (uint8_t)number());
}

static void put(const struct image *image, const char *step)
{
  static const char *const layouts[] = {"chw", "hwc", NULL};
  size_t count = (size_t)image->width * image->height * image->channels;
  printf("%u %u %u\n", image->width, image->height, image->channels);
  struct image_tensor how = {.channels_last = word(layouts) == 1};
  if (strcmp(step, "bytes") == 0) {
    uint8_t *values = malloc(count);
    image_to_bytes(image, how.channels_last, values);
    fwrite(values, 1, count, stdout);
    free(values);
    return;
  }
  float *values = malloc(count * sizeof *values);
  three(how.mean);
  three(how.scale);
  image_to_floats(image, &how, values);
  fwrite(values, sizeof *values, count, stdout);
  free(values);
}

int main(int argument_count, char **arguments)
{
  static uint8_t bytes[1 << 24];
  struct image image;
  struct error err;
  next = arguments + 1;
  const char *path = argument();
  FILE *file = fopen(path, "rb");
  size_t size = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0;
  if (file != NULL)
    fclose(file);
  if (image_decode(bytes, size, word(image_color_names), path, &image, &err) != STATUS_OK) {
    char line[1024];
    error_line(&err, line, sizeof line);
    fprintf(stderr, "%s\n", line);
    return 2;
  }
  while (*next != NULL) {
    const char *step = argument();
    if (strcmp(step, "resize") == 0) {
      unsigned width = number(), height = number();
      image_resize(&image, width, height, word(image_filter_names));
    } else if (strcmp(step, "shorter") == 0) {
      resize_shorter(&image);
    } else if (strcmp(step, "letterbox") == 0) {
      put_in_letterbox(&image);
    } else if (strcmp(step, "crop") == 0) {
      unsigned width = number(), height = number();
      image_crop_center(&image, width, height, 0);
    } else {
      put(&image, step);
    }
  }
  image_done(&image);
  return 0;
}
