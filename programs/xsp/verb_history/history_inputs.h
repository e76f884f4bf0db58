// SPDX-License-Identifier: Apache-2.0
// What history and publish share: constraints, and records from files, folders and databases.
#ifndef XSP_PROGRAMS_XSP_HISTORY_INPUTS_H
#define XSP_PROGRAMS_XSP_HISTORY_INPUTS_H

#include "history/history.h"
#include "programs/xsp/reader.h"
#include "programs/xsp/verb.h"

#define OPTIONS_HISTORY                                                                                                \
  {"model", 'm', "NAME", NULL, 0, "Only of this model; * and ? match any characters."},                                \
      {"model-version", 0, "CONSTRAINT", NULL, 0, "Only of these versions of the model: 1.0, '>=1.0,<2'."},            \
      {"framework", 0, "NAME[CONSTRAINT]", NULL, 0, "Only in this framework: onnxruntime, 'onnxruntime>=1.20'."},      \
      {"system", 0, "TEXT", NULL, 0, "Only on machines with this text in the name of the host, CPU or GPU."},          \
      {"data", 'd', "TEXT", NULL, 0, "Only over data sets with this text in their names."},                            \
      {"since", 0, "DATE", NULL, 0, "Only from this date on, 2026-11-01 or 2026-11-01T10:00, UTC."},                   \
      {"until", 0, "DATE", NULL, 0, "Only until this date, which is included."},                                       \
  {                                                                                                                    \
    "top", 'n', "N", "0", 0, "Of the list, only the latest N; 0: all."                                                 \
  }

struct history_inputs {
  bool in_depth; // as history_read has it; set before history_inputs_read
  struct history_selection selection;
  int64_t limit;
  const char *const *paths; // files, folders and addresses; borrowed
  size_t count;
  struct reader_files files; // that were left out
};
// Checks the constraints. The inputs are the arguments from `first` on.
enum status history_inputs_open(const struct invocation *invocation, size_t first, struct history_inputs *ret_inputs,
                                struct error *err) MUST_CHECK;
// Adds the records that match, in order of time. STATUS_NO: there are none. `visit` (NULL: nothing) gets each store too.
enum status history_inputs_read(struct history_inputs *inputs, struct history *history, reader_visit *visit,
                                void *context, struct error *err) MUST_CHECK;
void history_inputs_close(struct history_inputs *inputs); // also after an error

#endif
