// SPDX-License-Identifier: Apache-2.0
// The agent's page for a browser. Routes' handlers.
#ifndef XSP_AGENT_PAGE_ROUTES_H
#define XSP_AGENT_PAGE_ROUTES_H

struct exchange;

void agent_show_html(struct exchange *exchange);
void agent_show_style(struct exchange *exchange);
void agent_show_script(struct exchange *exchange);

#endif
