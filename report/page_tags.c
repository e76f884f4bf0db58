// SPDX-License-Identifier: Apache-2.0
// Tags of a run's spans, in blocks of so many places: one is unpacked when a span of it is looked at. Called by page_run.c.
#include "report/page.h"

#include <inttypes.h>
#include <stdio.h>

#define EXACT_MOST (INT64_C(1) << 53) // beyond, a JavaScript number is not the integer

static void put_text(struct json_writer *json, struct store *store, uint32_t string)
{
  size_t length = 0;
  const char *text = store_text(store, string, &length);
  json_string_n(json, text, length);
}

static void put_value(struct json_writer *json, struct store *store, const struct store_tag *tag)
{
  char digits[32];
  if (tag->type == STORE_TEXT) {
    put_text(json, store, tag->value.string);
  } else if (tag->type == STORE_DOUBLE) {
    json_double(json, tag->value.real);
  } else if (tag->value.integer >= -EXACT_MOST && tag->value.integer <= EXACT_MOST) {
    json_int(json, tag->value.integer);
  } else {
    snprintf(digits, sizeof digits, "%" PRId64, tag->value.integer);
    json_string(json, digits);
  }
}

// {"place": {key: value}} of places first … end. Returns how many tags that are.
static size_t put_block(const struct timeline_run *run, struct store *store, const struct page_spans *spans,
                        size_t first, size_t end, struct buf *text)
{
  size_t total = 0;
  struct json_writer json;
  json_start(&json, text);
  json_object(&json);
  for (size_t place = first; place < end; place++) {
    size_t at = 0, count = 0;
    if (spans->id[place] != 0)
      timeline_tags(run, spans->id[place], &at, &count);
    if (count == 0)
      continue;
    char number[24];
    snprintf(number, sizeof number, "%zu", place);
    json_key(&json, number);
    json_object(&json);
    for (size_t i = at; i < at + count; i++) {
      size_t length = 0;
      json_key(&json, store_text(store, run->tags[i].key, &length));
      put_value(&json, store, &run->tags[i]);
    }
    json_object_end(&json);
    total += count;
  }
  json_object_end(&json);
  return total;
}

enum status page_put_tags(struct page *page, size_t run, const struct timeline_run *timeline_run,
                          const struct page_spans *spans, size_t *ret_left_out, struct error *err)
{
  struct store *store = page_timeline(page, &page->runs[run])->store;
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  enum status status = STATUS_OK;
  for (size_t first = 0; first < spans->count && timeline_run->tag_count > 0 && status == STATUS_OK;
       first += PAGE_TAG_BLOCK) {
    size_t end = first + PAGE_TAG_BLOCK < spans->count ? first + PAGE_TAG_BLOCK : spans->count;
    buf_clear(&text);
    size_t count = put_block(timeline_run, store, spans, first, end, &text), before = page->out.length;
    if (count == 0)
      continue;
    if (page->tag_bytes > PAGE_TAG_BYTES_MOST) {
      *ret_left_out += count;
      continue;
    }
    char name[32];
    snprintf(name, sizeof name, "tags-%zu", first / PAGE_TAG_BLOCK);
    page_part_begin(page, run, name);
    status = text.failed ? page_no_memory(err) : page_put_packed(text.data, text.length, &page->out, err);
    page_part_end(page);
    page->tag_bytes += page->out.length - before;
    if (status == STATUS_OK)
      status = page_flush(page, err);
  }
  buf_done(&text);
  return status;
}
