// SPDX-License-Identifier: Apache-2.0
// What process groups exchange, and in which time, added up run by run (links.c), for F55.
#ifndef XSP_ANALYZE_FINDINGS_LINKS_H
#define XSP_ANALYZE_FINDINGS_LINKS_H

#include "analyze/ranks/ranks.h"

#define LINK_RANKS_SHOWN 4u
#define LINK_VALUES_MOST 512u // even

struct link_key {
  uint32_t name, is_scattered, size_class, ranks; // string id; 0 or 1; of bytes, by powers of two; in the group
};
struct link { // collectives of one key in a group of a job
  struct link_key key;
  uint32_t member_count;
  uint32_t members[LINK_RANKS_SHOWN]; // places in ranks->items: the first
  double count, bytes, transfer_ns;
  VECTOR(double) ns_per_byte; // of each `stride`-th, a power of two; sorted by findings_sort_links
  size_t stride, next;        // next: place of the one that comes now
  struct collective first;    // by number and rank
};
struct links { // rank_facts_done frees it
  VECTOR(struct link) items;
  struct map places; // in `items`
};

void findings_add_links(struct links *links, const struct ranks *ranks); // ranks->collectives
void findings_sort_links(struct links *links);                           // by `first`; nothing can be added after it
void findings_links_done(struct links *links);

#endif
