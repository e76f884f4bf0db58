// SPDX-License-Identifier: Apache-2.0
// Texts that the page shows, each once, over all its files. Filled while runs are packed; page.c writes them at the
// end.
#include "report/page/spans.h"

void page_names_start_file(struct page_names *names)
{
  vector_done(&names->by_string);
}

void page_names_done(struct page_names *names)
{
  vector_done(&names->by_string);
  interner_done(&names->texts);
}

uint32_t page_names_string(struct page_names *names, struct store *store, uint32_t string)
{
  while (names->by_string.count <= string)
    (void)vector_add(&names->by_string);
  uint32_t *known = &names->by_string.items[string];
  if (*known == 0) {
    size_t length = 0;
    const char *text = store_text(store, string, &length);
    *known = interner_at(&names->texts, text, length) + 1;
  }
  return *known - 1;
}

uint32_t page_names_and_others(struct page_names *names, uint32_t number)
{
  static const char ending[] = " and others";
  struct arena arena SCOPED(arena_done) = {0};
  struct slice name = interner_text(&names->texts, number);
  if (name.length >= sizeof ending - 1 &&
      memcmp(name.data + name.length - (sizeof ending - 1), ending, sizeof ending - 1) == 0)
    return number; // of a rectangle that is merged again
  char *text = arena_alloc(&arena, name.length + sizeof ending);
  memcpy(text, name.data, name.length);
  memcpy(text + name.length, ending, sizeof ending);
  return interner_at(&names->texts, text, name.length + sizeof ending - 1);
}
