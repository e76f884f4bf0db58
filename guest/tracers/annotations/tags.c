// SPDX-License-Identifier: Apache-2.0
// A bounded list of tags; see tags.h. Filled by decoders and by ranges that end elsewhere, written to a span at the end.
#include "tracers/annotations/tags.h"

#include <string.h>

size_t annotation_text_cut(const char *text, size_t length, size_t most)
{
  if (length <= most)
    return length;
  while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
    most--;
  return most;
}

static uint16_t append(struct annotation_tags *tags, const char *text, size_t length)
{
  uint16_t at = tags->text_used;
  memcpy(tags->text + at, text, length);
  tags->text[at + length] = '\0';
  tags->text_used = (uint16_t)(at + length + 1);
  return at;
}

// A new tag with its key, whose value takes `text_bytes` of text at least; NULL: no room.
static struct annotation_tag *add(struct annotation_tags *tags, const char *key, size_t text_bytes)
{
  size_t length = strlen(key);
  if (tags->count == ANNOTATION_TAGS_MOST || length + 1 + text_bytes > sizeof tags->text - tags->text_used) {
    tags->left_out++;
    return NULL;
  }
  struct annotation_tag *tag = &tags->tag[tags->count++];
  tag->key = append(tags, key, length);
  return tag;
}

void annotation_tags_int(struct annotation_tags *tags, const char *key, int64_t value)
{
  struct annotation_tag *tag = add(tags, key, 0);
  if (tag != NULL) {
    tag->type = ANNOTATION_TAG_INT;
    tag->value.integer = value;
  }
}

void annotation_tags_double(struct annotation_tags *tags, const char *key, double value)
{
  struct annotation_tag *tag = add(tags, key, 0);
  if (tag != NULL) {
    tag->type = ANNOTATION_TAG_DOUBLE;
    tag->value.real = value;
  }
}

void annotation_tags_text(struct annotation_tags *tags, const char *key, const char *text, size_t length)
{
  struct annotation_tag *tag = add(tags, key, 1);
  if (tag != NULL) {
    tag->type = ANNOTATION_TAG_TEXT;
    tag->at = append(tags, text, annotation_text_cut(text, length, sizeof tags->text - tags->text_used - 1));
  }
}

void annotation_tags_copy(struct annotation_tags *to, const struct annotation_tags *from)
{
  for (uint32_t i = 0; i < from->count; i++) {
    const struct annotation_tag *tag = &from->tag[i];
    const char *key = from->text + tag->key;
    if (tag->type == ANNOTATION_TAG_INT)
      annotation_tags_int(to, key, tag->value.integer);
    else if (tag->type == ANNOTATION_TAG_DOUBLE)
      annotation_tags_double(to, key, tag->value.real);
    else
      annotation_tags_text(to, key, from->text + tag->at, strlen(from->text + tag->at));
  }
  to->left_out += from->left_out;
}

void annotation_tags_put(const struct annotation_tags *tags, const struct xsp_span *span)
{
  for (uint32_t i = 0; i < tags->count; i++) {
    const struct annotation_tag *tag = &tags->tag[i];
    const char *key = tags->text + tag->key;
    if (tag->type == ANNOTATION_TAG_INT)
      xsp_span_tag_int(span, key, tag->value.integer);
    else if (tag->type == ANNOTATION_TAG_DOUBLE)
      xsp_span_tag_double(span, key, tag->value.real);
    else
      xsp_span_tag_string(span, key, tags->text + tag->at);
  }
}
