// SPDX-License-Identifier: Apache-2.0
// What ROCm's profiler records on devices, in either of its forms. Private to this folder.
#ifndef XSP_IMPORTERS_ROCPROF_EXECUTIONS_H
#define XSP_IMPORTERS_ROCPROF_EXECUTIONS_H

#include "base/map.h"
#include "importers/importer.h"

#define ROCPROF_NO_GPU (-1) // a CPU, or not known

// Tags of a kernel: its block, and its grid, which is recorded in work-items, in blocks. None where a size is below 1.
void rocprof_tag_extents(struct import *import, int64_t span_id, const int64_t block[3], const int64_t grid[3]);
// A copy's name, category and tags; `bytes` below 0: not known.
void rocprof_make_copy(struct import *import, struct store_span *span, int64_t from_gpu, int64_t to_gpu, int64_t bytes);
// A range's level, name and whether it is a step, by its text.
void rocprof_make_range(struct import *import, struct store_span *span, uint32_t text);
// "GPU 0 stream 3", or its queue: the place of a track.
void rocprof_name_track(char name[96], const struct store_track *track, bool has_stream);
// The id that a call and what it started share, of a process by its place in the file; its tag. `large` has those of more than 32
// bits, (process, id) → number from 1; the caller frees it.
void rocprof_set_correlation(struct import *import, struct store_span *span, struct map *large, int64_t process,
                             int64_t recorded);

#endif
