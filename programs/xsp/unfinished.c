// SPDX-License-Identifier: Apache-2.0
// Signals that end the program remove the file that was being written. The program still ends by
// the signal: a shell sees that it was interrupted.
#include "programs/xsp/unfinished.h"

#include "report/report.h"

#include <signal.h>
#include <stddef.h>

static void on_signal(int number)
{
  report_unfinished_remove();
  raise(number); // blocked until the handler is left; SA_RESETHAND made it the default again
}

void unfinished_removed_by_signals(void)
{
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  const struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction before;
    if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) // nohup
      sigaction(numbers[i], &action, NULL);
  }
}
