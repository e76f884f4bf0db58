// SPDX-License-Identifier: Apache-2.0
// Tags of a run's spans, in blocks of so many places: one is unpacked when a span of it is looked at. In a block the values
// of one key and type stand together, which is a third of the size of an object a span. Called by page_run.c.
#include "report/page/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MOST (INT64_C(1) << 52) // of integers within this, JavaScript has the differences exactly

struct tag_entry {
  uint32_t place, group;
  const struct store_tag *tag;
};
struct tag_group { // one key and type
  uint32_t key;
  uint8_t type; // as `type_of`
  size_t count, first;
};
struct tag_block {
  struct tag_entry *entries, *sorted; // in the order of places; by group
  size_t count, room;
  struct tag_group *groups;
  size_t group_count;
  uint32_t *slots; // scratch of lookups: number + 1, 0: free. More than twice `room`
  size_t slot_mask;
};

static void block_done(struct tag_block *block)
{
  free(block->entries);
  free(block->sorted);
  free(block->groups);
  free(block->slots);
}

static bool block_room(struct tag_block *block, size_t wanted)
{
  if (wanted <= block->room)
    return true;
  block_done(block);
  size_t room = 4096;
  while (room < wanted)
    room *= 2;
  *block = (struct tag_block){
      .entries = malloc(room * sizeof *block->entries),
      .sorted = malloc(room * sizeof *block->sorted),
      .groups = malloc(room * sizeof *block->groups),
      .slots = malloc(room * 4 * sizeof *block->slots),
      .slot_mask = room * 4 - 1,
      .room = room,
  };
  return block->entries != NULL && block->sorted != NULL && block->groups != NULL && block->slots != NULL;
}

// Integers that JavaScript does not have exactly go as texts.
static uint8_t type_of(const struct store_tag *tag)
{
  bool is_exact = tag->type != STORE_INT || (tag->value.integer >= -EXACT_MOST && tag->value.integer <= EXACT_MOST);
  return is_exact ? tag->type : 0;
}

static size_t slot_of(const struct tag_block *block, uint64_t key)
{
  key *= UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(key ^ key >> 32) & block->slot_mask;
}

static uint32_t group_of(struct tag_block *block, const struct store_tag *tag)
{
  uint8_t type = type_of(tag);
  size_t slot = slot_of(block, (uint64_t)tag->key << 8 | type);
  for (; block->slots[slot] != 0; slot = (slot + 1) & block->slot_mask) {
    const struct tag_group *group = &block->groups[block->slots[slot] - 1];
    if (group->key == tag->key && group->type == type)
      return block->slots[slot] - 1;
  }
  block->groups[block->group_count] = (struct tag_group){.key = tag->key, .type = type};
  block->slots[slot] = (uint32_t)++block->group_count;
  return block->slots[slot] - 1;
}

// Lists the tags of places first … end, and puts them by group. False: out of memory.
static bool gather(struct tag_block *block, const struct timeline_run *run, const struct page_spans *spans,
                   size_t first, size_t end)
{
  size_t wanted = 0, at[PAGE_TAG_BLOCK], count[PAGE_TAG_BLOCK];
  for (size_t place = first; place < end; place++) {
    at[place - first] = count[place - first] = 0;
    if (spans->id[place] != 0)
      timeline_tags(run, spans->id[place], &at[place - first], &count[place - first]);
    wanted += count[place - first];
  }
  block->count = block->group_count = 0;
  if (wanted == 0)
    return true;
  if (!block_room(block, wanted))
    return false;
  memset(block->slots, 0, (block->slot_mask + 1) * sizeof *block->slots);
  for (uint32_t place = 0; place < end - first; place++)
    for (size_t i = at[place]; i < at[place] + count[place]; i++) {
      uint32_t group = group_of(block, &run->tags[i]);
      block->groups[group].count++;
      block->entries[block->count++] = (struct tag_entry){place, group, &run->tags[i]};
    }
  size_t next = 0;
  for (size_t i = 0; i < block->group_count; i++) {
    block->groups[i].first = next;
    next += block->groups[i].count;
    block->groups[i].count = 0;
  }
  for (size_t i = 0; i < block->count; i++) {
    struct tag_group *group = &block->groups[block->entries[i].group];
    block->sorted[group->first + group->count++] = block->entries[i];
  }
  return true;
}

// ---- JSON
static void put_text(struct json_writer *json, struct store *store, uint32_t string)
{
  size_t length = 0;
  const char *text = store_text(store, string, &length);
  json_string_n(json, text, length);
}

static bool same_places(const struct tag_block *block, const struct tag_group *group)
{
  if (group == block->groups || group[-1].count != group->count)
    return false;
  for (size_t i = 0; i < group->count; i++)
    if (block->sorted[group->first + i].place != block->sorted[group[-1].first + i].place)
      return false;
  return true;
}

