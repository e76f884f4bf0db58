// SPDX-License-Identifier: Apache-2.0
// More of the API: explicit start and finish, tags, a log, a name found at run time, work that runs elsewhere.
#include <stdint.h>
#include <stdio.h>
#include <xsp/span.h>

XSP_SITE(predict, XSP_LEVEL_MODEL, "predict");
XSP_SITE_FULL(launch, XSP_LEVEL_KERNEL, "start copy", "api", "device");

int main(void)
{
  xsp_thread_name("main loop");
  struct xsp_span model = xsp_span_start(&predict);
  xsp_span_tag_int(&model, "batch_size", 4);
  xsp_span_log(&model, "input is ready");

  // Names of layers are known at run time only. The site is made once; NULL (no session) is valid everywhere.
  struct xsp_site *layer = xsp_site_create("my framework", XSP_LEVEL_LAYER, "conv1", NULL);
  xsp_site_tag_string(layer, "layer_type", "Conv");
  struct xsp_span span = xsp_span_start(layer);

  // An asynchronous operation: the launch has its place in the hierarchy, the execution its cost.
  struct xsp_span call = xsp_span_start(&launch);
  xsp_span_correlate(&call, XSP_KIND_LAUNCH, 1);
  uint64_t begin = xsp_clock_ticks();
  xsp_span_finish(&call);
  struct xsp_track_options stream = {.size = sizeof stream, .name = "device 0", .device_id = 0, .stream_id = -1};
  struct xsp_interval copy = {.size = sizeof copy,
                              .track = xsp_track_create(&stream),
                              .kind = XSP_KIND_EXECUTION,
                              .clock = XSP_CLOCK_TICKS,
                              .start = begin,
                              .end = xsp_clock_ticks(),
                              .correlation_id = 1};
  struct xsp_span done = xsp_span_emit(xsp_site_create("device", XSP_LEVEL_KERNEL, "copy", "memcpy"), &copy);
  xsp_span_tag_int(&done, "bytes", 4096);

  xsp_span_finish(&span);
  xsp_span_finish(&model);

  char header[XSP_TRACEPARENT_SIZE];
  if (xsp_traceparent_out(NULL, header) == 0)
    fprintf(stderr, "traceparent: %s\n", header);
  return 0;
}
