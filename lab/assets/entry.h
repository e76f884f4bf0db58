// SPDX-License-Identifier: Apache-2.0
// An asset's place in the cache: a folder for each URL and wanted checksum. Inside this room only.
//
//   CACHE/KEY/           mode 0700
//     resnet50.onnx      the file, once it is complete and right
//     .source            its URL, checksum, size, ETag and Last-Modified
//     .part, .part.source  what came of it until now, and the same facts as far as they are known
//     .lock
#ifndef XSP_ASSETS_ENTRY_H
#define XSP_ASSETS_ENTRY_H

#include "assets/assets.h"
#include "base/buf.h"
#include "base/cache.h"
#include "base/slice.h"

#define SOURCE_VALUE_SIZE 512 // of a header; longer ones are not kept

struct asset_source {               // what is known of a file's bytes
  char sha256[CHECKSUM_TEXT_SIZE];  // "": unknown
  uint64_t bytes;                   // of the whole file; 0: unknown
  char etag[SOURCE_VALUE_SIZE];     // with its quotes; "": none
  char modified[SOURCE_VALUE_SIZE]; // Last-Modified; "": none
};
struct asset_entry { // texts in an arena
  const char *url;
  const char *folder, *file, *source, *part, *part_source, *lock;
};

extern const struct cache asset_cache;

// Makes up the place; touches no file.
enum status entry_find(const char *url, const char *sha256, struct arena *arena, struct asset_entry *ret_entry,
                       struct error *err) MUST_CHECK;
// Whether the file is there and complete. STATUS_SYSTEM: other users could have put it there.
enum status entry_look(const struct asset_entry *entry, bool *ret_is_there, struct asset_source *ret_source,
                       struct error *err) MUST_CHECK;
// Facts next to the file or the part, at `path`. False: there are none, or they are of another URL.
bool entry_source_read(const struct asset_entry *entry, const char *path, struct asset_source *ret_source);
enum status entry_source_write(const struct asset_entry *entry, const char *path, const struct asset_source *source,
                               struct error *err) MUST_CHECK;
// The part becomes the file, with what is known of it.
enum status entry_complete(const struct asset_entry *entry, const struct asset_source *source,
                           struct error *err) MUST_CHECK;
void entry_drop_part(const struct asset_entry *entry);

// ---- its text; pure
void source_format(const struct asset_source *source, const char *url, struct buf *out);
bool source_parse(struct slice text, const char *url,
                  struct asset_source *ret_source); // false: malformed, or of another URL

#endif
