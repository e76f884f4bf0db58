// SPDX-License-Identifier: Apache-2.0
// A bounded list of tags that were read before there is a span to carry them (a range that another thread ends), or by
// code that knows no spans (decoders). Plain memory: no allocation, may be copied.
#ifndef XSP_TRACERS_ANNOTATIONS_TAGS_H
#define XSP_TRACERS_ANNOTATIONS_TAGS_H

#include <stddef.h>
#include <stdint.h>
#include <xsp/span.h>

#define ANNOTATION_TAGS_MOST 32
#define ANNOTATION_TAGS_TEXT 1536 // keys and texts, each with its NUL

enum annotation_tag_type { ANNOTATION_TAG_INT, ANNOTATION_TAG_DOUBLE, ANNOTATION_TAG_TEXT };

struct annotation_tag {
  uint16_t key;  // place in `text`
  uint16_t type; // enum annotation_tag_type
  uint32_t at;   // ANNOTATION_TAG_TEXT: place in `text`
  union {
    int64_t integer;
    double real;
  } value;
};

struct annotation_tags {
  uint16_t count, text_used;
  uint32_t left_out; // did not fit
  struct annotation_tag tag[ANNOTATION_TAGS_MOST];
  char text[ANNOTATION_TAGS_TEXT];
};

static inline void annotation_tags_clear(struct annotation_tags *tags)
{
  tags->count = tags->text_used = 0;
  tags->left_out = 0;
}
// The length of the text, `most` bytes at most, cut so that no UTF-8 sequence is broken.
size_t annotation_text_cut(const char *text, size_t length, size_t most);
void annotation_tags_int(struct annotation_tags *tags, const char *key, int64_t value);
void annotation_tags_double(struct annotation_tags *tags, const char *key, double value);
// A text that does not fit whole is cut, not inside a UTF-8 sequence.
void annotation_tags_text(struct annotation_tags *tags, const char *key, const char *text, size_t length);
void annotation_tags_copy(struct annotation_tags *to, const struct annotation_tags *from); // appends
void annotation_tags_put(const struct annotation_tags *tags, const struct xsp_span *span);
// What a range got when it began, as hashes: what is sent again when it ends is there once.
struct annotation_sent { // starts as {.span = 0}
  uint64_t span;         // its start; 0: none
  uint32_t count;
  struct {
    uint64_t key, value;
  } tag[ANNOTATION_TAGS_MOST];
};
void annotation_tags_note(const struct annotation_tags *tags, uint64_t span, struct annotation_sent *ret_sent);
// Puts those of `tags` that were not sent. Another value of a key that was has the key with " at end".
void annotation_tags_put_rest(const struct annotation_tags *tags, const struct annotation_sent *sent,
                              const struct xsp_span *span);

#endif
