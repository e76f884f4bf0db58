// SPDX-License-Identifier: Apache-2.0
// The fake tracer: plays a script (option script), or traces the scripted predictor's kernels with an overhead that is
// known exactly (option kernel_delay_ns). Loaded by capture like any other tracer; for tests, see README.md.
#include "tests/support/fake_tracer/player.h"
#include "tests/support/fake_tracer/words.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <xsp/tracer.h>

#define SCRIPT_BYTES_MAXIMUM (4 << 20)

// The runner's table, filled in by us: guest/frameworks/script/predictor.h. A tracer knows no other room, so it is repeated here.
struct xsp_script_hooks {
  uint32_t size;
  void (*kernel_begin)(const char *name);
  void (*kernel_end)(const char *name);
};

static const struct xsp_tracer_option options[] = {
    {"script", "FILE", "plays the file's lines before the program begins"},
    {"kernel_delay_ns", "N", "a span for each kernel of a scripted model, and N ns of waiting before it"},
    {NULL, NULL, NULL},
};

static int64_t kernel_delay_ns;
static _Thread_local struct xsp_span kernel_span;

static int64_t now_ns(void)
{
  struct timespec now = {0, 0};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

// The wait is before the span: the kernel's own time stays true, its surroundings get longer by the overhead.
static void kernel_begin(const char *name)
{
  if ((xsp_tracer_levels("fake") & XSP_LEVEL_MASK(XSP_LEVEL_KERNEL)) == 0)
    return;
  struct xsp_site *site = xsp_site_create("fake", XSP_LEVEL_KERNEL, name, "kernel");
  for (int64_t end = now_ns() + kernel_delay_ns; now_ns() < end;)
    ;
  if (site != NULL)
    kernel_span = xsp_span_start(site);
}

static void kernel_end(const char *name)
{
  xsp_span_finish(&kernel_span);
  kernel_span = (struct xsp_span){0, 0, 0};
}

static int hook_kernels(const struct xsp_host *host, const char *delay)
{
  if (!words_number(delay, &kernel_delay_ns) || kernel_delay_ns < 0 || kernel_delay_ns > 1000000000) {
    host->say(host, "kernel_delay_ns wants a number from 0 to 1000000000");
    return -EINVAL;
  }
  struct xsp_script_hooks *hooks = dlsym(RTLD_DEFAULT, "xsp_script_hooks");
  if (hooks == NULL || hooks->size < sizeof *hooks) {
    host->say(host, "this program has no xsp_script_hooks: only xsp-runner with a scripted model has");
    return -ENOENT;
  }
  hooks->kernel_begin = kernel_begin;
  hooks->kernel_end = kernel_end;
  return 0;
}

// The text stays allocated: the names in it are used while the script plays.
static char *read_script(const char *path)
{
  static char script[SCRIPT_BYTES_MAXIMUM + 1];
  size_t length = 0;
  ssize_t got = 0;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  while (file >= 0 && length < SCRIPT_BYTES_MAXIMUM &&
         (got = read(file, script + length, SCRIPT_BYTES_MAXIMUM - length)) > 0)
    length += (size_t)got;
  if (file < 0 || got < 0)
    return NULL;
  close(file);
  script[length] = '\0';
  return script;
}

static int probe(const struct xsp_host *host, char *why, size_t why_size)
{
  if (host->option(host, "script") != NULL || host->option(host, "kernel_delay_ns") != NULL)
    return 0;
  snprintf(why, why_size, "for tests only: it wants the option script or kernel_delay_ns");
  return -EINVAL;
}

static int start(const struct xsp_host *host)
{
  const char *delay = host->option(host, "kernel_delay_ns"), *path = host->option(host, "script");
  if (delay != NULL) {
    int error = hook_kernels(host, delay);
    if (error != 0)
      return error;
  }
  if (path == NULL)
    return 0;
  char *script = read_script(path);
  if (script == NULL) {
    host->say(host, "the script cannot be read");
    return -ENOENT;
  }
  char why[256] = "";
  int error = player_run(script, why, sizeof why);
  if (error != 0)
    host->say(host, why);
  return error;
}

static const struct xsp_tracer tracer = {
    .size = sizeof tracer,
    .level_mask = XSP_LEVEL_MASK_ALL,
    .name = "fake",
    .summary = "spans as a script says (for tests)",
    .options = options,
    .probe = probe,
    .start = start,
};

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *host)
{
  return &tracer;
}
