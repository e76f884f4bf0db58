// SPDX-License-Identifier: Apache-2.0
// What xsp's own exports of timelines (Perfetto, Chrome) write as arguments of a span. Inside this room only.
#ifndef XSP_IMPORTERS_EXPORTED_H
#define XSP_IMPORTERS_EXPORTED_H

#include "base/map.h"
#include "base/vector.h"
#include "importers/importer.h"

#define IMPORT_MADE_UP_PID 1000000000 // and above: of processes whose number the export did not know

struct import_exported { // ids of import_string
  uint32_t kind, correlation, tracer, run, basis, span, parent, step;
  uint32_t category;  // 0, and to be set where it is an argument
  struct map ids;     // number of a span in the export → twice its id here, + 1 once it has come
  struct map missing; // ids of parents that have not come yet: 1; 0: they have
  int64_t last_span_id;
  VECTOR(struct store_span) held; // in the order of the file; the first one's parent has not come
  size_t held_from;
};
void import_exported_make(struct import *import, struct import_exported *ret_keys);
// Whether an argument is the span's own, and no tag. `span` has its kind, correlation id, tracer and category then. The number of
// its run is its first one, if it has that: another `run_id` is a tag, as of XLA's executions.
bool import_exported_take(const struct import *import, struct import_exported *keys, bool is_first,
                          const struct store_tag *tag, struct store_span *span);
// The id of the next span. `number`: what the export calls it, where other spans have it as parent, maybe earlier in the file; else 0.
int64_t import_exported_id(struct import_exported *keys, int64_t number);
// Spans in the order of the file: each is put in, and what import_exported_next hands out goes on. A span waits for its parent, and those
// behind it wait, too; at the end of the file it has none.
void import_exported_put(struct import_exported *keys, const struct store_span *span);
bool import_exported_next(struct import_exported *keys, bool is_end, struct store_span *ret_span);
void import_exported_done(struct import_exported *keys);

#endif
