// SPDX-License-Identifier: Apache-2.0
// Handlers of routes: pages of files, the live page, and what their scripts ask for.
#ifndef XSP_SERVE_PAGE_ROUTES_H
#define XSP_SERVE_PAGE_ROUTES_H

#include "http/exchange.h"

extern const struct route_parameter page_window_parameters[], page_find_parameters[], page_tag_parameters[],
    page_live_parameters[];

// ---- /files/{file}/page…
void page_show(struct exchange *exchange);
void page_part(struct exchange *exchange);
void page_spans(struct exchange *exchange);
void page_find(struct exchange *exchange);
void page_tags(struct exchange *exchange);
// ---- /live…
void live_show(struct exchange *exchange);
void live_part(struct exchange *exchange);

#endif
