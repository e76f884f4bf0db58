// SPDX-License-Identifier: Apache-2.0
// The tracepoint provider of bench/peers/lttng.c: a span as two tracepoints, its begin with a name and an argument.
// Read several times by LTTng's own headers, as they ask for; hence the unusual guard.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER xsp_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "bench/peers/lttng_provider.h"
#if !defined(XSP_BENCH_PEERS_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define XSP_BENCH_PEERS_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>

// clang-format off
LTTNG_UST_TRACEPOINT_EVENT(xsp_bench, begin,
  LTTNG_UST_TP_ARGS(uint64_t, name, uint64_t, argument),
  LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, name, name)
                      lttng_ust_field_integer(uint64_t, argument, argument)))
LTTNG_UST_TRACEPOINT_EVENT(xsp_bench, end,
  LTTNG_UST_TP_ARGS(uint64_t, argument),
  LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, argument, argument)))
// clang-format on

#endif
#include <lttng/tracepoint-event.h>
