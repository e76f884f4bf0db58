// SPDX-License-Identifier: Apache-2.0
// POST /v1/traces: spans by OTLP/HTTP. A route's handlers.
#ifndef XSP_SERVE_TRACES_H
#define XSP_SERVE_TRACES_H

struct exchange;

void serve_traces_begin(struct exchange *exchange);
void serve_traces_answer(struct exchange *exchange);
void serve_traces_refuse(struct exchange *exchange); // an error in OTLP's form

#endif
