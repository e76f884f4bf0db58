// SPDX-License-Identifier: Apache-2.0
// GET /api/v1/search: in which files a name or a trace id is.
#ifndef XSP_SERVE_API_SEARCH_H
#define XSP_SERVE_API_SEARCH_H

#include "http/route.h"

extern const struct route_parameter search_parameters[];

void search_answer(struct exchange *exchange);

#endif
