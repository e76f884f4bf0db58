// SPDX-License-Identifier: Apache-2.0
// Handlers of routes: pages of files, the live page, and what their scripts ask for.
#ifndef XSP_SERVE_PAGE_ROUTES_H
#define XSP_SERVE_PAGE_ROUTES_H

#include "http/exchange.h"

extern const struct route_parameter serve_page_window_parameters[], serve_page_find_parameters[],
    serve_page_tag_parameters[], serve_page_live_parameters[];

// ---- /files/{file}/page…
void serve_page_show(struct exchange *exchange);
void serve_page_part(struct exchange *exchange);
void serve_page_spans(struct exchange *exchange);
void serve_page_find(struct exchange *exchange);
void serve_page_tags(struct exchange *exchange);
// ---- /live…
void live_show(struct exchange *exchange);
void live_part(struct exchange *exchange);

#endif
