// SPDX-License-Identifier: Apache-2.0
// Makes the parts of pages when a file is complete, so that its first view need not wait for them: of files that the server
// finished, that were uploaded, or that somebody moved into the folder. On a thread of its own, in a process of low priority.
#ifndef XSP_SERVE_PREPARE_H
#define XSP_SERVE_PREPARE_H

#include "serve/pages/page_cache.h"

struct prepare;

// `path` and `folder`: the folder of files, which live as long.
enum status prepare_start(struct page_cache *cache, const char *path, int folder, struct prepare **ret_prepare,
                          struct error *err) MUST_CHECK;
void prepare_stop(struct prepare *prepare); // ends what is being made; NULL is fine

#endif
