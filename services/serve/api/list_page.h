// SPDX-License-Identifier: Apache-2.0
// GET /: the list of files as a page, and its style. No script.
#ifndef XSP_SERVE_API_LIST_PAGE_H
#define XSP_SERVE_API_LIST_PAGE_H

#include "http/route.h"

extern const struct route_parameter list_page_parameters[];

void list_page_answer(struct exchange *exchange); // GET /
void list_page_style(struct exchange *exchange);  // GET /list.css

#endif
