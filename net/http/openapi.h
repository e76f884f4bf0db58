// SPDX-License-Identifier: Apache-2.0
// The handler of a site's description of its API, made of the table of routes.
#ifndef XSP_HTTP_OPENAPI_H
#define XSP_HTTP_OPENAPI_H

struct exchange;

void openapi_answer(struct exchange *exchange);

#endif
