// SPDX-License-Identifier: Apache-2.0
// Catalog ids as the store's string ids, sites with their texts and tags: looked up once, then cached.
#ifndef XSP_COLLECT_NAMES_H
#define XSP_COLLECT_NAMES_H

#include "base/map.h"
#include "base/vector.h"
#include "collect/catalog_read.h"
#include "store/store.h"

#include <stddef.h>

struct names_site {
  uint32_t name, category, tracer; // the store's strings
  uint32_t catalog_id;
  uint32_t first_tag;  // as read from the catalog: another value means that tags were added
  uint32_t path;       // likewise: its spans' call path
  uint32_t context_id; // the store's
  uint8_t level;
  bool is_step;           // has the tag `step` = 1, which is a mark of the spans and no tag of theirs
  struct store_tag *tags; // owned; span_id 0, to be filled in
  uint32_t tag_count;
};

struct names {
  struct catalog_view catalog;           // what of it may be read; grows with the file
  int catalog_file;                      // -1: not open; like the mapping at catalog.bytes, the session closes it
  uint64_t catalog_window;               // bytes of address space at catalog.bytes, mapped read-only
  const struct session_control *control; // tracer names; borrowed
  struct store *store;                   // whose string ids these are; borrowed
  struct map strings;                    // catalog id to the store's
  struct map contexts;                   // likewise, of call paths
  struct map site_index;                 // catalog id to place in `sites`
  VECTOR(struct names_site) sites;
};

bool names_refresh(struct names *names);                  // looks whether the catalog grew; true: it did
void names_use(struct names *names, struct store *store); // forgets everything where the store is another one
// The text of a catalog string, cut to fit and NUL-terminated; false where there is none.
bool names_text(struct names *names, uint32_t catalog_id, char *text, size_t size);
// A track that a process made. False: no such entry.
bool names_track(struct names *names, uint32_t catalog_id, struct catalog_track *ret_track);
// A tag without its span from catalog ids; `type`: enum value_type. False: no such key or type.
bool names_tag(struct names *names, uint32_t key, uint32_t type, uint64_t value, struct store_tag *ret_tag);
// The store's id of a call path; 0: none, or broken.
uint32_t names_context(struct names *names, uint32_t catalog_id);
// NULL: no such site. Valid until the next call.
const struct names_site *names_site(struct names *names, uint32_t catalog_id);
void names_done(struct names *names);

#endif