// From the place before; nothing where they are those of the group before.
static void put_places(struct json_writer *json, const struct tag_block *block, const struct tag_group *group)
{
  uint32_t before = 0;
  if (same_places(block, group))
    return;
  json_key(json, "places");
  json_array(json);
  for (size_t i = group->first; i < group->first + group->count; i++) {
    json_int(json, (int64_t)block->sorted[i].place - before);
    before = block->sorted[i].place;
  }
  json_array_end(json);
}

// "texts": each once; "values": which of them.
static void put_texts(struct json_writer *json, struct tag_block *block, const struct tag_group *group,
                      struct store *store)
{
  uint32_t *numbers = (uint32_t *)(void *)block->entries; // no longer needed; by position in the group
  uint32_t count = 0;
  memset(block->slots, 0, (block->slot_mask + 1) * sizeof *block->slots);
  json_key(json, "texts");
  json_array(json);
  for (size_t i = 0; i < group->count; i++) {
    uint32_t string = block->sorted[group->first + i].tag->value.string;
    size_t slot = slot_of(block, string);
    while (block->slots[slot] != 0 && block->sorted[group->first + block->slots[slot] - 1].tag->value.string != string)
      slot = (slot + 1) & block->slot_mask;
    if (block->slots[slot] == 0) {
      block->slots[slot] = (uint32_t)i + 1;
      put_text(json, store, string);
      numbers[i] = count++;
    } else {
      numbers[i] = numbers[block->slots[slot] - 1];
    }
  }
  json_array_end(json);
  json_key(json, "values");
  json_array(json);
  for (size_t i = 0; i < group->count; i++)
    json_int(json, numbers[i]);
  json_array_end(json);
}

// "integers": differences; "numbers" and "digits": as they are.
static void put_numbers(struct json_writer *json, const struct tag_block *block, const struct tag_group *group)
{
  char digits[32];
  int64_t before = 0;
  json_key(json, group->type == STORE_INT ? "integers" : group->type == STORE_DOUBLE ? "numbers" : "digits");
  json_array(json);
  for (size_t i = group->first; i < group->first + group->count; i++) {
    const struct store_tag *tag = block->sorted[i].tag;
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

static void put_block(struct tag_block *block, struct store *store, struct buf *text)
{
  struct json_writer json;
  json_start(&json, text);
  json_array(&json);
  for (size_t i = 0; i < block->group_count; i++) {
    const struct tag_group *group = &block->groups[i];
    json_object(&json);
    json_key(&json, "key");
    put_text(&json, store, group->key);
    put_places(&json, block, group);
    if (group->type == STORE_TEXT)
      put_texts(&json, block, group, store);
    else
      put_numbers(&json, block, group);
    json_object_end(&json);
  }
  json_array_end(&json);
}

static enum status put_part(struct page *page, size_t run, size_t number, struct tag_block *block, struct buf *text,
                            struct error *err)
{
  char name[32];
  size_t before = page->tags.length;
  buf_clear(text);
  put_block(block, page_timeline(page, &page->runs[run])->store, text);
  if (text->failed)
    return page_no_memory(err);
  snprintf(name, sizeof name, "tags-%zu", number);
  page_part_begin(&page->tags, run, name);
  XSP_TRY(page_put_packed(text->data, text->length, PAGE_PACK_FAST, &page->tags, err));
  page_part_end(&page->tags);
  page->tag_bytes += page->tags.length - before;
  return page->tags.failed ? page_no_memory(err) : STATUS_OK;
}

enum status page_put_tags(struct page *page, size_t run, const struct timeline_run *timeline_run,
                          const struct page_spans *spans, size_t *ret_left_out, struct error *err)
{
  struct tag_block block = {0};
  struct buf text;
  buf_init(&text, BUF_MAXIMUM_DEFAULT);
  enum status status = STATUS_OK;
  for (size_t first = 0; first < spans->count && timeline_run->tag_count > 0 && status == STATUS_OK;
       first += PAGE_TAG_BLOCK) {
    size_t end = first + PAGE_TAG_BLOCK < spans->count ? first + PAGE_TAG_BLOCK : spans->count;
    if (!gather(&block, timeline_run, spans, first, end))
      status = page_no_memory(err);
    else if (block.count > 0 && page->tag_bytes > PAGE_TAG_BYTES_MOST)
      *ret_left_out += block.count;
    else if (block.count > 0)
      status = put_part(page, run, first / PAGE_TAG_BLOCK, &block, &text, err);
  }
  block_done(&block);
  buf_done(&text);
  return status;
}
