// SPDX-License-Identifier: Apache-2.0
// Requests that are sent while they are still being made: a thread puts them into the spool, then sends them. Only to an xsp
// serve, which finds parents itself. Called by `xsp run`.
#ifndef XSP_PUBLISH_STREAM_H
#define XSP_PUBLISH_STREAM_H

#include "publish/publish.h"

struct publish_stream;
// Of the same options as the publisher of the rest; prints nothing. The caller closes, also after an error.
enum status publish_stream_open(const struct publish_options *options, struct publish_stream **ret_stream,
                                struct error *err) MUST_CHECK;
// Whether requests are wanted now. The first call starts the thread, which asks the server what it is; false until it has
// answered, and while too much waits. Never waits itself. One thread at a time.
bool publish_stream_wants(struct publish_stream *stream);
// For a sink: takes the request's bytes. The same thread.
enum status publish_stream_put(void *stream, struct buf *request, size_t span_count, struct error *err);
// All that was put is in the spool, or *ret_error says why not (and what was refused). Waits for the request in flight. What was sent
// comes to *ret_result. NULL: nothing.
void publish_stream_close(struct publish_stream *stream, struct publish_result *ret_result, struct error *ret_error);

#endif
