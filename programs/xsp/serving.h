// SPDX-License-Identifier: Apache-2.0
// What the verbs that serve until a signal comes share, and clients of theirs: secrets from files, the wait.
#ifndef XSP_PROGRAMS_XSP_SERVING_H
#define XSP_PROGRAMS_XSP_SERVING_H

#include "base/buf.h"
#include "programs/xsp/verb.h"

#include <signal.h>

// The text of the file that an option names; *ret_text is in `buf`, NULL where the option is not given. STATUS_INPUT: not a text of
// at most 1 MiB.
enum status serving_text(const struct invocation *invocation, const char *option, struct buf *buf,
                         const char **ret_text, struct error *err) MUST_CHECK;
// The token of --token-file: one line, without the white space around it.
enum status serving_token(const struct invocation *invocation, struct buf *buf, const char **ret_token,
                          struct error *err) MUST_CHECK;
// The certificate of --tls-cert and the key of --tls-key, PEM texts; both or none.
enum status serving_tls(const struct invocation *invocation, struct buf *certificate, struct buf *key,
                        const char **ret_certificate, const char **ret_key, struct error *err) MUST_CHECK;
#define OPTIONS_SERVING_TLS                                                                                            \
  {"tls-cert", 0, "FILE", NULL, 0, "Speak TLS, with this certificate (PEM, followed by its chain)."},                  \
  {                                                                                                                    \
    "tls-key", 0, "FILE", NULL, 0, "The certificate's key (PEM)."                                                      \
  }
// Blocks SIGINT, SIGTERM and SIGHUP here and in all threads that begin from now on, for serving_wait.
void serving_block_signals(sigset_t *ret_signals);
// Waits for one of them, if `goes_on`. The next one ends the program at once.
void serving_wait(const sigset_t *signals, bool goes_on);

#endif
