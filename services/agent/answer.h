// SPDX-License-Identifier: Apache-2.0
// Reads what an agent answers. Pure; agents are not trusted with its form; fuzzed.
#ifndef XSP_AGENT_ANSWER_H
#define XSP_AGENT_ANSWER_H

#include "agent/queue.h"
#include "base/slice.h"
#include "table/table.h"

#define ANSWER_TABLES_MOST 128u // of models, of scenarios, of the items of each model …

struct answer { // of GET /evaluations/{id}
  char id[QUEUE_ID_DIGITS + 1];
  enum job_state state;
  int64_t place;                           // in the queue, from 1; 0: it does not wait
  const char *progress, *error;            // NULL: none
  struct table tables[ANSWER_TABLES_MOST]; // once it is done; of each id, title, columns, rows and notes
  size_t table_count;
};
// Texts in `arena`. False: malformed.
bool agent_answer_read(struct slice body, struct arena *arena, struct answer *ret_answer);
// Of {"error": {"message": …}}, cut; empty: there is none.
void agent_answer_problem(struct slice body, char *text, size_t size);

#endif
