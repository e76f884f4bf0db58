// SPDX-License-Identifier: Apache-2.0
// A tracer built outside xsp: one span over the life of the process, tagged with what the process used.
//   XSP_SESSION=DIR XSP_TRACERS=/path/resources.so:label=nightly ./program
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <xsp/tracer.h>

static const struct xsp_host *host;
static struct xsp_site *site;
static uint64_t begin;

static const struct xsp_tracer_option options[] = {
    {"label", "TEXT", "a tag on the span"},
    {NULL, NULL, NULL},
};

static int probe(const struct xsp_host *asked_by, char *why, size_t why_size)
{
  (void)asked_by;
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    return 0;
  snprintf(why, why_size, "the system does not report what a process uses");
  return -1;
}

static int start(const struct xsp_host *started_by)
{
  host = started_by;
  site = xsp_site_create("resources", XSP_LEVEL_APPLICATION, "process", NULL);
  begin = xsp_clock_ticks();
  return site == NULL ? -ENOMEM : 0;
}

static int64_t nanoseconds(struct timeval time)
{
  return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

static void stop(void)
{
  struct rusage usage;
  if (getrusage(RUSAGE_SELF, &usage) != 0)
    return;
  struct xsp_interval life = {.size = sizeof life, .start = begin, .end = xsp_clock_ticks()};
  struct xsp_span span = xsp_span_emit(site, &life);
  xsp_span_tag_int(&span, "user_ns", nanoseconds(usage.ru_utime));
  xsp_span_tag_int(&span, "system_ns", nanoseconds(usage.ru_stime));
  xsp_span_tag_int(&span, "page_faults", usage.ru_minflt + usage.ru_majflt);
  const char *label = host->option(host, "label");
  if (label != NULL)
    xsp_span_tag_string(&span, "label", label);
  host->say(host, "one span over the whole process");
}

static const struct xsp_tracer resources = {
    .size = sizeof resources,
    .level_mask = XSP_LEVEL_MASK(XSP_LEVEL_APPLICATION),
    .name = "resources",
    .summary = "CPU time and page faults of the process",
    .options = options,
    .probe = probe,
    .start = start,
    .stop = stop,
};

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *loaded_by)
{
  (void)loaded_by;
  return &resources;
}
