// SPDX-License-Identifier: Apache-2.0
// Evaluations by HTTP. Routes' handlers.
#ifndef XSP_AGENT_EVALUATION_ROUTES_H
#define XSP_AGENT_EVALUATION_ROUTES_H

struct exchange;

void agent_evaluations_show(struct exchange *exchange);
void agent_evaluation_add(struct exchange *exchange);
void agent_evaluation_show(struct exchange *exchange);
void agent_evaluation_file(struct exchange *exchange);
void agent_evaluation_remove(struct exchange *exchange);

#endif
