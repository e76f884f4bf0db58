// SPDX-License-Identifier: Apache-2.0
// Makes files of journals, on a thread of its own.
#ifndef XSP_SERVE_KEEPER_H
#define XSP_SERVE_KEEPER_H

#include "base/message.h"
#include "serve/journal.h"

struct keeper;

enum status keeper_start(struct journal *journal, const char *folder, message_fn message, struct keeper **ret_keeper,
                         struct error *err) MUST_CHECK;
// After journal_end: waits until all journals are stored, or set aside. Else the status of the last one that stays.
enum status keeper_stop(struct keeper *keeper, struct error *err) MUST_CHECK;

#endif
