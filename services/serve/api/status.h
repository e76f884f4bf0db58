// SPDX-License-Identifier: Apache-2.0
// The handler of the server's own figures.
#ifndef XSP_SERVE_API_STATUS_H
#define XSP_SERVE_API_STATUS_H

struct exchange;

void status_answer(struct exchange *exchange);

#endif
