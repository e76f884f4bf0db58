// SPDX-License-Identifier: Apache-2.0
// Adds up what process groups exchange. Called for each run by rank_facts.c, and by F55.
#include "analyze/findings/links.h"

#include "base/sorted.h"

static struct link *link_of(struct links *links, const struct collective *one, const struct link_key *key)
{
  const struct map_key of_group = {(uint64_t)one->job << 32 | one->group,
                                   (uint64_t)key->name << 32 | (uint64_t)key->is_scattered << 31 |
                                       (uint64_t)key->size_class << 25 | (key->ranks & 0x1ffffff)};
  bool is_new;
  uint64_t *place = map_at(&links->places, of_group, &is_new);
  if (is_new) {
    *place = links->items.count;
    *vector_add(&links->items) = (struct link){.key = *key, .stride = 1, .first = *one};
  }
  return &links->items.items[*place];
}

static void add_member(struct link *link, uint32_t rank) // they rise
{
  uint32_t place = link->member_count;
  while (place > 0 && link->members[place - 1] >= rank)
    place--;
  if (place == LINK_RANKS_SHOWN || (place < link->member_count && link->members[place] == rank))
    return;
  link->member_count += link->member_count < LINK_RANKS_SHOWN;
  for (uint32_t i = link->member_count - 1; i > place; i--)
    link->members[i] = link->members[i - 1];
  link->members[place] = rank;
}

// There may be millions: every second is left out where there are too many.
static void add_value(struct link *link, double value)
{
  if (link->next++ % link->stride != 0)
    return;
  if (link->ns_per_byte.count == LINK_VALUES_MOST) {
    link->stride *= 2;
    link->ns_per_byte.count /= 2;
    for (size_t i = 0; i < link->ns_per_byte.count; i++)
      link->ns_per_byte.items[i] = link->ns_per_byte.items[2 * i];
  }
  *vector_add(&link->ns_per_byte) = value;
}

void findings_add_links(struct links *links, const struct ranks *ranks)
{
  for (size_t i = 0; i < ranks->collectives.count; i++) {
    const struct collective *one = &ranks->collectives.items[i];
    const struct collective_match *match = one->match != RANK_NONE ? &ranks->matches.items[one->match] : NULL;
    if (match == NULL || match->has_root || one->bytes <= 0 || one->group == 0)
      continue;
    const struct link_key key = {one->name, one->is_scattered,
                                 63u - (unsigned)__builtin_clzll((unsigned long long)one->bytes), match->count};
    struct link *link = link_of(links, one, &key);
    if (ranks_compare_instances(one, &link->first) < 0)
      link->first = *one;
    add_member(link, one->rank);
    link->count++;
    link->bytes += (double)one->bytes;
    link->transfer_ns += (double)collective_transfer_ns(one);
    add_value(link, (double)collective_transfer_ns(one) / (double)one->bytes);
  }
}

SORTED_BY(compare_links, struct link, ranks_compare_instances(&a->first, &b->first))

void findings_sort_links(struct links *links)
{
  map_done(&links->places);
  vector_sort(&links->items, compare_links);
  for (size_t i = 0; i < links->items.count; i++)
    vector_sort(&links->items.items[i].ns_per_byte, sorted_compare_double);
}

void findings_links_done(struct links *links)
{
  for (size_t i = 0; i < links->items.count; i++)
    vector_done(&links->items.items[i].ns_per_byte);
  vector_done(&links->items);
  map_done(&links->places);
}
