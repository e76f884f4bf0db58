// SPDX-License-Identifier: Apache-2.0
// --publish of `xsp run`, `xsp profile` and `xsp evaluate` to an xsp serve: spans go while they are recorded, and the rest at the
// end.
#ifndef XSP_PROGRAMS_XSP_SPAN_STREAM_H
#define XSP_PROGRAMS_XSP_SPAN_STREAM_H

#include "programs/xsp/publish_options.h"

struct span_stream;
// Of --publish, unless a traced program called it; else *ret_stream is NULL. has_levels: those of a run stay as they are when it
// begins. The caller closes, also after an error.
enum status span_stream_open(const struct invocation *invocation, struct publisher *publisher, bool has_levels,
                             struct span_stream **ret_stream, struct error *err) MUST_CHECK;
// Where a drain has ended. True: more of the run waits to be handed on. Never waits itself.
bool span_stream_hand_on(void *stream, struct store *store, int64_t run_id);
// As publish_options_after: the rest of `store`, or all of it where nothing was sent. NULL: there was no stream.
void span_stream_after(struct span_stream *stream, struct publisher *publisher, struct store *store);
void span_stream_close(struct span_stream *stream); // NULL: nothing

#endif
