// SPDX-License-Identifier: Apache-2.0
// Spans with known counts, above tests/capture/perf_simulator.c. Argument "daemon": closes descriptors that it does not know;
// "calls": calls the system.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <xsp/span.h>

void simulated_work(unsigned long long units);
void simulated_absence(void);

#define PAGES 50

static void touch_pages(void)
{
  const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, PAGES * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)madvise(pages, PAGES * bytes, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < PAGES; i++)
    pages[i * bytes] = 1;
}

static void works(const char *name, unsigned units)
{
  struct xsp_site *site = xsp_site_create(NULL, XSP_LEVEL_MODEL, name, NULL);
  struct xsp_span span = xsp_span_start(site);
  simulated_work(units);
  xsp_span_finish(&span);
}

static void *in_thread(void *unused)
{
  works("in a thread", 4);
  return unused;
}

static void nested(void)
{
  struct xsp_site *site = xsp_site_create(NULL, XSP_LEVEL_APPLICATION, "outer", NULL);
  struct xsp_span span = xsp_span_start(site);
  simulated_work(10);
  touch_pages();
  works("inner", 3);
  xsp_span_finish(&span);
  span = xsp_span_start(xsp_site_create(NULL, XSP_LEVEL_APPLICATION, "shared", NULL));
  simulated_work(10);
  simulated_absence();
  xsp_span_finish(&span);
}

// Seven calls of the system, three of them in a span within.
static void calls(void)
{
  struct xsp_site *inner_site = xsp_site_create(NULL, XSP_LEVEL_APPLICATION, "inner calls", NULL);
  struct xsp_span outer = xsp_span_start(xsp_site_create(NULL, XSP_LEVEL_APPLICATION, "calls", NULL));
  for (int i = 0; i < 4; i++)
    (void)getppid();
  struct xsp_span inner = xsp_span_start(inner_site);
  for (int i = 0; i < 3; i++)
    (void)getppid();
  xsp_span_finish(&inner);
  xsp_span_finish(&outer);
}

// The first one that started finishes first.
static void crossed(void)
{
  struct xsp_span first = xsp_span_start(xsp_site_create(NULL, XSP_LEVEL_APPLICATION, "first", NULL));
  simulated_work(1);
  struct xsp_span second = xsp_span_start(xsp_site_create(NULL, XSP_LEVEL_APPLICATION, "second", NULL));
  simulated_work(2);
  xsp_span_finish(&first);
  simulated_work(4);
  xsp_span_finish(&second);
}

int main(int count, char **arguments)
{
  pthread_t thread;
  works("warm", 1);
  if (count > 1 && strcmp(arguments[1], "calls") == 0) {
    calls();
    return 0;
  }
  if (count > 1)
    for (int i = 3; i < 1024; i++)
      close(i);
  nested();
  crossed();
  if (pthread_create(&thread, NULL, in_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
    return 1;
  pid_t child = fork();
  if (child == 0) {
    works("in a child", 2);
    exit(0);
  }
  return child < 0 || waitpid(child, NULL, 0) != child;
}
