// SPDX-License-Identifier: Apache-2.0
// PUT /api/v1/files/{file}: a file that another xsp wrote. A route's handlers.
#ifndef XSP_SERVE_API_UPLOAD_H
#define XSP_SERVE_API_UPLOAD_H

struct exchange;

void upload_begin(struct exchange *exchange);
void upload_answer(struct exchange *exchange);

#endif
