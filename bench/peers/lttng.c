// SPDX-License-Identifier: Apache-2.0
// A span as LTTng-UST records it: two tracepoints. Started by bench/run.py in a session of a private session daemon (or
// none, for the cost when off).
#include "bench/peers/peer.h"

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "bench/peers/lttng_provider.h"

static void spans_of_two_tracepoints(long spans)
{
  for (long i = 0; i < spans; i++) {
    lttng_ust_tracepoint(xsp_bench, begin, 0x1234, (uint64_t)i);
    lttng_ust_tracepoint(xsp_bench, end, (uint64_t)i);
  }
}

int main(int argc, char **argv)
{
  return peer_main(argc, argv, spans_of_two_tracepoints);
}
