// SPDX-License-Identifier: Apache-2.0
// Spans that rocprofv3's JSON and its database have in common; see executions.h. Called by rocprof.c and rocpd.c.
#include "importers/rocprof/executions.h"

#include "format/range.h"

#include <inttypes.h>
#include <stdio.h>

// How many blocks a size takes: the last one may be cut, as of OpenCL's and HSA's launches.
static int64_t blocks_of(int64_t items, int64_t block)
{
  return items / block + (items % block != 0);
}

void rocprof_tag_extents(struct import *import, int64_t span_id, const int64_t block[3], const int64_t grid[3])
{
  char text[80];
  for (unsigned i = 0; i < 3; i++)
    if (block[i] < 1 || grid[i] < 1)
      return;
  int length = snprintf(text, sizeof text, "[%" PRId64 ",%" PRId64 ",%" PRId64 "]", block[0], block[1], block[2]);
  import_tag_bytes(import, span_id, import_word(import, "block"), text, (size_t)length);
  length = snprintf(text, sizeof text, "[%" PRId64 ",%" PRId64 ",%" PRId64 "]", blocks_of(grid[0], block[0]),
                    blocks_of(grid[1], block[1]), blocks_of(grid[2], block[2]));
  import_tag_bytes(import, span_id, import_word(import, "grid"), text, (size_t)length);
}

void rocprof_make_copy(struct import *import, struct store_span *span, int64_t from_gpu, int64_t to_gpu, int64_t bytes)
{
  static const char *const kinds[2][2] = {{"HtoH", "HtoD"}, {"DtoH", "DtoD"}};
  const char *kind = kinds[from_gpu >= 0][to_gpu >= 0];
  char text[32];
  snprintf(text, sizeof text, "Memcpy %s", kind);
  span->category = import_word(import, "memcpy");
  span->name = import_word(import, text);
  import_tag_text(import, span->span_id, import_word(import, "copy_kind"), import_word(import, kind));
  if (bytes >= 0)
    import_tag_int(import, span->span_id, import_word(import, "bytes"), bytes);
}

void rocprof_make_range(struct import *import, struct store_span *span, uint32_t text)
{
  size_t length;
  const char *words = import_text(import, text, &length);
  struct range range;
  range_read(NULL, words, length, import->options->model_range, &range);
  span->level = (uint8_t)range.level;
  span->flags = range.is_step ? STORE_SPAN_STEP : 0;
  span->name = import_string(import, range.name, range.name_length);
}

void rocprof_name_track(char name[96], const struct store_track *track, bool has_stream)
{
  snprintf(name, 96, "GPU %" PRId64 " %s %" PRId64, track->device_id, has_stream ? "stream" : "queue",
           track->stream_id);
}

#define LARGE_FROM (INT64_C(1) << 62) // above those of all processes

void rocprof_set_correlation(struct import *import, struct store_span *span, struct map *large, int64_t process,
                             int64_t recorded)
{
  if (recorded <= 0)
    return;
  span->correlation_id = process << 32 | recorded;
  if (recorded > UINT32_MAX) {
    uint64_t *number = map_at(large, (struct map_key){(uint64_t)process, (uint64_t)recorded}, NULL);
    *number = *number == 0 ? large->count : *number;
    span->correlation_id = LARGE_FROM + (int64_t)*number;
  }
  import_tag_int(import, span->span_id, import_word(import, "recorded_correlation"), recorded);
}
