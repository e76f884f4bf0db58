// SPDX-License-Identifier: Apache-2.0
// Texts that the page shows, each once, over all its files. Called while runs are packed; page.c writes them at the end.
#include "base/hash.h"
#include "report/page/spans.h"

#include <stdlib.h>
#include <string.h>

void page_names_start_file(struct page_names *names)
{
  free(names->by_string);
  names->by_string = NULL;
  names->string_room = 0;
}

void page_names_done(struct page_names *names)
{
  free(names->by_string);
  free(names->texts);
  free(names->lengths);
  free(names->slots);
  arena_done(&names->arena);
  *names = (struct page_names){0};
}

static bool is_room(struct page_names *names)
{
  if (names->count < names->room)
    return true;
  size_t room = names->room == 0 ? 256 : (size_t)names->room * 2;
  if (room > UINT32_MAX / 4)
    return false;
  const char **texts = realloc(names->texts, room * sizeof *texts);
  if (texts == NULL)
    return false;
  names->texts = texts;
  size_t *lengths = realloc(names->lengths, room * sizeof *lengths);
  if (lengths == NULL)
    return false;
  names->lengths = lengths;
  uint32_t *slots = calloc(room * 2, sizeof *slots);
  if (slots == NULL)
    return false;
  if (names->seed == 0)
    names->seed = hash_new_seed();
  for (uint32_t number = 0; number < names->count; number++) {
    size_t slot = hash_text(texts[number], lengths[number], names->seed) & (room * 2 - 1);
    while (slots[slot] != 0)
      slot = (slot + 1) & (room * 2 - 1);
    slots[slot] = number + 1;
  }
  free(names->slots);
  names->slots = slots;
  names->slot_count = room * 2;
  names->room = (uint32_t)room;
  return true;
}

static bool of_text(struct page_names *names, const char *text, size_t length, uint32_t *ret_number)
{
  if (!is_room(names))
    return false;
  size_t slot = hash_text(text, length, names->seed) & (names->slot_count - 1);
  for (; names->slots[slot] != 0; slot = (slot + 1) & (names->slot_count - 1)) {
    uint32_t number = names->slots[slot] - 1;
    if (names->lengths[number] == length && memcmp(names->texts[number], text, length) == 0) {
      *ret_number = number;
      return true;
    }
  }
  names->texts[names->count] = text;
  names->lengths[names->count] = length;
  *ret_number = names->count;
  names->slots[slot] = ++names->count;
  return true;
}

static bool is_string_room(struct page_names *names, uint32_t string)
{
  if (string < names->string_room)
    return true;
  size_t room = names->string_room * 2 > string ? names->string_room * 2 : (size_t)string + 256;
  uint32_t *bigger = realloc(names->by_string, room * sizeof *bigger);
  if (bigger == NULL)
    return false;
  memset(bigger + names->string_room, 0, (room - names->string_room) * sizeof *bigger);
  names->by_string = bigger;
  names->string_room = room;
  return true;
}

bool page_names_string(struct page_names *names, struct store *store, uint32_t string, uint32_t *ret_number)
{
  if (!is_string_room(names, string))
    return false;
  if (names->by_string[string] == 0) {
    size_t length = 0;
    const char *text = store_text(store, string, &length);
    uint32_t number = 0;
    if (!of_text(names, text, length, &number))
      return false;
    names->by_string[string] = number + 1;
  }
  *ret_number = names->by_string[string] - 1;
  return true;
}

bool page_names_and_others(struct page_names *names, uint32_t number, uint32_t *ret_number)
{
  static const char others[] = " and others";
  size_t length = names->lengths[number];
  char *text = arena_alloc(&names->arena, length + sizeof others);
  if (text == NULL)
    return false;
  memcpy(text, names->texts[number], length);
  memcpy(text + length, others, sizeof others);
  return of_text(names, text, length + sizeof others - 1, ret_number);
}
