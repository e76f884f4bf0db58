// SPDX-License-Identifier: Apache-2.0
// Does what each byte of its stdin says and answers with the same byte: 's' a span, 'm' a span of a site that is made then, 'f' a fork whose child makes a span, 'o' starts a span that 'c' finishes, 'x' goes on as a child.
#include <sys/wait.h>
#include <unistd.h>
#include <xsp/span.h>

XSP_SITE(long_one, XSP_LEVEL_MODEL, "long");

static void make_span(void)
{
  XSP_SCOPE(XSP_LEVEL_LAYER, "span");
}

static void make_other(void)
{
  struct xsp_span span = xsp_span_start(xsp_site_create(NULL, XSP_LEVEL_LAYER, "made", NULL));
  xsp_span_finish(&span);
}

int main(void)
{
  struct xsp_span open = {0};
  make_span(); // before any session
  for (char order; read(0, &order, 1) == 1;) {
    if (order == 's')
      make_span();
    else if (order == 'm')
      make_other();
    else if (order == 'o')
      open = xsp_span_start(&long_one);
    else if (order == 'c')
      xsp_span_finish(&open);
    else if (order == 'f' && fork() == 0) {
      make_span();
      _exit(0);
    } else if (order == 'x' && fork() != 0)
      _exit(0);
    while (order == 'f' && wait(NULL) > 0)
      continue;
    if (write(1, &order, 1) != 1)
      return 1;
  }
  return 0;
}
