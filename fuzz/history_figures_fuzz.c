// SPDX-License-Identifier: Apache-2.0
// Fuzzes lab/history/figures: what is accepted can be written and read again.
#include "history/figures.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct history_record *record, struct arena *arena)
{
  struct buf text = {0};
  struct history_record again = {0};
  figures_write(record, &text);
  if (!figures_read(text.data, text.length, arena, &again) || again.figure_count != record->figure_count)
    abort();
  buf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct arena arena = {0};
  struct history_record record = {0};
  if (figures_read((const char *)data, size, &arena, &record))
    check(&record, &arena);
  arena_done(&arena);
  return 0;
}
