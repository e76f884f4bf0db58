// SPDX-License-Identifier: Apache-2.0
// Bytes pulled by a thread of its own, a bounded number ahead: decompression next to parsing. Private to input.c.
#ifndef XSP_IMPORTERS_READ_AHEAD_H
#define XSP_IMPORTERS_READ_AHEAD_H

#include "base/error.h"

#include <stddef.h>

struct read_ahead;

// Fills `to` up to `room` bytes; fewer only at the end. Called by the thread only, until read_ahead_stop has returned.
typedef enum status read_ahead_pull(void *context, char *to, size_t room, size_t *ret_got, struct error *err);

struct read_ahead *read_ahead_start(read_ahead_pull *pull, void *context); // NULL: no thread to be had
// As `pull` itself: the same bytes, then the same error.
enum status read_ahead_read(struct read_ahead *ahead, char *to, size_t room, size_t *ret_got,
                            struct error *err) MUST_CHECK;
void read_ahead_stop(struct read_ahead *ahead); // waits for the thread; NULL is fine

#endif
