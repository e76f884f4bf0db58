// SPDX-License-Identifier: Apache-2.0
// GET /api/v1/openapi.json: the description of the routes, made of their table.
#ifndef XSP_SERVE_API_OPENAPI_H
#define XSP_SERVE_API_OPENAPI_H

struct exchange;

void openapi_answer(struct exchange *exchange);

#endif
