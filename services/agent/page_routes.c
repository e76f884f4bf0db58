// SPDX-License-Identifier: Apache-2.0
// The agent's page for a browser: fixed files. Called through services/agent/routes.c.
#include "agent/page_routes.h"

#include "http/exchange.h"

#include <stddef.h>

#define FILE(path) ".incbin \"" path "\"\n"
#define FILE_IN(name, files)                                                                                           \
  __asm__(".pushsection .rodata\n"                                                                                     \
          ".global " #name "\n" #name ":\n" files ".global " #name "_end\n" #name "_end:\n"                            \
          ".popsection\n");                                                                                            \
  extern const char name[], name##_end[]

FILE_IN(agent_page_html, FILE(XSP_AGENT_PAGE "/page.html"));
FILE_IN(agent_page_style, FILE(XSP_COLORS) FILE(XSP_AGENT_PAGE "/page.css"));
FILE_IN(agent_page_script, FILE(XSP_AGENT_PAGE "/page.js"));

#define POLICY                                                                                                         \
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; "      \
  "form-action 'none'; frame-ancestors 'none'"

void agent_show_html(struct exchange *exchange)
{
  buf_put(exchange_reply(exchange, 200, "text/html; charset=utf-8"), agent_page_html,
          (size_t)(agent_page_html_end - agent_page_html));
  exchange_add_header(exchange, "Content-Security-Policy", "%s", POLICY);
}

void agent_show_style(struct exchange *exchange)
{
  buf_put(exchange_reply(exchange, 200, "text/css; charset=utf-8"), agent_page_style,
          (size_t)(agent_page_style_end - agent_page_style));
}

void agent_show_script(struct exchange *exchange)
{
  buf_put(exchange_reply(exchange, 200, "text/javascript; charset=utf-8"), agent_page_script,
          (size_t)(agent_page_script_end - agent_page_script));
}
