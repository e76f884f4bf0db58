// SPDX-License-Identifier: Apache-2.0
// A bounded list of tags; see tags.h. Filled by decoders and by ranges that end elsewhere, written to a span at the end.
#include "tracers/annotations/tags.h"

#include "base/hash.h"

#include <stdio.h>
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

static void put(const struct annotation_tags *tags, uint32_t at, const char *key, const struct xsp_span *span)
{
  const struct annotation_tag *tag = &tags->tag[at];
  if (tag->type == ANNOTATION_TAG_INT)
    xsp_span_tag_int(span, key, tag->value.integer);
  else if (tag->type == ANNOTATION_TAG_DOUBLE)
    xsp_span_tag_double(span, key, tag->value.real);
  else
    xsp_span_tag_string(span, key, tags->text + tag->at);
}

void annotation_tags_put(const struct annotation_tags *tags, const struct xsp_span *span)
{
  for (uint32_t i = 0; i < tags->count; i++)
    put(tags, i, tags->text + tags->tag[i].key, span);
}

// ---- what is sent twice
static uint64_t hash_of(const char *text)
{
  return hash_text(text, strlen(text), 1);
}

static uint64_t hash_value(const struct annotation_tags *tags, const struct annotation_tag *tag)
{
  uint64_t bits = 0;
  if (tag->type == ANNOTATION_TAG_TEXT)
    return hash_of(tags->text + tag->at);
  memcpy(&bits, &tag->value, sizeof bits);
  return hash_number(bits, (uint64_t)tag->type + 1);
}

void annotation_tags_note(const struct annotation_tags *tags, uint64_t span, struct annotation_sent *ret_sent)
{
  ret_sent->span = span;
  ret_sent->count = tags->count;
  for (uint32_t i = 0; i < tags->count; i++) {
    ret_sent->tag[i].key = hash_of(tags->text + tags->tag[i].key);
    ret_sent->tag[i].value = hash_value(tags, &tags->tag[i]);
  }
}

void annotation_tags_put_rest(const struct annotation_tags *tags, const struct annotation_sent *sent,
                              const struct xsp_span *span)
{
  for (uint32_t i = 0; i < tags->count; i++) {
    const char *key = tags->text + tags->tag[i].key;
    uint64_t key_hash = hash_of(key), value_hash = hash_value(tags, &tags->tag[i]);
    uint32_t known = 0;
    while (known < sent->count && sent->tag[known].key != key_hash)
      known++;
    char at_end[256];
    if (known < sent->count && sent->tag[known].value == value_hash)
      continue;
    if (known < sent->count) {
      snprintf(at_end, sizeof at_end, "%s at end", key);
      key = at_end;
    }
    put(tags, i, key, span);
  }
}
