// SPDX-License-Identifier: Apache-2.0
// A catalog of unknown origin: every id gives an entry inside the file, or none.
#include "collect/catalog_read.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum; // so that entries are read

static uint64_t look_up(const struct catalog_view *view, uint32_t id)
{
  uint64_t sum_of_one = 0;
  const char *text;
  uint32_t length;
  struct catalog_site site;
  struct catalog_site_tag tag;
  struct catalog_track track;
  struct catalog_frame frame;
  struct catalog_path path;
  if (catalog_read_string(view, id, &text, &length))
    for (uint32_t i = 0; i < length; i++)
      sum_of_one += (unsigned char)text[i];
  if (catalog_read_site(view, id, &site)) {
    if (site.level >= XSP_LEVEL_COUNT)
      abort();
    sum_of_one += site.name;
  }
  if (catalog_read_site_tag(view, id, &tag))
    sum_of_one += tag.next;
  if (catalog_read_track(view, id, &track))
    sum_of_one += track.name;
  if (catalog_read_frame(view, id, &frame))
    sum_of_one += frame.name + frame.address;
  if (catalog_read_path(view, id, &path)) {
    if (path.caller >= id)
      abort();
    sum_of_one += path.frame;
  }
  return sum_of_one;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  // A copy of exactly this size, so that a read past the end is seen.
  void *bytes = size && size < 1 << 16 ? malloc(size) : NULL;
  if (!bytes)
    return 0;
  memcpy(bytes, data, size);
  if (size >= sizeof(struct catalog_head))
    ((struct catalog_head *)bytes)->version = SESSION_VERSION; // corpora outlive versions
  struct catalog_view view = {bytes, size};
  if (!catalog_read_check(&view)) {
    for (uint32_t id = 0; id <= size / 8 + 1; id++)
      sum += look_up(&view, id);
    sum += look_up(&view, UINT32_MAX);
  }
  free(bytes);
  return 0;
}
