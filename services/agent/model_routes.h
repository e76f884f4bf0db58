// SPDX-License-Identifier: Apache-2.0
// The agent's models and its machine by HTTP. Routes' handlers.
#ifndef XSP_AGENT_MODEL_ROUTES_H
#define XSP_AGENT_MODEL_ROUTES_H

struct exchange;

void agent_models_show(struct exchange *exchange);
void agent_model_put(struct exchange *exchange);
void agent_model_remove(struct exchange *exchange);
void agent_data_show(struct exchange *exchange);
void agent_system_show(struct exchange *exchange);

#endif
