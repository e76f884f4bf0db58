// SPDX-License-Identifier: Apache-2.0
// What files that describe a trace of the same call have in common: items with a key, each with tags for the span that the
// trace has of it. Inside this room only. One thread at a time.
#ifndef XSP_IMPORTERS_DESCRIPTION_H
#define XSP_IMPORTERS_DESCRIPTION_H

#include "base/map.h"
#include "base/vector.h"
#include "importers/importer.h"

struct import_described {    // starts as {0}; ends with import_described_done
  struct map by_key;         // key → the number of the next item, from 1; 0: none is left
  VECTOR(uint64_t) keys;     // of the items
  VECTOR(size_t) first_tags; // where an item's tags begin; they end where those of the next do
  VECTOR(size_t) same;       // the next item of the same key, from 1; 0: none
  VECTOR(struct store_tag) tags;
};

// Opens the description, for import->description != NULL. *ret_import is *import with the description as its input: what it
// interns and tags belongs to *import. input_close(ret_input) ends it, also after a failure.
enum status import_description_open(const struct import *import, struct input *ret_input, struct import *ret_import,
                                    struct error *err) MUST_CHECK;

void import_described_begin(struct import_described *described); // an item; its key is 0 as long as none is set
static inline void import_described_key(struct import_described *described, uint64_t key)
{
  described->keys.items[described->keys.count - 1] = key;
}
void import_described_tag(struct import_described *described, const struct store_tag *tag); // of the last item
// After the last item. Counts them for the account.
void import_described_end(struct import_described *described, const struct import *import);
// Tags a span with the item of this key; items of equal keys are taken in their order, each once. False: none is left.
bool import_described_give(struct import_described *described, struct import *import, uint64_t key, int64_t span_id);
void import_described_done(struct import_described *described);

#endif
