// SPDX-License-Identifier: Apache-2.0
// A semaphore of turns. Called by handlers.
#include "serve/turn.h"

#include "http/exchange.h"
#include "serve/server.h"

#include <time.h>

#define WAIT_S 5u
#define RETRY_S 5u

bool turn_take(struct exchange *exchange)
{
  for (unsigned i = 0; i < WAIT_S && !exchange_is_left(exchange); i++) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec++;
    if (sem_timedwait(&serve_of(exchange)->turns, &end) == 0)
      return true;
  }
  exchange_refuse_for_now(exchange, RETRY_S, "%u answers are being made; --limit-analyses allows more",
                          serve_of(exchange)->options.limit_analyses);
  return false;
}

void turn_end(struct exchange *exchange)
{
  sem_post(&serve_of(exchange)->turns);
}
