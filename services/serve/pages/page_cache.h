// SPDX-License-Identifier: Apache-2.0
// What pages of the folder's files are made of: for each file DIR/NAME.xsp its parts (answers/report/report.h), made at the first question
// and kept in DIR/.pages, as much as fits. A changed file's parts are made anew. All functions: any thread.
#ifndef XSP_SERVE_PAGE_CACHE_H
#define XSP_SERVE_PAGE_CACHE_H

#include "base/error.h"
#include "http/exchange.h"
#include "report/report.h"

#include <stdint.h>

struct page_cache;

// `path` and `folder`: the folder of files, which live as long. Parts take about 60 bytes of disk for each span of a large run, else as
// much as a page.
enum status page_cache_open(const char *path, int folder, uint64_t bytes_most, struct page_cache **ret_cache,
                            struct error *err) MUST_CHECK;
void page_cache_free(struct page_cache *cache); // after the last release; NULL is fine

bool page_cache_has(const struct page_cache *cache, const char *name); // the file
// The parts of DIR/`name`, to be released. NULL: there are none, and the exchange has the refusal. Where they have to be
// made it takes as long as `xsp report`, once for all that ask; other files do not wait for it.
const struct report_parts *page_cache_take(struct page_cache *cache, struct exchange *exchange, const char *name);
// Makes the parts if they are missing and nobody makes them, without a client; ends when the descriptor `stop` becomes readable.
void page_cache_prepare(struct page_cache *cache, const char *name, int stop);
void page_cache_release(struct page_cache *cache, const struct report_parts *parts);

#endif
