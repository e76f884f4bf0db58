// SPDX-License-Identifier: Apache-2.0
// Does what each byte of its stdin says and answers with the same byte: 's' a span, 'm' a span of a site that is made then, 'f'
// a fork whose child makes a span, 'o' starts a span that 'c' finishes, 'x' goes on as a child, 't' a span of a thread with
// little stack, 'h' of a handler on a stack of its own, 'p' takes away all system calls but a few.
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xsp/span.h>

XSP_SITE(long_one, XSP_LEVEL_MODEL, "long");

static void make_span(void)
{
  XSP_SCOPE(XSP_LEVEL_LAYER, "span");
}

static void *make_in_thread(void *unused)
{
  make_span();
  return unused;
}

static void make_in_handler(int number)
{
  (void)number;
  make_span();
}

static void start_thread(void)
{
  pthread_attr_t small;
  pthread_t thread;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 16384);
  if (pthread_create(&thread, &small, make_in_thread, NULL) == 0)
    pthread_join(thread, NULL);
  pthread_attr_destroy(&small);
}

// What lies below the handler's stack must stay as it is.
static void raise_signal(void)
{
  static char area[16384 + 8192];
  stack_t stack = {.ss_sp = area + 16384, .ss_size = 8192};
  struct sigaction action = {.sa_handler = make_in_handler, .sa_flags = SA_ONSTACK};
  sigaltstack(&stack, NULL);
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
  for (int i = 0; i < 16384; i++)
    if (area[i] != 0)
      abort();
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
    } else if (order == 't')
      start_thread();
    else if (order == 'h')
      raise_signal();
    else if (order == 'p')
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    else if (order == 'x' && fork() != 0)
      _exit(0);
    while (order == 'f' && wait(NULL) > 0)
      continue;
    if (write(1, &order, 1) != 1)
      return 1;
  }
  return 0;
}
