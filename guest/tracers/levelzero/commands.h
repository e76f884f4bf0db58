// SPDX-License-Identifier: Apache-2.0
// The program's calls, from their beginning to their end on one thread.
#ifndef XSP_TRACERS_LEVELZERO_COMMANDS_H
#define XSP_TRACERS_LEVELZERO_COMMANDS_H

#include "tracers/levelzero/slots.h"

struct levelzero_call { // of this thread: calls of Level Zero do not nest
  bool is_open;
  const struct xsp_site *site;
  struct xsp_span span;
  struct launch launch;
  struct list *list;
  struct levelzero_slot *slot; // NULL: the command has no times
  void *to_signal;             // the program's event that ours replaced
  void *of_program;            // the program's event, which has the times
  struct work work;
  struct levelzero_queue *queue; // where lists are executed
  void **lists;                  // with ours between them
};

void levelzero_call_begin(struct levelzero_call *call, struct xsp_site *site);
void levelzero_call_end(struct levelzero_call *call, uint32_t result);
// A command is appended: replaces the event that it is to signal where that is needed.
void levelzero_command_begin(struct levelzero_call *call, struct xsp_site *site, void *list, void **event,
                             struct work work);
void levelzero_command_end(struct levelzero_call *call, uint32_t result);
// Lists are executed, on a queue or an immediate list: replaces them by more.
void levelzero_execute_begin(struct levelzero_call *call, struct xsp_site *site, struct levelzero_queue *queue,
                             uint32_t *count, void ***lists);
void levelzero_execute_end(struct levelzero_call *call, uint32_t result);

#endif
