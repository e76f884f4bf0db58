// SPDX-License-Identifier: Apache-2.0
// Removes the oldest complete files of the server's folder once they are too old or too many bytes. Only files that a server made, which
// their names show, or that it received by upload, which a list in the folder has: never anything else.
#ifndef XSP_SERVE_RETENTION_H
#define XSP_SERVE_RETENTION_H

#include "base/message.h"
#include "serve/kept.h"

struct retention;

// "spans-DATE-TIME.xsp", as services/serve/journal_folder.c names them.
bool retention_is_server_name(const char *name);
// Notes a file that was uploaded, by its name, size and time, before it gets its name. False with errno. Any thread.
bool retention_add(int folder, const char *name, int file);

struct retention_options {
  const char *path; // of the folder, for messages
  int folder;
  uint64_t age_s, bytes; // 0: no bound
  struct kept_uses *uses;
  message_fn message; // for each file that was removed
};
// Forgets uploads that are gone. With a bound, starts the thread; else *ret_retention is NULL.
enum status retention_start(const struct retention_options *options, struct retention **ret_retention,
                            struct error *err) MUST_CHECK;
void retention_stop(struct retention *retention); // NULL is fine

#endif
