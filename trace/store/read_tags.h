// SPDX-License-Identifier: Apache-2.0
// Tags of a run as they are read: all, or those of some keys. Part of store.h, which includes it.
#ifndef XSP_STORE_READ_TAGS_H
#define XSP_STORE_READ_TAGS_H

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

struct store;
struct store_tag;

enum status store_load_tags(struct store *store, int64_t run_id, struct arena *arena, struct store_tag **ret_tags,
                            size_t *ret_count, struct error *err) MUST_CHECK; // in file order
// Of parts that have some of the rows between two places.
enum status store_load_tags_from(struct store *store, int64_t run_id, size_t first, size_t end, struct arena *arena,
                                 struct store_tag **ret_tags, size_t *ret_count, struct error *err) MUST_CHECK;
// Those of spans with ids from `least_id` to `most_id`, while the run's spans are walked (store_visit).
enum status store_load_tags_between(struct store *store, int64_t run_id, int64_t least_id, int64_t most_id,
                                    struct arena *arena, struct store_tag **ret_tags, size_t *ret_count,
                                    struct error *err) MUST_CHECK;
// Only those of these keys (string ids; 0 and repeated ones are fine), in file order: a run may have many millions of tags.
enum status store_load_tags_of(struct store *store, int64_t run_id, const uint32_t *keys, size_t key_count,
                               struct arena *arena, struct store_tag **ret_tags, size_t *ret_count,
                               struct error *err) MUST_CHECK;
// The same part by part, without holding them all, as store_walk_spans.
typedef enum status store_visit_tags(void *context, const struct store_tag *tags, size_t count, struct error *err);
enum status store_walk_tags_of(struct store *store, int64_t run_id, const uint32_t *keys, size_t key_count,
                               store_visit_tags *visit, void *context, struct error *err) MUST_CHECK;

#endif
