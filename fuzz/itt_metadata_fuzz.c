// SPDX-License-Identifier: Apache-2.0
// Random metadata of ITT: a type, a count that the bytes hold, values. The resulting text is bounded and readable.
// First byte: type; second: form of the key; the rest: values.
#include "tracers/itt/itt.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int truth)
{
  if (!truth)
    abort();
}

static void check(const struct annotation_tags *tags, bool is_list)
{
  for (uint32_t i = 0; i < tags->count; i++) {
    const struct annotation_tag *tag = &tags->tag[i];
    demand(tag->key < sizeof tags->text && memchr(tags->text + tag->key, 0, sizeof tags->text - tag->key) != NULL);
    if (tag->type != ANNOTATION_TAG_TEXT)
      continue;
    const char *text = tags->text + tag->at;
    demand(tag->at < sizeof tags->text && memchr(text, 0, sizeof tags->text - tag->at) != NULL);
    demand(strlen(text) < 256);
    if (is_list && tags->left_out == 0)
      demand(text[0] == '[' || text[0] == '\0'); // no room left after the text before it
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const size_t sizes[] = {0, 8, 8, 4, 4, 2, 2, 4, 8};
  if (size < 2)
    return 0;
  int type = (int8_t)data[0];
  char key[256];
  memset(key, 'k', data[1]);
  key[data[1]] = '\0';
  bool is_known = type > 0 && type <= ITT_TYPE_DOUBLE;
  size_t count = is_known ? (size - 2) / sizes[type] : size - 2;
  struct annotation_tags tags;
  annotation_tags_clear(&tags);
  for (int round = 0; round < 8; round++) { // until the keys fill it
    bool was_read = itt_metadata_read(&tags, key, type, count, data + 2);
    demand(was_read == is_known);
    check(&tags, count > 1);
  }
  if (!is_known)
    demand(tags.count == 0);
  return 0;
}
