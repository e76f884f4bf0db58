// SPDX-License-Identifier: Apache-2.0
// Lists that are recorded once and executed any number of times. Each execution is a run: after the program's list goes one of
// ours, which copies the times of its commands to the host, makes their events ready again and signals that this is done. So
// runs may be in flight together.
#ifndef XSP_TRACERS_LEVELZERO_LISTS_H
#define XSP_TRACERS_LEVELZERO_LISTS_H

#include "tracers/levelzero/slots.h"

struct recorded {              // a command of a list
  struct levelzero_slot *slot; // its event; NULL: of_program
  void *of_program;            // an event of the program with times
  struct work work;
};

// All with levelzero_lock.
// False: no room, the command has no times.
bool levelzero_list_record(struct list *list, const struct recorded *command);
void levelzero_list_forget(struct list *list); // its commands are about to go
// A list of ours that is to follow `list`; NULL: none is needed or to be had. `queue` NULL: this run is not recorded.
void *levelzero_list_follow(struct list *list, struct levelzero_queue *queue, const struct launch *launch);
void levelzero_run_publish(struct levelzero_queue *queue, struct run *run, const struct launch *launch, uint64_t now);
void levelzero_run_ended(struct run *run);

#endif
