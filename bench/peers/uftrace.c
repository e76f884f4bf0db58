// SPDX-License-Identifier: Apache-2.0
// A span as uftrace records it: one call of an empty instrumented function. Compiled with -finstrument-functions and
// started by bench/run.py under `uftrace record`.
#include "bench/peers/peer.h"

__attribute__((noinline, noclone)) static void leaf(long value)
{
  __asm__ volatile("" ::"r"(value) : "memory");
}

static PEER_QUIET void spans_of_calls(long spans)
{
  for (long i = 0; i < spans; i++) {
    leaf(i);
  }
}

PEER_QUIET int main(int argc, char **argv)
{
  return peer_main(argc, argv, spans_of_calls);
}
