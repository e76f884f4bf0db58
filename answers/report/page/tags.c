// SPDX-License-Identifier: Apache-2.0
// Tags of a run's spans, in blocks of 4096 places: a block is unpacked when one of its spans is looked at. In a block
// the values of one key and type are together, which is a third of the size of an object per span. Called by run.c.
#include "report/page/page.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define EXACT_MOST (INT64_C(1) << 52) // of integers within this, JavaScript has the differences exactly

struct tag_entry {
  uint32_t place; // from the block's first
  const struct store_tag *tag;
};
struct tag_group { // one key and type, by place
  uint32_t key;
  uint8_t type; // as type_of
  VECTOR(struct tag_entry) entries;
};
struct tag_block {
  VECTOR(struct tag_group) groups;
  struct map group_of; // by key and type
  size_t next;         // group that mostly comes next: spans have the same keys one after the other
  size_t count;        // of tags
};

// 0: integers that JavaScript does not have exactly. They are written as texts.
static uint8_t type_of(const struct store_tag *tag)
{
  bool is_exact = tag->type != STORE_INT || (tag->value.integer >= -EXACT_MOST && tag->value.integer <= EXACT_MOST);
  return is_exact ? tag->type : 0;
}

static size_t find_group(struct tag_block *block, uint32_t key, uint8_t type)
{
  bool is_new;
  const size_t next = block->next < block->groups.count ? block->next : 0;
  if (block->groups.count > 0 && block->groups.items[next].key == key && block->groups.items[next].type == type)
    return next;
  uint64_t *group = map_at(&block->group_of, (struct map_key){key, type}, &is_new);
  if (is_new) {
    *group = block->groups.count;
    *vector_add(&block->groups) = (struct tag_group){.key = key, .type = type};
  }
  return (size_t)*group;
}

static void add_tag(struct tag_block *block, uint32_t place, const struct store_tag *tag)
{
  size_t group = find_group(block, tag->key, type_of(tag));
  *vector_add(&block->groups.items[group].entries) = (struct tag_entry){place, tag};
  block->next = group + 1;
  block->count++;
}

static void block_done(struct tag_block *block)
{
  for (size_t i = 0; i < block->groups.count; i++)
    vector_done(&block->groups.items[i].entries);
  vector_done(&block->groups);
  map_done(&block->group_of);
}

// ---- JSON
static bool same_places(const struct tag_group *a, const struct tag_group *b)
{
  bool are_same = a->entries.count == b->entries.count;
  for (size_t i = 0; i < a->entries.count && are_same; i++)
    are_same = a->entries.items[i].place == b->entries.items[i].place;
  return are_same;
}

static void put_places(struct json_writer *json, const struct tag_group *group)
{
  uint32_t before = 0;
  json_member_array(json, "places");
  for (size_t i = 0; i < group->entries.count; i++) {
    json_int(json, (int64_t)group->entries.items[i].place - before);
    before = group->entries.items[i].place;
  }
  json_array_end(json);
}

// "texts": each once; "values": which of them.
static void put_texts(struct json_writer *json, const struct tag_group *group, struct store *store)
{
  struct map numbers SCOPED(map_done) = {0};
  uint32_t *values SCOPED(scoped_free) = memory_new(group->entries.count, sizeof *values);
  json_member_array(json, "texts");
  for (size_t i = 0; i < group->entries.count; i++) {
    bool is_new;
    uint32_t string = group->entries.items[i].tag->value.string;
    uint64_t *number = map_at(&numbers, map_number(string), &is_new);
    if (is_new) {
      *number = numbers.count - 1;
      timeline_json_text(json, store, string);
    }
    values[i] = (uint32_t)*number;
  }
  json_array_end(json);
  json_member_array(json, "values");
  for (size_t i = 0; i < group->entries.count; i++)
    json_int(json, values[i]);
  json_array_end(json);
}

// "integers": differences; "numbers" and "digits": as they are.
static void put_numbers(struct json_writer *json, const struct tag_group *group)
{
  char digits[32];
  int64_t before = 0;
  json_member_array(json, group->type == STORE_INT ? "integers" : group->type == STORE_DOUBLE ? "numbers" : "digits");
  for (size_t i = 0; i < group->entries.count; i++) {
    const struct store_tag *tag = group->entries.items[i].tag;
    if (group->type == STORE_INT) {
      json_int(json, tag->value.integer - before);
      before = tag->value.integer;
    } else if (group->type == STORE_DOUBLE) {
      json_double(json, tag->value.real);
    } else {
      snprintf(digits, sizeof digits, "%" PRId64, tag->value.integer);
      json_string(json, digits);
    }
  }
  json_array_end(json);
}

static void put_block(const struct tag_block *block, struct store *store, struct buf *text)
{
  struct json_writer json;
  json_start(&json, text);
  json_array(&json);
  for (size_t i = 0; i < block->groups.count; i++) {
    const struct tag_group *group = &block->groups.items[i];
    json_object(&json);
    json_key(&json, "key");
    timeline_json_text(&json, store, group->key);
    if (i == 0 || !same_places(group, group - 1)) // left out: those of the group before
      put_places(&json, group);
    if (group->type == STORE_TEXT)
      put_texts(&json, group, store);
    else
      put_numbers(&json, group);
    json_object_end(&json);
  }
  json_array_end(&json);
}

static void put_part(struct page *page, size_t run, size_t number, const struct tag_block *block)
{
  char id[64];
  struct buf text;
  size_t before = page->tags.length;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  put_block(block, page_timeline(page, &page->runs[run])->store, &text);
  snprintf(id, sizeof id, "%zu-tags-%zu", run, number);
  page_put_text(page, &page->tags, id, PAGE_PACK_FAST, &text);
  page->tag_bytes += page->tags.length - before;
}

size_t page_put_tags(struct page *page, size_t run, const struct timeline_run *timeline_run,
                     const struct page_spans *spans)
{
  size_t left_out = 0;
  for (size_t first = 0; first < spans->count && timeline_run->tag_count > 0; first += PAGE_TAG_BLOCK) {
    struct tag_block block = {.count = 0};
    for (size_t place = first; place < first + PAGE_TAG_BLOCK && place < spans->count; place++) {
      if (spans->id[place] == 0) // several spans
        continue;
      const struct timeline_range range = timeline_tags(timeline_run, spans->id[place]);
      for (size_t i = range.first; i < range.end; i++)
        add_tag(&block, (uint32_t)(place - first), &timeline_run->tags[i]);
    }
    if (page->tag_bytes > PAGE_TAG_BYTES_MOST)
      left_out += block.count;
    else if (block.count > 0)
      put_part(page, run, first / PAGE_TAG_BLOCK, &block);
    block_done(&block);
  }
  return left_out;
}
