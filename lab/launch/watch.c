// SPDX-License-Identifier: Apache-2.0
// Called by the watcher of process.c. A stop of the group may stop xsp before the program, so a running program was not
// always continued.
#include "launch/watch.h"

bool watch_look(struct watch *watch, uint64_t stop, bool is_program_stopped)
{
  if (stop == 0)
    return false;
  if (stop != watch->stop)
    *watch = (struct watch){.stop = stop};
  watch->looks++;
  watch->was_stopped |= is_program_stopped;
  // One that was never stopped during this stop has caught the signal.
  return !is_program_stopped && (watch->was_stopped || watch->looks > WATCH_LOOKS);
}
