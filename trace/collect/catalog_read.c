// SPDX-License-Identifier: Apache-2.0
// The catalog's decoder. Called by names.c, which caches what it returns. Must read no byte that is not inside the
// view.
#include "collect/catalog_read.h"

#include <string.h>

const char *catalog_read_check(const struct catalog_view *view)
{
  struct catalog_head head;
  if (view->size < sizeof head)
    return "the catalog is cut short";
  memcpy(&head, view->bytes, sizeof head);
  if (head.magic != CATALOG_MAGIC)
    return "the catalog is none of ours";
  if (head.version != SESSION_VERSION)
    return "the catalog has another version";
  if (head.head_size < sizeof head || head.head_size > view->size || head.head_size % 8 != 0)
    return "the catalog's head is broken";
  return NULL;
}

// The entry's place, and its size after acquire (partner: capture's release store of `size`). NULL: not there.
static const uint8_t *find(const struct catalog_view *view, uint32_t id, uint32_t type, size_t least,
                           uint32_t *ret_size)
{
  uint64_t offset = (uint64_t)id * 8;
  if (offset < sizeof(struct catalog_head) || view->size < least || offset > view->size - least)
    return NULL;
  const uint8_t *place = view->bytes + offset;
  const struct catalog_entry *entry = (const struct catalog_entry *)(const void *)place;
  uint32_t size = __atomic_load_n(&entry->size, __ATOMIC_ACQUIRE);
  if (size < least || size % 8 != 0 || size > view->size - offset)
    return NULL;
  if (__atomic_load_n(&entry->type, __ATOMIC_RELAXED) != type)
    return NULL;
  *ret_size = size;
  return place;
}

bool catalog_read_string(const struct catalog_view *view, uint32_t id, const char **ret_text, uint32_t *ret_length)
{
  uint32_t size;
  const uint8_t *place = find(view, id, CATALOG_STRING, sizeof(struct catalog_string), &size);
  if (!place)
    return false;
  struct catalog_string string;
  memcpy(&string, place, sizeof string);
  if (string.length > CATALOG_STRING_MAXIMUM || string.length > size - sizeof string)
    return false;
  *ret_text = (const char *)place + sizeof string;
  *ret_length = string.length;
  return true;
}

static bool read_fixed(const struct catalog_view *view, uint32_t id, uint32_t type, void *ret, size_t size)
{
  uint32_t entry_size;
  const uint8_t *place = find(view, id, type, size, &entry_size);
  if (place)
    memcpy(ret, place, size);
  return place != NULL;
}

bool catalog_read_site(const struct catalog_view *view, uint32_t id, struct catalog_site *ret_site)
{
  return read_fixed(view, id, CATALOG_SITE, ret_site, sizeof *ret_site) && ret_site->level < XSP_LEVEL_COUNT;
}

bool catalog_read_site_tag(const struct catalog_view *view, uint32_t id, struct catalog_site_tag *ret_tag)
{
  return read_fixed(view, id, CATALOG_SITE_TAG, ret_tag, sizeof *ret_tag);
}

bool catalog_read_track(const struct catalog_view *view, uint32_t id, struct catalog_track *ret_track)
{
  return read_fixed(view, id, CATALOG_TRACK, ret_track, sizeof *ret_track);
}

bool catalog_read_frame(const struct catalog_view *view, uint32_t id, struct catalog_frame *ret_frame)
{
  return read_fixed(view, id, CATALOG_FRAME, ret_frame, sizeof *ret_frame) && ret_frame->kind < XSP_FRAME_KINDS;
}

bool catalog_read_path(const struct catalog_view *view, uint32_t id, struct catalog_path *ret_path)
{
  return read_fixed(view, id, CATALOG_PATH, ret_path, sizeof *ret_path) && ret_path->caller < id;
}
