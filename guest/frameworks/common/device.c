// SPDX-License-Identifier: Apache-2.0
// Reads the text of --device, and writes the error where there is no such device. Called by predictor.c and by predictors.
#include "frameworks/common/device.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define INDEX_DIGITS_MOST 4

bool framework_device_parse(const char *text, struct framework_device *ret_device)
{
  *ret_device = (struct framework_device){.text = text, .index = -1};
  if (text == NULL)
    return true;
  if (strcasecmp(text, "cpu") == 0)
    ret_device->kind = DEVICE_CPU;
  else if (strncasecmp(text, "gpu", 3) == 0 && (text[3] == 0 || text[3] == ':'))
    ret_device->kind = DEVICE_GPU;
  else
    ret_device->kind = DEVICE_NAMED;
  if (ret_device->kind != DEVICE_GPU || text[3] == 0)
    return text[0] != 0;
  const char *digits = text + 4;
  size_t length = strlen(digits);
  if (length == 0 || length > INDEX_DIGITS_MOST || strspn(digits, "0123456789") != length)
    return false;
  ret_device->index = atoi(digits);
  return true;
}

enum status framework_device_missing(const struct framework_device *device, const char *framework, const char *present,
                                     struct error *err)
{
  return error_set(err, STATUS_USE, "no such device", "--device", "--device cpu, or another of them",
                   "%s has no '%s' here, it has %s", framework, device->text, present[0] != 0 ? present : "none");
}

const char *framework_device_list(struct arena *arena, const char *list, const char *name)
{
  return arena_format(arena, "%s%s%s", list, list[0] != 0 ? ", " : "", name);
}
