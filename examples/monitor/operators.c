// SPDX-License-Identifier: Apache-2.0
// A client of <xsp/monitor.h>: prints each operator and compilation of a framework, and each call of a function that
// --functions names, with arguments, results and call path, to stderr.
//   xsp run -t pytorch,./operators.so -- python3 train.py
#include <stdio.h>
#include <xsp/monitor.h>
#include <xsp/tracer.h>

static void print_path(void)
{
  struct xsp_frame frames[64];
  size_t count = xsp_monitor_call_path(XSP_SOURCE_PYTHON | XSP_SOURCE_FRAMEWORK, frames, 64);
  for (size_t i = 0; i < count && i < 64; i++)
    fprintf(stderr, "    %s (%s:%u)\n", frames[i].name, frames[i].file == NULL ? "-" : frames[i].file, frames[i].line);
}

static void on_event(const struct xsp_event *event, void *context)
{
  char text[1024];
  (void)context;
  if (event->phase == XSP_PHASE_BEGIN) {
    (void)xsp_event_arguments(event, text, sizeof text);
    fprintf(stderr, "%s %s%s\n", event->source, event->name, text);
    print_path();
  } else {
    (void)xsp_event_results(event, text, sizeof text);
    fprintf(stderr, "%s %s returned %s\n", event->source, event->name, text);
  }
}

static int start(const struct xsp_host *host)
{
  (void)host;
  int status = xsp_monitor_init();
  if (status == 0 && (status = xsp_monitor_subscribe(XSP_DOMAIN_OPERATOR, on_event, NULL)) > 0 &&
      (status = xsp_monitor_subscribe(XSP_DOMAIN_COMPILATION, on_event, NULL)) > 0)
    status = xsp_monitor_subscribe(XSP_DOMAIN_GPU, on_event, NULL);
  return status > 0 ? 0 : status;
}

static const struct xsp_tracer client = {.size = sizeof client,
                                         .name = "operators",
                                         .summary = "prints operators",
                                         .start = start,
                                         .stop = xsp_monitor_finalize};

const struct xsp_tracer *xsp_tracer_entry(const struct xsp_host *host)
{
  (void)host;
  return &client;
}
