// SPDX-License-Identifier: Apache-2.0
// Cost of an NVTX range, against a span of xsp's in the same process and rounds. Run by bench/workloads.py plain
// (without a collector) and under xsp. Prints one JSON object: medians over the rounds, CPU time of the thread.
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <xsp/span.h>

#define ROUNDS 31
#define RANGES 2500 // a round: all of them together find room in a ring of 16 MiB

XSP_SITE(site, XSP_LEVEL_APPLICATION, "native");
static double range_ns[ROUNDS], text_ns[ROUNDS], span_ns[ROUNDS];

static double now_ns(void)
{
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *left, const void *right)
{
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static double median(double values[ROUNDS])
{
  qsort(values, ROUNDS, sizeof values[0], compare);
  return values[ROUNDS / 2];
}

// A registered string needs no look-up of its text.
static double registered(nvtxDomainHandle_t domain, nvtxStringHandle_t string)
{
  const nvtxEventAttributes_t attributes = {.version = NVTX_VERSION,
                                            .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                            .messageType = NVTX_MESSAGE_TYPE_REGISTERED,
                                            .message.registered = string};
  double begin = now_ns();
  for (int i = 0; i < RANGES; i++) {
    nvtxDomainRangePushEx(domain, &attributes);
    nvtxDomainRangePop(domain);
  }
  return (now_ns() - begin) / RANGES;
}

static double texts(void)
{
  double begin = now_ns();
  for (int i = 0; i < RANGES; i++) {
    nvtxRangePushA("range");
    nvtxRangePop();
  }
  return (now_ns() - begin) / RANGES;
}

static double spans(void)
{
  double begin = now_ns();
  for (int i = 0; i < RANGES; i++) {
    struct xsp_span span = xsp_span_start(&site);
    xsp_span_finish(&span);
  }
  return (now_ns() - begin) / RANGES;
}

int main(void)
{
  nvtxDomainHandle_t domain = nvtxDomainCreateA("bench");
  nvtxStringHandle_t string = nvtxDomainRegisterStringA(domain, "range");
  for (int round = -1; round < ROUNDS; round++) { // the first warms up
    int at = round < 0 ? 0 : round;
    range_ns[at] = registered(domain, string);
    text_ns[at] = texts();
    span_ns[at] = spans();
  }
  printf("{\"ranges\":%d,\"registered_ns\":%.2f,\"text_ns\":%.2f,\"span_ns\":%.2f}\n", RANGES * (ROUNDS + 1),
         median(range_ns), median(text_ns), median(span_ns));
  return 0;
}
