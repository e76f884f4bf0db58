// SPDX-License-Identifier: Apache-2.0
// One file by HTTP into its entry's part. Inside this room only. The caller holds the entry's lock.
#ifndef XSP_ASSETS_FETCH_H
#define XSP_ASSETS_FETCH_H

#include "assets/entry.h"

struct fetched {
  bool is_same;               // as `known`; then there is no part
  bool was_continued;         // an earlier call brought some of it
  struct asset_source source; // of the part, which is complete and on the disk; with its checksum
};
// Continues a part that is there. `known`: of the file that the cache has; NULL: none. Errors as asset_get; where the connection ended
// the part stays, and the next call continues it.
enum status fetch_part(const struct asset_request *request, const struct asset_entry *entry,
                       const struct asset_source *known, struct fetched *ret_fetched, struct error *err) MUST_CHECK;

// "bytes 100-199/1000" or "bytes */1000". False: another form. *ret_total is 0 where it is not sent. Pure.
bool content_range_parse(struct slice text, uint64_t *ret_first, uint64_t *ret_total);

#endif
